// SPDX-License-Identifier: GPL-2.0-only
/* What the loader runs in the kernel itself, since bpf(2) cannot do it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "maps/added.bpf.h"
#include "maps/assign.h"
#include "maps/config.bpf.h"
#include "maps/endpoint.bpf.h"

#define ENOENT 2

SEC("syscall")
int assign(struct bh_assign *request)
{
	struct bh_addr addr = request->addr;
	struct bh_endpoint *endpoint = bpf_map_lookup_elem(&bh_endpoints, &addr);

	if (!endpoint)
		return -ENOENT;
	if (request->which == BH_ASSIGN_HOST_SIDE) {
		endpoint->ifindex = request->ifindex;
		__builtin_memcpy(endpoint->mac, request->mac, sizeof(endpoint->mac));
	} else {
		/* One store, whole: programs on other CPUs read the word meanwhile. */
		*(volatile __u64 *)&endpoint->assignment[request->which & 1] = request->word;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
