// SPDX-License-Identifier: GPL-2.0-only
#include "compile/distinct_rules.h"

#include "compile/compiler.h"

struct rule *distinct_rules(const struct rule *rules, size_t *n)
{
	struct rule *distinct = NULL;
	struct intern seen = {0};
	bytes_t bytes = {0};
	bool fresh;

	for (size_t i = 0; *n > 1 && i < *n; i++) {
		bytes.n = 0;
		rule_put(&bytes, &rules[i]);
		intern_add(&seen, bytes.at, bytes.n, &fresh);
		if (!fresh && !distinct) {
			distinct = grow_zeroed(*n, sizeof(*distinct));
			memcpy(distinct, rules, i * sizeof(*distinct));
		}
		if (fresh && distinct)
			distinct[seen.entries.n - 1] = rules[i];
	}
	if (distinct)
		*n = seen.entries.n;
	intern_free(&seen);
	array_free(&bytes);
	return distinct;
}
