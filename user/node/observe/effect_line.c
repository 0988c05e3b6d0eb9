// SPDX-License-Identifier: GPL-2.0-only
/* The line that says what a load changed: of `load`, and in a follower's log. */
#include <inttypes.h>
#include <stdio.h>

#include "node/node.h"

#define NAMES_MAX 4 /* names in the line; further names are counted */

const char *node_directions_name(uint8_t directions)
{
	if (directions == (1u << INGRESS | 1u << EGRESS))
		return "ingress and egress";
	return directions & 1u << INGRESS ? "ingress" : "egress";
}

static void print_names(FILE *to, char *const *names, size_t n)
{
	for (size_t i = 0; i < n && i < NAMES_MAX; i++)
		fprintf(to, "%s %s", i ? "," : "", names[i]);
	if (n > NAMES_MAX)
		fprintf(to, " and %zu more", n - NAMES_MAX);
}

static void print_policies(FILE *to, const struct node_effect *effect)
{
	fprintf(to, " %u policies", effect->policies);
	if (effect->n_added + effect->n_deleted && effect->policies_before) {
		fprintf(to, " (");
		if (effect->n_added)
			fprintf(to, "+%zu%s", effect->n_added, effect->n_deleted ? " " : "");
		if (effect->n_deleted)
			fprintf(to, "-%zu:", effect->n_deleted);
		print_names(to, effect->deleted, effect->n_deleted);
		fprintf(to, ")");
	}
	fprintf(to, ",");
	if (effect->policies_audited)
		fprintf(to, " %u of them audited only,", effect->policies_audited);
}

static void print_endpoints(FILE *to, const struct node_change *change)
{
	static const char *const by[] = {
		[NODE_HOOK_NONE] = "",
		[NODE_HOOK_TCX] = " by TCX links",
		[NODE_HOOK_CLSACT] = " by clsact filters (TCX needs Linux 6.6)",
	};
	const struct node_effect *effect = change->effect;
	const long more = effect ? (long)change->endpoints - effect->endpoints_before : 0;

	fprintf(to, " %u endpoints guarded", change->endpoints);
	if (more && !change->first)
		fprintf(to, " (%+ld)", more);
	fprintf(to, "%s", by[change->tc]);
	if (effect && effect->audited)
		fprintf(to, ", %u of them audited only", effect->audited);
}

/* Prints the endpoints that lost isolation, or with @audited those that are audited from now on. */
static void print_opened(FILE *to, const struct node_effect *effect, bool audited)
{
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < effect->n_opened; i++)
		n += audited ? effect->opened[i].audited : !!effect->opened[i].directions;
	if (!n)
		return;
	fprintf(to, ", %zu %s:", n, audited ? "newly audited" : "isolated no longer");
	for (size_t i = 0; i < effect->n_opened && shown < NAMES_MAX; i++) {
		const struct node_opened *opened = &effect->opened[i];

		if (audited ? !opened->audited : !opened->directions)
			continue;
		fprintf(to, "%s %s", shown++ ? "," : "", opened->name);
		if (!audited)
			fprintf(to, " (%s)", node_directions_name(opened->directions));
	}
	if (n > NAMES_MAX)
		fprintf(to, " and %zu more", n - NAMES_MAX);
}

static void print_audits(FILE *to, const struct node_effect *effect)
{
	if (!effect->n_audits)
		return;
	fprintf(to, ", %zu policies newly audited:", effect->n_audits);
	print_names(to, effect->audits, effect->n_audits);
}

void node_change_print(FILE *to, const struct node_change *change)
{
	fprintf(to, "generation %" PRIu64 " is active%s:", change->generation,
		change->map_writes ? "" : " already");
	if (change->effect)
		print_policies(to, change->effect);
	print_endpoints(to, change);
	fprintf(to, ", %u uplinks", change->uplinks);
	if (change->ports)
		fprintf(to, ", %u other bridge ports", change->ports);
	if (change->effect) {
		print_opened(to, change->effect, false);
		print_opened(to, change->effect, true);
		print_audits(to, change->effect);
	}
}
