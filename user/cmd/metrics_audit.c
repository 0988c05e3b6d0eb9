// SPDX-License-Identifier: GPL-2.0-only
/* The metric of policies that are only audited: what they would have denied. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/metrics.h"
#include "cmd/text_buffer.h"
#include "maps/rule_hit.h"

struct audited {
	const char *policy;
	uint64_t hits;
};

struct audit_hits {
	const struct policy *policy;
	struct audited *at; /* sorted by name */
	size_t n;
};

static int compare_audited(const void *a, const void *b)
{
	return strcmp(((const struct audited *)a)->policy, ((const struct audited *)b)->policy);
}

/* Lists the policies that audit records name, each once. */
static int list_audited(struct audit_hits *hits)
{
	const struct policy *policy = hits->policy;
	size_t n = 0;

	for (size_t i = 0; i < policy->n_audits; i++)
		n += policy->audits[i].policies.n;
	hits->at = calloc(n + 1, sizeof(*hits->at));
	if (!hits->at)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < policy->n_audits; i++)
		for (uint32_t k = 0; k < policy->audits[i].policies.n; k++)
			hits->at[n++].policy = policy_string(
				policy, policy->texts[policy->audits[i].policies.at + k]);
	qsort(hits->at, n, sizeof(*hits->at), compare_audited);
	for (size_t i = 0; i < n; i++)
		if (!i || compare_audited(&hits->at[hits->n - 1], &hits->at[i]))
			hits->at[hits->n++] = hits->at[i];
	return 0;
}

static int add_hits(void *data, const void *key, const void *value)
{
	const struct bh_rule_hit *hit = value;
	const struct policy_audit *audit;
	struct audit_hits *hits = data;
	uint64_t count = 0;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	audit = policy_audit_by_id(hits->policy, id);
	for (int cpu = 0; audit && cpu < live_cpus(); cpu++)
		count += hit[cpu].count;
	for (uint32_t k = 0; audit && k < audit->policies.n; k++) {
		const struct audited wanted = {
			policy_string(hits->policy, hits->policy->texts[audit->policies.at + k]),
			0};
		struct audited *found =
			bsearch(&wanted, hits->at, hits->n, sizeof(wanted), compare_audited);

		found->hits += count;
	}
	return 0;
}

int metrics_audits(const struct metrics *metrics)
{
	struct audit_hits hits = {.policy = metrics->status->policy};
	int error;

	if (!hits.policy->n_audits)
		return 0;
	error = list_audited(&hits);
	if (!error)
		error = live_hits(metrics->live, add_hits, &hits);
	if (!error)
		metrics_family(metrics, "policy_audited_denials_total", "counter",
			       "Connections and packets that a policy would have denied, but for "
			       "its audit.");
	for (size_t i = 0; !error && i < hits.n; i++) {
		fputs("bulkhead_policy_audited_denials_total{policy=\"", metrics->to);
		text_put_quoted(metrics->to, hits.at[i].policy);
		fprintf(metrics->to, "\"} %" PRIu64 "\n", hits.at[i].hits);
	}
	free(hits.at);
	return error;
}
