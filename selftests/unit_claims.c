// SPDX-License-Identifier: GPL-2.0-only
/* Which object the engine gives an address that several objects name, and which one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/objects.h"
#include "cluster/store.h"

/* The engine's objects, its last policy, and its last refusal. */
static struct objects *objects;
static struct policy *policy;
static char refused[1024]; /* "NAME: WHY" or "NAME accepted"; "": none since forget() */
static unsigned int changes;

static void on_change(void *data)
{
	(void)data;
	changes++;
}

static void on_refusal(void *data, struct json_object *object, const char *why)
{
	(void)data;
	snprintf(refused, sizeof(refused), "%s%s%s", api_text(object, "metadata.name"),
		 why ? ": " : " accepted", why ? why : "");
}

static struct objects *open_objects(void)
{
	static const struct objects_ops ops = {
		.changed = on_change, .refused = on_refusal, .two_steps = true};

	return objects_open(NULL, &ops, NULL);
}

static int begin(void **state)
{
	(void)state;
	objects = open_objects();
	*refused = '\0';
	return !objects;
}

static int end(void **state)
{
	(void)state;
	objects_close(objects);
	policy_free(policy);
	policy = NULL;
	return 0;
}

static void take(const char *type, const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	assert_true(objects_take(objects, type, object));
	json_object_put(object);
}

struct pod {
	const char *name, *node;
	unsigned int day; /* of its creation */
	const char *ip, *ip6; /* NULL: none */
	bool terminating;
};

static void put(const char *type, struct pod pod)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"%s\", "
		 "\"namespace\": \"shop\", \"uid\": \"uid-%s\", %s"
		 "\"creationTimestamp\": \"2026-01-%02uT00:00:00Z\"}, "
		 "\"spec\": {\"nodeName\": \"%s\", \"containers\": []}, "
		 "\"status\": {\"phase\": \"Running\", \"podIP\": \"%s\", \"podIPs\": "
		 "[{\"ip\": \"%s\"}%s%s%s]}}",
		 pod.name, pod.name,
		 pod.terminating ? "\"deletionTimestamp\": \"2026-02-01T00:00:00Z\", " : "",
		 pod.day, pod.node, pod.ip, pod.ip, pod.ip6 ? ", {\"ip\": \"" : "",
		 pod.ip6 ? pod.ip6 : "", pod.ip6 ? "\"}" : "");
	take(type, text);
}

#define POD(of, on, since, at, ...)                                           \
	(struct pod)                                                          \
	{                                                                     \
		.name = of, .node = on, .day = since, .ip = at, ##__VA_ARGS__ \
	}
#define PUT(...) put("MODIFIED", POD(__VA_ARGS__))
#define DROP(...) put("DELETED", POD(__VA_ARGS__))

static void put_node(const char *name, const char *ip, const char *more)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"%s\"}, "
		"\"status\": {\"addresses\": [{\"type\": \"InternalIP\", \"address\": \"%s\"}%s%s%s"
		"]}}",
		name, ip, more ? ", {\"type\": \"InternalIP\", \"address\": \"" : "",
		more ? more : "", more ? "\"}" : "");
	take("MODIFIED", text);
}

static void drop_node(const char *name)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"%s\"}}",
		 name);
	take("DELETED", text);
}

static void compile_once(void)
{
	struct diag diag = {.to = stdout};
	struct policy *next = NULL;

	changes = 0;
	assert_int_equal(objects_compile(objects, policy, &diag, &next), 0);
	policy_free(policy);
	policy = next;
}

static void compile(void)
{
	unsigned int steps = 0;

	do
		compile_once();
	while (changes && ++steps < 3);
	assert_int_equal(changes, 0);
}

/* Returns the name of the Pod that has the address in the policy; "": none. */
static const char *owner(const char *text)
{
	const struct policy_address *found;
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	found = policy_address_find(policy, &address);
	return found ? policy_string(policy, policy->endpoints[found->endpoint].name) : "";
}

static void left(const char *node, const char *list)
{
	struct json_object *array = list ? json_tokener_parse(list) : NULL;

	objects_left(objects, node, array);
	json_object_put(array);
}

#define LEFT(pod, ip)                                                          \
	"[{\"address\": \"" ip "\", \"namespace\": \"shop\", \"name\": \"" pod \
	"\", \"uid\": \"uid-" pod "\"}]"

static void another_node_takes_no_address(void **state)
{
	(void)state;
	PUT("db", "n1", 5, "10.0.1.1", .ip6 = "fd00::1");
	compile();
	for (unsigned int day = 1; day < 10; day += 8) { /* an older Pod and a newer one */
		PUT("thief", "n2", day, "10.0.1.1", .ip6 = "fd00::66");
		compile();
		assert_string_equal(owner("10.0.1.1"), "db");
		assert_string_equal(owner("fd00::1"), "db");
		assert_string_equal(owner("fd00::66"), "thief");
		assert_string_equal(refused,
				    "thief: Pod shop/thief: status.podIPs: 10.0.1.1 "
				    "belongs to Pod shop/db on node n1 until that Pod ends");
		assert_int_equal(objects_refused(objects), 1);
		PUT("thief", "n2", day, "10.0.2.1", .ip6 = "fd00::66");
		compile();
		assert_string_equal(refused, "thief accepted");
		assert_int_equal(objects_refused(objects), 0);
	}
}

static void its_own_end_frees_an_address(void **state)
{
	(void)state;
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	PUT("db", "n1", 1, "10.0.1.1", .terminating = true);
	PUT("next", "n2", 2, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
	DROP("db", "n1", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
	assert_string_equal(refused, "next accepted");
}

static void a_new_engine_knows_by_the_last_policy(void **state)
{
	(void)state;
	PUT("db", "n1", 5, "10.0.1.1");
	compile();
	objects_close(objects);
	objects = open_objects();
	PUT("thief", "n2", 1, "10.0.1.1");
	PUT("db", "n1", 5, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
}

static void without_a_last_policy_the_older_pod_has_the_address(void **state)
{
	(void)state;
	PUT("thief", "n2", 5, "10.0.1.1");
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
}

static void a_node_uses_its_address_again(void **state)
{
	(void)state;
	PUT("former", "n1", 1, "10.0.1.1");
	compile();
	PUT("former", "n1", 1, "10.0.1.1", .terminating = true);
	PUT("next", "n1", 2, "10.0.1.1");
	PUT("thief", "n2", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
	assert_int_equal(objects_refused(objects), 1);
	assert_int_equal(strncmp(refused, "thief: ", 7), 0);
	/* neither of them is being deleted */
	PUT("later", "n1", 3, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "later");
	assert_int_equal(objects_refused(objects), 2);
}

/* The address is nobody's for one policy, in which an older Pod of another node waits for it. */
static void nobody_takes_an_address_that_passes(void **state)
{
	(void)state;
	PUT("former", "n1", 5, "10.0.1.1", .ip6 = "fd00::1");
	compile();
	PUT("thief", "n2", 1, "10.0.1.1", .ip6 = "fd00::66");
	put_node("n3", "192.168.0.3", "fd00::1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "former");
	PUT("former", "n1", 5, "10.0.1.1", .ip6 = "fd00::1", .terminating = true);
	PUT("next", "n1", 6, "10.0.1.1", .ip6 = "fd00::1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
	assert_string_equal(owner("fd00::1"), "next");
	assert_int_equal(policy->n_node_addresses, 1);
}

/* A finalizer keeps a Pod whose node has gone, and another node uses the address. */
static void a_pod_ends_with_its_node(void **state)
{
	(void)state;
	put_node("n1", "192.168.0.1", NULL);
	put_node("n2", "192.168.0.2", NULL);
	PUT("db", "n1", 1, "10.0.1.1");
	PUT("web", "n1", 1, "10.0.1.2");
	compile();
	drop_node("n1");
	PUT("db", "n1", 1, "10.0.1.1", .terminating = true);
	compile();
	assert_string_equal(owner("10.0.1.1"), "db"); /* no object but its own names it */
	PUT("next", "n2", 2, "10.0.1.1");
	PUT("other", "n2", 2, "10.0.1.2");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
	/* nobody deletes web: its node's object may be gone by mistake */
	assert_string_equal(owner("10.0.1.2"), "web");
	assert_int_equal(objects_refused(objects), 1);
	assert_int_equal(strncmp(refused, "other: ", 7), 0);
	objects_close(objects); /* another engine, and no policy */
	objects = open_objects();
	policy_free(policy);
	policy = NULL;
	put_node("n2", "192.168.0.2", NULL);
	PUT("db", "n1", 1, "10.0.1.1", .terminating = true);
	PUT("next", "n2", 2, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
}

/* Of Pods of one node and one second, whichever the API server lists first. */
static void pods_of_one_second_do_not_take_turns(void **state)
{
	const char *const names[] = {"b", "a", "b"};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		PUT(names[i], "n1", 1, "10.0.1.1");
		PUT(names[i + 1], "n1", 1, "10.0.1.1");
		compile();
		assert_string_equal(owner("10.0.1.1"), "a");
		objects_close(objects);
		objects = open_objects();
		policy_free(policy);
		policy = NULL;
	}
	PUT("b", "n1", 1, "10.0.1.1");
	compile();
	PUT("a", "n1", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "b");
	objects_close(objects);
	objects = open_objects();
	PUT("a", "n1", 1, "10.0.1.1");
	PUT("b", "n1", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "b");
}

static void an_address_of_a_node_is_no_pods(void **state)
{
	(void)state;
	put_node("n1", "192.168.0.1", NULL);
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	PUT("thief", "n2", 2, "192.168.0.1");
	compile();
	assert_string_equal(owner("192.168.0.1"), "");
	assert_string_equal(refused, "thief: Pod shop/thief: status.podIPs: 192.168.0.1 is an "
				     "address of node n1, and no Pod's");
	assert_int_equal(objects_refused(objects), 1);
}

static void a_node_takes_no_pods_address(void **state)
{
	(void)state;
	put_node("n2", "192.168.0.2", NULL);
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	put_node("n2", "192.168.0.2", "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
	assert_int_equal(policy->n_node_addresses, 1);
	assert_string_equal(refused, "n2: Node n2: status.addresses: 10.0.1.1 belongs to Pod "
				     "shop/db on node n1 until that Pod ends");
}

/* What one node does must not make each compile of the others a compile of all objects. */
static void others_are_patched_meanwhile(void **state)
{
	uint64_t patched;

	(void)state;
	PUT("db", "n1", 1, "10.0.1.1");
	PUT("web", "n1", 1, "10.0.1.2");
	compile();
	PUT("thief", "n2", 2, "10.0.1.1");
	compile();
	patched = objects_patched(objects);
	PUT("web", "n1", 1, "10.0.1.3");
	compile();
	assert_int_equal(objects_patched(objects), patched + 1);
	assert_string_equal(owner("10.0.1.3"), "web");
	assert_string_equal(owner("10.0.1.1"), "db");
	DROP("db", "n1", 1, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "thief");
}

static void an_address_that_left_is_nobodys(void **state)
{
	uint64_t patched;

	(void)state;
	PUT("db", "n1", 1, "10.0.1.1", .ip6 = "fd00::1");
	PUT("web", "n1", 1, "10.0.1.2");
	compile();
	patched = objects_patched(objects);
	changes = 0;
	left("n1", LEFT("db", "10.0.1.1"));
	assert_int_equal(changes, 1);
	compile();
	assert_string_equal(owner("10.0.1.1"), "");
	assert_string_equal(owner("fd00::1"), "db");
	assert_int_equal(objects_patched(objects), patched + 1);
	left("n1", LEFT("db", "10.0.1.1"));
	assert_int_equal(changes, 0);
	/* the next Pod has it while the former one's object stays */
	PUT("next", "n2", 2, "10.0.1.1");
	compile();
	assert_string_equal(owner("10.0.1.1"), "next");
	assert_int_equal(objects_refused(objects), 0);
	DROP("next", "n2", 2, "10.0.1.1");
	left("n1", NULL);
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
}

/* States @n addresses of other Pods, and then one of db. */
static void left_behind(size_t n)
{
	static const char other[] = "{\"address\": \"10.9.9.9\", \"namespace\": \"shop\", "
				    "\"name\": \"other\", \"uid\": \"uid-other\"}";
	struct json_object *list = json_tokener_parse(LEFT("db", "10.0.1.1"));
	struct json_object *all = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(all, json_tokener_parse(other));
	json_object_array_add(all, json_object_get(json_object_array_get_idx(list, 0)));
	left("n1", json_object_to_json_string(all));
	json_object_put(list);
	json_object_put(all);
}

static void a_node_states_so_many_addresses(void **state)
{
	(void)state;
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	left_behind(STORE_LEFT_MAX);
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
	left_behind(STORE_LEFT_MAX - 1);
	compile();
	assert_string_equal(owner("10.0.1.1"), "");
}

static void a_node_speaks_for_its_own_pods_alone(void **state)
{
	(void)state;
	PUT("db", "n1", 1, "10.0.1.1");
	compile();
	changes = 0;
	left("n2", LEFT("db", "10.0.1.1"));
	assert_int_equal(changes, 0); /* whatever it says of others' Pods costs no compile */
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
	left("n1", "[{\"address\": \"10.0.1.1\", \"namespace\": \"shop\", \"name\": \"db\", "
		   "\"uid\": \"uid-former\"}, {\"address\": \"x\"}, 7]");
	compile();
	assert_string_equal(owner("10.0.1.1"), "db");
	left("n1", LEFT("db", "10.0.1.1"));
	compile();
	assert_string_equal(owner("10.0.1.1"), "");
}

static void an_address_passes_in_two_policies(void **state)
{
	(void)state;
	PUT("former", "n1", 1, "10.0.1.1", .ip6 = "fd00::1");
	PUT("other", "n1", 1, "10.0.1.2");
	compile();
	for (int i = 0; i < 2; i++) { /* the former one's object stays, and goes */
		if (i)
			DROP("former", "n1", 1, "10.0.1.1");
		PUT(i ? "last" : "next", "n1", 2 + i, "10.0.1.1");
		compile_once();
		assert_string_equal(owner("10.0.1.1"), "");
		assert_string_equal(owner("10.0.1.2"), "other");
		assert_int_equal(changes, 1);
		compile_once();
		assert_string_equal(owner("10.0.1.1"), i ? "last" : "next");
		assert_int_equal(changes, 0);
	}
	assert_int_equal(objects_refused(objects), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(another_node_takes_no_address),
		TEST(its_own_end_frees_an_address),
		TEST(a_new_engine_knows_by_the_last_policy),
		TEST(without_a_last_policy_the_older_pod_has_the_address),
		TEST(a_node_uses_its_address_again),
		TEST(nobody_takes_an_address_that_passes),
		TEST(a_pod_ends_with_its_node),
		TEST(pods_of_one_second_do_not_take_turns),
		TEST(an_address_of_a_node_is_no_pods),
		TEST(a_node_takes_no_pods_address),
		TEST(others_are_patched_meanwhile),
		TEST(an_address_that_left_is_nobodys),
		TEST(a_node_states_so_many_addresses),
		TEST(a_node_speaks_for_its_own_pods_alone),
		TEST(an_address_passes_in_two_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
