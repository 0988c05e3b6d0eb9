// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy_view.h"

/* Bytes of a base that a node_cache keeps, at most. */
#define CACHE_MAX (4 << 20)

struct node_cache {
	uint64_t checksum; /* of the pin's header, which has the checksum of each block */
	struct lazy_policy *policy; /* the pin's policy; its blob is the content; NULL: none */
	bool *known;
};

size_t pinned_slots_at(size_t length)
{
	return (length + 7) & ~(size_t)7;
}

size_t pinned_content_size(const struct bh_blob *header)
{
	return pinned_slots_at(header->length) + header->segments * sizeof(uint32_t);
}

size_t pinned_blocks(size_t size)
{
	return (size + BH_BLOB_BLOCK - 1) / BH_BLOB_BLOCK;
}

size_t pinned_delta_at(const struct bh_blob *header)
{
	return pinned_slots_at(sizeof(*header) + header->segments * sizeof(uint32_t));
}

uint64_t pinned_checksum(const struct bh_blob *header)
{
	const size_t size =
		header->base ? pinned_delta_at(header) + header->delta
			     : sizeof(*header) + header->blocks * sizeof(struct bh_blob_block);

	return XXH3_64bits(&header->generation, size - offsetof(struct bh_blob, generation));
}

int pinned_damaged(const struct pinned *pinned)
{
	diag_error(pinned->handle->diag, NULL, NULL,
		   "%s/%s is damaged: to start anew, unload and load", pinned->handle->pin,
		   pinned->name);
	return -EILSEQ;
}

static void cache_clear(struct node_cache *cache)
{
	lazy_policy_free(cache->policy);
	free(cache->known);
	*cache = (struct node_cache){};
}

struct node_cache *node_cache_new(void)
{
	return calloc(1, sizeof(struct node_cache));
}

void node_cache_free(struct node_cache *cache)
{
	if (cache)
		cache_clear(cache);
	free(cache);
}

/* Gives the cache what was read of a base, or frees it. */
static void release_base(struct pinned *base, struct lazy_policy *policy)
{
	struct node_cache *cache = base && base->handle ? base->handle->options->cache : NULL;

	if (!cache || !policy || base->source.error || base->n_known > CACHE_MAX / BH_BLOB_BLOCK) {
		lazy_policy_free(policy);
		return;
	}
	cache_clear(cache);
	*cache = (struct node_cache){.checksum = base->header->checksum, .policy = policy};
	cache->known = TAKE_PTR(base->known);
}

/* Takes from the cache what was read of the same base before. Returns false if that is nothing. */
static bool cache_take(struct pinned *base, struct lazy_policy **policy)
{
	struct node_cache *cache = base->handle->options->cache;

	if (!cache || !cache->policy || cache->checksum != base->header->checksum)
		return false;
	*policy = TAKE_PTR(cache->policy);
	base->known = TAKE_PTR(cache->known);
	base->content = (*policy)->blob;
	(*policy)->source = &base->source;
	for (size_t i = 0; i < base->header->blocks; i++)
		base->n_known += base->known[i];
	return true;
}

void pinned_close(struct pinned *pinned)
{
	delta_view_close(pinned->local_view);
	delta_free(pinned->local);
	delta_view_close(pinned->view);
	delta_free(pinned->delta);
	release_base(pinned->base, pinned->base_policy);
	pinned_free(pinned->base);
	if (pinned->header)
		munmap((void *)pinned->header, pinned->size);
	ZSTD_freeDCtx(pinned->zstd);
	free(pinned->known);
	*pinned = (struct pinned){};
}

void pinned_free(struct pinned *pinned)
{
	if (pinned)
		pinned_close(pinned);
	free(pinned);
}

static bool read_block(struct pinned *pinned, size_t number)
{
	const struct bh_blob_block *block = &pinned->blocks[number];
	const unsigned char *at = (const unsigned char *)pinned->header + block->at;
	const size_t from = number * BH_BLOB_BLOCK;
	const size_t left = pinned_content_size(pinned->header) - from;
	const size_t want = left < BH_BLOB_BLOCK ? left : BH_BLOB_BLOCK;

	return block->at <= pinned->size && block->size <= pinned->size - block->at &&
	       XXH3_64bits(at, block->size) == block->checksum &&
	       ZSTD_decompressDCtx(pinned->zstd, pinned->content + from, want, at, block->size) ==
		       want;
}

static void pinned_need(struct policy_source *source, const void *at, size_t size)
{
	struct pinned *pinned = (struct pinned *)source;
	const size_t total = pinned_content_size(pinned->header);
	const size_t from = (const unsigned char *)at - pinned->content;

	if (from > total || size > total - from) {
		source->error = source->error ? source->error : pinned_damaged(pinned);
		return;
	}
	for (size_t i = from / BH_BLOB_BLOCK; size && i * BH_BLOB_BLOCK < from + size; i++) {
		if (pinned->known[i])
			continue;
		if (!read_block(pinned, i) && !source->error)
			source->error = pinned_damaged(pinned);
		pinned->known[i] = true;
		pinned->n_known++;
	}
}

static bool is_whole(const struct pinned *pinned, const struct bpf_map_info *info)
{
	const struct bh_blob *header = pinned->header;
	const size_t records = (pinned->size - sizeof(*header)) / sizeof(*pinned->blocks);

	if (info->value_size != BH_BLOB_PAGE || header->length > SIZE_MAX / 2)
		return false;
	if (header->base ? pinned_delta_at(header) > pinned->size ||
				   header->delta > pinned->size - pinned_delta_at(header)
			 : header->blocks > records ||
				   header->blocks != pinned_blocks(pinned_content_size(header)))
		return false;
	return header->checksum == pinned_checksum(header);
}

int pinned_open(const struct node_handle *handle, const char *name, struct pinned *pinned)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = pins_get(handle, name);
	void *at;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return node_fail(handle, fd, "cannot open %s/%s", handle->pin, name);
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return node_fail(handle, -errno, "cannot read %s/%s", handle->pin, name);
	*pinned = (struct pinned){.source.need = pinned_need, .handle = handle, .name = name};
	pinned->size = (size_t)info.max_entries * info.value_size;
	at = mmap(NULL, pinned->size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return node_fail(handle, -errno, "cannot map %s/%s", handle->pin, name);
	pinned->header = at;
	pinned->blocks = (const void *)(pinned->header + 1);
	return is_whole(pinned, &info) ? 0 : pinned_damaged(pinned);
}

int pinned_view_whole(struct pinned *pinned, struct lazy_policy **policy)
{
	struct where where = {.file = pinned->handle->pin};
	int error;

	pinned->zstd = ZSTD_createDCtx();
	if (pinned->zstd && cache_take(pinned, policy))
		return 0;
	pinned->content = calloc(1, pinned_content_size(pinned->header));
	pinned->known = calloc(pinned->header->blocks + 1, sizeof(*pinned->known));
	if (!pinned->content || !pinned->known || !pinned->zstd)
		return node_fail(pinned->handle, -ENOMEM, "cannot read the active policy");
	error = blob_view(pinned->content, pinned->header->length, &pinned->source, &where,
			  pinned->handle->diag, policy);
	if (error)
		free(TAKE_PTR(pinned->content));
	return error == -EINVAL ? pinned_damaged(pinned) : error;
}

/* Returns 0; -ESTALE: it is not there (any more), not reported; or another -errno, reported. */
static int open_base(struct pinned *pinned)
{
	int error;

	pinned->base = calloc(1, sizeof(*pinned->base));
	if (!pinned->base)
		return node_fail(pinned->handle, -ENOMEM, "cannot read the active policy");
	error = pinned_open(pinned->handle, PINNED_BASE, pinned->base);
	if (!error && (!pinned->base->header || pinned->base->header->base))
		error = -ESTALE;
	if (!error)
		error = pinned_view_whole(pinned->base, &pinned->base_policy);
	if (!error && pinned->base_policy->checksum != pinned->header->base)
		error = -ESTALE;
	return error;
}

static int view_change(struct pinned *pinned, struct lazy_policy **policy)
{
	const struct bh_blob *header = pinned->header;
	void *payload;
	int error = open_base(pinned);

	if (error)
		return error;
	pinned->where.file = pinned->handle->pin;
	payload = malloc(header->delta);
	if (!payload)
		return node_fail(pinned->handle, -ENOMEM, "cannot read the active policy");
	memcpy(payload, (const char *)header + pinned_delta_at(header), header->delta);
	error = delta_open(payload, header->delta, &pinned->where, pinned->handle->diag,
			   &pinned->delta);
	if (!error)
		error = delta_check_base(pinned->delta, pinned->base_policy, PINNED_BASE,
					 &pinned->where, pinned->handle->diag);
	if (!error)
		error = delta_view_open(pinned->delta, pinned->base_policy, &pinned->where,
					pinned->handle->diag, &pinned->view, policy);
	return error == -EINVAL ? pinned_damaged(pinned) : error;
}

static int read_local(struct pinned *pinned)
{
	const struct bh_blob *header = pinned->header;
	const unsigned char *at = (const unsigned char *)header + header->local_at;
	void *payload;

	if (header->local_at > pinned->size || header->local > pinned->size - header->local_at ||
	    XXH3_64bits(at, header->local) != header->local_checksum)
		return -EINVAL;
	payload = malloc(header->local);
	if (!payload)
		return node_fail(pinned->handle, -ENOMEM, "cannot read the active policy");
	memcpy(payload, at, header->local);
	return delta_open(payload, header->local, &pinned->where, pinned->handle->diag,
			  &pinned->local);
}

/* Sets *@policy to the policy with the node's extension. Both have the same checksum, so that
 * comparisons take them for the same policy. */
static int view_local(struct pinned *pinned, struct lazy_policy **policy)
{
	struct lazy_policy *plain = *policy, *extended;
	int error;

	pinned->where.file = pinned->handle->pin;
	error = read_local(pinned);
	if (!error)
		error = delta_check_base(pinned->local, plain, pinned->name, &pinned->where,
					 pinned->handle->diag);
	if (!error)
		error = delta_view_open(pinned->local, plain, &pinned->where, pinned->handle->diag,
					&pinned->local_view, &extended);
	if (error) {
		lazy_policy_free(plain);
		return error == -EINVAL ? pinned_damaged(pinned) : error;
	}
	extended->checksum = plain->checksum;
	extended->plain = plain;
	*policy = extended;
	return 0;
}

int pinned_view(struct pinned *pinned, struct lazy_policy **policy)
{
	int error = pinned->header->base ? view_change(pinned, policy)
					 : pinned_view_whole(pinned, policy);

	return error || !pinned->header->local ? error : view_local(pinned, policy);
}

/* Reads and checks the rest of a policy, without the node's extension. */
static int complete_plain(struct pinned *pinned, struct lazy_policy **policy)
{
	struct where where = {.file = pinned->handle->pin};
	struct policy *whole;
	int error;

	if (pinned->delta) {
		error = delta_apply(pinned->delta, pinned->base_policy, PINNED_BASE, &where,
				    pinned->handle->diag, &whole);
		if (error)
			return error == -EINVAL ? pinned_damaged(pinned) : error;
		lazy_policy_free(*policy);
		*policy = &whole->lazy;
		return 0;
	}
	pinned_need(&pinned->source, pinned->content, pinned_content_size(pinned->header));
	error = pinned->source.error;
	if (!error && blob_read(pinned->content, pinned->header->length, &where,
				pinned->handle->diag, &whole))
		error = pinned_damaged(pinned);
	if (error)
		return error;
	free(*policy);
	*policy = &whole->lazy;
	return 0;
}

bool pinned_is_staged(const struct pinned *next)
{
	return next->header && next->header->generation == BH_BLOB_STAGED;
}

int pinned_complete(struct pinned *pinned, struct lazy_policy **policy)
{
	struct where where = {.file = pinned->handle->pin};
	struct lazy_policy *plain;
	struct policy *whole;
	int error;

	if (!pinned->local)
		return complete_plain(pinned, policy);
	plain = TAKE_PTR((*policy)->plain);
	error = complete_plain(pinned, &plain);
	if (!error)
		error = delta_apply(pinned->local, plain, pinned->name, &where,
				    pinned->handle->diag, &whole);
	if (error) {
		(*policy)->plain = plain;
		return error == -EINVAL ? pinned_damaged(pinned) : error;
	}
	whole->checksum = plain->checksum;
	whole->plain = plain;
	lazy_policy_free(*policy);
	*policy = &whole->lazy;
	return 0;
}

uint32_t pinned_slot_at(struct pinned *pinned, uint32_t segment)
{
	const uint32_t *slots;

	if (segment >= pinned->header->segments)
		return 0;
	if (pinned->header->base)
		return ((const uint32_t *)(pinned->header + 1))[segment];
	slots = (const void *)(pinned->content + pinned_slots_at(pinned->header->length));
	pinned_need(&pinned->source, &slots[segment], sizeof(*slots));
	return slots[segment];
}
