// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/resting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/store.h"
#include "cni/left.h"
#include "node/kernel/handle.h"

/* After the former Pod's object has gone, its address is stated for so many ms more: the engine may
 * hear of the shorter list before it hears that the object is gone. */
#define LINGER_MS 10000
/* So many ms after the API server has the statement, the engine knows it: before, it may be about
 * to publish a policy of what it heard earlier. */
#define REST_MS 250

struct entry {
	struct left_address left;
	/* the newest generation when the engine knew that the address has left: an older one may
	 * still give it to the former Pod; 0: not known yet */
	uint32_t wanted;
	uint32_t checked; /* the generation that was looked at last; 0: none */
	/* the first generation active here, from `wanted` on, since which the former Pod does
	 * not have the address; 0: none */
	uint32_t clear;
	uint64_t seen; /* ms: since when the follower knows of it; 0: not yet */
	bool late; /* it has rested for RESTING_LATE_MS */
	uint64_t told; /* ms: since when the API server has the statement; 0: it has not */
	uint64_t unnamed; /* ms: since when no Pod's object names the address; 0: one does */
	char uid[64]; /* UID of the Pod that is stated; "": none is */
	bool listed; /* in the list of statements; another one waits for a place there */
};

struct resting {
	struct resting_options options;
	struct api *api;
	struct api_reader reader;
	struct api_timer timer;
	struct entry *entries;
	size_t n;
	struct json_object *statements;
};

/* The folder */

static struct entry *find(const struct resting *resting, const struct left_address *left)
{
	for (size_t i = 0; i < resting->n; i++)
		if (!memcmp(&resting->entries[i].left.address, &left->address,
			    sizeof(left->address)) &&
		    !strcmp(resting->entries[i].left.uid, left->uid))
			return &resting->entries[i];
	return NULL;
}

struct reading {
	const struct resting *last;
	struct resting *now;
};

static void take(void *data, const struct left_address *left)
{
	struct reading *reading = data;
	const struct entry *last = find(reading->last, left);
	struct entry *entry;
	void *grown;

	/* The former pod is not known, so the address rests until the file is gone. */
	if (left->damaged)
		return;
	grown = reallocarray(reading->now->entries, reading->now->n + 1,
			     sizeof(*reading->now->entries));
	if (!grown)
		return;
	reading->now->entries = grown;
	entry = &reading->now->entries[reading->now->n++];
	*entry = (struct entry){0};
	/* Else the same Pod had the address again, and lost it again. */
	if (last && (last->left.rests || !left->rests))
		*entry = *last;
	entry->left = *left;
}

static void read_folder(struct resting *resting)
{
	struct resting now = *resting;
	struct reading reading = {.last = resting, .now = &now};

	now.entries = NULL;
	now.n = 0;
	left_each(resting->options.records, resting->options.diag, take, &reading);
	free(resting->entries);
	resting->entries = now.entries;
	resting->n = now.n;
}

/* A look is due in @ms, or earlier. */
static void look_in(struct resting *resting, unsigned int ms)
{
	if (!resting->timer.due || resting->timer.due > api_now() + ms)
		api_timer_set(resting->api, &resting->timer, ms);
}

/* Reads the folder again if it has changed; resting_look() is due then. */
static void catch_up(struct resting *resting)
{
	char events[4096];
	bool changed = false;

	while (read(resting->reader.fd, events, sizeof(events)) > 0)
		changed = true;
	if (!changed)
		return;
	read_folder(resting);
	look_in(resting, 0);
}

static void on_change(void *data)
{
	catch_up(data);
}

static void on_timer(void *data)
{
	struct resting *resting = data;

	resting->options.changed(resting->options.data);
}

static int make_folder(const char *records)
{
	char *folder = left_folder(records), *slash;
	int error = folder ? 0 : -ENOMEM;

	for (slash = folder ? strchr(folder + 1, '/') : NULL; !error && slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		error = mkdir(folder, 0755) && errno != EEXIST ? -errno : 0;
		*slash = '/';
	}
	if (!error && mkdir(folder, 0700) && errno != EEXIST)
		error = -errno;
	free(folder);
	return error;
}

static int watch(struct resting *resting)
{
	char *folder = left_folder(resting->options.records);
	int error = make_folder(resting->options.records);

	resting->reader.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (!error && (!folder || resting->reader.fd < 0 ||
		       inotify_add_watch(resting->reader.fd, folder, IN_MOVED_TO | IN_DELETE) < 0))
		error = -errno;
	if (error)
		diag_report(resting->options.diag, DIAG_ERROR, NULL, NULL,
			    "follow: %s cannot be watched: %s", folder ? folder : "records",
			    strerror(-error));
	free(folder);
	return error;
}

int resting_open(struct api *api, const struct resting_options *options, struct resting **resting)
{
	struct resting *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->options = *options;
	made->api = api;
	made->reader = (struct api_reader){.fd = -1, .ready = on_change, .data = made};
	made->timer = (struct api_timer){.run = on_timer, .data = made};
	made->statements = json_object_new_array();
	error = watch(made);
	if (error) {
		resting_close(made);
		return error;
	}
	read_folder(made);
	api_reader_add(api, &made->reader);
	*resting = made;
	return 0;
}

void resting_close(struct resting *resting)
{
	if (!resting)
		return;
	api_timer_stop(resting->api, &resting->timer);
	if (resting->reader.fd >= 0)
		close(resting->reader.fd);
	json_object_put(resting->statements);
	free(resting->entries);
	free(resting);
}

/* Pods */

static bool is_address(const char *text, const struct address *address)
{
	struct address named;

	return text && !address_parse(text, &named) && !memcmp(&named, address, sizeof(named));
}

/* Returns true if the Pod's status names the address, and the Pod has not ended. */
static bool names(struct json_object *pod, const struct address *address)
{
	struct json_object *list = api_get(pod, "status.podIPs");
	const char *phase = api_text(pod, "status.phase");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	bool named = is_address(api_text(pod, "status.podIP"), address);

	if (phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")))
		return false;
	for (size_t i = 0; i < n; i++)
		named |= is_address(api_text(json_object_array_get_idx(list, i), "ip"), address);
	return named;
}

bool resting_keeps_off(struct resting *resting, struct json_object *pod)
{
	const char *uid = api_text(pod, "metadata.uid");

	if (resting)
		catch_up(resting);
	for (size_t i = 0; resting && i < resting->n; i++) {
		const struct left_address *left = &resting->entries[i].left;
		const bool own = uid && !strcmp(left->uid, uid);

		if ((own || left->rests) && names(pod, &left->address))
			return true;
	}
	return false;
}

/* Sets entry->uid: the UID of the Pod whose object still names the address. */
static void find_named(struct entry *entry, struct node_handle *handle, struct lh_table *pods)
{
	struct left_address former = entry->left;
	struct lh_entry *found;
	const char *uid;
	char key[512];

	snprintf(key, sizeof(key), "%s/%s", former.ns, former.name);
	found = lh_table_lookup_entry(pods, key);
	uid = found ? api_text(lh_entry_v(found), "metadata.uid") : NULL;
	*entry->uid = '\0';
	if (!uid || !names(lh_entry_v(found), &former.address) ||
	    (*former.uid && strcmp(former.uid, uid)))
		return;
	/* The plugin did not know the UID: the active policy knows which Pod of that name it
	 * was. */
	snprintf(former.uid, sizeof(former.uid), "%s", uid);
	if (*entry->left.uid || (handle && left_is_in_policy(handle, &former) > 0))
		snprintf(entry->uid, sizeof(entry->uid), "%s", uid);
}

/* Looking */

/* Sets entry->wanted once: later changes of the cluster do not prolong the rest. */
static void set_wanted(struct resting *resting, uint32_t wanted, uint64_t now)
{
	for (size_t i = 0; i < resting->n; i++) {
		struct entry *entry = &resting->entries[i];

		if (!entry->wanted && entry->told && entry->told + REST_MS <= now)
			entry->wanted = wanted;
	}
}

/* Begins anew with addresses that rest until generations which the cluster has not reached: its
 * store was put back to an older time, and has to hear of them again, also if a report has told it
 * of them just before. Returns true if there are any. */
static bool forget_future(struct resting *resting, uint32_t wanted)
{
	bool any = false;

	for (size_t i = 0; wanted && i < resting->n; i++) {
		struct entry *entry = &resting->entries[i];

		if (entry->wanted <= wanted && entry->clear <= wanted)
			continue;
		entry->wanted = entry->checked = entry->clear = 0;
		entry->told = 0;
		any = true;
	}
	return any;
}

/* Looks again when set_wanted() is due, or an address may have rested for long. */
static void look_again(struct resting *resting, uint64_t now)
{
	for (size_t i = 0; i < resting->n; i++) {
		const uint64_t due = resting->entries[i].told + REST_MS;

		look_in(resting, due > now ? due - now : RESTING_LATE_MS);
	}
}

static bool must_check(const struct entry *entry, uint32_t active)
{
	return entry->left.rests && entry->wanted && entry->wanted <= active &&
	       entry->checked != active;
}

static bool must_read_policy(const struct resting *resting, uint32_t active)
{
	for (size_t i = 0; active && i < resting->n; i++)
		if (!*resting->entries[i].left.uid || must_check(&resting->entries[i], active))
			return true;
	return false;
}

static void check_policy(struct entry *entry, struct node_handle *handle, uint32_t active)
{
	int found;

	if (!handle || !must_check(entry, active))
		return;
	found = left_is_in_policy(handle, &entry->left);
	if (found < 0)
		return; /* the address rests, and the policy is read at the next look */
	entry->checked = active;
	if (found)
		entry->clear = 0;
	else if (!entry->clear)
		entry->clear = active;
}

static bool is_stated(const struct entry *entry)
{
	return *entry->uid || *entry->left.uid;
}

/* Ends the rest of the address. Returns true if the address rested until now. */
static bool end_rest(const struct resting *resting, struct entry *entry, uint32_t oldest,
		     uint64_t now)
{
	if (!is_stated(entry) && !entry->told)
		entry->told = now; /* nothing is to be said */
	if (!entry->left.rests || !entry->clear || oldest < entry->clear)
		return false;
	entry->left.rests = false;
	if (!left_put(resting->options.records, &entry->left))
		return true;
	entry->left.rests = true;
	return false;
}

/* Returns true if it becomes known, or is known no longer, that the address rests for long. */
static bool set_late_roles(struct entry *entry, uint64_t now)
{
	const bool late = entry->left.rests && entry->seen && entry->seen + RESTING_LATE_MS <= now;
	const bool turned = late != entry->late;

	entry->seen = entry->seen ? entry->seen : now;
	entry->late = late;
	return turned;
}

/* Returns true if nothing has to be said of the address any more. */
static bool is_done(struct entry *entry, uint64_t now)
{
	if (*entry->uid) {
		entry->unnamed = 0;
		return false;
	}
	if (!entry->unnamed)
		entry->unnamed = now;
	return !entry->left.rests && entry->unnamed + LINGER_MS <= now;
}

static void add_statement(struct json_object *list, const struct entry *entry)
{
	struct json_object *statement = json_object_new_object();
	char text[ADDRESS_TEXT];

	json_object_object_add(statement, "address",
			       json_object_new_string(address_print(&entry->left.address, text)));
	json_object_object_add(statement, "namespace", json_object_new_string(entry->left.ns));
	json_object_object_add(statement, "name", json_object_new_string(entry->left.name));
	json_object_object_add(statement, "uid",
			       json_object_new_string(*entry->uid ? entry->uid : entry->left.uid));
	json_object_array_add(list, statement);
}

static bool state(struct resting *resting)
{
	struct json_object *list = json_object_new_array();
	bool differs;

	for (size_t i = 0; i < resting->n; i++) {
		struct entry *entry = &resting->entries[i];

		entry->listed = is_stated(entry) && json_object_array_length(list) < STORE_LEFT_MAX;
		if (entry->listed)
			add_statement(list, entry);
	}
	differs = !json_object_equal(list, resting->statements);
	json_object_put(resting->statements);
	resting->statements = list;
	return differs;
}

unsigned int resting_look(struct resting *resting, const struct resting_view *view)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;
	const uint64_t now = api_now();
	unsigned int news = 0;
	size_t kept = 0;

	catch_up(resting);
	if (forget_future(resting, view->wanted))
		news |= RESTING_STATED;
	set_wanted(resting, view->wanted, now);
	if (must_read_policy(resting, view->active) &&
	    node_open(resting->options.node, false, resting->options.diag, &handle))
		handle = NULL;
	for (size_t i = 0; i < resting->n; i++) {
		struct entry *entry = &resting->entries[i];

		find_named(entry, handle, view->pods);
		check_policy(entry, handle, view->active);
		if (end_rest(resting, entry, view->oldest, now))
			news |= RESTING_OVER;
		if (set_late_roles(entry, now))
			news |= RESTING_STATED;
		if (is_done(entry, now))
			left_remove(resting->options.records, &entry->left);
		else
			resting->entries[kept++] = *entry;
	}
	resting->n = kept;
	look_again(resting, now);
	return news | (state(resting) ? RESTING_STATED : 0);
}

void resting_told(struct resting *resting, struct json_object *statements)
{
	const uint64_t now = api_now();

	/* If the list has changed since, the next report tells of it. */
	if (!json_object_equal(statements, resting->statements))
		return;
	for (size_t i = 0; i < resting->n; i++)
		if (resting->entries[i].listed && !resting->entries[i].told)
			resting->entries[i].told = now;
	look_again(resting, now);
}

struct json_object *resting_statements(const struct resting *resting)
{
	return json_object_get(resting->statements);
}

size_t resting_late(const struct resting *resting, struct address *address)
{
	size_t n = 0;

	for (size_t i = 0; i < resting->n; i++) {
		if (!resting->entries[i].late)
			continue;
		*address = resting->entries[i].left.address;
		n++;
	}
	return n;
}

size_t resting_count(const struct resting *resting, size_t *resting_now)
{
	*resting_now = 0;
	for (size_t i = 0; i < resting->n; i++)
		*resting_now += resting->entries[i].left.rests;
	return resting->n;
}
