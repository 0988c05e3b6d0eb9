/* SPDX-License-Identifier: GPL-2.0-only */
/* Random sequences, and what a reader sees of one. All of a sequence follows from its seed. */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_STEPS_H
#define BULKHEAD_SELFTESTS_SEQUENCE_STEPS_H

#include "selftests/lib/sequence.h"

void sequence_generate(struct sequence *sequence, uint64_t seed);

void sequence_print_step(FILE *to, const struct step *step);

/* Drops steps, rules and details for as long as @fails still returns true of what is left. */
void sequence_shrink(struct sequence *sequence,
		     bool (*fails)(const struct sequence *sequence, void *data), void *data);

#endif
