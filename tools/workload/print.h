/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints a cluster's objects as they are made, in one of the three forms that
 * the command reads: YAML documents, a JSON List, INI sections.
 */
#ifndef BULKHEAD_TOOLS_WORKLOAD_PRINT_H
#define BULKHEAD_TOOLS_WORKLOAD_PRINT_H

#include <stdbool.h>
#include <stdint.h>

/* A label, or a selector of one; without a key it selects all. */
struct pair {
	char key[12], value[20];
};

struct pod {
	char ns[20], name[20];
	struct pair label;
	const char *node;
	const char *interface; /* NULL: not said; only INI can say it */
	uint32_t number; /* 10.0.0.0 + number is its IPv4 address, fd00:: + number the IPv6 one */
	bool ipv6;
};

/* Ports first, first + 2 * width ... each the first of @width ports. */
struct port_ranges {
	uint16_t first, width, n; /* n 0: every port and protocol */
	bool udp; /* else TCP */
};

struct peer {
	bool everywhere; /* in the namespaces that `ns` selects, else in the policy's own */
	struct pair ns, pods;
};

/* A NetworkPolicy of direction Ingress. */
struct policy {
	char ns[20], name[20];
	struct pair subject;
	bool deny; /* no rule at all: what it selects is isolated */
	struct peer peer;
	struct port_ranges ports;
};

struct admin_rule {
	const char *action;
	struct pair ns;
	struct port_ranges ports;
};

struct admin_policy {
	char name[20];
	int priority; /* -1: the BaselineAdminNetworkPolicy */
	struct pair subject; /* of namespaces */
	struct admin_rule rules[20];
	int n_rules;
};

struct printer {
	void (*begin)(void);
	void (*ns)(const char *name, const struct pair *label);
	void (*pod)(const struct pod *pod);
	void (*policy)(const struct policy *policy);
	void (*admin)(const struct admin_policy *policy);
	void (*end)(void);
};

extern const struct printer print_yaml, print_json, print_ini;

#define IPV4_TEXT 16
#define IPV6_TEXT 24
const char *pod_ipv4(const struct pod *pod, char text[IPV4_TEXT]);
const char *pod_ipv6(const struct pod *pod, char text[IPV6_TEXT]);

#endif
