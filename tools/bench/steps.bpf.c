// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the time of an established flow goes: the short line of kern/fast_path.h, cut
 * off behind each of its steps, first as if every packet were of another
 * connection than the last, then for one of the same. What a step consists of has a macro of its
 * name here, which leaves it out of the programs that do not get that far; how far one gets stands
 * above the number of the hook, and is known when this is compiled.
 */
#pragma clang diagnostic ignored "-Wunused-function" /* what only the whole line calls */

#include "skb.h"
#include "events.h"
#include "flow_cache.h"
#include "tools/bench/floor.h"

char LICENSE[] SEC("license") = "GPL";

enum step {
	STEP_FORM = 1 << 8, /* headers and lengths */
	STEP_FIND = 2 << 8, /* the key, in the order of its ends, and its lookup */
	STEP_WORDS = 3 << 8, /* the generation, the tag, and what both ends say */
	STEP_ENDS = 4 << 8, /* where both are */
	STEP_AGE = 5 << 8,
	STEP_COUNT = 6 << 8, /* all there is */
	STEP_LAST = 7 << 8, /* all but the counter, where the last packet's connection serves */
};

#define REACHES(step) (p->hook >= (step))
#define flow_cache_slot4(k) (REACHES(STEP_LAST) ? (flow_cache_slot4)(k) : NULL)
#define flow_cache_slot6(k) (REACHES(STEP_LAST) ? (flow_cache_slot6)(k) : NULL)
#define packet_generation() (REACHES(STEP_WORDS) ? (packet_generation)() : 0)
#define table_at(key) (REACHES(STEP_FIND) ? (table_at)(key) : 1)
#define table_slot(at) (REACHES(STEP_FIND) ? (table_slot)(at) : (void *)p->key)
#define ct_allowed(ct, want, word) (!REACHES(STEP_WORDS) || (ct_allowed)(ct, want, word))
#define ct_ends_match(ct, word, at) (!REACHES(STEP_ENDS) || (ct_ends_match)(ct, word, at))
#define ct_acknowledge(ct, end, acknowledged) \
	(REACHES(STEP_AGE) ? (ct_acknowledge)(ct, end, acknowledged) : (void)0)
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
		struct fast_path_room room;                                             \
		struct fast_path plain = {                                              \
			.ctx = skb,                                                     \
			.hook = BH_HOOK_TO_ENDPOINT | (step),                           \
			.key = (void *)&room,                                           \
		};                                                                      \
                                                                                        \
		if (!fast_path_packet(&plain))                                          \
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
