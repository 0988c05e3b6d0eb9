// SPDX-License-Identifier: GPL-2.0-only
/* How long to wait before another attempt. */
#include <sys/random.h>

#include "api/api.h"

unsigned int api_random(unsigned int ms)
{
	unsigned int random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = api_now();
	return random % (ms + 1);
}

unsigned int api_jitter(unsigned int ms)
{
	return ms + api_random(ms / 2);
}

unsigned int api_backoff(unsigned int *backoff, unsigned int first, unsigned int most)
{
	*backoff = *backoff ? *backoff * 2 : first;
	if (*backoff > most)
		*backoff = most;
	return api_jitter(*backoff);
}
