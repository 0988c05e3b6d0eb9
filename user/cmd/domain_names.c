// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/domain_names.h"

#include <errno.h>
#include <stdlib.h>

int domain_names_read(struct domain_names *names, struct live *live, const struct policy *policy)
{
	int error = 0;

	*names = (struct domain_names){.at = calloc(policy->n_domains + 1, sizeof(*names->at))};
	if (!names->at)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_domains && !error; i++) {
		const char *text = policy_string(policy, policy->domains[i].name);

		/* sorted by name */
		if (names->n && !strcmp(names->at[names->n - 1].text, text))
			continue;
		names->at[names->n].text = text;
		error = live_domain(live, text, &names->at[names->n++].domain);
	}
	return error;
}

void domain_names_free(struct domain_names *names)
{
	free(names->at);
}

const char *domain_names_find(const struct domain_names *names, uint64_t domain)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i].domain == domain)
			return names->at[i].text;
	return NULL;
}

const char *domain_names_text(const struct domain_names *names, uint64_t domain)
{
	const char *text = domain_names_find(names, domain);

	return text ? text : "(no rule has the name)";
}
