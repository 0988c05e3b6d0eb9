// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile/lint_part.h"
#include "policy/match.h"
#include "model/memory.h"

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
	while (i < lint->cluster->n_endpoints &&
	       !match_subject(lint->cluster, object, &lint->cluster->endpoints[i]))
		i++;
	return i;
}
