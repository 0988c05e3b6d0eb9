// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes an API server's watch events, as the engine takes them: they give a policy, or a message
 * says why not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *events = size ? fmemopen((void *)data, size, "r") : NULL;
	struct policy *policy = NULL;
	struct diag diag = {0};
	int error;

	if (!events)
		return 0;
	error = replay_compile(events, "fuzz", NULL, &diag, &policy);
	fclose(events);
	/* An event that is refused has a message, and does not stop the rest. */
	if (!error != !!policy || (error && !diag.errors))
		abort();
	policy_free(policy);
	return 0;
}
