// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's objects, kept over many changes: after each change they make the same policy, byte
 * for byte, as the same objects that are all read anew. Pods share addresses with one another and
 * with Nodes, lose them and get them back, also since another engine's policy says who has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "policy/blob_file.h"
#include "policy/evaluate.h"
#include "policy/flow.h"
#include "policy/frontend.h"

#define STEPS 400
#define PODS 12
#define POLICIES 5
#define NODES 3
#define SERVICES 2
#define NAMESPACES 2
#define BASES 4
#define SLOTS (PODS + POLICIES + NODES + SERVICES + NAMESPACES)

static void on_change(void *data)
{
	(void)data;
}

static char refusal[1024]; /* the last */

static void on_refusal(void *data, struct json_object *object, const char *why)
{
	(void)data;
	(void)object;
	snprintf(refusal, sizeof(refusal), "%s", why ? why : "");
}

static const struct objects_ops ops = {
	.changed = on_change, .refused = on_refusal, .two_steps = true};

/* A text for a slot: a Pod, a policy, a Node, a Service or a Namespace, with a few words at random.
 */
static char *make_text(unsigned int slot)
{
	const unsigned int a = rand() % 6, b = rand() % 6, c = rand() % 3;
	char *text = NULL;
	int n;

	if (slot < PODS)
		n = asprintf(
			&text,
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\","
			"\"namespace\":\"n%u\","
			"\"uid\":\"u%u\",\"creationTimestamp\":\"2026-01-01T00:00:%02uZ\","
			"\"labels\":{\"z\":\"%u\",\"app\":\"%u\"}},\"spec\":{\"nodeName\":\"w%u\","
			"\"containers\":[{\"ports\":[{\"name\":\"web\",\"containerPort\":%u},{"
			"\"name\":\"web\","
			"\"containerPort\":%u}]}]},\"status\":{\"phase\":\"Running\",\"podIPs\":[{"
			"\"ip\":\"10.0.0.%u\"},"
			"{\"ip\":\"10.0.0.%u\"},{\"ip\":\"fd00::%u\"}]}}",
			slot, slot % 2, slot, slot, c, b, c, 80 + a, 80 + b, a + 1, b + 1,
			slot + a);
	else if (slot < PODS + POLICIES)
		n = asprintf(&text,
			     "{\"apiVersion\":\"networking.k8s.io/"
			     "v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{\"name\":"
			     "\"x%u\",\"namespace\":\"n%u\"},\"spec\":{\"podSelector\":{"
			     "\"matchLabels\":{\"app\":\"%u\"}},"
			     "\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":{\"z\":\"%"
			     "u\"}}}],\"ports\":"
			     "[{\"port\":\"web\"},{\"port\":%u}]}]}}",
			     slot, slot % 2, a, c, 80 + b);
	else if (slot < PODS + POLICIES + NODES)
		n = asprintf(&text,
			     "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"w%"
			     "u\"},\"status\":{\"addresses\":"
			     "[{\"type\":\"InternalIP\",\"address\":\"10.0.0.%u\"},{\"type\":"
			     "\"InternalIP\",\"address\":"
			     "\"192.168.0.%u\"}]}}",
			     slot - PODS - POLICIES, a + 1, slot);
	else if (slot < PODS + POLICIES + NODES + SERVICES)
		n = asprintf(&text,
			     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":"
			     "\"s%u\",\"namespace\":\"n%u\"},"
			     "\"spec\":{\"clusterIP\":\"10.96.0.%u\",\"externalIPs\":[\"198.51.100."
			     "%u\",\"198.51.100.%u\"],"
			     "\"selector\":{\"app\":\"%u\"},\"ports\":[{\"port\":%u,\"targetPort\":"
			     "\"web\"}]}}",
			     slot, c % 2, slot, a, b, b, 80 + a);
	else
		n = asprintf(&text,
			     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
			     "\"name\":\"n%u\",\"labels\":{\"z\":\"%u\"}}}",
			     slot % 2, c);
	assert_true(n > 0);
	return text;
}

static void take(struct objects *objects, const char *type, const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	assert_true(objects_take(objects, type, object));
	json_object_put(object);
}

/* Compiles all objects, and makes no policy from changed Pods alone. */
static struct policy *compile_all(struct objects *objects, const struct policy *base)
{
	struct diag diag = {0};
	struct policy *policy = NULL;
	void *blob;
	size_t size;

	if (objects_compile(objects, base, &diag, &policy))
		return NULL;
	assert_int_equal(blob_write(policy, &blob, &size), 0);
	free(blob);
	return policy;
}

/* The same of an object that may never have seen @base. */
static struct policy *compile(struct objects *objects, const struct policy *base)
{
	objects_forget(objects);
	return compile_all(objects, base);
}

/* Replaces or deletes the object of a slot. A Service's name and namespace change with the text, so
 * it goes first. */
static void change(struct objects *objects, char **slot, unsigned int number)
{
	char *next = rand() % 4 ? make_text(number) : NULL;
	const bool stays = *slot && next && number < PODS + POLICIES + NODES;

	if (*slot && !stays)
		take(objects, "DELETED", *slot);
	free(*slot);
	*slot = next;
	if (next)
		take(objects, stays ? "MODIFIED" : "ADDED", next);
}

static void kept_objects_make_what_new_ones_make(void **state)
{
	char *slots[SLOTS] = {0};
	struct objects *kept = objects_open(NULL, &ops, NULL);
	struct policy *bases[BASES] = {0};
	unsigned int compiled = 0;

	(void)state;
	srand(1);
	assert_non_null(kept);
	for (unsigned int i = 0; i < STEPS; i++) {
		/* mostly a policy, after which the other objects are not read again */
		const unsigned int slot = rand() % 3 ? PODS + rand() % POLICIES : rand() % SLOTS;
		const struct policy *base = bases[rand() % BASES];
		struct objects *fresh = objects_open(NULL, &ops, NULL);
		/* only who has made a policy knows to whom an address passes that is nobody's there
		 */
		const bool passes = kept->since.n_passed && since_is(&kept->since, base);
		struct policy *policy, *other;

		assert_non_null(fresh);
		change(kept, &slots[slot], slot);
		for (unsigned int k = 0; k < SLOTS; k++)
			if (slots[k])
				take(fresh, "ADDED", slots[k]);
		policy = compile(kept, base);
		other = compile(fresh, base);
		assert_int_equal(!policy, !other);
		if (policy && other && !passes)
			assert_true(policy->checksum == other->checksum);
		objects_close(fresh);
		policy_free(other);
		compiled += !!policy;
		if (policy) {
			policy_free(bases[i % BASES]);
			bases[i % BASES] = policy;
		}
	}
	assert_true(compiled > STEPS / 2);
	for (unsigned int k = 0; k < BASES; k++)
		policy_free(bases[k]);
	objects_close(kept);
	for (unsigned int k = 0; k < SLOTS; k++)
		free(slots[k]);
}

/* After a change of a policy, all else of the last cluster is used again, unless an address is
 * contested: so there are only two Pods and a Node. */
static void policies_alone_make_what_all_objects_make(void **state)
{
	char *slots[SLOTS] = {0};
	struct objects *kept = objects_open(NULL, &ops, NULL);
	struct policy *base = NULL;
	unsigned int alone = 0;

	(void)state;
	srand(2);
	assert_non_null(kept);
	for (unsigned int i = 0; i < 4 * STEPS; i++) {
		static const unsigned int others[] = {0,	 PODS - 1,  SLOTS - 5, SLOTS - 4,
						      SLOTS - 3, SLOTS - 2, SLOTS - 1};
		const unsigned int policy_slot = PODS + rand() % POLICIES;
		const unsigned int slot = rand() % 8 ? policy_slot : others[rand() % 7];
		struct objects *fresh = objects_open(NULL, &ops, NULL);
		struct policy *policy, *other;

		assert_non_null(fresh);
		change(kept, &slots[slot], slot);
		if (slot < PODS)
			change(kept, &slots[policy_slot], policy_slot);
		/* a Pod or Service that changes alone makes a policy without a compile, also
		 * where a Pod waited for an address */
		if (objects_may_patch(kept, base) ||
		    (slot >= SLOTS - NAMESPACES - SERVICES && slot < SLOTS - NAMESPACES))
			objects_forget(kept);
		for (unsigned int k = 0; k < SLOTS; k++)
			if (slots[k])
				take(fresh, "ADDED", slots[k]);
		alone += objects_keep_all_but_policies(kept, base);
		policy = compile_all(kept, base);
		other = compile(fresh, base);
		assert_int_equal(!policy, !other);
		if (policy && other)
			assert_true(policy->checksum == other->checksum);
		objects_close(fresh);
		policy_free(other);
		if (policy) {
			policy_free(base);
			base = policy;
		}
	}
	print_message("# %u of %u policies from changed policies alone\n", alone, 4 * STEPS);
	assert_true(alone > STEPS / 4);
	policy_free(base);
	objects_close(kept);
	for (unsigned int k = 0; k < SLOTS; k++)
		free(slots[k]);
}

static void take_claimant(struct objects *objects, const char *name, const char *node)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"n\",\"uid\":\"%s\",\"creationTimestamp\":"
		 "\"2026-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"%s\"},\"status\":{"
		 "\"phase\":\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}]}}",
		 name, name, node);
	take(objects, "ADDED", text);
}

static void take_port_of(struct objects *objects, const char *type, const char *port,
			 const char *uid)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
		 "\"metadata\":{\"name\":\"x\",\"namespace\":\"n\",\"uid\":\"%s\"},"
		 "\"spec\":{\"podSelector\":{},\"ingress\":[{\"ports\":[{\"port\":%s}]}]}}",
		 uid, port);
	take(objects, type, text);
}

static void take_port(struct objects *objects, const char *type, const char *port)
{
	take_port_of(objects, type, port, "a");
}

/* A Pod whose address another Pod has is still refused after a policy has changed. */
static void contested_pod_stays_refused(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *first, *second;

	(void)state;
	assert_non_null(objects);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
	take_claimant(objects, "a", "w1");
	take_claimant(objects, "b", "w2");
	refusal[0] = '\0';
	first = compile_all(objects, NULL);
	assert_non_null(strstr(refusal, "10.0.0.1 belongs to Pod n/a"));
	take_port(objects, "ADDED", "80");
	second = compile_all(objects, first);
	assert_non_null(second);
	assert_non_null(strstr(refusal, "10.0.0.1 belongs to Pod n/a"));
	assert_true(objects_refused(objects) == 1);
	policy_free(first);
	policy_free(second);
	objects_close(objects);
}

/* Takes a policy of @rules rules `{}`. Returns true if it is accepted. */
static bool take_rules(struct objects *objects, const char *ns, unsigned int name,
		       unsigned int rules)
{
	char *text = calloc(400 + 3 * rules, 1), *to = text;

	assert_non_null(text);
	to += sprintf(to,
		      "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
		      "\"metadata\":{\"name\":\"x%u\",\"namespace\":\"%s\",\"uid\":\"%u\"},"
		      "\"spec\":{\"podSelector\":{},\"ingress\":[{}",
		      name, ns, name);
	for (unsigned int i = 1; i < rules; i++)
		to += sprintf(to, ",{}");
	strcpy(to, "]}}");
	refusal[0] = '\0';
	take(objects, "ADDED", text);
	free(text);
	return !*refusal;
}

/* The policies of a namespace have a bound of memory. One that finds no room isolates. */
static void namespace_takes_no_more_memory_than_its_part(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	unsigned int accepted = 0;
	struct policy *policy;

	(void)state;
	assert_non_null(objects);
	while (accepted < 100 && take_rules(objects, "a", accepted, 50000))
		accepted++;
	assert_in_range(accepted, 2, 50);
	assert_non_null(strstr(refusal, "the limit of a namespace is 65536 KiB"));
	assert_true(objects_refused(objects) == 1);
	assert_true(take_rules(objects, "b", 0, 50000));
	assert_true(take_rules(objects, "a", 200, 1));
	/* it is refused for as long as it is not written again */
	take(objects, "DELETED",
	     "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
	     "\"metadata\":{\"name\":\"x0\",\"namespace\":\"a\",\"uid\":\"0\"}}");
	assert_true(objects_refused(objects) == 1);
	assert_true(take_rules(objects, "a", accepted, 50000));
	assert_true(objects_refused(objects) == 0);
	/* the larger version finds no room, and the accepted one counts */
	assert_false(take_rules(objects, "a", accepted, 120000));
	policy = compile(objects, NULL);
	assert_non_null(policy);
	policy_free(policy);
	objects_close(objects);
}

/* Writes an object of about @size bytes that nothing drops. */
typedef void put_large(FILE *to, unsigned int name, size_t size);

static void begin_large(FILE *to, const char *kind, const char *version, const char *ns,
			unsigned int name)
{
	fprintf(to,
		"{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"x%u\","
		"\"namespace\":\"%s\",\"uid\":\"%u\"",
		version, kind, name, ns, name);
}

static void put_labels(FILE *to, size_t size)
{
	fprintf(to, "{\"app\":\"a\"");
	for (unsigned int i = 0; i < size / 70; i++)
		fprintf(to, ",\"l%u\":\"%060u\"", i, i);
	fprintf(to, "}");
}

static const char *large_ns = "a";

static void put_service(FILE *to, unsigned int name, size_t size)
{
	begin_large(to, "Service", "v1", large_ns, name);
	fprintf(to,
		"},\"spec\":{\"clusterIP\":\"10.%u.%u.%u\",\"externalIPs\":[\"192.0.2.1\"],"
		"\"ports\":[{\"port\":80}],\"selector\":",
		strcmp(large_ns, "a") ? 97 : 96, name >> 8, name & 255);
	put_labels(to, size);
	fprintf(to, "}}");
}

static void put_slice(FILE *to, unsigned int name, size_t size)
{
	begin_large(to, "EndpointSlice", "discovery.k8s.io/v1", large_ns, name);
	fprintf(to, ",\"labels\":{\"kubernetes.io/service-name\":\"s\"}},\"addressType\":\"IPv4\","
		    "\"ports\":[{\"port\":80}],\"endpoints\":[");
	for (unsigned int i = 0; i < 1000; i++) {
		fprintf(to, "%s{\"addresses\":[", i ? "," : "");
		for (unsigned int k = 0; k < 1 + size / 20000; k++)
			fprintf(to, "%s\"10.1.%u.%u\"", k ? "," : "", i >> 8, i & 255);
		fprintf(to, "]}");
	}
	fprintf(to, "]}");
}

static void put_new_pod(FILE *to, unsigned int name, size_t size)
{
	begin_large(to, "Pod", "v1", large_ns, name);
	fprintf(to, ",\"labels\":");
	put_labels(to, size < 14000 ? size : 14000);
	fprintf(to, "},\"spec\":{\"nodeName\":\"w\"}}");
}

/* Takes an object. Returns true if it is accepted. */
static bool take_kind(struct objects *objects, const char *type, put_large *put, unsigned int name,
		      size_t size)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	put(to, name, size);
	fclose(to);
	refusal[0] = '\0';
	take(objects, type, text);
	free(text);
	return !*refusal;
}

/* Whatever a tenant may write has a bound together. What is small always finds room. */
static void all_kinds_take_no_more_memory_than_their_part(void **state)
{
	static const struct {
		put_large *put;
		size_t size;
	} kinds[] = {{put_service, 900000}, {put_slice, 900000}, {put_new_pod, 14000}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct objects *objects = objects_open(NULL, &ops, NULL);
		unsigned int n = 0;

		assert_non_null(objects);
		large_ns = "a";
		while (n < 5000 && take_kind(objects, "ADDED", kinds[i].put, n, kinds[i].size))
			n++;
		print_message("# %u of the kind are accepted\n", n);
		assert_in_range(n, 5, 4999);
		assert_non_null(strstr(refusal, "the limit of a namespace is 65536 KiB"));
		/* so has another kind */
		assert_false(take_rules(objects, "a", 0, 50000));
		assert_true(take_rules(objects, "a", 1, 1));
		assert_true(take_kind(objects, "ADDED", put_service, 6000, 10));
		large_ns = "b";
		assert_true(take_kind(objects, "ADDED", kinds[i].put, n, kinds[i].size));
		large_ns = "a";
		assert_false(take_kind(objects, "MODIFIED", kinds[i].put, n, kinds[i].size));
		take_kind(objects, "DELETED", kinds[i].put, 0, 10);
		assert_true(take_kind(objects, "MODIFIED", kinds[i].put, n, kinds[i].size));
		assert_true(objects_refused(objects) == 1);
		objects_close(objects);
	}
}

/* All namespaces have a bound together. A namespace with little finds room all the same. */
static void all_namespaces_take_no_more_memory_than_their_part(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	unsigned int n = 0;
	char ns[16];

	(void)state;
	assert_non_null(objects);
	do
		snprintf(ns, sizeof(ns), "n%u", n / 4);
	while (n < 200 && take_rules(objects, ns, n, 50000) && n++ < 200);
	print_message("# %u policies are accepted\n", n);
	assert_in_range(n, 16, 100);
	assert_non_null(strstr(refusal, "while those of all namespaces take more than 262144"));
	assert_true(take_rules(objects, "other", 0, 10000));
	assert_true(take_rules(objects, ns, 1000, 10));
	objects_close(objects);
}

/* Returns how many frontends have the address, and counts their backends. */
static size_t frontends_at(const struct policy *policy, const char *text, size_t *backends)
{
	struct address address;
	size_t n = 0;

	assert_int_equal(address_parse(text, &address), 0);
	*backends = 0;
	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *at = &policy->frontends[i];

		if (memcmp(&at->address, &address, sizeof(address)))
			continue;
		n++;
		*backends += policy->service_ports[at->service_port].backends.n;
	}
	return n;
}

/* Adds the Pod that Services of put_service() select. */
static void take_backend(struct objects *objects)
{
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":"
	     "\"a\",\"labels\":{\"app\":\"a\"}},\"spec\":{\"nodeName\":\"w\"},\"status\":{"
	     "\"podIP\":"
	     "\"10.0.0.1\"}}");
}

/* A Service that finds no room keeps its addresses, which have no backends: else they would be
 * any addresses, which a policy may allow by a CIDR. */
static void service_without_room_translates_nothing(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;
	size_t backends;

	(void)state;
	assert_non_null(objects);
	take_backend(objects);
	large_ns = "a";
	for (unsigned int i = 0; take_rules(objects, "a", i, 50000);)
		i++;
	/* of one label: it is small, and translates */
	assert_true(take_kind(objects, "ADDED", put_service, 1, 10));
	assert_true(take_kind(objects, "ADDED", put_service, 2, 10));
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(frontends_at(policy, "10.96.0.1", &backends), 1);
	assert_int_equal(backends, 1);
	policy_free(policy);
	assert_false(take_kind(objects, "MODIFIED", put_service, 1, 12000000));
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(frontends_at(policy, "10.96.0.1", &backends), 1);
	assert_int_equal(backends, 0);
	assert_int_equal(frontends_at(policy, "10.96.0.2", &backends), 1);
	assert_int_equal(backends, 1);
	policy_free(policy);
	assert_true(take_kind(objects, "MODIFIED", put_service, 1, 10));
	policy = compile(objects, NULL);
	assert_non_null(policy);
	frontends_at(policy, "10.96.0.1", &backends);
	assert_int_equal(backends, 1);
	policy_free(policy);
	objects_close(objects);
}

static void put_faulty_service(FILE *to, unsigned int name, size_t externals)
{
	begin_large(to, "Service", "v1", large_ns, name);
	fprintf(to,
		"},\"spec\":{\"clusterIP\":\"10.96.0.%u\",\"externalIPs\":[\"192.0.2.1\"%s],"
		"\"ports\":[{\"port\":\"eighty\"}],\"selector\":{\"l0\":\"\"}}}",
		name, externals > 1 ? ",\"192.0.2.9\"" : "");
}

/* A Service that is refused for a fault has its addresses without backends, unless a former version
 * had the same addresses. */
static void faulty_service_translates_nothing(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;
	size_t backends;

	(void)state;
	assert_non_null(objects);
	take_backend(objects);
	large_ns = "a";
	assert_false(take_kind(objects, "ADDED", put_faulty_service, 1, 1));
	assert_true(take_kind(objects, "ADDED", put_service, 2, 10));
	assert_false(take_kind(objects, "MODIFIED", put_faulty_service, 2, 1));
	assert_true(take_kind(objects, "ADDED", put_service, 3, 10));
	assert_false(take_kind(objects, "MODIFIED", put_faulty_service, 3, 2));
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(frontends_at(policy, "10.96.0.1", &backends), 1);
	assert_int_equal(backends, 0);
	assert_int_equal(frontends_at(policy, "10.96.0.2", &backends), 1);
	assert_int_equal(backends, 1);
	assert_int_equal(frontends_at(policy, "10.96.0.3", &backends), 1);
	assert_int_equal(backends, 0);
	assert_int_equal(frontends_at(policy, "192.0.2.9", &backends), 1);
	assert_int_equal(backends, 0);
	policy_free(policy);
	objects_close(objects);
}

/* @spec: of the Service that has this name. */
static void take_service(struct objects *objects, const char *type, const char *name,
			 const char *spec)
{
	char text[500];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"a\",\"uid\":\"%s\"},\"spec\":{%s}}",
		 name, name, spec);
	take(objects, type, text);
}

/* An address that cannot be read is the fault: the Service has the others. */
static void faulty_address_leaves_the_others(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;
	size_t backends;

	(void)state;
	assert_non_null(objects);
	take_service(objects, "ADDED", "one",
		     "\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"010.0.0.1\",\"192.0.2.9\"],"
		     "\"ports\":[{\"port\":80}]");
	assert_int_equal(objects_refused(objects), 1);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(frontends_at(policy, "10.96.0.1", &backends), 1);
	assert_int_equal(frontends_at(policy, "192.0.2.9", &backends), 1);
	policy_free(policy);
	objects_close(objects);
}

/* A Service gives up its address and its node port in a version that is refused, so that its former
 * version counts, or what stands in for it. Another Service gets them. A tenant can do both, and
 * holds nobody's policy up with it. */
static void faulty_service_holds_nothing_up(void **state)
{
	static const char *const former = "\"type\":\"LoadBalancer\",\"clusterIP\":\"10.96.0.1\","
					  "\"ports\":[{\"port\":80,\"nodePort\":30080}]";
	static const char *const refused[] = {
		"\"type\":\"LoadBalancer\",\"clusterIP\":\"10.96.0.1\","
		"\"loadBalancerSourceRanges\":[\"010.0.0.0/8\"],"
		"\"ports\":[{\"port\":80,\"nodePort\":30081}]",
		"\"type\":\"ExternalName\",\"externalName\":\"b.example.com\","
		"\"externalIPs\":[\"010.0.0.1\"]",
	};
	static const char *const others[] = {
		"\"type\":\"NodePort\",\"clusterIP\":\"10.96.0.2\","
		"\"ports\":[{\"port\":80,\"nodePort\":30080}]",
		"\"clusterIP\":\"10.96.0.1\",\"ports\":[{\"port\":81}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct objects *objects = objects_open(NULL, &ops, NULL);
		struct policy *policy;

		assert_non_null(objects);
		take_service(objects, "ADDED", "one", former);
		assert_int_equal(objects_refused(objects), 0);
		take_service(objects, "MODIFIED", "one", refused[i]);
		assert_int_equal(objects_refused(objects), 1);
		take_service(objects, "ADDED", "two", others[i]);
		policy = compile(objects, NULL);
		assert_non_null(policy);
		policy_free(policy);
		objects_close(objects);
	}
}

static void take_plain_pod(struct objects *objects, const char *ns, unsigned int number)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\","
		 "\"namespace\":\"%s\",\"uid\":\"%u\",\"labels\":{\"app\":\"a\"}},\"spec\":{"
		 "\"nodeName\":\"w\"},\"status\":{\"podIP\":\"10.0.0.%u\"}}",
		 number, ns, number, number);
	take(objects, "ADDED", text);
}

/* Adds a Pod. Returns true if its policy, which takes @policy's place, is made from the Pod alone.
 * It names as many backends as the policy that is made of all objects. */
static bool is_patched(struct objects *objects, const char *ns, unsigned int number,
		       struct policy **policy)
{
	const uint64_t before = objects_patched(objects);
	struct policy *next, *fresh;
	bool patched;

	take_plain_pod(objects, ns, number);
	next = compile_all(objects, *policy);
	assert_non_null(next);
	patched = objects_patched(objects) > before;
	policy_free(*policy);
	fresh = compile(objects, NULL);
	assert_non_null(fresh);
	assert_int_equal(next->n_backends, fresh->n_backends);
	policy_free(fresh);
	policy_free(next);
	*policy = compile(objects, NULL);
	assert_non_null(*policy);
	return patched;
}

/* A Service without EndpointSlices has the Pods of its namespace as backends; an ExternalName has
 * none, whatever its selector. No Pod waits for a compile of all objects. */
static void service_holds_up_no_pods(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;

	(void)state;
	assert_non_null(objects);
	take_plain_pod(objects, "a", 1);
	take_plain_pod(objects, "b", 2);
	take_service(objects, "ADDED", "name",
		     "\"type\":\"ExternalName\",\"externalName\":\"x.example.com\","
		     "\"selector\":{\"app\":\"a\"}");
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_true(is_patched(objects, "a", 3, &policy));
	assert_true(is_patched(objects, "b", 4, &policy));
	take_service(objects, "ADDED", "pods",
		     "\"clusterIP\":\"10.96.0.1\",\"ports\":[{\"port\":80}],"
		     "\"selector\":{\"app\":\"a\"}");
	policy_free(policy);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(policy->n_backends, 2);
	assert_true(is_patched(objects, "b", 5, &policy));
	assert_true(is_patched(objects, "a", 6, &policy));
	assert_int_equal(policy->n_backends, 3);
	take_service(objects, "DELETED", "pods", "\"clusterIP\":\"10.96.0.1\"");
	policy_free(policy);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_true(is_patched(objects, "a", 7, &policy));
	policy_free(policy);
	objects_close(objects);
}

/* A Service that takes its backends from Pods is made anew without the Pods of other namespaces.
 * One of its Pods names an address that a Pod there has: it still gets none. (In two steps it waits
 * for the address, and all objects are compiled for that.) */
static void contested_pod_is_no_backend(void **state)
{
	static const struct objects_ops at_once = {.changed = on_change, .refused = on_refusal};
	struct objects *objects = objects_open(NULL, &at_once, NULL);
	struct policy *policy, *next;

	(void)state;
	assert_non_null(objects);
	take_plain_pod(objects, "b", 1);
	take_plain_pod(objects, "a", 5);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"late\","
	     "\"namespace\":\"a\",\"uid\":\"late\",\"labels\":{\"app\":\"a\"}},\"spec\":{"
	     "\"nodeName\":\"w\"},\"status\":{\"podIP\":\"10.0.0.1\"}}");
	take_service(objects, "ADDED", "pods",
		     "\"clusterIP\":\"10.96.0.1\",\"ports\":[{\"port\":80}],"
		     "\"selector\":{\"app\":\"a\"}");
	next = compile_all(objects, policy);
	assert_non_null(next);
	assert_int_equal(next->n_backends, 1);
	policy_free(policy);
	take_plain_pod(objects, "a", 6);
	policy = compile_all(objects, next);
	assert_non_null(policy);
	assert_int_equal(policy->n_backends, 2);
	policy_free(next);
	policy_free(policy);
	objects_close(objects);
}

static void assert_same_node(const struct policy *a, const struct policy *b, size_t i)
{
	const char *node = backend_place(b, &b->backends[i]).node;

	assert_memory_equal(&a->backends[i].address, &b->backends[i].address,
			    sizeof(b->backends[i].address));
	assert_non_null(node);
	assert_string_equal(backend_place(a, &a->backends[i]).node, node);
	assert_string_equal(policy_string(a, backend_node(a, &a->backends[i])), node);
}

/* Takes @policy's place by what changed Pods alone make of it. The frontends are those of a compile
 * of all objects, and the backends are on the same nodes. */
static void assert_same_services(struct objects *objects, struct policy **policy)
{
	const uint64_t before = objects_patched(objects);
	struct policy *next = compile_all(objects, *policy), *fresh;

	assert_non_null(next);
	assert_int_equal(objects_patched(objects), before + 1);
	policy_free(*policy);
	*policy = next;
	fresh = compile(objects, next);
	assert_non_null(fresh);
	assert_int_equal(next->n_frontends, fresh->n_frontends);
	assert_memory_equal(next->frontends, fresh->frontends,
			    fresh->n_frontends * sizeof(*fresh->frontends));
	assert_int_equal(next->n_backends, fresh->n_backends);
	for (size_t i = 0; i < fresh->n_backends; i++)
		assert_same_node(next, fresh, i);
	policy_free(fresh);
	*policy = compile(objects, NULL);
	assert_non_null(*policy);
	policy_free(next);
}

/* A tenant's Service may have the addresses of others' Pods, and holds none of them up. */
static void addresses_of_a_service_hold_up_no_pods(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;

	(void)state;
	assert_non_null(objects);
	take_plain_pod(objects, "b", 1);
	take_service(objects, "ADDED", "one",
		     "\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"10.0.0.50\",\"10.0.0.51\"],"
		     "\"ports\":[{\"port\":80}]");
	policy = compile(objects, NULL);
	assert_non_null(policy);
	take_plain_pod(objects, "b", 50);
	assert_same_services(objects, &policy);
	take_plain_pod(objects, "b", 51);
	take(objects, "DELETED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p50\","
	     "\"namespace\":\"b\",\"uid\":\"50\"}}");
	assert_same_services(objects, &policy);
	policy_free(policy);
	objects_close(objects);
}

/* A tenant's EndpointSlice may name the addresses of others' Pods, and holds none of them up. A
 * backend is on the node of the Pod that has its address. */
static void addresses_of_a_slice_hold_up_no_pods(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;

	(void)state;
	assert_non_null(objects);
	take_plain_pod(objects, "b", 1);
	take_service(objects, "ADDED", "one",
		     "\"clusterIP\":\"10.96.0.1\",\"ports\":[{\"port\":80}]");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\",\"metadata\":{"
	     "\"name\":\"one-x\",\"namespace\":\"a\",\"uid\":\"9\",\"labels\":{"
	     "\"kubernetes.io/service-name\":\"one\"}},\"addressType\":\"IPv4\",\"ports\":[{"
	     "\"port\":80}],\"endpoints\":[{\"addresses\":[\"10.0.0.1\"],\"nodeName\":\"z\"},{"
	     "\"addresses\":[\"10.0.0.50\"],\"nodeName\":\"z\"}]}");
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(policy->n_backends, 2);
	assert_string_equal(backend_place(policy, &policy->backends[0]).node, "w");
	assert_string_equal(backend_place(policy, &policy->backends[1]).node, "z");
	take_plain_pod(objects, "b", 50);
	assert_same_services(objects, &policy);
	assert_string_equal(backend_place(policy, &policy->backends[1]).node, "w");
	take(objects, "DELETED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p50\","
	     "\"namespace\":\"b\",\"uid\":\"50\"}}");
	assert_same_services(objects, &policy);
	assert_string_equal(backend_place(policy, &policy->backends[1]).node, "z");
	policy_free(policy);
	objects_close(objects);
}

/* An API server takes addresses that are written otherwise, and kube-proxy serves them: a refused
 * Service has these without backends, too. An address that cannot be a Service's takes away none of
 * the others. */
static void oddly_written_addresses_translate_nothing(void **state)
{
	static const char *const specs[] = {
		"\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"010.0.0.001\"],",
		"\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"::ffff:10.0.0.1\",\"10.0.0.1\"],",
		"\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"::ffff:10.00.0.01\"],",
		"\"clusterIP\":\"010.96.0.1\",\"clusterIPs\":[\"010.96.0.1\"],"
		"\"externalIPs\":[\"10.0.0.1\"],",
		"\"clusterIP\":\"10.96.0.1\",\"externalIPs\":[\"127.0.0.1\",\"10.0.0.1\"],",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct objects *objects = objects_open(NULL, &ops, NULL);
		struct policy *policy;
		size_t backends;
		char spec[300];

		assert_non_null(objects);
		take_plain_pod(objects, "a", 9);
		snprintf(spec, sizeof(spec),
			 "%s\"selector\":{\"app\":\"a\"},\"ports\":[{\"port\":80}]", specs[i]);
		take_service(objects, "ADDED", "one", spec);
		assert_int_equal(objects_refused(objects), 1);
		take_service(objects, "ADDED", "two",
			     "\"clusterIP\":\"10.96.0.2\",\"selector\":{\"app\":\"a\"},"
			     "\"ports\":[{\"port\":80}]");
		policy = compile(objects, NULL);
		assert_non_null(policy);
		assert_int_equal(frontends_at(policy, "10.96.0.1", &backends), 1);
		assert_int_equal(backends, 0);
		assert_int_equal(frontends_at(policy, "10.0.0.1", &backends), 1);
		assert_int_equal(backends, 0);
		assert_int_equal(frontends_at(policy, "10.96.0.2", &backends), 1);
		assert_int_equal(backends, 1);
		policy_free(policy);
		objects_close(objects);
	}
}

/* A refused policy isolates what it selects, whatever its annotation has: here a NUL character. */
static void odd_annotation_opens_nothing(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	const struct collection *policies;

	(void)state;
	assert_non_null(objects);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
	     "\"name\":\"x\",\"namespace\":\"a\",\"uid\":\"1\",\"annotations\":{"
	     "\"bulkhead.dev/audit\":\"true\\u0000\"}},\"spec\":{\"podSelector\":{}}}");
	assert_int_equal(objects_refused(objects), 1);
	assert_null(strstr(refusal, "nothing of it is enforced"));
	policies = &objects->collections[6];
	assert_string_equal(policies->kind->name, "NetworkPolicy");
	assert_non_null(((struct object_state *)lh_entry_v(policies->kept->head))->text);
	objects_close(objects);
}

static void take_job(struct objects *objects, const char *type, unsigned int number)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"job-%u\","
		 "\"namespace\":\"shop\",\"uid\":\"%u\"}}",
		 number, number);
	take(objects, type, text);
}

static struct lh_table *table_of_pods(struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kind_is_pod(&object_kinds[i]))
			return objects->collections[i].kept;
	fail();
	return NULL;
}

/* Pods come and go without end, as a tenant's jobs do. A search for a new Pod ends at an empty
 * place of the table: some stay empty. */
static void pods_that_come_and_go_leave_places_empty(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);

	(void)state;
	assert_non_null(objects);
	for (unsigned int i = 0; i < 8000; i++) {
		const struct lh_table *pods;
		int empty = 0;

		take_job(objects, "ADDED", i);
		if (i >= 200)
			take_job(objects, "DELETED", i - 200);
		pods = table_of_pods(objects);
		for (int place = 0; place < pods->size; place++)
			empty += pods->table[place].k == LH_EMPTY;
		assert_true(empty >= pods->size / 8);
	}
	assert_int_equal(objects_count(objects), 200);
	for (unsigned int i = 7800; i < 8000; i++)
		take_job(objects, "DELETED", i);
	assert_int_equal(objects_count(objects), 0);
	objects_close(objects);
}

static void take_pod(struct objects *objects, unsigned int number, size_t size, const char *more)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	begin_large(to, "Pod", "v1", "a", number);
	fprintf(to, ",\"labels\":");
	put_labels(to, size);
	fprintf(to,
		"},\"spec\":{\"nodeName\":\"w\",\"containers\":[{\"ports\":[{\"name\":\"web\","
		"\"containerPort\":80}%s]}]},\"status\":{\"podIP\":\"10.0.0.%u\"}}",
		more, number);
	fclose(to);
	refusal[0] = '\0';
	take(objects, "ADDED", text);
	free(text);
}

static bool allows(const struct policy *policy, const char *from, const char *to)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct decision egress, ingress;
	struct flow flow = {0};
	char why[FLOW_TEXT];

	assert_int_equal(address_parse(from, &flow.source), 0);
	assert_int_equal(address_parse(to, &flow.destination), 0);
	assert_int_equal(port_parse("TCP/80", &flow, why), 0);
	return evaluate_flow(&source, policy, &flow, &egress, &ingress);
}

/* A Pod with too many labels is isolated, and nobody is let to it or from it, though one policy
 * allows all Pods without a label, and an administrator allows all. */
static void pod_with_too_many_labels_is_closed(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy, *next;

	(void)state;
	assert_non_null(objects);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
	     "\"name\":\"x\",\"namespace\":\"a\"},\"spec\":{\"podSelector\":{},\"ingress\":[{"
	     "\"from\":[{"
	     "\"podSelector\":{\"matchExpressions\":[{\"key\":\"bad\",\"operator\":"
	     "\"DoesNotExist\"}]}}"
	     "]}]}}");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"policy.networking.k8s.io/"
	     "v1alpha1\",\"kind\":\"AdminNetworkPolicy\","
	     "\"metadata\":{\"name\":\"a\"},\"spec\":{\"priority\":0,\"subject\":{\"namespaces\":{}"
	     "},"
	     "\"ingress\":[{\"action\":\"Allow\",\"from\":[{\"namespaces\":{}}]}],"
	     "\"egress\":[{\"action\":\"Allow\",\"to\":[{\"namespaces\":{}}]}]}}");
	take_pod(objects, 1, 10, "");
	take_pod(objects, 2, 10, "");
	take_pod(objects, 3, 10000, "");
	assert_false(*refusal);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_true(allows(policy, "10.0.0.1", "10.0.0.2"));
	assert_true(allows(policy, "10.0.0.1", "10.0.0.3"));
	/* it grows, and nothing but a Pod has changed */
	take_pod(objects, 2, 20000, "");
	assert_non_null(strstr(refusal, "more than 16384 bytes"));
	assert_true(objects_refused(objects) == 1);
	next = compile_all(objects, policy);
	assert_non_null(next);
	assert_false(allows(next, "10.0.0.1", "10.0.0.2"));
	assert_false(allows(next, "10.0.0.2", "10.0.0.1"));
	assert_false(allows(next, "10.0.0.2", "198.51.100.1"));
	assert_false(allows(next, "198.51.100.1", "10.0.0.2"));
	assert_true(allows(next, "10.0.0.1", "10.0.0.3"));
	assert_true(allows(next, "10.0.0.1", "198.51.100.1"));
	policy_free(policy);
	take_pod(objects, 2, 10, "");
	assert_true(objects_refused(objects) == 0);
	policy = compile_all(objects, next);
	assert_non_null(policy);
	assert_true(allows(policy, "10.0.0.1", "10.0.0.2"));
	policy_free(policy);
	policy_free(next);
	objects_close(objects);
}

/* @size: of the labels. @annotation: of the isolation, a JSON string; NULL: none. */
static void take_namespace(struct objects *objects, const char *type, size_t size,
			   const char *annotation)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	fprintf(to, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
		    "\"labels\":");
	put_labels(to, size);
	if (annotation)
		fprintf(to, ",\"annotations\":{\"net.beta.kubernetes.io/network-policy\":%s}",
			annotation);
	fprintf(to, "}}");
	fclose(to);
	refusal[0] = '\0';
	take(objects, type, text);
	free(text);
}

/* The Pods of a Namespace with too many labels are isolated, also from one another, and others' are
 * not. A Namespace that is refused for another fault has no more labels for that. */
static void namespace_with_too_many_labels_is_closed(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy, *next;

	(void)state;
	assert_non_null(objects);
	take_namespace(objects, "ADDED", 10000, NULL);
	take_pod(objects, 1, 10, "");
	take_pod(objects, 2, 10, "");
	take_plain_pod(objects, "b", 3);
	take_plain_pod(objects, "b", 4);
	assert_false(*refusal);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_true(allows(policy, "10.0.0.1", "10.0.0.2"));
	assert_true(allows(policy, "10.0.0.1", "10.0.0.3"));
	for (int faulty = 0; faulty < 2; faulty++) {
		take_namespace(objects, "MODIFIED", 20000, faulty ? "\"nonsense\"" : NULL);
		assert_non_null(strstr(refusal, faulty ? "annotations" : "more than 16384 bytes"));
		assert_true(objects_refused(objects) == 1);
		next = compile_all(objects, policy);
		assert_non_null(next);
		assert_false(allows(next, "10.0.0.1", "10.0.0.2"));
		assert_false(allows(next, "10.0.0.1", "10.0.0.3"));
		assert_false(allows(next, "10.0.0.3", "10.0.0.1"));
		assert_false(allows(next, "198.51.100.1", "10.0.0.1"));
		assert_true(allows(next, "10.0.0.3", "10.0.0.4"));
		assert_in_range(next->n_strings, 1, 10000);
		policy_free(policy);
		policy = next;
	}
	take_namespace(objects, "MODIFIED", 10000, NULL);
	assert_true(objects_refused(objects) == 0);
	next = compile_all(objects, policy);
	assert_non_null(next);
	assert_true(allows(next, "10.0.0.1", "10.0.0.2"));
	policy_free(policy);
	policy_free(next);
	objects_close(objects);
}

/* A text is checked once: the one that was accepted last is accepted again, and no other is. */
static void last_accepted_text_is_accepted_again(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);

	(void)state;
	assert_non_null(objects);
	take_port(objects, "ADDED", "80");
	assert_int_equal(objects_refused(objects), 0);
	take_port(objects, "MODIFIED", "-1");
	assert_int_equal(objects_refused(objects), 1);
	take_port(objects, "MODIFIED", "-1");
	assert_int_equal(objects_refused(objects), 1);
	take_port(objects, "MODIFIED", "80");
	assert_int_equal(objects_refused(objects), 0);
	take_port(objects, "DELETED", "80");
	/* without an accepted version, what isolates stands for it */
	take_port(objects, "ADDED", "-1");
	assert_int_equal(objects_refused(objects), 1);
	take_port(objects, "MODIFIED", "-1");
	assert_int_equal(objects_refused(objects), 1);
	objects_close(objects);
}

/* Compiles the first version, which is accepted, and a second one of that UID, which is not. */
static uint64_t compile_refused(const char *first, const char *second_uid)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;
	uint64_t checksum;

	assert_non_null(objects);
	if (first)
		take_port_of(objects, "ADDED", first, "a");
	take_port_of(objects, first ? "MODIFIED" : "ADDED", "-1", second_uid);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	checksum = policy->checksum;
	policy_free(policy);
	objects_close(objects);
	return checksum;
}

/* A watch that begins anew tells of a deleted and a new object of one name as of a change. */
static void accepted_text_is_of_the_same_object(void **state)
{
	(void)state;
	assert_true(compile_refused("80", "a") != compile_refused(NULL, "a"));
	assert_true(compile_refused("80", "b") == compile_refused(NULL, "b"));
}

/* @subject: of an AdminNetworkPolicy that denies all namespaces and addresses. */
static void take_admin(struct objects *objects, const char *type, const char *uid,
		       const char *subject)
{
	char text[600];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"policy.networking.k8s.io/v1alpha1\",\"kind\":"
		"\"AdminNetworkPolicy\",\"metadata\":{\"name\":\"guard\",\"uid\":\"%s\"},\"spec\":{"
		"\"priority\":1,\"subject\":{%s},\"ingress\":[{\"name\":\"none\",\"action\":"
		"\"Deny\","
		"\"from\":[{\"namespaces\":{}}]}]}}",
		uid, subject);
	take(objects, type, text);
}

#define READABLE "\"namespaces\":{\"matchLabels\":{\"a\":\"b\"}}"
#define NOVEL "\"novel\":{}"

static struct objects *begin_engine(const char *uid, const char *subject)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);

	assert_non_null(objects);
	take_admin(objects, "ADDED", uid, subject);
	return objects;
}

static size_t count_rules(struct objects *objects, const struct policy *base)
{
	struct policy *policy = compile(objects, base);
	size_t n;

	assert_non_null(policy);
	n = policy->n_rules;
	policy_free(policy);
	return n;
}

/* An admin policy whose subject cannot be read has no stand-in: its last accepted version counts,
 * also if another engine has seen it, and never another object's. */
static void last_accepted_admin_policy_stays(void **state)
{
	struct objects *objects = begin_engine("a", READABLE);
	struct policy *base = compile(objects, NULL), *next;

	(void)state;
	assert_non_null(base);
	assert_int_equal(base->n_rules, 1);
	take_admin(objects, "MODIFIED", "a", NOVEL);
	assert_int_equal(objects_refused(objects), 1);
	assert_int_equal(count_rules(objects, base), 1);
	/* deleted and made again */
	take_admin(objects, "MODIFIED", "b", NOVEL);
	assert_int_equal(count_rules(objects, base), 0);
	objects_close(objects);

	objects = begin_engine("a", NOVEL);
	assert_int_equal(objects_refused(objects), 1);
	assert_non_null(strstr(refusal, "nothing of it is enforced"));
	assert_int_equal(count_rules(objects, NULL), 0);
	objects_close(objects);

	objects = begin_engine("a", NOVEL);
	next = compile(objects, base);
	assert_non_null(next);
	assert_int_equal(next->checksum, base->checksum);
	take_admin(objects, "MODIFIED", "a", NOVEL ",\"more\":1");
	assert_int_equal(count_rules(objects, next), 1);
	take_admin(objects, "DELETED", "a", NOVEL);
	assert_int_equal(count_rules(objects, next), 0);
	take_admin(objects, "ADDED", "c", NOVEL);
	assert_int_equal(count_rules(objects, next), 0);
	policy_free(next);
	objects_close(objects);
	policy_free(base);
}

/* Of an admin policy with a faulty rule, what stands for it denies its subject everything in the
 * directions in which it has rules, from outside the cluster, too. */
static void faulty_admin_policy_denies_the_outside(void **state)
{
	static const char *const others[] = {"10.0.0.2", "198.51.100.1", "2001:db8::1"};
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy;

	(void)state;
	assert_non_null(objects);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"db\","
	     "\"namespace\":\"shop\"},\"status\":{\"podIPs\":[{\"ip\":\"10.0.0.1\"},"
	     "{\"ip\":\"2001:db8::2\"}]}}");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\","
	     "\"namespace\":\"a\"},\"status\":{\"podIP\":\"10.0.0.2\"}}");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"policy.networking.k8s.io/v1alpha2\",\"kind\":"
	     "\"ClusterNetworkPolicy\",\"metadata\":{\"name\":\"guard\"},\"spec\":{"
	     "\"tier\":\"Admin\",\"priority\":1,\"subject\":{\"namespaces\":{\"matchLabels\":{"
	     "\"kubernetes.io/metadata.name\":\"shop\"}}},\"ingress\":[{\"action\":\"Deny\","
	     "\"from\":[{\"novel\":{}}]}]}}");
	assert_int_equal(objects_refused(objects), 1);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const char *db = strchr(others[i], ':') ? "2001:db8::2" : "10.0.0.1";

		assert_false(allows(policy, others[i], db));
		assert_true(allows(policy, db, others[i]));
	}
	policy_free(policy);
	objects_close(objects);
}

static void take_tenant(struct objects *objects, const char *type, const char *isolation,
			const char *labels)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"tenant\","
		 "\"uid\":\"a\",\"annotations\":{\"net.beta.kubernetes.io/network-policy\":\"%s\"},"
		 "\"labels\":{%s}}}",
		 isolation, labels);
	take(objects, type, text);
}

#define GUARDED "\"guarded\":\"yes\""

static void check_tenant(struct objects *objects, size_t refused, bool calls, bool called)
{
	struct policy *policy = compile(objects, NULL);

	assert_int_equal(objects_refused(objects), refused);
	assert_non_null(policy);
	assert_int_equal(allows(policy, "10.0.0.1", "10.0.0.2"), calls);
	assert_int_equal(allows(policy, "10.0.0.2", "10.0.0.1"), called);
	policy_free(policy);
}

/* A Namespace whose annotation is at fault has its labels, and isolates its pods, unless a former
 * version had the same labels: a tenant's annotation leads past no administrator's policy. */
static void faulty_namespace_keeps_its_labels(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);

	(void)state;
	assert_non_null(objects);
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
	     "\"namespace\":\"tenant\"},\"status\":{\"podIP\":\"10.0.0.1\"}}");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"db\","
	     "\"namespace\":\"shop\"},\"status\":{\"podIP\":\"10.0.0.2\"}}");
	take(objects, "ADDED",
	     "{\"apiVersion\":\"policy.networking.k8s.io/v1alpha1\",\"kind\":"
	     "\"AdminNetworkPolicy\",\"metadata\":{\"name\":\"guard\"},\"spec\":{\"priority\":1,"
	     "\"subject\":{\"namespaces\":{\"matchLabels\":{" GUARDED "}}},\"egress\":[{"
	     "\"action\":\"Deny\",\"to\":[{\"namespaces\":{}}]}]}}");
	take_tenant(objects, "ADDED", "no JSON", GUARDED);
	check_tenant(objects, 1, false, false);
	take_tenant(objects, "MODIFIED", "{}", GUARDED);
	check_tenant(objects, 0, false, true);
	take_tenant(objects, "MODIFIED", "no JSON", GUARDED);
	check_tenant(objects, 1, false, true);
	take_tenant(objects, "MODIFIED", "{}", "");
	check_tenant(objects, 0, true, true);
	take_tenant(objects, "MODIFIED", "no JSON", GUARDED);
	check_tenant(objects, 1, false, false);
	objects_close(objects);
}

/* Takes a NetworkPolicy of so many CIDRs after the first, with a long annotation and label. */
static void take_large(struct objects *objects, unsigned int number, const char *first,
		       unsigned int cidrs)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"x%u\",\"namespace\":\"n\",\"annotations\":{\"long\":\"%0100000u\"},"
		"\"labels\":{\"long\":\"%0100000u\"}},\"spec\":{\"podSelector\":{},\"ingress\":[{"
		"\"from\":[{\"ipBlock\":{\"cidr\":\"%s\"}}",
		number, number, number, first);
	for (unsigned int i = 0; i < cidrs; i++)
		fprintf(to, ",{\"ipBlock\":{\"cidr\":\"20.0.%u.%u/32\"}}", i >> 8, i & 255);
	fprintf(to, "]}]}}");
	fclose(to);
	take(objects, "ADDED", text);
	free(text);
}

/* Of a version that is refused, and of metadata that is not read, nothing large is kept. */
static void keeps_what_is_read(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	size_t before;

	(void)state;
	assert_non_null(objects);
	take_large(objects, 0, "010.0.0.0/8", 0);
	before = mallinfo2().uordblks;
	for (unsigned int i = 1; i <= 8; i++)
		take_large(objects, i, "10.0.0.0/8", 0);
	assert_int_equal(objects_refused(objects), 1);
	assert_in_range(mallinfo2().uordblks - before, 0, 100000);
	for (unsigned int i = 1; i <= 8; i++)
		take_large(objects, 8 + i, "010.0.0.0/8", 2000);
	assert_int_equal(objects_refused(objects), 9);
	assert_in_range(mallinfo2().uordblks - before, 0, 100000);
	objects_close(objects);
}

static void take_node(struct objects *objects, unsigned int n_addresses, unsigned int n_labels)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fputs("{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"w1\", "
	      "\"uid\": \"u\", \"labels\": {",
	      to);
	for (unsigned int i = 0; i < n_labels; i++)
		fprintf(to, "%s\"l%u\": \"%050u\"", i ? ", " : "", i, i);
	fputs("}}, \"status\": {\"addresses\": [", to);
	for (unsigned int i = 0; i < n_addresses; i++)
		fprintf(to, "%s{\"type\": \"InternalIP\", \"address\": \"192.168.%u.1\"}",
			i ? ", " : "", i);
	fputs("]}}", to);
	fclose(to);
	take(objects, "MODIFIED", text);
	free(text);
}

/* A kubelet may write any number of addresses into its Node, and each change goes to all nodes. */
static void large_node_keeps_its_last_addresses(void **state)
{
	static const struct {
		unsigned int addresses, labels, kept;
		const char *why;
	} steps[] = {
		{65, 0, 0, "it has 65 addresses, the limit is 64"},
		{64, 200, 64, NULL},
		{2, 0, 2, NULL},
		{65, 0, 2, "it has 65 addresses, the limit is 64"},
		{3, 2000, 2, "bytes, the limit is 65536"},
		{3, 0, 3, NULL},
	};
	struct objects *objects = objects_open(NULL, &ops, NULL);

	(void)state;
	assert_non_null(objects);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct policy *policy;

		take_node(objects, steps[i].addresses, steps[i].labels);
		policy = compile(objects, NULL);
		assert_non_null(policy);
		assert_int_equal(policy->n_node_addresses, steps[i].kept);
		assert_int_equal(objects_refused(objects), !!steps[i].why);
		assert_true(!steps[i].why || strstr(refusal, steps[i].why));
		assert_true(objects_have_node(objects, "w1"));
		policy_free(policy);
	}
	objects_close(objects);
}

/* A Pod without an address, with those of ten labels that @number has as bits. */
static void take_waiting(struct objects *objects, unsigned int number)
{
	char *text, labels[200] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < 10; i++)
		if (number >> i & 1)
			n += snprintf(labels + n, sizeof(labels) - n, "%s\"team%u\": \"\"",
				      n ? ", " : "", i);
	assert_true(asprintf(&text,
			     "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": "
			     "{\"name\": \"p%u\", \"namespace\": \"evil\", \"labels\": {%s}}, "
			     "\"spec\": {\"containers\": []}, \"status\": {}}",
			     number, labels) > 0);
	take(objects, "ADDED", text);
	free(text);
}

/* Another tenant's policy tells 1,024 kinds of Pods apart, which cost their author nothing. */
static void waiting_pods_multiply_no_policy_of_others(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, NULL);
	struct policy *policy, *next;
	size_t before;

	(void)state;
	assert_non_null(objects);
	for (unsigned int i = 0; i < 10; i++) {
		char text[600];

		snprintf(text, sizeof(text),
			 "{\"apiVersion\": \"networking.k8s.io/v1\", \"kind\": \"NetworkPolicy\", "
			 "\"metadata\": {\"name\": \"p%u\", \"namespace\": \"shop\"}, \"spec\": "
			 "{\"podSelector\": {}, \"ingress\": [{\"from\": [{\"namespaceSelector\": "
			 "{}, "
			 "\"podSelector\": {\"matchExpressions\": [{\"key\": \"team%u\", "
			 "\"operator\": "
			 "\"Exists\"}]}}], \"ports\": [{\"port\": %u}]}]}}",
			 i, i, 80 + i);
		take(objects, "ADDED", text);
	}
	take(objects, "ADDED",
	     "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": "
	     "\"evil\"}}");
	take_waiting(objects, 0);
	policy = compile_all(objects, NULL);
	assert_non_null(policy);
	before = policy->n_segments;
	for (unsigned int i = 1; i < 1024; i++) {
		take_waiting(objects, i);
		if (i % 100)
			continue;
		next = compile_all(objects, policy); /* from changed Pods alone */
		assert_non_null(next);
		policy_free(policy);
		policy = next;
	}
	assert_true(objects_patched(objects) > 8);
	assert_in_range(policy->n_segments, before + 100, before + 256);
	assert_int_equal(policy->n_expected, 1001);
	policy_free(policy);
	policy = compile(objects, NULL);
	assert_non_null(policy);
	assert_int_equal(policy->n_expected, 1024);
	assert_in_range(policy->n_segments, before + 200, before + 256);
	policy_free(policy);
	objects_close(objects);
}

/* Whatever CIDRs a tenant writes: a new Pod without an address needs no compile of all objects. */
static void cidrs_hold_up_no_new_pods(void **state)
{
	static const char *const blocks[] = {
		"{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.0.0.0/24\"]}}",
		NULL, /* many */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct objects *objects = objects_open(NULL, &ops, NULL);
		struct policy *policy, *next;
		char text[3000], *at = text;
		uint64_t before;

		assert_non_null(objects);
		take_plain_pod(objects, "a", 1);
		at += sprintf(at,
			      "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
			      "\"metadata\":{\"name\":\"x\",\"namespace\":\"a\",\"uid\":\"1\"},"
			      "\"spec\":{\"podSelector\":{},\"ingress\":[{\"from\":[");
		for (unsigned int k = 0; !blocks[i] && k < 40; k++)
			at += sprintf(at, "%s{\"ipBlock\":{\"cidr\":\"20.0.%u.0/24\"}}",
				      k ? "," : "", k);
		sprintf(at, "%s]}]}}", blocks[i] ? blocks[i] : "");
		take(objects, "ADDED", text);
		take_waiting(objects, 0);
		policy = compile(objects, NULL);
		assert_non_null(policy);
		before = objects_patched(objects);
		take_waiting(objects, 1);
		next = compile_all(objects, policy);
		assert_non_null(next);
		assert_int_equal(objects_patched(objects), before + 1);
		assert_int_equal(next->n_expected, 2);
		policy_free(policy);
		policy_free(next);
		objects_close(objects);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_is_read),
		cmocka_unit_test(last_accepted_admin_policy_stays),
		cmocka_unit_test(faulty_admin_policy_denies_the_outside),
		cmocka_unit_test(faulty_namespace_keeps_its_labels),
		cmocka_unit_test(accepted_text_is_of_the_same_object),
		cmocka_unit_test(last_accepted_text_is_accepted_again),
		cmocka_unit_test(kept_objects_make_what_new_ones_make),
		cmocka_unit_test(policies_alone_make_what_all_objects_make),
		cmocka_unit_test(contested_pod_stays_refused),
		cmocka_unit_test(namespace_takes_no_more_memory_than_its_part),
		cmocka_unit_test(all_kinds_take_no_more_memory_than_their_part),
		cmocka_unit_test(all_namespaces_take_no_more_memory_than_their_part),
		cmocka_unit_test(service_without_room_translates_nothing),
		cmocka_unit_test(faulty_service_translates_nothing),
		cmocka_unit_test(faulty_service_holds_nothing_up),
		cmocka_unit_test(faulty_address_leaves_the_others),
		cmocka_unit_test(service_holds_up_no_pods),
		cmocka_unit_test(contested_pod_is_no_backend),
		cmocka_unit_test(addresses_of_a_service_hold_up_no_pods),
		cmocka_unit_test(addresses_of_a_slice_hold_up_no_pods),
		cmocka_unit_test(oddly_written_addresses_translate_nothing),
		cmocka_unit_test(odd_annotation_opens_nothing),
		cmocka_unit_test(pods_that_come_and_go_leave_places_empty),
		cmocka_unit_test(pod_with_too_many_labels_is_closed),
		cmocka_unit_test(namespace_with_too_many_labels_is_closed),
		cmocka_unit_test(large_node_keeps_its_last_addresses),
		cmocka_unit_test(waiting_pods_multiply_no_policy_of_others),
		cmocka_unit_test(cidrs_hold_up_no_new_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
