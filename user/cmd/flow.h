/* SPDX-License-Identifier: GPL-2.0-only */
/* Flows as the user writes them: who, to whom, by which protocol and port. */
#ifndef BULKHEAD_CMD_FLOW_H
#define BULKHEAD_CMD_FLOW_H

#include "compile/judge.h"
#include "compile/service.h"

enum family { IPV4, IPV6, FAMILIES };

/* An endpoint or an address; by family, the first address that it has of it. */
struct end {
	const char *name;
	enum family first; /* of its families */
	bool has[FAMILIES];
	struct address address[FAMILIES];
	const struct policy_service *service; /* named as "svc:namespace/name"; else NULL */
	const char *host; /* the node that a hostNetwork pod of that name is; else NULL */
};

/* Keeps the first address of a family. */
void end_add(struct end *end, const struct address *address);

/* What cannot be answered, and why. */
#define FLOW_TEXT 256

/* @text is "namespace/name" (of a hostNetwork pod: its node), "svc:namespace/name" or an address. A
 * Service has the addresses that the cluster gave it; a headless one has its backends'. Returns 0,
 * or -EINVAL with the reason in @why. */
int end_parse(const struct policy *policy, const char *text, struct end *end, char why[FLOW_TEXT]);

/* The end that an endpoint of @policy is. */
struct end end_of_endpoint(const struct policy *policy, const struct policy_endpoint *endpoint,
			   const char *name);

/* The end that a Service is: with the addresses that the cluster gave it, or its backends' where it
 * is headless; none where it has neither. */
struct end end_of_service(const struct policy *policy, const struct policy_service *service,
			  const char *name);

/* "TCP/80", "ICMP", "47": into the flow's protocol and port. Returns as end_parse() does. */
int port_parse(const char *text, struct flow *flow, char why[FLOW_TEXT]);
char *port_print(const struct flow *flow, char text[FLOW_TEXT]);

/* Fills in the addresses: the first family of @from that both have. Returns false: there is none.
 */
bool flow_between(const struct end *from, const struct end *to, struct flow *flow);

#endif
