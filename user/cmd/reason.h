/* SPDX-License-Identifier: GPL-2.0-only */
/* Short names of reasons, for options, JSON and metrics: BH_DROP_NO_CONNECTION is
 * "no_connection". */
#ifndef BULKHEAD_CMD_REASON_H
#define BULKHEAD_CMD_REASON_H

#include <stdint.h>

#include "maps/counter.h"

#define REASON_NAME 32

/* Sets @name to the name of a reason; "unknown" for a number that is no reason. Returns @name. */
const char *reason_name(uint32_t reason, char name[REASON_NAME]);

/* Returns a bit for each reason that has the name; 0: none has. */
uint64_t reason_bits(const char *name);

#endif
