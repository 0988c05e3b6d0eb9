/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_CMD_METRICS_CNI_H
#define BULKHEAD_CMD_METRICS_CNI_H

#include <stdio.h>

/* Writes the plugin's counters in Prometheus' text format; nothing if the plugin never ran. @state:
 * the plugin's folder; NULL: the default. */
void metrics_put_cni(FILE *to, const char *state);

#endif
