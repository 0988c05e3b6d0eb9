// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "node/local/iface_entry.h"
#include "node/plan/added_record.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/vanished.h"

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
