/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the word that a mistyped word was probably meant to be. */
#ifndef BULKHEAD_MODEL_NEAREST_H
#define BULKHEAD_MODEL_NEAREST_H

#include <stddef.h>

/* Initialise as {.word = WORD}. */
struct nearest {
	const char *word;
	const char *found; /* the nearest candidate so far; NULL: no candidate is near */
	size_t distance;
};

/* Tries a candidate. Missing, additional, wrong and swapped letters may be a third of the word's
 * letters, and three at most. */
void nearest_try(struct nearest *nearest, const char *candidate);

/* Prints "; did you mean `status`?", or "" if nothing was found. Returns @text. */
#define NEAREST_TEXT 320
const char *nearest_print(const struct nearest *nearest, char text[NEAREST_TEXT]);

#endif
