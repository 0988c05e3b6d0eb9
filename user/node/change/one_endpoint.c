// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "node/change/one_endpoint.h"
#include "policy/lazy_policy.h"

/* A policy with one endpoint, for local_read_one() to find on this node. */
struct single {
	struct policy policy;
	struct policy_namespace ns;
	struct policy_endpoint endpoint;
	struct policy_node node; /* of the active policy, with its addresses */
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

/* Strings are as in a blob: offset 0 is the empty string. */
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

/* Adds this node's object, which says by which addresses policy knows the node. */
static int add_node(struct single *single, const struct node_handle *handle)
{
	const struct lazy_policy *active = handle->policy;
	const struct policy_node *node =
		active ? lazy_node_by_name(active, handle->blob.node) : NULL;

	if (!node)
		return active ? lazy_error(active) : 0;
	single->node = (struct policy_node){.name = single->endpoint.node,
					    .addresses.n = node->addresses.n};
	single->policy.nodes = &single->node;
	single->policy.n_nodes = 1;
	single->policy.node_addresses =
		(struct address *)lazy_read(active, &active->node_addresses[node->addresses.at],
					    node->addresses.n * sizeof(*active->node_addresses));
	single->policy.n_node_addresses = node->addresses.n;
	return lazy_error(active);
}

static int single_make(struct single *single, const struct node_handle *handle,
		       const struct endpoint *endpoint, bool audit)
{
	const char *node = handle->blob.node;

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
	single->endpoint.flags = (audit ? POLICY_AUDIT : 0) | (endpoint->l2 ? POLICY_L2 : 0) |
				 (endpoint->attachment && endpoint->has_mac ? POLICY_TOLD : 0) |
				 (endpoint->has_mac ? POLICY_MAC : 0);
	memcpy(single->endpoint.mac, endpoint->mac, sizeof(single->endpoint.mac));
	single->endpoint.addresses.n = endpoint->n_addresses;
	single->endpoint.allow_source.n = endpoint->n_allow_source;
	single->policy = (struct policy){
		.strings = single->strings,
		.n_strings = single->length,
		.endpoint_addresses = single->numbers,
		.n_endpoint_addresses = endpoint->n_addresses,
		.cidrs = single->cidrs,
		.n_cidrs = endpoint->n_allow_source,
		.namespaces = &single->ns,
		.n_namespaces = 1,
		.endpoints = &single->endpoint,
		.n_endpoints = 1,
		.addresses = single->addresses,
		.n_addresses = endpoint->n_addresses,
	};
	return add_node(single, handle);
}

int single_local(struct node_handle *handle, const struct endpoint *endpoint, bool audit,
		 const struct table *ifaces, struct local *local)
{
	CLEANUP(single_free) struct single single = {};
	int error;

	local->ifindexes = calloc(1, sizeof(*local->ifindexes));
	if (!local->ifindexes)
		return -ENOMEM;
	if (endpoint->node && strcmp(endpoint->node, handle->blob.node))
		return 0;
	error = single_make(&single, handle, endpoint, audit);
	if (error)
		return node_fail(handle, error, "endpoint %s/%s", endpoint->ns_name,
				 endpoint->name);
	local_free(local);
	strcpy(local->name, handle->blob.node);
	return local_read_one(handle, &single.policy, ifaces, local);
}
