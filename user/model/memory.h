/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ends work when memory runs out. Readers and the compiler allocate at every step and check no
 * result: memory_exhausted() ends the work that they are part of, and the function that began the
 * work gets an error.
 */
#ifndef BULKHEAD_MODEL_MEMORY_H
#define BULKHEAD_MODEL_MEMORY_H

/*
 * Runs @work and returns its result, or -ENOMEM if memory runs out. In that case @data is as
 * it was at that moment and can be freed; memory that only functions of @work knew is lost.
 */
int memory_guarded(int (*work)(void *data), void *data);

/* Ends the innermost guarded work; without any, ends the process. */
void memory_exhausted(void) __attribute__((noreturn));

#endif
