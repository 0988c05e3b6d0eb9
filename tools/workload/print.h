/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints objects of a cluster in one of the three forms that the command reads: YAML documents,
 * a JSON List, INI sections.
 */
#ifndef BULKHEAD_TOOLS_WORKLOAD_PRINT_H
#define BULKHEAD_TOOLS_WORKLOAD_PRINT_H

#include <stdbool.h>
#include <stdint.h>

/* A label, or a selector by one label; without a key it selects everything. */
struct pair {
	char key[12], value[20];
};

struct pod {
	char ns[20], name[20];
	struct pair label;
	const char *node;
	const char *interface; /* NULL: not given; only INI has it */
	/* its IPv4 address is 10.0.0.0 + number, its IPv6 address fd00:: + number */
	uint32_t number;
	bool ipv6;
};

/* Ranges that begin at `first`, first + 2 * width and so on, each @width ports long. */
struct port_ranges {
	uint16_t first, width, n; /* n 0: every port and protocol */
	bool udp; /* false: TCP */
};

struct peer {
	bool everywhere; /* in the namespaces that `ns` selects; false: in the policy's own */
	struct pair ns, pods;
};

/* A NetworkPolicy for Ingress. */
struct policy {
	char ns[20], name[20];
	struct pair subject;
	bool deny; /* without rules: its pods are isolated */
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
	int priority; /* -1: this is the BaselineAdminNetworkPolicy */
	struct pair subject; /* selects the subject's namespaces */
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
