/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits how often something is done: `burst` times at once, and then once in each `step` ms.
 */
#ifndef BULKHEAD_MODEL_ALLOWANCE_H
#define BULKHEAD_MODEL_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if it may be done once more at @now (ms), and counts that.
 * @paid: the time up to which all is paid for, on a clock that is ahead by the time of a burst; 0
 * at first. */
static inline bool allowance_take(uint64_t *paid, uint64_t now, uint64_t step, unsigned int burst)
{
	const uint64_t full = burst * step;

	now += full;
	if (*paid + full < now)
		*paid = now - full;
	if (*paid + step > now)
		return false;
	*paid += step;
	return true;
}

#endif
