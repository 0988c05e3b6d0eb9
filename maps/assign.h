/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program `assign` is asked: one store into an endpoint that
 * bh_endpoints has, or into a Service of bh_services. bpf(2) can only replace a
 * hash element, and the kernel gives the old one to the next key while programs
 * still read it; a program can store into it. Run by the loader (BPF_PROG_RUN);
 * returns 0 or -ENOENT.
 */
#ifndef BULKHEAD_MAPS_ASSIGN_H
#define BULKHEAD_MAPS_ASSIGN_H

#include "maps/service.h"

#define BH_ASSIGN_HOST_SIDE 2 /* `ifindex` and `mac`, not a word */
#define BH_ASSIGN_SERVICE 4 /* and 5: the first or second `at` of `service`, not an endpoint's */

struct bh_assign {
	struct bh_addr addr;
	__u64 word;
	__u32 which; /* of the two assignment words, 0 or 1; or BH_ASSIGN_* */
	__u32 ifindex;
	__u8 mac[6];
	__u8 pad[2];
	struct bh_service_key service;
	struct bh_service_at at;
	__u32 end;
};
_Static_assert(sizeof(struct bh_assign) == 104, "struct bh_assign");

#endif
