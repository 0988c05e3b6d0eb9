/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Services of a compiled policy: who has the address that a packet is sent to, and to which
 * backends the kernel may send it. Pure; the policy must not have a source (policy.h).
 *
 * A Service's address stands for its backends. A flow to it is evaluated as a flow to the backend's
 * address and port, by both ends' policies. CIDR rules do not match the Service's address itself.
 */
#ifndef BULKHEAD_POLICY_FRONTEND_H
#define BULKHEAD_POLICY_FRONTEND_H

#include "policy/flow.h"
#include "policy/policy.h"

/* What an address and port are to Services. */
enum service_answer {
	SERVICE_NONE, /* no Service: evaluate the address itself */
	SERVICE_FOUND, /* Services, with or without backends */
	SERVICE_NO_PORT, /* a Service's address, at a port that it does not have: nothing answers */
	SERVICE_UNKNOWN, /* in [bulkhead] service-cidr: a Service that is in no input */
};

/* The frontends with one address, protocol and port: one, or several that share an external
 * address. */
struct service_frontends {
	const struct policy_frontend *at;
	size_t n;
};

/*
 * Finds the frontends at @address, @protocol (IP number; 0: none) and @port. @node: node ports
 * count at the addresses of the node of that name; NULL: they do not count. Sets @found for
 * SERVICE_FOUND; for SERVICE_NO_PORT, to frontends at another port of the address.
 */
enum service_answer service_find(const struct policy *policy, const char *node,
				 const struct address *address, uint8_t protocol, uint16_t port,
				 struct service_frontends *found);

/* Returns the Service to name beside a called address and port, on any node; NULL: none. */
const struct policy_service *service_called(const struct policy *policy,
					    const struct address *address, uint8_t protocol,
					    uint16_t port);

/* Finds the frontends of an address (0 (::): node ports), protocol and port. Returns false, with
 * none, if there are none. */
bool service_frontends_find(const struct policy *policy, const struct address *address,
			    uint8_t protocol, uint16_t port, struct service_frontends *found);

static inline bool frontend_is_node_port(const struct policy_frontend *frontend)
{
	static const struct address any;

	return !memcmp(&frontend->address, &any, sizeof(any));
}

static inline const struct policy_service_port *
frontend_port(const struct policy *policy, const struct policy_frontend *frontend)
{
	return &policy->service_ports[frontend->service_port];
}

static inline const struct policy_service *frontend_service(const struct policy *policy,
							    const struct policy_frontend *frontend)
{
	return &policy->services[frontend_port(policy, frontend)->service];
}

/* Returns the backends of the port, of both IP versions. A frontend leads to those of its own
 * version, a node port's to both. */
static inline const struct policy_backend *
frontend_backends(const struct policy *policy, const struct policy_frontend *frontend, size_t *n)
{
	const struct policy_service_port *port = frontend_port(policy, frontend);

	*n = port->backends.n;
	return policy->backends + port->backends.at;
}

/* Who a backend is: an endpoint with its segment, a node (or a hostNetwork pod, which is its
 * node), or neither. */
struct service_place {
	const struct policy_endpoint *endpoint; /* NULL: no endpoint has the address */
	const struct policy_segment *segment;
	uint32_t variation; /* ID; 0: none */
	const char *node; /* the node that it is on; NULL: unknown */
	bool is_node; /* the address is a node's own */
};

/* Returns the node that a backend is on, as a string of the policy: its endpoint's node, else what
 * the Service's objects say; 0: unknown. */
uint32_t backend_node(const struct policy *policy, const struct policy_backend *backend);

struct service_place backend_place(const struct policy *policy,
				   const struct policy_backend *backend);

/* NULL: there is no such Service. */
const struct policy_service *service_by_name(const struct policy *policy, const char *ns,
					     const char *name);

/* Prints "namespace/name". Returns @text. */
#define SERVICE_NAME_TEXT 320
char *service_name(const struct policy *policy, const struct policy_service *service,
		   char text[SERVICE_NAME_TEXT]);

/* Prints "namespace/name", "node NAME" or the address. Returns @text. */
char *backend_name(const struct policy *policy, const struct policy_backend *backend,
		   char text[FLOW_TEXT]);

#endif
