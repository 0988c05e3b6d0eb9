// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"
#include "selftests/lib/generate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Block style, with selectors in flow style. */
struct yaml {
	FILE *to;
	struct random random;
	int depth;
	bool dash; /* the next line begins a list's item */
};

static void __attribute__((format(printf, 2, 3))) line(struct yaml *y, const char *format, ...)
{
	va_list list;

	fprintf(y->to, "%*s%s", 2 * (y->dash ? y->depth - 1 : y->depth), "", y->dash ? "- " : "");
	y->dash = false;
	va_start(list, format);
	vfprintf(y->to, format, list);
	va_end(list);
	fputc('\n', y->to);
}

static void open_item(struct yaml *y)
{
	y->depth++;
	y->dash = true;
}

static bool either(struct yaml *y)
{
	return random_chance(&y->random, 50);
}

static const char *protocol_name(uint8_t protocol)
{
	return protocol == IPPROTO_TCP ? "TCP" : protocol == IPPROTO_UDP ? "UDP" : "SCTP";
}

static const char *address_text(const struct address *address, char text[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool ipv4 = memcmp(address->bytes, mapped, sizeof(mapped)) == 0;

	return inet_ntop(ipv4 ? AF_INET : AF_INET6, address->bytes + (ipv4 ? 12 : 0), text,
			 INET6_ADDRSTRLEN);
}

#define CIDR_TEXT (INET6_ADDRSTRLEN + 4)
static const char *cidr_text(const struct cidr *cidr, char text[CIDR_TEXT])
{
	char address[INET6_ADDRSTRLEN];

	address_text(&cidr->address, address);
	snprintf(text, CIDR_TEXT, "%s/%d", address,
		 strchr(address, ':') ? cidr->length : cidr->length - 96);
	return text;
}

/* Double-quotes the string with the escapes that YAML and JSON share. */
static void quoted(FILE *to, const char *string)
{
	fputc('"', to);
	for (; *string; string++) {
		if (*string == '\t')
			fputs("\\t", to);
		else if (*string == '"' || *string == '\\')
			fprintf(to, "\\%c", *string);
		else
			fputc(*string, to);
	}
	fputc('"', to);
}

static void labels(struct yaml *y, const char *key, const struct labels *labels)
{
	if (!labels->n)
		return;
	fprintf(y->to, "%*s%s: {", 2 * y->depth, "", key);
	for (size_t i = 0; i < labels->n; i++) {
		fprintf(y->to, "%s%s: ", i ? ", " : "", labels->at[i].key);
		quoted(y->to, labels->at[i].value);
	}
	fputs("}\n", y->to);
}

static void expression(FILE *to, const struct requirement *requirement)
{
	static const char *const operators[] = {
		[SELECTOR_IN] = "In",
		[SELECTOR_NOT_IN] = "NotIn",
		[SELECTOR_EXISTS] = "Exists",
		[SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
	};

	fprintf(to, "{key: %s, operator: %s", requirement->key, operators[requirement->op]);
	for (size_t i = 0; i < requirement->n_values; i++) {
		fputs(i ? ", " : ", values: [", to);
		quoted(to, requirement->values[i]);
	}
	fputs(requirement->n_values ? "]}" : "}", to);
}

/* matchLabels takes a key once; the other requirements become matchExpressions. */
static bool fits_match_labels(const struct selector *selector, size_t index)
{
	if (selector->at[index].op != SELECTOR_IN || selector->at[index].n_values != 1)
		return false;
	for (size_t i = 0; i < index; i++)
		if (strcmp(selector->at[i].key, selector->at[index].key) == 0)
			return false;
	return true;
}

static void selector_value(struct yaml *y, const struct selector *selector)
{
	size_t n_labels = 0, n_expressions = 0;
	bool as_labels = either(y);

	fputc('{', y->to);
	for (size_t i = 0; i < selector->n; i++) {
		if (!as_labels || !fits_match_labels(selector, i))
			continue;
		fputs(n_labels++ ? ", " : "matchLabels: {", y->to);
		fprintf(y->to, "%s: ", selector->at[i].key);
		quoted(y->to, selector->at[i].values[0]);
	}
	fputs(n_labels ? "}" : "", y->to);
	for (size_t i = 0; i < selector->n; i++) {
		if (as_labels && fits_match_labels(selector, i))
			continue;
		fputs(n_expressions || n_labels ? ", " : "", y->to);
		fputs(n_expressions++ ? "" : "matchExpressions: [", y->to);
		expression(y->to, &selector->at[i]);
	}
	fputs(n_expressions ? "]}" : "}", y->to);
}

static void selector(struct yaml *y, const char *key, const struct selector *selector)
{
	fprintf(y->to, "%*s%s%s: ", 2 * (y->dash ? y->depth - 1 : y->depth), "",
		y->dash ? "- " : "", key);
	y->dash = false;
	selector_value(y, selector);
	fputc('\n', y->to);
}

static void header(struct yaml *y, const char *version, const char *kind, const char *ns,
		   const char *name)
{
	fputs("---\n", y->to);
	line(y, "apiVersion: %s", version);
	line(y, "kind: %s", kind);
	line(y, "metadata:");
	line(y, "  name: %s", name);
	if (ns)
		line(y, "  namespace: %s", ns);
}

static void audit(struct yaml *y, const struct policy_object *policy)
{
	if (policy->audit)
		line(y, "  annotations: {bulkhead.dev/audit: \"true\"}");
}

/*
 * Prints a pod that must be ignored: a finished one with a living pod's address, or one in its
 * host's network.
 */
static void bystander(struct yaml *y, const char *ns, const struct cluster *cluster)
{
	char text[INET6_ADDRSTRLEN];
	/* A Service would select a pod in its host's network. */
	bool host = cluster->n_nodes && !cluster->n_services && either(y);
	const struct address *address =
		host ? &cluster->nodes[0].addresses[0] : &cluster->endpoints[0].addresses[0];

	header(y, "v1", "Pod", ns, "bystander");
	line(y, "  labels: {app: x, tenant: y}");
	/* With a node name, the compiled policy would list the pod, which INI cannot express. */
	line(y, host ? "spec: {hostNetwork: true}" : "spec: {nodeName: node-0}");
	line(y, "status: {phase: %s, podIP: \"%s\"}",
	     host	 ? "Running"
	     : either(y) ? "Failed"
			 : "Succeeded",
	     address_text(address, text));
}

static void print_namespace(struct yaml *y, const struct cluster *cluster,
			    const struct namespace *ns)
{
	bool annotated = either(y);

	header(y, "v1", "Namespace", NULL, ns->name);
	y->depth++;
	labels(y, "labels", &ns->labels);
	if (ns->isolated && annotated)
		line(y, "annotations: {net.beta.kubernetes.io/network-policy: "
			"'{\"ingress\": {\"isolation\": \"DefaultDeny\"}}'}");
	y->depth--;
	if (ns->isolated && !annotated)
		line(y, "spec: {networkPolicy: {ingress: {isolation: DefaultDeny}}}");
	if (cluster->n_endpoints && random_chance(&y->random, 20))
		bystander(y, ns->name, cluster);
}

static void print_node(struct yaml *y, const struct node *node)
{
	char text[INET6_ADDRSTRLEN];

	header(y, "v1", "Node", NULL, node->name);
	y->depth++;
	labels(y, "labels", &node->labels);
	y->depth--;
	line(y, "status:");
	line(y, "  addresses:");
	for (size_t i = 0; i < node->n_addresses; i++)
		line(y, "  - {type: InternalIP, address: \"%s\"}",
		     address_text(&node->addresses[i], text));
	line(y, "  - {type: Hostname, address: %s}", node->name);
}

static void print_pod(struct yaml *y, const struct endpoint *endpoint, bool host)
{
	char text[INET6_ADDRSTRLEN];

	header(y, "v1", "Pod", endpoint->ns_name, endpoint->name);
	y->depth++;
	labels(y, "labels", &endpoint->labels);
	if (endpoint->terminating)
		line(y, "deletionTimestamp: \"2026-01-01T00:00:00Z\"");
	y->depth--;
	line(y, "spec:");
	if (host)
		line(y, "  hostNetwork: true");
	if (endpoint->node)
		line(y, "  nodeName: %s", endpoint->node);
	line(y, "  containers:");
	for (size_t i = 0; i < endpoint->n_ports; i++) {
		const struct named_port *port = &endpoint->ports[i];

		line(y, "  - name: c%zu", i);
		line(y, "    ports: [{name: %s, containerPort: %u, protocol: %s}]", port->name,
		     port->port, protocol_name(port->protocol));
	}
	line(y, "  - name: last");
	line(y, "status:");
	line(y, "  phase: Running");
	if (endpoint->not_ready || either(y))
		line(y, "  conditions: [{type: Ready, status: \"%s\"}]",
		     endpoint->not_ready ? "False" : "True");
	line(y, "  podIP: \"%s\"", address_text(&endpoint->addresses[0], text));
	line(y, "  podIPs:");
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		line(y, "  - ip: \"%s\"", address_text(&endpoint->addresses[i], text));
}

static void address_list(struct yaml *y, const char *key, const struct address *addresses, size_t n)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(y->to, "%*s%s: [", 2 * y->depth, "", key);
	for (size_t i = 0; i < n; i++)
		fprintf(y->to, "%s\"%s\"", i ? ", " : "", address_text(&addresses[i], text));
	fputs("]\n", y->to);
}

static void service_port(struct yaml *y, const struct service_port *port)
{
	open_item(y);
	line(y, "port: %u", port->port);
	if (port->name)
		line(y, "name: %s", port->name);
	if (port->protocol != IPPROTO_TCP || either(y))
		line(y, "protocol: %s", protocol_name(port->protocol));
	if (port->target_name)
		line(y, "targetPort: %s", port->target_name);
	else if (port->target != port->port || either(y))
		line(y, "targetPort: %u", port->target);
	if (port->node_port)
		line(y, "nodePort: %u", port->node_port);
	y->depth--;
}

static void service_addresses(struct yaml *y, const struct service *service)
{
	char text[INET6_ADDRSTRLEN];

	if (service->type == SERVICE_HEADLESS)
		line(y, either(y) ? "clusterIP: None" : "clusterIPs: [None]");
	if (service->type != SERVICE_ADDRESSED || !service->n_addresses)
		return;
	if (service->n_addresses == 1 || either(y))
		line(y, "clusterIP: \"%s\"", address_text(&service->addresses[0], text));
	if (service->n_addresses > 1 || either(y))
		address_list(y, "clusterIPs", service->addresses, service->n_addresses);
}

static bool has_node_port(const struct service *service)
{
	for (size_t i = 0; i < service->n_ports; i++)
		if (service->ports[i].node_port)
			return true;
	return false;
}

static void service_traffic(struct yaml *y, const struct service *service)
{
	if (service->internal_local || either(y))
		line(y, "internalTrafficPolicy: %s", service->internal_local ? "Local" : "Cluster");
	if (service->external_local || either(y))
		line(y, "externalTrafficPolicy: %s", service->external_local ? "Local" : "Cluster");
	if (service->any_ready)
		line(y, "publishNotReadyAddresses: true");
	if (either(y))
		line(y, "sessionAffinity: %s", either(y) ? "ClientIP" : "None");
}

static void service_selector(struct yaml *y, const struct service *service)
{
	struct labels wanted = {0};
	struct label at[2];

	for (size_t i = 0; i < service->selector.n; i++)
		at[wanted.n++] = (struct label){service->selector.at[i].key,
						service->selector.at[i].values[0]};
	wanted.at = at;
	labels(y, "selector", &wanted);
}

static void print_service(struct yaml *y, const struct service *service)
{
	bool external_ips = either(y);
	char text[INET6_ADDRSTRLEN];

	header(y, "v1", "Service", service->ns_name, service->name);
	line(y, "spec:");
	y->depth++;
	service_selector(y, service);
	service_addresses(y, service);
	service_traffic(y, service);
	if (service->type == SERVICE_EXTERNAL_NAME)
		line(y, "type: ExternalName\n  externalName: example.org");
	else if (service->type == SERVICE_ADDRESSED && (has_node_port(service) || either(y)))
		line(y, "type: %s", either(y) ? "NodePort" : "LoadBalancer");
	if (service->n_external && external_ips)
		address_list(y, "externalIPs", service->external, service->n_external);
	line(y, "ports:");
	for (size_t i = 0; i < service->n_ports; i++)
		service_port(y, &service->ports[i]);
	y->depth--;
	if (!service->n_external || external_ips)
		return;
	line(y, "status:");
	line(y, "  loadBalancer:");
	line(y, "    ingress:");
	for (size_t i = 0; i < service->n_external; i++)
		line(y, "    - ip: \"%s\"", address_text(&service->external[i], text));
}

static void slice_endpoint(struct yaml *y, const struct slice_endpoint *endpoint, bool beta)
{
	open_item(y);
	line(y, "conditions: {ready: %s, serving: %s, terminating: %s}",
	     endpoint->ready ? "true" : "false", endpoint->serving ? "true" : "false",
	     endpoint->terminating ? "true" : "false");
	address_list(y, "addresses", endpoint->addresses, endpoint->n_addresses);
	if (endpoint->node && beta)
		line(y, "topology: {kubernetes.io/hostname: %s}", endpoint->node);
	else if (endpoint->node)
		line(y, "nodeName: %s", endpoint->node);
	y->depth--;
}

static void print_slice(struct yaml *y, const struct slice *slice)
{
	bool ipv4 = slice->n_endpoints && address_is_ipv4(&slice->endpoints[0].addresses[0]);
	bool beta = either(y);

	header(y, beta ? "discovery.k8s.io/v1beta1" : "discovery.k8s.io/v1", "EndpointSlice",
	       slice->ns_name, slice->name);
	line(y, "  labels: {kubernetes.io/service-name: %s}", slice->service);
	line(y, "addressType: %s", ipv4 ? "IPv4" : "IPv6");
	line(y, "ports:");
	for (size_t i = 0; i < slice->n_ports; i++) {
		const struct slice_port *port = &slice->ports[i];

		line(y, "- {name: \"%s\", port: %u, protocol: %s}", port->name ? port->name : "",
		     port->port, protocol_name(port->protocol));
	}
	line(y, "endpoints:");
	for (size_t i = 0; i < slice->n_endpoints; i++)
		slice_endpoint(y, &slice->endpoints[i], beta);
}

static void namespaced_peer(struct yaml *y, const struct peer *peer)
{
	char text[CIDR_TEXT];

	open_item(y);
	switch (peer->scope) {
	case PEER_CIDR:
		line(y, "ipBlock:");
		line(y, "  cidr: \"%s\"", cidr_text(&peer->cidr, text));
		if (peer->n_except)
			line(y, "  except:");
		for (size_t i = 0; i < peer->n_except; i++)
			line(y, "  - \"%s\"", cidr_text(&peer->except[i], text));
		break;
	case PEER_NAMESPACE:
		selector(y, "podSelector", &peer->pods);
		break;
	default:
		selector(y, "namespaceSelector", &peer->namespaces);
		if (peer->pods.n)
			selector(y, "podSelector", &peer->pods);
		break;
	}
	y->depth--;
}

static void namespaced_port(struct yaml *y, const struct port *port)
{
	open_item(y);
	/* "If not specified, this field defaults to TCP." */
	if (port->protocol != IPPROTO_TCP || port->kind == PORT_PROTOCOL || either(y))
		line(y, "protocol: %s", protocol_name(port->protocol));
	if (port->kind == PORT_NAME)
		line(y, "port: %s", port->name);
	if (port->kind == PORT_RANGE)
		line(y, "port: %u", port->first);
	if (port->kind == PORT_RANGE && port->last != port->first)
		line(y, "endPort: %u", port->last);
	y->depth--;
}

static void namespaced_rule(struct yaml *y, const struct policy_object *policy,
			    enum direction direction, const struct rule *rule)
{
	/* Empty means the same as missing in v1, and "nothing" in v1beta1. */
	bool spell = policy->kind == POLICY_NETWORK && either(y);
	const char *peers = direction == INGRESS ? "from" : "to";

	open_item(y);
	if (!rule->any_peer && rule->n_peers)
		line(y, "%s:", peers);
	else if (!rule->any_peer || spell)
		line(y, "%s: []", peers);
	for (size_t i = 0; i < rule->n_peers; i++)
		namespaced_peer(y, &rule->peers[i]);
	if (!rule->any_port && rule->n_ports)
		line(y, "ports:");
	else if (!rule->any_port || spell)
		line(y, "ports: []");
	for (size_t i = 0; i < rule->n_ports; i++)
		namespaced_port(y, &rule->ports[i]);
	if (y->dash)
		line(y, "{}");
	y->depth--;
}

static void print_namespaced(struct yaml *y, const struct policy_object *policy)
{
	bool v1 = policy->kind == POLICY_NETWORK;
	bool defaults = policy->applies[INGRESS] &&
			policy->applies[EGRESS] == (policy->n_rules[EGRESS] > 0);

	header(y, v1 ? "networking.k8s.io/v1" : "extensions/v1beta1", "NetworkPolicy",
	       policy->ns_name, policy->name);
	audit(y, policy);
	line(y, "spec:");
	y->depth++;
	selector(y, "podSelector", &policy->pods);
	if (v1 && (!defaults || either(y)))
		line(y, "policyTypes: [%s%s%s]", policy->applies[INGRESS] ? "Ingress" : "",
		     policy->applies[INGRESS] && policy->applies[EGRESS] ? ", " : "",
		     policy->applies[EGRESS] ? "Egress" : "");
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		if (policy->n_rules[d])
			line(y, "%s:", d == INGRESS ? "ingress" : "egress");
		for (size_t i = 0; i < policy->n_rules[d]; i++)
			namespaced_rule(y, policy, d, &policy->rules[d][i]);
	}
	y->depth--;
}

static void relation_value(struct yaml *y, const struct peer *peer)
{
	bool same = peer->scope == PEER_SAME_LABELS;

	if (peer->scope == PEER_SELF || peer->scope == PEER_NOT_SELF) {
		fprintf(y->to, "{related: %s}",
			peer->scope == PEER_SELF ? either(y) ? "Self" : "self"
			: either(y)		 ? "NotSelf"
						 : "notSelf");
		return;
	}
	fprintf(y->to, "{%s: [", same ? "sameLabels" : "notSameLabels");
	for (size_t i = 0; i < peer->n_keys; i++)
		fprintf(y->to, "%s%s", i ? ", " : "", peer->keys[i]);
	fputs("]}", y->to);
}

/* Prints `namespaces` as the KEP has it, or without @kep as a plain selector, as released. */
static void namespaces_value(struct yaml *y, const struct peer *peer, bool kep)
{
	if (peer->scope != PEER_NAMESPACES) {
		relation_value(y, peer);
		return;
	}
	fputs(kep ? "{namespaceSelector: " : "", y->to);
	selector_value(y, &peer->namespaces);
	fputs(kep ? "}" : "", y->to);
}

static void begin_value(struct yaml *y, const char *key)
{
	fprintf(y->to, "%*s- %s: ", 2 * (y->depth - 1), "", key);
	y->dash = false;
}

static bool same_cidr(const struct cidr *a, const struct cidr *b)
{
	return a->length == b->length && memcmp(&a->address, &b->address, sizeof(a->address)) == 0;
}

/* A list item may name several networks, each once. Returns how many peers the item took. */
static size_t networks(struct yaml *y, const struct peer *peers, size_t n)
{
	bool second = n > 1 && peers[1].scope == PEER_CIDR &&
		      !same_cidr(&peers[0].cidr, &peers[1].cidr) && either(y);
	char text[CIDR_TEXT], other[CIDR_TEXT];

	cidr_text(&peers[0].cidr, text);
	if (second)
		line(y, "networks: [\"%s\", \"%s\"]", text, cidr_text(&peers[1].cidr, other));
	else
		line(y, "networks: [\"%s\"]", text);
	return 1 + second;
}

static void domain_names(struct yaml *y, const struct peer *peer)
{
	begin_value(y, "domainNames");
	fputc('[', y->to);
	/* DNS folds case, and a dot at the end says that the name is whole. */
	for (size_t i = 0; i < peer->n_keys; i++)
		fprintf(y->to, "%s\"%s%s\"", i ? ", " : "", peer->keys[i], either(y) ? "." : "");
	fputs("]\n", y->to);
}

static size_t cluster_peer(struct yaml *y, const struct policy_object *policy,
			   const struct peer *peer, size_t n)
{
	bool kep = peer->scope != PEER_NAMESPACES || (policy->kind != POLICY_CLUSTER && either(y));
	size_t taken = 1;

	open_item(y);
	if (peer->scope == PEER_CIDR) {
		taken = networks(y, peer, n);
	} else if (peer->scope == PEER_DOMAINS) {
		domain_names(y, peer);
	} else if (peer->scope == PEER_NODES) {
		selector(y, "nodes", &peer->nodes);
	} else if (peer->pods.n || either(y)) {
		begin_value(y, "pods");
		fputs(kep ? "{namespaces: " : "{namespaceSelector: ", y->to);
		namespaces_value(y, peer, kep);
		fputs(", podSelector: ", y->to);
		selector_value(y, &peer->pods);
		fputs("}\n", y->to);
	} else {
		begin_value(y, "namespaces");
		namespaces_value(y, peer, kep);
		fputc('\n', y->to);
	}
	y->depth--;
	return taken;
}

static void admin_port(struct yaml *y, const struct port *port)
{
	bool defaulted = port->protocol == IPPROTO_TCP && either(y);
	const char *protocol = defaulted ? "" : "protocol: ";
	const char *name = defaulted ? "" : protocol_name(port->protocol);
	const char *comma = defaulted ? "" : ", ";

	open_item(y);
	if (port->kind == PORT_NAME)
		line(y, "namedPort: %s", port->name);
	else if (port->first == port->last)
		line(y, "portNumber: {%s%s%sport: %u}", protocol, name, comma, port->first);
	else
		line(y, "portRange: {%s%s%sstart: %u, end: %u}", protocol, name, comma, port->first,
		     port->last);
	y->depth--;
}

static void cluster_port(struct yaml *y, const struct port *port)
{
	const char *key = port->protocol == IPPROTO_TCP	  ? "tcp"
			  : port->protocol == IPPROTO_UDP ? "udp"
							  : "sctp";

	open_item(y);
	if (port->kind == PORT_NAME)
		line(y, "destinationNamedPort: %s", port->name);
	else if (port->first == port->last)
		line(y, "%s: {destinationPort: {number: %u}}", key, port->first);
	else
		line(y, "%s: {destinationPort: {range: {start: %u, end: %u}}}", key, port->first,
		     port->last);
	y->depth--;
}

/*
 * Prints a peer as a literal {}, which the API wants read as "an option this reader does not know".
 */
static void unknown_peer(struct yaml *y, const struct policy_object *policy)
{
	open_item(y);
	if (policy->kind != POLICY_CLUSTER && either(y))
		line(y, "pods: {namespaces: {}, podSelector: {}}");
	else
		line(y, "{}");
	y->depth--;
}

static void cluster_rule(struct yaml *y, const struct policy_object *policy,
			 enum direction direction, const struct rule *rule)
{
	static const char *const actions[] = {
		[ACTION_ALLOW] = "Allow",
		[ACTION_DENY] = "Deny",
		[ACTION_PASS] = "Pass",
	};
	bool cnp = policy->kind == POLICY_CLUSTER;
	bool unknown_port = rule->unknown && !rule->any_port && either(y);

	open_item(y);
	if (rule->name) {
		begin_value(y, "name");
		quoted(y->to, rule->name);
		fputc('\n', y->to);
	}
	line(y, "action: %s",
	     cnp && rule->action == ACTION_ALLOW ? "Accept" : actions[rule->action]);
	line(y, direction == INGRESS ? "from:" : "to:");
	for (size_t i = 0; i < rule->n_peers;)
		i += cluster_peer(y, policy, &rule->peers[i], rule->n_peers - i);
	if (rule->unknown && !unknown_port)
		unknown_peer(y, policy);
	if (!rule->any_port)
		line(y, cnp ? "protocols:" : "ports:");
	for (size_t i = 0; i < rule->n_ports; i++)
		(cnp ? cluster_port : admin_port)(y, &rule->ports[i]);
	if (unknown_port) {
		open_item(y);
		line(y, cnp && either(y) ? "tcp: {}" : "{}");
		y->depth--;
	}
	y->depth--;
}

static void print_cluster_scoped(struct yaml *y, const struct policy_object *policy)
{
	static const char *const kinds[] = {
		[POLICY_ADMIN] = "AdminNetworkPolicy",
		[POLICY_CLUSTER] = "ClusterNetworkPolicy",
		[POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy",
	};
	bool cnp = policy->kind == POLICY_CLUSTER;

	header(y, cnp ? "policy.networking.k8s.io/v1alpha2" : "policy.networking.k8s.io/v1alpha1",
	       kinds[policy->kind], NULL, policy->name);
	audit(y, policy);
	line(y, "spec:");
	y->depth++;
	if (cnp)
		line(y, "tier: %s", policy->tier == TIER_ADMIN ? "Admin" : "Baseline");
	if (policy->kind != POLICY_BASELINE_ADMIN)
		line(y, "priority: %d", policy->priority);
	line(y, "subject:");
	y->depth++;
	if (policy->pods.n || either(y)) {
		line(y, "pods:");
		y->depth++;
		selector(y, "namespaceSelector", &policy->namespaces);
		selector(y, "podSelector", &policy->pods);
		y->depth--;
	} else {
		selector(y, "namespaces", &policy->namespaces);
	}
	y->depth--;
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		if (policy->n_rules[d])
			line(y, d == INGRESS ? "ingress:" : "egress:");
		for (size_t i = 0; i < policy->n_rules[d]; i++)
			cluster_rule(y, policy, d, &policy->rules[d][i]);
	}
	y->depth--;
}

static void print_object(struct yaml *y, const struct cluster *cluster, size_t index)
{
	if (index < cluster->n_namespaces) {
		print_namespace(y, cluster, &cluster->namespaces[index]);
		return;
	}
	index -= cluster->n_namespaces;
	if (index < cluster->n_nodes) {
		print_node(y, &cluster->nodes[index]);
		return;
	}
	index -= cluster->n_nodes;
	if (index < cluster->n_endpoints) {
		print_pod(y, &cluster->endpoints[index], false);
		return;
	}
	index -= cluster->n_endpoints;
	if (index < cluster->n_host_pods) {
		print_pod(y, &cluster->host_pods[index], true);
		return;
	}
	index -= cluster->n_host_pods;
	if (index < cluster->n_services) {
		print_service(y, &cluster->services[index]);
		return;
	}
	index -= cluster->n_services;
	if (index < cluster->n_slices) {
		print_slice(y, &cluster->slices[index]);
		return;
	}
	index -= cluster->n_slices;
	if (cluster->policies[index].tier == TIER_NETWORK_POLICY)
		print_namespaced(y, &cluster->policies[index]);
	else
		print_cluster_scoped(y, &cluster->policies[index]);
}

void generate_yaml(FILE *to, const struct cluster *cluster, uint64_t style)
{
	struct yaml y = {.to = to, .random = {style}};
	size_t n = cluster->n_namespaces + cluster->n_nodes + cluster->n_endpoints +
		   cluster->n_host_pods + cluster->n_services + cluster->n_slices +
		   cluster->n_policies;
	size_t *order = calloc(n + 1, sizeof(*order));

	if (!order)
		abort();
	for (size_t i = 0; i < n; i++) {
		size_t other = random_below(&y.random, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	for (size_t i = 0; i < n; i++)
		print_object(&y, cluster, order[i]);
	free(order);
}

void generate_comment(const struct cluster *cluster, uint64_t style)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		abort();
	generate_yaml(to, cluster, style);
	fclose(to);
	for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		printf("#   %s\n", line);
	free(text);
}
