// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "node/assign.h"
#include "node/attach.h"
#include "node/connections.h"
#include "node/leave.h"
#include "node/pins.h"
#include "node/rcu.h"
#include "node/write.h"

static bool mac_is_of(const void *iface, const void *key, const void *value)
{
	const struct bh_iface *own = iface;

	(void)value;
	return own->flags & BH_IFACE_MAC &&
	       ((const struct bh_mac_key *)key)->kind == BH_MAC_ENDPOINT &&
	       !memcmp(own->mac, ((const struct bh_mac_key *)key)->mac, sizeof(own->mac));
}

static bool source_is_of(const void *ifindex, const void *key, const void *value)
{
	(void)value;
	return ntohl(((const struct bh_allow_source_key *)key)->ifindex) ==
	       *(const uint32_t *)ifindex;
}

static bool link_is(const void *ifindex, const void *key, const void *value)
{
	(void)value;
	return ((const struct bh_link_local_key *)key)->link == *(const uint32_t *)ifindex;
}

bool leave_is_sealed(const struct bh_iface *iface)
{
	const struct bh_addr none = {};

	return iface->flags & BH_IFACE_ENDPOINT && !memcmp(&iface->ipv4, &none, sizeof(none)) &&
	       !memcmp(&iface->ipv6, &none, sizeof(none));
}

/* No other entry comes before the caller has waited for the programs that read this one. */
static int seal(struct host *host, uint32_t ifindex, const struct bh_iface *iface)
{
	const struct bh_iface sealed = {
		.flags = BH_IFACE_ENDPOINT | (iface->flags & (BH_IFACE_QDISC | BH_IFACE_L2)),
		.bridge = iface->bridge,
	};

	if (bpf_map_update_elem(host->maps[MAP_ifaces], &ifindex, &sealed, BPF_EXIST))
		return node_fail(host, -errno, "cannot write to %s/ifaces", host->pin);
	host->writes++;
	return 0;
}

/* As long as it is there, it is a port like others of its bridge, or a way out of the node. */
static int become_nobodys(struct host *host, uint32_t ifindex, const struct bh_iface *iface)
{
	struct bh_iface left = {
		.flags = (iface->bridge ? BH_IFACE_PORT : BH_IFACE_OTHER) |
			 (iface->flags & BH_IFACE_QDISC),
		.bridge = iface->bridge,
	};

	if (iface->bridge && host->blob.flags & BH_BLOB_AUDIT)
		left.flags |= BH_IFACE_AUDIT;
	return attach_turn(host, ifindex, &left);
}

int leave_interface(struct host *host, uint32_t ifindex)
{
	CLEANUP(table_free) struct table macs = {}, sources = {}, link_locals = {};
	struct bh_iface iface;
	char name[IF_NAMESIZE];
	bool stays;
	int error;

	if (!ifindex)
		return 0;
	if (bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &iface))
		return errno == ENOENT
			       ? 0
			       : node_fail(host, -errno, "cannot read %s/ifaces", host->pin);
	stays = if_indextoname(ifindex, name);
	if (stays && (iface.flags & (BH_IFACE_PORT | BH_IFACE_OTHER) || leave_is_sealed(&iface)))
		return 0;
	error = stays ? 0 : attach_remove(host, ifindex);
	if (error)
		return error;
	table_init(&macs, sizeof(struct bh_mac_key), sizeof(struct bh_mac));
	table_init(&sources, sizeof(struct bh_allow_source_key), sizeof(struct bh_allow_source));
	table_init(&link_locals, sizeof(struct bh_link_local_key), sizeof(struct bh_link_local));
	error = table_read_some(&macs, host->maps[MAP_macs], mac_is_of, &iface);
	if (!error)
		error = table_read_some(&sources, host->maps[MAP_allow_source], source_is_of,
					&ifindex);
	if (!error)
		error = table_read_some(&link_locals, host->maps[MAP_link_locals], link_is,
					&ifindex);
	if (!error)
		error = table_delete(&macs, host->maps[MAP_macs]);
	if (!error)
		error = table_delete(&sources, host->maps[MAP_allow_source]);
	if (!error)
		error = table_delete(&link_locals, host->maps[MAP_link_locals]);
	host->writes += macs.n + sources.n + link_locals.n;
	if (!error && stays && host->options->seal)
		return seal(host, ifindex, &iface);
	if (!error && stays)
		return become_nobodys(host, ifindex, &iface);
	if (!error && bpf_map_delete_elem(host->maps[MAP_ifaces], &ifindex))
		error = -errno;
	host->writes += !error;
	return error ? node_fail(host, error, "cannot take interface %u off", ifindex) : 0;
}

/* From the next generation on, the address is what its cover is. */
static int unassign(struct host *host, int program, const struct bh_addr *addr,
		    const struct bh_endpoint *entry)
{
	const uint32_t generation = node_generation(host);
	const uint64_t to = assign_cover(host, addr);
	const uint64_t now =
		bh_assignment_at(entry->assignment[0], entry->assignment[1], generation);
	struct bh_assign request = {
		.addr = *addr,
		.which = now && now == entry->assignment[0],
		.word = bh_assignment(generation + 1, bh_assignment_slot(to),
				      bh_assignment_variation(to)),
	};

	return assign_store(host, program, &request);
}

/* The connections of an address: its next owner inherits none. */
static int forget_address(struct host *host, const struct bh_addr *addr)
{
	CLEANUP(connections_close) struct connections connections = {};
	int error = connections_open(host, &connections);

	if (!error)
		connections_forget(&connections, addr);
	return error;
}

/* Who is not in the maps but in the policy is there all the same, unless this says that it is not.
 */
static int note_leave(struct host *host, const struct bh_addr *addr)
{
	const struct bh_added nobody = {};
	struct address address;
	bool known;

	memcpy(&address, addr, sizeof(address));
	known = host->blob.flags & BH_BLOB_NEEDED && policy_address_find(host->policy, &address);
	if (!known && bpf_map_delete_elem(host->maps[MAP_added], addr))
		return 0;
	host->writes++;
	return known && bpf_map_update_elem(host->maps[MAP_added], addr, &nobody, BPF_ANY) ? -errno
											   : 0;
}

static int leave_address(struct host *host, const struct bh_addr *addr)
{
	int error = forget_address(host, addr);

	if (!error)
		error = note_leave(host, addr);
	if (!error && bpf_map_delete_elem(host->maps[MAP_endpoints], addr))
		error = -errno;
	host->writes++;
	return error;
}

static int failed(struct host *host, int error)
{
	return node_fail(host, error, "cannot take an endpoint off");
}

int leave_left_out(struct host *host, const struct table *addresses)
{
	int error = 0;

	for (size_t i = 0; !error && i < addresses->n; i++) {
		error = forget_address(host, table_key(addresses, i));
		if (!error)
			error = note_leave(host, table_key(addresses, i));
	}
	return error ? failed(host, error) : 0;
}

int leave_members(struct host *host, const struct table *members)
{
	SCOPED_FD int program = pins_get_program(host, PROGRAM_ASSIGN);
	int error = program < 0 ? program : 0;

	for (size_t i = 0; !error && i < members->n; i++)
		error = unassign(host, program, table_key(members, i), table_value(members, i));
	if (error)
		return failed(host, error);
	write_flip(host, (uint64_t)node_generation(host) + 1);
	error = rcu_wait(host);
	for (size_t i = 0; !error && i < members->n; i++)
		error = leave_interface(host,
					((struct bh_endpoint *)table_value(members, i))->ifindex);
	if (error)
		return error;
	for (size_t i = 0; !error && i < members->n; i++)
		error = leave_address(host, table_key(members, i));
	return error ? failed(host, error) : rcu_wait(host);
}
