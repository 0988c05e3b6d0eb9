// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies that are only audited. Each port list is made of two views of the policies: without
 * them, which decides, and with them. If the second denies, and an audited policy is the cause, the
 * verdict word has an audit record (maps/types.h, struct policy_audit).
 */
#include <string.h>

#include "compile/tables.h"

uint32_t isolation_of(struct compiler *c, bool isolated, numbers_t *audited)
{
	uint32_t set = 0;

	numbers_sort(audited);
	if (audited->n)
		set = 1 +
		      intern_add(&c->sets, audited->at, audited->n * sizeof(*audited->at), NULL);
	return set << 1 | isolated;
}

/* Appends the names of a set of policies, each with its NUL. */
static void put_names(struct compiler *c, bytes_t *bytes, uint32_t set)
{
	size_t n;
	const uint32_t *policies = intern_set(&c->sets, set, &n);

	for (size_t i = 0; i < n; i++)
		policy_name_put(bytes, &c->cluster->policies[policies[i]]);
}

void isolation_put(struct compiler *c, bytes_t *bytes, uint32_t isolation)
{
	if (!isolation_audited(isolation))
		return;
	bytes_string(bytes, "audited");
	put_names(c, bytes, (isolation >> 1) - 1);
}

/* Returns the ID of the audit record. */
static uint32_t add_audit(struct compiler *c, const struct audit *audit)
{
	const uint32_t identity[] = {audit->decides, audit->denies, audit->policies};
	struct audit *added;
	bytes_t names = {0};
	uint32_t number;
	bool fresh;

	number = intern_add(&c->audit_bytes, identity, sizeof(identity), &fresh);
	if (!fresh)
		return c->audits.at[number].id;
	put_names(c, &names, audit->policies);
	added = array_add(&c->audits);
	*added = *audit;
	added->id = lineage_audit(c->lineage, audit, &names);
	array_free(&names);
	return added->id;
}

uint32_t audit_verdict(struct compiler *c, uint32_t isolation, uint32_t verdict, uint32_t would,
		       uint32_t rule)
{
	struct audit audit = {.decides = verdict};

	if (bh_verdict_allow(would))
		return verdict;
	if (rule != UINT32_MAX) {
		const struct policy_object *policy = c->rules.at[rule].policy;
		const uint32_t index = policy - c->cluster->policies;

		if (!policy->audit)
			return verdict;
		audit.denies = c->rules.at[rule].id;
		audit.policies = intern_add(&c->sets, &index, sizeof(index), NULL);
	} else if (isolation_audited(isolation)) {
		audit.policies = (isolation >> 1) - 1;
	} else {
		return verdict;
	}
	return bh_verdict_audited(verdict, bh_verdict_tier(would), add_audit(c, &audit));
}

static int compare_audits(const void *a, const void *b)
{
	const struct policy_audit *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_audit(struct tables *t, const struct audit *audit)
{
	struct policy_audit record = {.id = audit->id,
				      .decides = audit->decides,
				      .denies = audit->denies,
				      .policies = {.at = t->policy->n_texts}};
	bytes_t names = {0};

	put_names(t->c, &names, audit->policies);
	for (size_t at = 0; at < names.n; at += strlen((const char *)names.at + at) + 1) {
		table_push(t, texts, tables_string(t, (const char *)names.at + at));
		record.policies.n++;
	}
	table_push(t, audits, record);
	array_free(&names);
}

void audits_put(struct tables *t)
{
	for (size_t i = 0; i < t->c->audits.n; i++)
		if (!t->begun || !policy_audit_by_id(t->begun, t->c->audits.at[i].id))
			put_audit(t, &t->c->audits.at[i]);
	table_sort(t, audits, compare_audits);
}
