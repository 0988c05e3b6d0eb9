/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of inputs, each with the cluster that a reader must return, or its message. */
#ifndef BULKHEAD_SELFTESTS_READ_H
#define BULKHEAD_SELFTESTS_READ_H

#include <stddef.h>

#include "model/cluster.h"

enum read_format { READ_YAML, READ_JSON, READ_INI };

/* The result of reading and finishing one text, which messages call "t". */
struct read_result {
	int err;
	char *messages; /* all messages */
	char *cluster; /* dump_cluster() of it, NULL after an error */
};

void read_text(enum read_format format, const char *text, size_t size, struct read_result *result);
void read_result_free(struct read_result *result);

struct read_row {
	const char *name;
	const char *text; /* after the table's `before` */
	const char *message; /* the beginning of the only message; NULL: there is none */
	const char *cluster; /* dump_cluster() of what was read; NULL: the text is refused */
};

struct read_table {
	enum read_format format;
	const char *before; /* precedes each text; may be NULL */
	const struct read_row *rows;
	size_t n;
};

/* Runs every row of the tables as a cmocka test. Returns how many failed. */
int read_tables_run(const char *name, const struct read_table *tables, size_t n);

#define READ_TABLE(format, before, rows)                             \
	{                                                            \
		format, before, rows, sizeof(rows) / sizeof(*(rows)) \
	}

#endif
