// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "compile/blob.h"
#include "node/pins.h"
#include "node/store.h"

#define STORE "blob"
#define STORE_NEXT "blob_next"

struct stored {
	const struct bh_blob *header; /* mapped; NULL: not pinned */
	size_t size;
};

static void stored_free(struct stored *stored)
{
	if (stored->header)
		munmap((void *)stored->header, stored->size);
}

static int open_stored(const struct host *host, const char *name, struct stored *stored)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = pins_get(host, name);
	void *at;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return node_fail(host, fd, "cannot open %s/%s", host->pin, name);
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return node_fail(host, -errno, "cannot read %s/%s", host->pin, name);
	stored->size = (size_t)info.max_entries * info.value_size;
	at = mmap(NULL, stored->size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return node_fail(host, -errno, "cannot map %s/%s", host->pin, name);
	stored->header = at;
	if (info.value_size != BH_BLOB_PAGE ||
	    stored->header->length > stored->size - sizeof(struct bh_blob)) {
		diag_error(host->diag, NULL, NULL,
			   "%s/%s is damaged: to start anew, unload and load", host->pin, name);
		return -EILSEQ;
	}
	return 0;
}

static int read_policy(struct host *host, const struct stored *stored, struct policy **read)
{
	struct where where = {.file = host->pin};
	SCOPED_FREE void *bytes = malloc(stored->header->length + 1);
	struct policy *policy;

	if (!bytes)
		return node_fail(host, -ENOMEM, "cannot read the policy in force");
	memcpy(bytes, stored->header + 1, stored->header->length);
	if (blob_read(bytes, stored->header->length, &where, host->diag, &policy)) {
		diag_error(host->diag, &where, NULL,
			   "the policy in force is damaged: to start anew, unload and load");
		return -EILSEQ;
	}
	(void)TAKE_PTR(bytes);
	*read = policy;
	return 0;
}

static int take_policy(struct host *host, const struct stored *stored)
{
	struct policy *policy;
	int error = read_policy(host, stored, &policy);

	if (error)
		return error;
	policy_free(host->policy);
	host->policy = policy;
	host->blob = *stored->header;
	return 0;
}

static bool is_staged(const struct stored *next)
{
	return next->header && next->header->generation == BH_BLOB_STAGED;
}

int store_read_headers(struct host *host, struct bh_blob *next, struct bh_blob *current)
{
	CLEANUP(stored_free) struct stored first = {}, second = {};
	int error = open_stored(host, STORE_NEXT, &first);

	if (!error)
		error = open_stored(host, STORE, &second);
	*next = first.header ? *first.header : (struct bh_blob){};
	*current = second.header ? *second.header : (struct bh_blob){};
	return error;
}

int store_read_staged(struct host *host, struct bh_blob *header, struct policy **policy)
{
	CLEANUP(stored_free) struct stored next = {};
	int error = open_stored(host, STORE_NEXT, &next);

	*policy = NULL;
	if (error || !is_staged(&next))
		return error;
	*header = *next.header;
	return read_policy(host, &next, policy);
}

int store_drop_staged(struct host *host)
{
	CLEANUP(stored_free) struct stored next = {};
	int error = open_stored(host, STORE_NEXT, &next);

	return error || !is_staged(&next) ? error : pins_remove(host, STORE_NEXT);
}

/* A reader has no lock: between two of its steps, a load may flip or settle the pins. */
#define READ_TRIES 1000

int store_read(struct host *host)
{
	for (int tries = 0; tries < READ_TRIES; tries++) {
		uint32_t generation = node_generation(host);
		CLEANUP(stored_free) struct stored next = {}, current = {};
		const struct stored *best = NULL;
		int error = 0;

		if (!generation)
			return 0;
		/* This order: what is settled meanwhile is found under its second name. */
		error = open_stored(host, STORE_NEXT, &next);
		if (!error)
			error = open_stored(host, STORE, &current);
		if (error)
			return error;
		if (current.header && current.header->generation <= generation)
			best = &current;
		if (next.header && next.header->generation <= generation)
			best = &next;
		if (best)
			return take_policy(host, best);
		if (host->lock >= 0)
			break;
	}
	diag_error(host->diag, NULL, NULL,
		   "%s: the policy in force is not there: to start anew, unload and load",
		   host->pin);
	return -ENOENT;
}

/* With BTF, so that bpftool prints a page by name, as it does for the maps of the programs. */
static int create_store(struct host *host, size_t pages)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct btf *btf = btf__new_empty();
	int index, byte, bytes, fd = -1;

	if (!btf)
		return node_fail(host, -errno, "cannot describe the map bh_blob");
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
		fd = node_fail(host, -errno, "cannot create the map bh_blob of %zu pages", pages);
	btf__free(btf);
	return fd;
}

int store_write(struct host *host, const struct bh_blob *header, const void *bytes, size_t length)
{
	size_t pages = (sizeof(*header) + length + BH_BLOB_PAGE - 1) / BH_BLOB_PAGE;
	SCOPED_FD int fd = create_store(host, pages);
	char path[PATH_MAX];
	struct bh_blob *at;
	int error;

	if (fd < 0)
		return fd;
	at = mmap(NULL, pages * BH_BLOB_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return node_fail(host, -errno, "cannot map bh_blob");
	*at = *header;
	at->length = length;
	memcpy(at + 1, bytes, length);
	munmap(at, pages * BH_BLOB_PAGE);
	error = pins_remove(host, STORE_NEXT);
	if (error)
		return error;
	if (bpf_obj_pin(fd, pins_path(host, STORE_NEXT, path)))
		return node_fail(host, -errno, "cannot pin %s", path);
	host->writes++;
	return 0;
}

int store_settle(struct host *host)
{
	char from[PATH_MAX], to[PATH_MAX];
	CLEANUP(stored_free) struct stored next = {};
	int error = open_stored(host, STORE_NEXT, &next);

	if (error || !next.header || is_staged(&next))
		return error;
	if (next.header->generation > node_generation(host))
		return pins_remove(host, STORE_NEXT);
	if (rename(pins_path(host, STORE_NEXT, from), pins_path(host, STORE, to)))
		return node_fail(host, -errno, "cannot rename %s", from);
	return 0;
}
