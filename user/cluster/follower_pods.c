// SPDX-License-Identifier: GPL-2.0-only
/* This node's pods, which the follower puts active and takes off as the API server tells, and the
 * addresses that have left them. */
#include <errno.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/followed_pods.h"
#include "cluster/follower.h"
#include "cluster/objects.h"
#include "cluster/records.h"
#include "cni/cni.h"

#define REFUSED "a pod" /* begins the message of a pod that cannot be put active */

static bool has_own_address(struct json_object *pod)
{
	return api_text(pod, "status.podIP") &&
	       !json_object_get_boolean(api_get(pod, "spec.hostNetwork"));
}

/* Returns true if the pod has all members of a sender of packets. */
static bool is_running(struct json_object *pod)
{
	const char *phase = api_text(pod, "status.phase");

	return has_own_address(pod) &&
	       !(phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")));
}

static const char *ip_at(struct json_object *list, size_t i)
{
	return api_text(json_object_array_get_idx(list, i), "ip");
}

static size_t count_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* Returns true if the pods have an address in common. */
static bool share_address(struct json_object *a, struct json_object *b)
{
	struct json_object *of_a = api_get(a, "status.podIPs"), *of_b = api_get(b, "status.podIPs");

	for (size_t i = 0; i < count_of(of_a); i++)
		for (size_t k = 0; ip_at(of_a, i) && k < count_of(of_b); k++)
			if (ip_at(of_b, k) && !strcmp(ip_at(of_a, i), ip_at(of_b, k)))
				return true;
	return !strcmp(api_text(a, "status.podIP"), api_text(b, "status.podIP"));
}

/* Returns true if the pod is ending, and another pod of this node has an address of it by now. */
static bool is_followed(const struct follower *follower, struct json_object *pod)
{
	struct lh_entry *entry;

	if (!api_get(pod, "metadata.deletionTimestamp"))
		return false;
	for (entry = follower->pods->head; entry; entry = entry->next) {
		struct json_object *other = lh_entry_v(entry);

		if (is_running(other) && !api_get(other, "metadata.deletionTimestamp") &&
		    share_address(other, pod))
			return true;
	}
	return false;
}

/* Returns true if the pod, as it is kept, is to be an endpoint now. One that is closed stays
 * isolated until the policy has it. */
static bool counts(const struct follower *follower, struct json_object *pod)
{
	return is_running(pod) && follower->has.active && !objects_pod_is_closed(pod) &&
	       !resting_keeps_off(follower->resting, pod) && !is_followed(follower, pod);
}

static void put_all(struct follower *follower, struct json_object *const *pods, size_t n)
{
	bool waits;
	int error = followed_pods_place(&follower->options->load, pods, n, follower->diag, &waits);

	if (waits)
		follower_pod_waits(follower);
	if (!error || error == -EAGAIN)
		return;
	follower_set_message(follower, error, REFUSED);
	follower->pod_refused = true;
}

static void put_pod(struct follower *follower, struct json_object *pod)
{
	if (counts(follower, pod))
		put_all(follower, &pod, 1);
}

/* A pod has gone, or has ended: puts all pods active again if one was refused before. The address
 * of that one may have been the other's until now. */
static void put_refused(struct follower *follower)
{
	if (!follower->pod_refused)
		return;
	follower->pod_refused = false;
	follower_put_pods(follower);
	if (follower->pod_refused || !follower->message ||
	    strncmp(follower->message, REFUSED ":", strlen(REFUSED ":")))
		return;
	follower_set_message(follower, 0, REFUSED);
	follower_report(follower);
}

/* Puts a pod active that has got its address. If the CNI plugin was not called for the pod, says
 * so: the pod's packets were not evaluated before. */
static void put_started(struct follower *follower, struct json_object *pod)
{
	const char *ns = api_text(pod, "metadata.namespace"),
		   *name = api_text(pod, "metadata.name");
	const bool attached = cni_has_attached(NULL, ns, name);

	put_pod(follower, pod);
	if (!attached && counts(follower, pod) &&
	    followed_pod_has_interface(&follower->options->load, pod, follower->diag))
		diag_report_about(follower->diag, DIAG_WARNING, ns,
				  "Pod %s/%s: was not guarded until now, since the CNI plugin was "
				  "not called; `bulkhead cni install` puts it into the network's "
				  "list",
				  ns, name);
}

/* Takes a pod off that is gone or has ended. Mostly the CNI plugin has done so before; but a late
 * event may have put the pod active again since then. */
static void drop_pod(struct follower *follower, struct json_object *pod)
{
	struct json_object *last = NULL;
	struct diag quiet = {0};

	if (!has_own_address(pod) || !follower->has.active ||
	    json_object_deep_copy(pod, &last, NULL))
		return;
	/* the pod as it was while it ran: a pod that has ended makes no endpoint */
	json_object_object_del(api_get(last, "status"), "phase");
	followed_pod_delete(&follower->options->load, last, &quiet);
	json_object_put(last);
}

/* Writes the record by which the CNI plugin finds out who the pod is. If the plugin was called
 * before, the pod is isolated without a name: names it now. */
static void name_pod(struct follower *follower, struct json_object *pod)
{
	const struct follow_options *options = follower->options;
	const struct cni_refresh refresh = {.records = options->records,
					    .pin = options->load.pin,
					    .ns = api_text(pod, "metadata.namespace"),
					    .name = api_text(pod, "metadata.name")};
	uint32_t named;
	int error;

	if (!options->records || records_put(options->records, pod, follower->diag))
		return;
	error = cni_refresh(&refresh, follower->diag, &named);
	if (error)
		follower_set_message(follower, error, "a pod that the CNI plugin brought");
}

/* Removes the record of a pod. */
static void unname_pod(struct follower *follower, const char *key)
{
	const char *slash = strchr(key, '/');
	char ns[256];

	snprintf(ns, sizeof(ns), "%.*s", slash ? (int)(slash - key) : 0, key);
	if (slash && follower->options->records)
		records_remove(follower->options->records, ns, slash + 1);
}

/* Names all pods that the CNI plugin attached without a name, if their names are known by now.
 */
static void name_pods(struct follower *follower)
{
	const struct cni_refresh refresh = {.records = follower->options->records,
					    .pin = follower->options->load.pin};
	uint32_t named;
	int error = cni_refresh(&refresh, follower->diag, &named);

	if (error)
		follower_set_message(follower, error, "a pod that the CNI plugin brought");
}

void follower_look_at_addresses(void *data)
{
	struct follower *follower = data;
	const struct resting_view view = {.pods = follower->pods,
					  .wanted = follower->wants.policy,
					  .active = follower->has.active,
					  .oldest = follower->wants.oldest};
	unsigned int news;

	if (!follower->resting || !follower->pods_synced)
		return;
	news = resting_look(follower->resting, &view);
	if (news & RESTING_STATED)
		follower_report(follower);
	if (!(news & RESTING_OVER))
		return;
	name_pods(follower);
	follower_put_pods(follower);
}

/* Takes off a pod that was deleted, where another one of that name is there by now, if a watch that
 * began anew has not told so. */
static void drop_former(struct follower *follower, const char *key, struct json_object *pod)
{
	struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);
	const char *was = entry ? api_text(lh_entry_v(entry), "metadata.uid") : NULL;
	const char *is = api_text(pod, "metadata.uid");

	if (!was || !is || !strcmp(was, is))
		return;
	drop_pod(follower, lh_entry_v(entry));
	lh_table_delete_entry(follower->pods, entry);
}

/* @pod: as it is kept. */
static void take_pod(struct follower *follower, const char *key, struct json_object *pod)
{
	struct lh_entry *entry;
	char *name;

	drop_former(follower, key, pod);
	entry = lh_table_lookup_entry(follower->pods, key);

	if (objects_pod_is_closed(pod))
		unname_pod(follower, key);
	else
		name_pod(follower, pod);
	if (is_running(pod) && entry && !has_own_address(lh_entry_v(entry)))
		put_started(follower, pod);
	else if (is_running(pod))
		put_pod(follower, pod);
	else
		drop_pod(follower, has_own_address(pod) || !entry ? pod : lh_entry_v(entry));
	if (entry) {
		json_object_put(lh_entry_v(entry));
		lh_entry_set_val(entry, json_object_get(pod));
		return;
	}
	name = strdup(key);
	if (!name || lh_table_insert(follower->pods, name, json_object_get(pod))) {
		free(name);
		json_object_put(pod);
	}
}

static void pod_changed(void *data, const char *key, struct json_object *pod)
{
	struct json_object *read = objects_pod_read(pod);

	take_pod(data, key, read);
	if (!is_running(read))
		put_refused(data);
	json_object_put(read);
	follower_look_at_addresses(data);
}

static void pod_deleted(void *data, const char *key)
{
	struct follower *follower = data;
	struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);

	if (!entry)
		return;
	unname_pod(follower, key);
	drop_pod(follower, lh_entry_v(entry));
	lh_table_delete_entry(follower->pods, entry);
	put_refused(follower);
	follower_look_at_addresses(follower);
}

static void pods_synced(void *data)
{
	struct follower *follower = data;

	follower->pods_synced = true;
	follower_look_at_addresses(follower);
	follower->go_on(follower);
}

void follower_put_pods(struct follower *follower)
{
	struct json_object **pods = calloc(lh_table_length(follower->pods) + 1, sizeof(*pods));
	struct lh_entry *entry;
	size_t n = 0;

	if (!pods)
		return follower_set_message(follower, -ENOMEM, "the pods");
	for (entry = follower->pods->head; entry; entry = entry->next)
		if (counts(follower, lh_entry_v(entry)))
			pods[n++] = lh_entry_v(entry);
	put_all(follower, pods, n);
	free(pods);
}

struct json_object *follower_pod(void *data, const char *key)
{
	const struct follower *follower = data;
	const struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);

	return entry ? lh_entry_v(entry) : NULL;
}

static void free_pod(struct lh_entry *entry)
{
	json_object_put(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

int follower_pods_begin(struct follower *follower)
{
	static const struct api_watch_ops ops = {.changed = pod_changed,
						 .deleted = pod_deleted,
						 .synced = pods_synced,
						 .cached = true};
	const struct resting_options resting = {.records = follower->options->records,
						.node = &follower->options->load,
						.diag = follower->diag,
						.changed = follower_look_at_addresses,
						.data = follower};
	char query[320];
	int error;

	follower->pods = lh_kchar_table_new(64, free_pod);
	if (!follower->pods)
		return -ENOMEM;
	error = resting.records ? resting_open(follower->api, &resting, &follower->resting) : 0;
	if (error)
		return error;
	snprintf(query, sizeof(query), "fieldSelector=spec.nodeName%%3D%s",
		 follower->options->node);
	follower->pods_watch = api_watch(follower->api, "/api/v1/pods", query, &ops, follower);
	return follower->pods_watch ? 0 : -ENOMEM;
}
