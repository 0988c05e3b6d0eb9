// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small API server for tests of engine and follower: objects in memory, over plain HTTP at
 * 127.0.0.1. It knows lists, watches with field selectors, create, replace (with resourceVersion),
 * merge patch and delete, of any kind. It knows neither users nor schemas.
 *
 *   apiserver PORT    serves until it is ended
 *
 * PUT /test/fail with the text "STATUS PART": requests whose line has PART get STATUS from then on,
 * and streams that are open end; the text "0" ends that. PUT /test/only with the text "GROUP
 * VERSION PLURAL": the group has that collection in that version alone (404 for others, whose
 * streams end), and /apis says so; the text "" ends that. PUT /test/hold with a text PART: objects
 * whose creation has PART in its line are stored, and the answers wait until the text is "", and
 * watches whose line has PART tell nothing until then. PUT /test/lag with a text PART: watches
 * whose line has PART tell of no object's newest version until the text is "". PUT /test/restore
 * with the text "down VERSION" or "silent VERSION" puts the store back to that version, as a backup
 * of etcd does: later versions count from there on, and a watch from a version that is not reached
 * yet tells nothing; with `down` streams end. GET /test/version prints the newest version. GET
 * /test/count?PART prints how many requests had PART in their line, with _ for a blank. GET of an
 * object with ?member=A.B,C prints these members in one line. Bulkhead's version `followers` is
 * missing (404). GET of a pod's log answers with the file that the pod's annotation `log` names,
 * and with ?follow=true with what is written there until the client goes away; tailLines=0 begins
 * at its end, sinceSeconds=N at its first line of JSON with a "time" that is no older.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_ 2048

/* A change of an object. Changes stay: a watch begins with any of them. */
struct change {
	uint64_t version;
	const char *type;
	char *collection, *key; /* "/api/v1/pods", "shop/db" */
	char *text; /* the object */
	struct json_object *object;
	bool last; /* no later change of the same object; a deleted object has none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct change *changes;
static size_t n_changes;
static char (*lines)[LINE_MAX_];
static size_t n_lines;
static char fail_part[256];
static int fail_status;
static unsigned int fails; /* how often the fault has changed */
static char only_group[256], only_version[64], only_plural[256];
static char held_part[256], lag_part[256];
static unsigned int restores; /* how often the store was put back */

struct request {
	int fd;
	char method[16], path[LINE_MAX_], query[LINE_MAX_], line[LINE_MAX_];
	struct json_object *body;
	char *text; /* of the body */
	char collection[512], ns[256], name[256];
	bool status; /* the subresource */
	bool log; /* the subresource, of a pod */
};

/* As realloc(); the helper ends where memory is short. */
static void *grow(void *at, size_t size)
{
	void *grown = realloc(at, size);

	if (!grown)
		exit(1);
	return grown;
}

static struct json_object *at(struct json_object *object, const char *key)
{
	return object ? json_object_object_get(object, key) : NULL;
}

static const char *text_at(struct json_object *object, const char *a, const char *b)
{
	const char *text = json_object_get_string(at(at(object, a), b));

	return text ? text : "";
}

static void say(int fd, const char *text, size_t n)
{
	while (n) {
		const ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		text += sent;
		n -= sent;
	}
}

static void answer(int fd, int status, const char *body)
{
	char head[200];
	const int n = snprintf(head, sizeof(head),
			       "HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n"
			       "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			       status, strlen(body));

	say(fd, head, n);
	say(fd, body, strlen(body));
}

static void refuse(int fd, int status)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"kind\":\"Status\",\"code\":%d,\"message\":\"refused\"}",
		 status);
	answer(fd, status, body);
}

static void set(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

/* Returns true if the answer has to wait. */
static bool is_held(const struct request *request)
{
	return *held_part && strstr(request->line, held_part);
}

/* Returns true if the watch is behind, and does not tell of the change yet. */
static bool is_late(const struct request *request, const struct change *change)
{
	return *lag_part && strstr(request->line, lag_part) && change->last;
}

/* Returns true if the request's collection is there in another version alone. */
static bool is_elsewhere(const struct request *request)
{
	char version[80];

	snprintf(version, sizeof(version), "/%s/", only_version);
	return *only_group && strstr(request->path, only_group) &&
	       strstr(request->path, only_plural) && !strstr(request->path, version);
}

static bool is_failed(const struct request *request)
{
	return (fail_status && strstr(request->line, fail_part)) || is_elsewhere(request);
}

/* Answers what the server has in a group, or in its version. The group names the version "absent",
 * and the server lacks it. */
static void discover(struct request *request)
{
	char body[1000];

	if (!*only_group || !strstr(request->path, only_group))
		return refuse(request->fd, 404);
	if (strstr(request->path, "/absent"))
		return refuse(request->fd, 404);
	if (strstr(request->path, "/v0"))
		return answer(request->fd, 200, "{\"resources\":[]}");
	if (!strstr(request->path, only_version))
		snprintf(body, sizeof(body),
			 "{\"kind\":\"APIGroup\",\"versions\":[{\"groupVersion\":\"%s/"
			 "v0\",\"version\":"
			 "\"v0\"},{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}]}",
			 only_group, only_group, only_version, only_version);
	else
		snprintf(body, sizeof(body),
			 "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"%s\"},{\"name\":"
			 "\"%s/status\"}]}",
			 only_plural, only_plural);
	answer(request->fd, 200, body);
}

/* Objects */

static struct change *find(const char *collection, const char *key)
{
	for (size_t i = n_changes; i--;)
		if (changes[i].last && !strcmp(changes[i].key, key) &&
		    !strcmp(changes[i].collection, collection))
			return &changes[i];
	return NULL;
}

/* Stores a version of an object, which this function owns from now on. */
static struct change *store(const char *type, const char *collection, const char *key,
			    struct json_object *object)
{
	struct change *before = find(collection, key), *change;
	struct json_object *metadata = at(object, "metadata");
	char version[24];

	if (before)
		before->last = false;
	snprintf(version, sizeof(version), "%zu", n_changes + 1);
	set(metadata, "resourceVersion", version);
	changes = grow(changes, (n_changes + 1) * sizeof(*changes));
	change = &changes[n_changes++];
	*change = (struct change){.version = n_changes,
				  .type = type,
				  .collection = strdup(collection),
				  .key = strdup(key),
				  .object = object,
				  .last = strcmp(type, "DELETED")};
	change->text = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	pthread_cond_broadcast(&changed);
	return change;
}

static void merge(struct json_object *to, struct json_object *patch)
{
	json_object_object_foreach(patch, key, value)
	{
		struct json_object *member = at(to, key);

		if (!value)
			json_object_object_del(to, key);
		else if (json_object_is_type(value, json_type_object) &&
			 json_object_is_type(member, json_type_object))
			merge(member, value);
		else
			json_object_object_add(to, key, json_object_get(value));
	}
}

static struct json_object *copy(struct json_object *object)
{
	struct json_object *copied = NULL;

	json_object_deep_copy(object, &copied, NULL);
	return copied;
}

static void create(struct request *request)
{
	struct json_object *object = copy(request->body), *metadata = at(object, "metadata");
	char key[600], when[32], uid[48];
	const char *text;
	const time_t now = time(NULL);
	struct tm tm;

	snprintf(request->name, sizeof(request->name), "%s", text_at(object, "metadata", "name"));
	snprintf(key, sizeof(key), "%s/%s", request->ns, request->name);
	if (!metadata || !*request->name || find(request->collection, key)) {
		json_object_put(object);
		return refuse(request->fd, metadata ? 409 : 422);
	}
	if (*request->ns)
		set(metadata, "namespace", request->ns);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	set(metadata, "creationTimestamp", when);
	snprintf(uid, sizeof(uid), "00000000-0000-0000-0000-%012zu", n_changes + 1);
	set(metadata, "uid", uid);
	json_object_object_add(metadata, "generation", json_object_new_int(1));
	/* a change's text is never freed */
	text = store("ADDED", request->collection, key, object)->text;
	while (is_held(request))
		pthread_cond_wait(&changed, &lock);
	answer(request->fd, 201, text);
}

/* Replaces an object, or merges it with the body. */
static void change(struct request *request, bool whole)
{
	char key[600];
	struct change *before;
	struct json_object *object, *metadata;
	const char *version = text_at(request->body, "metadata", "resourceVersion");

	snprintf(key, sizeof(key), "%s/%s", request->ns, request->name);
	before = find(request->collection, key);
	if (!before)
		return refuse(request->fd, 404);
	if (*version && strtoull(version, NULL, 10) != before->version)
		return refuse(request->fd, 409);
	object = copy(before->object);
	if (whole && request->status)
		json_object_object_add(object, "status",
				       json_object_get(at(request->body, "status")));
	else if (whole)
		json_object_object_add(object, "spec", json_object_get(at(request->body, "spec")));
	else
		merge(object, request->body);
	metadata = at(object, "metadata");
	if (!json_object_equal(at(object, "spec"), at(before->object, "spec")))
		json_object_object_add(
			metadata, "generation",
			json_object_new_int(json_object_get_int(at(metadata, "generation")) + 1));
	answer(request->fd, 200, store("MODIFIED", request->collection, key, object)->text);
}

static void delete (struct request *request)
{
	char key[600];
	struct change *before;

	snprintf(key, sizeof(key), "%s/%s", request->ns, request->name);
	before = find(request->collection, key);
	if (!before)
		return refuse(request->fd, 404);
	store("DELETED", request->collection, key, copy(before->object));
	answer(request->fd, 200, "{}");
}

/* Lists and watches */

/* Returns true if an object is in the request's collection, namespace and field selector. */
static bool is_asked(const struct request *request, const struct change *change)
{
	static const char *const fields[][3] = {{"metadata.name%3D", "metadata", "name"},
						{"spec.nodeName%3D", "spec", "nodeName"}};

	if (strcmp(change->collection, request->collection))
		return false;
	if (*request->ns && strcmp(text_at(change->object, "metadata", "namespace"), request->ns))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const char *value = strstr(request->query, fields[i][0]);
		const char *is = text_at(change->object, fields[i][1], fields[i][2]);

		if (!value)
			continue;
		value += strlen(fields[i][0]);
		if (strlen(is) != strcspn(value, "&") || strncmp(value, is, strlen(is)))
			return false;
	}
	return true;
}

static void list(struct request *request)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	const char *comma = "";

	fprintf(to, "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%zu\"},\"items\":[",
		n_changes);
	for (size_t i = 0; i < n_changes; i++) {
		if (!changes[i].last || !is_asked(request, &changes[i]))
			continue;
		fprintf(to, "%s%s", comma, changes[i].text);
		comma = ",";
	}
	fprintf(to, "]}");
	fclose(to);
	answer(request->fd, 200, text);
	free(text);
}

/* Follows the names of PATH. In an array the name is an item's number. */
static struct json_object *member_at(struct json_object *object, char *path)
{
	char *save = NULL;

	for (char *part = strtok_r(path, ".", &save); part; part = strtok_r(NULL, ".", &save))
		object = json_object_is_type(object, json_type_array)
				 ? json_object_array_get_idx(object, strtoul(part, NULL, 10))
				 : at(object, part);
	return object;
}

/* Answers with members of an object in one line, a blank between each and the next. */
static void get_members(struct request *request, struct json_object *object)
{
	char paths[256], *save = NULL, *text = NULL;
	const char *blank = "";
	size_t size;
	FILE *to = open_memstream(&text, &size);

	snprintf(paths, sizeof(paths), "%s", strstr(request->query, "member=") + strlen("member="));
	for (char *path = strtok_r(paths, ",", &save); path; path = strtok_r(NULL, ",", &save)) {
		struct json_object *member = member_at(object, path);

		fprintf(to, "%s%s", blank, member ? json_object_get_string(member) : "");
		blank = " ";
	}
	fputc('\n', to);
	fclose(to);
	answer(request->fd, 200, text);
	free(text);
}

static void get(struct request *request)
{
	char key[600];
	struct change *found;

	snprintf(key, sizeof(key), "%s/%s", request->ns, request->name);
	found = find(request->collection, key);
	if (!found)
		refuse(request->fd, 404);
	else if (strstr(request->query, "member="))
		get_members(request, found->object);
	else
		answer(request->fd, 200, found->text);
}

/* Waits for further changes. Returns false if the client is gone, or a new fault or the restore of
 * a backup ends the stream. */
static bool await_changes(const struct request *request, unsigned int fault)
{
	const unsigned int before = restores;
	struct timespec until;
	char byte;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&changed, &lock, &until);
	if (restores != before || (fault != fails && is_failed(request)))
		return false;
	return recv(request->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

static void watch(struct request *request)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				   "Connection: close\r\n\r\n";
	const char *from = strstr(request->query, "resourceVersion=");
	size_t next = from ? strtoull(from + strlen("resourceVersion="), NULL, 10) : 0;
	const unsigned int fault = fails;

	say(request->fd, head, sizeof(head) - 1);
	do {
		for (; next < n_changes && !is_held(request); next++) {
			struct change *change = &changes[next];
			char *line;
			int n;

			if (!is_asked(request, change))
				continue;
			if (is_late(request, change))
				break;
			n = asprintf(&line, "{\"type\":\"%s\",\"object\":%s}\n", change->type,
				     change->text);
			say(request->fd, line, n);
			free(line);
		}
	} while (await_changes(request, fault));
}

/* A pod's log */

static const char *log_path(const struct request *request)
{
	char key[600];
	struct change *found;

	snprintf(key, sizeof(key), "%s/%s", request->ns, request->name);
	found = find(request->collection, key);
	return found ? text_at(at(found->object, "metadata"), "annotations", "log") : "";
}

/* Skips the lines before the first that begins with {"time":"TIME of the last so many seconds. */
static void skip_older(FILE *from, time_t seconds)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;

	while ((n = getline(&line, &capacity, from)) > 0) {
		struct tm tm = {0};

		if (strptime(line, "{\"time\":\"%Y-%m-%dT%H:%M:%S", &tm) &&
		    timegm(&tm) >= time(NULL) - seconds) {
			fseek(from, -n, SEEK_CUR);
			break;
		}
	}
	free(line);
}

/* Sends what a file has until its end, and then what is written there while the client waits. */
static void pod_log(struct request *request)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				   "Connection: close\r\n\r\n";
	FILE *from = fopen(log_path(request), "re");
	const char *since = strstr(request->query, "sinceSeconds=");
	const unsigned int fault = fails;
	char part[4096];
	size_t n;

	if (!from)
		return refuse(request->fd, 404);
	if (strstr(request->query, "tailLines=0"))
		fseek(from, 0, SEEK_END);
	if (since)
		skip_older(from, strtol(since + strlen("sinceSeconds="), NULL, 10));
	say(request->fd, head, sizeof(head) - 1);
	do {
		clearerr(from);
		while ((n = fread(part, 1, sizeof(part), from)))
			say(request->fd, part, n);
	} while (strstr(request->query, "follow=true") && await_changes(request, fault));
	fclose(from);
}

/* Requests */

/* Finds the collection, namespace and name in a path such as
 * /apis/GROUP/VERSION/namespaces/NS/KIND/NAME/status. */
static void read_path(struct request *request)
{
	char path[LINE_MAX_], *save = NULL, *parts[12] = {0};
	size_t n = 0, first;

	snprintf(path, sizeof(path), "%s", request->path);
	for (char *part = strtok_r(path, "/", &save); part && n < 12;
	     part = strtok_r(NULL, "/", &save))
		parts[n++] = part;
	first = n && !strcmp(parts[0], "api") ? 2 : 3;
	if (n < first + 1)
		return;
	if (n > first + 2 && !strcmp(parts[first], "namespaces")) {
		snprintf(request->ns, sizeof(request->ns), "%s", parts[first + 1]);
		memmove(&parts[first], &parts[first + 2], (n - first - 2) * sizeof(*parts));
		n -= 2;
	}
	for (size_t i = 0; i <= first; i++) {
		strcat(request->collection, "/");
		strcat(request->collection, parts[i]);
	}
	if (n > first + 1)
		snprintf(request->name, sizeof(request->name), "%s", parts[first + 1]);
	request->status = n > first + 2;
	request->log = request->status && !strcmp(parts[first + 2], "log");
}

/* Parses an object that may be nested 10,000 deep, as an API server does. json-c refuses more than
 * 32 unless it is told otherwise. */
static struct json_object *parse(const char *text, size_t length)
{
	struct json_tokener *tokener = json_tokener_new_ex(10000);
	struct json_object *object = json_tokener_parse_ex(tokener, text, length);

	json_tokener_free(tokener);
	return object;
}

/* Reads the request's line, headers and body. */
static bool read_request(struct request *request)
{
	size_t n = 0, capacity = 1 << 16, length = 0, head = 0;
	char *text = malloc(capacity), *end, *field, *query;

	for (;;) {
		ssize_t got;

		if (capacity - n < 1 << 15)
			text = grow(text, capacity *= 2);
		got = read(request->fd, text + n, capacity - n - 1);
		if (got <= 0)
			break;
		n += got;
		text[n] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		head = end + 4 - text;
		field = strcasestr(text, "\r\nContent-Length:");
		length = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
		if (strcasestr(text, "\r\nExpect: 100") && n == head)
			say(request->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
		if (n >= head + length)
			break;
	}
	if (!head || sscanf(text, "%15s %2047s", request->method, request->path) != 2) {
		free(text);
		return false;
	}
	snprintf(request->line, sizeof(request->line), "%.*s", (int)strcspn(text, "\r"), text);
	query = strchr(request->path, '?');
	if (query) {
		*query = '\0';
		snprintf(request->query, sizeof(request->query), "%s", query + 1);
	}
	request->body = length ? parse(text + head, length) : NULL;
	request->text = strdup(text + head);
	free(text);
	return true;
}

/* Puts the store back to the time of a version. */
static void restore(const char *text)
{
	const bool down = !strncmp(text, "down ", 5);
	const size_t version = strtoull(strchr(text, ' ') ? strchr(text, ' ') : text, NULL, 10);

	n_changes = version < n_changes ? version : n_changes;
	for (size_t i = 0; i < n_changes; i++)
		changes[i].last = false;
	for (size_t i = n_changes; i--;) {
		changes[i].last = strcmp(changes[i].type, "DELETED") != 0;
		for (size_t k = i + 1; changes[i].last && k < n_changes; k++)
			changes[i].last = strcmp(changes[k].key, changes[i].key) ||
					  strcmp(changes[k].collection, changes[i].collection);
	}
	restores += down;
	pthread_cond_broadcast(&changed);
}

static void control(struct request *request)
{
	char said[32];
	unsigned int n = 0;

	if (!strcmp(request->path, "/test/fail")) {
		fail_status = strtol(request->text, NULL, 10);
		snprintf(fail_part, sizeof(fail_part), "%s",
			 request->text + strcspn(request->text, " ") + !!fail_status);
		fails++;
		pthread_cond_broadcast(&changed);
		return answer(request->fd, 200, "{}");
	}
	if (!strcmp(request->path, "/test/only")) {
		*only_group = '\0';
		sscanf(request->text, "%255s %63s %255s", only_group, only_version, only_plural);
		fails++;
		pthread_cond_broadcast(&changed);
		return answer(request->fd, 200, "{}");
	}
	if (!strcmp(request->path, "/test/hold")) {
		snprintf(held_part, sizeof(held_part), "%s", request->text);
		pthread_cond_broadcast(&changed);
		return answer(request->fd, 200, "{}");
	}
	if (!strcmp(request->path, "/test/lag")) {
		snprintf(lag_part, sizeof(lag_part), "%s", request->text);
		pthread_cond_broadcast(&changed);
		return answer(request->fd, 200, "{}");
	}
	if (!strcmp(request->path, "/test/restore")) {
		restore(request->text);
		return answer(request->fd, 200, "{}");
	}
	if (!strcmp(request->path, "/test/version")) {
		snprintf(said, sizeof(said), "%zu\n", n_changes);
		return answer(request->fd, 200, said);
	}
	for (char *at = request->query; (at = strchr(at, '_'));)
		*at = ' ';
	for (size_t i = 0; i < n_lines; i++)
		n += !!strstr(lines[i], request->query);
	snprintf(said, sizeof(said), "%u\n", n);
	answer(request->fd, 200, said);
}

static void serve(struct request *request)
{
	if (!strncmp(request->path, "/test/", 6))
		return control(request);
	lines = grow(lines, (n_lines + 1) * sizeof(*lines));
	memcpy(lines[n_lines++], request->line, LINE_MAX_);
	if (fail_status && strstr(request->line, fail_part))
		return refuse(request->fd, fail_status);
	if (is_elsewhere(request))
		return refuse(request->fd, 404);
	if (strstr(request->path, "/followers/"))
		return refuse(request->fd, 404);
	/* as long as it lacks something, it starts */
	if (!strcmp(request->path, "/readyz"))
		return fail_status == 404 ? refuse(request->fd, 500)
					  : answer(request->fd, 200, "ok");
	read_path(request);
	if (!*request->collection)
		return discover(request);
	if (*request->method == 'P' && !json_object_is_type(request->body, json_type_object))
		return refuse(request->fd, 400);
	if (!strcmp(request->method, "POST"))
		return create(request);
	if (!strcmp(request->method, "PUT") || !strcmp(request->method, "PATCH"))
		return change(request, *request->method == 'P' && request->method[1] == 'U');
	if (!strcmp(request->method, "DELETE"))
		return delete (request);
	if (strstr(request->query, "watch=1"))
		return watch(request);
	if (request->log)
		return pod_log(request);
	if (*request->name)
		return get(request);
	list(request);
}

static void *connection(void *data)
{
	struct request request = {.fd = (int)(intptr_t)data};

	if (read_request(&request)) {
		pthread_mutex_lock(&lock);
		serve(&request);
		/* stored objects share members with the body, and count references to these */
		json_object_put(request.body);
		pthread_mutex_unlock(&lock);
	}
	shutdown(request.fd, SHUT_RDWR);
	close(request.fd);
	free(request.text);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (argc != 2)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	address.sin_port = htons(strtoul(argv[1], NULL, 10));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 128)) {
		fprintf(stderr, "apiserver: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		const int fd = accept(listener, NULL, NULL);
		pthread_t thread;

		if (fd >= 0 && !pthread_create(&thread, NULL, connection, (void *)(intptr_t)fd))
			pthread_detach(thread);
	}
}
