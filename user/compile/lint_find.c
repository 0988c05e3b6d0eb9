// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile/lint_part.h"
#include "policy/match.h"
#include "model/memory.h"
#include "model/search.h"

void lint_find(struct lint *lint, const char *check, const struct where *where, const char *object,
	       const char *format, ...)
{
	struct lint_finding *finding = array_add(lint->findings);
	va_list args;

	*finding = (struct lint_finding){.check = check, .where = *where, .object = strdup(object)};
	va_start(args, format);
	if (vasprintf(&finding->text, format, args) < 0)
		finding->text = NULL;
	va_end(args);
	if (!finding->object || !finding->text)
		memory_exhausted();
}

size_t lint_next_subject(const struct lint *lint, const struct policy_object *object, size_t i)
{
	const struct cluster *cluster = lint->cluster;
	const struct endpoint *endpoints = cluster->endpoints;
	size_t end = cluster->n_endpoints;

	/* endpoints are sorted by namespace */
	if (object->ns_name) {
		const size_t ns = SEARCH(cluster->n_namespaces, k,
					 strcmp(cluster->namespaces[k].name, object->ns_name) < 0);
		const size_t first = SEARCH(end, k, endpoints[k].ns < ns);

		i = i > first ? i : first;
		end = SEARCH(end, k, endpoints[k].ns <= ns);
	}
	while (i < end && !match_subject(cluster, object, &endpoints[i]))
		i++;
	return i < end ? i : cluster->n_endpoints;
}
