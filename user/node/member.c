// SPDX-License-Identifier: GPL-2.0-only
/* One endpoint that comes or goes, at a cost that does not depend on how many there are. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compile/place.h"
#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/assign.h"
#include "maps/conntrack.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/mac.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "node/assign.h"
#include "node/attach.h"
#include "node/local.h"
#include "node/pins.h"
#include "node/programs.h"
#include "node/rcu.h"

/* An endpoint as a policy of its own, for local_read() to place on this node. */
struct single {
	struct policy policy;
	struct policy_namespace ns;
	struct policy_endpoint endpoint;
	struct policy_address *addresses;
	uint32_t *numbers;
	struct policy_cidr *cidrs;
	char *strings;
	size_t length;
};

static void single_free(struct single *single)
{
	free(single->addresses);
	free(single->numbers);
	free(single->cidrs);
	free(single->strings);
}

/* Strings keep the blob's form: 0 is the empty one. */
static uint32_t single_string(struct single *single, const char *string)
{
	uint32_t at = single->length;

	if (!string)
		return 0;
	strcpy(single->strings + at, string);
	single->length += strlen(string) + 1;
	return at;
}

static size_t room_for(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

static uint32_t namespace_flags(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_namespaces; i++)
		if (!strcmp(policy_string(policy, policy->namespaces[i].name), name))
			return policy->namespaces[i].flags;
	return 0;
}

static int single_make(struct single *single, const struct policy *policy, const char *node,
		       const struct endpoint *endpoint)
{
	single->addresses = calloc(endpoint->n_addresses + 1, sizeof(*single->addresses));
	single->numbers = calloc(endpoint->n_addresses + 1, sizeof(*single->numbers));
	single->cidrs = calloc(endpoint->n_allow_source + 1, sizeof(*single->cidrs));
	single->strings = calloc(1, 1 + room_for(endpoint->ns_name) + room_for(endpoint->name) +
					    room_for(node) + room_for(endpoint->interface));
	if (!single->addresses || !single->numbers || !single->cidrs || !single->strings)
		return -ENOMEM;
	single->length = 1;
	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		single->addresses[i].address = endpoint->addresses[i];
		single->numbers[i] = i;
	}
	for (size_t i = 0; i < endpoint->n_allow_source; i++)
		single->cidrs[i] = (struct policy_cidr){endpoint->allow_source[i].address,
							endpoint->allow_source[i].length};
	single->ns.name = single_string(single, endpoint->ns_name);
	single->ns.flags = namespace_flags(policy, endpoint->ns_name);
	single->endpoint.name = single_string(single, endpoint->name);
	single->endpoint.node = single_string(single, node);
	single->endpoint.interface = single_string(single, endpoint->interface);
	single->endpoint.flags = (endpoint->audit ? POLICY_AUDIT : 0) |
				 (endpoint->l2 ? POLICY_L2 : 0) |
				 (endpoint->has_mac ? POLICY_MAC : 0);
	memcpy(single->endpoint.mac, endpoint->mac, sizeof(single->endpoint.mac));
	single->endpoint.addresses.n = endpoint->n_addresses;
	single->endpoint.allow_source.n = endpoint->n_allow_source;
	single->policy = (struct policy){
		.strings = single->strings,
		.n_strings = single->length,
		.numbers = single->numbers,
		.n_numbers = endpoint->n_addresses,
		.cidrs = single->cidrs,
		.n_cidrs = endpoint->n_allow_source,
		.namespaces = &single->ns,
		.n_namespaces = 1,
		.endpoints = &single->endpoint,
		.n_endpoints = 1,
		.addresses = single->addresses,
		.n_addresses = endpoint->n_addresses,
	};
	return 0;
}

static struct bh_addr bh_addr_from(const struct address *address)
{
	struct bh_addr addr;

	memcpy(&addr, address, sizeof(addr));
	return addr;
}

/* What the maps say of an address that is no endpoint's. */
static uint64_t cover(const struct host *host, const struct bh_addr *addr)
{
	struct bh_prefix_key key = {.length = 128, .addr = *addr};
	struct bh_prefix prefix;

	if (bpf_map_lookup_elem(host->maps[MAP_prefixes], &key, &prefix))
		return 0;
	return bh_assignment_at(prefix.assignment[0], prefix.assignment[1], node_generation(host));
}

/* The slot that a segment of the policy in force has; 0: none. */
static int find_slot(const struct host *host, uint32_t segment, uint32_t *slot)
{
	const uint32_t id = host->policy->segments[segment].id ^ host->blob.ids;
	CLEANUP(table_free) struct table segments = {};
	int error;

	table_init(&segments, sizeof(uint32_t), sizeof(struct bh_segment));
	error = table_read(&segments, host->maps[MAP_segments]);
	for (*slot = 1; !error && *slot < segments.n; (*slot)++)
		if (((struct bh_segment *)table_value(&segments, *slot))->id == id)
			return 0;
	return error ? error : -ENOENT;
}

/* An entry that is there already, just so, is left of a command that was killed. */
static int write_one(struct host *host, enum node_map_id map, const void *key, const void *value,
		     size_t size)
{
	char there[512];

	if (size <= sizeof(there) && !bpf_map_lookup_elem(host->maps[map], key, there) &&
	    !memcmp(there, value, size))
		return 0;
	if (bpf_map_update_elem(host->maps[map], key, value, BPF_NOEXIST))
		return node_fail(host, -errno, "cannot write to %s/%s", host->pin,
				 node_map_names[map]);
	host->writes++;
	return 0;
}

static int write_all(struct host *host, enum node_map_id map, const struct table *table)
{
	int error = 0;

	for (size_t i = 0; !error && i < table->n; i++)
		error = write_one(host, map, table_key(table, i), table_value(table, i),
				  table->value_size);
	return error;
}

/* The node's own are there where another endpoint's interface has the same; load keeps them. */
static int write_macs(struct host *host, const struct table *macs)
{
	struct bh_mac there;
	int error = 0;

	for (size_t i = 0; !error && i < macs->n; i++) {
		const struct bh_mac_key *key = table_key(macs, i);

		if (key->kind == BH_MAC_ENDPOINT ||
		    bpf_map_lookup_elem(host->maps[MAP_macs], key, &there))
			error = write_one(host, MAP_macs, key, table_value(macs, i), sizeof(there));
	}
	return error;
}

static int add_address(struct host *host, const struct endpoint *endpoint,
		       const struct address *address, uint32_t ifindex, bool *isolated)
{
	const struct bh_addr addr = bh_addr_from(address);
	struct bh_endpoint value = {.ifindex = ifindex};
	struct placement placement;
	uint32_t slot = 0;
	int error = policy_place(host->policy, endpoint, address, &placement);

	memcpy(value.mac, endpoint->mac, sizeof(value.mac));
	if (error == -ENOENT)
		*isolated = true;
	else if (!error)
		error = find_slot(host, placement.segment, &slot);
	if (error && !*isolated)
		return node_fail(host, error, "cannot place %s/%s", endpoint->ns_name,
				 endpoint->name);
	if (slot) {
		value.assignment[0] = cover(host, &addr);
		value.assignment[1] =
			bh_assignment(node_generation(host) + 1, slot, placement.variation);
	}
	return write_one(host, MAP_endpoints, &addr, &value, sizeof(value));
}

/* The record comes after the assignment: what has none is undone if this command is killed. */
static int add_record(struct host *host, const struct endpoint *endpoint,
		      const struct address *address)
{
	const struct bh_addr addr = bh_addr_from(address);
	struct bh_added added = {};

	snprintf(added.ns, sizeof(added.ns), "%s", endpoint->ns_name);
	snprintf(added.name, sizeof(added.name), "%s", endpoint->name);
	return write_one(host, MAP_added, &addr, &added, sizeof(added));
}

static int check_free(struct host *host, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		char text[ADDRESS_TEXT];
		struct bh_endpoint there;

		if (bpf_map_lookup_elem(host->maps[MAP_endpoints], &endpoint->addresses[i], &there))
			continue;
		diag_error(host->diag, NULL, NULL, "endpoint %s/%s: %s is an endpoint's already",
			   endpoint->ns_name, endpoint->name,
			   address_print(&endpoint->addresses[i], text));
		return -EINVAL;
	}
	return 0;
}

static int add_local(struct host *host, const struct local *local, uint32_t ifindex)
{
	const struct bh_iface *iface = table_find(&local->ifaces, &ifindex);
	int error;

	if (!ifindex)
		return 0;
	error = write_macs(host, &local->macs);
	if (!error)
		error = write_all(host, MAP_allow_source, &local->allow_source);
	if (!error)
		error = write_one(host, MAP_ifaces, &ifindex, iface, sizeof(*iface));
	return error ? error : attach_add(host, ifindex, iface->flags);
}

/* The keys of a map's entries that @is_of says yes to. */
static int keys_of(const struct host *host, enum node_map_id map, uint32_t key_size,
		   uint32_t value_size, const void *what,
		   bool (*is_of)(const void *what, const void *key, const void *value),
		   struct table *found)
{
	CLEANUP(table_free) struct table all = {};
	int error;

	table_init(&all, key_size, value_size);
	table_init(found, key_size, value_size);
	error = table_read(&all, host->maps[map]);
	for (size_t i = 0; !error && i < all.n; i++)
		if (is_of(what, table_key(&all, i), table_value(&all, i)))
			error = table_add(found, table_key(&all, i), table_value(&all, i));
	return error;
}

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

/* Nothing on the interface is ours any more. */
static int remove_local(struct host *host, uint32_t ifindex)
{
	CLEANUP(table_free) struct table macs = {}, sources = {};
	struct bh_iface iface;
	int error;

	if (!ifindex || bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &iface))
		return 0;
	error = attach_remove(host, ifindex);
	if (!error)
		error = keys_of(host, MAP_macs, sizeof(struct bh_mac_key), sizeof(struct bh_mac),
				&iface, mac_is_of, &macs);
	if (!error)
		error = keys_of(host, MAP_allow_source, sizeof(struct bh_allow_source_key),
				sizeof(struct bh_allow_source), &ifindex, source_is_of, &sources);
	if (!error)
		error = table_delete(&macs, host->maps[MAP_macs]);
	if (!error)
		error = table_delete(&sources, host->maps[MAP_allow_source]);
	if (!error && bpf_map_delete_elem(host->maps[MAP_ifaces], &ifindex))
		error = -errno;
	host->writes += macs.n + sources.n + 1;
	return error ? node_fail(host, error, "cannot take interface %u off", ifindex) : 0;
}

/* Ready for a change of this node, on top of a policy that is whole. */
static int begin(struct host *host)
{
	if (!host->policy) {
		diag_error(host->diag, NULL, NULL, "no policy is in force: load one first");
		return -EINVAL;
	}
	return host->config->busy ? node_repair(host) : 0;
}

/* An endpoint of another node has no interface here. */
static int find_local(struct host *host, const struct endpoint *endpoint, struct single *single,
		      struct local *local)
{
	const struct node_options options = {.pin = host->pin, .name = host->blob.node};
	const struct node_options *given = host->options;
	int error;

	local->ifindexes = calloc(1, sizeof(*local->ifindexes));
	if (!local->ifindexes)
		return -ENOMEM;
	if (endpoint->node && strcmp(endpoint->node, host->blob.node))
		return 0;
	error = single_make(single, host->policy, host->blob.node, endpoint);
	if (error)
		return node_fail(host, error, "endpoint %s/%s", endpoint->ns_name, endpoint->name);
	local_free(local);
	host->options = &options;
	error = local_read(host, &single->policy, local);
	host->options = given;
	return error;
}

int node_endpoint_add(struct host *host, const struct endpoint *endpoint, bool *isolated)
{
	CLEANUP(single_free) struct single single = {};
	CLEANUP(local_free) struct local local = {};
	int error = begin(host);

	*isolated = false;
	if (!error)
		error = check_free(host, endpoint);
	if (!error)
		error = find_local(host, endpoint, &single, &local);
	if (error)
		return error;
	node_set_busy(host, true);
	error = add_local(host, &local, local.ifindexes[0]);
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		error = add_address(host, endpoint, &endpoint->addresses[i], local.ifindexes[0],
				    isolated);
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		error = add_record(host, endpoint, &endpoint->addresses[i]);
	if (error) {
		remove_local(host, local.ifindexes[0]);
		if (!node_repair(host))
			node_set_busy(host, false);
		return error;
	}
	node_flip(host, (uint64_t)node_generation(host) + 1);
	node_set_busy(host, false);
	return 0;
}

struct name {
	const char *ns, *name;
};

static bool added_is_of(const void *name, const void *key, const void *value)
{
	const struct name *wanted = name;
	const struct bh_added *added = value;

	(void)key;
	return !strcmp(wanted->ns, added->ns) && !strcmp(wanted->name, added->name);
}

/* Every address of that name that is in the maps, with its entry there. */
static int find_member(struct host *host, const struct name *name, struct table *members)
{
	const struct policy *policy = host->policy;
	const struct policy_endpoint *known = policy_endpoint_by_name(policy, name->ns, name->name);
	CLEANUP(table_free) struct table added = {};
	struct bh_endpoint entry;
	struct bh_added other;
	int error = keys_of(host, MAP_added, sizeof(struct bh_addr), sizeof(struct bh_added), name,
			    added_is_of, &added);

	table_init(members, sizeof(struct bh_addr), sizeof(entry));
	for (size_t i = 0; !error && i < added.n; i++)
		if (!bpf_map_lookup_elem(host->maps[MAP_endpoints], table_key(&added, i), &entry))
			error = table_add(members, table_key(&added, i), &entry);
	for (uint32_t i = 0; !error && known && i < known->addresses.n; i++) {
		const struct address *address =
			&policy->addresses[policy->numbers[known->addresses.at + i]].address;

		/* What was deleted may have been added again, as anybody's. */
		if (bpf_map_lookup_elem(host->maps[MAP_added], address, &other) &&
		    !bpf_map_lookup_elem(host->maps[MAP_endpoints], address, &entry))
			error = table_add(members, address, &entry);
	}
	return error;
}

/* From the next generation on, the address is what its cover is. */
static int unassign(struct host *host, int program, const struct bh_addr *addr,
		    const struct bh_endpoint *entry)
{
	const uint32_t generation = node_generation(host);
	const uint64_t to = cover(host, addr);
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
static int forget_connections(const struct host *host, const char *map, const struct bh_addr *addr)
{
	SCOPED_FD int fd = pins_get(host, map);
	const bool ipv4 = map[strlen(map) - 1] == '4';
	const size_t size = ipv4 ? sizeof(struct bh_ct_key4) : sizeof(struct bh_ct_key6);
	const size_t length = ipv4 ? 4 : 16;
	const char *own = (const char *)addr + sizeof(*addr) - length;
	char key[sizeof(struct bh_ct_key6)], next[sizeof(struct bh_ct_key6)];
	bool more;

	if (fd < 0)
		return fd;
	more = !bpf_map_get_next_key(fd, NULL, next);
	while (more) {
		memcpy(key, next, size);
		more = !bpf_map_get_next_key(fd, key, next);
		if (!memcmp(key, own, length) || !memcmp(key + length, own, length))
			bpf_map_delete_elem(fd, key);
	}
	return 0;
}

static int forget_member(struct host *host, const struct bh_addr *addr)
{
	static const char *const maps[] = {"ct4", "half4", "ct6", "half6"};
	struct address address;
	int error = 0;
	bool ipv4;

	memcpy(&address, addr, sizeof(address));
	ipv4 = address_is_ipv4(&address);
	for (size_t i = ipv4 ? 0 : 2; !error && i < (ipv4 ? 2u : 4u); i++)
		error = forget_connections(host, maps[i], addr);
	if (!error && bpf_map_delete_elem(host->maps[MAP_endpoints], addr))
		error = -errno;
	if (!error && bpf_map_delete_elem(host->maps[MAP_added], addr) && errno != ENOENT)
		error = -errno;
	host->writes += 2;
	return error;
}

int node_endpoint_del(struct host *host, const char *ns, const char *name)
{
	const struct name wanted = {ns, name};
	CLEANUP(table_free) struct table members = {};
	SCOPED_FD int program = pins_get(host, PROGRAM_ASSIGN);
	int error = begin(host);

	if (error)
		return error;
	error = find_member(host, &wanted, &members);
	if (!error && !members.n) {
		diag_error(host->diag, NULL, NULL, "endpoint %s/%s is not in force here", ns, name);
		return -EINVAL;
	}
	node_set_busy(host, true);
	for (size_t i = 0; !error && i < members.n; i++)
		error = unassign(host, program, table_key(&members, i), table_value(&members, i));
	if (!error) {
		node_flip(host, (uint64_t)node_generation(host) + 1);
		error = rcu_wait();
	}
	for (size_t i = 0; !error && i < members.n; i++)
		error = remove_local(host,
				     ((struct bh_endpoint *)table_value(&members, i))->ifindex);
	for (size_t i = 0; !error && i < members.n; i++)
		error = forget_member(host, table_key(&members, i));
	if (!error)
		error = rcu_wait();
	if (error)
		return node_fail(host, error, "cannot take endpoint %s/%s off", ns, name);
	node_set_busy(host, false);
	return 0;
}

int node_endpoint_each(struct host *host,
		       int (*visit)(void *data, const struct node_member *member), void *data)
{
	CLEANUP(table_free) struct table endpoints = {};
	int status;

	table_init(&endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	status = table_read(&endpoints, host->maps[MAP_endpoints]);
	if (status)
		return node_fail(host, status, "cannot read %s/endpoints", host->pin);
	for (size_t i = 0; !status && i < endpoints.n; i++) {
		const struct bh_endpoint *entry = table_value(&endpoints, i);
		uint64_t word = bh_assignment_at(entry->assignment[0], entry->assignment[1],
						 node_generation(host));
		uint32_t slot = bh_assignment_slot(word);
		struct node_member member = {.ifindex = entry->ifindex,
					     .variation = bh_assignment_variation(word)};
		const struct policy_address *known;
		struct bh_segment segment;
		struct bh_added added;

		memcpy(&member.address, table_key(&endpoints, i), sizeof(member.address));
		known = policy_address_find(host->policy, &member.address);
		if (!bpf_map_lookup_elem(host->maps[MAP_added], &member.address, &added)) {
			member.ns = added.ns;
			member.name = added.name;
			member.added = true;
		} else if (known) {
			const struct policy_endpoint *endpoint =
				&host->policy->endpoints[known->endpoint];

			member.ns = policy_string(host->policy,
						  host->policy->namespaces[endpoint->ns].name);
			member.name = policy_string(host->policy, endpoint->name);
		} else {
			continue;
		}
		if (word && !bpf_map_lookup_elem(host->maps[MAP_segments], &slot, &segment))
			member.segment = segment.id ^ host->blob.ids;
		status = visit(data, &member);
	}
	return status;
}
