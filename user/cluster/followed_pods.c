// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/followed_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"
#include "compile/extend.h"
#include "input/input.h"
#include "node/kernel/handle.h"

/* Reads the Pod's text as one endpoint. Returns 0; -ENOENT: the Pod makes no endpoint; or another
 * -errno. */
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

/* Sets labels and ports. @name: the endpoint's name, which the CNI plugin may have made longer. An
 * endpoint that the policy has in its place stays the policy's: a delta that concerns an endpoint
 * that was set can be loaded only as a whole. */
static int set_pod(struct node_handle *handle, const struct endpoint *endpoint, const char *name,
		   bool *isolated)
{
	struct node_endpoint_set set = {
		.ns = endpoint->ns_name,
		.name = name,
		.labels = &endpoint->labels,
		.ports = endpoint->ports,
		.n_ports = endpoint->n_ports,
		.if_elsewhere = true,
	};

	return node_endpoint_set(handle, &set, isolated);
}

/* Returns true if the owner is the Pod's endpoint. Its name may be POD:CONTAINER:IFNAME: so the CNI
 * plugin names a sandbox that comes before the Pod's former sandbox has gone. */
static bool is_owner(const struct endpoint *endpoint, const struct node_owner *owner)
{
	const size_t length = strlen(endpoint->name);

	return !strcmp(owner->ns, endpoint->ns_name) &&
	       !strncmp(owner->name, endpoint->name, length) &&
	       (!owner->name[length] || owner->name[length] == ':');
}

/* Returns false if the owner is known to be another Pod of that name, as a StatefulSet makes it. */
static bool may_be_same(const struct endpoint *endpoint, const struct node_owner *owner)
{
	uint32_t uid[2];

	policy_uid_hash(endpoint->uid, uid);
	return !(uid[0] | uid[1]) || !(owner->uid[0] | owner->uid[1]) ||
	       !memcmp(uid, owner->uid, sizeof(uid));
}

/* Returns how many of the Pod's addresses are active as the Pod's own. *owner: the endpoint that
 * has the last of these. */
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

static int place_pod(struct node_handle *handle, const struct endpoint *endpoint, bool *isolated)
{
	struct search search = {.endpoint = endpoint};
	struct node_owner owner;
	int error;

	/* The CNI plugin may know more addresses than the Pod's status has. */
	if (count_own(handle, endpoint, &owner) == endpoint->n_addresses)
		return set_pod(handle, endpoint, owner.name, isolated);
	error = node_endpoint_each(handle, visit, &search);
	/* a Pod of the same name came back with other addresses */
	if (!error && search.found)
		error = node_endpoint_del(handle, endpoint->ns_name, endpoint->name);
	return error ? error : node_endpoint_add(handle, endpoint, isolated);
}

static int place(struct node_handle *handle, const struct endpoint *endpoint, bool *waits)
{
	bool isolated = false;
	const int error = place_pod(handle, endpoint, &isolated);

	*waits |= !error && isolated && extend_can(node_policy_head(handle), endpoint);
	return error;
}

/* Takes the Pod off, by its addresses: the CNI plugin may have attached another Pod of that name by
 * now, even with the same addresses. */
static int take_off(struct node_handle *handle, const struct endpoint *endpoint, bool *waits)
{
	struct node_owner owner;
	int error = 0;

	(void)waits;
	for (size_t i = 0; !error && i < endpoint->n_addresses &&
			   count_own(handle, endpoint, &owner) && may_be_same(endpoint, &owner);
	     i++)
		error = node_endpoint_del(handle, owner.ns, owner.name);
	return error;
}

/* Sets *waits if the endpoint waits for a segment. */
typedef int pod_act(struct node_handle *handle, const struct endpoint *endpoint, bool *waits);

/* Calls @act for a Pod. Returns as @act does; -EAGAIN: nothing is active; -ENOENT: the Pod makes no
 * endpoint; or another -errno. */
static int act_on(struct node_handle *handle, struct json_object *pod, struct diag *diag,
		  pod_act *act, bool *waits)
{
	struct cluster cluster;
	int error;

	if (!handle || !node_is_loaded(handle))
		return -EAGAIN;
	cluster_init(&cluster);
	error = read_pod(pod, diag, &cluster);
	if (!error)
		error = act(handle, cluster.endpoints, waits);
	cluster_free(&cluster);
	return error;
}

/* Calls @act for each Pod, and goes on after an error. One opening of the node serves all Pods up
 * to an error: with a hundred of them, the opening is most of the time. Returns 0, or the last
 * error, as act_on() does. */
static int each_pod(const struct node_options *options, struct json_object *const *pods, size_t n,
		    struct diag *diag, pod_act *act, bool *waits)
{
	/* A Pod that is added has an interface, whatever a load may leave to the CNI plugin. */
	struct node_options own = *options;
	struct node_handle *handle = NULL;
	int last = 0;

	own.quarantine = true;
	own.late = false;
	for (size_t i = 0; i < n; i++) {
		int error = handle ? 0 : node_open(&own, false, diag, &handle);

		if (!error)
			error = act_on(handle, pods[i], diag, act, waits);
		if (!error || error == -ENOENT)
			continue;
		last = error;
		node_close(handle);
		handle = NULL;
	}
	node_close(handle);
	return last;
}

int followed_pods_place(const struct node_options *options, struct json_object *const *pods,
			size_t n, struct diag *diag, bool *waits)
{
	*waits = false;
	return each_pod(options, pods, n, diag, place, waits);
}

static int find_interface(struct node_handle *handle, const struct endpoint *endpoint, bool *waits)
{
	struct node_owner owner;

	(void)waits;
	return !node_address_owner(handle, endpoint->addresses, &owner) && owner.ifindex ? 0
											 : -ENODEV;
}

bool followed_pod_has_interface(const struct node_options *options, struct json_object *pod,
				struct diag *diag)
{
	bool waits;

	return !each_pod(options, &pod, 1, diag, find_interface, &waits);
}

int followed_pod_delete(const struct node_options *options, struct json_object *pod,
			struct diag *diag)
{
	bool waits;
	int error = each_pod(options, &pod, 1, diag, take_off, &waits);

	return error == -EAGAIN ? 0 : error;
}
