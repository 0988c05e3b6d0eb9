// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/own_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"
#include "input/input.h"
#include "node/change/kept.h"

int own_node_read(const struct node_options *options, struct diag *diag,
		  struct own_node_state *state)
{
	const struct policy *active = NULL;
	struct policy *staged = NULL;
	struct node_handle *handle = NULL;
	int error = node_open(options, false, diag, &handle);

	*state = (struct own_node_state){0};
	if (!error && handle)
		active = node_policy_head(handle);
	if (active)
		error = node_staged(handle, &staged);
	if (!error && active) {
		state->active = active->generation;
		state->active_checksum = active->checksum;
		state->installed = staged ? staged->generation : active->generation;
		state->installed_checksum = staged ? staged->checksum : active->checksum;
	}
	policy_free(staged);
	node_close(handle);
	return error;
}

/* Makes the policy of @chain, of one that the node has if need be. */
static int make(struct node_handle *handle, struct store_chain *chain, struct diag *diag,
		struct policy **policy)
{
	const uint64_t parent = chain->items[0].parent;
	const struct policy *base = NULL;
	struct policy *staged = NULL;
	int error = parent ? node_policy(handle, &base) : 0;

	if (!error && base && base->checksum != parent)
		error = node_staged(handle, &staged);
	if (!error)
		error = store_chain_policy(chain, staged ? staged : base, diag, policy);
	policy_free(staged);
	return error;
}

static int install(const struct node_options *options, struct store_chain *chain, bool stage,
		   struct diag *diag)
{
	struct policy *policy = NULL;
	struct node_change change;
	struct node_handle *handle = NULL;
	int error = node_open(options, true, diag, &handle);

	if (!error)
		error = make(handle, chain, diag, &policy);
	if (!error)
		error = stage ? node_stage(handle, policy, &change)
			      : node_load(handle, policy, &change);
	if (!error && !stage)
		kept_save(kept_dir(options->pin, NULL), options, &change, policy, diag);
	policy_free(policy);
	node_close(handle);
	return error;
}

int own_node_load(const struct node_options *options, struct store_chain *chain, struct diag *diag)
{
	return install(options, chain, false, diag);
}

int own_node_stage(const struct node_options *options, struct store_chain *chain, struct diag *diag)
{
	return install(options, chain, true, diag);
}

int own_node_activate(const struct node_options *options, uint32_t generation, struct diag *diag)
{
	struct policy *staged = NULL;
	struct node_change change;
	struct node_handle *handle = NULL;
	int error = node_open(options, false, diag, &handle);

	if (!error)
		error = handle ? node_staged(handle, &staged) : -ENOENT;
	if (!error && (!staged || staged->generation != generation))
		error = -ENOENT;
	if (!error)
		error = node_load(handle, staged, &change);
	if (!error)
		kept_save(kept_dir(options->pin, NULL), options, &change, staged, diag);
	policy_free(staged);
	node_close(handle);
	return error;
}

/* Reads the Pod's text as one endpoint. Returns 0, -ENOENT (it makes none) or -errno. */
static int read_pod(struct json_object *pod, struct diag *diag, struct cluster *cluster)
{
	char *text = objects_pod_text(pod);
	int error = text ? input_parse_json(cluster, text, strlen(text), "Pod", diag) : -ENOMEM;

	free(text);
	if (!error)
		error = cluster_finish(cluster, diag);
	if (error)
		return error;
	return cluster->n_endpoints == 1 && cluster->endpoints->n_addresses ? 0 : -ENOENT;
}

/* Sets labels and ports. @name: the endpoint's, which the CNI plugin may have made longer. */
static int set_pod(struct node_handle *handle, const struct endpoint *endpoint, const char *name)
{
	struct node_endpoint_set set = {
		.ns = endpoint->ns_name,
		.name = name,
		.labels = &endpoint->labels,
		.ports = endpoint->ports,
		.n_ports = endpoint->n_ports,
	};
	bool isolated;

	return node_endpoint_set(handle, &set, &isolated);
}

/* The CNI plugin names a sandbox that comes before the former one has gone POD:CONTAINER:IFNAME. */
static bool is_owner(const struct endpoint *endpoint, const struct node_owner *owner)
{
	const size_t length = strlen(endpoint->name);

	return !strcmp(owner->ns, endpoint->ns_name) &&
	       !strncmp(owner->name, endpoint->name, length) &&
	       (!owner->name[length] || owner->name[length] == ':');
}

/* How many of the Pod's addresses are in force as its own. *owner: who has the last of them. */
static size_t count_own(struct node_handle *handle, const struct endpoint *endpoint,
			struct node_owner *owner)
{
	size_t n = 0;

	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		struct node_owner one;

		if (node_address_owner(handle, &endpoint->addresses[i], &one) ||
		    !is_owner(endpoint, &one))
			continue;
		*owner = one;
		n++;
	}
	return n;
}

struct search {
	const struct endpoint *endpoint;
	bool found;
};

static int visit(void *data, const struct node_member *member)
{
	struct search *search = data;

	search->found |= !strcmp(member->ns, search->endpoint->ns_name) &&
			 !strcmp(member->name, search->endpoint->name);
	return 0;
}

static int place(struct node_handle *handle, const struct endpoint *endpoint)
{
	struct search search = {.endpoint = endpoint};
	struct node_owner owner;
	bool isolated;
	int error;

	/* The CNI plugin may know more addresses than the Pod's status has. */
	if (count_own(handle, endpoint, &owner) == endpoint->n_addresses)
		return set_pod(handle, endpoint, owner.name);
	error = node_endpoint_each(handle, visit, &search);
	/* A Pod of the same name came back with other addresses. */
	if (!error && search.found)
		error = node_endpoint_del(handle, endpoint->ns_name, endpoint->name);
	return error ? error : node_endpoint_add(handle, endpoint, &isolated);
}

/* By the Pod's addresses: the CNI plugin may have attached another Pod of that name by now. */
static int take_off(struct node_handle *handle, const struct endpoint *endpoint)
{
	struct node_owner owner;
	int error = 0;

	for (size_t i = 0;
	     !error && i < endpoint->n_addresses && count_own(handle, endpoint, &owner); i++)
		error = node_endpoint_del(handle, owner.ns, owner.name);
	return error;
}

/* Opens the node for a Pod, and calls @act with it where a policy is in force. Returns what that
 * returns; -EAGAIN: nothing is in force; -ENOENT: the Pod makes no endpoint; or another -errno. */
static int with_pod(const struct node_options *options, struct json_object *pod, struct diag *diag,
		    int (*act)(struct node_handle *handle, const struct endpoint *endpoint))
{
	/* A Pod that is added has an interface, whatever a load may leave to the CNI plugin. */
	struct node_options own = *options;
	struct cluster cluster;
	struct node_handle *handle = NULL;
	int error;

	own.seal = true;
	own.late = false;
	cluster_init(&cluster);
	error = read_pod(pod, diag, &cluster);
	if (!error)
		error = node_open(&own, false, diag, &handle);
	if (!error)
		error = handle && node_is_loaded(handle) ? act(handle, cluster.endpoints) : -EAGAIN;
	node_close(handle);
	cluster_free(&cluster);
	return error;
}

int own_node_pod(const struct node_options *options, struct json_object *pod, struct diag *diag)
{
	int error = with_pod(options, pod, diag, place);

	return error == -ENOENT ? 0 : error;
}

int own_node_pod_gone(const struct node_options *options, struct json_object *pod,
		      struct diag *diag)
{
	int error = with_pod(options, pod, diag, take_off);

	return error == -ENOENT || error == -EAGAIN ? 0 : error;
}
