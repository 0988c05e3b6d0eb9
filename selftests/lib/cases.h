/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cases of NetworkPolicy, generated feature by feature: actions, directions, targets, peers by
 * pods, namespaces and IP blocks, ports by number, name, range and protocol, policies in conflict,
 * and what Kubernetes' own tests and well-known examples try. Each case is a few states of one
 * small cluster, one after another.
 *
 * The cluster has the namespaces x, y and z, each with the Pods a, b and c, all on node worker-1.
 * Pod number N, from 1 on, has the addresses 10.244.0.N and fd44::N, as net.sh's pods have. Each
 * Pod serves TCP, UDP and SCTP at 80 and 81 and names these ports. The outside host has 192.168.7.2
 * and fd07::2.
 */
#ifndef BULKHEAD_SELFTESTS_CASES_H
#define BULKHEAD_SELFTESTS_CASES_H

#include <stddef.h>

#define CASES_PODS 9

struct case_step {
	char *name; /* what was done, "the policy is deleted" */
	char *yaml; /* all objects of the cluster */
	unsigned int pods; /* which Pods there are: bit N - 1 */
};

struct test_case {
	char *name; /* "peer/ingress/ns-all+pods-a" */
	struct case_step *steps;
	size_t n_steps;
};

/* Returns all cases, and their number in *n. Ends the process where memory is short. */
struct test_case *cases_make(size_t *n);
void cases_free(struct test_case *cases, size_t n);

/* "x/a" for Pod number 1. */
void cases_pod_name(unsigned int number, char name[8]);

#endif
