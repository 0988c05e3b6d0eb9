/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a tree's fields into the cluster: functions that all kinds of objects share. They report
 * a fault with its line and path and go on, so that one run reports many. After any fault the
 * cluster is not used.
 */
#ifndef BULKHEAD_INPUT_TREE_READER_H
#define BULKHEAD_INPUT_TREE_READER_H

#include "input/tree.h"
#include "model/cluster.h"

struct reader {
	struct cluster *cluster;
	struct diag *diag;
	const char *file; /* interned */
	/* What becomes of the object that is read, if faults are warnings; NULL: they are
	 * errors. */
	const char *aside;
	unsigned int faults; /* in that object */
	size_t n_objects; /* that have been read or skipped; a list is none */
	/* Returns the input's own name of the field on @line, for inputs whose fields have other
	 * names than the tree. Messages append the path below a field of `spec` to it. A NULL
	 * function, or a NULL name: messages use the tree's path. */
	const char *(*field)(const struct reader *reader, unsigned int line);
};

void reader_error(struct reader *reader, const struct tree *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void reader_warn(struct reader *reader, const struct tree *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports that @map lacks the member @key. */
void reader_missing(struct reader *reader, const struct tree *map, const char *key);

struct where reader_where(const struct reader *reader, const struct tree *node);

/* Returns true if @node is a map whose members are all among @fields (ending in NULL; NULL: any
 * member). */
bool reader_map(struct reader *reader, const struct tree *node, const char *const *fields);
/* Returns the list @key of @map. NULL: it is absent, or no list, or longer than @max (reported). */
struct tree *reader_list(struct reader *reader, const struct tree *map, const char *key,
			 unsigned int max);
/* Returns the only member of @map that is one of @fields (ending in NULL). NULL: there is none,
 * or there are several (reported). */
struct tree *reader_one_of(struct reader *reader, const struct tree *map,
			   const char *const *fields);

/* Returns the text of a string, interned. NULL: @node is no string (reported). */
const char *reader_string(struct reader *reader, const struct tree *node);
/* As reader_string(), for a text without control characters: it is printed as it is. */
const char *reader_plain(struct reader *reader, const struct tree *node);
/* Returns true if @node is a string of digits, as of a number that somebody has quoted. */
bool reader_is_quoted_number(const struct tree *node);
bool reader_number(struct reader *reader, const struct tree *node, long min, long max, long *value);
bool reader_bool(struct reader *reader, const struct tree *node, bool *value);

/* Reads labels. @node may be NULL: there are none. A null value is the empty string. */
void reader_labels(struct reader *reader, const struct tree *node, struct labels *labels);
/* Reads a LabelSelector. @node NULL selects everything. */
void reader_selector(struct reader *reader, const struct tree *node, struct selector *selector);
/* Reads a list of label keys, and sorts it. */
size_t reader_label_keys(struct reader *reader, const struct tree *list, const char ***keys);

bool reader_address(struct reader *reader, const struct tree *node, struct address *address);
bool reader_cidr(struct reader *reader, const struct tree *node, struct cidr *cidr);
/* "TCP", "UDP" or "SCTP"; @node NULL is TCP. */
bool reader_protocol(struct reader *reader, const struct tree *node, uint8_t *protocol);
const char *reader_port_name(struct reader *reader, const struct tree *node);

/* Reads each item of @spec's list `ingress` or `egress`, of @max items at most, by @read into
 * @policy's rules of the direction. */
typedef void reader_rule(struct reader *reader, const struct tree *item,
			 const struct policy_object *policy, enum direction direction,
			 struct rule *rule);
void reader_rules(struct reader *reader, const struct tree *spec, struct policy_object *policy,
		  enum direction direction, unsigned int max, reader_rule *read);

/* Zeroed, in the cluster's memory. */
void *reader_alloc(struct reader *reader, size_t n, size_t size);

#define reader_array(reader, pointer, n) ((pointer) = reader_alloc(reader, n, sizeof(*(pointer))))

#endif
