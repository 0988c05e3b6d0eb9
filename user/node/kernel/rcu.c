// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "node/kernel/handle.h"
#include "node/kernel/rcu.h"

/* Updating a map of maps makes the kernel wait for a grace period. */
static int wait_by_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	SCOPED_FD int inner = -1, outer = -1;
	uint32_t key = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bh_rcu_inner", sizeof(key), sizeof(key), 1,
			       NULL);
	if (inner < 0)
		return -errno;
	options.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "bh_rcu", sizeof(key), sizeof(key), 1,
			       &options);
	if (outer < 0)
		return -errno;
	return bpf_map_update_elem(outer, &key, &inner, BPF_ANY) ? -errno : 0;
}

/* membarrier(2) refuses where a CPU runs without ticks (nohz_full) */
int rcu_wait(struct node_handle *handle)
{
	int error = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? wait_by_map() : 0;

	return error ? node_fail(handle, error, "cannot wait for the programs that run") : 0;
}
