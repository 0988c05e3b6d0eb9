/* SPDX-License-Identifier: GPL-2.0-only */
/* The domain names of a policy, by the numbers that the maps have for them (maps/domain.h). */
#ifndef BULKHEAD_CMD_DOMAIN_NAMES_H
#define BULKHEAD_CMD_DOMAIN_NAMES_H

#include "maps/dns.h"
#include "node/observe/live.h"

struct domain_names {
	struct domain_names_entry {
		uint64_t domain;
		const char *text; /* the policy's */
	} * at;
	size_t n;
};

/* Returns 0 or -errno, not reported. */
int domain_names_read(struct domain_names *names, struct live *live, const struct policy *policy);
void domain_names_free(struct domain_names *names);

/* Returns the name; NULL: the policy has no such name any more. */
const char *domain_names_find(const struct domain_names *names, uint64_t domain);
/* Returns the name; "(no rule has the name)" for one that the policy has no more. */
const char *domain_names_text(const struct domain_names *names, uint64_t domain);

#endif
