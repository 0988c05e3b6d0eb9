// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures packets from outside through the node's uplink: SYNs to a pod that policy denies,
 * dropped at the uplink or at the pod, and UDP to a pod without a policy. The sender is
 * BPF_PROG_TEST_RUN with live frames. A program that drops at once measures the cost of the
 * sender and its veth.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/rivals.h"

#define TRIES 6
#define PACKETS 20000
#define FLOWS 1000

enum way { NOTHING, DROP_ALL, BULKHEAD_POD, BULKHEAD_UPLINK, XDP_FILTER, NFT_SETS, WAYS };
static const char *const ways[WAYS] = {
	"nothing",    "XDP that drops at once", "Bulkhead at the pod", "Bulkhead at the uplink",
	"xdp-filter", "nftables sets"};

struct uplink {
	struct bench *bench;
	struct world worlds[WAYS];
	struct sender *sender;
	bool again; /* not the first attempt of a round */
	struct figure *syn[WAYS], *udp[WAYS];
};

static int set_up(struct uplink *uplink, enum way way, const char *policies)
{
	static const char *const uplinks[] = {"uplink"};
	struct world *world = &uplink->worlds[way];
	int err = world_make(uplink->bench, way, world);

	if (err)
		return err;
	if (world_sink(world, CLIENT) < 0 || place_enter(&world->node))
		return -EIO;
	if (way == BULKHEAD_UPLINK) {
		world->node.options.uplinks = uplinks;
		world->node.options.n_uplinks = 1;
	}
	switch (way) {
	case BULKHEAD_POD:
	case BULKHEAD_UPLINK:
		return place_load(&world->node, policies, NULL);
	case DROP_ALL:
		return sender_drop(uplink->sender, world);
	case XDP_FILTER:
		return rivals_xdp_filter(world);
	case NFT_SETS:
		return rivals_nft(world, true);
	default:
		return 0;
	}
}

static int make_worlds(struct uplink *uplink)
{
	char path[BENCH_PATH];
	int err = rivals_policies(uplink->bench, path);

	err = err ? err : sender_open(&uplink->sender);
	for (int way = 0; way < WAYS && !err; way++)
		err = set_up(uplink, way, path);
	return err;
}

/* @passes: every packet must arrive; else none may. */
static int measure(struct uplink *uplink, enum way way, const struct burst *burst, bool passes,
		   struct figure *figure)
{
	const struct world *world = &uplink->worlds[way];
	uint64_t before = world_received(world, burst->to), arrived;
	double ns;
	int err = sender_run(uplink->sender, world, burst, &ns);

	arrived = world_received(world, burst->to) - before;
	if (!err && (passes ? arrived < burst->n * 0.999 : arrived > 0)) {
		fprintf(stderr, "%s: %llu of %u packets from outside arrived\n", ways[way],
			(unsigned long long)arrived, burst->n);
		return -EIO;
	}
	if (uplink->again)
		figure_least(figure, ns);
	else
		figure_add(figure, ns);
	return err;
}

static int one_try(struct uplink *uplink, unsigned int number)
{
	const struct burst syn = {OUTSIDE, SERVER, .syn = true, .flows = FLOWS, .n = PACKETS};
	const struct burst udp = {OUTSIDE, CLIENT, .flows = FLOWS, .n = PACKETS};
	int err = 0;

	for (int i = 0; i < WAYS && !err; i++) {
		enum way way = (i + number) % WAYS;

		if (uplink->syn[way])
			err = measure(uplink, way, &syn, false, uplink->syn[way]);
	}
	for (int i = 0; i < WAYS && !err; i++) {
		enum way way = (i + number) % WAYS;

		if (uplink->udp[way])
			err = measure(uplink, way, &udp, true, uplink->udp[way]);
	}
	return err;
}

static void add_figures(struct uplink *uplink)
{
	struct report *report = &uplink->bench->report;

	for (int way = 0; way < WAYS; way++) {
		if (way != NOTHING)
			uplink->syn[way] = report_figure(report, "ns", "denied SYN: %s", ways[way]);
		if (way != DROP_ALL)
			uplink->udp[way] = report_figure(report, "ns", "passed UDP: %s", ways[way]);
	}
}

/* Rates are the inverse of the times per packet. */
static void conclude(struct uplink *uplink)
{
	struct report *report = &uplink->bench->report;
	struct figure *const *syn = uplink->syn, *const *udp = uplink->udp;
	struct figure *verdict[WAYS];

	figure_target(report_ratio(report, syn[BULKHEAD_POD], syn[BULKHEAD_UPLINK],
				   "denied SYNs/s: at the uplink (XDP) / at the pod (TC)"),
		      LIMIT_AT_LEAST, 3);
	report_ratio(report, syn[XDP_FILTER], syn[BULKHEAD_UPLINK],
		     "denied SYNs/s: Bulkhead at the uplink / xdp-filter");
	report_ratio(report, syn[NFT_SETS], syn[BULKHEAD_UPLINK],
		     "denied SYNs/s: Bulkhead at the uplink / nftables sets");
	for (int way = BULKHEAD_POD; way < WAYS; way++) {
		report_ratio(report, udp[NOTHING], udp[way], "passed UDP packets/s: %s / nothing",
			     ways[way]);
		report_difference(report, udp[way], udp[NOTHING], "passed UDP: added by %s",
				  ways[way]);
		verdict[way] = report_difference(report, syn[way], syn[DROP_ALL],
						 "denied SYN: added by %s", ways[way]);
	}
	report_ratio(report, verdict[BULKHEAD_POD], verdict[BULKHEAD_UPLINK],
		     "denied SYN without sender and veth: at the pod / uplink");
	report_ratio(report, verdict[BULKHEAD_UPLINK], verdict[XDP_FILTER],
		     "denied SYN without them: at the uplink / xdp-filter");
}

int bench_uplink(struct bench *bench)
{
	struct uplink uplink = {.bench = bench};
	int err = make_worlds(&uplink);

	bench_alone();
	add_figures(&uplink);
	for (unsigned int i = 0; i < TRIES * bench->rounds && !err; i++) {
		uplink.again = i % TRIES;
		err = one_try(&uplink, i);
	}
	if (!err)
		conclude(&uplink);
	return err;
}
