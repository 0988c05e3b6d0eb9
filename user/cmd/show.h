/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `bulkhead show` can show. Each prints to stdout, as text or JSON, and
 * returns an exit status. The first read a policy, be it made from inputs or in
 * force; the others what only the maps know.
 */
#ifndef BULKHEAD_CMD_SHOW_H
#define BULKHEAD_CMD_SHOW_H

#include "cmd/json.h"
#include "cmd/text.h"
#include "cmd/view.h"

/*
 * Makes an object for each of @n things and prints it, or all as one JSON array. @make returns NULL
 * for what is not to be shown; @text is there for both to use. Returns an exit status.
 */
int show_list(const struct call *call, const struct view *view, size_t n,
	      struct json_object *(*make)(const struct view *view, size_t i, struct text *text),
	      void (*print)(struct json_object *object, struct text *text));

/* Sets @text to "namespace/name". */
void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint);

int show_segments(const struct call *call, const struct view *view);
int show_endpoints(const struct call *call, const struct view *view);
int show_pairs(const struct call *call, const struct view *view);

int show_rules(const struct call *call, const struct view *view); /* hits, if the maps are read */
int show_conntrack(const struct call *call, const struct view *view);
int show_counters(const struct call *call, const struct view *view);
int show_generation(const struct call *call, const struct view *view);

#endif
