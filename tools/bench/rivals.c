// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/rivals.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/floor.h"
#include "bench_floor.skel.h"

#define POLICIES 1000
#define ENDPOINTS 1000
#define RANGES 100

int rivals_policies(const struct bench *bench, char path[BENCH_PATH])
{
	char workload[64];

	snprintf(workload, sizeof(workload), "node %d %d %d", POLICIES, ENDPOINTS, RANGES);
	return bench_workload(bench, workload, "ini", path);
}

#define TCX_INGRESS 46 /* libbpf 1.1 does not have it */
#define TCX_EGRESS 47

int rivals_floor(const struct world *world)
{
	struct bench_floor *floor = bench_floor__open_and_load();
	int err = floor ? place_enter(&world->node) : -errno, program;

	if (err)
		return err;
	program = bpf_program__fd(floor->progs.wire_tc);
	for (int pod = 0; pod < 2; pod++)
		for (int hook = TCX_INGRESS; hook <= TCX_EGRESS; hook++)
			if (bpf_link_create(program, world->node.ifindex[pod], hook, NULL) < 0) {
				perror("the floor's program");
				return -EIO;
			}
	return 0;
}

/* ---- nftables, from the policies that select pod-0 ---- */

static void nft_sets(FILE *to)
{
	fputs("set peers { type ipv4_addr; elements = { 10.0.0.2 }; }\n"
	      "set udp_ports { type inet_service; flags interval; elements = {",
	      to);
	for (int i = 0; i < RANGES; i++)
		fprintf(to, "%s %d-%d", i ? "," : "", 1000 + 20 * i, 1009 + 20 * i);
	fputs(" }; }\nset tcp_ports { type inet_service; flags interval; elements = { 5000-5009 }; "
	      "}\n",
	      to);
}

static void nft_rules(FILE *to, bool sets)
{
	const char *to_pod = "ip daddr 10.0.0.1";

	fputs("chain forward { type filter hook forward priority 0;\n"
	      "ct state established,related accept\n",
	      to);
	if (sets) {
		fprintf(to, "%s ip saddr @peers udp dport @udp_ports accept\n", to_pod);
		fprintf(to, "%s ip saddr @peers tcp dport @tcp_ports accept\n", to_pod);
	}
	for (int i = 0; i < RANGES && !sets; i++)
		fprintf(to, "%s ip saddr 10.0.0.2 udp dport %d-%d accept\n", to_pod, 1000 + 20 * i,
			1009 + 20 * i);
	if (!sets)
		fprintf(to, "%s ip saddr 10.0.0.2 tcp dport 5000-5009 accept\n", to_pod);
	fprintf(to, "%s drop\n}\n", to_pod);
}

int rivals_nft(const struct world *world, bool sets)
{
	FILE *to;
	int err = place_enter(&world->node);

	to = err ? NULL : popen("nft -f -", "w");
	if (!to)
		return err ? err : -errno;
	fputs("table inet bench {\n", to);
	if (sets)
		nft_sets(to);
	nft_rules(to, sets);
	fputs("}\n", to);
	return pclose(to) ? -EIO : 0;
}

/* Mounts a bpffs of its own for xdp-filter, which pins its maps at a fixed path. The program and
 * its maps stay with the interface. */
int rivals_xdp_filter(const struct world *world)
{
	int err = place_enter(&world->node);

	if (err)
		return err;
	if (system("unshare -m sh -e -c 'mount -t bpf bpf /sys/fs/bpf\n"
		   "xdp-filter load -m native -p allow -f tcp,udp,ipv4 uplink\n"
		   "xdp-filter port -m dst -p tcp 5000\n"
		   "xdp-filter ip -m src 10.255.0.1'")) {
		fprintf(stderr, "xdp-filter: failed\n");
		return -EIO;
	}
	return 0;
}
