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
	struct node_handle *host = NULL;
	int error = node_open(options, false, diag, &host);

	*state = (struct own_node_state){0};
	if (!error && host)
		error = node_policy(host, &active);
	if (!error && active)
		error = node_staged(host, &staged);
	if (!error && active) {
		state->active = active->generation;
		state->active_checksum = active->checksum;
		state->installed = staged ? staged->generation : active->generation;
		state->installed_checksum = staged ? staged->checksum : active->checksum;
	}
	policy_free(staged);
	node_close(host);
	return error;
}

int own_node_load(const struct node_options *options, const struct policy *policy,
		  struct diag *diag)
{
	struct node_change change;
	struct node_handle *host = NULL;
	int error = node_open(options, true, diag, &host);

	if (!error)
		error = node_load(host, policy, &change);
	if (!error)
		kept_save(kept_dir(options->pin, NULL), options, &change, policy, diag);
	node_close(host);
	return error;
}

int own_node_stage(const struct node_options *options, const struct policy *policy,
		   struct diag *diag)
{
	struct node_change change;
	struct node_handle *host = NULL;
	int error = node_open(options, true, diag, &host);

	if (!error)
		error = node_stage(host, policy, &change);
	node_close(host);
	return error;
}

int own_node_activate(const struct node_options *options, uint32_t generation, struct diag *diag)
{
	struct policy *staged = NULL;
	struct node_change change;
	struct node_handle *host = NULL;
	int error = node_open(options, false, diag, &host);

	if (!error)
		error = host ? node_staged(host, &staged) : -ENOENT;
	if (!error && (!staged || staged->generation != generation))
		error = -ENOENT;
	if (!error)
		error = node_load(host, staged, &change);
	if (!error)
		kept_save(kept_dir(options->pin, NULL), options, &change, staged, diag);
	policy_free(staged);
	node_close(host);
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

/* Sets an endpoint's labels and ports. */
static int set_pod(struct node_handle *host, const struct endpoint *endpoint)
{
	struct node_endpoint_set set = {
		.ns = endpoint->ns_name,
		.name = endpoint->name,
		.labels = &endpoint->labels,
		.ports = endpoint->ports,
		.n_ports = endpoint->n_ports,
	};
	bool isolated;

	return node_endpoint_set(host, &set, &isolated);
}

struct search {
	const struct endpoint *endpoint;
	bool found, moved; /* the endpoint is in force; it has another address than the Pod */
};

static int visit(void *data, const struct node_member *member)
{
	struct search *search = data;
	const struct endpoint *endpoint = search->endpoint;

	if (strcmp(member->ns, endpoint->ns_name) || strcmp(member->name, endpoint->name))
		return 0;
	search->found = true;
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		if (!memcmp(&endpoint->addresses[i], &member->address, sizeof(member->address)))
			return 0;
	search->moved = true;
	return 0;
}

static int place(struct node_handle *host, const struct endpoint *endpoint)
{
	struct search search = {.endpoint = endpoint};
	bool isolated;
	int error = node_endpoint_each(host, visit, &search);

	if (error)
		return error;
	if (search.found && !search.moved)
		return set_pod(host, endpoint);
	/* A Pod of the same name came back with other addresses. */
	if (search.found)
		error = node_endpoint_del(host, endpoint->ns_name, endpoint->name);
	return error ? error : node_endpoint_add(host, endpoint, &isolated);
}

int own_node_pod(const struct node_options *options, struct json_object *pod, struct diag *diag,
		 bool *in_force)
{
	const struct policy *policy = NULL;
	struct cluster cluster;
	struct node_handle *host = NULL;
	int error;

	*in_force = false;
	cluster_init(&cluster);
	error = read_pod(pod, diag, &cluster);
	if (!error)
		error = node_open(options, false, diag, &host);
	if (!error && host)
		error = node_policy(host, &policy);
	if (!error && !policy) {
		error = -EAGAIN;
	} else if (!error) {
		error = place(host, cluster.endpoints);
		*in_force = !error;
	}
	node_close(host);
	cluster_free(&cluster);
	return error == -ENOENT ? 0 : error;
}

int own_node_pod_gone(const struct node_options *options, const char *ns, const char *name,
		      struct diag *diag)
{
	struct node_handle *host = NULL;
	int error = node_open(options, false, diag, &host);

	if (!error && host)
		error = node_endpoint_del(host, ns, name);
	node_close(host);
	return error;
}
