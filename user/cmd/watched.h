/* SPDX-License-Identifier: GPL-2.0-only */
/* Selects the events that `monitor` prints, by its options. */
#ifndef BULKHEAD_CMD_WATCHED_H
#define BULKHEAD_CMD_WATCHED_H

#include "cmd/command.h"
#include "node/observe/event_monitor.h"

#define WATCHED_ENDS 64

struct watched {
	struct monitor_filter filter; /* valid after watched_finish() */
	struct monitor_end ends[WATCHED_ENDS];
	/* the options' values that name ends, split in place */
	char names[WATCHED_ENDS][MONITOR_NAME];
	uint64_t reasons; /* 1 << enum bh_reason; 0: all */
	bool any_port; /* the filter's port is of TCP, UDP and SCTP: see watched_has() */
	bool pass, drop, audit; /* print these verdicts; none set: print all */
};

enum {
	WATCHED_ENDPOINT = PIN_ID + 64,
	WATCHED_NAMESPACE,
	WATCHED_ADDRESS,
	WATCHED_FROM,
	WATCHED_TO,
	WATCHED_PORT,
	WATCHED_VERDICT,
	WATCHED_REASON,
};

/* The options that select events, for a command's array of options. */
#define WATCHED_OPTIONS                                                                            \
	{WATCHED_ENDPOINT, "endpoint", "POD",                                                      \
	 "only packets from or to this endpoint (repeatable, as the next)"},                       \
		{WATCHED_NAMESPACE, "namespace", "NS",                                             \
		 "from or to any endpoint of this namespace"},                                     \
		{WATCHED_ADDRESS, "address", "CIDR", "from or to an address or a CIDR (one)"},     \
		{WATCHED_FROM, "from", "SRC", "from this endpoint, address or CIDR (one)"},        \
		{WATCHED_TO, "to", "DST", "to this endpoint, address or CIDR (one)"},              \
		{WATCHED_PORT, "port", "PROTO/PORT",                                               \
		 "to this port, as TCP/80, or 80 of TCP, UDP and SCTP; or this protocol, as ICMP " \
		 "(one)"},                                                                         \
		{WATCHED_VERDICT, "verdict", "pass|drop|audit", "with this verdict"},              \
	{                                                                                          \
		WATCHED_REASON, "reason", "REASON",                                                \
			"with this reason, by its name in metrics: egress, no_connection, ..."     \
	}

/* Takes an option of WATCHED_OPTIONS. Returns false if @option is another option. Ends the process
 * at a wrong value. */
bool watched_option(struct watched *watched, const struct call *call, int option);

/* Returns true if the event is of a protocol that the options ask for: the kernel's filter knows
 * one protocol or all. */
bool watched_has(const struct watched *watched, const struct bh_event *event);

/* Completes the filter. Call it after the last option. */
void watched_finish(struct watched *watched, const struct call *call);

#endif
