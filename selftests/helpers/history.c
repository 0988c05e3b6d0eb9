// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks every revision of Bulkhead's objects in etcd as it comes.
 *
 *   history LIMIT REVISION EXEMPT    reads the answers of etcd's watch from standard input. A node
 *                                    without a heartbeat for LIMIT seconds does not count. Keeps
 *                                    the next revision in the file REVISION. The objects that the
 *                                    file EXEMPT names may be deleted
 *
 * At the end of the input, or at SIGTERM, prints each fault on a line of its own, then counts:
 * "STATUSES REPORTS DELETIONS RAISED WRONG".
 */
#include <json-c/json.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NODES_MAX 64
#define GENERATIONS_MAX 100000
#define RACE_MS \
	2000 /* what a node has said within this time may not have been read by the engine */

struct node {
	char name[64];
	char heartbeat[40];
	uint64_t heard; /* ms: the last change of the heartbeat */
	uint64_t changed; /* ms: the last change of `has` */
	uint32_t has, before; /* latestPolicyGeneration, and its value before that change */
	bool late; /* the engine has marked the node: it makes no progress, and does not count */
};

static struct node nodes[NODES_MAX];
static size_t n_nodes;
static uint32_t policy, endpoint;
static uint32_t wholes[GENERATIONS_MAX]; /* where the chain of a generation begins */
static unsigned int statuses, reports, deletions, raised, wrong;
static uint64_t limit_ms;
static const char *revision_file, *exempt_file;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

static void end(int signal)
{
	(void)signal;
	printf("%u %u %u %u %u\n", statuses, reports, deletions, raised, wrong);
	fflush(stdout);
	_exit(0);
}

static struct json_object *get(struct json_object *object, const char *key)
{
	return object ? json_object_object_get(object, key) : NULL;
}

static const char *text(struct json_object *object, const char *key)
{
	const char *value = json_object_get_string(get(object, key));

	return value ? value : "";
}

static uint32_t number(struct json_object *object, const char *key)
{
	return json_object_get_int64(get(object, key));
}

static char *decode(const char *base64)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = malloc(strlen(base64) + 1);
	unsigned int bits = 0, n_bits = 0;
	size_t n = 0;

	for (; *base64 && *base64 != '='; base64++) {
		const char *digit = strchr(digits, *base64);

		if (!digit)
			break;
		bits = bits << 6 | (unsigned int)(digit - digits);
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			out[n++] = bits >> n_bits & 255;
		}
	}
	out[n] = '\0';
	return out;
}

static struct node *node_of(const char *name)
{
	for (size_t i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i].name, name))
			return &nodes[i];
	if (n_nodes == NODES_MAX)
		exit(2);
	snprintf(nodes[n_nodes].name, sizeof(nodes[n_nodes].name), "%s", name);
	nodes[n_nodes].changed = now();
	return &nodes[n_nodes++];
}

static void take_report(const char *name, struct json_object *status)
{
	struct node *node = node_of(name);
	const uint32_t has = number(status, "latestPolicyGeneration");
	const char *heartbeat = text(status, "heartbeat");

	reports++;
	node->late = strstr(json_object_to_json_string(get(status, "conditions")), "NoProgress");
	if (strcmp(node->heartbeat, heartbeat))
		node->heard = now();
	snprintf(node->heartbeat, sizeof(node->heartbeat), "%s", heartbeat);
	if (has == node->has)
		return;
	node->before = node->has;
	node->has = has;
	node->changed = now();
}

static bool lacks(const struct node *node, uint32_t generation)
{
	const uint64_t time = now();

	return node->has < generation && !node->late && node->heard + limit_ms > time &&
	       (node->changed + RACE_MS < time || (node->before && node->before < generation));
}

static void complain(const char *revision, const char *what, uint32_t generation)
{
	printf("revision %s: %s, generation %u, of policy %u and endpoints %u\n", revision, what,
	       generation, policy, endpoint);
	fflush(stdout);
	wrong++;
}

static void take_status(const char *revision, struct json_object *spec)
{
	const uint32_t last = endpoint, last_policy = policy;

	statuses++;
	policy = number(spec, "desiredPolicyGeneration");
	endpoint = number(spec, "desiredEndpointGeneration");
	if (endpoint > policy)
		complain(revision, "endpoints are above the policy", endpoint);
	if (endpoint < last || policy < last_policy)
		complain(revision, "a generation goes back", last);
	if (endpoint <= last)
		return;
	raised++;
	for (size_t i = 0; i < n_nodes; i++)
		if (lacks(&nodes[i], endpoint))
			complain(revision, nodes[i].name, nodes[i].has);
}

static uint32_t generation_of(const char *name)
{
	const unsigned long number = strtoul(name + 1, NULL, 10);

	return number < GENERATIONS_MAX ? number : 0;
}

static bool is_exempt(const char *name)
{
	FILE *file = fopen(exempt_file, "r");
	char line[200];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strcmp(line, name);
	}
	if (file)
		fclose(file);
	return found;
}

/* A node that wants @generation needs every object that leads to it, from a whole policy on. */
static bool is_needed(uint32_t object, uint32_t generation)
{
	return generation && wholes[generation] && object >= wholes[generation] &&
	       object <= generation;
}

static void take_deletion(const char *revision, const char *name)
{
	const uint32_t object = generation_of(name);

	deletions++;
	if ((is_needed(object, policy) || is_needed(object, endpoint)) && !is_exempt(name))
		complain(revision, "what leads to a wanted policy is deleted", object);
}

static void take_generation(const char *name, struct json_object *spec)
{
	const char *whole = text(spec, "whole");

	if (*name == 'g' && *whole == 'w')
		wholes[generation_of(name)] = generation_of(whole);
}

static void take_event(struct json_object *event)
{
	struct json_object *kv = get(event, "kv"), *object;
	const char *revision = text(kv, "mod_revision");
	char *key = decode(text(kv, "key")), *value = decode(text(kv, "value"));
	const char *name = strrchr(key, '/') ? strrchr(key, '/') + 1 : key;
	const bool gone = !strcmp(text(event, "type"), "DELETE");

	object = gone ? NULL : json_tokener_parse(value);
	if (strstr(key, "/policystatuses/") && object)
		take_status(revision, get(object, "spec"));
	else if (strstr(key, "/nodepolicystatuses/") && object)
		take_report(name, get(object, "status"));
	else if (strstr(key, "/policygenerations/") && gone)
		take_deletion(revision, name);
	else if (strstr(key, "/policygenerations/") && object)
		take_generation(name, get(object, "spec"));
	json_object_put(object);
	free(key);
	free(value);
}

static void keep_revision(struct json_object *header)
{
	FILE *file = fopen(revision_file, "w");

	if (!file)
		exit(2);
	fprintf(file, "%lld\n", strtoll(text(header, "revision"), NULL, 10) + 1);
	fclose(file);
}

static void take_answer(struct json_object *answer)
{
	struct json_object *result = get(answer, "result"), *events = get(result, "events");

	if (!result || get(result, "compact_revision"))
		complain("?", "revisions are missing", 0);
	for (size_t i = 0; events && i < json_object_array_length(events); i++)
		take_event(json_object_array_get_idx(events, i));
	if (events)
		keep_revision(get(result, "header"));
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t capacity = 0;

	if (argc != 4)
		return 2;
	limit_ms = strtoul(argv[1], NULL, 10) * 1000;
	revision_file = argv[2];
	exempt_file = argv[3];
	signal(SIGTERM, end);
	while (getline(&line, &capacity, stdin) > 0) {
		struct json_object *answer = json_tokener_parse(line);

		if (answer)
			take_answer(answer);
		json_object_put(answer);
	}
	end(0);
}
