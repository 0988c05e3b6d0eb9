/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "cmd/json_output.h"
#include "policy/isolation.h"

void json_add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

void json_add_text(struct json_object *object, const char *key, const char *text)
{
	json_add(object, key, text ? json_object_new_string(text) : NULL);
}

void json_add_number(struct json_object *object, const char *key, uint64_t number)
{
	json_add(object, key, json_object_new_uint64(number));
}

void json_add_bool(struct json_object *object, const char *key, bool value)
{
	json_add(object, key, json_object_new_boolean(value));
}

void json_append_text(struct json_object *array, const char *text)
{
	json_object_array_add(array, json_object_new_string(text));
}

void json_append_visit(void *array, const char *text)
{
	json_append_text(array, text);
}

const char *json_get_text(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

void json_add_rule(struct json_object *object, const struct policy *policy,
		   const struct policy_rule *rule)
{
	char text[RULE_NAME_TEXT];

	json_add_text(object, "policy", rule ? policy_string(policy, rule->policy) : NULL);
	json_add_text(object, "rule", rule ? rule_name(policy, rule, text) : NULL);
}

static struct json_object *json_isolation(const struct policy *policy,
					  const struct decision *decision)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < policy->n_isolations; i++) {
		const struct policy_isolation *isolation = &policy->isolations[i];

		if (isolation_holds(policy, isolation, decision->isolated, decision->direction))
			json_append_text(array, policy_string(policy, isolation->policy));
	}
	return array;
}

/* Returns what audited policies would decide: the rule, or the policies that would isolate. */
static struct json_object *json_audit(const struct policy *policy, const struct decision *decision)
{
	const struct policy_range names = decision->audit->policies;
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	const struct policy_rule *rule = policy_rule_by_id(policy, decision->audit->denies);

	json_add_text(object, "verdict", "deny");
	json_add_text(object, "tier", tier_name(decision->audit_tier));
	json_add_rule(object, policy, rule);
	for (uint32_t i = 0; i < names.n; i++)
		json_append_text(array, policy_string(policy, policy->texts[names.at + i]));
	json_add(object, "policies", array);
	return object;
}

void json_add_decision(struct json_object *object, const char *key, const struct policy *policy,
		       const struct decision *decision)
{
	struct json_object *value = decision->subject ? json_object_new_object() : NULL;

	if (value) {
		json_add_text(value, "verdict", decision->allow ? "allow" : "deny");
		json_add_text(value, "tier", tier_name(decision->tier));
		json_add_rule(value, policy, decision->rule);
		if (decision->isolated)
			json_add(value, "isolated_by", json_isolation(policy, decision));
		if (decision->own_node)
			json_add_bool(value, "own_node", true);
		if (decision->name)
			json_add_text(value, "domain_name", decision->name);
		if (decision->audit)
			json_add(value, "audit", json_audit(policy, decision));
	}
	json_add(object, key, value);
}

void json_print(struct json_object *root, bool pretty)
{
	json_write(stdout, root, pretty);
}

void json_write(FILE *to, struct json_object *root, bool pretty)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |=
		pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN;
	fprintf(to, "%s\n", json_object_to_json_string_ext(root, flags));
	json_object_put(root);
}
