/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds suspicious policies. Asks the objects which pods a selector selects, and the compiled
 * policy whether a rule ever decides. */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/asides.h"
#include "compile/budget.h"
#include "policy/flow.h"
#include "compile/lint_part.h"
#include "policy/verdicts.h"
#include "policy/match.h"
#include "maps/segment.h"
#include "model/search.h"
#include "model/unknown.h"

/* Returns "namespace/name" or "name", for a rule with "/ingress[0]" or the rule's own name
 * behind it. */
static char *name_of(const struct policy_object *object, enum direction direction,
		     const struct rule *rule, char text[FLOW_TEXT])
{
	char label[RULE_NAME_TEXT];

	snprintf(text, FLOW_TEXT, "%s%s%s%s%s", object->ns_name ? object->ns_name : "",
		 object->ns_name ? "/" : "", object->name, rule ? "/" : "",
		 rule ? rule_label(rule->name, direction, rule->index, label) : "");
	return text;
}

static void lint_subject(struct lint *lint, const struct policy_object *object)
{
	char name[FLOW_TEXT], lacks[LINT_LACKS];

	if (lint_next_subject(lint, object, 0) == lint->cluster->n_endpoints)
		lint_find(lint, "no-subject", &object->where, name_of(object, INGRESS, NULL, name),
			  "selects no endpoint%s",
			  lint_lacks(lint, object->ns_name, &object->namespaces, &object->pods,
				     lacks));
}

/* Returns true if the peer can match an endpoint. Ignores relations between namespaces. */
static bool peer_may_match(const struct lint *lint, const struct policy_object *object,
			   const struct peer *peer, const struct endpoint *endpoint)
{
	const struct namespace *ns = &lint->cluster->namespaces[endpoint->ns];

	if (peer->scope == PEER_NAMESPACE && strcmp(object->ns_name, ns->name))
		return false;
	if (peer->scope == PEER_NAMESPACES && !selector_matches(&peer->namespaces, &ns->labels))
		return false;
	return selector_matches(&peer->pods, &endpoint->labels);
}

static bool peer_selects(const struct lint *lint, const struct policy_object *object,
			 const struct peer *peer)
{
	const struct cluster *cluster = lint->cluster;
	bool any = false;

	if (peer->scope == PEER_DOMAINS)
		return true;
	if (peer->scope == PEER_NODES) {
		for (size_t i = 0; i < cluster->n_nodes && !any; i++)
			any = selector_matches(&peer->nodes, &cluster->nodes[i].labels);
		return any;
	}
	for (size_t i = 0; i < lint->n_kinds && !any; i++)
		any = peer_may_match(lint, object, peer, &cluster->endpoints[lint->kinds[i]]);
	return any;
}

/* Checks a block. A block that holds every address is intended. */
static void lint_block(struct lint *lint, const struct peer *peer, const struct where *where,
		       const char *name)
{
	const struct cidr everything = {.address.bytes = {[10] = 0xff, [11] = 0xff}, .length = 96};
	const struct endpoint *first = NULL;
	char text[ADDRESS_TEXT];
	size_t n = 0;

	if (cidr_covers(&peer->cidr, &everything) || !peer->cidr.length)
		return;
	for (size_t i = 0; i < lint->cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &lint->cluster->endpoints[i];
		bool inside = false;

		for (size_t k = 0; k < endpoint->n_addresses; k++)
			inside |= match_block(peer, &endpoint->addresses[k]);
		first = inside && !n ? endpoint : first;
		n += inside;
	}
	if (n)
		lint_find(
			lint, "block-covers-pods", where, name,
			"%s covers %s/%s: endpoints in it, %zu in all, match whatever their labels",
			cidr_print(&peer->cidr, text), first->ns_name, first->name, n);
}

static bool port_is_named(const struct lint *lint, const struct port *port)
{
	for (size_t i = 0; i < lint->cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &lint->cluster->endpoints[i];

		for (size_t k = 0; k < endpoint->n_ports; k++)
			if (!strcmp(endpoint->ports[k].name, port->name) &&
			    (!port->protocol || endpoint->ports[k].protocol == port->protocol))
				return true;
	}
	return false;
}

static void lint_no_peer(struct lint *lint, const struct policy_object *object,
			 const struct rule *rule, const char *name, size_t i)
{
	const struct peer *peer = &rule->peers[i];
	char lacks[LINT_LACKS];

	if (peer->scope == PEER_NODES)
		lint_lacks_node(lint, &peer->nodes, lacks);
	else
		lint_lacks(lint, peer->scope == PEER_NAMESPACE ? object->ns_name : NULL,
			   peer->scope == PEER_NAMESPACES ? &peer->namespaces : NULL, &peer->pods,
			   lacks);
	lint_find(lint, "no-peer", &rule->where, name, "peer %zu selects nothing%s", i, lacks);
}

/* Checks the rule's peers. Returns true if the rule can match at all. */
static bool lint_matches(struct lint *lint, const struct policy_object *object,
			 const struct rule *rule, const char *name)
{
	bool peers = rule->any_peer, ports = rule->any_port;
	char like[LINT_LACKS];

	if (rule->unknown)
		return true; /* the reader has warned about it */
	for (size_t i = 0; i < rule->n_peers; i++) {
		if (rule->peers[i].scope == PEER_CIDR) {
			lint_block(lint, &rule->peers[i], &rule->where, name);
			lint_service_block(lint, &rule->peers[i], &rule->where, name);
			peers = true;
		} else if (peer_selects(lint, object, &rule->peers[i])) {
			peers = true;
		} else {
			lint_no_peer(lint, object, rule, name, i);
		}
	}
	for (size_t i = 0; i < rule->n_ports; i++) {
		if (rule->ports[i].kind != PORT_NAME || port_is_named(lint, &rule->ports[i]))
			ports = true;
		else
			lint_find(lint, "no-port", &rule->where, name,
				  "no endpoint names a port `%s`%s", rule->ports[i].name,
				  lint_like_port(lint, &rule->ports[i], like));
	}
	return peers && ports;
}

static const char *policy_of(const struct policy *policy, uint32_t rule)
{
	return policy_string(policy, policy->rules[rule].policy);
}

static int compare_rules(const void *a, const void *b, void *policy)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(policy_of(policy, x), policy_of(policy, y));

	return order ? order : x < y ? -1 : x > y;
}

static bool rule_decides(const struct lint *lint, const struct policy_object *object,
			 enum direction direction, const struct rule *rule)
{
	const struct policy *policy = lint->policy;
	const uint32_t *rules = lint->rules;
	char name[FLOW_TEXT];
	size_t i;

	name_of(object, direction, NULL, name);
	i = SEARCH(policy->n_rules, k, strcmp(policy_of(policy, rules[k]), name) < 0);
	for (; i < policy->n_rules && !strcmp(policy_of(policy, rules[i]), name); i++) {
		const struct policy_rule *compiled = &policy->rules[rules[i]];

		if (compiled->kind == object->kind && compiled->direction == direction &&
		    compiled->index == rule->index)
			return lint->decides[rules[i]];
	}
	return false;
}

/* Finds an empty list of peers: the rule lets everybody in, where its author may have meant nobody.
 */
static void lint_list(struct lint *lint, const struct policy_object *object,
		      enum direction direction, const struct rule *rule)
{
	char name[FLOW_TEXT];

	if (rule->no_list)
		lint_find(lint, "empty-list", &rule->where, name_of(object, direction, rule, name),
			  "`%s: []` is everybody: leave the field out if that is meant, and the "
			  "rule out if nobody is",
			  direction == INGRESS ? "from" : "to");
}

static void lint_rule(struct lint *lint, const struct policy_object *object,
		      enum direction direction, const struct rule *rule)
{
	char name[FLOW_TEXT];

	lint_list(lint, object, direction, rule);
	name_of(object, direction, rule, name);
	/* A rule that passes flows on leaves no trace in a verdict. */
	if (!lint_matches(lint, object, rule, name) || rule->action == ACTION_PASS ||
	    lint_next_subject(lint, object, 0) == lint->cluster->n_endpoints)
		return;
	if (object->audit)
		return;
	if (object->kind == POLICY_NETWORK_V1BETA1 && !object->isolates[INGRESS])
		return; /* reported once, for the policy */
	lint_names(lint, object, rule, name);
	/* The verdicts' tables have no rules by names. */
	if (!lint_has_names(rule) && !rule_decides(lint, object, direction, rule))
		lint_find(lint, "never-decides", &rule->where, name,
			  "decides nothing: other rules decide all that it matches");
}

static bool in_tier(const struct verdicts *verdicts, enum tier tier)
{
	for (size_t i = 0; i < verdicts->n; i++)
		if ((enum tier)bh_verdict_tier(verdicts_at(verdicts, i)->verdict) == tier)
			return true;
	return false;
}

/* Returns true if NetworkPolicies decide anything that this segment sends or receives. */
static bool tier_decides(const struct policy *policy, const struct policy_segment *subject,
			 enum direction direction)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *peer = &policy->segments[i];
		struct verdicts verdicts;

		if (!policy_segment_is_peer(peer))
			continue;
		verdicts = verdicts_of(policy, subject, peer, direction, 0);
		if (in_tier(&verdicts, TIER_NETWORK_POLICY))
			return true;
	}
	return false;
}

static void lint_overridden(struct lint *lint, const struct policy_object *object)
{
	const struct policy *policy = lint->policy;
	const struct cluster *cluster = lint->cluster;
	size_t i = lint_next_subject(lint, object, 0);
	char name[FLOW_TEXT];

	if (object->audit || i == cluster->n_endpoints ||
	    (!object->applies[INGRESS] && !object->applies[EGRESS]))
		return;
	for (; i < cluster->n_endpoints; i = lint_next_subject(lint, object, i + 1)) {
		for (size_t k = 0; k < cluster->endpoints[i].n_addresses; k++) {
			const struct policy_address *address =
				policy_address_find(policy, &cluster->endpoints[i].addresses[k]);
			const struct policy_segment *segment = &policy->segments[address->segment];

			for (enum direction d = INGRESS; d <= EGRESS; d++)
				if (object->applies[d] && tier_decides(policy, segment, d))
					return;
		}
	}
	name_of(object, INGRESS, NULL, name);
	if (object->kind == POLICY_NETWORK_V1BETA1 && !object->isolates[INGRESS])
		lint_find(lint, "no-isolation", &object->where, name,
			  "has no effect: nothing isolates its namespace, so all is allowed");
	else
		lint_find(lint, "overridden", &object->where, name,
			  "has no effect: admin policies decide all traffic of the pods that it "
			  "selects");
}

static bool overlap(const struct lint *lint, const struct policy_object *a,
		    const struct policy_object *b)
{
	for (size_t i = lint_next_subject(lint, a, 0); i < lint->cluster->n_endpoints;
	     i = lint_next_subject(lint, a, i + 1))
		if (match_subject(lint->cluster, b, &lint->cluster->endpoints[i]))
			return true;
	return false;
}

/* Policies are sorted as they are asked, so equal priorities are neighbours. */
static void lint_priority(struct lint *lint, size_t index)
{
	const struct policy_object *object = &lint->cluster->policies[index];
	char name[FLOW_TEXT], other_name[FLOW_TEXT];

	for (size_t i = index; i-- > 0;) {
		const struct policy_object *other = &lint->cluster->policies[i];

		if (other->tier != object->tier || other->priority != object->priority)
			return;
		if (overlap(lint, object, other))
			lint_find(lint, "equal-priority", &object->where,
				  name_of(object, INGRESS, NULL, name),
				  "has the priority of %s, which selects some of the same "
				  "endpoints and "
				  "is asked first, by its name alone",
				  name_of(other, INGRESS, NULL, other_name));
	}
}

static void note_verdict(struct lint *lint, uint32_t verdict)
{
	const struct policy_rule *rule = policy_rule_of(lint->policy, verdict);

	if (rule)
		lint->decides[rule - lint->policy->rules] = true;
}

static void note_ports(struct lint *lint, struct bh_ports_ref ports)
{
	if (!ports.count)
		note_verdict(lint, ports.at);
}

static void note_deciding_rules(struct lint *lint)
{
	const struct policy *policy = lint->policy;

	for (size_t i = 0; i < policy->n_intervals; i++)
		note_verdict(lint, policy->intervals[i].verdict);
	for (size_t i = 0; i < policy->n_pairs; i++)
		note_ports(lint, policy->pairs[i].ports);
	for (size_t i = 0; i < policy->n_named; i++)
		note_ports(lint, policy->named[i].ports);
	for (size_t i = 0; i < policy->n_segments; i++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			for (int external = 0; external <= 1; external++)
				note_ports(lint, policy->segments[i].fallback[d][external]);
}

/* Returns true if the cluster has a BaselineAdminNetworkPolicy already: the first one counts. */
static bool is_second_baseline(const struct lint *lint, const struct policy_object *object)
{
	return object->kind == POLICY_BASELINE_ADMIN && object > lint->cluster->policies &&
	       object[-1].kind == POLICY_BASELINE_ADMIN;
}

/* Finds a policy that the compile has set aside. Its rules do not count, so no other check is about
 * them. */
static bool lint_aside(struct lint *lint, const struct policy_object *object)
{
	const struct aside *aside =
		asides_find(lint->policy->asides, budget_kind_of(object),
			    object->ns_name ? object->ns_name : "", object->name);
	char name[FLOW_TEXT];

	if (aside)
		lint_find(lint,
			  is_second_baseline(lint, object) ? "second-baseline" : "over-budget",
			  &object->where, name_of(object, INGRESS, NULL, name),
			  "is set aside, and %s: %s", aside->effect, aside->why);
	return aside;
}

/* Finds rules of a direction that policyTypes leave out: they count for nothing. */
static void lint_types(struct lint *lint, const struct policy_object *object)
{
	static const char *const types[] = {[INGRESS] = "Ingress", [EGRESS] = "Egress"};
	char name[FLOW_TEXT];

	for (enum direction d = INGRESS; d <= EGRESS; d++)
		if (object->n_rules[d] && !object->applies[d])
			lint_find(lint, "unused-rules", &object->rules[d][0].where,
				  name_of(object, d, &object->rules[d][0], name),
				  "counts for nothing: policyTypes leave %s out", types[d]);
}

static bool has_pods(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (rule->peers[i].scope != PEER_CIDR)
			return true;
	return false;
}

/* Returns true if the segment may send to UDP/53 of anybody. */
static bool asks_dns(const struct policy *policy, const struct policy_segment *subject)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *peer = &policy->segments[i];
		struct verdicts verdicts;

		if (!policy_segment_is_peer(peer))
			continue;
		verdicts = verdicts_of(policy, subject, peer, EGRESS, 0);
		if (verdicts_allow(&verdicts, bh_point(IPPROTO_UDP, 53)))
			return true;
	}
	return false;
}

/* Finds a policy whose pods may call other pods, which they know by names, or hosts by name, and
 * may ask nobody for an address. */
static void lint_dns(struct lint *lint, const struct policy_object *object)
{
	const struct cluster *cluster = lint->cluster;
	size_t i = lint_next_subject(lint, object, 0);
	char name[FLOW_TEXT];
	bool calls = false, names = false;

	for (size_t k = 0; object->applies[EGRESS] && k < object->n_rules[EGRESS]; k++) {
		calls |= object->isolates[EGRESS] && has_pods(&object->rules[EGRESS][k]);
		names |= lint_has_names(&object->rules[EGRESS][k]);
	}
	if (!(calls || names) || i == cluster->n_endpoints)
		return;
	for (; i < cluster->n_endpoints; i = lint_next_subject(lint, object, i + 1)) {
		for (size_t k = 0; k < cluster->endpoints[i].n_addresses; k++) {
			const struct policy_address *address = policy_address_find(
				lint->policy, &cluster->endpoints[i].addresses[k]);

			if (asks_dns(lint->policy, &lint->policy->segments[address->segment]))
				return;
		}
	}
	lint_find(lint, "no-dns", &object->where, name_of(object, EGRESS, NULL, name),
		  "its pods may call %s, and may send no DNS query: nobody lets them at UDP/53",
		  names ? "hosts by name" : "others");
}

static void lint_namespace(void *data, const struct policy_object *object,
			   const struct nearest *nearest)
{
	char name[FLOW_TEXT], like[NEAREST_TEXT];

	lint_find(data, "no-namespace", &object->where, name_of(object, INGRESS, NULL, name),
		  "no pod is in its namespace, and no Namespace object has this name%s",
		  nearest_print(nearest, like));
}

static void lint_policies(struct lint *lint)
{
	note_deciding_rules(lint);
	for (size_t i = 0; i < lint->cluster->n_policies; i++) {
		const struct policy_object *object = &lint->cluster->policies[i];

		lint_subject(lint, object);
		if (lint_aside(lint, object))
			continue;
		lint_types(lint, object);
		lint_dns(lint, object);
		if (object->tier == TIER_NETWORK_POLICY)
			lint_overridden(lint, object);
		else if (object->kind != POLICY_BASELINE_ADMIN)
			lint_priority(lint, i);
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			for (size_t k = 0; k < object->n_rules[d] && object->applies[d]; k++)
				lint_rule(lint, object, d, &object->rules[d][k]);
	}
}

static bool same_labels(const struct endpoint *a, const struct endpoint *b)
{
	bool same = a->ns == b->ns && a->labels.n == b->labels.n;

	/* a cluster has each string once */
	for (size_t i = 0; same && i < a->labels.n; i++)
		same = a->labels.at[i].key == b->labels.at[i].key &&
		       a->labels.at[i].value == b->labels.at[i].value;
	return same;
}

static void make_indexes(struct lint *lint)
{
	const struct endpoint *endpoints = lint->cluster->endpoints;
	const size_t n = lint->policy->n_rules;

	lint->kinds = grow_zeroed(lint->cluster->n_endpoints, sizeof(*lint->kinds));
	for (size_t i = 0; i < lint->cluster->n_endpoints; i++)
		if (!i || !same_labels(&endpoints[i - 1], &endpoints[i]))
			lint->kinds[lint->n_kinds++] = i;
	lint->rules = grow_zeroed(n, sizeof(*lint->rules));
	for (size_t i = 0; i < n; i++)
		lint->rules[i] = i;
	if (n)
		qsort_r(lint->rules, n, sizeof(*lint->rules), compare_rules, (void *)lint->policy);
}

static int look(void *data)
{
	struct lint *lint = data;

	make_indexes(lint);
	lint->decides = grow_zeroed(lint->policy->n_rules, sizeof(*lint->decides));
	if (unknown_namespaces(lint->cluster, lint_namespace, lint))
		memory_exhausted();
	lint_policies(lint);
	lint_services(lint);
	lint_room(lint);
	return 0;
}

int lint(const struct cluster *cluster, const struct policy *policy, const char *suffixes,
	 struct lint_findings *findings)
{
	struct lint lint = {.cluster = cluster,
			    .policy = policy,
			    .suffixes = suffixes,
			    .looks = LINT_LOOKS,
			    .findings = findings};
	int error = memory_guarded(look, &lint);

	free(lint.decides);
	free(lint.rules);
	free(lint.kinds);
	return error;
}

void lint_free(struct lint_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		free(findings->at[i].object);
		free(findings->at[i].text);
	}
	array_free(findings);
}
