// SPDX-License-Identifier: GPL-2.0-only
/* The engine's objects: each object that becomes set aside, or counts again, is reported once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"
#include "compile/extend.h"
#include "policy/evaluate.h"
#include "policy/flow.h"

struct heard {
	unsigned int n;
	char name[64], why[300]; /* of the last report; why "": it counts again */
};

static void on_change(void *data)
{
	(void)data;
}

/* A Pod with the label of closed ones is reported, too. */
static void on_refusal(void *data, struct json_object *object, const char *why)
{
	(void)data;
	(void)object;
	assert_non_null(strstr(why, "it is isolated"));
}

static void on_aside(void *data, struct json_object *object, const char *why)
{
	struct heard *heard = data;

	heard->n++;
	snprintf(heard->name, sizeof(heard->name), "%s", api_text(object, "metadata.name"));
	snprintf(heard->why, sizeof(heard->why), "%s", why ? why : "");
}

static void take(struct objects *objects, const char *type, const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	assert_true(objects_take(objects, type, object));
	json_object_put(object);
}

/* @cidrs: rules for one address each. */
static void take_policy(struct objects *objects, const char *type, unsigned int cidrs)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"big\",\"namespace\":\"evil\"},\"spec\":{\"podSelector\":{},\"ingress\":"
		"[");
	for (unsigned int i = 0; i < cidrs; i++)
		fprintf(to, "%s{\"from\":[{\"ipBlock\":{\"cidr\":\"20.0.%u.%u/32\"}}]}",
			i ? "," : "", i >> 8, i & 255);
	fprintf(to, "]}}");
	fclose(to);
	take(objects, type, text);
	free(text);
}

static void take_pod(struct objects *objects, const char *type)
{
	take(objects, type,
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
	     "\"evil\"},\"spec\":{},\"status\":{\"podIPs\":[{\"ip\":\"10.0.0.1\"}]}}");
}

static void compile(struct objects *objects)
{
	struct diag diag = {0};
	struct policy *policy = NULL;

	assert_int_equal(objects_compile(objects, NULL, &diag, &policy), 0);
	policy_free(policy);
}

static const struct objects_ops ops = {
	.changed = on_change, .refused = on_refusal, .aside = on_aside};

static void reports_each_change_once(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);

	(void)state;
	assert_non_null(objects);
	take_pod(objects, "ADDED");
	take_policy(objects, "ADDED", 10);
	compile(objects);
	assert_int_equal(heard.n, 0);
	assert_int_equal(objects_aside(objects), 0);

	take_policy(objects, "MODIFIED", 5000);
	compile(objects);
	assert_int_equal(heard.n, 1);
	assert_string_equal(heard.name, "big");
	assert_string_equal(heard.why,
			    "isolates what it selects: it needs 4097 segments of addresses "
			    "or more, the limit is 4096");
	assert_int_equal(objects_aside(objects), 1);
	take_policy(objects, "MODIFIED", 5001);
	compile(objects);
	assert_int_equal(heard.n, 1);

	/* a new leader writes the Events of what is set aside */
	objects_report_refused(objects);
	assert_int_equal(heard.n, 2);

	take_policy(objects, "MODIFIED", 20);
	compile(objects);
	assert_int_equal(heard.n, 3);
	assert_string_equal(heard.why, "");
	assert_int_equal(objects_aside(objects), 0);

	take_policy(objects, "MODIFIED", 5000);
	compile(objects);
	take_policy(objects, "DELETED", 0);
	assert_int_equal(objects_aside(objects), 0);
	compile(objects);
	assert_int_equal(heard.n, 4);
	objects_close(objects);
}

/* A policy that is over its budget only beside a Pod: many ports from everywhere, and one more from
 * each of many CIDRs. @protocol: of the first port; "" is TCP, too. */
static void take_ports(struct objects *objects, const char *type, const char *protocol)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"ports\",\"namespace\":\"evil\"},\"spec\":{\"podSelector\":{},"
		"\"ingress\":"
		"[{\"ports\":[{%s\"port\":1}",
		protocol);
	for (unsigned int port = 3; port < 65536; port += 2)
		fprintf(to, ",{\"port\":%u}", port);
	fprintf(to, "]}");
	for (unsigned int i = 0; i < 900; i++)
		fprintf(to,
			",{\"from\":[{\"ipBlock\":{\"cidr\":\"20.%u.%u.0/24\"}}],\"ports\":[{"
			"\"port\":%u}]}",
			i >> 8, i & 255, 2 + 2 * i);
	fprintf(to, "]}}");
	fclose(to);
	take(objects, type, text);
	free(text);
}

/* A policy that means the same as when it was over its budget is not over it for good. */
static void other_objects_count_too(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);

	(void)state;
	assert_non_null(objects);
	take_pod(objects, "ADDED");
	take_ports(objects, "ADDED", "");
	compile(objects);
	assert_int_equal(objects_aside(objects), 1);
	take_pod(objects, "DELETED");
	take_ports(objects, "MODIFIED", "\"protocol\":\"TCP\",");
	compile(objects);
	assert_int_equal(objects_aside(objects), 0);
	objects_close(objects);
}

/* Adds a Pod of the namespace a. @labels: more of them. */
static void take_labelled(struct objects *objects, const char *name, const char *address,
			  const char *labels)
{
	char text[500];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"a\",\"uid\":\"%s\",\"labels\":{\"app\":\"%s\"%s}},\"spec\":{},"
		 "\"status\":{\"podIP\":\"%s\"}}",
		 name, name, name, labels, address);
	take(objects, "ADDED", text);
}

/* @peer: the label app of the pods that may not reach those of the label @app. */
static void take_baseline(struct objects *objects, const char *type, const char *name,
			  const char *app, const char *peer)
{
	char text[900];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"policy.networking.k8s.io/"
		 "v1alpha1\",\"kind\":\"BaselineAdminNetworkPolicy\",\"metadata\":{\"name\":\"%s\","
		 "\"uid\":\"%s\"},\"spec\":{\"subject\":{\"pods\":{\"namespaceSelector\":{},"
		 "\"podSelector\":{\"matchLabels\":{\"app\":\"%s\"}}}},\"ingress\":[{\"action\":"
		 "\"Deny\",\"from\":[{\"pods\":{\"namespaceSelector\":{},\"podSelector\":{"
		 "\"matchLabels\":{\"app\":\"%s\"}}}}]}],\"egress\":[{\"action\":\"Deny\",\"to\":[{"
		 "\"pods\":{\"namespaceSelector\":{},\"podSelector\":{\"matchLabels\":{\"app\":"
		 "\"none\"}}}}]}]}}",
		 name, name, app, peer);
	take(objects, type, text);
}

/* Asks who decides at both ends of a flow: "EGRESS, INGRESS". */
static void assert_decisions(struct objects *objects, const char *from, const char *to,
			     const char *expected)
{
	struct flow flow = {.protocol = 6, .port = 80};
	struct diag diag = {.to = stderr};
	struct decision egress, ingress;
	char at[2][DECISION_TEXT], both[2 * DECISION_TEXT + 2];
	struct evaluate_source source;
	struct policy *policy;

	assert_int_equal(address_parse(from, &flow.source), 0);
	assert_int_equal(address_parse(to, &flow.destination), 0);
	assert_int_equal(objects_compile(objects, NULL, &diag, &policy), 0);
	source = evaluate_policy(policy);
	evaluate_flow(&source, policy, &flow, &egress, &ingress);
	decision_print(policy, &egress, at[0], sizeof(at[0]));
	decision_print(policy, &ingress, at[1], sizeof(at[1]));
	assert_true(!egress.rule || egress.rule->direction == EGRESS);
	assert_true(!ingress.rule || ingress.rule->direction == INGRESS);
	snprintf(both, sizeof(both), "%s, %s", at[0], at[1]);
	assert_string_equal(both, expected);
	policy_free(policy);
}

/* An older cluster takes a BaselineAdminNetworkPolicy of any name. Of several, the one that the API
 * knows counts, and each of the others isolates what it selects, by its own name. */
static void one_baseline_counts(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "x", "10.0.0.1", "");
	take_labelled(objects, "y", "10.0.0.2", "");
	take_labelled(objects, "z", "10.0.0.3", "");
	take_baseline(objects, "ADDED", "b", "y", "z");
	assert_decisions(objects, "10.0.0.3", "10.0.0.2",
			 "allow default, deny baseline b/ingress[0]");
	assert_decisions(objects, "10.0.0.1", "10.0.0.2", "allow default, allow default");
	assert_int_equal(objects_aside(objects), 0);

	take_baseline(objects, "ADDED", "default", "x", "z");
	take_baseline(objects, "ADDED", "c", "z", "x");
	assert_decisions(objects, "10.0.0.1", "10.0.0.2",
			 "allow default, deny baseline b/set-aside");
	assert_decisions(objects, "10.0.0.2", "10.0.0.3",
			 "deny baseline b/set-aside, deny baseline c/set-aside");
	assert_decisions(objects, "10.0.0.3", "10.0.0.1",
			 "deny baseline c/set-aside, deny baseline default/ingress[0]");
	assert_int_equal(objects_aside(objects), 2);
	assert_int_equal(heard.n, 2);
	assert_non_null(strstr(heard.why, "and default is it"));

	take_baseline(objects, "DELETED", "default", "x", "z");
	take_baseline(objects, "DELETED", "c", "z", "x");
	assert_decisions(objects, "10.0.0.1", "10.0.0.2", "allow default, allow default");
	assert_int_equal(objects_aside(objects), 0);
	objects_close(objects);
}

/* A Pod that fits no segment gets one without a compile, also beside a policy that is set aside. */
static void an_aside_costs_no_compile(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, &(struct heard){0});
	struct flow flow = {.protocol = 6, .port = 80};
	struct diag diag = {.to = stderr};
	struct decision egress, ingress;
	struct policy *base, *next;
	struct evaluate_source source;
	char text[DECISION_TEXT];

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "x", "10.0.0.1", "");
	take_labelled(objects, "y", "10.0.0.2", "");
	take_baseline(objects, "ADDED", "default", "x", "z");
	take_baseline(objects, "ADDED", "b", "y", "none");
	assert_int_equal(objects_compile(objects, NULL, &diag, &base), 0);
	take_labelled(objects, "z", "10.0.0.3", "");
	assert_int_equal(objects_compile(objects, base, &diag, &next), 0);
	assert_int_equal(objects_patched(objects), 1);
	assert_int_equal(next->n_segments, base->n_segments + 1);
	assert_int_equal(objects_aside(objects), 1);
	source = evaluate_policy(next);
	for (int i = 1; i <= 2; i++) {
		static const char *const wanted[] = {NULL, "deny baseline default/ingress[0]",
						     "deny baseline b/set-aside"};
		char to[] = "10.0.0.0";

		to[7] += i;
		assert_int_equal(address_parse("10.0.0.3", &flow.source), 0);
		assert_int_equal(address_parse(to, &flow.destination), 0);
		evaluate_flow(&source, next, &flow, &egress, &ingress);
		assert_string_equal(decision_print(next, &ingress, text, sizeof(text)), wanted[i]);
	}
	policy_free(base);
	policy_free(next);
	objects_close(objects);
}

/* A Service with so many ports that a slice of 900 addresses has more backends than a Service may.
 */
static void take_wide_service(struct objects *objects, const char *type, const char *ns,
			      unsigned int number)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\","
		"\"namespace\":\"%s\"},\"spec\":{\"clusterIP\":\"10.96.0.%u\",\"selector\":{"
		"\"app\":\"x\"},\"ports\":[",
		ns, number);
	for (unsigned int i = 0; i < 300; i++)
		fprintf(to, "%s{\"name\":\"p%u\",\"port\":%u}", i ? "," : "", i, i + 1);
	fprintf(to, "]}}");
	fclose(to);
	take(objects, type, text);
	free(text);
}

/* @name: of the slice, which is of the Service of that name in its namespace. */
static void take_slice_of(struct objects *objects, const char *type, const char *ns,
			  const char *name, unsigned int n)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\",\"metadata\":{"
		"\"name\":\"%s\",\"namespace\":\"%s\",\"labels\":{\"kubernetes.io/service-name\":"
		"\"%s\"}},\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"p0\",\"port\":80}],"
		"\"endpoints\":[",
		name, ns, name);
	for (unsigned int i = 0; i < n; i++)
		fprintf(to, "%s{\"addresses\":[\"10.9.%u.%u\"]}", i ? "," : "", i >> 8, i & 255);
	fprintf(to, "]}");
	fclose(to);
	take(objects, type, text);
	free(text);
}

static void take_slice(struct objects *objects, const char *type, const char *name, unsigned int n)
{
	take_slice_of(objects, type, "evil", name, n);
}

/* Compiles, and continues *@policy. Returns true if that took no compile of all objects. */
static bool go_on(struct objects *objects, struct policy **policy)
{
	const uint64_t patched = objects_patched(objects);
	struct diag diag = {.to = stderr};
	struct policy *next = NULL;

	assert_int_equal(objects_compile(objects, *policy, &diag, &next), 0);
	policy_free(*policy);
	*policy = next;
	return objects_patched(objects) > patched;
}

/* A slice that changes needs no compile of all objects, unless its Service is over a budget then,
 * or was, or takes its backends from Pods by then. One of no Service changes nothing. */
static void a_slice_puts_its_service_aside(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);
	struct policy *policy = NULL;
	uint32_t generation;

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "x", "10.0.0.1", "");
	take_wide_service(objects, "ADDED", "evil", 1);
	take_wide_service(objects, "ADDED", "good", 2);
	take_slice_of(objects, "ADDED", "good", "s", 7);
	take_slice(objects, "ADDED", "s", 3);
	assert_false(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 10);
	take_slice(objects, "MODIFIED", "s", 100);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 107);
	generation = policy->generation;
	take_slice(objects, "ADDED", "other", 10);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->generation, generation);

	take_slice(objects, "MODIFIED", "s", 900);
	assert_false(go_on(objects, &policy));
	assert_string_equal(heard.name, "s");
	assert_non_null(strstr(heard.why, "it needs 270000 backends"));
	assert_int_equal(policy->n_backends, 7);
	take_slice_of(objects, "MODIFIED", "good", "s", 6);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 6);
	take_slice(objects, "MODIFIED", "s", 4);
	assert_false(go_on(objects, &policy));
	assert_string_equal(heard.why, "");
	assert_int_equal(policy->n_backends, 10);

	take_slice(objects, "DELETED", "s", 4);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 6);
	take_slice(objects, "ADDED", "s", 5);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 11);
	policy_free(policy);
	objects_close(objects);
}

/* A Service that changes needs no compile of all objects, nor does one that takes its backends from
 * Pods, unless these put it over a budget. */
static void a_service_needs_no_compile(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);
	struct policy *policy = NULL;

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "y", "10.0.0.2", "");
	assert_false(go_on(objects, &policy));
	take_wide_service(objects, "ADDED", "a", 1);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_frontends, 300);
	assert_int_equal(policy->n_backends, 0);
	take_labelled(objects, "x", "10.0.0.1", "");
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_backends, 300);
	take_wide_service(objects, "ADDED", "good", 2);
	take_slice_of(objects, "ADDED", "good", "s", 7);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_services, 2);
	assert_int_equal(policy->n_frontends, 600);
	assert_int_equal(policy->n_backends, 307);
	take_wide_service(objects, "DELETED", "good", 2);
	assert_true(go_on(objects, &policy));
	assert_int_equal(policy->n_services, 1);
	assert_int_equal(policy->n_frontends, 300);
	assert_int_equal(policy->n_backends, 300);

	for (unsigned int i = 0; i < 900; i++) {
		char name[20], address[20];

		snprintf(name, sizeof(name), "x%u", i);
		snprintf(address, sizeof(address), "10.1.%u.%u", i >> 8, i & 255);
		take_labelled(objects, name, address, ",\"app\":\"x\"");
	}
	assert_false(go_on(objects, &policy));
	assert_string_equal(heard.name, "s");
	assert_non_null(strstr(heard.why, "it needs 270600 backends"));
	assert_int_equal(policy->n_backends, 0);
	take_wide_service(objects, "DELETED", "a", 1);
	assert_false(go_on(objects, &policy));
	assert_int_equal(policy->n_services, 0);
	policy_free(policy);
	objects_close(objects);
}

static void assert_strings_differ(const struct policy *policy)
{
	const char *end = policy->strings + policy->n_strings;

	for (const char *a = policy->strings; a < end; a += strlen(a) + 1)
		for (const char *b = a + strlen(a) + 1; b < end; b += strlen(b) + 1)
			assert_string_not_equal(a, b);
}

/* However many Pods come at once, a name that the policy has stands there once. */
static void many_names_stand_once(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, &(struct heard){0});
	struct policy *policy = NULL;
	char name[16], address[16];

	(void)state;
	assert_non_null(objects);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 40; i++) {
			snprintf(name, sizeof(name), "pod-%d", round * 25 + i);
			snprintf(address, sizeof(address), "10.0.%d.%d", round, i + 1);
			take_labelled(objects, name, address, "");
		}
		assert_int_equal(go_on(objects, &policy), round > 0);
		assert_strings_differ(policy);
		assert_int_equal(policy->n_endpoints, 40 + 25 * round);
	}
	policy_free(policy);
	objects_close(objects);
}

/* The rule that isolates pods by their label is told in the direction of the flow. */
static void closed_pods_have_two_rules(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, &(struct heard){0});

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "x", "10.0.0.1", "");
	take_labelled(objects, "y", "10.0.0.2", ",\"bulkhead.dev\\/closed\":\"\"");
	assert_decisions(objects, "10.0.0.1", "10.0.0.2",
			 "allow default, deny admin (closed pods)/closed");
	assert_decisions(objects, "10.0.0.2", "10.0.0.1",
			 "deny admin (closed pods)/closed, allow default");
	objects_close(objects);
}

/* A node adds segments for new labels to a policy that isolates pods by their label. */
static void closed_pods_leave_room_for_others(void **state)
{
	struct objects *objects = objects_open(NULL, &ops, &(struct heard){0});
	static struct label label = {"app", "novel"};
	struct address address = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 9}};
	const struct endpoint endpoint = {.ns_name = "a",
					  .name = "novel",
					  .labels = {&label, 1},
					  .addresses = &address,
					  .n_addresses = 1};
	struct extend job = {.endpoints = &endpoint, .n = 1};
	struct policy *policy, *extended;
	struct diag diag = {.to = stderr};

	(void)state;
	assert_non_null(objects);
	take_labelled(objects, "x", "10.0.0.1", "");
	take_labelled(objects, "y", "10.0.0.2", ",\"bulkhead.dev\\/closed\":\"\"");
	take_baseline(objects, "ADDED", "default", "novel", "x");
	assert_int_equal(objects_compile(objects, NULL, &diag, &policy), 0);
	job.policy = policy;
	assert_int_equal(policy_extend(&job, &extended), 0);
	assert_int_equal(extended->n_segments, policy->n_segments + 1);
	policy_free(extended);
	policy_free(policy);
	objects_close(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_each_change_once),
		cmocka_unit_test(other_objects_count_too),
		cmocka_unit_test(one_baseline_counts),
		cmocka_unit_test(an_aside_costs_no_compile),
		cmocka_unit_test(a_slice_puts_its_service_aside),
		cmocka_unit_test(a_service_needs_no_compile),
		cmocka_unit_test(many_names_stand_once),
		cmocka_unit_test(closed_pods_have_two_rules),
		cmocka_unit_test(closed_pods_leave_room_for_others),
	};

	return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
