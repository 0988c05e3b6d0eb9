// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows where the time of an established flow goes: the fast path (kern/fast_path.h), cut off
 * after each of its steps, first as if each packet were of another connection than the last,
 * then for one connection. A macro here replaces each step in programs that do not go so far.
 * The step stands above the number of the hook, and is known at compile time.
 */
/* Only the whole path calls some functions. */
#pragma clang diagnostic ignored "-Wunused-function"

#include "skb.h"
#include "event_records.h"
#include "handshake.h"
#include "tools/bench/floor.h"

char LICENSE[] SEC("license") = "GPL";

enum step {
	STEP_FORM = 1 << 8, /* headers and lengths */
	STEP_FIND = 2 << 8, /* the key, in the order of its ends, and the lookup */
	STEP_WORDS = 3 << 8, /* the generation, the tag, and the words of both ends */
	STEP_ENDS = 4 << 8, /* the interfaces of both ends */
	STEP_AGE = 5 << 8,
	STEP_COUNT = 6 << 8, /* everything */
	STEP_LAST = 7 << 8, /* all but the counter, where the flow cache has the connection */
};

static struct bh_ct step_found; /* in place of what the lookup would find */

#define REACHES(step) (p->hook >= (step))
#define flow_cache_slot(k, ipv4, key) (REACHES(STEP_LAST) ? (flow_cache_slot)(k, ipv4, key) : NULL)
#define packet_generation() (REACHES(STEP_WORDS) ? (packet_generation)() : 0)
#define table_find_inline(key, at) \
	(REACHES(STEP_FIND) ? (table_find_inline)(key, at) : (*(at) = 1, &step_found))
#define ct_allowed(ct, want, word) (!REACHES(STEP_WORDS) || (ct_allowed)(ct, want, word))
#define ct_ends_match(ct, word, at) (!REACHES(STEP_ENDS) || (ct_ends_match)(ct, word, at))
#define ct_acknowledge(ct, end, sequence, acknowledged) \
	(REACHES(STEP_AGE) ? (ct_acknowledge)(ct, end, sequence, acknowledged) : (void)0)
#define ct_alive(ct, protocol, now) (!REACHES(STEP_AGE) || (ct_alive)(ct, protocol, now))
#undef SETTLE
#define SETTLE(x)                                   \
	do {                                        \
		if (REACHES(STEP_WORDS))            \
			asm volatile("" : "+r"(x)); \
	} while (0)

#include "fast_path.h"

#define STEP_PROGRAM(name, step)                                                        \
	SEC("tc")                                                                       \
	int step_##name(struct __sk_buff *skb)                                          \
	{                                                                               \
		struct fast_path_scratch scratch;                                       \
		struct fast_path path = {                                               \
			.ctx = skb,                                                     \
			.hook = BH_HOOK_TO_ENDPOINT | (step),                           \
			.key = (void *)&scratch,                                        \
		};                                                                      \
                                                                                        \
		if (!fast_path_packet(&path))                                           \
			return FLOOR_FAILED;                                            \
		if ((step) == STEP_COUNT)                                               \
			events_count(BH_PASS_ESTABLISHED, skb->len, BH_INGRESS, false); \
		return FLOOR_TC_DONE;                                                   \
	}

STEP_PROGRAM(form, STEP_FORM)
STEP_PROGRAM(find, STEP_FIND)
STEP_PROGRAM(words, STEP_WORDS)
STEP_PROGRAM(ends, STEP_ENDS)
STEP_PROGRAM(age, STEP_AGE)
STEP_PROGRAM(count, STEP_COUNT)
STEP_PROGRAM(last, STEP_LAST)

/* Of a drop: the packet that is parsed, and then kept among the last drops (events_keep()), as a
 * new record or as one more like the last. */
static __always_inline int drop_step(struct __sk_buff *skb, bool keeps, bool is_new)
{
	struct packet p = {.hook = BH_HOOK_TO_ENDPOINT, .ifindex = skb->ifindex};
	__u32 place = tally_place(p.ifindex); /* a drop's counters need it, too */
	struct bh_event event = {};

	if (parse_packet(skb, &p))
		return FLOOR_FAILED;
	if (is_new)
		p.port[1] = (__be16)bpf_get_prandom_u32();
	events_fill(&event, &p, BH_DROP_INGRESS, false);
	if (keeps)
		events_keep(&event, place);
	return FLOOR_TC_DONE;
}

SEC("tc")
int drop_parse(struct __sk_buff *skb)
{
	return drop_step(skb, false, false);
}

SEC("tc")
int drop_like(struct __sk_buff *skb)
{
	return drop_step(skb, true, false);
}

SEC("tc")
int drop_parse_new(struct __sk_buff *skb)
{
	return drop_step(skb, false, true);
}

SEC("tc")
int drop_new(struct __sk_buff *skb)
{
	return drop_step(skb, true, true);
}
