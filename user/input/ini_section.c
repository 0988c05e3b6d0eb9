// SPDX-License-Identifier: GPL-2.0-only
/* The sections of the INI form: each becomes the tree of a Kubernetes object. */
#include "input/ini_section.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "input/object.h"
#include "input/ini_rule.h"
#include "input/ini_value.h"
#include "model/nearest.h"
#include "model/search.h"
#include "model/cluster_service.h"

struct section_kind;
typedef void section_reader(struct section *section, const struct section_kind *kind,
			    const char *name);
static section_reader read_settings, read_namespace, read_node, read_endpoint, read_service,
	read_policy;

/* The most keys of any kind of section; a NULL follows them. */
#define KEYS_MAX 15

static const struct section_kind {
	const char *name;
	section_reader *read;
	const char *version, *kind;
	bool namespaced; /* its name is NAMESPACE/NAME */
	enum policy_kind policy;
	const char *keys[KEYS_MAX + 1]; /* ends with NULL */
} kinds[] = {
	{.name = "bulkhead",
	 .read = read_settings,
	 .keys = {"node", "uplink", "service-cidr", "resolver"}},
	{.name = "namespace",
	 .read = read_namespace,
	 .version = "v1",
	 .kind = "Namespace",
	 .keys = {"labels", "isolation", "audit"}},
	{.name = "node",
	 .read = read_node,
	 .version = "v1",
	 .kind = "Node",
	 .keys = {"ip", "labels"}},
	{.name = "endpoint",
	 .read = read_endpoint,
	 .version = "v1",
	 .kind = "Pod",
	 .namespaced = true,
	 .keys = {"ip", "node", "interface", "mac", "labels", "port", "mode", "allow-source",
		  "audit", "host-network", "uid"}},
	{.name = "service",
	 .read = read_service,
	 .version = "v1",
	 .kind = "Service",
	 .namespaced = true,
	 .keys = {"address", "external-address", "port", "backends", "internal-traffic",
		  "external-traffic"}},
	{.name = "network-policy",
	 .read = read_policy,
	 .version = "networking.k8s.io/v1",
	 .kind = "NetworkPolicy",
	 .namespaced = true,
	 .policy = POLICY_NETWORK,
	 .keys = {"endpoints", "types", "ingress", "egress", "audit"}},
	{.name = "network-policy-v1beta1",
	 .read = read_policy,
	 .version = "extensions/v1beta1",
	 .kind = "NetworkPolicy",
	 .namespaced = true,
	 .policy = POLICY_NETWORK_V1BETA1,
	 .keys = {"endpoints", "ingress", "audit"}},
	{.name = "admin-network-policy",
	 .read = read_policy,
	 .version = "policy.networking.k8s.io/v1alpha1",
	 .kind = "AdminNetworkPolicy",
	 .policy = POLICY_ADMIN,
	 .keys = {"priority", "subject", "ingress", "egress", "audit"}},
	{.name = "baseline-admin-network-policy",
	 .read = read_policy,
	 .version = "policy.networking.k8s.io/v1alpha1",
	 .kind = "BaselineAdminNetworkPolicy",
	 .policy = POLICY_BASELINE_ADMIN,
	 .keys = {"subject", "ingress", "egress", "audit"}},
	{.name = "cluster-network-policy",
	 .read = read_policy,
	 .version = "policy.networking.k8s.io/v1alpha2",
	 .kind = "ClusterNetworkPolicy",
	 .policy = POLICY_CLUSTER,
	 .keys = {"tier", "priority", "subject", "ingress", "egress", "audit"}},
};

void ini_section_refuse(struct section *section, uint32_t line, const char *field, const char *what)
{
	diag_error(section->reader.diag, &(struct where){section->reader.file, line}, field, "%s",
		   what);
}

const char *ini_section_field(const struct reader *reader, unsigned int line)
{
	const struct section *section = (const struct section *)reader;
	/* the last entry that begins on the line or above it */
	const size_t below = SEARCH(section->n_entries, i, section->entries[i].line <= line);

	return below ? section->entries[below - 1].key : NULL;
}

static struct value value_of(struct section *section, const struct section_entry *entry)
{
	return (struct value){.memory = &section->memory,
			      .diag = section->reader.diag,
			      .file = section->reader.file,
			      .field = entry->key,
			      .at = entry->text,
			      .line = entry->line};
}

/* Returns a value for nodes that no entry holds. They have the line of the section's header. */
static struct value value_of_header(struct section *section)
{
	return (struct value){.memory = &section->memory,
			      .diag = section->reader.diag,
			      .file = section->reader.file,
			      .at = "",
			      .line = section->line};
}

static const struct section_entry *find(const struct section *section, const char *key)
{
	for (size_t i = 0; i < section->n_entries; i++)
		if (!strcmp(section->entries[i].key, key))
			return &section->entries[i];
	return NULL;
}

/* Makes the section's object with apiVersion, kind and metadata only. */
static struct tree *make_object(struct section *section, const struct section_kind *kind,
				const char *name)
{
	struct value value = value_of_header(section);
	struct tree *root = ini_add_map(&value, NULL, NULL), *metadata;
	const char *slash = kind->namespaced ? strchr(name, '/') : NULL;

	ini_add_text(&value, root, "apiVersion", kind->version);
	ini_add_text(&value, root, "kind", kind->kind);
	metadata = ini_add_map(&value, root, "metadata");
	if (slash && slash > name) {
		const char *ns = obstack_copy0(&section->memory, name, slash - name);

		ini_add_text(&value, metadata, "namespace", ns);
		name = slash + 1;
	} else if (kind->namespaced) {
		diag_error(section->reader.diag,
			   &(struct where){section->reader.file, section->line}, NULL,
			   "the name \"%.100s\" must be NAMESPACE/NAME", name);
	}
	ini_add_text(&value, metadata, "name", name);
	return root;
}

static struct tree *map_of(struct section *section, struct tree *root, const char *key)
{
	struct value value = value_of_header(section);
	struct tree *map = tree_get(root, key);

	return map ? map : ini_add_map(&value, root, key);
}

/* Reads the entry @key, if there is one, into @parent as @field. */
static void put(struct section *section, const char *key, struct tree *parent, const char *field,
		void (*read)(struct value *value, struct tree *parent, const char *field))
{
	const struct section_entry *entry = find(section, key);
	struct value value;

	if (!entry)
		return;
	value = value_of(section, entry);
	read(&value, parent, field);
}

/* Reads the object, unless an entry was faulty: a field that was not understood would be
 * reported as missing. */
static void read_object(struct section *section, struct tree *root)
{
	if (section->reader.diag->errors == section->errors)
		object_read(&section->reader, root);
}

static bool truth(struct section *section, const char *key)
{
	const struct section_entry *entry = find(section, key);
	struct value value;

	if (!entry)
		return false;
	value = value_of(section, entry);
	return ini_value_bool(&value);
}

/* Returns an interface's name, interned. NULL: @node is no valid name (reported). */
static const char *interface_name(struct section *section, const struct tree *node)
{
	const char *name = reader_plain(&section->reader, node);

	if (!name || strlen(name) < IFNAMSIZ)
		return name;
	reader_error(&section->reader, node, "no interface has a name of more than 15 bytes");
	return NULL;
}

static void add_uplinks(struct section *section, struct tree *root)
{
	const struct section_entry *entry = find(section, "uplink");
	struct cluster *cluster = section->reader.cluster;
	const struct tree *list;
	const char **uplinks;
	struct value value;

	if (!entry)
		return;
	value = value_of(section, entry);
	ini_value_words(&value, root, "uplink", NULL);
	list = tree_get(root, "uplink");
	reader_array(&section->reader, uplinks, cluster->n_uplinks + list->n);
	if (cluster->n_uplinks)
		memcpy(uplinks, cluster->uplinks, cluster->n_uplinks * sizeof(*uplinks));
	cluster->uplinks = uplinks;
	for (const struct tree *item = list->first; item; item = item->next) {
		const char *uplink = interface_name(section, item);

		if (uplink)
			uplinks[cluster->n_uplinks++] = uplink;
	}
	cluster->n_uplinks = texts_sort(uplinks, cluster->n_uplinks);
}

static void add_service_cidrs(struct section *section, struct tree *root)
{
	const struct section_entry *entry = find(section, "service-cidr");
	struct cluster *cluster = section->reader.cluster;
	const struct tree *list;
	struct cidr *cidrs;
	struct value value;

	if (!entry)
		return;
	value = value_of(section, entry);
	ini_value_words(&value, root, "service-cidr", NULL);
	list = tree_get(root, "service-cidr");
	reader_array(&section->reader, cidrs, cluster->n_service_cidrs + list->n);
	if (cluster->n_service_cidrs)
		memcpy(cidrs, cluster->service_cidrs, cluster->n_service_cidrs * sizeof(*cidrs));
	cluster->service_cidrs = cidrs;
	for (const struct tree *item = list->first; item; item = item->next)
		if (reader_cidr(&section->reader, item, &cidrs[cluster->n_service_cidrs]))
			cluster->n_service_cidrs++;
}

static void add_resolvers(struct section *section, struct tree *root)
{
	const struct section_entry *entry = find(section, "resolver");
	struct cluster *cluster = section->reader.cluster;
	struct address *resolvers;
	const struct tree *list;
	struct value value;

	if (!entry)
		return;
	value = value_of(section, entry);
	ini_value_words(&value, root, "resolver", NULL);
	list = tree_get(root, "resolver");
	reader_array(&section->reader, resolvers, cluster->n_resolvers + list->n);
	if (cluster->n_resolvers)
		memcpy(resolvers, cluster->resolvers, cluster->n_resolvers * sizeof(*resolvers));
	cluster->resolvers = resolvers;
	for (const struct tree *item = list->first; item; item = item->next)
		if (reader_address(&section->reader, item, &resolvers[cluster->n_resolvers]))
			cluster->n_resolvers++;
	cluster->n_resolvers = addresses_sort(resolvers, cluster->n_resolvers);
}

static void read_settings(struct section *section, const struct section_kind *kind,
			  const char *name)
{
	struct value value = value_of_header(section);
	struct cluster *cluster = section->reader.cluster;
	struct tree *root = ini_add_map(&value, NULL, NULL);

	(void)kind;
	if (*name)
		ini_section_refuse(section, section->line, NULL, "[bulkhead] has no name");
	put(section, "node", root, "node", ini_value_string);
	if (tree_get(root, "node")) {
		const char *node = reader_plain(&section->reader, tree_get(root, "node"));

		if (cluster->node && cluster->node != node)
			ini_section_refuse(section, section->line, "node",
					   "is another one than before");
		cluster->node = node;
	}
	add_uplinks(section, root);
	add_service_cidrs(section, root);
	add_resolvers(section, root);
}

static void read_namespace(struct section *section, const struct section_kind *kind,
			   const char *name)
{
	struct tree *root = make_object(section, kind, name), *policy;
	struct cluster *cluster = section->reader.cluster;
	size_t before = cluster->n_namespaces;

	put(section, "labels", tree_get(root, "metadata"), "labels", ini_value_labels);
	if (find(section, "isolation")) {
		policy = map_of(section, map_of(section, root, "spec"), "networkPolicy");
		put(section, "isolation", map_of(section, policy, "ingress"), "isolation",
		    ini_value_string);
	}
	read_object(section, root);
	if (cluster->n_namespaces > before)
		cluster->namespaces[before].audit = truth(section, "audit");
}

static void read_node(struct section *section, const struct section_kind *kind, const char *name)
{
	struct tree *root = make_object(section, kind, name), *list;
	struct value value = value_of_header(section);

	put(section, "labels", tree_get(root, "metadata"), "labels", ini_value_labels);
	if (find(section, "ip")) {
		list = map_of(section, root, "status");
		value = value_of(section, find(section, "ip"));
		ini_value_words(&value, list, "addresses", "address");
		for (struct tree *item = tree_get(list, "addresses")->first; item;
		     item = item->next)
			ini_add_text(&value, item, "type", "InternalIP");
	}
	read_object(section, root);
}

static bool read_mac(const char *text, uint8_t mac[6])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 6; i++, text += 3) {
		const char *high = memchr(digits, text[0] | 0x20, 16);
		const char *low = high ? memchr(digits, text[1] | 0x20, 16) : NULL;

		/* strtoul() would read 0x10 to 0x19 as the digits of a byte */
		if (!low || text[0] < '0' || text[1] < '0' || text[2] != (i < 5 ? ':' : '\0'))
			return false;
		mac[i] = (high - digits) << 4 | (low - digits);
	}
	return true;
}

/* Returns true if @mac is neither zero nor a group's. */
static bool is_unicast(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !(mac[0] & 1) && memcmp(mac, none, sizeof(none));
}

static const char *text_of(struct section *section, struct tree *root, const char *key)
{
	put(section, key, root, key, ini_value_string);
	return tree_get(root, key) ? reader_string(&section->reader, tree_get(root, key)) : NULL;
}

static void read_allow_source(struct section *section, struct tree *root, struct endpoint *endpoint)
{
	const struct tree *list;
	struct value value;

	if (!find(section, "allow-source"))
		return;
	value = value_of(section, find(section, "allow-source"));
	ini_value_words(&value, root, "allow-source", NULL);
	list = tree_get(root, "allow-source");
	reader_array(&section->reader, endpoint->allow_source, list->n);
	for (const struct tree *item = list->first; item; item = item->next)
		if (reader_cidr(&section->reader, item,
				&endpoint->allow_source[endpoint->n_allow_source]))
			endpoint->n_allow_source++;
}

/* Reads the keys of an endpoint that a Pod does not have. */
static void read_link(struct section *section, struct endpoint *endpoint)
{
	struct value value = value_of_header(section);
	struct tree *root = ini_add_map(&value, NULL, NULL);
	const char *mac = text_of(section, root, "mac"), *mode = text_of(section, root, "mode");

	put(section, "interface", root, "interface", ini_value_string);
	if (tree_get(root, "interface"))
		endpoint->interface = interface_name(section, tree_get(root, "interface"));
	if (mac && (!read_mac(mac, endpoint->mac) || !is_unicast(endpoint->mac)))
		ini_section_refuse(section, find(section, "mac")->line, "mac",
				   "must be a unicast address such as 02:00:00:00:00:05");
	endpoint->has_mac = mac;
	endpoint->l2 = mode && !strcmp(mode, "l2");
	if (mode && !endpoint->l2 && strcmp(mode, "l3"))
		ini_section_refuse(section, find(section, "mode")->line, "mode",
				   "must be l2 or l3");
	endpoint->audit = truth(section, "audit");
	read_allow_source(section, root, endpoint);
}

static void put_ports(struct section *section, struct tree *spec)
{
	struct value value = value_of_header(section);
	struct tree *container =
		ini_add_map(&value, ini_add_list(&value, spec, "containers"), NULL);
	struct tree *ports = ini_add_list(&value, container, "ports");

	for (size_t i = 0; i < section->n_entries; i++) {
		if (strcmp(section->entries[i].key, "port"))
			continue;
		value = value_of(section, &section->entries[i]);
		ini_value_named_ports(&value, ports);
	}
}

/* Returns true if the section may have no `ip`: the endpoint is still to come, and has no interface
 * yet. */
static bool may_lack_address(struct section *section)
{
	static const char *const of_interface[] = {"interface", "mac", "mode", "host-network"};

	for (size_t i = 0; i < sizeof(of_interface) / sizeof(*of_interface); i++) {
		if (!find(section, of_interface[i]))
			continue;
		ini_section_refuse(section, section->line, "ip", "is missing");
		return false;
	}
	return true;
}

static void read_endpoint(struct section *section, const struct section_kind *kind,
			  const char *name)
{
	struct tree *root = make_object(section, kind, name), *spec = map_of(section, root, "spec");
	struct cluster *cluster = section->reader.cluster;
	size_t before = cluster->n_endpoints, before_expected = cluster->n_expected;
	const struct section_entry *ip = find(section, "ip");
	struct value value;

	if (!ip && !may_lack_address(section))
		return;
	put(section, "labels", tree_get(root, "metadata"), "labels", ini_value_labels);
	put(section, "uid", tree_get(root, "metadata"), "uid", ini_value_string);
	put(section, "node", spec, "nodeName", ini_value_string);
	put_ports(section, spec);
	if (truth(section, "host-network")) {
		value = value_of_header(section);
		ini_add_true(&value, spec, "hostNetwork");
	}
	if (ip) {
		value = value_of(section, ip);
		ini_value_words(&value, map_of(section, root, "status"), "podIPs", "ip");
	}
	read_object(section, root);
	if (cluster->n_endpoints > before)
		read_link(section, &cluster->endpoints[before]);
	if (cluster->n_expected > before_expected)
		read_link(section, &cluster->expected[before_expected]);
}

static void put_words(struct value *value, struct tree *parent, const char *key)
{
	ini_value_words(value, parent, key, NULL);
}

static void put_service_ports(struct section *section, struct tree *spec)
{
	struct value value = value_of_header(section);
	struct tree *ports = ini_add_list(&value, spec, "ports");

	for (size_t i = 0; i < section->n_entries; i++) {
		if (strcmp(section->entries[i].key, "port"))
			continue;
		value = value_of(section, &section->entries[i]);
		ini_value_service_ports(&value, ports);
	}
	/* A port of every node makes the Service one of type NodePort. */
	for (const struct tree *port = ports->first; port; port = port->next)
		if (tree_get(port, "nodePort") && !tree_get(spec, "type"))
			ini_add_text(&value, spec, "type", "NodePort");
}

/* Writes the Service's ports into a backend's slice. @node is the backend's own port number, if it
 * has one. */
static bool put_slice_ports(struct section *section, const struct service *service,
			    const struct tree *node, struct slice *slice)
{
	struct reader *reader = &section->reader;
	long number = 0;

	if (node && !reader_number(reader, node, 1, 65535, &number))
		return false;
	if (node && service->n_ports > 1) {
		reader_error(reader, node, "the Service has several ports: say it at each of them");
		return false;
	}
	reader_array(reader, slice->ports, service->n_ports);
	for (size_t i = 0; i < service->n_ports; i++) {
		const struct service_port *port = &service->ports[i];

		if (!number && !port->target) {
			ini_section_refuse(section, find(section, "backends")->line, "backends",
					   "a name of a port is looked up at endpoints() only");
			return false;
		}
		slice->ports[slice->n_ports++] = (struct slice_port){
			port->name, port->protocol, number ? number : port->target};
	}
	return true;
}

/* Writes each backend as an EndpointSlice of its own. No API object can have its name. */
static void add_backend(struct section *section, const struct service *service,
			const struct tree *backend)
{
	struct reader *reader = &section->reader;
	struct slice slice = {.ns_name = service->ns_name,
			      .service = service->name,
			      .n_endpoints = 1,
			      .where = reader_where(reader, backend)};
	struct slice_endpoint *endpoint;
	char name[300];

	reader_array(reader, endpoint, 1);
	reader_array(reader, endpoint->addresses, 1);
	if (!reader_unicast(reader, tree_get(backend, "address"), endpoint->addresses) ||
	    !put_slice_ports(section, service, tree_get(backend, "port"), &slice))
		return;
	endpoint->n_addresses = 1;
	endpoint->ready = endpoint->serving = true;
	slice.endpoints = endpoint;
	snprintf(name, sizeof(name), "%s backends[%u]", service->name, backend->index);
	slice.name = cluster_intern(reader->cluster, name, strlen(name));
	*cluster_add_slice(reader->cluster) = slice;
}

static void read_service(struct section *section, const struct section_kind *kind, const char *name)
{
	struct tree *root = make_object(section, kind, name), *spec = map_of(section, root, "spec");
	struct value value = value_of_header(section);
	struct tree *given = ini_add_map(&value, NULL, NULL), *selector;
	struct cluster *cluster = section->reader.cluster;
	size_t before = cluster->n_services;
	const struct tree *backends;

	put(section, "address", spec, "clusterIPs", put_words);
	if (!find(section, "address"))
		ini_add_text(&value, spec, "clusterIP", "None");
	if (find(section, "external-address") && !find(section, "address"))
		ini_section_refuse(section, find(section, "external-address")->line,
				   "external-address", "is not served without an address");
	put(section, "external-address", spec, "externalIPs", put_words);
	put(section, "internal-traffic", spec, "internalTrafficPolicy", ini_value_string);
	put(section, "external-traffic", spec, "externalTrafficPolicy", ini_value_string);
	put_service_ports(section, spec);
	put(section, "backends", given, "backends", ini_value_backends);
	selector = tree_get(given, "selector");
	backends = tree_get(given, "backends");
	if (selector)
		tree_append(spec, selector);
	read_object(section, root);
	if (cluster->n_services == before)
		return;
	for (const struct tree *item = backends ? backends->first : NULL; item; item = item->next)
		add_backend(section, &cluster->services[before], item);
}

static void put_rules(struct section *section, const struct section_kind *kind, struct tree *spec,
		      enum direction direction)
{
	const char *key = direction == INGRESS ? "ingress" : "egress";
	struct value value;
	struct tree *rules = NULL;

	for (size_t i = 0; i < section->n_entries; i++) {
		if (strcmp(section->entries[i].key, key))
			continue;
		value = value_of(section, &section->entries[i]);
		if (!rules)
			rules = ini_add_list(&value, spec, key);
		ini_read_rule(&value, kind->policy, direction, rules);
	}
}

static void put_annotation(struct section *section, struct tree *root, const char *key,
			   const char *text)
{
	struct value value = value_of_header(section);

	ini_add_text(&value, map_of(section, map_of(section, root, "metadata"), "annotations"), key,
		     text);
}

static void read_policy(struct section *section, const struct section_kind *kind, const char *name)
{
	struct tree *root = make_object(section, kind, name), *spec = map_of(section, root, "spec");

	put(section, "endpoints", spec, "podSelector", ini_value_selector);
	put(section, "types", spec, "policyTypes", put_words);
	put(section, "tier", spec, "tier", ini_value_string);
	put(section, "priority", spec, "priority", ini_value_number);
	put(section, "subject", spec, "subject", ini_read_subject);
	put_rules(section, kind, spec, INGRESS);
	put_rules(section, kind, spec, EGRESS);
	if (truth(section, "audit"))
		put_annotation(section, root, AUDIT_ANNOTATION, "true");
	read_object(section, root);
}

static bool is_repeatable(const char *key)
{
	return !strcmp(key, "ingress") || !strcmp(key, "egress") || !strcmp(key, "port");
}

static void refuse_key(struct section *section, const struct section_entry *entry,
		       const struct section_kind *kind)
{
	struct nearest nearest = {.word = entry->key};
	char like[NEAREST_TEXT];

	for (const char *const *key = kind->keys; *key; key++)
		nearest_try(&nearest, *key);
	diag_error(section->reader.diag, &(struct where){section->reader.file, entry->line},
		   entry->key, "unknown key in this section%s",
		   *nearest_print(&nearest, like) ? like : "; bulkhead.ini(5) lists its keys");
}

/* Returns true if every key belongs to the section and stands there no more often than it may. */
static bool check_keys(struct section *section, const struct section_kind *kind)
{
	bool good = true;

	for (size_t i = 0; i < section->n_entries && !diag_full(section->reader.diag); i++) {
		const struct section_entry *entry = &section->entries[i];
		const char *const *key = kind->keys;

		while (*key && strcmp(*key, entry->key))
			key++;
		if (!*key)
			refuse_key(section, entry, kind);
		else if (!is_repeatable(entry->key) && find(section, entry->key) != entry)
			ini_section_refuse(section, entry->line, entry->key,
					   "the key is given twice");
		else
			continue;
		good = false;
	}
	return good;
}

/* @length: of the kind's name in the header. */
static void refuse_kind(struct section *section, size_t length)
{
	char name[64], like[NEAREST_TEXT];
	struct nearest nearest = {.word = name};

	snprintf(name, sizeof(name), "%.*s", (int)length, section->header);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		nearest_try(&nearest, kinds[i].name);
	diag_error(section->reader.diag, &(struct where){section->reader.file, section->line}, NULL,
		   "there is no kind of section \"%s\"%s", name, nearest_print(&nearest, like));
}

void ini_section_read(struct section *section)
{
	size_t length = strcspn(section->header, " \t");
	const char *name = section->header + length + strspn(section->header + length, " \t");

	section->errors = section->reader.diag->errors;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct section_kind *kind = &kinds[i];

		if (strlen(kind->name) != length || strncmp(kind->name, section->header, length))
			continue;
		if (check_keys(section, kind))
			kind->read(section, kind, name);
		return;
	}
	refuse_kind(section, length);
}
