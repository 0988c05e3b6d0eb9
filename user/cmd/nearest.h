/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of some words a mistyped one is meant for. */
#ifndef BULKHEAD_CMD_NEAREST_H
#define BULKHEAD_CMD_NEAREST_H

#include <stddef.h>

/* Begin with {.word = WORD}. */
struct nearest {
	const char *word;
	const char *found; /* the most like it so far; NULL: none is like it */
	size_t distance;
};

/* A candidate counts where a third of the word's letters, at most three, are missing, too many,
 * others, or changed places with a neighbour. */
void nearest_try(struct nearest *nearest, const char *candidate);

/* "; did you mean `status`?", or "". Returns @text. */
#define NEAREST_TEXT 320
const char *nearest_print(const struct nearest *nearest, char text[NEAREST_TEXT]);

#endif
