/* SPDX-License-Identifier: GPL-2.0-only */
/* Spans of the number line of ports (maps/types.h). */
#ifndef BULKHEAD_COMPILE_SPANS_H
#define BULKHEAD_COMPILE_SPANS_H

#include "compile/compiler.h"

/* number of points */
#define POINTS (BH_POINT_OTHER + 1)

/* The points from @first to @last, for which the rule with the number @rule holds. */
struct span {
	uint32_t first, last, rule;
};

typedef ARRAY(struct span) spans_t;

/* Sorts spans by their first points. Those that begin at one point stay in their order. */
void spans_sort(spans_t *spans);

/*
 * Sets @plain->spans to what the rule's ports cover, without those that are names: in order, each
 * with points between it and the next. A rule that lists 16,000 ports one by one has one span if
 * they follow one another, and is sorted once, not for each list of rules that it stands in.
 */
void spans_of_rule(struct compiler *c, struct plain_rule *plain);

#endif
