/* SPDX-License-Identifier: GPL-2.0-only */
/* What a stateful enforcer may let through, and must: a naive reading of the specification. */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_MODEL_H
#define BULKHEAD_SELFTESTS_SEQUENCE_MODEL_H

#include "selftests/lib/sequence.h"

struct model;

struct model *model_new(void);
void model_free(struct model *model);

/* As a sequence begins: its first policy in force, GUEST there as itself, nothing remembered. */
void model_begin(struct model *model, const struct policies *policies);

void model_flip(struct model *model, const struct policies *policies);
void model_leave(struct model *model);
void model_arrive(struct model *model, unsigned int role);
void model_wait(struct model *model, unsigned int seconds);

/* Whether GUEST is an endpoint at the moment. */
bool model_has_guest(const struct model *model);

/* What must become of the frame at that hook. */
enum word model_says(struct model *model, const struct step *step, const struct sight *sight);

/* What became of the frame that model_says() was last asked for. */
void model_told(struct model *model, const struct step *step, const struct sight *sight,
		bool passed);

#endif
