/* SPDX-License-Identifier: GPL-2.0-only */
/* The drops and the event budgets of each endpoint (maps/tally.h). */
#ifndef BULKHEAD_KERN_TALLY_H
#define BULKHEAD_KERN_TALLY_H

#include "endpoint.h"
#include "tunables.h"
#include "maps/tally.bpf.h"

static __always_inline bool tally_is_of(__u32 place, __u32 ifindex)
{
	struct bh_tally_key *key = bpf_map_lookup_elem(&bh_tally_keys, &place);

	return key && READ_ONCE(key->ifindex) == ifindex;
}

/* Takes a free place for the interface. Returns true if @place is the interface's. */
static __noinline bool tally_add(__u32 place, __u32 ifindex)
{
	struct bh_tally_key *key = bpf_map_lookup_elem(&bh_tally_keys, &place);
	struct bh_iface *iface;
	__u32 owner;

	if (!key)
		return false;
	owner = __sync_val_compare_and_swap(&key->ifindex, 0, ifindex);
	if (owner)
		return owner == ifindex;
	iface = endpoint_iface(ifindex);
	WRITE_ONCE(key->ns, iface && iface->ns ? iface->ns : BH_NAMESPACE_NONE);
	return true;
}

#define TALLY_PLACE(ifindex, way) (((ifindex) + (way)) & (BH_TALLIES - 1))
_Static_assert(BH_TALLY_WAYS == 4, "tally_search");

/* Written out: the verifier of 6.1 refuses a loop around these calls. Global, so that the verifier
 * checks it once. */
BPF_GLOBAL __u32 tally_search(__u32 ifindex)
{
	if (tally_add(TALLY_PLACE(ifindex, 0), ifindex))
		return TALLY_PLACE(ifindex, 0);
	if (tally_add(TALLY_PLACE(ifindex, 1), ifindex))
		return TALLY_PLACE(ifindex, 1);
	if (tally_add(TALLY_PLACE(ifindex, 2), ifindex))
		return TALLY_PLACE(ifindex, 2);
	if (tally_add(TALLY_PLACE(ifindex, 3), ifindex))
		return TALLY_PLACE(ifindex, 3);
	return BH_TALLIES;
}

/* Returns the place of an interface; BH_TALLIES: all its places are taken. */
static __always_inline __u32 tally_place(__u32 ifindex)
{
	__u32 place = TALLY_PLACE(ifindex, 0);

	return likely(tally_is_of(place, ifindex)) ? place : tally_search(ifindex);
}

static __always_inline struct bh_tally *tally_at(__u32 place)
{
	return bpf_map_lookup_elem(&bh_tallies, &place);
}

/* Returns the place of an interface if it is an endpoint's; else BH_TALLIES. */
static __always_inline __u32 tally_place_of_endpoint(__u32 ifindex)
{
	__u32 place = TALLY_PLACE(ifindex, 0);
	struct bh_tally_key *key = bpf_map_lookup_elem(&bh_tally_keys, &place);

	if (!key)
		return BH_TALLIES;
	if (unlikely(READ_ONCE(key->ifindex) != ifindex)) {
		place = tally_search(ifindex);
		key = bpf_map_lookup_elem(&bh_tally_keys, &place);
	}
	return key && READ_ONCE(key->ns) > BH_NAMESPACE_NONE ? place : BH_TALLIES;
}

/* Pays for a record from the budget. Returns false if the credit does not suffice. */
static __always_inline bool tally_pays(struct bh_budget *budget)
{
	__u32 now = bpf_jiffies64(), since = now - budget->stamp;
	__u32 full = event_rate * event_hz, credit = budget->credit;

	if (since) {
		credit = since < event_hz ? credit + since * event_rate : full;
		budget->credit = credit < full ? credit : full;
		budget->stamp = now;
	}
	if (budget->credit < event_hz) {
		budget->suppressed++;
		return false;
	}
	budget->credit -= event_hz;
	return true;
}

/* Returns true if most of the budget is spent: its endpoint causes many events. */
static __always_inline bool tally_spends(const struct bh_budget *budget)
{
	return budget->credit < event_rate * event_hz / 2;
}

/* Returns true if the setting event-sample keeps this event. */
static __always_inline bool tally_samples(__u32 *since)
{
	if (likely(event_sample <= 1))
		return true;
	if (++*since < event_sample)
		return false;
	*since = 0;
	return true;
}

#endif
