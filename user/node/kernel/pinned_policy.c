// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "policy/delta.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy_view.h"

bool pinned_is_there(const struct node_handle *handle)
{
	SCOPED_FD int current = pins_get(handle, PINNED);
	SCOPED_FD int next = pins_get(handle, PINNED_NEXT);

	return current >= 0 || next >= 0;
}

int pinned_read_headers(struct node_handle *handle, struct bh_blob *next, struct bh_blob *current)
{
	CLEANUP(pinned_close) struct pinned first = {}, second = {};
	int error = pinned_open(handle, PINNED_NEXT, &first);

	if (!error)
		error = pinned_open(handle, PINNED, &second);
	*next = first.header ? *first.header : (struct bh_blob){};
	*current = second.header ? *second.header : (struct bh_blob){};
	return error;
}

int pinned_read_staged(struct node_handle *handle, struct bh_blob *header, struct policy **policy)
{
	CLEANUP(pinned_close) struct pinned next = {};
	struct lazy_policy *view = NULL;
	int error = pinned_open(handle, PINNED_NEXT, &next);

	*policy = NULL;
	if (error || !pinned_is_staged(&next))
		return error;
	error = pinned_view(&next, &view);
	if (error)
		return error;
	error = pinned_complete(&next, &view);
	if (error) {
		lazy_policy_free(view);
		return error;
	}
	*header = *next.header;
	*policy = policy_of_lazy(view);
	return 0;
}

void pinned_staged_free(struct pinned_staged *staged)
{
	free(staged->slots);
}

/* Reads a policy's generation and checksum. *@whole: the view of a policy that is pinned whole, to
 * be freed. Opens the base of a delta only to see that it is there. */
static int read_head(struct pinned *pinned, uint32_t *generation, uint64_t *checksum,
		     struct lazy_policy **whole)
{
	const struct delta_header *delta =
		(const void *)((const char *)pinned->header + pinned_delta_at(pinned->header));
	int error;

	*whole = NULL;
	if (pinned->header->base && pinned->header->delta >= sizeof(*delta)) {
		CLEANUP(pinned_close) struct pinned base = {};

		*generation = delta->generation;
		*checksum = delta->checksum;
		error = pinned_open(pinned->handle, PINNED_BASE, &base);
		return error || base.header ? error : pinned_damaged(pinned);
	}
	error = pinned_view_whole(pinned, whole);
	if (error)
		return error;
	*generation = (*whole)->generation;
	*checksum = (*whole)->checksum;
	return 0;
}

int pinned_read_staged_head(struct node_handle *handle, struct pinned_staged *staged)
{
	CLEANUP(pinned_close) struct pinned next = {};
	struct lazy_policy *whole = NULL;
	int error = pinned_open(handle, PINNED_NEXT, &next);

	*staged = (struct pinned_staged){};
	if (error || !pinned_is_staged(&next))
		return error;
	error = read_head(&next, &staged->generation, &staged->checksum, &whole);
	if (error)
		return error;
	staged->flags = next.header->flags;
	staged->ports_end = next.header->ports_end;
	staged->slots = calloc(next.header->segments + 1, sizeof(*staged->slots));
	for (uint32_t i = 0; staged->slots && i < next.header->segments; i++)
		staged->slots[i] = pinned_slot_at(&next, i);
	error = whole ? lazy_error(whole) : 0;
	lazy_policy_free(whole);
	return staged->slots ? error : node_fail(handle, -ENOMEM, "cannot read the staged policy");
}

int pinned_drop_staged(struct node_handle *handle)
{
	CLEANUP(pinned_close) struct pinned next = {};
	int error = pinned_open(handle, PINNED_NEXT, &next);

	return error || !pinned_is_staged(&next) ? error : pins_remove(handle, PINNED_NEXT);
}

static int check_whole(const struct node_handle *handle, const struct bh_blob *header)
{
	if (!(header->flags & BH_BLOB_PART))
		return 0;
	diag_error(
		handle->diag, NULL, NULL,
		"%s: the maps hold a part of the policy, by --peers of an older command; unload, "
		"then load",
		handle->pin);
	return -EPROTO;
}

static int take(struct node_handle *handle, struct pinned *pinned)
{
	struct pinned *kept = malloc(sizeof(*kept));
	struct lazy_policy *policy;
	int error;

	if (!kept)
		return node_fail(handle, -ENOMEM, "cannot read the active policy");
	*kept = *pinned;
	*pinned = (struct pinned){};
	error = check_whole(handle, kept->header);
	if (!error)
		error = pinned_view(kept, &policy);
	if (error) {
		pinned_free(kept);
		return error;
	}
	lazy_policy_free(handle->policy);
	pinned_free(handle->pinned);
	handle->policy = policy;
	handle->pinned = kept;
	handle->blob = *kept->header;
	return 0;
}

/* Returns the pin that has the policy of a generation; NULL: none of the two. */
static struct pinned *pinned_of(uint32_t generation, struct pinned *next, struct pinned *current)
{
	if (next->header && next->header->generation <= generation)
		return next;
	return current->header && current->header->generation <= generation ? current : NULL;
}

int pinned_read_heads(struct node_handle *handle, struct node_heads *heads)
{
	CLEANUP(pinned_close) struct pinned next = {}, current = {};
	struct pinned *active = NULL;
	struct lazy_policy *whole = NULL;
	int error = 0;

	if (!node_generation(handle))
		return 0;
	error = pinned_open(handle, PINNED_NEXT, &next);
	if (!error)
		error = pinned_open(handle, PINNED, &current);
	if (!error)
		active = pinned_of(node_generation(handle), &next, &current);
	if (active)
		error = read_head(active, &heads->active, &heads->active_checksum, &whole);
	lazy_policy_free(whole);
	whole = NULL;
	if (active && !error && pinned_is_staged(&next))
		error = read_head(&next, &heads->staged, &heads->staged_checksum, &whole);
	lazy_policy_free(whole);
	return error;
}

/* A reader has no lock: a load may commit, or remove pins, between two of its steps. */
#define READ_TRIES 1000

int pinned_find(struct node_handle *handle)
{
	for (int tries = 0; tries < READ_TRIES; tries++) {
		uint32_t generation = node_generation(handle);
		CLEANUP(pinned_close) struct pinned next = {}, current = {};
		struct pinned *best = NULL;
		int error = 0;

		if (!generation)
			return 0;
		/* The order matters: a policy that a load renames meanwhile is found under its
		 * second name. */
		error = pinned_open(handle, PINNED_NEXT, &next);
		if (!error)
			error = pinned_open(handle, PINNED, &current);
		if (error)
			return error;
		best = pinned_of(generation, &next, &current);
		if (best)
			error = take(handle, best);
		if (best && error != -ESTALE)
			return error;
		if (handle->lock >= 0)
			break;
	}
	diag_error(handle->diag, NULL, NULL, "%s: the active policy is not there; " NODE_ANEW,
		   handle->pin);
	return -ENOENT;
}

int pinned_read(struct node_handle *handle)
{
	if (!handle->policy || !handle->policy->source)
		return 0;
	return pinned_complete(handle->pinned, &handle->policy);
}

struct policy *pinned_whole(const struct node_handle *handle)
{
	struct lazy_policy *policy = handle->policy;

	return policy && !policy->source ? policy_of_lazy(policy) : NULL;
}

struct policy *pinned_take(struct node_handle *handle)
{
	struct policy *whole = pinned_whole(handle);

	handle->policy = whole ? NULL : handle->policy;
	return whole;
}

uint32_t pinned_slot(const struct node_handle *handle, uint32_t segment)
{
	return handle->pinned ? pinned_slot_at(handle->pinned, segment) : 0;
}

const struct delta *pinned_local(const struct node_handle *handle)
{
	return handle->pinned ? handle->pinned->local : NULL;
}

/* A delta of up to so many bytes is pinned, or of up to a sixteenth of the policy, if that is more.
 * After larger changes the policy is pinned whole again. */
#define DELTA_ROOM (256 << 10)

bool pinned_takes_delta(const struct node_handle *handle, const struct delta *delta)
{
	const uint64_t capacity = handle->blob.length / 16;

	return handle->blob.delta + delta->size <= (capacity > DELTA_ROOM ? capacity : DELTA_ROOM);
}
