/* SPDX-License-Identifier: GPL-2.0-only */
/* What compiled tables alone tell of a flow, as `trace -v` shows it where there is no INPUT: whose
 * segments the ends are in, and what each end's policy says of the other at every port. */
#ifndef BULKHEAD_CMD_TRACE_TABLES_H
#define BULKHEAD_CMD_TRACE_TABLES_H

#include "cmd/json.h"
#include "cmd/view.h"
#include "compile/verdicts.h"

struct trace_tables {
	const struct policy *policy;
	enum direction direction;
	const struct policy_segment *subject, *peer; /* NULL: an endpoint that is in none */
	struct verdicts verdicts; /* of the subject's policy, where it has one */
	bool free; /* no policy selects the subject in this direction */
};

/* What @direction's end says of the flow; @decision is what it came to. Returns false where the
 * tables say something else, which is a defect. */
bool trace_tables_read(const struct view *view, const struct flow *flow, enum direction direction,
		       const struct decision *decision, struct trace_tables *tables);

void trace_tables_print(const struct trace_tables *tables);
/* {"subject": SEGMENT, "peer": SEGMENT, "selected_by": [...], "ports": [{"ports", "verdict", ...}]}
 */
struct json_object *trace_tables_json(const struct trace_tables *tables);

#endif
