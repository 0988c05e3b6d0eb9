/* SPDX-License-Identifier: GPL-2.0-only */
/* `monitor --cluster`: prints the denials of all nodes, as the followers report them. */
#ifndef BULKHEAD_CMD_MONITOR_CLUSTER_H
#define BULKHEAD_CMD_MONITOR_CLUSTER_H

#include "cmd/event_options.h"

struct monitor_cluster {
	const char *kubeconfig; /* as for api_open() */
	const struct event_options *selected;
	/* seconds: print the lines of that time, and end; 0: print those from now on */
	uint64_t since;
	uint64_t seconds; /* end after so many; 0: never */
	uint64_t left; /* lines that are still to be printed */
	bool json, pretty;
};

/*
 * Reads the followers' logs through the API server, with the caller's own rights: list and watch
 * pods, and get pods/log, in the namespace bulkhead-system. No follower is asked, so that no reader
 * slows a follower down. Returns an exit status; STATUS_NO if some log could not be read.
 */
int monitor_cluster(struct monitor_cluster *options);

#endif
