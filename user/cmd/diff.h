/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of `diff` share: the comparison, and how it is reported. */
#ifndef BULKHEAD_CMD_DIFF_H
#define BULKHEAD_CMD_DIFF_H

#include "cmd/filter.h"
#include "cmd/json.h"
#include "cmd/text.h"
#include "compile/diff.h"

struct report {
	struct diff diff;
	const struct filter *filter;
	struct filter_kinds meant;
	struct kindset *set; /* of the diff's kinds */
	bool pods; /* by pods, not by kinds */
	struct json_object *json; /* an array; NULL: it is printed as text */
	size_t n; /* differences */
};

/* diff_services.c */
void diff_report_services(struct report *report, struct text *text);

#endif
