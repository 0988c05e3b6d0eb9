// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"
#include "selftests/lib/generate.h"

#include <netinet/in.h>
#include <string.h>

struct ini {
	FILE *to;
	struct random random;
};

static bool either(struct ini *ini)
{
	return random_chance(&ini->random, 50);
}

/*
 * Separates list items; a line that begins with white space continues the one before, which keeps
 * lines short.
 */
static const char *separator(size_t index)
{
	return index == 0 ? "" : ",\n\t";
}

static const char *protocol_name(uint8_t protocol)
{
	return protocol == IPPROTO_TCP ? "TCP" : protocol == IPPROTO_UDP ? "UDP" : "SCTP";
}

static void print_address(struct ini *ini, const struct address *address)
{
	char text[ADDRESS_TEXT];

	fputs(address_print(address, text), ini->to);
}

static void print_cidr(struct ini *ini, const struct cidr *cidr)
{
	char text[ADDRESS_TEXT];

	fputs(cidr_print(cidr, text), ini->to);
}

static void addresses(struct ini *ini, const char *key, const struct address *at, size_t n)
{
	fprintf(ini->to, "%s = ", key);
	for (size_t i = 0; i < n; i++) {
		fputs(separator(i), ini->to);
		print_address(ini, &at[i]);
	}
	fputc('\n', ini->to);
}

static void labels(struct ini *ini, const struct labels *labels)
{
	if (!labels->n)
		return;
	fputs("labels = ", ini->to);
	for (size_t i = 0; i < labels->n; i++)
		fprintf(ini->to, "%s%s=%s", separator(i), labels->at[i].key, labels->at[i].value);
	fputc('\n', ini->to);
}

/* As in kubectl, "()" has no value and "(,)" the empty one. */
static void values(struct ini *ini, const struct requirement *requirement)
{
	bool empty = requirement->n_values == 1 && !*requirement->values[0];

	fputs(empty ? "(," : "(", ini->to);
	for (size_t i = 0; i < requirement->n_values; i++)
		fprintf(ini->to, "%s%s", i ? ", " : "", requirement->values[i]);
	fputc(')', ini->to);
}

static void requirement(struct ini *ini, const struct requirement *requirement)
{
	/* "key= in namespaces()" would read as the value "in". */
	bool one = requirement->n_values == 1 && *requirement->values[0] && either(ini);

	switch (requirement->op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		fputs(requirement->key, ini->to);
		if (one) {
			fprintf(ini->to, "%s%s",
				requirement->op == SELECTOR_NOT_IN ? "!="
				: either(ini)			   ? "="
								   : "==",
				requirement->values[0]);
			break;
		}
		fputs(requirement->op == SELECTOR_IN ? " in " : " notin ", ini->to);
		values(ini, requirement);
		break;
	case SELECTOR_EXISTS:
		fputs(requirement->key, ini->to);
		break;
	case SELECTOR_DOES_NOT_EXIST:
		fprintf(ini->to, "!%s", requirement->key);
		break;
	}
}

static void selector(struct ini *ini, const struct selector *selector)
{
	for (size_t i = 0; i < selector->n; i++) {
		fputs(separator(i), ini->to);
		requirement(ini, &selector->at[i]);
	}
}

static void keys(struct ini *ini, const char *word, const struct peer *peer)
{
	fprintf(ini->to, "%s(", word);
	for (size_t i = 0; i < peer->n_keys; i++)
		fprintf(ini->to, "%s%s", i ? ", " : "", peer->keys[i]);
	fputc(')', ini->to);
}

static void namespaces(struct ini *ini, const struct peer *peer)
{
	switch (peer->scope) {
	case PEER_SELF:
		fputs("self", ini->to);
		break;
	case PEER_NOT_SELF:
		fputs(either(ini) ? "not-self" : "notSelf", ini->to);
		break;
	case PEER_SAME_LABELS:
		keys(ini, either(ini) ? "same-labels" : "sameLabels", peer);
		break;
	case PEER_NOT_SAME_LABELS:
		keys(ini, either(ini) ? "not-same-labels" : "notSameLabels", peer);
		break;
	default:
		fputs("namespaces(", ini->to);
		selector(ini, &peer->namespaces);
		fputc(')', ini->to);
		break;
	}
}

static void cidr_peer(struct ini *ini, const struct peer *peer)
{
	fputs("cidr(", ini->to);
	print_cidr(ini, &peer->cidr);
	for (size_t i = 0; i < peer->n_except; i++) {
		fputs(i ? ", " : " except ", ini->to);
		print_cidr(ini, &peer->except[i]);
	}
	fputc(')', ini->to);
}

static void print_peer(struct ini *ini, const struct peer *peer)
{
	switch (peer->scope) {
	case PEER_CIDR:
		cidr_peer(ini, peer);
		break;
	case PEER_DOMAINS:
		keys(ini, "names", peer);
		break;
	case PEER_NODES:
		fputs("nodes(", ini->to);
		selector(ini, &peer->nodes);
		fputc(')', ini->to);
		break;
	case PEER_NAMESPACE:
		fputs("endpoints(", ini->to);
		selector(ini, &peer->pods);
		fputc(')', ini->to);
		break;
	default:
		if (!peer->pods.n) {
			namespaces(ini, peer);
			break;
		}
		fputs("endpoints(", ini->to);
		selector(ini, &peer->pods);
		fputs("\n\tin ", ini->to);
		namespaces(ini, peer);
		fputc(')', ini->to);
		break;
	}
}

static void print_port(struct ini *ini, const struct policy_object *policy, const struct port *port)
{
	/* An omitted protocol is TCP; for port names of cluster-scoped kinds it is any protocol. */
	bool namespaced = policy->tier == TIER_NETWORK_POLICY;
	bool silent = port->kind == PORT_NAME && !namespaced;

	if (!silent &&
	    (port->protocol != IPPROTO_TCP || port->kind == PORT_PROTOCOL || either(ini)))
		fprintf(ini->to, "%s%s", protocol_name(port->protocol),
			port->kind == PORT_PROTOCOL ? "" : "/");
	if (port->kind == PORT_NAME)
		fputs(port->name, ini->to);
	if (port->kind == PORT_RANGE)
		fprintf(ini->to, "%u", port->first);
	if (port->kind == PORT_RANGE && port->last != port->first)
		fprintf(ini->to, "-%u", port->last);
}

static void print_rule(struct ini *ini, const struct policy_object *policy,
		       enum direction direction, const struct rule *rule)
{
	static const char *const actions[] = {
		[ACTION_ALLOW] = "Allow",
		[ACTION_DENY] = "Deny",
		[ACTION_PASS] = "Pass",
	};
	bool accept = policy->kind == POLICY_CLUSTER && rule->action == ACTION_ALLOW;

	fprintf(ini->to, "%s = ", direction == INGRESS ? "ingress" : "egress");
	if (rule->name)
		fprintf(ini->to, "%s: ", rule->name);
	if (policy->tier != TIER_NETWORK_POLICY)
		fprintf(ini->to, "%s ", accept ? "Accept" : actions[rule->action]);
	fprintf(ini->to, "%s ", direction == INGRESS ? "from" : "to");
	if (!rule->n_peers)
		fputs(rule->any_peer ? "any" : "none", ini->to);
	for (size_t i = 0; i < rule->n_peers; i++) {
		fputs(separator(i), ini->to);
		print_peer(ini, &rule->peers[i]);
	}
	if (!rule->any_port || either(ini))
		fprintf(ini->to, "\n\tports %s",
			rule->any_port	? "any"
			: rule->n_ports ? ""
					: "none");
	for (size_t i = 0; i < rule->n_ports; i++) {
		fputs(separator(i), ini->to);
		print_port(ini, policy, &rule->ports[i]);
	}
	fputc('\n', ini->to);
}

static const char *section(const struct policy_object *policy)
{
	static const char *const sections[] = {
		[POLICY_NETWORK] = "network-policy",
		[POLICY_NETWORK_V1BETA1] = "network-policy-v1beta1",
		[POLICY_ADMIN] = "admin-network-policy",
		[POLICY_CLUSTER] = "cluster-network-policy",
		[POLICY_BASELINE_ADMIN] = "baseline-admin-network-policy",
	};

	return sections[policy->kind];
}

static void print_subject(struct ini *ini, const struct policy_object *policy)
{
	struct peer subject = {
		.scope = PEER_NAMESPACES,
		.namespaces = policy->namespaces,
		.pods = policy->pods,
	};

	fputs("subject = ", ini->to);
	print_peer(ini, &subject);
	fputc('\n', ini->to);
}

static void print_types(struct ini *ini, const struct policy_object *policy)
{
	bool both = policy->applies[INGRESS] && policy->applies[EGRESS];

	fprintf(ini->to, "types = %s%s%s\n", policy->applies[INGRESS] ? "Ingress" : "",
		both ? ", " : "", policy->applies[EGRESS] ? "Egress" : "");
}

static void print_policy(struct ini *ini, const struct policy_object *policy)
{
	bool namespaced = policy->tier == TIER_NETWORK_POLICY;
	bool defaults = policy->applies[INGRESS] &&
			policy->applies[EGRESS] == (policy->n_rules[EGRESS] > 0);

	fprintf(ini->to, "\n[%s %s%s%s]\n", section(policy), namespaced ? policy->ns_name : "",
		namespaced ? "/" : "", policy->name);
	if (policy->audit)
		fputs("audit = yes\n", ini->to);
	if (policy->kind == POLICY_CLUSTER)
		fprintf(ini->to, "tier = %s\n", policy->tier == TIER_ADMIN ? "Admin" : "Baseline");
	if (!namespaced && policy->kind != POLICY_BASELINE_ADMIN)
		fprintf(ini->to, "priority = %d\n", policy->priority);
	if (namespaced) {
		fputs("endpoints = ", ini->to);
		selector(ini, &policy->pods);
		fputc('\n', ini->to);
	} else {
		print_subject(ini, policy);
	}
	if (policy->kind == POLICY_NETWORK && (!defaults || either(ini)))
		print_types(ini, policy);
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		for (size_t i = 0; i < policy->n_rules[d]; i++)
			print_rule(ini, policy, d, &policy->rules[d][i]);
}

static void print_namespace(struct ini *ini, const struct namespace *ns)
{
	fprintf(ini->to, "\n[namespace %s]\n", ns->name);
	labels(ini, &ns->labels);
	if (ns->isolated)
		fputs("isolation = DefaultDeny\n", ini->to);
}

static void print_node(struct ini *ini, const struct node *node)
{
	fprintf(ini->to, "\n[node %s]\n", node->name);
	addresses(ini, "ip", node->addresses, node->n_addresses);
	labels(ini, &node->labels);
}

static void print_endpoint(struct ini *ini, const struct endpoint *endpoint)
{
	fprintf(ini->to, "\n[endpoint %s/%s]\n", endpoint->ns_name, endpoint->name);
	addresses(ini, "ip", endpoint->addresses, endpoint->n_addresses);
	labels(ini, &endpoint->labels);
	if (endpoint->node)
		fprintf(ini->to, "node = %s\n", endpoint->node);
	for (size_t i = 0; i < endpoint->n_ports; i++)
		fprintf(ini->to, "port = %s %s/%u\n", endpoint->ports[i].name,
			protocol_name(endpoint->ports[i].protocol), endpoint->ports[i].port);
}

static void print_service_port(struct ini *ini, const struct service_port *port)
{
	fprintf(ini->to, "port = %s%s%s/%u", port->name ? port->name : "", port->name ? " " : "",
		protocol_name(port->protocol), port->port);
	if (port->target_name)
		fprintf(ini->to, "\n\tto %s", port->target_name);
	else if (port->target != port->port || either(ini))
		fprintf(ini->to, " to %u", port->target);
	if (port->node_port)
		fprintf(ini->to, " node %u", port->node_port);
	fputc('\n', ini->to);
}

static void print_service(struct ini *ini, const struct service *service)
{
	fprintf(ini->to, "\n[service %s/%s]\n", service->ns_name, service->name);
	if (service->n_addresses)
		addresses(ini, "address", service->addresses, service->n_addresses);
	if (service->n_external)
		addresses(ini, "external-address", service->external, service->n_external);
	if (service->internal_local || either(ini))
		fprintf(ini->to, "internal-traffic = %s\n",
			service->internal_local ? "Local" : "Cluster");
	if (service->external_local || either(ini))
		fprintf(ini->to, "external-traffic = %s\n",
			service->external_local ? "Local" : "Cluster");
	for (size_t i = 0; i < service->n_ports; i++)
		print_service_port(ini, &service->ports[i]);
	if (!service->has_selector)
		return;
	fputs("backends = endpoints(", ini->to);
	for (size_t i = 0; i < service->selector.n; i++)
		fprintf(ini->to, "%s%s=%s", separator(i), service->selector.at[i].key,
			service->selector.at[i].values[0]);
	fputs(")\n", ini->to);
}

static bool services_fit(const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (cluster->endpoints[i].not_ready || cluster->endpoints[i].terminating)
			return false;
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *service = &cluster->services[i];

		if (service->type == SERVICE_EXTERNAL_NAME || service->any_ready ||
		    (service->type == SERVICE_ADDRESSED && !service->n_addresses))
			return false;
	}
	return !cluster->n_slices && !cluster->n_host_pods;
}

bool generate_fits_ini(const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *policy = &cluster->policies[i];

		for (enum direction d = INGRESS; d <= EGRESS; d++)
			for (size_t j = 0; j < policy->n_rules[d]; j++)
				if (policy->rules[d][j].unknown ||
				    (policy->rules[d][j].name &&
				     strchr(policy->rules[d][j].name, '\t')))
					return false;
	}
	return services_fit(cluster);
}

void generate_ini(FILE *to, const struct cluster *cluster, uint64_t style)
{
	struct ini ini = {.to = to, .random = {style}};

	for (size_t i = cluster->n_policies; i-- > 0;)
		print_policy(&ini, &cluster->policies[i]);
	for (size_t i = cluster->n_endpoints; i-- > 0;)
		print_endpoint(&ini, &cluster->endpoints[i]);
	for (size_t i = 0; i < cluster->n_services; i++)
		print_service(&ini, &cluster->services[i]);
	for (size_t i = 0; i < cluster->n_namespaces; i++)
		print_namespace(&ini, &cluster->namespaces[i]);
	for (size_t i = 0; i < cluster->n_nodes; i++)
		print_node(&ini, &cluster->nodes[i]);
}
