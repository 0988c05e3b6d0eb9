// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmd/json.h"
#include "cmd/load_report.h"

#define NAMES_MAX 4 /* names in the line; further names are counted */

static const char *directions_name(uint8_t directions)
{
	if (directions == (1u << INGRESS | 1u << EGRESS))
		return "ingress and egress";
	return directions & 1u << INGRESS ? "ingress" : "egress";
}

static void print_policies(const struct node_effect *effect)
{
	printf(" %u policies", effect->policies);
	if (effect->n_added + effect->n_deleted && effect->policies_before) {
		printf(" (");
		if (effect->n_added)
			printf("+%zu%s", effect->n_added, effect->n_deleted ? " " : "");
		if (effect->n_deleted)
			printf("-%zu:", effect->n_deleted);
		for (size_t i = 0; i < effect->n_deleted && i < NAMES_MAX; i++)
			printf("%s %s", i ? "," : "", effect->deleted[i]);
		if (effect->n_deleted > NAMES_MAX)
			printf(" and %zu more", effect->n_deleted - NAMES_MAX);
		printf(")");
	}
	printf(",");
}

static void print_endpoints(const struct node_change *change)
{
	static const char *const by[] = {
		[NODE_HOOK_NONE] = "",
		[NODE_HOOK_TCX] = " by TCX links",
		[NODE_HOOK_CLSACT] = " by clsact filters (TCX needs Linux 6.6)",
	};
	const struct node_effect *effect = change->effect;
	const long more = effect ? (long)change->endpoints - effect->endpoints_before : 0;

	printf(" %u endpoints guarded", change->endpoints);
	if (more && !change->first)
		printf(" (%+ld)", more);
	printf("%s", by[change->tc]);
	if (effect && effect->audited)
		printf(", %u of them audited only", effect->audited);
}

/* Prints the endpoints that lost isolation, or with @audited those that are audited from now on. */
static void print_opened(const struct node_effect *effect, bool audited)
{
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < effect->n_opened; i++)
		n += audited ? effect->opened[i].audited : !!effect->opened[i].directions;
	if (!n)
		return;
	printf(", %zu %s:", n, audited ? "newly audited" : "isolated no longer");
	for (size_t i = 0; i < effect->n_opened && shown < NAMES_MAX; i++) {
		const struct node_opened *opened = &effect->opened[i];

		if (audited ? !opened->audited : !opened->directions)
			continue;
		printf("%s %s", shown++ ? "," : "", opened->name);
		if (!audited)
			printf(" (%s)", directions_name(opened->directions));
	}
	if (n > NAMES_MAX)
		printf(" and %zu more", n - NAMES_MAX);
}

static void print_audits(const struct node_effect *effect)
{
	if (!effect->n_audits)
		return;
	printf(", %zu policies newly audited:", effect->n_audits);
	for (size_t i = 0; i < effect->n_audits && i < NAMES_MAX; i++)
		printf("%s %s", i ? "," : "", effect->audits[i]);
	if (effect->n_audits > NAMES_MAX)
		printf(" and %zu more", effect->n_audits - NAMES_MAX);
}

static void print_in_force(enum load_kind kind, const struct node_change *change)
{
	if (kind == LOAD_ACTIVATED)
		printf("endpoint generation %u is active\n", change->endpoint_generation);
	printf("generation %" PRIu64 " is in force%s:", change->generation,
	       change->map_writes ? "" : " already");
	if (change->effect)
		print_policies(change->effect);
	print_endpoints(change);
	printf(", %u uplinks", change->uplinks);
	if (change->ports)
		printf(", %u other bridge ports", change->ports);
	if (change->effect) {
		print_opened(change->effect, false);
		print_opened(change->effect, true);
		print_audits(change->effect);
	}
	printf("\n");
	if (change->adopted)
		printf("%u open connections taken over\n", change->adopted);
	if (change->replaced)
		printf("the programs were replaced\n");
}

/* Prints every name, and the number of map writes. */
static void print_verbose(const struct node_change *change)
{
	const struct node_effect *effect = change->effect;

	for (size_t i = 0; effect && i < effect->n_added; i++)
		printf("policy %s is new\n", effect->added[i]);
	for (size_t i = 0; effect && i < effect->n_deleted; i++)
		printf("policy %s is deleted\n", effect->deleted[i]);
	for (size_t i = 0; effect && i < effect->n_audits; i++)
		printf("policy %s is audited only\n", effect->audits[i]);
	for (size_t i = 0; effect && i < effect->n_opened; i++) {
		const struct node_opened *opened = &effect->opened[i];

		if (opened->directions)
			printf("endpoint %s is isolated no longer: %s\n", opened->name,
			       directions_name(opened->directions));
		if (opened->audited)
			printf("endpoint %s is audited only\n", opened->name);
	}
	printf("%" PRIu64 " map writes\n", change->map_writes);
}

static struct json_object *json_names(char *const *names, size_t n)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_append_text(array, names[i]);
	return array;
}

static struct json_object *json_opened(const struct node_opened *opened)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "endpoint", opened->name);
	json_add_bool(object, "ingress", opened->directions >> INGRESS & 1);
	json_add_bool(object, "egress", opened->directions >> EGRESS & 1);
	json_add_bool(object, "audited", opened->audited);
	return object;
}

static void add_effect(struct json_object *root, const struct node_effect *effect)
{
	struct json_object *isolated = json_object_new_object(), *opened = json_object_new_array();

	json_add_number(root, "policies", effect->policies);
	json_add_number(root, "policies_before", effect->policies_before);
	json_add(root, "policies_added", json_names(effect->added, effect->n_added));
	json_add(root, "policies_deleted", json_names(effect->deleted, effect->n_deleted));
	json_add(root, "policies_newly_audited", json_names(effect->audits, effect->n_audits));
	json_add_number(root, "endpoints_before", effect->endpoints_before);
	json_add_number(isolated, "ingress", effect->isolated[INGRESS]);
	json_add_number(isolated, "egress", effect->isolated[EGRESS]);
	if (effect->counted) {
		json_add(root, "isolated", json_object_get(isolated));
		json_add_number(root, "audited", effect->audited);
	}
	json_object_put(isolated);
	for (size_t i = 0; i < effect->n_opened; i++)
		json_object_array_add(opened, json_opened(&effect->opened[i]));
	json_add(root, "opened", opened);
}

static void print_json(const struct call *call, const struct node_change *change)
{
	struct json_object *root = json_object_new_object();

	json_add_number(root, "generation", change->generation);
	json_add_number(root, "policy_generation", change->policy_generation);
	json_add_number(root, "endpoint_generation", change->endpoint_generation);
	if (change->effect)
		add_effect(root, change->effect);
	json_add_number(root, "endpoints", change->endpoints);
	json_add_number(root, "uplinks", change->uplinks);
	json_add_number(root, "ports", change->ports);
	json_add_number(root, "adopted", change->adopted);
	json_add_bool(root, "programs_replaced", change->replaced);
	json_add_number(root, "map_writes", change->map_writes);
	json_print(root, call->pretty);
}

void load_report(const struct call *call, enum load_kind kind, bool verbose,
		 const struct node_change *change)
{
	if (call->json)
		return print_json(call, change);
	if (kind == LOAD_STAGED)
		printf("policy generation %u is installed\n", change->policy_generation);
	else
		print_in_force(kind, change);
	if (verbose)
		print_verbose(change);
}
