// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmd/json_output.h"
#include "cmd/load_report.h"

static void print_active(enum load_kind kind, const struct node_change *change)
{
	if (kind == LOAD_ACTIVATED)
		printf("endpoint generation %u is active\n", change->endpoint_generation);
	node_change_print(stdout, change);
	putchar('\n');
	if (change->imported)
		printf("%u open connections taken over\n", change->imported);
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
			       node_directions_name(opened->directions));
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
	json_add_number(root, "adopted", change->imported);
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
		print_active(kind, change);
	if (verbose)
		print_verbose(change);
}
