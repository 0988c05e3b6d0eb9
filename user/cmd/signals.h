/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_CMD_SIGNALS_H
#define BULKHEAD_CMD_SIGNALS_H

/* From now on, SIGINT and SIGTERM do not end the process: the file descriptor returned can be read
 * once one of them has come. -errno on failure, reported. */
int signals_open(void);

#endif
