/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Input of the program `assign`, which makes one store into an endpoint that bh_endpoints has,
 * or into a Service that bh_services has. bpf(2) can only replace a hash element, and the kernel
 * then reuses the old one for another key while programs still read it. A program can store in
 * place. The loader runs it (BPF_PROG_RUN); it returns 0 or -ENOENT.
 */
#ifndef BULKHEAD_MAPS_ASSIGN_H
#define BULKHEAD_MAPS_ASSIGN_H

#include "maps/service.h"

#define BH_ASSIGN_HOST_SIDE 2 /* with the index of a word: also stores `ifindex` and `mac` */
/* BH_ASSIGN_SERVICE and that + 1 store the first or second `at` of `service`. */
#define BH_ASSIGN_SERVICE 4

struct bh_assign {
	struct bh_addr addr;
	__u64 word;
	__u32 which; /* index of the assignment word, 0 or 1, and BH_ASSIGN_* */
	__u32 ifindex;
	__u8 mac[6];
	__u8 pad[2];
	struct bh_service_key service;
	struct bh_service_at at;
	__u32 end;
};
_Static_assert(sizeof(struct bh_assign) == 104, "struct bh_assign");

#endif
