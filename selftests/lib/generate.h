/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random clusters with policies of every kind, and flows at the edges of these policies. Names,
 * labels, addresses and ports come from small sets, so that they often collide. A seed decides
 * everything.
 */
#ifndef BULKHEAD_SELFTESTS_GENERATE_H
#define BULKHEAD_SELFTESTS_GENERATE_H

#include <stdio.h>

#include "policy/policy.h"
#include "model/cluster.h"
#include "selftests/lib/oracle.h"
#include "selftests/lib/random.h"

/*
 * A cluster has at most this many pods; pod-N has one or more of 10.0.0.N, fd00::N and
 * 10.0.0.(N+16).
 */
#define GENERATE_PODS 10

/*
 * Fills a cluster_init()ed cluster as an author would write it, not yet sorted or completed: the
 * oracle reads it so, and it is printed for the readers.
 */
void generate_cluster(struct cluster *cluster, uint64_t seed);

/*
 * Adds Services, their EndpointSlices and pods of their nodes' network to a generated cluster, and
 * makes some of its pods not ready.
 */
void generate_services(struct cluster *cluster, uint64_t seed);

/*
 * The seeds of a test's clusters: @sample of them, or @full with BULKHEAD_FULL=1, from
 * BULKHEAD_SEED's on. SEED=n selects one cluster; CLUSTERS=n that many, from SEED or
 * BULKHEAD_SEED's on.
 */
struct seeds {
	uint64_t first, count;
};
struct seeds generate_seeds(uint64_t full, uint64_t sample);

/*
 * Prints the cluster as YAML or JSON documents or as INI. @style selects one of the equivalent
 * spellings, and the order of YAML and JSON. These get pods that must be ignored as well: finished
 * ones and those in their host's network.
 */
void generate_yaml(FILE *to, const struct cluster *cluster, uint64_t style);
void generate_json(FILE *to, const struct cluster *cluster, uint64_t style);
void generate_ini(FILE *to, const struct cluster *cluster, uint64_t style);

/* Prints the YAML as KTAP comments, to reproduce a failure. */
void generate_comment(const struct cluster *cluster, uint64_t style);

/*
 * INI cannot express a rule that fails closed, every name of a rule, pods that are not ready, or
 * EndpointSlices.
 */
bool generate_fits_ini(const struct cluster *cluster);

/*
 * Prints the cluster in the spelling that @style picks and reads that into
 * @cluster, which is cluster_init()ed. Returns 0 or -errno.
 */
int generate_read(const struct cluster *authored, uint64_t style, struct diag *diag,
		  struct cluster *cluster);

/*
 * Prints the cluster in the spelling that @style picks, reads that and compiles
 * it on top of @base (or NULL). Returns 0 and a policy to free, or -errno with
 * the errors in @errors (or NULL).
 */
int generate_policy(const struct cluster *cluster, uint64_t style, const struct policy *base,
		    FILE *errors, struct policy **policy);

/* The addresses and ports at which a verdict of the cluster's policies may change. */
struct flow_space {
	struct address *addresses;
	size_t n_addresses, n_inside; /* those of endpoints, nodes and Services come first */
	uint16_t *ports;
	size_t n_ports;
	const char **names; /* domain names of rules */
	size_t n_names;
};

void flow_space_init(struct flow_space *space, const struct cluster *cluster);
void flow_space_free(struct flow_space *space);
void generate_flow(const struct flow_space *space, struct random *random, struct oracle_flow *flow);

/*
 * Removes policies, rules, peers, ports, selectors, endpoints, labels ... as long as @fails still
 * returns true for the rest.
 */
void generate_shrink(struct cluster *cluster, bool (*fails)(struct cluster *cluster, void *data),
		     void *data);

#endif
