/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches the programs to interfaces. An endpoint's interface gets TC programs at the node's side:
 * by TCX links if the kernel has them (Linux 6.6), else by filters of a clsact qdisc. An interface
 * that a container runtime brings gets filters (attach_guard). An uplink gets XDP through libxdp.
 * Programs of others stay. A program is ours if it uses the maps of our pin folder.
 *
 * An uplink that takes no XDP program has a TC program at ingress that drops the same packets. So
 * has every other port of an endpoint's bridge. At egress, every interface that is no endpoint's
 * has the program that evaluates packets to Services (kern/host_egress.h).
 *
 * Two entries of bh_ifaces are written here, since they belong to the hook: attach_add() notes that
 * it makes a qdisc, and attach_set_role() writes a role together with its programs. Both run as
 * steps of apply().
 */
#ifndef BULKHEAD_NODE_ATTACH_H
#define BULKHEAD_NODE_ATTACH_H

#include "node/kernel/handle.h"

struct bh_iface;

/* The type of a TCX link in linux/bpf.h of 6.6, which Debian 12's lacks. */
#define LINK_TCX 11

/* Attach types of 6.6. */
#define ATTACH_TCX_INGRESS 46
#define ATTACH_TCX_EGRESS 47

/* The programs that an interface carries. */
struct attached {
	uint32_t flags; /* that attach_read() was given */
	enum node_hook ingress, egress;
	enum node_xdp xdp;
	bool dispatched; /* libxdp's dispatcher runs the XDP program, perhaps with others */
	bool stale; /* a program is none of those that are pinned, nor of their build */
	/* a program of ours is where the interface's role has no program, or another one */
	bool excess;
	uint32_t
		before; /* ID of another's program that a TCX link runs before ours; 0: none does */
	uint32_t
		orphan; /* mark of a program of Bulkhead whose pins are gone (orphans.h); 0: none */
	/* TCX links, or filters of others, run before our filters, and may end the run */
	bool overtaken;
};

/* Reads the programs that the interface carries. @flags, here and below, are BH_IFACE_*. Does not
 * look for XDP on an endpoint's interface. Returns 0 or -errno, reported. */
int attach_read(struct node_handle *handle, uint32_t ifindex, uint32_t flags,
		struct attached *attached);

/* Returns true if the pinned links are at interfaces of another network namespace, and none at one
 * of this. False if filters guard the interfaces: the kernel does not tell. */
bool attach_is_elsewhere(const struct node_handle *handle);

/* Prints a program's name, or its ID if it has none. Returns @text. */
#define PROGRAM_NAME 32
const char *attach_program_name(uint32_t id, char text[PROGRAM_NAME]);

/* Returns true if an interface with these flags carries all of its programs. */
bool attach_is_complete(const struct attached *attached, uint32_t flags);

/*
 * Attaches missing programs, and reports how and why; renews stale programs; then removes programs
 * in excess. The interface must have its entry in bh_ifaces. Warns of a bridge's port that takes no
 * program. Returns 0; -ENODEV, not reported, if the interface is gone; or another -errno,
 * reported.
 */
int attach_add(struct node_handle *handle, uint32_t ifindex, uint32_t flags);

/*
 * Gives an interface another role than its entry in bh_ifaces has, and writes the entry. A
 * program of ours is at its ingress all the time. Waits for running programs. Returns as
 * attach_add() does.
 */
int attach_set_role(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface);

/*
 * Guards an interface that has no entry in bh_ifaces: all its packets are dropped. Takes no lock: a
 * load that found the interface before may attach its own link for an interface that is no
 * endpoint's, and attach_add() puts that right. Uses filters if no other program is there: for a
 * TCX link, unlike a filter, the kernel waits for a grace period of 8 to 16 ms while it holds the
 * lock of all interfaces. Returns 0 or -errno, not reported.
 */
int attach_guard(struct node_handle *handle, uint32_t ifindex);

/* Replaces other programs of ours by the pinned ones, each in one step. Returns 0, also if
 * the interface is gone, or -errno, reported. */
int attach_renew(struct node_handle *handle, uint32_t ifindex, uint32_t flags);

/* Detaches all our programs, and removes a clsact qdisc that we made and no other program uses. An
 * interface that is gone is no error. */
int attach_remove(struct node_handle *handle, uint32_t ifindex);

/* Does so at every interface of the node. @act: attach_remove(), or a function like it. Returns 0
 * or -errno, reported. */
int attach_every(struct node_handle *handle,
		 int (*act)(struct node_handle *handle, uint32_t ifindex));

/* Removes programs of Bulkhead whose pins are gone (orphans.h), and reports each. attach_add() does
 * so, too. Returns 0 or -errno, reported. */
int attach_remove_orphans(struct node_handle *handle, uint32_t ifindex);

#endif
