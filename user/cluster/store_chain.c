// SPDX-License-Identifier: GPL-2.0-only
/* Makes a policy of the store's deltas and whole policies. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cluster/store.h"
#include "policy/blob_file.h"
#include "policy/delta.h"

void store_chain_free(struct store_chain *chain)
{
	for (size_t i = 0; i < chain->n; i++)
		free(chain->items[i].bytes);
	free(chain->items);
	*chain = (struct store_chain){0};
}

struct store_since store_since(const struct store_chain *chain)
{
	struct store_since since = {.whole_size = chain->items[0].size};

	memcpy(since.whole, chain->items[0].name, STORE_NAME);
	for (size_t i = 1; i < chain->n; i++) {
		since.deltas++;
		since.size += chain->items[i].size;
	}
	return since;
}

static int read_whole(const struct store_item *item, const struct where *where, struct diag *diag,
		      struct policy **policy)
{
	void *bytes = malloc(item->blob);
	int error;

	if (!bytes)
		return -ENOMEM;
	if (ZSTD_decompress(bytes, item->blob, item->bytes, item->size) != item->blob) {
		diag_error(diag, where, NULL, "its bytes do not uncompress");
		error = -EINVAL;
	} else {
		error = blob_read(bytes, item->blob, where, diag, policy);
	}
	if (error)
		free(bytes);
	return error;
}

static int read_delta(const struct store_item *item, const struct policy *base,
		      const struct where *where, struct diag *diag, struct policy **policy)
{
	struct delta *delta = NULL;
	int error = delta_read(item->bytes, item->size, where, diag, &delta);

	if (!error)
		error = delta_apply(delta, policy_lazy(base), "the policy before it", where, diag,
				    policy);
	delta_free(delta);
	return error;
}

/* Makes the policy of an item from the policy of the item before. */
static int add_item(const struct store_item *item, const struct policy *base, struct diag *diag,
		    struct policy **policy)
{
	char name[STORE_NAME + 32];
	const struct where where = {name, 0};
	int error;

	snprintf(name, sizeof(name), "PolicyGeneration %s", item->name);
	*policy = NULL;
	error = item->parent ? read_delta(item, base, &where, diag, policy)
			     : read_whole(item, &where, diag, policy);
	if (error)
		return error == -ENOMEM ? error : -EBADMSG;
	if ((*policy)->generation == item->generation && (*policy)->checksum == item->checksum)
		return 0;
	diag_error(diag, &where, NULL, "it has another policy than it says");
	policy_free(*policy);
	*policy = NULL;
	return -EBADMSG;
}

int store_chain_policy(struct store_chain *chain, const struct policy *base, struct diag *diag,
		       struct policy **policy)
{
	struct policy *made = NULL;

	for (size_t i = 0; i < chain->n; i++) {
		struct policy *next;
		int error = add_item(&chain->items[i], made ? made : base, diag, &next);

		policy_free(made);
		if (error == -EBADMSG)
			chain->refused = chain->items[i].name;
		if (error)
			return error;
		made = next;
	}
	*policy = made;
	return 0;
}

int store_chain_delta(const struct store_chain *chain, struct delta **delta)
{
	const struct store_item *item = &chain->items[0];
	const struct where where = {item->name, 0};
	struct diag quiet = {0};
	int error;

	if (chain->n != 1 || !item->parent)
		return -ENOENT;
	error = delta_read(item->bytes, item->size, &where, &quiet, delta);
	if (error)
		return error == -ENOMEM ? error : -EBADMSG;
	if ((*delta)->header.base == item->parent && (*delta)->header.checksum == item->checksum &&
	    (*delta)->header.generation == item->generation)
		return 0;
	delta_free(*delta);
	*delta = NULL;
	return -EBADMSG;
}

/* Decodes the text into @item. Returns 0 or -errno. */
static int decode(const char *text, struct store_item *item)
{
	size_t length = strlen(text), capacity = length / 4 * 3 + 3;

	item->bytes = malloc(capacity);
	if (!item->bytes)
		return -ENOMEM;
	return sodium_base642bin(item->bytes, capacity, text, length, NULL, &item->size, NULL,
				 sodium_base64_VARIANT_ORIGINAL)
		       ? -ENOENT
		       : 0;
}

static bool leads(const struct delta_header *header, const struct store_status *status,
		  uint32_t generation, const uint64_t have[2])
{
	return header->generation == generation && generation == status->policy &&
	       header->checksum == status->checksum && header->base &&
	       (header->base == have[0] || header->base == have[1]);
}

int store_status_chain(const struct store_status *status, uint32_t generation,
		       const uint64_t have[2], struct store_chain *chain)
{
	struct store_item *item = calloc(1, sizeof(*item));
	const struct where where = {"PolicyStatus global", 0};
	struct diag quiet = {0};
	struct delta *delta = NULL;
	int error = !item ? -ENOMEM : status->delta ? decode(status->delta, item) : -ENOENT;

	*chain = (struct store_chain){.items = item, .n = !!item};
	if (!error)
		error = delta_read(item->bytes, item->size, &where, &quiet, &delta);
	if (!error && !leads(&delta->header, status, generation, have))
		error = -ENOENT;
	if (!error) {
		item->generation = generation;
		item->checksum = delta->header.checksum;
		item->parent = delta->header.base;
		snprintf(item->name, sizeof(item->name), "g%u", generation);
	}
	delta_free(delta);
	if (!error)
		return 0;
	store_chain_free(chain);
	return error == -ENOMEM ? error : -ENOENT;
}
