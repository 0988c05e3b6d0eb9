/* SPDX-License-Identifier: GPL-2.0-only */
/* Recognises objects that look like policies and are of no kind that Bulkhead reads: kinds of other
 * systems, and misspelt kinds. */
#ifndef BULKHEAD_INPUT_FOREIGN_H
#define BULKHEAD_INPUT_FOREIGN_H

#include <stdbool.h>

#include "model/nearest.h"

/* Returns true if the kind is a policy of another network policy system, or has "NetworkPolicy" in
 * its name. @version is an apiVersion: "cilium.io/v2". */
bool foreign_is_policy(const char *version, const char *kind);

/* Returns true if both apiVersions have one API group. */
bool foreign_same_group(const char *a, const char *b);

/* Tries a kind that is read: @nearest finds the kind if no more than two letters differ, and the
 * API group is the same. */
void foreign_try(struct nearest *nearest, const char *version, const char *kind,
		 const char *kind_version);

#endif
