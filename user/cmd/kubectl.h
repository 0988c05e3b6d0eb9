/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kubectl's plugin: the same program by the name kubectl-bulkhead, for `kubectl bulkhead COMMAND`.
 * Questions (trace, matrix, graph, lint) are answered from the cluster's objects, which the API
 * server lists; no node is asked.
 */
#ifndef BULKHEAD_CMD_KUBECTL_H
#define BULKHEAD_CMD_KUBECTL_H

#include <stdbool.h>

#define KUBECTL_NAME "kubectl-bulkhead"

bool kubectl_is_called(int argc, char **argv);

/* Runs the plugin's command. @run: runs a command of Bulkhead with its arguments. Returns an exit
 * status. */
int kubectl_main(int argc, char **argv, int (*run)(int argc, char **argv));

#endif
