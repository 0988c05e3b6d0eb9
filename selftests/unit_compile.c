// SPDX-License-Identifier: GPL-2.0-only
/*
 * The segment compiler: which endpoints share a segment, which IDs a successor keeps, and that only
 * the objects decide the bytes. diff_policy checks the verdicts against the oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "compile/update.h"
#include "policy/evaluate.h"
#include "input/input.h"
#include "maps/blob.h"
#include "maps/segment.h"

/* clang-format off */
#define NAMESPACE(name, labels) \
	"{apiVersion: v1, kind: Namespace, metadata: {name: " name ", labels: {" labels "}}}\n---\n"
#define POD_PORTS(ns, name, ip, labels, ports)                                            \
	"{apiVersion: v1, kind: Pod, metadata: {namespace: " ns ", name: " name           \
	", labels: {" labels "}}, spec: {nodeName: n1, containers: [{name: c, ports: ["   \
	ports "]}]}, status: {phase: Running, podIP: " ip "}}\n---\n"
#define POD(ns, name, ip, labels) POD_PORTS(ns, name, ip, labels, "")
#define POLICY(ns, name, spec)                                                             \
	"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: " ns \
	", name: " name "}, spec: {" spec "}}\n---\n"
#define ADMIN(name, spec)                                                                  \
	"{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, "       \
	"metadata: {name: " name "}, spec: {" spec "}}\n---\n"
/* clang-format on */

static struct policy *compile(const char *const *texts, const struct policy *base)
{
	struct diag diag = {.to = NULL};
	struct policy *policy = NULL;
	struct cluster cluster;
	void *bytes;
	size_t size;

	cluster_init(&cluster);
	for (; *texts; texts++)
		assert_int_equal(input_parse_yaml(&cluster, *texts, strlen(*texts), "test", &diag),
				 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	assert_int_equal(compile_cluster(&cluster, base, &diag, &policy), 0);
	cluster_free(&cluster);
	/* A successor needs its base's checksum, which blob_write() computes. */
	assert_int_equal(blob_write(policy, &bytes, &size), 0);
	free(bytes);
	return policy;
}

#define COMPILE(base, ...) compile((const char *const[]){__VA_ARGS__, NULL}, base)

static const struct policy_address *address_of(const struct policy *policy, const char *ns,
					       const char *name, unsigned int i)
{
	const struct policy_endpoint *endpoint = policy_endpoint_by_name(policy, ns, name);

	assert_non_null(endpoint);
	assert_true(i < endpoint->addresses.n);
	return &policy->addresses[policy->endpoint_addresses[endpoint->addresses.at + i]];
}

static const struct policy_segment *segment_of(const struct policy *policy, const char *ns,
					       const char *name)
{
	return &policy->segments[address_of(policy, ns, name, 0)->segment];
}

static size_t count_segments(const struct policy *policy, bool external)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_segments; i++)
		n += !policy->segments[i].delete_generation &&
		     external == !!(policy->segments[i].flags & BH_SEGMENT_EXTERNAL);
	return n;
}

static const char pods[] = POD("a", "web-1", "10.0.0.1", "app: web, pod: '1'")
	POD("a", "web-2", "10.0.0.2", "app: web, pod: '2'") POD("a", "db", "10.0.0.3", "app: db")
		POD("b", "web", "10.0.0.4", "app: web");

static void shares_segments(void **state)
{
	struct policy *policy =
		COMPILE(NULL, pods,
			POLICY("a", "db",
			       "podSelector: {matchLabels: {app: db}}, ingress: [{from: "
			       "[{podSelector: {matchLabels: {app: web}}}]}]"));

	(void)state;
	assert_ptr_equal(segment_of(policy, "a", "web-1"), segment_of(policy, "a", "web-2"));
	assert_ptr_not_equal(segment_of(policy, "a", "web-1"), segment_of(policy, "a", "db"));
	/* The same labels in a namespace that no rule selects: no rule matches. */
	assert_ptr_not_equal(segment_of(policy, "a", "web-1"), segment_of(policy, "b", "web"));
	assert_int_equal(count_segments(policy, false), 3);
	assert_int_equal(count_segments(policy, true), 1);
	policy_free(policy);
}

static void one_segment_without_policy(void **state)
{
	struct policy *policy = COMPILE(NULL, pods);

	(void)state;
	assert_int_equal(count_segments(policy, false), 1);
	assert_int_equal(segment_of(policy, "a", "db")->flags, 0);
	assert_int_equal(policy->n_pairs, 0);
	policy_free(policy);
}

static void tells_addresses_apart(void **state)
{
	static const char dual[] =
		"{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: dual}, spec: {}, "
		"status: {phase: Running, podIPs: [{ip: 10.9.0.1}, {ip: 'fd00::1'}]}}\n---\n";
	struct policy *policy =
		COMPILE(NULL, pods, dual,
			POLICY("a", "db",
			       "podSelector: {matchLabels: {app: db}}, ingress: [{from: "
			       "[{ipBlock: {cidr: 10.9.0.0/16, except: [10.9.9.0/24]}}]}]"));
	const struct policy_segment *inside, *except;
	struct address address;

	(void)state;
	assert_int_not_equal(address_of(policy, "a", "dual", 0)->segment,
			     address_of(policy, "a", "dual", 1)->segment);
	assert_int_equal(address_parse("10.9.1.1", &address), 0);
	inside = policy_prefix_find(policy, &address);
	assert_int_equal(address_parse("10.9.9.1", &address), 0);
	except = policy_prefix_find(policy, &address);
	assert_ptr_not_equal(inside, except);
	assert_int_equal(address_parse("203.0.113.1", &address), 0);
	assert_ptr_equal(policy_prefix_find(policy, &address), except);
	assert_int_equal(count_segments(policy, true), 2);
	policy_free(policy);
}

/* A CIDR of IPv6 is not around mapped IPv4 addresses. */
static void keeps_versions_apart(void **state)
{
	struct policy *policy = COMPILE(NULL, pods,
					POLICY("a", "db",
					       "podSelector: {matchLabels: {app: db}}, ingress: "
					       "[{from: [{ipBlock: {cidr: '::/0'}}]}]"));
	struct address ipv4, ipv6;

	(void)state;
	assert_int_equal(address_parse("203.0.113.1", &ipv4), 0);
	assert_int_equal(address_parse("2001:db8::1", &ipv6), 0);
	assert_ptr_not_equal(policy_prefix_find(policy, &ipv4), policy_prefix_find(policy, &ipv6));
	policy_free(policy);
}

#define MANY_RELATED                                                                      \
	ADMIN("self", "priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, " \
		      "from: [{namespaces: {related: NotSelf}}]}]")

/* Each namespace is distinct from all others, yet the size does not multiply. */
static void relations_stay_small(void **state)
{
	char *text = NULL;
	struct policy *policy;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	for (int i = 0; i < 200; i++)
		fprintf(to, POD("ns%d", "p", "10.1.%d.1", ""), i, i);
	fclose(to);
	policy = COMPILE(NULL, text, MANY_RELATED);
	assert_int_equal(count_segments(policy, false), 200);
	assert_int_equal(policy->n_pairs, 200);
	policy_free(policy);
	free(text);
}

static void order_is_no_matter(void **state)
{
	static const char policies[] = POLICY("a", "one", "podSelector: {}, ingress: [{}]")
		POLICY("a", "two", "podSelector: {matchLabels: {app: db}}, policyTypes: [Egress]");
	static const char rest[] = NAMESPACE("b", "team: x") ADMIN(
		"guard",
		"priority: 3, subject: {namespaces: {}}, egress: [{action: Deny, to: "
		"[{namespaces: {matchLabels: {team: x}}}], ports: [{portNumber: {port: 1}}]}]");
	struct policy *one = COMPILE(NULL, pods, policies, rest);
	struct policy *two = COMPILE(NULL, rest, policies, pods);

	(void)state;
	assert_int_equal(one->checksum, two->checksum);
	policy_free(one);
	policy_free(two);
}

#define DB_FROM(peers) \
	POLICY("a", "db", "podSelector: {matchLabels: {app: db}}, ingress: [{from: [" peers "]}]")
#define DB_FROM_ALL POLICY("a", "more", "podSelector: {matchLabels: {other: x}}, ingress: [{}]")
#define WEB "{podSelector: {matchLabels: {app: web}}}"

static void unchanged_is_the_base(void **state)
{
	struct policy *base = COMPILE(NULL, pods, DB_FROM(WEB));
	struct policy *same = COMPILE(base, pods, DB_FROM(WEB));

	(void)state;
	assert_int_equal(same->generation, base->generation);
	assert_int_equal(same->checksum, base->checksum);
	policy_free(same);
	policy_free(base);
}

static void change_touches_what_changed(void **state)
{
	struct policy *base = COMPILE(NULL, pods, DB_FROM(WEB));
	struct policy *next = COMPILE(
		base, pods, DB_FROM(WEB),
		POLICY("b", "web", "podSelector: {}, ingress: [{from: [{podSelector: {}}]}]"));
	uint32_t deleted = segment_of(base, "b", "web")->id;
	size_t n = 0;

	(void)state;
	assert_int_equal(next->generation, base->generation + 1);
	assert_int_equal(next->parent, base->checksum);
	assert_int_equal(next->lineage, base->lineage);
	assert_int_equal(segment_of(next, "a", "db")->id, segment_of(base, "a", "db")->id);
	assert_int_equal(segment_of(next, "a", "web-1")->id, segment_of(base, "a", "web-1")->id);
	assert_int_equal(segment_of(next, "b", "web")->id, base->next_segment);
	assert_int_equal(segment_of(next, "b", "web")->create_generation, next->generation);
	for (size_t i = 0; i < next->n_segments; i++) {
		if (next->segments[i].id != deleted)
			continue;
		assert_int_equal(next->segments[i].delete_generation, next->generation);
		n++;
	}
	assert_int_equal(n, 1);
	policy_free(next);
	policy_free(base);
}

/* Counts the second policy's segments whose entries the first policy already has active. */
static size_t saved_as_they_are(const struct policy *base, const struct policy *next)
{
	size_t n = 0;

	for (size_t i = 0; i < base->n_segments; i++) {
		for (size_t j = 0; j < next->n_segments; j++) {
			const struct policy_segment *old = &base->segments[i];
			const struct policy_segment *new = &next->segments[j];

			if (old->id != new->id || old->delete_generation || new->delete_generation)
				continue;
			assert_int_equal(new->flags, old->flags);
			assert_int_equal(new->peer_own, old->peer_own);
			assert_int_equal(new->peer_common, old->peer_common);
			assert_memory_equal(new->own, old->own, sizeof(old->own));
			assert_memory_equal(new->common, old->common, sizeof(old->common));
			n++;
		}
	}
	return n;
}

static void first_peer_of_a_rule_changes_no_entry(void **state)
{
	struct policy *base = COMPILE(NULL, POD("a", "db", "10.0.0.3", "app: db"), DB_FROM(WEB));
	struct policy *next = COMPILE(base, pods, DB_FROM(WEB));

	(void)state;
	assert_int_equal(segment_of(next, "a", "db")->id, segment_of(base, "a", "db")->id);
	assert_true(next->n_pairs > base->n_pairs);
	assert_true(saved_as_they_are(base, next) > 1);
	policy_free(next);
	policy_free(base);
}

/* The first policy selects web by the same labels as a subject, but no rule has it as a peer. */
static void subject_that_becomes_a_peer_is_new(void **state)
{
	static const char web[] = POLICY("a", "web",
					 "podSelector: {matchLabels: {app: web}}, egress: [{to: "
					 "[{podSelector: {matchLabels: {app: db}}}]}]");
	struct policy *base = COMPILE(NULL, pods, web);
	struct policy *next = COMPILE(base, pods, web, DB_FROM(WEB));

	(void)state;
	assert_int_not_equal(segment_of(next, "a", "web-1")->id,
			     segment_of(base, "a", "web-1")->id);
	assert_int_equal(segment_of(next, "b", "web")->id, segment_of(base, "b", "web")->id);
	assert_true(saved_as_they_are(base, next) > 0);
	policy_free(next);
	policy_free(base);
}

static void ids_do_not_come_back(void **state)
{
	struct policy *base = COMPILE(NULL, pods, DB_FROM(WEB));
	struct policy *without = COMPILE(base, pods);
	struct policy *again = COMPILE(without, pods, DB_FROM(WEB));

	(void)state;
	assert_true(segment_of(again, "a", "db")->id >= without->next_segment);
	assert_int_equal(again->generation, base->generation + 2);
	policy_free(again);
	policy_free(without);
	policy_free(base);
}

/* The IDs of a policy's successors would be those that nodes have for segments of their own. */
static void used_up_ids_end_the_lineage(void **state)
{
	struct policy *base = COMPILE(NULL, pods, DB_FROM(WEB));
	const uint32_t *const next_ids[] = {&base->next_segment, &base->next_class,
					    &base->next_list, &base->next_resolution};

	(void)state;
	for (size_t i = 0; i < sizeof(next_ids) / sizeof(*next_ids); i++) {
		const uint32_t was = *next_ids[i];
		struct policy *early, *late;

		*(uint32_t *)next_ids[i] = BH_IDS_LOCAL / 2;
		early = COMPILE(base, pods, DB_FROM(WEB), DB_FROM_ALL);
		assert_int_equal(early->lineage, base->lineage);
		assert_int_equal(early->parent, base->checksum);
		*(uint32_t *)next_ids[i] = BH_IDS_LOCAL - 1000;
		late = COMPILE(base, pods, DB_FROM(WEB), DB_FROM_ALL);
		assert_int_not_equal(late->lineage, base->lineage);
		assert_int_equal(late->parent, 0);
		assert_int_equal(late->generation, base->generation + 1);
		assert_true(late->next_segment < BH_IDS_LOCAL / 2);
		assert_true(late->next_class < BH_IDS_LOCAL / 2);
		assert_true(late->next_list < BH_IDS_LOCAL / 2);
		assert_true(late->next_resolution < BH_IDS_LOCAL / 2);
		policy_free(early);
		policy_free(late);
		*(uint32_t *)next_ids[i] = was;
	}
	policy_free(base);
}

/* A pod that fits no segment gets one without a compile: not of a lineage that ends. */
static void used_up_ids_need_a_compile(void **state)
{
	struct policy *base = COMPILE(NULL, POD("a", "db", "10.0.0.3", "app: db"), DB_FROM(WEB));
	struct policy *next;
	struct diag diag = {0};
	struct cluster cluster;
	struct update_pod pod = {"a", "web", NULL};
	const struct update update = {.pods = &pod, .n_pods = 1, .extends = true};
	static const char text[] = POD("a", "web", "10.0.0.99", "app: web");
	const uint32_t was = base->next_segment;

	(void)state;
	cluster_init(&cluster);
	assert_int_equal(input_parse_yaml(&cluster, text, strlen(text), "test", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	pod.now = cluster.endpoints;
	assert_int_equal(policy_update(base, &update, &next), 0);
	policy_free(next);
	base->next_segment = BH_IDS_LOCAL - 1000;
	assert_int_equal(policy_update(base, &update, &next), -EOPNOTSUPP);
	base->next_segment = was;
	cluster_free(&cluster);
	policy_free(base);
}

#define HTTP(number) "{name: http, containerPort: " number "}"
#define NAMED_PODS(second)                                \
	POD_PORTS("a", "one", "10.0.0.1", "", HTTP("80")) \
	POD_PORTS("a", "two", "10.0.0.2", "", HTTP(second)) POD("a", "none", "10.0.0.3", "")
#define TO_HTTP POLICY("a", "http", "podSelector: {}, ingress: [{ports: [{port: http}]}]")

static void variations_count_per_segment(void **state)
{
	struct policy *base = COMPILE(NULL, NAMED_PODS("8080"), TO_HTTP);
	struct policy *next = COMPILE(base, NAMED_PODS("8081"), TO_HTTP);

	(void)state;
	/* One segment: a variation never affects matching. */
	assert_int_equal(count_segments(base, false), 1);
	assert_int_equal(address_of(base, "a", "none", 0)->variation, 0);
	assert_int_equal(segment_of(base, "a", "one")->variations.n, 2);
	assert_int_equal(segment_of(base, "a", "one")->next_variation, 3);
	assert_int_equal(segment_of(next, "a", "one")->id, segment_of(base, "a", "one")->id);
	assert_int_equal(address_of(next, "a", "one", 0)->variation,
			 address_of(base, "a", "one", 0)->variation);
	assert_int_equal(address_of(next, "a", "two", 0)->variation, 3);
	policy_free(next);
	policy_free(base);
}

/* No rule uses the port names of 1.0.0 and 2.0.0. */
#define NAMES(annotations)                                                              \
	"{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, "  \
	"metadata: {name: names, annotations: {" annotations "}}, spec: {tier: Admin, " \
	"priority: 1, subject: {namespaces: {}}, egress: [{action: Accept, to: "        \
	"[{domainNames: [api.example.com, www.example.com]}]}, {action: Deny, to: "     \
	"[{networks: ['0.0.0.0/0', '::/0']}]}]}}\n---\n"
#define OUT(ns, name, app)                                                           \
	POLICY(ns, name,                                                             \
	       "podSelector: {matchLabels: {app: " app "}}, policyTypes: [Egress], " \
	       "egress: [{to: [{podSelector: {matchLabels: {app: " app "}}}]}]")

/* Evaluates TCP/80 from one pod of namespace `a` to another, which it has learned by @domain. */
static struct decision egress_of(const struct policy *policy, const char *from, const char *to,
				 const char *domain)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow flow = {.source = address_of(policy, "a", from, 0)->address,
			    .destination = address_of(policy, "a", to, 0)->address,
			    .protocol = 6,
			    .port = 80,
			    .name = domain};
	struct decision egress, ingress;

	evaluate_flow(&source, policy, &flow, &egress, &ingress);
	return egress;
}

/* Subjects with the same broad rules share one segment by names, and so do names of the same rules,
 * however many pods and NetworkPolicies there are. */
static void names_share_a_segment(void **state)
{
	struct policy *plain = COMPILE(NULL, pods, OUT("a", "web", "web"), OUT("a", "db", "db"),
				       NAMES("") NAMESPACE("c", ""));
	const struct policy_segment *web = segment_of(plain, "a", "web-1");
	const struct policy_segment *db = segment_of(plain, "a", "db");

	(void)state;
	assert_ptr_not_equal(web, db);
	assert_ptr_not_equal(policy_by_domain(plain, "api.example.com", web), web);
	assert_ptr_equal(policy_by_domain(plain, "api.example.com", web),
			 policy_by_domain(plain, "www.example.com", db));
	assert_ptr_equal(policy_by_domain(plain, "example.com", web), web);
	assert_true(egress_of(plain, "web-1", "db", "api.example.com").allow);
	assert_false(egress_of(plain, "web-1", "db", "example.com").allow);
	assert_false(egress_of(plain, "web-1", "db", NULL).allow);
	policy_free(plain);
}

/* What an audited policy would deny depends on the rules of the other policies, too: the flow is
 * allowed by a NetworkPolicy, and would be by the name. */
static void names_count_in_audits(void **state)
{
	struct policy *policy =
		COMPILE(NULL, pods, OUT("a", "web", "web"), NAMES("bulkhead.dev/audit: 'true'"));
	struct decision by_name = egress_of(policy, "web-1", "web-2", "api.example.com");
	struct decision by_address = egress_of(policy, "web-1", "web-2", NULL);

	(void)state;
	assert_true(by_address.allow);
	assert_non_null(by_address.audit);
	assert_true(by_name.allow);
	assert_null(by_name.audit);
	policy_free(policy);
}

static void names_matter_where_rules_use_them(void **state)
{
	struct policy *policy = COMPILE(NULL, NAMED_PODS("8080"),
					POLICY("a", "all", "podSelector: {}, ingress: [{}]"));

	(void)state;
	assert_int_equal(segment_of(policy, "a", "one")->names.n, 0);
	assert_int_equal(policy->n_variations, 0);
	assert_int_equal(policy->n_named, 0);
	policy_free(policy);
}

/* The check of a policy's file finds two rules that have one ID, for instance. */
static void check_file(struct policy *policy)
{
	struct diag diag = {.to = stderr};
	struct policy *read = NULL;
	void *bytes;
	size_t size;

	assert_int_equal(blob_write(policy, &bytes, &size), 0);
	assert_int_equal(blob_read(bytes, size, NULL, &diag, &read), 0);
	assert_int_equal(read->checksum, policy->checksum);
	policy_free(read);
}

static void what_it_makes_passes_the_check(void **state)
{
	static const char unscheduled[] =
		"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}, spec: {"
		"hostNetwork: true, nodeName: ''}, status: {podIP: 192.168.7.1}}";
	struct policy *policy =
		COMPILE(NULL, NAMED_PODS("8080"), TO_HTTP, MANY_RELATED, unscheduled);

	(void)state;
	check_file(policy);
	policy_free(policy);
}

#define CHURN_RULES 12000
#define CHURN_NAMES 16

/* Returns the text of a policy with many rules, to free. */
static char *churned(unsigned int name)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: a, "
		"name: p%u}, spec: {ingress: [",
		name);
	for (unsigned int port = 1; port <= CHURN_RULES; port++)
		fprintf(to, "%s{ports: [{port: %u}]}", port > 1 ? ", " : "", port);
	fprintf(to, "]}}\n---\n");
	fclose(to);
	return text;
}

static uint32_t rule_of(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_rules; i++)
		if (!strcmp(policy_string(policy, policy->rules[i].policy), name))
			return policy->rules[i].id;
	return 0;
}

/* A policy comes again and again by a new name. The IDs of its rules do not grow for ever, since
 * the nodes count by them; a rule that stays keeps its ID. */
static void rules_of_new_names_use_ids_again(void **state)
{
	struct policy *policy = COMPILE(NULL, pods, DB_FROM(WEB));
	const uint32_t stays = rule_of(policy, "a/db");

	(void)state;
	assert_int_not_equal(stays, 0);
	for (unsigned int i = 0; i < CHURN_NAMES; i++) {
		char *text = churned(i);
		struct policy *next = COMPILE(policy, pods, DB_FROM(WEB), text);

		assert_int_equal(next->n_rules, CHURN_RULES + 1);
		assert_int_equal(rule_of(next, "a/db"), stays);
		check_file(next);
		policy_free(policy);
		policy = next;
		free(text);
	}
	assert_true(policy->next_rule < (1 << 17) + 2 * CHURN_RULES);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_segments),
		cmocka_unit_test(one_segment_without_policy),
		cmocka_unit_test(tells_addresses_apart),
		cmocka_unit_test(keeps_versions_apart),
		cmocka_unit_test(relations_stay_small),
		cmocka_unit_test(order_is_no_matter),
		cmocka_unit_test(unchanged_is_the_base),
		cmocka_unit_test(change_touches_what_changed),
		cmocka_unit_test(first_peer_of_a_rule_changes_no_entry),
		cmocka_unit_test(subject_that_becomes_a_peer_is_new),
		cmocka_unit_test(ids_do_not_come_back),
		cmocka_unit_test(used_up_ids_end_the_lineage),
		cmocka_unit_test(used_up_ids_need_a_compile),
		cmocka_unit_test(variations_count_per_segment),
		cmocka_unit_test(names_share_a_segment),
		cmocka_unit_test(names_count_in_audits),
		cmocka_unit_test(names_matter_where_rules_use_them),
		cmocka_unit_test(rules_of_new_names_use_ids_again),
		cmocka_unit_test(what_it_makes_passes_the_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
