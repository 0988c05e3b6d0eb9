/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of a pin folder, as they come, and the policies that give names to
 * their numbers. Up to BH_READERS monitors each get what they ask for.
 */
#ifndef BULKHEAD_NODE_MONITOR_H
#define BULKHEAD_NODE_MONITOR_H

#include "compile/policy.h"
#include "maps/event.h"
#include "maps/reader.h"

struct monitor;

/* Whose events: of the endpoint ns/name, or with @name NULL of all of a namespace. */
struct monitor_end {
	const char *ns, *name;
	uint8_t as; /* BH_END_* */
};

/* Which events: `kernel` says all but the names; its `named` follows from them. */
struct monitor_filter {
	struct bh_filter kernel;
	const struct monitor_end *ends;
	size_t n_ends;
};

/*
 * @pin NULL: NODE_PIN; @filter NULL: all. Both must outlive the monitor. *monitor is NULL where
 * nothing is loaded. Returns 0 or -errno, reported.
 */
int monitor_open(const char *pin, const struct monitor_filter *filter, struct diag *diag,
		 struct monitor **monitor);
void monitor_close(struct monitor *monitor);

/*
 * Calls @visit for each event that is there, the oldest first, and never waits: the programs wake
 * nobody. Stops where @visit returns non-zero. Returns 0 or -errno.
 */
int monitor_read(struct monitor *monitor, int (*visit)(void *data, const struct bh_event *event),
		 void *data);

/* Events that an interface's budget kept back, since the last call. */
struct monitor_left_out {
	uint32_t ifindex;
	bool inward; /* of packets that came to it from beyond the node's endpoints */
	uint64_t events;
	char name[512]; /* "namespace/name" of the endpoint; "": it is none */
};

/* Calls @visit for each interface that has such; *lost: events since the last call for which there
 * was no room, since they were not read in time. Returns 0 or -errno. */
int monitor_left_out(struct monitor *monitor,
		     int (*visit)(void *data, const struct monitor_left_out *left), void *data,
		     uint64_t *lost);

/* Whether the maps that it reads are still in force; `unload` ends that for good. */
bool monitor_is_live(const struct monitor *monitor);

/*
 * The policy that was in force at an event's generation, read again where it is a new one. NULL:
 * it is known no more. Good until the next call.
 */
const struct policy *monitor_policy(struct monitor *monitor, uint32_t generation);

/* The segment, by its ID in @policy, of an endpoint's address; 0: it has none, or none that is
 * known. */
uint32_t monitor_segment(const struct monitor *monitor, const struct policy *policy,
			 const struct address *address);

/* The same of who was called in an event's packet: of a Service, that of its backends. */
uint32_t monitor_called(const struct monitor *monitor, const struct policy *policy,
			const struct bh_event *event);

/* "namespace/name" of the endpoint that is in force by this address now, or "node NAME"; false: the
 * address is nobody's that is known. @policy: of monitor_policy(), or NULL. */
#define MONITOR_NAME 512
bool monitor_name(const struct monitor *monitor, const struct policy *policy,
		  const struct address *address, char name[MONITOR_NAME]);

/*
 * "namespace/name" of the Service whose address an event's connection was opened to: the address
 * that the packet has, or that it had before the node translated it, which the kernel's conntrack
 * knows. False: none.
 */
bool monitor_service(struct monitor *monitor, const struct policy *policy,
		     const struct bh_event *event, char name[MONITOR_NAME]);

#endif
