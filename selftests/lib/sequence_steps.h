/* SPDX-License-Identifier: GPL-2.0-only */
/* Random sequences, and a sequence as text. The seed decides a whole sequence. */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_STEPS_H
#define BULKHEAD_SELFTESTS_SEQUENCE_STEPS_H

#include "selftests/lib/sequence.h"

void sequence_generate(struct sequence *sequence, uint64_t seed);

void sequence_print_step(FILE *to, const struct step *step);

/* Removes steps, rules and details as long as @fails still returns true for the rest. */
void sequence_shrink(struct sequence *sequence,
		     bool (*fails)(const struct sequence *sequence, void *data), void *data);

#endif
