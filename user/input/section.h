/* SPDX-License-Identifier: GPL-2.0-only */
/* A section of the INI form, as its lines were read. */
#ifndef BULKHEAD_INPUT_SECTION_H
#define BULKHEAD_INPUT_SECTION_H

#include "input/reader.h"

struct section_entry {
	const char *key;
	const char *text; /* a newline for each line of the file that it goes over */
	uint32_t line;
};

struct section {
	struct reader reader; /* first: section_field() gets it */
	struct obstack memory; /* of what the section says */
	const char *header; /* "namespace shop"; NULL: there is no section yet */
	uint32_t line; /* of the header */
	struct section_entry *entries;
	size_t n_entries;
	unsigned int errors; /* of all inputs, before the section was read */
};

/* What `reader.field` is to be: the key of the entry that a line belongs to. */
const char *section_field(const struct reader *reader, unsigned int line);

/* Reads the section into the cluster. */
void section_read(struct section *section);

void section_refuse(struct section *section, uint32_t line, const char *field, const char *what);

#endif
