/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of a pin folder, as they come, and the policies that give names to
 * their numbers. The ring has one reader: of two monitors each would get a part.
 */
#ifndef BULKHEAD_NODE_MONITOR_H
#define BULKHEAD_NODE_MONITOR_H

#include "compile/policy.h"
#include "maps/event.h"

struct monitor;

/* @pin NULL: NODE_PIN. *monitor is NULL where nothing is loaded. Returns 0 or -errno, reported. */
int monitor_open(const char *pin, struct diag *diag, struct monitor **monitor);
void monitor_close(struct monitor *monitor);

/*
 * Calls @visit for each event that is there, the oldest first, and never waits: the programs wake
 * nobody. Stops where @visit returns non-zero. Returns 0 or -errno.
 */
int monitor_read(struct monitor *monitor, int (*visit)(void *data, const struct bh_event *event),
		 void *data);

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
