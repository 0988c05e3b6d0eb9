/* SPDX-License-Identifier: GPL-2.0-only */
/* Describes sets of kinds in words that fit a line, and in JSON. */
#ifndef BULKHEAD_CMD_KINDSET_H
#define BULKHEAD_CMD_KINDSET_H

#include "cmd/json_output.h"
#include "cmd/text_buffer.h"
#include "policy/flow_classes.h"

/* Makes the counts that descriptions of sets of @kinds need. @kinds must outlive the result. NULL:
 * memory is short. */
struct kindset;
struct kindset *kindset_open(const struct flow_classes *kinds);
void kindset_close(struct kindset *set); /* NULL is fine */

/*
 * Sets @text to a description of @n kinds, @at, with their members counted: "shop/web-1 and 11
 * more, all 4 pods of dns, node worker-1". A whole namespace is one item, and so is the set of all
 * pods. Items beyond @width columns (0: no limit) are counted.
 */
void kindset_print(struct kindset *set, struct text *text, const uint32_t *at, size_t n,
		   size_t width);

/* Returns {"name", "members": COUNT} of a kind; with @pods the names of its members as well. */
struct json_object *kind_json(const struct flow_class *kind, bool pods);

/* Returns an array with kind_json() of each kind in @at. */
struct json_object *kindset_json(const struct flow_classes *kinds, const uint32_t *at, size_t n,
				 bool pods);

#endif
