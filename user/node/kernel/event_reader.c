// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "node/kernel/event_reader.h"
#include "node/kernel/pin_folder.h"

#define SECOND UINT64_C(1000000000) /* ns */

/* ns: so long the programs still write events for a reader that was killed. A reader that stands
 * still for longer loses events. */
#define LEASE (5 * SECOND)
#define RENEW_BEFORE (4 * SECOND) /* ns: the lease is renewed when it ends in less than this */

struct ring_reader {
	struct node_handle *handle;
	struct bh_readers *all;
	struct bh_reader *own; /* this reader's place; NULL: none yet */
	uint32_t place;
	uint64_t lease; /* as this reader wrote it last */
	uint64_t lost; /* the place's count before this reader came */
	int rings, ends; /* fds of the maps of rings and of ends */
	struct ring_buffer *ring;
	ring_buffer_sample_fn take; /* gets the records, with @data */
	void *data;
	bool named; /* the filter names ends */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

void reader_ends_init(struct table *ends)
{
	table_init(ends, sizeof(struct bh_addr), sizeof(uint8_t));
}

static struct bh_readers *map_readers(struct node_handle *handle, int protection)
{
	SCOPED_FD int fd = pins_get(handle, "readers");
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, sizeof(struct bh_readers), protection, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool exchange(uint64_t *word, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static uint64_t *lease_of(struct bh_reader *reader)
{
	return (uint64_t *)&reader->lease;
}

/* Returns true if the place was active before. */
static bool set_active(struct ring_reader *reader, bool active)
{
	uint64_t *word = (uint64_t *)&reader->all->active;
	uint64_t bit = UINT64_C(1) << reader->place;

	return (active ? __atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST)
		       : __atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST)) &
	       bit;
}

/* Renews the lease. Returns true if the place is still this reader's. */
static bool renew(struct ring_reader *reader)
{
	uint64_t to = now() + LEASE;

	if (!exchange(lease_of(reader->own), reader->lease, to))
		return false;
	reader->lease = to;
	return true;
}

/* Renews the lease if it ends soon. Returns -ESTALE if another reader has the place. */
static int keep_place(struct ring_reader *reader)
{
	if (reader->lease >= now() + RENEW_BEFORE)
		return 0;
	if (!renew(reader))
		return -ESTALE;
	/* the first event that finds the lease expired ends it, and is not written */
	if (!set_active(reader, true))
		diag_warn(reader->handle->diag, NULL, NULL,
			  "monitor: suspended for more than %d s; events of that time are lost "
			  "(monitor --since prints the last drops)",
			  (int)(LEASE / SECOND));
	return 0;
}

/* One call of ring_buffer__consume() takes records for as long as new ones come, so that the lease
 * may end meanwhile. */
static int take_record(void *data, void *record, size_t size)
{
	struct ring_reader *reader = data;
	const int error = keep_place(reader);

	return error ? error : reader->take(reader->data, record, size);
}

static int take_place(struct ring_reader *reader)
{
	for (uint32_t i = 0; i < BH_READERS; i++) {
		struct bh_reader *at = &reader->all->reader[i];
		uint64_t lease = __atomic_load_n(lease_of(at), __ATOMIC_SEQ_CST);
		uint64_t time = now();

		if (lease > time || !exchange(lease_of(at), lease, time + LEASE))
			continue;
		reader->lease = time + LEASE;
		reader->place = i;
		reader->own = at;
		set_active(reader, false);
		return 0;
	}
	diag_error(reader->handle->diag, NULL, NULL,
		   "%d others read the events, and there is room for no more: end one of them "
		   "(status lists them)",
		   BH_READERS);
	return -EBUSY;
}

static int fail(const struct ring_reader *reader, int error, const char *what)
{
	if (error == -EPERM)
		diag_error(reader->handle->diag, NULL, NULL,
			   "this process lacks the capability CAP_BPF; run it as root");
	else
		node_fail(reader->handle, error, "cannot make %s", what);
	return error;
}

/* Puts a new ring at the place. The kernel waits until running programs, which may write to the old
 * ring, have ended. */
static int make_ring(struct ring_reader *reader)
{
	SCOPED_FD int fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bh_ring", 0, 0, BH_RING_BYTES, NULL);

	if (fd < 0)
		return fail(reader, -errno, "a ring for the events");
	reader->ring = ring_buffer__new(fd, take_record, reader, NULL);
	if (!reader->ring || bpf_map_update_elem(reader->rings, &reader->place, &fd, BPF_ANY))
		return fail(reader, -errno, "a ring for the events");
	return 0;
}

int reader_set_ends(struct ring_reader *reader, const struct table *ends)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	SCOPED_FD int fd = -1;
	int error;

	if (!reader->named)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "bh_ends", sizeof(struct bh_addr), sizeof(uint8_t),
			    ends->n + 1, &options);
	error = fd < 0 ? -errno : table_write(ends, fd);
	if (!error && bpf_map_update_elem(reader->ends, &reader->place, &fd, BPF_ANY))
		error = -errno;
	return error ? fail(reader, error, "a map of the endpoints to tell of") : 0;
}

/* Writes the filter and sets the place's bit. No program uses the state of the last reader any
 * more. */
static void begin(struct ring_reader *reader, const struct bh_filter *filter)
{
	if (!reader->named)
		bpf_map_delete_elem(reader->ends, &reader->place);
	reader->own->filter = *filter;
	reader->own->pid = getpid();
	reader->lost = reader->own->lost;
	set_active(reader, true);
}

static int open_maps(struct ring_reader *reader)
{
	reader->rings = pins_get(reader->handle, "rings");
	reader->ends = pins_get(reader->handle, "reader_ends");
	reader->all = map_readers(reader->handle, PROT_READ | PROT_WRITE);
	if (reader->rings >= 0 && reader->ends >= 0 && reader->all)
		return 0;
	return node_fail(reader->handle, -errno, "cannot open %s/readers", reader->handle->pin);
}

static void cleanup_reader(struct ring_reader **reader)
{
	reader_close(*reader);
}

int reader_open(struct node_handle *handle, const struct bh_filter *filter,
		const struct table *ends, ring_buffer_sample_fn take, void *data,
		struct ring_reader **reader)
{
	CLEANUP(cleanup_reader) struct ring_reader *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	new->handle = handle;
	new->named = filter->named;
	new->take = take;
	new->data = data;
	new->rings = new->ends = -1;
	error = open_maps(new);
	if (!error)
		error = take_place(new);
	if (!error)
		error = make_ring(new);
	if (!error)
		error = reader_set_ends(new, ends);
	if (error)
		return error;
	begin(new, filter);
	*reader = TAKE_PTR(new);
	return 0;
}

void reader_close(struct ring_reader *reader)
{
	if (!reader)
		return;
	if (reader->own && renew(reader)) {
		set_active(reader, false);
		bpf_map_delete_elem(reader->rings, &reader->place);
		bpf_map_delete_elem(reader->ends, &reader->place);
		exchange(lease_of(reader->own), reader->lease, 0);
	}
	ring_buffer__free(reader->ring);
	if (reader->all)
		munmap(reader->all, sizeof(*reader->all));
	cleanup_fd(&reader->rings);
	cleanup_fd(&reader->ends);
	free(reader);
}

int reader_consume(struct ring_reader *reader)
{
	const int error = keep_place(reader);

	return error ? error : ring_buffer__consume(reader->ring);
}

uint32_t reader_place(const struct ring_reader *reader)
{
	return reader->place;
}

uint64_t reader_lost(const struct ring_reader *reader)
{
	return reader->own->lost - reader->lost;
}

/* Adds up the records that the programs have written to all readers. */
static int add_written(struct node_handle *handle, uint64_t *written)
{
	const int cpus = libbpf_num_possible_cpus();
	SCOPED_FD int fd = pins_get(handle, "written");
	SCOPED_FREE struct bh_written *values = fd < 0 ? NULL : calloc(cpus, sizeof(*values));

	if (!values)
		return fd < 0 ? fd : -ENOMEM;
	for (__u32 place = 0; place < BH_READERS; place++) {
		if (bpf_map_lookup_elem(fd, &place, values))
			return -errno;
		for (int cpu = 0; cpu < cpus; cpu++)
			*written += values[cpu].records;
	}
	return 0;
}

int reader_status(struct node_handle *handle, struct node_status *status)
{
	struct bh_readers *all = map_readers(handle, PROT_READ);
	int error;

	if (!all)
		return -errno;
	error = add_written(handle, &status->events_written);
	for (int i = 0; i < BH_READERS; i++) {
		const struct bh_reader *reader = &all->reader[i];

		status->events_lost += reader->lost;
		if (all->active >> i & 1 && reader->lease > now())
			status->readers[status->n_readers++] = reader->pid;
	}
	munmap(all, sizeof(*all));
	return error;
}
