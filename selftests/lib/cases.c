// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/cases.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACES 3
#define PODS_EACH 3
#define POLICIES 4

/* Pieces of policies. Each is JSON, which is YAML. */
struct piece {
	const char *name, *text; /* text NULL: the member is absent */
};

#define POD_A "podSelector: {matchLabels: {pod: a}}"
#define POD_B "podSelector: {matchLabels: {pod: b}}"
#define NS_BY(name) "namespaceSelector: {matchLabels: {ns: " name "}}"
#define NS_CALLED(name) "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: " name "}}"
#define EXPRESSION(selector, key, op, values) \
	selector ": {matchExpressions: [{key: " key ", operator: " op values "}]}"

static const struct piece peers[] = {
	{"absent", NULL},
	{"empty", "[]"},
	{"pods-all", "[{podSelector: {}}]"},
	{"pods-a", "[{" POD_A "}]"},
	{"pods-in", "[{" EXPRESSION("podSelector", "pod", "In", ", values: [a, b]") "}]"},
	{"pods-not-in", "[{" EXPRESSION("podSelector", "pod", "NotIn", ", values: [a, b]") "}]"},
	{"pods-exists", "[{" EXPRESSION("podSelector", "pod", "Exists", "") "}]"},
	{"pods-without", "[{" EXPRESSION("podSelector", "pod", "DoesNotExist", "") "}]"},
	{"pods-none", "[{podSelector: {matchLabels: {pod: nobody}}}]"},
	{"ns-all", "[{namespaceSelector: {}}]"},
	{"ns-own", "[{" NS_BY("x") "}]"},
	{"ns-other", "[{" NS_BY("y") "}]"},
	{"ns-default-label", "[{" NS_CALLED("z") "}]"},
	{"ns-in", "[{" EXPRESSION("namespaceSelector", "ns", "In", ", values: [x, z]") "}]"},
	{"ns-not-in", "[{" EXPRESSION("namespaceSelector", "ns", "NotIn", ", values: [x, z]") "}]"},
	{"ns-exists", "[{" EXPRESSION("namespaceSelector", "ns", "Exists", "") "}]"},
	{"ns-without", "[{" EXPRESSION("namespaceSelector", "team", "DoesNotExist", "") "}]"},
	{"ns-none", "[{" NS_BY("nowhere") "}]"},
	{"ns-all+pods-all", "[{namespaceSelector: {}, podSelector: {}}]"},
	{"ns-all+pods-a", "[{namespaceSelector: {}, " POD_A "}]"},
	{"ns-other+pods-b", "[{" NS_BY("y") ", " POD_B "}]"},
	{"ns-default-label+pods-in",
	 "[{" NS_CALLED("z") ", " EXPRESSION("podSelector", "pod", "In", ", values: [b, c]") "}]"},
	{"ns-none+pods-a", "[{" NS_BY("nowhere") ", " POD_A "}]"},
	{"ns-other+pods-none", "[{" NS_BY("y") ", podSelector: {matchLabels: {pod: nobody}}}]"},
	{"ip-all", "[{ipBlock: {cidr: 0.0.0.0/0}}, {ipBlock: {cidr: '::/0'}}]"},
	{"ip-all-of-ipv4", "[{ipBlock: {cidr: 0.0.0.0/0}}]"},
	{"ip-all-of-ipv6", "[{ipBlock: {cidr: '::/0'}}]"},
	{"ip-pods", "[{ipBlock: {cidr: 10.244.0.0/24}}, {ipBlock: {cidr: 'fd44::/64'}}]"},
	{"ip-one-pod", "[{ipBlock: {cidr: 10.244.0.4/32}}, {ipBlock: {cidr: 'fd44::4/128'}}]"},
	{"ip-outside", "[{ipBlock: {cidr: 192.168.7.0/24}}, {ipBlock: {cidr: 'fd07::/64'}}]"},
	{"ip-nobody", "[{ipBlock: {cidr: 203.0.113.0/24}}]"},
	{"ip-except-one", "[{ipBlock: {cidr: 10.244.0.0/28, except: [10.244.0.4/32]}}]"},
	{"ip-except-some",
	 "[{ipBlock: {cidr: 10.244.0.0/24, except: [10.244.0.0/30, 10.244.0.8/31]}},"
	 " {ipBlock: {cidr: 'fd44::/64', except: ['fd44::4/126']}}]"},
	{"ip-except-pods", "[{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}},"
			   " {ipBlock: {cidr: '::/0', except: ['fd44::/16']}}]"},
	{"ip-except-outside", "[{ipBlock: {cidr: 0.0.0.0/0, except: [192.168.7.2/32]}}]"},
	{"ip-excepts-a-pod-that-another-block-lists",
	 "[{ipBlock: {cidr: 10.244.0.0/24, except: [10.244.0.4/31]}},"
	 " {ipBlock: {cidr: 10.244.0.4/32}}]"},
	{"pods-or-ip", "[{" POD_A "}, {ipBlock: {cidr: 10.244.0.8/32}}]"},
	{"ns-or-pods", "[{" NS_BY("z") "}, {" POD_B "}]"},
	{"three", "[{" NS_BY("y") ", " POD_A "}, {" NS_CALLED("z") ", " POD_B "}, {" POD_B "}]"},
	{"twice", "[{" NS_BY("y") "}, {" NS_BY("y") "}]"},
};

static const struct piece ports[] = {
	{"absent", NULL},
	{"empty", "[]"},
	{"tcp-80", "[{protocol: TCP, port: 80}]"},
	{"tcp-81", "[{protocol: TCP, port: 81}]"},
	{"udp-80", "[{protocol: UDP, port: 80}]"},
	{"udp-81", "[{protocol: UDP, port: 81}]"},
	{"sctp-80", "[{protocol: SCTP, port: 80}]"},
	{"sctp-81", "[{protocol: SCTP, port: 81}]"},
	{"no-protocol", "[{port: 80}]"},
	{"no-port-tcp", "[{protocol: TCP}]"},
	{"no-port-udp", "[{protocol: UDP}]"},
	{"no-port-sctp", "[{protocol: SCTP}]"},
	{"neither", "[{}]"},
	{"named-tcp", "[{protocol: TCP, port: serve-80-tcp}]"},
	{"named-udp", "[{protocol: UDP, port: serve-81-udp}]"},
	{"named-sctp", "[{protocol: SCTP, port: serve-80-sctp}]"},
	{"named-no-protocol", "[{port: serve-81-tcp}]"},
	{"named-of-another-protocol", "[{protocol: TCP, port: serve-80-udp}]"},
	{"named-unknown", "[{protocol: TCP, port: nothing}]"},
	{"named-that-differs", "[{protocol: TCP, port: web}, {protocol: UDP, port: web-udp}]"},
	{"not-served", "[{protocol: TCP, port: 7981}]"},
	{"range", "[{protocol: TCP, port: 80, endPort: 81}]"},
	{"range-from-81", "[{protocol: UDP, port: 81, endPort: 90}]"},
	{"range-of-all", "[{protocol: TCP, port: 1, endPort: 65535}]"},
	{"range-of-one", "[{protocol: SCTP, port: 81, endPort: 81}]"},
	{"range-beside", "[{protocol: TCP, port: 82, endPort: 90}]"},
	{"two", "[{protocol: TCP, port: 80}, {protocol: UDP, port: 81}]"},
	{"three",
	 "[{protocol: TCP, port: 81}, {protocol: UDP, port: 81}, {protocol: SCTP, port: 81}]"},
	{"named-and-number", "[{protocol: TCP, port: serve-81-tcp}, {protocol: UDP, port: 80}]"},
	{"twice", "[{protocol: TCP, port: 80}, {protocol: TCP, port: 80}]"},
};

static const struct piece targets[] = {
	{"all", "{}"},
	{"a", "{matchLabels: {pod: a}}"},
	{"in", "{matchExpressions: [{key: pod, operator: In, values: [b, c]}]}"},
	{"not-in", "{matchExpressions: [{key: pod, operator: NotIn, values: [a]}]}"},
	{"exists", "{matchExpressions: [{key: pod, operator: Exists}]}"},
	{"without", "{matchExpressions: [{key: pod, operator: DoesNotExist}]}"},
	{"none", "{matchLabels: {pod: nobody}}"},
	{"label-and-expression",
	 "{matchLabels: {pod: b}, matchExpressions: [{key: pod, operator: NotIn, values: [c]}]}"},
};

/* A cluster that a case changes. */
struct world {
	char *ns_labels[NAMESPACES]; /* NULL: there is no such namespace */
	char *pod_labels[NAMESPACES * PODS_EACH]; /* NULL: there is no such Pod */
	char *policies[POLICIES]; /* NULL: none */
};

struct builder {
	struct test_case *cases;
	size_t n;
	struct world world;
};

static _Noreturn void no_memory(void)
{
	fputs("no memory\n", stderr);
	exit(2);
}

static char *__attribute__((format(printf, 1, 2))) text(const char *format, ...)
{
	va_list list;
	char *made;

	va_start(list, format);
	if (vasprintf(&made, format, list) < 0)
		no_memory();
	va_end(list);
	return made;
}

void cases_pod_name(unsigned int number, char name[8])
{
	sprintf(name, "%c/%c", 'x' + (number - 1) / PODS_EACH % NAMESPACES,
		'a' + (number - 1) % PODS_EACH);
}

/* Clusters */

static void world_clear(struct world *world)
{
	for (int i = 0; i < NAMESPACES; i++)
		free(world->ns_labels[i]);
	for (int i = 0; i < NAMESPACES * PODS_EACH; i++)
		free(world->pod_labels[i]);
	for (int i = 0; i < POLICIES; i++)
		free(world->policies[i]);
	*world = (struct world){0};
}

static void set(char **at, char *made)
{
	free(*at);
	*at = made;
}

static void set_ns(struct builder *to, int ns, const char *labels)
{
	set(&to->world.ns_labels[ns], labels ? text("{%s}", labels) : NULL);
}

static void set_pod(struct builder *to, int pod, const char *labels)
{
	set(&to->world.pod_labels[pod], labels ? text("{%s}", labels) : NULL);
}

static void world_begin(struct builder *to)
{
	char labels[16];

	world_clear(&to->world);
	for (int i = 0; i < NAMESPACES; i++) {
		sprintf(labels, "ns: %c", 'x' + i);
		set_ns(to, i, labels);
	}
	for (int i = 0; i < NAMESPACES * PODS_EACH; i++) {
		sprintf(labels, "pod: %c", 'a' + i % PODS_EACH);
		set_pod(to, i, labels);
	}
}

/* The Pods of z have the numbers of the ports "web" and "web-udp" the other way round. */
static void print_pod(FILE *to, int pod, const char *labels)
{
	static const char *const protocols[] = {"TCP", "UDP", "SCTP"}, *const lower[] = {"tcp",
											 "udp",
											 "sctp"};
	const int ns = pod / PODS_EACH, web = ns == 2 ? 81 : 80, number = pod + 1;

	fprintf(to,
		"---\n{apiVersion: v1, kind: Pod, metadata: {name: %c, namespace: %c, labels: "
		"%s},\n"
		" spec: {nodeName: worker-1, containers: [{name: main, ports: [\n",
		'a' + pod % PODS_EACH, 'x' + ns, labels);
	for (int i = 0; i < 6; i++)
		fprintf(to, "  {name: serve-%d-%s, containerPort: %d, protocol: %s},\n", 80 + i / 3,
			lower[i % 3], 80 + i / 3, protocols[i % 3]);
	fprintf(to,
		"  {name: web, containerPort: %d, protocol: TCP},\n"
		"  {name: web-udp, containerPort: %d, protocol: UDP}]}]},\n"
		" status: {phase: Running, podIP: 10.244.0.%d, podIPs: [{ip: 10.244.0.%d}, {ip: "
		"'fd44::%d'}]}}\n",
		web, 161 - web, number, number, number);
}

static char *world_yaml(const struct world *world, unsigned int *pods)
{
	char *yaml = NULL;
	size_t size;
	FILE *to = open_memstream(&yaml, &size);

	if (!to)
		no_memory();
	fputs("---\n{apiVersion: v1, kind: Node, metadata: {name: worker-1}, status: {addresses: "
	      "[\n"
	      " {type: InternalIP, address: 192.168.7.1}, {type: InternalIP, address: "
	      "'fd07::1'}]}}\n",
	      to);
	*pods = 0;
	for (int i = 0; i < NAMESPACES; i++)
		if (world->ns_labels[i])
			fprintf(to,
				"---\n{apiVersion: v1, kind: Namespace, metadata: {name: %c, "
				"labels: "
				"%s}}\n",
				'x' + i, world->ns_labels[i]);
	for (int i = 0; i < NAMESPACES * PODS_EACH; i++) {
		if (!world->pod_labels[i])
			continue;
		print_pod(to, i, world->pod_labels[i]);
		*pods |= 1u << i;
	}
	for (int i = 0; i < POLICIES; i++)
		if (world->policies[i])
			fprintf(to, "---\n%s\n", world->policies[i]);
	fclose(to);
	return yaml;
}

/* Cases */

static void __attribute__((format(printf, 2, 3))) begin(struct builder *to, const char *format, ...)
{
	struct test_case *cases = realloc(to->cases, (to->n + 1) * sizeof(*cases));
	va_list list;

	if (!cases)
		no_memory();
	to->cases = cases;
	cases[to->n] = (struct test_case){0};
	va_start(list, format);
	if (vasprintf(&cases[to->n].name, format, list) < 0)
		no_memory();
	va_end(list);
	to->n++;
	world_begin(to);
}

/* The cluster as it is now is a state of the case. */
static void step(struct builder *to, const char *name)
{
	struct test_case *one = &to->cases[to->n - 1];
	struct case_step *steps = realloc(one->steps, (one->n_steps + 1) * sizeof(*steps));

	if (!steps)
		no_memory();
	one->steps = steps;
	steps[one->n_steps] = (struct case_step){.name = text("%s", name)};
	steps[one->n_steps].yaml = world_yaml(&to->world, &steps[one->n_steps].pods);
	one->n_steps++;
}

/* Policies */

static const char *const directions[] = {"ingress", "egress"};
static const char *const types[] = {"[Ingress]", "[Egress]"};

/* Puts a policy of namespace @ns at @at. @spec: its members behind the podSelector. */
static void put(struct builder *to, int at, char ns, const char *target, const char *spec)
{
	set(&to->world.policies[at],
	    text("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p%d, "
		 "namespace: %c},\n spec: {podSelector: %s, %s}}",
		 at, ns, target, spec));
}

/* Returns a rule of one direction, to free. */
static char *rule(int direction, const char *peer, const char *port)
{
	return text("{%s%s%s%s%s%s}", peer ? (direction ? "to: " : "from: ") : "", peer ? peer : "",
		    peer && port ? ", " : "", port ? "ports: " : "", port ? port : "", "");
}

static void put_rule(struct builder *to, int at, int direction, const char *peer, const char *port)
{
	char *one = rule(direction, peer, port);
	char *spec =
		text("policyTypes: %s, %s: [%s]", types[direction], directions[direction], one);

	put(to, at, 'x', "{matchLabels: {pod: a}}", spec);
	free(spec);
	free(one);
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void make_peers(struct builder *to)
{
	for (int direction = 0; direction < 2; direction++)
		for (size_t i = 0; i < COUNT(peers); i++) {
			begin(to, "peer/%s/%s", directions[direction], peers[i].name);
			put_rule(to, 0, direction, peers[i].text,
				 "[{protocol: TCP, port: 80}, {protocol: UDP, port: 80}]");
			step(to, "the policy is created");
		}
}

static void make_ports(struct builder *to)
{
	for (int direction = 0; direction < 2; direction++)
		for (size_t i = 0; i < COUNT(ports); i++) {
			begin(to, "port/%s/%s", directions[direction], ports[i].name);
			put_rule(to, 0, direction,
				 "[{" NS_BY("y") "}, {" NS_CALLED("z") ", " POD_B "}]",
				 ports[i].text);
			step(to, "the policy is created");
			put_rule(to, 0, direction, NULL, ports[i].text);
			step(to, "the policy's peers are all");
		}
}

static void make_targets(struct builder *to)
{
	for (int direction = 0; direction < 2; direction++)
		for (size_t i = 0; i < COUNT(targets); i++) {
			char *spec = text("policyTypes: %s, %s: [{%s: [{" NS_BY("y") "}]}]",
					  types[direction], directions[direction],
					  direction ? "to" : "from");

			begin(to, "target/%s/%s", directions[direction], targets[i].name);
			put(to, 0, 'x', targets[i].text, spec);
			step(to, "the policy is created");
			set(&to->world.policies[0], NULL);
			put(to, 1, 'z', targets[i].text, spec);
			step(to, "the policy is in another namespace");
			free(spec);
		}
}

/* A list or no list of rules, beside each list of types. */
static void make_types(struct builder *to)
{
	static const struct piece given[] = {
		{"absent", ""},
		{"ingress", "policyTypes: [Ingress], "},
		{"egress", "policyTypes: [Egress], "},
		{"both", "policyTypes: [Ingress, Egress], "},
	};
	static const struct piece rules[] = {
		{"none", "ingress: null"},
		{"empty", "ingress: [], egress: []"},
		{"ingress-from-all", "ingress: [{}]"},
		{"egress-to-all", "egress: [{}]"},
		{"all", "ingress: [{}], egress: [{}]"},
		{"ingress", "ingress: [{from: [{" NS_BY("y") "}]}]"},
		{"egress", "egress: [{to: [{" NS_BY("z") "}]}]"},
		{"different", "ingress: [{from: [{" NS_BY(
				      "y") "}], ports: [{port: 80}]}],"
					   " egress: [{to: [{" NS_BY(
						   "z") "}], ports: [{port: 81, protocol: UDP}]}]"},
	};

	for (size_t i = 0; i < COUNT(given); i++)
		for (size_t j = 0; j < COUNT(rules); j++) {
			char *spec = text("%s%s", given[i].text, rules[j].text);

			begin(to, "types/%s/%s", given[i].name, rules[j].name);
			put(to, 0, 'x', "{}", spec);
			step(to, "the policy is created");
			free(spec);
		}
}

/* Two policies of one Pod: whatever one of them allows is allowed. */
static void make_conflicts(struct builder *to)
{
	static const struct piece all[] = {
		{"deny-all", "%s: []"},
		{"allow-all", "%s: [{}]"},
		{"from-ns", "%s: [{%s: [{" NS_BY("y") "}]}]"},
		{"from-pods-at-80",
		 "%s: [{%s: [{namespaceSelector: {}, " POD_B "}], ports: [{port: 80}]}]"},
		{"udp-from-all", "%s: [{ports: [{protocol: UDP}]}]"},
		{"by-ip",
		 "%s: [{%s: [{ipBlock: {cidr: 10.244.0.0/24, except: [10.244.0.4/32]}}]}]"},
		{"two-rules",
		 "%s: [{%s: [{" NS_BY(
			 "z") "}], ports: [{port: 81}]}, {ports: [{port: 80, protocol: SCTP}]}]"},
		/* what allows all, or nobody, by pods alone or by addresses alone */
		{"all-by-ns", "%s: [{%s: [{namespaceSelector: {}}]}]"},
		{"nobody-by-ns", "%s: [{%s: [{" NS_BY("nowhere") "}]}]"},
		{"all-by-ip", "%s: [{%s: [{ipBlock: {cidr: 0.0.0.0/0}}]}]"},
		{"nobody-by-ip", "%s: [{%s: [{ipBlock: {cidr: 0.0.0.0/31}}]}]"},
	};

	for (int direction = 0; direction < 2; direction++)
		for (size_t i = 0; i < COUNT(all); i++)
			for (size_t j = i + 1; j < COUNT(all); j++) {
				begin(to, "conflict/%s/%s/%s", directions[direction], all[i].name,
				      all[j].name);
				for (int which = 0; which < 2; which++) {
					const struct piece *piece = &all[which ? j : i];
					char *rules, *spec;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
					rules = text(piece->text, directions[direction],
						     direction ? "to" : "from");
#pragma GCC diagnostic pop
					spec = text("policyTypes: %s, %s", types[direction], rules);
					put(to, which, 'x',
					    which ? "{}" : "{matchLabels: {pod: a}}", spec);
					step(to, which ? "the second policy is created"
						       : "the first policy is created");
					free(spec);
					free(rules);
				}
				set(&to->world.policies[0], NULL);
				step(to, "the first policy is deleted");
			}
}

/* One end allows, and the other does not. */
static void make_both_ends(struct builder *to)
{
	for (size_t i = 0; i < COUNT(peers); i += 3) {
		begin(to, "both-ends/%s", peers[i].name);
		put_rule(to, 0, 0, peers[i].text, NULL);
		put(to, 1, 'y', "{}", "policyTypes: [Egress], egress: [{to: [{" NS_BY("x") "}]}]");
		step(to, "the policies are created");
		put(to, 1, 'y', "{}",
		    "policyTypes: [Egress], egress: [{to: [{" NS_BY(
			    "x") "}], ports: [{port: 81}]}]");
		step(to, "the other end's policy has a port");
		put(to, 1, 'y', POD_A + sizeof("podSelector:") - 1, "policyTypes: [Egress]");
		step(to, "the other end's policy denies all");
	}
}

static void make_actions_of_policies(struct builder *to, int direction)
{
	begin(to, "action/%s/create-update-delete-policy", directions[direction]);
	step(to, "there is no policy");
	put_rule(to, 0, direction, "[{" NS_BY("y") "}]", "[{port: 80}]");
	step(to, "the policy is created");
	put_rule(to, 0, direction, "[{" NS_BY("y") "}]", "[{port: 80}, {port: 80, protocol: UDP}]");
	step(to, "the policy gets a port");
	put_rule(to, 0, direction, "[{" NS_BY("z") "}]", "[{port: 80}]");
	step(to, "the policy has other peers");
	set(&to->world.policies[0], NULL);
	step(to, "the policy is deleted");
}

static void make_actions_of_namespaces(struct builder *to, int direction)
{
	begin(to, "action/%s/label-namespace", directions[direction]);
	put_rule(to, 0, direction, "[{namespaceSelector: {matchLabels: {team: red}}}]", NULL);
	step(to, "no namespace has the label");
	set_ns(to, 1, "ns: y, team: red");
	step(to, "a namespace gets the label");
	set_ns(to, 1, "ns: y, team: blue");
	step(to, "the label has another value");
	set_ns(to, 0, "ns: x, team: red");
	step(to, "the policy's own namespace gets the label");
	set_ns(to, 0, "ns: x");
	step(to, "the policy's own namespace loses the label");

	begin(to, "action/%s/delete-create-namespace", directions[direction]);
	put_rule(to, 0, direction, "[{" NS_BY("y") "}]", NULL);
	step(to, "the policy is created");
	set_ns(to, 1, NULL);
	for (int i = 0; i < PODS_EACH; i++)
		set_pod(to, PODS_EACH + i, NULL);
	step(to, "the namespace is deleted");
	set_ns(to, 1, "ns: y");
	step(to, "the namespace is created again");
	for (int i = 0; i < PODS_EACH; i++)
		set_pod(to, PODS_EACH + i, "pod: a");
	step(to, "its Pods are created again");
}

static void make_actions_of_pods(struct builder *to, int direction)
{
	begin(to, "action/%s/label-pod", directions[direction]);
	put_rule(to, 0, direction, "[{namespaceSelector: {}, " POD_B "}]", NULL);
	step(to, "the policy is created");
	set_pod(to, 5, "pod: b");
	step(to, "a Pod becomes a peer");
	set_pod(to, 4, "pod: c");
	step(to, "a Pod is a peer no more");
	set_pod(to, 1, "pod: a");
	step(to, "a peer becomes a subject");
	set_pod(to, 0, "role: free");
	step(to, "a subject is one no more");

	begin(to, "action/%s/delete-create-pod", directions[direction]);
	put_rule(to, 0, direction, "[{" POD_B "}]", NULL);
	step(to, "the policy is created");
	set_pod(to, 1, NULL);
	step(to, "the peer is deleted");
	set_pod(to, 1, "pod: b");
	step(to, "the peer is created again");
	set_pod(to, 0, NULL);
	step(to, "the subject is deleted");
	set_pod(to, 0, "pod: a");
	step(to, "the subject is created again");
}

/* What Kubernetes' own end-to-end tests and well-known collections of policies try. */
static void make_examples(struct builder *to)
{
	static const struct {
		const char *name, *target, *spec;
	} examples[] = {
		{"deny-all-to-an-application", "{matchLabels: {pod: a}}", "ingress: []"},
		{"one-application-only", "{matchLabels: {pod: a}}",
		 "ingress: [{from: [{" POD_B "}]}]"},
		{"from-everywhere", "{matchLabels: {pod: a}}", "ingress: [{}]"},
		{"deny-other-namespaces", "{}", "ingress: [{from: [{podSelector: {}}]}]"},
		{"all-namespaces", "{matchLabels: {pod: a}}",
		 "ingress: [{from: [{namespaceSelector: {}}]}]"},
		{"one-namespace", "{}", "ingress: [{from: [{" NS_BY("y") "}]}]"},
		{"pods-of-one-namespace", "{}", "ingress: [{from: [{" NS_BY("y") ", " POD_A "}]}]"},
		{"external-clients", "{matchLabels: {pod: a}}", "ingress: [{from: []}]"},
		{"one-port", "{matchLabels: {pod: a}}",
		 "ingress: [{from: [{" POD_B "}], ports: [{port: 81}]}]"},
		{"several-selectors", "{}",
		 "ingress: [{from: [{" POD_A "}, {" NS_BY("y") "}, {" NS_BY("z") ", " POD_B "}]}]"},
		{"by-expressions-of-both", "{}",
		 "ingress: [{from: [{" EXPRESSION(
			 "namespaceSelector", "ns", "In",
			 ", values: [y]") ", " EXPRESSION("podSelector", "pod", "NotIn",
							  ", values: [b]") "}]}]"},
		{"deny-egress", "{matchLabels: {pod: a}}", "policyTypes: [Egress]"},
		{"deny-egress-but-names", "{matchLabels: {pod: a}}",
		 "policyTypes: [Egress], egress: [{ports: [{port: 80, protocol: UDP}, {port: "
		 "80}]}]"},
		{"deny-external-egress", "{}",
		 "policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}]}]"},
		{"egress-by-cidr-with-except", "{}",
		 "policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.0.0/24, except: "
		 "[10.244.0.6/32]}}]}]"},
		{"egress-to-a-named-port", "{}",
		 "policyTypes: [Egress], egress: [{ports: [{port: web}]}]"},
		{"egress-to-a-range", "{}",
		 "policyTypes: [Egress], egress: [{to: [{" NS_BY(
			 "y") "}], ports: [{port: 80, endPort: 81}]}]"},
		{"ingress-by-name-and-egress-by-selectors", "{matchLabels: {pod: a}}",
		 "policyTypes: [Ingress, Egress], ingress: [{ports: [{port: serve-80-tcp}]}],"
		 " egress: [{to: [{" NS_BY("y") ", " POD_A
						"}]}, {ports: [{port: 80, protocol: UDP}]}]"},
		{"several-rules", "{matchLabels: {pod: a}}",
		 "ingress: [{from: [{" NS_BY(
			 "y") "}], ports: [{port: 80}]},"
			      " {from: [{" NS_BY("z") "}], ports: [{port: 81}]}, {from: "
						      "[{podSelector: {matchLabels: {pod: c}}}]}]"},
		{"sctp-only", "{}", "ingress: [{ports: [{port: 80, protocol: SCTP}]}]"},
	};

	for (size_t i = 0; i < COUNT(examples); i++) {
		begin(to, "example/%s", examples[i].name);
		put(to, 0, 'x', examples[i].target, examples[i].spec);
		step(to, "the policy is created");
	}
	begin(to, "example/stacked");
	put(to, 0, 'x', "{}", "ingress: []");
	step(to, "all is denied");
	put(to, 1, 'x', "{matchLabels: {pod: a}}", "ingress: [{ports: [{port: 80}]}]");
	step(to, "one port is allowed by a second policy");
	put(to, 2, 'x', "{}", "ingress: [{from: [{" NS_BY("y") "}]}]");
	step(to, "a namespace is allowed by a third policy");
	put(to, 3, 'y', "{}", "policyTypes: [Egress], egress: []");
	step(to, "that namespace may send nothing");
}

struct test_case *cases_make(size_t *n)
{
	struct builder to = {0};

	make_peers(&to);
	make_ports(&to);
	make_targets(&to);
	make_types(&to);
	make_conflicts(&to);
	make_both_ends(&to);
	for (int direction = 0; direction < 2; direction++) {
		make_actions_of_policies(&to, direction);
		make_actions_of_namespaces(&to, direction);
		make_actions_of_pods(&to, direction);
	}
	make_examples(&to);
	world_clear(&to.world);
	*n = to.n;
	return to.cases;
}

void cases_free(struct test_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < cases[i].n_steps; j++) {
			free(cases[i].steps[j].name);
			free(cases[i].steps[j].yaml);
		}
		free(cases[i].steps);
		free(cases[i].name);
	}
	free(cases);
}
