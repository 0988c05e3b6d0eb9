/* SPDX-License-Identifier: GPL-2.0-only */
/* The options by which `monitor` selects the events that it prints. Those that select a part of a
 * list are in filter.h. */
#ifndef BULKHEAD_CMD_EVENT_OPTIONS_H
#define BULKHEAD_CMD_EVENT_OPTIONS_H

#include "cmd/command.h"
#include "node/observe/event_monitor.h"

#define EVENT_OPTION_ENDS 64

struct event_options {
	struct monitor_filter filter; /* valid after event_options_finish() */
	struct monitor_end ends[EVENT_OPTION_ENDS];
	/* the options' values that name ends, split in place */
	char names[EVENT_OPTION_ENDS][MONITOR_NAME];
	uint64_t reasons; /* 1 << enum bh_reason; 0: all */
	bool any_port; /* the filter's port is of TCP, UDP and SCTP: see event_options_match() */
	bool pass, drop, audit; /* print these verdicts; none set: print all */
};

/* The options that select events, for a command's array of options. @selected: the field of the
 * command's request that is a struct event_options.
 * clang-format off: entries of a table, with their commas */
#define EVENT_OPTIONS(type, selected)                                                              \
	{0, "endpoint", "POD", "only packets from or to this endpoint (repeatable, as the next)",  \
	 OPTION_TAKE(type, selected, event_option_endpoint)},                                      \
		{0, "namespace", "NS", "from or to any endpoint of this namespace",                \
		 OPTION_TAKE(type, selected, event_option_namespace)},                             \
		{0, "address", "CIDR", "from or to an address or a CIDR (one)",                    \
		 OPTION_TAKE(type, selected, event_option_address)},                               \
		{0, "from", "SRC", "from this endpoint, address or CIDR (one)",                    \
		 OPTION_TAKE(type, selected, event_option_from)},                                  \
		{0, "to", "DST", "to this endpoint, address or CIDR (one)",                        \
		 OPTION_TAKE(type, selected, event_option_to)},                                    \
		{0, "port", "PROTO/PORT",                                                          \
		 "to this port, as TCP/80, or 80 of TCP, UDP and SCTP; or this protocol, as ICMP " \
		 "(one)",                                                                          \
		 OPTION_TAKE(type, selected, event_option_port)},                                  \
		{0, "verdict", "pass|drop|audit", "with this verdict",                             \
		 OPTION_TAKE(type, selected, event_option_verdict)},                               \
	{                                                                                          \
		0, "reason", "REASON",                                                             \
			"with this reason, by its name in metrics: egress, no_connection, ...",    \
			OPTION_TAKE(type, selected, event_option_reason)                           \
	}
/* clang-format on */

/* Each takes its option of EVENT_OPTIONS into the struct event_options @to. Ends the process at a
 * wrong value. */
void event_option_endpoint(struct call *call, void *to);
void event_option_namespace(struct call *call, void *to);
void event_option_address(struct call *call, void *to);
void event_option_from(struct call *call, void *to);
void event_option_to(struct call *call, void *to);
void event_option_port(struct call *call, void *to);
void event_option_verdict(struct call *call, void *to);
void event_option_reason(struct call *call, void *to);

/* Returns true if the event is of a protocol that the options ask for: the kernel's filter knows
 * one protocol or all. */
bool event_options_match(const struct event_options *selected, const struct bh_event *event);

/* Completes the filter. Call it after the last option. */
void event_options_finish(struct event_options *selected, const struct call *call);

#endif
