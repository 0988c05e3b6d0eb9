/* SPDX-License-Identifier: GPL-2.0-only */
/* The protocols whose ports policy tells apart: the rows of maps/protocols.def. */
#ifndef BULKHEAD_MODEL_PROTOCOL_H
#define BULKHEAD_MODEL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/types.h"

/* The names, for messages. */
#define PROTOCOL_NAMES "TCP, UDP or SCTP"
_Static_assert(BH_PROTOCOLS == 3, "PROTOCOL_NAMES has each protocol of protocols.def");

struct protocol {
	const char *name;
	const char *key; /* in a ClusterNetworkPolicy */
	uint8_t number;
};

/* In the order of their points: protocol p has the points from p << 16 on. */
extern const struct protocol protocols[BH_PROTOCOLS];

/* Returns the protocol of a number; NULL: another protocol. */
const struct protocol *protocol_by_number(uint8_t number);
/* Returns the protocol of a name of @length bytes; NULL: another name. @any_case: "tcp" is a name,
 * too. */
const struct protocol *protocol_by_name(const char *name, size_t length, bool any_case);

#endif
