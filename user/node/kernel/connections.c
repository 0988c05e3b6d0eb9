// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "node/kernel/connections.h"
#include "node/kernel/handle.h"
#include "node/kernel/pins.h"
#include "node/kernel/program.h"
#include "node/kernel/settings.h"

#define MARGIN_SECONDS 10

static size_t pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int map_pin(struct node_handle *handle, const char *pin, size_t value, void **at,
		   uint32_t *entries)
{
	SCOPED_FD int fd = pins_get(handle, pin);
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	if (info.value_size != value)
		return -EILSEQ;
	*entries = info.max_entries;
	*at = mmap(NULL, pages(value * info.max_entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (*at != MAP_FAILED)
		return 0;
	*at = NULL;
	return -errno;
}

int connections_open(struct node_handle *handle, struct connections *connections)
{
	void *buckets = NULL, *total = NULL;
	uint32_t one;
	int error;

	*connections = (struct connections){};
	error = settings_seed(handle, &connections->seed);
	if (!error)
		error = map_pin(handle, "ct", sizeof(struct bh_ct_bucket), &buckets,
				&connections->n);
	if (!error)
		error = map_pin(handle, "share_total", sizeof(struct bh_share_count), &total, &one);
	connections->buckets = buckets;
	connections->total = total;
	if (error)
		connections_close(connections);
	return error;
}

void connections_close(struct connections *connections)
{
	if (connections->buckets)
		munmap(connections->buckets, pages(sizeof(*connections->buckets) * connections->n));
	if (connections->total)
		munmap(connections->total, pages(sizeof(*connections->total)));
	*connections = (struct connections){};
}

static bool put(struct bh_ct_bucket *bucket, const struct bh_ct_key *key, const struct bh_ct *ct,
		uint32_t tag)
{
	for (int i = 0; i < BH_CT_SLOTS; i++) {
		uint32_t free = BH_CT_FREE;

		if (!__atomic_compare_exchange_n(&bucket->tag[i], &free, BH_CT_BUSY, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		bucket->slot[i].key = *key;
		bucket->slot[i].ct = *ct;
		__atomic_store_n(&bucket->tag[i], tag, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

static uint64_t hash_of(const struct connections *connections, const struct bh_ct_key *key)
{
	__u64 word[5];

	memcpy(word, key, sizeof(word));
	return bh_ct_hash(connections->seed, word);
}

int connections_add(const struct connections *connections, const struct bh_ct_key *key,
		    const struct bh_ct *ct)
{
	uint64_t hash = hash_of(connections, key);
	uint32_t tag = bh_ct_slot_tag(hash);
	struct bh_ct entry = *ct;

	for (int i = 0; i < 2; i++)
		if (entry.verdict[i])
			entry.verdict[i] =
				bh_ct_word(bh_ct_generation(entry.verdict[i]),
					   bh_ct_bound(bh_ct_hash_tag(hash), entry.end[0].ifindex,
						       entry.end[1].ifindex),
					   entry.verdict[i] & BH_CT_FLAGS);
	if (!put(&connections->buckets[bh_ct_first(hash, connections->n)], key, &entry, tag) &&
	    !put(&connections->buckets[bh_ct_second(hash, connections->n)], key, &entry, tag))
		return -ENOSPC;
	__atomic_add_fetch(&connections->total->used, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* The kernel starts jiffies five minutes before their low 32 bits overflow. */
uint32_t connections_tick(void)
{
	uint64_t hz = program_jiffies_per_second();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint32_t) - (300 * hz) + (now.tv_sec - MARGIN_SECONDS) * hz) >> BH_TICK_SHIFT;
}

uint32_t connections_forget(const struct connections *connections, const struct bh_addr *addr)
{
	/* Older than every timeout, and within the range of a signed difference (table_lapsed()). A
	 * connection of two endpoints that both go is marked twice, with the same result. */
	uint32_t lapsed = connections_tick() - UINT32_MAX / 4, forgotten = 0;

	for (uint32_t i = 0; i < connections->n; i++) {
		struct bh_ct_bucket *bucket = &connections->buckets[i];

		for (int j = 0; j < BH_CT_SLOTS; j++) {
			struct bh_ct_slot *slot = &bucket->slot[j];

			if (__atomic_load_n(&bucket->tag[j], __ATOMIC_SEQ_CST) < BH_CT_TAKEN ||
			    (memcmp(slot->key.addr[0], addr, sizeof(*addr)) &&
			     memcmp(slot->key.addr[1], addr, sizeof(*addr))))
				continue;
			/* No packet finds the entry any more, and the sweeper subtracts it from
			 * its share. */
			slot->ct.verdict[0] = slot->ct.verdict[1] = 0;
			slot->ct.seen = lapsed;
			forgotten++;
		}
	}
	return forgotten;
}

int connections_each(const struct bh_ct_bucket *bucket,
		     int (*visit)(void *data, const struct bh_ct_key *key, const struct bh_ct *ct),
		     void *data)
{
	int status = 0;

	for (int i = 0; i < BH_CT_SLOTS && !status; i++)
		if (bucket->tag[i] >= BH_CT_TAKEN && !(bucket->slot[i].ct.state & BH_CT_GONE) &&
		    (bucket->slot[i].ct.verdict[0] || bucket->slot[i].ct.verdict[1]))
			status = visit(data, &bucket->slot[i].key, &bucket->slot[i].ct);
	return status;
}
