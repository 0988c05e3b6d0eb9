/* SPDX-License-Identifier: GPL-2.0-only */
/* INPUT...: what the user names on the command line, as a compiled policy. */
#ifndef BULKHEAD_CMD_INPUTS_H
#define BULKHEAD_CMD_INPUTS_H

#include "compile/policy.h"

/*
 * Reads files, folders and standard input ("-") into an empty @cluster and finishes it. Returns 0;
 * -EINVAL where an input is bad or cannot be read, or -ENOMEM; reported. Free the cluster in any
 * case.
 */
int inputs_cluster(char *const *paths, int n, struct cluster *cluster, struct diag *diag);

/* What the input continues or, where it is a change of a policy, changes. */
struct inputs_base {
	const struct policy *policy; /* NULL: nothing */
	const char
		*name; /* for the user: "in force", a file; without a policy, why there is none */
};

/*
 * The policy that @paths make as a successor of @base (NULL: of none). A compiled file, from
 * standard input as well, stands alone: a whole policy is taken as it is, and a change of one
 * (compile/delta.h) where @base is what it changes. @cluster, where it is not NULL, gets
 * the objects, to be freed by inputs_free_cluster(), or NULL where a compiled file has none.
 * Returns 0 and a policy to free; -EINVAL (bad input) or -E2BIG (a limit), reported; or -ENOMEM.
 */
int inputs_policy(char *const *paths, int n, const struct inputs_base *base, struct diag *diag,
		  struct policy **policy, struct cluster **cluster);
/* The same with namespaces (@audited, @n_audited of them) that are only audited, whatever their
 * objects say. One that is not there is reported. */
int inputs_audited(char *const *paths, int n, const struct inputs_base *base,
		   const char *const *audited, size_t n_audited, struct diag *diag,
		   struct policy **policy);
/* One input for itself, or a change of @old. */
int inputs_after(char *path, const struct inputs_base *old, struct diag *diag,
		 struct policy **policy);
void inputs_free_cluster(struct cluster *cluster); /* NULL is fine */

/* One compiled file. Returns as inputs_policy() does. */
int inputs_blob(const char *path, struct diag *diag, struct policy **policy);

#endif
