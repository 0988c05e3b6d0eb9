/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Our programs on the interfaces: on an endpoint's host side TCX links where
 * the kernel has them (6.6), else filters of a clsact qdisc, and such filters
 * where a container runtime brings an interface (attach_guard); on an uplink XDP,
 * through libxdp. What others attached stays as it is: a program is ours if it
 * works on the maps of our pin folder.
 *
 * An uplink that takes no XDP program of ours has a TC program at ingress that
 * drops the same, and so has every other port of an endpoint's bridge. At egress
 * both, and whatever else is no endpoint's, have the program that judges what went
 * to a Service's address (kern/leave.h).
 */
#ifndef BULKHEAD_NODE_ATTACH_H
#define BULKHEAD_NODE_ATTACH_H

#include "node/kernel/handle.h"

/* The type of a TCX link: of linux/bpf.h since 6.6, which Debian 12's has not. */
#define LINK_TCX 11

/* What an interface carries. */
struct attached {
	enum node_hook ingress, egress;
	enum node_xdp xdp;
	bool dispatched; /* the XDP program is one of several that libxdp may dispatch to */
	bool stale; /* one of them is none of the programs that are pinned, or of their build */
	bool excess; /* ours is there where its role has none, or has another instead */
	bool overtaken; /* our filters are behind others' TCX links, and count for nothing */
};

/* @flags, here and below: BH_IFACE_*; XDP is at uplinks only. Returns 0 or -errno, reported. */
int attach_read(struct node_handle *host, uint32_t ifindex, uint32_t flags,
		struct attached *attached);

/* Whether that is all that an interface with these flags can carry. */
bool attach_is_complete(const struct attached *attached, uint32_t flags);

/*
 * Attaches what is missing, and says how and why, renews what is stale, and then removes what is in
 * excess; the interface has its entry in bh_ifaces. A bridge's port that takes no program is warned
 * about. Returns 0; -ENODEV, not reported: the interface is gone; or another -errno, reported.
 */
int attach_add(struct node_handle *host, uint32_t ifindex, uint32_t flags);

/*
 * Gives an interface another role than its entry in bh_ifaces says, by that entry first. There is
 * always a program of ours at its ingress. Waits for the programs that run. Returns as attach_add()
 * does.
 */
struct bh_iface;
int attach_turn(struct node_handle *host, uint32_t ifindex, const struct bh_iface *iface);

/*
 * Without an entry in bh_ifaces, so that all is dropped. No lock is needed: nobody else cares for
 * an interface that is not known. By filters, where nobody else has any programs there: for each
 * TCX link the kernel waits for a grace period while it holds the lock of all interfaces, 8 to 16
 * ms, and not for a filter. Returns 0 or -errno, not reported.
 */
int attach_guard(struct node_handle *host, uint32_t ifindex);

/* Puts the pinned programs in the place of others of ours, each in one step. An interface that is
 * gone is 0. Returns 0 or -errno, reported. */
int attach_renew(struct node_handle *host, uint32_t ifindex, uint32_t flags);

/* Detaches all of ours, and removes a clsact qdisc that we made and nobody uses. An interface that
 * is gone is 0. */
int attach_remove(struct node_handle *host, uint32_t ifindex);

#endif
