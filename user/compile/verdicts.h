/* SPDX-License-Identifier: GPL-2.0-only */
/* What policy says of every protocol and port at once, and which of them it allows. */
#ifndef BULKHEAD_COMPILE_VERDICTS_H
#define BULKHEAD_COMPILE_VERDICTS_H

#include "compile/judge.h"

/* What follows the last point of the number line (maps/types.h). */
#define VERDICTS_END (BH_POINT_OTHER + 1)

/* Sorted by start, from 0: as maps/ports.h says. */
struct verdicts {
	const struct bh_interval *at; /* NULL: `all` alone */
	size_t n; /* 1 with `all` */
	struct bh_interval all;
};

/*
 * What @subject's policy says of @peer in @direction, where the destination's port names have the
 * numbers of @resolution.
 */
struct verdicts verdicts_of(const struct policy *policy, const struct policy_segment *subject,
			    const struct policy_segment *peer, enum direction direction,
			    uint32_t resolution);

/* The interval at @i, whatever holds it. */
static inline const struct bh_interval *verdicts_at(const struct verdicts *verdicts, size_t i)
{
	return verdicts->at ? &verdicts->at[i] : &verdicts->all;
}

bool verdicts_allow_any(const struct verdicts *verdicts);
/* Whether the point of the number line is allowed. */
bool verdicts_allow(const struct verdicts *verdicts, uint32_t point);

/* Points from @first up to and without @end as "TCP/80", "UDP/7000-7010", "SCTP", "other". Calls
 * @visit for each, with @data. */
void points_each(uint32_t first, uint32_t end, void (*visit)(void *data, const char *text),
		 void *data);

/* The same for all that the list allows; "all" is one. */
void verdicts_each_allowed(const struct verdicts *verdicts,
			   void (*visit)(void *data, const char *text), void *data);

#endif
