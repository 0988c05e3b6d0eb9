/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The subjects of `bulkhead show`. Each function prints one of them to stdout, as text or JSON, and
 * returns an exit status. show_conntrack() and show_counters() read maps; the other functions read
 * a policy, made from inputs or active.
 */
#ifndef BULKHEAD_CMD_SHOW_H
#define BULKHEAD_CMD_SHOW_H

#include "cmd/emit.h"
#include "cmd/filter.h"
#include "cmd/segment_index.h"
#include "policy/sides.h"
#include "cmd/text_buffer.h"
#include "cmd/view.h"

struct verdicts;

struct show {
	struct emit *emit;
	const struct view *view;
	const struct policy *policy; /* the view's */
	const struct filter *filter;
	const struct segment_index *index; /* for show_segments() and show_pairs() */
	/* By index of the policy's segments: the segment has an end that --from, --to or
	 * --namespace selects. NULL: the option is not given. */
	bool *from, *to, *either;
};

/* Returns true if @set, one of the three arrays above, has the segment. */
static inline bool show_has(const bool *set, size_t segment)
{
	return !set || set[segment];
}

/* Returns true if the list allows a port that --port names, or if there is no --port. */
bool show_has_port(const struct show *show, const struct verdicts *verdicts);

/* Sets @text to "namespace/name". */
void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint);

/* Finds the end that has an address, and sets @name to its name; "": it has none. */
struct flow_side show_side_at(const struct policy *policy, const struct address *address,
			      char name[FLOW_TEXT]);

int show_segments(const struct show *show);
int show_endpoints(const struct show *show);
int show_pairs(const struct show *show);
/* where the view is of the maps, with how often each rule decided */
int show_rules(const struct show *show);
int show_generation(const struct show *show);
int show_conntrack(const struct show *show);
int show_counters(const struct show *show);
int show_names(const struct show *show); /* reads a map, too */

#endif
