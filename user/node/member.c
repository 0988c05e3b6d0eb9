// SPDX-License-Identifier: GPL-2.0-only
/*
 * One endpoint that comes or goes, at a cost that does not depend on how many there are: of the
 * policy in force, only what places it is read.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "compile/place.h"
#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/mac.h"
#include "maps/segment.h"
#include "node/assign.h"
#include "node/attach.h"
#include "node/bring.h"
#include "node/inforce.h"
#include "node/leave.h"
#include "node/local.h"
#include "node/pins.h"
#include "node/record.h"
#include "node/repair.h"
#include "node/rights.h"
#include "node/store.h"
#include "node/write.h"

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

/* By its own word, as one of that name or its namespace is in the policy in force, or as that was
 * loaded on all of this node. */
static bool is_audited(const struct host *host, const struct endpoint *endpoint)
{
	const struct policy *policy = host->policy;
	const struct policy_namespace *ns = policy_namespace_by_name(policy, endpoint->ns_name);
	const struct policy_endpoint *known =
		policy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);

	return endpoint->audit || host->blob.flags & BH_BLOB_AUDIT ||
	       (ns && ns->flags & POLICY_AUDIT) || (known && known->flags & POLICY_AUDIT);
}

static int single_make(struct single *single, const struct host *host,
		       const struct endpoint *endpoint)
{
	const char *node = host->blob.node;

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
	single->endpoint.name = single_string(single, endpoint->name);
	single->endpoint.node = single_string(single, node);
	single->endpoint.interface = single_string(single, endpoint->interface);
	single->endpoint.flags = (is_audited(host, endpoint) ? POLICY_AUDIT : 0) |
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

static bool slot_is_of(const struct host *host, uint32_t slot, uint32_t id)
{
	struct bh_segment segment;

	return slot && !bpf_map_lookup_elem(host->maps[MAP_segments], &slot, &segment) &&
	       segment.id == id;
}

/* The slot of a segment of the policy in force. */
static int find_slot(const struct host *host, uint32_t segment, uint32_t *slot)
{
	const struct policy_segment *record =
		policy_read(host->policy, &host->policy->segments[segment], sizeof(*record));
	const uint32_t id = record->id ^ host->blob.ids;
	CLEANUP(table_free) struct table segments = {};
	int error;

	*slot = store_slot(host, segment);
	if (slot_is_of(host, *slot, id))
		return 0;
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
	char there[sizeof(struct bh_added)];

	if (size <= sizeof(there) && !bpf_map_lookup_elem(host->maps[map], key, there) &&
	    !memcmp(there, value, size))
		return 0;
	if (!bpf_map_update_elem(host->maps[map], key, value, BPF_NOEXIST)) {
		host->writes++;
		return 0;
	}
	if (errno != E2BIG && errno != ENOSPC)
		return node_fail(host, -errno, "cannot write to %s/%s", host->pin,
				 node_map_names[map]);
	diag_error(host->diag, NULL, NULL,
		   "the map %s has room for %u entries, and the endpoint needs more: a load that "
		   "has it makes room",
		   node_map_names[map], host->room[map]);
	return -ENOSPC;
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

/* As the policy in force has the pod of that name, or else by its labels. */
static int place(const struct host *host, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement)
{
	const struct policy *policy = host->policy;
	const struct policy_endpoint *known;
	const struct policy_address *one;
	const uint32_t *number;

	if (!endpoint->as_policy)
		return policy_place(policy, endpoint, address, placement);
	known = policy_endpoint_by_name(policy, endpoint->ns_name, endpoint->as_policy);
	for (uint32_t i = 0; known && i < known->addresses.n; i++) {
		number = policy_read(policy, &policy->numbers[known->addresses.at + i],
				     sizeof(*number));
		one = policy_read(policy, &policy->addresses[*number], sizeof(*one));
		if (address_is_ipv4(&one->address) == address_is_ipv4(address))
			return policy_place_like(policy, endpoint, one, address, placement);
	}
	return -ENOENT;
}

/* Until the flip the address is what its cover is. */
static int add_address(struct host *host, const struct endpoint *endpoint,
		       const struct address *address, uint32_t ifindex, bool *isolated)
{
	const struct bh_addr addr = bh_addr_from(address);
	struct bh_endpoint value = {.assignment = {assign_cover(host, &addr)}, .ifindex = ifindex};
	struct placement placement = {};
	uint32_t slot = 0;
	int error = place(host, endpoint, address, &placement);

	memcpy(value.mac, endpoint->mac, sizeof(value.mac));
	if (error == -ENOENT)
		*isolated = true;
	else if (!error)
		error = find_slot(host, placement.segment, &slot);
	if (error && !*isolated)
		return node_fail(host, error, "cannot place %s/%s", endpoint->ns_name,
				 endpoint->name);
	value.assignment[1] = bh_assignment(node_generation(host) + 1, slot, placement.variation);
	return write_one(host, MAP_endpoints, &addr, &value, sizeof(value));
}

static int record_too_large(const struct host *host, const struct endpoint *endpoint)
{
	diag_error(
		host->diag, NULL, NULL,
		"endpoint %s/%s: its labels, ports, addresses and sources take more than %zu bytes",
		endpoint->ns_name, endpoint->name, sizeof(((struct bh_added *)NULL)->fields));
	return -EINVAL;
}

static int add_record(struct host *host, const struct endpoint *endpoint,
		      const struct address *address)
{
	const struct bh_addr addr = bh_addr_from(address);
	struct bh_added added = {};

	/* Whose it was that was taken off is of no interest any more. */
	if (!bpf_map_lookup_elem(host->maps[MAP_added], &addr, &added) && !*added.name)
		bpf_map_delete_elem(host->maps[MAP_added], &addr);
	if (record_write(endpoint, &added))
		return record_too_large(host, endpoint);
	return write_one(host, MAP_added, &addr, &added, sizeof(added));
}

static bool added_is_of(const void *wanted, const void *key, const void *value)
{
	(void)key;
	return record_is_of(value, wanted);
}

/* Whether an endpoint of the policy is in force and the maps only do without its address. */
static bool is_left_out(const struct host *host, const struct address *address)
{
	struct bh_endpoint entry;
	struct bh_added added;

	return host->blob.flags & BH_BLOB_NEEDED &&
	       bpf_map_lookup_elem(host->maps[MAP_endpoints], address, &entry) &&
	       bpf_map_lookup_elem(host->maps[MAP_added], address, &added);
}

/* An address with its entry, unless it has none. */
static int add_if_there(const struct host *host, const void *address, struct table *members,
			bool *there)
{
	struct bh_endpoint entry;

	*there = !bpf_map_lookup_elem(host->maps[MAP_endpoints], address, &entry);
	if (*there)
		return table_add(members, address, &entry);
	return errno == ENOENT ? 0 : -errno;
}

/* The addresses of that name that are in force: in the maps, with their entries there; or left out
 * of them, with none. */
static int find_member(struct host *host, const struct bh_added *name, struct table *members,
		       struct table *left_out)
{
	const struct policy *policy = host->policy;
	const struct policy_endpoint *known = policy_endpoint_by_name(policy, name->ns, name->name);
	CLEANUP(table_free) struct table added = {};
	struct bh_added other;
	bool there;
	int error;

	table_init(&added, sizeof(struct bh_addr), sizeof(struct bh_added));
	table_init(members, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(left_out, sizeof(struct bh_addr), 0);
	error = table_read_some(&added, host->maps[MAP_added], added_is_of, name);
	for (size_t i = 0; !error && i < added.n; i++)
		error = add_if_there(host, table_key(&added, i), members, &there);
	for (uint32_t i = 0; !error && known && i < known->addresses.n; i++) {
		const uint32_t *number = policy_read(
			policy, &policy->numbers[known->addresses.at + i], sizeof(*number));
		const struct policy_address *address =
			policy_read(policy, &policy->addresses[*number], sizeof(*address));

		/* What was deleted may have been added again, as anybody's. */
		if (!bpf_map_lookup_elem(host->maps[MAP_added], &address->address, &other))
			continue;
		error = errno == ENOENT ? 0 : -errno;
		there = false;
		if (!error)
			error = add_if_there(host, &address->address, members, &there);
		if (!error && !there && host->blob.flags & BH_BLOB_NEEDED)
			error = table_add(left_out, &address->address, NULL);
	}
	return !error && policy->source ? policy->source->error : error;
}

static bool has_interface(int socket, uint32_t ifindex)
{
	struct ifreq request = {.ifr_ifindex = ifindex};

	return !ioctl(socket, SIOCGIFNAME, &request) || errno != ENODEV;
}

/* What a change of this node begins with. */
struct beginning {
	struct table ifaces; /* of bh_ifaces, those that are there */
	const struct bh_added *wanted; /* the endpoint that is asked to go; NULL: none */
	bool went; /* it went with its interface */
};

static void beginning_end(struct beginning *beginning)
{
	table_free(&beginning->ifaces);
}

/* Takes an endpoint off whose interface is gone. */
static int drop_vanished(struct host *host, uint32_t ifindex, const struct bh_iface *iface,
			 struct beginning *beginning)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	CLEANUP(table_free) struct table members = {}, left_out = {};
	struct bh_added name;
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct bh_endpoint entry;
		struct address address;

		memcpy(&address, addrs[i], sizeof(address));
		if (bpf_map_lookup_elem(host->maps[MAP_endpoints], &address, &entry) ||
		    entry.ifindex != ifindex || !inforce_owner(host, &address, &name))
			continue;
		diag_note(host->diag, NULL, NULL, "endpoint %s/%s is off: its interface is gone",
			  name.ns, name.name);
		beginning->went |= beginning->wanted && record_is_of(&name, beginning->wanted);
		error = find_member(host, &name, &members, &left_out);
		return error ? error : leave_members(host, &members);
	}
	return leave_interface(host, ifindex);
}

/* What is left of interfaces that are gone. */
static int drop_all_vanished(struct host *host, struct beginning *beginning)
{
	struct table *ifaces = &beginning->ifaces;
	CLEANUP(table_free) struct table all = {};
	SCOPED_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	table_init(&all, sizeof(uint32_t), sizeof(struct bh_iface));
	table_init(ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	error = fd < 0 ? -errno : table_read(&all, host->maps[MAP_ifaces]);
	if (error)
		return node_fail(host, error, "cannot look at the interfaces");
	for (size_t i = 0; !error && i < all.n; i++) {
		const uint32_t *ifindex = table_key(&all, i);
		const struct bh_iface *iface = table_value(&all, i);

		if (iface->flags & BH_IFACE_UPLINK || has_interface(fd, *ifindex)) {
			error = table_add(ifaces, ifindex, iface);
			continue;
		}
		write_busy(host, true);
		error = drop_vanished(host, *ifindex, iface, beginning);
	}
	if (!error)
		write_busy(host, false);
	return error;
}

/* Ready for a change of this node, on top of a policy that is whole. */
static int begin(struct host *host, struct beginning *beginning)
{
	int error = rights_to_change(host);

	if (!error && !host->policy) {
		diag_error(host->diag, NULL, NULL, "no policy is in force: load one first");
		return -EINVAL;
	}
	if (!error && node_is_busy(host))
		error = repair(host);
	return error ? error : drop_all_vanished(host, beginning);
}

/* That neither the name nor an address of it is in force. */
static int check_free(struct host *host, const struct endpoint *endpoint)
{
	const struct bh_added name = record_name(endpoint->ns_name, endpoint->name);
	CLEANUP(table_free) struct table members = {}, left_out = {};
	struct bh_endpoint there;
	char text[ADDRESS_TEXT];
	struct address address;
	int error = find_member(host, &name, &members, &left_out);

	if (error)
		return node_fail(host, error, "cannot look for %s/%s", name.ns, name.name);
	if (members.n || left_out.n) {
		memcpy(&address, table_key(members.n ? &members : &left_out, 0), sizeof(address));
		diag_error(host->diag, NULL, NULL,
			   "endpoint %s/%s: it is in force already, with %s", name.ns, name.name,
			   address_print(&address, text));
		return -EINVAL;
	}
	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		const struct address *wanted = &endpoint->addresses[i];
		struct bh_added owner = {};
		bool taken = !bpf_map_lookup_elem(host->maps[MAP_endpoints], wanted, &there);

		if (taken)
			inforce_owner(host, wanted, &owner);
		else
			taken = is_left_out(host, wanted) && inforce_owner(host, wanted, &owner);
		if (!taken)
			continue;
		diag_error(host->diag, NULL, NULL, "endpoint %s/%s: %s is %s/%s's", name.ns,
			   name.name, address_print(wanted, text), owner.ns, owner.name);
		return -EINVAL;
	}
	return 0;
}

/* An endpoint of another node has no interface here. */
static int find_local(struct host *host, const struct endpoint *endpoint,
		      const struct table *ifaces, struct local *local)
{
	CLEANUP(single_free) struct single single = {};
	int error;

	local->ifindexes = calloc(1, sizeof(*local->ifindexes));
	if (!local->ifindexes)
		return -ENOMEM;
	if (endpoint->node && strcmp(endpoint->node, host->blob.node))
		return 0;
	error = single_make(&single, host, endpoint);
	if (error)
		return node_fail(host, error, "endpoint %s/%s", endpoint->ns_name, endpoint->name);
	local_free(local);
	return local_read_one(host, &single.policy, ifaces, local);
}

/* It may be guarded as a port of its bridge, or as whatever else packets leave by; or be so again
 * after a command that failed. */
static int add_interface(struct host *host, uint32_t ifindex, struct bh_iface iface)
{
	struct bh_iface there;

	if (bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &there) ||
	    (!(there.flags & (BH_IFACE_PORT | BH_IFACE_OTHER)) && !leave_is_sealed(&there)))
		return write_one(host, MAP_ifaces, &ifindex, &iface, sizeof(iface));
	iface.flags |= there.flags & BH_IFACE_QDISC;
	return attach_turn(host, ifindex, &iface);
}

static int add_local(struct host *host, const struct local *local, uint32_t ifindex)
{
	const struct bh_iface *iface = table_find(&local->ifaces, &ifindex);
	int error;

	if (!ifindex)
		return 0;
	/* The interface comes first: by it, what else is left of a command that failed is found. */
	error = add_interface(host, ifindex, *iface);
	if (!error)
		error = write_macs(host, &local->macs);
	if (!error)
		error = write_all(host, MAP_allow_source, &local->allow_source);
	if (!error)
		error = write_all(host, MAP_link_locals, &local->link_locals);
	if (!error)
		error = write_all(host, MAP_tunnels, &local->tunnels);
	if (!error)
		error = attach_add(host, ifindex, iface->flags);
	return error == -ENODEV ? node_fail(host, error, "cannot attach to interface %u", ifindex)
				: error;
}

/* All that counts from the flip on. Addresses come first: a hook isolates an endpoint of which it
 * finds none. */
static int add(struct host *host, const struct endpoint *endpoint, const struct local *local,
	       bool *isolated)
{
	int error = 0;

	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		error = add_address(host, endpoint, &endpoint->addresses[i], local->ifindexes[0],
				    isolated);
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		error = add_record(host, endpoint, &endpoint->addresses[i]);
	return error ? error : add_local(host, local, local->ifindexes[0]);
}

/* Where the maps have only what this node needs, that is more now. */
static int add_needs(struct host *host, const struct endpoint *endpoint, const struct table *ifaces,
		     const struct local *local)
{
	SCOPED_FREE struct placement *places = calloc(endpoint->n_addresses + 1, sizeof(*places));
	const struct bh_iface *iface =
		local->ifindexes[0] ? table_find(&local->ifaces, &local->ifindexes[0]) : NULL;
	struct arrival arrival = {.places = places,
				  .here = iface,
				  .bridged = iface && iface->flags & BH_IFACE_L2,
				  .ifaces = ifaces};

	if (!places)
		return node_fail(host, -ENOMEM, "cannot place %s/%s", endpoint->ns_name,
				 endpoint->name);
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		arrival.n += !policy_place(host->policy, endpoint, &endpoint->addresses[i],
					   &places[arrival.n]);
	return bring_needs(host, &arrival);
}

int node_endpoint_add(struct host *host, const struct endpoint *endpoint, bool *isolated)
{
	CLEANUP(local_free) struct local local = {};
	CLEANUP(beginning_end) struct beginning beginning = {};
	int error = begin(host, &beginning);

	*isolated = false;
	if (!error)
		error = check_free(host, endpoint);
	if (!error)
		error = find_local(host, endpoint, &beginning.ifaces, &local);
	if (error)
		return error;
	write_busy(host, true);
	if (host->blob.flags & BH_BLOB_NEEDED)
		error = add_needs(host, endpoint, &beginning.ifaces, &local);
	if (!error)
		error = add(host, endpoint, &local, isolated);
	if (error) {
		if (!repair(host))
			write_busy(host, false);
		return error;
	}
	write_flip(host, (uint64_t)node_generation(host) + 1);
	write_busy(host, false);
	return 0;
}

/* An endpoint in force with other labels or ports. */
struct resetting {
	struct cluster cluster; /* memory of the endpoint */
	struct endpoint *endpoint; /* as it is to be */
	struct address *addresses; /* of one that a policy brought */
	struct cidr *allow_source;
	struct table members, left_out;
};

static void resetting_end(struct resetting *resetting)
{
	cluster_free(&resetting->cluster);
	free(resetting->addresses);
	free(resetting->allow_source);
	table_free(&resetting->members);
	table_free(&resetting->left_out);
}

/* What the policy has of it stays as it is. */
static int from_policy(const struct host *host, struct resetting *resetting)
{
	const struct policy *policy = host->policy;
	struct endpoint *endpoint = resetting->endpoint;
	const struct policy_endpoint *known =
		policy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);
	const struct policy_cidr *sources;

	if (!known)
		return policy->source && policy->source->error ? policy->source->error : -ENOENT;
	resetting->addresses = calloc(resetting->members.n, sizeof(*resetting->addresses));
	resetting->allow_source = calloc(known->allow_source.n + 1, sizeof(struct cidr));
	if (!resetting->addresses || !resetting->allow_source)
		return -ENOMEM;
	endpoint->addresses = resetting->addresses;
	for (size_t i = 0; i < resetting->members.n; i++)
		memcpy(&endpoint->addresses[endpoint->n_addresses++],
		       table_key(&resetting->members, i), sizeof(*endpoint->addresses));
	sources = policy_read(policy, policy->cidrs + known->allow_source.at,
			      known->allow_source.n * sizeof(*sources));
	endpoint->allow_source = resetting->allow_source;
	for (uint32_t i = 0; i < known->allow_source.n; i++)
		endpoint->allow_source[endpoint->n_allow_source++] =
			(struct cidr){sources[i].address, sources[i].length};
	endpoint->has_mac = known->flags & POLICY_MAC;
	memcpy(endpoint->mac, known->mac, sizeof(endpoint->mac));
	endpoint->l2 = known->flags & POLICY_L2;
	endpoint->audit = known->flags & POLICY_AUDIT;
	return 0;
}

/* By its record; of one that the policy has there is none, nor its labels. */
static int read_resetting(struct host *host, const struct node_endpoint_set *set,
			  struct resetting *resetting)
{
	struct bh_added record;
	struct endpoint *endpoint;
	int error;

	if (!bpf_map_lookup_elem(host->maps[MAP_added], table_key(&resetting->members, 0),
				 &record)) {
		error = record_read(&record, &resetting->cluster, &resetting->endpoint);
		return error ? node_fail(host, error, "cannot read %s/added", host->pin) : 0;
	}
	if (!set->labels) {
		diag_error(host->diag, NULL, NULL,
			   "endpoint %s/%s: a policy brought it, so its labels have to be given",
			   set->ns, set->name);
		return -EINVAL;
	}
	endpoint = resetting->endpoint = cluster_add_endpoint(&resetting->cluster);
	endpoint->ns_name = set->ns;
	endpoint->name = set->name;
	error = from_policy(host, resetting);
	return error ? node_fail(host, error, "cannot change %s/%s", set->ns, set->name) : 0;
}

static int plan_resetting(struct host *host, const struct node_endpoint_set *set,
			  struct resetting *resetting)
{
	const struct bh_added name = record_name(set->ns, set->name);
	int error = find_member(host, &name, &resetting->members, &resetting->left_out);

	if (error)
		return node_fail(host, error, "cannot look for %s/%s", set->ns, set->name);
	if (!resetting->members.n || host->blob.flags & BH_BLOB_NEEDED) {
		diag_error(host->diag, NULL, NULL, "endpoint %s/%s %s", set->ns, set->name,
			   resetting->members.n
				   ? "cannot be changed where the maps have only what is needed"
				   : "is not in force here");
		return -EINVAL;
	}
	error = read_resetting(host, set, resetting);
	if (!error && set->labels) {
		resetting->endpoint->labels = *set->labels;
		resetting->endpoint->unknown = false;
	}
	if (!error && set->ports) {
		resetting->endpoint->ports = (struct named_port *)set->ports;
		resetting->endpoint->n_ports = set->n_ports;
	}
	return error;
}

/* From the next generation on, the address is in the segment of the new labels. */
static int move_address(struct host *host, int program, const struct resetting *resetting, size_t i,
			bool *isolated)
{
	const struct bh_endpoint *entry = table_value(&resetting->members, i);
	const uint32_t generation = node_generation(host);
	const uint64_t now =
		bh_assignment_at(entry->assignment[0], entry->assignment[1], generation);
	struct bh_assign request = {.which = now && now == entry->assignment[0]};
	struct placement placement = {};
	struct address address;
	uint32_t slot = 0;
	int error;

	memcpy(&request.addr, table_key(&resetting->members, i), sizeof(request.addr));
	memcpy(&address, &request.addr, sizeof(address));
	error = policy_place(host->policy, resetting->endpoint, &address, &placement);
	if (error == -ENOENT)
		*isolated = true;
	else if (!error)
		error = find_slot(host, placement.segment, &slot);
	if (error && error != -ENOENT)
		return error;
	request.word = bh_assignment(generation + 1, slot, placement.variation);
	return assign_store(host, program, &request);
}

/* What it was added with is written once it counts: a command that is killed before leaves both as
 * they were. */
static int write_records(struct host *host, const struct resetting *resetting,
			 const struct bh_added *record)
{
	for (size_t i = 0; i < resetting->members.n; i++) {
		if (bpf_map_update_elem(host->maps[MAP_added], table_key(&resetting->members, i),
					record, BPF_ANY))
			return -errno;
		host->writes++;
	}
	return 0;
}

static int apply_resetting(struct host *host, const struct resetting *resetting, bool *isolated)
{
	SCOPED_FD int program = pins_get_program(host, PROGRAM_ASSIGN);
	struct bh_added record;
	int error = program < 0 ? program : 0;

	if (record_write(resetting->endpoint, &record))
		return record_too_large(host, resetting->endpoint);
	write_busy(host, true);
	for (size_t i = 0; !error && i < resetting->members.n; i++)
		error = move_address(host, program, resetting, i, isolated);
	if (error) {
		if (!repair(host))
			write_busy(host, false);
		return node_fail(host, error, "cannot change %s/%s", record.ns, record.name);
	}
	write_flip(host, (uint64_t)node_generation(host) + 1);
	if (write_records(host, resetting, &record))
		diag_warn(host->diag, NULL, NULL,
			  "endpoint %s/%s is changed, and the next load does not know it",
			  record.ns, record.name);
	write_busy(host, false);
	return 0;
}

int node_endpoint_set(struct host *host, const struct node_endpoint_set *set, bool *isolated)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	CLEANUP(resetting_end) struct resetting resetting = {};
	int error;

	*isolated = false;
	cluster_init(&resetting.cluster);
	error = begin(host, &beginning);
	if (!error)
		error = plan_resetting(host, set, &resetting);
	return error ? error : apply_resetting(host, &resetting, isolated);
}

int node_endpoint_del(struct host *host, const char *ns, const char *name)
{
	const struct bh_added wanted = record_name(ns, name);
	CLEANUP(table_free) struct table members = {}, left_out = {};
	CLEANUP(beginning_end) struct beginning beginning = {.wanted = &wanted};
	int error = begin(host, &beginning);
	const uint32_t before = node_generation(host);

	if (error || beginning.went)
		return error;
	error = find_member(host, &wanted, &members, &left_out);
	if (error)
		return node_fail(host, error, "cannot look for %s/%s", ns, name);
	if (!members.n && !left_out.n) {
		diag_error(host->diag, NULL, NULL, "endpoint %s/%s is not in force here", ns, name);
		return -EINVAL;
	}
	write_busy(host, true);
	error = leave_left_out(host, &left_out);
	if (!error && members.n)
		error = leave_members(host, &members);
	if (!error) {
		write_busy(host, false);
	} else if (node_generation(host) != before) {
		diag_warn(host->diag, NULL, NULL,
			  "endpoint %s/%s is off; the next command collects what is left of it", ns,
			  name);
		error = 0;
	}
	return error;
}

static void name_member(const struct policy *policy, const struct policy_address *known,
			struct node_member *member)
{
	const struct policy_endpoint *endpoint = &policy->endpoints[known->endpoint];

	member->ns = policy_string(policy, policy->namespaces[endpoint->ns].name);
	member->name = policy_string(policy, endpoint->name);
}

/* False: nobody that is known. The names are good as long as @owner is. */
static bool describe(const struct host *host, const struct bh_addr *addr,
		     const struct bh_endpoint *entry, const struct bh_added *added,
		     struct node_member *member)
{
	const struct policy *policy = host->policy;
	const struct policy_address *known;

	*member = (struct node_member){.ifindex = entry->ifindex, .added = added};
	memcpy(&member->address, addr, sizeof(member->address));
	if (added) {
		member->ns = added->ns;
		member->name = added->name;
		return true;
	}
	known = policy_address_find(policy, &member->address);
	if (!known)
		return false;
	name_member(policy, known, member);
	return true;
}

/* The policy's endpoints that the maps do without. */
static int each_left_out(struct host *host, const struct table *endpoints,
			 const struct table *added,
			 int (*visit)(void *data, const struct node_member *member), void *data)
{
	const struct policy *policy = host->policy;
	int status = 0;

	for (size_t i = 0; !status && i < policy->n_addresses; i++) {
		const struct policy_address *known = &policy->addresses[i];
		struct node_member member = {.address = known->address,
					     .segment = policy->segments[known->segment].id,
					     .variation = known->variation,
					     .left_out = true};

		if (table_find(endpoints, &known->address) || table_find(added, &known->address))
			continue;
		name_member(policy, known, &member);
		status = visit(data, &member);
	}
	return status;
}

static int read_members(struct host *host, struct table *endpoints, struct table *added,
			struct table *segments)
{
	int error;

	table_init(endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(added, sizeof(struct bh_addr), sizeof(struct bh_added));
	table_init(segments, sizeof(uint32_t), sizeof(struct bh_segment));
	error = table_read(endpoints, host->maps[MAP_endpoints]);
	if (!error)
		error = table_read(added, host->maps[MAP_added]);
	if (!error)
		error = table_read(segments, host->maps[MAP_segments]);
	return error ? node_fail(host, error, "cannot read the endpoints of %s", host->pin) : 0;
}

int node_endpoint_each(struct host *host,
		       int (*visit)(void *data, const struct node_member *member), void *data)
{
	CLEANUP(table_free) struct table endpoints = {}, added = {}, segments = {};
	int status = store_read(host);

	if (status || !host->policy)
		return status;
	status = read_members(host, &endpoints, &added, &segments);
	for (size_t i = 0; !status && i < endpoints.n; i++) {
		const struct bh_endpoint *entry = table_value(&endpoints, i);
		const struct bh_addr *addr = table_key(&endpoints, i);
		uint64_t word = bh_assignment_at(entry->assignment[0], entry->assignment[1],
						 node_generation(host));
		uint32_t slot = bh_assignment_slot(word);
		struct node_member member;

		if (bh_assignment_is_cover(word) ||
		    !describe(host, addr, entry, table_find(&added, addr), &member))
			continue;
		member.variation = bh_assignment_variation(word);
		if (slot && slot < segments.n) {
			const struct bh_segment *segment = table_value(&segments, slot);

			member.segment = segment->id ^ host->blob.ids;
		}
		status = visit(data, &member);
	}
	if (!status && host->blob.flags & BH_BLOB_NEEDED)
		status = each_left_out(host, &endpoints, &added, visit, data);
	return status;
}

int node_name_places(struct host *host, const char *ns, const char *name,
		     struct node_place **places, size_t *n)
{
	const struct bh_added wanted = record_name(ns, name);
	CLEANUP(table_free) struct table members = {}, left_out = {};
	struct node_place *found;
	int error = find_member(host, &wanted, &members, &left_out);

	if (error)
		return node_fail(host, error, "cannot look for %s/%s", ns, name);
	found = calloc(members.n + left_out.n + 1, sizeof(*found));
	if (!found)
		return node_fail(host, -ENOMEM, "cannot look for %s/%s", ns, name);
	*places = found;
	*n = members.n + left_out.n;
	for (size_t i = 0; i < members.n; i++, found++) {
		found->ifindex = ((struct bh_endpoint *)table_value(&members, i))->ifindex;
		memcpy(&found->address, table_key(&members, i), sizeof(found->address));
	}
	for (size_t i = 0; i < left_out.n; i++, found++)
		memcpy(&found->address, table_key(&left_out, i), sizeof(found->address));
	return 0;
}
