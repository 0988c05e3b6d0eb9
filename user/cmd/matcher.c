// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/json_output.h"
#include "cmd/matcher.h"

static void text_requirement(struct text *text, const struct policy *policy,
			     const struct policy_requirement *requirement)
{
	static const char *const formats[] = {
		[SELECTOR_IN] = " in (",
		[SELECTOR_NOT_IN] = " notin (",
	};
	const uint32_t *values = &policy->texts[requirement->values.at];

	if (requirement->op == SELECTOR_DOES_NOT_EXIST)
		text_add(text, "!");
	text_add(text, policy_string(policy, requirement->key));
	if (requirement->op == SELECTOR_IN && requirement->values.n == 1) {
		text_add(text, "=");
		text_add(text, policy_string(policy, values[0]));
	} else if (requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN) {
		text_add(text, formats[requirement->op]);
		for (uint32_t i = 0; i < requirement->values.n; i++) {
			text_add(text, i ? ", " : "");
			text_add(text, policy_string(policy, values[i]));
		}
		text_add(text, ")");
	}
}

static void text_selector(struct text *text, const struct policy *policy, struct policy_range range)
{
	for (uint32_t i = 0; i < range.n; i++) {
		text_add(text, i ? "," : "");
		text_requirement(text, policy, &policy->requirements[range.at + i]);
	}
}

void prefix_print(struct text *text, const struct address *address, uint32_t length)
{
	const struct cidr cidr = {*address, length};
	char printed[ADDRESS_TEXT];

	text_add(text, cidr_print(&cidr, printed));
}

/* Adds a clause as INI writes a peer: endpoints(role=db in namespaces(...)), cidr(10.0.0.0/8
 * except ...), names(*.example.com). */
static void text_clause(struct text *text, const struct policy *policy,
			const struct policy_clause *clause)
{
	if (clause->kind == CLAUSE_ADDRESSES) {
		text_add(text, "cidr(");
		prefix_print(text, &clause->address, clause->length);
		for (uint32_t i = 0; i < clause->except.n; i++) {
			const struct policy_cidr *cidr = &policy->cidrs[clause->except.at + i];

			text_add(text, i ? ", " : " except ");
			prefix_print(text, &cidr->address, cidr->length);
		}
	} else if (clause->kind == CLAUSE_DOMAIN) {
		text_add(text, "names(");
		text_add(text, policy_string(policy, clause->ns));
	} else {
		text_add(text, "endpoints(");
		text_selector(text, policy, clause->pods);
		text_add(text, clause->pods.n ? " in " : "in ");
		if (clause->ns) {
			text_add(text, policy_string(policy, clause->ns));
		} else {
			text_add(text, "namespaces(");
			text_selector(text, policy, clause->namespaces);
			text_add(text, ")");
		}
	}
	text_add(text, ")");
}

void matcher_print(struct text *text, const struct policy *policy, uint32_t index)
{
	struct policy_range clauses = policy->matchers[index].clauses;

	text_clear(text);
	for (uint32_t i = 0; i < clauses.n; i++) {
		text_add(text, i ? " or " : "");
		text_clause(text, policy, &policy->clauses[clauses.at + i]);
	}
	if (!clauses.n)
		text_add(text, "nothing");
}

struct json_object *matchers_json(const struct policy *policy, struct policy_range range,
				  struct text *text)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < range.n; i++) {
		matcher_print(text, policy, policy->numbers[range.at + i]);
		json_append_text(array, text->buffer->buf);
	}
	return array;
}
