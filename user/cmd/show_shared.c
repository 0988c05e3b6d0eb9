// SPDX-License-Identifier: GPL-2.0-only
/* Shared by the subjects of `bulkhead show`. */
#include "cmd/show.h"
#include "policy/verdicts.h"

void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint)
{
	text_clear(text);
	text_add(text, policy_string(policy, policy->namespaces[endpoint->ns].name));
	text_add(text, "/");
	text_add(text, policy_string(policy, endpoint->name));
}

bool show_has_port(const struct show *show, const struct verdicts *verdicts)
{
	bool any = !show->filter->n_ports;

	for (size_t i = 0; i < show->filter->n_ports && !any; i++) {
		const struct flow *port = &show->filter->ports[i];

		any = verdicts_allow(verdicts, bh_point(port->protocol, port->port));
	}
	return any;
}
