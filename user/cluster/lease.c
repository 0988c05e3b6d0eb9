// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RENEW_MS (LEASE_SECONDS * 1000 / 3)
#define RETRY_MS 300

struct lease {
	struct api *api;
	const char *name, *identity;
	char *path; /* path of the namespace's leases */
	void (*changed)(void *data);
	void *data;
	struct api_watch *watch;
	struct api_timer timer;
	/* The Lease as last seen; NULL: there is none. */
	char *version, *holder;
	uint64_t seen; /* ms: when that version came */
	uint64_t asked; /* ms: when the pending renewal was sent; 0: none is pending */
	uint64_t until; /* ms: this engine holds the lease until then; 0: it does not hold it */
	bool wanted; /* this engine may lead */
	bool known; /* the server has said whether there is a Lease */
	void (*released)(void *data); /* set: this engine gives the lease up */
	void *released_data;
};

bool lease_held(const struct lease *lease)
{
	return lease->until > api_now();
}

static bool is_ours(const struct lease *lease)
{
	return lease->holder && !strcmp(lease->holder, lease->identity);
}

static struct json_object *lease_object(const struct lease *lease)
{
	struct json_object *object = json_object_new_object();
	struct json_object *metadata = json_object_new_object(), *spec = json_object_new_object();

	json_object_object_add(object, "apiVersion",
			       json_object_new_string("coordination.k8s.io/v1"));
	json_object_object_add(object, "kind", json_object_new_string("Lease"));
	json_object_object_add(object, "metadata", metadata);
	json_object_object_add(metadata, "name", json_object_new_string(lease->name));
	if (lease->version)
		json_object_object_add(metadata, "resourceVersion",
				       json_object_new_string(lease->version));
	json_object_object_add(object, "spec", spec);
	json_object_object_add(spec, "holderIdentity",
			       json_object_new_string(lease->released ? "" : lease->identity));
	json_object_object_add(spec, "leaseDurationSeconds", json_object_new_int(LEASE_SECONDS));
	json_object_object_add(spec, "renewTime", api_time());
	return object;
}

static void see(struct lease *lease, struct json_object *object)
{
	const char *version = api_text(object, "metadata.resourceVersion");
	const char *holder = api_text(object, "spec.holderIdentity");

	free(lease->version);
	free(lease->holder);
	lease->version = version ? strdup(version) : NULL;
	lease->holder = holder ? strdup(holder) : NULL;
	lease->seen = api_now();
}

static void give_up(struct lease *lease);
static void look(void *data);

static void was_read(void *data, const struct api_answer *answer)
{
	struct lease *lease = data;
	struct json_object *items = api_get(answer->body, "items");

	lease->asked = 0;
	if (lease->released)
		return give_up(lease);
	if (!answer->error && json_object_is_type(items, json_type_array) &&
	    json_object_array_length(items) == 1)
		see(lease, json_object_array_get_idx(items, 0));
	if (!answer->error && is_ours(lease))
		return look(lease);
	api_timer_set(lease->api, &lease->timer, api_jitter(RETRY_MS));
}

/* Reads the Lease, as the watch would bring it. Returns 0 or -ENOMEM. */
static int read_again(struct lease *lease)
{
	char path[700];
	struct api_request request = {.method = "GET",
				      .path = path,
				      .seconds = LEASE_SECONDS / 3,
				      .done = was_read,
				      .data = lease};

	snprintf(path, sizeof(path), "%s?fieldSelector=metadata.name%%3D%s", lease->path,
		 lease->name);
	return api_send(lease->api, &request);
}

static void renewed(void *data, const struct api_answer *answer)
{
	struct lease *lease = data;
	bool held = lease_held(lease);

	if (lease->released) {
		if (!answer->error)
			see(lease, answer->body);
		lease->asked = 0;
		return give_up(lease);
	}
	if (!answer->error) {
		see(lease, answer->body);
		lease->until = lease->asked + LEASE_SECONDS * 1000;
	} else if (answer->status == 409) {
		/* Another engine was quicker, or the answer to this engine's last renewal was lost:
		 * the watch may bring the Lease much later. */
		lease->until = 0;
		if (held)
			lease->changed(lease->data);
		if (!read_again(lease))
			return;
	}
	lease->asked = 0;
	api_timer_set(lease->api, &lease->timer, answer->error ? api_jitter(RETRY_MS) : RENEW_MS);
	if (answer->status != 409 && held != lease_held(lease))
		lease->changed(lease->data);
}

static int send_lease(struct lease *lease, api_done *done)
{
	struct json_object *object = lease_object(lease);
	struct api_request request = {
		.method = lease->version ? "PUT" : "POST",
		.path = lease->path,
		.body = object,
		.seconds = LEASE_SECONDS / 3, /* leaves time for another request */
		.done = done,
		.data = lease,
	};
	char *path = NULL;
	int error;

	if (lease->version && asprintf(&path, "%s/%s", lease->path, lease->name) >= 0)
		request.path = path;
	error = api_send(lease->api, &request);
	json_object_put(object);
	free(path);
	return error;
}

static void renew(struct lease *lease)
{
	lease->asked = api_now();
	if (send_lease(lease, renewed)) {
		lease->asked = 0;
		api_timer_set(lease->api, &lease->timer, RETRY_MS);
	}
}

static void given_up(void *data, const struct api_answer *answer)
{
	struct lease *lease = data;

	(void)answer; /* without an answer, the lease runs out */
	lease->released(lease->released_data);
}

static void give_up(struct lease *lease)
{
	if (!is_ours(lease) || send_lease(lease, given_up))
		lease->released(lease->released_data);
}

void lease_release(struct lease *lease, void (*done)(void *data), void *data)
{
	api_timer_stop(lease->api, &lease->timer);
	lease->until = 0;
	lease->released = done;
	lease->released_data = data;
	/* A renewal that is on its way is answered first: it changes the version. */
	if (!lease->asked)
		give_up(lease);
}

/* Renews the lease if this engine holds it. Takes the lease if no engine has renewed it for
 * LEASE_SECONDS. Else waits. */
static void look(void *data)
{
	struct lease *lease = data;
	uint64_t now = api_now(), free_at = lease->seen + LEASE_SECONDS * 1000;

	if (lease->until && lease->until <= now) {
		lease->until = 0;
		lease->changed(lease->data);
	}
	if (lease->asked || !lease->known || !lease->wanted || lease->released)
		return;
	if (!lease->version || !lease->holder || !*lease->holder || is_ours(lease) ||
	    free_at <= now)
		renew(lease);
	else
		api_timer_set(lease->api, &lease->timer, api_jitter(free_at - now + 1));
}

void lease_want(struct lease *lease)
{
	if (lease->wanted)
		return;
	lease->wanted = true;
	look(lease);
}

/* Returns true if this engine knows a later version, by the answer to a request: the watch of a
 * server under load may be behind. A list may be of an older time, and counts. */
static bool is_overtaken(const struct lease *lease, struct json_object *object)
{
	const char *version = api_text(object, "metadata.resourceVersion");

	return version && lease->version && !api_watch_lists(lease->watch) &&
	       strtoull(version, NULL, 10) < strtoull(lease->version, NULL, 10);
}

static void lease_changed(void *data, const char *key, struct json_object *object)
{
	struct lease *lease = data;

	(void)key;
	if (is_overtaken(lease, object))
		return;
	see(lease, object);
	if (!is_ours(lease) && lease->until) {
		lease->until = 0;
		lease->changed(lease->data);
	}
	if (!is_ours(lease))
		look(lease);
}

static void lease_deleted(void *data, const char *key)
{
	struct lease *lease = data;

	(void)key;
	free(lease->version);
	free(lease->holder);
	lease->version = lease->holder = NULL;
	look(lease);
}

static void lease_synced(void *data)
{
	struct lease *lease = data;

	lease->known = true;
	look(lease);
}

struct lease *lease_open(struct api *api, const char *ns, const char *name, const char *identity,
			 void (*changed)(void *data), void *data)
{
	static const struct api_watch_ops ops = {
		.changed = lease_changed, .deleted = lease_deleted, .synced = lease_synced};
	struct lease *lease = calloc(1, sizeof(*lease));
	char query[300];

	if (!lease)
		return NULL;
	*lease = (struct lease){
		.api = api, .name = name, .identity = identity, .changed = changed, .data = data};
	lease->timer = (struct api_timer){.run = look, .data = lease};
	snprintf(query, sizeof(query), "fieldSelector=metadata.name%%3D%s", name);
	if (asprintf(&lease->path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases", ns) < 0)
		lease->path = NULL;
	lease->watch = lease->path ? api_watch(api, lease->path, query, &ops, lease) : NULL;
	if (lease->watch)
		return lease;
	lease_close(lease);
	return NULL;
}

void lease_close(struct lease *lease)
{
	if (!lease)
		return;
	api_unwatch(lease->watch);
	api_timer_stop(lease->api, &lease->timer);
	free(lease->path);
	free(lease->version);
	free(lease->holder);
	free(lease);
}
