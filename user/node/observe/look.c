// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/inforce.h"
#include "node/kernel/handle.h"
#include "node/kernel/store.h"

int node_look(const struct node_options *options, struct diag *diag, struct node_handle **host)
{
	int error = node_new(options, diag, host);

	if (!error)
		error = node_find(*host);
	if (!error)
		error = store_read(*host);
	return error || !(*host)->policy ? error : inforce_look(*host);
}
