/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a text as the command does, and prints what it says. */
#ifndef BULKHEAD_SELFTESTS_READ_H
#define BULKHEAD_SELFTESTS_READ_H

#include <stddef.h>

#include "model/cluster.h"

enum read_format { READ_YAML, READ_JSON, READ_INI };

/* The result of reading and finishing one text, which messages call "t". */
struct read_result {
	int err;
	/* All messages. */
	char *messages;
	/* What dump.h prints of it, NULL after an error. */
	char *dump;
};

/* Dumps the cluster. */
void read_text(enum read_format format, const char *text, size_t size, struct read_result *result);
/* Compiles the cluster, and dumps its Services. */
void read_services(enum read_format format, const char *text, size_t size,
		   struct read_result *result);
void read_result_free(struct read_result *result);

#endif
