/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One node: its pin folder, and the active policy there. Every change goes through node_open(),
 * which holds the folder's lock until node_close(). So no other process changes the active policy
 * while its successor is compiled and installed.
 *
 * Each function reports errors in the `diag` that it was given. It returns 0, -EINVAL (the input is
 * at fault: exit status 2) or another -errno (the kernel or a permission: exit status 3). After an
 * error the old policy is active; if only a step after the commit failed, the message says so.
 */
#ifndef BULKHEAD_NODE_NODE_H
#define BULKHEAD_NODE_NODE_H

#include <net/if.h>

#include "policy/policy.h"

struct delta;

#define NODE_PIN "/sys/fs/bpf/bulkhead"

/* One step of a change. */
struct node_step {
	const char *change; /* the change's name: "load" */
	const char *phase; /* "prepare", "stage", "flip" or "collect" */
	const char *act; /* the step's name: "put" */
	const char *map; /* pin name; NULL: the step concerns no map */
	size_t n; /* number of entries, interfaces or the like */
	const void *of; /* for node_step_item() */
};

/* Returns the name of an entry, interface or the like of the step, valid until the next call;
 * "": there is nothing to add. */
const char *node_step_item(const struct node_step *step, size_t i);

/*
 * A process that opens a node again and again may keep what it has read of the pinned policy, up to
 * 4 MB: the next node_open() need not decompress these parts. The cache keeps no kernel object
 * open. node_cache_free(NULL) is fine.
 */
struct node_cache;
struct node_cache *node_cache_new(void); /* NULL: there is no memory */
void node_cache_free(struct node_cache *cache);

/* An address of a pod that a container runtime has attached, and the pod's interface. */
struct node_attached {
	struct address address;
	uint32_t ifindex;
	uint8_t mac[6]; /* 0: unknown */
};

struct node_options {
	const char *pin; /* NULL: NODE_PIN */
	struct node_cache *cache; /* NULL: nothing is kept */
	const char *command; /* load: the command's name, for `status`; NULL: not known */
	/* NULL: the policy's [bulkhead] node, else the last load's, else the host's */
	const char *name;
	/* none: the policy's, else the interfaces of the default routes */
	const char *const *uplinks;
	size_t n_uplinks;
	/* Addresses of the DNS servers whose answers teach; none: the policy's, else the Service
	 * kube-system/kube-dns, else those of the node's resolv.conf. */
	const char *const *resolvers;
	size_t n_resolvers;
	/* First load: "NAME=NUMBER" each (kernel/settings.h). A later load must have the same, or
	 * more connections. */
	const char *const *settings;
	size_t n_settings;
	bool audit; /* load: drop nothing, count and report */
	/* load: a table of connections that is larger than the settings say stays, with a note */
	bool keep_connections;
	bool no_adopt; /* first load: do not take over open connections */
	bool rollback; /* load: allow an older generation than the active one */
	/* load: allow another node's name, an input without objects, and taking off endpoints whose
	 * interfaces exist */
	bool force;
	bool boot; /* load: leave out uplinks and endpoints' interfaces that do not exist yet */
	/* Dry run: gets each step instead of the node; nothing is written. NULL: the steps are
	 * taken. */
	void (*dry_run)(void *data, const struct node_step *step);
	void *dry_run_data;
	bool quarantine; /* load, endpoint del: interfaces of removed endpoints stay guarded */
	bool sandbox_is_new; /* endpoint add: it has opened nothing, nor has anybody to it */
	/* load: says where pods are that no active policy knows, whatever the routes say */
	const struct node_attached *attached;
	size_t n_attached;
	/* A note of a long wait for the lock goes to standard error at once, not to the diag. */
	bool tells_at_once;
	/* load: an endpoint without an interface, or behind a bridge whose port is not known, is
	 * left out without a word: the CNI plugin brings the endpoint */
	bool late;
};

/* Makes messages of libbpf, libxdp and the kernel's verifier go to stderr. */
void node_debug(void);

struct node_handle;

/*
 * Waits for the lock of the pin folder and takes it. Notes a wait of more than ten seconds, and who
 * has the lock. @create: makes the folder, and mounts bpffs
 * if none is mounted. Without @create, or in a dry run, *handle is NULL if the folder does not
 * exist. The options must outlive the handle.
 */
int node_open(const struct node_options *options, bool create, struct diag *diag,
	      struct node_handle **handle);
void node_close(struct node_handle *handle);

/* Reads all of the active policy; NULL: none is. Valid until node_close() or the next
 * node_load(). */
int node_policy(struct node_handle *handle, const struct policy **policy);

enum node_hook { NODE_HOOK_NONE, NODE_HOOK_TCX, NODE_HOOK_CLSACT };
enum node_xdp {
	NODE_XDP_NONE,
	NODE_XDP_NATIVE,
	NODE_XDP_GENERIC,
	/* a program that libxdp does not manage is there; a TC program guards the uplink */
	NODE_XDP_TAKEN,
};

/* An endpoint of this node that a load opens. */
struct node_opened {
	char *name; /* "namespace/name" */
	uint8_t directions; /* isolated no longer: 1 << enum direction for each */
	bool audited; /* from now on policy denies it nothing, and only counts */
};

/* How a load changes the protection of this node. */
struct node_effect {
	uint32_t policies, policies_before; /* numbers of policy objects */
	uint32_t policies_audited; /* policies that are only audited; 0 if a delta was loaded */
	char **added, **deleted; /* names of policies: "namespace/name" or "name" */
	size_t n_added, n_deleted;
	char **audits; /* policies that are only audited from now on */
	size_t n_audits;
	uint32_t endpoints_before; /* guarded before the load */
	/* the next two are known: not by a delta that moves no endpoint of this node, nor by a
	 * follower's that leaves isolations as they are */
	bool counted;
	uint32_t isolated[2]; /* endpoints of this node, by enum direction */
	uint32_t audited; /* endpoints of this node */
	struct node_opened *opened;
	size_t n_opened;
};

/* The result of a load. */
struct node_change {
	char node[256]; /* name of this node in the policy */
	uint64_t generation; /* active now */
	uint32_t policy_generation; /* the installed policy's own generation */
	uint32_t endpoint_generation; /* generation of the policy that the endpoints are in */
	uint64_t map_writes; /* to pinned maps, including the commit and the collection */
	uint32_t endpoints; /* guarded on this node */
	uint32_t uplinks;
	uint32_t ports; /* other ports of the endpoints' bridges, which are guarded too */
	uint32_t adopted; /* connections that were taken over */
	enum node_hook tc; /* how the load attached TC programs; NONE: it attached none */
	/* the load replaced the programs: by this command's, or for a larger table of connections
	 */
	bool replaced;
	bool first; /* nothing was active before */
	bool own; /* load of a delta: the delta concerns endpoints of this node */
	bool whole; /* load of a delta: everything was compared */
	/* `load --stage` has pinned the policy; false: the maps had its segments */
	bool staged;
	/* valid until node_close() or the next load; NULL: not known */
	const struct node_effect *effect;
};

/* observe/effect_line.c. Prints in one line, without its end, what the load changed and opened. */
void node_change_print(FILE *to, const struct node_change *change);
/* Returns "ingress", "egress", or both, for a set of 1 << enum direction. */
const char *node_directions_name(uint8_t directions);

/*
 * Puts @policy active: all of it or, on an error, nothing. An unchanged policy on an unchanged node
 * causes no map write.
 */
int node_load(struct node_handle *handle, const struct policy *policy, struct node_change *change);

/* Checks the options' settings as node_load() does, and changes nothing. *grow: a load would make
 * the table of connections larger. Returns 0; -EINVAL, reported, if a load would refuse them; or
 * another -errno, reported. */
int node_check_settings(struct node_handle *handle, bool *grow);

/*
 * node_load_delta() activates the policy that @delta makes of the active policy. That policy may be
 * staged. delta_check_base() must have accepted @delta. The time is in proportion to the delta:
 * node_load_delta() reads no endpoint that the delta does not name, and of this node's interfaces
 * only those whose endpoints come or go. If more may differ than the delta names (OPERATING.md
 * lists the cases), everything is compared, as node_load() does. Returns as node_load() does.
 * *whole: the policy that is active now, to be freed, if the load had to make all of it; else it
 * stays as it was. @whole may be NULL.
 *
 * node_stage_delta() installs the segments of @delta that are not in the maps, as node_stage()
 * does. If the maps have all segments already, it pins the policy as staged only with @always.
 */
int node_load_delta(struct node_handle *handle, const struct delta *delta,
		    struct node_change *change, struct policy **whole);
int node_stage_delta(struct node_handle *handle, const struct delta *delta, bool always,
		     struct node_change *change);
/* Returns the active policy, read as far as needed so far; NULL: none is active. */
const struct lazy_policy *node_policy_head(const struct node_handle *handle);
/* Returns true if the active policy was loaded with the option `audit`. */
bool node_audits(const struct node_handle *handle);

/*
 * The two phases of a load, which a cluster drives. node_stage() installs @policy and puts no
 * endpoint into it; a policy must be active. node_load() of the staged policy then moves the
 * endpoints. node_load() of another policy discards the staged policy, even if that load is killed.
 * Changes of endpoints and repairs keep the staged policy.
 */
int node_stage(struct node_handle *handle, const struct policy *policy, struct node_change *change);
/* Reads the staged policy, to be freed; NULL: none is staged. */
int node_staged(struct node_handle *handle, struct policy **policy);

/* The policies of a node: their generations (0: there is none) and checksums. */
struct node_heads {
	uint32_t active, staged;
	uint64_t active_checksum, staged_checksum;
};
/* Reads no policy: that is cheaper than node_open(). */
int node_read_heads(const struct node_options *options, struct diag *diag,
		    struct node_heads *heads);

/*
 * Takes the policy out of force, and removes every map, program and pin of this pin folder, and the
 * folder, even if some are damaged. Programs and pins of others stay. Returns 0 if nothing is
 * loaded.
 */
int node_unload(const struct node_options *options, struct diag *diag);

/*
 * Places one endpoint by the matchers of the active policy, and guards it if it is on this node.
 * The endpoint is active when the function returns. Labels that no active segment has get a segment
 * of this node's own, by what the active policies say of these labels. *isolated: the endpoint's or
 * its namespace's labels are not known, or a policy is staged; the endpoint is isolated until a
 * policy knows it. Each load places the endpoint anew, until the endpoint is removed, its interface
 * goes, or a policy has the endpoint.
 */
int node_endpoint_add(struct node_handle *handle, const struct endpoint *endpoint, bool *isolated);

/*
 * Gives an active endpoint other labels, ports or addresses (NULL: unchanged) in one step. The
 * endpoint is guarded all the time. The labels of an endpoint that a policy brought must be given,
 * and the next load uses the labels of its input again. *isolated as for node_endpoint_add().
 * Returns -EINVAL, reported, also if no such endpoint is active.
 */
struct node_endpoint_set {
	const char *ns, *name;
	const struct labels *labels;
	const struct named_port *ports;
	size_t n_ports;
	const struct address *addresses;
	size_t n_addresses;
	/* changes nothing if a policy brought the endpoint, and has it where these labels and
	 * ports belong */
	bool if_elsewhere;
};
int node_endpoint_set(struct node_handle *handle, const struct node_endpoint_set *set,
		      bool *isolated);

/* Removes an endpoint: its addresses, MAC and connections are free for the next owner. A failure
 * after the commit is a warning: the next command completes the removal. */
int node_endpoint_del(struct node_handle *handle, const char *ns, const char *name);

/* Removes the active endpoints at those interfaces, in one change. An endpoint of the same name at
 * another interface stays. */
int node_interfaces_del(struct node_handle *handle, const uint32_t *ifindexes, size_t n);

/* Removes active addresses, in one change, and no other address of their endpoints. An address that
 * is not active is no error. The interfaces of these addresses must be gone. */
int node_addresses_del(struct node_handle *handle, const struct address *addresses, size_t n);

/*
 * For the container runtimes' plugin. Guards the node's side of a pod's interface before the pod
 * exists: no packet passes until node_endpoint_add() has placed the pod. node_guard() takes no
 * lock, so it waits for no command. Returns -EOPNOTSUPP, not reported, if it could not guard the
 * interface: node_quarantine() must do it then, which also takes off an endpoint of a former
 * interface of that number.
 */
int node_guard(const struct node_options *options, uint32_t ifindex, struct diag *diag);
int node_quarantine(struct node_handle *handle, uint32_t ifindex);

/* Removes what node_guard() and node_quarantine() left of an interface that is gone. While the
 * interface exists, it stays guarded. */
int node_unguard(struct node_handle *handle, uint32_t ifindex);

/* Returns true if a policy is active. */
bool node_is_loaded(const struct node_handle *handle);

/* The owner of an address. */
struct node_owner {
	char ns[64], name[256];
	uint32_t ifindex; /* 0: not on this node */
	bool added; /* added by node_endpoint_add() */
	uint32_t uid[2]; /* of the pod's UID, by policy_uid_hash(); 0: not known */
};

/* Finds the active endpoint that has an address. Returns 0; -ENOENT: no endpoint has the address;
 * or another -errno. Reports nothing. */
int node_address_owner(struct node_handle *handle, const struct address *address,
		       struct node_owner *owner);

/* Returns true if an interface has all programs that guard an endpoint. Returns 0 or -errno,
 * reported. */
int node_is_guarded(struct node_handle *handle, uint32_t ifindex, bool *guarded);

/* Returns true if the record of an added endpoint has room for its labels and ports. */
bool node_endpoint_fits(const struct endpoint *endpoint);

/* Fills in what the active policy knows of a pod by the @endpoint's name and UID. *known: the
 * policy knows the pod. */
int node_endpoint_known(struct node_handle *handle, struct cluster *cluster,
			struct endpoint *endpoint, bool *known);

/* Lists the active addresses of the endpoint of that name, to be freed. */
struct node_place {
	struct address address;
	uint32_t ifindex; /* 0: not on this node, or not there yet */
};
int node_name_places(struct node_handle *handle, const char *ns, const char *name,
		     struct node_place **places, size_t *n);

/* Returns the number of writes to pinned maps by this handle, including commits and collections. */
uint64_t node_map_writes(const struct node_handle *handle);

/* One address of an active endpoint. */
struct node_member {
	const char *ns, *name;
	struct address address;
	uint32_t segment; /* ID; 0: none, so the endpoint is isolated */
	uint32_t variation; /* 0: none */
	uint32_t ifindex; /* 0: not on this node */
	bool added; /* added by node_endpoint_add(), and unknown to the active policy */
};

/* Calls @visit for each address active. Stops if @visit returns non-zero, and returns that. */
int node_endpoint_each(struct node_handle *handle,
		       int (*visit)(void *data, const struct node_member *member), void *data);

/* As node_policy(), without the lock: another command may put another active policy meanwhile.
 * *policy is NULL if nothing is loaded; else it is to be freed. */
int node_policy_active(const char *pin, struct diag *diag, struct policy **policy);

struct node_iface {
	uint32_t ifindex;
	char name[IF_NAMESIZE]; /* "": the interface is gone */
	uint32_t flags; /* BH_IFACE_* */
	enum node_hook ingress, egress; /* an uplink has `ingress` where XDP has no place */
	enum node_xdp xdp;
	bool dispatched; /* libxdp may run other programs beside ours */
	/* another's program that runs before ours, and may let packets pass; "": none */
	char before[32];
	bool guarded; /* the interface exists and has all programs that it should have */
	/* has a program of Bulkhead whose pins are gone: it evaluates packets still, and the
	 * next load or unload removes it */
	bool orphan;
	bool late; /* the interface has come up since the last load, and has no hook */
	bool quarantined; /* guarded as an endpoint's, and no endpoint has it */
	bool overtaken; /* others' programs run before our filters, and may let packets pass */
};

/* What an endpoint, or the node, holds of the table of connections (maps/share.h). */
struct node_share {
	char name[16]; /* the interface's; "node": of the node */
	int32_t used; /* connections */
	uint32_t found; /* connections that the table has */
	bool differs; /* `used` and `found` differ by more than what changed meanwhile */
	uint64_t replaced, refused; /* since the programs were loaded */
};

/* The table of connections. */
struct node_connections {
	uint32_t used, capacity;
	uint32_t floor; /* guaranteed to each endpoint and to the node */
	int32_t surplus; /* beyond the floors */
	uint32_t surplus_capacity;
	uint64_t replaced, refused; /* since the programs were loaded */
	uint32_t corrected; /* counts of shares that were wrong, and are not any more */
	bool counted; /* sweeps have counted each share since the first load */
};

/* An interface for whose packets events were held back (maps/tally.h). */
struct node_suppressed {
	char name[16]; /* the interface's */
	char endpoint[512]; /* "namespace/name" of its endpoint; "": it has none */
	uint64_t events; /* from all readers, since the programs were loaded */
};

/* An interface with drops in the last minute. */
struct node_recent {
	uint32_t ifindex;
	char name[16]; /* the interface's */
	char endpoint[512]; /* as in struct node_suppressed */
	uint64_t drops; /* those that the kernel still keeps (maps/past.h) */
	uint64_t time; /* of the last one, ns of CLOCK_MONOTONIC */
};

/* Drops of packets of a namespace's endpoints, also of endpoints that are gone (maps/tally.h). */
struct node_drops {
	uint64_t ns; /* bh_namespace() */
	uint64_t packets[2], bytes[2]; /* by enum bh_direction */
};

struct node_map {
	const char *name; /* pin name */
	uint32_t used, max; /* entries */
};

struct node_status {
	/* active; NULL: none, and of the other members only `ifaces` means anything: the
	 * interfaces with an orphan */
	struct policy *policy;
	char node[256]; /* name of this node in the policy */
	uint32_t abi;
	/* the programs are of this command's build; false: the next load replaces them */
	bool own_programs;
	bool own_sockets; /* sk_node is in the network namespace */
	uint64_t generation;
	uint32_t loaded; /* seconds since 1970: when the active policy was loaded or staged */
	char loaded_by[64]; /* "alice with load"; "": not known */
	/* These count by the policies' own generations. `policy_generation`: whose segments are in
	 * the maps; `endpoint_generation`: whose segments the endpoints are in. */
	struct node_generations {
		/* the generations that the last command wanted, whether it succeeded or not */
		uint32_t desired;
		uint32_t installed; /* all of it is in the maps, active or staged */
		uint32_t active; /* packets are evaluated by it */
		/* the oldest generation of which the maps may still have entries, because a
		 * collection did not end */
		uint32_t oldest;
	} policy_generation, endpoint_generation;
	bool changing; /* another command changes the maps now, or did while they were read */
	bool killed; /* a command was killed while it changed the maps */
	bool staged; /* the installed policy waits to be activated */
	bool elsewhere; /* the programs are at interfaces of another network namespace */
	bool no_bpffs; /* nothing is loaded, and the pin folder is on no bpffs */
	bool own_mount; /* the pins are on a bpffs that goes with this mount namespace */
	/* this node's endpoints that lack a program or an interface, by index of
	 * policy->endpoints */
	uint32_t *unguarded;
	size_t n_unguarded;
	struct node_pod { /* the endpoint at an interface */
		uint32_t endpoint; /* index of policy->endpoints */
		uint32_t ifindex;
	} * pods;
	size_t n_pods;
	uint32_t policies; /* policy objects of the active policy */
	uint32_t policies_audited; /* of these, those that are only audited */
	uint32_t isolated[2]; /* endpoints at this node's interfaces, by enum direction */
	uint32_t audited; /* endpoints' interfaces */
	bool all_audited; /* `load --audit` made the policy active */
	uint32_t ipsec; /* outgoing IPsec policies, which hide packets from the host egress hook */
	struct node_iface *ifaces;
	size_t n_ifaces;
	struct node_map *maps;
	size_t n_maps;
	struct node_connections connections;
	struct node_share *shares; /* of whom has connections, the largest first */
	size_t n_shares;
	uint32_t readers[8]; /* process IDs of the readers of events */
	size_t n_readers;
	uint64_t events_written, events_lost; /* lost: a reader's ring had no room */
	struct node_suppressed *suppressed;
	size_t n_suppressed;
	struct node_drops *drops;
	size_t n_drops;
	struct node_recent *recent; /* drops of the last minute, the latest first */
	size_t n_recent;
};

int node_status(const char *pin, struct diag *diag, struct node_status *status);
void node_status_free(struct node_status *status);

/* How an entry of a map is not as the active policy says. */
enum node_fault { NODE_ENTRY_MISSING, NODE_ENTRY_SURPLUS, NODE_ENTRY_DIFFERENT };

/*
 * Compares the maps with the active policy and this node under the lock, and writes nothing. Calls
 * @found for each entry that a load of the same policy would put, change or delete; @key as a dry
 * run names it. Endpoints that were added or deleted since the load count as they are. Returns 0,
 * also if nothing is loaded or a killed command is to be repaired first, or -errno, reported.
 */
typedef void node_found(void *data, const char *map, const char *key, enum node_fault fault);
int node_compare(const char *pin, struct diag *diag, node_found *found, void *data);

#endif
