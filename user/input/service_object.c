// SPDX-License-Identifier: GPL-2.0-only
/* Reads a Service (v1) into the cluster, as the API server would take it. */
#include "model/cluster_service.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "input/object.h"
#include "input/name_syntax.h"
#include "model/arrays.h"

/* Returns the index of the text in @words (ending in NULL); -1, reported: it is none of them. */
static int read_word(struct reader *reader, const struct tree *node, const char *const *words)
{
	const char *text = reader_string(reader, node);
	char list[100] = "";

	for (int i = 0; text && words[i]; i++) {
		size_t end = strlen(list);

		if (!strcmp(text, words[i]))
			return i;
		snprintf(list + end, sizeof(list) - end, "%s%s", i ? ", " : "", words[i]);
	}
	if (text)
		reader_error(reader, node, "must be one of %s, not \"%.40s\"", list, text);
	return -1;
}

static bool read_local(struct reader *reader, const struct tree *spec, const char *key)
{
	static const char *const words[] = {"Cluster", "Local", NULL};
	const struct tree *node = tree_get_filled(spec, key);

	return node && read_word(reader, node, words) == 1;
}

bool reader_unicast(struct reader *reader, const struct tree *node, struct address *address)
{
	if (!reader_address(reader, node, address))
		return false;
	if (!address_is_special(address))
		return true;
	reader_error(reader, node,
		     "must not be an unspecified, loopback, link-local or multicast address");
	return false;
}

/* Reads an address of a Service. One that is set aside has an address in each spelling that the API
 * server takes. */
static bool read_address(struct reader *reader, const struct tree *node,
			 const struct service *service, struct address *address)
{
	if (!service->closed)
		return reader_unicast(reader, node, address);
	return node->type == TREE_SCALAR && !address_parse_loose(node->text, address) &&
	       !address_is_special(address);
}

static size_t read_addresses(struct reader *reader, const struct tree *list,
			     const struct service *service, struct address *addresses)
{
	size_t n = 0;

	for (const struct tree *item = list ? list->first : NULL; item; item = item->next)
		n += read_address(reader, item, service, &addresses[n]);
	return n;
}

const char *reader_service_port(struct reader *reader, const struct tree *port)
{
	const struct tree *node = tree_get_filled(port, "name");
	const char *name = node ? reader_string(reader, node) : NULL;

	if (name && !name_syntax_is_dns_label(name))
		reader_error(reader, node, "\"%.100s\" is " NAME_SYNTAX_SERVICE_PORT, name);
	return name;
}

static bool is_none(const struct tree *node)
{
	return node && node->type == TREE_SCALAR && !strcmp(node->text, "None");
}

/* Reads `clusterIPs` and `clusterIP`. Before dual stack there was `clusterIP` only; now it
 * repeats the first of `clusterIPs`. */
static void read_cluster_addresses(struct reader *reader, const struct tree *spec,
				   struct service *service)
{
	const struct tree *one = tree_get(spec, "clusterIP");
	const struct tree *list = reader_list(reader, spec, "clusterIPs", 2);
	const struct tree *first = list ? list->first : NULL;

	if (one && !reader_string(reader, one))
		return;
	if (one && first && first->type == TREE_SCALAR && strcmp(one->text, first->text)) {
		reader_error(reader, one, "must be the first of clusterIPs, \"%.60s\"",
			     first->text);
		return;
	}
	if (is_none(one) || is_none(first)) {
		service->type = SERVICE_HEADLESS;
		if (list && list->n > 1)
			reader_error(reader, list, "None stands alone");
		return;
	}
	reader_array(reader, service->addresses, 2);
	if (first)
		service->n_addresses = read_addresses(reader, list, service, service->addresses);
	else if (one && *one->text)
		service->n_addresses = read_address(reader, one, service, service->addresses);
	if (service->n_addresses == 2 &&
	    address_is_ipv4(&service->addresses[0]) == address_is_ipv4(&service->addresses[1]))
		reader_error(reader, list, "two addresses must be one of IPv4 and one of IPv6");
}

/* Reads the addresses of a load balancer. With `ipMode: Proxy` the load balancer is a host
 * outside, and the kernel does not serve its addresses. */
static void read_load_balancer(struct reader *reader, const struct tree *status,
			       struct service *service)
{
	const struct tree *balancer = status ? tree_get(status, "loadBalancer") : NULL;
	const struct tree *list = NULL;

	if (balancer && reader_map(reader, balancer, NULL))
		list = reader_list(reader, balancer, "ingress", UINT_MAX);
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next) {
		const struct tree *ip = tree_get(item, "ip");

		if (!ip || tree_says(item, "ip", "") || tree_says(item, "ipMode", "Proxy"))
			continue;
		if (read_address(reader, ip, service, &service->external[service->n_external]))
			service->n_external++;
	}
}

static void read_external_addresses(struct reader *reader, const struct tree *spec,
				    const struct tree *status, struct service *service)
{
	const struct tree *list = reader_list(reader, spec, "externalIPs", UINT_MAX);
	const struct tree *balancer = status ? tree_get(status, "loadBalancer") : NULL;
	const struct tree *ingress = balancer ? tree_get(balancer, "ingress") : NULL;

	reader_array(reader, service->external,
		     (list ? list->n : 0) +
			     (ingress && ingress->type == TREE_LIST ? ingress->n : 0));
	service->n_external = read_addresses(reader, list, service, service->external);
	read_load_balancer(reader, status, service);
}

/* Reads a target port: a number, or the pod's name for it. 0 and none mean the Service's own
 * port. */
static void read_target(struct reader *reader, const struct tree *node, struct service_port *port)
{
	long number = 0;

	port->target = port->port;
	if (!node)
		return;
	if (node->type == TREE_SCALAR && node->scalar == SCALAR_STRING) {
		port->target_name = *node->text ? reader_port_name(reader, node) : NULL;
		port->target = port->target_name ? 0 : port->port;
	} else if (reader_number(reader, node, 0, 65535, &number) && number) {
		port->target = number;
	}
}

static bool read_port_numbers(struct reader *reader, const struct tree *node, bool has_node_port,
			      struct service_port *port)
{
	const struct tree *number = tree_get(node, "port");
	const struct tree *node_port = tree_get(node, "nodePort");
	long value = 0;

	if (!number) {
		reader_missing(reader, node, "port");
		return false;
	}
	if (!reader_number(reader, number, 1, 65535, &value))
		return false;
	port->port = value;
	value = 0;
	if (node_port && !reader_number(reader, node_port, 0, 65535, &value))
		return false;
	port->node_port = value;
	if (value && !has_node_port)
		reader_error(reader, node_port, "is for the types NodePort and LoadBalancer only");
	return true;
}

static void read_port(struct reader *reader, const struct tree *node, bool has_node_port,
		      struct service *service)
{
	static const char *const fields[] = {"name",	   "protocol", "appProtocol", "port",
					     "targetPort", "nodePort", NULL};
	struct service_port *port = &service->ports[service->n_ports];

	if (!reader_map(reader, node, fields))
		return;
	port->name = reader_service_port(reader, node);
	if (!read_port_numbers(reader, node, has_node_port, port) ||
	    !reader_protocol(reader, tree_get_filled(node, "protocol"), &port->protocol))
		return;
	read_target(reader, tree_get(node, "targetPort"), port);
	service->n_ports++;
}

/* A port that was read, with its node. */
struct listed_port {
	const struct tree *node;
	const struct service_port *port;
};

static int order_of(const struct listed_port *x, const struct listed_port *y)
{
	return x->node->index < y->node->index ? -1 : x->node->index > y->node->index;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct listed_port *x = a, *y = b;

	if (x->port->protocol != y->port->protocol)
		return x->port->protocol < y->port->protocol ? -1 : 1;
	if (x->port->port != y->port->port)
		return x->port->port < y->port->port ? -1 : 1;
	return order_of(x, y);
}

static int compare_names(const void *a, const void *b)
{
	const struct listed_port *x = a, *y = b;
	const int order =
		strcmp(x->port->name ? x->port->name : "", y->port->name ? y->port->name : "");

	return order ? order : order_of(x, y);
}

/* Reports the ports that stand there twice. A tenant's Service may have 75,000, so no step looks at
 * all pairs. */
static void check_twice(struct reader *reader, struct listed_port *ports, size_t n)
{
	array_order(ports, n, sizeof(*ports), compare_numbers);
	for (size_t i = 1; i < n; i++)
		if (ports[i].port->port == ports[i - 1].port->port &&
		    ports[i].port->protocol == ports[i - 1].port->protocol)
			reader_error(reader, ports[i].node,
				     "the port and protocol stand there twice");
	array_order(ports, n, sizeof(*ports), compare_names);
	for (size_t i = 1; i < n; i++)
		if (ports[i].port->name && ports[i].port->name == ports[i - 1].port->name)
			reader_error(reader, tree_get(ports[i].node, "name"), "stands there twice");
}

static void read_ports(struct reader *reader, const struct tree *spec, bool has_node_port,
		       struct service *service)
{
	const struct tree *list = reader_list(reader, spec, "ports", UINT_MAX);
	struct listed_port *listed =
		check_memory(calloc((list ? list->n : 0) + 1, sizeof(*listed)));

	reader_array(reader, service->ports, list ? list->n : 0);
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next) {
		listed[service->n_ports] =
			(struct listed_port){item, &service->ports[service->n_ports]};
		read_port(reader, item, has_node_port, service);
	}
	check_twice(reader, listed, service->n_ports);
	free(listed);
	if (service->type == SERVICE_ADDRESSED && (!list || !list->n))
		reader_missing(reader, spec, "ports");
	if (list && list->n > 1)
		for (const struct tree *item = list->first; item; item = item->next)
			if (!tree_get(item, "name") || tree_says(item, "name", ""))
				reader_missing(reader, item, "name");
}

/* Reads the selector. A Service without labels to select selects nothing. */
static void read_selector(struct reader *reader, const struct tree *spec, struct service *service)
{
	const struct tree *selector = tree_get(spec, "selector");
	struct labels labels = {0};

	if (!selector)
		return;
	reader_labels(reader, selector, &labels);
	reader_array(reader, service->selector.at, labels.n);
	for (size_t i = 0; i < labels.n; i++) {
		struct requirement *requirement = &service->selector.at[i];

		*requirement = (struct requirement){
			.key = labels.at[i].key, .op = SELECTOR_IN, .n_values = 1};
		reader_array(reader, requirement->values, 1);
		requirement->values[0] = labels.at[i].value;
	}
	service->selector.n = labels.n;
	selector_sort(&service->selector);
	service->has_selector = labels.n;
}

/* Checks the fields for session affinity. They choose among backends, which does not matter to
 * policy. */
static void check_affinity(struct reader *reader, const struct tree *spec)
{
	static const char *const words[] = {"None", "ClientIP", NULL};
	static const char *const fields[] = {"clientIP", NULL};
	static const char *const client_fields[] = {"timeoutSeconds", NULL};
	const struct tree *affinity = tree_get_filled(spec, "sessionAffinity");
	const struct tree *config = tree_get(spec, "sessionAffinityConfig"), *seconds;
	long value;

	if (affinity)
		read_word(reader, affinity, words);
	if (!config || !reader_map(reader, config, fields))
		return;
	config = tree_get(config, "clientIP");
	if (!config || !reader_map(reader, config, client_fields))
		return;
	seconds = tree_get(config, "timeoutSeconds");
	if (seconds)
		reader_number(reader, seconds, 1, 86400, &value);
}

/* Checks a range of sources, which decides nothing here. The API server allows white space around
 * the range. */
static void check_range(struct reader *reader, const struct tree *node)
{
	const char *text = reader_string(reader, node);
	const size_t before = text ? strspn(text, " \t\r\n") : 0;
	size_t n = text ? strlen(text + before) : 0;
	char range[ADDRESS_TEXT];
	struct cidr cidr;

	while (n && strchr(" \t\r\n", text[before + n - 1]))
		n--;
	if (!text)
		return;
	snprintf(range, sizeof(range), "%.*s", n < sizeof(range) ? (int)n : 0, text + before);
	if (cidr_parse(range, &cidr))
		reader_error(reader, node, "\"%.60s\" is no CIDR such as 10.0.0.0/8 or fd00::/8",
			     text);
}

/* Checks fields that decide nothing here. */
static void check_others(struct reader *reader, const struct tree *spec)
{
	static const char *const families[] = {"IPv4", "IPv6", NULL};
	static const char *const policies[] = {"SingleStack", "PreferDualStack", "RequireDualStack",
					       NULL};
	const struct tree *ranges = reader_list(reader, spec, "loadBalancerSourceRanges", UINT_MAX);
	const struct tree *list = reader_list(reader, spec, "ipFamilies", 2);
	const struct tree *policy = tree_get(spec, "ipFamilyPolicy");

	for (const struct tree *item = ranges ? ranges->first : NULL; item; item = item->next)
		check_range(reader, item);
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next)
		read_word(reader, item, families);
	if (policy)
		read_word(reader, policy, policies);
	check_affinity(reader, spec);
}

enum written_type { TYPE_CLUSTER_IP, TYPE_NODE_PORT, TYPE_LOAD_BALANCER, TYPE_EXTERNAL_NAME };

static enum written_type read_service_type(struct reader *reader, const struct tree *spec)
{
	static const char *const words[] = {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName",
					    NULL};
	const struct tree *node = tree_get_filled(spec, "type");
	int type = node ? read_word(reader, node, words) : TYPE_CLUSTER_IP;

	return type < 0 ? TYPE_CLUSTER_IP : (enum written_type)type;
}

static void read_spec(struct reader *reader, const struct tree *spec, const struct tree *status,
		      struct service *service)
{
	enum written_type type = read_service_type(reader, spec);
	const struct tree *any_ready = tree_get(spec, "publishNotReadyAddresses");

	read_selector(reader, spec, service);
	check_others(reader, spec);
	service->internal_local = read_local(reader, spec, "internalTrafficPolicy");
	service->external_local = read_local(reader, spec, "externalTrafficPolicy");
	if (any_ready)
		reader_bool(reader, any_ready, &service->any_ready);
	read_cluster_addresses(reader, spec, service);
	if (type == TYPE_EXTERNAL_NAME) {
		if (service->n_addresses || service->type == SERVICE_HEADLESS)
			reader_error(reader, tree_get(spec, "type"),
				     "an ExternalName has no cluster address");
		if (!tree_get(spec, "externalName"))
			reader_missing(reader, spec, "externalName");
		service->type = SERVICE_EXTERNAL_NAME;
	} else if (type != TYPE_CLUSTER_IP && service->type == SERVICE_HEADLESS) {
		reader_error(reader, tree_get(spec, "type"), "a headless Service is a ClusterIP");
	}
	read_external_addresses(reader, spec, status, service);
	read_ports(reader, spec, type == TYPE_NODE_PORT || type == TYPE_LOAD_BALANCER, service);
}

void service_read_closed(struct reader *reader, const struct object *object)
{
	const struct tree *spec = tree_get(object->root, "spec");
	const struct tree *status = tree_get(object->root, "status");
	struct service *service = cluster_add_service(reader->cluster);

	service->ns_name = object->ns;
	service->name = object->name;
	service->where = reader_where(reader, object->root);
	service->accepted = object_is_accepted(object);
	service->closed = true;
	read_cluster_addresses(reader, spec, service);
	read_external_addresses(reader, spec, status, service);
	reader_array(reader, service->ports, 1);
	*service->ports = (struct service_port){.protocol = IPPROTO_TCP, .port = 1, .target = 1};
	service->n_ports = 1;
}

void service_read(struct reader *reader, const struct object *object)
{
	static const char *const fields[] = {"apiVersion", "kind",   "metadata",
					     "spec",	   "status", NULL};
	static const char *const spec_fields[] = {"ports",
						  "selector",
						  "clusterIP",
						  "clusterIPs",
						  "type",
						  "externalIPs",
						  "sessionAffinity",
						  "sessionAffinityConfig",
						  "loadBalancerIP",
						  "loadBalancerSourceRanges",
						  "loadBalancerClass",
						  "allocateLoadBalancerNodePorts",
						  "externalName",
						  "externalTrafficPolicy",
						  "internalTrafficPolicy",
						  "trafficDistribution",
						  "healthCheckNodePort",
						  "publishNotReadyAddresses",
						  "ipFamilies",
						  "ipFamilyPolicy",
						  "topologyKeys",
						  NULL};
	const struct tree *spec = tree_get(object->root, "spec");
	const struct tree *status = tree_get(object->root, "status");
	struct service *service;

	if (!reader_map(reader, object->root, fields))
		return;
	if (!spec) {
		reader_missing(reader, object->root, "spec");
		return;
	}
	if (!reader_map(reader, spec, spec_fields) || (status && !reader_map(reader, status, NULL)))
		return;
	service = cluster_add_service(reader->cluster);
	service->ns_name = object->ns;
	service->name = object->name;
	service->where = reader_where(reader, object->root);
	service->accepted = object_is_accepted(object);
	read_spec(reader, spec, status, service);
}
