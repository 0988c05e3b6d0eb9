// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node's follower. It does one step at a time, and chooses each step from what PolicyStatus
 * wants and what the node has:
 *
 *   no policy is active: load the policy that endpoints may be in; in a new cluster, the policy
 *   that nodes install first
 *   endpoints may be in a newer policy: activate that policy if it is staged, else load it
 *   a newer policy is to be installed: stage it
 *
 * The follower reports each step. It reads from the maps which policies the node has: at its start,
 * after a step that fails, and at each heartbeat, since another command may load or unload. A step
 * that succeeds says what the node has then.
 */
#include <errno.h>
#include <json-c/linkhash.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/follower.h"
#include "cluster/misconfigured.h"
#include "cluster/serve.h"

#define MMAP_BYTES (256 << 10) /* larger blocks are mapped one by one */
/* So many ms the first report waits for the first step. A policy that was staged as a delta before
 * a restart is staged again first, so that no report names an older policy than the report
 * before. */
#define FIRST_MS 2000

static void step(struct follower *follower);

static int read_node(struct follower *follower)
{
	const uint32_t had = follower->has.active;
	const int error = followed_node_read(&follower->node, follower->diag, &follower->has);

	if (!error && had && !follower->has.active)
		follower_warn(follower, "no policy is active on this node any more",
			      "it is loaded again");
	return error;
}

/* Tries again later. A step may have failed because the node has another policy by now. */
static void later(struct follower *follower)
{
	read_node(follower);
	api_timer_set(follower->api, &follower->wait, api_jitter(FOLLOWER_RETRY_MS));
	follower_report(follower);
}

static void on_wait(void *data)
{
	step(data);
}

/* Another command may have changed the node. The answer to the report leads to the next step. */
static void on_heartbeat(void *data)
{
	struct follower *follower = data;

	read_node(follower);
	saves_again(&follower->node.saves, &follower->options->load, follower->diag);
	follower_report(follower);
}

/* Reads the node again after a step that found other policies there. Returns true if it has others:
 * then the step was no fault, and the next one follows at once. */
static bool has_others(struct follower *follower)
{
	const struct followed_node_state had = follower->has;

	return !read_node(follower) && memcmp(&had, &follower->has, sizeof(had)) != 0;
}

/* @tell: reports the node's state after the change. */
static void changed_node(struct follower *follower, int error, const char *what,
			 void (*tell)(struct follower *follower))
{
	if (error == -ESTALE && has_others(follower))
		return step(follower);
	follower_set_message(follower, error, what);
	follower->changes++;
	follower->failed += !!error;
	if (error)
		return later(follower);
	if (follower->node.own)
		follower_put_pods(follower);
	follower_look_at_addresses(follower);
	tell(follower);
	step(follower);
}

/* The steps. next_step() chooses one, and sets the generation that it leads to. */
static enum step next_step(const struct follower *follower, uint32_t *generation)
{
	const struct store_status *wants = &follower->wants;
	const struct followed_node_state *has = &follower->has;

	/* If nothing is active, nothing can be staged, and loading cannot mix two policies. */
	if (!has->active) {
		*generation = wants->endpoint && wants->endpoint != follower->lacks
				      ? wants->endpoint
				      : wants->policy;
		return *generation ? STEP_LOAD : STEP_NONE;
	}
	*generation = wants->endpoint;
	if (wants->endpoint > has->active)
		return has->installed == wants->endpoint &&
				       (wants->policy != wants->endpoint ||
					has->installed_checksum == wants->checksum)
			       ? STEP_ACTIVATE
			       : STEP_LOAD;
	/* The node's policy is of another lineage, or somebody else loaded it. */
	if (wants->endpoint && wants->endpoint == wants->policy &&
	    has->active_checksum != wants->checksum)
		return STEP_LOAD;
	*generation = wants->policy;
	return wants->policy > follower_installed(follower) ? STEP_STAGE : STEP_NONE;
}

/* The policy cannot be made from the store. The follower tries a whole policy; without one it
 * tells the engine, which replaces the damaged objects. */
static void refused(struct follower *follower, int error, const char *what, uint32_t generation)
{
	follower_set_message(follower, error, what);
	if (!follower->whole) {
		follower->whole = true;
		return step(follower);
	}
	follower->whole = false;
	follower->lacks = generation;
	later(follower);
}

/* Takes a step, and counts the time that it takes if it succeeds. @chain leads to the policy of
 * @generation; NULL for STEP_ACTIVATE. */
static int change_policy(struct follower *follower, enum step what, uint32_t generation,
			 struct store_chain *chain)
{
	const uint64_t began = api_now();
	struct heard heard;
	int error;

	follower_hear(follower, &heard);
	if (what == STEP_ACTIVATE)
		error = followed_node_activate(&follower->node, generation, follower->diag,
					       &follower->has);
	else if (what == STEP_LOAD)
		error = followed_node_load(&follower->node, chain, follower->diag, &follower->has);
	else
		error = followed_node_stage(&follower->node, chain, follower->diag, &follower->has);
	follower_end_hearing(follower, &heard);
	if (!error)
		histogram_add(&follower->took[what], (api_now() - began) * 1000);
	return error;
}

static void fetched(void *data, int error, const char *why, struct store_chain *chain)
{
	struct follower *follower = data;
	uint32_t generation;
	enum step what = next_step(follower, &generation);

	follower->fetching = false;
	if (error) {
		follower_warn(follower, "a policy cannot be fetched", why);
		if (error == -ENOENT || error == -EBADMSG)
			return refused(follower, error, why, generation);
		follower_set_message(follower, error, "a policy cannot be fetched");
		return later(follower);
	}
	if (chain->items[chain->n - 1].generation != generation ||
	    (what != STEP_LOAD && what != STEP_STAGE)) {
		store_chain_free(chain);
		return step(follower); /* the cluster wants another policy by now */
	}
	error = change_policy(follower, what, generation, chain);
	if (chain->refused) {
		refused(follower, error, chain->refused, generation);
		return store_chain_free(chain);
	}
	store_chain_free(chain);
	follower->whole = false;
	follower->lacks = 0;
	changed_node(follower, error, what == STEP_LOAD ? "load" : "stage", follower_report);
}

/* Takes the delta in PolicyStatus, if it leads from a policy that the node has to @generation.
 * Returns true if a step was taken. */
static bool read_reported(struct follower *follower, enum step what, uint32_t generation)
{
	const uint64_t have[2] = {follower->has.installed_checksum, follower->has.active_checksum};
	struct store_chain chain;
	bool refused;
	int error;

	if (follower->whole || store_status_chain(&follower->wants, generation, have, &chain))
		return false;
	error = change_policy(follower, what, generation, &chain);
	refused = chain.refused;
	store_chain_free(&chain);
	if (error) {
		free(follower->wants.delta);
		follower->wants.delta = NULL;
	}
	if (refused)
		return false;
	follower->lacks = 0;
	changed_node(follower, error, what == STEP_LOAD ? "load" : "stage", follower_report);
	return true;
}

static void end_once(struct follower *follower)
{
	if (follower->options->once && follower->pods_synced && follower->wants.policy &&
	    follower->reported[0] == follower_installed(follower) &&
	    follower->reported[1] == follower->has.active &&
	    follower->wants.endpoint == follower->wants.policy)
		api_stop(follower->api);
}

/* Warns once of a policy that is newer than the cluster's: somebody has loaded it here, or the
 * cluster's store is that of an older time. */
static void tell_newer(struct follower *follower, uint32_t generation)
{
	const struct followed_node_state *has = &follower->has;
	char what[120];

	if (has->active <= generation || follower->told_newer == has->active_checksum)
		return;
	follower->told_newer = has->active_checksum;
	snprintf(what, sizeof(what),
		 "policy %u is active on this node, and the cluster's is policy %u", has->active,
		 generation);
	follower_warn(follower, what, "the cluster's is loaded");
}

static void step(struct follower *follower)
{
	uint64_t have[2] = {0};
	uint32_t generation;
	enum step what;
	int error;

	if (!follower->synced || follower->fetching)
		return;
	what = next_step(follower, &generation);
	switch (what) {
	case STEP_NONE:
		return end_once(follower);
	case STEP_ACTIVATE:
		error = change_policy(follower, what, generation, NULL);
		return changed_node(follower, error, "activate", follower_report_spread);
	case STEP_LOAD:
	case STEP_STAGE:
		if (what == STEP_LOAD)
			tell_newer(follower, generation);
		if (read_reported(follower, what, generation))
			return;
		follower->fetching = true;
		if (!follower->whole) {
			have[0] = follower->has.installed_checksum;
			have[1] = follower->has.active_checksum;
		}
		if (!store_fetch(follower->api, generation, have, fetched, follower)) {
			follower->fetching = false;
			later(follower);
		}
	}
}

static void status_changed(void *data, const char *key, struct json_object *object)
{
	struct follower *follower = data;

	(void)key;
	if (store_status_read(object, &follower->wants))
		return;
	follower_report_in_time(follower);
	if (follower->synced && follower->sent[0] != follower_installed(follower))
		follower_report(follower);
	follower_look_at_addresses(follower);
	step(follower);
}

static void status_deleted(void *data, const char *key)
{
	(void)data;
	(void)key; /* the active policy stays active */
}

static void status_resumed(void *data)
{
	const struct follower *follower = data;

	api_look_back_soon(follower->look_back);
}

static void status_synced(void *data)
{
	struct follower *follower = data;

	follower->synced = true;
	step(follower);
	if (!follower->fetching && !follower->exists)
		follower_report(follower);
}

/* Begins to report denials, if the options ask for reports. */
static int begin_denials(struct follower *follower)
{
	const struct denials_options options = {.pin = follower->options->load.pin,
						.node = follower->options->node,
						.nodes = &follower->wants.nodes,
						.events = follower->events,
						.print = follower->options->denials,
						.pod = follower_pod,
						.data = follower};

	if (!follower->options->denials)
		return 0;
	follower->denials = denials_open(follower->api, &options, follower->diag);
	return follower->denials ? 0 : -ENOMEM;
}

static int begin(struct follower *follower)
{
	static const struct api_watch_ops status_ops = {.changed = status_changed,
							.deleted = status_deleted,
							.synced = status_synced,
							.resumed = status_resumed,
							.columns = store_status_columns,
							.columns_path =
								STORE_POLICY_STATUS_COLUMNS};
	int error;

	follower->heartbeat = (struct api_timer){.run = on_heartbeat, .data = follower};
	follower->wait = (struct api_timer){.run = on_wait, .data = follower};
	follower->events = events_open(follower->api, "bulkhead-follower", follower->options->node);
	follower->look_back =
		api_look_back_open(follower->api, follower->diag, &follower->status_watch);
	if (!follower->events || !follower->look_back)
		return -ENOMEM;
	error = follower_pods_begin(follower);
	if (error)
		return error;
	follower->status_watch =
		api_watch(follower->api, STORE_POLICY_STATUS,
			  "fieldSelector=metadata.name%3Dglobal", &status_ops, follower);
	api_timer_set(follower->api, &follower->heartbeat, FIRST_MS);
	follower_newcomers_begin(follower);
	return follower->status_watch ? 0 : -ENOMEM;
}

/* Begins to keep the CNI plugin in the networks, if the options ask for that. Policy is followed
 * even if that fails. */
static void begin_networks(struct follower *follower)
{
	const struct follow_options *options = follower->options;

	if (options->networks && networks_open(follower->api, options->networks, options->plugins,
					       follower->diag, &follower->networks))
		follower_warn(follower, "networks are not watched",
			      "a list that is written without bulkhead-cni stays so");
}

/* Begins all that a follower does. An error is told where `kubectl get nodepolicystatus` shows it.
 */
static int start(struct follower *follower, const struct serve_options *serve, int stop)
{
	struct diag *diag = follower->diag;
	size_t size = 0;
	char *said = NULL;
	int error;

	diag->copy = open_memstream(&said, &size);
	error = followed_node_begin(&follower->node, diag);
	if (!error)
		error = read_node(follower);
	if (!error)
		error = begin(follower);
	if (!error)
		error = begin_denials(follower);
	if (!error)
		begin_networks(follower);
	if (!error && (serve->listen || serve->health))
		error = serve_open(follower->api, serve, diag, &follower->serve);
	if (diag->copy)
		fclose(diag->copy);
	diag->copy = NULL;
	if (error && said && *said) {
		said[strcspn(said, "\n")] = '\0'; /* the first error is the cause */
		misconfigured_tell(follower->api, follower->options->node, said, stop);
	}
	free(said);
	return error;
}

int follow_run(const struct follow_options *given, struct diag *diag, int stop)
{
	struct follow_options with_cache = *given;
	const struct follow_options *const options = &with_cache;
	struct follower follower = {
		.options = options,
		.diag = diag,
		.go_on = step,
		.node = {.options = &options->load,
			 .saves.dir = saved_dir(options->load.pin, options->state),
			 .records = options->records,
			 .opened = follower_opened,
			 .data = &follower}};
	const struct serve_options serve = {.listen = options->listen,
					    .health = options->health,
					    .metrics = follower_metrics,
					    .missing = follower_missing,
					    .data = &follower};
	int error;

	/* The memory of a policy goes back to the kernel when the policy is freed. By default
	 * malloc() keeps up to 64 MB once a large block was freed. */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	error = api_open(options->kubeconfig, diag, &follower.api);
	if (error)
		return error;
	with_cache.load.cache = node_cache_new();
	error = start(&follower, &serve, stop);
	if (!error)
		api_run(follower.api, stop);
	if (!error && options->once)
		error = follower.error;
	serve_close(follower.serve);
	denials_close(follower.denials);
	events_close(follower.events);
	free(follower.opened.line);
	resting_close(follower.resting);
	api_close(follower.api);
	api_look_back_close(follower.look_back);
	networks_close(follower.networks);
	if (follower.pods)
		lh_table_free(follower.pods);
	newcomers_free(&follower.newcomers);
	store_status_free(&follower.wants);
	followed_node_free(&follower.node);
	node_cache_free(with_cache.load.cache);
	free(follower.message);
	free(follower.said);
	json_object_put(follower.conditions);
	json_object_put(follower.left);
	return error;
}
