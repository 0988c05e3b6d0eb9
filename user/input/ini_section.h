/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns one section of the INI form into an object. */
#ifndef BULKHEAD_INPUT_INI_SECTION_H
#define BULKHEAD_INPUT_INI_SECTION_H

#include "input/tree_reader.h"

struct section_entry {
	const char *key;
	const char *text; /* lines of the file are separated by newlines */
	uint32_t line;
};

struct section {
	struct reader reader; /* first member: ini_section_field() gets a pointer to it */
	struct obstack memory; /* holds the content of the section */
	const char *header; /* "namespace shop"; NULL: no section has begun */
	uint32_t line; /* the header's line */
	struct section_entry *entries;
	size_t n_entries;
	unsigned int errors; /* errors of all inputs before this section */
};

/* Is `reader.field`: returns the key of the entry that a line belongs to. */
const char *ini_section_field(const struct reader *reader, unsigned int line);

/* Reads the section into the cluster. */
void ini_section_read(struct section *section);

void ini_section_refuse(struct section *section, uint32_t line, const char *field,
			const char *what);

#endif
