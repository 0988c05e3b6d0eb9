// SPDX-License-Identifier: GPL-2.0-only
#include "model/protocol.h"

#include <string.h>
#include <strings.h>

const struct protocol protocols[BH_PROTOCOLS] = {
#define PROTOCOL(name, number, functions, ...) {#name, #functions, number},
#include "maps/protocols.def"
};

const struct protocol *protocol_by_number(uint8_t number)
{
	for (size_t i = 0; i < BH_PROTOCOLS; i++)
		if (protocols[i].number == number)
			return &protocols[i];
	return NULL;
}

const struct protocol *protocol_by_name(const char *name, size_t length, bool any_case)
{
	for (size_t i = 0; i < BH_PROTOCOLS; i++)
		if (strlen(protocols[i].name) == length &&
		    !(any_case ? strncasecmp : strncmp)(protocols[i].name, name, length))
			return &protocols[i];
	return NULL;
}
