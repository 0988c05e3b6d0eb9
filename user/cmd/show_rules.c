/* SPDX-License-Identifier: GPL-2.0-only */
/* `show rules`, with how often each rule and isolation decided, and `show generation`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/screen.h"
#include "cmd/show.h"
#include "policy/isolation.h"
#include "policy/verdicts.h"
#include "maps/endpoint.h"
#include "maps/rule_hit.h"
#include "maps/tally.h"

/* How often each rule decided, and how often each policy's isolation denied. */
struct rule_hits {
	uint64_t *counts; /* by rule ID, summed over the CPUs */
	size_t n;
	uint64_t *isolated; /* by index of the policy's isolations */
};

static int add_hits(void *data, const void *key, const void *value)
{
	const struct bh_rule_hit *hit = value;
	struct rule_hits *hits = data;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	for (int cpu = 0; id < hits->n && cpu < live_cpus(); cpu++)
		hits->counts[id] += hit[cpu].count;
	return 0;
}

/* Counts what was counted for an audit record: for the verdict without the audited policies, and
 * for the rule that would deny. */
static void count_audits(const struct policy *policy, struct rule_hits *hits)
{
	for (size_t i = 0; i < policy->n_audits; i++) {
		const struct policy_audit *audit = &policy->audits[i];
		const uint32_t rule = bh_verdict_rule(audit->decides);
		const uint64_t count = audit->id < hits->n ? hits->counts[audit->id] : 0;

		if (rule || !bh_verdict_allow(audit->decides))
			hits->counts[rule] += count;
		if (audit->denies)
			hits->counts[audit->denies] += count;
	}
}

/* Returns how often the isolation of an audited policy would have denied. */
static uint64_t count_audited(const struct policy *policy, const char *name,
			      const struct rule_hits *hits)
{
	uint64_t count = 0;

	for (size_t i = 0; i < policy->n_audits; i++) {
		const struct policy_audit *audit = &policy->audits[i];

		for (uint32_t k = 0; k < audit->policies.n; k++)
			if (!audit->denies && audit->id < hits->n &&
			    !strcmp(policy_string(policy, policy->texts[audit->policies.at + k]),
				    name))
				count += hits->counts[audit->id];
	}
	return count;
}

static void count_audited_isolations(const struct policy *policy, struct rule_hits *hits)
{
	for (size_t i = 0; i < policy->n_isolations; i++)
		if (policy->isolations[i].flags & POLICY_AUDIT)
			hits->isolated[i] = count_audited(
				policy, policy_string(policy, policy->isolations[i].policy), hits);
}

/* How often each interface's endpoint was denied because no rule allowed the packet. */
struct denied {
	uint32_t ifindex;
	uint64_t count[2]; /* packets by direction */
};

struct isolation_count {
	const struct policy *policy;
	uint32_t ifindexes[BH_TALLIES]; /* by index: the interfaces that bh_tally has */
	struct denied *at;
	size_t n;
	bool *counted; /* by index in `at`: the endpoint was counted */
	uint64_t *isolated; /* by index of the policy's isolations */
};

static int note_place(void *data, const void *key, const void *value)
{
	struct isolation_count *count = data;
	const struct bh_tally_key *of = value;
	uint32_t place;

	memcpy(&place, key, sizeof(place));
	if (place < BH_TALLIES)
		count->ifindexes[place] = of->ifindex;
	return 0;
}

static int add_denied(void *data, const void *key, const void *value)
{
	struct isolation_count *count = data;
	const struct bh_tally *tally = value;
	struct denied denied = {0}, *grown;
	uint32_t place;

	memcpy(&place, key, sizeof(place));
	if (place >= BH_TALLIES || !count->ifindexes[place])
		return 0;
	denied.ifindex = count->ifindexes[place];
	for (int cpu = 0; cpu < live_cpus(); cpu++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			denied.count[d] += tally[cpu].isolated[d];
	if (!denied.count[INGRESS] && !denied.count[EGRESS])
		return 0;
	grown = reallocarray(count->at, count->n + 1, sizeof(*count->at));
	if (!grown)
		return -ENOMEM;
	count->at = grown;
	count->at[count->n++] = denied;
	return 0;
}

/* Adds the endpoint's denials to each policy that isolates the endpoint. */
static void blame(struct isolation_count *count, const struct denied *denied, uint32_t segment)
{
	const struct policy *policy = count->policy;

	for (size_t i = 0; i < policy->n_isolations; i++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			if (isolation_holds(policy, &policy->isolations[i],
					    &policy->segments[segment], d))
				count->isolated[i] += denied->count[d];
}

/* Adds the denials of an address' endpoint. An endpoint with several addresses is counted once, by
 * the first address in the map. */
static int count_endpoint(void *data, const void *key, const void *value)
{
	struct isolation_count *count = data;
	const struct bh_endpoint *entry = value;
	const struct policy_address *found;
	struct address address;

	memcpy(&address, key, sizeof(address));
	found = entry->ifindex ? policy_address_find(count->policy, &address) : NULL;
	for (size_t i = 0; i < count->n && found && found->segment != POLICY_NOWHERE; i++) {
		if (count->at[i].ifindex != entry->ifindex || count->counted[i])
			continue;
		count->counted[i] = true;
		blame(count, &count->at[i], found->segment);
	}
	return 0;
}

static int count_isolations(const struct live *live, const struct policy *policy,
			    struct rule_hits *hits)
{
	struct isolation_count count = {.policy = policy};
	int error;

	hits->isolated = calloc(policy->n_isolations + 1, sizeof(*hits->isolated));
	error = hits->isolated ? live_each(live, "tally_keys", note_place, &count) : -ENOMEM;
	if (!error)
		error = live_each(live, "tallies", add_denied, &count);
	count.isolated = hits->isolated;
	count.counted = calloc(count.n + 1, sizeof(bool));
	if (!error)
		error = count.counted ? live_each(live, "endpoints", count_endpoint, &count)
				      : -ENOMEM;
	free(count.at);
	free(count.counted);
	return error;
}

/* The rules and isolations that decide the flows that the options select. NULL: the options select
 * all. */
struct meant {
	bool *rules; /* by rule ID */
	bool *isolations; /* by index of the policy's isolations */
};

/* Notes the rule, or the isolations, of audited policies that would deny. */
static void note_audit(const struct policy *policy, const struct policy_audit *audit,
		       struct meant *meant)
{
	if (audit->denies) {
		meant->rules[audit->denies] = true;
		return;
	}
	for (uint32_t k = 0; k < audit->policies.n; k++)
		for (size_t i = 0; i < policy->n_isolations; i++)
			if (!strcmp(policy_string(policy, policy->texts[audit->policies.at + k]),
				    policy_string(policy, policy->isolations[i].policy)))
				meant->isolations[i] = true;
}

static void note_verdicts(const struct show *show, const struct verdicts *verdicts,
			  struct meant *meant)
{
	const struct filter *filter = show->filter;

	for (size_t i = 0; i < verdicts->n; i++) {
		uint32_t first = verdicts_at(verdicts, i)->start, end = VERDICTS_END;
		const uint32_t verdict = verdicts_at(verdicts, i)->verdict;
		const struct policy_rule *rule = policy_rule_of(show->policy, verdict);
		const struct policy_audit *audit = policy_audit_of(show->policy, verdict);
		bool here = !filter->n_ports;

		if (i + 1 < verdicts->n)
			end = verdicts_at(verdicts, i + 1)->start;
		for (size_t k = 0; k < filter->n_ports && !here; k++) {
			uint32_t point = bh_point(filter->ports[k].protocol, filter->ports[k].port);

			here = point >= first && point < end;
		}
		if (here && rule)
			meant->rules[rule->id] = true;
		if (here && audit)
			note_audit(show->policy, audit, meant);
	}
}

/* Notes the rules in the list that @subject's policy has for @peer, in each of the list's forms. */
static void note_pair(const struct show *show, const struct policy_segment *subject,
		      const struct policy_segment *peer, enum direction direction,
		      struct meant *meant)
{
	const struct policy *policy = show->policy;
	const struct policy_segment *destination = direction == INGRESS ? subject : peer;

	if (!(policy_segment_has_members(subject) ||
	      (direction == EGRESS && policy_segment_is_by_domain(subject))) ||
	    subject->delete_generation || !policy_segment_is_peer(peer))
		return;
	for (uint32_t i = 0; i <= destination->variations.n; i++) {
		const struct policy_variation *variation =
			i ? &policy->variations[destination->variations.at + i - 1] : NULL;
		struct verdicts verdicts = verdicts_of(policy, subject, peer, direction,
						       variation ? variation->resolution : 0);

		note_verdicts(show, &verdicts, meant);
	}
}

static void note_isolations(const struct show *show, size_t segment, enum direction direction,
			    struct meant *meant)
{
	const struct policy *policy = show->policy;

	for (size_t i = 0; i < policy->n_isolations; i++)
		meant->isolations[i] |= isolation_holds(policy, &policy->isolations[i],
							&policy->segments[segment], direction);
}

/* @ends: room for both ends of each segment. */
static void note_all(const struct show *show, struct meant *meant, bool *ends)
{
	const struct policy *policy = show->policy;
	const size_t n = policy->n_segments;

	for (size_t from = 0; from < n; from++)
		for (size_t to = 0; to < n; to++) {
			const struct policy_segment *a = &policy->segments[from];
			const struct policy_segment *b = &policy->segments[to];

			if (!show_has(show->from, from) || !show_has(show->to, to) ||
			    (!show_has(show->either, from) && !show_has(show->either, to)))
				continue;
			note_pair(show, a, b, EGRESS, meant);
			note_pair(show, b, a, INGRESS, meant);
			ends[from] = ends[n + to] = true;
		}
	for (size_t i = 0; i < 2 * n; i++)
		if (ends[i])
			note_isolations(show, i % n, i < n ? EGRESS : INGRESS, meant);
}

static int find_meant(const struct show *show, struct meant *meant)
{
	const struct filter *filter = show->filter;
	bool *ends;

	*meant = (struct meant){0};
	if (!filter->ns && !filter->from && !filter->to && !filter->n_ports)
		return 0;
	meant->rules = calloc(show->policy->next_rule + 1, sizeof(bool));
	meant->isolations = calloc(show->policy->n_isolations + 1, sizeof(bool));
	ends = calloc(2 * show->policy->n_segments + 1, sizeof(bool));
	if (!meant->rules || !meant->isolations || !ends) {
		free(ends);
		return -ENOMEM;
	}
	note_all(show, meant, ends);
	free(ends);
	return 0;
}

/* A cell of its own stands for nothing, so that each word is in its column for awk, too. */
static const char *cell_of(const char *text)
{
	return *text ? text : "-";
}

static void add_row(struct columns *columns, const char *id, const char *tier,
		    const char *direction, const char *action, const uint64_t *hits,
		    const char *rule)
{
	char text[AMOUNT_TEXT];

	columns_add(columns, cell_of(id));
	columns_add(columns, cell_of(tier));
	columns_add(columns, cell_of(direction));
	columns_add(columns, cell_of(action));
	if (hits)
		columns_add(columns, amount_print(*hits, text));
	columns_add(columns, rule);
}

static void show_rule(const struct show *show, const struct policy_rule *rule,
		      const struct rule_hits *hits, struct columns *columns)
{
	const uint64_t *count = hits->counts ? &hits->counts[rule->id] : NULL;
	const bool audited = rule->flags & POLICY_AUDIT;
	char text[DECISION_TEXT + 16], id[AMOUNT_TEXT];
	struct emit *emit = show->emit;

	rule_print(show->policy, rule, text, DECISION_TEXT);
	if (audited)
		strcat(text, " (audited)");
	snprintf(id, sizeof(id), "%u", rule->id);
	add_row(columns, id, tier_name(rule->tier), direction_name(rule->direction),
		action_name(rule->action), count, text);
	emit_object(emit, NULL);
	emit_number(emit, "id", rule->id);
	emit_text(emit, "tier", tier_name(rule->tier));
	emit_text(emit, "direction", direction_name(rule->direction));
	emit_text(emit, "action", action_name(rule->action));
	emit_bool(emit, "audited", audited);
	emit_rule(emit, show->policy, rule);
	if (count)
		emit_number(emit, "hits", *count);
	emit_end(emit);
}

static void show_isolation(const struct show *show, size_t index, const struct rule_hits *hits,
			   struct columns *columns)
{
	static const char *const directions[] = {
		[1 << INGRESS] = "ingress",
		[1 << EGRESS] = "egress",
		[1 << INGRESS | 1 << EGRESS] = "both",
	};
	const struct policy_isolation *isolation = &show->policy->isolations[index];
	const char *policy = policy_string(show->policy, isolation->policy);
	const uint64_t *count = hits->isolated ? &hits->isolated[index] : NULL;
	const bool audited = isolation->flags & POLICY_AUDIT;
	char name[DECISION_TEXT], text[DECISION_TEXT + 32];
	struct emit *emit = show->emit;

	name_print(policy, name, sizeof(name));
	snprintf(text, sizeof(text), audited ? "%s would isolate (audited)" : "isolated by %s",
		 name);
	add_row(columns, "", "", directions[isolation->directions], "", count, text);
	emit_object(emit, NULL);
	emit_text(emit, "policy", policy);
	emit_bool(emit, "ingress", isolation->directions >> INGRESS & 1);
	emit_bool(emit, "egress", isolation->directions >> EGRESS & 1);
	if (count)
		emit_number(emit, "hits", *count);
	emit_bool(emit, "audited", audited);
	emit_end(emit);
}

/* Shows each isolation as a rule with ID 0: under that ID the kernel counts packets that are denied
 * because no rule allows them. */
static void show_isolations(const struct show *show, const struct meant *meant,
			    const struct rule_hits *hits, struct columns *columns)
{
	struct emit *emit = show->emit;

	add_row(columns, "0", tier_name(TIER_NETWORK_POLICY), "", action_name(ACTION_DENY),
		hits->counts, "isolation: no rule allows");
	emit_object(emit, NULL);
	emit_number(emit, "id", 0);
	emit_text(emit, "tier", tier_name(TIER_NETWORK_POLICY));
	emit_text(emit, "direction", NULL);
	emit_text(emit, "action", action_name(ACTION_DENY));
	emit_rule(emit, show->policy, NULL);
	emit_array(emit, "isolated_by");
	for (size_t i = 0; i < show->policy->n_isolations; i++)
		if (!meant->isolations || meant->isolations[i])
			show_isolation(show, i, hits, columns);
	emit_end(emit);
	if (hits->counts)
		emit_number(emit, "hits", hits->counts[0]);
	emit_end(emit);
}

static bool isolates(const struct policy *policy, const struct meant *meant)
{
	bool any = policy->n_isolations && !meant->isolations;

	for (size_t i = 0; i < policy->n_isolations && meant->isolations; i++)
		any |= meant->isolations[i];
	return any;
}

static void list_rules(const struct show *show, const struct meant *meant,
		       const struct rule_hits *hits)
{
	static const char *const with_hits[] = {">ID",	 "TIER", "DIRECTION", "ACTION",
						">HITS", "RULE", NULL};
	static const char *const without[] = {">ID", "TIER", "DIRECTION", "ACTION", "RULE", NULL};
	struct columns *columns =
		show->emit->json ? NULL : columns_new(hits->counts ? with_hits : without);
	const struct policy *policy = show->policy;

	emit_array(show->emit, NULL);
	if (isolates(policy, meant))
		show_isolations(show, meant, hits, columns);
	for (size_t i = 0; i < policy->n_rules; i++)
		if (!meant->rules || meant->rules[policy->rules[i].id])
			show_rule(show, &policy->rules[i], hits, columns);
	emit_end(show->emit);
	columns_print(columns);
}

int show_rules(const struct show *show)
{
	const struct live *live = show->view->live;
	struct rule_hits hits = {.n = show->policy->next_rule};
	struct meant meant;
	int error = find_meant(show, &meant);

	if (live && !error) {
		hits.counts = calloc(hits.n, sizeof(*hits.counts));
		error = hits.counts ? live_hits(live, add_hits, &hits) : -ENOMEM;
		if (!error)
			error = count_isolations(live, show->policy, &hits);
		if (!error) {
			count_audited_isolations(show->policy, &hits);
			count_audits(show->policy, &hits);
		}
		if (error)
			command_error("cannot read the rules' hits: %s", strerror(-error));
	}
	if (!error)
		list_rules(show, &meant, &hits);
	free(hits.counts);
	free(hits.isolated);
	free(meant.rules);
	free(meant.isolations);
	return status_of(error);
}

int show_generation(const struct show *show)
{
	const struct policy *policy = show->policy;
	const struct live *live = show->view->live;
	struct emit *emit = show->emit;

	emit_object(emit, NULL);
	emit_say(emit, "policy generation %u of lineage %016" PRIx64 "\n", policy->generation,
		 policy->lineage);
	emit_number(emit, "policy_generation", policy->generation);
	emit_number(emit, "lineage", policy->lineage);
	emit_number(emit, "parent", policy->parent);
	if (policy->checksum) /* 0: compiled from inputs, which gives no checksum */
		emit_number(emit, "checksum", policy->checksum);
	if (live) {
		emit_say(emit, "active as generation %" PRIu64 "\n", live_generation(live));
		emit_number(emit, "generation", live_generation(live));
	}
	emit_end(emit);
	return STATUS_OK;
}
