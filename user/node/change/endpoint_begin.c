// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "node/change/apply.h"
#include "node/change/endpoint_begin.h"
#include "node/kernel/rights.h"
#include "node/plan/extension.h"
#include "node/plan/vanished.h"

void beginning_end(struct beginning *beginning)
{
	table_free(&beginning->ifaces);
	own_interfaces_free(&beginning->own);
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

int begin_with(struct node_handle *handle, struct beginning *beginning, struct change *change)
{
	int error = make_ready(handle);

	own_interfaces_init(&beginning->own, handle, change);
	beginning->own.alone = true;
	return error ? error
		     : vanished_plan(&beginning->own, beginning->wanted, beginning->patient,
				     &beginning->ifaces, &beginning->went);
}

int endpoint_apply(struct node_handle *handle, struct change *change, struct outcome *outcome)
{
	int error = extension_capacity(handle, change);

	if (!error)
		error = apply(handle, change, outcome);
	return error ? error : extension_renew(handle, change);
}

int begin_finish(struct node_handle *handle, struct beginning *beginning, struct change *change,
		 struct outcome *outcome)
{
	int error = own_interfaces_finish(&beginning->own);

	if (!error)
		error = extension_del(handle, change);
	return error ? error : endpoint_apply(handle, change, outcome);
}

int begin(struct node_handle *handle, struct beginning *beginning)
{
	CLEANUP(change_free) struct change change;
	int error;

	change_init(&change, "interfaces that are gone");
	beginning->patient = true;
	error = begin_with(handle, beginning, &change);
	return error ? error : begin_finish(handle, beginning, &change, NULL);
}

int begin_once(struct node_handle *handle)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	int error = handle->begun ? 0 : begin(handle, &beginning);

	handle->begun = !error;
	return error;
}
