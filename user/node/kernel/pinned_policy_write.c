// SPDX-License-Identifier: GPL-2.0-only
/* Pins a policy: whole, in compressed blocks, or as a delta from a whole one that stays pinned. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy_view.h"

/* Measured with large policies: a higher level takes longer and does not compress better. */
#define COMPRESSION_LEVEL 1

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

/* The bytes of a policy that is to be pinned. */
struct content {
	unsigned char *bytes;
	size_t size;
};

static void content_free(struct content *content)
{
	free(content->bytes);
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

static void free_context(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

/* Returns @n bytes of the content, the blob and the slots, from @at on. Most blocks are the blob's
 * as they lie; the others are put together in @room. */
static const void *content_at(const struct bh_blob *header, const unsigned char *blob,
			      const uint32_t *slots, size_t at, size_t n, unsigned char *room)
{
	const size_t slots_at = pinned_slots_at(header->length), end = at + n;
	const size_t from = at > slots_at ? at : slots_at;

	if (end <= header->length)
		return blob + at;
	memset(room, 0, n);
	if (at < header->length)
		memcpy(room, blob + at, header->length - at);
	if (from < end)
		memcpy(room + from - at, (const unsigned char *)slots + from - slots_at,
		       end - from);
	return room;
}

/* Makes the header, records and blocks of the pages. */
static int compress(const struct bh_blob *given, const void *blob, const uint32_t *slots,
		    struct content *packed)
{
	const size_t total = pinned_content_size(given), blocks = pinned_blocks(total);
	const size_t bound = ZSTD_compressBound(BH_BLOB_BLOCK);
	unsigned char room[BH_BLOB_BLOCK];
	CLEANUP(free_context) ZSTD_CCtx *context = ZSTD_createCCtx();
	struct bh_blob *header;
	struct bh_blob_block *block;
	size_t size;

	packed->size = sizeof(*header) + blocks * sizeof(*block);
	packed->bytes = malloc(packed->size + blocks * bound);
	if (!packed->bytes || !context)
		return -ENOMEM;
	memset(packed->bytes, 0, packed->size);
	header = (struct bh_blob *)packed->bytes;
	*header = *given;
	header->blocks = blocks;
	block = (struct bh_blob_block *)(header + 1);
	for (size_t at = 0; at < total; at += BH_BLOB_BLOCK, block++) {
		const size_t n = total - at < BH_BLOB_BLOCK ? total - at : BH_BLOB_BLOCK;

		block->at = packed->size;
		size = ZSTD_compressCCtx(context, packed->bytes + block->at, bound,
					 content_at(given, blob, slots, at, n, room), n,
					 COMPRESSION_LEVEL);
		if (ZSTD_isError(size))
			return -ENOMEM;
		block->size = size;
		block->checksum = XXH3_64bits(packed->bytes + block->at, size);
		packed->size += size;
	}
	return 0;
}

/* Writes the pages by bpf(2): most pins have few, and to map and unmap the array costs more. */
static int fill_store(int fd, const struct content *packed, uint32_t pages)
{
	SCOPED_FREE uint32_t *keys = calloc(pages, sizeof(*keys));
	SCOPED_FREE unsigned char *values = calloc(pages, BH_BLOB_PAGE);

	if (!keys || !values)
		return -ENOMEM;
	for (uint32_t i = 0; i < pages; i++)
		keys[i] = i;
	memcpy(values, packed->bytes, packed->size);
	return bpf_map_update_batch(fd, keys, values, &pages, NULL) ? -errno : 0;
}

static int pin_store(struct node_handle *handle, const struct content *packed)
{
	const size_t pages = (packed->size + BH_BLOB_PAGE - 1) / BH_BLOB_PAGE;
	SCOPED_FD int fd = create_store(handle, pages);
	char path[PATH_MAX];
	int error;

	if (fd < 0)
		return fd;
	error = fill_store(fd, packed, pages);
	if (error)
		return node_fail(handle, error, "cannot write bh_blob");
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
	const size_t at = pinned_slots_at(packed->size);
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
	header->checksum = pinned_checksum(header);
	return 0;
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
	CLEANUP(content_free) struct content packed = {};
	const struct bh_blob stamp = stamped(handle, header);
	int error = compress(&stamp, blob, slots, &packed);

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
	packed->size = pinned_delta_at(&header) + payload.size;
	packed->bytes = calloc(1, packed->size);
	if (!packed->bytes)
		return -ENOMEM;
	memcpy(packed->bytes, &header, sizeof(header));
	memcpy(packed->bytes + sizeof(header), slots, header.segments * sizeof(*slots));
	memcpy(packed->bytes + pinned_delta_at(&header), payload.bytes, payload.size);
	return 0;
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
	if (error || pinned_is_staged(&next))
		return error;
	if (next.header->generation > node_generation(handle)) {
		error = pins_remove(handle, PINNED_NEXT);
		return error ? error : drop_base(handle);
	}
	if (rename(pins_path(handle, PINNED_NEXT, from), pins_path(handle, PINNED, to)))
		return node_fail(handle, -errno, "cannot rename %s", from);
	return drop_base(handle);
}
