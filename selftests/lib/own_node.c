// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/own_node.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "maps/flow_cache.h"
#include "maps/share.h"

#define CPUS_MAX 512

#define CONNECTIONS_SIZE (OWN_GROUPS * sizeof(struct bh_ct_group))

static const char *const tables[OWN_TABLES] = {"ct", "share_total", "shares", "flow_cache",
					       "counters"};

int local_node_begin(struct own_node *node, const char *pin, const char *const *uplink,
		     const char *const *settings, size_t n)
{
	snprintf(node->pin, sizeof(node->pin), "%s", pin);
	node->options = (struct node_options){
		.pin = node->pin,
		.name = "here",
		.uplinks = uplink,
		.n_uplinks = 1,
		.settings = settings,
		.n_settings = n,
		.no_adopt = true,
		.force = true, /* most of the policies may go in one step */
	};
	memset(node->tables, -1, sizeof(node->tables));
	return sched_getaffinity(0, sizeof(node->cpus), &node->cpus) ? -errno : 0;
}

int local_node_pin(const struct own_node *node, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", node->pin, name);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		return fd;
	fd = -errno;
	printf("# there is no %s: %s\n", path, strerror(-fd));
	return fd;
}

void local_node_close_fds(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void *local_node_map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void close_tables(struct own_node *node)
{
	local_node_close_fds(node->tables, OWN_TABLES);
	if (node->connections)
		munmap(node->connections, CONNECTIONS_SIZE);
	node->connections = NULL;
}

int local_node_open(struct own_node *node)
{
	close_tables(node);
	for (enum own_table table = 0; table < OWN_TABLES; table++) {
		node->tables[table] = local_node_pin(node, tables[table]);
		if (node->tables[table] < 0)
			return node->tables[table];
	}
	node->connections = local_node_map(node->tables[OWN_CT], CONNECTIONS_SIZE);
	return node->connections ? 0 : -errno;
}

int local_node_void_flow_caches(const struct own_node *node)
{
	static struct bh_flow_cache nothing[CPUS_MAX];
	uint32_t zero = 0;

	return bpf_map_update_elem(node->tables[OWN_FLOW_CACHE], &zero, nothing, BPF_ANY) ? -errno
											  : 0;
}

int local_node_forget(const struct own_node *node)
{
	const struct bh_share_total none = {};
	uint32_t zero = 0, key;

	memset(node->connections, 0, CONNECTIONS_SIZE);
	if (bpf_map_update_elem(node->tables[OWN_SHARE_TOTAL], &zero, &none, BPF_ANY))
		return -errno;
	while (!bpf_map_get_next_key(node->tables[OWN_SHARES], NULL, &key))
		bpf_map_delete_elem(node->tables[OWN_SHARES], &key);
	return local_node_void_flow_caches(node);
}

int local_node_next_cpu(struct own_node *node)
{
	cpu_set_t one;

	if (CPU_COUNT(&node->cpus) < 2)
		return 0;
	do
		node->cpu = (node->cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(node->cpu, &node->cpus));
	CPU_ZERO(&one);
	CPU_SET(node->cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : local_node_void_flow_caches(node);
}

const char *local_node_reason(struct own_node *node)
{
	static const char *const texts[BH_REASONS] = BH_REASON_TEXTS;
	static struct bh_counter counters[CPUS_MAX];
	const char *text = "not counted";

	for (uint32_t reason = 0; reason < BH_REASONS; reason++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(node->tables[OWN_COUNTERS], &reason, counters))
			return "not known";
		for (int cpu = 0; cpu < CPUS_MAX; cpu++)
			for (int d = 0; d < 2; d++)
				sum += counters[cpu].packets[d] + counters[cpu].audit_packets[d];
		if (sum != node->counted[reason])
			text = texts[reason];
		node->counted[reason] = sum;
	}
	return text;
}

void local_node_close(struct own_node *node)
{
	struct diag diag = {.to = stdout};

	if (node->connections)
		node_unload(&node->options, &diag);
	close_tables(node);
}
