// SPDX-License-Identifier: GPL-2.0-only
#include "tools/workload/print.h"

#include <stdio.h>

static void selector(const struct pair *pair)
{
	if (pair->key[0])
		printf("%s=%s", pair->key, pair->value);
}

/* Writes each range on a line of its own, since the reader refuses lines of 200 bytes and joins
 * continuations. */
static void ports(const struct port_ranges *ports)
{
	for (int i = 0; i < ports->n; i++) {
		int first = ports->first + 2 * i * ports->width;

		printf("%s %s/%d", i ? ",\n " : " ports", ports->udp ? "UDP" : "TCP", first);
		if (ports->width > 1)
			printf("-%d", first + ports->width - 1);
	}
	putchar('\n');
}

static void nothing(void)
{
}

static void print_ns(const char *name, const struct pair *label)
{
	printf("[namespace %s]\n", name);
	if (label->key[0])
		printf("labels = %s=%s\n", label->key, label->value);
}

static void print_pod(const struct pod *pod)
{
	char ipv4[IPV4_TEXT], ipv6[IPV6_TEXT];

	printf("[endpoint %s/%s]\nnode = %s\n", pod->ns, pod->name, pod->node);
	if (pod->interface)
		printf("interface = %s\n", pod->interface);
	printf("ip = %s", pod_ipv4(pod, ipv4));
	if (pod->ipv6)
		printf(", %s", pod_ipv6(pod, ipv6));
	printf("\nlabels = %s=%s\n", pod->label.key, pod->label.value);
}

static void print_policy(const struct policy *policy)
{
	printf("[network-policy %s/%s]\nendpoints = ", policy->ns, policy->name);
	selector(&policy->subject);
	printf("\ntypes = Ingress\n");
	if (policy->deny)
		return;
	printf("ingress = from endpoints(");
	selector(&policy->peer.pods);
	if (policy->peer.everywhere) {
		printf(" in namespaces(");
		selector(&policy->peer.ns);
		putchar(')');
	}
	putchar(')');
	ports(&policy->ports);
}

static void print_admin(const struct admin_policy *policy)
{
	if (policy->priority < 0)
		printf("[baseline-admin-network-policy %s]\n", policy->name);
	else
		printf("[admin-network-policy %s]\npriority = %d\n", policy->name,
		       policy->priority);
	printf("subject = namespaces(");
	selector(&policy->subject);
	printf(")\n");
	for (int i = 0; i < policy->n_rules; i++) {
		printf("ingress = %s from namespaces(", policy->rules[i].action);
		selector(&policy->rules[i].ns);
		putchar(')');
		ports(&policy->rules[i].ports);
	}
}

const struct printer print_ini = {nothing, print_ns, print_pod, print_policy, print_admin, nothing};
