/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary search. */
#ifndef BULKHEAD_MODEL_SEARCH_H
#define BULKHEAD_MODEL_SEARCH_H

#include <stddef.h>

/* Returns the first index below @n for which @is_before, an expression of the index @i, is false;
 * @n: it is true for all. It must be false for every index behind one for which it is false. */
#define SEARCH(n, i, is_before)                              \
	__extension__({                                      \
		size_t low_ = 0, high_ = (n);                \
                                                             \
		while (low_ < high_) {                       \
			const size_t i = (low_ + high_) / 2; \
                                                             \
			if (is_before)                       \
				low_ = i + 1;                \
			else                                 \
				high_ = i;                   \
		}                                            \
		low_;                                        \
	})

#endif
