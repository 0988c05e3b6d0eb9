/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes a failing sequence shorter. Include lib/sequence.h or lib/translation.h first: each has a
 * `struct sequence` with n steps. */
#ifndef BULKHEAD_SELFTESTS_SHRINK_H
#define BULKHEAD_SELFTESTS_SHRINK_H

#include <string.h>

struct shrink {
	struct sequence *sequence, tried;
	bool (*fails)(const struct sequence *sequence, void *data);
	void *data;
};

/* Keeps a change of the sequence if the sequence still fails. */
static inline bool shrink_keep(struct shrink *shrink)
{
	if (!memcmp(&shrink->tried, shrink->sequence, sizeof(shrink->tried)) ||
	    !shrink->fails(&shrink->tried, shrink->data)) {
		shrink->tried = *shrink->sequence;
		return false;
	}
	*shrink->sequence = shrink->tried;
	return true;
}

/* Removes steps, many at once and then fewer. Returns true if one is gone. */
static inline bool shrink_steps(struct shrink *shrink)
{
	struct sequence *tried = &shrink->tried;
	bool changed = false;

	for (int size = tried->n / 2; size >= 1; size /= 2)
		for (int i = 0; i + size <= tried->n;) {
			memmove(&tried->steps[i], &tried->steps[i + size],
				(tried->n - i - size) * sizeof(tried->steps[0]));
			tried->n -= size;
			if (shrink_keep(shrink))
				changed = true;
			else
				i++;
		}
	return changed;
}

#endif
