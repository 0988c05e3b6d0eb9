// SPDX-License-Identifier: GPL-2.0-only
#include "policy/frontend.h"
#include "model/search.h"

#include <stdio.h>
#include <string.h>

static int compare_frontend(const struct policy_frontend *at, const struct address *address,
			    uint8_t protocol, uint16_t port)
{
	int order = memcmp(&at->address, address, sizeof(*address));

	if (order)
		return order;
	return at->protocol != protocol ? at->protocol - protocol : at->port - port;
}

/* Returns the first frontend that is not before this address, protocol and port. */
static size_t lower_bound(const struct policy *policy, const struct address *address,
			  uint8_t protocol, uint16_t port)
{
	return SEARCH(policy->n_frontends, i,
		      compare_frontend(&policy->frontends[i], address, protocol, port) < 0);
}

static bool has_key(const struct policy_frontend *frontend, const struct address *address,
		    uint8_t protocol, uint16_t port)
{
	return !memcmp(&frontend->address, address, sizeof(*address)) &&
	       frontend->protocol == protocol && frontend->port == port;
}

/* Returns the frontends from policy->frontends[@i] on that have its address, protocol and port. */
static struct service_frontends frontends_at(const struct policy *policy, size_t i)
{
	const struct policy_frontend *first = &policy->frontends[i];
	size_t n = 1;

	while (i + n < policy->n_frontends &&
	       has_key(&first[n], &first->address, first->protocol, first->port))
		n++;
	return (struct service_frontends){first, n};
}

bool service_frontends_find(const struct policy *policy, const struct address *address,
			    uint8_t protocol, uint16_t port, struct service_frontends *found)
{
	size_t at = lower_bound(policy, address, protocol, port);

	if (at == policy->n_frontends || !has_key(&policy->frontends[at], address, protocol, port))
		return false;
	*found = frontends_at(policy, at);
	return true;
}

static bool is_nodes(const struct policy *policy, const struct policy_node *node,
		     const struct address *address)
{
	for (uint32_t i = 0; node && i < node->addresses.n; i++)
		if (!memcmp(&policy->node_addresses[node->addresses.at + i], address,
			    sizeof(*address)))
			return true;
	return false;
}

static bool is_in_cidrs(const struct policy *policy, const struct address *address)
{
	for (size_t i = 0; i < policy->n_service_cidrs; i++) {
		const struct cidr cidr = {policy->service_cidrs[i].address,
					  policy->service_cidrs[i].length};

		if (cidr_contains(&cidr, address))
			return true;
	}
	return false;
}

enum service_answer service_find(const struct policy *policy, const char *node,
				 const struct address *address, uint8_t protocol, uint16_t port,
				 struct service_frontends *found)
{
	static const struct address any;
	const struct policy_frontend *at;
	size_t first;

	/* The table uses the unspecified address for node ports, so no endpoint has that
	 * address. */
	if (!memcmp(address, &any, sizeof(any)))
		return SERVICE_NONE;
	if (service_frontends_find(policy, address, protocol, port, found))
		return SERVICE_FOUND;
	if (node && is_nodes(policy, policy_node_by_name(policy, node), address) &&
	    service_frontends_find(policy, &any, protocol, port, found))
		return SERVICE_FOUND;
	first = lower_bound(policy, address, 0, 0);
	at = &policy->frontends[first];
	*found = (struct service_frontends){at, 1};
	if (first < policy->n_frontends && !memcmp(&at->address, address, sizeof(*address)))
		return at->flags & POLICY_FRONTEND_SHARED ? SERVICE_NONE : SERVICE_NO_PORT;
	if (is_in_cidrs(policy, address) && !policy_address_find(policy, address) &&
	    !policy_has_node(policy, address))
		return SERVICE_UNKNOWN;
	return SERVICE_NONE;
}

const struct policy_service *service_called(const struct policy *policy,
					    const struct address *address, uint8_t protocol,
					    uint16_t port)
{
	static const struct address any;
	struct service_frontends found;
	enum service_answer answer;

	if (!policy->n_frontends)
		return NULL;
	answer = service_find(policy, NULL, address, protocol, port, &found);
	if (answer == SERVICE_NONE &&
	    service_frontends_find(policy, &any, protocol, port, &found) &&
	    policy_has_node(policy, address))
		answer = SERVICE_FOUND;
	return answer == SERVICE_FOUND || answer == SERVICE_NO_PORT
		       ? frontend_service(policy, found.at)
		       : NULL;
}

static uint32_t node_at(const struct policy *policy, const struct policy_backend *backend,
			const struct policy_address *address)
{
	const uint32_t node = address ? policy->endpoints[address->endpoint].node : 0;

	return node ? node : backend->node;
}

uint32_t backend_node(const struct policy *policy, const struct policy_backend *backend)
{
	return node_at(policy, backend, policy_address_find(policy, &backend->address));
}

struct service_place backend_place(const struct policy *policy,
				   const struct policy_backend *backend)
{
	const struct policy_address *address = policy_address_find(policy, &backend->address);
	const uint32_t node = node_at(policy, backend, address);
	struct service_place place = {0};

	if (node)
		place.node = policy_string(policy, node);
	if (address) {
		place.endpoint = &policy->endpoints[address->endpoint];
		place.segment = &policy->segments[address->segment];
		place.variation = address->variation;
		return place;
	}
	place.segment = policy_prefix_find(policy, &backend->address);
	place.is_node = policy_has_node(policy, &backend->address);
	return place;
}

struct service_key {
	const struct policy *policy;
	const char *ns, *name;
};

static int compare_service(const void *key, const void *record)
{
	const struct service_key *wanted = key;
	const struct policy_service *service = record;
	int order = strcmp(wanted->ns, policy_string(wanted->policy, service->ns));

	return order ? order : strcmp(wanted->name, policy_string(wanted->policy, service->name));
}

const struct policy_service *service_by_name(const struct policy *policy, const char *ns,
					     const char *name)
{
	struct service_key key = {policy, ns, name};

	return policy_search(&key, policy->services, policy->n_services, sizeof(*policy->services),
			     compare_service);
}

char *service_name(const struct policy *policy, const struct policy_service *service,
		   char text[SERVICE_NAME_TEXT])
{
	snprintf(text, SERVICE_NAME_TEXT, "%s/%s", policy_string(policy, service->ns),
		 policy_string(policy, service->name));
	return text;
}

char *backend_name(const struct policy *policy, const struct policy_backend *backend,
		   char text[FLOW_TEXT])
{
	struct service_place place = backend_place(policy, backend);
	char address[ADDRESS_TEXT];

	if (place.endpoint)
		snprintf(text, FLOW_TEXT, "%s/%s",
			 policy_string(policy, policy->namespaces[place.endpoint->ns].name),
			 policy_string(policy, place.endpoint->name));
	else if (place.is_node)
		snprintf(text, FLOW_TEXT, "node %s", place.node);
	else
		snprintf(text, FLOW_TEXT, "%s", address_print(&backend->address, address));
	return text;
}
