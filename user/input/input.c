// SPDX-License-Identifier: GPL-2.0-only
#include "input/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/ini.h"
#include "input/ini_section.h"
#include "input/object.h"
#include "input/text.h"
#include "input/ini_value.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static bool take_object(void *data, struct tree *root)
{
	struct reader *reader = data;

	object_read(reader, root);
	return !diag_full(reader->diag);
}

static int read_json_documents(struct tree_maker *maker, const char *text, const char *end,
			       struct reader *reader)
{
	void *bottom = obstack_alloc(maker->memory, 1);
	unsigned int line = 1;
	bool more = true;

	while (more && text < end) {
		struct tree *root;

		text = json_read(maker, text, end, &line, &root);
		if (!text)
			return -EINVAL;
		if (root)
			more = take_object(reader, root);
		obstack_free(maker->memory, bottom);
		bottom = obstack_alloc(maker->memory, 1);
	}
	return 0;
}

enum format { FORMAT_YAML, FORMAT_JSON, FORMAT_INI };

static int parse_trees(struct reader *reader, enum format format, const char *text, size_t size)
{
	const unsigned int errors = reader->diag->errors;
	struct obstack memory;
	struct tree_maker maker = {&memory, reader->diag, reader->file, .defers = true};
	int err;

	obstack_begin(&memory, 1 << 16);
	if (format == FORMAT_JSON)
		err = read_json_documents(&maker, text, text + size, reader);
	else
		err = yaml_read(&maker, text, size, take_object, reader);
	obstack_free(&memory, NULL);
	if (!err && !reader->n_objects && reader->diag->errors == errors)
		diag_note(reader->diag, &(struct where){reader->file, 0}, NULL,
			  "there are no objects in it");
	return err;
}

static int parse(struct cluster *cluster, enum format format, const char *text, size_t size,
		 const char *name, struct diag *diag)
{
	struct reader reader = {.cluster = cluster,
				.diag = diag,
				.file = cluster_intern(cluster, name, strlen(name))};
	unsigned int errors = diag->errors;
	int err;

	err = text_check(&text, &size, &(struct where){reader.file, 0}, diag);
	if (!err)
		err = format == FORMAT_INI ? ini_read(&reader, text, size)
					   : parse_trees(&reader, format, text, size);
	return diag->errors == errors ? err : -EINVAL;
}

int input_parse_yaml(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag)
{
	return parse(cluster, FORMAT_YAML, text, size, name, diag);
}

int input_parse_json(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag)
{
	return parse(cluster, FORMAT_JSON, text, size, name, diag);
}

int input_parse_ini(struct cluster *cluster, const char *text, size_t size, const char *name,
		    struct diag *diag)
{
	return parse(cluster, FORMAT_INI, text, size, name, diag);
}

static int check_text(const struct section *section, const char *text, struct diag *diag)
{
	size_t size = strlen(text);

	return text_check(&text, &size, &(struct where){section->reader.file, 0}, diag);
}

int input_read_section(struct cluster *cluster, const char *header,
		       const struct input_entry *entries, size_t n, const char *name,
		       struct diag *diag)
{
	struct section section = {.reader = {.cluster = cluster,
					     .diag = diag,
					     .file = cluster_intern(cluster, name, strlen(name)),
					     .field = ini_section_field},
				  .header = header,
				  .line = 1,
				  .n_entries = n};
	const unsigned int errors = diag->errors;
	int error = check_text(&section, header, diag);

	obstack_init(&section.memory);
	section.entries = obstack_alloc(&section.memory, n * sizeof(*section.entries));
	for (size_t i = 0; !error && i < n; i++) {
		section.entries[i] = (struct section_entry){entries[i].key, entries[i].text, i + 2};
		error = check_text(&section, entries[i].text, diag);
	}
	if (!error)
		ini_section_read(&section);
	obstack_free(&section.memory, NULL);
	return diag->errors == errors ? error : -EINVAL;
}

/* Names no field: the user typed the selector itself. */
static const char *no_field(const struct reader *reader, unsigned int line)
{
	(void)reader;
	(void)line;
	return "";
}

int input_parse_selector(struct cluster *cluster, const char *text, const struct where *where,
			 struct diag *diag, struct selector *selector)
{
	struct reader reader = {
		.cluster = cluster, .diag = diag, .file = where->file, .field = no_field};
	struct obstack memory;
	struct value value = {.memory = &memory,
			      .diag = diag,
			      .file = where->file,
			      .at = text,
			      .line = where->line};
	unsigned int errors = diag->errors;
	struct tree *root;

	obstack_init(&memory);
	root = ini_add_map(&value, NULL, NULL);
	ini_value_selector(&value, root, "selector");
	*selector = (struct selector){0};
	if (diag->errors == errors)
		reader_selector(&reader, tree_get(root, "selector"), selector);
	obstack_free(&memory, NULL);
	return diag->errors == errors ? 0 : -EINVAL;
}

static enum format format_of_text(const char *text, size_t size)
{
	const char *end = text + size;

	if (size >= 3 && !memcmp(text, TEXT_BOM, 3))
		text += 3;
	while (text < end && strchr(" \t\r\n#", *text) && *text) {
		/* # begins a comment in YAML and in INI. */
		if (*text == '#')
			text = memchr(text, '\n', end - text);
		text = text ? text + 1 : end;
	}
	if (text == end)
		return FORMAT_YAML;
	if (*text == '[' || *text == ';')
		return FORMAT_INI;
	if (*text++ != '{')
		return FORMAT_YAML;
	while (text < end && strchr(" \t\r\n", *text) && *text)
		text++;
	return text < end && *text == '"' ? FORMAT_JSON : FORMAT_YAML;
}

static bool format_of_name(const char *name, enum format *format)
{
	const char *suffix = strrchr(name, '.');

	if (!suffix)
		return false;
	if (!strcmp(suffix, ".ini"))
		*format = FORMAT_INI;
	else if (!strcmp(suffix, ".json"))
		*format = FORMAT_JSON;
	else if (!strcmp(suffix, ".yaml") || !strcmp(suffix, ".yml"))
		*format = FORMAT_YAML;
	else
		return false;
	return true;
}

static int fail(const char *path, int err, struct diag *diag)
{
	diag_error(diag, &(struct where){path, 0}, NULL, "%s", text_error(err));
	return err;
}

static int read_stream(struct cluster *cluster, int fd, const char *path, struct diag *diag)
{
	const char *name = strcmp(path, "-") ? path : "stdin";
	enum format format;
	size_t size;
	char *text;
	int err;

	err = text_load(fd, TEXT_MAX, &text, &size);
	if (err)
		return fail(name, err, diag);
	if (!format_of_name(path, &format))
		format = format_of_text(text, size);
	err = parse(cluster, format, text, size, name, diag);
	free(text);
	return err;
}

static int read_file(struct cluster *cluster, const char *path, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return fail(path, -errno, diag);
	err = read_stream(cluster, fd, path, diag);
	close(fd);
	return err;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Reads a folder's entry of that name. *@files counts those that are read. */
static int read_entry(struct cluster *cluster, const char *path, const char *name, size_t *files,
		      struct diag *diag)
{
	enum format format;
	const bool is_input = format_of_name(name, &format);
	char file[PATH_MAX];
	struct stat status;

	if (snprintf(file, sizeof(file), "%s/%s", path, name) >= (int)sizeof(file))
		return fail(path, -ENAMETOOLONG, diag);
	if (stat(file, &status))
		return is_input ? fail(file, -errno, diag) : 0;
	if (S_ISDIR(status.st_mode)) {
		diag_note(diag, &(struct where){file, 0}, NULL,
			  "a folder in a folder is not read; give it as an INPUT");
		return 0;
	}
	*files += is_input;
	return is_input ? read_file(cluster, file, diag) : 0;
}

static int read_folder(struct cluster *cluster, const char *path, struct diag *diag)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_visible, by_name), result = 0;
	size_t files = 0;

	if (n < 0)
		return fail(path, -errno, diag);
	for (int i = 0; i < n; i++) {
		int err = read_entry(cluster, path, entries[i]->d_name, &files, diag);

		result = result ? result : err;
		free(entries[i]);
	}
	free(entries);
	if (!files && !result)
		diag_note(diag, &(struct where){path, 0}, NULL,
			  "there is no .ini, .yaml, .yml or .json file in it");
	return result;
}

int input_read(struct cluster *cluster, const char *path, struct diag *diag)
{
	struct stat status;

	if (!strcmp(path, "-"))
		return read_stream(cluster, STDIN_FILENO, path, diag);
	if (stat(path, &status))
		return fail(path, -errno, diag);
	return S_ISDIR(status.st_mode) ? read_folder(cluster, path, diag)
				       : read_file(cluster, path, diag);
}
