/* SPDX-License-Identifier: GPL-2.0-only */
/* The short names of reasons, as options, JSON and metrics have them: "no_connection". */
#ifndef BULKHEAD_CMD_REASON_H
#define BULKHEAD_CMD_REASON_H

#include <stdint.h>

#include "maps/counter.h"

#define REASON_NAME 32

/* That of BH_DROP_NO_CONNECTION is "no_connection"; of any number beyond them "unknown". */
const char *reason_name(uint32_t reason, char name[REASON_NAME]);

/* A bit for each reason of that name; 0: there is none. */
uint64_t reason_bits(const char *name);

#endif
