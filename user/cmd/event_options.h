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

enum {
	EVENT_OPTION_ENDPOINT = PIN_ID + 64,
	EVENT_OPTION_NAMESPACE,
	EVENT_OPTION_ADDRESS,
	EVENT_OPTION_FROM,
	EVENT_OPTION_TO,
	EVENT_OPTION_PORT,
	EVENT_OPTION_VERDICT,
	EVENT_OPTION_REASON,
};

/* The options that select events, for a command's array of options. */
#define EVENT_OPTIONS                                                                              \
	{EVENT_OPTION_ENDPOINT, "endpoint", "POD",                                                 \
	 "only packets from or to this endpoint (repeatable, as the next)"},                       \
		{EVENT_OPTION_NAMESPACE, "namespace", "NS",                                        \
		 "from or to any endpoint of this namespace"},                                     \
		{EVENT_OPTION_ADDRESS, "address", "CIDR",                                          \
		 "from or to an address or a CIDR (one)"},                                         \
		{EVENT_OPTION_FROM, "from", "SRC", "from this endpoint, address or CIDR (one)"},   \
		{EVENT_OPTION_TO, "to", "DST", "to this endpoint, address or CIDR (one)"},         \
		{EVENT_OPTION_PORT, "port", "PROTO/PORT",                                          \
		 "to this port, as TCP/80, or 80 of TCP, UDP and SCTP; or this protocol, as ICMP " \
		 "(one)"},                                                                         \
		{EVENT_OPTION_VERDICT, "verdict", "pass|drop|audit", "with this verdict"},         \
	{                                                                                          \
		EVENT_OPTION_REASON, "reason", "REASON",                                           \
			"with this reason, by its name in metrics: egress, no_connection, ..."     \
	}

/* Takes an option of EVENT_OPTIONS. Returns false if @option is another option. Ends the process
 * at a wrong value. */
bool event_option(struct event_options *selected, const struct call *call, int option);

/* Returns true if the event is of a protocol that the options ask for: the kernel's filter knows
 * one protocol or all. */
bool event_options_match(const struct event_options *selected, const struct bh_event *event);

/* Completes the filter. Call it after the last option. */
void event_options_finish(struct event_options *selected, const struct call *call);

#endif
