/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_services: the addresses and ports of Services, if their backends are known. Pin name
 * `services`. HASH. The loader writes it. A packet to a Service is evaluated by the backend that
 * the kernel chooses, at the hook where that backend is known. By an entry the caller's hook drops
 * at once a packet that policy allows to no backend, and evaluates a packet that may end on this
 * node itself, if no other hook is.
 *
 * A Service's cluster addresses, and the prefixes of `service-cidr`, are a Service's at every port
 * (BH_PREFIX_SERVICE of bh_prefixes). There a miss means that the Service is not known. Its other
 * addresses are a Service's at its own ports only (BH_PREFIX_PORTS). There a miss means an ordinary
 * address. A NodePort stands for every address of this node: its key has the address 0, of each IP
 * version.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/services
 */
#ifndef BULKHEAD_MAPS_SERVICE_H
#define BULKHEAD_MAPS_SERVICE_H

#include "maps/types.h"

struct bh_service_key {
	struct bh_addr addr; /* 0.0.0.0 or ::: any address of this node */
	__be16 port;
	__u8 protocol; /* IP protocol number */
	__u8 pad;
};
_Static_assert(sizeof(struct bh_service_key) == 20, "struct bh_service_key");

/* The backends of a Service's port, as policy sees them from a generation on. */
struct bh_service_at {
	__u32 from; /* generation; 0: this one of the two is void */
	__u32 flags; /* BH_SERVICE_* */
	/* low half of the backends' assignment word, where all have the same; 0: they differ */
	__u32 backend;
	__u32 point; /* the backends' port on the number line of types.h */
	struct bh_addr own; /* the backend that has an address of this node; all 0: none has */
	/* that backend's port on the number line, plus 1; 0: no backend is on this node itself */
	__u32 own_point;
	__u32 pad;
};
_Static_assert(sizeof(struct bh_service_at) == 40, "struct bh_service_at");

#define BH_SERVICE_THERE (1u << 0) /* the entry is valid; unset: the key is about to be deleted */
#define BH_SERVICE_ENFORCED (1u << 1) /* no backend is in audit: ingress may deny, too */
#define BH_SERVICE_CLOSED (1u << 2) /* several backends are this node's: nothing may pass */

/* The loader writes the `at` that is not active, then its generation. The one with the highest
 * generation not above the packet's is valid. */
struct bh_service {
	struct bh_service_at at[2];
};
_Static_assert(sizeof(struct bh_service) == 80, "struct bh_service");

/* Returns the index of the `at` that is valid at @generation; -1: neither is. */
static inline int bh_service_valid(const struct bh_service *service, __u32 generation)
{
	__u32 a = service->at[0].from, b = service->at[1].from;
	_Bool has_a = a && a <= generation, has_b = b && b <= generation;

	if (has_a && has_b)
		return a > b ? 0 : 1;
	return has_a ? 0 : has_b ? 1 : -1;
}

#endif
