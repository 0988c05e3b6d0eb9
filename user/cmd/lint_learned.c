// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/domain_names.h"
#include "cmd/lint_learned.h"
#include "policy/evaluate.h"

struct learned_work {
	const struct cluster *cluster;
	struct domain_names names; /* of the active policy */
	struct lint_findings *findings;
};

/* A rule that has a domain name. */
struct place {
	const struct policy_object *object;
	const struct rule *rule;
};

static bool has_name(const struct rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		for (size_t k = 0;
		     rule->peers[i].scope == PEER_DOMAINS && k < rule->peers[i].n_keys; k++)
			if (!strcmp(rule->peers[i].keys[k], name))
				return true;
	return false;
}

/* Returns the first rule that has the name; NULLs: the inputs have none. */
static struct place find_rule(const struct cluster *cluster, const char *name)
{
	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *object = &cluster->policies[i];

		for (size_t k = 0; k < object->n_rules[EGRESS]; k++)
			if (has_name(&object->rules[EGRESS][k], name))
				return (struct place){object, &object->rules[EGRESS][k]};
	}
	return (struct place){0};
}

/* Takes over @text. */
static int add(struct learned_work *work, const struct place *place, char *text)
{
	struct lint_finding finding = {
		.check = "shared-address", .where = place->rule->where, .text = text};
	char label[RULE_NAME_TEXT];

	for (size_t i = 0; i < work->findings->n; i++)
		if (!strcmp(work->findings->at[i].text, text)) {
			free(text);
			return 0;
		}
	if (asprintf(&finding.object, "%s/%s", place->object->name,
		     rule_label(place->rule->name, EGRESS, place->rule->index, label)) < 0) {
		free(text);
		return -ENOMEM;
	}
	array_push(work->findings, finding);
	return 0;
}

/* One question's name may match both. */
static bool may_be_one(const char *a, const char *b)
{
	return policy_domain_matches(a, b) || policy_domain_matches(b, a);
}

static int compare(struct learned_work *work, const struct bh_learned_key *key, const char *a,
		   const char *b)
{
	const struct place place = find_rule(work->cluster, a);
	char address[ADDRESS_TEXT], *text;

	if (!place.rule || may_be_one(a, b) || !find_rule(work->cluster, b).rule)
		return 0;
	if (asprintf(&text,
		     "%s and %s are both the address %s to a pod of this node: who may call one "
		     "may call the other there",
		     a, b, address_print((const struct address *)&key->addr, address)) < 0)
		return -ENOMEM;
	return add(work, &place, text);
}

static int look_at(void *data, const void *key, const void *value)
{
	struct learned_work *work = data;
	const struct bh_learned *learned = value;
	const char *names[BH_LEARNED_NAMES] = {};
	size_t n = 0;
	int error = 0;

	for (int i = 0; i < BH_LEARNED_NAMES; i++) {
		const char *text = domain_names_find(&work->names, learned->domain[i]);
		size_t at = n;

		if (!text)
			continue;
		/* by name, so that each two are reported once */
		for (; at && strcmp(names[at - 1], text) > 0; at--)
			names[at] = names[at - 1];
		names[at] = text;
		n++;
	}
	for (size_t i = 0; i < n && !error; i++)
		for (size_t k = i + 1; k < n && !error; k++)
			error = compare(work, key, names[i], names[k]);
	return error;
}

int lint_learned(const struct cluster *cluster, const char *pin, struct lint_findings *findings)
{
	struct learned_work work = {.cluster = cluster, .findings = findings};
	struct diag diag = command_diag();
	struct live *live;
	int error = live_open(pin, &diag, &live);

	if (error)
		return status_of(error);
	if (!live) {
		command_inactive(pin, "load a policy first, or leave --learned out");
		return STATUS_INPUT;
	}
	error = domain_names_read(&work.names, live, live_policy(live));
	if (!error)
		error = live_each(live, "learned", look_at, &work);
	if (error)
		command_error("cannot read what endpoints have learned: %s", strerror(-error));
	domain_names_free(&work.names);
	live_close(live);
	return status_of(error);
}
