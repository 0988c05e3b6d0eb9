// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/sequence_node.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "maps/config.h"
#include "maps/endpoint.h"
#include "maps/fragment.h"
#include "maps/share.h"
#include "node/kernel/program.h"
#include "selftests/lib/ip_batch.h"
#include "selftests/lib/load_input.h"
#include "selftests/lib/own_node.h"
#include "selftests/lib/packet.h"

#define BRIDGE_MAC "02:00:00:00:01:fe"
#define TWIN "10.2.%u.1%u" /* a pod elsewhere, in the segment of a role and policy */

enum table { SWEEPER, FRAGMENTS, ENDPOINTS, CONFIG, TABLES };

static const char *const tables[TABLES] = {"ct_sweeper", "fragments", "endpoints", "config"};

/* Of senders whose interfaces have numbers below 60. */
#define FRAGMENT_BUCKETS (BH_FRAGMENT_NODE + BH_FRAGMENT_OUTSIDE + 64 * BH_FRAGMENT_OWN)
#define FRAGMENTS_SIZE (FRAGMENT_BUCKETS * sizeof(struct bh_fragments))

static const char *const settings[] = {
	"timeout-tcp=1050",	 "timeout-tcp-closing=150", "timeout-tcp-reset=150",
	"timeout-udp=350",	 "timeout-udp-stream=350",  "timeout-half-open=250",
	"timeout-sctp=450",	 "timeout-icmp=150",	    "timeout-other=450",
	"timeout-denied=250",	 "timeout-fragment=150",    "event-rate=0",
	OWN_CONNECTIONS_SETTING,
};

struct sequence_node {
	struct own_node own;
	unsigned int ifindex[ACTORS],
		bridge; /* [LAN]: the bridge's other port, [OUTSIDE]: the uplink */
	int programs[4]; /* by enum hook */
	int tables[TABLES];
	struct bh_fragments *fragments; /* mapped; NULL: not mapped yet */
	struct policies
		policies[POLICIES]; /* all are loaded, and each pod is in the segment of one */
	uint64_t slots[POLICIES][PODS]; /* of bh_segments, by role */
	bool full; /* the table is, and the garbage collector is stopped */
	uint64_t owner; /* of the garbage collector then */
	int active; /* -1: none is loaded */
	int role; /* GUEST's labels; -1: absent */
};

/* ---- policies ---- */

static const char *main_address(unsigned int actor, uint8_t version, char text[64])
{
	switch (actor) {
	case NODE:
		return version == 4 ? "192.168.7.1" : "fd00:7::1";
	case LAN:
		return version == 4 ? "10.1.0.200" : "fd00:1::c8";
	case OUTSIDE:
		return version == 4 ? "198.51.100.9" : "2001:db8:9::9";
	case REMOTE:
		return version == 4 ? "10.2.0.1" : "fd00:2::1";
	}
	snprintf(text, 64, version == 4 ? "10.1.0.%u" : "fd00:1::%x", actor + 1);
	return text;
}

static void print_peers(FILE *to, unsigned int peers)
{
	const char *comma = "";

	if (peers & PEER_ANY) {
		fprintf(to, "any");
		return;
	}
	for (unsigned int actor = 0; actor < ACTORS; actor++) {
		if (!(peers & PEER(actor)) || actor == NODE)
			continue;
		if (actor == LAN)
			fprintf(to, "%scidr(10.1.0.192/27), cidr(fd00:1::c0/123)", comma);
		else if (actor == OUTSIDE)
			fprintf(to, "%scidr(198.51.100.0/24), cidr(2001:db8:9::/48)", comma);
		else
			fprintf(to, "%sendpoints(role=%s)", comma, actor_names[actor]);
		comma = ", ";
	}
}

static void print_rules(FILE *to, const struct rules *rules, const char *direction)
{
	for (int i = 0; i < rules->n; i++) {
		fprintf(to, "%s = %s ", direction, strcmp(direction, "ingress") ? "to" : "from");
		print_peers(to, rules->rule[i].peers);
		fprintf(to, "%s\n",
			rules->rule[i].ports == PORTS_SEVEN ? " ports TCP/7, UDP/7, SCTP/7" : "");
	}
}

/* @which of the loaded policies: it selects pods by a label of its own. */
static void print_policies(FILE *to, const struct policies *policies, unsigned int which)
{
	for (unsigned int role = 0; role < PODS; role++) {
		const char *name = actor_names[role];

		for (int direction = 0; direction < 2; direction++) {
			const struct rules *rules = &policies->rules[role][direction];

			if (!rules->isolates)
				continue;
			fprintf(to, "[network-policy t/%s-%s-%u]\n", name,
				direction ? "egress" : "ingress", which);
			fprintf(to, "endpoints = role=%s, policy=%u\ntypes = %s\n", name, which,
				direction ? "Egress" : "Ingress");
			print_rules(to, rules, direction ? "egress" : "ingress");
		}
		if (policies->no_node[role])
			fprintf(to,
				"[admin-network-policy %s-%u]\npriority = %u\n"
				"subject = endpoints(role=%s, policy=%u in namespaces())\n"
				"egress = Deny to nodes()\n",
				name, which, which * PODS + role, name, which);
	}
}

void sequence_node_print_policies(FILE *to, const void *policies)
{
	print_policies(to, policies, 0);
}

static void print_pod(FILE *to, unsigned int pod, unsigned int role, unsigned int which)
{
	fprintf(to, "[endpoint t/%s]\nnode = here\ninterface = %s\nip = 10.1.0.%u, fd00:1::%x\n",
		actor_names[pod], actor_names[pod], pod + 1, pod + 1);
	fprintf(to, "mac = 02:00:00:00:00:%02x\nlabels = role=%s, policy=%u\n", pod + 1,
		actor_names[role], which);
	if (is_bridged_pod(pod))
		fprintf(to, "mode = l2\n");
	if (is_audited(pod))
		fprintf(to, "audit = yes\n");
}

/*
 * Leaves out GUEST. For each policy and role there is a pod elsewhere with these labels, so that a
 * segment exists, and its address leads to the segment.
 */
static void print_input(FILE *to, const void *data)
{
	const struct policies *policies = data;

	fprintf(to, "[node here]\nip = 192.168.7.1, fd00:7::1, 10.1.0.254, fd00:1::fe\n");
	for (unsigned int pod = 0; pod < PODS; pod++)
		if (pod != GUEST)
			print_pod(to, pod, pod, 0);
	fprintf(to,
		"[endpoint t/remote]\nnode = there\nip = 10.2.0.1, fd00:2::1\n"
		"labels = role=%s\n",
		actor_names[REMOTE]);
	for (unsigned int which = 0; which < POLICIES; which++) {
		for (unsigned int role = 0; role < PODS; role++)
			fprintf(to,
				"[endpoint t/twin-%u-%u]\nnode = there\nip = " TWIN "\n"
				"labels = role=%s, policy=%u\n",
				which, role, which, role, actor_names[role], which);
		print_policies(to, &policies[which], which);
	}
}

struct guest {
	unsigned int role, which;
};

static void print_guest(FILE *to, const void *data)
{
	const struct guest *guest = data;

	print_pod(to, GUEST, guest->role, guest->which);
}

/* ---- the programs ---- */

/* Opens the uplink's program under libxdp's dispatcher, or alone if there is none. */
static int open_uplink(const struct sequence_node *node)
{
	uint32_t id = 0;
	int err = bpf_xdp_query_id(node->ifindex[OUTSIDE], 0, &id);

	return err ? err : id ? bpf_prog_get_fd_by_id(id) : -ENOENT;
}

static int open_programs(struct sequence_node *node)
{
	static const char *const programs[] = {
		[HOOK_FROM] = "tc_from_endpoint",
		[HOOK_TO] = "tc_to_endpoint",
		[HOOK_PORT] = "tc_uplink",
	};
	int err = local_node_open(&node->own);

	local_node_close_fds(node->programs, 4);
	local_node_close_fds(node->tables, TABLES);
	if (err)
		return err;
	for (enum hook hook = 0; hook <= HOOK_UPLINK; hook++) {
		node->programs[hook] = hook == HOOK_UPLINK
					       ? open_uplink(node)
					       : local_node_pin(&node->own, programs[hook]);
		if (node->programs[hook] < 0) {
			printf("# there is no program for hook %d\n", hook);
			return node->programs[hook];
		}
	}
	for (enum table table = 0; table < TABLES; table++) {
		node->tables[table] = local_node_pin(&node->own, tables[table]);
		if (node->tables[table] < 0)
			return node->tables[table];
	}
	if (node->fragments)
		munmap(node->fragments, FRAGMENTS_SIZE);
	node->fragments = local_node_map(node->tables[FRAGMENTS], FRAGMENTS_SIZE);
	return node->fragments ? 0 : -errno;
}

static int read_endpoint(const struct sequence_node *node, const char *text, struct bh_addr *addr,
			 struct bh_endpoint *endpoint)
{
	*addr = (struct bh_addr){.word[2] = htonl(0xffff)};
	if (strchr(text, ':'))
		inet_pton(AF_INET6, text, addr);
	else
		inet_pton(AF_INET, text, &addr->word[3]);
	return bpf_map_lookup_elem(node->tables[ENDPOINTS], addr, endpoint) ? -errno : 0;
}

static int read_config(const struct sequence_node *node, struct bh_config *config)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(node->tables[CONFIG], &zero, config) ? -errno : 0;
}

/* Finds the slots of each policy's and role's segment. */
static int find_slots(struct sequence_node *node)
{
	struct bh_endpoint endpoint;
	struct bh_config config;
	struct bh_addr addr;
	char text[64];
	int err = read_config(node, &config);

	for (unsigned int i = 0; !err && i < POLICIES * PODS; i++) {
		snprintf(text, sizeof(text), TWIN, i / PODS, i % PODS);
		err = read_endpoint(node, text, &addr, &endpoint);
		node->slots[i / PODS][i % PODS] = bh_assignment_slot(bh_assignment_at(
			endpoint.assignment[0], endpoint.assignment[1], config.generation));
	}
	return err;
}

/* Moves an endpoint as the command does: replaces the older one of its two assignments. */
static int assign(const struct sequence_node *node, const char *text, uint32_t generation,
		  uint64_t slot)
{
	struct bh_endpoint endpoint;
	struct bh_addr addr;
	__u64 *word = endpoint.assignment;
	int err = read_endpoint(node, text, &addr, &endpoint);

	if (err)
		return err;
	if (bh_assignment_generation(word[0]) > bh_assignment_generation(word[1]))
		word++;
	*word = bh_assignment(generation, slot, 0);
	return bpf_map_update_elem(node->tables[ENDPOINTS], &addr, &endpoint, BPF_EXIST) ? -errno
											 : 0;
}

/*
 * All pods move to the segments that another policy gives them, as a load moves them, but without
 * its waits: their next assignments, then one store.
 */
int sequence_node_flip(struct sequence_node *node, unsigned int which)
{
	struct bh_config config;
	char text[64];
	uint32_t zero = 0;
	int err = read_config(node, &config);

	if (node->active == (int)which)
		return 0;
	for (unsigned int pod = 0; !err && pod < PODS; pod++) {
		unsigned int role = pod == GUEST ? (unsigned int)node->role : pod;

		if (pod == GUEST && node->role < 0)
			continue;
		for (int version = 4; !err && version <= 6; version += 2)
			err = assign(node, main_address(pod, version, text), config.generation + 1,
				     node->slots[which][role]);
	}
	config.generation++;
	config.changes += 2;
	if (!err && bpf_map_update_elem(node->tables[CONFIG], &zero, &config, BPF_EXIST))
		err = -errno;
	node->active = which;
	return err;
}

int sequence_node_leave(struct sequence_node *node)
{
	struct diag diag = {.to = stdout};
	struct node_handle *handle;
	int err;

	if (node->role < 0)
		return 0;
	err = node_open(&node->own.options, false, &diag, &handle);
	if (err)
		return err;
	err = node_endpoint_del(handle, "t", actor_names[GUEST]);
	node_close(handle);
	node->role = -1;
	return err;
}

int sequence_node_load(struct sequence_node *node, const struct policies *policies)
{
	int err = 0;

	if (node->active >= 0 && !memcmp(node->policies, policies, sizeof(node->policies)))
		return 0;
	/* GUEST's segment depends on the policies at the time of its add. */
	if (node->active >= 0)
		err = sequence_node_leave(node);
	memcpy(node->policies, policies, sizeof(node->policies));
	if (!err)
		err = load_input(&node->own.options, print_input, node->policies);
	if (!err)
		err = open_programs(node);
	if (!err)
		err = find_slots(node);
	if (err)
		printf("# no policy: %s\n", strerror(-err));
	node->active = 0;
	return err;
}

int sequence_node_arrive(struct sequence_node *node, unsigned int role)
{
	struct guest guest = {role, node->active};
	struct diag diag = {.to = stdout};
	struct cluster cluster;
	struct node_handle *handle;
	bool isolated = false;
	int err;

	if (node->role == (int)role)
		return 0;
	err = sequence_node_leave(node);
	if (!err)
		err = node_open(&node->own.options, false, &diag, &handle);
	if (err)
		return err;
	err = read_input(print_guest, &guest, &cluster);
	if (!err) {
		err = node_endpoint_add(handle, &cluster.endpoints[0], &isolated);
		cluster_free(&cluster);
	}
	node_close(handle);
	node->role = role;
	if (!err && isolated) {
		printf("# there is no segment for the labels of %s\n", actor_names[role]);
		return -ENOENT;
	}
	return err;
}

/* ---- what the programs remember ---- */

static int forget(const struct sequence_node *node)
{
	memset(node->fragments, 0, FRAGMENTS_SIZE);
	return local_node_forget(&node->own);
}

int sequence_node_wait(struct sequence_node *node, unsigned int seconds)
{
	uint32_t ticks = (uint64_t)seconds * program_jiffies_per_second() >> BH_TICK_SHIFT;

	for (unsigned int i = 0; i < OWN_BUCKETS * BH_CT_SLOTS; i++)
		bh_ct_slots(node->own.connections, i / BH_CT_SLOTS)[i % BH_CT_SLOTS].ct.seen -=
			ticks;
	for (unsigned int i = 0; i < FRAGMENT_BUCKETS * BH_FRAGMENT_WAYS; i++) {
		__u64 *first =
			&node->fragments[i / BH_FRAGMENT_WAYS].way[i % BH_FRAGMENT_WAYS].first;

		*first -= *first ? (uint64_t)ticks << 32 : 0;
	}
	return local_node_void_flow_caches(&node->own);
}

#define FILLER 0x1000000 /* no interface's index */

static int read_sweeper(const struct sequence_node *node, struct bh_ct_sweeper *sweeper)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(node->tables[SWEEPER], &zero, sweeper) ? -errno : 0;
}

/* Lets the programs evaluate a frame without an IP header. After a load, the first one that they
 * evaluate starts their garbage collector. */
static int start_sweeper(struct sequence_node *node)
{
	uint8_t bytes[64] = {0};
	struct __sk_buff skb = {.ifindex = node->ifindex[0], .ingress_ifindex = node->ifindex[0]};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = bytes, .data_size_in = sizeof(bytes),
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	if (bpf_prog_test_run_opts(node->programs[HOOK_FROM], &run))
		return -errno;
	sequence_node_reason(node);
	return 0;
}

/* Stops the garbage collector, which would free the closed connections of fill(), and whose
 * timeouts are short in a table that is full: a write to the map cancels the timer, and the
 * programs start none while `owner` is theirs. */
static int stop_sweeper(struct sequence_node *node)
{
	struct bh_ct_sweeper sweeper = {};
	uint32_t zero = 0;
	int err = start_sweeper(node);

	if (!err)
		err = read_sweeper(node, &sweeper);
	if (!err && bpf_map_update_elem(node->tables[SWEEPER], &zero, &sweeper, BPF_ANY))
		err = -errno;
	node->owner = sweeper.owner;
	return err;
}

int sequence_node_rests(const struct sequence_node *node)
{
	struct bh_ct_sweeper sweeper;
	int err;

	if (!node->full)
		return 0;
	err = read_sweeper(node, &sweeper);
	if (err || sweeper.owner == node->owner)
		return err;
	printf("# the garbage collector runs in the full table\n");
	return -EBUSY;
}

/* Fills every slot with a closed connection that is older than any that a sequence closes, and so
 * is replaced before it: whichever buckets the hash chooses, the programs forget none of the
 * sequence's. */
static int fill(const struct sequence_node *node)
{
	const struct bh_share_total total = {.surplus = 1 << 20, .capacity = 1};
	const struct bh_share share = {.count = OWN_BUCKETS * BH_CT_SLOTS, .holder = FILLER + 1};
	uint32_t zero = 0, filler = FILLER;

	for (unsigned int i = 0; i < OWN_BUCKETS * BH_CT_SLOTS; i++) {
		struct bh_ct_bucket *bucket = bh_ct_bucket(node->own.connections, i / BH_CT_SLOTS);
		struct bh_ct_slot *slot =
			&bh_ct_slots(node->own.connections, i / BH_CT_SLOTS)[i % BH_CT_SLOTS];

		slot->key = (struct bh_ct_key){.addr = {{i, i}, {i, i}}, .protocol = IPPROTO_TCP};
		slot->ct = (struct bh_ct){
			.verdict = {1, 1}, .state = BH_CT_RST, .payer = FILLER | BH_CT_SURPLUS};
		bucket->tag[i % BH_CT_SLOTS] = BH_CT_TAKEN;
	}
	if (bpf_map_update_elem(node->own.tables[OWN_SHARES], &filler, &share, BPF_ANY) ||
	    bpf_map_update_elem(node->own.tables[OWN_SHARE_TOTAL], &zero, &total, BPF_ANY))
		return -errno;
	return 0;
}

int sequence_node_begin(struct sequence_node *node, bool full)
{
	int err = sequence_node_flip(node, 0);

	node->full = full;
	if (!err)
		err = sequence_node_arrive(node, GUEST);
	if (!err && full)
		err = stop_sweeper(node);
	if (!err)
		err = forget(node);
	return err || !full ? err : fill(node);
}

/* ---- frames ---- */

static void mac_of(unsigned int actor, uint8_t mac[6])
{
	const uint8_t of[6] = {2, 0, 0, 0, 0, actor + 1};

	memcpy(mac, of, 6);
	if (actor == NODE) { /* of the bridge */
		mac[4] = 1;
		mac[5] = 0xfe;
	}
}

static void mac_to(const struct step *step, uint8_t mac[6])
{
	if (step->mac_to == TO_ROUTER)
		mac_of(NODE, mac);
	else if (step->mac_to < ACTORS)
		mac_of(step->mac_to, mac);
	else if (step->version == 6)
		memcpy(mac, "\x33\x33\0\0\0\1", 6);
	else if (step->destination.kind == GROUP)
		memcpy(mac, "\1\0\x5e\0\0\xfb", 6);
	else
		memset(mac, 0xff, 6);
}

static void address_of(const struct place *place, uint8_t version, uint8_t address[16])
{
	const char *from = version == 4 ? "0.0.0.0" : "::";
	char text[64];

	switch (place->kind) {
	case MAIN:
		from = main_address(place->actor, version, text);
		break;
	case SECOND:
		snprintf(text, sizeof(text), version == 4 ? "10.1.1.%u" : "fd00:1:1::%x",
			 place->actor + 1);
		from = text;
		break;
	case LINK:
		/* Link-local addresses are made from the MACs. */
		snprintf(text, sizeof(text), "fe80::ff:fe00:%x", place->actor + 1);
		from = place->actor == NODE ? "fe80::1" : text;
		break;
	case GROUP:
		from = version == 4 ? "224.0.0.251" : "ff02::fb";
		break;
	case ALL:
		from = version == 4 ? "255.255.255.255" : "ff02::1";
		break;
	}
	inet_pton(version == 4 ? AF_INET : AF_INET6, from, address);
}

/* Replaces packet_build()'s own hosts by the sequence's addresses. */
static void put_addresses(uint8_t *ip, uint8_t version, const struct place *source,
			  const struct place *destination)
{
	size_t at = version == 4 ? 12 : 8, size = version == 4 ? 4 : 16;
	uint8_t address[16];

	address_of(source, version, address);
	memcpy(ip + at, address, size);
	address_of(destination, version, address);
	memcpy(ip + at + size, address, size);
}

static uint32_t initial_number(const struct place *place, uint8_t which)
{
	return (which + 1u) * 0x20000000 + place->actor * 0x100000 + place->kind * 0x1000;
}

/* The numbers that an end sends after its SYN and four bytes. */
static void fill_numbers(const struct step *step, struct packet_spec *spec)
{
	bool opens = step->flags & TCP_S;

	spec->seq = initial_number(&step->source, step->number) + (opens ? 0 : 1);
	if (step->flags & TCP_R)
		spec->seq += 4;
	if (step->flags & TCP_A)
		spec->ack = initial_number(&step->destination, step->acknowledged) + 1;
}

static void fill_icmp(const struct step *step, struct packet_spec *spec, struct packet_spec *quoted)
{
	if (step->icmp == ICMP_REQUEST)
		spec->type = step->version == 4 ? 8 : 128;
	else if (step->icmp == ICMP_REPLY)
		spec->type = step->version == 4 ? 0 : 129;
	else
		spec->type = step->version == 4 ? 3 : 1;
	if (step->icmp != ICMP_ERROR)
		return;
	*quoted = (struct packet_spec){.version = step->version,
				       .protocol = step->quoted,
				       .sport = step->quoted_sport,
				       .dport = step->quoted_dport,
				       .type = step->version == 4 ? 8 : 128,
				       .payload = 8};
	spec->quoted = quoted;
}

static void make_frame(const struct step *step, const struct sight *sight,
		       struct packet_frame *frame)
{
	struct packet_spec quoted, spec = {
					   .version = step->version,
					   .protocol = step->protocol,
					   .sport = step->sport,
					   .dport = step->dport,
					   .flags = step->flags,
					   .payload = step->payload,
					   .fragment = step->fragment,
					   .fragment_at = step->fragment_at,
					   .more = step->more,
					   .id = step->id,
				   };

	if (step->protocol == IPPROTO_TCP)
		fill_numbers(step, &spec);
	if (step->icmp)
		fill_icmp(step, &spec, &quoted);
	packet_build(&spec, frame);
	mac_of(step->mac_from, frame->bytes + 6);
	mac_to(step, frame->bytes);
	if (sight->routed) {
		mac_of(NODE, frame->bytes + 6);
		mac_of(sight->at, frame->bytes);
	}
	put_addresses(frame->bytes + frame->l3, step->version, &step->source, &step->destination);
	if (step->icmp == ICMP_ERROR)
		put_addresses(frame->bytes + frame->l3 + (step->version == 4 ? 20 : 40) + 8,
			      step->version, &step->destination, &step->about);
}

/* The interface by which the frame came to the node, as the kernel tells the program. */
static unsigned int ingress_of(const struct sequence_node *node, const struct step *step,
			       const struct sight *sight)
{
	if (step->from == NODE)
		return 0;
	if (sight->routed && is_on_bridge(step->from))
		return node->bridge;
	return node->ifindex[step->from];
}

int sequence_node_next_cpu(struct sequence_node *node)
{
	return local_node_next_cpu(&node->own);
}

int sequence_node_run(const struct sequence_node *node, const struct step *step,
		      const struct sight *sight)
{
	struct packet_frame frame;
	struct __sk_buff skb = {.ifindex = node->ifindex[sight->at],
				.ingress_ifindex = ingress_of(node, step, sight)};
	struct xdp_md xdp = {.ingress_ifindex = skb.ifindex};
	bool is_xdp = sight->hook == HOOK_UPLINK;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame.bytes,
		    .ctx_in = is_xdp ? (void *)&xdp : (void *)&skb,
		    .ctx_size_in = is_xdp ? sizeof(xdp) : sizeof(skb));

	make_frame(step, sight, &frame);
	run.data_size_in = xdp.data_end = frame.length;
	if (bpf_prog_test_run_opts(node->programs[sight->hook], &run)) {
		printf("# BPF_PROG_TEST_RUN: %s\n", strerror(errno));
		return -errno;
	}
	return run.retval == (is_xdp ? XDP_PASS : (uint32_t)-1 /* TC_ACT_UNSPEC */);
}

const char *sequence_node_reason(struct sequence_node *node)
{
	return local_node_reason(&node->own);
}

/* ---- the interfaces ---- */

/* The peer is in the parent process's namespace: it is no interface of the node. */
static void make_interface(FILE *batch, const char *name)
{
	ip_batch_add(batch, "link add %s type veth peer name %s netns %d", name, name, getppid());
	ip_batch_add(batch, "link set %s address " BRIDGE_MAC, name);
	ip_batch_add(batch, "link set %s addrgenmode none up", name);
}

/* The node has fe80::1 on every link, like a gateway with the same address for all pods. */
static void make_link(FILE *batch, unsigned int pod)
{
	const char *name = actor_names[pod];

	make_interface(batch, name);
	if (is_bridged_pod(pod)) {
		ip_batch_add(batch, "link set %s address 02:00:00:00:02:%02x master bridge", name,
			     pod);
		ip_batch_add(batch, "route add 10.1.1.%u/32 via 10.1.0.%u", pod + 1, pod + 1);
		ip_batch_add(batch, "route add fd00:1:1::%x/128 via fd00:1::%x", pod + 1, pod + 1);
		return;
	}
	ip_batch_add(batch, "addr add fe80::1/64 dev %s nodad", name);
	ip_batch_add(batch, "route add 10.1.0.%u/32 dev %s", pod + 1, name);
	ip_batch_add(batch, "route add 10.1.1.%u/32 dev %s", pod + 1, name);
	ip_batch_add(batch, "route add fd00:1::%x/128 dev %s", pod + 1, name);
	ip_batch_add(batch, "route add fd00:1:1::%x/128 dev %s", pod + 1, name);
}

static int make_interfaces(struct sequence_node *node)
{
	FILE *batch = ip_batch_begin();

	if (!batch)
		return -errno;
	ip_batch_add(batch, "link set lo up");
	ip_batch_add(batch, "link add bridge type bridge");
	ip_batch_add(batch, "link set bridge address " BRIDGE_MAC);
	ip_batch_add(batch, "link set bridge addrgenmode none up");
	ip_batch_add(batch, "addr add 10.1.0.254/24 dev bridge");
	ip_batch_add(batch, "addr add fd00:1::fe/64 dev bridge nodad");
	ip_batch_add(batch, "addr add fe80::1/64 dev bridge nodad");
	for (unsigned int pod = 0; pod < PODS; pod++)
		make_link(batch, pod);
	make_interface(batch, actor_names[LAN]);
	ip_batch_add(batch, "link set %s address 02:00:00:00:02:ff master bridge",
		     actor_names[LAN]);
	make_interface(batch, actor_names[OUTSIDE]);
	ip_batch_add(batch, "addr add 192.168.7.1/24 dev %s", actor_names[OUTSIDE]);
	ip_batch_add(batch, "addr add fd00:7::1/64 dev %s nodad", actor_names[OUTSIDE]);
	if (ip_batch_end(batch))
		return -ENODEV;
	for (unsigned int actor = 0; actor < REMOTE; actor++)
		node->ifindex[actor] = if_nametoindex(actor_names[actor]);
	node->ifindex[REMOTE] = node->ifindex[OUTSIDE];
	node->bridge = if_nametoindex("bridge");
	return 0;
}

int sequence_node_open(const char *pin, struct sequence_node **result)
{
	static const char *const uplinks[] = {"outside"};
	struct sequence_node *node = calloc(1, sizeof(*node));
	int err;

	if (!node)
		return -ENOMEM;
	memset(node->programs, -1, sizeof(node->programs));
	memset(node->tables, -1, sizeof(node->tables));
	node->role = node->active = -1;
	err = local_node_begin(&node->own, pin, uplinks, settings,
			       sizeof(settings) / sizeof(settings[0]));
	if (!err && unshare(CLONE_NEWNET))
		err = -errno;
	if (!err)
		err = make_interfaces(node);
	if (err) {
		printf("# no node: %s\n", strerror(-err));
		sequence_node_close(node);
		return err;
	}
	*result = node;
	return 0;
}

void sequence_node_close(struct sequence_node *node)
{
	local_node_close_fds(node->programs, 4);
	local_node_close_fds(node->tables, TABLES);
	local_node_close(&node->own);
	free(node);
}
