/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a flow to a Service's address: a verdict for each backend to which the kernel may send
 * it, as for a flow to that backend.
 */
#ifndef BULKHEAD_POLICY_SERVICE_FLOW_H
#define BULKHEAD_POLICY_SERVICE_FLOW_H

#include "policy/evaluate.h"
#include "policy/frontend.h"

enum service_outcome {
	SERVICE_DENIED, /* every backend is denied, or there is none */
	SERVICE_ALLOWED, /* every backend is allowed */
	/* it depends on the backend that the kernel chooses, or no input has the backends */
	SERVICE_DEPENDS,
};

/* Returns "deny", "allow" or "depends". */
const char *service_outcome_text(enum service_outcome outcome);

struct service_backend {
	const struct policy_service *service;
	const struct policy_backend *backend;
	struct flow flow; /* the flow to the backend's address and port */
	/* A new connection may go to this backend: it is ready, or serves while none is ready,
	 * and traffic policy Local does not exclude it. Only such backends make the outcome. */
	bool chosen;
	bool allow;
	struct decision egress, ingress;
};

struct service_verdict {
	enum service_answer answer;
	enum service_outcome outcome;
	const struct policy_service *service; /* NULL: unknown; of several Services, the first */
	struct service_backend *backends;
	size_t n_backends;
};

/*
 * Evaluates a flow to an address. Node ports count at the node where the kernel translates the
 * packet: the node that the source is or is on; for a packet from outside, the node that has its
 * destination. If the answer is SERVICE_NONE, use evaluate_flow().
 */
void evaluate_service(const struct evaluate_source *source, const struct policy *names,
		      const struct flow *flow, struct service_verdict *verdict);

/* Returns what a Service does to a source of which so many of @n chosen backends may be reached. */
enum service_outcome service_outcome_of(size_t allowed, size_t n);

/*
 * Lists the backends of an address and port as evaluate_service() does, without verdicts, if they
 * and `chosen` are the same for each source of the address' IP version. Returns false, with none,
 * if they are not, or if the address has no Service there.
 */
bool service_list_backends(const struct policy *names, const struct address *address,
			   const struct flow *port, struct service_verdict *verdict);

/* Evaluates a flow to a headless Service. Its name gives the backends' own addresses, so the flow's
 * port is the backend's port. */
void evaluate_headless(const struct evaluate_source *source, const struct policy *names,
		       const struct policy_service *service, const struct flow *flow,
		       struct service_verdict *verdict);

void service_verdict_free(struct service_verdict *verdict);

#endif
