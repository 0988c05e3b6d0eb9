// SPDX-License-Identifier: GPL-2.0-only
/* Reads an EndpointSlice (discovery.k8s.io/v1 or v1beta1) into the cluster. */
#include "model/cluster_service.h"

#include <limits.h>
#include <string.h>

#include "input/object.h"

#define SERVICE_NAME_LABEL "kubernetes.io/service-name"
#define HOSTNAME_LABEL "kubernetes.io/hostname"

enum address_type { FAMILY_ANY, FAMILY_IPV4, FAMILY_IPV6, FAMILY_NAMES };

/* Reads a port. One without a number means any port; kube-proxy does not serve it, so it is left
 * out. */
static void read_port(struct reader *reader, const struct tree *node, struct slice *slice)
{
	static const char *const fields[] = {"name", "protocol", "port", "appProtocol", NULL};
	struct slice_port *port = &slice->ports[slice->n_ports];
	const struct tree *number;
	long value;

	if (!reader_map(reader, node, fields))
		return;
	number = tree_get(node, "port");
	port->name = reader_service_port(reader, node);
	if (!reader_protocol(reader, tree_get(node, "protocol"), &port->protocol) || !number ||
	    !reader_number(reader, number, 1, 65535, &value))
		return;
	port->port = value;
	slice->n_ports++;
}

static void read_ports(struct reader *reader, const struct tree *root, struct slice *slice)
{
	const struct tree *list = reader_list(reader, root, "ports", 20000);

	reader_array(reader, slice->ports, list ? list->n : 0);
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next)
		read_port(reader, item, slice);
}

/* Reads the conditions. By default an endpoint is ready, serves if it is ready, and does not
 * terminate. */
static void read_conditions(struct reader *reader, const struct tree *node,
			    struct slice_endpoint *endpoint)
{
	static const char *const fields[] = {"ready", "serving", "terminating", NULL};
	const struct tree *condition;

	endpoint->ready = endpoint->serving = true;
	if (!node || !reader_map(reader, node, fields))
		return;
	condition = tree_get(node, "ready");
	if (condition)
		reader_bool(reader, condition, &endpoint->ready);
	endpoint->serving = endpoint->ready;
	condition = tree_get(node, "serving");
	if (condition)
		reader_bool(reader, condition, &endpoint->serving);
	condition = tree_get(node, "terminating");
	if (condition)
		reader_bool(reader, condition, &endpoint->terminating);
}

static void read_addresses(struct reader *reader, const struct tree *node, enum address_type family,
			   struct slice_endpoint *endpoint)
{
	const struct tree *list = reader_list(reader, node, "addresses", 100);

	if (!list || !list->n) {
		reader_missing(reader, node, "addresses");
		return;
	}
	reader_array(reader, endpoint->addresses, list->n);
	for (const struct tree *item = list->first; item; item = item->next) {
		struct address *address = &endpoint->addresses[endpoint->n_addresses];

		if (family == FAMILY_NAMES || !reader_unicast(reader, item, address))
			continue;
		if (family != FAMILY_ANY && address_is_ipv4(address) != (family == FAMILY_IPV4))
			reader_error(reader, item, "is not of the addressType %s",
				     family == FAMILY_IPV4 ? "IPv4" : "IPv6");
		endpoint->n_addresses++;
	}
}

static void read_node_name(struct reader *reader, const struct tree *node,
			   struct slice_endpoint *endpoint)
{
	const struct tree *name = tree_get_filled(node, "nodeName"), *topology;

	topology = tree_get(node, "topology");
	if (!name && topology && reader_map(reader, topology, NULL))
		name = tree_get(topology, HOSTNAME_LABEL);
	endpoint->node = name ? reader_plain(reader, name) : NULL;
}

static void read_endpoint(struct reader *reader, const struct tree *node, enum address_type family,
			  bool beta, struct slice *slice)
{
	static const char *const fields[] = {
		"addresses", "conditions", "hostname", "targetRef", "deprecatedTopology",
		"nodeName",  "zone",	   "hints",    NULL};
	static const char *const beta_fields[] = {"addresses", "conditions", "hostname",
						  "targetRef", "topology",   "nodeName",
						  "hints",     NULL};
	struct slice_endpoint *endpoint = &slice->endpoints[slice->n_endpoints++];

	if (!reader_map(reader, node, beta ? beta_fields : fields))
		return;
	read_addresses(reader, node, family, endpoint);
	read_conditions(reader, tree_get(node, "conditions"), endpoint);
	read_node_name(reader, node, endpoint);
}

static enum address_type read_family(struct reader *reader, const struct tree *root)
{
	static const char *const words[] = {
		[FAMILY_IPV4] = "IPv4", [FAMILY_IPV6] = "IPv6", [FAMILY_NAMES] = "FQDN"};
	const struct tree *node = tree_get(root, "addressType");
	const char *text = node ? reader_string(reader, node) : NULL;

	if (!node)
		reader_missing(reader, root, "addressType");
	for (enum address_type family = FAMILY_IPV4; text && family <= FAMILY_NAMES; family++)
		if (!strcmp(text, words[family]))
			return family;
	if (text)
		reader_error(reader, node, "must be IPv4, IPv6 or FQDN, not \"%.40s\"", text);
	return FAMILY_ANY;
}

static void read_endpoints(struct reader *reader, const struct tree *root, bool beta,
			   struct slice *slice)
{
	enum address_type family = read_family(reader, root);
	const struct tree *list = reader_list(reader, root, "endpoints", 1000);

	reader_array(reader, slice->endpoints, list ? list->n : 0);
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next)
		read_endpoint(reader, item, family, beta, slice);
	if (family == FAMILY_NAMES)
		diag_note(reader->diag, &slice->where, "addressType",
			  "FQDN is not supported; the EndpointSlice has no addresses");
}

static void read_slice(struct reader *reader, const struct object *object, bool beta)
{
	static const char *const fields[] = {"apiVersion", "kind",  "metadata", "addressType",
					     "endpoints",  "ports", NULL};
	struct labels labels = {0};
	struct slice *slice;

	if (!reader_map(reader, object->root, fields))
		return;
	reader_labels(reader, tree_get(object->metadata, "labels"), &labels);
	slice = cluster_add_slice(reader->cluster);
	slice->ns_name = object->ns;
	slice->name = object->name;
	slice->service = labels_get(&labels, SERVICE_NAME_LABEL);
	slice->where = reader_where(reader, object->root);
	read_ports(reader, object->root, slice);
	read_endpoints(reader, object->root, beta, slice);
}

void slice_read(struct reader *reader, const struct object *object)
{
	read_slice(reader, object, false);
}

void slice_v1beta1_read(struct reader *reader, const struct object *object)
{
	read_slice(reader, object, true);
}
