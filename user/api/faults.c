// SPDX-License-Identifier: GPL-2.0-only
#include "api/faults.h"

static uint64_t kind_of(long status, const char *message)
{
	uint64_t kind = 14695981039346656037u ^ status; /* FNV-1a */

	for (; *message; message++)
		if (*message < '0' || *message > '9')
			kind = (kind ^ (unsigned char)*message) * 1099511628211u;
	return kind;
}

bool api_faults_add(struct api_faults *faults, long status, const char *message)
{
	const uint64_t kind = kind_of(status, message);

	for (size_t i = 0; i < faults->n; i++)
		if (faults->kinds[i] == kind)
			return false;
	if (faults->n == FAULTS_MAX)
		return false;
	faults->kinds[faults->n++] = kind;
	return true;
}
