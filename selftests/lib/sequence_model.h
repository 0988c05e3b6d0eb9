/* SPDX-License-Identifier: GPL-2.0-only */
/* A simple model of a stateful enforcer: which frames must, may or must not pass. */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_MODEL_H
#define BULKHEAD_SELFTESTS_SEQUENCE_MODEL_H

#include "selftests/lib/sequence.h"

struct model;

struct model *model_new(void);
void model_free(struct model *model);

/* Makes a model what another one is, between two frames. */
void model_copy(struct model *model, const struct model *other);

/* Returns true if two models surely remember the same. */
bool model_equals(const struct model *a, const struct model *b);

/*
 * Begins a sequence: its first policy is active, GUEST is there as itself, no conversation is
 * known.
 */
void model_begin(struct model *model, const struct policies *policies);

void model_flip(struct model *model, const struct policies *policies);
void model_leave(struct model *model);
void model_arrive(struct model *model, unsigned int role);
void model_wait(struct model *model, unsigned int seconds);

/* Returns true if GUEST is an endpoint now. */
bool model_has_guest(const struct model *model);

/* The model's verdict on the frame at this hook. */
enum word model_says(struct model *model, const struct step *step, const struct sight *sight);

/* Reports the program's verdict on the frame of the last model_says(). */
void model_told(struct model *model, const struct step *step, const struct sight *sight,
		bool passed);

/* Returns true if the frame may belong to a call that its receiver's hook has let in. */
bool model_knows(const struct model *model, const struct step *step);

/* Two calls have crossed, and only one of them is remembered: maybe that of the frame. */
void model_doubt(struct model *model, const struct step *step);

#endif
