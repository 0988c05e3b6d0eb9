// SPDX-License-Identifier: GPL-2.0-only
/* Checks that new policies open what they are to open, and nothing else. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/advice_part.h"
#include "policy/flow_classes.h"
#include "policy/verdicts.h"

/* Returns true if advice_add() took this flow, or another flow between the same two groups. */
static bool is_wanted(const struct advice *advice, uint32_t source, uint32_t destination,
		      uint32_t point)
{
	for (size_t i = 0; i < advice->n_flows; i++) {
		const struct flow *flow = &advice->flows[i];
		/* advice_group_of() adds no group here: both groups exist by now */
		struct advice *groups = (struct advice *)advice;

		if (bh_point(flow->protocol, flow->port) == point &&
		    advice_group_of(groups, &flow->source, NULL) == source &&
		    advice_group_of(groups, &flow->destination, flow->name) == destination)
			return true;
	}
	return false;
}

/* Returns the group of a kind's member; ADVICE_NO_GROUP: no flow of the member was taken. */
static uint32_t group_of_member(const struct advice *advice, const struct flow_class_member *member)
{
	const struct policy_endpoint *endpoint;
	struct address address;
	struct cidr cidr;
	char ns[FLOW_TEXT], *name;

	snprintf(ns, sizeof(ns), "%s", member->end.name);
	for (size_t i = 0; member->end.domain && i < advice->n_groups; i++)
		if (advice->groups[i].name && !strcmp(advice->groups[i].name, member->end.domain))
			return i;
	if (member->external) {
		ns[strcspn(ns, " ")] = '\0';
		if (address_parse(ns, &address) && (cidr_parse(ns, &cidr) || cidr.length < 128))
			return ADVICE_NO_GROUP;
		if (address_parse(ns, &address))
			address = cidr.address;
		for (size_t i = 0; i < advice->n_groups; i++)
			if (!advice->groups[i].endpoint &&
			    !memcmp(&advice->groups[i].address, &address, sizeof(address)))
				return i;
		return ADVICE_NO_GROUP;
	}
	name = strchr(ns, '/');
	*name++ = '\0';
	name[strcspn(name, " ")] = '\0';
	endpoint = policy_endpoint_by_name(advice->policy, ns, name);
	for (size_t i = 0; i < advice->n_groups && endpoint; i++)
		if (advice->groups[i].endpoint &&
		    advice_same_workload(
			    advice->groups[i].endpoint,
			    &advice->cluster->endpoints[endpoint - advice->policy->endpoints]))
			return i;
	return ADVICE_NO_GROUP;
}

struct comparison {
	const struct advice *advice;
	const struct policy *policies[FLOW_CLASSES_POLICIES];
	struct flow_classes kinds;
	char *why;
};

/* Returns true if both ends' policies allow @point. */
static bool allows(const struct comparison *comparison, size_t p, const struct flow_class *from,
		   const struct flow_class *to, uint32_t point)
{
	const struct policy *policy = comparison->policies[p];
	const struct flow_class_index a = from->members->place[p], b = to->members->place[p];

	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const struct policy_segment *source = &policy->segments[a.segment];
		const struct policy_segment *target = &policy->segments[b.segment];
		struct verdicts verdicts = verdicts_of(
			policy, d == INGRESS ? target : flow_class_subject(policy, to, source),
			d == INGRESS ? source : target, d, b.resolution);

		if (!verdicts_allow(&verdicts, point))
			return false;
	}
	return true;
}

static void differ(const struct comparison *comparison, const struct flow_class_member *from,
		   const struct flow_class_member *to, uint32_t point, const char *how)
{
	snprintf(comparison->why, 2 * FLOW_TEXT, "%.150s to %.150s, point %" PRIu32 ": %s",
		 from->end.name, to->end.name, point, how);
}

/* Compares the two policies at one protocol and port. Returns 0 or -EPERM. */
static int compare_at(const struct comparison *comparison, const struct flow_class *from,
		      const struct flow_class *to, uint32_t point)
{
	bool was = allows(comparison, 0, from, to, point);

	if (was == allows(comparison, 1, from, to, point))
		return 0;
	if (was) {
		differ(comparison, from->members, to->members, point, "would be closed");
		return -EPERM;
	}
	for (size_t i = 0; i < from->n; i++)
		for (size_t k = 0; k < to->n; k++) {
			const struct flow_class_member *a = &from->members[i], *b = &to->members[k];
			uint32_t source = group_of_member(comparison->advice, a);
			uint32_t target = group_of_member(comparison->advice, b);

			if ((from == to && i == k) ||
			    (source != ADVICE_NO_GROUP && target != ADVICE_NO_GROUP &&
			     is_wanted(comparison->advice, source, target, point)))
				continue;
			differ(comparison, a, b, point, "would be opened");
			return -EPERM;
		}
	return 0;
}

/* Compares the two policies at each point where a verdict of either may change. */
static int compare_flow_classes(const struct comparison *comparison, const struct flow_class *from,
				const struct flow_class *to)
{
	int error = 0;

	for (size_t p = 0; p < FLOW_CLASSES_POLICIES && !error; p++)
		for (enum direction d = INGRESS; d <= EGRESS && !error; d++) {
			const struct policy *policy = comparison->policies[p];
			const struct policy_segment *source =
				&policy->segments[from->members->place[p].segment];
			const struct policy_segment *target =
				&policy->segments[to->members->place[p].segment];
			struct verdicts verdicts = verdicts_of(
				policy,
				d == INGRESS ? target : flow_class_subject(policy, to, source),
				d == INGRESS ? source : target, d,
				to->members->place[p].resolution);

			for (size_t i = 0; i < verdicts.n && !error; i++)
				error = compare_at(comparison, from, to,
						   verdicts_at(&verdicts, i)->start);
		}
	return error;
}

static int check_flows(const struct advice *advice, const struct policy *wider,
		       char why[FLOW_TEXT * 2])
{
	struct evaluate_source source = evaluate_policy(wider);
	struct decision egress, ingress;

	for (size_t i = 0; i < advice->n_flows; i++) {
		char from[ADDRESS_TEXT], to[ADDRESS_TEXT], port[FLOW_TEXT];
		const struct flow *flow = &advice->flows[i];

		if (evaluate_flow(&source, wider, flow, &egress, &ingress))
			continue;
		snprintf(why, FLOW_TEXT * 2, "%s to %s %.20s would still be denied",
			 address_print(&flow->source, from), address_print(&flow->destination, to),
			 port_print(flow, port));
		return -EPERM;
	}
	return 0;
}

int advice_check(const struct advice *advice, const struct policy *wider, char why[FLOW_TEXT * 2])
{
	struct comparison comparison = {advice, {advice->policy, wider}, {0}, why};
	int error = check_flows(advice, wider, why);

	if (!error)
		error = flow_classes_list(comparison.policies, FLOW_CLASSES_POLICIES,
					  &comparison.kinds);
	for (size_t i = 0; i < comparison.kinds.n && !error; i++)
		for (size_t k = 0; k < comparison.kinds.n && !error; k++) {
			const struct flow_class *from = &comparison.kinds.at[i];
			const struct flow_class *to = &comparison.kinds.at[k];

			if ((!from->members->external || !to->members->external) &&
			    !from->members->end.domain)
				error = compare_flow_classes(&comparison, from, to);
		}
	flow_classes_free(&comparison.kinds);
	return error;
}
