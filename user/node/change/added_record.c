// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "node/kernel/maps.h"
#include "node/change/added_record.h"

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct bh_added record_name(const char *ns, const char *name)
{
	struct bh_added record = {};

	snprintf(record.ns, sizeof(record.ns), "%s", ns);
	snprintf(record.name, sizeof(record.name), "%s", name);
	return record;
}

bool record_is_of(const struct bh_added *record, const struct bh_added *name)
{
	return !strncmp(record->ns, name->ns, sizeof(record->ns)) &&
	       !strncmp(record->name, name->name, sizeof(record->name));
}

/* Writes fields one behind the other. @left 0: a field did not fit. */
struct record_writer {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3)))
put(struct record_writer *writer, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(writer->at, writer->left, format, args);
	va_end(args);
	/* one more byte for the empty field at the end */
	if (length < 0 || (size_t)length + 2 > writer->left) {
		writer->left = 0;
		return;
	}
	writer->at += length + 1;
	writer->left -= length + 1;
}

int record_write(const struct endpoint *endpoint, struct bh_added *record)
{
	struct record_writer writer = {record->fields, sizeof(record->fields)};
	const uint8_t *mac = endpoint->mac;
	char text[ADDRESS_TEXT];

	*record = record_name(endpoint->ns_name, endpoint->name);
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		put(&writer, "ip=%s", address_print(&endpoint->addresses[i], text));
	for (size_t i = 0; i < endpoint->labels.n; i++)
		put(&writer, "label=%s=%s", endpoint->labels.at[i].key,
		    endpoint->labels.at[i].value);
	for (size_t i = 0; i < endpoint->n_ports; i++)
		put(&writer, "port=%s %u/%u", endpoint->ports[i].name, endpoint->ports[i].protocol,
		    endpoint->ports[i].port);
	for (size_t i = 0; i < endpoint->n_allow_source; i++)
		put(&writer, "source=%s", cidr_print(&endpoint->allow_source[i], text));
	if (endpoint->node)
		put(&writer, "node=%s", endpoint->node);
	if (endpoint->interface)
		put(&writer, "interface=%s", endpoint->interface);
	if (endpoint->has_mac)
		put(&writer, "mac=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		    mac[4], mac[5]);
	if (endpoint->l2)
		put(&writer, "mode=l2");
	if (endpoint->audit)
		put(&writer, "audit=yes");
	if (endpoint->uid)
		put(&writer, "uid=%s", endpoint->uid);
	if (endpoint->attachment)
		put(&writer, "attachment=%s", endpoint->attachment);
	if (endpoint->unknown)
		put(&writer, "unknown=yes");
	if (endpoint->rests)
		put(&writer, "rests=yes");
	if (!writer.left)
		return -E2BIG;
	*writer.at = '\0';
	return 0;
}

int record_make(const struct node_handle *handle, const struct endpoint *endpoint,
		struct bh_added *record)
{
	if (!record_write(endpoint, record))
		return 0;
	diag_error(
		handle->diag, NULL, NULL,
		"endpoint %s/%s: its labels, ports, addresses and sources take more than %zu bytes",
		endpoint->ns_name, endpoint->name, sizeof(record->fields));
	return -EINVAL;
}

/* Makes an endpoint of a record. */
struct record_reader {
	struct cluster *cluster;
	struct endpoint *endpoint;
};

static const char *intern(const struct record_reader *reader, const char *text)
{
	return cluster_intern(reader->cluster, text, strlen(text));
}

static int read_ip(struct record_reader *reader, const char *value)
{
	return address_parse(value, &reader->endpoint->addresses[reader->endpoint->n_addresses++]);
}

static int read_label(struct record_reader *reader, const char *value)
{
	struct labels *labels = &reader->endpoint->labels;
	const char *equals = strchr(value, '=');

	if (!equals)
		return -EINVAL;
	labels->at[labels->n++] = (struct label){
		cluster_intern(reader->cluster, value, equals - value), intern(reader, equals + 1)};
	return 0;
}

static int read_port(struct record_reader *reader, const char *value)
{
	struct named_port *port = &reader->endpoint->ports[reader->endpoint->n_ports++];
	const char *blank = strchr(value, ' ');

	if (!blank || sscanf(blank, " %hhu/%hu", &port->protocol, &port->port) != 2)
		return -EINVAL;
	port->name = cluster_intern(reader->cluster, value, blank - value);
	return 0;
}

static int read_source(struct record_reader *reader, const char *value)
{
	struct endpoint *endpoint = reader->endpoint;

	return cidr_parse(value, &endpoint->allow_source[endpoint->n_allow_source++]);
}

static int read_node(struct record_reader *reader, const char *value)
{
	reader->endpoint->node = intern(reader, value);
	return 0;
}

static int read_interface(struct record_reader *reader, const char *value)
{
	reader->endpoint->interface = intern(reader, value);
	return 0;
}

static int read_mac(struct record_reader *reader, const char *value)
{
	uint8_t *mac = reader->endpoint->mac;

	reader->endpoint->has_mac = true;
	return sscanf(value, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6
		       ? 0
		       : -EINVAL;
}

static int read_mode(struct record_reader *reader, const char *value)
{
	reader->endpoint->l2 = true;
	return strcmp(value, "l2");
}

static int read_audit(struct record_reader *reader, const char *value)
{
	reader->endpoint->audit = true;
	return strcmp(value, "yes");
}

static int read_uid(struct record_reader *reader, const char *value)
{
	reader->endpoint->uid = intern(reader, value);
	return 0;
}

static int read_attachment(struct record_reader *reader, const char *value)
{
	reader->endpoint->attachment = intern(reader, value);
	return 0;
}

static int read_unknown(struct record_reader *reader, const char *value)
{
	reader->endpoint->unknown = true;
	return strcmp(value, "yes");
}

static int read_rests(struct record_reader *reader, const char *value)
{
	reader->endpoint->rests = true;
	return strcmp(value, "yes");
}

static const struct {
	const char *name;
	int (*read)(struct record_reader *reader, const char *value);
} fields[] = {
	{"ip", read_ip},
	{"label", read_label},
	{"port", read_port},
	{"source", read_source},
	{"node", read_node},
	{"interface", read_interface},
	{"mac", read_mac},
	{"mode", read_mode},
	{"audit", read_audit},
	{"uid", read_uid},
	{"attachment", read_attachment},
	{"unknown", read_unknown},
	{"rests", read_rests},
};

static int read_field(struct record_reader *reader, const char *field)
{
	const char *equals = strchr(field, '=');

	for (size_t i = 0; equals && i < ARRAY_SIZE(fields); i++)
		if (!strncmp(field, fields[i].name, equals - field) &&
		    !fields[i].name[equals - field])
			return fields[i].read(reader, equals + 1);
	return -EINVAL;
}

/* Returns the field after @field ("": the first) of a record that may be damaged; NULL: it is
 * damaged. */
static const char *next_field(const struct bh_added *record, const char *field)
{
	const char *end = record->fields + sizeof(record->fields);
	const char *next = field ? field + strlen(field) + 1 : record->fields;

	return next < end && memchr(next, '\0', end - next) ? next : NULL;
}

/* Makes room for as many of each kind as the record has fields. */
static void make_room(struct record_reader *reader, size_t n)
{
	struct obstack *memory = &reader->cluster->memory;
	struct endpoint *endpoint = reader->endpoint;

	endpoint->addresses = obstack_alloc(memory, n * sizeof(*endpoint->addresses));
	endpoint->labels.at = obstack_alloc(memory, n * sizeof(*endpoint->labels.at));
	endpoint->ports = obstack_alloc(memory, n * sizeof(*endpoint->ports));
	endpoint->allow_source = obstack_alloc(memory, n * sizeof(*endpoint->allow_source));
}

int record_read(const struct bh_added *record, struct cluster *cluster, struct endpoint **endpoint)
{
	struct record_reader reader = {cluster, cluster_add_endpoint(cluster)};
	const char *field;
	size_t n = 1;

	for (field = next_field(record, NULL); field && *field; field = next_field(record, field))
		n++;
	if (!field || !memchr(record->ns, '\0', sizeof(record->ns)) ||
	    !memchr(record->name, '\0', sizeof(record->name)))
		return -EILSEQ;
	reader.endpoint->ns_name = intern(&reader, record->ns);
	reader.endpoint->name = intern(&reader, record->name);
	make_room(&reader, n);
	for (field = next_field(record, NULL); *field; field = next_field(record, field))
		if (read_field(&reader, field))
			return -EILSEQ;
	*endpoint = reader.endpoint;
	return 0;
}

/* Returns true if an address of @policy is another pod's than the endpoint's, a pod that a
 * container runtime added. */
static bool is_anothers(const struct lazy_policy *policy, const struct policy_address *address,
			const struct endpoint *endpoint)
{
	const struct policy_endpoint *owner = lazy_read(
		policy, &policy->endpoints[address->endpoint], sizeof(struct policy_endpoint));
	const struct policy_namespace *ns =
		lazy_read(policy, &policy->namespaces[owner->ns], sizeof(*ns));
	const char *name = lazy_read_string(policy, owner->name);
	const size_t length = strcspn(endpoint->name, ":");
	uint32_t uid[2];

	policy_uid_hash(endpoint->uid, uid);
	return endpoint->attachment &&
	       (strncmp(name, endpoint->name, length) || name[length] ||
		strcmp(lazy_read_string(policy, ns->name), endpoint->ns_name) ||
		((uid[0] | uid[1]) && (owner->uid[0] | owner->uid[1]) &&
		 memcmp(uid, owner->uid, sizeof(uid))));
}

bool record_is_known(const struct lazy_policy *policy, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		const struct policy_address *found =
			lazy_address_find(policy, &endpoint->addresses[i]);

		if (found && !is_anothers(policy, found, endpoint))
			return true;
	}
	return !endpoint->attachment &&
	       lazy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);
}

static int read_one(const struct table *added, size_t i, const struct policy *policy,
		    struct cluster *cluster)
{
	const struct bh_added *record = table_value(added, i);
	struct endpoint *endpoint;
	int error;

	if (!*record->name)
		return 0;
	error = record_read(record, cluster, &endpoint);
	if (error || !endpoint->n_addresses)
		return error ? error : -EILSEQ;
	if (memcmp(&endpoint->addresses[0], table_key(added, i), sizeof(struct address)) ||
	    (policy && record_is_known(policy_lazy(policy), endpoint)))
		cluster->n_endpoints--;
	return 0;
}

int record_read_all(struct node_handle *handle, const struct policy *policy,
		    struct cluster *cluster)
{
	CLEANUP(table_free) struct table added = {};
	int error;

	maps_init_table(MAP_added, &added);
	error = maps_read(handle, MAP_added, &added);
	for (size_t i = 0; !error && i < added.n; i++)
		error = read_one(&added, i, policy, cluster);
	return error ? node_fail(handle, error, "cannot read %s/added", handle->pin) : 0;
}
