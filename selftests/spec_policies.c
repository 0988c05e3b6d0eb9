// SPDX-License-Identifier: GPL-2.0-only
/*
 * The specs' examples and user stories in policies/: the YAML and the INI form give, flow by flow,
 * the lines of expected.tsv as `trace --batch` prints them, and so does the oracle. The samples
 * that KEP-2091 prints with errors are refused.
 *
 * Runs from the top of the tree.
 */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "policy/service_flow.h"
#include "input/input.h"
#include "selftests/lib/oracle.h"

#define POLICIES "policies"
#define EXAMPLES_LEAST 20

static int number, failed;

static void result(bool ok, const char *name, const char *form)
{
	printf("%sok %d - %s%s%s\n", ok ? "" : "not ", ++number, name, *form ? " in " : "", form);
	failed += !ok;
}

/* ---- a flow line: SRC DST PROTO/PORT, tab, allow|deny, tab, egress, tab, ingress ---- */

static const struct endpoint *find_endpoint(const struct cluster *cluster, const char *text)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];
		size_t length = strlen(endpoint->ns_name);

		if (strncmp(text, endpoint->ns_name, length) == 0 && text[length] == '/' &&
		    strcmp(text + length + 1, endpoint->name) == 0)
			return endpoint;
	}
	return NULL;
}

static const struct address *of_family(const struct endpoint *endpoint, bool ipv4)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		if (address_is_ipv4(&endpoint->addresses[i]) == ipv4)
			return &endpoint->addresses[i];
	return NULL;
}

/* Either end may be a name: then it has an address of the other end's family, or both have IPv4. */
static bool read_ends(const struct cluster *cluster, const char *source, const char *destination,
		      struct oracle_flow *flow)
{
	const struct endpoint *from = find_endpoint(cluster, source);
	const struct endpoint *to = find_endpoint(cluster, destination);
	const struct address *address;
	bool ipv4 = true;

	if (!from && address_parse(source, &flow->source))
		return false;
	if (!to && address_parse(destination, &flow->destination))
		return false;
	if (!from)
		ipv4 = address_is_ipv4(&flow->source);
	else if (!to)
		ipv4 = address_is_ipv4(&flow->destination);
	if (from) {
		address = of_family(from, ipv4);
		if (!address)
			return false;
		flow->source = *address;
	}
	if (to) {
		address = of_family(to, ipv4);
		if (!address)
			return false;
		flow->destination = *address;
	}
	return true;
}

static bool read_protocol(const char *text, struct oracle_flow *flow)
{
	char protocol[8];
	int port, n = sscanf(text, "%7[A-Z]/%d", protocol, &port);

	flow->port = n == 2 ? port : 0;
	flow->protocol = strcmp(protocol, "TCP") == 0	 ? IPPROTO_TCP
			 : strcmp(protocol, "UDP") == 0	 ? IPPROTO_UDP
			 : strcmp(protocol, "SCTP") == 0 ? IPPROTO_SCTP
							 : IPPROTO_ICMP;
	return n == (flow->protocol == IPPROTO_ICMP ? 1 : 2);
}

static bool read_flow(const struct cluster *cluster, char *line, struct oracle_flow *flow)
{
	char *source = strtok(line, " "), *destination = strtok(NULL, " "),
	     *rest = strtok(NULL, " ");

	return rest && read_ends(cluster, source, destination, flow) && read_protocol(rest, flow);
}

#define LINE_TEXT 16384

static void print_line(char *line, bool allow, const char *egress, const char *ingress)
{
	snprintf(line, LINE_TEXT, "%s\t%s\t%s", allow ? "allow" : "deny", egress, ingress);
}

/* Appends a backend, or begins the line of a Service. */
static void __attribute__((format(printf, 2, 3))) append(char *line, const char *format, ...)
{
	size_t length = strlen(line);
	va_list list;

	va_start(list, format);
	vsnprintf(line + length, LINE_TEXT - length, format, list);
	va_end(list);
}

static void append_backend(char *line, const struct address *address, const struct flow *flow,
			   const char *said)
{
	char text[ADDRESS_TEXT];

	append(line, "\t%s %s/%u ", address_print(address, text),
	       flow->protocol == IPPROTO_TCP   ? "TCP"
	       : flow->protocol == IPPROTO_UDP ? "UDP"
					       : "SCTP",
	       flow->port);
	/* The verdict, and the decisions behind it. */
	append(line, "%s", said);
}

static bool evaluate_line(const struct policy *policy, const struct flow *flow, char *line)
{
	struct evaluate_source source = evaluate_policy(policy);
	char egress_text[ORACLE_TEXT], ingress_text[ORACLE_TEXT];
	struct decision egress, ingress;
	bool allow = evaluate_flow(&source, policy, flow, &egress, &ingress);

	decision_print(policy, &egress, egress_text, sizeof(egress_text));
	decision_print(policy, &ingress, ingress_text, sizeof(ingress_text));
	print_line(line, allow, egress_text, ingress_text);
	return allow;
}

static void ask_policy(const struct policy *policy, const struct oracle_flow *flow, char *line)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow question = {flow->source, flow->destination, flow->protocol, flow->port, NULL};
	struct service_verdict verdict;
	char name[SERVICE_NAME_TEXT], said[LINE_TEXT];

	evaluate_service(&source, policy, &question, &verdict);
	if (verdict.answer == SERVICE_NONE) {
		evaluate_line(policy, &question, line);
		return;
	}
	*line = '\0';
	append(line, "%s\tservice %s", service_outcome_text(verdict.outcome),
	       verdict.service ? service_name(policy, verdict.service, name) : "-");
	for (size_t i = 0; i < verdict.n_backends; i++) {
		const struct service_backend *backend = &verdict.backends[i];

		if (!backend->chosen)
			continue;
		evaluate_line(policy, &backend->flow, said);
		append_backend(line, &backend->flow.destination, &backend->flow, said);
	}
	service_verdict_free(&verdict);
}

static bool oracle_line(const struct cluster *cluster, const struct oracle_flow *flow, char *line)
{
	char egress_text[ORACLE_TEXT], ingress_text[ORACLE_TEXT];
	struct oracle_decision egress, ingress;
	bool allow = oracle_evaluate(cluster, flow, &egress, &ingress);

	oracle_print(&egress, egress_text);
	oracle_print(&ingress, ingress_text);
	print_line(line, allow, egress_text, ingress_text);
	return allow;
}

static void ask_oracle(const struct cluster *cluster, const struct oracle_flow *flow, char *line)
{
	struct oracle_service service;
	char said[LINE_TEXT], backends[LINE_TEXT] = "";
	size_t allowed = 0;

	if (!oracle_service(cluster, flow, &service)) {
		oracle_line(cluster, flow, line);
		return;
	}
	for (size_t i = 0; i < service.n; i++) {
		const struct oracle_flow *one = &service.backends[i];
		struct flow to = {.protocol = one->protocol, .port = one->port};

		allowed += oracle_line(cluster, one, said);
		append_backend(backends, &one->destination, &to, said);
	}
	*line = '\0';
	append(line, "%s\tservice %s/%s%s",
	       !allowed		      ? "deny"
	       : allowed == service.n ? "allow"
				      : "depends",
	       service.ns_name, service.name, backends);
}

static bool compare_line(const struct cluster *cluster, const struct policy *policy, char *line)
{
	char *wanted = strchr(line, '\t'), found[LINE_TEXT], oracle[LINE_TEXT];
	struct oracle_flow flow;
	char flow_text[LINE_TEXT];

	if (!wanted)
		return false;
	*wanted++ = '\0';
	wanted[strcspn(wanted, "\n")] = '\0';
	snprintf(flow_text, sizeof(flow_text), "%s", line);
	if (!read_flow(cluster, line, &flow)) {
		printf("# no flow: %s\n", flow_text);
		return false;
	}
	ask_policy(policy, &flow, found);
	ask_oracle(cluster, &flow, oracle);
	if (strcmp(wanted, found) == 0 && strcmp(wanted, oracle) == 0)
		return true;
	printf("# %s\n#   expected %s\n#   policy   %s\n#   oracle   %s\n", flow_text, wanted,
	       found, oracle);
	return false;
}

/* A table that is empty or cannot be opened fails. */
static bool compare_flows(const struct cluster *cluster, const struct policy *policy,
			  const char *path)
{
	FILE *table = fopen(path, "r");
	char line[LINE_TEXT];
	bool agree = true;
	int n = 0;

	if (!table) {
		printf("# %s: %s\n", path, strerror(errno));
		return false;
	}
	for (; fgets(line, sizeof(line), table); n++)
		agree &= compare_line(cluster, policy, line);
	fclose(table);
	return agree && n > 0;
}

/* ---- the examples ---- */

struct world {
	struct cluster cluster;
	struct policy *policy; /* NULL: refused */
};

static void read_world(struct world *world, const char *path)
{
	struct diag diag = {.to = stdout};

	world->policy = NULL;
	cluster_init(&world->cluster);
	if (input_read(&world->cluster, path, &diag) == 0 &&
	    cluster_finish(&world->cluster, &diag) == 0)
		compile_cluster(&world->cluster, NULL, &diag, &world->policy);
}

static void free_world(struct world *world)
{
	policy_free(world->policy);
	cluster_free(&world->cluster);
}

static bool same_bytes(struct policy *a, struct policy *b)
{
	void *a_bytes = NULL, *b_bytes = NULL;
	size_t a_size, b_size;
	bool same;

	same = blob_write(a, &a_bytes, &a_size) == 0 && blob_write(b, &b_bytes, &b_size) == 0 &&
	       a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0;
	free(a_bytes);
	free(b_bytes);
	return same;
}

static void run_example(const char *name)
{
	static const char *const forms[] = {"yaml", "ini"};
	struct world worlds[2];
	char path[512], table[512];

	snprintf(table, sizeof(table), POLICIES "/%s/expected.tsv", name);
	for (int i = 0; i < 2; i++) {
		struct world *world = &worlds[i];

		snprintf(path, sizeof(path), POLICIES "/%s/%s", name, forms[i]);
		read_world(world, path);
		result(world->policy && compare_flows(&world->cluster, world->policy, table), name,
		       forms[i]);
	}
	result(worlds[0].policy && worlds[1].policy &&
		       same_bytes(worlds[0].policy, worlds[1].policy),
	       name, "YAML and INI is one policy");
	free_world(&worlds[0]);
	free_world(&worlds[1]);
}

/* An example is a folder with a table of what is expected of it. */
static int is_example(const struct dirent *entry)
{
	char path[512];
	FILE *table;

	snprintf(path, sizeof(path), POLICIES "/%s/expected.tsv", entry->d_name);
	table = fopen(path, "r");
	if (!table)
		return 0;
	fclose(table);
	return 1;
}

static void run_examples(void)
{
	struct dirent **entries = NULL;
	int n = scandir(POLICIES, &entries, is_example, alphasort);

	result(n >= EXAMPLES_LEAST, "every example of the specs is in policies/", "");
	for (int i = 0; i < n; i++) {
		run_example(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* ---- samples as KEP-2091 prints them ---- */

static const struct sample {
	const char *name, *text;
	const char *culprit; /* text of the first wrong line */
	const char *field; /* what the message must name */
} samples[] = {
	{
		"story 2",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"metadata:\n"
		"  name: cluster-wide-allow-example\n"
		"spec:\n"
		"  priority: 30\n"
		"  subject:\n"
		"    namespaces: {}\n"
		"  ingress:\n"
		"  - action: Allow\n"
		"    from:\n"
		"    - namespaces:\n"
		"        namespaceSelector:\n"
		"          matchLabels:\n"
		"            kubernetes.io/metadata.name: monitoring-ns\n"
		"  egress:\n"
		"  - action: Allow\n"
		"    to:\n"
		"    - pods:\n"
		"        namespaces:\n"
		"          namespaceSelector:\n"
		"            matchlabels:\n"
		"              kubernetes.io/metadata.name: kube-system\n"
		"        podSelector:   \n"
		"          matchlabels:\n"
		"            app: kube-dns\n",
		"            matchlabels:",
		"spec.egress[0].to[0].pods.namespaces.namespaceSelector.matchlabels",
	},
	{
		"story 3",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"metadata:\n"
		"  name: pub-svc-delegate-example\n"
		"spec:\n"
		"  priority: 20\n"
		"  subject:\n"
		"    namespaces: {}\n"
		"  egress:\n"
		"  - action: Pass\n"
		"    to:\n"
		"    - pods:\n"
		"        namespaces:\n"
		"          namespaceSelector:\n"
		"            matchLabels:\n"
		"              kubernetes.io/metadata.name: bar-ns-1\n"
		"        podSelector:\n"
		"          matchLabels:\n"
		"            app: svc-pub\n"
		"    ports:\n"
		"      port:\n"
		"       - protocol: TCP\n"
		"         number: 8080\n",
		"    ports:",
		"spec.egress[0].ports",
	},
	{
		"story 4",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"metadata:\n"
		"  name: tenant-creation-example\n"
		"spec:\n"
		"  priority: 50\n"
		"  subject:\n"
		"    namespaces:\n"
		"      matchExpressions: {key: \"tenant\"; operator: Exists}\n"
		"  ingress:\n"
		"  - action: Deny\n"
		"    from:\n"
		"    - namespaces:\n"
		"        notSameLabels:\n"
		"          - tenant\n",
		"; operator",
		"",
	},
	{
		"story 5",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: BaselineAdminNetworkPolicy\n"
		"metadata:\n"
		"  name: baseline-rule-example\n"
		"spec:\n"
		"  subject:\n"
		"    namespaces: {}\n"
		"  ingress:\n"
		"  - action: Deny   # zero-trust cluster default security posture\n"
		"    from:\n"
		"    - namespaces:\n"
		"        namespaceSelector: {}\n"
		"  egress:\n"
		"  - action: Deny\n"
		"    to:\n"
		"    - namespaces:\n"
		"        namespaceSeletor: {}\n",
		"namespaceSeletor",
		"spec.egress[0].to[0].namespaces.namespaceSeletor",
	},
	{
		"the self example",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"spec:\n"
		"  priority: 10\n"
		"  subject:\n"
		"    namespaceSelector: {}\n"
		"  ingress:\n"
		"  - action: Allow\n"
		"    from:\n"
		"    - pods:\n"
		"        namespaces:\n"
		"          related: self\n"
		"        podSelector:\n"
		"          matchLabels:\n"
		"            app: b\n",
		"apiVersion",
		"metadata",
	},
	{
		"the self example with a name",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"metadata: {name: self}\n"
		"spec:\n"
		"  priority: 10\n"
		"  subject:\n"
		"    namespaceSelector: {}\n"
		"  ingress:\n"
		"  - action: Allow\n"
		"    from:\n"
		"    - pods:\n"
		"        namespaces:\n"
		"          related: self\n"
		"        podSelector:\n"
		"          matchLabels:\n"
		"            app: b\n",
		"    namespaceSelector: {}",
		"spec.subject.namespaceSelector",
	},
	{
		"the sameLabels example",
		"apiVersion: policy.networking.k8s.io/v1alpha1\n"
		"kind: AdminNetworkPolicy\n"
		"spec:\n"
		"  priority: 20\n"
		"  subject:\n"
		"    namespaceSelector:\n"
		"      matchExpressions: {key: \"tenant\"; operator: Exists}\n"
		"  ingress:\n"
		"    - action: Pass\n"
		"      from:\n"
		"      - namespaces:\n"
		"          sameLabels:\n"
		"          - tenant\n",
		"; operator",
		"",
	},
};

static unsigned int line_of(const char *text, const char *culprit)
{
	const char *at = strstr(text, culprit);
	unsigned int line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* Refused, with the line and the field that are wrong. */
static void run_sample(const struct sample *sample)
{
	char *messages, place[32], name[64];
	struct cluster cluster;
	struct diag diag = {0};
	size_t size;
	bool refused;

	diag.to = open_memstream(&messages, &size);
	if (!diag.to)
		abort();
	cluster_init(&cluster);
	refused = input_parse_yaml(&cluster, sample->text, strlen(sample->text), "sample.yaml",
				   &diag) == -EINVAL;
	fclose(diag.to);
	snprintf(place, sizeof(place), "sample.yaml:%u: ", line_of(sample->text, sample->culprit));
	snprintf(name, sizeof(name), "%s is refused as KEP-2091 prints it", sample->name);
	refused = refused && strstr(messages, place) && strstr(messages, sample->field);
	if (!refused)
		printf("# wanted %s%s\n# found %s", place, sample->field, messages);
	result(refused, name, "");
	free(messages);
	cluster_free(&cluster);
}

int main(void)
{
	printf("KTAP version 1\n");
	run_examples();
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		run_sample(&samples[i]);
	printf("1..%d\n", number);
	return failed > 0;
}
