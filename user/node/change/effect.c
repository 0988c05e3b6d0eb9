// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/isolation.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/change/effect.h"
#include "node/change/iface_entry.h"
#include "node/change/object_names.h"
#include "node/kernel/pinned_policy.h"

static int names_read(const struct policy *policy, struct object_names *names)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < policy->n_given; i++)
		error = object_names_add(names, policy_lazy(policy), i);
	object_names_sort(names);
	return error;
}

static int compare_policies(const struct policy *old, const struct policy *new,
			    struct node_effect *effect)
{
	CLEANUP(object_names_free) struct object_names before = {}, after = {};
	int error = 0;

	effect->policies = effect->policies_before = new->n_given;
	for (size_t i = 0; i < new->n_given; i++)
		if (new->given[i].flags & POLICY_AUDIT)
			effect->policies_audited++;
	if (!old || old->checksum == new->checksum)
		return 0;
	effect->policies_before = old->n_given;
	error = names_read(old, &before);
	if (!error)
		error = names_read(new, &after);
	return error ? error : object_names_compare(&before, &after, effect);
}

/* Both sides of a comparison of this node's endpoints. */
struct sides {
	const struct node_handle *handle;
	const struct policy *old, *new;
	struct isolations before, after;
	const struct image *have;
	const struct local *local;
};

static void sides_free(struct sides *sides)
{
	isolations_free(&sides->before);
	isolations_free(&sides->after);
}

/* Returns the directions in which the active policy isolates an endpoint of this node that has
 * @address; 0: it is none. */
static uint8_t isolated_before(const struct sides *sides, const struct address *address)
{
	const struct bh_endpoint *entry = table_find(&sides->have->map[MAP_endpoints], address);
	const struct table *segments = &sides->have->map[MAP_segments];
	const struct policy_segment *segment = NULL;
	uint32_t slot;
	uint64_t word;

	if (!entry || !entry->ifindex || !sides->old)
		return 0;
	word = bh_assignment_at(entry->assignment[0], entry->assignment[1],
				node_generation(sides->handle));
	if (bh_assignment_is_cover(word))
		return 0;
	slot = bh_assignment_slot(word);
	if (slot && slot < segments->n)
		segment = policy_segment_by_id(
			sides->old, ((struct bh_segment *)table_value(segments, slot))->id ^
					    sides->handle->blob.ids);
	return isolations_of(&sides->before, segment);
}

static uint8_t isolated_after(const struct sides *sides, const struct policy_address *address)
{
	return isolations_of(&sides->after, address->segment == POLICY_NOWHERE
						    ? NULL
						    : &sides->new->segments[address->segment]);
}

static bool is_audited(const struct table *ifaces, uint32_t ifindex)
{
	const struct bh_iface *iface = table_find(ifaces, &ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

static int open_endpoint(const struct policy *policy, const struct policy_endpoint *endpoint,
			 struct node_opened opened, struct node_effect *effect)
{
	if (asprintf(&opened.name, "%s/%s",
		     policy_string(policy, policy->namespaces[endpoint->ns].name),
		     policy_string(policy, endpoint->name)) < 0)
		return -ENOMEM;
	effect->opened[effect->n_opened++] = opened;
	return 0;
}

static int compare_endpoint(const struct sides *sides, uint32_t i, struct node_effect *effect)
{
	const struct policy *new = sides->new;
	const struct policy_endpoint *endpoint = &new->endpoints[i];
	const uint32_t ifindex = sides->local->ifindexes[i];
	const struct bh_iface *old = table_find(&sides->have->map[MAP_ifaces], &ifindex);
	const bool audited = is_audited(&sides->local->ifaces, ifindex);
	struct node_opened opened = {};
	uint8_t after = 0;

	for (uint32_t k = 0; k < endpoint->addresses.n; k++) {
		const struct policy_address *address =
			&new->addresses[new->endpoint_addresses[endpoint->addresses.at + k]];
		const uint8_t now = isolated_after(sides, address);

		opened.directions |= isolated_before(sides, &address->address) & ~now;
		after |= now;
	}
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		effect->isolated[d] += after >> d & 1;
	effect->audited += audited;
	opened.audited =
		audited && old && old->flags & BH_IFACE_ENDPOINT && !(old->flags & BH_IFACE_AUDIT);
	return opened.directions || opened.audited ? open_endpoint(new, endpoint, opened, effect)
						   : 0;
}

static int compare_endpoints(struct sides *sides, struct node_effect *effect)
{
	const struct policy *new = sides->new;
	const struct table *ifaces = &sides->have->map[MAP_ifaces];
	int error = isolations_make(&sides->after, policy_lazy(new));

	if (!error && sides->old)
		error = isolations_make(&sides->before, policy_lazy(sides->old));
	effect->opened = calloc(new->n_endpoints + 1, sizeof(*effect->opened));
	if (error || !effect->opened)
		return -ENOMEM;
	for (size_t i = 0; i < ifaces->n; i++)
		effect->endpoints_before += iface_entry_has_endpoint(table_value(ifaces, i));
	for (uint32_t i = 0; !error && i < new->n_endpoints; i++)
		if (sides->local->ifindexes[i])
			error = compare_endpoint(sides, i, effect);
	return error;
}

int effect_find(struct node_handle *handle, const struct policy *policy, const struct local *local,
		const struct image *have)
{
	CLEANUP(sides_free)
	struct sides sides = {.handle = handle,
			      .old = pinned_whole(handle),
			      .new = policy,
			      .have = have,
			      .local = local};
	int error;

	node_effect_free(handle->effect);
	handle->effect = calloc(1, sizeof(*handle->effect));
	error = handle->effect ? compare_policies(sides.old, policy, handle->effect) : -ENOMEM;
	if (!error)
		handle->effect->counted = true;
	if (!error)
		error = compare_endpoints(&sides, handle->effect);
	return error ? node_fail(handle, error, "cannot compare with the active policy") : 0;
}

void effect_warn(const struct node_handle *handle)
{
	const struct node_effect *effect = handle->effect;

	for (size_t i = 0; effect && i < effect->n_deleted; i++)
		diag_warn(handle->diag, NULL, NULL, "policy %s is deleted: the input lacks it",
			  effect->deleted[i]);
	for (size_t i = 0; effect && i < effect->n_audits; i++)
		diag_warn(handle->diag, NULL, NULL,
			  "policy %s is audited only: it denies nothing any more",
			  effect->audits[i]);
	for (size_t i = 0; effect && i < effect->n_opened; i++) {
		const struct node_opened *opened = &effect->opened[i];

		if (opened->directions)
			diag_warn(handle->diag, NULL, NULL, "endpoint %s is isolated no longer %s",
				  opened->name, isolation_directions(opened->directions));
		if (opened->audited)
			diag_warn(handle->diag, NULL, NULL,
				  "endpoint %s is audited only: policy denies it nothing any more",
				  opened->name);
	}
}
