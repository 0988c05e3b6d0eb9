/* SPDX-License-Identifier: GPL-2.0-only */
/* lint() of rules by domain names. */
#include <netinet/in.h>
#include <string.h>

#include "policy/flow.h"
#include "compile/lint_part.h"
#include "compile/suffix.h"
#include "policy/verdicts.h"
#include "maps/segment.h"

bool lint_has_names(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (rule->peers[i].scope == PEER_DOMAINS)
			return true;
	return false;
}

static void lint_wildcard(struct lint *lint, const struct rule *rule, const char *pattern,
			  const char *name)
{
	switch (suffix_kind(lint->suffixes, pattern + 2)) {
	case SUFFIX_PUBLIC:
		lint_find(lint, "public-suffix", &rule->where, name,
			  "%s allows strangers' hosts: anybody can register a name below %s",
			  pattern, pattern + 2);
		break;
	case SUFFIX_SHARED:
		lint_find(lint, "shared-host", &rule->where, name,
			  "%s allows strangers' hosts: every customer of the provider has names "
			  "below %s",
			  pattern, pattern + 2);
		break;
	case SUFFIX_OWN:
		break;
	}
}

/* Returns true if all that the rule's ports say is allowed. */
static bool allows_ports(const struct verdicts *verdicts, const struct rule *rule)
{
	bool all = true;

	for (size_t i = 0; rule->any_port && i < verdicts->n; i++)
		all &= bh_verdict_allow(verdicts_at(verdicts, i)->verdict);
	for (size_t i = 0; i < rule->n_ports; i++)
		all &= verdicts_allow(verdicts,
				      bh_point(rule->ports[i].protocol, rule->ports[i].first));
	return all;
}

/* Returns true if the segment may send to all outside addresses what the rule allows. */
static bool reaches_all(const struct policy *policy, const struct policy_segment *subject,
			const struct rule *rule)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *peer = &policy->segments[i];
		struct verdicts verdicts;

		if (!policy_segment_is_peer(peer) || !(peer->flags & BH_SEGMENT_EXTERNAL))
			continue;
		verdicts = verdicts_of(policy, subject, peer, EGRESS, 0);
		if (!allows_ports(&verdicts, rule))
			return false;
	}
	return true;
}

/* Finds names beside which all other addresses are allowed, too. */
static void lint_deny(struct lint *lint, const struct policy_object *object,
		      const struct rule *rule, const char *name)
{
	const struct cluster *cluster = lint->cluster;
	size_t i = lint_next_subject(lint, object, 0);

	if (i == cluster->n_endpoints)
		return;
	for (; i < cluster->n_endpoints; i = lint_next_subject(lint, object, i + 1)) {
		for (size_t k = 0; k < cluster->endpoints[i].n_addresses; k++) {
			const struct policy_address *address = policy_address_find(
				lint->policy, &cluster->endpoints[i].addresses[k]);

			if (!reaches_all(lint->policy, &lint->policy->segments[address->segment],
					 rule))
				return;
		}
	}
	lint_find(lint, "names-no-deny", &rule->where, name,
		  "allows names to pods that reach every address anyway: no rule denies them the "
		  "others");
}

void lint_names(struct lint *lint, const struct policy_object *object, const struct rule *rule,
		const char *name)
{
	if (!lint_has_names(rule))
		return;
	for (size_t i = 0; i < rule->n_peers; i++)
		for (size_t k = 0; k < rule->peers[i].n_keys; k++)
			if (rule->peers[i].keys[k][0] == '*')
				lint_wildcard(lint, rule, rule->peers[i].keys[k], name);
	lint_deny(lint, object, rule, name);
}
