/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the differences between the Services of two policies. */
#include <string.h>

#include "model/search.h"
#include "policy/diff_part.h"

static const struct policy_service *counterpart(const struct policy *other,
						const struct policy *policy,
						const struct policy_service *service)
{
	return service_by_name(other, policy_string(policy, service->ns),
			       policy_string(policy, service->name));
}

/* Orders the backends of a port as the policy has them. */
static int compare_backends(const struct policy_backend *a, const struct policy_backend *b)
{
	const int order = memcmp(&a->address, &b->address, sizeof(a->address));

	return order ? order : a->port - b->port;
}

static const struct policy_service_port *find_port(const struct policy *policy,
						   const struct policy_service *service,
						   const struct policy_service_port *like)
{
	for (uint32_t i = 0; i < service->ports.n; i++) {
		const struct policy_service_port *port =
			&policy->service_ports[service->ports.at + i];

		if (port->protocol == like->protocol && port->port == like->port)
			return port;
	}
	return NULL;
}

/* Returns true if the kernel would send a new connection to the backend. */
static bool serves(const struct policy_backend *backend)
{
	return backend->flags & (POLICY_BACKEND_READY | POLICY_BACKEND_SERVING);
}

static bool has_backend(const struct policy *policy, const struct policy_service_port *port,
			const struct policy_backend *like)
{
	const struct policy_backend *backends = policy->backends + port->backends.at;
	const size_t n = port->backends.n,
		     i = SEARCH(n, k, compare_backends(&backends[k], like) < 0);

	return i < n && !compare_backends(&backends[i], like) && backends[i].flags == like->flags;
}

/* Finds ports and backends that the Service has in one policy and lacks in the other. */
static void compare_ports(struct diff *diff, enum side side, const struct policy_service *service,
			  const struct policy_service *other)
{
	const struct policy *policy = diff->policy[side], *against = diff->policy[!side];

	for (uint32_t i = 0; i < service->ports.n; i++) {
		const struct policy_service_port *port =
			&policy->service_ports[service->ports.at + i];
		const struct policy_service_port *same = find_port(against, other, port);

		if (!same) {
			array_push(&diff->services,
				   ((struct diff_service){service, side, NULL, port, NULL}));
			continue;
		}
		for (uint32_t k = 0; k < port->backends.n; k++) {
			const struct policy_backend *backend =
				&policy->backends[port->backends.at + k];

			if (serves(backend) && !has_backend(against, same, backend))
				array_push(&diff->services,
					   ((struct diff_service){service, side, NULL, port,
								  backend}));
		}
	}
}

static bool has_frontend(const struct policy *policy, const struct policy_service *service,
			 const struct policy_frontend *like)
{
	struct service_frontends found;

	if (!service_frontends_find(policy, &like->address, like->protocol, like->port, &found))
		return false;
	for (size_t i = 0; i < found.n; i++)
		if (frontend_service(policy, &found.at[i]) == service)
			return true;
	return false;
}

/* Finds addresses that only one policy's Service has, at ports that both have. */
static void compare_frontends(struct diff *diff, enum side side)
{
	const struct policy *policy = diff->policy[side], *against = diff->policy[!side];

	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct policy_service *service = frontend_service(policy, frontend);
		const struct policy_service *other = counterpart(against, policy, service);
		const struct policy_service_port *port = frontend_port(policy, frontend);

		if (other && find_port(against, other, port) &&
		    !has_frontend(against, other, frontend))
			array_push(&diff->services,
				   ((struct diff_service){service, side, frontend, port, NULL}));
	}
}

void diff_find_services(struct diff *diff)
{
	for (enum side side = OLD; side < SIDES; side++) {
		const struct policy *policy = diff->policy[side];

		for (size_t i = 0; i < policy->n_services; i++) {
			const struct policy_service *service = &policy->services[i];
			const struct policy_service *other =
				counterpart(diff->policy[!side], policy, service);

			if (other)
				compare_ports(diff, side, service, other);
			else
				array_push(
					&diff->services,
					((struct diff_service){service, side, NULL, NULL, NULL}));
		}
		compare_frontends(diff, side);
	}
}
