// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/random.h"

uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t random_below(struct random *random, uint32_t limit)
{
	return (random_next(random) >> 32) * limit >> 32;
}

bool random_chance(struct random *random, uint32_t percent)
{
	return random_below(random, 100) < percent;
}
