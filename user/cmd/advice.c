// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/advice_part.h"
#include "model/protocol.h"

/* Labels that differ between pods of one workload. Groups ignore these labels. */
static const char *const pod_labels[] = {
	"pod-template-hash",
	"pod-template-generation",
	"controller-revision-hash",
	"statefulset.kubernetes.io/pod-name",
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-completion-index",
	"controller-uid",
	"job-completion-index",
};

#define N_POD_LABELS (sizeof(pod_labels) / sizeof(*pod_labels))
/* Makes room for one more record. Returns false if memory is short. The room doubles each time. */
static bool grow(void **array, size_t n, size_t record)
{
	void *grown;

	if (n & (n - 1))
		return true;
	grown = realloc(*array, (n ? 2 * n : 1) * record);
	if (grown)
		*array = grown;
	return grown;
}

static bool is_pod_label(const char *key)
{
	for (size_t i = 0; i < N_POD_LABELS; i++)
		if (!strcmp(key, pod_labels[i]))
			return true;
	return false;
}

const struct label *advice_next_label(const struct endpoint *endpoint, size_t *i)
{
	while (*i < endpoint->labels.n) {
		const struct label *label = &endpoint->labels.at[(*i)++];

		if (!is_pod_label(label->key))
			return label;
	}
	return NULL;
}

bool advice_same_workload(const struct endpoint *a, const struct endpoint *b)
{
	size_t i = 0, k = 0;

	if (a->ns != b->ns)
		return false;
	for (;;) {
		const struct label *first = advice_next_label(a, &i),
				   *second = advice_next_label(b, &k);

		if (!first || !second)
			return first == second;
		if (first->key != second->key || first->value != second->value)
			return false;
	}
}

static const struct endpoint *endpoint_at(const struct advice *advice,
					  const struct address *address)
{
	const struct policy_address *found = policy_address_find(advice->policy, address);

	/* The compiled policy and the cluster have the same endpoints, both sorted by namespace and
	 * name. */
	return found ? &advice->cluster->endpoints[found->endpoint] : NULL;
}

uint32_t advice_group_of(struct advice *advice, const struct address *address, const char *name)
{
	const struct endpoint *endpoint = endpoint_at(advice, address);
	uint32_t *known =
		endpoint ? &advice->group_of[endpoint - advice->cluster->endpoints] : NULL;
	void *groups = advice->groups;

	if (known && *known != ADVICE_NO_GROUP)
		return *known;
	for (size_t i = 0; i < advice->n_groups; i++) {
		const struct advice_group *group = &advice->groups[i];

		if (endpoint ? group->endpoint && advice_same_workload(group->endpoint, endpoint)
			     : !group->endpoint && group->name == name &&
				       (name ||
					!memcmp(&group->address, address, sizeof(*address)))) {
			if (known)
				*known = i;
			return i;
		}
	}
	if (!grow(&groups, advice->n_groups, sizeof(*advice->groups)))
		return ADVICE_NO_GROUP;
	advice->groups = groups;
	advice->groups[advice->n_groups] =
		(struct advice_group){endpoint, *address, endpoint ? NULL : name};
	if (known)
		*known = advice->n_groups;
	return advice->n_groups++;
}

struct advice *advice_open(const struct cluster *cluster, const struct policy *policy)
{
	struct advice *advice = calloc(1, sizeof(*advice));
	size_t size = (cluster->n_endpoints + 1) * sizeof(*advice->group_of);

	if (!advice)
		return NULL;
	advice->cluster = cluster;
	advice->policy = policy;
	advice->group_of = malloc(size);
	if (!advice->group_of) {
		free(advice);
		return NULL;
	}
	memset(advice->group_of, 0xff, size);
	return advice;
}

void advice_close(struct advice *advice)
{
	if (!advice)
		return;
	free(advice->groups);
	free(advice->group_of);
	free(advice->wants);
	free(advice->flows);
	free(advice);
}

/* Returns true if no selector of labels can select the group without the rest of its namespace. */
static bool is_nameless(const struct advice *advice, const struct advice_group *group)
{
	size_t i = 0;

	if (!group->endpoint || advice_next_label(group->endpoint, &i))
		return false;
	for (size_t k = 0; k < advice->cluster->n_endpoints; k++) {
		const struct endpoint *other = &advice->cluster->endpoints[k];

		if (other->ns == group->endpoint->ns &&
		    !advice_same_workload(other, group->endpoint))
			return true;
	}
	return false;
}

static bool has_want(const struct advice *advice, const struct advice_want *want)
{
	for (size_t i = 0; i < advice->n_wants; i++)
		if (!memcmp(&advice->wants[i], want, sizeof(*want)))
			return true;
	return false;
}

/* Returns ADVICE_TAKEN, ADVICE_KNOWN or -ENOMEM. */
static int add_want(struct advice *advice, const struct advice_want *want)
{
	void *wants = advice->wants;

	if (has_want(advice, want))
		return ADVICE_KNOWN;
	if (!grow(&wants, advice->n_wants, sizeof(*advice->wants)))
		return -ENOMEM;
	advice->wants = wants;
	advice->wants[advice->n_wants++] = *want;
	return ADVICE_TAKEN;
}

static bool is_isolation(const struct decision *decision)
{
	return !decision->subject || decision->allow || decision->tier == TIER_NETWORK_POLICY;
}

static int add_flow(struct advice *advice, const struct flow *flow)
{
	void *flows = advice->flows;

	if (!grow(&flows, advice->n_flows, sizeof(*advice->flows)))
		return -ENOMEM;
	advice->flows = flows;
	advice->flows[advice->n_flows++] = *flow;
	return 0;
}

/* Returns true if policy allows the flow, or will with the new policies. */
static bool is_allowed(struct advice *advice, const struct flow *flow)
{
	struct evaluate_source source = evaluate_policy(advice->policy);
	struct decision said[2];
	uint32_t group[2];

	if (evaluate_flow(&source, advice->policy, flow, &said[EGRESS], &said[INGRESS]))
		return true;
	group[EGRESS] = advice_group_of(advice, &flow->source, NULL);
	group[INGRESS] = advice_group_of(advice, &flow->destination, NULL);
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const struct advice_want want = {group[d], group[!d], d,
						 bh_point(flow->protocol, flow->port)};

		if (said[d].subject && !said[d].allow && !has_want(advice, &want))
			return false;
	}
	return true;
}

#define FIRST_DYNAMIC_PORT 32768 /* of Linux' ip_local_port_range: clients' ports */

/*
 * Returns true if the flow is an answer of a server of UDP that came after the table of connections
 * had lost the question: then policy evaluates the answer as a call of the server's. A server has a
 * fixed port, its client one that the kernel has chosen.
 */
static bool is_answer(struct advice *advice, const struct flow *flow, uint16_t source_port)
{
	const struct flow call = {.source = flow->destination,
				  .destination = flow->source,
				  .protocol = flow->protocol,
				  .port = source_port};

	return flow->protocol == IPPROTO_UDP && !flow->name && source_port &&
	       source_port < FIRST_DYNAMIC_PORT && flow->port >= FIRST_DYNAMIC_PORT &&
	       is_allowed(advice, &call);
}

int advice_add(struct advice *advice, const struct flow *flow, uint16_t source_port)
{
	struct evaluate_source source = evaluate_policy(advice->policy);
	struct decision said[2];
	uint32_t group[2];
	int answer = ADVICE_KNOWN, added;

	if (evaluate_flow(&source, advice->policy, flow, &said[EGRESS], &said[INGRESS]))
		return ADVICE_ALLOWED;
	if (is_answer(advice, flow, source_port))
		return ADVICE_ANSWER;
	if (!is_isolation(&said[EGRESS]) || !is_isolation(&said[INGRESS]))
		return ADVICE_HIGHER;
	if (!protocol_by_number(flow->protocol))
		return ADVICE_PROTOCOL;
	group[EGRESS] = advice_group_of(advice, &flow->source, NULL);
	group[INGRESS] = advice_group_of(advice, &flow->destination, flow->name);
	if (group[EGRESS] == ADVICE_NO_GROUP || group[INGRESS] == ADVICE_NO_GROUP)
		return -ENOMEM;
	if (is_nameless(advice, &advice->groups[group[EGRESS]]) ||
	    is_nameless(advice, &advice->groups[group[INGRESS]]))
		return ADVICE_NAMELESS;
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		struct advice_want want = {group[d], group[!d], d,
					   bh_point(flow->protocol, flow->port)};

		if (!said[d].subject || said[d].allow)
			continue;
		added = add_want(advice, &want);
		if (added < 0)
			return added;
		if (added == ADVICE_TAKEN)
			answer = ADVICE_TAKEN;
	}
	if (answer == ADVICE_TAKEN && add_flow(advice, flow))
		return -ENOMEM;
	return answer;
}
