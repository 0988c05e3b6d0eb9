// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's objects change event by event: Pods come, go, end, wait for an address, swap labels,
 * addresses, ports; EndpointSlices lose endpoints, swap them, or change Services; Services come,
 * go, swap what they are; now and then another object comes or goes. After each event the policy
 * that continues the last one evaluates each flow as a compile of all objects by somebody who has
 * just started, names the same pods, passes all checks, and is the last one's successor by a delta.
 * Many events need no compile of all objects, also where a Pod needs a new segment.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"
#include "policy/blob_file.h"
#include "policy/delta.h"
#include "policy/evaluate.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"
#include "selftests/lib/segments_text.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 3000
#define CLUSTERS_SAMPLE 300
#define STEPS 12
#define FLOWS 60 /* per step */
#define DOCS_MAX 200
#define FAILURES_MAX 3

struct doc {
	struct json_object *object;
	bool there; /* the server has it */
};

struct world {
	struct cluster authored;
	struct flow_space space;
	struct doc docs[DOCS_MAX];
	size_t n;
	struct objects *objects; /* the engine's */
	struct policy *policy; /* the last one; NULL: none */
	/* the last step has changed Services or EndpointSlices, and no other object than Pods */
	bool served;
};

struct run {
	uint64_t seed, steps, flows, patched, extended, deleted, others, failures;
	uint64_t served,
		renewed; /* steps that changed Services; of these, without a whole compile */
	uint64_t kept,
		alike; /* policies with the segments of the last, by the delta, by their text */
	const char *fault;
};

static void on_change(void *data)
{
	(void)data;
}

static void on_refusal(void *data, struct json_object *object, const char *why)
{
	(void)data;
	(void)object;
	(void)why;
}

static struct objects *open_objects(void)
{
	static const struct objects_ops ops = {.changed = on_change, .refused = on_refusal};

	return objects_open(NULL, &ops, NULL);
}

static bool fails(struct run *run, bool good, const char *fault)
{
	if (!good && !run->fault)
		run->fault = fault;
	return !good;
}

static void add_doc(struct world *world, struct json_object *object)
{
	struct json_object *items = json_object_object_get(object, "items");

	for (size_t i = 0; items && i < json_object_array_length(items); i++)
		add_doc(world, json_object_array_get_idx(items, i));
	if (items || world->n == DOCS_MAX)
		return;
	world->docs[world->n++] = (struct doc){json_object_get(object), true};
}

/* Reads the documents of a generated cluster. */
static void read_docs(struct world *world, uint64_t seed)
{
	struct json_tokener *tokener = json_tokener_new();
	size_t size, at = 0;
	char *text;
	FILE *to = open_memstream(&text, &size);

	generate_json(to, &world->authored, seed);
	fclose(to);
	while (at < size) {
		struct json_object *object = json_tokener_parse_ex(tokener, text + at, size - at);

		if (!object)
			break;
		add_doc(world, object);
		json_object_put(object);
		at += json_tokener_get_parse_end(tokener);
	}
	json_tokener_free(tokener);
	free(text);
}

/* The engine hears what has become of a document. The watch keeps its own copy. */
static void tell(struct world *world, const struct doc *doc)
{
	struct json_object *copy = NULL;

	json_object_deep_copy(doc->object, &copy, NULL);
	objects_take(world->objects, doc->there ? "MODIFIED" : "DELETED", copy);
	json_object_put(copy);
}

static bool is_kind(const struct doc *doc, const char *wanted)
{
	const char *kind = api_text(doc->object, "kind");

	return kind && !strcmp(kind, wanted);
}

static bool is_of_service(const struct doc *doc)
{
	return is_kind(doc, "Service") || is_kind(doc, "EndpointSlice");
}

/* @kind NULL: neither a Pod nor of a Service. */
static struct doc *pick(struct world *world, struct random *random, const char *kind)
{
	const uint32_t from = random_below(random, world->n);

	for (size_t i = 0; i < world->n; i++) {
		struct doc *doc = &world->docs[(from + i) % world->n];

		if (kind ? is_kind(doc, kind) : !is_kind(doc, "Pod") && !is_of_service(doc))
			return doc;
	}
	return NULL;
}

/* Swaps a member of two documents, below @parent where that is given. */
static void swap(struct doc *a, struct doc *b, const char *parent, const char *key)
{
	struct json_object *x = parent ? api_get(a->object, parent) : a->object;
	struct json_object *y = parent ? api_get(b->object, parent) : b->object;
	struct json_object *of_x, *of_y;

	if (!x || !y || x == y)
		return;
	of_x = json_object_get(json_object_object_get(x, key));
	of_y = json_object_get(json_object_object_get(y, key));
	json_object_object_del(x, key);
	json_object_object_del(y, key);
	if (of_y)
		json_object_object_add(x, key, of_y);
	if (of_x)
		json_object_object_add(y, key, of_x);
}

/* A pod comes that is like another, at an address that nobody may have. */
static struct doc *copy_pod(struct world *world, struct doc *pod, struct random *random)
{
	struct doc *copy = &world->docs[world->n];
	struct json_object *status = json_object_new_object();
	char text[40];

	if (world->n == DOCS_MAX)
		return pod;
	*copy = (struct doc){.there = true};
	json_object_deep_copy(pod->object, &copy->object, NULL);
	snprintf(text, sizeof(text), "copy-%zu", world->n++);
	json_object_object_add(api_get(copy->object, "metadata"), "name",
			       json_object_new_string(text));
	snprintf(text, sizeof(text), "10.0.0.%u", random_below(random, 16 + GENERATE_PODS));
	json_object_object_add(status, "podIP", json_object_new_string(text));
	json_object_object_add(copy->object, "status", status);
	return copy;
}

static void change_pod(struct world *world, struct random *random)
{
	struct doc *pod = pick(world, random, "Pod"), *other = pick(world, random, "Pod");

	if (!pod)
		return;
	switch (random_below(random, 8)) {
	case 0:
		swap(pod, other, "metadata", "labels");
		break;
	case 1:
		swap(pod, other, NULL, "status");
		break;
	case 2:
		swap(pod, other, "spec", "containers");
		break;
	case 3: /* expected */
		json_object_object_del(pod->object, "status");
		break;
	case 4:
		json_object_object_add(pod->object, "status",
				       json_tokener_parse("{\"phase\": \"Succeeded\"}"));
		break;
	case 5:
		pod = copy_pod(world, pod, random);
		break;
	case 6: /* nothing that a policy depends on */
		json_object_object_add(api_get(pod->object, "metadata"), "uid",
				       json_object_new_string("7"));
		break;
	default:
		pod->there = !pod->there;
	}
	tell(world, pod);
	tell(world, other);
}

/* Changes the first endpoint of a slice, or deletes it. */
static void change_first(struct doc *slice, struct random *random)
{
	struct json_object *endpoints = json_object_object_get(slice->object, "endpoints");
	struct json_object *first = endpoints && json_object_array_length(endpoints)
					    ? json_object_array_get_idx(endpoints, 0)
					    : NULL;
	char text[80];

	if (!first)
		return;
	switch (random_below(random, 4)) {
	case 0:
		snprintf(text, sizeof(text),
			 "{\"ready\": %s, \"serving\": %s, \"terminating\": %s}",
			 random_chance(random, 50) ? "true" : "false",
			 random_chance(random, 50) ? "true" : "false",
			 random_chance(random, 50) ? "true" : "false");
		json_object_object_add(first, "conditions", json_tokener_parse(text));
		break;
	case 1:
		snprintf(text, sizeof(text), "node-%u", random_below(random, 3));
		json_object_object_add(first, "nodeName", json_object_new_string(text));
		break;
	case 2: /* nothing that a policy depends on */
		json_object_object_add(first, "zone", json_object_new_string("a"));
		break;
	default:
		json_object_array_del_idx(endpoints, 0, 1);
	}
}

/* Returns true if neither slice is refused with the endpoints of the other: its former version
 * would count then, of which a new engine knows nothing. */
static bool are_alike(const struct doc *a, const struct doc *b)
{
	return !strcmp(api_text(a->object, "addressType"), api_text(b->object, "addressType")) &&
	       !strcmp(api_text(a->object, "apiVersion"), api_text(b->object, "apiVersion"));
}

static void change_slice(struct world *world, struct random *random)
{
	struct doc *slice = pick(world, random, "EndpointSlice");
	struct doc *other = pick(world, random, "EndpointSlice");

	if (!slice)
		return;
	switch (random_below(random, 6)) {
	case 0:
		if (are_alike(slice, other))
			swap(slice, other, NULL, "endpoints");
		break;
	case 1:
		swap(slice, other, NULL, "ports");
		break;
	case 2: /* they are of each other's Services, or one of none */
		swap(slice, other, "metadata", "labels");
		break;
	case 3:
		slice->there = !slice->there;
		break;
	default:
		change_first(slice, random);
	}
	tell(world, slice);
	tell(world, other);
}

static void change_service(struct world *world, struct random *random)
{
	struct doc *service = pick(world, random, "Service");
	struct doc *other = pick(world, random, "Service");
	char text[40];

	switch (random_below(random, 5)) {
	case 0: /* another address, and nothing else */
		snprintf(text, sizeof(text), "[\"192.0.2.%u\"]", random_below(random, 9));
		json_object_object_add(api_get(service->object, "spec"), "externalIPs",
				       json_tokener_parse(text));
		break;
	case 1:
		swap(service, other, NULL, "spec");
		break;
	case 2:
		swap(service, other, "spec", "selector");
		break;
	case 3: /* nothing that a policy depends on */
		json_object_object_add(api_get(service->object, "metadata"), "uid",
				       json_object_new_string("7"));
		break;
	default:
		service->there = !service->there;
	}
	tell(world, service);
	tell(world, other);
}

static void change_served(struct world *world, struct random *random)
{
	if (random_chance(random, 50))
		change_service(world, random);
	else
		change_slice(world, random);
}

static void change(struct run *run, struct world *world, struct random *random)
{
	struct doc *doc = random_chance(random, 10) ? pick(world, random, NULL) : NULL;
	const bool served = random_chance(random, 40) && pick(world, random, "Service");

	for (uint32_t i = served, n = random_below(random, 3); i < n; i++)
		change_pod(world, random);
	for (uint32_t i = 0, n = served ? 1 + random_below(random, 2) : 0; i < n; i++)
		change_served(world, random);
	if (!served)
		change_pod(world, random);
	world->served = served && !doc;
	if (!doc)
		return;
	doc->there = !doc->there;
	tell(world, doc);
	run->others++;
}

static bool evaluate_alike(struct run *run, const struct world *world, const struct policy *fresh,
			   struct random *random)
{
	char wanted[VERDICT_LINE], found[VERDICT_LINE];

	for (int i = 0; i < FLOWS; i++) {
		struct oracle_flow flow;

		generate_flow(&world->space, random, &flow);
		run->flows++;
		verdict_line_policy(fresh, &flow, wanted);
		verdict_line_policy(world->policy, &flow, found);
		if (strcmp(wanted, found)) {
			printf("#   of all objects %s\n#   continued      %s\n", wanted, found);
			return false;
		}
	}
	return true;
}

static bool same_text(const struct policy *a, uint32_t x, const struct policy *b, uint32_t y)
{
	return !strcmp(policy_string(a, x), policy_string(b, y));
}

static bool same_expected(const struct policy *a, const struct policy *b)
{
	bool same = a->n_expected == b->n_expected;

	for (size_t i = 0; same && i < a->n_expected; i++) {
		const struct policy_expected *x = &a->expected[i], *y = &b->expected[i];

		same = same_text(a, x->ns, b, y->ns) && same_text(a, x->name, b, y->name) &&
		       same_text(a, x->uid, b, y->uid) && x->labels.n == y->labels.n &&
		       x->ports.n == y->ports.n;
		for (uint32_t k = 0; same && k < x->labels.n; k++)
			same = same_text(a, a->texts[x->labels.at + k], b,
					 b->texts[y->labels.at + k]);
		for (uint32_t k = 0; same && k < x->ports.n; k++)
			same = a->named_ports[x->ports.at + k].port ==
			       b->named_ports[y->ports.at + k].port;
	}
	return same;
}

static bool same_endpoints(const struct policy *a, const struct policy *b)
{
	bool same = a->n_endpoints == b->n_endpoints && a->n_addresses == b->n_addresses;

	for (size_t i = 0; same && i < a->n_endpoints; i++) {
		const struct policy_endpoint *x = &a->endpoints[i], *y = &b->endpoints[i];

		same = same_text(a, a->namespaces[x->ns].name, b, b->namespaces[y->ns].name) &&
		       same_text(a, x->name, b, y->name) && same_text(a, x->node, b, y->node) &&
		       x->flags == y->flags && !memcmp(x->uid, y->uid, sizeof(x->uid)) &&
		       x->addresses.n == y->addresses.n;
		for (uint32_t k = 0; same && k < x->addresses.n; k++)
			same = a->endpoint_addresses[x->addresses.at + k] ==
			       b->endpoint_addresses[y->addresses.at + k];
	}
	for (size_t i = 0; same && i < a->n_addresses; i++)
		same = !memcmp(&a->addresses[i].address, &b->addresses[i].address,
			       sizeof(struct address));
	return same;
}

static bool same_backends(const struct policy *a, struct policy_range x, const struct policy *b,
			  struct policy_range y)
{
	bool same = x.n == y.n;

	for (uint32_t i = 0; same && i < x.n; i++) {
		const struct policy_backend *one = &a->backends[x.at + i];
		const struct policy_backend *other = &b->backends[y.at + i];

		same = !memcmp(&one->address, &other->address, sizeof(one->address)) &&
		       one->port == other->port && one->flags == other->flags &&
		       same_text(a, one->node, b, other->node);
	}
	return same;
}

static bool same_services(const struct policy *a, const struct policy *b)
{
	bool same = a->n_services == b->n_services && a->n_service_ports == b->n_service_ports &&
		    a->n_frontends == b->n_frontends;

	for (size_t i = 0; same && i < a->n_services; i++)
		same = same_text(a, a->services[i].ns, b, b->services[i].ns) &&
		       same_text(a, a->services[i].name, b, b->services[i].name) &&
		       a->services[i].flags == b->services[i].flags &&
		       !memcmp(&a->services[i].ports, &b->services[i].ports,
			       sizeof(a->services[i].ports));
	for (size_t i = 0; same && i < a->n_service_ports; i++)
		same = a->service_ports[i].service == b->service_ports[i].service &&
		       a->service_ports[i].port == b->service_ports[i].port &&
		       a->service_ports[i].protocol == b->service_ports[i].protocol &&
		       same_backends(a, a->service_ports[i].backends, b,
				     b->service_ports[i].backends);
	return same && (!a->n_frontends || !memcmp(a->frontends, b->frontends,
						   a->n_frontends * sizeof(*a->frontends)));
}

/* Compiles what a new engine would hear: the last policy says who has an address. NULL: nothing can
 * be made of the objects. */
static struct policy *compile_fresh(const struct world *world)
{
	struct objects *objects = open_objects();
	struct diag silent = {0};
	struct policy *policy = NULL;

	for (size_t i = 0; i < world->n; i++) {
		struct json_object *copy = NULL;

		json_object_deep_copy(world->docs[i].object, &copy, NULL);
		if (world->docs[i].there)
			objects_take(objects, "ADDED", copy);
		json_object_put(copy);
	}
	if (objects_compile(objects, world->policy, &silent, &policy))
		policy = NULL;
	objects_close(objects);
	return policy;
}

/* Returns false if the delta says that both policies have the same segments, and they do not. */
static bool keeps_alike(struct run *run, const struct policy *base, const struct policy *policy,
			const struct delta *delta)
{
	char *before = segments_text(base), *after = segments_text(policy);
	const bool keeps = delta_keeps_segments(delta), alike = !strcmp(before, after);

	free(before);
	free(after);
	run->kept += keeps;
	run->alike += alike;
	return alike || !keeps;
}

/* Returns true if the policy passes the checks of a reader, and a delta leads to it. Sets its
 * checksum. */
static bool is_successor(struct run *run, const struct policy *base, struct policy *policy)
{
	struct diag errors = {.to = stdout};
	struct policy *read = NULL;
	struct delta *delta = NULL;
	void *bytes;
	size_t size;
	bool good = !blob_write(policy, &bytes, &size);

	good = good && (!base || !delta_make(base, policy, &delta)) &&
	       !blob_read(bytes, size, &(struct where){"policy", 0}, &errors, &read);
	if (!read)
		free(bytes);
	policy_free(read);
	good = good && (!delta || keeps_alike(run, base, policy, delta));
	delta_free(delta);
	return good;
}

/* Returns true if the policy has a record of a segment that the last compile deleted. */
static bool has_deleted(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_segments; i++)
		if (policy->segments[i].delete_generation)
			return true;
	return false;
}

/* Returns true if the policy has another generation than the last one, or equals it: a node takes
 * no second policy of a generation. */
static bool is_told(const struct policy *base, const struct policy *policy)
{
	return !base || policy->generation != base->generation ||
	       (same_endpoints(base, policy) && same_expected(base, policy) &&
		same_services(base, policy));
}

static void go_on(struct run *run, struct world *world, struct random *random)
{
	struct diag silent = {0};
	struct policy *next = NULL, *fresh = compile_fresh(world);
	const uint64_t patched = objects_patched(world->objects);
	int error = objects_compile(world->objects, world->policy, &silent, &next);

	run->steps++;
	run->extended += objects_patched(world->objects) > patched &&
			 next->n_segments > world->policy->n_segments;
	run->deleted += objects_patched(world->objects) > patched && has_deleted(world->policy);
	run->served += world->served;
	run->renewed += world->served && objects_patched(world->objects) > patched;
	if (fails(run, !error == !!fresh, "only one of the two can compile the objects") || error) {
		policy_free(fresh);
		return;
	}
	fails(run, is_successor(run, world->policy, next),
	      "the policy is no successor of the last");
	fails(run, is_told(world->policy, next), "no node is told of a change");
	policy_free(world->policy);
	world->policy = next;
	if (fails(run, same_endpoints(fresh, next), "the endpoints differ") ||
	    fails(run, same_expected(fresh, next), "the expected pods differ"))
		printf("#   %s %zu and %zu endpoints, %zu and %zu expected\n", run->fault,
		       fresh->n_endpoints, next->n_endpoints, fresh->n_expected, next->n_expected);
	fails(run, same_services(fresh, next), "the Services differ");
	fails(run, evaluate_alike(run, world, fresh, random), "a verdict differs");
	policy_free(fresh);
}

static void world_close(struct world *world)
{
	for (size_t i = 0; i < world->n; i++)
		json_object_put(world->docs[i].object);
	flow_space_free(&world->space);
	policy_free(world->policy);
	objects_close(world->objects);
	cluster_free(&world->authored);
}

static void check_cluster(struct run *run)
{
	struct random random = {run->seed ^ 0x7061746368};
	struct world world = {.objects = open_objects()};
	int step = 0;

	run->fault = NULL;
	cluster_init(&world.authored);
	generate_cluster(&world.authored, run->seed);
	if (!(run->seed % 3))
		generate_services(&world.authored, run->seed);
	flow_space_init(&world.space, &world.authored);
	read_docs(&world, run->seed);
	for (size_t i = 0; i < world.n; i++)
		tell(&world, &world.docs[i]);
	for (; step < STEPS && !run->fault; step++) {
		if (step)
			change(run, &world, &random);
		go_on(run, &world, &random);
	}
	run->patched += objects_patched(world.objects);
	if (run->fault) {
		printf("# SEED=%" PRIu64 ": step %d: %s\n", run->seed, step, run->fault);
		generate_comment(&world.authored, run->seed);
		run->failures++;
	}
	world_close(&world);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..6\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++)
		check_cluster(&run);
	printf("# %" PRIu64 " clusters from seed %" PRIu64 ", %" PRIu64 " policies, %" PRIu64
	       " of them without a compile of all objects (%" PRIu64 " with new segments, %" PRIu64
	       " beside deleted ones), %" PRIu64 " changes of other objects, %" PRIu64
	       " of Services (%" PRIu64 " without such a compile), %" PRIu64 " flows; %" PRIu64
	       " of %" PRIu64 " policies that keep all segments say so\n",
	       seeds.count, seeds.first, run.steps, run.patched, run.extended, run.deleted,
	       run.others, run.served, run.renewed, run.flows, run.kept, run.alike);
	failed = ktap_row(1, !run.failures,
			  "a policy that continues the last one is as one of all objects");
	failed |= ktap_row(2, seeds.count < 10 || run.patched > seeds.count,
			   "many changes of Pods need no compile of all objects");
	failed |= ktap_row(3, seeds.count < 10 || run.extended > seeds.count / 2,
			   "many Pods of a new kind need no compile of all objects");
	failed |= ktap_row(4, seeds.count < 10 || run.deleted > seeds.count,
			   "many changes of Pods after one that deleted a segment need none");
	failed |= ktap_row(
		5,
		seeds.count < 10 || (run.kept > seeds.count && run.alike - run.kept < run.kept / 4),
		"of most policies with the segments of the last one, the delta tells so");
	failed |= ktap_row(6, seeds.count < 10 || run.renewed > run.served / 3,
			   "many changes of Services and EndpointSlices need none");
	return failed;
}
