// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that an API server has accepted and that cannot be used: for a random cluster, some
 * objects of which have a fault, a load of a file and an engine that has seen no other version make
 * policies with the same verdicts, and with the same backends of Services.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"
#include "compile/compile.h"
#include "input/input.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 4000
#define CLUSTERS_SAMPLE 600
#define FLOWS 200 /* per cluster */
#define FAILURES_MAX 3

struct run {
	uint64_t seed, faults, flows, failures;
	const char *fault; /* what failed in this cluster */
};

/* The documents of one cluster, as the file and the engine get them. */
struct world {
	struct random random;
	struct run *run;
	struct cluster file;
	struct objects *objects;
	struct diag silent;
	unsigned int n;
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

static void add(struct json_object *to, const char *key, const char *json)
{
	json_object_object_add(to, key, json_tokener_parse(json));
}

static const char *choose(struct world *world, const char *const *words, uint32_t n)
{
	return words[random_below(&world->random, n)];
}

/* A field that no version has yet, in the spec, or in the first rule of a direction. */
static void add_novel(struct world *world, struct json_object *object)
{
	static const char *const at[] = {"spec", "spec", "spec.ingress", "spec.egress"};
	struct json_object *found = api_get(object, choose(world, at, 4));

	if (json_object_is_type(found, json_type_array))
		found = json_object_array_get_idx(found, 0);
	add(found ? found : api_get(object, "spec"), "novel", "{}");
}

static void break_network_policy(struct world *world, struct json_object *object)
{
	struct json_object *spec = api_get(object, "spec");

	switch (random_below(&world->random, 4)) {
	case 0:
		add(spec, "podSelector", "{\"novel\": {}}");
		break;
	case 1:
		add(spec, "policyTypes", "[\"Egress\", \"Novel\"]");
		break;
	case 2:
		add(spec, "ingress", "[{\"from\": [{\"ipBlock\": {\"cidr\": \"010.0.0.0/8\"}}]}]");
		break;
	default:
		add_novel(world, object);
	}
}

static void break_namespace(struct world *world, struct json_object *object)
{
	static const char *const faults[] = {
		"{\"net.beta.kubernetes.io/network-policy\": \"none\"}",
		"{\"bulkhead.dev/audit\": \"perhaps\"}",
	};

	add(api_get(object, "metadata"), "annotations", choose(world, faults, 2));
}

static void break_service(struct world *world, struct json_object *object)
{
	struct json_object *spec = api_get(object, "spec");

	if (random_chance(&world->random, 50))
		add(spec, "externalIPs", "[\"010.0.0.1\", \"10.0.0.30\"]");
	else
		add(spec, "novel", "1");
}

/* Gives the object a fault that leaves its subject as it is, since without one nothing can stand
 * for a policy of the administrator. */
static void break_object(struct world *world, struct json_object *object)
{
	const char *kind = api_text(object, "kind");

	world->run->faults++;
	if (!strcmp(kind, "Namespace"))
		break_namespace(world, object);
	else if (!strcmp(kind, "Service"))
		break_service(world, object);
	else if (!strcmp(kind, "EndpointSlice"))
		add(object, "novel", "1");
	else if (!strcmp(kind, "NetworkPolicy"))
		break_network_policy(world, object);
	else if (strstr(kind, "NetworkPolicy"))
		add_novel(world, object);
	else
		world->run->faults--;
}

static void take(struct world *world, struct json_object *object)
{
	struct json_object *items = json_object_object_get(object, "items");
	const char *version = api_text(object, "apiVersion");
	char uid[20];
	const char *text;

	for (size_t i = 0; items && i < json_object_array_length(items); i++)
		take(world, json_object_array_get_idx(items, i));
	/* the engine does not ask for the proposal's policies */
	if (items || !version || !strcmp(version, "extensions/v1beta1"))
		return;
	snprintf(uid, sizeof(uid), "\"u%u\"", world->n++);
	add(api_get(object, "metadata"), "uid", uid);
	if (random_chance(&world->random, 15))
		break_object(world, object);
	text = json_object_to_json_string(object);
	if (input_parse_json(&world->file, text, strlen(text), "file", &world->silent))
		world->run->fault = "the file is refused";
	objects_take(world->objects, "ADDED", object);
}

/* Reads the documents of a generated cluster. */
static void take_documents(struct world *world, const struct cluster *authored)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;
	size_t size, at = 0;
	char *text;
	FILE *to = open_memstream(&text, &size);

	generate_json(to, authored, world->run->seed);
	fclose(to);
	while (at < size && (object = json_tokener_parse_ex(tokener, text + at, size - at))) {
		take(world, object);
		json_object_put(object);
		at += json_tokener_get_parse_end(tokener);
	}
	json_tokener_free(tokener);
	free(text);
}

static bool same_frontends(const struct policy *a, const struct policy *b)
{
	bool same = a->n_frontends == b->n_frontends;

	for (size_t i = 0; same && i < a->n_frontends; i++) {
		const struct policy_frontend *x = &a->frontends[i], *y = &b->frontends[i];

		same = !memcmp(&x->address, &y->address, sizeof(x->address)) &&
		       x->protocol == y->protocol && x->port == y->port && x->flags == y->flags &&
		       a->service_ports[x->service_port].backends.n ==
			       b->service_ports[y->service_port].backends.n;
	}
	return same;
}

static void compare(struct world *world, const struct cluster *authored, const struct policy *file,
		    const struct policy *engine)
{
	struct flow_space space;

	flow_space_init(&space, authored);
	for (int i = 0; i < FLOWS && !world->run->fault; i++) {
		char of_file[VERDICT_LINE], of_engine[VERDICT_LINE];
		struct oracle_flow flow;

		generate_flow(&space, &world->random, &flow);
		world->run->flows++;
		verdict_line_policy(file, &flow, of_file);
		verdict_line_policy(engine, &flow, of_engine);
		if (!strcmp(of_file, of_engine))
			continue;
		printf("#   file   %s\n#   engine %s\n", of_file, of_engine);
		world->run->fault = "a verdict differs";
	}
	if (!same_frontends(file, engine))
		world->run->fault = "Services' backends differ";
	flow_space_free(&space);
}

static void check_cluster(struct run *run)
{
	static const struct objects_ops ops = {.changed = on_change, .refused = on_refusal};
	struct world world = {.random = {run->seed ^ 0x6173696465},
			      .run = run,
			      .objects = objects_open(NULL, &ops, NULL)};
	struct policy *file = NULL, *engine = NULL;
	struct cluster authored;

	run->fault = NULL;
	cluster_init(&authored);
	cluster_init(&world.file);
	world.file.lenient = true;
	generate_cluster(&authored, run->seed);
	generate_services(&authored, run->seed);
	take_documents(&world, &authored);
	if (!run->fault && (cluster_finish(&world.file, &world.silent) ||
			    compile_cluster(&world.file, NULL, &world.silent, &file) ||
			    objects_compile(world.objects, NULL, &world.silent, &engine)))
		run->fault = "one of the two makes no policy";
	if (!run->fault)
		compare(&world, &authored, file, engine);
	if (run->fault) {
		printf("# SEED=%" PRIu64 ": %s\n", run->seed, run->fault);
		generate_comment(&authored, run->seed);
		run->failures++;
	}
	policy_free(file);
	policy_free(engine);
	objects_close(world.objects);
	cluster_free(&world.file);
	cluster_free(&authored);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++)
		check_cluster(&run);
	printf("# %" PRIu64 " clusters from seed %" PRIu64 ", %" PRIu64 " faults, %" PRIu64
	       " flows\n",
	       seeds.count, seeds.first, run.faults, run.flows);
	failed = ktap_row(1, !run.failures,
			  "a load and an engine make the same of objects with faults");
	failed |= ktap_row(2, seeds.count < 10 || run.faults > seeds.count,
			   "many objects have a fault");
	return failed;
}
