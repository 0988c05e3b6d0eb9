/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open node, for the folders of node/; and ownership that ends with its scope, which cni/ and
 * cluster/ use, too.
 */
#ifndef BULKHEAD_NODE_HANDLE_H
#define BULKHEAD_NODE_HANDLE_H

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "maps/blob.h"
#include "maps/config.h"
#include "node/kernel/program.h"
#include "node/node.h"

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_policy(struct policy **policy)
{
	policy_free(*policy);
}

#define SCOPED_HANDLE CLEANUP(cleanup_handle)
#define SCOPED_FREE CLEANUP(cleanup_free)

/* The hint of messages about pins that no load can repair. */
#define NODE_ANEW "to start anew, unload and load (nothing is enforced in between)"
#define SCOPED_FD CLEANUP(cleanup_fd)

#define TAKE(object, nothing)                      \
	({                                         \
		__typeof__(object) taken = object; \
		object = nothing;                  \
		taken;                             \
	})
#define TAKE_PTR(pointer) TAKE(pointer, NULL)
#define TAKE_FD(fd) TAKE(fd, -1)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum node_map_id {
#define NODE_MAP(name, ...) MAP_##name,
#include "maps/maps.def"
	N_NODE_MAPS
};

enum node_map_kind { MAP_KIND_LOCAL, MAP_KIND_ADDRESS, MAP_KIND_LAYOUT, MAP_KIND_SLOTS };

extern const char *const node_map_names[N_NODE_MAPS];
extern const enum node_map_kind node_map_kinds[N_NODE_MAPS];

/* The pinned programs, in the order in which they are pinned. */
enum node_program {
	PROGRAM_INGRESS, /* the maps that it uses are the active ones */
	PROGRAM_EGRESS,
	PROGRAM_UPLINK, /* on an uplink that takes no XDP */
	PROGRAM_LEAVE, /* at egress of interfaces that are no endpoint's */
	PROGRAM_SOCKET, /* at the node's sockets */
	PROGRAM_ASSIGN,
	PROGRAM_FORGET, /* pins of an older build lack it */
	N_NODE_PROGRAMS
};

extern const char *const node_program_names[N_NODE_PROGRAMS];

struct image;

/* How this command expedites grace periods (rcu.h). */
struct rcu {
	bool tried; /* to open the control */
	bool decided; /* whether this command expedites */
	int control; /* fd of /sys/kernel/rcu_expedited; -1: it cannot be written */
	int map; /* fd of the map whose ID is in the mark; -1: none */
	long mark; /* 0: this command expedites nothing */
};
#define RCU_NONE ((struct rcu){.control = -1, .map = -1})

struct node_handle {
	const struct node_options *options;
	struct diag *diag;
	const char *pin; /* path of the pin folder */
	int lock; /* fd of the locked folder; -1: this command only reads */
	bool made_folder; /* by this command; node_close() removes it if nothing was loaded */
	int maps[N_NODE_MAPS]; /* fds; -1: not pinned */
	uint32_t capacity[N_NODE_MAPS]; /* entries that each map can hold */
	/* the programs as pins_program() read them; id 0: not read yet */
	struct program programs[N_NODE_PROGRAMS];
	/* ID of the map that tells our programs from others' (programs.c); 0: not found yet */
	uint32_t mark;
	struct build told; /* the build of the first program that was read since pins_open_maps() */
	struct mnl_socket *rtnl; /* rtnl.h */
	struct bh_config *config; /* mapped; NULL: not pinned */
	struct lazy_policy *policy; /* active; NULL: none; whole after pinned_read() */
	struct pinned *pinned; /* the pin that `policy` is read from (pinned_policy.h) */
	struct bh_blob blob; /* header of `policy` */
	uint32_t looked; /* bh_config.changes when node_look() began to read */
	uint64_t domain_key[2]; /* settings_domain_key(); 0: not read yet */
	uint64_t writes; /* map writes by this command */
	/* begin_once() has looked (change/endpoint_begin.h), and no change has failed since */
	bool begun;
	struct rcu rcu;
	enum node_hook tc; /* how this command attached TC programs */
	/* the maps in memory on which plans are made; NULL: the kernel's maps */
	struct image *seen;
	uint32_t seen_generation;
	struct node_effect *effect; /* of the last load; NULL: there was none */
};

/* Reports "MESSAGE: text of @error". Returns @error (negative); -EIO in place of an error that
 * would say that the input is at fault. */
int node_fail(const struct node_handle *handle, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same of what is pinned, is gone or damaged, and cannot be repaired: with the hint to unload
 * and load. */
int node_fail_pinned(const struct node_handle *handle, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns true if node_debug() was called. */
bool node_debugs(void);

void cleanup_handle(struct node_handle **handle);

void node_effect_free(struct node_effect *effect); /* NULL is fine */

/* Makes a handle for which nothing is read yet. *handle may be set on failure too, and is to be
 * closed. */
int node_new(const struct node_options *options, struct diag *diag, struct node_handle **handle);

/* Opens the configuration: handle->config stays NULL where nothing is pinned. Returns 0 or -errno,
 * reported. */
int node_find_config(struct node_handle *handle);

/* Opens the pins: the configuration, the maps, and the active policy, without reading the policy.
 * Members without a pin stay NULL or -1. Returns 0 or -errno, reported. */
int node_find(struct node_handle *handle);

/* clear.c. Puts nothing active, detaches our programs and removes every pin. The folder and its
 * lock stay. Returns 0 or -errno, reported. */
int node_clear(struct node_handle *handle);

/* Returns the active generation, read once; in a dry run, the generation that the plan starts
 * from. */
static inline uint32_t node_generation(const struct node_handle *handle)
{
	if (handle->seen)
		return handle->seen_generation;
	return handle->config ? __atomic_load_n(&handle->config->generation, __ATOMIC_ACQUIRE) : 0;
}

/* Returns true if a command is changing the maps, or was killed while it did. */
static inline bool node_is_busy(const struct node_handle *handle)
{
	return handle->config->changes & 1;
}

#endif
