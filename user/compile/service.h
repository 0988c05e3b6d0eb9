/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Services of a compiled policy: whose an address is that a packet is sent to,
 * and where the kernel may send the packet instead. Pure; the policy has no source
 * (policy.h).
 *
 * A Service's address stands for its backends. A flow to one is judged by the backend, at the
 * backend's address and port, with both ends' policies; no CIDR rule matches the address itself.
 */
#ifndef BULKHEAD_COMPILE_SERVICE_H
#define BULKHEAD_COMPILE_SERVICE_H

#include "compile/flow.h"
#include "compile/policy.h"

/* What stands at an address and port. */
enum service_answer {
	SERVICE_NONE, /* no Service: judge the address itself */
	SERVICE_FOUND, /* Services, with or without backends */
	SERVICE_NO_PORT, /* a Service's address, but none of its ports: nothing is there */
	SERVICE_UNKNOWN, /* in [bulkhead] service-cidr: a Service that no input tells of */
};

/* Frontends with one address, protocol and port: one, or several that share an external address. */
struct service_frontends {
	const struct policy_frontend *at;
	size_t n;
};

/*
 * Who is at @address, @protocol (IP number; 0: none) and @port. @node: a node port counts where the
 * address is the policy's node's of that name; NULL: no node port does. @found is set where the
 * answer is SERVICE_FOUND, and for SERVICE_NO_PORT to one at another port of the address.
 */
enum service_answer service_find(const struct policy *policy, const char *node,
				 const struct address *address, uint8_t protocol, uint16_t port,
				 struct service_frontends *found);

/* The Service to name beside an address and port that were called, on whichever node: NULL where
 * there is none. */
const struct policy_service *service_called(const struct policy *policy,
					    const struct address *address, uint8_t protocol,
					    uint16_t port);

/* All frontends are policy->frontends, in order; those that begin at @i and share their key: */
struct service_frontends service_frontends_at(const struct policy *policy, size_t i);

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

/* The backends of the port, of both families: those that @frontend leads to are of its family, but
 * a node port leads to either. */
static inline const struct policy_backend *
frontend_backends(const struct policy *policy, const struct policy_frontend *frontend, size_t *n)
{
	const struct policy_service_port *port = frontend_port(policy, frontend);

	*n = port->backends.n;
	return policy->backends + port->backends.at;
}

/* What a backend is: an endpoint and its segment, a node (or a hostNetwork pod, which is its node),
 * or an address of neither. */
struct service_place {
	const struct policy_endpoint *endpoint; /* NULL: no endpoint has the address */
	const struct policy_segment *segment;
	uint32_t variation; /* ID, 0: none */
	const char *node; /* the node that it is on; NULL: not known */
	bool is_node; /* the address is a node's own */
};

struct service_place backend_place(const struct policy *policy,
				   const struct policy_backend *backend);

/* NULL: no such Service. */
const struct policy_service *service_by_name(const struct policy *policy, const char *ns,
					     const char *name);

/* "namespace/name". Returns @text. */
#define SERVICE_NAME_TEXT 320
char *service_name(const struct policy *policy, const struct policy_service *service,
		   char text[SERVICE_NAME_TEXT]);

/* "namespace/name", "node NAME" or the address. Returns @text. */
char *backend_name(const struct policy *policy, const struct policy_backend *backend,
		   char text[FLOW_TEXT]);

#endif
