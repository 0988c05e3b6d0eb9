// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies in the store of a cluster: each is stored as a delta to the one before, and now and then
 * as a whole, so that a node fetches little, and a node that comes late can fetch all. A damaged or
 * missing object is refused by name, or not needed: no node gets a policy that was not published.
 * The API server is a table in this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/store.h"
#include "maps/blob.h"
#include "compile/compile.h"
#include "input/input.h"

/* The API server: objects by name. Answers come when the caller has returned. */

static struct json_object *objects;
static unsigned int gets, posts;

#define WAITING_MAX 4
static struct waiting {
	struct api_request request;
	long status;
	struct json_object *body;
} waiting[WAITING_MAX];
static size_t n_waiting;

int api_send(struct api *api, const struct api_request *request)
{
	struct waiting *wait = &waiting[n_waiting++];
	char name[256];

	(void)api;
	assert_true(n_waiting <= WAITING_MAX);
	*wait = (struct waiting){.request = *request, .status = 404};
	if (!strcmp(request->method, "POST")) {
		snprintf(name, sizeof(name), "%s", api_text(request->body, "metadata.name"));
		posts++;
		wait->status = json_object_object_get(objects, name) ? 409 : 201;
		assert_true(strlen(json_object_to_json_string(request->body)) < 1 << 20);
		if (wait->status == 201)
			json_object_object_add(objects, name, json_object_get(request->body));
		return 0;
	}
	snprintf(name, sizeof(name), "%s", strrchr(request->path, '/') + 1);
	name[strcspn(name, "?")] = '\0';
	gets++;
	wait->body = json_object_get(json_object_object_get(objects, name));
	wait->status = wait->body ? 200 : 404;
	return 0;
}

static void answer_all(void)
{
	while (n_waiting) {
		struct waiting wait = waiting[--n_waiting];
		const struct api_answer answer = {
			wait.status, wait.status < 300 ? NULL : "no such answer", wait.body, false};

		wait.request.done(wait.request.data, &answer);
		json_object_put(wait.body);
	}
}

/* Policies of one lineage: generation i has i pods more than the first. */

#define GENERATIONS 130
static struct policy *published[GENERATIONS + 2]; /* by generation; the last is a test's own */
static struct store_since since;
static char *last_delta; /* what the last publish() gave for PolicyStatus */

static struct policy *compiled(unsigned int pods, const struct policy *base)
{
	struct diag diag = {.to = stderr};
	struct policy *policy = NULL;
	struct cluster cluster;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fprintf(to, "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
		    "metadata: {name: n, namespace: x}\n"
		    "spec: {podSelector: {matchLabels: {role: a}}, ingress: [{from: "
		    "[{podSelector: {}}]}]}\n");
	for (unsigned int i = 0; i < pods; i++)
		fprintf(to,
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%u, namespace: x, "
			"labels: {role: a}}\nspec: {nodeName: n}\nstatus: {podIP: 10.0.%u.%u}\n",
			i, i / 250, i % 250 + 1);
	fclose(to);
	cluster_init(&cluster);
	assert_int_equal(input_parse_yaml(&cluster, text, size, "t", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	assert_int_equal(compile_cluster(&cluster, base, &diag, &policy), 0);
	cluster_free(&cluster);
	free(text);
	return policy;
}

static void published_is(void *data, int error, const char *why)
{
	(void)why;
	*(int *)data = error;
}

static int publish(const struct policy *base, struct policy *policy, struct store_since *now)
{
	char *delta = NULL;
	int error = 1;

	assert_int_equal(store_publish(NULL, base, policy, now, &delta, published_is, &error), 0);
	answer_all();
	free(last_delta);
	last_delta = delta;
	assert_int_not_equal(error, 1);
	return error;
}

static int publish_all(void **state)
{
	(void)state;
	objects = json_object_new_object();
	for (unsigned int i = 1; i <= GENERATIONS; i++) {
		published[i] = compiled(i, i > 1 ? published[i - 1] : NULL);
		assert_int_equal(published[i]->generation, i);
		assert_int_equal(publish(i > 1 ? published[i - 1] : NULL, published[i], &since), 0);
	}
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	for (unsigned int i = 1; i <= GENERATIONS + 1; i++)
		policy_free(published[i]);
	json_object_put(objects);
	free(last_delta);
	return 0;
}

/* A node's fetch. */

struct fetch {
	const struct policy *have;
	int error;
	size_t items, bytes;
	char *said; /* why not */
	FILE *to;
};

static void fetched_is(void *data, int error, const char *why, struct store_chain *chain)
{
	struct fetch *fetch = data;
	struct diag diag = {.to = fetch->to};
	struct policy *policy = NULL;
	uint32_t wanted;

	fetch->error = error;
	if (error)
		fprintf(fetch->to, "%s", why);
	if (error)
		return;
	wanted = chain->items[chain->n - 1].generation;
	fetch->items = chain->n;
	for (size_t i = 0; i < chain->n; i++)
		fetch->bytes += chain->items[i].size;
	fetch->error = store_chain_policy(chain, fetch->have, &diag, &policy);
	if (!fetch->error)
		assert_int_equal(policy->checksum, published[wanted]->checksum);
	else
		assert_non_null(chain->refused);
	policy_free(policy);
	store_chain_free(chain);
}

/* Fetches a generation as one who has @have (NULL: nothing). */
static struct fetch fetch(uint32_t generation, const struct policy *have)
{
	const uint64_t checksums[2] = {have ? have->checksum : 0};
	struct fetch fetch = {.have = have, .error = 1};
	size_t size;

	fetch.to = open_memstream(&fetch.said, &size);
	gets = 0;
	assert_non_null(store_fetch(NULL, generation, checksums, fetched_is, &fetch));
	answer_all();
	fclose(fetch.to);
	assert_int_not_equal(fetch.error, 1);
	return fetch;
}

static void one_delta_for_who_has_the_parent(void **state)
{
	(void)state;
	for (unsigned int i = 2; i <= GENERATIONS; i++) {
		struct fetch one = fetch(i, published[i - 1]);

		assert_int_equal(one.error, 0);
		assert_int_equal(one.items, 1);
		assert_int_equal(gets, 1);
		assert_true(one.bytes < 1000);
		free(one.said);
	}
}

/* PolicyStatus has the newest delta: a node that has its parent makes the policy, and no other. */
static void delta_in_the_status(void **state)
{
	const struct policy *parent = published[GENERATIONS - 1], *newest = published[GENERATIONS];
	const uint64_t have[2] = {1, parent->checksum}, other[2] = {1, newest->checksum};
	struct store_status status = {
		.policy = GENERATIONS, .checksum = newest->checksum, .delta = last_delta};
	struct diag diag = {.to = stderr};
	struct policy *policy = NULL;
	struct store_chain chain;

	(void)state;
	assert_non_null(last_delta);
	assert_int_equal(store_status_chain(&status, GENERATIONS, have, &chain), 0);
	assert_int_equal(store_chain_policy(&chain, parent, &diag, &policy), 0);
	assert_int_equal(policy->checksum, newest->checksum);
	policy_free(policy);
	store_chain_free(&chain);
	assert_int_equal(store_status_chain(&status, GENERATIONS, other, &chain), -ENOENT);
	assert_int_equal(store_status_chain(&status, GENERATIONS - 1, have, &chain), -ENOENT);
	status.checksum++;
	assert_int_equal(store_status_chain(&status, GENERATIONS, have, &chain), -ENOENT);
	status.checksum--;
	status.delta = NULL;
	assert_int_equal(store_status_chain(&status, GENERATIONS, have, &chain), -ENOENT);
}

/* A policy that no node would take is not written: the last one stays. */
static void too_large(void **state)
{
	struct policy large = *published[GENERATIONS];
	struct store_since now = since;
	const unsigned int before = posts;
	char *delta = last_delta;
	int error = 1;

	(void)state;
	large.n_pairs = STORE_BLOB_MAX / sizeof(*large.pairs);
	assert_int_equal(store_publish(NULL, published[GENERATIONS - 1], &large, &now, &delta,
				       published_is, &error),
			 -E2BIG);
	answer_all();
	assert_int_equal(posts, before);
	assert_int_equal(error, 1);
	assert_null(delta);
	assert_memory_equal(&now, &since, sizeof(now));
}

/* A delta in PolicyStatus with any character changed, or cut anywhere, is not taken. */
static void damaged_delta_in_the_status(void **state)
{
	const uint64_t have[2] = {published[GENERATIONS - 1]->checksum};
	const size_t n = strlen(last_delta);
	struct store_chain chain;

	(void)state;
	for (size_t i = 0; i < 2 * n; i++) {
		char *damaged = strdup(last_delta);
		struct store_status status = {.policy = GENERATIONS,
					      .checksum = published[GENERATIONS]->checksum,
					      .delta = damaged};

		if (i < n)
			damaged[i] = damaged[i] == 'Q' ? 'g' : 'Q';
		else
			damaged[i - n] = '\0';
		assert_int_equal(store_status_chain(&status, GENERATIONS, have, &chain), -ENOENT);
		free(damaged);
	}
}

/* A node reads the printer columns as it reads the object. */
static void status_of_columns(void **state)
{
	struct json_object *whole = json_tokener_parse(
		"{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"desiredPolicyGeneration\":7,"
		"\"desiredEndpointGeneration\":6,\"checksum\":\"00000000000000ab\",\"delta\":\"AA=="
		"\",\"nodeLimitSeconds\":50},\"status\":{\"oldestEndpointGeneration\":4}}");
	struct json_object *cells =
		json_tokener_parse("{\"metadata\":{\"resourceVersion\":\"5\"},\"cells\":{"
				   "\"Desired\":7,\"Endpoints\":6,\"Limit\":50,\"Oldest\":4,"
				   "\"Checksum\":\"00000000000000ab\",\"Delta\":\"AA==\"}}");
	struct json_object *written;
	struct store_status status = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_status_read(i ? cells : whole, &status), 0);
		assert_string_equal(status.version, "5");
		assert_string_equal(status.delta, "AA==");
		assert_int_equal(status.policy, 7);
		assert_int_equal(status.endpoint, 6);
		assert_int_equal(status.checksum, 0xab);
		assert_int_equal(status.limit, 50);
		assert_int_equal(status.oldest, 4);
		if (i)
			break;
		written = store_status_object(&status);
		assert_true(json_object_equal(json_object_object_get(written, "spec"),
					      json_object_object_get(whole, "spec")));
		json_object_put(written);
		store_status_free(&status);
	}
	store_status_free(&status);
	json_object_put(whole);
	json_object_put(cells);
}

static void all_for_who_comes_late(void **state)
{
	unsigned int wholes = 0;

	(void)state;
	for (unsigned int i = 1; i <= GENERATIONS; i++) {
		struct fetch late = fetch(i, NULL);

		assert_int_equal(late.error, 0);
		wholes += late.items == 1;
		free(late.said);
	}
	assert_in_range(wholes, 2, GENERATIONS / 10);
	assert_true(since.deltas && since.size <= 16384);
}

static void deltas_for_who_was_away(void **state)
{
	struct fetch away = fetch(GENERATIONS, published[GENERATIONS - 3]);

	(void)state;
	assert_int_equal(away.error, 0);
	assert_true(away.items <= 3);
	free(away.said);
}

static void another_policy_is_no_parent(void **state)
{
	struct policy *other = compiled(7, NULL);
	struct fetch late = fetch(GENERATIONS, other);

	(void)state;
	assert_int_equal(late.error, 0);
	assert_true(late.items == since.deltas + 1);
	free(late.said);
	policy_free(other);
}

/* Another's generation that was published before. */
static void two_engines(void **state)
{
	struct store_since own = since;
	struct policy *other = compiled(GENERATIONS + 9, published[GENERATIONS - 1]);

	(void)state;
	assert_int_equal(publish(published[GENERATIONS - 1], other, &own), -EEXIST);
	policy_free(other);
}

/* A policy whose base has used up its IDs begins a new lineage: it is whole for who has the base.
 */
static void another_lineage(void **state)
{
	struct policy base = *published[GENERATIONS];
	struct store_since now = since;
	struct fetch got;

	(void)state;
	base.next_list = BH_IDS_LOCAL;
	published[GENERATIONS + 1] = compiled(GENERATIONS + 1, &base);
	assert_int_not_equal(published[GENERATIONS + 1]->lineage, base.lineage);
	assert_int_equal(publish(published[GENERATIONS], published[GENERATIONS + 1], &now), 0);
	assert_null(last_delta);
	got = fetch(GENERATIONS + 1, published[GENERATIONS]);
	assert_string_equal(got.said, "");
	assert_int_equal(got.error, 0);
	assert_int_equal(got.items, 1);
	free(got.said);
}

/* Ways to damage an object. */

static void add_to_data(struct json_object *spec)
{
	const char *data = api_text(spec, "data");
	char *copy = strdup(data);
	size_t at = strlen(copy) / 2;

	copy[at] = copy[at] == 'A' ? 'B' : 'A';
	json_object_object_add(spec, "data", json_object_new_string(copy));
	free(copy);
}
static void cut_data(struct json_object *spec)
{
	json_object_object_add(spec, "data",
			       json_object_new_string_len(api_text(spec, "data"), 16));
}
static void no_data(struct json_object *spec)
{
	json_object_object_del(spec, "data");
}
static void no_text(struct json_object *spec)
{
	json_object_object_add(spec, "data", json_object_new_string("%%%%"));
}
static void other_checksum(struct json_object *spec)
{
	json_object_object_add(spec, "checksum", json_object_new_string("0123456789abcdef"));
}
static void other_parent(struct json_object *spec)
{
	json_object_object_add(spec, "parent", json_object_new_string("0123456789abcdef"));
}
static void no_parent(struct json_object *spec)
{
	json_object_object_del(spec, "parent");
}
static void other_whole(struct json_object *spec)
{
	json_object_object_add(spec, "whole", json_object_new_string("w1-0123456789abcdef"));
}
static void many_parts(struct json_object *spec)
{
	json_object_object_add(spec, "parts", json_object_new_int64(1 << 30));
}
static void great_size(struct json_object *spec)
{
	json_object_object_add(spec, "size", json_object_new_int64(1ll << 40));
}

static void (*const damages[])(struct json_object *) = {
	add_to_data, cut_data, other_checksum, other_parent, no_parent,
	other_whole, no_data,  no_text,	       many_parts,   great_size,
};

/* Returns true if the newest policy comes, or is refused with a name that is stored. */
static bool comes(const struct policy *have)
{
	struct fetch one = fetch(GENERATIONS, have);
	bool named =
		strstr(one.said, "PolicyGeneration g") || strstr(one.said, "PolicyGeneration w");

	if (one.error == -EBADMSG && !named)
		fail_msg("nothing is named: %s", one.said);
	assert_true(!one.error || one.error == -EBADMSG || one.error == -ENOENT);
	free(one.said);
	return !one.error;
}

/* Each object of the newest chain is damaged in each way. */
static void each_damage(void **state)
{
	unsigned int refused = 0, saved = 0;
	uint32_t whole = store_generation_of(since.whole);

	(void)state;
	for (unsigned int i = whole - 1; i <= GENERATIONS; i++) {
		for (size_t way = 0; way < sizeof(damages) / sizeof(*damages); way++) {
			char name[STORE_NAME];
			struct json_object *object, *spec;
			char *before;
			bool late, next;

			snprintf(name, sizeof(name), "g%u", i);
			if (i < whole)
				memcpy(name, since.whole, STORE_NAME);
			object = json_object_object_get(objects, name);
			spec = api_get(object, "spec");
			before = strdup(json_object_to_json_string(spec));
			damages[way](spec);
			late = comes(NULL);
			next = comes(published[GENERATIONS - 1]);
			refused += !late;
			saved += !late && next;
			if (i < GENERATIONS && !next)
				fail_msg("%s is not needed, and its damage %zu counts", name, way);
			json_object_object_add(object, "spec", json_tokener_parse(before));
			free(before);
		}
	}
	assert_true(refused > 8 * since.deltas && saved);
	assert_true(comes(NULL));
}

/* The store names a missing object; a node that does not need the object goes on. */
static void each_missing(void **state)
{
	char name[STORE_NAME];
	struct json_object *object;

	(void)state;
	snprintf(name, sizeof(name), "g%u", GENERATIONS - 1);
	object = json_object_get(json_object_object_get(objects, name));
	json_object_object_del(objects, name);
	assert_false(comes(NULL));
	assert_true(comes(published[GENERATIONS - 1]));
	json_object_object_add(objects, name, object);
	object = json_object_get(json_object_object_get(objects, since.whole));
	json_object_object_del(objects, since.whole);
	assert_false(comes(NULL));
	assert_true(comes(published[GENERATIONS - 1]));
	json_object_object_add(objects, since.whole, object);
	assert_true(comes(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delta_in_the_status),
		cmocka_unit_test(one_delta_for_who_has_the_parent),
		cmocka_unit_test(all_for_who_comes_late),
		cmocka_unit_test(deltas_for_who_was_away),
		cmocka_unit_test(another_policy_is_no_parent),
		cmocka_unit_test(two_engines),
		cmocka_unit_test(each_damage),
		cmocka_unit_test(each_missing),
		cmocka_unit_test(too_large),
		cmocka_unit_test(damaged_delta_in_the_status),
		cmocka_unit_test(status_of_columns),
		cmocka_unit_test(another_lineage),
	};

	return cmocka_run_group_tests_name("store", tests, publish_all, free_all);
}
