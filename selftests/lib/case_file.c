// SPDX-License-Identifier: GPL-2.0-only
#include "case_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reader of one file, and what it has of the section and of the case. */
struct reader {
	const char *path;
	size_t line;
	struct case_file file;
	struct input_case section, now;
	/* Where lines go: the section's text, the case's text or its dump. NULL: nowhere. */
	FILE *section_text, *text, *dump;
	size_t dump_size;
	/* The lines are the section's text. */
	bool in_section;
	/* A line of the text is written with escapes, and has no newline but those. */
	bool escapes;
	/* The text's last line has no newline. */
	bool cut;
};

static void malformed(const struct reader *reader, const char *problem)
{
	fprintf(stderr, "%s:%zu: %s\n", reader->path, reader->line, problem);
	exit(1);
}

static const char *after(const char *line, const char *mark)
{
	size_t length = strlen(mark);

	return strncmp(line, mark, length) ? NULL : line + length;
}

static char *copy(const char *text)
{
	char *new = strdup(text);

	if (!new)
		abort();
	return new;
}

/* Writes @size bytes with escapes: \n \r \t \0 \\ \xNN, and \(N TEXT\), which is N times TEXT. */
static void write_escaped(const struct reader *reader, FILE *to, const char *at, size_t size)
{
	static const char letters[] = "nrt0\\", meant[] = "\n\r\t\0\\";
	const char *end = at + size, *letter, *close;
	char *text;
	unsigned int byte;

	while (at < end) {
		if (*at != '\\') {
			fputc(*at++, to);
			continue;
		}
		letter = at[1] ? strchr(letters, at[1]) : NULL;
		if (letter) {
			fputc(meant[letter - letters], to);
			at += 2;
		} else if (at[1] == 'x' && isxdigit(at[2]) && sscanf(at + 2, "%2x", &byte) == 1) {
			fputc(byte, to);
			at += 4;
		} else if (at[1] == '(' && isdigit(at[2]) && (close = strstr(at, "\\)"))) {
			for (size_t n = strtoul(at + 2, &text, 10); n; n--)
				write_escaped(reader, to, text + 1, close - text - 1);
			at = close + 2;
		} else {
			malformed(reader, "an escape that no case has");
		}
	}
}

static void end_case(struct reader *reader)
{
	struct case_file *file = &reader->file;

	if (!reader->now.name)
		return;
	if (!reader->now.message && !reader->dump)
		malformed(reader, "the case before says neither its message nor its dump");
	fclose(reader->text);
	if (reader->cut)
		reader->now.text[--reader->now.size] = '\0';
	if (reader->dump)
		fclose(reader->dump);
	file->cases = reallocarray(file->cases, file->n + 1, sizeof(*file->cases));
	if (!file->cases)
		abort();
	file->cases[file->n++] = reader->now;
	reader->now = (struct input_case){0};
	reader->text = reader->dump = NULL;
}

static void begin_section(struct reader *reader, const char *what)
{
	static const char *const formats[] = {"yaml", "json", "ini"};
	const char *more = NULL;

	end_case(reader);
	if (reader->section_text)
		fclose(reader->section_text);
	free(reader->section.text);
	reader->section = (struct input_case){0};
	for (int i = READ_YAML; i <= READ_INI; i++) {
		const char *rest = after(what, formats[i]);

		if (rest)
			more = rest, reader->section.format = i;
	}
	if (!more || (*more && strcmp(more, " services")))
		malformed(reader, "expected yaml, json or ini, and services or nothing");
	reader->section.services = *more;
	reader->in_section = true;
	reader->section_text = open_memstream(&reader->section.text, &reader->section.size);
	if (!reader->section_text)
		abort();
}

static void begin_case(struct reader *reader, const char *name, bool escapes, bool cut)
{
	end_case(reader);
	if (!reader->section_text)
		malformed(reader, "a case before any section");
	fflush(reader->section_text);
	reader->in_section = false;
	reader->now = (struct input_case){
		.name = copy(name),
		.format = reader->section.format,
		.services = reader->section.services,
	};
	reader->escapes = escapes;
	reader->cut = cut;
	reader->text = open_memstream(&reader->now.text, &reader->now.size);
	if (!reader->text)
		abort();
	fwrite(reader->section.text, 1, reader->section.size, reader->text);
}

/* A line of a text: of the case's until its result, or of the section's until an empty line. */
static void take_text(struct reader *reader, const char *line)
{
	if (reader->now.name && !reader->now.message && !reader->dump) {
		if (reader->escapes)
			write_escaped(reader, reader->text, line, strlen(line));
		else
			fprintf(reader->text, "%s\n", line);
	} else if (reader->in_section && *line) {
		fprintf(reader->section_text, "%s\n", line);
	} else if (*line && *line != '#') {
		malformed(reader, "a line of neither a text nor a result");
	} else {
		reader->in_section = false;
	}
}

static void take_line(struct reader *reader, const char *line)
{
	const char *rest;

	if ((rest = after(line, "## "))) {
		begin_section(reader, rest);
	} else if ((rest = after(line, "== "))) {
		begin_case(reader, rest, false, false);
	} else if ((rest = after(line, "=- "))) {
		begin_case(reader, rest, false, true);
	} else if ((rest = after(line, "=\\ "))) {
		begin_case(reader, rest, true, false);
	} else if ((rest = after(line, "!! ")) && reader->now.name && !reader->now.message) {
		reader->now.message = copy(rest);
	} else if ((rest = after(line, "=>")) && reader->now.name) {
		if (!reader->dump)
			reader->dump = open_memstream(&reader->now.dump, &reader->dump_size);
		if (!reader->dump)
			abort();
		if (*rest)
			fprintf(reader->dump, "%s\n", rest + 1);
	} else {
		take_text(reader, line);
	}
}

struct case_file case_file_read(const char *path)
{
	struct reader reader = {.path = path};
	FILE *from = fopen(path, "r");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	if (!from)
		malformed(&reader, strerror(errno));
	while ((length = getline(&line, &capacity, from)) > 0) {
		reader.line++;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		take_line(&reader, line);
	}
	end_case(&reader);
	if (!reader.file.n)
		malformed(&reader, "has no case");
	free(line);
	fclose(from);
	if (reader.section_text)
		fclose(reader.section_text);
	free(reader.section.text);
	return reader.file;
}

void case_file_free(struct case_file *file)
{
	for (size_t i = 0; i < file->n; i++) {
		free(file->cases[i].name);
		free(file->cases[i].text);
		free(file->cases[i].message);
		free(file->cases[i].dump);
	}
	free(file->cases);
	*file = (struct case_file){0};
}
