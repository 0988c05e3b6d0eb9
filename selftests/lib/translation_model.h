/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The naive model: a packet may arrive only if policy allows its true sender to call its true
 * receiver, or if it answers something that did arrive and is still allowed. See the .c file.
 */
#ifndef BULKHEAD_SELFTESTS_TRANSLATION_MODEL_H
#define BULKHEAD_SELFTESTS_TRANSLATION_MODEL_H

#include "selftests/lib/translation.h"

struct model;

struct model *translation_model_new(void);
void translation_model_free(struct model *model);

void translation_model_begin(struct model *model, const struct policies *policy);
void translation_model_flip(struct model *model, const struct policies *policy);
void translation_model_forget(struct model *model); /* conntrack has forgotten all */
void translation_model_disturb(struct model *model); /* the programs have forgotten all */

/* Finds the packet of a step. Returns false if the step sends none. */
bool translation_model_packet(struct model *model, const struct step *step,
			      struct sending *sending);

enum word { MUST_DROP, MUST_PASS, MAY };

/* Returns whether the packet had to arrive or not, and remembers what became of it. */
enum word translation_model_evaluate(struct model *model, const struct step *step,
				     const struct sending *sending, const struct fate *fate);

#endif
