// SPDX-License-Identifier: GPL-2.0-only
/* Lists the kinds of ends behind each Service. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/graph.h"

#define NO_KIND UINT32_MAX

/* Returns each endpoint's kind, by index of the policy's endpoints. */
static uint32_t *flow_classes_of_endpoints(const struct policy *policy,
					   const struct flow_classes *kinds)
{
	uint32_t *found = malloc((policy->n_endpoints + 1) * sizeof(*found));

	for (size_t i = 0; i < policy->n_endpoints && found; i++)
		found[i] = NO_KIND;
	for (size_t i = 0; i < kinds->n && found; i++) {
		const struct flow_class *kind = &kinds->at[i];

		for (size_t k = 0; k < kind->n && !kind->members->external; k++) {
			const struct flow_side *side = &kind->members[k].end;
			const struct policy_address *address =
				policy_address_find(policy, &side->address[side->first]);

			if (address)
				found[address->endpoint] = i;
		}
	}
	return found;
}

/* Returns the kind of a backend that is no endpoint: its node's, or the kind that has its
 * address. */
static uint32_t kind_of_outside(const struct policy *policy, const struct flow_classes *kinds,
				size_t nth, const struct policy_backend *backend, bool is_node)
{
	uint32_t segment = policy_prefix_find(policy, &backend->address) - policy->segments;

	for (size_t i = 0; i < kinds->n; i++) {
		const struct flow_class_member *first = kinds->at[i].members;

		if (first->external && !first->end.domain && first->is_node == is_node &&
		    first->place[nth].segment == segment)
			return i;
	}
	return NO_KIND;
}

static int compare(const void *a, const void *b)
{
	const struct graph_backend *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->to_port - y->to_port;
}

static size_t list(const struct policy *policy, const struct flow_classes *kinds, size_t nth,
		   const uint32_t *of_endpoint, struct graph_backend *at)
{
	size_t n = 0, left = 0;

	for (size_t i = 0; i < policy->n_service_ports; i++) {
		const struct policy_service_port *port = &policy->service_ports[i];

		for (uint32_t k = 0; k < port->backends.n; k++) {
			const struct policy_backend *backend =
				&policy->backends[port->backends.at + k];
			struct service_place place = backend_place(policy, backend);
			uint32_t kind = place.endpoint
						? of_endpoint[place.endpoint - policy->endpoints]
						: kind_of_outside(policy, kinds, nth, backend,
								  place.is_node);

			if (kind != NO_KIND)
				at[n++] = (struct graph_backend){port, kind, backend->port};
		}
	}
	if (n)
		qsort(at, n, sizeof(*at), compare);
	for (size_t i = 0; i < n; i++)
		if (!i || compare(&at[i - 1], &at[i]))
			at[left++] = at[i];
	return left;
}

int graph_backends(const struct policy *policy, const struct flow_classes *kinds, size_t nth,
		   struct graph_backend **backends, size_t *n)
{
	uint32_t *of_endpoint = flow_classes_of_endpoints(policy, kinds);

	*backends = calloc(policy->n_backends + 1, sizeof(**backends));
	if (!of_endpoint || !*backends) {
		free(of_endpoint);
		free(*backends);
		return -ENOMEM;
	}
	*n = list(policy, kinds, nth, of_endpoint, *backends);
	free(of_endpoint);
	return 0;
}
