/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One node: its pin folder, and the policy in force there. Every change goes
 * through node_open(), which holds the folder's lock until node_close(), so
 * that a policy is compiled and installed on top of what no one else changes
 * meanwhile.
 *
 * Each function reports in the `diag` that it was given what went wrong, and
 * returns 0, -EINVAL (the input is at fault: exit status 2) or another -errno
 * (the kernel or a permission: exit status 3). On an error the policy that was
 * in force still is; where only what comes after a flip failed, that is said.
 */
#ifndef BULKHEAD_NODE_NODE_H
#define BULKHEAD_NODE_NODE_H

#include <net/if.h>

#include "compile/policy.h"

#define NODE_PIN "/sys/fs/bpf/bulkhead"

/* One step of a change, in the order in which they are taken. */
struct node_step {
	const char *change; /* what is done: "load" */
	const char *phase; /* "prepare", "stage", "flip" or "collect" */
	const char *act; /* "put" */
	const char *map; /* pin name; NULL: it is not about a map */
	size_t n; /* entries, interfaces or the like */
	const void *of; /* for node_step_item() */
};

/* Of which entry, interface or the like the step is; good until the next call. "": that is all
 * said.
 */
const char *node_step_item(const struct node_step *step, size_t i);

struct node_options {
	const char *pin; /* NULL: NODE_PIN */
	const char *name; /* NULL: the policy's [bulkhead] node, else as before, else the host's */
	const char *const *uplinks; /* none: the policy's, else those of the default routes */
	size_t n_uplinks;
	/* First load: "NAME=NUMBER" each (settings.h); a later one only confirms them. */
	const char *const *settings;
	size_t n_settings;
	bool audit; /* load: count and report, drop nothing */
	bool no_adopt; /* first load: forget the connections that are open */
	bool rollback; /* load: an older generation than the one in force is meant */
	bool force; /* load: another node's name, an input of nothing, and to take endpoints off
		     * whose interfaces exist, are meant */
	bool boot; /* load: uplinks and endpoints' interfaces that are not there yet are left out */
	/* Told of each step in place of taking it: nothing is written. NULL: steps are taken. */
	void (*rehearse)(void *data, const struct node_step *step);
	void *rehearse_data;
	bool seal; /* endpoint del: the interface, as long as it is there, is guarded and nobody's
		    */
	enum node_peers {
		NODE_PEERS_AS_BEFORE, /* at first: all */
		NODE_PEERS_ALL,
		NODE_PEERS_NEEDED,
	} peers; /* load: which endpoints of other nodes the maps have */
};

/* From now on, what libbpf, libxdp and the kernel's verifier say goes to stderr. */
void node_debug(void);

struct node_handle;

/*
 * Takes the lock of the pin folder, waiting for it. @create: makes the folder, and mounts bpffs
 * where none is; else *host is NULL where there is no folder, but for a rehearsal. The options must
 * outlive the node.
 */
int node_open(const struct node_options *options, bool create, struct diag *diag,
	      struct node_handle **host);
void node_close(struct node_handle *host);

/* The policy in force, read in full; NULL: none is. Good until node_close(), or the next
 * node_load(). */
int node_policy(struct node_handle *host, const struct policy **policy);

enum node_hook { NODE_HOOK_NONE, NODE_HOOK_TCX, NODE_HOOK_CLSACT };
enum node_xdp {
	NODE_XDP_NONE,
	NODE_XDP_NATIVE,
	NODE_XDP_GENERIC,
	NODE_XDP_TAKEN, /* by a program that libxdp does not manage; TC does its work */
};

/* What the maps have of a policy: all of it, or what this node needs. */
struct node_needs {
	bool part;
	uint32_t endpoints, of_endpoints;
	uint32_t segments, of_segments;
};

/* What a load did. */
struct node_change {
	char node[256]; /* which of the policy's nodes this one is */
	uint64_t generation; /* in force now */
	uint32_t policy_generation; /* installed: the policy's own count */
	uint32_t endpoint_generation; /* that the endpoints are in */
	uint64_t map_writes; /* to pinned maps, the flip and what was collected included */
	uint32_t endpoints; /* guarded on this node */
	uint32_t uplinks;
	uint32_t ports; /* of the endpoints' bridges, guarded beside those two */
	uint32_t adopted; /* connections that were open before the first load */
	struct node_needs needs;
	enum node_hook tc; /* by what it attached TC programs; NONE: it attached none */
	bool replaced; /* the programs in force, by this command's, or for larger maps */
	bool first; /* nothing was in force before */
};

/*
 * Puts @policy in force: all of it or, on an error, nothing. An unchanged policy on an unchanged
 * node makes no map write.
 */
int node_load(struct node_handle *host, const struct policy *policy, struct node_change *change);

/*
 * The same of what @delta makes of the policy in force, which delta_check_base() has passed, at a
 * price that follows the delta: neither the policy nor the maps are read as a whole. Of this node's
 * interfaces nothing is looked at. Returns as node_load() does, or -EOPNOTSUPP, not reported: the
 * delta does more than bring, move and take endpoints, and the whole has to be loaded.
 */
struct delta;
int node_load_delta(struct node_handle *host, const struct delta *delta,
		    struct node_change *change);
/* The policy in force, of which only the header and what was asked for are read; NULL: none is. */
const struct policy *node_policy_head(const struct node_handle *host);

/*
 * The two phases of a load, for a cluster to drive. node_stage() installs what @policy brings and
 * puts nobody in it; a policy has to be in force. node_load() of what is staged then assigns the
 * endpoints; of anything else, or if it is killed, what was staged is discarded. Endpoints that
 * come and go, and repairs, leave it staged.
 */
int node_stage(struct node_handle *host, const struct policy *policy, struct node_change *change);
/* The staged policy, to be freed; NULL: none is. */
int node_staged(struct node_handle *host, struct policy **policy);

/*
 * Puts nothing in force and removes all that was ever loaded from this pin folder, and the folder,
 * even where some of it is damaged. What others attached stays. Nothing loaded is 0.
 */
int node_unload(const struct node_options *options, struct diag *diag);

/*
 * Places one endpoint by the matchers of the policy in force, and guards it if it is on this node;
 * effective when it returns. *isolated: it fits none of the segments that there are and is isolated
 * until a policy knows it. It stays, placed anew by each load, until it is taken off, its interface
 * goes, or a policy has it.
 */
int node_endpoint_add(struct node_handle *host, const struct endpoint *endpoint, bool *isolated);

/*
 * Gives an endpoint that is in force other labels, ports or addresses (NULL: those that it has), in
 * one step: until then it is in its old segment, from then on in the new one, and guarded all the
 * time. Of an endpoint that a policy brought, the labels have to be given, and the next load goes
 * by its input again. *isolated as above. Returns -EINVAL, reported, where no such endpoint is in
 * force, too.
 */
struct node_endpoint_set {
	const char *ns, *name;
	const struct labels *labels;
	const struct named_port *ports;
	size_t n_ports;
	const struct address *addresses;
	size_t n_addresses;
};
int node_endpoint_set(struct node_handle *host, const struct node_endpoint_set *set,
		      bool *isolated);

/* Takes an endpoint off: its addresses, MAC and connections are free for the next owner. Once it is
 * off, what fails is a warning: the next command does it. */
int node_endpoint_del(struct node_handle *host, const char *ns, const char *name);

/* What follows is for container runtimes' plugins. */

/*
 * Attaches the programs at the host side of a pod that is about to come: nothing passes there until
 * node_endpoint_add() has placed it. node_guard() takes no lock, and so waits for nobody;
 * -EOPNOTSUPP, not reported: that is not possible here, and node_seal() has to do it.
 */
int node_guard(const struct node_options *options, uint32_t ifindex, struct diag *diag);
int node_seal(struct node_handle *host, uint32_t ifindex);

/* Takes back what these two did, where no endpoint came of it: an interface that is there and
 * nobody's stays guarded unless @open. */
int node_unguard(struct node_handle *host, uint32_t ifindex, bool open);

/* Whether a policy is in force. */
bool node_is_loaded(const struct node_handle *host);

/* Whose an address is. */
struct node_owner {
	char ns[64], name[256];
	uint32_t ifindex; /* 0: not on this node */
	bool added; /* by node_endpoint_add() */
};

/* -ENOENT: nobody's that is in force. Nothing is reported. */
int node_address_owner(struct node_handle *host, const struct address *address,
		       struct node_owner *owner);

/* Whether an interface carries all that guards an endpoint. Returns 0 or -errno, reported. */
int node_is_guarded(struct node_handle *host, uint32_t ifindex, bool *guarded);

/* Fills in what the policy in force knows of a pod that is unknown: what it expects of one of that
 * name and UID, or that it has one. */
int node_endpoint_known(struct node_handle *host, struct cluster *cluster,
			struct endpoint *endpoint, bool *known);

/* The ones in force of that name, by each of their addresses, to be freed. */
struct node_place {
	struct address address;
	uint32_t ifindex; /* 0: not on this node, or not yet */
};
int node_name_places(struct node_handle *host, const char *ns, const char *name,
		     struct node_place **places, size_t *n);

/* To pinned maps, by this node so far: the flips and what was collected included. */
uint64_t node_map_writes(const struct node_handle *host);

/* One address of an endpoint that is in force. */
struct node_member {
	const char *ns, *name;
	struct address address;
	uint32_t segment; /* ID, 0: isolated, it has none */
	uint32_t variation; /* 0: none */
	uint32_t ifindex; /* 0: not on this node */
	bool added; /* by node_endpoint_add(); the policy in force does not know it */
	bool left_out; /* this node does without it */
};

/* Stops where @visit returns non-zero, and returns that. */
int node_endpoint_each(struct node_handle *host,
		       int (*visit)(void *data, const struct node_member *member), void *data);

/* The same as node_policy(), read without the lock: what is in force while others may be changing
 * it. *policy is NULL where nothing is loaded; else to be freed. */
int node_policy_in_force(const char *pin, struct diag *diag, struct policy **policy);

struct node_iface {
	uint32_t ifindex;
	char name[IF_NAMESIZE]; /* "": the interface is gone */
	uint32_t flags; /* BH_IFACE_* */
	enum node_hook ingress, egress; /* an uplink has the first where XDP has no place */
	enum node_xdp xdp;
	bool dispatched; /* libxdp may run other programs beside */
	bool guarded; /* it is there and carries all that it should */
	bool late; /* it has come up since the last load, and has no hook */
};

/* Who holds as many connections as make three quarters of its share, or more (maps/share.h). */
struct node_share {
	char name[16]; /* of the interface */
	uint32_t opened, taken; /* connections that it opened, and that others opened to it */
	uint64_t refused; /* beyond its share, since the programs are there */
};

/* Of whose packets events were kept back (maps/tally.h). */
struct node_suppressed {
	char name[16]; /* of the interface */
	char endpoint[512]; /* "namespace/name" of its endpoint; "": it is none's */
	uint64_t events; /* since the programs are there, from all readers */
};

/* What was dropped of a namespace's endpoints (maps/tally.h), those that are gone among them. */
struct node_drops {
	uint64_t ns; /* bh_namespace() */
	uint64_t packets[2], bytes[2]; /* by enum bh_direction */
};

struct node_map {
	const char *name; /* pin name */
	uint32_t used, max; /* entries */
};

struct node_status {
	struct policy *policy; /* in force; NULL: nothing is, and the rest says nothing */
	char node[256]; /* which of the policy's nodes this one is */
	bool part; /* the maps have what this node needs of the policy, not all of it */
	uint32_t abi;
	bool own_programs; /* this command's build; else the next load replaces them */
	uint64_t generation;
	uint32_t loaded; /* when the policy in force was loaded or staged, seconds since 1970 */
	/* In the policies' own count. Policy: the segments in the maps; endpoint: the segments that
	 * the endpoints are in. */
	struct node_generations {
		uint32_t desired; /* by the last command, whether or not it came about */
		uint32_t
			installed; /* all of it is in the maps, for packets or for a flip to come */
		uint32_t active; /* packets are judged by it */
		uint32_t oldest; /* of which anything may be left: a collection did not end */
	} policy_generation, endpoint_generation;
	bool killed; /* a command began to change the maps, and none is at it */
	bool staged; /* the installed policy waits to be activated */
	uint32_t *unguarded; /* this node's endpoints that lack a program or an interface: indexes
			      * of policy->endpoints */
	size_t n_unguarded;
	struct node_pod { /* which endpoint is at which interface */
		uint32_t endpoint; /* index of policy->endpoints */
		uint32_t ifindex;
	} * pods;
	size_t n_pods;
	struct node_iface *ifaces;
	size_t n_ifaces;
	struct node_map *maps;
	size_t n_maps;
	struct node_share *shares;
	size_t n_shares;
	uint32_t readers[8]; /* of events: their process IDs */
	size_t n_readers;
	uint64_t events_written, events_lost; /* lost: a reader's ring had no room for them */
	struct node_suppressed *suppressed;
	size_t n_suppressed;
	struct node_drops *drops;
	size_t n_drops;
};

int node_status(const char *pin, struct diag *diag, struct node_status *status);
void node_status_free(struct node_status *status);

#endif
