/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a compiled policy says of a flow to a Service's address: a verdict for each
 * backend that the kernel may send the flow to, as if the flow went there.
 */
#ifndef BULKHEAD_COMPILE_SERVICE_FLOW_H
#define BULKHEAD_COMPILE_SERVICE_FLOW_H

#include "compile/judge.h"
#include "compile/service.h"

enum service_outcome {
	SERVICE_DENIED, /* at every backend, or there is none */
	SERVICE_ALLOWED, /* at every backend */
	SERVICE_DEPENDS, /* on which backend the kernel chooses, or nobody told of the backends */
};

/* "deny", "allow", "depends" */
const char *service_outcome_text(enum service_outcome outcome);

struct service_backend {
	const struct policy_service *service;
	const struct policy_backend *backend;
	struct flow flow; /* to the backend's address and port */
	/* Whether a new connection may go there: the backend is ready, or serves while none is, and
	 * a traffic policy Local does not keep the flow from it. Only these make the outcome. */
	bool chosen;
	bool allow;
	struct decision egress, ingress;
};

struct service_verdict {
	enum service_answer answer;
	enum service_outcome outcome;
	const struct policy_service *service; /* NULL: not known; else the first, if of several */
	struct service_backend *backends;
	size_t n_backends;
};

/*
 * Of a flow to an address. The node ports that count are those of the node where the kernel
 * translates the packet: the one that the source is on or is, or, of a packet from outside, the one
 * whose address it goes to. Where the answer is SERVICE_NONE, the flow is judge_flow()'s.
 */
void judge_service(const struct judge_source *source, const struct policy *names,
		   const struct flow *flow, struct service_verdict *verdict);

/* Of a flow to a headless Service: its name gives the backends' own addresses, so that the port is
 * the flow's. */
void judge_headless(const struct judge_source *source, const struct policy *names,
		    const struct policy_service *service, const struct flow *flow,
		    struct service_verdict *verdict);

void service_verdict_free(struct service_verdict *verdict);

#endif
