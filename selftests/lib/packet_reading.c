/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "selftests/lib/packet_reading.h"

/* The owners of addresses that the policy distinguishes. */
enum who { A, B, C, UNASSIGNED, REMOTE, NODE, WORLD, OFFICE, LINK_LOCAL };

struct bytes {
	const uint8_t *at;
	size_t left;
};

struct reading {
	const uint8_t *mac_from;
	uint16_t ethertype;
	struct bytes link; /* what Ethernet carries */
	int version; /* 0: no IP header was parsed */
	struct bh_addr source, destination;
	uint8_t protocol, hop_limit;
	bool fragment_header, later_fragment, more;
	uint16_t fragment_at;
	struct bytes transport;
	uint16_t sport, dport;
	uint8_t flags, type; /* TCP, ICMP */
	bool broken;
};

static unsigned get(const struct bytes *bytes, size_t at, size_t n)
{
	unsigned value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | bytes->at[at + i];
	return value;
}

static bool skip(struct bytes *bytes, size_t n)
{
	if (n > bytes->left)
		return false;
	bytes->at += n;
	bytes->left -= n;
	return true;
}

static bool read_ethernet(struct reading *r, struct bytes frame)
{
	r->mac_from = frame.at + 6;
	r->ethertype = get(&frame, 12, 2);
	skip(&frame, 14);
	for (int tags = 0; r->ethertype == 0x8100 || r->ethertype == 0x88a8; tags++) {
		if (tags == 2 || frame.left < 4)
			return false;
		r->ethertype = get(&frame, 2, 2);
		skip(&frame, 4);
	}
	r->link = frame;
	return true;
}

static bool read_tcp(struct reading *r, size_t n)
{
	unsigned header;

	if (n < 20 || r->transport.left < 20)
		return false;
	header = get(&r->transport, 12, 1) / 16 * 4;
	r->flags = get(&r->transport, 13, 1) & 0x17;
	if (header < 20 || header > n)
		return false;
	switch (r->flags) {
	case TCP_S:
	case TCP_S | TCP_A:
	case TCP_A:
	case TCP_F | TCP_A:
	case TCP_R:
	case TCP_R | TCP_A:
	case TCP_R | TCP_F:
	case TCP_R | TCP_F | TCP_A:
		return true;
	}
	return false;
}

static bool read_transport(struct reading *r)
{
	size_t n = r->transport.left, least = 0;
	bool icmp = r->protocol == (r->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	if (r->protocol == IPPROTO_UDP || icmp)
		least = 8;
	else if (r->protocol == IPPROTO_SCTP)
		least = 12;
	if (n < least || (r->protocol == IPPROTO_TCP && !read_tcp(r, n)))
		return false;
	if (r->protocol == IPPROTO_TCP || r->protocol == IPPROTO_UDP ||
	    r->protocol == IPPROTO_SCTP) {
		r->sport = get(&r->transport, 0, 2);
		r->dport = get(&r->transport, 2, 2);
	}
	if (r->protocol == IPPROTO_UDP) {
		unsigned length = get(&r->transport, 4, 2);

		if (length < 8 || (!r->more && length > n))
			return false;
	}
	if (icmp)
		r->type = get(&r->transport, 0, 1);
	return true;
}

static bool read_fragment(struct reading *r, uint16_t at, bool more, size_t n)
{
	r->fragment_at = at;
	r->more = more;
	r->later_fragment = at;
	return !(more && n % 8) && at + n <= 65535;
}

/* Options with consistent lengths and without a source route. */
static bool read_options(struct bytes options)
{
	while (options.left && options.at[0]) {
		unsigned size = 1;

		if (options.at[0] == 131 || options.at[0] == 137)
			return false;
		if (options.at[0] != 1) {
			if (options.left < 2 || options.at[1] < 2)
				return false;
			size = options.at[1];
		}
		if (!skip(&options, size))
			return false;
	}
	return true;
}

static bool read_ipv4(struct reading *r)
{
	struct bytes ip = r->link;
	unsigned header, total, fragment;

	if (ip.left < 20)
		return false;
	r->version = 4;
	r->source.word[2] = r->destination.word[2] = htonl(0xffff);
	memcpy(&r->source.word[3], ip.at + 12, 4);
	memcpy(&r->destination.word[3], ip.at + 16, 4);
	r->protocol = get(&ip, 9, 1);
	header = get(&ip, 0, 1) % 16 * 4;
	total = get(&ip, 2, 2);
	if (get(&ip, 0, 1) / 16 != 4 || header < 20 || total < header || total > ip.left)
		return false;
	if (!read_options((struct bytes){ip.at + 20, header - 20}))
		return false;
	fragment = get(&ip, 6, 2);
	ip.left = total;
	skip(&ip, header);
	r->transport = ip;
	if (fragment & 0x3fff &&
	    !read_fragment(r, (fragment & 0x1fff) * 8, fragment & 0x2000, ip.left))
		return false;
	return r->later_fragment || read_transport(r);
}

/* Returns false if the headers cannot be walked. */
static bool read_extensions(struct reading *r)
{
	for (int n = 0;; n++) {
		unsigned size;

		switch (r->protocol) {
		case IPPROTO_HOPOPTS:
			if (n)
				return false;
			break;
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_FRAGMENT:
		case IPPROTO_AH:
			break;
		default:
			return true;
		}
		if (n == 8 || r->transport.left < 8)
			return false;
		size = (get(&r->transport, 1, 1) + 1) * 8;
		if (r->protocol == IPPROTO_AH)
			size = (get(&r->transport, 1, 1) + 2) * 4;
		if (r->protocol == IPPROTO_FRAGMENT) {
			unsigned field = get(&r->transport, 2, 2);

			if (r->fragment_header)
				return false;
			r->fragment_header = true;
			size = 8;
			if (!read_fragment(r, field & 0xfff8, field & 1, r->transport.left - 8))
				return false;
		}
		if (r->protocol == IPPROTO_ROUTING && get(&r->transport, 3, 1))
			return false;
		r->protocol = get(&r->transport, 0, 1);
		if (!skip(&r->transport, size))
			return false;
		if (r->later_fragment)
			return true;
	}
}

/* Such addresses stand for IPv4 nodes in programs, not in packets (RFC 4291, 2.5.5.2; RFC 6890:
 * "Source: False, Destination: False"). */
static bool is_mapped(const struct bh_addr *addr)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(addr, prefix, sizeof(prefix));
}

static bool read_ipv6(struct reading *r)
{
	struct bytes ip = r->link;
	unsigned length;

	if (ip.left < 40)
		return false;
	r->version = 6;
	memcpy(&r->source, ip.at + 8, 16);
	memcpy(&r->destination, ip.at + 24, 16);
	if (is_mapped(&r->source) || is_mapped(&r->destination))
		return false;
	r->protocol = get(&ip, 6, 1);
	r->hop_limit = get(&ip, 7, 1);
	length = get(&ip, 4, 2);
	if (get(&ip, 0, 1) / 16 != 6 || length > ip.left - 40)
		return false;
	skip(&ip, 40);
	ip.left = length;
	r->transport = ip;
	return read_extensions(r) && (r->later_fragment || read_transport(r));
}

static bool same(const struct bh_addr *addr, enum packet_host host, int version)
{
	struct bh_addr of = packet_address_of(host, version);

	return !memcmp(addr, &of, sizeof(of));
}

static enum who who(const struct bh_addr *addr, int version)
{
	static const struct {
		enum packet_host host;
		enum who who;
	} hosts[] = {{HOST_A, A},	    {HOST_B, B},
		     {HOST_C, C},	    {HOST_UNASSIGNED, UNASSIGNED},
		     {HOST_REMOTE, REMOTE}, {HOST_NODE, NODE}};
	struct bh_addr office = packet_address_of(HOST_OFFICE, version);
	const uint8_t *bytes = (const uint8_t *)addr;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (same(addr, hosts[i].host, version))
			return hosts[i].who;
	if (!memcmp(addr, &office, version == 4 ? 15 : 6))
		return OFFICE;
	if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80)
		return LINK_LOCAL;
	return WORLD;
}

static bool is_local(enum who who)
{
	return who <= UNASSIGNED;
}

static bool egress_of_a(enum who to, const struct reading *r)
{
	unsigned port = r->dport;

	switch (to) {
	case A:
	case REMOTE:
	case NODE:
	case LINK_LOCAL: /* the node, since the link is no bridge */
		return true;
	case B:
		switch (r->protocol) {
		case IPPROTO_TCP:
			return (port >= 1 && port <= 1023) || port == 8080;
		case IPPROTO_UDP:
			return port == 53 || (port >= 500 && port <= 599);
		case IPPROTO_SCTP:
			return port == 80;
		}
		return true;
	case WORLD:
		return (r->protocol == IPPROTO_TCP && port == 80) || r->protocol == IPPROTO_UDP;
	default:
		return false;
	}
}

static bool ingress_of_b(enum who from, const struct reading *r)
{
	unsigned port = r->dport;

	switch (from) {
	case B:
	case C:
		return true;
	case A:
		switch (r->protocol) {
		case IPPROTO_TCP:
			return port == 80 || port == 443 || port == 900 || port == 8080;
		case IPPROTO_UDP:
			return port == 53 || (port >= 500 && port <= 549);
		}
		return true;
	case WORLD:
	case LINK_LOCAL:
		return r->protocol == IPPROTO_TCP && port == 443;
	case OFFICE:
		return r->protocol == IPPROTO_TCP && port == 6379;
	case REMOTE:
		return r->protocol == IPPROTO_TCP && port == 80;
	case NODE:
		return r->protocol == IPPROTO_TCP && port == 7946;
	default:
		return false;
	}
}

static bool zero(const struct bh_addr *addr, int version)
{
	return version == 4 ? !addr->word[3]
			    : !(addr->word[0] | addr->word[1] | addr->word[2] | addr->word[3]);
}

static bool a_speaks_for(const struct bh_addr *addr, int version)
{
	return same(addr, HOST_A, version) || same(addr, HOST_GATEWAY, version) ||
	       who(addr, version) == LINK_LOCAL;
}

static bool mac_is_a(const uint8_t *mac)
{
	return !memcmp(mac, packet_mac_of(HOST_A), 6);
}

static bool arp_passes(const struct reading *r, bool sent_by_a)
{
	struct bh_addr sender = {.word[2] = htonl(0xffff)};

	if (r->link.left < 28 || get(&r->link, 0, 4) != 0x00010800 || get(&r->link, 4, 2) != 0x0604)
		return false;
	memcpy(&sender.word[3], r->link.at + 14, 4);
	return !sent_by_a || (mac_is_a(r->mac_from) && mac_is_a(r->link.at + 8) &&
			      (zero(&sender, 4) || a_speaks_for(&sender, 4)));
}

static bool options_are_a(struct bytes options)
{
	for (int n = 0; n < 4 && options.left; n++) {
		unsigned size;

		if (options.left < 8)
			return false;
		size = get(&options, 1, 1) * 8;
		if (!size ||
		    ((options.at[0] == 1 || options.at[0] == 2) && !mac_is_a(options.at + 2)))
			return false;
		if (!skip(&options, size))
			return false;
	}
	return !options.left;
}

static bool is_icmp_error(const struct reading *r)
{
	if (r->version == 6)
		return r->protocol == IPPROTO_ICMPV6 && r->type < 128;
	return r->protocol == IPPROTO_ICMP &&
	       (r->type == 3 || r->type == 4 || r->type == 5 || r->type == 11 || r->type == 12);
}

static bool is_neighbour(const struct reading *r)
{
	return r->version == 6 && r->protocol == IPPROTO_ICMPV6 &&
	       ((r->type >= 130 && r->type <= 137) || r->type == 143);
}

static bool opens(const struct reading *r)
{
	return r->protocol != IPPROTO_TCP || (r->flags & (TCP_S | TCP_A)) == TCP_S;
}

/* IP in IP, IPv6 in IP, GRE, L2TP, MPLS in IP. */
static bool encapsulates(const struct reading *r)
{
	return r->protocol == 4 || r->protocol == 41 || r->protocol == 47 || r->protocol == 115 ||
	       r->protocol == 137;
}

static bool from_a_passes(const struct reading *r)
{
	enum who to = who(&r->destination, r->version);
	bool dhcp = r->version == 4 && zero(&r->source, 4) && r->protocol == IPPROTO_UDP &&
		    r->sport == 68 && r->dport == 67;

	if (!mac_is_a(r->mac_from) || !(a_speaks_for(&r->source, r->version) || dhcp))
		return false;
	/* The node would decapsulate it. */
	if (encapsulates(r) && (to == NODE || to == LINK_LOCAL))
		return false;
	return egress_of_a(to, r);
}

/* An endpoint's packets come in by its own interface or its bridge, or the node has made them. */
static bool comes_rightly(enum who from, uint32_t ingress)
{
	static const enum packet_hook hooks[] = {FROM_A, FROM_B, FROM_C, FROM_UNASSIGNED};

	return !is_local(from) || !ingress || ingress == packet_node_ifindex(hooks[from]) ||
	       (from == A && ingress == PACKET_BRIDGE);
}

/*
 * The programs under test cannot ask the kernel's conntrack. So a packet from A's interface with
 * the node's address may be A's, masqueraded: A must be allowed the same. And the node may have
 * addresses that the maps do not know.
 */
static bool stands_rightly(const struct reading *r, enum who from, uint32_t ingress)
{
	bool has_ports = r->protocol == IPPROTO_TCP || r->protocol == IPPROTO_UDP ||
			 r->protocol == IPPROTO_SCTP;

	return is_local(from) || from == REMOTE || !has_ports ||
	       ingress != packet_node_ifindex(FROM_A) || (egress_of_a(B, r) && ingress_of_b(A, r));
}

static bool to_b_passes(const struct reading *r, uint32_t ingress)
{
	enum who from = who(&r->source, r->version);

	if (!comes_rightly(from, ingress))
		return false;
	if (from == B)
		return true;
	if ((from == NODE || from == LINK_LOCAL) &&
	    (!ingress || ingress == packet_node_ifindex(TO_B)))
		return true;
	if (from == UNASSIGNED || (from == A && !egress_of_a(B, r)))
		return false;
	return ingress_of_b(from, r) && stands_rightly(r, from, ingress);
}

/* Returns true if no router forwards a packet to the address: hop limit 1 stops MLD to every
 * group. */
static bool stays(const struct reading *r, bool discovery)
{
	const uint8_t *to = (const uint8_t *)&r->destination;

	if (to[0] == 0xff)
		return !discovery || (to[1] & 0xf) == 2;
	return who(&r->destination, 6) == LINK_LOCAL;
}

static bool from_link(const struct reading *r)
{
	return zero(&r->source, 6) || who(&r->source, 6) == LINK_LOCAL;
}

/* Returns true if A, which is on no bridge, may send the message, where policy is not asked. */
static bool a_discovers(const struct reading *r, bool discovery)
{
	struct bytes rest = r->transport;
	struct bh_addr target;

	if (!mac_is_a(r->mac_from) || r->type == 134 || r->type == 137 ||
	    (!zero(&r->source, 6) && !a_speaks_for(&r->source, 6)))
		return false;
	if (!discovery)
		return true;
	skip(&rest, 8);
	if (r->type == 133)
		return options_are_a(rest);
	if (rest.left < 16)
		return false;
	memcpy(&target, rest.at, 16);
	if ((r->type == 136 || zero(&r->source, 6)) && !a_speaks_for(&target, 6))
		return false;
	skip(&rest, 16);
	return options_are_a(rest);
}

static bool neighbour_passes(const struct reading *r, bool sent_by_a, uint32_t ingress)
{
	bool discovery = r->type >= 133 && r->type <= 137;

	if (r->hop_limit != (discovery ? 255 : 1) || r->fragment_header || get(&r->transport, 1, 1))
		return false;
	if (!sent_by_a && !discovery && !(from_link(r) && stays(r, false)))
		return to_b_passes(r, ingress);
	if (!sent_by_a) /* only a node is a router */
		return !ingress || (r->type != 134 && r->type != 137);
	if (!a_discovers(r, discovery))
		return false;
	if ((discovery || from_link(r)) && (stays(r, discovery) || who(&r->destination, 6) == NODE))
		return true;
	return from_a_passes(r);
}

/* Returns true if the packet belongs to one of these connections and is no new SYN. */
static bool is_of(const struct reading *r, const struct packet_spec *open, bool *answers)
{
	if (r->protocol == IPPROTO_TCP && opens(r))
		return false;
	for (; open && open->version; open++) {
		if (open->version != r->version || open->protocol != r->protocol)
			continue;
		*answers = r->sport == open->dport && r->dport == open->sport &&
			   same(&r->source, open->to, r->version) &&
			   same(&r->destination, open->from, r->version);
		if (*answers || (r->sport == open->sport && r->dport == open->dport &&
				 same(&r->source, open->from, r->version) &&
				 same(&r->destination, open->to, r->version)))
			return true;
	}
	return false;
}

static bool known_passes(enum packet_hook hook, const struct reading *r, uint32_t ingress,
			 bool answers)
{
	if (r->protocol == IPPROTO_TCP && r->flags & TCP_S && !answers)
		return false;
	if (hook == FROM_A)
		return mac_is_a(r->mac_from) && a_speaks_for(&r->source, r->version);
	return comes_rightly(who(&r->source, r->version), ingress);
}

static bool uplink_passes(const struct reading *r)
{
	enum who from = who(&r->source, r->version), to = who(&r->destination, r->version);

	if (is_local(from) || from == NODE)
		return false;
	if (r->broken)
		return !is_local(to);
	if (!is_local(to) || r->later_fragment || r->protocol != IPPROTO_TCP || !opens(r))
		return true;
	return to == B ? ingress_of_b(from, r) : to != UNASSIGNED;
}

bool packet_reading_passes(enum packet_hook hook, const uint8_t *frame, size_t length,
			   uint32_t ingress, const struct packet_spec *open)
{
	struct reading r = {};
	bool answers;

	r.broken = !read_ethernet(&r, (struct bytes){frame, length});
	if (!r.broken && r.ethertype == 0x0800)
		r.broken = !read_ipv4(&r);
	else if (!r.broken && r.ethertype == 0x86dd)
		r.broken = !read_ipv6(&r);
	if (hook >= UPLINK)
		return !r.version || uplink_passes(&r);
	if (r.broken)
		return false;
	if (r.ethertype == 0x0806)
		return arp_passes(&r, hook == FROM_A);
	if (!r.version || r.later_fragment || is_icmp_error(&r))
		return false;
	if (is_neighbour(&r))
		return neighbour_passes(&r, hook == FROM_A, ingress);
	/*
	 * A packet to B with another host's destination address is not part of that host's
	 * connection.
	 */
	if (is_of(&r, open, &answers) &&
	    (hook == FROM_A || same(&r.destination, HOST_B, r.version)))
		return known_passes(hook, &r, ingress, answers);
	if (!opens(&r))
		return false;
	return hook == FROM_A ? from_a_passes(&r) : to_b_passes(&r, ingress);
}
