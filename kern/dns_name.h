/* SPDX-License-Identifier: GPL-2.0-only */
/* Names in DNS messages, and what an endpoint learns. */
#ifndef BULKHEAD_KERN_DNS_NAME_H
#define BULKHEAD_KERN_DNS_NAME_H

#include "endpoint.h"
#include "resolver.h"
#include "tunables.h"
#include "maps/dns.bpf.h"
#include "maps/domain.bpf.h"
#include "maps/domain_hash.h"

#define DNS_BYTES BH_DNS_BYTES
#define DNS_RECORDS BH_DNS_RECORDS
#define DNS_LABELS BH_DNS_LABELS
#define DNS_POINTER 0xc0
#define DNS_STEPS 160 /* labels and pointers of a name */
#define DNS_NO_PLACE 0xffffffffu

static __always_inline struct bh_dns_work *dns_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_dns_work, &zero);
}

static __noinline void dns_count(__u32 result)
{
	__u64 *count = bpf_map_lookup_elem(&bh_dns_counts, &result);

	if (count)
		++*count;
}

static __always_inline bool dns_is_resolvers(const struct packet *p)
{
	return resolver_is(p, p->hook == BH_HOOK_FROM_ENDPOINT ? !p->from : p->from);
}

/* Returns the byte at @at. The caller has compared @at with the length, and the verifier has
 * forgotten that. */
static __always_inline __u8 *dns_byte(struct bh_dns_work *work, __u32 at)
{
	at &= DNS_BYTES - 1;
	asm volatile("" : "+r"(at));
	return &work->bytes[at];
}

/* Returns the eight bytes from @at on, aligned or not. */
static __always_inline __u64 dns_word(struct bh_dns_work *work, __u32 at)
{
	return *(const __u64 *)dns_byte(work, at);
}

/* The state of a walk over the labels of a name. */
struct dns_labels {
	struct bh_dns_work *work;
	__u32 at, low, end; /* `low`: pointers must lead below it */
	__u32 bytes; /* of the name so far */
	bool whole;
};

/* Handles one label or pointer, for bpf_loop(). */
static long dns_label(__u32 i __attribute__((unused)), struct dns_labels *walk)
{
	struct bh_dns_work *work = walk->work;
	__u32 length, to, n;

	if (walk->at >= work->length)
		return 1;
	length = *dns_byte(work, walk->at);
	if (length >= DNS_POINTER) {
		if (walk->at + 2 > work->length)
			return 1;
		to = (length & 0x3f) << 8 | *dns_byte(work, walk->at + 1);
		if (!walk->end)
			walk->end = walk->at + 2;
		if (to >= walk->low)
			return 1;
		walk->at = walk->low = to;
		return 0;
	}
	if (!length) {
		if (!walk->end)
			walk->end = walk->at + 1;
		walk->whole = true;
		return 1;
	}
	walk->bytes += length + 1;
	if (length > BH_DOMAIN_LABEL || walk->bytes >= BH_DOMAIN_NAME ||
	    walk->at + 1 + length > work->length)
		return 1;
	n = work->labels++ & (DNS_LABELS - 1);
	asm volatile("" : "+r"(n));
	work->label[n] = walk->at;
	walk->at += 1 + length;
	return 0;
}

/* Finds the labels of the name at @at, and its end. Returns false if the name breaks the format. */
BPF_GLOBAL int dns_name(struct bh_dns_work *work, __u32 at)
{
	struct dns_labels walk = {.work = work, .at = at, .low = at};

	if (!work)
		return false;
	work->labels = 0;
	bpf_loop(DNS_STEPS, dns_label, &walk, 0);
	work->end = walk.end;
	return walk.whole && work->labels;
}

/* The state of the hash of a name. */
struct dns_hash {
	struct bh_dns_work *work;
	bool match;
};

static __always_inline void dns_match(struct bh_dns_work *work, __u64 hash)
{
	__u32 n = work->n_domains;

	if (n >= BH_LEARNED_NAMES || !active_lookup(&at_domains, &hash))
		return;
	n &= BH_LEARNED_NAMES - 1;
	asm volatile("" : "+r"(n));
	work->domains[n] = hash;
	work->n_domains = n + 1;
}

/* Absorbs one label, from the last to the first, for bpf_loop(). */
static long dns_absorb(__u32 i, struct dns_hash *walk)
{
	struct bh_dns_work *work = walk->work;
	__u32 n = work->labels - 1 - i, at, length;

	n &= DNS_LABELS - 1;
	asm volatile("" : "+r"(n));
	at = work->label[n];
	length = *dns_byte(work, at++) & BH_DOMAIN_LABEL;
	bh_domain_absorb(&work->hash, length);
	for (__u32 k = 0; k < 8; k++) {
		__u64 word;

		if (k * 8 >= length)
			break;
		word = dns_word(work, at + k * 8);
		if (length - k * 8 < 8)
			word &= (1ull << (length - k * 8) * 8) - 1;
		bh_domain_absorb(&work->hash, bh_domain_lower(word));
	}
	if (walk->match && n)
		dns_match(work, bh_domain_end(&work->hash, BH_DOMAIN_WILDCARD));
	return 0;
}

/* Returns the hash of the name that dns_name() has found. @match: adds the entries of bh_domains
 * that it matches. */
BPF_GLOBAL __u64 dns_hash(struct bh_dns_work *work, bool match)
{
	struct dns_hash walk = {.work = work, .match = match};
	__u64 hash;
	__u32 labels;

	if (!work)
		return 0;
	labels = work->labels;
	bh_domain_begin(&work->hash, domain_key[0], domain_key[1]);
	bpf_loop(labels < DNS_LABELS ? labels : DNS_LABELS, dns_absorb, &walk, 0);
	hash = bh_domain_end(&work->hash, BH_DOMAIN_EXACT);
	if (match)
		dns_match(work, hash);
	return hash;
}

/* Hashes work->key. */
BPF_GLOBAL int dns_stamp(struct bh_dns_work *work)
{
	if (!work)
		return 0;
	bh_domain_begin(&work->hash, domain_key[0], domain_key[1]);
	work->owner = bh_learned_owner(&work->hash, &work->key);
	return 0;
}

/* Returns the tick until which new connections may open by the answer. */
static __always_inline __u32 dns_until(const struct packet *p, const struct bh_dns_work *work)
{
	return p->now + ((__u64)work->ttl * event_hz >> BH_TICK_SHIFT) + dns_grace;
}

/* Returns the entry of an endpoint, new or not; NULL: there is no room. */
static __noinline struct bh_learner *dns_learner(__u32 ifindex)
{
	struct bh_learner *learner = bpf_map_lookup_elem(&bh_learners, &ifindex);
	struct bh_learner first = {};
	struct bh_iface *iface;

	if (learner)
		return learner;
	iface = endpoint_iface(ifindex);
	if (iface)
		first.addr = endpoint_no_address(&iface->ipv4) ? iface->ipv6 : iface->ipv4;
	bpf_map_update_elem(&bh_learners, &ifindex, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&bh_learners, &ifindex);
}

/* Gives work->key the next place of its endpoint. The address that had the place is removed.
 * Returns the place. */
static __noinline __u32 dns_place(struct bh_dns_work *work, struct bh_learner *learner)
{
	struct bh_learned_place key = {.ifindex = work->key.ifindex};
	struct bh_learned_key gone = {.ifindex = work->key.ifindex};
	struct bh_learned_at *old;
	struct bh_learned *former;
	__u32 place;

	if (!learner)
		return DNS_NO_PLACE;
	place = __sync_fetch_and_add(&learner->next, 1);
	key.place = place & (BH_LEARNED_SHARE - 1);
	old = bpf_map_lookup_elem(&bh_learn_order, &key);
	if (!old)
		return bpf_map_update_elem(&bh_learn_order, &key, &work->key.addr, BPF_NOEXIST)
			       ? DNS_NO_PLACE
			       : place;
	gone.addr = old->addr;
	former = bpf_map_lookup_elem(&bh_learned, &gone);
	/* an address that has got a later place stays */
	if (former && (__u32)former->place == place - BH_LEARNED_SHARE) {
		bpf_map_delete_elem(&bh_learned, &gone);
		__sync_fetch_and_add(&learner->replaced, 1);
		dns_count(BH_DNS_REPLACED);
	}
	/* Nobody else has this place before the share is used up again. */
	old->addr = work->key.addr;
	return place;
}

/* Adds an entry for work->key without names. Returns it; NULL: there is no room. */
static __always_inline struct bh_learned *dns_new(struct bh_dns_work *work,
						  struct bh_learner *learner)
{
	const __u32 place = dns_place(work, learner);

	if (place == DNS_NO_PLACE)
		return NULL;
	work->value.place = bh_learned_stamp(work->owner, 0, place);
	bpf_map_update_elem(&bh_learned, &work->key, &work->value, BPF_NOEXIST);
	return bpf_map_lookup_elem(&bh_learned, &work->key);
}

/* Returns true if half of the share came after the entry. */
static __always_inline bool dns_is_old(const struct bh_learner *learner,
				       const struct bh_learned *learned)
{
	return READ_ONCE(learner->next) - (__u32)READ_ONCE(learned->place) >= BH_LEARNED_SHARE / 2;
}

/* Gives an old entry a new place, so that an address that is learned again and again stays. */
static __always_inline void dns_again(struct bh_dns_work *work, struct bh_learner *learner,
				      struct bh_learned *learned)
{
	const __u64 had = bh_learned_stamp(work->owner, 0, READ_ONCE(learned->place));
	__u32 place;

	if (!dns_is_old(learner, learned))
		return;
	place = dns_place(work, learner);
	if (place != DNS_NO_PLACE)
		__sync_val_compare_and_swap(&learned->place, had,
					    bh_learned_stamp(work->owner, 0, place));
}

/* The state of a walk over the names of an answer. */
struct dns_names {
	struct bh_dns_work *work;
	struct bh_learned *learned;
	__u32 until;
};

/* Lets new connections open until then. */
static __always_inline void dns_extend(__u64 *until, __u64 to)
{
	const __u64 has = READ_ONCE(*until);

	if ((has ^ to) >> 32 || (__s32)((__u32)to - (__u32)has) > 0)
		WRITE_ONCE(*until, to);
}

/* Adds one name to the address, for bpf_loop(). If the address has too many, the one whose time is
 * over first is replaced. */
static long dns_put(__u32 i, struct dns_names *names)
{
	struct bh_learned *learned = names->learned;
	__u32 at = 0, least = 0x7fffffff;
	__u64 domain, until;

	i &= BH_LEARNED_NAMES - 1;
	asm volatile("" : "+r"(i));
	domain = names->work->domains[i];
	until = bh_learned_stamp(names->work->owner, domain, names->until);
	/* unrolled, it takes more of the stack than there is */
#pragma clang loop unroll(disable)
	for (int k = 0; k < BH_LEARNED_NAMES; k++) {
		const __u64 has = READ_ONCE(learned->domain[k]);
		__u32 left = (__u32)READ_ONCE(learned->until[k]) - names->until + 0x40000000;

		if (has == domain) {
			dns_extend(&learned->until[k], until);
			return 0;
		}
		if (!has)
			left = 0;
		if (left < least) {
			least = left;
			at = k;
		}
	}
	at &= BH_LEARNED_NAMES - 1;
	asm volatile("" : "+r"(at));
	/* the stamp tells a name from the one before it */
	WRITE_ONCE(learned->until[at], until);
	WRITE_ONCE(learned->domain[at], domain);
	return 0;
}

/* Begins the time of the address work->key.addr anew, if the endpoint knows it by the one name of
 * the answer first of all. Nearly all addresses have one name, and most are learned again. Returns
 * false if not. @learner: of the endpoint that work->key has. */
static __always_inline bool dns_known(const struct packet *p, struct bh_dns_work *work,
				      const struct bh_learner *learner)
{
	struct bh_learned *learned = bpf_map_lookup_elem(&bh_learned, &work->key);

	if (!learned || work->n_domains != 1 || READ_ONCE(learned->domain[0]) != work->domains[0] ||
	    dns_is_old(learner, learned))
		return false;
	dns_extend(&learned->until[0],
		   bh_learned_stamp(work->owner, work->domains[0], dns_until(p, work)));
	work->learned++;
	return true;
}

/* Learns the address of dns_work()'s key by the names of the answer. */
BPF_GLOBAL int dns_learn(const struct packet *p, struct bh_learner *learner)
{
	struct bh_dns_work *work = dns_work(); /* an argument may be no map's key */
	struct dns_names names = {.work = work};

	if (!p || !work || !learner)
		return 0;
	names.until = dns_until(p, work);
	names.learned = bpf_map_lookup_elem(&bh_learned, &work->key);
	if (names.learned)
		dns_again(work, learner, names.learned);
	else
		names.learned = dns_new(work, learner);
	if (!names.learned) {
		dns_count(BH_DNS_FULL);
		return 0;
	}
	bpf_loop(work->n_domains, dns_put, &names, 0);
	work->learned++;
	return 0;
}

#endif
