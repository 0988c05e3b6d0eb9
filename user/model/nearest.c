/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/nearest.h"

#define LETTERS 255 /* letters of a word that the distance counts */

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the number of letters by which two words differ (Damerau and Levenshtein), without regard
 * to their case. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][LETTERS + 1], n = smaller(strlen(a), LETTERS),
				     m = smaller(strlen(b), LETTERS);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t k = 0; k <= m; k++)
		last[k] = k;
	for (size_t i = 1; i <= n; i++) {
		size_t *oldest = before;

		now[0] = i;
		for (size_t k = 1; k <= m; k++) {
			now[k] = smaller(smaller(last[k], now[k - 1]) + 1,
					 last[k - 1] + !same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]))
				now[k] = smaller(now[k], before[k - 2] + 1);
		}
		before = last;
		last = now;
		now = oldest;
	}
	return last[m];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	size_t limit = smaller((strlen(nearest->word) + 2) / 3, 3);
	size_t found = distance(nearest->word, candidate);

	if (found > limit || (nearest->found && found >= nearest->distance))
		return;
	nearest->found = candidate;
	nearest->distance = found;
}

const char *nearest_print(const struct nearest *nearest, char text[NEAREST_TEXT])
{
	*text = '\0';
	if (nearest->found)
		snprintf(text, NEAREST_TEXT, "; did you mean `%.280s`?", nearest->found);
	return text;
}
