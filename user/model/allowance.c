// SPDX-License-Identifier: GPL-2.0-only
#include "model/allowance.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct tenant_allowance {
	struct tenant_allowance *next;
	uint64_t paid; /* for allowance_take() */
	char ns[];
};

static size_t list_of(const char *ns)
{
	return XXH3_64bits(ns, strlen(ns)) % ALLOWANCE_LISTS;
}

/* Returns the allowance of the namespace; NULL: it has all. Forgets others of the list that have
 * all at @now. */
static struct tenant_allowance *find(struct tenant_allowance **at, const char *ns, uint64_t now)
{
	struct tenant_allowance *found = NULL;

	while (*at) {
		struct tenant_allowance *tenant = *at;

		if (!strcmp(tenant->ns, ns)) {
			found = tenant;
		} else if (tenant->paid <= now) {
			*at = tenant->next;
			free(tenant);
			continue;
		}
		at = &tenant->next;
	}
	return found;
}

static struct tenant_allowance *add(struct tenant_allowance **list, const char *ns)
{
	struct tenant_allowance *tenant = calloc(1, sizeof(*tenant) + strlen(ns) + 1);

	if (!tenant)
		return NULL;
	strcpy(tenant->ns, ns);
	tenant->next = *list;
	return *list = tenant;
}

bool allowances_take(struct allowances *allowances, const char *ns, uint64_t now, uint64_t step,
		     unsigned int burst)
{
	struct tenant_allowance **list = &allowances->lists[list_of(ns)];
	struct tenant_allowance *tenant = find(list, ns, now);

	if (!tenant)
		tenant = add(list, ns);
	return tenant && allowance_take(&tenant->paid, now, step, burst);
}

uint64_t allowances_wait(const struct allowances *allowances, const char *ns, uint64_t now,
			 uint64_t step, unsigned int burst)
{
	const struct tenant_allowance *tenant = allowances->lists[list_of(ns)];

	while (tenant && strcmp(tenant->ns, ns))
		tenant = tenant->next;
	return tenant ? allowance_wait(tenant->paid, now, step, burst) : 0;
}

void allowances_free(struct allowances *allowances)
{
	for (size_t i = 0; i < ALLOWANCE_LISTS; i++) {
		struct tenant_allowance *tenant;

		while ((tenant = allowances->lists[i])) {
			allowances->lists[i] = tenant->next;
			free(tenant);
		}
	}
}
