// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/active_policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "model/allowance.h"

#define SECOND_MS 1000

enum stage { CHANGED, COMPILED, ACTIVE, STAGES };

/* A policy, at a stage of its way. */
struct noted {
	struct noted *next;
	struct json_object *about;
	enum stage stage;
	uint32_t generation, nodes; /* of the rollout, if it is active */
};

struct tenant {
	uint64_t paid; /* for allowance_take(): when the namespace was told of, and how often */
	struct noted *first, **end;
	size_t n;
};

static void free_tenant(struct lh_entry *entry)
{
	struct tenant *tenant = (void *)lh_entry_v(entry);
	struct noted *noted;

	while ((noted = tenant->first)) {
		tenant->first = noted->next;
		json_object_put(noted->about);
		free(noted);
	}
	free(tenant);
	free(lh_entry_k(entry));
}

void active_policies_open(struct active_policies *policies)
{
	*policies = (struct active_policies){.tenants = lh_kchar_table_new(16, free_tenant)};
}

void active_policies_close(struct active_policies *policies)
{
	if (policies->tenants)
		lh_table_free(policies->tenants);
	policies->tenants = NULL;
}

/* Returns the namespace of an object; NULL: no memory. */
static struct tenant *tenant_of(struct active_policies *policies, struct json_object *about)
{
	const char *ns = api_text(about, "metadata.namespace");
	struct tenant *tenant = NULL;
	char *key;

	ns = ns ? ns : "";
	if (!policies->tenants || lh_table_lookup_ex(policies->tenants, ns, (void **)&tenant))
		return tenant;
	tenant = calloc(1, sizeof(*tenant));
	key = strdup(ns);
	if (!tenant || !key || lh_table_insert(policies->tenants, key, tenant)) {
		free(tenant);
		free(key);
		return NULL;
	}
	tenant->end = &tenant->first;
	return tenant;
}

static void drop(struct tenant *tenant, struct noted **at)
{
	struct noted *noted = *at;

	*at = noted->next;
	if (!*at)
		tenant->end = at;
	tenant->n--;
	json_object_put(noted->about);
	free(noted);
}

/* A policy that has changed once more gets the Event of its newest version alone. */
void active_policies_changed(struct active_policies *policies, struct json_object *about)
{
	struct tenant *tenant = tenant_of(policies, about);
	struct noted **at = tenant ? &tenant->first : NULL, *noted;

	if (!tenant)
		return;
	while (*at && !json_object_equal((*at)->about, about))
		at = &(*at)->next;
	if (*at)
		drop(tenant, at);
	noted = tenant->n < ACTIVE_TENANT_BURST ? calloc(1, sizeof(*noted)) : NULL;
	if (!noted)
		return;
	noted->about = json_object_get(about);
	*tenant->end = noted;
	tenant->end = &noted->next;
	tenant->n++;
}

void active_policies_compiled(struct active_policies *policies, const struct objects *objects)
{
	struct lh_entry *entry;

	if (!policies->tenants)
		return;
	lh_foreach(policies->tenants, entry)
	{
		struct tenant *tenant = (void *)lh_entry_v(entry);
		struct noted **at = &tenant->first;

		while (*at)
			if ((*at)->stage == CHANGED && objects_is_aside(objects, (*at)->about)) {
				drop(tenant, at);
			} else {
				if ((*at)->stage == CHANGED)
					(*at)->stage = COMPILED;
				at = &(*at)->next;
			}
	}
}

void active_policies_active(struct active_policies *policies, uint32_t generation, uint32_t nodes)
{
	struct lh_entry *entry;

	if (!policies->tenants)
		return;
	lh_foreach(policies->tenants, entry)
	{
		struct tenant *tenant = (void *)lh_entry_v(entry);

		for (struct noted *noted = tenant->first; noted; noted = noted->next)
			if (noted->stage == COMPILED) {
				noted->stage = ACTIVE;
				noted->generation = generation;
				noted->nodes = nodes;
			}
	}
}

static struct noted **first_active(struct tenant *tenant)
{
	struct noted **at = &tenant->first;

	while (*at && (*at)->stage != ACTIVE)
		at = &(*at)->next;
	return at;
}

/* Returns the namespace that was told of least, of those that have an active policy to tell of;
 * NULL: none has. Forgets namespaces that have nothing here, and of which an allowance knows
 * nothing any more. */
static struct tenant *choose(struct active_policies *policies, uint64_t now)
{
	struct tenant *chosen = NULL;
	struct lh_entry *entry, *next;

	lh_foreach_safe(policies->tenants, entry, next)
	{
		struct tenant *tenant = (void *)lh_entry_v(entry);

		if (!tenant->first && tenant->paid <= now)
			lh_table_delete_entry(policies->tenants, entry);
		else if (*first_active(tenant) && (!chosen || tenant->paid < chosen->paid))
			chosen = tenant;
	}
	return chosen;
}

struct json_object *active_policies_next(struct active_policies *policies, uint64_t now,
					 char message[80])
{
	struct tenant *tenant = policies->tenants ? choose(policies, now) : NULL;
	struct json_object *about;
	struct noted **at;
	uint64_t paid;

	if (!tenant)
		return NULL;
	paid = tenant->paid;
	if (!allowance_take(&tenant->paid, now, SECOND_MS, ACTIVE_TENANT_BURST))
		return NULL;
	if (!allowance_take(&policies->paid, now, ACTIVE_STEP_MS, ACTIVE_BURST)) {
		tenant->paid = paid;
		return NULL;
	}
	at = first_active(tenant);
	snprintf(message, 80, "active at generation %u on %u nodes", (*at)->generation,
		 (*at)->nodes);
	about = json_object_get((*at)->about);
	drop(tenant, at);
	return about;
}

bool active_policies_wait(const struct active_policies *policies)
{
	struct lh_entry *entry;

	if (!policies->tenants)
		return false;
	lh_foreach(policies->tenants,
		   entry) if (*first_active((void *)lh_entry_v(entry))) return true;
	return false;
}
