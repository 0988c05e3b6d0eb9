/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens where memory runs out: readers and the compiler, which allocate at every step, do
 * not look. The work that they are part of ends, and whoever began the work has an error.
 */
#ifndef BULKHEAD_MODEL_MEMORY_H
#define BULKHEAD_MODEL_MEMORY_H

/*
 * Runs @work. Returns what it returns, or -ENOMEM where memory runs out in it: then what @data
 * leads to is as it was at that moment, to be freed, and what only @work's functions knew is lost.
 */
int memory_guarded(int (*work)(void *data), void *data);

/* Ends the innermost guarded work; where there is none, the process. */
void memory_exhausted(void) __attribute__((noreturn));

#endif
