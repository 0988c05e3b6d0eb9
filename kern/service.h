/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Services. A packet to a Service's address is evaluated by the backend that the kernel chooses, at
 * the first hook where it has the backend's address: the backend's own, or the host egress hook
 * (host_egress.h). At the caller's hook it passes without a verdict, unless policy allows no
 * backend.
 */
#ifndef BULKHEAD_KERN_SERVICE_H
#define BULKHEAD_KERN_SERVICE_H

#include "endpoint.h"
#include "maps/service.bpf.h"

/* Stands for the interface of a backend whose policy counts, wherever the backend is. */
#define SERVICE_ANYWHERE 0xffffffffu

static __always_inline struct bh_service_at *service_valid(struct bh_service *service,
							   __u32 generation)
{
	int valid = bh_service_valid(service, generation);
	struct bh_service_at *at = valid > 0 ? &service->at[1] : &service->at[0];

	return valid >= 0 && at->flags & BH_SERVICE_THERE ? at : NULL;
}

/*
 * Finds the Service of an end's address and port. @flags: the end's END_*. Returns NULL if
 * bh_services has none; with END_SERVICE the address is a Service's nevertheless.
 */
static __noinline struct bh_service_at *service_find(const struct packet *p, __u32 end, __u32 flags)
{
	struct bh_service_key key = {.port = packet_port(p, end), .protocol = p->protocol};
	struct bh_service_at *at = NULL;
	struct bh_service *service;

	packet_address(p, end, &key.addr);
	service = active_lookup(&at_services, &key);
	if (service)
		at = service_valid(service, p->generation);
	if (at || !(flags & END_NODE) || !(flags & END_PORTS))
		return at;
	key.addr = (struct bh_addr){.word[2] = p->version == 4 ? bpf_htonl(0xffff) : 0};
	service = active_lookup(&at_services, &key);
	return service ? service_valid(service, p->generation) : NULL;
}

/* Returns true if bh_services has a Service of an end's address and port. */
BPF_GLOBAL __u32 service_has(const struct packet *p, __u32 end, __u32 flags)
{
	return p && service_find(p, end, flags);
}

static __always_inline bool service_is(const struct packet *p, __u32 end, __u32 flags)
{
	return flags & END_SERVICE || (flags & END_PORTS && service_has(p, end, flags));
}

/* Fills @backend with the end as which policy sees all backends of a Service. Returns false if
 * policy sees them as different ends, or the caller may be one of them: an endpoint may always
 * reach itself. No other hook tells the backend's replies by SCTP, so there the caller counts as
 * one of the others. */
static __noinline bool service_shared(const struct packet *p, const struct bh_service_at *at,
				      const struct end *caller, struct end *backend)
{
	if (!at || !at->backend)
		return false;
	if (p->protocol != IPPROTO_SCTP &&
	    (at->backend & BH_SLOT_MAX) == bh_assignment_slot(caller->assignment))
		return false;
	*backend = (struct end){.assignment = (__u64)p->generation << 32 | at->backend,
				.flags = END_ENDPOINT,
				.ifindex = at->flags & BH_SERVICE_ENFORCED ? SERVICE_ANYWHERE : 0};
	return true;
}

#endif
