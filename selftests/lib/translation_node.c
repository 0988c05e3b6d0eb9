// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/translation_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netfilter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftests/lib/ip_batch.h"
#include "selftests/lib/load_input.h"
#include "selftests/lib/own_node.h"
#include "selftests/lib/packet.h"

#define FLOWS_MAX (2 * STEPS_MAX)
#define UPLINK PODS /* of the taps; the others are the pods' */
#define TAPS (PODS + 1)
#define LOG_GROUP 1 /* of nfnetlink_log */

static const char *const taps[TAPS] = {"a", "b", "c", "d", "e", "up"};

struct translation_node {
	struct own_node own;
	bool loaded;
	int tap[TAPS], raw[2]; /* raw sockets of the node, IPv4 and IPv6 */
	unsigned int ifindex[TAPS];
	struct mnl_socket *conntrack, *log;
	struct flow sent[FLOWS_MAX]; /* since the last translation_node_forget() */
	int n_sent;
	uint16_t id; /* of the last packet */
};

/* ---- policies ---- */

static void print_peers(FILE *to, unsigned int peers)
{
	const char *comma = "";

	for (unsigned int actor = 0; actor < ACTORS; actor++) {
		if (!(peers & 1u << actor) || actor == NODE)
			continue;
		if (actor == HOST_1)
			fprintf(to, "%scidr(172.17.0.0/24), cidr(fd17:0::/64)", comma);
		else if (actor == HOST_2)
			fprintf(to, "%scidr(172.17.1.0/24), cidr(fd17:1::/64)", comma);
		else
			fprintf(to, "%sendpoints(role=%s)", comma, translation_actors[actor]);
		comma = ",\n  ";
	}
}

void translation_node_print_policies(FILE *to, const void *policies)
{
	static const char *const types[] = {"Ingress", "Egress"};
	const struct policies *policy = policies;

	for (unsigned int pod = 0; pod < PODS; pod++)
		for (int direction = 0; direction < 2; direction++) {
			const struct rules *rules = &policy->rules[pod][direction];

			if (!rules->isolates)
				continue;
			fprintf(to, "[network-policy t/%s-%s]\nendpoints = role=%s\ntypes = %s\n",
				translation_actors[pod], direction ? "egress" : "ingress",
				translation_actors[pod], types[direction]);
			if (!(rules->peers & ~(1u << NODE)))
				continue;
			fprintf(to, direction ? "egress = to " : "ingress = from ");
			print_peers(to, rules->peers);
			fprintf(to, "%s\n",
				rules->one_port ? " ports TCP/6379, UDP/6379, SCTP/6379" : "");
		}
}

static void print_endpoint(FILE *to, unsigned int actor)
{
	fprintf(to, "[endpoint t/%s]\nnode = %s\nip = %s, %s\nlabels = role=%s\n",
		translation_actors[actor], is_pod(actor) ? "here" : "there",
		actor_address(actor, 4), actor_address(actor, 6), translation_actors[actor]);
	if (!is_pod(actor))
		return;
	fprintf(to, "interface = %s\nmac = 02:00:00:00:01:%02x\n", taps[actor], actor + 1);
	if (is_bridged(actor))
		fprintf(to, "mode = l2\n");
}

static void print_service(FILE *to, unsigned int service)
{
	char v4[32], v6[32];
	const char *comma = "";

	fprintf(to, "[service t/s%u]\naddress = %s, %s\n", service, service_address(service, 4, v4),
		service_address(service, 6, v6));
	for (int kept = 0; kept < 2; kept++) {
		unsigned int port = (kept ? PORT_KEPT : PORT_MASKED) + service,
			     called = PORT_CALLED + kept;

		fprintf(to,
			"port = tcp%d TCP/%u to %u node %u, udp%d UDP/%u to %u node %u, "
			"sctp%d SCTP/%u to %u node %u\n",
			kept, called, PORT_OPEN, port, kept, called, PORT_OPEN, port, kept, called,
			PORT_OPEN, port);
	}
	fprintf(to, "backends = ");
	for (int i = 0; i < BACKENDS && service_backends[service][i] != NOBODY; i++) {
		unsigned int backend = service_backends[service][i];

		fprintf(to, "%s%s, %s", comma, actor_address(backend, 4),
			actor_address(backend, 6));
		comma = ", ";
	}
	fprintf(to, "\n");
}

static void print_input(FILE *to, const void *policies)
{
	fprintf(to, "[node here]\nip = 192.168.7.1, fd07::1, 10.50.0.9, fd50::9\n");
	for (unsigned int actor = 0; actor < ACTORS; actor++)
		if (is_pod(actor) || actor == FAR || actor == WORSE)
			print_endpoint(to, actor);
	for (unsigned int service = 0; service < SERVICES; service++)
		print_service(to, service);
	translation_node_print_policies(to, policies);
}

/* ---- translation ---- */

/* A packet's hop limit chooses its backend and mode, should the kernel have to choose. */
static unsigned int choice(unsigned int mode, unsigned int backend)
{
	return 64 + mode * BACKENDS + backend;
}

static void print_elements(FILE *to, uint8_t version)
{
	static const char *const protocols[] = {"tcp", "udp", "sctp"};
	char text[32];

	for (unsigned int i = 0; i < SERVICES * 3 * MODES * BACKENDS * 3; i++) {
		unsigned int backend = i % BACKENDS, mode = i / BACKENDS % MODES,
			     protocol = i / BACKENDS / MODES % 3,
			     service = i / BACKENDS / MODES / 3,
			     target = CLUSTER + service / SERVICES, n = 0;
		const char *called = actor_address(NODE, version);
		unsigned int port =
			(target == MASKED ? PORT_MASKED : PORT_KEPT) + service % SERVICES;
		const uint8_t *backends = service_backends[service % SERVICES];

		while (n < BACKENDS && backends[n] != NOBODY)
			n++;
		if (target == CLUSTER) {
			called = service_address(service, version, text);
			port = PORT_CALLED;
		}
		fprintf(to, "%s%s . %s . %u . %u : %s . %u", i ? ", " : "", called,
			protocols[protocol], port, choice(mode, backend),
			actor_address(backends[backend % n], version), PORT_OPEN);
	}
}

static void print_marks(FILE *to)
{
	for (unsigned int i = 0; i < MODES * BACKENDS; i++)
		fprintf(to, "%s%u : %u", i ? ", " : "", 64 + i, 64 + i);
}

static void print_family(FILE *to, uint8_t version)
{
	const char *ip = version == 4 ? "ip" : "ip6",
		   *net = version == 4 ? "172.17.0.0/16" : "fd17::/16";

	fprintf(to,
		"table %s services {\nmap backends {\ntype ipv%u_addr . inet_proto . "
		"inet_service . mark : ipv%u_addr . inet_service\nelements = { ",
		ip, version, version);
	print_elements(to, version);
	fprintf(to, " }\n}\nchain choose {\nmeta mark set %s %s map { ", ip,
		version == 4 ? "ttl" : "hoplimit");
	print_marks(to);
	fprintf(to,
		" }\n}\n"
		"chain translate {\n"
		"meta l4proto { tcp, udp, sctp } dnat to %s daddr . meta l4proto . th dport . "
		"meta mark map @backends\n}\n"
		"chain c1 { type filter hook prerouting priority raw; jump choose; }\n"
		"chain c2 { type filter hook output priority raw; jump choose; }\n"
		"chain n1 { type nat hook prerouting priority dstnat; jump translate; }\n"
		"chain n2 { type nat hook output priority -100; jump translate; }\n",
		ip);
	fprintf(to,
		"chain masquerades {\nmeta mark >= %u masquerade fully-random\n"
		"masquerade\n}\n"
		"chain n3 {\ntype nat hook postrouting priority srcnat\n"
		"meta l4proto != { tcp, udp, sctp } accept\n"
		"ct status dnat meta l4proto { tcp, udp, sctp } ct original proto-dst %u-%u jump "
		"masquerades\n"
		"ct status dnat meta l4proto { tcp, udp, sctp } ct original proto-dst %u-%u "
		"accept\n"
		"meta mark < %u accept\n"
		"ct status dnat jump masquerades\n"
		"oifname \"up\" %s daddr %s iifname { a, b, c, br0 } jump masquerades\n}\n}\n",
		choice(RANDOM, 0), PORT_MASKED, PORT_MASKED + 999, PORT_KEPT, PORT_KEPT + 999,
		choice(MASQUERADE, 0), ip, net);
}

/* What has passed the programs at the entry, and what comes to those at the exits. */
static void print_log(FILE *to)
{
	static const char *const hooks[] = {"prerouting", "postrouting"};

	fprintf(to, "table inet watch {\n");
	for (int i = 0; i < 2; i++)
		fprintf(to,
			"chain c%d {\ntype filter hook %s priority %d\n"
			"meta l4proto { tcp, udp, sctp, icmp, icmpv6 } log group %d snaplen 100 "
			"queue-threshold 1\n"
			"}\n",
			i, hooks[i], i ? 300 : -400, LOG_GROUP);
	fprintf(to, "}\n");
}

static int make_translation(void)
{
	FILE *to = popen("nft -f -", "w");

	if (!to)
		return -errno;
	print_family(to, 4);
	print_family(to, 6);
	print_log(to);
	return pclose(to) ? -EINVAL : 0;
}

/* ---- interfaces ---- */

static int set(const char *name, const char *value)
{
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	err = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static int open_tap(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &request)) {
		close(fd);
		return -errno;
	}
	return fd;
}

static void add_pod(FILE *batch, unsigned int pod)
{
	const char *v4 = actor_address(pod, 4), *v6 = actor_address(pod, 6), *at = taps[pod];

	ip_batch_add(batch, "link set dev %s addrgenmode none address 02:00:00:00:02:%02x", at,
		     pod + 1);
	if (is_bridged(pod))
		ip_batch_add(batch, "link set dev %s master br0", at);
	ip_batch_add(batch, "link set dev %s up", at);
	if (is_bridged(pod)) {
		at = "br0";
	} else {
		ip_batch_add(batch, "route add %s dev %s", v4, at);
		ip_batch_add(batch, "route add %s dev %s", v6, at);
	}
	ip_batch_add(batch, "neigh replace %s dev %s lladdr 02:00:00:00:01:%02x nud permanent", v4,
		     at, pod + 1);
	ip_batch_add(batch, "neigh replace %s dev %s lladdr 02:00:00:00:01:%02x nud permanent", v6,
		     at, pod + 1);
}

static int make_interfaces(void)
{
	FILE *batch = ip_batch_begin();

	if (!batch)
		return -errno;
	ip_batch_add(batch, "link set lo up");
	ip_batch_add(batch, "link add br0 address 02:00:00:00:05:01 type bridge");
	ip_batch_add(batch, "link set br0 addrgenmode none up");
	ip_batch_add(batch, "addr add 10.50.0.9/24 dev br0");
	ip_batch_add(batch, "addr add fd50::9/64 dev br0 nodad");
	for (unsigned int pod = 0; pod < PODS; pod++)
		add_pod(batch, pod);
	ip_batch_add(batch, "link set dev up addrgenmode none address 02:00:00:00:07:01 up");
	ip_batch_add(batch, "addr add 192.168.7.1/24 dev up");
	ip_batch_add(batch, "addr add fd07::1/64 dev up nodad");
	ip_batch_add(batch,
		     "neigh replace 192.168.7.2 dev up lladdr 02:00:00:00:07:02 nud permanent");
	ip_batch_add(batch, "neigh replace fd07::2 dev up lladdr 02:00:00:00:07:02 nud permanent");
	ip_batch_add(batch, "route add default via 192.168.7.2");
	ip_batch_add(batch, "route add default via fd07::2");
	return ip_batch_end(batch);
}

static int make_node(struct translation_node *node)
{
	int err = set("ipv4/ip_forward", "1");

	if (!err)
		err = set("ipv6/conf/all/forwarding", "1");
	if (!err)
		err = set("netfilter/nf_conntrack_checksum", "0");
	for (unsigned int i = 0; !err && i < TAPS; i++) {
		node->tap[i] = open_tap(taps[i]);
		node->ifindex[i] = if_nametoindex(taps[i]);
		err = node->tap[i] < 0 ? node->tap[i] : 0;
	}
	if (!err)
		err = make_interfaces();
	if (!err)
		err = make_translation();
	if (!err)
		err = set("netfilter/nf_conntrack_tcp_be_liberal", "1");
	for (int i = 0; !err && i < 2; i++) {
		int one = 1;

		node->raw[i] = socket(i ? AF_INET6 : AF_INET, SOCK_RAW, IPPROTO_RAW);
		if (node->raw[i] < 0 ||
		    setsockopt(node->raw[i], i ? SOL_IPV6 : SOL_IP, i ? IPV6_HDRINCL : IP_HDRINCL,
			       &one, sizeof(one)))
			err = -errno;
	}
	return err;
}

/* ---- the programs ---- */

int translation_node_load(struct translation_node *node, const struct policies *policy)
{
	int err = load_input(&node->own.options, print_input, policy);

	if (!err && !node->loaded)
		err = local_node_open(&node->own);
	node->loaded = true;
	if (err)
		printf("# no policy: %s\n", strerror(-err));
	return err;
}

/* ---- what the node remembers ---- */

int translation_node_lose(struct translation_node *node)
{
	return local_node_forget(&node->own);
}

static void put_tuple(struct nlmsghdr *message, const struct flow *flow)
{
	struct nlattr *tuple = mnl_attr_nest_start(message, CTA_TUPLE_ORIG), *part;
	size_t size = flow->version == 4 ? 4 : 16;

	part = mnl_attr_nest_start(message, CTA_TUPLE_IP);
	mnl_attr_put(message, flow->version == 4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, size,
		     flow->from.address);
	mnl_attr_put(message, flow->version == 4 ? CTA_IP_V4_DST : CTA_IP_V6_DST, size,
		     flow->to.address);
	mnl_attr_nest_end(message, part);
	part = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(message, CTA_PROTO_NUM, flow->protocol);
	mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(flow->from.port));
	mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(flow->to.port));
	mnl_attr_nest_end(message, part);
	mnl_attr_nest_end(message, tuple);
}

/* A deletion finds the entry by either of its tuples. The kernel answers only with errors, of which
 * that there is no entry is none. */
int translation_node_forget(struct translation_node *node)
{
	char requests[FLOWS_MAX * 256], answer[MNL_SOCKET_BUFFER_SIZE];
	size_t size = 0;
	int fd = mnl_socket_get_fd(node->conntrack);

	for (int i = 0; i < node->n_sent; i++) {
		struct nlmsghdr *message = mnl_nlmsg_put_header(requests + size);
		struct nfgenmsg *general = mnl_nlmsg_put_extra_header(message, sizeof(*general));

		message->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE;
		message->nlmsg_flags = NLM_F_REQUEST;
		general->nfgen_family = node->sent[i].version == 4 ? AF_INET : AF_INET6;
		put_tuple(message, &node->sent[i]);
		size += MNL_ALIGN(message->nlmsg_len);
	}
	node->n_sent = 0;
	if (size && mnl_socket_sendto(node->conntrack, requests, size) < 0)
		return -errno;
	while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		continue;
	return 0;
}

static void remember(struct translation_node *node, const struct flow *flow)
{
	for (int i = 0; i < node->n_sent; i++)
		if (!memcmp(&node->sent[i], flow, sizeof(*flow)))
			return;
	node->sent[node->n_sent++] = *flow;
}

/* ---- packets ---- */

static uint8_t tcp_flags(unsigned int segment)
{
	static const uint8_t flags[SEGMENTS] = {
		[SYN] = TCP_S, [SYN_ACK] = TCP_S | TCP_A, [ACK] = TCP_A, [FIN] = TCP_F | TCP_A,
		[RST] = TCP_R, [RST_DATA] = TCP_R,
	};

	return flags[segment];
}

/* The number of an actor's SYN: no segment is outside of the other's window. */
static uint32_t first_number(unsigned int actor)
{
	return 1000 + 0x100000 * actor;
}

static void put_addresses(uint8_t *ip, const struct flow *flow)
{
	bool v4 = flow->version == 4;
	size_t size = v4 ? 4 : 16;

	memcpy(ip + (v4 ? 12 : 8), flow->from.address, size);
	memcpy(ip + (v4 ? 16 : 24), flow->to.address, size);
}

/* SCTP's chunks are INIT,
 * INIT ACK, DATA, SHUTDOWN and ABORT, and both ends' tags are 1. */
static void build(const struct step *step, const struct sending *sending, uint16_t id,
		  struct packet_frame *frame)
{
	static const uint8_t chunks[SEGMENTS] = {1, 2, 0, 7, 6, 6};
	const struct flow *flow = &sending->flow;
	bool tcp = flow->protocol == IPPROTO_TCP, opens = step->segment <= SYN_ACK;
	struct packet_spec spec = {
		.version = flow->version,
		.protocol = flow->protocol,
		.sport = flow->from.port,
		.dport = flow->to.port,
		.flags = tcp ? tcp_flags(step->segment) : 0,
		.seq = first_number(sending->actor) + !opens,
		.ack = step->segment == SYN || step->segment >= RST
			       ? 0
			       : first_number(sending->peer) + 1,
		.payload = !tcp || step->segment == ACK || step->segment == RST_DATA ? 20 : 0,
		.hop_limit = choice(step->mode, step->backend),
		.id = id,
	};
	uint8_t *ip;

	packet_build(&spec, frame);
	ip = frame->bytes + frame->l3;
	if (flow->protocol == IPPROTO_SCTP) {
		uint8_t *chunk = frame->bytes + frame->l4 + 12;

		chunk[0] = chunks[step->segment];
		chunk[3] = 20;
		chunk[7] = 1;
		frame->bytes[frame->l4 + 7] = step->segment != SYN;
	}
	put_addresses(ip, flow);
	if (flow->version == 6)
		memcpy(ip + 2, (uint8_t[]){id >> 8, id}, 2);
}

/* @n is even. */
static uint32_t add_words(uint32_t sum, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 2)
		sum += bytes[i] << 8 | bytes[i + 1];
	return sum;
}

static void put_sum(uint8_t *at, uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	at[0] = sum >> 8;
	at[1] = sum;
}

static void complete_ipv4(uint8_t *ip)
{
	ip[10] = ip[11] = 0;
	put_sum(ip + 10, add_words(0, ip, 20));
}

/* The kernel translates the quoted packet of an error only if the error's checksum is right. */
static void build_error(const struct step *step, const struct sending *sending, uint16_t id,
			struct packet_frame *frame)
{
	const struct flow *flow = &sending->flow, *quoted = &sending->quoted;
	bool v4 = flow->version == 4;
	struct packet_spec inner = {
		.version = flow->version,
		.protocol = quoted->protocol,
		.sport = quoted->from.port,
		.dport = quoted->to.port,
		.flags = quoted->protocol == IPPROTO_TCP ? TCP_A : 0,
		.payload = 8,
	};
	struct packet_spec spec = {
		.version = flow->version,
		.protocol = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
		.type = v4 ? 3 : 1, /* unreachable: the port */
		.code = v4 ? 3 : 4,
		.quoted = &inner,
		.hop_limit = choice(step->mode, step->backend),
		.id = id,
	};
	uint8_t *ip, *icmp;
	size_t size;

	packet_build(&spec, frame);
	ip = frame->bytes + frame->l3;
	icmp = ip + (v4 ? 20 : 40);
	size = frame->length - (icmp - frame->bytes);
	put_addresses(ip, flow);
	put_addresses(icmp + 8, quoted);
	if (v4)
		complete_ipv4(icmp + 8);
	else
		memcpy(ip + 2, (uint8_t[]){id >> 8, id}, 2);
	put_sum(icmp + 2,
		add_words(v4 ? 0 : add_words(size + IPPROTO_ICMPV6, ip + 8, 32), icmp, size));
}

static unsigned int tap_of(unsigned int actor)
{
	return is_pod(actor) ? actor : UPLINK;
}

static void put_macs(uint8_t *frame, unsigned int actor, const struct flow *flow)
{
	const uint8_t base[6] = {2};
	unsigned int to = place_owner(&flow->to, flow->version);

	memcpy(frame, base, 6);
	memcpy(frame + 6, base, 6);
	if (is_outside(actor)) {
		memcpy(frame + 4, "\7\1", 2);
		memcpy(frame + 10, "\7\2", 2);
		return;
	}
	frame[4] = 2;
	frame[5] = frame[11] = actor + 1;
	frame[10] = 1;
	if (!is_bridged(actor))
		return;
	frame[4] = is_bridged(to) ? 1 : 5;
	frame[5] = is_bridged(to) ? to + 1 : 1;
}

static int send_from_node(const struct translation_node *node, const struct packet_frame *frame,
			  const struct flow *flow)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	bool ipv6 = flow->version == 6;
	ssize_t sent;

	memcpy(&v4.sin_addr, flow->to.address, 4);
	memcpy(&v6.sin6_addr, flow->to.address, 16);
	sent = sendto(node->raw[ipv6], frame->bytes + frame->l3, frame->length - frame->l3, 0,
		      ipv6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		      ipv6 ? sizeof(v6) : sizeof(v4));
	/* What the programs drop behind a raw socket is an error of the call. */
	return sent < 0 && errno != ENOBUFS && errno != EPERM ? -errno : 0;
}

/* @size: of @ip that is there. */
static bool is_watched(const struct translation_node *node, const uint8_t *ip, size_t size)
{
	if (size < 24)
		return false;
	if (ip[0] >> 4 == 4)
		return (ip[4] << 8 | ip[5]) == node->id;
	return ip[0] >> 4 == 6 && size >= 44 && (ip[2] << 8 | ip[3]) == node->id && !(ip[1] & 15);
}

static void read_addresses(const uint8_t *ip, struct flow *flow)
{
	bool v4 = flow->version == 4;
	size_t size = v4 ? 4 : 16;
	const uint8_t *addresses = ip + (v4 ? 12 : 8);

	memcpy(flow->from.address, addresses, size);
	memcpy(flow->to.address, addresses + size, size);
}

static void read_flow(const uint8_t *ip, struct flow *flow)
{
	const uint8_t *ports = ip + (flow->version == 4 ? 20 : 40);

	read_addresses(ip, flow);
	flow->from.port = ports[0] << 8 | ports[1];
	flow->to.port = ports[2] << 8 | ports[3];
}

struct reading {
	const struct translation_node *node;
	const struct sending *sending;
	struct fate *fate;
};

static int read_attribute(const struct nlattr *attribute, void *data)
{
	const struct nlattr **table = data;

	if (mnl_attr_get_type(attribute) <= NFULA_MAX)
		table[mnl_attr_get_type(attribute)] = attribute;
	return MNL_CB_OK;
}

static int read_log(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *table[NFULA_MAX + 1] = {};
	struct reading *reading = data;
	const struct nfulnl_msg_packet_hdr *head;
	const uint8_t *ip;
	size_t size;

	mnl_attr_parse(message, sizeof(struct nfgenmsg), read_attribute, table);
	if (!table[NFULA_PACKET_HDR] || !table[NFULA_PAYLOAD])
		return MNL_CB_OK;
	head = mnl_attr_get_payload(table[NFULA_PACKET_HDR]);
	ip = mnl_attr_get_payload(table[NFULA_PAYLOAD]);
	size = mnl_attr_get_payload_len(table[NFULA_PAYLOAD]);
	if (!is_watched(reading->node, ip, size))
		return MNL_CB_OK;
	if (head->hook == NF_INET_PRE_ROUTING) {
		reading->fate->entered = true;
		return MNL_CB_OK;
	}
	if (reading->sending->error) {
		const size_t at = ip[0] >> 4 == 4 ? 28 : 48; /* of the quoted packet */

		if (size < at + at - 8 + 4)
			return MNL_CB_OK;
		read_addresses(ip, &reading->fate->flow);
		read_flow(ip + at, &reading->fate->quoted);
	} else {
		read_flow(ip, &reading->fate->flow);
	}
	reading->fate->shown = true;
	return MNL_CB_OK;
}

static bool arrives(const struct translation_node *node, unsigned int tap)
{
	uint8_t frame[2048];
	bool arrived = false;
	ssize_t size;

	while ((size = read(node->tap[tap], frame, sizeof(frame))) > 0)
		arrived |= size > ETH_HLEN && is_watched(node, frame + ETH_HLEN, size - ETH_HLEN);
	return arrived;
}

static void read_fate(const struct translation_node *node, const struct sending *sending,
		      struct fate *fate)
{
	struct reading reading = {node, sending, fate};
	char buffer[MNL_SOCKET_BUFFER_SIZE];
	int fd = mnl_socket_get_fd(node->log);
	ssize_t size;

	*fate = (struct fate){.actor = NOBODY, .flow = sending->flow, .quoted = sending->quoted};
	while ((size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
		mnl_cb_run(buffer, size, 0, 0, read_log, &reading);
	if (!fate->shown)
		return;
	fate->actor = place_owner(&fate->flow.to, fate->flow.version);
	fate->arrived = arrives(node, tap_of(fate->actor));
}

int translation_node_send(struct translation_node *node, const struct step *step,
			  const struct sending *sending, struct fate *fate)
{
	const struct flow *flow = &sending->flow;
	struct packet_frame frame;
	/* A busy CPU is not free at once. */
	int err = node->id % 8 ? 0 : local_node_next_cpu(&node->own);

	if (err)
		return err;
	node->id = node->id % 0xfffe + 1;
	if (sending->error) {
		build_error(step, sending, node->id, &frame);
	} else {
		remember(node, flow);
		build(step, sending, node->id, &frame);
	}
	if (flow->version == 4)
		complete_ipv4(frame.bytes + frame.l3);
	if (sending->actor == NODE) {
		err = send_from_node(node, &frame, flow);
	} else {
		put_macs(frame.bytes, sending->actor, flow);
		if (write(node->tap[tap_of(sending->actor)], frame.bytes, frame.length) < 0)
			err = -errno;
	}
	if (err)
		printf("# no packet from %s: %s\n", translation_actors[sending->actor],
		       strerror(-err));
	read_fate(node, sending, fate);
	fate->entered |= sending->actor == NODE;
	return err;
}

const char *translation_node_reason(struct translation_node *node)
{
	return local_node_reason(&node->own);
}

/* ---- begin and end ---- */

static int open_log(struct translation_node *node)
{
	char buffer[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *general = mnl_nlmsg_put_extra_header(message, sizeof(*general));
	const struct nfulnl_msg_config_cmd command = {NFULNL_CFG_CMD_BIND};
	const struct nfulnl_msg_config_mode mode = {htonl(96), NFULNL_COPY_PACKET, 0};

	node->log = mnl_socket_open(NETLINK_NETFILTER);
	if (!node->log || mnl_socket_bind(node->log, 0, MNL_SOCKET_AUTOPID))
		return -errno;
	message->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	general->res_id = htons(LOG_GROUP);
	mnl_attr_put(message, NFULA_CFG_CMD, sizeof(command), &command);
	mnl_attr_put(message, NFULA_CFG_MODE, sizeof(mode), &mode);
	if (mnl_socket_sendto(node->log, message, message->nlmsg_len) < 0)
		return -errno;
	return mnl_cb_run(buffer, mnl_socket_recvfrom(node->log, buffer, sizeof(buffer)), 0,
			  mnl_socket_get_portid(node->log), NULL, NULL) < 0
		       ? -errno
		       : 0;
}

int translation_node_open(const char *pin, struct translation_node **result)
{
	static const char *const uplinks[] = {"up"};
	static const char *const settings[] = {OWN_CONNECTIONS_SETTING, "event-rate=0"};
	struct translation_node *node = calloc(1, sizeof(*node));
	int err;

	if (!node)
		return -ENOMEM;
	memset(node->tap, -1, sizeof(node->tap));
	memset(node->raw, -1, sizeof(node->raw));
	*result = node;
	err = local_node_begin(&node->own, pin, uplinks, settings,
			       sizeof(settings) / sizeof(settings[0]));
	if (!err)
		err = make_node(node);
	if (!err) {
		node->conntrack = mnl_socket_open(NETLINK_NETFILTER);
		if (!node->conntrack || mnl_socket_bind(node->conntrack, 0, MNL_SOCKET_AUTOPID))
			err = -errno;
	}
	if (!err)
		err = open_log(node);
	if (err)
		printf("# no node: %s\n", strerror(-err));
	return err;
}

void translation_node_close(struct translation_node *node)
{
	local_node_close(&node->own);
	if (node->conntrack)
		mnl_socket_close(node->conntrack);
	if (node->log)
		mnl_socket_close(node->log);
	local_node_close_fds(node->tap, TAPS);
	local_node_close_fds(node->raw, 2);
	free(node);
}
