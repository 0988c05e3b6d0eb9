// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the INI form through inih. Three of inih's limits would cut a policy in silence: lines
 * of 200 bytes, section names of 50, and a continuation that looks like a further entry of the
 * same name. The function that hands inih its lines watches over all three.
 */
#include "input/ini.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/ini_section.h"
#include "model/memory.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* Size of inih's buffer, with the NUL. */
#define LINE_MAX_BYTES 200

struct ini {
	const char *at, *end; /* the text that inih has not seen yet */
	uint32_t line; /* number of the line that inih has seen last */
	bool continues; /* that line continues the entry before it */
	bool unnamed; /* the last header has no end, which is reported: its entries are not */

	struct section section;
	size_t capacity; /* room in section.entries */

	/* The entry that a next line may continue. */
	char *key, *text;
	size_t text_size;
	FILE *writer;
	uint32_t first_line, last_line;
};

static void end_entry(struct ini *ini)
{
	struct section *section = &ini->section;
	struct section_entry *entry;

	if (!ini->key)
		return;
	if (fclose(ini->writer))
		memory_exhausted();
	if (section->n_entries == ini->capacity) {
		ini->capacity = ini->capacity ? ini->capacity * 2 : 16;
		section->entries =
			reallocarray(section->entries, ini->capacity, sizeof(*section->entries));
		if (!section->entries)
			memory_exhausted();
	}
	entry = &section->entries[section->n_entries++];
	entry->key = obstack_copy0(&section->memory, ini->key, strlen(ini->key));
	entry->text = obstack_copy0(&section->memory, ini->text, strlen(ini->text));
	entry->line = ini->first_line;
	free(ini->key);
	free(ini->text);
	ini->key = ini->text = NULL;
}

static void end_section(struct ini *ini)
{
	struct section *section = &ini->section;

	end_entry(ini);
	if (section->header && !diag_full(section->reader.diag))
		ini_section_read(section);
	section->header = NULL;
	section->n_entries = 0;
	obstack_free(&section->memory, NULL);
	obstack_init(&section->memory);
}

/* Returns true if @text, which is behind a section's name, is more than a comment. */
static bool follows_header(const char *text)
{
	const char *at = text + strspn(text, " \t\v\f\r");

	return *at && (*at != ';' || at == text);
}

/* Keeps the whole name of a section. inih keeps 49 bytes of it. Returns false if the line has no
 * end of the name (reported). */
static bool begin_section(struct ini *ini, const char *line)
{
	const char *start = line + 1 + strspn(line + 1, " \t"), *end = strchr(line, ']');

	end_section(ini);
	ini->unnamed = !end;
	if (!end) {
		ini_section_refuse(&ini->section, ini->line, NULL,
				   "the section's name lacks its ]");
		return false;
	}
	while (end > start && strchr(" \t", end[-1]))
		end--;
	if (follows_header(strchr(line, ']') + 1))
		ini_section_refuse(&ini->section, ini->line, NULL,
				   "text stands behind the section's name; begin another line");
	ini->section.header = obstack_copy0(&ini->section.memory, start, end - start);
	ini->section.line = ini->line;
	return true;
}

/*
 * Is fgets() for inih: returns one line without its end. Refuses a line that does not fit, and
 * gives inih an empty one instead.
 */
static char *next_line(char *buffer, int size, void *stream)
{
	struct ini *ini = stream;
	const char *end = memchr(ini->at, '\n', ini->end - ini->at), *start = ini->at;
	size_t length = (end ? end : ini->end) - start;
	const char *text;

	if (ini->at == ini->end)
		return NULL;
	ini->at = end ? end + 1 : ini->end;
	ini->line++;
	if (length && start[length - 1] == '\r')
		length--;
	if (length >= (size_t)size || length >= LINE_MAX_BYTES) {
		ini_section_refuse(&ini->section, ini->line, NULL,
				   "this line has 200 bytes or more: go on in another that begins "
				   "with white space");
		length = 0;
	}
	memcpy(buffer, start, length);
	buffer[length] = '\0';
	text = buffer + strspn(buffer, " \t\v\f\r");
	ini->continues = ini->key && text > buffer && *text && !strchr(";#", *text);
	if (*text == '[' && !ini->continues && !begin_section(ini, text))
		*buffer = '\0';
	return buffer;
}

static void begin_entry(struct ini *ini, const char *key)
{
	end_entry(ini);
	ini->key = strdup(key);
	ini->writer = open_memstream(&ini->text, &ini->text_size);
	if (!ini->key || !ini->writer)
		memory_exhausted();
	ini->first_line = ini->last_line = ini->line;
}

/* Returns the length without a comment. inih cuts comments off the first line of a value only. */
static size_t without_comment(const char *text)
{
	size_t n = strcspn(text, ";");

	while (text[n] && n && !strchr(" \t", text[n - 1]))
		n += 1 + strcspn(text + n + 1, ";");
	return n;
}

static int take_entry(void *user, const char *name, const char *key, const char *value)
{
	struct ini *ini = user;

	(void)name;
	if (!ini->continues)
		begin_entry(ini, key);
	if (!ini->section.header && !ini->continues && !ini->unnamed)
		ini_section_refuse(&ini->section, ini->line, key, "stands before any section");
	/* Comments and empty lines in between are lines of the value as well. */
	for (; ini->last_line < ini->line; ini->last_line++)
		fputc('\n', ini->writer);
	fwrite(value, 1, without_comment(value), ini->writer);
	return 1;
}

int ini_read(struct reader *reader, const char *text, size_t size)
{
	struct ini ini = {.at = text, .end = text + size, .section.reader = *reader};
	unsigned int errors = reader->diag->errors;
	bool any;
	int line;

	ini.section.reader.field = ini_section_field;
	obstack_init(&ini.section.memory);
	line = ini_parse_stream(next_line, &ini, take_entry, &ini);
	any = ini.section.header;
	end_section(&ini);
	if (line > 0)
		ini_section_refuse(&ini.section, line, NULL, "neither a [section] nor KEY = VALUE");
	if (line < 0)
		memory_exhausted();
	if (!any && reader->diag->errors == errors)
		diag_note(reader->diag, &(struct where){reader->file, 0}, NULL,
			  "there are no objects in it");
	obstack_free(&ini.section.memory, NULL);
	free(ini.section.entries);
	return 0;
}
