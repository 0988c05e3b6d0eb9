/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `trace` of a flow to a domain name. The name stands for the addresses that the source has
 * learned by it, as the maps have them; and for those that it may learn: an address of each prefix
 * that the policies tell apart.
 */
#ifndef BULKHEAD_CMD_TRACE_NAME_H
#define BULKHEAD_CMD_TRACE_NAME_H

#include "cmd/emit.h"
#include "cmd/side.h"
#include "cmd/view.h"
#include "policy/service_flow.h"
#include "input/name_syntax.h"

/* The verdict on addresses that are evaluated alike. */
struct name_row {
	char to[FLOW_TEXT]; /* an address that was learned, or prefixes: "world, 10.0.0.0/8" */
	bool learned;
	int32_t seconds; /* with `learned`: as struct view_name has it */
	struct flow flow; /* to the address, or to one of them; with the decision's name */
	bool allow;
	struct decision egress, ingress;
};

struct name_trace {
	const struct view *view;
	const struct flow_side *from;
	struct flow flow; /* protocol and port */
	char name[NAME_SYNTAX_DOMAIN_TEXT];
	const char **patterns; /* the names of rules that stand for it */
	size_t n_patterns;
	struct name_row *rows; /* the learned ones first */
	size_t n, n_learned;
	bool remote; /* the maps are another node's that has what the source has learned */
	/* of the learned addresses that may still open; without any: of the prefixes */
	enum service_outcome outcome;
};

/* Evaluates a flow to the domain name that @to names. Returns 0 or -errno; name_trace_free() in any
 * case. */
int name_trace_ask(struct name_trace *trace, const struct flow_side *to);
void name_trace_free(struct name_trace *trace);

/* @explain: walks the rules as well. */
void name_trace_emit(const struct name_trace *trace, bool explain, struct emit *emit);
/* Prints a line of `trace --batch`, with tabs between fields: the outcome, "name NAME"; then for
 * each row "TO allow" or "TO deny", and the egress and ingress decisions. */
void name_trace_line(const struct name_trace *trace);
/* Returns true if the rules, walked one by one, agree with each compiled decision. */
bool name_trace_agrees(const struct name_trace *trace);

#endif
