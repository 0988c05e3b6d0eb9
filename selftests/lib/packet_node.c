/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "maps/abi.h"
#include "maps/allow_source.h"
#include "maps/config.h"
#include "maps/endpoint.h"
#include "maps/fragment.h"
#include "maps/iface.h"
#include "maps/denial.h"
#include "maps/flow_cache.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/pair.h"
#include "maps/ports.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "maps/share.h"
#include "maps/variation.h"
#include "selftests/lib/packet_node.h"
#include "node/kernel/program.h"
#include "collect.skel.h"
#include "midway.skel.h"
#include "loader.skel.h"
#include "tc.skel.h"
#include "xdp.skel.h"

#define GENERATION 5
#define POINTS_END (BH_POINT_OTHER + 1)
#define MAX_CPUS 512
#define CROWD_MAX 128
/* The garbage collector passes in some 7 s; a busy machine gets a minute. */
#define SWEEP_US 100000
#define SWEEP_TRIES 600

/* The connection table is small, so that clearing it between packets takes little time. */
static uint32_t capacity = 256, n_buckets;

const char *const packet_hook_names[PACKET_HOOKS] = {
	[FROM_A] = "from A",
	[TO_A] = "to A",
	[FROM_B] = "from B",
	[TO_B] = "to B",
	[FROM_C] = "from C",
	[TO_C] = "to C",
	[FROM_UNASSIGNED] = "from unassigned",
	[TO_UNASSIGNED] = "to unassigned",
	[UPLINK] = "uplink",
	[UPLINK_TC] = "uplink by TC",
	[LEAVE] = "leave",
};

static const enum packet_host hook_host[PACKET_HOOKS] = {
	HOST_A,		 HOST_A,	  HOST_B,    HOST_B,	HOST_C,	   HOST_C,
	HOST_UNASSIGNED, HOST_UNASSIGNED, HOST_NODE, HOST_NODE, HOST_NODE,
};

static struct bh_tc *tc;
static struct bh_xdp *xdp;
static uint32_t ifindexes[HOSTS];
static int cpus;

/* Sums over both directions. */
struct count {
	uint64_t packets, audited;
};

static struct count counters[BH_REASONS];

static void fail(const char *what)
{
	printf("not ok 1 - %s: %s\n", what, strerror(errno));
	exit(1);
}

int packet_node_map(const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(tc->obj, name);

	if (fd < 0)
		fail(name);
	return fd;
}

static struct bh_config config = {.abi = BH_ABI};

static void put_config(void)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(packet_node_map("bh_config"), &zero, &config, BPF_ANY))
		fail("bh_config");
}

/* Invalidates what the programs have cached of a map. */
static void changed(void)
{
	config.changes += 2;
	put_config();
}

static void put(const char *map, const void *key, const void *value)
{
	if (bpf_map_update_elem(packet_node_map(map), key, value, BPF_ANY))
		fail(map);
	changed();
}

static uint32_t n_intervals; /* in bh_ports */

/* Writes a list of points with their verdicts as struct bh_interval. */
static struct bh_ports_ref put_list(const struct bh_interval *list, uint32_t n)
{
	struct bh_ports_ref ports = {.at = n_intervals, .count = n};

	for (uint32_t i = 0; i < n; i++, n_intervals++)
		put("bh_ports", &n_intervals, &list[i]);
	return ports;
}

static void put_pair(uint32_t subject, uint32_t peer, struct bh_ports_ref ports)
{
	put("bh_pairs", &(struct bh_pair_key){.subject = subject, .peer = peer},
	    &(struct bh_pair){.ports = ports});
}

static struct bh_ports_ref all(bool allow, enum bh_tier tier, uint32_t rule)
{
	return (struct bh_ports_ref){.at = bh_verdict(allow, tier, rule)};
}

/* Class IDs: peers are 100 + slot, subjects 200 + slot. */
static void put_segment(uint32_t slot, uint32_t flags)
{
	struct bh_segment segment = {
		.id = 1000 + slot,
		.flags = flags,
		.peer_own = 100 + slot,
		.peer_common = 100 + slot,
	};

	for (int direction = 0; direction < 2; direction++) {
		bool policy = flags & BH_SEGMENT_POLICY(direction);

		segment.own[direction] = policy ? 200 + slot : 0;
		segment.fallback[direction][0] = segment.fallback[direction][1] =
			all(!policy, policy ? BH_TIER_NETWORK_POLICY : BH_TIER_DEFAULT, 0);
	}
	put("bh_segments", &slot, &segment);
}

#define YES(rule) bh_verdict(true, BH_TIER_NETWORK_POLICY, rule)
#define NO bh_verdict(false, BH_TIER_NETWORK_POLICY, 0)
#define LIST(...)                                     \
	put_list((struct bh_interval[]){__VA_ARGS__}, \
		 sizeof((struct bh_interval[]){__VA_ARGS__}) / sizeof(struct bh_interval))

static void put_policy(void)
{
	struct bh_ports_ref list;

	put_segment(SLOT_WORLD, BH_SEGMENT_EXTERNAL);
	put_segment(SLOT_NODE, BH_SEGMENT_EXTERNAL);
	put_segment(SLOT_OFFICE, BH_SEGMENT_EXTERNAL);
	put_segment(SLOT_A, BH_SEGMENT_POLICY(BH_EGRESS));
	put_segment(SLOT_B, BH_SEGMENT_POLICY(BH_INGRESS));
	put_segment(SLOT_C, 0);
	put_segment(SLOT_REMOTE, BH_SEGMENT_POLICY(BH_INGRESS) | BH_SEGMENT_POLICY(BH_EGRESS));
	put_segment(SLOT_CLOSED, BH_SEGMENT_POLICY(BH_INGRESS));
	put_segment(SLOT_MUTE, BH_SEGMENT_POLICY(BH_EGRESS));

	list = LIST({0, NO}, {1, YES(1)}, {1024, NO}, {8080, YES(1)}, {8081, NO},
		    {BH_POINT_UDP + 53, YES(2)}, {BH_POINT_UDP + 54, NO},
		    {BH_POINT_UDP + 500, YES(2)}, {BH_POINT_UDP + 600, NO},
		    {BH_POINT_SCTP + 80, YES(3)}, {BH_POINT_SCTP + 81, NO},
		    {BH_POINT_OTHER, YES(4)});
	put_pair(200 + SLOT_A, 100 + SLOT_B, list);
	put_pair(200 + SLOT_A, 100 + SLOT_CLOSED, list);
	list = LIST({0, NO}, {80, YES(5)}, {81, NO}, {BH_POINT_UDP, YES(5)}, {BH_POINT_SCTP, NO});
	put_pair(200 + SLOT_A, 100 + SLOT_WORLD, list);
	put_pair(200 + SLOT_A, 100 + SLOT_OFFICE, all(false, BH_TIER_ADMIN, 6));
	put_pair(200 + SLOT_A, 100 + SLOT_REMOTE, all(true, BH_TIER_NETWORK_POLICY, 7));

	list = LIST({0, NO}, {80, YES(8)}, {81, NO}, {443, YES(8)}, {444, NO}, {900, YES(8)},
		    {901, NO}, {8080, YES(8)}, {8081, NO}, {BH_POINT_UDP + 53, YES(9)},
		    {BH_POINT_UDP + 54, NO}, {BH_POINT_UDP + 500, YES(9)}, {BH_POINT_UDP + 550, NO},
		    {BH_POINT_SCTP, YES(9)});
	put_pair(200 + SLOT_B, 100 + SLOT_A, list);
	put_pair(200 + SLOT_B, 100 + SLOT_MUTE, list);
	list = LIST({0, NO}, {443, YES(10)}, {444, NO});
	put_pair(200 + SLOT_B, 100 + SLOT_WORLD, list);
	put_pair(200 + SLOT_B, 100 + SLOT_C, all(true, BH_TIER_NETWORK_POLICY, 11));
	list = LIST({0, NO}, {80, YES(12)}, {81, NO});
	put_pair(200 + SLOT_B, 100 + SLOT_REMOTE, list);
	list = LIST({0, NO}, {7946, YES(14)}, {7947, NO});
	put_pair(200 + SLOT_B, 100 + SLOT_NODE, list);
	put_pair(200 + SLOT_B, 100 + SLOT_OFFICE,
		 (struct bh_ports_ref){.at = 9, .count = BH_PORTS_NAMED});
	list = LIST({0, NO}, {6379, YES(13)}, {6380, NO});
	put("bh_named", &(struct bh_named_key){.list = 9, .resolution = 1},
	    &(struct bh_named){.ports = list});
	put("bh_variations", &(struct bh_variation_key){.segment = 1000 + SLOT_B, .variation = 1},
	    &(struct bh_variation){.resolution = 1});
}

static const struct bh_addr no_address;

static void put_endpoint(enum packet_host host, uint32_t slot, uint32_t variation)
{
	struct bh_endpoint endpoint = {
		.assignment = {slot ? bh_assignment(1, slot, variation) : 0},
		.ifindex = ifindexes[host],
	};
	struct bh_iface iface = {
		.flags = BH_IFACE_ENDPOINT | BH_IFACE_MAC,
		.via = host == HOST_A ? PACKET_BRIDGE : 0,
	};

	memcpy(endpoint.mac, packet_mac_of(host), 6);
	memcpy(iface.mac, packet_mac_of(host), 6);
	for (int version = 4; version <= 6; version += 2) {
		struct bh_addr addr = packet_address_of(host, version);

		put("bh_endpoints", &addr, &endpoint);
		*(version == 4 ? &iface.ipv4 : &iface.ipv6) = addr;
	}
	if (endpoint.ifindex)
		put("bh_ifaces", &endpoint.ifindex, &iface);
}

static void put_prefix(enum packet_host host, uint8_t version, uint32_t length, uint32_t slot)
{
	struct bh_prefix_key key = {
		.length = length,
		.addr = host == HOST_NONE ? no_address : packet_address_of(host, version),
	};
	struct bh_prefix prefix = {
		.assignment = {bh_assignment(1, slot, 0)},
		.flags = slot == SLOT_NODE ? BH_PREFIX_NODE : 0,
	};

	put("bh_prefixes", &key, &prefix);
}

static void put_addresses(void)
{
	uint32_t uplink = ifindexes[HOST_NODE];

	put_endpoint(HOST_A, SLOT_A, 0);
	put_endpoint(HOST_B, SLOT_B, 1);
	put_endpoint(HOST_C, SLOT_C, 0);
	put_endpoint(HOST_UNASSIGNED, 0, 0);
	put_endpoint(HOST_REMOTE, SLOT_REMOTE, 0);
	put("bh_ifaces", &uplink, &(struct bh_iface){.flags = BH_IFACE_UPLINK});
	put_prefix(HOST_NONE, 6, 0, SLOT_WORLD);
	put_prefix(HOST_NODE, 4, 128, SLOT_NODE);
	put_prefix(HOST_NODE, 6, 128, SLOT_NODE);
	put_prefix(HOST_OFFICE, 4, 96 + 24, SLOT_OFFICE);
	put_prefix(HOST_OFFICE, 6, 48, SLOT_OFFICE);
	for (int version = 4; version <= 6; version += 2) {
		struct bh_allow_source_key key = {
			.length = 160,
			.ifindex = htonl(ifindexes[HOST_A]),
			.addr = packet_address_of(HOST_GATEWAY, version),
		};

		put("bh_allow_source", &key, &(struct bh_allow_source){});
	}
	packet_node_flag(FROM_A, BH_IFACE_ALLOW_SOURCE, true);
}

static uint32_t crowd[CROWD_MAX];

uint32_t packet_node_crowd_ifindex(uint32_t nth)
{
	return crowd[nth];
}

/* Sets the last two bytes of the nth's address or MAC. */
static void number(void *bytes, size_t size, uint32_t nth)
{
	((uint8_t *)bytes)[size - 2] = (PACKET_CROWD + nth) >> 8;
	((uint8_t *)bytes)[size - 1] = (PACKET_CROWD + nth) & 0xff;
}

static void put_nth(uint32_t nth, uint32_t slot, uint64_t ns)
{
	struct bh_endpoint endpoint = {
		.assignment = {bh_assignment(1, slot, 0)},
		.ifindex = crowd[nth],
	};
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT | BH_IFACE_MAC, .ns = ns};

	memcpy(endpoint.mac, packet_mac_of(HOST_C), sizeof(endpoint.mac));
	number(endpoint.mac, sizeof(endpoint.mac), nth);
	memcpy(iface.mac, endpoint.mac, sizeof(iface.mac));
	for (int version = 4; version <= 6; version += 2) {
		struct bh_addr addr = packet_address_of(HOST_C, version);

		number(&addr, sizeof(addr), nth);
		put("bh_endpoints", &addr, &endpoint);
		*(version == 4 ? &iface.ipv4 : &iface.ipv6) = addr;
	}
	put("bh_ifaces", &endpoint.ifindex, &iface);
}

void packet_node_crowd_assign(uint32_t n, uint32_t slot, uint64_t ns)
{
	for (uint32_t nth = 0; nth < n; nth++)
		put_nth(nth, slot, ns);
}

void packet_node_crowd(uint32_t n)
{
	FILE *to = popen("ip -batch -", "w");
	char name[16];

	for (uint32_t nth = 0; to && nth < n; nth += 2)
		fprintf(to, "link add crowd%u type veth peer name crowd%u\n", nth, nth + 1);
	if (n > CROWD_MAX || !to || pclose(to))
		fail("cannot make veth pairs");
	for (uint32_t nth = 0; nth < n; nth++) {
		snprintf(name, sizeof(name), "crowd%u", nth);
		crowd[nth] = if_nametoindex(name);
	}
	packet_node_crowd_assign(n, SLOT_C, 0);
}

/* XDP test runs take place at the first interface of the namespace, `lo`. */
static void make_interfaces(void)
{
	static const struct {
		enum packet_host host;
		const char *name;
	} ends[] = {{HOST_A, "veth-a"},
		    {HOST_B, "veth-b"},
		    {HOST_C, "veth-c"},
		    {HOST_UNASSIGNED, "veth-d"}};
	char command[128];

	if (unshare(CLONE_NEWNET)) {
		printf("ok 1 - packet tests # SKIP no network namespace: %s\n", strerror(errno));
		exit(4);
	}
	/* A new namespace has the machine's setting. A row says what a node does that does not
	 * forward. */
	if (system("echo 0 >/proc/sys/net/ipv4/ip_forward"))
		fail("cannot set ip_forward");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(command, sizeof(command), "ip link add %s type veth peer name %s-peer",
			 ends[i].name, ends[i].name);
		if (system(command))
			fail("cannot make a veth pair");
		ifindexes[ends[i].host] = if_nametoindex(ends[i].name);
	}
	ifindexes[HOST_NODE] = if_nametoindex("lo");
}

/* One set of maps for all objects, as the loader has it. */
static void share_maps(const struct bpf_object *object)
{
	struct bpf_map *map, *same;

	bpf_object__for_each_map(map, object) {
		if (bpf_map__is_internal(map))
			continue;
		same = bpf_object__find_map_by_name(tc->obj, bpf_map__name(map));
		if (same && bpf_map__reuse_fd(map, bpf_map__fd(same)))
			fail(bpf_map__name(map));
	}
}

static struct bh_ct_group *table;
static struct bh_share_total *total;

/* The buckets of senders whose interfaces have numbers below 16, the way of a tally's place
 * included. */
#define FRAGMENTS (BH_FRAGMENT_NODE + BH_FRAGMENT_OUTSIDE + 20 * BH_FRAGMENT_OWN)
static struct bh_fragments *fragments;

static uint32_t *tag_at(uint32_t i)
{
	return &bh_ct_bucket(table, i / BH_CT_SLOTS)->tag[i % BH_CT_SLOTS];
}

static struct bh_ct_slot *slot_at(uint32_t i)
{
	return &bh_ct_slots(table, i / BH_CT_SLOTS)[i % BH_CT_SLOTS];
}

/* Returns the slots of the table that the programs use. */
static uint32_t n_slots(void)
{
	return n_buckets * BH_CT_SLOTS;
}

static size_t table_size(void)
{
	return BH_CT_GROUPS(capacity) * sizeof(*table);
}

static void map_connections(void)
{
	table = mmap(NULL, table_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(tc->maps.bh_ct), 0);
	total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(tc->maps.bh_share_total), 0);
	fragments = mmap(NULL, FRAGMENTS * sizeof(*fragments), PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(tc->maps.bh_fragments), 0);
	if (table == MAP_FAILED || total == MAP_FAILED || fragments == MAP_FAILED)
		fail("cannot map the connections");
}

static void read_counters(struct count sums[BH_REASONS])
{
	static struct bh_counter values[BH_REASONS * MAX_CPUS];
	uint32_t keys[BH_REASONS], next, n = BH_REASONS;

	if (bpf_map_lookup_batch(packet_node_map("bh_counters"), NULL, &next, keys, values, &n,
				 NULL) ||
	    n != BH_REASONS)
		fail("bh_counters");
	for (int reason = 0; reason < BH_REASONS; reason++) {
		memset(&sums[reason], 0, sizeof(sums[reason]));
		for (int cpu = 0; cpu < cpus; cpu++) {
			const struct bh_counter *at = &values[reason * cpus + cpu];

			sums[reason].packets += at->packets[0] + at->packets[1];
			sums[reason].audited += at->audit_packets[0] + at->audit_packets[1];
		}
	}
}

/*
 * Stops the garbage collector: the programs start no timer while `owner` is theirs, and a write to
 * the map cancels the one that runs. A test writes to the whole table, and a collector that looked
 * at that moment would find an entry half written, and free it.
 */
static void stop_sweeper(void)
{
	const struct bh_ct_sweeper stopped = {.owner = tc->rodata->instance + 1ull};
	uint32_t zero = 0;

	if (bpf_map_update_elem(packet_node_map("bh_ct_sweeper"), &zero, &stopped, BPF_ANY))
		fail("bh_ct_sweeper");
}

static void make_node(bool redirect)
{
	if (geteuid()) {
		printf("ok 1 - packet tests # SKIP needs root\n");
		exit(4);
	}
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	cpus = libbpf_num_possible_cpus();
	if (cpus < 1 || cpus > MAX_CPUS)
		fail("number of CPUs");
	make_interfaces();
	tc = bh_tc__open();
	if (!tc)
		fail("cannot open tc.bpf.c");
	tc->rodata->redirect = redirect;
	tc->rodata->kern_ctx = program_kernel_has("bpf_cast_to_kern_ctx");
	n_buckets = BH_CT_BUCKETS(capacity);
	tc->rodata->ct_capacity = capacity;
	tc->rodata->ct_buckets = n_buckets;
	bpf_map__set_max_entries(tc->maps.bh_ct, BH_CT_GROUPS(capacity));
	if (bh_tc__load(tc))
		fail("cannot load tc.bpf.c");
	map_connections();
	stop_sweeper();
	xdp = bh_xdp__open();
	if (!xdp)
		fail("cannot open xdp.bpf.c");
	share_maps(xdp->obj);
	if (bh_xdp__load(xdp))
		fail("cannot load xdp.bpf.c");
}

static void empty(const char *name)
{
	int map = packet_node_map(name);
	char key[64];

	while (!bpf_map_get_next_key(map, NULL, key))
		bpf_map_delete_elem(map, key);
}

static int entries_of(const char *name)
{
	int map = packet_node_map(name), n = 0;
	char key[64];

	for (void *last = NULL; !bpf_map_get_next_key(map, last, key); last = key)
		n++;
	return n;
}

static bool has_keys_that_go(const struct bpf_map *map)
{
	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_LPM_TRIE:
		return true;
	default:
		return false;
	}
}

int packet_node_entries(void)
{
	const struct bpf_map *map;
	int n = 0;

	bpf_object__for_each_map(map, tc->obj)
		if (has_keys_that_go(map))
			n += entries_of(bpf_map__name(map));
	return n;
}

static void open_node(bool redirect)
{
	const struct bpf_map *map;

	if (!tc)
		make_node(redirect);
	bpf_object__for_each_map(map, tc->obj)
		if (has_keys_that_go(map))
			empty(bpf_map__name(map));
	n_intervals = 0;
	put_policy();
	put_addresses();
	packet_node_forget();
	packet_node_set_generation(GENERATION);
	read_counters(counters);
}

void packet_node_open(void)
{
	open_node(false);
}

void packet_node_open_redirect(void)
{
	open_node(true);
}

void packet_node_set_generation(uint64_t generation)
{
	config.generation = generation;
	put_config();
}

void packet_node_changes(bool begin)
{
	config.changes = (config.changes & ~1u) + (begin ? 1 : 2);
	put_config();
}

void packet_node_assign(enum packet_host host, uint32_t generation, uint32_t slot)
{
	struct bh_endpoint endpoint;
	struct bh_addr addr;

	for (int version = 4; version <= 6; version += 2) {
		addr = packet_address_of(host, version);
		if (bpf_map_lookup_elem(packet_node_map("bh_endpoints"), &addr, &endpoint))
			fail("endpoint");
		endpoint.assignment[1] = bh_assignment(generation, slot, 0);
		put("bh_endpoints", &addr, &endpoint);
	}
}

void packet_node_flag(enum packet_hook hook, uint32_t flags, bool set)
{
	uint32_t ifindex = packet_node_ifindex(hook);
	struct bh_iface iface;

	if (bpf_map_lookup_elem(packet_node_map("bh_ifaces"), &ifindex, &iface))
		fail("interface");
	iface.flags = set ? iface.flags | flags : iface.flags & ~flags;
	put("bh_ifaces", &ifindex, &iface);
}

void packet_node_bridge(enum packet_hook hook, uint32_t bridge)
{
	uint32_t ifindex = packet_node_ifindex(hook);
	struct bh_iface iface;

	if (bpf_map_lookup_elem(packet_node_map("bh_ifaces"), &ifindex, &iface))
		fail("interface");
	iface.bridge = bridge;
	put("bh_ifaces", &ifindex, &iface);
}

void packet_node_tell_mac(enum packet_host host, bool known)
{
	struct bh_endpoint endpoint;
	struct bh_iface iface;

	for (int version = 4; version <= 6; version += 2) {
		struct bh_addr addr = packet_address_of(host, version);

		if (bpf_map_lookup_elem(packet_node_map("bh_endpoints"), &addr, &endpoint))
			continue;
		memset(endpoint.mac, 0, sizeof(endpoint.mac));
		if (known)
			memcpy(endpoint.mac, packet_mac_of(host), sizeof(endpoint.mac));
		put("bh_endpoints", &addr, &endpoint);
	}
	if (bpf_map_lookup_elem(packet_node_map("bh_ifaces"), &ifindexes[host], &iface))
		return;
	iface.flags &= ~BH_IFACE_MAC;
	iface.flags |= known ? BH_IFACE_MAC : 0;
	put("bh_ifaces", &ifindexes[host], &iface);
	changed();
}

void packet_node_mac(enum packet_host host, bool known)
{
	struct bh_mac mac = {
		.ipv4 = packet_address_of(host, 4),
		.ipv6 = packet_address_of(host, 6),
		.ifindex = ifindexes[host],
	};
	struct bh_mac_key key = {};

	memcpy(key.mac, packet_mac_of(host), sizeof(key.mac));
	if (known)
		put("bh_macs", &key, &mac);
	else
		bpf_map_delete_elem(packet_node_map("bh_macs"), &key);
	changed();
}

void packet_node_link_local(uint32_t bridge)
{
	struct bh_mac_key mac = {.kind = BH_MAC_NODE};
	struct bh_link_local_key key = {
		.link = bridge,
		.addr = packet_address_of(HOST_NODE_LINK_LOCAL, 6),
	};

	memcpy(mac.mac, packet_mac_of(HOST_NODE), sizeof(mac.mac));
	put("bh_macs", &mac,
	    &(struct bh_mac){.ipv4 = packet_address_of(HOST_NODE, 4),
			     .ipv6 = packet_address_of(HOST_NODE, 6)});
	put("bh_link_locals", &key, &(struct bh_link_local){});
}

uint32_t packet_node_ifindex(enum packet_hook hook)
{
	return ifindexes[hook_host[hook]];
}

int packet_node_program(enum packet_hook hook)
{
	if (hook == UPLINK)
		return bpf_program__fd(xdp->progs.xdp_uplink);
	if (hook == UPLINK_TC)
		return bpf_program__fd(tc->progs.tc_uplink);
	if (hook == LEAVE)
		return bpf_program__fd(tc->progs.tc_leave);
	return bpf_program__fd(hook % 2 ? tc->progs.tc_to_endpoint : tc->progs.tc_from_endpoint);
}

void packet_node_programs(void (*each)(const char *program, int fd, void *arg), void *arg)
{
	struct bh_loader *loader = bh_loader__open();
	struct bpf_object *objects[] = {tc->obj, xdp->obj, NULL};
	struct bpf_program *program;

	if (!loader)
		fail("cannot open loader.bpf.c");
	share_maps(loader->obj);
	if (bh_loader__load(loader))
		fail("cannot load loader.bpf.c");
	objects[2] = loader->obj;
	for (int i = 0; i < 3; i++)
		bpf_object__for_each_program(program, objects[i])
			if (bpf_program__fd(program) >= 0)
				each(bpf_program__name(program), bpf_program__fd(program), arg);
	bh_loader__destroy(loader);
}

/* Finds the counter that moved since the last call. */
static void see_counters(struct packet_result *result)
{
	struct count now[BH_REASONS];

	result->reason = -1;
	result->audited = false;
	read_counters(now);
	for (int reason = 0; reason < BH_REASONS; reason++) {
		uint64_t packets = now[reason].packets - counters[reason].packets;
		uint64_t audited = now[reason].audited - counters[reason].audited;

		if (!packets && !audited)
			continue;
		result->reason = result->reason == -1 && packets + audited == 1 ? reason : -2;
		result->audited |= audited > 0;
	}
	memcpy(counters, now, sizeof(now));
}

static size_t first_buffer = SIZE_MAX;

void packet_node_split(size_t bytes)
{
	first_buffer = bytes;
}

/* @ifindex: 0 at XDP. */
static int verdict_of(int program, uint32_t ifindex, const void *frame, size_t length,
		      uint32_t ingress)
{
	struct __sk_buff skb = {.ifindex = ifindex, .ingress_ifindex = ingress};
	struct xdp_md md = {.data_end = first_buffer};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = length, .repeat = 1);
	int error;

	if (ifindex) {
		run.ctx_in = &skb;
		run.ctx_size_in = sizeof(skb);
	} else if (first_buffer < length) {
		run.ctx_in = &md;
		run.ctx_size_in = sizeof(md);
	}
	error = bpf_prog_test_run_opts(program, &run);
	if (error && errno == EINVAL && run.ctx_in == &md) {
		run.ctx_in = NULL;
		run.ctx_size_in = 0;
		error = bpf_prog_test_run_opts(program, &run);
	}
	if (error && errno == EINVAL)
		return -1;
	if (error)
		fail("BPF_PROG_TEST_RUN");
	return run.retval == (ifindex ? (uint32_t)-1 /* TC_ACT_UNSPEC */ : XDP_PASS);
}

int packet_node_verdict(enum packet_hook hook, const void *frame, size_t length, uint32_t ingress)
{
	return verdict_of(packet_node_program(hook), hook == UPLINK ? 0 : packet_node_ifindex(hook),
			  frame, length, ingress);
}

int packet_node_verdict_at(bool to, uint32_t ifindex, const void *frame, size_t length,
			   uint32_t ingress)
{
	return verdict_of(packet_node_program(to ? TO_A : FROM_A), ifindex, frame, length, ingress);
}

struct packet_result packet_node_run_frame(enum packet_hook hook, const void *frame, size_t length,
					   uint32_t ingress)
{
	struct packet_result result;
	int passed = packet_node_verdict(hook, frame, length, ingress);

	if (passed < 0)
		fail("BPF_PROG_TEST_RUN");
	result.passed = passed;
	see_counters(&result);
	return result;
}

static uint32_t ingress_of(enum packet_hook hook, const struct packet_spec *spec,
			   enum packet_via via)
{
	switch (via) {
	case VIA_NOWHERE:
		return 0;
	case VIA_UPLINK:
		return ifindexes[HOST_NODE];
	case VIA_C:
		return ifindexes[HOST_C];
	case VIA_OWN:
		return packet_node_ifindex(hook);
	case VIA_BRIDGE:
		return PACKET_BRIDGE;
	case VIA_OTHER:
		return PACKET_OTHER;
	case VIA_PEER:
		break;
	}
	if (hook != LEAVE && (hook >= UPLINK || !(hook % 2))) /* an endpoint's own side */
		return packet_node_ifindex(hook);
	if (spec->from == HOST_NODE || spec->from == HOST_NODE_LINK_LOCAL)
		return 0;
	return ifindexes[spec->from] ? ifindexes[spec->from] : ifindexes[HOST_NODE];
}

struct packet_result packet_node_run(enum packet_hook hook, const struct packet_spec *spec,
				     enum packet_via via)
{
	struct packet_frame frame;

	packet_build(spec, &frame);
	return packet_node_run_frame(hook, frame.bytes, frame.length, ingress_of(hook, spec, via));
}

void packet_node_void_caches(void)
{
	static const struct bh_flow_cache nothing[MAX_CPUS];
	static const struct bh_denials none[MAX_CPUS];
	uint32_t zero = 0;

	if (bpf_map_update_elem(packet_node_map("bh_flow_cache"), &zero, nothing, BPF_ANY) ||
	    bpf_map_update_elem(packet_node_map("bh_denials"), &zero, none, BPF_ANY))
		fail("bh_flow_cache, bh_denials");
}

int packet_node_stay(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity");
	return cpu;
}

void packet_node_forget_quietly(void)
{
	memset(table, 0, table_size());
	memset(total, 0, sizeof(*total));
	empty("bh_shares");
	memset(fragments, 0, FRAGMENTS * sizeof(*fragments));
}

void packet_node_forget(void)
{
	packet_node_forget_quietly();
	packet_node_void_caches();
}

static void age_fragments(int32_t ticks)
{
	for (uint32_t i = 0; i < FRAGMENTS * BH_FRAGMENT_WAYS; i++) {
		__u64 *first = &fragments[i / BH_FRAGMENT_WAYS].way[i % BH_FRAGMENT_WAYS].first;

		*first -= *first ? (uint64_t)(uint32_t)ticks << 32 : 0;
	}
}

void packet_node_age(int32_t ticks)
{
	packet_node_void_caches();
	for (uint32_t i = 0; i < n_slots(); i++)
		slot_at(i)->ct.seen -= ticks;
	age_fragments(ticks);
}

static struct bh_ct_group *saved;
static struct bh_share_total saved_total;

void packet_node_save(void)
{
	saved = saved ? saved : malloc(table_size());
	if (!saved)
		fail("saved connections");
	memcpy(saved, table, table_size());
	saved_total = *total;
}

void packet_node_restore(void)
{
	packet_node_forget();
	memcpy(table, saved, table_size());
	*total = saved_total;
}

static int count(uint32_t half)
{
	int n = 0;

	for (uint32_t i = 0; i < n_slots(); i++)
		n += bh_ct_is_filled(*tag_at(i)) && (slot_at(i)->ct.state & BH_CT_HALF) == half;
	return n;
}

int packet_node_connections(void)
{
	return count(0);
}

int packet_node_half_open(void)
{
	return count(BH_CT_HALF);
}

int32_t packet_node_held(uint32_t payer)
{
	int32_t n = 0;

	for (uint32_t i = 0; i < n_slots(); i++)
		n += bh_ct_is_filled(*tag_at(i)) && BH_CT_PAYER(slot_at(i)->ct.payer) == payer;
	return n;
}

/* Returns the connections beyond the floor of all endpoints that have the holder; 0: of all. Counts
 * the shares that differ from the table. */
static int32_t surplus_of(uint32_t holder, int *wrong)
{
	int map = packet_node_map("bh_shares");
	int32_t surplus = 0, used;
	struct bh_share share;
	uint32_t key;

	for (uint32_t *last = NULL; !bpf_map_get_next_key(map, last, &key); last = &key) {
		if (key & BH_SHARE_IS_HOLDER || bpf_map_lookup_elem(map, &key, &share) ||
		    (holder && share.holder != holder))
			continue;
		used = bh_share_used(share.count);
		*wrong += used != packet_node_held(key);
		if (used > (int32_t)total->floor)
			surplus += used - (int32_t)total->floor;
	}
	return surplus;
}

int packet_node_miscounted(void)
{
	int map = packet_node_map("bh_shares"), wrong = 0;
	struct bh_share holder;
	uint32_t key;

	wrong += surplus_of(0, &wrong) != total->surplus;
	for (uint32_t *last = NULL; !bpf_map_get_next_key(map, last, &key); last = &key)
		if (key & BH_SHARE_IS_HOLDER)
			wrong += bpf_map_lookup_elem(map, &key, &holder) ||
				 bh_share_used(holder.count) != surplus_of(key, &wrong);
	return wrong;
}

static uint64_t sum_of_shares(bool refused)
{
	int map = packet_node_map("bh_shares");
	struct bh_share share;
	uint64_t sum = 0;
	uint32_t key;

	for (uint32_t *last = NULL; !bpf_map_get_next_key(map, last, &key); last = &key)
		if (!bpf_map_lookup_elem(map, &key, &share))
			sum += refused ? share.refused : share.replaced;
	return sum;
}

uint64_t packet_node_refused(void)
{
	return sum_of_shares(true) + total->refused;
}

uint64_t packet_node_replaced(void)
{
	return sum_of_shares(false);
}

void packet_node_sweep(void (*packet)(void))
{
	const struct bh_ct_sweeper anew = {};
	const uint32_t zero = 0, sweeps = total->sweeps;

	put("bh_ct_sweeper", &zero, &anew);
	packet();
	for (int i = 0; i < SWEEP_TRIES && *(volatile uint32_t *)&total->sweeps == sweeps; i++)
		usleep(SWEEP_US);
	if (total->sweeps == sweeps)
		fail("the garbage collector has not passed");
	stop_sweeper();
}

static void open_midway(int programs[PACKET_MIDWAYS])
{
	struct midway *midway = midway__open();

	if (!midway)
		fail("cannot open midway.bpf.c");
	share_maps(midway->obj);
	midway->rodata->ct_capacity = tc->rodata->ct_capacity;
	midway->rodata->ct_buckets = n_buckets;
	if (midway__load(midway))
		fail("cannot load midway.bpf.c");
	programs[MIDWAY_COMMIT_IN_TURN] = bpf_program__fd(midway->progs.midway_commit_in_turn);
	programs[MIDWAY_COMMIT_AT_ONCE] = bpf_program__fd(midway->progs.midway_commit_at_once);
	programs[MIDWAY_COMPLETE] = bpf_program__fd(midway->progs.midway_complete);
	programs[MIDWAY_OPEN_BESIDE_LOST] = bpf_program__fd(midway->progs.midway_open_beside_lost);
	programs[MIDWAY_AGAIN_ANOTHERS] = bpf_program__fd(midway->progs.midway_again_anothers);
	programs[MIDWAY_ASK_OF_OTHERS] = bpf_program__fd(midway->progs.midway_ask_of_others);
	programs[MIDWAY_NAMES_OF_PEER] = bpf_program__fd(midway->progs.midway_names_of_peer);
	programs[MIDWAY_ERROR_TO_WORLD] = bpf_program__fd(midway->progs.midway_error_to_world);
	programs[MIDWAY_ERROR_TO_C] = bpf_program__fd(midway->progs.midway_error_to_c);
	programs[MIDWAY_ANSWER_ANOTHERS] = bpf_program__fd(midway->progs.midway_answer_anothers);
	programs[MIDWAY_TOUCH] = bpf_program__fd(midway->progs.midway_touch);
	programs[MIDWAY_ANSWER_OPENED] = bpf_program__fd(midway->progs.midway_answer_opened);
	programs[MIDWAY_FIN_CROSSES] = bpf_program__fd(midway->progs.midway_fin_crosses);
	programs[MIDWAY_FREE] = bpf_program__fd(midway->progs.midway_free);
	programs[MIDWAY_FREE_AMID_PACKETS] =
		bpf_program__fd(midway->progs.midway_free_amid_packets);
	programs[MIDWAY_OCCUPY_AMID_PACKETS] =
		bpf_program__fd(midway->progs.midway_occupy_amid_packets);
	programs[MIDWAY_INSERT_AMID_OTHERS] =
		bpf_program__fd(midway->progs.midway_insert_amid_others);
	programs[MIDWAY_OCCUPY_CHOSEN] = bpf_program__fd(midway->progs.midway_occupy_chosen);
	programs[MIDWAY_OCCUPY_NEWER] = bpf_program__fd(midway->progs.midway_occupy_newer);
	programs[MIDWAY_STORE_OWN] = bpf_program__fd(midway->progs.midway_store_own);
	programs[MIDWAY_STORE_ANOTHERS] = bpf_program__fd(midway->progs.midway_store_anothers);
	programs[MIDWAY_EVALUATE_ANOTHERS] =
		bpf_program__fd(midway->progs.midway_evaluate_anothers);
	programs[MIDWAY_EVALUATE_MOVED] = bpf_program__fd(midway->progs.midway_evaluate_moved);
	programs[MIDWAY_MOVE] = bpf_program__fd(midway->progs.midway_move);
}

enum bh_reason packet_node_midway(enum packet_midway point, enum packet_hook hook,
				  const struct packet_spec *spec)
{
	static int programs[PACKET_MIDWAYS];
	struct __sk_buff skb = {
		.ifindex = packet_node_ifindex(hook),
		.ingress_ifindex = packet_node_ifindex(hook),
	};
	struct packet_frame frame;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	if (!*programs)
		open_midway(programs);
	packet_build(spec, &frame);
	run.data_in = frame.bytes;
	run.data_size_in = frame.length;
	if (bpf_prog_test_run_opts(programs[point], &run) || run.retval >= BH_REASONS)
		fail("midway.bpf.c");
	return run.retval;
}

int packet_node_ingress_words(void)
{
	int n = 0;

	for (uint32_t i = 0; i < n_buckets * BH_CT_SLOTS; i++)
		n += bh_ct_is_filled(bh_ct_bucket(table, i / BH_CT_SLOTS)->tag[i % BH_CT_SLOTS]) &&
		     bh_ct_slots(table, i / BH_CT_SLOTS)[i % BH_CT_SLOTS].ct.verdict[BH_INGRESS];
	return n;
}

void packet_node_collect(uint32_t ahead)
{
	static struct collect *collector;
	uint8_t frame[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame));

	if (!collector) {
		collector = collect__open();
		if (!collector)
			fail("cannot open collect.bpf.c");
		share_maps(collector->obj);
		collector->rodata->ct_buckets = n_buckets;
		if (collect__load(collector))
			fail("cannot load collect.bpf.c");
	}
	collector->bss->ahead = ahead;
	if (bpf_prog_test_run_opts(bpf_program__fd(collector->progs.collect), &run))
		fail("the garbage collector's pass");
}

void packet_node_limit(uint32_t floor, uint32_t capacity)
{
	total->floor = floor;
	total->capacity = capacity;
}

int packet_node_bucket(void)
{
	for (uint32_t i = 0; i < n_slots(); i++)
		if (bh_ct_is_filled(*tag_at(i)))
			return i / BH_CT_SLOTS;
	return -1;
}

struct bh_ct_group *packet_node_table(uint32_t *n)
{
	*n = n_buckets;
	return table;
}

uint64_t packet_node_hash(const struct bh_ct_key *key)
{
	__u64 words[5];

	memcpy(words, key, sizeof(words));
	return bh_ct_hash(tc->rodata->ct_seed, words);
}

/* Returns true if the slot's key is not the one of the tag, or a word another connection's. */
static bool is_damaged(const struct bh_ct_slot *slot, uint32_t tag)
{
	const struct bh_ct *ct = &slot->ct;
	uint64_t hash = packet_node_hash(&slot->key);
	bool damaged;

	damaged = (bh_ct_slot_tag(hash) ^ tag) & BH_CT_TAG_OF_KEY;
	for (int role = 0; role < 2; role++)
		damaged |= ct->verdict[role] &&
			   ((uint32_t)ct->verdict[role] & ~BH_CT_FLAGS) !=
				   bh_ct_bound(bh_ct_hash_tag(hash), ct->end[0].ifindex,
					       ct->end[1].ifindex);
	return damaged;
}

int packet_node_damaged(void)
{
	int damaged = 0;

	for (uint32_t i = 0; i < n_slots(); i++) {
		const volatile uint32_t *tag = tag_at(i), *state = &slot_at(i)->ct.state;
		uint32_t was = *tag, before = *state;
		struct bh_ct_slot slot;

		if (!bh_ct_is_filled(was))
			continue;
		__asm__ volatile("" ::: "memory");
		memcpy(&slot, slot_at(i), sizeof(slot));
		__asm__ volatile("" ::: "memory");
		damaged += *tag == was && *state == before && is_damaged(&slot, was);
	}
	return damaged;
}

void packet_node_payers_unknown(void)
{
	for (uint32_t i = 0; i < n_slots(); i++)
		slot_at(i)->ct.payer = BH_CT_SURPLUS;
}

/* Reads the state and the ports of one connection: the state has the incarnation, and
 * BH_CT_GONE while the slot is given to another one. */
static uint32_t state_of_port(const struct bh_ct_slot *slot, uint16_t port)
{
	const volatile uint32_t *state = &slot->ct.state;
	const volatile __be16 *ports = slot->key.port;
	uint32_t before = *state;
	bool is = ntohs(ports[0]) >= port || ntohs(ports[1]) >= port;

	return is && *state == before && !(before & BH_CT_GONE) ? before & BH_CT_STATE : 0;
}

uint32_t packet_node_port_states(uint16_t port)
{
	uint32_t states = 0;

	for (uint32_t i = 0; i < n_slots(); i++)
		if (bh_ct_is_filled(*tag_at(i)))
			states |= state_of_port(slot_at(i), port);
	return states;
}

void packet_node_room(uint32_t connections)
{
	capacity = connections;
}

uint32_t packet_node_states(uint8_t protocol)
{
	uint32_t states = 0;

	for (uint32_t i = 0; i < n_slots(); i++)
		if (bh_ct_is_filled(*tag_at(i)) && slot_at(i)->key.protocol == protocol)
			states |= slot_at(i)->ct.state & BH_CT_STATE;
	return states;
}
