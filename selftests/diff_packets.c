// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data path against the oracle: random clusters are compiled and loaded, one over the other, on
 * a node in the test's own namespace. Each flow is sent as a packet (TCP SYN, UDP, SCTP INIT, ICMP,
 * others) to the programs of its ends by BPF_PROG_TEST_RUN. The programs' verdicts, and those that
 * `trace` reads from the maps, must be the oracle's.
 *
 * generate_seeds() says which clusters.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/evaluate.h"
#include "maps/conntrack.h"
#include "maps/dns.h"
#include "maps/share.h"
#include "node/kernel/handle.h"
#include "node/kernel/program.h"
#include "node/observe/live.h"
#include "node/node.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ip_batch.h"
#include "selftests/lib/own_process.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 300
#define CLUSTERS_SAMPLE 150
#define FLOWS 1000 /* per cluster */
#define UNLOAD_EVERY 50 /* clusters: the load after an unload is a first load */
#define FAILURES_MAX 3
#define NODE "node-0"

#define UPLINK_NAME "host10" /* numbered after the pods' interfaces */

enum hook { FROM_ENDPOINT, TO_ENDPOINT, UPLINK, N_HOOKS };

static const struct {
	const char *name;
	int pass;
} hooks[N_HOOKS] = {
	[FROM_ENDPOINT] = {"tc_from_endpoint", -1 /* TC_ACT_UNSPEC */},
	[TO_ENDPOINT] = {"tc_to_endpoint", -1},
	[UPLINK] = {"xdp_uplink", XDP_PASS},
};

/* The node: a network namespace with the host side of each pod's interface, and an uplink. */
struct node_here {
	char pin[64];
	struct node_options options;
	unsigned int pods[GENERATE_PODS], uplink; /* ifindexes */
	int programs[N_HOOKS];
	int connections, shares, total, learned; /* map fds */
	__u64 domain_key[2]; /* of maps/domain_hash.h */
	uint16_t source_port; /* differs for each packet: one connection each */
	uint64_t packets, failures;
};

/* ---- packets ---- */

struct frame {
	uint8_t bytes[128];
	size_t length;
};

static void *put(struct frame *frame, const void *bytes, size_t length)
{
	void *at = frame->bytes + frame->length;

	memcpy(at, bytes, length);
	frame->length += length;
	return at;
}

static size_t transport_length(uint8_t protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return sizeof(struct tcphdr);
	case IPPROTO_SCTP:
		return 12 + 20; /* common header, INIT chunk */
	default:
		return 8;
	}
}

static void put_ip(struct frame *frame, const struct oracle_flow *flow)
{
	size_t length = transport_length(flow->protocol);
	struct iphdr v4 = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(sizeof(v4) + length),
		.ttl = 64,
		.protocol = flow->protocol,
	};
	struct ipv6hdr v6 = {
		.version = 6,
		.payload_len = htons(length),
		.nexthdr = flow->protocol,
		.hop_limit = 64,
	};

	if (address_is_ipv4(&flow->source)) {
		memcpy(&v4.saddr, flow->source.bytes + 12, sizeof(v4.saddr));
		memcpy(&v4.daddr, flow->destination.bytes + 12, sizeof(v4.daddr));
		put(frame, &v4, sizeof(v4));
	} else {
		memcpy(&v6.saddr, flow->source.bytes, sizeof(v6.saddr));
		memcpy(&v6.daddr, flow->destination.bytes, sizeof(v6.daddr));
		put(frame, &v6, sizeof(v6));
	}
}

static void put_transport(struct frame *frame, const struct oracle_flow *flow, uint16_t source_port)
{
	size_t length = transport_length(flow->protocol);
	struct tcphdr tcp = {.doff = 5, .syn = 1, .seq = htonl(source_port)};
	struct udphdr udp = {.len = htons(length)};
	uint8_t bytes[32] = {0};

	switch (flow->protocol) {
	case IPPROTO_TCP:
		tcp.source = htons(source_port);
		tcp.dest = htons(flow->port);
		memcpy(bytes, &tcp, sizeof(tcp));
		break;
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		udp.source = htons(source_port);
		udp.dest = htons(flow->port);
		memcpy(bytes, &udp, flow->protocol == IPPROTO_UDP ? sizeof(udp) : 4);
		bytes[12] = flow->protocol == IPPROTO_SCTP; /* INIT */
		bytes[15] = 20;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		bytes[0] = flow->protocol == IPPROTO_ICMP ? 8 : 128; /* echo request */
		memcpy(bytes + 4, &source_port, sizeof(source_port));
		break;
	}
	put(frame, bytes, length);
}

static void make_frame(struct frame *frame, const struct oracle_flow *flow, uint16_t source_port)
{
	struct ethhdr ethernet = {
		.h_dest = {2, 0, 0, 0, 0, 2},
		.h_source = {2, 0, 0, 0, 0, 1},
		.h_proto = htons(address_is_ipv4(&flow->source) ? ETH_P_IP : ETH_P_IPV6),
	};

	frame->length = 0;
	put(frame, &ethernet, sizeof(ethernet));
	put_ip(frame, flow);
	put_transport(frame, flow, source_port);
}

/* True for unicast addresses; the programs have special rules for others. */
static bool is_ordinary(const struct address *address)
{
	const uint8_t *v4 = address->bytes + 12;

	if (address_is_ipv4(address))
		return v4[0] > 0 && v4[0] < 224 && v4[0] != 127 && !(v4[0] == 169 && v4[1] == 254);
	return address->bytes[0] > 0 && address->bytes[0] < 0xfe;
}

/* ICMP is for IPv4 only and ICMPv6 for IPv6 only. */
static bool is_sendable(const struct oracle_flow *flow)
{
	uint8_t foreign = address_is_ipv4(&flow->source) ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	return is_ordinary(&flow->source) && is_ordinary(&flow->destination) &&
	       flow->protocol != foreign;
}

/* ---- the node ---- */

static const struct endpoint *endpoint_here(const struct cluster *cluster,
					    const struct address *address)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		if (!endpoint->node || strcmp(endpoint->node, NODE) != 0)
			continue;
		for (size_t j = 0; j < endpoint->n_addresses; j++)
			if (memcmp(&endpoint->addresses[j], address, sizeof(*address)) == 0)
				return endpoint;
	}
	return NULL;
}

static bool is_node_here(const struct cluster *cluster, const struct address *address)
{
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *node = &cluster->nodes[i];

		for (size_t j = 0; strcmp(node->name, NODE) == 0 && j < node->n_addresses; j++)
			if (memcmp(&node->addresses[j], address, sizeof(*address)) == 0)
				return true;
	}
	return false;
}

static unsigned int interface_of(const struct node_here *here, const struct endpoint *endpoint)
{
	return here->pods[atoi(endpoint->name + strlen("pod-"))];
}

/* Moves most pods to this node, so that most flows have a guarded end. */
static void move_here(struct cluster *cluster, uint64_t seed)
{
	struct random random = {seed ^ 0x68657265};
	const char *node = cluster_intern(cluster, NODE, strlen(NODE));

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (random_chance(&random, 70))
			cluster->endpoints[i].node = node;
}

static void close_programs(struct node_here *here)
{
	int *fds[] = {&here->programs[FROM_ENDPOINT],
		      &here->programs[TO_ENDPOINT],
		      &here->programs[UPLINK],
		      &here->connections,
		      &here->shares,
		      &here->total,
		      &here->learned};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int open_pin(const struct node_here *here, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", here->pin, name);
	return bpf_obj_get(path);
}

/* Opens the uplink's program under libxdp's dispatcher, or alone if there is none. */
static int open_uplink(const struct node_here *here)
{
	uint32_t id = 0;
	int err = bpf_xdp_query_id(here->uplink, 0, &id);

	return err ? err : id ? bpf_prog_get_fd_by_id(id) : -ENOENT;
}

static int open_programs(struct node_here *here)
{
	close_programs(here);
	here->programs[FROM_ENDPOINT] = open_pin(here, hooks[FROM_ENDPOINT].name);
	here->programs[TO_ENDPOINT] = open_pin(here, hooks[TO_ENDPOINT].name);
	here->programs[UPLINK] = open_uplink(here);
	here->connections = open_pin(here, "ct");
	here->shares = open_pin(here, "shares");
	here->total = open_pin(here, "share_total");
	here->learned = open_pin(here, "learned");
	for (enum hook hook = 0; hook < N_HOOKS; hook++)
		if (here->programs[hook] < 0) {
			printf("# there is no %s\n", hooks[hook].name);
			return -ENOENT;
		}
	return here->connections < 0 || here->shares < 0 || here->total < 0 || here->learned < 0
		       ? -ENOENT
		       : 0;
}

/* Every second policy is a successor of the active one; the others are compiled apart. */
static int load_cluster(struct node_here *here, const struct cluster *cluster, uint64_t style)
{
	struct diag diag = {.to = NULL};
	const struct policy *base;
	struct node_change change;
	struct policy *policy;
	struct node_handle *handle;
	int err;

	err = node_open(&here->options, true, &diag, &handle);
	if (err)
		return err;
	err = node_policy(handle, &base);
	if (!err)
		err = generate_policy(cluster, style, style % 2 ? base : NULL, NULL, &policy);
	if (!err) {
		err = node_load(handle, policy, &change);
		policy_free(policy);
	}
	memcpy(here->domain_key, handle->domain_key, sizeof(here->domain_key));
	node_close(handle);
	return err ? err : open_programs(here);
}

/* Without ports, the next packet of the pair would belong to the same connection. */
static void forget(const struct node_here *here)
{
	static const struct bh_ct_group nothing;
	static struct bh_ct_group group;
	const struct bh_share_total none = {};
	uint32_t zero = 0, payer;

	for (uint32_t i = 0; !bpf_map_lookup_elem(here->connections, &i, &group); i++)
		if (memcmp(group.bucket, nothing.bucket, sizeof(group.bucket)) != 0)
			bpf_map_update_elem(here->connections, &i, &nothing, BPF_ANY);
	bpf_map_update_elem(here->total, &zero, &none, BPF_ANY);
	while (!bpf_map_get_next_key(here->shares, NULL, &payer))
		bpf_map_delete_elem(here->shares, &payer);
}

static void unload(struct node_here *here)
{
	struct diag diag = {.to = stdout};

	close_programs(here);
	if (node_unload(&here->options, &diag))
		here->failures++;
}

/* ---- one flow ---- */

struct trial {
	struct node_here *here;
	uint64_t seed;
	struct oracle_flow flow;
	char why[256]; /* of the last flow that differed */
};

static bool run_hook(struct trial *trial, enum hook hook, unsigned int ifindex,
		     unsigned int ingress, const struct frame *frame, bool allow)
{
	struct __sk_buff skb = {.ifindex = ifindex, .ingress_ifindex = ingress};
	struct xdp_md xdp = {.data_end = frame->length, .ingress_ifindex = ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->bytes, .data_size_in = frame->length,
		    .ctx_in = hook == UPLINK ? (void *)&xdp : (void *)&skb,
		    .ctx_size_in = hook == UPLINK ? sizeof(xdp) : sizeof(skb));
	int err = bpf_prog_test_run_opts(trial->here->programs[hook], &run);

	trial->here->packets++;
	if (!err && ((int)run.retval == hooks[hook].pass) == allow)
		return true;
	snprintf(trial->why, sizeof(trial->why), "%s: wanted %s, got %d (%s)", hooks[hook].name,
		 allow ? "a pass" : "a drop", (int)run.retval, err ? strerror(errno) : "ran");
	return false;
}

/*
 * The hook at the source applies the egress policy, the hook at the destination both policies.
 * Packets from outside come in by the uplink.
 */
static bool packet_agrees(struct trial *trial, const struct cluster *cluster)
{
	const struct oracle_flow *flow = &trial->flow;
	const struct endpoint *from = endpoint_here(cluster, &flow->source);
	const struct endpoint *to = endpoint_here(cluster, &flow->destination);
	struct oracle_decision egress, ingress;
	struct node_here *here = trial->here;
	unsigned int came_by = here->uplink;
	bool agrees = true;
	struct frame frame;

	oracle_evaluate(cluster, flow, &egress, &ingress);
	here->source_port = here->source_port % 20000 + 20001;
	make_frame(&frame, flow, here->source_port);
	if (from) {
		came_by = interface_of(here, from);
		agrees = run_hook(trial, FROM_ENDPOINT, came_by, came_by, &frame, egress.allow);
	} else if (is_node_here(cluster, &flow->source)) {
		came_by = 0;
	} else {
		/* The uplink drops by policy only SYNs; it does not look up connections. */
		agrees = run_hook(trial, UPLINK, came_by, came_by, &frame,
				  !to || ingress.allow || flow->protocol != IPPROTO_TCP);
	}
	if (to && agrees)
		agrees = run_hook(trial, TO_ENDPOINT, interface_of(here, to), came_by, &frame,
				  (!from || egress.allow) && ingress.allow);
	if (!flow->port)
		forget(here);
	return agrees;
}

#define LIFE 1000000 /* ticks: longer than the test */

/* Writes that the source has learned the destination by the flow's name, as an answer does, or with
 * @forget removes that. */
static bool learn(struct trial *trial, const struct cluster *cluster, struct live *live,
		  bool forget)
{
	const struct oracle_flow *flow = &trial->flow;
	const struct endpoint *from = endpoint_here(cluster, &flow->source);
	struct bh_learned_key key = {};
	struct bh_learned value = {};
	struct bh_domain_hash hash;
	uint64_t domain;

	if (!flow->name || !from)
		return true;
	memcpy(&key.addr, &flow->destination, sizeof(key.addr));
	key.ifindex = interface_of(trial->here, from);
	if (forget)
		return !bpf_map_delete_elem(trial->here->learned, &key);
	if (live_domain(live, flow->name, &domain))
		return false;
	bh_domain_begin(&hash, trial->here->domain_key[0], trial->here->domain_key[1]);
	value.domain[0] = domain;
	value.until[0] = bh_learned_stamp(bh_learned_owner(&hash, &key), domain,
					  program_tick_before(0) + LIFE);
	return !bpf_map_update_elem(trial->here->learned, &key, &value, BPF_ANY);
}

static bool maps_agree(struct trial *trial, const struct cluster *cluster, struct live *live)
{
	struct evaluate_source source = live_evaluate(live);
	const struct oracle_flow *flow = &trial->flow;
	struct flow question = verdict_line_flow(flow);
	char wanted[2][ORACLE_TEXT], found[2][ORACLE_TEXT];
	struct oracle_decision out, in;
	struct decision egress, ingress;
	bool allow = oracle_evaluate(cluster, flow, &out, &in);
	bool same =
		evaluate_flow(&source, live_policy(live), &question, &egress, &ingress) == allow;

	oracle_print(&out, wanted[0]);
	oracle_print(&in, wanted[1]);
	decision_print(live_policy(live), &egress, found[0], sizeof(found[0]));
	decision_print(live_policy(live), &ingress, found[1], sizeof(found[1]));
	if (same && strcmp(wanted[0], found[0]) == 0 && strcmp(wanted[1], found[1]) == 0)
		return true;
	snprintf(trial->why, sizeof(trial->why), "the maps say %.100s | %.100s", found[0],
		 found[1]);
	return false;
}

static bool flow_agrees(struct trial *trial, const struct cluster *cluster, struct live *live)
{
	/* The second connection of the same ends is served from the verdict cache. */
	bool agrees = maps_agree(trial, cluster, live) && learn(trial, cluster, live, false) &&
		      packet_agrees(trial, cluster) && packet_agrees(trial, cluster);

	return learn(trial, cluster, live, true) && agrees;
}

static bool flow_fails(struct cluster *cluster, void *data)
{
	struct trial *trial = data;
	struct diag diag = {.to = NULL};
	struct live *live = NULL;
	bool fails;

	if (load_cluster(trial->here, cluster, trial->seed))
		return false;
	if (live_open(trial->here->pin, &diag, &live))
		return false;
	fails = live && !flow_agrees(trial, cluster, live);
	live_close(live);
	return fails;
}

static void report(struct cluster *cluster, struct trial *trial)
{
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], egress[ORACLE_TEXT];
	const struct oracle_flow *flow = &trial->flow;
	struct oracle_decision out, in;
	char ingress[ORACLE_TEXT];

	printf("# SEED=%" PRIu64 ": %s\n", trial->seed, trial->why);
	/* A failure that a single load does not reproduce cannot be shrunk: it is printed whole. */
	if (flow_fails(cluster, trial))
		generate_shrink(cluster, flow_fails, trial);
	else
		printf("# not so when it is loaded once more\n");
	generate_comment(cluster, trial->seed);
	oracle_evaluate(cluster, flow, &out, &in);
	printf("# flow %s %s protocol %u port %u name %s on " NODE "\n# oracle %s | %s\n# %s\n",
	       address_print(&flow->source, source), address_print(&flow->destination, destination),
	       flow->protocol, flow->port, flow->name ? flow->name : "-",
	       oracle_print(&out, egress), oracle_print(&in, ingress), trial->why);
	trial->here->failures++;
}

/* ---- all flows ---- */

static void run_flows(struct node_here *here, struct cluster *cluster, uint64_t seed)
{
	struct trial trial = {.here = here, .seed = seed};
	struct random random = {seed ^ 0x7061636b};
	struct diag diag = {.to = stdout};
	struct flow_space space;
	struct live *live;
	bool agree = true;

	if (live_open(here->pin, &diag, &live) || !live) {
		here->failures++;
		return;
	}
	flow_space_init(&space, cluster);
	for (int i = 0; i < FLOWS && agree; i++) {
		generate_flow(&space, &random, &trial.flow);
		agree = !is_sendable(&trial.flow) || flow_agrees(&trial, cluster, live);
	}
	flow_space_free(&space);
	live_close(live);
	if (!agree)
		report(cluster, &trial);
}

static void run_cluster(struct node_here *here, uint64_t seed)
{
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	generate_cluster(&cluster, seed);
	move_here(&cluster, seed);
	err = load_cluster(here, &cluster, seed);
	if (err) {
		printf("# SEED=%" PRIu64 ": not loaded: %s\n", seed, strerror(-err));
		here->failures++;
	} else {
		run_flows(here, &cluster, seed);
	}
	cluster_free(&cluster);
}

/* ---- a node of its own ---- */

/* Makes the routes by which the loader finds the pods' interfaces. */
static int make_interfaces(struct node_here *here)
{
	FILE *batch = ip_batch_begin();
	char name[IF_NAMESIZE];

	if (!batch)
		return -errno;
	for (int i = 0; i <= GENERATE_PODS; i++) {
		ip_batch_add(batch, "link add host%d type veth peer name pod%d", i, i);
		ip_batch_add(batch, "link set pod%d addrgenmode none up", i);
		ip_batch_add(batch, "link set host%d addrgenmode none up", i);
		if (i == GENERATE_PODS)
			break;
		ip_batch_add(batch, "route add 10.0.0.%d/32 dev host%d", i, i);
		ip_batch_add(batch, "route add 10.0.0.%d/32 dev host%d", 16 + i, i);
		ip_batch_add(batch, "route add fd00::%x/128 dev host%d", i, i);
	}
	if (ip_batch_end(batch))
		return -ENODEV;
	for (int i = 0; i < GENERATE_PODS; i++) {
		snprintf(name, sizeof(name), "host%d", i);
		here->pods[i] = if_nametoindex(name);
	}
	here->uplink = if_nametoindex(UPLINK_NAME);
	return here->uplink ? 0 : -ENODEV;
}

static int run_clusters(struct node_here *here)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);

	for (uint64_t i = 0; i < seeds.count && here->failures < FAILURES_MAX; i++) {
		run_cluster(here, seeds.first + i);
		if (i % UNLOAD_EVERY == UNLOAD_EVERY - 1)
			unload(here);
	}
	unload(here);
	printf("%sok 1 - what the programs pass and the maps say is what the oracle allows\n",
	       here->failures ? "not " : "");
	printf("# %" PRIu64 " packets, %" PRIu64 " clusters\n", here->packets, seeds.count);
	return here->failures > 0;
}

static int run(const char *pin)
{
	static const char *const uplinks[] = {UPLINK_NAME}, *const settings[] = {
								    "connections=1024"};
	struct node_here here = {
		/*
		 * The clusters share nothing: a load may remove every endpoint of the one before.
		 */
		.options = {.pin = here.pin,
			    .name = NODE,
			    .uplinks = uplinks,
			    .n_uplinks = 1,
			    .force = true,
			    .settings = settings,
			    .n_settings = 1},
		.programs = {-1, -1, -1},
		.connections = -1,
		.shares = -1,
		.total = -1,
	};
	int err;

	snprintf(here.pin, sizeof(here.pin), "%s", pin);
	err = make_interfaces(&here);
	if (err) {
		printf("not ok 1 - no interfaces: %s\n", strerror(-err));
		return 1;
	}
	return run_clusters(&here);
}

int main(void)
{
	return own_process_run(run);
}
