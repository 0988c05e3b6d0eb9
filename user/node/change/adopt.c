// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack_tcp.h>

#include "maps/conntrack.h"
#include "maps/iface.h"
#include "maps/share.h"
#include "node/change/adopt.h"
#include "node/kernel/connections.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/translations.h"

struct adoption {
	const struct policy *policy;
	const struct local *local;
	struct table found;
	uint32_t seen; /* tick for the entries */
	size_t known; /* connections that the kernel's conntrack reported */
	uint32_t adopted;
	int error;
};

/* Returns the interface of the endpoint with that address; 0: no endpoint of this node has it. */
static uint32_t endpoint_at(const struct adoption *adoption, const struct address *address)
{
	const struct policy_address *found = policy_address_find(adoption->policy, address);

	return found ? adoption->local->ifindexes[found->endpoint] : 0;
}

static bool is_endpoint(const struct adoption *adoption, const struct address *address)
{
	return endpoint_at(adoption, address) != 0;
}

static bool is_link_local(const struct address *address)
{
	static const struct address zero = {{[10] = 0xff, [11] = 0xff}};
	const uint8_t *byte = address->bytes;

	if (address_is_ipv4(address))
		return (byte[12] == 169 && byte[13] == 254) ||
		       !memcmp(address, &zero, sizeof(zero));
	return byte[0] == 0xfe && (byte[1] & 0xc0) == 0x80;
}

/* Returns which end of the key the source is (maps/conntrack.h). */
static uint32_t source_end(const struct tuple *tuple)
{
	uint32_t v4[2];
	uint64_t v6[2][2];

	if (address_is_ipv4(&tuple->source)) {
		memcpy(&v4[0], tuple->source.bytes + 12, 4);
		memcpy(&v4[1], tuple->destination.bytes + 12, 4);
		if (v4[0] != v4[1])
			return v4[0] > v4[1];
		return tuple->source_port > tuple->destination_port;
	}
	memcpy(v6[0], tuple->source.bytes, sizeof(v6[0]));
	memcpy(v6[1], tuple->destination.bytes, sizeof(v6[1]));
	for (int i = 0; i < 2; i++)
		if (v6[0][i] != v6[1][i])
			return v6[0][i] > v6[1][i];
	return tuple->source_port > tuple->destination_port;
}

/* Returns the link that a link-local address belongs to: the interface's bridge, else the
 * interface. */
static uint32_t link_of(const struct adoption *adoption, uint32_t ifindex)
{
	const struct bh_iface *iface = table_find(&adoption->local->ifaces, &ifindex);

	return iface && iface->bridge ? iface->bridge : ifindex;
}

static uint16_t scope_of(const struct adoption *adoption, const struct tuple *tuple)
{
	uint32_t ifindex = endpoint_at(adoption, &tuple->source);

	if (!is_link_local(&tuple->source) && !is_link_local(&tuple->destination))
		return 0;
	return BH_CT_LINK(
		link_of(adoption, ifindex ? ifindex : endpoint_at(adoption, &tuple->destination)));
}

/* Returns whose share the connection counts in, as the programs do (maps/share.h). @nodes: the node
 * opened it. */
static uint32_t payer_of(const struct adoption *adoption, const struct tuple *tuple, bool nodes)
{
	uint32_t ifindex = endpoint_at(adoption, &tuple->source);

	if (ifindex)
		return ifindex;
	return nodes ? BH_SHARE_NODE : endpoint_at(adoption, &tuple->destination);
}

/* @nodes: as of payer_of(); @flags: BH_CT_NODE if the connection is always let in. */
static int add_entry(struct adoption *adoption, const struct tuple *tuple, bool nodes,
		     uint32_t flags)
{
	uint32_t end = source_end(tuple);
	struct bh_ct value = {.seen = adoption->seen, .payer = payer_of(adoption, tuple, nodes)};
	struct bh_ct_key key = {.protocol = tuple->protocol, .scope = scope_of(adoption, tuple)};

	/* A word of generation 0, like those of packets that passed before anything was active. */
	flags |= BH_CT_ALLOW | (end ? BH_CT_INITIATOR : 0);
	memcpy(key.addr[end], &tuple->source, sizeof(key.addr[end]));
	memcpy(key.addr[!end], &tuple->destination, sizeof(key.addr[end]));
	key.port[end] = tuple->source_port;
	key.port[!end] = tuple->destination_port;
	value.verdict[0] = value.verdict[1] = bh_ct_word(0, 0, flags);
	return table_add(&adoption->found, &key, &value);
}

static bool is_open(const struct nf_conntrack *ct, uint8_t protocol)
{
	if (protocol == IPPROTO_TCP) {
		uint8_t state = nfct_get_attr_u8(ct, ATTR_TCP_STATE);

		/* A SYN that was not answered is sent again, and then opens a new entry. */
		return state >= TCP_CONNTRACK_SYN_RECV && state <= TCP_CONNTRACK_LAST_ACK;
	}
	return protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

/*
 * Returns true if the connection may belong to the pod that has its initiator's address now. The
 * kernel also remembers calls of a pod that had the address before, whose callee may send at any
 * time. To a TCP segment without SYN the next pod answers by a RST, but a datagram reaches it, past
 * its ingress policy. The pod's own next datagram opens such a connection anew.
 */
static bool may_live(const struct adoption *adoption, const struct tuple *before)
{
	return before->protocol == IPPROTO_TCP || !is_endpoint(adoption, &before->source);
}

static int visit(enum nf_conntrack_msg_type type, struct nf_conntrack *ct, void *data)
{
	struct adoption *adoption = data;
	struct tuple before, after;
	uint32_t flags;
	bool nodes;

	(void)type;
	adoption->known++;
	tuples_read(ct, &before, &after);
	if (!is_open(ct, before.protocol) || !may_live(adoption, &before))
		return NFCT_CB_CONTINUE;
	nodes = local_has_address(adoption->local, &before.source);
	flags = nodes ? BH_CT_NODE : 0;
	if (is_endpoint(adoption, &before.source) || is_endpoint(adoption, &before.destination)) {
		adoption->error = add_entry(adoption, &before, nodes, flags);
		adoption->adopted++;
	}
	/* A packet from an endpoint to itself by way of a Service comes back with the node's
	 * address. */
	if (!memcmp(&before.source, &after.destination, sizeof(before.source)) &&
	    local_has_address(adoption->local, &after.source))
		flags = BH_CT_NODE;
	if (!adoption->error && memcmp(&before, &after, sizeof(before)) &&
	    (is_endpoint(adoption, &after.source) || is_endpoint(adoption, &after.destination))) {
		adoption->error = add_entry(adoption, &after, nodes, flags);
		adoption->adopted += !is_endpoint(adoption, &before.source) &&
				     !is_endpoint(adoption, &before.destination);
	}
	return adoption->error ? NFCT_CB_FAILURE : NFCT_CB_CONTINUE;
}

/* Returns 0 also if the kernel tracks no connections. */
static int read_connections(struct adoption *adoption)
{
	struct nfct_handle *handle = nfct_open(CONNTRACK, 0);
	uint32_t families[] = {AF_INET, AF_INET6};

	if (!handle)
		return 0;
	nfct_callback_register(handle, NFCT_T_ALL, visit, adoption);
	for (size_t i = 0; i < ARRAY_SIZE(families) && !adoption->error; i++)
		if (nfct_query(handle, NFCT_Q_DUMP, &families[i]) && !adoption->known)
			break;
	nfct_close(handle);
	return adoption->error;
}

/* Leaves out entries for which the table has no room: the programs treat them as unknown. */
static int write_entries(struct node_handle *handle, const struct table *entries)
{
	CLEANUP(connections_close) struct connections connections = {};
	int error = entries->n ? connections_open(handle, &connections) : 0;

	if (error)
		return node_fail(handle, error, "cannot write to %s/ct", handle->pin);
	for (size_t i = 0; i < entries->n; i++)
		handle->writes += !connections_add(&connections, table_key(entries, i),
						   table_value(entries, i));
	return 0;
}

int adopt_connections(struct node_handle *handle, const struct policy *policy,
		      const struct local *local, uint32_t *adopted)
{
	struct adoption adoption = {.policy = policy, .local = local, .seen = connections_tick()};
	int error;

	table_init(&adoption.found, sizeof(struct bh_ct_key), sizeof(struct bh_ct));
	error = read_connections(&adoption);
	if (error)
		node_fail(handle, error, "cannot read the kernel's connections");
	if (!error && !adoption.known)
		diag_note(
			handle->diag, NULL, NULL,
			"the kernel's conntrack knows no connection here: TCP connections that are "
			"open will have to reconnect");
	if (!error)
		error = write_entries(handle, &adoption.found);
	if (!error)
		*adopted = adoption.adopted;
	table_free(&adoption.found);
	return error;
}
