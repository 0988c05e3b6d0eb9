/* SPDX-License-Identifier: GPL-2.0-only */
/* Which events `monitor` is to tell of, as its options say it. */
#ifndef BULKHEAD_CMD_WATCHED_H
#define BULKHEAD_CMD_WATCHED_H

#include "cmd/command.h"
#include "node/observe/monitor.h"

#define WATCHED_ENDS 64

struct watched {
	struct monitor_filter filter; /* once watched_finish() has been called */
	struct monitor_end ends[WATCHED_ENDS];
	char names[WATCHED_ENDS][MONITOR_NAME]; /* of these, split in place */
	uint64_t reasons; /* 1 << enum bh_reason; 0: all */
	bool pass, drop, audit; /* none: all */
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

/* The options, to stand in a command's. */
#define WATCHED_OPTIONS                                                                        \
	{WATCHED_ENDPOINT, "endpoint", "POD",                                                  \
	 "only of packets from or to this endpoint; may be given again, as those below"},      \
		{WATCHED_NAMESPACE, "namespace", "NS", "of any endpoint of this namespace"},   \
		{WATCHED_ADDRESS, "address", "CIDR",                                           \
		 "of packets from or to an address, or a block of them; once"},                \
		{WATCHED_FROM, "from", "SRC",                                                  \
		 "of packets from this endpoint, or address or block (one)"},                  \
		{WATCHED_TO, "to", "DST", "of packets to it"},                                 \
		{WATCHED_PORT, "port", "PROTO/PORT",                                           \
		 "TCP/80, or ICMP: as it was asked for; once"},                                \
		{WATCHED_VERDICT, "verdict", "pass|drop|audit", "with this verdict"},          \
	{                                                                                      \
		WATCHED_REASON, "reason", "REASON",                                            \
			"with this reason, by its name in metrics: egress, no_connection, ..." \
	}

/* Takes an option of these; returns false: it is none. A wrong value ends the process. */
bool watched_option(struct watched *watched, const struct call *call, int option);

/* After the last option. */
void watched_finish(struct watched *watched, const struct call *call);

#endif
