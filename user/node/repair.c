// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/prefix.h"
#include "node/assign.h"
#include "node/image.h"
#include "node/leave.h"
#include "node/needed.h"
#include "node/pins.h"
#include "node/rcu.h"
#include "node/repair.h"
#include "node/replace.h"
#include "node/services.h"
#include "node/store.h"
#include "node/write.h"

/* Clears what a killed command had stored for a generation that never came. */
static int repair_endpoint(struct host *host, int program, const struct bh_addr *addr,
			   const struct bh_endpoint *endpoint)
{
	int error = 0;

	for (uint32_t which = 0; !error && which < 2; which++) {
		struct bh_assign request = {.addr = *addr, .which = which};

		if (bh_assignment_generation(endpoint->assignment[which]) > node_generation(host))
			error = assign_store(host, program, &request);
	}
	return error;
}

static int repair_prefix(struct host *host, const struct bh_prefix_key *key,
			 const struct bh_prefix *prefix, struct table *cleared)
{
	struct bh_prefix value = *prefix;

	for (int which = 0; which < 2; which++)
		if (bh_assignment_generation(value.assignment[which]) > node_generation(host))
			value.assignment[which] = 0;
	if (value.turn > node_generation(host)) {
		value.flags = bh_prefix_flags(value.flags, value.turn, node_generation(host));
		value.turn = 0;
	}
	return memcmp(&value, prefix, sizeof(value)) ? table_add(cleared, key, &value) : 0;
}

static bool policy_has_prefix(const struct policy *policy, const struct bh_prefix_key *key)
{
	for (size_t i = 0; i < policy->n_prefixes; i++)
		if (policy->prefixes[i].length == key->length &&
		    !memcmp(&policy->prefixes[i].address, &key->addr, sizeof(key->addr)))
			return true;
	return false;
}

/* Whether an endpoint is in force, once the words ahead are cleared. */
static bool is_in_force(const struct host *host, const struct bh_endpoint *endpoint, bool known)
{
	return known &&
	       !bh_assignment_is_cover(bh_assignment_at(
		       endpoint->assignment[0], endpoint->assignment[1], node_generation(host)));
}

static bool has_endpoint(const struct table *endpoints, uint32_t ifindex)
{
	for (size_t i = 0; i < endpoints->n; i++)
		if (((struct bh_endpoint *)table_value(endpoints, i))->ifindex == ifindex)
			return true;
	return false;
}

/* What guards nobody; and what somebody else has by now stays. */
static int repair_ifaces(struct host *host, const struct table *ifaces, const struct table *stay,
			 const struct table *gone)
{
	int error = 0;

	for (size_t i = 0; i < gone->n; i++) {
		struct bh_endpoint *endpoint = table_value(gone, i);

		if (endpoint->ifindex && has_endpoint(stay, endpoint->ifindex))
			endpoint->ifindex = 0;
	}
	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);

		if (iface->flags & BH_IFACE_ENDPOINT && !has_endpoint(stay, *ifindex) &&
		    !has_endpoint(gone, *ifindex))
			error = leave_interface(host, *ifindex);
	}
	return error;
}

static int drop_endpoints(struct host *host, const struct table *dropped)
{
	int error = write_delete(host, dropped, MAP_endpoints);

	for (size_t i = 0; !error && i < dropped->n; i++)
		if (!bpf_map_delete_elem(host->maps[MAP_added], table_key(dropped, i)))
			host->writes++;
	return error;
}

/*
 * What never came, or in maps that do without some endpoints, what these have no need of any more,
 * keeps its connections.
 */
static bool has_connections_of_its_own(const struct host *host, const struct bh_endpoint *endpoint)
{
	const uint32_t generation = node_generation(host);

	return bh_assignment_generation(endpoint->assignment[0]) <= generation &&
	       bh_assignment_generation(endpoint->assignment[1]) <= generation &&
	       (endpoint->ifindex || !(host->blob.flags & BH_BLOB_NEEDED));
}

static int repair_endpoints(struct host *host, const struct image *have,
			    const struct policy *policy)
{
	const struct table *endpoints = &have->map[MAP_endpoints];
	CLEANUP(table_free) struct table stay = {}, gone = {}, dropped = {};
	SCOPED_FD int program = pins_get_program(host, PROGRAM_ASSIGN);
	int error = program < 0 ? program : 0;

	table_init(&stay, endpoints->key_size, endpoints->value_size);
	table_init(&gone, endpoints->key_size, endpoints->value_size);
	table_init(&dropped, endpoints->key_size, endpoints->value_size);
	for (size_t i = 0; !error && i < endpoints->n; i++) {
		const struct bh_addr *addr = table_key(endpoints, i);
		const struct bh_endpoint *endpoint = table_value(endpoints, i);
		struct address address;
		bool known;

		memcpy(&address, addr, sizeof(address));
		known = policy_address_find(policy, &address) ||
			table_find(&have->map[MAP_added], addr);
		error = repair_endpoint(host, program, addr, endpoint);
		if (!error)
			error = table_add(is_in_force(host, endpoint, known)	       ? &stay
					  : has_connections_of_its_own(host, endpoint) ? &gone
										       : &dropped,
					  addr, endpoint);
	}
	if (!error)
		error = repair_ifaces(host, &have->map[MAP_ifaces], &stay, &gone);
	if (!error)
		error = drop_endpoints(host, &dropped);
	return !error && gone.n ? leave_members(host, &gone) : error;
}

static int repair_prefixes(struct host *host, const struct table *prefixes,
			   const struct policy *policy)
{
	CLEANUP(table_free) struct table gone = {}, cleared = {};
	int error = 0;

	table_init(&gone, prefixes->key_size, prefixes->value_size);
	table_init(&cleared, prefixes->key_size, prefixes->value_size);
	for (size_t i = 0; !error && i < prefixes->n; i++) {
		const struct bh_prefix_key *key = table_key(prefixes, i);
		const struct bh_prefix *prefix = table_value(prefixes, i);

		/* Of the node's own addresses, and the Services', the next load finds out which are
		 * there. */
		if (bh_prefix_flags(prefix->flags, prefix->turn, node_generation(host)) ||
		    policy_has_prefix(policy, key))
			error = repair_prefix(host, key, prefix, &cleared);
		else
			error = table_add(&gone, key, prefix);
	}
	if (!error)
		error = write_table(host, &cleared, MAP_prefixes);
	return error ? error : write_delete(host, &gone, MAP_prefixes);
}

/*
 * Clears the words above the generation in force, and takes off what is not in force then: prefixes
 * that its policy does not know, endpoints that are what their covers are, and interfaces that
 * guard nobody.
 */
static int repair_assignments(struct host *host, const struct image *have,
			      const struct policy *policy)
{
	int error = repair_prefixes(host, &have->map[MAP_prefixes], policy);

	if (!error)
		error = repair_endpoints(host, have, policy);
	return error ? node_fail(host, error, "cannot clear up after a killed command") : 0;
}

/* What is staged stays; *layout is empty where nothing is. */
static int lay_out_staged(struct host *host, const struct image *have, struct policy **staged,
			  struct needed *needed, struct layout *layout)
{
	struct bh_blob header;
	int error = store_read_staged(host, &header, staged);

	if (error || !*staged)
		return error;
	needed_in_maps(needed, host, have, *staged, &header);
	return layout_make(host, have, &needed->policy, header.ids, layout);
}

int repair(struct host *host)
{
	CLEANUP(image_free) struct image have;
	CLEANUP(cleanup_policy) struct policy *staged = NULL;
	CLEANUP(needed_free) struct needed needed = {}, later_needed = {};
	CLEANUP(layout_free) struct layout layout = {}, later = {};
	int error;

	image_init(&have);
	error = store_read(host);
	if (!error)
		error = rcu_wait(host);
	if (!error)
		error = replace_finish(host);
	if (!error)
		error = image_read(host, &have);
	if (error)
		return error;
	needed_in_maps(&needed, host, &have, host->policy, &host->blob);
	error = layout_make(host, &have, &needed.policy, host->blob.ids, &layout);
	if (!error)
		error = lay_out_staged(host, &have, &staged, &later_needed, &later);
	if (!error && !layout_is_staged(&layout)) {
		diag_error(host->diag, NULL, NULL,
			   "%s: the maps lack parts of the policy in force: to start anew, unload "
			   "and load",
			   host->pin);
		return -EILSEQ;
	}
	if (!error)
		error = repair_assignments(host, &have, &needed.policy);
	if (!error)
		error = services_repair(host, &have.map[MAP_services]);
	if (!error)
		error = layout_collect(host, &have, &layout, staged ? &later : NULL);
	if (!error)
		error = store_settle(host);
	return error ? error : rcu_wait(host);
}
