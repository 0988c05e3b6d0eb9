// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/amt.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node/kernel/rtnl.h"

/* Bytes of the largest part of a dump that the kernel sends at once. */
#define BUFFER 32768

/* Attempts at a dump whose content changes meanwhile. */
#define DUMPS_MAX 100

/* Collects the entries of a dump. */
struct collected {
	void *at;
	size_t n, size; /* number of entries; bytes of an entry */
	int error;
};

struct mnl_socket *rtnl_open(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID)) {
		int error = errno;

		mnl_socket_close(socket);
		errno = error;
		return NULL;
	}
	return socket;
}

void rtnl_close(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

/* Appends a zeroed entry. NULL: memory is short, and the dump stops. */
static void *collect(struct collected *all)
{
	void *at = reallocarray(all->at, all->n + 1, all->size);

	if (!at) {
		all->error = -ENOMEM;
		return NULL;
	}
	all->at = at;
	return memset((char *)at + all->n++ * all->size, 0, all->size);
}

static bool has_end(const void *buffer, ssize_t n)
{
	const struct nlmsghdr *message = buffer;
	int left = n;

	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left))
		if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
			return true;
	return false;
}

/* Reads the rest of a dump that cannot be used. @buffer has the last part. */
static int drain(struct mnl_socket *socket, char buffer[BUFFER], ssize_t n)
{
	while (!has_end(buffer, n)) {
		n = mnl_socket_recvfrom(socket, buffer, BUFFER);
		if (n < 0)
			return -errno;
	}
	return -EAGAIN;
}

/* Returns -EAGAIN if the content of the dump changed meanwhile. */
static int ask_once(struct mnl_socket *socket, struct nlmsghdr *request, mnl_cb_t each,
		    struct collected *all)
{
	static uint32_t sequence;
	char buffer[BUFFER];
	ssize_t n;
	int status = MNL_CB_OK;

	request->nlmsg_seq = ++sequence;
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return -errno;
	while (status > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (n < 0)
			return -errno;
		status = mnl_cb_run(buffer, n, request->nlmsg_seq, mnl_socket_get_portid(socket),
				    each, all);
		if (status < 0 && errno == EINTR && !all->error)
			return drain(socket, buffer, n);
		if (status < 0)
			return all->error ? all->error : -errno;
		/* A request for one thing has one answer, without an end marker. */
		if (!(request->nlmsg_flags & NLM_F_DUMP))
			break;
	}
	return all->error;
}

/* Sends a request and gives each answer to @each. Asks again if interfaces came or went
 * meanwhile, so that the kernel's list has gaps. */
static int ask(struct mnl_socket *socket, struct nlmsghdr *request, mnl_cb_t each,
	       struct collected *all)
{
	const size_t before = all->n;
	int error = -EAGAIN;

	for (size_t i = 0; error == -EAGAIN && i < DUMPS_MAX; i++) {
		all->n = before;
		error = ask_once(socket, request, each, all);
	}
	return error;
}

static void *request_start(char *buffer, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(request, size);
}

/* Gives the collected entries to the caller, or frees them. */
static int hand_over(struct collected *all, int error, void *at, size_t *n)
{
	if (error) {
		free(all->at);
		return error;
	}
	*(void **)at = all->at;
	*n = all->n;
	return 0;
}

static void read_kind(const struct nlattr *info, struct link *link)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, info) {
		if (mnl_attr_get_type(attribute) != IFLA_INFO_KIND)
			continue;
		link->bridge = !strcmp(mnl_attr_get_str(attribute), "bridge");
		link->vlan = !strcmp(mnl_attr_get_str(attribute), "vlan");
		link->veth = !strcmp(mnl_attr_get_str(attribute), "veth");
	}
}

static void read_xdp(const struct nlattr *xdp, struct link *link)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, xdp) {
		if (mnl_attr_get_type(attribute) == IFLA_XDP_ATTACHED)
			link->xdp = mnl_attr_get_u8(attribute) != XDP_ATTACHED_NONE;
	}
}

static int each_link(const struct nlmsghdr *message, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct link *link = collect(data);
	const struct nlattr *attribute;

	if (!link)
		return MNL_CB_ERROR;
	link->ifindex = info->ifi_index;
	link->up = info->ifi_flags & IFF_UP;
	link->loopback = info->ifi_flags & IFF_LOOPBACK;
	link->bare = info->ifi_type != ARPHRD_ETHER && !link->loopback;
	mnl_attr_for_each(attribute, message, sizeof(*info)) {
		if (mnl_attr_get_type(attribute) == IFLA_IFNAME)
			strncpy(link->name, mnl_attr_get_str(attribute), IF_NAMESIZE - 1);
		if (mnl_attr_get_type(attribute) == IFLA_MASTER)
			link->master = mnl_attr_get_u32(attribute);
		if (mnl_attr_get_type(attribute) == IFLA_LINK)
			link->lower = mnl_attr_get_u32(attribute);
		if (mnl_attr_get_type(attribute) == IFLA_ADDRESS &&
		    mnl_attr_get_payload_len(attribute) == sizeof(link->mac))
			memcpy(link->mac, mnl_attr_get_payload(attribute), sizeof(link->mac));
		if (mnl_attr_get_type(attribute) == IFLA_LINK_NETNSID) {
			link->elsewhere = true;
			link->lower_ns = mnl_attr_get_u32(attribute);
		}
		if (mnl_attr_get_type(attribute) == IFLA_LINKINFO)
			read_kind(attribute, link);
		if (mnl_attr_get_type(attribute) == IFLA_XDP)
			read_xdp(attribute, link);
	}
	return MNL_CB_OK;
}

int rtnl_links(struct mnl_socket *socket, struct link **links, size_t *n)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(**links)};
	struct ifinfomsg *info = request_start(buffer, RTM_GETLINK, NLM_F_DUMP, sizeof(*info));

	return hand_over(&all, ask(socket, (struct nlmsghdr *)buffer, each_link, &all), links, n);
}

int rtnl_link(struct mnl_socket *socket, const char *name, uint32_t ifindex, struct link *link)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(*link)};
	struct ifinfomsg *info = request_start(buffer, RTM_GETLINK, 0, sizeof(*info));
	int error;

	info->ifi_index = ifindex;
	if (name)
		mnl_attr_put_strz((struct nlmsghdr *)buffer, IFLA_IFNAME, name);
	error = ask(socket, (struct nlmsghdr *)buffer, each_link, &all);
	if (!error && !all.n)
		error = -ENODEV;
	if (!error)
		*link = *(struct link *)all.at;
	free(all.at);
	return error;
}

static int each_namespace(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;
	int32_t *number;

	mnl_attr_for_each(attribute, message, NLMSG_ALIGN(sizeof(struct rtgenmsg))) {
		if (mnl_attr_get_type(attribute) != NETNSA_NSID ||
		    (int32_t)mnl_attr_get_u32(attribute) == NETNSA_NSID_NOT_ASSIGNED)
			continue;
		number = collect(data);
		if (!number)
			return MNL_CB_ERROR;
		*number = mnl_attr_get_u32(attribute);
	}
	return MNL_CB_OK;
}

int rtnl_namespace(struct mnl_socket *socket, int there, int32_t *number)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(*number)};
	int error;

	request_start(buffer, RTM_GETNSID, 0, sizeof(struct rtgenmsg));
	mnl_attr_put_u32((struct nlmsghdr *)buffer, NETNSA_FD, there);
	error = ask(socket, (struct nlmsghdr *)buffer, each_namespace, &all);
	if (!error && !all.n)
		error = -ENOENT;
	if (!error)
		*number = *(int32_t *)all.at;
	free(all.at);
	return error;
}

static bool address_from(const struct nlattr *attribute, struct address *address)
{
	size_t length = mnl_attr_get_payload_len(attribute);

	*address = (struct address){};
	if (length == sizeof(struct in6_addr)) {
		memcpy(address->bytes, mnl_attr_get_payload(attribute), length);
		return true;
	}
	if (length != sizeof(struct in_addr))
		return false;
	address->bytes[10] = address->bytes[11] = 0xff;
	memcpy(address->bytes + 12, mnl_attr_get_payload(attribute), length);
	return true;
}

static bool address_is_routed(const struct address *address)
{
	struct in6_addr ipv6;

	memcpy(&ipv6, address->bytes, sizeof(ipv6));
	if (IN6_IS_ADDR_V4MAPPED(&ipv6))
		return address->bytes[12] != 127;
	return !IN6_IS_ADDR_LOOPBACK(&ipv6) && !IN6_IS_ADDR_LINKLOCAL(&ipv6);
}

/* Reads the address of an entry of a dump. */
static bool read_address(const struct nlmsghdr *message, struct address *address)
{
	const struct nlattr *attribute;
	bool found = false;

	mnl_attr_for_each(attribute, message, sizeof(struct ifaddrmsg)) {
		uint16_t type = mnl_attr_get_type(attribute);

		/* on a point-to-point link, IFA_ADDRESS is the other end */
		if (type == IFA_LOCAL || (type == IFA_ADDRESS && !found))
			found = address_from(attribute, address);
	}
	return found;
}

static int each_address(const struct nlmsghdr *message, void *data)
{
	struct address address, *entry;

	if (!read_address(message, &address) || !address_is_routed(&address))
		return MNL_CB_OK;
	entry = collect(data);
	if (!entry)
		return MNL_CB_ERROR;
	*entry = address;
	return MNL_CB_OK;
}

static int each_link_local(const struct nlmsghdr *message, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	struct link_local *entry;
	struct address address;

	if (!read_address(message, &address) ||
	    !IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)address.bytes))
		return MNL_CB_OK;
	entry = collect(data);
	if (!entry)
		return MNL_CB_ERROR;
	*entry = (struct link_local){info->ifa_index, address};
	return MNL_CB_OK;
}

static int ask_for_addresses(struct mnl_socket *socket, mnl_cb_t each, struct collected *all)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];

	request_start(buffer, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	return ask(socket, (struct nlmsghdr *)buffer, each, all);
}

int rtnl_addresses(struct mnl_socket *socket, struct address **addresses, size_t *n)
{
	struct collected all = {.size = sizeof(**addresses)};

	return hand_over(&all, ask_for_addresses(socket, each_address, &all), addresses, n);
}

int rtnl_link_locals(struct mnl_socket *socket, struct link_local **addresses, size_t *n)
{
	struct collected all = {.size = sizeof(**addresses)};

	return hand_over(&all, ask_for_addresses(socket, each_link_local, &all), addresses, n);
}

static int collect_number(void *all, uint32_t number)
{
	uint32_t *entry = collect(all);

	if (!entry)
		return MNL_CB_ERROR;
	*entry = number;
	return MNL_CB_OK;
}

/* A kind of device that decapsulates what comes to UDP ports. */
struct tunnel_kind {
	const char *name;
	uint16_t attributes[2]; /* those of its ports; 0: none */
	uint32_t ports[2]; /* those of each such device; 0: none */
};

static const struct tunnel_kind *tunnel_kind(const char *name)
{
	static const struct tunnel_kind kinds[] = {
		{"vxlan", .attributes = {IFLA_VXLAN_PORT}},
		{"geneve", .attributes = {IFLA_GENEVE_PORT}},
		{"bareudp", .attributes = {IFLA_BAREUDP_PORT}},
		/* one of the two is the other side's, at which this node may be that side, too */
		{"amt", .attributes = {IFLA_AMT_RELAY_PORT, IFLA_AMT_GATEWAY_PORT}},
		{"gtp", .ports = {2152, 3386}}, /* 3GPP TS 29.281, 29.060 */
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

static int read_tunnel_ports(const struct nlattr *data, const struct tunnel_kind *kind, void *all)
{
	const struct nlattr *inner;
	int status = MNL_CB_OK;

	mnl_attr_for_each_nested(inner, data) {
		const uint16_t type = mnl_attr_get_type(inner);

		if (type && (type == kind->attributes[0] || type == kind->attributes[1]) &&
		    status != MNL_CB_ERROR)
			status = collect_number(all, ntohs(mnl_attr_get_u16(inner)));
	}
	return status;
}

static int read_tunnel(const struct nlattr *info, void *all)
{
	const struct tunnel_kind *kind = NULL;
	const struct nlattr *attribute;
	int status = MNL_CB_OK;

	mnl_attr_for_each_nested(attribute, info) {
		if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
			kind = tunnel_kind(mnl_attr_get_str(attribute));
		if (mnl_attr_get_type(attribute) == IFLA_INFO_DATA && kind)
			status = read_tunnel_ports(attribute, kind, all);
		if (status == MNL_CB_ERROR)
			return status;
	}
	for (size_t i = 0; kind && i < 2 && kind->ports[i]; i++)
		if (collect_number(all, kind->ports[i]) == MNL_CB_ERROR)
			return MNL_CB_ERROR;
	return MNL_CB_OK;
}

static int each_tunnel(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(attribute) == IFLA_LINKINFO &&
		    read_tunnel(attribute, data) == MNL_CB_ERROR)
			return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

int rtnl_tunnel_ports(struct mnl_socket *socket, uint32_t **ports, size_t *n)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(**ports)};

	request_start(buffer, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	return hand_over(&all, ask(socket, (struct nlmsghdr *)buffer, each_tunnel, &all), ports, n);
}

static int each_nexthop(const struct nlattr *attribute, void *data)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(attribute);
	int left = mnl_attr_get_payload_len(attribute);

	for (; RTNH_OK(hop, left); left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		if (collect_number(data, hop->rtnh_ifindex) == MNL_CB_ERROR)
			return MNL_CB_ERROR;
	return MNL_CB_OK;
}

static int each_default_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;
	int status = MNL_CB_OK;

	if (route->rtm_dst_len || route->rtm_type != RTN_UNICAST ||
	    route->rtm_table != RT_TABLE_MAIN)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*route)) {
		if (mnl_attr_get_type(attribute) == RTA_OIF)
			status = collect_number(data, mnl_attr_get_u32(attribute));
		if (mnl_attr_get_type(attribute) == RTA_MULTIPATH)
			status = each_nexthop(attribute, data);
		if (status == MNL_CB_ERROR)
			break;
	}
	return status;
}

int rtnl_default_routes(struct mnl_socket *socket, uint32_t **ifindexes, size_t *n)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(**ifindexes)};
	int error = 0;

	for (size_t i = 0; !error && i < 2; i++) {
		struct rtmsg *route =
			request_start(buffer, RTM_GETROUTE, NLM_F_DUMP, sizeof(*route));

		route->rtm_family = families[i];
		error = ask(socket, (struct nlmsghdr *)buffer, each_default_route, &all);
	}
	return hand_over(&all, error, ifindexes, n);
}

static int each_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;

	if (route->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*route))
		if (mnl_attr_get_type(attribute) == RTA_OIF)
			return collect_number(data, mnl_attr_get_u32(attribute));
	return MNL_CB_OK;
}

int rtnl_route(struct mnl_socket *socket, const struct address *address, uint32_t *ifindex)
{
	char buffer[MNL_NLMSG_HDRLEN + 128];
	struct collected all = {.size = sizeof(*ifindex)};
	struct rtmsg *route = request_start(buffer, RTM_GETROUTE, 0, sizeof(*route));
	bool ipv4 = address_is_ipv4(address);
	int error;

	route->rtm_family = ipv4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = ipv4 ? 32 : 128;
	mnl_attr_put((struct nlmsghdr *)buffer, RTA_DST, ipv4 ? 4 : 16,
		     address->bytes + (ipv4 ? 12 : 0));
	error = ask(socket, (struct nlmsghdr *)buffer, each_route, &all);
	if (!error && !all.n)
		error = -ENETUNREACH;
	if (!error)
		*ifindex = *(uint32_t *)all.at;
	free(all.at);
	return error;
}

static int each_filter(const struct nlmsghdr *message, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute, *inner;
	struct rtnl_filter filter = {
		.parent = tc->tcm_parent,
		.priority = TC_H_MAJ(tc->tcm_info) >> 16,
		.handle = tc->tcm_handle,
	};
	struct rtnl_filter *entry;
	bool bpf = false;

	mnl_attr_for_each(attribute, message, sizeof(*tc)) {
		if (mnl_attr_get_type(attribute) == TCA_KIND)
			bpf = !strcmp(mnl_attr_get_str(attribute), "bpf");
		if (mnl_attr_get_type(attribute) == TCA_CHAIN)
			filter.chain = mnl_attr_get_u32(attribute);
		if (mnl_attr_get_type(attribute) != TCA_OPTIONS || !bpf)
			continue;
		mnl_attr_for_each_nested(inner, attribute)
			if (mnl_attr_get_type(inner) == TCA_BPF_ID)
				filter.program = mnl_attr_get_u32(inner);
	}
	/* the kernel lists chains and priorities as well as filters */
	if (!filter.handle)
		return MNL_CB_OK;
	entry = collect(data);
	if (!entry)
		return MNL_CB_ERROR;
	*entry = filter;
	return MNL_CB_OK;
}

int rtnl_filters(struct mnl_socket *socket, uint32_t ifindex, struct rtnl_filter **filters,
		 size_t *n)
{
	static const uint32_t sides[] = {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS};
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(**filters)};
	int error = 0;

	for (size_t i = 0; !error && i < 2; i++) {
		struct tcmsg *tc = request_start(buffer, RTM_GETTFILTER, NLM_F_DUMP, sizeof(*tc));

		tc->tcm_ifindex = ifindex;
		tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, sides[i]);
		error = ask(socket, (struct nlmsghdr *)buffer, each_filter, &all);
		/* the kernel's answers if there is no such qdisc */
		if (error == -EINVAL || error == -ENOENT)
			error = 0;
	}
	return hand_over(&all, error, filters, n);
}

static int each_qdisc(const struct nlmsghdr *message, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;

	if (tc->tcm_parent != TC_H_CLSACT)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*tc))
		if (mnl_attr_get_type(attribute) == TCA_KIND &&
		    !strcmp(mnl_attr_get_str(attribute), "clsact"))
			return collect_number(data, tc->tcm_ifindex);
	return MNL_CB_OK;
}

int rtnl_has_clsact(struct mnl_socket *socket, uint32_t ifindex, bool *there)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct collected all = {.size = sizeof(ifindex)};
	struct tcmsg *tc = request_start(buffer, RTM_GETQDISC, NLM_F_DUMP, sizeof(*tc));
	int error;

	/* the kernel lists the qdiscs of every interface anyway */
	tc->tcm_ifindex = ifindex;
	error = ask(socket, (struct nlmsghdr *)buffer, each_qdisc, &all);
	*there = false;
	for (size_t i = 0; !error && i < all.n; i++)
		*there |= ((uint32_t *)all.at)[i] == ifindex;
	free(all.at);
	return error;
}
