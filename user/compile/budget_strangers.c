// SPDX-License-Identifier: GPL-2.0-only
#include "compile/budget_strangers.h"

#include <stdlib.h>
#include <string.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define MUCH 4 /* strangers have brought one part in so many: they are left out */
#define LITTLE 8 /* less is left to others */

void strangers_free(struct strangers *strangers)
{
	intern_free(&strangers->keys);
	array_free(&strangers->all);
	*strangers = (struct strangers){0};
}

void strangers_note(struct strangers *strangers, uint32_t account, uint32_t own, enum budget budget,
		    uint64_t n)
{
	for (size_t i = 0; i < strangers->n_now; i++)
		if (strangers->now[i] == own)
			return;
	for (size_t i = 0; i < strangers->n_now; i++) {
		const uint32_t key[2] = {account, strangers->now[i]};
		bool fresh;
		const uint32_t number = intern_add(&strangers->keys, key, sizeof(key), &fresh);

		if (fresh)
			array_push(&strangers->all,
				   ((struct stranger){.account = account, .ns = key[1]}));
		strangers->all.at[number].spent[budget] += n;
	}
}

static bool has(const numbers_t *numbers, uint32_t number)
{
	for (size_t i = 0; i < numbers->n; i++)
		if (numbers->at[i] == number)
			return true;
	return false;
}

/* A namespace, and how much it has brought. */
struct stranger_part {
	uint32_t ns;
	uint64_t spent;
};

/* The largest first. */
static int compare_parts(const void *a, const void *b)
{
	const struct stranger_part *x = a, *y = b;

	if (x->spent != y->spent)
		return x->spent > y->spent ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

bool strangers_leave_out(const struct strangers *strangers, uint32_t account, enum budget budget,
			 uint64_t spent, numbers_t *left_out)
{
	ARRAY(struct stranger_part) parts = {0};
	uint64_t left = 0;
	bool much;

	for (size_t i = 0; i < strangers->all.n; i++) {
		const struct stranger *stranger = &strangers->all.at[i];

		if (stranger->account != account || has(left_out, stranger->ns))
			continue;
		array_push(&parts, ((struct stranger_part){stranger->ns, stranger->spent[budget]}));
		left += stranger->spent[budget];
	}
	array_sort(&parts, compare_parts);
	much = left && left * MUCH >= spent;
	for (size_t i = 0; much && i < parts.n && left * LITTLE >= spent; i++) {
		array_push(left_out, parts.at[i].ns);
		left -= parts.at[i].spent;
	}
	array_free(&parts);
	return much;
}

/* Adds to a selector of namespaces that their names are none of these. */
static void narrow(struct selector *selector, const char *const *namespaces, size_t n,
		   struct obstack *memory)
{
	struct requirement *at = obstack_alloc(memory, (selector->n + 1) * sizeof(*at));

	if (selector->n)
		memcpy(at, selector->at, selector->n * sizeof(*at));
	at[selector->n] = (struct requirement){
		.key = NAME_LABEL,
		.op = SELECTOR_NOT_IN,
		.values = obstack_copy(memory, namespaces, n * sizeof(*namespaces)),
		.n_values = n};
	selector->at = at;
	selector->n++;
	selector_sort(selector);
}

static void rewrite_rule(struct rule *rule, const char *const *namespaces, size_t n,
			 struct obstack *memory)
{
	struct peer *peers;

	if (rule->any_peer || !rule->n_peers)
		return;
	peers = obstack_copy(memory, rule->peers, rule->n_peers * sizeof(*peers));
	for (size_t i = 0; i < rule->n_peers; i++)
		if (peers[i].scope == PEER_NAMESPACES)
			narrow(&peers[i].namespaces, namespaces, n, memory);
	rule->peers = peers;
}

void strangers_rewrite(struct policy_object *policy, const char *const *namespaces, size_t n,
		       struct obstack *memory)
{
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		const size_t n_rules = policy->n_rules[direction];
		struct rule *rules = obstack_alloc(memory, (n_rules + 1) * sizeof(*rules));

		for (size_t i = 0; i < n_rules; i++) {
			rules[i] = policy->rules[direction][i];
			rewrite_rule(&rules[i], namespaces, n, memory);
		}
		if (n_rules)
			policy->rules[direction] = rules;
	}
}
