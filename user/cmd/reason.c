/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/reason.h"

static const char *const names[BH_REASONS] = {
#define REASON_AS_TEXT(name, text) [name] = #name,
	BH_PASS_REASONS(REASON_AS_TEXT) BH_DROP_REASONS(REASON_AS_TEXT)
#undef REASON_AS_TEXT
};
_Static_assert(sizeof("BH_PASS_") == sizeof("BH_DROP_"), "the prefixes differ in length");

const char *reason_name(uint32_t reason, char name[REASON_NAME])
{
	snprintf(name, REASON_NAME, "%s",
		 reason < BH_REASONS ? names[reason] + strlen("BH_PASS_") : "UNKNOWN");
	for (char *c = name; *c; c++)
		*c = tolower(*c);
	return name;
}

uint64_t reason_bits(const char *name)
{
	char other[REASON_NAME];
	uint64_t bits = 0;

	for (uint32_t reason = 0; reason < BH_REASONS; reason++)
		if (!strcmp(reason_name(reason, other), name))
			bits |= UINT64_C(1) << reason;
	return bits;
}
