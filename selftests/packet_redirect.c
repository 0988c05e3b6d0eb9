/* SPDX-License-Identifier: GPL-2.0-only */
/* Redirect between two endpoints: which packets take it, and how the frames look then. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "selftests/lib/packet_rows.h"

#define REDIRECT 7 /* TC_ACT_REDIRECT */
#define PASS -1 /* TC_ACT_UNSPEC */

/* The node's sides of the veth pairs. */
static const uint8_t mac_a[ETH_ALEN] = {2, 0, 0, 0, 9, 1}, mac_b[ETH_ALEN] = {2, 0, 0, 0, 9, 2};
static int version, number, failed;
static uint8_t out[PACKET_SIZE]; /* the last frame, as the hook left it */

static void result(const char *name, bool good)
{
	failed += !good;
	printf("%s %d - IPv%d: %s\n", good ? "ok" : "not ok", ++number, version, name);
}

static uint32_t ipv4_sum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(struct iphdr); i += 2)
		sum += header[i] << 8 | header[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

/* Runs a pod's hook on a frame that the pod sends to a MAC. */
static int leave(enum packet_hook hook, const struct packet_spec *spec, const uint8_t *mac)
{
	struct __sk_buff skb = {.ifindex = packet_node_ifindex(hook),
				.ingress_ifindex = packet_node_ifindex(hook)};
	struct packet_frame in;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in.bytes, .data_out = out,
		    .data_size_out = sizeof(out), .ctx_in = &skb, .ctx_size_in = sizeof(skb),
		    .repeat = 1);

	packet_build(spec, &in);
	memcpy(in.bytes, mac, ETH_ALEN);
	if (version == 4) {
		struct iphdr *ip = (void *)(in.bytes + in.l3);

		ip->check = 0;
		ip->check = htons(~ipv4_sum((void *)ip));
	}
	run.data_size_in = in.length;
	if (bpf_prog_test_run_opts(packet_node_program(hook), &run)) {
		perror("BPF_PROG_TEST_RUN");
		exit(1);
	}
	return run.retval;
}

/* A sends to the node, which routes. */
static int from_a(const struct packet_spec *spec)
{
	return leave(FROM_A, spec, mac_a);
}

static bool looks_forwarded(void)
{
	const struct ethhdr *ethernet = (void *)out;
	const struct ipv6hdr *v6 = (void *)(ethernet + 1);
	const struct iphdr *v4 = (void *)(ethernet + 1);

	if (memcmp(ethernet->h_dest, packet_mac_of(HOST_B), ETH_ALEN) ||
	    memcmp(ethernet->h_source, mac_b, ETH_ALEN))
		return false;
	if (version == 6)
		return v6->hop_limit == 63;
	return v4->ttl == 63 && ipv4_sum((void *)v4) == 0xffff;
}

static void prove(const struct packet_spec *spec)
{
	packet_node_run(TO_B, spec, VIA_PEER);
}

/* Sends once more to prove the path again, as a period may just have ended. */
static bool redirected(const struct packet_spec *spec)
{
	for (int i = 0; i < 3; i++) {
		if (from_a(spec) == REDIRECT)
			return true;
		prove(spec);
	}
	return false;
}

/* Opens a connection from A to B, allowed, answered, and proven in that direction. */
static void open_flow(const struct packet_spec *spec)
{
	struct packet_spec back = *spec;

	back.from = spec->to;
	back.to = spec->from;
	back.sport = spec->dport;
	back.dport = spec->sport;
	packet_node_forget();
	packet_node_run(FROM_A, spec, VIA_PEER);
	prove(spec);
	packet_node_run(FROM_B, &back, VIA_PEER);
	result("before the ordinary way is proven: that way", from_a(spec) == PASS);
	prove(spec);
}

static void takes(void)
{
	struct packet_spec spec = {.version = version, UDP(A, B, 53)};
	struct packet_spec back = {.version = version, UDP(B, A, 40000), .sport = 53};

	open_flow(&spec);
	result("a packet of a proven direction takes the shorter way", redirected(&spec));
	result("the redirected packet is as a router would send it", looks_forwarded());
	result("the other direction is not proven", leave(FROM_B, &back, mac_b) == PASS);
	packet_node_run(TO_A, &back, VIA_PEER);
	packet_node_run(TO_A, &back, VIA_PEER);
	result("the other direction takes the shorter way once it is proven",
	       leave(FROM_B, &back, mac_b) == REDIRECT);
	result("a frame to another MAC: the ordinary way", leave(FROM_A, &spec, mac_b) == PASS);
	packet_node_set_generation(2);
	result("a packet to evaluate again: the ordinary way", from_a(&spec) == PASS);
	packet_node_set_generation(1);
}

/* Packets of that connection that must pass through the kernel or B's hook. */
static void leaves(void)
{
	const struct {
		const char *name;
		struct packet_spec spec;
	} rows[] = {
		{"its last hop", {UDP(A, B, 53), .hop_limit = 1}},
		{"IP options", {UDP(A, B, 53), .options = 1, .extensions = {EXTENSION_HOP_BY_HOP}}},
		{"a VLAN tag", {UDP(A, B, 53), .vlans = 1}},
		{"a first fragment", {UDP(A, B, 53), .fragment = true, .more = true}},
		{"a packet larger than B's MTU", {UDP(A, B, 53), .payload = 1500}},
		{"a packet as large as B's MTU", {UDP(A, B, 53), .payload = 1500 - 40 - 8}},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);

	open_flow(&(struct packet_spec){.version = version, UDP(A, B, 53)});
	for (size_t i = 0; i < n; i++) {
		struct packet_spec spec = rows[i].spec;

		spec.version = version;
		if (version == 4)
			memset(spec.extensions, 0, sizeof(spec.extensions));
		else
			spec.options = 0;
		result(rows[i].name, i < n - 1 ? from_a(&spec) == PASS : redirected(&spec));
	}
}

/* TCP: the host sees the segments that open or end a connection. */
static void tcp(void)
{
	struct packet_spec syn = {.version = version, TCP(A, B, 80)};
	struct packet_spec answer = {.version = version,
				     .from = HOST_B,
				     .to = HOST_A,
				     .protocol = IPPROTO_TCP,
				     .sport = 80,
				     .dport = 40000,
				     .flags = TCP_S | TCP_A,
				     .seq = 5000,
				     .ack = 1001};
	struct packet_spec data = {.version = version,
				   TCP(A, B, 80),
				   .flags = TCP_A,
				   .seq = 1001,
				   .ack = 5001,
				   .payload = 10};

	packet_node_forget();
	packet_node_run(FROM_A, &syn, VIA_PEER);
	packet_node_run(TO_B, &syn, VIA_PEER);
	packet_node_run(FROM_B, &answer, VIA_PEER);
	packet_node_run(TO_A, &answer, VIA_PEER);
	packet_node_run(FROM_A, &data, VIA_PEER);
	prove(&data);
	prove(&data);
	result("TCP: the shorter way", redirected(&data) && looks_forwarded());
	data.flags = TCP_A | TCP_F;
	result("TCP: FIN", from_a(&data) == PASS);
	data.flags = TCP_R;
	result("TCP: RST", from_a(&data) == PASS);
}

/* The flags of B's interface, and its owner. */
static void interfaces(void)
{
	struct packet_spec spec = {.version = version, UDP(A, B, 53)};
	uint32_t b = packet_node_ifindex(FROM_B);
	int ifaces = packet_node_map("bh_ifaces");
	struct bh_iface was, other;

	open_flow(&spec);
	packet_node_flag(FROM_B, BH_IFACE_PEER, false);
	result("an interface that is no such veth", from_a(&spec) == PASS);
	packet_node_flag(FROM_B, BH_IFACE_PEER, true);
	packet_node_flag(FROM_B, BH_IFACE_MAC, false);
	result("a MAC that nobody knows of B, but its entry", redirected(&spec));
	packet_node_flag(FROM_B, BH_IFACE_MAC, true);
	bpf_map_lookup_elem(ifaces, &b, &was);
	other = was;
	other.ipv4.word[3]++;
	other.ipv6.word[3]++;
	bpf_map_update_elem(ifaces, &b, &other, BPF_EXIST);
	result("an interface that is another endpoint's by now", from_a(&spec) == PASS);
	bpf_map_update_elem(ifaces, &b, &was, BPF_EXIST);
	result("an interface that is B's again", redirected(&spec));
}

static void make_peer(enum packet_hook hook, const uint8_t *mac)
{
	uint32_t ifindex = packet_node_ifindex(hook);
	struct bh_iface iface;

	bpf_map_lookup_elem(packet_node_map("bh_ifaces"), &ifindex, &iface);
	memcpy(iface.node_mac, mac, sizeof(iface.node_mac));
	iface.flags |= BH_IFACE_PEER;
	bpf_map_update_elem(packet_node_map("bh_ifaces"), &ifindex, &iface, BPF_EXIST);
}

int main(void)
{
	packet_node_open_redirect();
	if (system("ip link set veth-a address 02:00:00:00:09:01") ||
	    system("ip link set veth-b address 02:00:00:00:09:02"))
		return 1;
	make_peer(FROM_A, mac_a);
	make_peer(FROM_B, mac_b);
	for (version = 4; version <= 6; version += 2) {
		takes();
		leaves();
		tcp();
		interfaces();
	}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
