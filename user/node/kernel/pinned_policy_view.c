// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy_view.h"
#include "node/kernel/table.h"

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
	diag_error(pinned->handle->diag, NULL, NULL, "%s/%s is damaged; " NODE_ANEW,
		   pinned->handle->pin, pinned->name);
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
	if (pinned->pages)
		munmap((void *)pinned->pages, pinned->size);
	if (pinned->header)
		close(pinned->fd);
	free(pinned->header);
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

/* Returns @n bytes of the pin from @at on. Maps the pin if it has not read them. Returns NULL if
 * the pin is not that large, or cannot be mapped. */
static const unsigned char *bytes_at(struct pinned *pinned, size_t at, size_t n)
{
	void *pages;

	if (at > pinned->size || n > pinned->size - at)
		return NULL;
	if (at + n <= pinned->n_read)
		return (const unsigned char *)pinned->header + at;
	if (!pinned->pages) {
		pages = mmap(NULL, pinned->size, PROT_READ, MAP_SHARED, pinned->fd, 0);
		if (pages == MAP_FAILED)
			return NULL;
		pinned->pages = pages;
	}
	return pinned->pages + at;
}

static bool read_block(struct pinned *pinned, size_t number)
{
	const struct bh_blob_block *block = &pinned->blocks[number];
	const unsigned char *at = bytes_at(pinned, block->at, block->size);
	const size_t from = number * BH_BLOB_BLOCK;
	const size_t left = pinned_content_size(pinned->header) - from;
	const size_t want = left < BH_BLOB_BLOCK ? left : BH_BLOB_BLOCK;

	return at && XXH3_64bits(at, block->size) == block->checksum &&
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

/* Returns the bytes of the pin to read at once: those that the header's checksum covers, and in a
 * delta's pin the node's extension; 0: the header is damaged. */
static size_t size_to_read(const struct bh_blob *header, size_t size)
{
	const size_t delta_at = pinned_delta_at(header);
	const size_t records = (size - sizeof(*header)) / sizeof(struct bh_blob_block);

	if (header->length > SIZE_MAX / 2)
		return 0;
	if (!header->base)
		return header->blocks <= records &&
				       header->blocks == pinned_blocks(pinned_content_size(header))
			       ? sizeof(*header) + header->blocks * sizeof(struct bh_blob_block)
			       : 0;
	if (delta_at > size || header->delta > size - delta_at || header->local_at > size ||
	    header->local > size - header->local_at)
		return 0;
	return header->local ? header->local_at + header->local : delta_at + header->delta;
}

/* Reads the first @n bytes of the pin, in whole pages. */
static int read_pages(struct pinned *pinned, size_t n)
{
	const size_t pages = (n + BH_BLOB_PAGE - 1) / BH_BLOB_PAGE;
	void *bytes = realloc(pinned->header, pages * BH_BLOB_PAGE);

	if (!bytes)
		return -ENOMEM;
	pinned->header = bytes;
	pinned->n_read = pages * BH_BLOB_PAGE;
	return table_read_range(pinned->fd, 0, pages, BH_BLOB_PAGE, bytes);
}

static int read_header(struct pinned *pinned)
{
	int error = read_pages(pinned, sizeof(*pinned->header));
	size_t n = 0;

	if (!error)
		n = size_to_read(pinned->header, pinned->size);
	if (!error && n > pinned->n_read)
		error = read_pages(pinned, n);
	if (error)
		return node_fail(pinned->handle, error, "cannot read %s/%s", pinned->handle->pin,
				 pinned->name);
	if (!n || pinned->header->checksum != pinned_checksum(pinned->header))
		return pinned_damaged(pinned);
	pinned->blocks = (const void *)(pinned->header + 1);
	return 0;
}

int pinned_open(const struct node_handle *handle, const char *name, struct pinned *pinned)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = pins_get(handle, name);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return node_fail(handle, fd, "cannot open %s/%s", handle->pin, name);
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return node_fail(handle, -errno, "cannot read %s/%s", handle->pin, name);
	*pinned = (struct pinned){.source.need = pinned_need, .handle = handle, .name = name};
	if (info.value_size != BH_BLOB_PAGE)
		return pinned_damaged(pinned);
	pinned->size = (size_t)info.max_entries * info.value_size;
	pinned->header = malloc(BH_BLOB_PAGE);
	if (!pinned->header)
		return node_fail(handle, -ENOMEM, "cannot read %s/%s", handle->pin, name);
	pinned->fd = TAKE_FD(fd);
	return read_header(pinned);
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
	const unsigned char *at = bytes_at(pinned, header->local_at, header->local);
	void *payload;

	if (!at || XXH3_64bits(at, header->local) != header->local_checksum)
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
