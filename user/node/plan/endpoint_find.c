// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "node/kernel/maps.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/endpoint_find.h"

static bool added_is_of(const void *wanted, const void *key, const void *value)
{
	(void)key;
	return record_is_of(value, wanted);
}

/* Adds an address with its entry, if it has one. */
static int add_if_there(const struct node_handle *handle, const void *address,
			struct table *members)
{
	struct bh_endpoint entry;
	int error = maps_lookup(handle, MAP_endpoints, address, &entry);

	if (!error)
		return table_add(members, address, &entry);
	return error == -ENOENT ? 0 : error;
}

int endpoint_find(struct node_handle *handle, const struct bh_added *name, struct table *members)
{
	const struct lazy_policy *policy = handle->policy;
	const struct policy_endpoint *known = lazy_endpoint_by_name(policy, name->ns, name->name);
	CLEANUP(table_free) struct table added = {};
	struct bh_added other;
	int error;

	maps_init_table(MAP_added, &added);
	maps_init_table(MAP_endpoints, members);
	error = maps_read_some(handle, MAP_added, &added, added_is_of, name);
	for (size_t i = 0; !error && i < added.n; i++)
		error = add_if_there(handle, table_key(&added, i), members);
	for (uint32_t i = 0; !error && known && i < known->addresses.n; i++) {
		const struct policy_address *address = lazy_address_of(policy, known, i);

		/* the address may have been given to another endpoint by `endpoint add` */
		error = maps_lookup(handle, MAP_added, &address->address, &other);
		if (!error)
			continue;
		error = error == -ENOENT ? 0 : error;
		if (!error)
			error = add_if_there(handle, &address->address, members);
	}
	return error ? error : lazy_error(policy);
}

int endpoint_check_address(struct node_handle *handle, const struct endpoint *endpoint,
			   const struct address *address)
{
	struct bh_endpoint there;
	struct bh_added owner = {};
	char text[ADDRESS_TEXT];
	bool taken = !maps_lookup(handle, MAP_endpoints, address, &there);

	if (!taken)
		return 0;
	active_owner(handle, address, &owner);
	diag_error(handle->diag, NULL, NULL, "endpoint %s/%s: %s is %s/%s's", endpoint->ns_name,
		   endpoint->name, address_print(address, text), owner.ns, owner.name);
	return -EINVAL;
}

int endpoint_check_free(struct node_handle *handle, const struct endpoint *endpoint)
{
	const struct bh_added name = record_name(endpoint->ns_name, endpoint->name);
	CLEANUP(table_free) struct table members = {};
	char text[ADDRESS_TEXT];
	struct address address;
	int error = endpoint_find(handle, &name, &members);

	if (error)
		return node_fail(handle, error, "cannot look for %s/%s", name.ns, name.name);
	if (members.n) {
		memcpy(&address, table_key(&members, 0), sizeof(address));
		diag_error(handle->diag, NULL, NULL,
			   "endpoint %s/%s: it is active already, with %s", name.ns, name.name,
			   address_print(&address, text));
		return -EINVAL;
	}
	for (size_t i = 0; i < endpoint->n_addresses && !error; i++)
		error = endpoint_check_address(handle, endpoint, &endpoint->addresses[i]);
	return error;
}
