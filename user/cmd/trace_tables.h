/* SPDX-License-Identifier: GPL-2.0-only */
/* `trace -v` from compiled tables, if there is no INPUT: the segments of both ends, and what each
 * end's policy says about the other at every port. */
#ifndef BULKHEAD_CMD_TRACE_TABLES_H
#define BULKHEAD_CMD_TRACE_TABLES_H

#include "cmd/emit.h"
#include "cmd/view.h"
#include "policy/verdicts.h"

struct trace_tables {
	const struct policy *policy;
	enum direction direction;
	const struct policy_segment *subject, *peer; /* NULL: the endpoint is in no segment */
	struct verdicts verdicts; /* what the subject's policy says; unused where `free` */
	bool free; /* no policy selects the subject in this direction */
};

/* Reads what the policy of @direction's end says of the flow. @decision: the decision that was
 * found before. Returns false if the tables contradict @decision, which is a defect of Bulkhead. */
bool trace_tables_read(const struct view *view, const struct flow *flow, enum direction direction,
		       const struct decision *decision, struct trace_tables *tables);

/* Shows {"segment": SEGMENT, "peer": SEGMENT, "selected_by": [...], "unrestricted": BOOLEAN,
 * "says": [{"ports", "decision"}]}. */
void trace_tables_emit(const struct trace_tables *tables, struct emit *emit, const char *key);

#endif
