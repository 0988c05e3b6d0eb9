/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the events of a pin folder as they come, with the policies that name their numbers. Up
 * to BH_READERS monitors may run, each with its own filter.
 */
#ifndef BULKHEAD_NODE_EVENT_MONITOR_H
#define BULKHEAD_NODE_EVENT_MONITOR_H

#include "policy/evaluate.h"
#include "maps/dns.h"
#include "maps/event.h"
#include "maps/reader.h"

struct monitor;

/* An end of a filter: the endpoint ns/name, or with @name NULL every endpoint of a namespace. */
struct monitor_end {
	const char *ns, *name;
	uint8_t as; /* BH_END_* */
};

/* Selects events. `kernel` is the filter without the endpoints' names; monitor_open() sets
 * `kernel.named`. */
struct monitor_filter {
	struct bh_filter kernel;
	const struct monitor_end *ends;
	size_t n_ends;
};

/*
 * Opens a monitor. @pin NULL: NODE_PIN; @filter NULL: all events. Both must outlive the monitor.
 * *monitor is NULL if nothing is loaded. Returns 0 or -errno, reported.
 */
int monitor_open(const char *pin, const struct monitor_filter *filter, struct diag *diag,
		 struct monitor **monitor);
void monitor_close(struct monitor *monitor);

/*
 * Calls @visit for each event in the ring, the oldest first. Never waits: the programs wake no
 * reader. Stops if @visit returns non-zero. Returns 0 or -errno.
 */
int monitor_read(struct monitor *monitor, int (*visit)(void *data, const struct bh_event *event),
		 void *data);

/*
 * As monitor_open(), to read the last drops that the kernel keeps without any reader (maps/past.h):
 * takes no reader's place. Only monitor_past(), the functions that name ends and monitor_close()
 * may be called.
 */
int monitor_open_past(const char *pin, const struct monitor_filter *filter, struct diag *diag,
		      struct monitor **monitor);

/* Calls @visit for the @last of the kept drops since a time (ns of CLOCK_MONOTONIC; 0: all) that
 * pass the filter, the oldest first. Stops if @visit returns non-zero. Returns 0 or -errno. */
int monitor_past(struct monitor *monitor, uint64_t since, uint64_t last,
		 int (*visit)(void *data, const struct bh_event *event), void *data);

/* Events that an interface's budget held back since the last call. */
struct monitor_left_out {
	uint32_t ifindex;
	bool inward; /* the packets came to the interface from beyond the node's endpoints */
	uint64_t events;
	char name[512]; /* "namespace/name" of the endpoint; "": it has none */
};

/* Calls @visit for each interface whose events were held back. *lost: events since the last call
 * that the ring had no room for. Returns 0 or -errno. */
int monitor_left_out(struct monitor *monitor,
		     int (*visit)(void *data, const struct monitor_left_out *left), void *data,
		     uint64_t *lost);

/* Returns true if the maps that the monitor reads are still active. After `unload`, or a load that
 * made other maps since the pins were gone, these maps never become active again. */
bool monitor_is_live(const struct monitor *monitor);

/* Returns true if other maps are pinned than those that the monitor reads. */
bool monitor_is_replaced(const struct monitor *monitor);

/*
 * Returns the policy that was active at an event's generation. Reads it if it is new. NULL: the
 * policy is no longer known. Valid until the next call.
 */
const struct policy *monitor_policy(struct monitor *monitor, uint32_t generation);

/* Returns the segment, by its ID in @policy, of an endpoint's address; 0: it has none, or the
 * address is unknown. */
uint32_t monitor_segment(const struct monitor *monitor, const struct policy *policy,
			 const struct address *address);

/* Writes "namespace/name" of the endpoint that has this address active now, or "node NAME". Returns
 * false if no known end has the address. @policy: of monitor_policy(), or NULL. */
#define MONITOR_NAME 512
bool monitor_name(const struct monitor *monitor, const struct policy *policy,
		  const struct address *address, char name[MONITOR_NAME]);

/* Lists the domain names of the policy's rules by which the endpoint of this node with the address
 * @own has learned the address @other. Returns their number. @policy as above. */
size_t monitor_domains(const struct monitor *monitor, const struct policy *policy,
		       const struct address *own, const struct address *other,
		       const char *names[BH_LEARNED_NAMES]);

/* Returns the decision of an event's end in a direction. Names the rule, or who isolates the end,
 * if the policy that the event comes from is still known. @policy: of monitor_policy(). */
struct decision monitor_decision(const struct monitor *monitor, const struct policy *policy,
				 const struct bh_event *event, enum direction direction);

/*
 * Writes "namespace/name" of the Service to whose address an event's connection was opened. If the
 * node has translated the address already, asks the kernel's conntrack for the Service's address.
 * Returns false if the connection was opened to no Service.
 */
bool monitor_service(struct monitor *monitor, const struct policy *policy,
		     const struct bh_event *event, char name[MONITOR_NAME]);

#endif
