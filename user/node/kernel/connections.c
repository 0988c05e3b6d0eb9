// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "maps/forget.h"
#include "node/kernel/connections.h"
#include "node/kernel/handle.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/program.h"
#include "node/kernel/settings.h"
#include "node/kernel/table.h"

#define MARGIN_SECONDS 10

static size_t pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int map_fd(int fd, size_t value, void **at, uint32_t *entries)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

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

static int map_pin(struct node_handle *handle, const char *pin, size_t value, void **at,
		   uint32_t *entries)
{
	SCOPED_FD int fd = pins_get(handle, pin);

	return fd < 0 ? fd : map_fd(fd, value, at, entries);
}

int connections_open(struct node_handle *handle, struct connections *connections)
{
	void *table = NULL, *total = NULL;
	uint32_t one;
	int error;

	*connections = (struct connections){};
	error = settings_seed(handle, &connections->seed);
	if (!error)
		error = map_pin(handle, CONNECTIONS, sizeof(struct bh_ct_group), &table,
				&connections->groups);
	if (!error)
		error = map_pin(handle, "share_total", sizeof(struct bh_share_total), &total, &one);
	connections->table = table;
	connections->total = total;
	if (error)
		connections_close(connections);
	return error;
}

void connections_close(struct connections *connections)
{
	if (connections->table)
		munmap(connections->table,
		       pages(sizeof(*connections->table) * connections->groups));
	if (connections->total)
		munmap(connections->total, pages(sizeof(*connections->total)));
	*connections = (struct connections){};
}

static uint32_t buckets_of(const struct connections *connections)
{
	return connections->groups * BH_CT_GROUP;
}

/* Fills a free slot of a bucket, and stores the tag as a proposed one, as a program does. Returns
 * where that tag is; NULL: no slot is free. */
static uint32_t *put(const struct connections *connections, uint32_t in,
		     const struct bh_ct_key *key, const struct bh_ct *ct, uint32_t tag)
{
	struct bh_ct_bucket *bucket = bh_ct_bucket(connections->table, in);
	struct bh_ct_slot *slots = bh_ct_slots(connections->table, in);

	for (int i = 0; i < BH_CT_SLOTS; i++) {
		uint32_t free = BH_CT_FREE;

		if (!__atomic_compare_exchange_n(&bucket->tag[i], &free, BH_CT_BUSY, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		slots[i].key = *key;
		slots[i].ct = *ct;
		__atomic_store_n(&bucket->tag[i], BH_CT_PROPOSED(tag), __ATOMIC_SEQ_CST);
		return &bucket->tag[i];
	}
	return NULL;
}

static uint64_t hash_of(const struct connections *connections, const struct bh_ct_key *key)
{
	__u64 word[5];

	memcpy(word, key, sizeof(word));
	return bh_ct_hash(connections->seed, word);
}

/* Returns true if a bucket has the key in another slot than @own's. Another proposed tag is a
 * program's, which makes it the final one, or frees the slot, in a moment. */
static bool has_another(const struct connections *connections, uint32_t in,
			const struct bh_ct_key *key, uint32_t tag, const uint32_t *own)
{
	struct bh_ct_bucket *bucket = bh_ct_bucket(connections->table, in);
	struct bh_ct_slot *slots = bh_ct_slots(connections->table, in);

	for (int i = 0; i < BH_CT_SLOTS; i++) {
		uint32_t *at = &bucket->tag[i];

		if (at == own)
			continue;
		while (__atomic_load_n(at, __ATOMIC_SEQ_CST) == BH_CT_PROPOSED(tag))
			sched_yield();
		if (__atomic_load_n(at, __ATOMIC_SEQ_CST) == tag &&
		    !memcmp(&slots[i].key, key, sizeof(*key)))
			return true;
	}
	return false;
}

int connections_add(const struct connections *connections, const struct bh_ct_key *key,
		    const struct bh_ct *ct)
{
	uint64_t hash = hash_of(connections, key);
	uint32_t tag = bh_ct_slot_tag(hash);
	const uint32_t in[] = {bh_ct_first(hash, buckets_of(connections)),
			       bh_ct_second(hash, buckets_of(connections))};
	uint32_t proposed = BH_CT_PROPOSED(tag), *own;
	struct bh_ct entry = *ct;
	bool yields;

	for (int i = 0; i < 2; i++)
		if (entry.verdict[i])
			entry.verdict[i] =
				bh_ct_word(bh_ct_generation(entry.verdict[i]),
					   bh_ct_bound(bh_ct_hash_tag(hash), entry.end[0].ifindex,
						       entry.end[1].ifindex),
					   entry.verdict[i] & BH_CT_FLAGS);
	own = put(connections, in[0], key, &entry, tag);
	if (!own)
		own = put(connections, in[1], key, &entry, tag);
	if (!own)
		return -ENOSPC;
	yields = has_another(connections, in[0], key, tag, own) ||
		 has_another(connections, in[1], key, tag, own);
	/* unless a program has freed the slot, whose entry came before */
	__atomic_compare_exchange_n(own, &proposed, yields ? BH_CT_FREE : tag, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- a copy ---- */

static struct bh_ct *find(const struct connections *connections, const struct bh_ct_key *key)
{
	const uint64_t hash = hash_of(connections, key);
	const uint32_t in[] = {bh_ct_first(hash, buckets_of(connections)),
			       bh_ct_second(hash, buckets_of(connections))};

	for (size_t k = 0; k < ARRAY_SIZE(in); k++) {
		const struct bh_ct_bucket *bucket = bh_ct_bucket(connections->table, in[k]);
		struct bh_ct_slot *slots = bh_ct_slots(connections->table, in[k]);

		for (int i = 0; i < BH_CT_SLOTS; i++)
			if (bucket->tag[i] == bh_ct_slot_tag(hash) &&
			    !memcmp(&slots[i].key, key, sizeof(*key)))
				return &slots[i].ct;
	}
	return NULL;
}

/* Opens a half-open connection as the other table has it. A program that does the same meanwhile
 * wins. */
static void open_half(struct bh_ct *to, const struct bh_ct *from)
{
	uint32_t state = __atomic_load_n(&to->state, __ATOMIC_SEQ_CST);
	const uint32_t opened = (state & ~BH_CT_STATE) | (from->state & BH_CT_STATE);

	if (!(state & (BH_CT_HALF | BH_CT_ONCE)) || state & BH_CT_GONE ||
	    from->state & (BH_CT_HALF | BH_CT_GONE))
		return;
	if (__atomic_compare_exchange_n(&to->state, &state, opened, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		memcpy(to->number, from->number, sizeof(to->number));
}

struct copy {
	struct connections from, to;
	uint64_t lost;
};

static void copy_free(struct copy *copy)
{
	connections_close(&copy->from);
	connections_close(&copy->to);
}

static int copy_one(void *data, const struct bh_ct_key *key, const struct bh_ct *ct)
{
	struct copy *copy = data;
	struct bh_ct *there = find(&copy->to, key);

	if (there)
		open_half(there, ct);
	else
		copy->lost += !!connections_add(&copy->to, key, ct);
	return 0;
}

static int map_table(int fd, struct connections *connections)
{
	void *table = NULL;
	int error = map_fd(fd, sizeof(*connections->table), &table, &connections->groups);

	connections->table = table;
	return error;
}

int connections_copy(struct node_handle *handle, int from, int to, uint64_t *lost)
{
	CLEANUP(copy_free) struct copy copy = {};
	int error = settings_seed(handle, &copy.to.seed);

	if (!error)
		error = map_table(from, &copy.from);
	if (!error)
		error = map_table(to, &copy.to);
	for (uint32_t i = 0; !error && i < copy.from.groups; i++)
		error = connections_each(&copy.from.table[i], copy_one, &copy);
	*lost = copy.lost;
	return error;
}

uint32_t connections_tick(void)
{
	return program_tick_before(MARGIN_SECONDS);
}

/* Voids the connections without the program: its pin is missing, or the kernel refuses to run it.
 */
static int forget_mapped(struct node_handle *handle, struct bh_forget *forget)
{
	CLEANUP(connections_close) struct connections connections = {};
	int error = connections_open(handle, &connections);

	forget->forgotten = 0;
	for (uint32_t i = 0; !error && i < buckets_of(&connections); i++)
		for (int j = 0; j < BH_CT_SLOTS; j++)
			forget->forgotten +=
				bh_forget_slot(forget, &bh_ct_bucket(connections.table, i)->tag[j],
					       &bh_ct_slots(connections.table, i)[j]);
	return error;
}

static int forget_some(struct node_handle *handle, int program, struct bh_forget *forget)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = forget, .ctx_size_in = sizeof(*forget));

	if (program >= 0 && !bpf_prog_test_run_opts(program, &run))
		return 0;
	return forget_mapped(handle, forget);
}

int connections_forget(struct node_handle *handle, const struct table *addrs, uint64_t *forgotten)
{
	SCOPED_FD int program = pins_get_program(handle, PROGRAM_FORGET);
	int error = 0;

	*forgotten = 0;
	for (size_t at = 0; !error && at < addrs->n; at += BH_FORGET_ADDRESSES) {
		struct bh_forget forget = {};

		for (size_t i = 0; i < BH_FORGET_ADDRESSES; i++)
			forget.addr[i] = *(const struct bh_addr *)table_key(
				addrs, at + i < addrs->n ? at + i : at);
		error = forget_some(handle, program, &forget);
		*forgotten += forget.forgotten;
	}
	return error;
}

/* Returns true if an end of the connection has one of the addresses, and another interface. */
static bool is_former(const struct table *at, const volatile struct bh_ct_slot *slot)
{
	bool former = false;

	for (int end = 0; end < 2; end++) {
		const __be64 address[] = {slot->key.addr[end][0], slot->key.addr[end][1]};
		const uint32_t *ifindex = table_find(at, address);

		former |= ifindex && *ifindex != slot->ct.end[end].ifindex;
	}
	return former && bh_ct_generation(slot->ct.verdict[BH_EGRESS]);
}

static uint32_t forget_former(const struct table *at, const uint32_t *tag, struct bh_ct_slot *slot)
{
	const uint32_t was = __atomic_load_n(tag, __ATOMIC_SEQ_CST);

	return bh_ct_is_filled(was) && is_former(at, slot) ? bh_forget_void(tag, was, slot) : 0;
}

int connections_forget_former(struct node_handle *handle, const struct table *at,
			      uint64_t *forgotten)
{
	CLEANUP(connections_close) struct connections connections = {};
	int error = at->n ? connections_open(handle, &connections) : 0;

	*forgotten = 0;
	for (uint32_t i = 0; !error && i < buckets_of(&connections); i++)
		for (int j = 0; j < BH_CT_SLOTS; j++)
			*forgotten += forget_former(at, &bh_ct_bucket(connections.table, i)->tag[j],
						    &bh_ct_slots(connections.table, i)[j]);
	return error;
}

int connections_each(const struct bh_ct_group *group,
		     int (*visit)(void *data, const struct bh_ct_key *key, const struct bh_ct *ct),
		     void *data)
{
	int status = 0;

	for (int i = 0; i < BH_CT_GROUP * BH_CT_SLOTS && !status; i++) {
		const struct bh_ct_slot *slot = &group->slot[i / BH_CT_SLOTS][i % BH_CT_SLOTS];

		if (bh_ct_is_filled(group->bucket[i / BH_CT_SLOTS].tag[i % BH_CT_SLOTS]) &&
		    !(slot->ct.state & BH_CT_GONE) && (slot->ct.verdict[0] || slot->ct.verdict[1]))
			status = visit(data, &slot->key, &slot->ct);
	}
	return status;
}

/* ---- shares ---- */

static int by_key(const void *a, const void *b)
{
	const struct connections_share *first = a, *second = b;

	return first->key < second->key ? -1 : first->key > second->key;
}

static int largest_first(const void *a, const void *b)
{
	int32_t first = bh_share_used(((const struct connections_share *)a)->share.count);
	int32_t second = bh_share_used(((const struct connections_share *)b)->share.count);

	return first != second ? (first < second ? 1 : -1) : by_key(a, b);
}

static bool is_endpoints(const void *data, const void *key, const void *value)
{
	(void)data;
	(void)value;
	return !(*(const uint32_t *)key & BH_SHARE_IS_HOLDER);
}

static void count_entries(const struct connections *connections, struct connections_share *shares,
			  size_t n)
{
	for (uint32_t i = 0; i < buckets_of(connections); i++)
		for (int j = 0; j < BH_CT_SLOTS; j++) {
			struct connections_share key = {}, *share;

			if (!bh_ct_is_filled(bh_ct_bucket(connections->table, i)->tag[j]))
				continue;
			key.key = BH_CT_PAYER(bh_ct_slots(connections->table, i)[j].ct.payer);
			share = bsearch(&key, shares, n, sizeof(*shares), by_key);
			if (share)
				share->found++;
		}
}

int connections_shares(struct node_handle *handle, const struct connections *connections,
		       struct connections_share **shares, size_t *n)
{
	CLEANUP(table_free) struct table before = {};
	SCOPED_FREE struct connections_share *list = NULL;
	SCOPED_FD int fd = pins_get(handle, "shares");
	int error;

	table_init(&before, sizeof(uint32_t), sizeof(struct bh_share));
	error = fd < 0 ? fd : table_read_some(&before, fd, is_endpoints, NULL);
	if (error)
		return error;
	list = calloc(before.n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < before.n; i++)
		list[i].key = *(const uint32_t *)table_key(&before, i);
	qsort(list, before.n, sizeof(*list), by_key);
	count_entries(connections, list, before.n);
	for (size_t i = 0; i < before.n; i++) {
		const struct bh_share *was = table_find(&before, &list[i].key);
		uint32_t changes;
		int32_t differs;

		if (bpf_map_lookup_elem(fd, &list[i].key, &list[i].share))
			list[i].share = *was;
		changes = bh_share_changes(list[i].share.count) - bh_share_changes(was->count);
		differs = list[i].found - bh_share_used(list[i].share.count);
		list[i].differs = (uint32_t)abs(differs) > changes;
	}
	qsort(list, before.n, sizeof(*list), largest_first);
	*n = before.n;
	*shares = TAKE_PTR(list);
	return 0;
}
