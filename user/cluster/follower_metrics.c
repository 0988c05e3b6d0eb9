// SPDX-License-Identifier: GPL-2.0-only
/* The follower's metrics, and whether it is ready. */
#include <json-c/linkhash.h>

#include "cluster/follower.h"

static void put_addresses(const struct follower *follower, FILE *to)
{
	const char *name = "follow_left_addresses";
	size_t resting, n;

	if (!follower->resting)
		return;
	n = resting_count(follower->resting, &resting);
	count_family(to, name,
		     "Addresses that pods of this node have lost. A pod that gets an address which "
		     "rests is isolated.");
	count_series(to, name, "state=\"resting\"", resting);
	count_series(to, name, "state=\"free\"", n - resting);
}

static void put_networks(const struct follower *follower, FILE *to)
{
	unsigned int lacking;
	uint64_t put_back;

	if (!follower->networks)
		return;
	put_back = networks_count(follower->networks, &lacking);
	count_put(to, "follow_networks_put_back_total",
		  "Networks' lists that another program wrote without the CNI plugin, and that got "
		  "the plugin back.",
		  put_back);
	count_put(to, "follow_networks_lacking",
		  "Networks' lists that had the CNI plugin and lack it now.", lacking);
}

void follower_metrics(void *data, FILE *to)
{
	const struct follower *follower = data;
	uint64_t since = api_watch_since(follower->status_watch);
	const char *name = "follow_policy_generation";

	if (follower->options->metrics)
		follower->options->metrics(to, follower->options->load.pin);
	count_put(to, "follow_connected", "1 while the API server answers, else 0.", !!since);
	count_put(to, "follow_connected_seconds",
		  "Time since the API server answers without a fault.",
		  since ? (api_now() - since) / 1e3 : 0);
	count_family(to, name, "Generation of the segments, in the cluster's count.");
	count_series(to, name, "state=\"desired\"", follower->wants.policy);
	count_series(to, name, "state=\"installed\"", follower_installed(follower));
	name = "follow_endpoint_generation";
	count_family(to, name, "Generation of the segments that endpoints are in.");
	count_series(to, name, "state=\"desired\"", follower->wants.endpoint);
	count_series(to, name, "state=\"active\"", follower->has.active);
	count_put(to, "follow_node_limit_seconds",
		  "The engine's limit for a silent node, in which this one reports.",
		  follower_limit(follower));
	count_put(to, "follow_pods", "Pods of this node that the API server has.",
		  lh_table_length(follower->pods));
	put_addresses(follower, to);
	put_networks(follower, to);
	if (follower->denials)
		denials_metrics(follower->denials, to);
	count_put(to, "follow_changes_total", "Policies that were loaded, staged or activated.",
		  follower->changes);
	count_put(to, "follow_changes_failed_total",
		  "Policies that failed to be loaded, staged or activated.", follower->failed);
	count_put(to, "follow_interfaces_known",
		  "1 while the follower finds what comes up on the node; 0 if it cannot look.",
		  !follower->look_error);
	count_put(to, "follow_policy_saved",
		  "1 if the node would start with the active policy, or saves none; else 0.",
		  !follower->node.saves.error);
	count_histogram(to, "follow_load_seconds", "Time that loading a policy took.",
			&follower->took[STEP_LOAD]);
	count_histogram(to, "follow_stage_seconds", "Time that installing a policy took.",
			&follower->took[STEP_STAGE]);
	count_histogram(to, "follow_activate_seconds",
			"Time that moving the endpoints to an installed policy took.",
			&follower->took[STEP_ACTIVATE]);
	count_events(to, events_counts(follower->events));
	count_api(to, follower->api);
	count_process(to);
}

const char *follower_missing(void *data)
{
	const struct follower *follower = data;

	if (!follower->has.active)
		return "no policy is active on this node";
	if (!follower->synced || !follower->pods_synced)
		return "the API server has not listed PolicyStatus and this node's pods yet";
	if (!api_watch_since(follower->status_watch) || !api_watch_since(follower->pods_watch))
		return "the API server does not answer";
	return NULL;
}
