// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>
#include <stdarg.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/json_output.h"
#include "policy/isolation.h"

struct emit emit_begin(const struct call *call)
{
	return (struct emit){.json = call->json, .pretty = call->pretty, .to = stdout};
}

void emit_json(struct emit *emit, const char *key, struct json_object *value)
{
	struct json_object *in = emit->n ? emit->open[emit->n - 1] : NULL;

	if (!emit->json)
		json_object_put(value);
	else if (key)
		json_object_object_add(in, key, value);
	else
		json_object_array_add(in, value);
}

static void begin(struct emit *emit, const char *key, struct json_object *value)
{
	assert(emit->n < EMIT_DEPTH);
	if (emit->n)
		emit_json(emit, key, value);
	emit->open[emit->n++] = value;
}

void emit_object(struct emit *emit, const char *key)
{
	if (emit->json)
		begin(emit, key, json_object_new_object());
}

void emit_array(struct emit *emit, const char *key)
{
	if (emit->json)
		begin(emit, key, json_object_new_array());
}

void emit_end(struct emit *emit)
{
	if (emit->json && !--emit->n)
		json_write(emit->to, *emit->open, emit->pretty);
}

void emit_drop(struct emit *emit)
{
	if (emit->n)
		json_object_put(*emit->open);
	emit->n = 0;
}

void emit_text(struct emit *emit, const char *key, const char *text)
{
	if (emit->json)
		emit_json(emit, key, text ? json_object_new_string(text) : NULL);
}

void emit_name(struct emit *emit, const char *key, const char *text)
{
	emit_text(emit, key, *text ? text : NULL);
}

void emit_number(struct emit *emit, const char *key, uint64_t number)
{
	if (emit->json)
		emit_json(emit, key, json_object_new_uint64(number));
}

void emit_bool(struct emit *emit, const char *key, bool value)
{
	if (emit->json)
		emit_json(emit, key, json_object_new_boolean(value));
}

void emit_side(struct emit *emit, const char *key, const char *name, const char *address,
	       const char *node)
{
	emit_object(emit, key);
	emit_text(emit, "name", name);
	emit_text(emit, "address", address);
	if (node)
		emit_text(emit, "node", node);
	emit_end(emit);
}

void emit_seconds(struct emit *emit, int32_t seconds)
{
	emit_number(emit, "seconds", seconds < 0 ? 0 : seconds);
	emit_bool(emit, "over", seconds < 0);
}

void emit_say(struct emit *emit, const char *format, ...)
{
	va_list args;

	if (emit->json)
		return;
	va_start(args, format);
	vfprintf(emit->to, format, args);
	va_end(args);
}

void emit_rule(struct emit *emit, const struct policy *policy, const struct policy_rule *rule)
{
	char text[RULE_NAME_TEXT];

	emit_text(emit, "policy", rule ? policy_string(policy, rule->policy) : NULL);
	emit_text(emit, "rule", rule ? rule_name(policy, rule, text) : NULL);
}

/* Adds the policies that isolate. */
static void emit_isolations(struct emit *emit, const struct policy *policy,
			    const struct decision *decision)
{
	emit_array(emit, "isolated_by");
	for (size_t i = 0; i < policy->n_isolations; i++) {
		const struct policy_isolation *isolation = &policy->isolations[i];

		if (isolation_holds(policy, isolation, decision->isolated, decision->direction))
			emit_text(emit, NULL, policy_string(policy, isolation->policy));
	}
	emit_end(emit);
}

/* Adds what audited policies would decide: the rule, or the policies that would isolate. */
static void emit_audit(struct emit *emit, const struct policy *policy,
		       const struct decision *decision)
{
	const struct policy_range names = decision->audit->policies;

	emit_object(emit, "audit");
	emit_text(emit, "verdict", "deny");
	emit_text(emit, "tier", tier_name(decision->audit_tier));
	emit_rule(emit, policy, policy_rule_by_id(policy, decision->audit->denies));
	emit_array(emit, "policies");
	for (uint32_t i = 0; i < names.n; i++)
		emit_text(emit, NULL, policy_string(policy, policy->texts[names.at + i]));
	emit_end(emit);
	emit_end(emit);
}

void emit_decision(struct emit *emit, const char *key, const struct policy *policy,
		   const struct decision *decision)
{
	if (!emit->json)
		return;
	if (!decision->subject) {
		emit_text(emit, key, NULL);
		return;
	}
	emit_object(emit, key);
	emit_text(emit, "verdict", verdict_name(decision->allow));
	emit_text(emit, "tier", tier_name(decision->tier));
	emit_rule(emit, policy, decision->rule);
	if (decision->isolated)
		emit_isolations(emit, policy, decision);
	if (decision->own_node)
		emit_bool(emit, "own_node", true);
	if (decision->name)
		emit_text(emit, "domain_name", decision->name);
	if (decision->audit)
		emit_audit(emit, policy, decision);
	emit_end(emit);
}
