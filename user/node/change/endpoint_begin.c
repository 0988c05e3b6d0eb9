// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "node/change/apply.h"
#include "node/change/endpoint_begin.h"
#include "node/kernel/rights.h"
#include "node/local/iface_entry.h"
#include "node/plan/added_record.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/extension.h"

void beginning_end(struct beginning *beginning)
{
	table_free(&beginning->ifaces);
	own_interfaces_free(&beginning->own);
}

/* Half of bh_ifaces: so many entries leave room for the next endpoints. */
#define FEW 512

static bool has_interface(int socket, uint32_t ifindex)
{
	struct ifreq request = {.ifr_ifindex = ifindex};

	return !ioctl(socket, SIOCGIFNAME, &request) || errno != ENODEV;
}

/* Removes an endpoint whose interface is gone. */
static int leave_vanished(struct own_interfaces *own, uint32_t ifindex,
			  const struct bh_iface *iface, const struct bh_added *wanted, bool *went)
{
	struct bh_added name;
	int error = endpoint_del_at(own, ifindex, iface, &name);

	if (error || !*name.name)
		return error;
	diag_note(own->handle->diag, NULL, NULL, "endpoint %s/%s is off: its interface is gone",
		  name.ns, name.name);
	*went |= wanted && record_is_of(&name, wanted);
	return 0;
}

int vanished_plan(struct own_interfaces *own, const struct bh_added *wanted, bool patient,
		  struct table *ifaces, bool *went)
{
	struct node_handle *handle = own->handle;
	CLEANUP(table_free) struct table all = {};
	SCOPED_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	*went = false;
	maps_init_table(MAP_ifaces, &all);
	maps_init_table(MAP_ifaces, ifaces);
	error = fd < 0 ? -errno : maps_read(handle, MAP_ifaces, &all);
	if (error)
		return node_fail(handle, error, "cannot look at the interfaces");
	for (size_t i = 0; !error && i < all.n; i++) {
		const uint32_t *ifindex = table_key(&all, i);
		const struct bh_iface *iface = table_value(&all, i);

		if (iface->flags & BH_IFACE_UPLINK || has_interface(fd, *ifindex))
			error = table_add(ifaces, ifindex, iface);
		else if (!patient || all.n > FEW || !iface_entry_is_quarantined(iface))
			error = leave_vanished(own, *ifindex, iface, wanted, went);
	}
	return error;
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
