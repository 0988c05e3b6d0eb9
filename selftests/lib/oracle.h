/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle: the verdict of one flow, written sentence by sentence from the specs' text. It walks
 * every policy, rule and peer for each question, shares only the model's structs with the compiler,
 * and needs nothing sorted or completed. It is slow and simple on purpose.
 */
#ifndef BULKHEAD_SELFTESTS_ORACLE_H
#define BULKHEAD_SELFTESTS_ORACLE_H

#include "model/cluster.h"

struct oracle_flow {
	struct address source, destination;
	uint8_t protocol; /* IP protocol number */
	uint16_t port; /* destination port; 0 if the protocol has none */
	const char *name; /* the source has learned the destination by this name; NULL: by none */
};

#define ORACLE_ISOLATING 8
struct oracle_decision {
	bool subject; /* false: the end is no endpoint and has no policy */
	bool allow;
	enum tier tier;
	enum direction direction;
	const struct policy_object *policy; /* NULL: no rule decided */
	const struct rule *rule;
	bool by_name; /* the flow's name counts: without it, policies deny, or audited ones would */
	/* Audited policies would deny, by a rule or, without one, by their isolation. */
	bool would_deny;
	enum tier would_tier;
	const struct policy_object *would_policy;
	const struct rule *would_rule;
	const struct policy_object *isolating[ORACLE_ISOLATING];
	size_t n_isolating;
};

/* Returns true if the flow is allowed, that is, by both ends. */
bool oracle_evaluate(const struct cluster *cluster, const struct oracle_flow *flow,
		     struct oracle_decision *egress, struct oracle_decision *ingress);

/*
 * The backends of a Service's address. "A Service's address stands for its backends: who calls it
 * is evaluated by the backend that the kernel chose, at the backend's address and port, with both
 * ends' policies. No CIDR rule matches a Service's own address, however wide."
 */
#define ORACLE_BACKENDS 256
struct oracle_service {
	struct oracle_flow backends[ORACLE_BACKENDS]; /* the flow to each backend */
	size_t n; /* sorted by address and port, without duplicates */
	const char *ns_name, *name; /* the first matching Service */
};

/* Returns false if the destination is no Service's: then oracle_evaluate() evaluates the flow. */
bool oracle_service(const struct cluster *cluster, const struct oracle_flow *flow,
		    struct oracle_service *service);

/* Prints a decision as `trace --batch` does. Returns @text. */
#define ORACLE_TEXT 1024
char *oracle_print(const struct oracle_decision *decision, char text[ORACLE_TEXT]);

#endif
