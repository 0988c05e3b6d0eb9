/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of kinds in words that fit a line, and in JSON. */
#ifndef BULKHEAD_CMD_KINDSET_H
#define BULKHEAD_CMD_KINDSET_H

#include "cmd/json.h"
#include "cmd/text.h"
#include "compile/kinds.h"

/* What is told of sets of some kinds; they must outlive it. NULL: no memory. */
struct kindset;
struct kindset *kindset_open(const struct kinds *kinds);
void kindset_close(struct kindset *set); /* NULL is fine */

/*
 * Sets @text to the kinds @at, @n of them, with their members counted: "shop/web-1 and 11 more, all
 * 4 pods of dns, node worker-1". Whole namespaces are one item, and so are all pods. Beyond @width
 * columns (0: no limit) the rest is counted.
 */
void kindset_print(struct kindset *set, struct text *text, const uint32_t *at, size_t n,
		   size_t width);

/* {"name", "members": COUNT} of a kind; with @pods its members' names as well. */
struct json_object *kind_json(const struct kind *kind, bool pods);

/* An array of these. */
struct json_object *kindset_json(const struct kinds *kinds, const uint32_t *at, size_t n,
				 bool pods);

#endif
