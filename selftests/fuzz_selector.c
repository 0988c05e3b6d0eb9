// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the selector parser: an accepted selector is in canonical form and matches labels. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"

static void check(const struct selector *selector)
{
	struct label pairs[] = {{"a", "b"}, {"c", ""}};
	const struct labels labels = {pairs, 2};

	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *requirement = &selector->at[i];

		if (i && strcmp(requirement[-1].key, requirement->key) > 0)
			abort();
		for (size_t j = 1; j < requirement->n_values; j++)
			if (strcmp(requirement->values[j - 1], requirement->values[j]) >= 0)
				abort();
	}
	selector_matches(selector, &labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct where where = {"fuzz", 1};
	struct selector selector;
	struct diag diag = {0};
	struct cluster cluster;
	char *text = malloc(size + 1);

	if (!text)
		return -1;
	memcpy(text, data, size);
	text[size] = '\0';
	cluster_init(&cluster);
	if (!input_parse_selector(&cluster, text, &where, &diag, &selector))
		check(&selector);
	else if (!diag.errors)
		abort();
	cluster_free(&cluster);
	free(text);
	return 0;
}
