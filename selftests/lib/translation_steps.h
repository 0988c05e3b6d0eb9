/* SPDX-License-Identifier: GPL-2.0-only */
/* Random sequences for lib/translation.h, and a sequence as text. */
#ifndef BULKHEAD_SELFTESTS_TRANSLATION_STEPS_H
#define BULKHEAD_SELFTESTS_TRANSLATION_STEPS_H

#include "selftests/lib/translation.h"

/* Sequences of GROUP neighbouring seeds have the same policies, since a load takes longer than a
 * sequence. */
#define GROUP 512

void translation_generate(struct sequence *sequence, uint64_t seed);

void translation_print_step(FILE *to, const struct step *step);

/* Makes a failing sequence shorter, as long as @fails says that it fails. */
void translation_shrink(struct sequence *sequence,
			bool (*fails)(const struct sequence *sequence, void *data), void *data);

#endif
