// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/node_limit.h"

#include <stdlib.h>

/* Smallest limit in seconds. It is longer than a lease, so that an engine which loses its network
 * loses the lease before it gives up nodes that it cannot hear. */
#define LIMIT_MIN 20

unsigned int node_limit(const struct call *call)
{
	char *end;
	unsigned long limit = strtoul(call->value, &end, 10);

	if (*end || limit < LIMIT_MIN || limit > 3600)
		call_usage_error(call, "--node-limit %s: %d to 3600 seconds", call->value,
				 LIMIT_MIN);
	return limit;
}
