// SPDX-License-Identifier: GPL-2.0-only
/* Prints YAML in block style, as kubectl does, and JSON, from the same tree of maps and lists. */
#include "tools/workload/print.h"

#include <stdarg.h>
#include <stdio.h>

static bool json, first_object;

static struct level {
	char end;
	int indent;
	bool empty;
	bool item; /* a map in a list: its first key follows the dash */
} levels[16];
static int depth;

/* Begins the next entry of the innermost map; with @key NULL, of the innermost list. */
static void next(const char *key)
{
	struct level *level = &levels[depth];

	if (json) {
		if (!level->empty)
			putchar(',');
		if (key)
			printf("\"%s\":", key);
	} else {
		if (level->item && level->empty)
			putchar(' ');
		else
			printf("\n%*s", level->indent, "");
		if (key)
			printf("%s:", key);
		else
			putchar('-');
	}
	level->empty = false;
}

static void enter(const char *key, char begin, char end)
{
	struct level *up = &levels[depth];

	next(key);
	if (json)
		putchar(begin);
	levels[++depth] = (struct level){.end = end,
					 .indent = up->indent + (end == ']' ? 0 : 2),
					 .empty = true,
					 .item = !key};
}

static void map(const char *key)
{
	enter(key, '{', '}');
}

static void list(const char *key)
{
	enter(key, '[', ']');
}

static void leave(void)
{
	struct level *level = &levels[depth--];

	if (json)
		putchar(level->end);
	else if (level->empty)
		fputs(level->end == '}' ? " {}" : " []", stdout);
}

static void text(const char *key, const char *value)
{
	next(key);
	printf(json ? "\"%s\"" : " %s", value);
}

static void number(const char *key, int value)
{
	next(key);
	printf(json ? "%d" : " %d", value);
}

static void object(const char *version, const char *kind, const char *ns, const char *name)
{
	if (json)
		fputs(first_object ? "\n{" : ",\n{", stdout);
	else
		fputs(first_object ? "---" : "\n---", stdout);
	first_object = false;
	depth = 0;
	levels[0] = (struct level){.empty = true};
	text("apiVersion", version);
	text("kind", kind);
	map("metadata");
	if (ns)
		text("namespace", ns);
	text("name", name);
}

static void object_end(void)
{
	if (json)
		putchar('}');
}

static void labels(const struct pair *pair)
{
	if (!pair->key[0])
		return;
	map("labels");
	text(pair->key, pair->value);
	leave();
}

static void selector(const char *key, const struct pair *pair)
{
	map(key);
	if (pair->key[0]) {
		map("matchLabels");
		text(pair->key, pair->value);
		leave();
	}
	leave();
}

static void print_ns(const char *name, const struct pair *label)
{
	object("v1", "Namespace", NULL, name);
	labels(label);
	leave();
	object_end();
}

static void print_pod(const struct pod *pod)
{
	char ipv4[IPV4_TEXT], ipv6[IPV6_TEXT];

	pod_ipv4(pod, ipv4);
	object("v1", "Pod", pod->ns, pod->name);
	labels(&pod->label);
	leave();
	map("spec");
	text("nodeName", pod->node);
	leave();
	map("status");
	text("phase", "Running");
	text("podIP", ipv4);
	list("podIPs");
	map(NULL);
	text("ip", ipv4);
	leave();
	if (pod->ipv6) {
		map(NULL);
		text("ip", pod_ipv6(pod, ipv6));
		leave();
	}
	leave();
	leave();
	object_end();
}

static void ports(const struct port_ranges *ports)
{
	if (!ports->n)
		return;
	list("ports");
	for (int i = 0; i < ports->n; i++) {
		int first = ports->first + 2 * i * ports->width;

		map(NULL);
		text("protocol", ports->udp ? "UDP" : "TCP");
		number("port", first);
		if (ports->width > 1)
			number("endPort", first + ports->width - 1);
		leave();
	}
	leave();
}

static void print_policy(const struct policy *policy)
{
	object("networking.k8s.io/v1", "NetworkPolicy", policy->ns, policy->name);
	leave();
	map("spec");
	selector("podSelector", &policy->subject);
	list("policyTypes");
	text(NULL, "Ingress");
	leave();
	if (!policy->deny) {
		list("ingress");
		map(NULL);
		list("from");
		map(NULL);
		if (policy->peer.everywhere)
			selector("namespaceSelector", &policy->peer.ns);
		selector("podSelector", &policy->peer.pods);
		leave();
		leave();
		ports(&policy->ports);
		leave();
		leave();
	}
	leave();
	object_end();
}

/* Writes one port an entry, as released v1alpha1 has them. */
static void admin_ports(const struct port_ranges *ports)
{
	if (!ports->n)
		return;
	list("ports");
	for (int i = 0; i < ports->n; i++) {
		map(NULL);
		map("portNumber");
		text("protocol", ports->udp ? "UDP" : "TCP");
		number("port", ports->first + 2 * i * ports->width);
		leave();
		leave();
	}
	leave();
}

static void print_admin(const struct admin_policy *policy)
{
	object("policy.networking.k8s.io/v1alpha1",
	       policy->priority < 0 ? "BaselineAdminNetworkPolicy" : "AdminNetworkPolicy", NULL,
	       policy->name);
	leave();
	map("spec");
	if (policy->priority >= 0)
		number("priority", policy->priority);
	map("subject");
	selector("namespaces", &policy->subject);
	leave();
	list("ingress");
	for (int i = 0; i < policy->n_rules; i++) {
		map(NULL);
		text("action", policy->rules[i].action);
		list("from");
		map(NULL);
		selector("namespaces", &policy->rules[i].ns);
		leave();
		leave();
		admin_ports(&policy->rules[i].ports);
		leave();
	}
	leave();
	leave();
	object_end();
}

static void begin_yaml(void)
{
	json = false;
	first_object = true;
}

static void end_yaml(void)
{
	putchar('\n');
}

static void begin_json(void)
{
	json = true;
	first_object = true;
	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", stdout);
}

static void end_json(void)
{
	puts("\n]}");
}

const struct printer print_yaml = {begin_yaml,	 print_ns,    print_pod,
				   print_policy, print_admin, end_yaml};
const struct printer print_json = {begin_json,	 print_ns,    print_pod,
				   print_policy, print_admin, end_json};
