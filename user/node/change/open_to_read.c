// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/active_endpoints.h"
#include "node/kernel/handle.h"
#include "node/kernel/pinned_policy.h"

int node_look(const struct node_options *options, struct diag *diag, struct node_handle **handle)
{
	int error = node_new(options, diag, handle);

	if (!error)
		error = node_find(*handle);
	if (!error)
		error = pinned_read(*handle);
	return error || !(*handle)->policy ? error : active_look(*handle);
}

int node_policy_active(const char *pin, struct diag *diag, struct policy **policy)
{
	const struct node_options options = {.pin = pin};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int error = node_look(&options, diag, &handle);

	if (error)
		return error;
	*policy = pinned_take(handle);
	return 0;
}
