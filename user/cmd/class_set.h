/* SPDX-License-Identifier: GPL-2.0-only */
/* Describes sets of kinds in words that fit a line, and in JSON. */
#ifndef BULKHEAD_CMD_CLASS_SET_H
#define BULKHEAD_CMD_CLASS_SET_H

#include "cmd/emit.h"
#include "cmd/text_buffer.h"
#include "policy/flow_classes.h"

/* Makes the counts that descriptions of sets of @kinds need. @kinds must outlive the result. NULL:
 * memory is short. */
struct class_set;
struct class_set *class_set_open(const struct flow_classes *kinds);
void class_set_close(struct class_set *set); /* NULL is fine */

/*
 * Sets @text to a description of @n kinds, @at, with their members counted: "shop/web-1 and 11
 * more, all 4 pods of dns, node worker-1". A whole namespace is one item, and so is the set of all
 * pods. Items beyond @width columns (0: no limit) are counted.
 */
void class_set_print(struct class_set *set, struct text *text, const uint32_t *at, size_t n,
		     size_t width);

/* Adds {"name", "members": COUNT, "pods": NAMES} of a kind to JSON. */
void flow_class_emit(struct emit *emit, const struct flow_class *kind);

/* Adds an array with flow_class_emit() of each kind in @at. */
void class_set_emit(struct emit *emit, const char *key, const struct flow_classes *kinds,
		    const uint32_t *at, size_t n);

#endif
