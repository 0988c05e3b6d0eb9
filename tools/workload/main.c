// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clusters to measure with, at any scale. Each comes out the same every time.
 *
 *   tenants    25,000 namespaces of 4 pods: default-deny, and two policies that let
 *              app-1 reach app-1 and app-2 reach app-2
 *   apps       100 namespaces of 1,000 pods: default-deny, and 100 policies that
 *              let app-i reach app-i
 *   same       10,000 pods, 10,000 policies that all select all of them, as
 *              subjects and as peers
 *   pairs      10,000 pods in 5,000 pairs, a policy a pod that admits its partner
 *   companies  1,000 namespaces of 100 pods, 10 policies each with peers in the 10
 *              namespaces of the same company; 100 AdminNetworkPolicies of 20
 *              rules (at any scale) and a BaselineAdminNetworkPolicy
 *   node       POLICIES policies over ENDPOINTS pods of two addresses in namespaces
 *              of 100; ns-0/pod-0 and its client ns-0/pod-1 are on node "bench", and
 *              pod-1 may reach pod-0 at TCP 5000 and at RANGES ranges of ten UDP ports
 *              from 1000 on
 */
#include "tools/workload/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct printer *print;
static uint32_t pods;

const char *pod_ipv4(const struct pod *pod, char text[IPV4_TEXT])
{
	snprintf(text, IPV4_TEXT, "10.%u.%u.%u", pod->number >> 16 & 255, pod->number >> 8 & 255,
		 pod->number & 255);
	return text;
}

const char *pod_ipv6(const struct pod *pod, char text[IPV6_TEXT])
{
	snprintf(text, IPV6_TEXT, "fd00::%x:%x", pod->number >> 16, pod->number & 0xffff);
	return text;
}

static struct pair pair(const char *key, const char *word, int number)
{
	struct pair pair;

	snprintf(pair.key, sizeof(pair.key), "%s", key);
	snprintf(pair.value, sizeof(pair.value), "%s-%d", word, number);
	return pair;
}

static void add_ns(int ns, const struct pair *label)
{
	char name[20];

	snprintf(name, sizeof(name), "ns-%d", ns);
	print->ns(name, label);
}

static void add_pod(int ns, int number, struct pair label)
{
	struct pod pod = {.label = label, .node = "worker-1", .number = ++pods};

	snprintf(pod.ns, sizeof(pod.ns), "ns-%d", ns);
	snprintf(pod.name, sizeof(pod.name), "pod-%d", number);
	print->pod(&pod);
}

static void add_policy(int ns, const char *word, int number, struct policy policy)
{
	snprintf(policy.ns, sizeof(policy.ns), "ns-%d", ns);
	snprintf(policy.name, sizeof(policy.name), "%s-%d", word, number);
	print->policy(&policy);
}

static void add_deny(int ns)
{
	add_policy(ns, "deny", 0, (struct policy){.deny = true});
}

static void tenants(int percent)
{
	for (int ns = 0; ns < 250 * percent; ns++) {
		add_ns(ns, &(struct pair){0});
		for (int i = 0; i < 4; i++)
			add_pod(ns, i, pair("app", "app", 1 + i % 2));
		add_deny(ns);
		for (int i = 1; i <= 2; i++)
			add_policy(ns, "app", i,
				   (struct policy){.subject = pair("app", "app", i),
						   .peer.pods = pair("app", "app", i)});
	}
}

static void apps(int percent)
{
	for (int ns = 0; ns < percent; ns++) {
		add_ns(ns, &(struct pair){0});
		for (int i = 0; i < 1000; i++)
			add_pod(ns, i, pair("app", "app", i % 100));
		add_deny(ns);
		for (int i = 0; i < 100; i++)
			add_policy(ns, "app", i,
				   (struct policy){.subject = pair("app", "app", i),
						   .peer.pods = pair("app", "app", i)});
	}
}

static void same(int percent)
{
	add_ns(0, &(struct pair){0});
	for (int i = 0; i < 100 * percent; i++)
		add_pod(0, i, pair("app", "app", 1));
	for (int i = 0; i < 100 * percent; i++)
		add_policy(0, "all", i,
			   (struct policy){.subject = pair("app", "app", 1),
					   .peer.pods = pair("app", "app", 1)});
}

static void pairs(int percent)
{
	add_ns(0, &(struct pair){0});
	for (int i = 0; i < 100 * percent; i++)
		add_pod(0, i, pair("name", "pod", i));
	for (int i = 0; i < 100 * percent; i++)
		add_policy(0, "pair", i,
			   (struct policy){.subject = pair("name", "pod", i),
					   .peer.pods = pair("name", "pod", i ^ 1)});
}

/* Adds an AdminNetworkPolicy: half of them are about everybody, half about one company. */
static void add_admin(int number, int n_companies)
{
	static const char *const actions[] = {"Deny", "Allow", "Pass"};
	struct admin_policy policy = {.priority = number, .n_rules = 20};

	snprintf(policy.name, sizeof(policy.name), "admin-%d", number);
	if (number % 2)
		policy.subject = pair("company", "company", number % n_companies);
	for (int i = 0; i < policy.n_rules; i++) {
		policy.rules[i] = (struct admin_rule){
			.action = actions[(number + i) % 3],
			.ns = pair("company", "company", (number * 7 + i * 3) % n_companies),
		};
		if (i % 2)
			policy.rules[i].ports =
				(struct port_ranges){1000 + number, 1, 1 + i % 4, false};
	}
	print->admin(&policy);
}

static void companies(int percent)
{
	int n_companies = percent;

	for (int ns = 0; ns < 10 * percent; ns++) {
		struct pair company = pair("company", "company", ns / 10);

		add_ns(ns, &company);
		for (int i = 0; i < 100; i++)
			add_pod(ns, i, pair("app", "app", i % 10));
		for (int i = 0; i < 10; i++)
			add_policy(
				ns, "app", i,
				(struct policy){.subject = pair("app", "app", i),
						.peer = {true, company,
							 pair("app", "app", (ns + 3 * i) % 10)}});
	}
	for (int i = 0; i < 100; i++)
		add_admin(i, n_companies);
	print->admin(&(struct admin_policy){
		.name = "default", .priority = -1, .rules = {{.action = "Deny"}}, .n_rules = 1});
}

static void add_node_pod(uint32_t number)
{
	struct pod pod = {.node = "worker-1", .number = number + 1, .ipv6 = true};

	snprintf(pod.ns, sizeof(pod.ns), "ns-%u", number / 100);
	snprintf(pod.name, sizeof(pod.name), "pod-%u", number % 100);
	if (number < 2) {
		pod.node = "bench";
		pod.interface = number ? "bench1" : "bench0";
		pod.label = pair("app", number ? "client" : "server", 0);
	} else {
		pod.label = pair("app", "app", number % 10);
	}
	print->pod(&pod);
}

/* The server's own policy comes first. The others have other ports, so that no two are equal. */
static void node(uint32_t n_policies, uint32_t n_endpoints, uint16_t n_ranges)
{
	uint32_t n_ns = (n_endpoints + 99) / 100;

	for (uint32_t ns = 0; ns < n_ns; ns++)
		add_ns(ns, &(struct pair){0});
	for (uint32_t i = 0; i < n_endpoints; i++)
		add_node_pod(i);
	add_policy(0, "server", 0,
		   (struct policy){.subject = pair("app", "server", 0),
				   .peer.pods = pair("app", "client", 0),
				   .ports = {1000, 10, n_ranges, true}});
	add_policy(0, "server", 1,
		   (struct policy){.subject = pair("app", "server", 0),
				   .peer.pods = pair("app", "client", 0),
				   .ports = {5000, 10, 1, false}});
	for (uint32_t i = 0; i + 2 < n_policies; i++) {
		uint32_t turn = i / n_ns;

		add_policy(i % n_ns, "policy", turn,
			   (struct policy){.subject = pair("app", "app", turn % 10),
					   .peer.pods = pair("app", "app", turn / 10 % 10),
					   .ports = {1000 + turn / 100, 1, 1, false}});
	}
}

static const struct {
	const char *name;
	void (*make)(int percent);
} workloads[] = {
	{"tenants", tenants}, {"apps", apps},		{"same", same},
	{"pairs", pairs},     {"companies", companies},
};

static int usage(void)
{
	fprintf(stderr, "usage: workload tenants|apps|same|pairs|companies PERCENT FORMAT\n"
			"       workload node POLICIES ENDPOINTS RANGES FORMAT\n"
			"FORMAT is yaml, json or ini; the cluster goes to standard output.\n");
	return 2;
}

static const struct printer *printer_named(const char *format)
{
	if (strcmp(format, "yaml") == 0)
		return &print_yaml;
	if (strcmp(format, "json") == 0)
		return &print_json;
	return strcmp(format, "ini") == 0 ? &print_ini : NULL;
}

static bool make(int argc, char **argv)
{
	int numbers[3] = {0};

	for (int i = 0; i < 3 && i + 3 < argc; i++) {
		numbers[i] = atoi(argv[i + 2]);
		if (numbers[i] < 1)
			return false;
	}
	if (argc == 6 && strcmp(argv[1], "node") == 0) {
		node(numbers[0], numbers[1], numbers[2]);
		return true;
	}
	for (size_t i = 0; argc == 4 && i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (strcmp(argv[1], workloads[i].name) == 0) {
			workloads[i].make(numbers[0]);
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	print = argc > 2 ? printer_named(argv[argc - 1]) : NULL;
	if (!print)
		return usage();
	print->begin();
	if (!make(argc, argv))
		return usage();
	print->end();
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
