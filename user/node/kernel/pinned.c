// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "policy/delta_view.h"
#include "policy/lazy_policy.h"
#include "node/kernel/pins.h"
#include "node/kernel/pinned.h"

#define PINNED "blob"
#define PINNED_NEXT "blob_next"
#define PINNED_BASE "blob_base"

/* A delta of up to so many bytes is pinned, or of up to a sixteenth of the policy, if that is more.
 * After larger changes the policy is pinned whole again. */
#define DELTA_ROOM (256 << 10)

/* Measured with large policies: a higher level takes longer and does not compress better. */
#define COMPRESSION_LEVEL 1

/* Bytes of a base that a node_cache keeps, at most. */
#define CACHE_MAX (4 << 20)

struct node_cache {
	uint64_t checksum; /* of the pin's header, which has the checksum of each block */
	struct lazy_policy *policy; /* the pin's policy; its blob is the content; NULL: none */
	bool *known;
};

struct pinned {
	struct policy_source source;
	const struct node_handle *handle;
	const char *name; /* name of the pin */
	const struct bh_blob *header; /* the whole pin, mapped; NULL: not pinned */
	size_t size;
	const struct bh_blob_block *blocks;
	unsigned char *content; /* the blob and the slots, as far as they have been read */
	bool *known; /* by block: the block has been read */
	size_t n_known;
	ZSTD_DCtx *zstd;
	/* For a policy that is pinned as a delta of another: */
	struct pinned *base;
	struct lazy_policy *base_policy;
	struct delta *delta;
	struct delta_view *view;
	struct where where;
	/* The node's extension of the policy: */
	struct delta *local;
	struct delta_view *local_view;
};

static size_t slots_at(size_t length)
{
	return (length + 7) & ~(size_t)7;
}

static size_t content_size(const struct bh_blob *header)
{
	return slots_at(header->length) + header->segments * sizeof(uint32_t);
}

static size_t blocks_of(size_t size)
{
	return (size + BH_BLOB_BLOCK - 1) / BH_BLOB_BLOCK;
}

/* The header, slots and delta of a policy that is pinned as a delta. */
static size_t delta_at(const struct bh_blob *header)
{
	return slots_at(sizeof(*header) + header->segments * sizeof(uint32_t));
}

static uint64_t header_checksum(const struct bh_blob *header)
{
	const size_t size =
		header->base ? delta_at(header) + header->delta
			     : sizeof(*header) + header->blocks * sizeof(struct bh_blob_block);

	return XXH3_64bits(&header->generation, size - offsetof(struct bh_blob, generation));
}

static int damaged(const struct pinned *pinned)
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

/* Unmaps the pin. Free its policy first. */
static void pinned_close(struct pinned *pinned)
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
	const size_t left = content_size(pinned->header) - from;
	const size_t want = left < BH_BLOB_BLOCK ? left : BH_BLOB_BLOCK;

	return block->at <= pinned->size && block->size <= pinned->size - block->at &&
	       XXH3_64bits(at, block->size) == block->checksum &&
	       ZSTD_decompressDCtx(pinned->zstd, pinned->content + from, want, at, block->size) ==
		       want;
}

static void pinned_need(struct policy_source *source, const void *at, size_t size)
{
	struct pinned *pinned = (struct pinned *)source;
	const size_t total = content_size(pinned->header);
	const size_t from = (const unsigned char *)at - pinned->content;

	if (from > total || size > total - from) {
		source->error = source->error ? source->error : damaged(pinned);
		return;
	}
	for (size_t i = from / BH_BLOB_BLOCK; size && i * BH_BLOB_BLOCK < from + size; i++) {
		if (pinned->known[i])
			continue;
		if (!read_block(pinned, i) && !source->error)
			source->error = damaged(pinned);
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
	if (header->base
		    ? delta_at(header) > pinned->size ||
			      header->delta > pinned->size - delta_at(header)
		    : header->blocks > records || header->blocks != blocks_of(content_size(header)))
		return false;
	return header->checksum == header_checksum(header);
}

/* Maps a pin without reading its policy. */
static int pinned_open(const struct node_handle *handle, const char *name, struct pinned *pinned)
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
	return is_whole(pinned, &info) ? 0 : damaged(pinned);
}

static int view_whole(struct pinned *pinned, struct lazy_policy **policy)
{
	struct where where = {.file = pinned->handle->pin};
	int error;

	pinned->zstd = ZSTD_createDCtx();
	if (pinned->zstd && cache_take(pinned, policy))
		return 0;
	pinned->content = calloc(1, content_size(pinned->header));
	pinned->known = calloc(pinned->header->blocks + 1, sizeof(*pinned->known));
	if (!pinned->content || !pinned->known || !pinned->zstd)
		return node_fail(pinned->handle, -ENOMEM, "cannot read the active policy");
	error = blob_view(pinned->content, pinned->header->length, &pinned->source, &where,
			  pinned->handle->diag, policy);
	if (error)
		free(TAKE_PTR(pinned->content));
	return error == -EINVAL ? damaged(pinned) : error;
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
		error = view_whole(pinned->base, &pinned->base_policy);
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
	memcpy(payload, (const char *)header + delta_at(header), header->delta);
	error = delta_open(payload, header->delta, &pinned->where, pinned->handle->diag,
			   &pinned->delta);
	if (!error)
		error = delta_check_base(pinned->delta, pinned->base_policy, PINNED_BASE,
					 &pinned->where, pinned->handle->diag);
	if (!error)
		error = delta_view_open(pinned->delta, pinned->base_policy, &pinned->where,
					pinned->handle->diag, &pinned->view, policy);
	return error == -EINVAL ? damaged(pinned) : error;
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
		return error == -EINVAL ? damaged(pinned) : error;
	}
	extended->checksum = plain->checksum;
	extended->plain = plain;
	*policy = extended;
	return 0;
}

/* Returns the pin's policy, which is read as far as it is needed. -ESTALE: the pin is a delta whose
 * base is gone, which a reader may see while a load settles the pins. */
static int pinned_view(struct pinned *pinned, struct lazy_policy **policy)
{
	int error = pinned->header->base ? view_change(pinned, policy) : view_whole(pinned, policy);

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
			return error == -EINVAL ? damaged(pinned) : error;
		lazy_policy_free(*policy);
		*policy = &whole->lazy;
		return 0;
	}
	pinned_need(&pinned->source, pinned->content, content_size(pinned->header));
	error = pinned->source.error;
	if (!error && blob_read(pinned->content, pinned->header->length, &where,
				pinned->handle->diag, &whole))
		error = damaged(pinned);
	if (error)
		return error;
	free(*policy);
	*policy = &whole->lazy;
	return 0;
}

static bool is_staged(const struct pinned *next)
{
	return next->header && next->header->generation == BH_BLOB_STAGED;
}

/* Reads and checks the rest of a policy. */
static int pinned_complete(struct pinned *pinned, struct lazy_policy **policy)
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
		return error == -EINVAL ? damaged(pinned) : error;
	}
	whole->checksum = plain->checksum;
	whole->plain = plain;
	lazy_policy_free(*policy);
	*policy = &whole->lazy;
	return 0;
}

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
	if (error || !is_staged(&next))
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

/* Returns the slot of a segment; 0: unknown. */
static uint32_t slot_at(struct pinned *pinned, uint32_t segment)
{
	const uint32_t *slots;

	if (segment >= pinned->header->segments)
		return 0;
	if (pinned->header->base)
		return ((const uint32_t *)(pinned->header + 1))[segment];
	slots = (const void *)(pinned->content + slots_at(pinned->header->length));
	pinned_need(&pinned->source, &slots[segment], sizeof(*slots));
	return slots[segment];
}

void pinned_staged_free(struct pinned_staged *staged)
{
	free(staged->slots);
}

int pinned_read_staged_head(struct node_handle *handle, struct pinned_staged *staged)
{
	CLEANUP(pinned_close) struct pinned next = {};
	struct lazy_policy *policy = NULL;
	int error = pinned_open(handle, PINNED_NEXT, &next);

	*staged = (struct pinned_staged){};
	if (error || !is_staged(&next))
		return error;
	error = pinned_view(&next, &policy);
	if (error)
		return error;
	*staged = (struct pinned_staged){
		.generation = policy->generation,
		.checksum = policy->checksum,
		.flags = next.header->flags,
		.ports_end = next.header->ports_end,
		.slots = calloc(next.header->segments + 1, sizeof(*staged->slots)),
	};
	for (uint32_t i = 0; staged->slots && i < next.header->segments; i++)
		staged->slots[i] = slot_at(&next, i);
	error = lazy_error(policy);
	lazy_policy_free(policy);
	return staged->slots ? error : node_fail(handle, -ENOMEM, "cannot read the staged policy");
}

int pinned_drop_staged(struct node_handle *handle)
{
	CLEANUP(pinned_close) struct pinned next = {};
	int error = pinned_open(handle, PINNED_NEXT, &next);

	return error || !is_staged(&next) ? error : pins_remove(handle, PINNED_NEXT);
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

/* Reads a policy's generation and checksum. Maps the base of a delta only to see that it is there.
 */
static int read_head(struct pinned *pinned, uint32_t *generation, uint64_t *checksum)
{
	const struct delta_header *delta =
		(const void *)((const char *)pinned->header + delta_at(pinned->header));
	struct lazy_policy *policy;
	int error;

	if (pinned->header->base && pinned->header->delta >= sizeof(*delta)) {
		CLEANUP(pinned_close) struct pinned base = {};

		*generation = delta->generation;
		*checksum = delta->checksum;
		error = pinned_open(pinned->handle, PINNED_BASE, &base);
		return error || base.header ? error : damaged(pinned);
	}
	error = view_whole(pinned, &policy);
	if (error)
		return error;
	*generation = policy->generation;
	*checksum = policy->checksum;
	lazy_policy_free(policy);
	return 0;
}

int pinned_read_heads(struct node_handle *handle, struct node_heads *heads)
{
	CLEANUP(pinned_close) struct pinned next = {}, current = {};
	struct pinned *active = NULL;
	int error = 0;

	if (!node_generation(handle))
		return 0;
	error = pinned_open(handle, PINNED_NEXT, &next);
	if (!error)
		error = pinned_open(handle, PINNED, &current);
	if (!error)
		active = pinned_of(node_generation(handle), &next, &current);
	if (active)
		error = read_head(active, &heads->active, &heads->active_checksum);
	if (active && !error && is_staged(&next))
		error = read_head(&next, &heads->staged, &heads->staged_checksum);
	return error;
}

/* A reader has no lock: a load may flip or settle the pins between two of its steps. */
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
	diag_error(handle->diag, NULL, NULL,
		   "%s: the active policy is not there: to start anew, unload and load",
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
	return handle->pinned ? slot_at(handle->pinned, segment) : 0;
}

/* Makes the map with BTF, so that bpftool prints named fields. */
static int create_store(struct node_handle *handle, size_t pages)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct btf *btf = btf__new_empty();
	int index, byte, bytes, fd = -1;

	if (!btf)
		return node_fail(handle, -errno, "cannot describe the map bh_blob");
	index = btf__add_int(btf, "unsigned int", sizeof(__u32), 0);
	byte = btf__add_int(btf, "unsigned char", 1, 0);
	bytes = btf__add_array(btf, index, byte, BH_BLOB_PAGE);
	options.btf_key_type_id = index;
	options.btf_value_type_id = btf__add_struct(btf, "bh_blob_page", BH_BLOB_PAGE);
	if (!btf__add_field(btf, "bytes", bytes, 0, 0) && !btf__load_into_kernel(btf)) {
		options.btf_fd = btf__fd(btf);
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bh_blob", sizeof(__u32), BH_BLOB_PAGE,
				    pages, &options);
	}
	if (fd < 0)
		fd = node_fail(handle, -errno, "cannot create the map bh_blob of %zu pages", pages);
	btf__free(btf);
	return fd;
}

/* The content of a stored policy before compression. */
struct content {
	unsigned char *bytes;
	size_t size;
};

static void content_free(struct content *content)
{
	free(content->bytes);
}

static int make_content(const struct bh_blob *header, const void *blob, const uint32_t *slots,
			struct content *content)
{
	content->size = content_size(header);
	content->bytes = calloc(1, content->size);
	if (!content->bytes)
		return -ENOMEM;
	memcpy(content->bytes, blob, header->length);
	memcpy(content->bytes + slots_at(header->length), slots, header->segments * sizeof(*slots));
	return 0;
}

/* Prints the name of the user who logged in, which sudo does not change; else of the process's.
 * Reads only the file: a directory service may not answer. */
static void print_user(char *text, size_t size)
{
	FILE *login = fopen("/proc/self/loginuid", "re"), *users = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;
	unsigned int uid;

	if (!login || fscanf(login, "%u", &uid) != 1 || uid == UINT32_MAX)
		uid = getuid();
	do
		user = users ? fgetpwent(users) : NULL;
	while (user && user->pw_uid != uid);
	if (user)
		snprintf(text, size, "%s", user->pw_name);
	else
		snprintf(text, size, "user %u", uid);
	if (login)
		fclose(login);
	if (users)
		fclose(users);
}

/* Returns the header with the time and the author of the policy, unless the header has them. */
static struct bh_blob stamped(const struct node_handle *handle, const struct bh_blob *given)
{
	struct bh_blob header = *given;
	char user[33];

	if (header.loaded)
		return header;
	header.loaded = time(NULL);
	print_user(user, sizeof(user));
	memset(header.by, 0, sizeof(header.by));
	snprintf(header.by, sizeof(header.by), "%s with %s", user,
		 handle->options->command ? handle->options->command : "bulkhead");
	return header;
}

/* Makes the header, records and blocks of the pages. */
static int compress(const struct bh_blob *given, const struct content *content,
		    struct content *packed)
{
	const size_t blocks = blocks_of(content->size);
	struct bh_blob *header;
	struct bh_blob_block *block;
	size_t size;

	packed->size = sizeof(*header) + blocks * sizeof(*block);
	packed->bytes = calloc(1, packed->size + blocks * ZSTD_compressBound(BH_BLOB_BLOCK));
	if (!packed->bytes)
		return -ENOMEM;
	header = (struct bh_blob *)packed->bytes;
	*header = *given;
	header->blocks = blocks;
	block = (struct bh_blob_block *)(header + 1);
	for (size_t at = 0; at < content->size; at += BH_BLOB_BLOCK, block++) {
		size_t left = content->size - at;

		block->at = packed->size;
		size = ZSTD_compress(packed->bytes + block->at, ZSTD_compressBound(BH_BLOB_BLOCK),
				     content->bytes + at,
				     left < BH_BLOB_BLOCK ? left : BH_BLOB_BLOCK,
				     COMPRESSION_LEVEL);
		if (ZSTD_isError(size))
			return -ENOMEM;
		block->size = size;
		block->checksum = XXH3_64bits(packed->bytes + block->at, size);
		packed->size += size;
	}
	return 0;
}

static int pin_store(struct node_handle *handle, const struct content *packed)
{
	const size_t pages = (packed->size + BH_BLOB_PAGE - 1) / BH_BLOB_PAGE;
	SCOPED_FD int fd = create_store(handle, pages);
	char path[PATH_MAX];
	void *at;
	int error;

	if (fd < 0)
		return fd;
	at = mmap(NULL, pages * BH_BLOB_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return node_fail(handle, -errno, "cannot map bh_blob");
	memcpy(at, packed->bytes, packed->size);
	munmap(at, pages * BH_BLOB_PAGE);
	error = pins_remove(handle, PINNED_NEXT);
	if (error)
		return error;
	if (bpf_obj_pin(fd, pins_path(handle, PINNED_NEXT, path)))
		return node_fail(handle, -errno, "cannot pin %s", path);
	handle->writes++;
	return 0;
}

/* Appends the node's extension to the pages, and completes the header. @local NULL: there is
 * none. */
static int finish_pages(struct content *packed, const struct delta *local)
{
	const size_t at = slots_at(packed->size);
	struct bh_blob *header;

	if (local) {
		unsigned char *bytes = realloc(packed->bytes, at + local->size);

		if (!bytes)
			return -ENOMEM;
		memset(bytes + packed->size, 0, at - packed->size);
		memcpy(bytes + at, local->payload, local->size);
		packed->bytes = bytes;
		packed->size = at + local->size;
	}
	header = (struct bh_blob *)packed->bytes;
	header->local = local ? local->size : 0;
	header->local_at = local ? at : 0;
	header->local_checksum = local ? XXH3_64bits(local->payload, local->size) : 0;
	header->checksum = header_checksum(header);
	return 0;
}

const struct delta *pinned_local(const struct node_handle *handle)
{
	return handle->pinned ? handle->pinned->local : NULL;
}

bool pinned_has_local(const struct node_handle *handle, const struct delta *local)
{
	const uint64_t size = local ? local->size : 0;

	return handle->blob.local == size &&
	       (!size || handle->blob.local_checksum == XXH3_64bits(local->payload, size));
}

int pinned_write(struct node_handle *handle, const struct bh_blob *header, const void *blob,
		 const struct delta *local, const uint32_t *slots)
{
	CLEANUP(content_free) struct content content = {}, packed = {};
	const struct bh_blob stamp = stamped(handle, header);
	int error = make_content(header, blob, slots, &content);

	if (!error)
		error = compress(&stamp, &content, &packed);
	if (!error)
		error = finish_pages(&packed, local);
	return error ? node_fail(handle, error, "cannot lay out the policy")
		     : pin_store(handle, &packed);
}

/* Pins the whole policy active as the base of deltas. If the active policy is a delta itself, its
 * base stays. */
static int keep_base(struct node_handle *handle)
{
	char path[PATH_MAX];
	SCOPED_FD int fd = -1;
	int error;

	if (handle->blob.base)
		return 0;
	fd = pins_get(handle, handle->pinned->name);
	if (fd < 0)
		return node_fail(handle, fd, "cannot open %s/%s", handle->pin,
				 handle->pinned->name);
	error = pins_remove(handle, PINNED_BASE);
	if (!error && bpf_obj_pin(fd, pins_path(handle, PINNED_BASE, path)))
		error = node_fail(handle, -errno, "cannot pin %s", path);
	return error;
}

/* Joins the pinned delta and @delta, since only one delta from a base is pinned. @delta NULL: the
 * policy stays. */
static int add_delta(const struct node_handle *handle, const struct delta *delta,
		     struct content *payload)
{
	const struct delta *only = handle->blob.base ? handle->pinned->delta : delta;
	void *bytes;
	int error = 0;

	if (handle->blob.base && delta)
		error = delta_compose(handle->pinned->delta, delta, &bytes, &payload->size);
	else
		bytes = malloc(payload->size = only->size);
	if (error || !bytes)
		return -ENOMEM;
	if (!handle->blob.base || !delta)
		memcpy(bytes, only->payload, only->size);
	payload->bytes = bytes;
	return 0;
}

/* Makes the header, slots and delta of the pages. */
static int lay_out_change(const struct node_handle *handle, const struct bh_blob *given,
			  const struct delta *delta, const uint32_t *slots, struct content *packed)
{
	CLEANUP(content_free) struct content payload = {};
	struct bh_blob header = stamped(handle, given);
	int error = add_delta(handle, delta, &payload);

	if (error)
		return error;
	header.base = handle->blob.base ? handle->blob.base : handle->policy->checksum;
	header.delta = payload.size;
	packed->size = delta_at(&header) + payload.size;
	packed->bytes = calloc(1, packed->size);
	if (!packed->bytes)
		return -ENOMEM;
	memcpy(packed->bytes, &header, sizeof(header));
	memcpy(packed->bytes + sizeof(header), slots, header.segments * sizeof(*slots));
	memcpy(packed->bytes + delta_at(&header), payload.bytes, payload.size);
	return 0;
}

bool pinned_takes_delta(const struct node_handle *handle, const struct delta *delta)
{
	const uint64_t capacity = handle->blob.length / 16;

	return handle->blob.delta + delta->size <= (capacity > DELTA_ROOM ? capacity : DELTA_ROOM);
}

int pinned_write_delta(struct node_handle *handle, const struct bh_blob *header,
		       const struct delta *delta, const struct delta *local, const uint32_t *slots)
{
	CLEANUP(content_free) struct content packed = {};
	int error = lay_out_change(handle, header, delta, slots, &packed);

	if (!error)
		error = finish_pages(&packed, local);
	if (error)
		return node_fail(handle, error, "cannot lay out the policy");
	error = keep_base(handle);
	return error ? error : pin_store(handle, &packed);
}

/* Removes the base if the pinned policy is no delta. */
static int drop_base(struct node_handle *handle)
{
	CLEANUP(pinned_close) struct pinned current = {};
	int error = pinned_open(handle, PINNED, &current);

	return error || (current.header && current.header->base) ? error
								 : pins_remove(handle, PINNED_BASE);
}

int pinned_finish(struct node_handle *handle)
{
	char from[PATH_MAX], to[PATH_MAX];
	CLEANUP(pinned_close) struct pinned next = {};
	int error = pinned_open(handle, PINNED_NEXT, &next);

	if (!error && !next.header)
		return drop_base(handle);
	if (error || is_staged(&next))
		return error;
	if (next.header->generation > node_generation(handle)) {
		error = pins_remove(handle, PINNED_NEXT);
		return error ? error : drop_base(handle);
	}
	if (rename(pins_path(handle, PINNED_NEXT, from), pins_path(handle, PINNED, to)))
		return node_fail(handle, -errno, "cannot rename %s", from);
	return drop_base(handle);
}
