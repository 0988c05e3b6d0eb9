// SPDX-License-Identifier: GPL-2.0-only
/* Programs that the loader runs for writes which bpf(2) cannot make. */
#include "active_map.h"
#include "build.h"
#include "maps/added.bpf.h"
#include "maps/assign.h"
#include "maps/config.bpf.h"
#include "maps/conntrack.bpf.h"
#include "maps/endpoint.bpf.h"
#include "maps/forget.h"
#include "maps/service.bpf.h"

#define ENOENT 2

/* Writes the one of the two entries that is not valid. The store of its generation makes it
 * valid. */
static int assign_service(struct bh_assign *request)
{
	struct bh_service_key key = request->service;
	struct bh_service *service = active_lookup(&at_services, &key);
	struct bh_service_at *at;

	if (!service)
		return -ENOENT;
	at = request->which & 1 ? &service->at[1] : &service->at[0];
	WRITE_ONCE(at->from, 0);
	at->flags = request->at.flags;
	at->backend = request->at.backend;
	at->point = request->at.point;
	at->own = request->at.own;
	at->own_point = request->at.own_point;
	WRITE_ONCE(at->from, request->at.from);
	return 0;
}

SEC("syscall")
int assign(struct bh_assign *request)
{
	struct bh_addr addr = request->addr;
	struct bh_endpoint *endpoint;

	if (request->which & BH_ASSIGN_SERVICE)
		return assign_service(request);
	endpoint = active_lookup(&at_endpoints, &addr);
	if (!endpoint)
		return -ENOENT;
	if (request->which & BH_ASSIGN_HOST_SIDE) {
		endpoint->ifindex = request->ifindex;
		__builtin_memcpy(endpoint->mac, request->mac, sizeof(endpoint->mac));
	}
	/* One 8-byte store: programs on other CPUs read the word meanwhile. */
	WRITE_ONCE(endpoint->assignment[request->which & 1], request->word);
	return 0;
}

/*
 * The walk through the table reads the tags of each bucket, and most buckets are empty. A step
 * reads those of several buckets. It ends behind the last group of buckets.
 */
#define FORGET_MAX (1u << 20) /* steps */
#define FORGET_STEP 8 /* buckets */

/* Global, as forget_bucket(): the verifier checks it once, not for each slot of each bucket. */
BPF_GLOBAL __u32 forget_slot(const struct bh_forget *found, const __u32 *tag,
			     struct bh_ct_slot *slot)
{
	return found && tag && slot ? bh_forget_slot(found, tag, slot) : 0;
}

BPF_GLOBAL int forget_bucket(struct bh_forget *found, __u32 i)
{
	__u32 index = i / BH_CT_GROUP;
	struct bh_ct_group *group = bpf_map_lookup_elem(&bh_ct, &index);

	if (!found || !group)
		return 0;
	SETTLE(group); /* no addition may move above the NULL check */
	i %= BH_CT_GROUP;
	for (int slot = 0; slot < BH_CT_SLOTS; slot++)
		if (bh_ct_is_filled(READ_ONCE(group->bucket[i].tag[slot])))
			found->forgotten += forget_slot(found, &group->bucket[i].tag[slot],
							&group->slot[i][slot]);
	return 0;
}

static long forget_step(__u32 step, struct bh_forget *found)
{
	__u32 first = step * FORGET_STEP, index = first / BH_CT_GROUP;
	struct bh_ct_group *group = bpf_map_lookup_elem(&bh_ct, &index);
	__u64 any = 0;

	if (!group)
		return 1;
	SETTLE(group); /* no addition may move above the NULL check */
#pragma unroll
	for (__u32 i = 0; i < FORGET_STEP; i++)
		any |= bh_forget_any(
			&group->bucket[first % BH_CT_GROUP / FORGET_STEP * FORGET_STEP + i]);
	if (any)
#pragma unroll
		for (__u32 i = 0; i < FORGET_STEP; i++)
			forget_bucket(found, first + i);
	return 0;
}

SEC("syscall")
int forget(struct bh_forget *request)
{
	struct bh_forget found = *request;

	found.forgotten = 0;
	bpf_loop(FORGET_MAX, forget_step, &found, 0);
	request->forgotten = found.forgotten;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
