/* SPDX-License-Identifier: GPL-2.0-only */
/* Code that is for the verifier alone: no packet runs it. */
#ifndef BULKHEAD_KERN_VERIFIER_H
#define BULKHEAD_KERN_VERIFIER_H

#include "tunables.h"

/*
 * 5,000 instructions that never run. The verifier knows the constant, removes them, and keeps the
 * memory of its notes on them: there it has room for the instructions that it then puts in for each
 * lookup, some 4,000 in the largest program. Without the room, since 6.18, it copies its notes on
 * the whole program for each page by which they grow: a quarter of a first load.
 */
static __always_inline void verifier_room(void)
{
	if (unlikely(redirect > 1))
		asm volatile(".rept 5000\n\tr0 = 0\n\t.endr" : : : "r0");
}

#endif
