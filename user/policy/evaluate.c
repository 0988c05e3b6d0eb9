/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds verdicts in a compiled policy by the steps of maps/segment.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/evaluate.h"
#include "maps/segment.h"

static bool policy_resolve(const void *places, const struct address *address,
			   struct policy_segment *segment, uint32_t *variation)
{
	const struct policy *policy = places;
	const struct policy_address *found = policy_address_find(policy, address);

	if (found && found->segment == POLICY_NOWHERE)
		return false;
	if (found) {
		*segment = policy->segments[found->segment];
		*variation = found->variation;
	} else {
		*segment = *policy_prefix_find(policy, address);
		*variation = 0;
	}
	return true;
}

int evaluate_compare_pairs(const void *a, const void *b)
{
	const struct policy_pair *x = a, *y = b;

	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

static bool policy_pair(const void *data, uint32_t subject, uint32_t peer,
			struct bh_ports_ref *ports)
{
	const struct policy *policy = data;
	struct policy_pair key = {.subject = subject, .peer = peer};
	const struct policy_pair *pair = policy_search(&key, policy->pairs, policy->n_pairs,
						       sizeof(key), evaluate_compare_pairs);

	if (!pair)
		return false;
	*ports = pair->ports;
	return true;
}

static int policy_pairs(const void *data, struct policy_pair **pairs, size_t *n)
{
	const struct policy *policy = data;

	*pairs = reallocarray(NULL, policy->n_pairs + 1, sizeof(**pairs));
	if (!*pairs)
		return -ENOMEM;
	if (policy->n_pairs)
		memcpy(*pairs, policy->pairs, policy->n_pairs * sizeof(**pairs));
	*n = policy->n_pairs;
	return 0;
}

static uint32_t policy_resolution(const void *data, uint32_t segment, uint32_t variation)
{
	const struct policy *policy = data;
	const struct policy_segment *found = policy_segment_by_id(policy, segment);

	for (uint32_t i = 0; found && i < found->variations.n; i++) {
		const struct policy_variation *entry =
			&policy->variations[found->variations.at + i];

		if (entry->id == variation)
			return entry->resolution;
	}
	return 0;
}

static int compare_named(const void *key, const void *record)
{
	const struct policy_named *wanted = key, *named = record;

	if (wanted->list != named->list)
		return wanted->list < named->list ? -1 : 1;
	return wanted->resolution < named->resolution ? -1 : wanted->resolution > named->resolution;
}

static bool policy_named(const void *data, uint32_t list, uint32_t resolution,
			 struct bh_ports_ref *ports)
{
	const struct policy *policy = data;
	struct policy_named key = {.list = list, .resolution = resolution};
	const struct policy_named *named =
		policy_search(&key, policy->named, policy->n_named, sizeof(key), compare_named);

	if (!named)
		return false;
	*ports = named->ports;
	return true;
}

static bool policy_domain(const void *data, const char *name, const struct policy_segment *subject,
			  struct policy_segment *segment)
{
	const struct policy_segment *found = policy_by_domain(data, name, subject);

	*segment = *found;
	return found != subject;
}

static struct bh_interval policy_interval(const void *data, uint32_t at)
{
	const struct policy *policy = data;

	return policy->intervals[at];
}

struct evaluate_source evaluate_policy(const struct policy *policy)
{
	return (struct evaluate_source){
		.places = policy,
		.data = policy,
		.resolve = policy_resolve,
		.pair = policy_pair,
		.pairs = policy_pairs,
		.resolution = policy_resolution,
		.named = policy_named,
		.domain = policy_domain,
		.interval = policy_interval,
	};
}

struct evaluated_end evaluate_address(const struct evaluate_source *source,
				      const struct address *address)
{
	struct evaluated_end end = {0};

	end.known = source->resolve(source->places, address, &end.segment, &end.variation);
	return end;
}

bool evaluated_end_is_external(const struct evaluated_end *end)
{
	return end->known && end->segment.flags & BH_SEGMENT_EXTERNAL;
}

uint32_t evaluate_resolution(const struct evaluate_source *source, const struct evaluated_end *end)
{
	return end->variation ? source->resolution(source->data, end->segment.id, end->variation)
			      : 0;
}

bool evaluate_ports(const struct evaluate_source *source, const struct policy_segment *subject,
		    const struct policy_segment *peer, enum direction direction,
		    struct bh_ports_ref *ports)
{
	if (!(subject->flags & BH_SEGMENT_POLICY(direction)))
		return false;
	if (subject->own[direction] &&
	    source->pair(source->data, subject->own[direction], peer->peer_own, ports))
		return true;
	if (subject->common[direction] &&
	    source->pair(source->data, subject->common[direction], peer->peer_common, ports))
		return true;
	*ports = subject->fallback[direction][!!(peer->flags & BH_SEGMENT_EXTERNAL)];
	return true;
}

/* Returns the verdict of the interval that has @point. */
static uint32_t search(const struct evaluate_source *source, struct bh_ports_ref ports,
		       uint32_t point)
{
	uint32_t low = 0, high = ports.count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (source->interval(source->data, ports.at + middle).start <= point)
			low = middle;
		else
			high = middle;
	}
	return source->interval(source->data, ports.at + low).verdict;
}

uint32_t evaluate_list(const struct evaluate_source *source, struct bh_ports_ref ports,
		       uint32_t resolution, uint32_t point)
{
	if (ports.count == BH_PORTS_NAMED &&
	    !source->named(source->data, ports.at, resolution, &ports))
		return bh_verdict(false, BH_TIER_DEFAULT, 0);
	return ports.count ? search(source, ports, point) : ports.at;
}

static uint32_t evaluate_end(const struct evaluate_source *source,
			     const struct evaluated_end *subject, const struct evaluated_end *peer,
			     const struct evaluated_end *destination, enum direction direction,
			     uint32_t point)
{
	const uint32_t deny = bh_verdict(false, BH_TIER_DEFAULT, 0);
	struct bh_ports_ref ports;
	uint32_t resolution = 0;

	if (!subject->known)
		return deny;
	if (!peer->known)
		return subject->segment.flags & BH_SEGMENT_AUDITED(direction)
			       ? bh_verdict(true, BH_TIER_DEFAULT, 0)
			       : deny;
	if (!evaluate_ports(source, &subject->segment, &peer->segment, direction, &ports))
		return bh_verdict(true, BH_TIER_DEFAULT, 0);
	if (ports.count == BH_PORTS_NAMED)
		resolution = evaluate_resolution(source, destination);
	return evaluate_list(source, ports, resolution, point);
}

struct decision decision_of(const struct policy *names, uint32_t verdict)
{
	const struct policy_audit *audit = policy_audit_of(names, verdict);

	return (struct decision){
		.subject = true,
		.allow = bh_verdict_allow(verdict),
		.tier = (enum tier)bh_verdict_tier(verdict),
		.rule = policy_rule_of(names, verdict),
		.audit = audit,
		.audit_tier = audit ? (enum tier)(bh_verdict_audit(verdict) - 1) : TIER_DEFAULT,
	};
}

static const struct decision allow_default = {.subject = true, .allow = true, .tier = TIER_DEFAULT};
static const struct decision allow_own_node = {
	.subject = true, .allow = true, .tier = TIER_DEFAULT, .own_node = true};

/* Returns what becomes of a decision if the other end is the subject's own node. Only Admin and
 * Baseline rules, audited ones too, deny that. */
static struct decision towards_local_node(const struct decision *egress)
{
	struct decision decision =
		egress->allow || egress->tier == TIER_NETWORK_POLICY ? allow_own_node : *egress;

	decision.audit = egress->audit_tier == TIER_NETWORK_POLICY ? NULL : egress->audit;
	decision.audit_tier = egress->audit_tier;
	return decision;
}

/* Returns true if @address is one of the node that @endpoint is on. */
static bool is_local_node(const struct policy *policy, const struct policy_address *endpoint,
			  const struct address *address)
{
	uint32_t name = endpoint ? policy->endpoints[endpoint->endpoint].node : 0;
	const struct policy_node *node = NULL;

	if (name)
		node = policy_node_by_name(policy, policy_string(policy, name));
	for (uint32_t i = 0; node && i < node->addresses.n; i++)
		if (!memcmp(&policy->node_addresses[node->addresses.at + i], address,
			    sizeof(*address)))
			return true;
	return false;
}

void decision_blame(struct decision *decision, const struct policy *names, uint32_t segment,
		    enum direction direction)
{
	if (!names || !decision->subject || decision->allow || decision->rule ||
	    decision->tier != TIER_NETWORK_POLICY)
		return;
	decision->isolated = policy_segment_by_id(names, segment);
	decision->direction = direction;
}

/* Returns the decision by the flow's domain name, or @egress if the name allows nothing more. */
static struct decision by_name(const struct evaluate_source *source, const struct policy *names,
			       const struct flow *flow, const struct evaluated_end *subject,
			       const struct evaluated_end *peer, const struct decision *egress)
{
	struct evaluated_end as = {.known = true};
	struct decision decision;

	if ((egress->allow && !egress->audit) || !flow->name || !subject->known || !peer->known ||
	    !source->domain(source->data, flow->name, &subject->segment, &as.segment))
		return *egress;
	decision = decision_of(names, evaluate_end(source, &as, peer, peer, EGRESS,
						   bh_point(flow->protocol, flow->port)));
	decision.name = flow->name;
	return decision.allow ? decision : *egress;
}

bool evaluate_flow(const struct evaluate_source *source, const struct policy *names,
		   const struct flow *flow, struct decision *egress, struct decision *ingress)
{
	const struct policy_address *from = policy_address_find(names, &flow->source);
	const struct policy_address *to = policy_address_find(names, &flow->destination);
	uint32_t point = bh_point(flow->protocol, flow->port);
	const struct evaluated_end a = evaluate_address(source, &flow->source);
	const struct evaluated_end b = evaluate_address(source, &flow->destination);

	*egress = *ingress = (struct decision){.allow = true, .tier = TIER_DEFAULT};
	if (!memcmp(&flow->source, &flow->destination, sizeof(flow->source)) ||
	    (from && to && from->endpoint == to->endpoint)) {
		if (!evaluated_end_is_external(&a))
			*egress = *ingress = allow_default;
		return true;
	}
	if (!evaluated_end_is_external(&a)) {
		*egress = decision_of(names, evaluate_end(source, &a, &b, &b, EGRESS, point));
		if (is_local_node(names, from, &flow->destination))
			*egress = towards_local_node(egress);
		*egress = by_name(source, names, flow, &a, &b, egress);
		decision_blame(egress, names, a.segment.id, EGRESS);
	}
	if (!evaluated_end_is_external(&b)) {
		*ingress = decision_of(names, evaluate_end(source, &b, &a, &b, INGRESS, point));
		if (is_local_node(names, to, &flow->source))
			*ingress = allow_own_node;
		decision_blame(ingress, names, b.segment.id, INGRESS);
	}
	return egress->allow && ingress->allow;
}

static const char *const tier_names[] = {
	[TIER_ADMIN] = "admin",
	[TIER_NETWORK_POLICY] = "network-policy",
	[TIER_BASELINE] = "baseline",
	[TIER_DEFAULT] = "default",
};

const char *tier_name(enum tier tier)
{
	return tier_names[tier];
}

const char *direction_name(enum direction direction)
{
	return direction == INGRESS ? "ingress" : "egress";
}

const char *action_name(enum action action)
{
	static const char *const names[] = {
		[ACTION_ALLOW] = "allow",
		[ACTION_DENY] = "deny",
		[ACTION_PASS] = "pass",
	};

	return names[action];
}

const char *verdict_name(bool allow)
{
	return action_name(allow ? ACTION_ALLOW : ACTION_DENY);
}

/* Text that is cut at the end of its buffer. */
struct evaluated_text {
	char *at, *end;
};

static void __attribute__((format(printf, 2, 3)))
append(struct evaluated_text *text, const char *format, ...)
{
	size_t capacity = text->end - text->at;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at, capacity, format, args);
	va_end(args);
	if (n > 0)
		text->at += (size_t)n < capacity ? (size_t)n : capacity - 1;
}

static void append_escaped(struct evaluated_text *text, const char *string)
{
	for (; *string; string++) {
		unsigned char c = *string;

		if (c == '\t')
			append(text, "\\t");
		else if (c == '\n')
			append(text, "\\n");
		else if (c == '\\')
			append(text, "\\\\");
		else if (c < ' ' || c == 0x7f)
			append(text, "\\x%02x", c);
		else if (c == 0xc2 && (unsigned char)string[1] - 0x80u < 0x20)
			append(text, "\\xc2\\x%02x", (unsigned char)*++string);
		else
			append(text, "%c", c);
	}
}

char *name_print(const char *name, char *text, size_t size)
{
	struct evaluated_text out = {text, text + size};

	*text = '\0';
	append_escaped(&out, name);
	return text;
}

const char *rule_label(const char *name, enum direction direction, uint32_t index,
		       char text[RULE_NAME_TEXT])
{
	if (name)
		return name;
	snprintf(text, RULE_NAME_TEXT, "%s[%u]", direction_name(direction), index);
	return text;
}

const char *rule_name(const struct policy *names, const struct policy_rule *rule,
		      char text[RULE_NAME_TEXT])
{
	return rule_label(rule->name ? policy_string(names, rule->name) : NULL, rule->direction,
			  rule->index, text);
}

static void append_rule(struct evaluated_text *text, const struct policy *names,
			const struct policy_rule *rule)
{
	char name[RULE_NAME_TEXT];

	append_escaped(text, policy_string(names, rule->policy));
	append(text, "/");
	append_escaped(text, rule_name(names, rule, name));
}

/* Appends the audited rule that would deny, or the names of the policies that would isolate. */
static void append_audit(struct evaluated_text *text, const struct policy *names,
			 const struct policy_audit *audit)
{
	const struct policy_rule *rule = policy_rule_by_id(names, audit->denies);

	if (rule) {
		append_rule(text, names, rule);
		return;
	}
	for (uint32_t i = 0; i < audit->policies.n; i++) {
		append(text, "%s", i ? ", " : "");
		append_escaped(text, policy_string(names, names->texts[audit->policies.at + i]));
	}
}

char *rule_print(const struct policy *names, const struct policy_rule *rule, char *text,
		 size_t size)
{
	struct evaluated_text out = {text, text + size};

	append_rule(&out, names, rule);
	return text;
}

char *decision_print(const struct policy *names, const struct decision *decision, char *text,
		     size_t size)
{
	struct evaluated_text out = {text, text + size};

	if (!decision->subject) {
		append(&out, "-");
		return text;
	}
	append(&out, "%s %s", verdict_name(decision->allow), tier_name(decision->tier));
	if (decision->rule) {
		append(&out, " ");
		append_rule(&out, names, decision->rule);
	}
	if (decision->audit) {
		append(&out, " (audit: deny %s ", tier_name(decision->audit_tier));
		append_audit(&out, names, decision->audit);
		append(&out, ")");
	}
	return text;
}

char *audit_print(const struct policy *names, const struct policy_audit *audit, char *text,
		  size_t size)
{
	struct evaluated_text out = {text, text + size};

	*text = '\0';
	append_audit(&out, names, audit);
	return text;
}
