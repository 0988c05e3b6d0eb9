/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Services and EndpointSlices as the inputs describe them. A Service's address stands for its
 * backends: the addresses in its EndpointSlices. If the inputs have no EndpointSlice of the
 * Service, the backends are the ready pods that its selector selects.
 */
#ifndef BULKHEAD_MODEL_CLUSTER_SERVICE_H
#define BULKHEAD_MODEL_CLUSTER_SERVICE_H

#include "model/cluster.h"

struct service_port {
	const char *name; /* NULL: unnamed, as a Service's only port may be */
	uint8_t protocol; /* IPPROTO_TCP, _UDP or _SCTP */
	uint16_t port; /* 1 to 65535 */
	uint16_t node_port; /* port on every node's addresses; 0: none */
	uint16_t target; /* port of a backend that the selector finds; 0: see `target_name` */
	const char *target_name; /* the backend pod's name for the port */
};

enum service_type { SERVICE_ADDRESSED, SERVICE_HEADLESS, SERVICE_EXTERNAL_NAME };

struct service {
	const char *ns_name, *name;
	enum service_type type;
	/* kube-proxy serves the other addresses only if the cluster has assigned one of these. */
	struct address *addresses; /* clusterIPs */
	size_t n_addresses;
	struct address *external; /* externalIPs and addresses of the load balancer; sorted */
	size_t n_external;
	bool has_selector;
	struct selector selector; /* selects pods of the Service's namespace */
	bool any_ready; /* publishNotReadyAddresses */
	bool internal_local, external_local; /* traffic policy Local: only backends of the node */
	struct service_port *ports; /* in the order of the input */
	size_t n_ports;
	/* Range of cluster.slices that belongs to this Service. cluster_finish() sets it. */
	size_t slices, n_slices;
	bool closed; /* the compiler: it is over a budget, and its addresses have no backends */
	bool accepted; /* by an API server */
	struct where where;
};

struct slice_port {
	const char *name; /* name of the Service's port; NULL: unnamed */
	uint8_t protocol;
	uint16_t port; /* 1 to 65535 */
};

struct slice_endpoint {
	struct address *addresses;
	size_t n_addresses;
	const char *node; /* NULL: not given */
	bool ready, serving, terminating;
};

struct slice {
	const char *ns_name, *name;
	const char *service; /* the label kubernetes.io/service-name; NULL: belongs to no Service */
	struct slice_port *ports;
	size_t n_ports;
	struct slice_endpoint *endpoints;
	size_t n_endpoints;
	struct where where;
};

/* Add a zeroed element to an array. The pointer is valid until the next such call. */
struct service *cluster_add_service(struct cluster *cluster);
struct slice *cluster_add_slice(struct cluster *cluster);

/*
 * The part of cluster_finish() for Services, after endpoints and nodes. Sorts Services by namespace
 * and name, and slices by their Service, then by name. Refuses, as the API server does, an object
 * given twice, and a cluster address or node port of two Services. Warns of an address that
 * Kubernetes lets two have, and names both.
 *
 * Two Services that an API server has accepted may have one cluster address or node port for a
 * while: one has just got what the other one's next version has given up. That is a warning.
 */
void services_finish(struct cluster *cluster, struct diag *diag);

#endif
