// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "maps/dns.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/past.h"
#include "maps/share.h"
#include "node/kernel/connections.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/table.h"
#include "node/kernel/tallies.h"

/* The places, with their owners and values. */
struct tallies {
	struct bh_tally_key *keys; /* mapped; NULL: not pinned */
	int fd;
	int cpus;
	struct bh_tally *values; /* room for the values of all CPUs */
};

static void close_tallies(struct tallies *tallies)
{
	if (tallies->keys)
		munmap(tallies->keys, BH_TALLIES * sizeof(*tallies->keys));
	cleanup_fd(&tallies->fd);
	free(tallies->values);
}

static int open_tallies(struct node_handle *handle, struct tallies *tallies)
{
	SCOPED_FD int keys = pins_get(handle, "tally_keys");
	void *at;

	*tallies = (struct tallies){.fd = pins_get(handle, "tallies"),
				    .cpus = libbpf_num_possible_cpus()};
	if (keys < 0 || tallies->fd < 0)
		return keys < 0 ? keys : tallies->fd;
	tallies->values = calloc(tallies->cpus, sizeof(*tallies->values));
	if (!tallies->values)
		return -ENOMEM;
	at = mmap(NULL, BH_TALLIES * sizeof(*tallies->keys), PROT_READ | PROT_WRITE, MAP_SHARED,
		  keys, 0);
	if (at == MAP_FAILED)
		return -errno;
	tallies->keys = at;
	return 0;
}

/* Adds up the values of all CPUs. */
static int sum_up(const struct tallies *tallies, uint32_t place, struct bh_tally *sum)
{
	*sum = (struct bh_tally){};
	if (bpf_map_lookup_elem(tallies->fd, &place, tallies->values))
		return -errno;
	for (int i = 0; i < 2 * tallies->cpus; i++) {
		const struct bh_tally *at = &tallies->values[i / 2];
		const int direction = i % 2;

		sum->packets[direction] += at->packets[direction];
		sum->bytes[direction] += at->bytes[direction];
		sum->isolated[direction] += at->isolated[direction];
		for (int reader = 0; reader < BH_READERS; reader++)
			sum->budget[direction][reader].suppressed +=
				at->budget[direction][reader].suppressed;
	}
	return 0;
}

uint64_t tally_suppressed(const struct bh_tally *sum)
{
	uint64_t suppressed = 0;

	for (int place = 0; place < BH_READERS; place++)
		suppressed += sum->budget[BH_INGRESS][place].suppressed +
			      sum->budget[BH_EGRESS][place].suppressed;
	return suppressed;
}

int tally_each(struct node_handle *handle,
	       int (*visit)(void *data, const struct bh_tally_key *key, const struct bh_tally *sum),
	       void *data)
{
	CLEANUP(close_tallies) struct tallies tallies;
	int error = open_tallies(handle, &tallies);

	for (uint32_t place = 0; !error && place < BH_TALLIES; place++) {
		const struct bh_tally_key key = tallies.keys[place];
		struct bh_tally sum;

		if (!key.ifindex)
			continue;
		error = sum_up(&tallies, place, &sum);
		if (!error)
			error = visit(data, &key, &sum);
	}
	return error;
}

/* Adds drops to a namespace's entry of the status. */
static int add_drops(struct node_status *status, uint64_t ns, const __u64 packets[2],
		     const __u64 bytes[2])
{
	struct node_drops *drops = NULL, *more;

	for (size_t i = 0; !drops && i < status->n_drops; i++)
		if (status->drops[i].ns == ns)
			drops = &status->drops[i];
	if (!drops) {
		more = reallocarray(status->drops, status->n_drops + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		status->drops = more;
		drops = &more[status->n_drops++];
		*drops = (struct node_drops){.ns = ns};
	}
	for (int direction = 0; direction < 2; direction++) {
		drops->packets[direction] += packets[direction];
		drops->bytes[direction] += bytes[direction];
	}
	return 0;
}

static int add_tally(void *data, const struct bh_tally_key *key, const struct bh_tally *sum)
{
	return add_drops(data, key->ns ? key->ns : BH_NAMESPACE_NONE, sum->packets, sum->bytes);
}

int tally_drops(struct node_handle *handle, struct node_status *status)
{
	CLEANUP(table_free) struct table gone = {};
	SCOPED_FD int fd = pins_get(handle, "dropped");
	int error = tally_each(handle, add_tally, status);

	table_init(&gone, sizeof(__u64), sizeof(struct bh_dropped));
	if (!error)
		error = fd < 0 ? fd : table_read(&gone, fd);
	for (size_t i = 0; !error && i < gone.n; i++) {
		const struct bh_dropped *dropped = table_value(&gone, i);

		error = add_drops(status, *(__u64 *)table_key(&gone, i), dropped->packets,
				  dropped->bytes);
	}
	return error;
}

/* Returns true if the interface still belongs to an endpoint of this namespace, or still to
 * none. */
static bool is_as_before(const struct node_handle *handle, const struct bh_tally_key *key)
{
	struct bh_iface iface;

	if (bpf_map_lookup_elem(handle->maps[MAP_ifaces], &key->ifindex, &iface))
		return false;
	return key->ns == (iface.ns ? iface.ns : BH_NAMESPACE_NONE);
}

/* Deletes the last drops of an endpoint that is gone. */
static int delete_last_drops(struct node_handle *handle, uint32_t place)
{
	SCOPED_FD int fd = pins_get(handle, "past");
	const struct bh_past none = {};

	if (fd < 0)
		return fd;
	handle->writes++;
	return bpf_map_update_elem(fd, &place, &none, BPF_ANY) ? -errno : 0;
}

/* Adds drops to an entry of bh_dropped. Returns -E2BIG if it has no room for the entry. */
static int add_dropped(int dropped, __u64 ns, const struct bh_tally *sum)
{
	struct bh_dropped kept = {};

	bpf_map_lookup_elem(dropped, &ns, &kept);
	for (int direction = 0; direction < 2; direction++) {
		kept.packets[direction] += sum->packets[direction];
		kept.bytes[direction] += sum->bytes[direction];
	}
	return bpf_map_update_elem(dropped, &ns, &kept, BPF_ANY) ? -errno : 0;
}

/* Makes the first entry that of all namespaces without one. */
static int make_others(int dropped)
{
	const __u64 others = BH_NAMESPACE_OTHERS;
	struct bh_dropped kept;
	__u64 ns;

	if (bpf_map_get_next_key(dropped, NULL, &ns) || bpf_map_lookup_elem(dropped, &ns, &kept) ||
	    bpf_map_delete_elem(dropped, &ns) ||
	    bpf_map_update_elem(dropped, &others, &kept, BPF_ANY))
		return -errno;
	return 0;
}

/* The same; if bh_dropped is full, to the entry of all namespaces without one. */
static int keep_dropped(int dropped, __u64 ns, const struct bh_tally *sum)
{
	int error = add_dropped(dropped, ns, sum);

	if (error == -E2BIG)
		error = add_dropped(dropped, BH_NAMESPACE_OTHERS, sum);
	if (error != -E2BIG)
		return error;
	error = make_others(dropped);
	return error ? error : add_dropped(dropped, BH_NAMESPACE_OTHERS, sum);
}

/* Frees a place, once its drops are in bh_dropped. */
static int give_back(struct node_handle *handle, const struct tallies *tallies, int dropped,
		     uint32_t place)
{
	const __u64 ns = tallies->keys[place].ns;
	struct bh_tally sum;
	int error = sum_up(tallies, place, &sum);

	if (!error)
		error = keep_dropped(dropped, ns, &sum);
	if (error)
		return error;
	memset(tallies->values, 0, tallies->cpus * sizeof(*tallies->values));
	handle->writes += 3;
	if (bpf_map_update_elem(tallies->fd, &place, tallies->values, BPF_ANY))
		return -errno;
	error = delete_last_drops(handle, place);
	if (error)
		return error;
	__atomic_store_n(&tallies->keys[place].ns, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tallies->keys[place].ifindex, 0, __ATOMIC_SEQ_CST);
	return 0;
}

static int collect_tallies(struct node_handle *handle)
{
	CLEANUP(close_tallies) struct tallies tallies;
	SCOPED_FD int dropped = pins_get(handle, "dropped");
	int error = open_tallies(handle, &tallies);

	if (!error && dropped < 0)
		error = dropped;
	for (uint32_t place = 0; !error && place < BH_TALLIES; place++)
		if (tallies.keys[place].ns && !is_as_before(handle, &tallies.keys[place]))
			error = give_back(handle, &tallies, dropped, place);
	return error;
}

static bool is_holder(const void *key)
{
	return *(const uint32_t *)key & BH_SHARE_IS_HOLDER;
}

/* Returns true if the share has no connection, and its interface is no endpoint's. */
static bool is_ended(const struct node_handle *handle, const uint32_t *key,
		     const struct bh_share *share)
{
	struct bh_iface iface;

	if (*key == BH_SHARE_NODE || bh_share_used(share->count))
		return false;
	return bpf_map_lookup_elem(handle->maps[MAP_ifaces], key, &iface) ||
	       !(iface.flags & BH_IFACE_ENDPOINT);
}

/* Finds the shares of endpoints that are gone, and the holders that no other share names. */
static int find_orphan_shares(const struct node_handle *handle, const struct table *shares,
			      struct table *left)
{
	CLEANUP(table_free) struct table named = {};
	int error = 0;

	table_init(&named, sizeof(uint32_t), 0);
	for (size_t i = 0; !error && i < shares->n; i++) {
		const struct bh_share *share = table_value(shares, i);
		const uint32_t *key = table_key(shares, i);

		if (is_holder(key))
			continue;
		if (is_ended(handle, key, share))
			error = table_add(left, key, share);
		else
			error = table_add(&named, &share->holder, NULL);
	}
	table_sort(&named);
	for (size_t i = 0; !error && i < shares->n; i++) {
		const uint32_t *key = table_key(shares, i);

		if (is_holder(key) && !table_find(&named, key))
			error = table_add(left, key, table_value(shares, i));
	}
	return error;
}

/* Counts what happened to shares that are freed, so that sums over all shares never fall. */
static int count_freed(struct node_handle *handle, const struct table *left)
{
	CLEANUP(connections_close) struct connections connections = {};
	uint64_t refused = 0, replaced = 0;
	int error;

	for (size_t i = 0; i < left->n; i++) {
		const struct bh_share *share = table_value(left, i);

		refused += share->refused;
		replaced += share->replaced;
	}
	if (!refused && !replaced)
		return 0;
	error = connections_open(handle, &connections);
	if (error)
		return error;
	__atomic_fetch_add(&connections.total->refused, refused, __ATOMIC_RELAXED);
	__atomic_fetch_add(&connections.total->replaced, replaced, __ATOMIC_RELAXED);
	return 0;
}

static int collect_shares(struct node_handle *handle)
{
	CLEANUP(table_free) struct table all = {}, left = {};
	SCOPED_FD int shares = pins_get(handle, "shares");
	int error;

	table_init(&all, sizeof(uint32_t), sizeof(struct bh_share));
	table_init(&left, sizeof(uint32_t), sizeof(struct bh_share));
	error = shares < 0 ? shares : table_read(&all, shares);
	if (!error)
		error = find_orphan_shares(handle, &all, &left);
	if (!error)
		error = count_freed(handle, &left);
	if (!error)
		error = table_delete(&left, shares);
	handle->writes += left.n;
	return error;
}

/* The endpoints whose learned names are deleted. */
struct gone {
	int ifaces, endpoints; /* maps */
	const struct table *learners; /* endpoints whose interface another endpoint has by now */
};

/* Returns true if the interface is no endpoint's. */
static bool is_no_endpoints(const struct gone *gone, const void *ifindex)
{
	struct bh_iface iface;

	return bpf_map_lookup_elem(gone->ifaces, ifindex, &iface) ||
	       !(iface.flags & BH_IFACE_ENDPOINT);
}

/* Returns true if the endpoint at the learner's interface does not have the learner's address. */
static bool is_anothers(const struct gone *gone, const uint32_t *ifindex,
			const struct bh_learner *learner)
{
	static const struct bh_addr none;
	struct bh_endpoint entry;

	return memcmp(&learner->addr, &none, sizeof(none)) &&
	       (bpf_map_lookup_elem(gone->endpoints, &learner->addr, &entry) ||
		entry.ifindex != *ifindex);
}

static bool is_gone(const void *gone, const void *key, const void *value)
{
	return is_no_endpoints(gone, key) || is_anothers(gone, key, value);
}

/* For maps whose key begins with the interface, and whose entries tell of which connection they
 * are: another endpoint has other connections, and its programs may have the entry by now. */
static bool is_of_no_endpoint(const void *gone, const void *key, const void *value)
{
	(void)value;
	return is_no_endpoints(gone, key);
}

/* Returns true as is_gone() does, of a map whose key begins with the interface. */
static bool is_of_gone(const void *what, const void *key, const void *value)
{
	const struct gone *gone = what;

	(void)value;
	return is_no_endpoints(gone, key) || table_seek(gone->learners, key);
}

/* Returns true as is_of_gone() does, of a key of bh_learned. */
static bool is_learned_of_gone(const void *gone, const void *key, const void *value)
{
	return is_of_gone(gone, &((const struct bh_learned_key *)key)->ifindex, value);
}

static int collect_map(struct node_handle *handle, const char *pin, struct table *left,
		       table_filter *is_wanted, const struct gone *gone)
{
	SCOPED_FD int fd = pins_get(handle, pin);
	int error = fd < 0 ? fd : table_read_some(left, fd, is_wanted, gone);

	if (!error)
		error = table_delete(left, fd);
	handle->writes += left->n;
	return error;
}

/* Deletes what endpoints that are gone have learned. Another endpoint may have the interface's
 * index by now, or get it. */
static int collect_learned(struct node_handle *handle)
{
	CLEANUP(table_free) struct table learners = {}, learned = {}, order = {}, questions = {};
	CLEANUP(table_free) struct table streams = {}, carries = {};
	const struct gone gone = {.ifaces = handle->maps[MAP_ifaces],
				  .endpoints = handle->maps[MAP_endpoints],
				  .learners = &learners};
	SCOPED_FD int fd = pins_get(handle, "learners");
	int error;

	table_init(&learners, sizeof(uint32_t), sizeof(struct bh_learner));
	table_init(&learned, sizeof(struct bh_learned_key), sizeof(struct bh_learned));
	table_init(&order, sizeof(struct bh_learned_place), sizeof(struct bh_learned_at));
	table_init(&questions, sizeof(struct bh_question_key), sizeof(struct bh_questions));
	table_init(&streams, sizeof(struct bh_question_key), sizeof(struct bh_streams));
	table_init(&carries, sizeof(struct bh_question_key), sizeof(struct bh_carry));
	error = fd < 0 ? fd : table_read_some(&learners, fd, is_gone, &gone);
	if (error || !learners.n)
		return error;
	error = collect_map(handle, "questions", &questions, is_of_gone, &gone);
	if (!error)
		error = collect_map(handle, "streams", &streams, is_of_no_endpoint, &gone);
	if (!error)
		error = collect_map(handle, "carries", &carries, is_of_no_endpoint, &gone);
	if (!error)
		error = collect_map(handle, "learned", &learned, is_learned_of_gone, &gone);
	if (!error)
		error = collect_map(handle, "learn_order", &order, is_of_gone, &gone);
	if (!error)
		error = table_delete(&learners, fd);
	handle->writes += learners.n;
	return error;
}

int tally_collect(struct node_handle *handle)
{
	int error = collect_tallies(handle);

	if (!error)
		error = collect_shares(handle);
	if (!error)
		error = collect_learned(handle);
	/* nothing is loaded any more */
	if (error == -ENOENT)
		return 0;
	return error ? node_fail(handle, error, "cannot clear up %s/tallies", handle->pin) : 0;
}
