// SPDX-License-Identifier: GPL-2.0-only
/* Programs that the loader runs for writes which bpf(2) cannot make. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "build.h"
#include "maps/added.bpf.h"
#include "maps/assign.h"
#include "maps/config.bpf.h"
#include "maps/endpoint.bpf.h"
#include "maps/rule_hit.bpf.h"
#include "maps/service.bpf.h"

#define ENOENT 2

/* Writes the one of the two entries that is not valid. The store of its generation makes it
 * valid. */
static int assign_service(struct bh_assign *request)
{
	struct bh_service_key key = request->service;
	struct bh_service *service = bpf_map_lookup_elem(&bh_services, &key);
	struct bh_service_at *at;

	if (!service)
		return -ENOENT;
	at = request->which & 1 ? &service->at[1] : &service->at[0];
	*(volatile __u32 *)&at->from = 0;
	at->flags = request->at.flags;
	at->backend = request->at.backend;
	at->point = request->at.point;
	at->own = request->at.own;
	at->own_point = request->at.own_point;
	*(volatile __u32 *)&at->from = request->at.from;
	return 0;
}

SEC("syscall")
int assign(struct bh_assign *request)
{
	struct bh_addr addr = request->addr;
	struct bh_endpoint *endpoint;

	if (request->which & BH_ASSIGN_SERVICE)
		return assign_service(request);
	endpoint = bpf_map_lookup_elem(&bh_endpoints, &addr);
	if (!endpoint)
		return -ENOENT;
	if (request->which == BH_ASSIGN_HOST_SIDE) {
		endpoint->ifindex = request->ifindex;
		__builtin_memcpy(endpoint->mac, request->mac, sizeof(endpoint->mac));
	} else {
		/* One 8-byte store: programs on other CPUs read the word meanwhile. */
		*(volatile __u64 *)&endpoint->assignment[request->which & 1] = request->word;
	}
	return 0;
}

/*
 * Adds hits to a rule while packets count theirs: in this CPU's place, by one atomic instruction,
 * which no packet can interrupt.
 */
SEC("syscall")
int add_hits(struct bh_add_hits *request)
{
	__u32 rule = request->rule;
	struct bh_rule_hit *hit = bpf_map_lookup_elem(&bh_rule_hits, &rule);

	if (!hit)
		return -ENOENT;
	__sync_fetch_and_add(&hit->count, request->count);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
