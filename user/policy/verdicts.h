/* SPDX-License-Identifier: GPL-2.0-only */
/* Policy's verdicts for every protocol and port at once, and the ports that they allow. */
#ifndef BULKHEAD_POLICY_VERDICTS_H
#define BULKHEAD_POLICY_VERDICTS_H

#include "policy/evaluate.h"

/* One behind the last point of the number line (maps/types.h). */
#define VERDICTS_END (BH_POINT_OTHER + 1)

/* A list of intervals as in maps/ports.h: sorted by start, from 0. */
struct verdicts {
	const struct bh_interval *at; /* NULL: `all` is the only interval */
	size_t n; /* 1 with `all` */
	struct bh_interval all;
};

/* Returns a port list that uses no port names. */
struct verdicts verdicts_of_list(const struct policy *policy, struct bh_ports_ref ports);

/*
 * Returns the port list of @subject's policy for @peer in @direction, if the destination
 * numbers its port names by @resolution.
 */
struct verdicts verdicts_of(const struct policy *policy, const struct policy_segment *subject,
			    const struct policy_segment *peer, enum direction direction,
			    uint32_t resolution);

/* Returns the interval at index @i. */
static inline const struct bh_interval *verdicts_at(const struct verdicts *verdicts, size_t i)
{
	return verdicts->at ? &verdicts->at[i] : &verdicts->all;
}

bool verdicts_allow_any(const struct verdicts *verdicts);
/* Returns true if the verdict at the point is to allow. */
bool verdicts_allow(const struct verdicts *verdicts, uint32_t point);

/* Calls @visit for the points from @first to before @end, in words: "TCP/80", "UDP/7000-7010",
 * "SCTP", "other". */
void points_each(uint32_t first, uint32_t end, void (*visit)(void *data, const char *text),
		 void *data);

/* As points_each(), for all that the list allows; "all" if that is everything. */
void verdicts_each_allowed(const struct verdicts *verdicts,
			   void (*visit)(void *data, const char *text), void *data);

#endif
