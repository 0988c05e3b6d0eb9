// SPDX-License-Identifier: GPL-2.0-only
#include "node/local/local_pod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void local_pod_free(struct local_pod *pod)
{
	free(pod->addresses);
	free(pod->sources);
}

static int read_lists(const struct lazy_policy *policy, const struct policy_endpoint *record,
		      struct local_pod *pod)
{
	const struct policy_cidr *cidrs =
		LAZY_SOME(policy, cidrs, record->allow_source.at, record->allow_source.n);

	pod->addresses = calloc(record->addresses.n + 1, sizeof(*pod->addresses));
	pod->sources = calloc(record->allow_source.n + 1, sizeof(*pod->sources));
	if (!pod->addresses || !pod->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->addresses.n; i++)
		pod->addresses[i] = lazy_address_of(policy, record, i)->address;
	for (uint32_t i = 0; i < record->allow_source.n; i++)
		pod->sources[i] = (struct cidr){cidrs[i].address, cidrs[i].length};
	return lazy_error(policy);
}

int local_pod_read(const struct lazy_policy *policy, const struct policy_endpoint *record,
		   struct local_pod *pod)
{
	const struct policy_namespace *ns = LAZY_ONE(policy, namespaces, record->ns);
	int error;

	*pod = (struct local_pod){};
	error = read_lists(policy, record, pod);
	pod->endpoint = (struct endpoint){
		.ns_name = lazy_read_string(policy, ns->name),
		.name = lazy_read_string(policy, record->name),
		.interface = record->interface ? lazy_read_string(policy, record->interface) : NULL,
		.has_mac = record->flags & POLICY_MAC,
		.l2 = record->flags & POLICY_L2,
		.audit = (record->flags | ns->flags) & POLICY_AUDIT,
		.addresses = pod->addresses,
		.n_addresses = record->addresses.n,
		.allow_source = pod->sources,
		.n_allow_source = record->allow_source.n,
	};
	memcpy(pod->endpoint.mac, record->mac, sizeof(record->mac));
	return error;
}

void local_pod_leave_out(struct local_pod *pod, const struct table *others, const struct table *but)
{
	size_t n = 0;

	for (size_t i = 0; i < pod->endpoint.n_addresses; i++)
		if (!table_find(others, &pod->addresses[i]) || table_find(but, &pod->addresses[i]))
			pod->addresses[n++] = pod->addresses[i];
	pod->endpoint.n_addresses = n;
}
