/* SPDX-License-Identifier: GPL-2.0-only */
/* Which faults of a series were logged: each kind is, once. */
#ifndef BULKHEAD_API_FAULTS_H
#define BULKHEAD_API_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULTS_MAX 8 /* kinds of a series that are logged */

/* A series ends with the first success: then all is zero again. */
struct api_faults {
	uint64_t kinds[FAULTS_MAX];
	size_t n;
};

/* Returns true if the series has no such fault yet. The status counts, and the message without its
 * digits: times, ports and versions make no other kind. */
bool api_faults_add(struct api_faults *faults, long status, const char *message);

#endif
