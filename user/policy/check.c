/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks a policy's tables. Each table has a function that returns the fault of its record @i, or
 * NULL. They run in the order of `checks` and stop at the first fault, so each relies on the tables
 * before it. Each relies, too, on its record's references to be within their tables.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/check.h"
#include "policy/references.h"
#include "maps/blob.h"
#include "maps/segment.h"
#include "model/protocol.h"
#include "model/search.h"

struct check {
	const struct policy *policy;
	uint32_t n[BLOB_TABLES]; /* records of each table */
	bool plain; /* no string has a control character, so that none is looked at again */
	uint32_t *runs; /* by interval: the length of the ascending run that begins there */
	size_t listed; /* addresses that the endpoints checked so far have */
	size_t with_members; /* segments that are not deleted or external, so far */
};

/* Returns true if the string steers no terminal on which it is printed. A rule's name and a UID may
 * have any characters. */
static bool is_plain(const struct check *check, uint32_t string)
{
	return check->plain || diag_is_plain(policy_string(check->policy, string));
}

static bool are_plain(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_strings; i += strlen(policy->strings + i) + 1)
		if (!diag_is_plain(policy->strings + i))
			return false;
	return true;
}

static bool is_name(const struct check *check, uint32_t string)
{
	return is_plain(check, string) && *policy_string(check->policy, string);
}

static int order_names(const struct check *check, uint32_t a, uint32_t b)
{
	return strcmp(policy_string(check->policy, a), policy_string(check->policy, b));
}

static bool is_prefix(const struct address *address, uint32_t length)
{
	struct address masked;

	if (length > 128)
		return false;
	masked = address_mask(address, length);
	return !memcmp(&masked, address, sizeof(masked));
}

/* Returns true if the ID is 0, or that of a rule which decides so. */
static bool decides(const struct check *check, uint32_t id, uint32_t tier, enum action action)
{
	const struct policy_rule *rule = policy_rule_by_id(check->policy, id);

	return !id || (rule && rule->tier == (uint8_t)tier && rule->action == (uint8_t)action);
}

static bool is_verdict(const struct check *check, uint32_t verdict)
{
	const enum action action = bh_verdict_allow(verdict) ? ACTION_ALLOW : ACTION_DENY;
	const uint32_t tier = bh_verdict_audit(verdict);
	const struct policy_audit *audit;

	if (!tier)
		return decides(check, bh_verdict_rule(verdict), bh_verdict_tier(verdict), action);
	audit = policy_audit_of(check->policy, verdict);
	return audit && !((audit->decides ^ verdict) & ~(BH_RULE_MAX | 3u << BH_AUDIT_SHIFT)) &&
	       decides(check, audit->denies, tier - 1, ACTION_DENY);
}

/* Returns true if a list begins at 0 and ascends. */
static bool is_list(const struct check *check, struct bh_ports_ref ports)
{
	const struct policy *policy = check->policy;

	return ports.at < policy->n_intervals && !policy->intervals[ports.at].start &&
	       ports.count <= check->runs[ports.at] && ports.count <= BH_PORTS_MAX;
}

static bool is_ports(const struct check *check, struct bh_ports_ref ports)
{
	if (!ports.count)
		return is_verdict(check, ports.at);
	if (ports.count == BH_PORTS_NAMED)
		return ports.at && ports.at < check->policy->next_list;
	return is_list(check, ports);
}

static bool is_class(const struct check *check, uint32_t id)
{
	return id < check->policy->next_class;
}

static bool is_resolution(const struct check *check, uint32_t id)
{
	const struct policy *policy = check->policy;
	const size_t at = SEARCH(policy->n_resolutions, i, policy->resolutions[i].id < id);

	return !id || (at < policy->n_resolutions && policy->resolutions[at].id == id);
}

static bool are_names(const struct check *check, struct policy_range range)
{
	for (uint32_t i = 0; i < range.n; i++)
		if (!is_name(check, check->policy->texts[range.at + i]))
			return false;
	return true;
}

static const char *check_text(struct check *check, size_t i)
{
	return is_plain(check, check->policy->texts[i]) ? NULL : "a control character";
}

static const char *check_cidr(struct check *check, size_t i)
{
	const struct policy_cidr *cidr = &check->policy->cidrs[i];

	return is_prefix(&cidr->address, cidr->length) ? NULL : "not a prefix";
}

static const char *check_requirement(struct check *check, size_t i)
{
	const struct policy_requirement *requirement = &check->policy->requirements[i];
	bool wants_values = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN;

	if (!is_name(check, requirement->key))
		return "no key";
	if (requirement->op > SELECTOR_DOES_NOT_EXIST)
		return "no such operator";
	return wants_values == !!requirement->values.n ? NULL : "values do not fit the operator";
}

static const char *check_clause(struct check *check, size_t i)
{
	const struct policy_clause *clause = &check->policy->clauses[i];

	if (clause->kind > CLAUSE_DOMAIN || clause->pad)
		return "no such kind";
	if (!is_plain(check, clause->ns))
		return "a control character";
	if (clause->kind == CLAUSE_DOMAIN && !clause->ns)
		return "no domain name";
	return is_prefix(&clause->address, clause->length) ? NULL : "not a prefix";
}

static const char *check_matcher(struct check *check, size_t i)
{
	const struct policy_matcher *matcher = &check->policy->matchers[i];

	return matcher->flags & ~MATCHER_NEGATIVE || matcher->pad ? "unknown flags" : NULL;
}

/* Returns true if the labels of a namespace have its name, as those of each do. */
static bool has_name_label(const struct policy *policy, const struct policy_namespace *ns)
{
	const uint32_t *texts = policy->texts + ns->labels.at;

	for (uint32_t i = 0; i < ns->labels.n; i += 2)
		if (!strcmp(policy_string(policy, texts[i]), NAME_LABEL))
			return !strcmp(policy_string(policy, texts[i + 1]),
				       policy_string(policy, ns->name));
	return false;
}

static const char *check_namespace(struct check *check, size_t i)
{
	const struct policy_namespace *ns = &check->policy->namespaces[i];

	if (!is_name(check, ns->name))
		return "no name";
	if (i && order_names(check, ns[-1].name, ns->name) >= 0)
		return "out of order";
	if (ns->flags & ~(POLICY_AUDIT | POLICY_ISOLATED))
		return "unknown flags";
	if (ns->labels.n % 2)
		return "a label without a value";
	return has_name_label(check->policy, ns) ? NULL : "no label of its name";
}

static const char *check_node(struct check *check, size_t i)
{
	const struct policy_node *node = &check->policy->nodes[i];

	if (!is_name(check, node->name) || node->pad)
		return "no name";
	if (i && order_names(check, node[-1].name, node->name) >= 0)
		return "out of order";
	return node->labels.n % 2 ? "a label without a value" : NULL;
}

static const char *check_rule(struct check *check, size_t i)
{
	const struct policy_rule *rule = &check->policy->rules[i];

	if (!rule->id || rule->id >= BH_RULE_LOCAL || rule->id >= check->policy->next_rule)
		return "ID out of range";
	if (i && rule[-1].id >= rule->id)
		return "out of order";
	if (!is_name(check, rule->policy))
		return "no name";
	if (rule->direction > EGRESS || rule->tier > TIER_BASELINE || rule->action > ACTION_PASS ||
	    rule->kind > POLICY_BASELINE_ADMIN)
		return "no such direction, tier, action or kind";
	return rule->flags & ~POLICY_AUDIT ? "unknown flags" : NULL;
}

static const char *check_audit(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_audit *audit = &policy->audits[i];

	if (!audit->id || audit->id > BH_RULE_MAX ||
	    (audit->id < BH_RULE_LOCAL && audit->id >= policy->next_rule))
		return "ID out of range";
	if (i && audit[-1].id >= audit->id)
		return "out of order";
	if (bh_verdict_audit(audit->decides) || !is_verdict(check, audit->decides) ||
	    (audit->denies && !policy_rule_by_id(policy, audit->denies)))
		return "no such verdict or rule";
	if (!audit->policies.n)
		return "no policies";
	return are_names(check, audit->policies) ? NULL : "no name";
}

static const char *check_given_port(struct check *check, size_t i)
{
	const struct policy_given_port *port = &check->policy->given_ports[i];

	if (port->kind > PORT_NAME || port->pad[0] || port->pad[1])
		return "no such kind";
	if (!is_plain(check, port->name) || (port->kind == PORT_NAME) != !!port->name)
		return "a name does not fit the kind";
	if (!protocol_by_number(port->protocol) && (port->protocol || port->kind != PORT_NAME))
		return "no such protocol";
	return port->first > port->last ? "ends before it begins" : NULL;
}

static const char *check_given_peer(struct check *check, size_t i)
{
	const struct policy_given_peer *peer = &check->policy->given_peers[i];

	if (peer->scope > PEER_LAST)
		return "no such scope";
	if (!is_prefix(&peer->address, peer->length))
		return "not a prefix";
	return are_names(check, peer->keys) ? NULL : "no key";
}

static const char *check_given_rule(struct check *check, size_t i)
{
	const struct policy_given_rule *rule = &check->policy->given_rules[i];
	uint8_t known = GIVEN_NAMED | GIVEN_UNKNOWN | GIVEN_ANY_PEER | GIVEN_ANY_PORT;

	if (rule->name && !(rule->flags & GIVEN_NAMED))
		return "no such name";
	return rule->action > ACTION_PASS || rule->flags & ~known || rule->pad[0] || rule->pad[1]
		       ? "no such action or flags"
		       : NULL;
}

/* Returns true if a kind of policies may be of the tier. */
static bool is_tier_of(uint8_t kind, uint8_t tier)
{
	switch ((enum policy_kind)kind) {
	case POLICY_NETWORK:
	case POLICY_NETWORK_V1BETA1:
		return tier == TIER_NETWORK_POLICY;
	case POLICY_ADMIN:
		return tier == TIER_ADMIN;
	case POLICY_CLUSTER:
		return tier == TIER_ADMIN || tier == TIER_BASELINE;
	case POLICY_BASELINE_ADMIN:
		return tier == TIER_BASELINE;
	}
	return false;
}

/* Returns true if one of the rules has a peer of the policy's own namespace. */
static bool has_own_namespace(const struct policy *policy, struct policy_range rules)
{
	for (uint32_t i = 0; i < rules.n; i++) {
		const struct policy_range peers = policy->given_rules[rules.at + i].peers;

		for (uint32_t k = 0; k < peers.n; k++)
			if (policy->given_peers[peers.at + k].scope == PEER_NAMESPACE)
				return true;
	}
	return false;
}

static const char *check_given(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_given *given = &policy->given[i];
	bool namespaced = policy_kind_is_network(given->kind);

	if (!is_name(check, given->name) || !is_plain(check, given->ns) ||
	    namespaced != !!given->ns)
		return "no name";
	if (namespaced && !policy_namespace_by_name(policy, policy_string(policy, given->ns)))
		return "no such namespace";
	if (!is_tier_of(given->kind, given->tier) || given->applies >> (EGRESS + 1) ||
	    given->isolates >> (EGRESS + 1))
		return "no such kind, tier or directions";
	if (given->flags & ~POLICY_AUDIT)
		return "unknown flags";
	return !namespaced && (has_own_namespace(policy, given->rules[INGRESS]) ||
			       has_own_namespace(policy, given->rules[EGRESS]))
		       ? "a peer of its own namespace, and it has none"
		       : NULL;
}

static const char *check_isolation(struct check *check, size_t i)
{
	const struct policy_isolation *isolation = &check->policy->isolations[i];

	if (!is_name(check, isolation->policy))
		return "no name";
	if (i && order_names(check, isolation[-1].policy, isolation->policy) > 0)
		return "out of order";
	if (isolation->flags & ~POLICY_AUDIT)
		return "unknown flags";
	return isolation->directions && !(isolation->directions >> (EGRESS + 1))
		       ? NULL
		       : "no such directions";
}

static const char *check_host_pod(struct check *check, size_t i)
{
	const struct policy_host_pod *pod = &check->policy->host_pods[i];

	if (!is_name(check, pod->name) || !is_name(check, pod->node))
		return "no name";
	return i && order_names(check, pod[-1].name, pod->name) > 0 ? "out of order" : NULL;
}

static bool are_labels(const struct check *check, struct policy_range range)
{
	for (uint32_t i = 0; i < range.n; i++)
		if (!is_plain(check, check->policy->texts[range.at + i]))
			return false;
	return range.n % 2 == 0;
}

static const char *check_expected(struct check *check, size_t i)
{
	const struct policy_expected *pod = &check->policy->expected[i];
	int order = -1;

	if (!is_name(check, pod->ns) || !is_name(check, pod->name))
		return "no name";
	if (pod->flags & ~POLICY_AUDIT)
		return "no such flag";
	if (!are_labels(check, pod->labels))
		return "no such labels";
	if (i)
		order = order_names(check, pod[-1].ns, pod->ns);
	if (i && !order)
		order = order_names(check, pod[-1].name, pod->name);
	return order < 0 ? NULL : "out of order";
}

static const char *check_interval(struct check *check, size_t i)
{
	const struct bh_interval *interval = &check->policy->intervals[i];

	if (interval->start > BH_POINT_OTHER)
		return "starts after the last point";
	/* of a list of single ports, each second interval has the same verdict */
	if (i >= 2 && interval[-2].verdict == interval->verdict)
		return NULL;
	return is_verdict(check, interval->verdict) ? NULL : "no such verdict";
}

static const char *check_named_port(struct check *check, size_t i)
{
	const struct policy_named_port *port = &check->policy->named_ports[i];

	if (!is_name(check, port->name))
		return "no name";
	if (!port->port || port->pad || !protocol_by_number(port->protocol))
		return "no such port";
	return NULL;
}

static const char *check_resolution(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_resolution *resolution = &policy->resolutions[i];

	if (!resolution->id || resolution->id >= policy->next_resolution || resolution->pad)
		return "ID out of range";
	return i && resolution[-1].id >= resolution->id ? "out of order" : NULL;
}

static const char *check_variation(struct check *check, size_t i)
{
	const struct policy_variation *variation = &check->policy->variations[i];

	if (!variation->id || variation->id > BH_VARIATION_MAX)
		return "ID out of range";
	return variation->resolution && is_resolution(check, variation->resolution)
		       ? NULL
		       : "no such resolution";
}

static const char *check_ids(const struct policy_class *record, size_t i, uint32_t next)
{
	if (!record->id || record->id >= next || record->pad)
		return "ID out of range";
	return i && record[-1].id >= record->id ? "out of order" : NULL;
}

static const char *check_class(struct check *check, size_t i)
{
	return check_ids(&check->policy->classes[i], i, check->policy->next_class);
}

static const char *check_listed(struct check *check, size_t i)
{
	return check_ids(&check->policy->lists[i], i, check->policy->next_list);
}

static bool are_matchers(const struct policy *policy, struct policy_range range)
{
	const uint32_t *numbers = policy->numbers + range.at;

	for (uint32_t i = 0; i < range.n; i++)
		if (numbers[i] >= policy->n_matchers || (i && numbers[i - 1] >= numbers[i]))
			return false;
	return true;
}

static bool are_variations(const struct policy *policy, const struct policy_segment *segment)
{
	const struct policy_variation *variations = policy->variations + segment->variations.at;

	for (uint32_t i = 0; i < segment->variations.n; i++)
		if (variations[i].id >= segment->next_variation ||
		    (i && variations[i - 1].id >= variations[i].id))
			return false;
	return true;
}

static const char *check_reachability(const struct check *check,
				      const struct policy_segment *segment)
{
	if (!is_class(check, segment->peer_own) || !is_class(check, segment->peer_common))
		return "no such class as a peer";
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		if (!is_class(check, segment->own[direction]) ||
		    !is_class(check, segment->common[direction]))
			return "no such class as a subject";
		if (!is_ports(check, segment->fallback[direction][0]) ||
		    !is_ports(check, segment->fallback[direction][1]))
			return "no such ports";
	}
	return NULL;
}

static const char *check_segment(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_segment *segment = &policy->segments[i];
	const uint32_t selected = BH_SEGMENT_POLICY(INGRESS) | BH_SEGMENT_POLICY(EGRESS);
	const uint32_t audited = BH_SEGMENT_AUDITED(INGRESS) | BH_SEGMENT_AUDITED(EGRESS);

	if (!segment->id || segment->id >= policy->next_segment || i >= BH_SLOT_MAX)
		return "ID out of range";
	if (i && segment[-1].id >= segment->id)
		return "out of order";
	if (segment->pad ||
	    segment->flags & ~(BH_SEGMENT_EXTERNAL | BH_SEGMENT_DOMAINS | selected | audited) ||
	    (segment->flags & BH_SEGMENT_EXTERNAL && segment->flags & BH_SEGMENT_POLICY(INGRESS)) ||
	    (segment->flags & audited) >> 2 & ~segment->flags)
		return "unknown flags";
	if (!segment->create_generation || segment->create_generation > policy->generation ||
	    (segment->delete_generation &&
	     (segment->delete_generation <= segment->create_generation ||
	      segment->delete_generation > policy->generation)))
		return "generation out of range";
	check->with_members += policy_segment_has_members(segment);
	if (!are_matchers(policy, segment->in) || !are_matchers(policy, segment->not_in))
		return "no such matchers";
	if (!are_names(check, segment->names))
		return "no such port names";
	if (!are_variations(policy, segment))
		return "no such variations";
	return check_reachability(check, segment);
}

static const char *check_endpoint(struct check *check, size_t i)
{
	static const uint8_t no_mac[6];
	const struct policy_endpoint *endpoint = &check->policy->endpoints[i];

	if (!is_name(check, endpoint->name))
		return "no name";
	if (i && (endpoint[-1].ns > endpoint->ns ||
		  (endpoint[-1].ns == endpoint->ns &&
		   order_names(check, endpoint[-1].name, endpoint->name) >= 0)))
		return "out of order";
	if ((endpoint->node && !is_name(check, endpoint->node)) ||
	    (endpoint->interface && !is_name(check, endpoint->interface)))
		return "no such node or interface";
	if (endpoint->flags & ~(POLICY_AUDIT | POLICY_L2 | POLICY_MAC) || endpoint->pad[0] ||
	    endpoint->pad[1])
		return "unknown flags";
	if (!(endpoint->flags & POLICY_MAC) && memcmp(endpoint->mac, no_mac, sizeof(no_mac)))
		return "a MAC that is not known";
	check->listed += endpoint->addresses.n;
	return NULL;
}

static bool has_variation(const struct policy *policy, const struct policy_segment *segment,
			  uint32_t id)
{
	for (uint32_t i = 0; i < segment->variations.n; i++)
		if (policy->variations[segment->variations.at + i].id == id)
			return true;
	return !id;
}

static bool has_address(const struct policy *policy, const struct policy_endpoint *endpoint,
			size_t address)
{
	for (uint32_t i = 0; i < endpoint->addresses.n; i++)
		if (policy->endpoint_addresses[endpoint->addresses.at + i] == address)
			return true;
	return false;
}

static const char *check_address(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_address *address = &policy->addresses[i];
	const struct policy_segment *segment;

	/* Each address is in its endpoint's list, and all lists together are no longer than the
	 * table. */
	if (check->listed != policy->n_addresses ||
	    !has_address(policy, &policy->endpoints[address->endpoint], i))
		return "not its endpoint's";
	if (i && memcmp(&address[-1].address, &address->address, sizeof(address->address)) >= 0)
		return "out of order";
	if (address->pad)
		return "no such segment";
	segment = &policy->segments[address->segment];
	if (!policy_segment_has_members(segment))
		return "not a segment of endpoints";
	return has_variation(policy, segment, address->variation) ? NULL : "no such variation";
}

static bool is_external(const struct policy *policy, uint32_t segment)
{
	return !policy->segments[segment].delete_generation &&
	       policy->segments[segment].flags & BH_SEGMENT_EXTERNAL;
}

static const char *check_prefix(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_prefix *prefix = &policy->prefixes[i];
	int order;

	if (!is_prefix(&prefix->address, prefix->length))
		return "not a prefix";
	if (!i && prefix->length)
		return "not ::/0";
	order = i ? memcmp(&prefix[-1].address, &prefix->address, sizeof(prefix->address)) : -1;
	if (order > 0 || (!order && prefix[-1].length >= prefix->length))
		return "out of order";
	return is_external(policy, prefix->segment) ? NULL : "not a segment of addresses";
}

static const char *check_domain(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_domain *domain = &policy->domains[i];
	int order;

	if (!is_name(check, domain->name))
		return "no name";
	order = i ? order_names(check, domain[-1].name, domain->name) : -1;
	if (!domain->class || !is_class(check, domain->class))
		return "no such class";
	if (order > 0 || (!order && domain[-1].class >= domain->class))
		return "out of order";
	return is_external(policy, domain->segment) &&
			       policy_segment_is_by_domain(&policy->segments[domain->segment])
		       ? NULL
		       : "not a segment of subjects by name";
}

static const char *check_pair(struct check *check, size_t i)
{
	const struct policy_pair *pair = &check->policy->pairs[i];

	if (!pair->subject || !is_class(check, pair->subject) || !is_class(check, pair->peer))
		return "no such class";
	if (i && (pair[-1].subject > pair->subject ||
		  (pair[-1].subject == pair->subject && pair[-1].peer >= pair->peer)))
		return "out of order";
	return is_ports(check, pair->ports) ? NULL : "no such ports";
}

static const char *check_named(struct check *check, size_t i)
{
	const struct policy_named *named = &check->policy->named[i];

	if (!named->list || named->list >= check->policy->next_list)
		return "no such list";
	if (i && (named[-1].list > named->list ||
		  (named[-1].list == named->list && named[-1].resolution >= named->resolution)))
		return "out of order";
	if (!is_resolution(check, named->resolution))
		return "no such resolution";
	if (named->ports.count == BH_PORTS_NAMED || !is_ports(check, named->ports))
		return "no such ports";
	return NULL;
}

static const char *check_by_namespace(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const uint32_t *number = &policy->by_namespace[i];
	int order;

	if (!i)
		return NULL;
	order = strcmp(matcher_namespace(policy, &policy->matchers[number[-1]]),
		       matcher_namespace(policy, &policy->matchers[*number]));
	return order > 0 || (!order && number[-1] >= *number) ? "out of order" : NULL;
}

static const char *check_by_matchers(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const uint32_t *number = &policy->by_matchers[i];
	struct policy_lists lists, before;

	if (!policy_segment_has_members(&policy->segments[*number]))
		return "not a segment of endpoints";
	lists = policy_lists_of(policy, &policy->segments[*number]);
	if (i)
		before = policy_lists_of(policy, &policy->segments[number[-1]]);
	return i && policy_compare_lists(&before, &lists) >= 0 ? "out of order" : NULL;
}

static const char *check_service(struct check *check, size_t i)
{
	const struct policy_service *service = &check->policy->services[i];
	uint32_t known = POLICY_SERVICE_HEADLESS | POLICY_SERVICE_EXTERNAL_NAME;
	int order = -1;

	if (!is_name(check, service->ns) || !is_name(check, service->name))
		return "no name";
	if (i)
		order = order_names(check, service[-1].ns, service->ns);
	if (!order)
		order = order_names(check, service[-1].name, service->name);
	if (order >= 0)
		return "out of order";
	return service->flags & ~known || service->pad ? "unknown flags" : NULL;
}

static bool are_backends(const struct policy *policy, struct policy_range range)
{
	const struct policy_backend *backends = policy->backends + range.at;

	for (uint32_t i = 1; i < range.n; i++) {
		int order = memcmp(&backends[i - 1].address, &backends[i].address,
				   sizeof(backends->address));

		if (order > 0 || (!order && backends[i - 1].port >= backends[i].port))
			return false;
	}
	return true;
}

static const char *check_service_port(struct check *check, size_t i)
{
	const struct policy *policy = check->policy;
	const struct policy_service_port *port = &policy->service_ports[i];
	const struct policy_service *service = &policy->services[port->service];

	if (i < service->ports.at || i - service->ports.at >= service->ports.n)
		return "not its Service's";
	if (port->pad || (port->port ? !protocol_by_number(port->protocol) : port->protocol))
		return "no such port";
	if (!port->port && !(service->flags & POLICY_SERVICE_HEADLESS))
		return "no port";
	return are_backends(policy, port->backends) ? NULL : "no such backends";
}

static const char *check_backend(struct check *check, size_t i)
{
	const struct policy_backend *backend = &check->policy->backends[i];
	uint8_t known = POLICY_BACKEND_READY | POLICY_BACKEND_SERVING | POLICY_BACKEND_TERMINATING;

	if (backend->node && !is_name(check, backend->node))
		return "no such node";
	return backend->flags & ~known || backend->pad ? "unknown flags" : NULL;
}

static int order_frontends(const struct policy_frontend *a, const struct policy_frontend *b)
{
	int order = memcmp(&a->address, &b->address, sizeof(a->address));

	if (!order)
		order = (int)a->protocol - b->protocol;
	if (!order)
		order = (int)a->port - b->port;
	if (!order)
		order = a->service_port < b->service_port ? -1 : a->service_port > b->service_port;
	return order;
}

static const char *check_frontend(struct check *check, size_t i)
{
	const struct policy_frontend *frontend = &check->policy->frontends[i];
	uint8_t known = POLICY_FRONTEND_EXTERNAL | POLICY_FRONTEND_LOCAL | POLICY_FRONTEND_SHARED;

	if (i && order_frontends(&frontend[-1], frontend) >= 0)
		return "out of order";
	if (!frontend->port || !protocol_by_number(frontend->protocol))
		return "no such port";
	return frontend->flags & ~known ? "unknown flags" : NULL;
}

static const char *check_service_cidr(struct check *check, size_t i)
{
	const struct policy_cidr *cidr = &check->policy->service_cidrs[i];

	return is_prefix(&cidr->address, cidr->length) ? NULL : "not a prefix";
}

static const char *check_resolver(struct check *check, size_t i)
{
	return check->policy->resolvers[i].length == 128 ? NULL : "not an address";
}

/* The highest bit of an ID marks another lineage in the maps (maps/blob.h). */
static bool is_next_id(uint32_t id)
{
	return id && id <= BH_IDS_OTHER;
}

static const char *check_scalars(const struct policy *policy)
{
	if (!policy->n_strings || policy->strings[0] || policy->strings[policy->n_strings - 1])
		return "strings do not begin and end in NUL";
	if (!policy->generation)
		return "no generation";
	if (!is_next_id(policy->next_segment) || !is_next_id(policy->next_class) ||
	    !is_next_id(policy->next_rule) || !is_next_id(policy->next_resolution) ||
	    !is_next_id(policy->next_list))
		return "an ID that is next is out of range";
	if (policy->node >= policy->n_strings || policy->uplinks_n > policy->n_texts)
		return "no such node or uplinks";
	if (!policy->n_prefixes)
		return "::/0 is in no segment";
	return NULL;
}

static int measure_runs(struct check *check)
{
	const struct policy *policy = check->policy;

	check->runs = calloc(policy->n_intervals + 1, sizeof(*check->runs));
	if (!check->runs)
		return -ENOMEM;
	for (size_t i = policy->n_intervals; i-- > 0;) {
		bool ascends = i + 1 < policy->n_intervals &&
			       policy->intervals[i].start < policy->intervals[i + 1].start;

		check->runs[i] = ascends ? check->runs[i + 1] + 1 : 1;
	}
	return 0;
}

static const struct {
	const char *name;
	enum blob_table table;
	const char *(*record)(struct check *check, size_t i);
} checks[] = {
#define CHECK(table, function)                       \
	{                                            \
#table, BLOB_TABLE_##table, function \
	}
	CHECK(texts, check_text),
	CHECK(cidrs, check_cidr),
	CHECK(requirements, check_requirement),
	CHECK(clauses, check_clause),
	CHECK(matchers, check_matcher),
	CHECK(namespaces, check_namespace),
	CHECK(nodes, check_node),
	CHECK(rules, check_rule),
	CHECK(audits, check_audit),
	CHECK(given_ports, check_given_port),
	CHECK(given_peers, check_given_peer),
	CHECK(given_rules, check_given_rule),
	CHECK(given, check_given),
	CHECK(isolations, check_isolation),
	CHECK(host_pods, check_host_pod),
	CHECK(expected, check_expected),
	CHECK(intervals, check_interval),
	CHECK(named_ports, check_named_port),
	CHECK(resolutions, check_resolution),
	CHECK(variations, check_variation),
	CHECK(classes, check_class),
	CHECK(lists, check_listed),
	CHECK(segments, check_segment),
	CHECK(endpoints, check_endpoint),
	CHECK(addresses, check_address),
	CHECK(prefixes, check_prefix),
	CHECK(domains, check_domain),
	CHECK(pairs, check_pair),
	CHECK(named, check_named),
	CHECK(by_namespace, check_by_namespace),
	CHECK(by_matchers, check_by_matchers),
	CHECK(services, check_service),
	CHECK(service_ports, check_service_port),
	CHECK(backends, check_backend),
	CHECK(frontends, check_frontend),
	CHECK(service_cidrs, check_service_cidr),
	CHECK(resolvers, check_resolver),
#undef CHECK
};

/* The lists are sorted and have the right length, so they hold every index once. */
static const char *check_counts(const struct check *check)
{
	const struct policy *policy = check->policy;

	if (policy->n_by_namespace != policy->n_matchers)
		return "by_namespace has not every matcher";
	return policy->n_by_matchers == check->with_members
		       ? NULL
		       : "by_matchers has not every segment of endpoints";
}

static const char *check_table(struct check *check, size_t number, size_t *record)
{
	const enum blob_table table = checks[number].table;
	const struct references own = references_of(table);
	const size_t n = table_count(check->policy, table);
	const char *fault = NULL;

	for (size_t i = 0; i < n && !fault; i++) {
		if (references_fit(&own, table_record(check->policy, table, i), check->n))
			fault = checks[number].record(check, i);
		else
			fault = "refers to a record that is not there";
		*record = i;
	}
	return fault;
}

int policy_check(const struct policy *policy, const struct where *where, struct diag *diag)
{
	struct check check = {.policy = policy};
	const char *fault = check_scalars(policy);
	size_t record;
	int error;

	if (fault) {
		diag_error(diag, where, "header", "%s", fault);
		return -EINVAL;
	}
	check.plain = are_plain(policy);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		check.n[table] = table_count(policy, table);
	error = measure_runs(&check);
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !error; i++) {
		char field[48];

		fault = check_table(&check, i, &record);
		if (!fault)
			continue;
		snprintf(field, sizeof(field), "%s[%zu]", checks[i].name, record);
		diag_error(diag, where, field, "%s", fault);
		error = -EINVAL;
	}
	free(check.runs);
	fault = error ? NULL : check_counts(&check);
	if (fault) {
		diag_error(diag, where, "header", "%s", fault);
		error = -EINVAL;
	}
	return error;
}
