// SPDX-License-Identifier: GPL-2.0-only
#include "policy/service_flow.h"

#include <string.h>

#include "model/grow.h"

/* The evaluation of one flow. */
struct balance {
	const struct evaluate_source *source;
	const struct policy *policy;
	const struct flow *flow;
	const char *node; /* the node that translates; NULL: unknown */
	bool from_outside; /* the source is neither an endpoint nor a node */
	ARRAY(struct service_backend) backends;
};

/* NULL: no node has the address. */
static const char *node_with(const struct policy *policy, const struct address *address)
{
	for (size_t i = 0; i < policy->n_nodes; i++) {
		const struct policy_node *node = &policy->nodes[i];

		for (uint32_t j = 0; j < node->addresses.n; j++)
			if (!memcmp(&policy->node_addresses[node->addresses.at + j], address,
				    sizeof(*address)))
				return policy_string(policy, node->name);
	}
	return NULL;
}

static void find_node(struct balance *b)
{
	const struct policy *policy = b->policy;
	const struct policy_address *from = policy_address_find(policy, &b->flow->source);
	uint32_t name;

	if (from) {
		name = policy->endpoints[from->endpoint].node;
		b->node = name ? policy_string(policy, name) : NULL;
		return;
	}
	b->node = node_with(policy, &b->flow->source);
	b->from_outside = !b->node;
	if (b->from_outside)
		b->node = node_with(policy, &b->flow->destination);
}

static void add_backend(struct balance *b, const struct policy_service *service,
			const struct policy_backend *backend, uint16_t port)
{
	struct service_backend *added;

	if (address_is_ipv4(&backend->address) != address_is_ipv4(&b->flow->source))
		return;
	added = array_add(&b->backends);
	*added = (struct service_backend){
		.service = service, .backend = backend, .flow = *b->flow, .chosen = true};
	added->flow.destination = backend->address;
	added->flow.port = port;
}

static void keep_local(struct balance *b, size_t first)
{
	for (size_t i = first; i < b->backends.n; i++) {
		struct service_backend *backend = &b->backends.at[i];
		const uint32_t node = b->node ? backend_node(b->policy, backend->backend) : 0;

		backend->chosen &=
			!b->node || (node && !strcmp(policy_string(b->policy, node), b->node));
	}
}

static bool has_flags(const struct service_backend *backend, uint8_t flags)
{
	return (backend->backend->flags & flags) == flags;
}

/* Keeps the backends that kube-proxy uses: ready ones, or if there is none, terminating ones that
 * still serve. */
static void keep_ready(struct balance *b, size_t first)
{
	uint8_t wanted = POLICY_BACKEND_SERVING | POLICY_BACKEND_TERMINATING;

	for (size_t i = first; i < b->backends.n; i++)
		if (b->backends.at[i].chosen && has_flags(&b->backends.at[i], POLICY_BACKEND_READY))
			wanted = POLICY_BACKEND_READY;
	for (size_t i = first; i < b->backends.n; i++)
		b->backends.at[i].chosen &= has_flags(&b->backends.at[i], wanted);
}

/* Returns true if traffic policy Local applies. Of an external address it applies to packets from
 * outside the cluster. */
static bool is_local(const struct balance *b, const struct policy_frontend *frontend)
{
	return frontend->flags & POLICY_FRONTEND_LOCAL &&
	       (b->from_outside || !(frontend->flags & POLICY_FRONTEND_EXTERNAL));
}

static void add_frontend(struct balance *b, const struct policy_frontend *frontend)
{
	const struct policy_backend *backends;
	size_t first = b->backends.n, n;

	backends = frontend_backends(b->policy, frontend, &n);
	for (size_t i = 0; i < n; i++)
		add_backend(b, frontend_service(b->policy, frontend), &backends[i],
			    backends[i].port);
	if (is_local(b, frontend))
		keep_local(b, first);
	keep_ready(b, first);
}

enum service_outcome service_outcome_of(size_t allowed, size_t n)
{
	if (!allowed)
		return SERVICE_DENIED;
	return allowed == n ? SERVICE_ALLOWED : SERVICE_DEPENDS;
}

static void conclude(struct balance *b, struct service_verdict *verdict)
{
	size_t n = 0, allowed = 0;

	for (size_t i = 0; i < b->backends.n; i++) {
		struct service_backend *at = &b->backends.at[i];

		at->allow =
			evaluate_flow(b->source, b->policy, &at->flow, &at->egress, &at->ingress);
		n += at->chosen;
		allowed += at->chosen && at->allow;
	}
	verdict->outcome = service_outcome_of(allowed, n);
	verdict->backends = b->backends.at;
	verdict->n_backends = b->backends.n;
}

static struct balance start(const struct evaluate_source *source, const struct policy *names,
			    const struct flow *flow)
{
	struct balance b = {.source = source, .policy = names, .flow = flow};

	find_node(&b);
	return b;
}

void evaluate_service(const struct evaluate_source *source, const struct policy *names,
		      const struct flow *flow, struct service_verdict *verdict)
{
	struct service_frontends found;
	struct balance b;

	*verdict = (struct service_verdict){.answer = SERVICE_NONE};
	if (!names->n_frontends && !names->n_service_cidrs)
		return;
	b = start(source, names, flow);
	verdict->answer =
		service_find(names, b.node, &flow->destination, flow->protocol, flow->port, &found);
	if (verdict->answer == SERVICE_UNKNOWN)
		verdict->outcome = SERVICE_DEPENDS;
	if (verdict->answer == SERVICE_FOUND || verdict->answer == SERVICE_NO_PORT)
		verdict->service = frontend_service(names, found.at);
	if (verdict->answer != SERVICE_FOUND)
		return;
	for (size_t i = 0; i < found.n; i++)
		add_frontend(&b, &found.at[i]);
	conclude(&b, verdict);
}

bool service_list_backends(const struct policy *names, const struct address *address,
			   const struct flow *port, struct service_verdict *verdict)
{
	struct flow flow = *port;
	struct balance b = {.policy = names, .flow = &flow};
	struct service_frontends found;

	*verdict = (struct service_verdict){.answer = SERVICE_NONE};
	flow.source = flow.destination = *address;
	if (service_find(names, NULL, address, port->protocol, port->port, &found) != SERVICE_FOUND)
		return false;
	for (size_t i = 0; i < found.n; i++)
		if (found.at[i].flags & POLICY_FRONTEND_LOCAL)
			return false;
	for (size_t i = 0; i < found.n; i++)
		add_frontend(&b, &found.at[i]);
	*verdict = (struct service_verdict){.answer = SERVICE_FOUND,
					    .service = frontend_service(names, found.at),
					    .backends = b.backends.at,
					    .n_backends = b.backends.n};
	return true;
}

typedef ARRAY(const struct policy_backend *) backends_t;

static int compare_addresses(const void *a, const void *b)
{
	const struct policy_backend *x = *(const struct policy_backend *const *)a;
	const struct policy_backend *y = *(const struct policy_backend *const *)b;
	const int order = memcmp(&x->address, &y->address, sizeof(x->address));

	if (order)
		return order;
	return x < y ? -1 : x > y;
}

static int compare_places(const void *a, const void *b)
{
	const struct policy_backend *x = *(const struct policy_backend *const *)a;
	const struct policy_backend *y = *(const struct policy_backend *const *)b;

	return x < y ? -1 : x > y;
}

/* Lists the first backend of each address, in the policy's order. */
static backends_t list_first(const struct policy *policy, const struct policy_service *service)
{
	backends_t list = {0};
	size_t n = 0;

	for (uint32_t i = 0; i < service->ports.n; i++) {
		const struct policy_range *range =
			&policy->service_ports[service->ports.at + i].backends;

		for (uint32_t j = 0; j < range->n; j++)
			array_push(&list, &policy->backends[range->at + j]);
	}
	array_sort(&list, compare_addresses);
	for (size_t i = 0; i < list.n; i++)
		if (!n ||
		    memcmp(&list.at[n - 1]->address, &list.at[i]->address, sizeof(struct address)))
			list.at[n++] = list.at[i];
	list.n = n;
	array_sort(&list, compare_places);
	return list;
}

void evaluate_headless(const struct evaluate_source *source, const struct policy *names,
		       const struct policy_service *service, const struct flow *flow,
		       struct service_verdict *verdict)
{
	struct balance b = start(source, names, flow);
	backends_t list = list_first(names, service);

	for (size_t i = 0; i < list.n; i++)
		add_backend(&b, service, list.at[i], flow->port);
	array_free(&list);
	/* a headless name gives the ready backends only */
	for (size_t i = 0; i < b.backends.n; i++)
		b.backends.at[i].chosen = has_flags(&b.backends.at[i], POLICY_BACKEND_READY);
	*verdict = (struct service_verdict){.answer = SERVICE_FOUND, .service = service};
	conclude(&b, verdict);
}

void service_verdict_free(struct service_verdict *verdict)
{
	free(verdict->backends);
}

const char *service_outcome_text(enum service_outcome outcome)
{
	static const char *const texts[] = {[SERVICE_DENIED] = "deny",
					    [SERVICE_ALLOWED] = "allow",
					    [SERVICE_DEPENDS] = "depends"};

	return texts[outcome];
}
