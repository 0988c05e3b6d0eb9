/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a tree's fields into the cluster: what all kinds of objects share.
 * The functions report what is wrong with its line and path and go on, so that
 * one run tells many errors; after any, the cluster is not used.
 */
#ifndef BULKHEAD_INPUT_READER_H
#define BULKHEAD_INPUT_READER_H

#include "input/tree.h"
#include "model/cluster.h"

struct reader {
	struct cluster *cluster;
	struct diag *diag;
	const char *file; /* interned */
	/* The name of the field on @line, where that is not its path in the tree: to the name of a
	 * field of `spec`, messages add the rest of the path. NULL, or gives NULL: the path. */
	const char *(*field)(const struct reader *reader, unsigned int line);
};

void reader_error(struct reader *reader, const struct tree *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void reader_warn(struct reader *reader, const struct tree *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* @map lacks the member @key. */
void reader_missing(struct reader *reader, const struct tree *map, const char *key);

struct where reader_where(const struct reader *reader, const struct tree *node);

/* Whether @node is a map, and one with no members but @fields (ending in NULL; NULL: any). */
bool reader_map(struct reader *reader, const struct tree *node, const char *const *fields);
/* The list @key of @map: NULL where it is not there, or is none or longer than @max (reported). */
struct tree *reader_list(struct reader *reader, const struct tree *map, const char *key,
			 unsigned int max);
/* Of @fields (ending in NULL), the one member of @map; NULL where it has none or more. */
struct tree *reader_one_of(struct reader *reader, const struct tree *map,
			   const char *const *fields);

/* The text of a string, interned; NULL where @node is none (reported). */
const char *reader_string(struct reader *reader, const struct tree *node);
bool reader_number(struct reader *reader, const struct tree *node, long min, long max, long *value);
bool reader_bool(struct reader *reader, const struct tree *node, bool *value);

/* @node NULL: none. Values may be null, which is the empty string. */
void reader_labels(struct reader *reader, const struct tree *node, struct labels *labels);
/* A LabelSelector; @node NULL selects everything. */
void reader_selector(struct reader *reader, const struct tree *node, struct selector *selector);
/* A list of label keys, sorted. */
size_t reader_label_keys(struct reader *reader, const struct tree *list, const char ***keys);

bool reader_address(struct reader *reader, const struct tree *node, struct address *address);
bool reader_cidr(struct reader *reader, const struct tree *node, struct cidr *cidr);
/* "TCP", "UDP" or "SCTP"; @node NULL is TCP. */
bool reader_protocol(struct reader *reader, const struct tree *node, uint8_t *protocol);
const char *reader_port_name(struct reader *reader, const struct tree *node);

/* Zeroed, in the cluster's memory. */
void *reader_alloc(struct reader *reader, size_t n, size_t size);

#define reader_array(reader, pointer, n) ((pointer) = reader_alloc(reader, n, sizeof(*(pointer))))

#endif
