/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that a seed decides: splitmix64. */
#ifndef BULKHEAD_SELFTESTS_RANDOM_H
#define BULKHEAD_SELFTESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state; /* at first the seed */
};

uint64_t random_next(struct random *random);
uint32_t random_below(struct random *random, uint32_t limit); /* 0 to limit - 1 */
bool random_chance(struct random *random, uint32_t percent);

/* One of the numbers given. */
#define RANDOM_ONE_OF(random, ...)                                                            \
	((const int[]){__VA_ARGS__}[random_below(random, sizeof((const int[]){__VA_ARGS__}) / \
								 sizeof(int))])

#endif
