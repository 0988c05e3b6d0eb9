// SPDX-License-Identifier: GPL-2.0-only
/*
 * Budgets: a policy or namespace that asks for too much is set aside closed. The compiled policy is
 * then byte for byte that of a cluster in which the same policies stand without rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/asides.h"
#include "policy/blob_file.h"
#include "compile/budget.h"
#include "compile/compile.h"
#include "policy/flow.h"
#include "policy/frontend.h"
#include "input/input.h"

/* Objects of the hostile namespace */

static void put_namespace(FILE *to, const char *name)
{
	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}\n",
		name);
}

/* @n: last two bytes of the address, and the value of the label n; @port: of the name http. */
static void put_pod(FILE *to, const char *ns, const char *app, unsigned int n, unsigned int port)
{
	const char *net = strcmp(ns, "evil") ? "10.0" : "10.1";

	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%u\","
		"\"namespace\":\"%s\",\"labels\":{\"app\":\"%s\",\"n\":\"%u\"}},\"spec\":{"
		"\"nodeName\":\"w\",\"containers\":[{\"name\":\"c\",\"ports\":[{\"name\":\"http\","
		"\"containerPort\":%u}]}]},\"status\":{\"podIP\":\"%s.%u.%u\"}}\n",
		app, n, ns, app, n, port, net, n >> 8, n & 255);
}

static const char *tenant = "evil"; /* whose policies are put */

/* Begins a policy; the caller puts rules, and then ends the policy. */
static void begin_policy(FILE *to, const char *name, const char *selector)
{
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":"
		"{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"podSelector\":{%s},"
		"\"policyTypes\":[\"Ingress\"],\"ingress\":[",
		name, tenant, selector);
}

static void end_policy(FILE *to)
{
	fprintf(to, "]}}\n");
}

static void put_closed(FILE *to, const char *name, const char *selector)
{
	begin_policy(to, name, selector);
	end_policy(to);
}

static void put_ports(FILE *to, const char *protocol, unsigned int n)
{
	fprintf(to, "\"ports\":[");
	for (unsigned int i = 0; i < n; i++)
		fprintf(to, "%s{\"protocol\":\"%s\",\"port\":%u}", i ? "," : "", protocol,
			1 + 2 * i);
	fprintf(to, "]");
}

static void put_pods(FILE *to, unsigned int n, unsigned int port_step)
{
	for (unsigned int i = 0; i < n; i++)
		put_pod(to, "evil", "x", 1 + i, 1000 + i * port_step);
}

/* Rows: @closed writes the policies that are to be set aside without rules. */

/* @n_ports ports for everybody, and one more for each of @n_cidrs: so many lists. */
static void put_wide(FILE *to, const char *name, const char *selector, unsigned int n_ports,
		     unsigned int n_cidrs)
{
	begin_policy(to, name, selector);
	fprintf(to, "{");
	put_ports(to, "TCP", n_ports);
	fprintf(to, "}");
	for (unsigned int i = 0; i < n_cidrs; i++)
		fprintf(to,
			",{\"from\":[{\"ipBlock\":{\"cidr\":\"20.%u.%u.0/"
			"24\"}}],\"ports\":[{\"port\":"
			"%u}]}",
			i >> 8, i & 255, 2 + 2 * i);
	end_policy(to);
}

static void intervals(FILE *to, bool closed)
{
	if (closed)
		put_closed(to, "big", "");
	else
		put_wide(to, "big", "", 20000, 900);
}

static void list(FILE *to, bool closed)
{
	static const char *const protocols[] = {"TCP", "UDP", "SCTP"};
	static const char *const names[] = {"tcp", "udp", "big"};

	for (int i = 0; i < 3; i++) {
		if (closed && i == 2) {
			put_closed(to, names[i], "");
			continue;
		}
		begin_policy(to, names[i], "");
		fprintf(to, "{");
		put_ports(to, protocols[i], 32767 + (i == 2));
		fprintf(to, "}");
		end_policy(to);
	}
}

/* @first: the first address after 20.0.0.0. */
static void put_cidrs(FILE *to, const char *name, unsigned int first, unsigned int n, bool one_rule)
{
	begin_policy(to, name, "");
	fprintf(to, "{\"from\":[");
	for (unsigned int i = first; i < first + n; i++) {
		if (i > first)
			fprintf(to, one_rule ? "," : "],\"ports\":[{\"port\":1}]},{\"from\":[");
		fprintf(to, "{\"ipBlock\":{\"cidr\":\"20.%u.%u.%u/32\"}}", i >> 16, i >> 8 & 255,
			i & 255);
	}
	fprintf(to, "]}");
	end_policy(to);
}

static void prefixes(FILE *to, bool closed)
{
	if (closed)
		put_closed(to, "big", "");
	else
		put_cidrs(to, "big", 0, 66000, true);
}

static void segments(FILE *to, bool closed)
{
	if (closed)
		put_closed(to, "big", "");
	else
		put_cidrs(to, "big", 0, 4200, false);
}

/* A selector's values, 63 bytes each, stand in a clause and in the policy as it was given. */
static void values(FILE *to, bool closed)
{
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 125000; i++)
		fprintf(to, "%s\"%063u\"",
			i ? ","
			  : "{\"from\":[{\"podSelector\":{\"matchExpressions\":[{\"key\":\"n\","
			    "\"operator\":\"In\",\"values\":[",
			i);
	fprintf(to, closed ? "" : "]}]}}]}");
	end_policy(to);
}

static void bytes(FILE *to, bool closed)
{
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 250000; i++)
		fprintf(to, "%s{\"ports\":[{\"port\":%u},{\"port\":%u}]}", i ? "," : "",
			1 + i % 50000, 60001 + i / 50000);
	end_policy(to);
}

/* Each exception is a clause of its own that holds in each address of the last rule. */
static void steps(FILE *to, bool closed)
{
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 3000; i++)
		fprintf(to,
			"{\"from\":[{\"ipBlock\":{\"cidr\":\"20.0.0.0/"
			"8\",\"except\":[\"20.255.%u.%u/"
			"32\"]}}],\"ports\":[{\"port\":%u}]},",
			i >> 8, i & 255, 1 + i);
	for (unsigned int i = 0; !closed && i < 20000; i++)
		fprintf(to, "%s{\"ipBlock\":{\"cidr\":\"20.%u.%u.1/32\"}}", i ? "," : "{\"from\":[",
			i >> 8, i & 255);
	fprintf(to, closed ? "" : "]}");
	end_policy(to);
}

/* The requirements are asked of each of 2,000 pods. */
static void requirements(FILE *to, bool closed)
{
	put_pods(to, 2000, 0);
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 9000; i++)
		fprintf(to, "%s{\"key\":\"k%u\",\"operator\":\"DoesNotExist\"}",
			i ? ","
			  : "{\"from\":[{\"podSelector\":{\"matchExpressions\":[{\"key\":"
			    "\"app\",\"operator\":\"Exists\"},",
			i);
	fprintf(to, closed ? "" : "]}}]}");
	end_policy(to);
}

/* Each peer excludes the 2,000 pods, so that all peers are asked. */
static void exclusions(FILE *to, bool closed)
{
	put_pods(to, 2000, 0);
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 5000; i++)
		fprintf(to,
			"%s{\"namespaceSelector\":{},\"podSelector\":{\"matchExpressions\":[{"
			"\"key\":\"app\",\"operator\":\"DoesNotExist\"},{\"key\":\"k%u\","
			"\"operator\":\"DoesNotExist\"}]}}",
			i ? "," : "{\"from\":[", i);
	fprintf(to, closed ? "" : "]}");
	end_policy(to);
}

/* Each of @n subjects, told apart by a policy of its own, with each of @n peers. */
static void put_small(FILE *to, bool closed, unsigned int n)
{
	char name[32], selector[64];

	for (unsigned int i = 1; i <= n; i++) {
		snprintf(name, sizeof(name), "small-%u", i);
		snprintf(selector, sizeof(selector), "\"matchLabels\":{\"n\":\"%u\"}", i);
		begin_policy(to, name, selector);
		fprintf(to, closed ? "" : "{\"ports\":[{\"port\":%u}]}", 20000 + i);
		end_policy(to);
	}
}

/* The policy uses @n port names of @peers. */
static void put_names(FILE *to, unsigned int n, const char *peers)
{
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"big\",\"namespace\":\"evil\"},\"spec\":{\"podSelector\":{"
		"\"matchLabels\":{\"app\":\"none\"}},\"policyTypes\":[\"Egress\"],\"egress\":[");
	for (unsigned int i = 0; i < n; i++) {
		fprintf(to, i ? "," : "{%s\"ports\":[", peers);
		fprintf(to, "{\"port\":\"n%u\"}", i);
	}
	fprintf(to, n ? "]}" : "");
	end_policy(to);
}

/* Each of 2,000 segments has the names. */
static void put_names_and_segments(FILE *to, bool closed, const char *peers)
{
	put_pods(to, 2000, 0);
	put_small(to, false, 2000);
	put_closed(to, "rest", "");
	put_names(to, closed ? 0 : 5000, peers);
}

static void names_of_any(FILE *to, bool closed)
{
	put_names_and_segments(to, closed, "");
}

static void names_of_all(FILE *to, bool closed)
{
	put_names_and_segments(to, closed, "\"to\":[{\"namespaceSelector\":{}}],");
}

static void names_of_some(FILE *to, bool closed)
{
	put_names_and_segments(to, closed,
			       "\"to\":[{\"podSelector\":{\"matchLabels\":{\"app\":\"x\"}}}],");
}

static void lists(FILE *to, bool closed)
{
	put_pods(to, 270, 0);
	put_small(to, false, 270);
	begin_policy(to, "big", "");
	for (unsigned int i = 1; !closed && i <= 270; i++)
		fprintf(to,
			"%s{\"from\":[{\"podSelector\":{\"matchLabels\":{\"n\":\"%u\"}}}],"
			"\"ports\":[{"
			"\"port\":%u}]}",
			i > 1 ? "," : "", i, i);
	end_policy(to);
}

static void variations(FILE *to, bool closed)
{
	put_pods(to, 4200, 1);
	begin_policy(to, "big", "");
	if (!closed)
		fprintf(to, "{\"ports\":[{\"port\":\"http\"}]}");
	end_policy(to);
}

static void namespace_intervals(FILE *to, bool closed)
{
	char name[16], selector[64];

	put_pods(to, 5, 0);
	for (unsigned int i = 1; i <= 5; i++) {
		snprintf(name, sizeof(name), "big-%u", i);
		snprintf(selector, sizeof(selector), "\"matchLabels\":{\"n\":\"%u\"}", i);
		if (closed)
			put_closed(to, name, selector);
		else
			put_wide(to, name, selector, 19000, 5);
	}
	put_closed(to, "rest", "");
}

/* Namespaces: each of a few policies is within its own budget. */

static const char *name_of(unsigned int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "big-%u", i);
	return name;
}

/* Puts @n policies by @put, or closed ones. */
static void put_many(FILE *to, bool closed, unsigned int n, void (*put)(FILE *to, unsigned int i))
{
	for (unsigned int i = 0; i < n; i++)
		if (closed)
			put_closed(to, name_of(i), "");
		else
			put(to, i);
}

static void some_cidrs(FILE *to, unsigned int i)
{
	put_cidrs(to, name_of(i), i * 45000, 45000, true);
}

static void namespace_prefixes(FILE *to, bool closed)
{
	put_many(to, closed, 3, some_cidrs);
}

static void some_segments(FILE *to, unsigned int i)
{
	put_cidrs(to, name_of(i), i * 3500, 3500, false);
}

static void namespace_segments(FILE *to, bool closed)
{
	put_many(to, closed, 5, some_segments);
}

#define LONG_WORD "a-word-of-sixty-characters-which-is-near-the-longest-that-is"

/* 14 MB: 400 bytes for each peer, most of them for its words, which are no steps. */
static void some_bytes(FILE *to, unsigned int i)
{
	begin_policy(to, name_of(i), "");
	for (unsigned int k = 0; k < 34000; k++)
		fprintf(to, "%s{\"podSelector\":{\"matchLabels\":{\"%s\":\"%s\"}}}",
			k ? "," : "{\"from\":[", LONG_WORD, LONG_WORD);
	fprintf(to, "]}");
	end_policy(to);
}

static void namespace_bytes(FILE *to, bool closed)
{
	put_many(to, closed, 4, some_bytes);
}

static void some_steps(FILE *to, unsigned int i)
{
	begin_policy(to, name_of(i), "");
	fprintf(to, "{\"from\":[{\"podSelector\":{\"matchExpressions\":[{\"key\":\"app\","
		    "\"operator\":\"Exists\"}");
	for (unsigned int k = 0; k < 3500; k++)
		fprintf(to, ",{\"key\":\"k%u-%u\",\"operator\":\"DoesNotExist\"}", i, k);
	fprintf(to, "]}}]}");
	end_policy(to);
}

/* To find out that a million rules are one takes time, too. */
static void repeats(FILE *to, bool closed)
{
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 1400000; i++)
		fprintf(to, i ? ",{}" : "{}");
	end_policy(to);
}

static void namespace_steps(FILE *to, bool closed)
{
	put_pods(to, 2000, 0);
	put_many(to, closed, 5, some_steps);
}

/* The first CIDR is the honest policy's, too: who is over its budget has paid for both. */
static void shared(FILE *to, bool closed)
{
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 66000; i++)
		fprintf(to, "%s{\"ipBlock\":{\"cidr\":\"30.%u.%u.%u/32\"}}",
			i ? ","
			  : "{\"from\":[{\"ipBlock\":{\"cidr\":\"20.0.0.0/9\"}}]},{\"from\":[",
			i >> 16, i >> 8 & 255, i & 255);
	fprintf(to, closed ? "" : "]}");
	end_policy(to);
}

/* What 10,000 rules ask of 2,000 pods is more than a namespace's steps: the policy pays for its
 * own, and the namespace for what the policy may have. */
static void steps_beside_small(FILE *to, bool closed)
{
	put_pods(to, 2000, 0);
	put_closed(to, "small", "");
	begin_policy(to, "big", "");
	for (unsigned int i = 0; !closed && i < 10000; i++)
		fprintf(to,
			"%s{\"from\":[{\"podSelector\":{\"matchExpressions\":[{\"key\":\"app\","
			"\"operator\":\"Exists\"},{\"key\":\"k%u\",\"operator\":\"DoesNotExist\"}"
			"]}}]}",
			i ? "," : "", i);
	end_policy(to);
}

/* @n subjects, from number @first on, as a selector. */
static const char *select_some(unsigned int first, unsigned int n)
{
	static char selector[1 << 14];
	int at = snprintf(selector, sizeof(selector),
			  "\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"In\",\"values\":[");

	for (unsigned int i = first; i < first + n; i++)
		at += snprintf(selector + at, sizeof(selector) - at, "%s\"%u\"",
			       i > first ? "," : "", i);
	snprintf(selector + at, sizeof(selector) - at, "]}]");
	return selector;
}

/* Lists of three intervals: a range for each peer, and below it one for each subject. */
static void namespace_lists(FILE *to, bool closed)
{
	char name[32], selector[64];

	put_pods(to, 1150, 0);
	put_closed(to, "rest", "");
	for (unsigned int i = 1; i <= 1150; i++) {
		snprintf(name, sizeof(name), "small-%u", i);
		snprintf(selector, sizeof(selector), "\"matchLabels\":{\"n\":\"%u\"}", i);
		begin_policy(to, name, selector);
		fprintf(to, closed ? "" : "{\"ports\":[{\"port\":1,\"endPort\":20000}]}");
		end_policy(to);
	}
	for (unsigned int i = 0; i < 5; i++) {
		begin_policy(to, name_of(i), select_some(1 + 230 * i, 230));
		for (unsigned int k = 1; !closed && k <= 230; k++)
			fprintf(to,
				"%s{\"from\":[{\"podSelector\":{\"matchLabels\":{\"n\":\"%u\"}}}],"
				"\"ports\":[{\"port\":20001,\"endPort\":65535}]}",
				k > 1 ? "," : "", k);
		end_policy(to);
	}
}

static void put_apart(FILE *to, bool closed, unsigned int n)
{
	begin_policy(to, "tell-apart", "\"matchLabels\":{\"app\":\"none\"}");
	for (unsigned int i = 1; !closed && i <= n; i++)
		fprintf(to, "%s{\"from\":[{\"podSelector\":{\"matchLabels\":{\"n\":\"%u\"}}}]}",
			i > 1 ? "," : "", i);
	end_policy(to);
}

/* All pods that the label n tells apart, as the peers of a policy. */
static void put_each(FILE *to, bool closed, const char *name, const char *selector)
{
	begin_policy(to, name, selector);
	if (!closed)
		fprintf(to, "{\"from\":[{\"podSelector\":{\"matchExpressions\":[{\"key\":\"n\","
			    "\"operator\":\"Exists\"}]}}],\"ports\":[{\"port\":1}]}");
	end_policy(to);
}

static void pairs(FILE *to, bool closed)
{
	put_pods(to, 750, 0);
	put_small(to, false, 750);
	put_apart(to, false, 750);
	put_each(to, closed, "big", "");
}

static void namespace_pairs(FILE *to, bool closed)
{
	put_pods(to, 1450, 0);
	put_closed(to, "rest", "");
	put_small(to, closed, 1450);
	put_apart(to, closed, 1450);
	for (unsigned int i = 0; i < 5; i++)
		put_each(to, closed, name_of(i), select_some(1 + 290 * i, 290));
}

static void put_admin(FILE *to, unsigned int number)
{
	fprintf(to,
		"{\"apiVersion\":\"policy.networking.k8s.io/"
		"v1alpha1\",\"kind\":\"AdminNetworkPolicy\","
		"\"metadata\":{\"name\":\"a%u\"},\"spec\":{\"priority\":%u,\"subject\":{"
		"\"namespaces\":{"
		"\"matchLabels\":{\"kubernetes.io/metadata.name\":\"evil\"}}},\"ingress\":[",
		number, number);
	for (unsigned int i = 0; i < 10000; i++) {
		if (i % 100 == 0)
			fprintf(to,
				"%s{\"action\":\"Deny\",\"from\":[{\"namespaces\":{}}],\"ports\":[",
				i ? "]}," : "");
		fprintf(to, "%s{\"portNumber\":{\"protocol\":\"%s\",\"port\":%u}}",
			i % 100 ? "," : "", number < 3 ? "TCP" : "SCTP",
			1 + 2 * (i + number % 3 * 10000));
	}
	fprintf(to, "]}]}}\n");
}

/* The administrator's four policies have more ports than any of the tenant's three. */
static void beside_admin(FILE *to, bool closed)
{
	static const char *const names[] = {"big", "u1", "u2"};

	for (unsigned int i = 0; i < 4; i++)
		put_admin(to, i);
	for (unsigned int i = 0; i < 3; i++) {
		begin_policy(to, names[i], "");
		for (unsigned int k = 0; k < 9000 && !(closed && !i); k++)
			fprintf(to, "%s{\"protocol\":\"UDP\",\"port\":%u}",
				k ? "," : "{\"ports\":[", 1 + 2 * (k + i * 9000));
		fprintf(to, closed && !i ? "" : "]}");
		end_policy(to);
	}
}

/* The cluster: each of some namespaces is within its own budget, and evil has most. */

static const char *others_name(const char *prefix, unsigned int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "%s-%u", prefix, i);
	return name;
}

static void cluster_sizes(FILE *to, bool closed)
{
	put_many(to, closed, 3, some_bytes);
	/* these come first, and each has as much as two of evil's */
	for (unsigned int i = 0; i < 2; i++) {
		tenant = others_name("also", i);
		put_many(to, false, 2, some_bytes);
	}
	tenant = "evil";
}

/* @n ports one by one, all of which follow one another: one span, but each is read. */
static void put_consecutive(FILE *to, const char *name, unsigned int n)
{
	begin_policy(to, name, "");
	for (unsigned int i = 0; i < n; i++)
		fprintf(to, "%s{\"port\":%u}", i ? "," : "{\"ports\":[", 1 + i % 65535);
	fprintf(to, "]}");
	end_policy(to);
}

/* Each namespace is within its budget. */
static void cluster_steps(FILE *to, bool closed)
{
	for (unsigned int i = 0; i < 6; i++) {
		tenant = i < 4 ? others_name("also", i / 2) : "evil";
		if (i >= 4 && closed)
			put_closed(to, name_of(i), "");
		else
			put_consecutive(to, name_of(i), i < 4 ? 190000 : 240000);
	}
	tenant = "evil";
}

/* Each of four policies has 61 lists of 4,000 intervals of 8 bytes; those of evil are longer. */
static void cluster_bytes(FILE *to, bool closed)
{
	char selector[64];

	put_closed(to, "rest", "");
	for (unsigned int i = 0; i < 9 * 4; i++) {
		const bool evil = i < 4;

		tenant = evil ? "evil" : others_name("other", i / 4);
		put_pod(to, tenant, "x", 10 + i, 80);
		snprintf(selector, sizeof(selector), "\"matchLabels\":{\"n\":\"%u\"}", 10 + i);
		if (evil && closed)
			put_closed(to, name_of(i), selector);
		else
			put_wide(to, name_of(i), selector, evil ? 2100 : 2000, 60);
	}
	tenant = "evil";
}

/* Puts a namespace with @n pods, each with a policy that lets all addresses in at a port of the
 * pod's own. Each CIDR of another namespace is a pair with each of these policies. */
static void put_open(FILE *to, unsigned int n)
{
	tenant = "wide";
	put_namespace(to, tenant);
	for (unsigned int i = 0; i < n; i++) {
		char name[16], selector[64];

		snprintf(name, sizeof(name), "w%u", i);
		snprintf(selector, sizeof(selector), "\"matchLabels\":{\"n\":\"%u\"}", 9000 + i);
		put_pod(to, tenant, "x", 9000 + i, 1000);
		begin_policy(to, name, selector);
		fprintf(to,
			"{\"from\":[{\"ipBlock\":{\"cidr\":\"0.0.0.0/0\"}}],\"ports\":[{"
			"\"port\":%u}]}",
			1000 + i);
		end_policy(to);
	}
	tenant = "evil";
}

/* Puts a policy of 4,000 rules, each with one CIDR of one address, of the network @net.0.0.0/8 from
 * the host number @first on. */
static void put_addresses(FILE *to, const char *name, unsigned int net, unsigned int first,
			  bool closed)
{
	begin_policy(to, name, "");
	for (unsigned int i = first; !closed && i < first + 4000; i++)
		fprintf(to, "%s{\"from\":[{\"ipBlock\":{\"cidr\":\"%u.0.%u.%u/32\"}}]}",
			i == first ? "" : ",", net, i >> 8, i & 255);
	end_policy(to);
}

static void cuts(FILE *to, bool closed)
{
	put_addresses(to, "a", 30, 0, closed);
	put_addresses(to, "b", 31, 0, closed);
	put_open(to, 290);
}

static void cuts_pods(FILE *to, bool closed)
{
	put_namespace(to, "many");
	for (unsigned int i = 0; i < 4000; i++)
		put_pod(to, "many", "x", 2000 + i, 1000);
	put_addresses(to, "pods", 10, 2000, closed);
	put_open(to, 540);
}

static const struct row {
	const char *name;
	void (*put)(FILE *to, bool closed);
	const char *aside; /* name of the policy that is set aside; NULL: all policies are */
	const char *why; /* end of the reason */
} rows[] = {
	{"one policy's port intervals", intervals, "big", "intervals or more, the limit is 262144"},
	{"one list's port intervals", list, "big", "it has more ports than they"},
	{"one list's port intervals beside an administrator's", beside_admin, "big",
	 "it has more ports than they"},
	{"one policy's CIDRs", prefixes, "big", "needs 65537 CIDRs or more, the limit is 65536"},
	{"one policy's segments", segments, "big",
	 "needs 4097 segments of addresses or more, the limit is 4096"},
	{"one policy's CIDRs, of which another policy has one", shared, "big",
	 "needs 65537 CIDRs or more, the limit is 65536"},
	{"one policy's values of a label", values, "big",
	 "of the compiled policy or more, the limit is 16777216"},
	{"one policy's requirements", requirements, "big",
	 "steps of the compiler or more, the limit is 16777216"},
	{"one policy's exclusions", exclusions, "big",
	 "steps of the compiler or more, the limit is 16777216"},
	{"one policy's port lists", lists, "big", "port lists or more, the limit is 65536"},
	{"a namespace's variations", variations, NULL,
	 "its namespace needs 2049 variations of port names in one segment or more, the limit of "
	 "one is 2048"},
	{"a namespace's port intervals", namespace_intervals, NULL,
	 "port intervals or more, the limit of one is 1048576"},
};

#define N_ROWS (sizeof(rows) / sizeof(*rows))

/* Each takes more than a second. BULKHEAD_SMALL leaves them out. */
static const struct row slow[] = {
	{"one policy's steps beside a small policy", steps_beside_small, "big",
	 "steps of the compiler or more, the limit is 16777216"},
	{"one policy's port names for any peer", names_of_any, "big",
	 "of the compiled policy or more, the limit is 16777216"},
	{"one policy's pairs", pairs, "big", "pairs of segments or more, the limit is 524288"},
};

#define N_SLOW (sizeof(slow) / sizeof(*slow))

/* These take seconds and are compiled without successors: for each budget of a policy, a row above
 * has those. BULKHEAD_SMALL leaves them out. */
static const struct row large[] = {
	{"one policy's bytes", bytes, "big",
	 "of the compiled policy or more, the limit is 16777216"},
	{"one policy's steps", steps, "big",
	 "steps of the compiler or more, the limit is 16777216"},
	{"one policy's equal rules", repeats, "big",
	 "steps of the compiler or more, the limit is 16777216"},
	{"one policy's port names for all pods", names_of_all, "big",
	 "of the compiled policy or more, the limit is 16777216"},
	{"one policy's port names for some pods", names_of_some, "big",
	 "of the compiled policy or more, the limit is 16777216"},
	{"a namespace's CIDRs", namespace_prefixes, NULL,
	 "its namespace needs 131073 CIDRs or more, the limit of one is 131072"},
	{"a namespace's segments", namespace_segments, NULL,
	 "its namespace needs 16385 segments of addresses or more, the limit of one is 16384"},
	{"a namespace's port lists", namespace_lists, NULL,
	 "its namespace needs 262145 port lists or more, the limit of one is 262144"},
	{"a namespace's pairs", namespace_pairs, NULL,
	 "its namespace needs 2097153 pairs of segments or more, the limit of one is 2097152"},
	{"a namespace's CIDRs in wide CIDRs of another", cuts, NULL,
	 "its namespace needs 2097153 pairs of segments or more, the limit of one is 2097152"},
	{"a namespace's CIDRs of pods in wide CIDRs of another", cuts_pods, NULL,
	 "its namespace needs 2097153 pairs of segments or more, the limit of one is 2097152"},
	{"a namespace's bytes", namespace_bytes, NULL,
	 "of the compiled policy or more, the limit of one is 50331648"},
	{"a namespace's steps", namespace_steps, NULL,
	 "steps of the compiler or more, the limit of one is 33554432"},
	{"all namespaces' own sizes", cluster_sizes, NULL,
	 "bytes of the compiled policy or more, the limit is 67108864, and none needs more"},
	{"all namespaces' steps", cluster_steps, NULL,
	 "steps of the compiler or more, the limit is 67108864, and none needs more"},
	{"all namespaces' bytes", cluster_bytes, NULL,
	 "bytes of the compiled policy or more, the limit is 67108864, and none needs more"},
};

#define N_LARGE (sizeof(large) / sizeof(*large))

/* The honest namespace */

static void put_honest(FILE *to, const char *more)
{
	put_namespace(to, "good");
	put_pod(to, "good", "db", 1, 80);
	put_pod(to, "good", "web", 2, 80);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"db\",\"namespace\":\"good\"},\"spec\":{\"podSelector\":{"
		"\"matchLabels\":{"
		"\"app\":\"db\"}},\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":{"
		"\"app\":"
		"\"web\"}}},{\"ipBlock\":{\"cidr\":\"20.0.0.0/"
		"9\"}}],\"ports\":[{\"port\":\"http\"}]}"
		"%s]}}\n",
		more);
	put_namespace(to, "evil");
	put_pod(to, "evil", "y", 30000, 80);
}

struct world {
	struct cluster cluster;
	const struct policy *base;
	struct policy *policy;
	void *bytes;
	size_t size;
};

/* @before: what the last compile set aside; NULL: nothing. */
static void compile_after(struct world *world, const struct row *row, bool closed, const char *more,
			  const struct asides *before)
{
	struct diag diag = {.to = NULL};
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	put_honest(to, more);
	row->put(to, closed);
	fclose(to);
	cluster_init(&world->cluster);
	assert_int_equal(input_parse_json(&world->cluster, text, size, "test", &diag), 0);
	assert_int_equal(cluster_finish(&world->cluster, &diag), 0);
	assert_int_equal(compile_again(&world->cluster, world->base, before, &diag, &world->policy),
			 0);
	assert_int_equal(blob_write(world->policy, &world->bytes, &world->size), 0);
	free(text);
}

static void compile(struct world *world, const struct row *row, bool closed, const char *more,
		    const struct policy *base)
{
	world->base = base;
	compile_after(world, row, closed, more, NULL);
}

static void end(struct world *world)
{
	free(world->bytes);
	policy_free(world->policy);
	cluster_free(&world->cluster);
}

static bool allows(const struct policy *policy, const char *from, const char *to, const char *port)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct decision egress, ingress;
	struct flow flow = {0};
	char why[FLOW_TEXT];

	assert_int_equal(address_parse(from, &flow.source), 0);
	assert_int_equal(address_parse(to, &flow.destination), 0);
	assert_int_equal(port_parse(port, &flow, why), 0);
	return evaluate_flow(&source, policy, &flow, &egress, &ingress);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), n_end = strlen(end);

	return n >= n_end && !strcmp(text + n - n_end, end);
}

static void check_asides(const struct row *row, const struct world *world)
{
	const struct asides *asides = world->policy->asides;
	size_t n_evil = 0, n_policies = 0;

	for (size_t i = 0; i < world->cluster.n_policies; i++)
		n_evil += world->cluster.policies[i].ns_name &&
			  !strcmp(world->cluster.policies[i].ns_name, "evil");
	assert_non_null(asides);
	for (size_t i = 0; i < asides->n; i++) {
		assert_ptr_equal(asides_find(asides, asides->at[i].kind, asides->at[i].ns,
					     asides->at[i].name),
				 &asides->at[i]);
		if (strcmp(asides->at[i].kind, "NetworkPolicy"))
			continue;
		n_policies++;
		assert_string_equal(asides->at[i].ns, "evil");
		if (row->aside)
			assert_string_equal(asides->at[i].name, row->aside);
		if (!ends_with(asides->at[i].why, row->why))
			fail_msg("%s", asides->at[i].why);
	}
	assert_int_equal(n_policies, row->aside ? 1 : n_evil);
}

static void check_verdicts(const struct policy *policy)
{
	assert_true(allows(policy, "10.0.0.2", "10.0.0.1", "TCP/80"));
	assert_false(allows(policy, "10.0.0.2", "10.0.0.1", "TCP/81"));
	assert_true(allows(policy, "20.1.2.3", "10.0.0.1", "TCP/80"));
	assert_false(allows(policy, "20.255.2.3", "10.0.0.1", "TCP/80"));
	/* ingress is the direction that the policies name */
	assert_false(allows(policy, "10.0.0.2", "10.1.117.48", "TCP/2"));
	assert_true(allows(policy, "10.1.117.48", "10.0.0.2", "TCP/2"));
}

static void compile_both(const struct row *row, struct world *open, struct world *closed)
{
	compile(open, row, false, "", NULL);
	compile(closed, row, true, "", NULL);
	check_asides(row, open);
	assert_null(closed->policy->asides);
	assert_int_equal(open->size, closed->size);
	assert_memory_equal(open->bytes, closed->bytes, open->size);
	check_verdicts(open->policy);
}

static void large_is_set_aside(void **state)
{
	struct world open = {0}, closed = {0};

	compile_both(*state, &open, &closed);
	end(&open);
	end(&closed);
}

static void is_set_aside(void **state)
{
	const struct row *row = *state;
	static const char more[] = ",{\"ports\":[{\"port\":9}]}";
	struct world open = {0}, closed = {0}, next = {0}, next_closed = {0};

	compile_both(row, &open, &closed);

	/* a successor, and a compile of the same objects on top of the policy */
	compile(&next, row, false, more, open.policy);
	compile(&next_closed, row, true, more, closed.policy);
	check_asides(row, &next);
	assert_int_equal(next.size, next_closed.size);
	assert_memory_equal(next.bytes, next_closed.bytes, next.size);
	assert_true(allows(next.policy, "10.0.0.2", "10.0.0.1", "TCP/9"));
	end(&next_closed);
	compile(&next_closed, row, false, more, next.policy);
	assert_int_equal(next_closed.policy->generation, next.policy->generation);
	end(&open);
	end(&closed);
	end(&next);
	end(&next_closed);
}

static void big_but_honest(FILE *to, bool closed)
{
	(void)closed;
	/* 1 MB of single ports, and a list of 20,000 CIDRs */
	put_wide(to, "ports", "", 30000, 2);
	put_cidrs(to, "big", 0, 20000, true);
	put_pods(to, 500, 1);
}

static void honest_policies_are_kept(void **state)
{
	static const struct row row = {.put = big_but_honest};
	struct world world = {0};

	(void)state;
	compile(&world, &row, false, "", NULL);
	assert_null(world.policy->asides);
	assert_true(allows(world.policy, "10.0.0.2", "10.1.117.48", "TCP/1"));
	assert_false(allows(world.policy, "10.0.0.2", "10.1.117.48", "TCP/2"));
	end(&world);
}

/* Ports one by one cost each of 600 lists no more than their range does. */
static void one_by_one(FILE *to, bool closed)
{
	(void)closed;
	begin_policy(to, "range", "");
	for (unsigned int i = 0; i < 16000; i++)
		fprintf(to, "%s{\"port\":%u}", i ? "," : "{\"ports\":[", 16000 - i);
	fprintf(to, "]}");
	for (unsigned int i = 0; i < 600; i++)
		fprintf(to,
			",{\"from\":[{\"ipBlock\":{\"cidr\":\"40.0.%u.%u/32\"}}],"
			"\"ports\":[{\"port\":%u}]}",
			i >> 8, i & 255, 20000 + 2 * i);
	end_policy(to);
}

static void single_ports_are_a_range(void **state)
{
	static const struct row row = {.put = one_by_one};
	struct world world = {0};

	(void)state;
	compile(&world, &row, false, "", NULL);
	assert_null(world.policy->asides);
	assert_true(allows(world.policy, "10.0.0.2", "10.1.117.48", "TCP/1"));
	assert_true(allows(world.policy, "10.0.0.2", "10.1.117.48", "TCP/16000"));
	assert_false(allows(world.policy, "10.0.0.2", "10.1.117.48", "TCP/16001"));
	assert_true(allows(world.policy, "40.0.2.87", "10.1.117.48", "TCP/21198"));
	assert_false(allows(world.policy, "40.0.2.87", "10.1.117.48", "TCP/21196"));
	end(&world);
}

static unsigned int changing_port;

static void changing(FILE *to, bool closed)
{
	(void)closed;
	put_pod(to, "evil", "x", 1, changing_port);
	put_closed(to, "none", "");
	begin_policy(to, "name", "");
	fprintf(to, "{\"ports\":[{\"port\":\"http\"}]}");
	end_policy(to);
}

/* Variations are never used again. A pod that comes with another port each time uses them up, and
 * then its segment gets another ID. */
static void outlives_variations(void **state)
{
	static const struct row row = {.put = changing};
	struct world world = {0};
	struct policy *base = NULL;

	(void)state;
	for (changing_port = 1000; changing_port < 1000 + BH_VARIATION_MAX + 20; changing_port++) {
		compile(&world, &row, false, "", base);
		policy_free(base);
		base = world.policy;
		world.policy = NULL;
		end(&world);
	}
	assert_true(allows(base, "10.0.0.2", "10.1.0.1", "TCP/5113"));
	assert_false(allows(base, "10.0.0.2", "10.1.0.1", "TCP/5112"));
	policy_free(base);
}

/* A process that compiles again does not find out again what a namespace's policies ask for. */
static void stays_aside(void **state)
{
	static const struct row *const all[] = {&rows[0], &rows[N_ROWS - 2], &rows[N_ROWS - 1]};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct world first = {0}, again = {0}, other = {0}, changed = {0};

		compile(&first, all[i], false, "", NULL);
		assert_int_equal(first.policy->asides->again, 0);
		compile_after(&again, all[i], false, "", first.policy->asides);
		assert_int_equal(again.policy->asides->again, 1);
		check_asides(all[i], &again);
		assert_int_equal(first.size, again.size);
		assert_memory_equal(first.bytes, again.bytes, first.size);
		/* another namespace's change does not matter, one of its own does */
		compile_after(&other, all[i], false, ",{\"ports\":[{\"port\":9}]}",
			      again.policy->asides);
		assert_int_equal(other.policy->asides->again, 2);
		check_asides(all[i], &other);
		compile_after(&changed, all[i], true, "", other.policy->asides);
		assert_null(changed.policy->asides);
		/* after some compiles it is found out again */
		again.policy->asides->again = 1000;
		end(&other);
		other = (struct world){0};
		compile_after(&other, all[i], false, "", again.policy->asides);
		assert_int_equal(other.policy->asides->again, 0);
		end(&first);
		end(&again);
		end(&other);
		end(&changed);
	}
}

/* Strangers' kinds of pods */

#define WIDE_RULES 16
#define WIDE_POLICIES 60
#define WIDE_LABELS (WIDE_RULES * WIDE_POLICIES)

/* A pod with those of the labels for which @has says so, of a set of kinds. */
static void put_kind(FILE *to, const char *ns, const char *address, unsigned int kind,
		     bool (*has)(unsigned int kind, unsigned int label))
{
	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"k%u\","
		"\"namespace\":"
		"\"%s\",\"labels\":{\"kind\":\"%u\"",
		kind, ns, kind);
	for (unsigned int i = 0; i < WIDE_LABELS; i++)
		if (has(kind, i))
			fprintf(to, ",\"l%u\":\"\"", i);
	fprintf(to, "}},\"spec\":{\"nodeName\":\"w\"},\"status\":{\"podIP\":\"%s.%u.%u\"}}\n",
		address, kind >> 8, kind & 255);
}

static bool has_one(unsigned int kind, unsigned int label)
{
	return kind == label;
}

/* One half, another one of each kind. */
static bool has_half(unsigned int kind, unsigned int label)
{
	return (kind * 2654435761u ^ label * 2246822519u) * 3266489917u >> 31;
}

/* Writes the namespace "wide", whose policies let in pods of all namespaces by their labels, and a
 * few pods of "wide" and of "friend". @strangers: also the namespace "evil", with pods of 1,100
 * kinds. */
static void put_wide_selectors(FILE *to, bool strangers)
{
	put_namespace(to, "wide");
	put_namespace(to, "friend");
	for (unsigned int i = 0; i < 20; i++) {
		put_kind(to, "wide", "10.2", i, has_one);
		put_kind(to, "friend", "10.3", i, has_one);
	}
	tenant = "wide";
	for (unsigned int i = 0; i < WIDE_POLICIES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "p%u", i);
		begin_policy(to, name, "");
		for (unsigned int k = 0; k < WIDE_RULES; k++)
			fprintf(to,
				"%s{\"from\":[{\"namespaceSelector\":{},\"podSelector\":{"
				"\"matchExpressions\":[{\"key\":\"l%u\",\"operator\":\"Exists\"}]}}"
				"],"
				"\"ports\":[{\"port\":%u}]}",
				k ? "," : "", i * WIDE_RULES + k, 1000 + 2 * (i * WIDE_RULES + k));
		end_policy(to);
	}
	tenant = "evil";
	for (unsigned int i = 0; strangers && i < 1100; i++)
		put_kind(to, "evil", "10.4", i, has_half);
}

static void check_wide(const struct policy *policy)
{
	assert_true(allows(policy, "10.2.0.3", "10.2.0.1", "TCP/1006"));
	assert_false(allows(policy, "10.2.0.3", "10.2.0.1", "TCP/1008"));
	assert_true(allows(policy, "10.3.0.3", "10.2.0.1", "TCP/1006"));
	assert_false(allows(policy, "10.3.0.3", "10.2.0.1", "TCP/1008"));
	assert_true(allows(policy, "10.3.0.3", "10.4.0.1", "TCP/1"));
}

/* Pods of one namespace multiply what another's policies cost. These policies go on, but they match
 * no pods of that namespace. */
static void strangers_set_no_policy_aside(void **state)
{
	static const struct row row = {.put = put_wide_selectors};
	struct world alone = {0}, beside = {0}, again = {0}, later = {0}, last = {0};
	const struct asides *asides;

	(void)state;
	compile(&alone, &row, false, "", NULL);
	assert_null(alone.policy->asides);
	check_wide(alone.policy);
	compile(&beside, &row, true, "", NULL);
	asides = beside.policy->asides;
	assert_non_null(asides);
	assert_int_equal(asides->n, 1);
	assert_string_equal(asides->at[0].kind, "Namespace");
	assert_string_equal(asides->at[0].name, "wide");
	assert_int_equal(asides->at[0].n_left_out, 1);
	assert_string_equal(asides->at[0].left_out[0], "evil");
	assert_true(ends_with(asides->at[0].why, ", most of it for pods of evil"));
	check_wide(beside.policy);
	for (unsigned int i = 0; i < WIDE_LABELS; i++) {
		char port[20];

		snprintf(port, sizeof(port), "TCP/%u", 1000 + 2 * i);
		assert_false(allows(beside.policy, "10.4.0.1", "10.2.0.1", port));
	}
	compile_after(&again, &row, true, "", asides);
	assert_int_equal(again.policy->asides->again, 1);
	assert_string_equal(again.policy->asides->at[0].why, asides->at[0].why);
	assert_int_equal(again.size, beside.size);
	assert_memory_equal(again.bytes, beside.bytes, again.size);
	/* so it is for some compiles, also without these pods */
	compile_after(&later, &row, false, "", again.policy->asides);
	assert_int_equal(later.policy->asides->again, 2);
	assert_int_equal(later.policy->asides->at[0].n_left_out, 1);
	later.policy->asides->again = 1000;
	compile_after(&last, &row, false, "", later.policy->asides);
	assert_null(last.policy->asides);
	check_wide(last.policy);
	end(&alone);
	end(&beside);
	end(&again);
	end(&later);
	end(&last);
}

static void many_ports(FILE *to, bool closed)
{
	(void)closed;
	put_pods(to, 4200, 1);
	put_closed(to, "none", "\"matchLabels\":{\"app\":\"none\"}");
}

/* A policy of one namespace uses port names, pods of another number them in too many ways: only
 * these pods lose their names, and the policy counts. */
static void takes_no_others_along(void **state)
{
	static const struct row row = {.put = many_ports};
	static const char egress[] =
		"]}}\n{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
		"\"metadata\":{\"name\":\"out\",\"namespace\":\"good\"},\"spec\":{"
		"\"podSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"policyTypes\":["
		"\"Egress\"],\"egress\":[{\"ports\":[{\"port\":\"http\"}]}";
	struct world world = {0};
	const struct asides *asides;
	const struct aside *aside;

	(void)state;
	compile(&world, &row, false, egress, NULL);
	asides = world.policy->asides;
	aside = asides_find(asides, "Namespace", "", "evil");
	assert_non_null(aside);
	assert_string_equal(aside->effect, "its pods have no named ports");
	for (size_t i = 0; i < asides->n; i++)
		assert_string_not_equal(asides->at[i].ns, "good");
	assert_true(allows(world.policy, "10.0.0.2", "10.0.0.1", "TCP/80"));
	assert_false(allows(world.policy, "10.0.0.2", "10.1.0.1", "TCP/1000"));
	assert_false(allows(world.policy, "10.0.0.2", "10.1.0.1", "TCP/81"));
	end(&world);
}

/* A pod without an address yet. */
static void put_expected(FILE *to, const char *ns, unsigned int n, unsigned int port)
{
	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"new-%u\","
		"\"namespace\":\"%s\"},\"spec\":{\"nodeName\":\"w\",\"containers\":[{\"ports\":[{"
		"\"name\":\"http\",\"containerPort\":%u}]}]}}\n",
		n, ns, port);
}

static void many_expected(FILE *to, bool closed)
{
	(void)closed;
	for (unsigned int i = 0; i < 3000; i++)
		put_expected(to, "evil", i, 1000 + i);
	put_expected(to, "good", 0, 50000);
	fprintf(to, "{\"apiVersion\":\"policy.networking.k8s.io/v1alpha2\",\"kind\":"
		    "\"ClusterNetworkPolicy\",\"metadata\":{\"name\":\"names\"},\"spec\":{"
		    "\"tier\":\"Admin\",\"priority\":1,\"subject\":{\"namespaces\":{}},"
		    "\"ingress\":[{\"action\":\"Accept\",\"from\":[{\"namespaces\":{}}],"
		    "\"protocols\":[{\"destinationNamedPort\":\"http\"}]}]}}\n");
	put_closed(to, "none", "");
}

/* Pods without an address number their ports in many ways: those of another namespace, in the same
 * segment, have their numbers in advance still. */
static void leaves_numbers_to_expected_pods(void **state)
{
	static const struct row row = {.put = many_expected};
	struct world world = {0};
	size_t n = 0, of_good = 0;

	(void)state;
	compile(&world, &row, false, "", NULL);
	for (size_t i = 0; i < world.policy->n_variations; i++) {
		const struct policy_resolution *at = world.policy->resolutions;
		uint16_t port;

		while (at->id != world.policy->variations[i].resolution)
			at++;
		port = at->ports.n ? world.policy->named_ports[at->ports.at].port : 0;
		of_good += port == 50000;
		n += port >= 1000 && port < 4000;
	}
	/* in each segment that their addresses may be in */
	assert_in_range(of_good, 1, 8);
	assert_int_equal(n, 64 * of_good);
	end(&world);
}

static void many_tenants(FILE *to, bool closed)
{
	char ns[16];

	(void)closed;
	for (unsigned int i = 0; i < 8200; i++) {
		snprintf(ns, sizeof(ns), "t%u", i / 205);
		fprintf(to,
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x-%u\","
			"\"namespace\":\"%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":"
			"[{"
			"\"ports\":[{\"name\":\"http\",\"containerPort\":%u}]}]},\"status\":{"
			"\"podIP\":\"10.2.%u.%u\"}}\n",
			i, ns, 1000 + i, i >> 8, i & 255);
	}
	fprintf(to, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"y\","
		    "\"namespace\":\"good\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{"
		    "\"ports\":[{\"name\":\"http\",\"containerPort\":60000}]}]},\"status\":{"
		    "\"podIP\":\"10.3.0.1\"}}\n");
	fprintf(to,
		"{\"apiVersion\":\"policy.networking.k8s.io/v1alpha2\",\"kind\":"
		"\"ClusterNetworkPolicy\",\"metadata\":{\"name\":\"names\"},\"spec\":{"
		"\"tier\":\"Admin\",\"priority\":1,\"subject\":{\"pods\":{\"namespaceSelector\":{},"
		"\"podSelector\":{\"matchLabels\":{\"app\":\"x\"}}}},"
		"\"ingress\":[{\"action\":\"Accept\",\"from\":[{\"namespaces\":{}}],"
		"\"protocols\":[{\"destinationNamedPort\":\"http\"}]},"
		"{\"action\":\"Deny\",\"from\":[{\"namespaces\":{}}]}]}}\n");
	put_closed(to, "none", "");
}

/* The passes of a compile after its first: each begins by setting aside what is over a budget. The
 * linker puts this in the compiler's call (Makefile). */
static unsigned int passes_again;
void __real_budgets_apply(struct compiler *c);
void __wrap_budgets_apply(struct compiler *c);

void __wrap_budgets_apply(struct compiler *c)
{
	passes_again++;
	__real_budgets_apply(c);
}

/* Forty namespaces, each within its budget, number their ports in more ways than a segment may
 * have: those with most of them lose their names, in one pass, and a namespace with few does not.
 */
static void shares_variations(void **state)
{
	static const struct row row = {.put = many_tenants};
	struct world world = {0};
	size_t n = 0;

	(void)state;
	passes_again = 0;
	compile(&world, &row, false, "", NULL);
	assert_int_equal(passes_again, 1);
	for (size_t i = 0; i < world.policy->asides->n; i++) {
		assert_string_not_equal(world.policy->asides->at[i].name, "good");
		n += !strcmp(world.policy->asides->at[i].kind, "Namespace");
	}
	assert_int_equal(n, 21);
	assert_true(allows(world.policy, "10.0.0.2", "10.3.0.1", "TCP/60000"));
	assert_false(allows(world.policy, "10.0.0.2", "10.3.0.1", "TCP/60001"));
	end(&world);
}

static void many_names(FILE *to, bool closed)
{
	(void)closed;
	put_names(to, 30000, "\"to\":[{\"namespaceSelector\":{}}],");
}

/* A policy of one namespace uses 30,000 port names of all pods: another's policy does not pay for
 * these in each of its rules for all pods. */
static void pays_for_no_others_names(void **state)
{
	static const struct row row = {.put = many_names};
	struct world world = {0};
	size_t size;
	char *egress;
	FILE *to = open_memstream(&egress, &size);

	(void)state;
	assert_non_null(to);
	fprintf(to, "]}}\n{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
		    "\"metadata\":{\"name\":\"out\",\"namespace\":\"good\"},\"spec\":{"
		    "\"podSelector\":{},\"policyTypes\":[\"Egress\"],\"egress\":[");
	for (unsigned int i = 1; i <= 300; i++)
		fprintf(to,
			"%s{\"to\":[{\"namespaceSelector\":{}}],\"ports\":[{\"port\":\"http\"},{"
			"\"port\":%u}]}",
			i > 1 ? "," : "", i);
	fclose(to);
	compile(&world, &row, false, egress, NULL);
	assert_null(world.policy->asides);
	assert_true(allows(world.policy, "10.0.0.2", "10.0.0.1", "TCP/80"));
	assert_false(allows(world.policy, "10.0.0.2", "10.0.0.1", "TCP/301"));
	end(&world);
	free(egress);
}

static void one_each(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	tenant = "other";
	put_closed(to, "none", "");
	tenant = "evil";
}

/* The cluster needs @more segments than it may have. Returns the names' first letters of the
 * namespaces that are kept. */
static const char *kept_of(const struct cluster *cluster, size_t more)
{
	static const unsigned int spent[] = {['e'] = 4000, ['g'] = 10, ['o'] = 2000};
	static char kept[8];
	struct compiler c = {.cluster = cluster};
	size_t n = 0;

	budgets_open(&c);
	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *policy = &c.cluster->policies[i];
		const unsigned int units = spent[(unsigned char)*policy->ns_name];

		for (unsigned int k = 0; k < units; k++)
			budget_charge(&c, policy, k % 2 ? BUDGET_SEGMENTS : BUDGET_PREFIXES, 2);
	}
	c.segments.n = SEGMENTS_MAX + more;
	assert_int_equal(budget_fewer_segments(&c), more > 0);
	for (size_t i = 0; i < cluster->n_policies; i++)
		if (budget_is_kept(&c, &c.cluster->policies[i]))
			kept[n++] = *c.cluster->policies[i].ns_name;
	kept[n] = '\0';
	budgets_close(c.budgets);
	return kept;
}

/* More segments than a policy may have: who has most CIDRs is set aside, until the rest fits. */
static void has_fewer_segments(void **state)
{
	static const struct row row = {.put = one_each};
	struct world world = {0};

	(void)state;
	compile(&world, &row, false, "", NULL);
	assert_string_equal(kept_of(&world.cluster, 0), "ego");
	assert_string_equal(kept_of(&world.cluster, 1), "go");
	assert_string_equal(kept_of(&world.cluster, 4000), "go");
	assert_string_equal(kept_of(&world.cluster, 4001), "g");
	assert_string_equal(kept_of(&world.cluster, 6001), "");
	end(&world);
}

static void put_service(FILE *to, unsigned int number, unsigned int n_addresses,
			unsigned int n_ports)
{
	fprintf(to,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s%u\","
		"\"namespace\":\"evil\"},\"spec\":{\"selector\":{\"app\":\"y\"},\"clusterIP\":"
		"\"172.16.%u.%u\",\"externalIPs\":[",
		number, number >> 8, number & 255);
	for (unsigned int i = 0; i < n_addresses; i++)
		fprintf(to, "%s\"30.0.%u.%u\"", i ? "," : "", i >> 8, i & 255);
	fprintf(to, "],\"ports\":[");
	for (unsigned int i = 0; i < n_ports; i++)
		fprintf(to, "%s{\"name\":\"p%u\",\"port\":%u}", i ? "," : "", i,
			1 + (number * 100 + i) % 65535);
	fprintf(to, "]}}\n");
}

static void one_service(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	put_service(to, 1, 2000, 100);
	put_service(to, 2, 1, 1);
}

static void many_services(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	for (unsigned int i = 1; i <= 300; i++)
		put_service(to, i, 50, 100);
}

/* Two Services that ask for too much beside an honest one: each of 3,000 ports for each port of 100
 * slices without endpoints, and for each of 40 ports of one name of 10 pods. */
static void costly_services(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	put_service(to, 1, 1, 3000);
	put_service(to, 2, 1, 1);
	for (unsigned int i = 0; i < 100; i++) {
		fprintf(to,
			"{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\","
			"\"addressType\":\"IPv4\",\"metadata\":{\"name\":\"slice-%u\","
			"\"namespace\":"
			"\"evil\",\"labels\":{\"kubernetes.io/"
			"service-name\":\"s1\"}},\"endpoints\":[],"
			"\"ports\":[",
			i);
		for (unsigned int k = 0; k < 100; k++)
			fprintf(to, "%s{\"name\":\"q%u\",\"port\":1}", k ? "," : "", k);
		fprintf(to, "]}\n");
	}
}

static void costly_pods(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	put_service(to, 1, 1, 1000);
	put_service(to, 2, 1, 1);
	for (unsigned int i = 0; i < 10; i++) {
		fprintf(to,
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"ports-%"
			"u\","
			"\"namespace\":\"evil\",\"labels\":{\"app\":\"y\"}},\"spec\":{\"nodeName\":"
			"\"w\",\"containers\":[",
			i);
		for (unsigned int k = 0; k < 40; k++)
			fprintf(to,
				"%s{\"name\":\"c%u\",\"ports\":[{\"name\":\"http\","
				"\"containerPort\":%u}"
				"]}",
				k ? "," : "", k, 1 + k);
		fprintf(to, "]},\"status\":{\"podIP\":\"10.1.1.%u\"}}\n", i);
	}
}

static enum service_answer answer_at(const struct world *world, const char *text, uint16_t port)
{
	struct service_frontends found;
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return service_find(world->policy, NULL, &address, IPPROTO_TCP, port, &found);
}

/* The addresses of a Service that is set aside are still a Service's, at every port. */
static void services_are_set_aside(void **state)
{
	static const struct row one = {.put = one_service}, many = {.put = many_services};
	struct world world = {0};

	(void)state;
	compile(&world, &one, false, "", NULL);
	assert_int_equal(world.policy->asides->n, 1);
	assert_string_equal(world.policy->asides->at->kind, "Service");
	assert_string_equal(world.policy->asides->at->name, "s1");
	assert_string_equal(world.policy->asides->at->why,
			    "it needs 200200 addresses and ports, the limit is 65536");
	assert_in_range(world.policy->n_frontends, 2001, 2003);
	assert_int_equal(world.policy->n_backends, 1);
	assert_int_equal(answer_at(&world, "30.0.0.9", 102), SERVICE_NO_PORT);
	assert_int_equal(answer_at(&world, "172.16.0.2", 201), SERVICE_FOUND);
	check_verdicts(world.policy);
	end(&world);

	compile(&world, &many, false, "", NULL);
	assert_int_equal(world.policy->asides->n, 300);
	assert_string_equal(world.policy->asides->at->why,
			    "the Services of its namespace need 1560000 addresses and ports, the "
			    "limit is 1048576");
	check_verdicts(world.policy);
	end(&world);
}

/* The Service s1 is set aside, and s2 is not. */
static void check_costly(const struct row *row, const char *why)
{
	struct world world = {0};

	compile(&world, row, false, "", NULL);
	assert_non_null(world.policy->asides);
	assert_int_equal(world.policy->asides->n, 1);
	assert_string_equal(world.policy->asides->at->name, "s1");
	assert_string_equal(world.policy->asides->at->why, why);
	assert_int_equal(answer_at(&world, "172.16.0.1", 102), SERVICE_NO_PORT);
	assert_int_equal(answer_at(&world, "172.16.0.2", 201), SERVICE_FOUND);
	end(&world);
}

static void costly_services_are_set_aside(void **state)
{
	static const struct row slices = {.put = costly_services}, pods = {.put = costly_pods};

	(void)state;
	check_costly(&slices, "it needs 30300000 steps of the compiler, the limit is 16777216");
	check_costly(&pods, "it needs 401000 backends, the limit is 262144");
}

/* Services of 250 ports at each of 260 addresses: 65,250 records each, which one may have. */
static void put_broad_services(FILE *to, unsigned int ns, unsigned int n)
{
	for (unsigned int s = 0; s < n; s++) {
		fprintf(to,
			"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"b%"
			"u\","
			"\"namespace\":\"evil-%u\"},\"spec\":{\"clusterIP\":\"172.17.%u.%u\","
			"\"externalIPs\":[",
			s, ns, ns, s + 1);
		for (unsigned int i = 0; i < 259; i++)
			fprintf(to, "%s\"31.%u.%u.%u\"", i ? "," : "", 100 * ns + s, i >> 8,
				i & 255);
		fprintf(to, "],\"ports\":[");
		for (unsigned int i = 1; i <= 250; i++)
			fprintf(to, "%s{\"name\":\"p%u\",\"port\":%u}", i > 1 ? "," : "", i, i);
		fprintf(to, "]}}\n");
	}
}

static void broad_services(FILE *to, bool closed)
{
	(void)closed;
	put_closed(to, "none", "");
	put_broad_services(to, 0, 15);
	put_broad_services(to, 1, 16);
	put_broad_services(to, 2, 15);
	put_service(to, 2, 1, 1);
}

/* Where each namespace is within its budgets, and all together are not, the Services of the one
 * that needs most are set aside. */
static void services_of_all_namespaces_have_a_budget(void **state)
{
	static const struct row row = {.put = broad_services};
	struct world world = {0};

	(void)state;
	compile(&world, &row, false, "", NULL);
	assert_non_null(world.policy->asides);
	assert_int_equal(world.policy->asides->n, 16);
	for (size_t i = 0; i < 16; i++)
		assert_string_equal(world.policy->asides->at[i].ns, "evil-1");
	assert_string_equal(world.policy->asides->at->why,
			    "the Services of all namespaces need 72036072 bytes of the compiled "
			    "policy, the limit is 67108864, and those of its namespace need most, "
			    "25056000");
	assert_int_equal(answer_at(&world, "172.17.0.1", 1), SERVICE_FOUND);
	assert_int_equal(answer_at(&world, "172.17.1.1", 2), SERVICE_NO_PORT);
	assert_int_equal(answer_at(&world, "172.17.2.1", 250), SERVICE_FOUND);
	assert_int_equal(answer_at(&world, "172.16.0.2", 201), SERVICE_FOUND);
	end(&world);
}

/* Four rules again and again: 400,000, or once if @closed. */
static void equal_rules(FILE *to, bool closed)
{
	static const char *const rules[] = {
		"{}", "{\"ports\":[{\"port\":80}]}", "{\"ports\":[{\"port\":80},{\"port\":81}]}",
		"{\"from\":[{\"podSelector\":{}}],\"ports\":[{\"port\":80}]}"};

	begin_policy(to, "big", "");
	for (unsigned int i = 0; i < (closed ? 4 : 400000); i++)
		fprintf(to, "%s%s", i ? "," : "", rules[i % 4]);
	end_policy(to);
}

static void equal_rules_are_compiled_once(void **state)
{
	static const struct row row = {.put = equal_rules};
	struct world many = {0}, once = {0};

	(void)state;
	compile(&many, &row, false, "", NULL);
	compile(&once, &row, true, "", NULL);
	assert_null(many.policy->asides);
	assert_int_equal(many.cluster.policies[1].n_rules[INGRESS] +
				 many.cluster.policies[0].n_rules[INGRESS],
			 400001);
	assert_int_equal(many.size, once.size);
	assert_memory_equal(many.bytes, once.bytes, many.size);
	assert_true(allows(many.policy, "10.0.0.2", "10.1.117.48", "TCP/2"));
	end(&many);
	end(&once);
}

static const struct CMUnitTest others[] = {
	cmocka_unit_test(equal_rules_are_compiled_once),
	cmocka_unit_test(has_fewer_segments),
	cmocka_unit_test(takes_no_others_along),
	cmocka_unit_test(pays_for_no_others_names),
	cmocka_unit_test(strangers_set_no_policy_aside),
	cmocka_unit_test(stays_aside),
	cmocka_unit_test(services_are_set_aside),
	cmocka_unit_test(costly_services_are_set_aside),
	cmocka_unit_test(services_of_all_namespaces_have_a_budget),
	cmocka_unit_test(honest_policies_are_kept),
	cmocka_unit_test(single_ports_are_a_range),
	cmocka_unit_test(outlives_variations),
	cmocka_unit_test(leaves_numbers_to_expected_pods),
	cmocka_unit_test(shares_variations),
};
#define N_OTHERS (sizeof(others) / sizeof(*others))

static size_t add_rows(struct CMUnitTest *tests, const struct row *of, size_t n_rows,
		       CMUnitTestFunction test)
{
	for (size_t i = 0; i < n_rows; i++)
		tests[i] = (struct CMUnitTest){
			.name = of[i].name, .test_func = test, .initial_state = (void *)&of[i]};
	return n_rows;
}

static void print_left_out(const struct row *of, size_t n_rows)
{
	for (size_t i = 0; i < n_rows; i++)
		printf("# BULKHEAD_SMALL leaves out: %s\n", of[i].name);
}

/* An emulated processor takes a minute for what this one does in a second: with BULKHEAD_SMALL each
 * row is compiled without successors, and the slow rows are not. */
int main(void)
{
	struct CMUnitTest tests[N_OTHERS + N_ROWS + N_SLOW + N_LARGE];
	const bool small = getenv("BULKHEAD_SMALL");
	size_t n = N_OTHERS;

	memcpy(tests, others, sizeof(others));
	n += add_rows(&tests[n], rows, N_ROWS, small ? large_is_set_aside : is_set_aside);
	if (small) {
		printf("# BULKHEAD_SMALL leaves out: successors of each row's policy\n");
		print_left_out(slow, N_SLOW);
		print_left_out(large, N_LARGE);
	} else {
		n += add_rows(&tests[n], slow, N_SLOW, is_set_aside);
		n += add_rows(&tests[n], large, N_LARGE, large_is_set_aside);
	}
	return _cmocka_run_group_tests("budget", tests, n, NULL, NULL);
}
