// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "node/change/apply.h"
#include "node/change/endpoint_begin.h"
#include "node/change/extension.h"
#include "node/kernel/rights.h"
#include "node/change/vanished.h"

void beginning_end(struct beginning *beginning)
{
	table_free(&beginning->ifaces);
}

static int make_ready(struct node_handle *handle)
{
	int error = rights_to_change(handle);

	if (!error && !handle->policy) {
		diag_error(handle->diag, NULL, NULL, "no policy is active: load one first");
		return -EINVAL;
	}
	return !error && node_is_busy(handle) ? apply_repair(handle) : error;
}

int begin(struct node_handle *handle, struct beginning *beginning)
{
	CLEANUP(change_free) struct change change;
	int error;

	change_init(&change, "interfaces that are gone");
	beginning->patient = true;
	error = begin_with(handle, beginning, &change);
	if (!error)
		error = extension_del(handle, &change);
	if (!error)
		error = extension_capacity(handle, &change);
	if (!error)
		error = apply(handle, &change, NULL);
	return error ? error : extension_renew(handle, &change);
}

int begin_once(struct node_handle *handle)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	int error = handle->begun ? 0 : begin(handle, &beginning);

	handle->begun = !error;
	return error;
}

int begin_with(struct node_handle *handle, struct beginning *beginning, struct change *change)
{
	int error = make_ready(handle);

	return error ? error
		     : vanished_plan(handle, beginning->wanted, beginning->patient, change,
				     &beginning->ifaces, &beginning->went);
}
