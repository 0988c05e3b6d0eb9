/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `bulkhead show` can show. Each prints to stdout, as text or JSON, and
 * returns an exit status. The first read a policy, be it made from inputs or in
 * force; the others what only the maps know.
 */
#ifndef BULKHEAD_CMD_SHOW_H
#define BULKHEAD_CMD_SHOW_H

#include "cmd/filter.h"
#include "cmd/json.h"
#include "cmd/text.h"
#include "cmd/view.h"

struct show {
	const struct call *call;
	const struct view *view;
	const struct policy *policy; /* the view's */
	const struct filter *filter;
	/* By index of the policy's segments: where some end is that --from, --to or --namespace
	 * means. NULL: that option is not given. */
	bool *from, *to, *either;
};

/* Whether @set (of a struct show) has the segment. */
static inline bool show_has(const bool *set, size_t segment)
{
	return !set || set[segment];
}

/* Whether the list allows one of the ports that are meant; any, where none is named. */
struct verdicts;
bool show_has_port(const struct show *show, const struct verdicts *verdicts);

/*
 * Makes an object for each of @n things and prints it, or all as one JSON array. @make returns NULL
 * for what is not to be shown; @text is there for both to use. Returns an exit status.
 */
int show_list(const struct show *show, size_t n,
	      struct json_object *(*make)(const struct show *show, size_t i, struct text *text),
	      void (*print)(struct json_object *object, struct text *text));

/* Sets @text to "namespace/name". */
void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint);

int show_segments(const struct show *show);
int show_endpoints(const struct show *show);
int show_pairs(const struct show *show);
int show_rules(const struct show *show); /* hits, if the maps are read */
int show_generation(const struct show *show);
int show_conntrack(const struct show *show);
int show_counters(const struct show *show);

#endif
