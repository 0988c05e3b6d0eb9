/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds Services of which a caller reaches one backend and not another. Backends of one segment are
 * alike to a caller, unless they are the caller itself or on its node; and the port list of two
 * segments is the same for all ports of a Service. So each pair of segments is looked up once for
 * a Service, and only a caller for whom the groups of backends differ is evaluated as a packet is.
 */
#include <string.h>

#include "compile/lint_part.h"
#include "model/cluster_service.h"
#include "model/search.h"
#include "policy/flow.h"
#include "policy/service_grid.h"
#include "policy/verdicts.h"

#define SAYS_DENY 1
#define SAYS_ALLOW 2
#define SAYS_BOTH (SAYS_DENY | SAYS_ALLOW)

/* Backends of a frontend. */
struct backend_group {
	uint32_t segment; /* index */
	uint32_t resolution; /* ID */
	uint32_t point; /* protocol and port (maps/types.h) */
	uint32_t frontend; /* index in service_address.frontends */
	uint32_t node; /* string: they serve callers on this node alone; 0: all callers */
};

/* What is asked of a frontend: which caller, the first in the order of struct callers, reaches one
 * backend and not another. */
struct frontend_search {
	bool done; /* not asked, or answered */
	uint8_t says; /* what the groups say to the caller that is evaluated: SAYS_* */
	const struct policy_address *caller; /* the answer; NULL: none */
};

/* The frontends of one address. */
struct address_search {
	const struct policy *policy;
	const struct policy_frontend *frontends;
	size_t n;
	bool contested; /* service_grid_contested() */
	struct frontend_search *at; /* by frontend */
	size_t left; /* how many are not done */
	ARRAY(struct backend_group) groups;
};

/* Addresses of endpoints: of each segment and IP version two, since the first may be that of a
 * backend. */
struct callers {
	const struct policy_address **at;
	size_t n;
};

static struct callers list_callers(const struct policy *policy)
{
	struct callers callers = {grow_zeroed(policy->n_addresses, sizeof(*callers.at)), 0};
	uint8_t *seen = grow_zeroed(policy->n_segments, 1);

	for (size_t i = 0; i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		uint8_t bit = address_is_ipv4(&address->address) ? 1 : 4;
		uint8_t *mine = &seen[address->segment];

		if ((*mine & bit) && (*mine & bit << 1))
			continue;
		*mine |= *mine & bit ? bit << 1 : bit;
		callers.at[callers.n++] = address;
	}
	free(seen);
	return callers;
}

/* Backends */

/* Returns true if every caller is allowed the same at all backends of the port. */
static bool are_alike(const struct policy *policy, const struct policy_service_port *port)
{
	const struct policy_backend *backends = policy->backends + port->backends.at;
	struct service_place first;

	if (!port->backends.n)
		return true;
	first = backend_place(policy, backends);
	for (uint32_t i = 1; i < port->backends.n; i++) {
		struct service_place place = backend_place(policy, &backends[i]);

		if (place.segment != first.segment || place.variation != first.variation ||
		    backends[i].port != backends->port || place.is_node || first.is_node)
			return false;
	}
	return true;
}

static struct flow flow_to(const struct policy_frontend *frontend)
{
	return (struct flow){.destination = frontend->address,
			     .protocol = frontend->protocol,
			     .port = frontend->port};
}

/* Returns true if the frontend, or another with its address and port, has a backend of the
 * address. */
static bool is_backend(const struct policy *policy, const struct policy_frontend *frontend,
		       const struct address *address)
{
	struct service_frontends found = {0};

	service_frontends_find(policy, &frontend->address, frontend->protocol, frontend->port,
			       &found);
	for (size_t i = 0; i < found.n; i++) {
		size_t n;
		const struct policy_backend *at = frontend_backends(policy, &found.at[i], &n);
		const size_t k =
			SEARCH(n, j, memcmp(&at[j].address, address, sizeof(*address)) < 0);

		if (k < n && !memcmp(&at[k].address, address, sizeof(*address)))
			return true;
	}
	return false;
}

static void add_group(struct address_search *search, uint32_t frontend,
		      const struct address *address, uint16_t port, uint32_t node)
{
	const struct policy *policy = search->policy;
	const struct evaluate_source source = evaluate_policy(policy);
	const struct evaluated_end end = evaluate_address(&source, address);
	const struct policy_address *own = policy_address_find(policy, address);

	array_push(
		&search->groups,
		((struct backend_group){
			own ? own->segment : policy_prefix_find(policy, address) - policy->segments,
			evaluate_resolution(&source, &end),
			bh_point(search->frontends[frontend].protocol, port), frontend, node}));
}

/* Adds the backends of which the caller's node decides which serve, ready ones and others. */
static void add_local(struct address_search *search, uint32_t frontend)
{
	const struct policy_frontend *at = &search->frontends[frontend];
	struct service_frontends found = {0};

	service_frontends_find(search->policy, &at->address, at->protocol, at->port, &found);
	for (size_t i = 0; i < found.n; i++) {
		size_t n;
		const struct policy_backend *backends =
			frontend_backends(search->policy, &found.at[i], &n);

		for (size_t k = 0; k < n; k++) {
			const uint32_t node = backend_node(search->policy, &backends[k]);

			if (address_is_ipv4(&backends[k].address) == address_is_ipv4(&at->address))
				add_group(search, frontend, &backends[k].address, backends[k].port,
					  found.n > 1 ? 0 : node);
		}
	}
}

static void add_groups(struct address_search *search, uint32_t frontend)
{
	const struct flow flow = flow_to(&search->frontends[frontend]);
	struct service_verdict found;

	if (!service_list_backends(search->policy, &flow.destination, &flow, &found)) {
		add_local(search, frontend);
		return;
	}
	for (size_t i = 0; i < found.n_backends; i++)
		if (found.backends[i].chosen)
			add_group(search, frontend, &found.backends[i].flow.destination,
				  found.backends[i].flow.port, 0);
	service_verdict_free(&found);
}

static int compare_groups(const void *a, const void *b)
{
	const struct backend_group *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	if (x->resolution != y->resolution)
		return x->resolution < y->resolution ? -1 : 1;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	if (x->frontend != y->frontend)
		return x->frontend < y->frontend ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void list_groups(struct address_search *search)
{
	size_t n = 0;

	for (size_t i = 0; i < search->n; i++)
		if (!search->at[i].done)
			add_groups(search, i);
	array_sort(&search->groups, compare_groups);
	for (size_t i = 0; i < search->groups.n; i++)
		if (!n || compare_groups(&search->groups.at[n - 1], &search->groups.at[i]))
			search->groups.at[n++] = search->groups.at[i];
	search->groups.n = n;
}

/* Callers */

/* Returns true if the list allows the point. @at: the interval to begin with, which goes on with
 * the points. */
static bool allows(const struct verdicts *verdicts, size_t *at, uint32_t point)
{
	while (*at + 1 < verdicts->n && verdicts_at(verdicts, *at + 1)->start <= point)
		++*at;
	return bh_verdict_allow(verdicts_at(verdicts, *at)->verdict);
}

/* Has the groups of one segment and resolution, from @group to before @end, say to the caller. */
static void say(struct address_search *search, const struct policy_address *caller,
		const struct backend_group *group, const struct backend_group *end)
{
	const struct policy *policy = search->policy;
	const struct policy_segment *from = &policy->segments[caller->segment];
	const struct policy_segment *to = &policy->segments[group->segment];
	const struct verdicts egress = verdicts_of(policy, from, to, EGRESS, group->resolution);
	const struct verdicts ingress = verdicts_of(policy, to, from, INGRESS, group->resolution);
	const uint32_t node = policy->endpoints[caller->endpoint].node;
	size_t e = 0, i = 0;

	for (; group < end; group++) {
		const bool out = allows(&egress, &e, group->point);
		const bool in = allows(&ingress, &i, group->point);

		if (!group->node || !node || group->node == node)
			search->at[group->frontend].says |= out && in ? SAYS_ALLOW : SAYS_DENY;
	}
}

static void say_all(struct address_search *search, const struct policy_address *caller)
{
	const struct backend_group *at = search->groups.at, *end = at + search->groups.n;

	for (size_t i = 0; i < search->n; i++)
		search->at[i].says = 0;
	while (at < end) {
		const struct backend_group *next = at + 1;

		while (next < end && next->segment == at->segment &&
		       next->resolution == at->resolution)
			next++;
		say(search, caller, at, next);
		at = next;
	}
}

/* Returns true if an address of the caller's endpoint, or of its node, is a backend's: the caller
 * may reach these whatever the groups say. */
static bool is_near(const struct policy *policy, const struct policy_frontend *frontend,
		    const struct policy_address *caller)
{
	const struct policy_endpoint *endpoint = &policy->endpoints[caller->endpoint];
	const struct policy_node *node =
		endpoint->node ? policy_node_by_name(policy, policy_string(policy, endpoint->node))
			       : NULL;
	bool near = false;

	for (uint32_t i = 0; i < endpoint->addresses.n && !near; i++)
		near = is_backend(
			policy, frontend,
			&policy->addresses[policy->endpoint_addresses[endpoint->addresses.at + i]]
				 .address);
	for (uint32_t i = 0; node && i < node->addresses.n && !near; i++)
		near = is_backend(policy, frontend,
				  &policy->node_addresses[node->addresses.at + i]);
	return near;
}

static bool depends(const struct policy *policy, const struct policy_frontend *frontend,
		    const struct policy_address *caller, struct service_verdict *verdict)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow flow = flow_to(frontend);

	flow.source = caller->address;
	evaluate_service(&source, policy, &flow, verdict);
	return verdict->outcome == SERVICE_DEPENDS;
}

/* Returns true if the caller reaches one backend and not another. Skips callers that are a backend
 * themselves: every pod reaches itself. */
static bool differs(const struct address_search *search, size_t i,
		    const struct policy_address *caller)
{
	const struct policy_frontend *frontend = &search->frontends[i];
	const struct frontend_search *at = &search->at[i];
	struct service_verdict verdict;
	bool differ;

	if (is_backend(search->policy, frontend, &caller->address) ||
	    (!search->contested && at->says != SAYS_BOTH &&
	     (at->says != SAYS_DENY || !is_near(search->policy, frontend, caller))))
		return false;
	differ = depends(search->policy, frontend, caller, &verdict);
	service_verdict_free(&verdict);
	return differ;
}

/* Answers the search. */
static void find_callers(struct address_search *search, const struct callers *callers)
{
	const bool ipv4 = address_is_ipv4(&search->frontends->address);

	for (size_t k = 0; k < callers->n && search->left; k++) {
		if (address_is_ipv4(&callers->at[k]->address) != ipv4)
			continue;
		say_all(search, callers->at[k]);
		for (size_t i = 0; i < search->n; i++)
			if (!search->at[i].done && differs(search, i, callers->at[k])) {
				search->at[i].caller = callers->at[k];
				search->at[i].done = true;
				search->left--;
			}
	}
}

/* Findings */

static const struct service_backend *first_of(const struct service_verdict *verdict, bool allow)
{
	for (size_t i = 0; i < verdict->n_backends; i++)
		if (verdict->backends[i].chosen && verdict->backends[i].allow == allow)
			return &verdict->backends[i];
	return NULL;
}

static void report(struct lint *lint, const struct policy_frontend *frontend,
		   const struct policy_address *caller)
{
	const struct policy *policy = lint->policy;
	const struct policy_endpoint *endpoint = &policy->endpoints[caller->endpoint];
	const struct policy_service *service = frontend_service(policy, frontend);
	const struct flow flow = flow_to(frontend);
	char name[SERVICE_NAME_TEXT], port[FLOW_TEXT], allowed[FLOW_TEXT], denied[FLOW_TEXT];
	struct service_verdict verdict;

	depends(policy, frontend, caller, &verdict);
	/* compiled Services are in the order of the objects */
	lint_find(lint, "backends-differ",
		  &lint->cluster->services[service - policy->services].where,
		  service_name(policy, service, name),
		  "%s: %s/%s reaches the backend %s and not %s, so that the one which the kernel "
		  "chooses decides",
		  port_print(&flow, port),
		  policy_string(policy, policy->namespaces[endpoint->ns].name),
		  policy_string(policy, endpoint->name),
		  backend_name(policy, first_of(&verdict, true)->backend, allowed),
		  backend_name(policy, first_of(&verdict, false)->backend, denied));
	service_verdict_free(&verdict);
}

/* @told: by service port, that a finding is about it: the Service may have an address of the other
 * IP version as well. */
static void lint_address(struct lint *lint, struct address_search *search,
			 const struct callers *callers, bool *told)
{
	for (size_t i = 0; i < search->n; i++) {
		const struct policy_frontend *frontend = &search->frontends[i];

		search->at[i].done = frontend->flags & POLICY_FRONTEND_EXTERNAL ||
				     told[frontend->service_port] ||
				     are_alike(lint->policy, frontend_port(lint->policy, frontend));
		search->left += !search->at[i].done;
	}
	if (!search->left)
		return;
	list_groups(search);
	find_callers(search, callers);
	for (size_t i = 0; i < search->n; i++)
		if (search->at[i].caller) {
			told[search->frontends[i].service_port] = true;
			report(lint, &search->frontends[i], search->at[i].caller);
		}
}

void lint_services(struct lint *lint)
{
	const struct policy *policy = lint->policy;
	const struct callers callers = list_callers(policy);
	const bool contested = policy->n_frontends && service_grid_contested(policy);
	bool *told = grow_zeroed(policy->n_service_ports, sizeof(*told));
	size_t n;

	for (size_t i = 0; i < policy->n_frontends; i += n) {
		const struct policy_frontend *first = &policy->frontends[i];
		struct address_search search = {
			.policy = policy, .frontends = first, .contested = contested};

		for (n = 1; i + n < policy->n_frontends; n++)
			if (memcmp(&first[n].address, &first->address, sizeof(first->address)))
				break;
		search.n = n;
		search.at = grow_zeroed(n, sizeof(*search.at));
		lint_address(lint, &search, &callers, told);
		array_free(&search.groups);
		free(search.at);
	}
	free(told);
	free(callers.at);
}
