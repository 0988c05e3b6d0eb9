/* SPDX-License-Identifier: GPL-2.0-only */
/* INPUT...: compiles the inputs that the user names on the command line. */
#ifndef BULKHEAD_CMD_INPUTS_H
#define BULKHEAD_CMD_INPUTS_H

#include "policy/policy.h"

struct delta;

/*
 * Reads files, folders and standard input ("-") into an empty @cluster and finishes it. Returns
 * 0; -EINVAL if an input is bad or cannot be read, or -ENOMEM. Reports errors. Free the
 * cluster in any case.
 */
int inputs_cluster(char *const *paths, int n, struct cluster *cluster, struct diag *diag);

/* Refuses, from now on, also objects that an API server has accepted and that cannot be used. */
void inputs_are_strict(void);

/* The policy that the input succeeds. */
struct inputs_base {
	const struct policy *policy; /* NULL: the input succeeds no policy */
	const char *name; /* for messages: "active", a file, or why there is no policy */
};

/*
 * Compiles @paths as a successor of @base. A compiled file must be the only input: a whole policy
 * is taken as it is, a delta (policy/delta.h) only if @base is its base. @cluster, if it is not
 * NULL, gets the objects, to be freed by inputs_free_cluster(); it gets NULL for a compiled file,
 * which has no objects. Workloads stand for their pods: the policy is for answers, and not to be
 * loaded. Returns 0 and a policy to free; -EINVAL (bad input) or -E2BIG (a limit), reported; or
 * -ENOMEM.
 */
int inputs_policy(char *const *paths, int n, const struct inputs_base *base, struct diag *diag,
		  struct policy **policy, struct cluster **cluster);
/* The namespaces of --audit-namespace, and the policies of --audit-policy. */
struct inputs_audit {
	const char *const *names;
	size_t n;
	const char *const *policies;
	size_t n_policies;
	bool workloads; /* workloads stand for their pods (input/workload.h) */
	bool enforce; /* policies whose objects ask for audit are enforced */
};
/* As inputs_policy(). Audits these namespaces and policies, whatever the objects say. Reports one
 * that does not exist. */
int inputs_audited(char *const *paths, int n, const struct inputs_base *base,
		   const struct inputs_audit *audit, struct diag *diag, struct policy **policy,
		   struct cluster **cluster);
/* Warns of policies in namespaces that no other object has. Refuses, without @force, objects that
 * look like policies and were not read. @cluster NULL: the input was a compiled file. Returns 0,
 * -EINVAL or -ENOMEM, reported. */
int inputs_check(const struct cluster *cluster, bool force, struct diag *diag);
/* Reads one input, which is a policy of its own or a delta of @old. */
int inputs_after(char *path, const struct inputs_base *old, struct diag *diag,
		 struct policy **policy);
void inputs_free_cluster(struct cluster *cluster); /* NULL is fine */

/* Reads a delta and checks it against @base, the active policy. *delta is to be freed; NULL: the
 * operands are not one delta. Returns as inputs_policy() does. */
int inputs_delta(char *const *paths, int n, const struct lazy_policy *base, struct diag *diag,
		 struct delta **delta);

/* Reads one compiled file. Returns as inputs_policy() does. */
int inputs_blob(const char *path, struct diag *diag, struct policy **policy);

#endif
