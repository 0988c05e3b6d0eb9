// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include "api/api.h"

static uint64_t read_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

uint64_t api_now(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

uint64_t api_processor_time(void)
{
	return read_ms(CLOCK_PROCESS_CPUTIME_ID);
}
