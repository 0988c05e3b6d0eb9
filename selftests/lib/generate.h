/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random clusters with policies of every kind, and flows that look for their
 * edges. Names, labels, addresses and ports come from small sets, so that
 * things collide often. All of it follows from a seed.
 */
#ifndef BULKHEAD_SELFTESTS_GENERATE_H
#define BULKHEAD_SELFTESTS_GENERATE_H

#include <stdio.h>

#include "compile/policy.h"
#include "model/cluster.h"
#include "selftests/lib/oracle.h"

struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);
uint32_t random_below(struct random *random, uint32_t limit); /* 0 to limit - 1 */
bool random_chance(struct random *random, uint32_t percent);

/* A cluster has up to so many pods; pod-N has one or more of 10.0.0.N, fd00::N and 10.0.0.(N+16).
 */
#define GENERATE_PODS 10

/*
 * Fills a cluster_init()ed cluster. It is as an author would think of it, not
 * yet sorted or completed: what the oracle reads, and what is printed for the
 * readers.
 */
void generate_cluster(struct cluster *cluster, uint64_t seed);

/*
 * Adds Services, their EndpointSlices and pods of their nodes' network to a generated cluster, and
 * makes some of its pods not ready.
 */
void generate_services(struct cluster *cluster, uint64_t seed);

/*
 * The seeds of a test's clusters: as many as @sample, or @full with BULKHEAD_FULL=1, from one that
 * follows from BULKHEAD_SEED. SEED=n is that cluster alone; CLUSTERS=n that many, from SEED or
 * that one on.
 */
struct seeds {
	uint64_t first, count;
};
struct seeds generate_seeds(uint64_t full, uint64_t sample);

/*
 * Prints the cluster as YAML or JSON documents or as INI. @style picks one of the
 * spellings that mean the same, and the order of YAML and JSON. Those add objects
 * that take no part: pods that are over or on their host's network.
 */
void generate_yaml(FILE *to, const struct cluster *cluster, uint64_t style);
void generate_json(FILE *to, const struct cluster *cluster, uint64_t style);
void generate_ini(FILE *to, const struct cluster *cluster, uint64_t style);

/* The YAML as a test's comment: what reproduces a failure. */
void generate_comment(const struct cluster *cluster, uint64_t style);

/* INI has no word for a rule that fails closed, nor for every name of a rule, nor for pods that are
 * not ready and EndpointSlices as such. */
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

/* The addresses and ports at which the cluster's policies could change their mind. */
struct flow_space {
	struct address *addresses;
	size_t n_addresses, n_inside; /* endpoints', nodes' and Services' come first */
	uint16_t *ports;
	size_t n_ports;
};

void flow_space_init(struct flow_space *space, const struct cluster *cluster);
void flow_space_free(struct flow_space *space);
void generate_flow(const struct flow_space *space, struct random *random, struct oracle_flow *flow);

/*
 * Drops policies, rules, peers, ports, selectors, endpoints, labels ... for as
 * long as @fails still returns true of what is left.
 */
void generate_shrink(struct cluster *cluster, bool (*fails)(struct cluster *cluster, void *data),
		     void *data);

#endif
