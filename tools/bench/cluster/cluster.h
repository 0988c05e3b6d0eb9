/* SPDX-License-Identifier: GPL-2.0-only */
/* A large cluster for `make bench ONLY=cluster`. */
#ifndef BULKHEAD_BENCH_CLUSTER_H
#define BULKHEAD_BENCH_CLUSTER_H

#define FILL_TENANTS 500
#define FILL_APPS 10 /* applications of a tenant, each with a policy */

/* Writes the objects of a cluster into etcd. */
void fill_cluster(unsigned int nodes, unsigned int pods);
/* Adds, or removes, one object; fill_flush() sends what is not sent yet. */
void fill_node(unsigned int node);
void fill_namespace(unsigned int ns);
void fill_policy(unsigned int ns, unsigned int app);
void fill_pod(unsigned int pod, unsigned int nodes);
void fill_no_pod(unsigned int pod);
void fill_flush(void);

#endif
