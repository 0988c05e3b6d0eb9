// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/followed_node.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cni/cni.h"
#include "policy/delta.h"
#include "node/kernel/handle.h"
#include "node/observe/newcomers.h"

static void release(struct followed_node *node)
{
	delta_free(node->held);
	node->held = NULL;
}

void followed_node_free(struct followed_node *node)
{
	release(node);
}

/* Returns true if the node still has the base of the held delta, and its segments. Another command
 * may have removed what was staged. */
static bool has_held(struct followed_node *node, const struct node_heads *heads)
{
	const struct delta_header *held = &node->held->header;

	if (heads->staged && heads->staged_checksum == held->checksum)
		node->held_pinned = true;
	else if (heads->staged || node->held_pinned)
		return false;
	return held->base == heads->active_checksum;
}

int followed_node_read(struct followed_node *node, struct diag *diag,
		       struct followed_node_state *state)
{
	struct node_heads heads = {};
	const int error = node_read_heads(node->options, diag, &heads);

	*state = (struct followed_node_state){
		.active = heads.active,
		.active_checksum = heads.active_checksum,
		.installed = heads.staged ? heads.staged : heads.active,
		.installed_checksum = heads.staged ? heads.staged_checksum : heads.active_checksum,
	};
	if (node->held && !has_held(node, &heads))
		release(node);
	if (node->held) {
		state->installed = node->held->header.generation;
		state->installed_checksum = node->held->header.checksum;
	}
	return error;
}

/* Makes the policy that the held delta leads to. Returns 0; -ESTALE, not reported, if @base is not
 * the delta's any more; or another -errno. */
static int apply_held(const struct followed_node *node, const struct policy *base,
		      struct diag *diag, struct policy **policy)
{
	if (!base || base->checksum != node->held->header.base)
		return -ESTALE;
	return delta_apply(node->held, policy_lazy(base), "active", NULL, diag, policy);
}

/* Makes the policy that @chain leads to. A chain of deltas begins at a policy that the node has. */
static int make(struct followed_node *node, struct node_handle *handle, struct store_chain *chain,
		struct diag *diag, struct policy **policy)
{
	const uint64_t parent = chain->items[0].parent;
	const struct policy *base = NULL;
	struct policy *other = NULL;
	int error = parent ? node_policy(handle, &base) : 0;

	if (!error && base && base->checksum != parent && node->held)
		error = apply_held(node, base, diag, &other);
	else if (!error && base && base->checksum != parent)
		error = node_staged(handle, &other);
	base = other ? other : base;
	if (!error && parent && (!base || base->checksum != parent))
		error = -ESTALE;
	if (!error)
		error = store_chain_policy(chain, base, diag, policy);
	policy_free(other);
	return error;
}

/* Logs what a load changed, as `load` prints it, and tells whom that opens. Pods that come and go
 * are no news. */
static void log_change(const struct followed_node *node, const struct node_change *change,
		       bool whole, struct diag *diag)
{
	const struct node_effect *effect = change->effect;
	const bool news = effect && (effect->n_added || effect->n_deleted || effect->n_audits ||
				     effect->n_opened);
	size_t size = 0;
	char *line = NULL;
	FILE *to = whole || news ? open_memstream(&line, &size) : NULL;

	if (!to)
		return;
	node_change_print(to, change);
	fclose(to);
	diag_note(diag, NULL, NULL, "%s", line);
	if (node->opened && effect && effect->n_opened)
		node->opened(node->data, change->generation, line);
	free(line);
}

/* Puts the pods of the CNI plugin active again that nothing but its records names. */
static int attach_again(const struct followed_node *node, struct diag *diag)
{
	const struct cni_refresh again = {.records = node->records, .pin = node->options->pin};

	return cni_again(&again, diag, NULL);
}

static int install(struct followed_node *node, struct store_chain *chain, bool stage,
		   struct diag *diag)
{
	struct node_options options = *node->options;
	SCOPED_FREE struct node_attached *attached =
		stage ? NULL : cni_attached(NULL, &options.n_attached);
	struct policy *policy = NULL;
	struct node_change change;
	struct node_handle *handle = NULL;
	int error;

	options.attached = attached;
	error = node_open(&options, true, diag, &handle);
	node->own = true;
	if (!error)
		error = make(node, handle, chain, diag, &policy);
	if (!error)
		error = stage ? node_stage(handle, policy, &change)
			      : node_load(handle, policy, &change);
	if (!error)
		release(node);
	if (!error && !stage) {
		node->loaded = true;
		log_change(node, &change, true, diag);
		saves_policy(&node->saves, node->options, &change, policy, diag);
	}
	policy_free(policy);
	node_close(handle);
	malloc_trim(0); /* a whole policy is the most memory that a follower ever needs */
	return !error && !stage && change.first ? attach_again(node, diag) : error;
}

/* Loads the active policy again, and logs what that changes. */
static int load_active(struct followed_node *node, struct node_handle *handle, struct diag *diag)
{
	const struct policy *policy = NULL;
	struct node_change change;
	int error = node_policy(handle, &policy);

	if (error || !policy)
		return error;
	error = node_load(handle, policy, &change);
	if (error)
		return error;
	log_change(node, &change, true, diag);
	saves_policy(&node->saves, node->options, &change, policy, diag);
	return 0;
}

int followed_node_begin(struct followed_node *node, struct diag *diag)
{
	const bool settings = node->options->n_settings;
	struct node_handle *handle = NULL;
	bool grow = false;
	int error;

	saves_begin(&node->saves, node->options);
	error = node_open(node->options, settings, diag, &handle);
	if (!error && settings)
		error = node_check_settings(handle, &grow);
	if (!error && handle && node_policy_head(handle) &&
	    (grow || node_audits(handle) != node->options->audit))
		error = load_active(node, handle, diag);
	node_close(handle);
	return error;
}

int followed_node_newcomers(const struct followed_node *node, struct diag *diag,
			    struct newcomers *newcomers)
{
	struct node_handle *handle = NULL;
	int error = node_open(node->options, false, diag, &handle);

	*newcomers = (struct newcomers){};
	if (!error && node_is_loaded(handle))
		error = newcomers_read(handle, newcomers);
	node_close(handle);
	return error;
}

/* Loads the active policy again. *staged: what that has removed; NULL: nothing was staged. */
static int load_alone(struct followed_node *node, struct diag *diag, struct policy **staged)
{
	struct node_handle *handle = NULL;
	int error = node_open(node->options, false, diag, &handle);

	if (!error && node_is_loaded(handle)) {
		/* one that is damaged, which is reported, is fetched again */
		if (node_staged(handle, staged))
			*staged = NULL;
		error = load_active(node, handle, diag);
	}
	node->loaded |= !error;
	node_close(handle);
	return error;
}

/* A failure is reported, and is no error: the follower finds that the policy is not staged. */
static void stage_again(const struct followed_node *node, const struct policy *staged,
			struct diag *diag)
{
	struct node_handle *handle = NULL;
	struct node_change change;

	if (!node_open(node->options, false, diag, &handle) && node_is_loaded(handle))
		node_stage(handle, staged, &change);
	node_close(handle);
}

int followed_node_load_again(struct followed_node *node, struct diag *diag,
			     struct followed_node_state *state)
{
	struct policy *staged = NULL;
	const int error = load_alone(node, diag, &staged);

	/* a load that fails may have removed it before */
	if (staged)
		stage_again(node, staged, diag);
	policy_free(staged);
	malloc_trim(0);
	followed_node_read(node, diag, state);
	return error;
}

/* Deltas */

/* Returns the options for a delta. The load before has set the uplinks and settings. */
static struct node_options for_delta(const struct followed_node *node)
{
	struct node_options options = *node->options;

	options.n_uplinks = options.n_resolvers = options.n_settings = 0;
	return options;
}

/* Returns what a node has that has just taken @delta from @base. So the node is not opened once
 * more to read it: that takes as long as to stage a small delta. */
static struct followed_node_state after_delta(const struct lazy_policy *base,
					      const struct delta *delta, bool stage)
{
	const struct delta_header *header = &delta->header;

	return (struct followed_node_state){
		.installed = header->generation,
		.installed_checksum = header->checksum,
		.active = stage ? base->generation : header->generation,
		.active_checksum = stage ? base->checksum : header->checksum,
	};
}

/* Puts @delta active, or installs its segments. Returns 0 and sets @state; -EOPNOTSUPP, not
 * reported, if only the whole policy can be loaded; or another -errno. */
static int load_delta(struct followed_node *node, const struct delta *delta, bool stage,
		      struct diag *diag, struct followed_node_state *state)
{
	const struct node_options options = for_delta(node);
	const struct lazy_policy *base = NULL;
	struct followed_node_state after;
	struct policy *whole = NULL;
	struct node_change change;
	struct node_handle *handle = NULL;
	int error = node->loaded ? 0 : -EOPNOTSUPP;

	if (!error)
		error = node_open(&options, false, diag, &handle);
	if (!error && handle)
		base = node_policy_head(handle);
	if (!error && (!base || base->checksum != delta->header.base))
		error = -EOPNOTSUPP;
	if (!error)
		after = after_delta(base, delta, stage);
	if (!error)
		error = stage ? node_stage_delta(handle, delta, false, &change)
			      : node_load_delta(handle, delta, &change, &whole);
	if (!error && !stage)
		log_change(node, &change, false, diag);
	node_close(handle);
	if (!error && !stage)
		saves_delta(&node->saves, node->options, &change, delta, whole, diag);
	policy_free(whole);
	if (!error) {
		node->own = !stage && change.own;
		node->held_pinned = change.staged;
		*state = after;
	}
	return error;
}

/* Returns true if the maps of the node have all segments of the policy that @delta leads to, so
 * that there is nothing to install. If another command changes the node meanwhile, activation finds
 * another base, and loads the whole policy. */
static bool has_segments(const struct followed_node *node, const struct delta *delta,
			 const struct followed_node_state *state)
{
	return node->loaded && state->installed == state->active &&
	       state->active_checksum == delta->header.base && delta_keeps_segments(delta);
}

/* Puts @delta active, or installs its segments. Returns false if that fails. */
static bool apply_delta(struct followed_node *node, const struct delta *delta, bool stage,
			struct diag *diag, struct followed_node_state *state)
{
	if (!stage || !has_segments(node, delta, state))
		return !load_delta(node, delta, stage, diag, state);
	node->own = node->held_pinned = false;
	state->installed = delta->header.generation;
	state->installed_checksum = delta->header.checksum;
	return true;
}

/* Takes the chain as a delta. Returns false if that fails: the caller then tries the whole policy,
 * and so reports faults. */
static bool take_delta(struct followed_node *node, const struct store_chain *chain, bool stage,
		       struct diag *diag, struct followed_node_state *state)
{
	struct delta *delta = NULL;
	bool taken =
		!store_chain_delta(chain, &delta) && apply_delta(node, delta, stage, diag, state);

	if (taken)
		release(node);
	if (taken && stage)
		node->held = delta;
	else
		delta_free(delta);
	return taken;
}

static int take(struct followed_node *node, struct store_chain *chain, bool stage,
		struct diag *diag, struct followed_node_state *state)
{
	int error;

	if (take_delta(node, chain, stage, diag, state))
		return 0;
	error = install(node, chain, stage, diag);
	return error ? error : followed_node_read(node, diag, state);
}

int followed_node_load(struct followed_node *node, struct store_chain *chain, struct diag *diag,
		       struct followed_node_state *state)
{
	return take(node, chain, false, diag, state);
}

int followed_node_stage(struct followed_node *node, struct store_chain *chain, struct diag *diag,
			struct followed_node_state *state)
{
	return take(node, chain, true, diag, state);
}

static int activate_whole(struct followed_node *node, uint32_t generation, struct diag *diag)
{
	const struct policy *base = NULL;
	struct policy *staged = NULL;
	struct node_change change;
	struct node_handle *handle = NULL;
	int error = node_open(node->options, false, diag, &handle);

	node->own = true;
	if (!error && handle && node->held)
		error = node_policy(handle, &base);
	if (!error && node->held)
		error = apply_held(node, base, diag, &staged);
	else if (!error && handle)
		error = node_staged(handle, &staged);
	if (!error && (!staged || staged->generation != generation))
		error = -ESTALE;
	if (!error)
		error = node_load(handle, staged, &change);
	if (!error) {
		node->loaded = true;
		log_change(node, &change, true, diag);
		saves_policy(&node->saves, node->options, &change, staged, diag);
	}
	policy_free(staged);
	node_close(handle);
	malloc_trim(0);
	return error;
}

int followed_node_activate(struct followed_node *node, uint32_t generation, struct diag *diag,
			   struct followed_node_state *state)
{
	int error = -EOPNOTSUPP;

	if (node->held && node->held->header.generation == generation)
		error = load_delta(node, node->held, false, diag, state);
	if (!error) {
		release(node);
		return 0;
	}
	error = activate_whole(node, generation, diag);
	release(node);
	return error ? error : followed_node_read(node, diag, state);
}
