// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/saves.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

/* Returns 0; -ESTALE: the file has another policy; or another -errno. */
static int compare(const char *dir, uint64_t checksum)
{
	struct diag silent = {};
	struct policy *policy = NULL;
	struct saved saved;
	int error = saved_read(dir, &silent, &saved);

	if (!error)
		error = saved_policy(&saved, &silent, &policy);
	if (!error && policy->checksum != checksum)
		error = -ESTALE;
	policy_free(policy);
	saved_free(&saved);
	malloc_trim(0);
	return error;
}

void saves_begin(struct saves *saves, const struct node_options *options)
{
	struct diag silent = {};
	struct node_heads heads = {};

	if (!saves->dir || node_read_heads(options, &silent, &heads) || !heads.active)
		return;
	saves->error = compare(saves->dir, heads.active_checksum);
	snprintf(saves->change.node, sizeof(saves->change.node), "%s", options->name);
}

/* Returns where a failure is reported: only the first one is news. */
static struct diag *where_to(const struct saves *saves, struct diag *diag, struct diag *silent)
{
	*silent = (struct diag){};
	return saves->warned ? silent : diag;
}

static void note(struct saves *saves, const struct node_change *change, int error)
{
	saves->error = error;
	saves->warned = error;
	if (change != &saves->change)
		saves->change = *change;
	saves->change.effect = NULL;
}

void saves_policy(struct saves *saves, const struct node_options *options,
		  const struct node_change *change, const struct policy *policy, struct diag *diag)
{
	struct diag silent;

	note(saves, change,
	     saved_save(saves->dir, options, change, policy, where_to(saves, diag, &silent)));
}

void saves_delta(struct saves *saves, const struct node_options *options,
		 const struct node_change *change, const struct delta *delta,
		 const struct policy *whole, struct diag *diag)
{
	struct diag silent;

	note(saves, change,
	     saved_save_delta(saves->dir, options->pin, options, change, delta, whole,
			      where_to(saves, diag, &silent)));
}

void saves_again(struct saves *saves, const struct node_options *options, struct diag *diag)
{
	struct policy *policy = NULL;
	struct diag silent = {};

	if (!saves->error || node_policy_active(options->pin, &silent, &policy) || !policy)
		return;
	saves_policy(saves, options, &saves->change, overlay_compiled(policy), diag);
	policy_free(policy);
	malloc_trim(0);
	if (!saves->error)
		diag_note(diag, NULL, NULL,
			  "follow: the active policy is kept in %s by now, for the node's next "
			  "start",
			  saves->dir);
}
