// SPDX-License-Identifier: GPL-2.0-only
/* lint()'s findings as values: each check has a policy with the finding and one without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/lint.h"
#include "compile/suffix.h"
#include "input/input.h"

/* The comments count the lines that findings are at. */
static const char world[] = "[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n"
			    "[endpoint shop/web]\nip = 10.0.0.2\nlabels = role=web\n"
			    "[network-policy shop/fine]\nendpoints = role=db\n"
			    "ingress = from endpoints(role=web) ports TCP/80\n"
			    "[network-policy shop/nobody]\nendpoints = role=none\n" /* 10 */
			    "[network-policy shop/peerless]\nendpoints = role=db\n" /* 12 */
			    "ingress = from endpoints(role=none) ports TCP/81\n"
			    "[network-policy shop/portless]\nendpoints = role=db\n" /* 15 */
			    "ingress = from endpoints(role=web) ports nothing\n"
			    "[network-policy shop/block]\nendpoints = role=db\n" /* 18 */
			    "ingress = from cidr(10.0.0.0/24) ports TCP/82\n"
			    "[network-policy shop/othername]\nendpoints = role=db\n" /* 21 */
			    "ingress = from endpoints(role=web) ports UDP/sql\n"
			    "[endpoint shop/sql]\nip = 10.0.1.1\nport = sql TCP/5432\n";

struct found {
	struct lint_findings findings;
	struct cluster cluster;
	struct policy *policy;
};

/* In the form of the Public Suffix List. */
static const char list[] = "// ===BEGIN ICANN DOMAINS===\n"
			   "uk\nco.uk\n*.ck\n!www.ck\nk12.ca.us\n"
			   "// ===END ICANN DOMAINS===\n"
			   "// ===BEGIN PRIVATE DOMAINS===\n"
			   "*.compute.rented.example\npages.hosted.example // a comment\n"
			   "// ===END PRIVATE DOMAINS===\n";

static void look(const char *text, struct found *found)
{
	struct diag diag = {.to = stderr};

	*found = (struct found){0};
	cluster_init(&found->cluster);
	assert_int_equal(input_parse_ini(&found->cluster, text, strlen(text), "world.ini", &diag),
			 0);
	assert_int_equal(cluster_finish(&found->cluster, &diag), 0);
	assert_int_equal(compile_cluster(&found->cluster, NULL, &diag, &found->policy), 0);
	assert_int_equal(lint(&found->cluster, found->policy, list, &found->findings), 0);
}

static void found_free(struct found *found)
{
	lint_free(&found->findings);
	policy_free(found->policy);
	cluster_free(&found->cluster);
}

static const struct lint_finding *find(const struct found *found, const char *check,
				       const char *object)
{
	for (size_t i = 0; i < found->findings.n; i++)
		if (!strcmp(found->findings.at[i].check, check) &&
		    !strcmp(found->findings.at[i].object, object))
			return &found->findings.at[i];
	return NULL;
}

static void each_check(void **state)
{
	static const struct {
		const char *check, *object, *text;
		unsigned int line;
	} wanted[] = {
		{"no-subject", "shop/nobody",
		 "selects no endpoint: no endpoint in shop has role=none", 10},
		{"no-peer", "shop/peerless/ingress[0]",
		 "peer 0 selects nothing: no endpoint in shop has role=none", 14},
		{"no-port", "shop/portless/ingress[0]", "no endpoint names a port `nothing`", 17},
		{"no-port", "shop/othername/ingress[0]",
		 "no endpoint names a port `sql` of UDP, but one of TCP", 23},
		{"block-covers-pods", "shop/block/ingress[0]",
		 "10.0.0.0/24 covers shop/db: endpoints in it, 2 in all, match whatever their "
		 "labels",
		 20},
	};
	struct found found;

	(void)state;
	look(world, &found);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct lint_finding *finding =
			find(&found, wanted[i].check, wanted[i].object);

		assert_non_null(finding);
		assert_string_equal(finding->text, wanted[i].text);
		assert_string_equal(finding->where.file, "world.ini");
		assert_int_equal(finding->where.line, wanted[i].line);
	}
	for (size_t i = 0; i < found.findings.n; i++)
		assert_null(strstr(found.findings.at[i].object, "fine"));
	found_free(&found);
}

/* What a selector or a port's name was probably meant to be. */
static void what_was_meant(void **state)
{
	static const char typos[] = "[namespace shop]\nlabels = team=blue\n"
				    "[node n1]\nip = 192.0.2.1\nlabels = zone=east\n"
				    "[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n"
				    "port = sql TCP/5432\n"
				    "[endpoint other/web]\nip = 10.0.0.2\nlabels = role=web\n"
				    "[endpoint other/agent]\nip = 192.0.2.1\nnode = n1\n"
				    "host-network = yes\nlabels = role=agent\n"
				    "[admin-network-policy p]\npriority = 5\n";
	static const struct {
		const char *line, *check, *text;
	} wanted[] = {
		{"ingress = Allow from endpoints(role=wbe in namespaces())", "no-peer",
		 "peer 0 selects nothing: no endpoint has role=wbe; did you mean `web`?"},
		{"ingress = Allow from endpoints(rolle=web in namespaces())", "no-peer",
		 "peer 0 selects nothing: no endpoint has rolle=web; did you mean `role`?"},
		{"ingress = Allow from endpoints(rolle in namespaces())", "no-peer",
		 "peer 0 selects nothing: no endpoint has a wanted rolle; did you mean `role`?"},
		{"ingress = Allow from endpoints(role in (x, y) in namespaces())", "no-peer",
		 "peer 0 selects nothing: no endpoint has a wanted role"},
		{"ingress = Allow from namespaces(team=bleu)", "no-peer",
		 "peer 0 selects nothing: no namespace has team=bleu; did you mean `blue`?"},
		{"egress = Allow to nodes(zone=easy)", "no-peer",
		 "peer 0 selects nothing: no node has zone=easy; did you mean `east`?"},
		/* each label is some endpoint's, and no endpoint has both */
		{"ingress = Allow from endpoints(role=web, role=db in namespaces())", "no-peer",
		 "peer 0 selects nothing"},
		{"ingress = Allow from namespaces() ports sqll", "no-port",
		 "no endpoint names a port `sqll`; did you mean `sql`?"},
		{"ingress = Allow from namespaces() ports http", "no-port",
		 "no endpoint names a port `http`"},
		{"ingress = Allow from endpoints(role=agent in namespaces())", "no-peer",
		 "peer 0 selects nothing: only hostNetwork pods have these labels, and they are "
		 "their node"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct lint_finding *finding;
		struct found found;
		char text[1000], name[100];

		snprintf(text, sizeof(text), "%ssubject = namespaces()\n%s\n", typos,
			 wanted[i].line);
		snprintf(name, sizeof(name), "p/%.*s[0]", (int)strcspn(wanted[i].line, " "),
			 wanted[i].line);
		look(text, &found);
		finding = find(&found, wanted[i].check, name);
		print_message("# %s\n", wanted[i].line);
		assert_non_null(finding);
		assert_string_equal(finding->text, wanted[i].text);
		found_free(&found);
	}
}

static void nothing(void **state)
{
	struct found found;

	(void)state;
	look("[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n"
	     "[endpoint shop/web]\nip = 10.0.0.2\nlabels = role=web\n"
	     "[network-policy shop/fine]\nendpoints = role=db\n"
	     "ingress = from endpoints(role=web) ports TCP/80\n",
	     &found);
	assert_int_equal(found.findings.n, 0);
	found_free(&found);
}

static void flow_classes_of_suffixes(void **state)
{
	static const struct {
		const char *name;
		enum suffix_kind with, without; /* the list */
	} wanted[] = {
		{"com", SUFFIX_PUBLIC, SUFFIX_PUBLIC},
		{"uk", SUFFIX_PUBLIC, SUFFIX_PUBLIC},
		{"co.uk", SUFFIX_PUBLIC, SUFFIX_PUBLIC},
		{"com.au", SUFFIX_PUBLIC, SUFFIX_PUBLIC},
		{"ca.us", SUFFIX_PUBLIC, SUFFIX_OWN}, /* above k12.ca.us */
		{"k12.ca.us", SUFFIX_PUBLIC, SUFFIX_OWN},
		{"x.ck", SUFFIX_PUBLIC, SUFFIX_OWN}, /* of *.ck */
		{"www.ck", SUFFIX_OWN, SUFFIX_OWN}, /* its exception */
		{"x.www.ck", SUFFIX_OWN, SUFFIX_OWN},
		{"amazonaws.com", SUFFIX_SHARED, SUFFIX_SHARED},
		{"api.amazonaws.com", SUFFIX_OWN, SUFFIX_OWN},
		{"notamazonaws.com", SUFFIX_OWN, SUFFIX_OWN},
		{"azure.com", SUFFIX_SHARED, SUFFIX_SHARED}, /* above cloudapp.azure.com */
		{"rented.example", SUFFIX_SHARED, SUFFIX_OWN},
		{"compute.rented.example", SUFFIX_SHARED, SUFFIX_OWN},
		{"eu.compute.rented.example", SUFFIX_SHARED, SUFFIX_OWN},
		{"a.eu.compute.rented.example", SUFFIX_OWN, SUFFIX_OWN},
		{"pages.hosted.example", SUFFIX_SHARED, SUFFIX_OWN},
		{"ages.hosted.example", SUFFIX_OWN, SUFFIX_OWN},
		{"example.com", SUFFIX_OWN, SUFFIX_OWN},
		{"svc.example.org", SUFFIX_OWN, SUFFIX_OWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		print_message("# %s\n", wanted[i].name);
		assert_int_equal(suffix_kind(list, wanted[i].name), wanted[i].with);
		assert_int_equal(suffix_kind(NULL, wanted[i].name), wanted[i].without);
	}
}

#define NAMES_WORLD "[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n" /* 3 lines */
#define NAMES                                                                                \
	"[cluster-network-policy out]\ntier = Admin\npriority = 5\nsubject = namespaces()\n" \
	"egress = Accept to names(%s) ports TCP/443\n" /* line 8 */
#define DENY "egress = Deny to cidr(0.0.0.0/0), cidr(::/0)\n"
#define DNS "egress = Accept to cidr(10.0.0.2/32) ports UDP/53\n"

static void rules_by_names(void **state)
{
	static const struct {
		const char *names, *after, *check, *text; /* check NULL: no finding */
		unsigned int line;
	} wanted[] = {
		{"api.example.com, *.svc.example.org", DNS DENY, NULL, NULL, 0},
		{"co.uk, com.au", DNS DENY, NULL, NULL, 0}, /* no wildcards */
		{"a.io", DNS "egress = Deny to cidr(0.0.0.0/0)\n", NULL, NULL, 0},
		{"api.example.com, *.com", DNS DENY, "public-suffix",
		 "*.com allows strangers' hosts: anybody can register a name below com", 8},
		{"*.k12.ca.us", DNS DENY, "public-suffix",
		 "*.k12.ca.us allows strangers' hosts: anybody can register a name below k12.ca.us",
		 8},
		{"*.amazonaws.com", DNS DENY, "shared-host",
		 "*.amazonaws.com allows strangers' hosts: every customer of the provider has "
		 "names "
		 "below amazonaws.com",
		 8},
		{"a.io", DENY, "no-dns",
		 "its pods may call hosts by name, and may send no DNS query: nobody lets them at "
		 "UDP/53",
		 4},
		{"a.io", DNS, "names-no-deny",
		 "allows names to pods that reach every address anyway: no rule denies them the "
		 "others",
		 8},
		{"a.io", "egress = Deny to cidr(0.0.0.0/0), cidr(::/0) ports TCP/80\n",
		 "names-no-deny",
		 "allows names to pods that reach every address anyway: no rule denies them the "
		 "others",
		 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char text[1000];
		struct found found;

		snprintf(text, sizeof(text), NAMES_WORLD NAMES "%s", wanted[i].names,
			 wanted[i].after);
		look(text, &found);
		for (size_t k = 0; k < found.findings.n; k++)
			print_message("# row %zu: %s\n", i, found.findings.at[k].text);
		assert_int_equal(found.findings.n, !!wanted[i].check);
		if (wanted[i].check) {
			assert_string_equal(found.findings.at[0].check, wanted[i].check);
			assert_string_equal(found.findings.at[0].text, wanted[i].text);
			assert_int_equal(found.findings.at[0].where.line, wanted[i].line);
		}
		found_free(&found);
	}
}

/* So many policies of 100,000 addresses each, beside one of one address. */
static void look_at_large(unsigned int n, struct found *found)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to, "[endpoint big/db]\nip = 10.0.0.1\n[network-policy big/a]\n"
		    "ingress = from cidr(20.0.0.0/8)\n");
	for (unsigned int i = 0; i < n; i++) {
		fprintf(to, "[network-policy big/p%u]\nendpoints = role=none\n", i);
		for (unsigned int k = 0; k < 100000; k++)
			fprintf(to, "ingress = from cidr(20.%u.%u.%u/32)\n", k >> 16, k >> 8 & 255,
				k & 255);
	}
	fclose(to);
	look(text, found);
	free(text);
}

/* An engine keeps 64 MiB of a namespace: lint says beforehand that there is more, and where. */
static void says_what_finds_no_room(void **state)
{
	const struct lint_finding *finding;
	struct found found;

	(void)state;
	look_at_large(1, &found);
	assert_null(find(&found, "over-budget", "big/a"));
	for (size_t i = 0; i < found.findings.n; i++)
		assert_null(strstr(found.findings.at[i].text, "of an engine's memory"));
	found_free(&found);
	look_at_large(2, &found);
	finding = NULL;
	for (size_t i = 0; i < found.findings.n; i++)
		if (strstr(found.findings.at[i].text, "of an engine's memory"))
			finding = &found.findings.at[i];
	assert_non_null(finding);
	assert_string_equal(finding->check, "over-budget");
	assert_string_equal(finding->object, "big/p0");
	assert_non_null(strstr(finding->text, "the limit is 65536"));
	found_free(&found);
}

/* Counts the findings about room of objects of a namespace, or of all namespaces; *@text: the last
 * one's. */
static size_t count_room(const struct found *found, const char *ns, const char **text)
{
	size_t n = 0;

	for (size_t i = 0; i < found->findings.n; i++) {
		const struct lint_finding *at = &found->findings.at[i];

		if (!strstr(at->text, "of an engine's memory") ||
		    (ns && strncmp(at->object, ns, strlen(ns))))
			continue;
		*text = at->text;
		n++;
	}
	return n;
}

#define MIB_LABELS 2400 /* so many of these labels take 1.003 MiB */

/* Looks at Pods, one in each namespace, of which pod @i has @labels[@i] labels. All labels are the
 * same few bytes. */
static void look_at_pods(const char *text, const size_t *labels, struct found *found)
{
	static struct label same[70 * MIB_LABELS];
	struct labels before[8];
	struct cluster *cluster = &found->cluster;
	struct endpoint *pods;
	size_t n;

	look(text, found);
	lint_free(&found->findings);
	found->findings = (struct lint_findings){0};
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		same[i] = (struct label){"app", "database"};
	pods = cluster->n_expected ? cluster->expected : cluster->endpoints;
	n = cluster->n_expected ? cluster->n_expected : cluster->n_endpoints;
	for (size_t i = 0; i < n; i++) {
		before[i] = pods[i].labels;
		pods[i].labels.at = same;
		pods[i].labels.n = labels[i];
	}
	assert_int_equal(lint(cluster, found->policy, list, &found->findings), 0);
	for (size_t i = 0; i < n; i++)
		pods[i].labels = before[i];
}

/* A Pod without an address counts for its namespace, and one with an address does not. */
static void pods_without_addresses_count(void **state)
{
	const size_t labels[] = {66 * MIB_LABELS};
	const char *said = NULL;
	struct found found;

	(void)state;
	look_at_pods("[endpoint big/waits]\nnode = worker-1\n", labels, &found);
	assert_int_equal(count_room(&found, "big/waits", &said), 1);
	assert_non_null(strstr(said, "the limit is 65536: the engine refuses"));
	found_free(&found);
	look_at_pods("[endpoint big/runs]\nnode = worker-1\nip = 10.0.0.1\n", labels, &found);
	assert_int_equal(count_room(&found, NULL, &said), 0);
	found_free(&found);
}

/* While the objects of all namespaces take more than 256 MiB, none gets more than 4. */
static void all_namespaces_have_a_limit(void **state)
{
	static const char pods[] = "[endpoint a/waits]\nnode = worker-1\n"
				   "[endpoint b/waits]\nnode = worker-1\n"
				   "[endpoint c/waits]\nnode = worker-1\n"
				   "[endpoint d/waits]\nnode = worker-1\n"
				   "[endpoint e/waits]\nnode = worker-1\n"
				   "[endpoint f/waits]\nnode = worker-1\n";
	size_t labels[] = {55 * MIB_LABELS, 55 * MIB_LABELS, 55 * MIB_LABELS,
			   55 * MIB_LABELS, 55 * MIB_LABELS, 3 * MIB_LABELS};
	const char *said = NULL;
	struct found found;

	(void)state;
	look_at_pods(pods, labels, &found);
	assert_int_equal(count_room(&found, NULL, &said), 5);
	assert_int_equal(count_room(&found, "f/", &said), 0);
	assert_non_null(strstr(said, "the limit is 4096 while those of all namespaces take more "
				     "than 262144, and they take "));
	found_free(&found);
	labels[0] = 30 * MIB_LABELS;
	look_at_pods(pods, labels, &found);
	assert_int_equal(count_room(&found, NULL, &said), 0);
	found_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_check),
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(says_what_finds_no_room),
		cmocka_unit_test(nothing),
		cmocka_unit_test(flow_classes_of_suffixes),
		cmocka_unit_test(rules_by_names),
		cmocka_unit_test(pods_without_addresses_count),
		cmocka_unit_test(all_namespaces_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
