/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Services and EndpointSlices, as the inputs describe them. A Service's address
 * stands for its backends: the addresses that its EndpointSlices list, or, where
 * the inputs hold none of it, the ready pods that its selector selects.
 */
#ifndef BULKHEAD_MODEL_SERVICE_H
#define BULKHEAD_MODEL_SERVICE_H

#include "model/cluster.h"

struct service_port {
	const char *name; /* NULL: unnamed, as the only port of a Service may be */
	uint8_t protocol; /* IPPROTO_TCP, _UDP or _SCTP */
	uint16_t port; /* 1 to 65535 */
	uint16_t node_port; /* on every node's addresses; 0: none */
	uint16_t target; /* the port of a backend that the selector finds; 0: `target_name` */
	const char *target_name; /* what the backend's pod calls it */
};

enum service_type { SERVICE_ADDRESSED, SERVICE_HEADLESS, SERVICE_EXTERNAL_NAME };

struct service {
	const char *ns_name, *name;
	enum service_type type;
	/* Without an address that the cluster has assigned, kube-proxy serves none of the others.
	 */
	struct address *addresses; /* clusterIPs */
	size_t n_addresses;
	struct address *external; /* externalIPs and the load balancer's addresses; sorted */
	size_t n_external;
	bool has_selector;
	struct selector selector; /* pods of the Service's namespace */
	bool any_ready; /* publishNotReadyAddresses */
	bool internal_local, external_local; /* traffic policy Local: only backends of the node */
	struct service_port *ports; /* as given */
	size_t n_ports;
	/* Of cluster.slices, those of this Service. Set by cluster_finish(). */
	size_t slices, n_slices;
	struct where where;
};

struct slice_port {
	const char *name; /* NULL: unnamed; it belongs to the Service's port of that name */
	uint8_t protocol;
	uint16_t port; /* 1 to 65535 */
};

struct slice_endpoint {
	struct address *addresses;
	size_t n_addresses;
	const char *node; /* NULL: not said */
	bool ready, serving, terminating;
};

struct slice {
	const char *ns_name, *name;
	const char *service; /* the label kubernetes.io/service-name; NULL: of no Service */
	struct slice_port *ports;
	size_t n_ports;
	struct slice_endpoint *endpoints;
	size_t n_endpoints;
	struct where where;
};

/* Grow the arrays by one zeroed element. The pointer is good until the next call. */
struct service *cluster_add_service(struct cluster *cluster);
struct slice *cluster_add_slice(struct cluster *cluster);

/*
 * The Services' part of cluster_finish(), after the endpoints' and nodes': sorts Services and
 * slices by namespace and name, slices by their Service before that, and refuses what the API
 * server would: an object given twice, a cluster address or node port of two Services. An address
 * that Kubernetes lets two have is warned of, with both named.
 */
void services_finish(struct cluster *cluster, struct diag *diag);

#endif
