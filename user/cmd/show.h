/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The things that `bulkhead show` shows. Each function prints one to stdout, as text or JSON,
 * and returns an exit status. The first group reads a policy, made from inputs or in force; the
 * second reads maps.
 */
#ifndef BULKHEAD_CMD_SHOW_H
#define BULKHEAD_CMD_SHOW_H

#include "cmd/filter.h"
#include "cmd/json.h"
#include "cmd/text_buffer.h"
#include "cmd/view.h"

struct show {
	const struct call *call;
	const struct view *view;
	const struct policy *policy; /* the view's */
	const struct filter *filter;
	/* By index of the policy's segments: an end that --from, --to or --namespace selects is
	 * in the segment. NULL: the option is not given. */
	bool *from, *to, *either;
};

/* Whether @set, one of the three above, has the segment. */
static inline bool show_has(const bool *set, size_t segment)
{
	return !set || set[segment];
}

/* Whether the list allows a port that --port names. True without --port. */
struct verdicts;
bool show_has_port(const struct show *show, const struct verdicts *verdicts);

/*
 * Makes an object for each of @n things and prints it, or with -j prints all as one JSON array.
 * @make returns NULL for a thing to be left out. @text is a buffer for both callbacks. Returns
 * an exit status.
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
int show_rules(const struct show *show); /* reads how often each rule decided where the maps are
					  * read */
int show_generation(const struct show *show);
int show_conntrack(const struct show *show);
int show_counters(const struct show *show);

#endif
