/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of `diff`: the comparison, and the report of it. */
#ifndef BULKHEAD_CMD_DIFF_REPORT_H
#define BULKHEAD_CMD_DIFF_REPORT_H

#include "cmd/emit.h"
#include "cmd/filter.h"
#include "cmd/text_buffer.h"
#include "policy/policy_diff.h"

struct diff_report {
	struct diff diff;
	const struct filter *filter;
	struct filter_flow_classes meant;
	struct class_set *set; /* words for the diff's kinds */
	bool pods; /* report pods, not kinds */
	struct emit emit;
	size_t n; /* differences so far */
};

/* diff_services.c */
void diff_report_services(struct diff_report *report, struct text *text);

#endif
