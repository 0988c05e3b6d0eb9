/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_services: the addresses and ports of Services, where something is known of
 * what they stand for. Pin name `services`. HASH. The loader writes it. What goes
 * to a Service's address is judged by the backend that the kernel chooses, where
 * that backend shows; an entry lets the hook of the pod that calls drop at once
 * what no backend could be allowed, and judge what may end on this node itself,
 * where no other hook is.
 *
 * A Service's cluster addresses, and the prefixes of `service-cidr`, are Services'
 * at every port (BH_PREFIX_SERVICE of bh_prefixes): there a miss means that nothing
 * is known. Its other addresses are so at its own ports only (BH_PREFIX_PORTS):
 * there a miss means that the address is an ordinary one. A NodePort stands for
 * every address of this node: its key has the address 0, of each IP version.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/services
 */
#ifndef BULKHEAD_MAPS_SERVICE_H
#define BULKHEAD_MAPS_SERVICE_H

#include "maps/types.h"

struct bh_service_key {
	struct bh_addr addr; /* 0.0.0.0 or ::: any of this node's */
	__be16 port;
	__u8 protocol; /* IP protocol number */
	__u8 pad;
};
_Static_assert(sizeof(struct bh_service_key) == 20, "struct bh_service_key");

/* What is known from a generation on. */
struct bh_service_at {
	__u32 from; /* generation; 0: this one of the two is void */
	__u32 flags; /* BH_SERVICE_* */
	__u32 backend; /* the assignment word's low half of all backends, 0: they differ */
	__u32 point; /* where @backend is judged, on the number line of types.h */
	struct bh_addr own; /* the backend that is an address of this node, all 0: none is */
	__u32 own_point; /* where that is judged, and one above; 0: no backend is this node's */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_service_at) == 40, "struct bh_service_at");

#define BH_SERVICE_THERE (1u << 0) /* else the key is about to go */
#define BH_SERVICE_ENFORCED (1u << 1) /* no backend is only audited: ingress may deny, too */
#define BH_SERVICE_CLOSED (1u << 2) /* several backends are this node's: nothing may pass */

/* The loader writes the one that is not in force, and then its generation; of both, that with the
 * highest generation not above the packet's is valid. */
struct bh_service {
	struct bh_service_at at[2];
};
_Static_assert(sizeof(struct bh_service) == 80, "struct bh_service");

/* Which of the two is valid at @generation; -1: neither. */
static inline int bh_service_valid(const struct bh_service *service, __u32 generation)
{
	__u32 a = service->at[0].from, b = service->at[1].from;
	_Bool has_a = a && a <= generation, has_b = b && b <= generation;

	if (has_a && has_b)
		return a > b ? 0 : 1;
	return has_a ? 0 : has_b ? 1 : -1;
}

#endif
