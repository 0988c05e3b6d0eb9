/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle: what the specs say of one flow, read off their text sentence by
 * sentence. It walks every policy, rule and peer anew for each question and
 * shares no code with the compiler or the model, only the model's structs; it
 * needs nothing sorted or completed. Slow and plain on purpose.
 */
#ifndef BULKHEAD_SELFTESTS_ORACLE_H
#define BULKHEAD_SELFTESTS_ORACLE_H

#include "model/cluster.h"

struct oracle_flow {
	struct address source, destination;
	uint8_t protocol; /* IP protocol number */
	uint16_t port; /* destination port; 0 where the protocol has none */
};

struct oracle_decision {
	bool subject; /* false: that end is no endpoint, it has no say */
	bool allow;
	enum tier tier;
	enum direction direction;
	const struct policy_object *policy; /* NULL: no rule decided */
	const struct rule *rule;
};

/* Returns whether the flow is allowed: both ends allow it. */
bool oracle_judge(const struct cluster *cluster, const struct oracle_flow *flow,
		  struct oracle_decision *egress, struct oracle_decision *ingress);

/*
 * Whom a Service's address stands for. "A Service's address stands for its backends: who calls it
 * is judged by the backend that the kernel chose, at the backend's address and port, with both
 * ends' policies. No CIDR rule matches a Service's own address, however wide."
 */
#define ORACLE_BACKENDS 256
struct oracle_service {
	struct oracle_flow backends[ORACLE_BACKENDS]; /* the flow, as each backend would get it */
	size_t n; /* sorted by address, port; each once */
	const char *ns_name, *name; /* of the first Service that is meant */
};

/* Returns false: the flow's destination is no Service's, and the flow is oracle_judge()'s. */
bool oracle_service(const struct cluster *cluster, const struct oracle_flow *flow,
		    struct oracle_service *service);

/* As `trace --batch` prints a decision. Returns @text. */
#define ORACLE_TEXT 1024
char *oracle_print(const struct oracle_decision *decision, char text[ORACLE_TEXT]);

#endif
