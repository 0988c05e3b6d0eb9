// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include "api/api.h"

uint64_t api_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}
