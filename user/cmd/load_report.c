// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmd/emit.h"
#include "cmd/load_report.h"

static void say_active(struct emit *emit, enum load_kind kind, const struct node_change *change)
{
	if (emit->json)
		return;
	if (kind == LOAD_ACTIVATED)
		emit_say(emit, "endpoint generation %u is active\n", change->endpoint_generation);
	node_change_print(emit->to, change);
	emit_say(emit, "\n");
	if (change->adopted)
		emit_say(emit, "%u open connections taken over\n", change->adopted);
	if (change->replaced)
		emit_say(emit, "the programs were replaced\n");
}

static void emit_policies(struct emit *emit, const char *key, char *const *names, size_t n,
			  const char *words)
{
	emit_array(emit, key);
	for (size_t i = 0; i < n; i++) {
		if (words)
			emit_say(emit, "policy %s is %s\n", names[i], words);
		emit_text(emit, NULL, names[i]);
	}
	emit_end(emit);
}

static void emit_opened(struct emit *emit, const struct node_opened *opened, bool verbose)
{
	if (opened->directions && verbose)
		emit_say(emit, "endpoint %s is isolated no longer: %s\n", opened->name,
			 node_directions_name(opened->directions));
	if (opened->audited && verbose)
		emit_say(emit, "endpoint %s is audited only\n", opened->name);
	emit_object(emit, NULL);
	emit_text(emit, "endpoint", opened->name);
	emit_bool(emit, "ingress", opened->directions >> INGRESS & 1);
	emit_bool(emit, "egress", opened->directions >> EGRESS & 1);
	emit_bool(emit, "audited", opened->audited);
	emit_end(emit);
}

static void emit_effect(struct emit *emit, const struct node_effect *effect, bool verbose)
{
	emit_number(emit, "policies", effect->policies);
	emit_number(emit, "policies_before", effect->policies_before);
	emit_policies(emit, "policies_added", effect->added, effect->n_added,
		      verbose ? "new" : NULL);
	emit_policies(emit, "policies_deleted", effect->deleted, effect->n_deleted,
		      verbose ? "deleted" : NULL);
	emit_policies(emit, "policies_newly_audited", effect->audits, effect->n_audits,
		      verbose ? "audited only" : NULL);
	emit_number(emit, "endpoints_before", effect->endpoints_before);
	if (effect->counted) {
		emit_object(emit, "isolated");
		emit_number(emit, "ingress", effect->isolated[INGRESS]);
		emit_number(emit, "egress", effect->isolated[EGRESS]);
		emit_end(emit);
		emit_number(emit, "audited", effect->audited);
	}
	emit_array(emit, "opened");
	for (size_t i = 0; i < effect->n_opened; i++)
		emit_opened(emit, &effect->opened[i], verbose);
	emit_end(emit);
}

/* @verbose: text has every name, and the number of map writes. */
void load_report(const struct call *call, enum load_kind kind, bool verbose,
		 const struct node_change *change)
{
	struct emit emit = emit_begin(call);

	if (kind == LOAD_STAGED)
		emit_say(&emit, "policy generation %u is installed\n", change->policy_generation);
	else
		say_active(&emit, kind, change);
	emit_object(&emit, NULL);
	emit_number(&emit, "generation", change->generation);
	emit_number(&emit, "policy_generation", change->policy_generation);
	emit_number(&emit, "endpoint_generation", change->endpoint_generation);
	if (change->effect)
		emit_effect(&emit, change->effect, verbose);
	emit_number(&emit, "endpoints", change->endpoints);
	emit_number(&emit, "uplinks", change->uplinks);
	emit_number(&emit, "ports", change->ports);
	emit_number(&emit, "adopted", change->adopted);
	emit_bool(&emit, "programs_replaced", change->replaced);
	emit_number(&emit, "map_writes", change->map_writes);
	if (verbose)
		emit_say(&emit, "%" PRIu64 " map writes\n", change->map_writes);
	emit_end(&emit);
}
