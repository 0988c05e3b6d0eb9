/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits how often something is done: `burst` times at once, and then once in each `step` ms.
 * Either all together have one allowance, or each namespace has its own: whoever may write in one
 * of them takes nothing of what the others have.
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

/* Returns the time in ms until allowance_take() returns true. */
static inline uint64_t allowance_wait(uint64_t paid, uint64_t now, uint64_t step,
				      unsigned int burst)
{
	const uint64_t next = paid + step, full = burst * step;

	return next > now + full ? next - now - full : 0;
}

struct tenant_allowance;

/* The allowances of namespaces; {0} at first. It forgets those that have all of theirs. Whoever may
 * make namespaces may have thousands. */
#define ALLOWANCE_LISTS 256
struct allowances {
	struct tenant_allowance *lists[ALLOWANCE_LISTS]; /* by a hash of the name */
};

/* As allowance_take() and allowance_wait(), of the namespace @ns. Without memory nothing may be
 * done. */
bool allowances_take(struct allowances *allowances, const char *ns, uint64_t now, uint64_t step,
		     unsigned int burst);
uint64_t allowances_wait(const struct allowances *allowances, const char *ns, uint64_t now,
			 uint64_t step, unsigned int burst);
void allowances_free(struct allowances *allowances);

#endif
