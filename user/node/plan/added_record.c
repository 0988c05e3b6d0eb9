// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "node/kernel/maps.h"
#include "node/plan/added_record.h"

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

struct bh_added record_name_of(const struct lazy_policy *policy,
			       const struct policy_endpoint *endpoint)
{
	const struct policy_namespace *ns = LAZY_ONE(policy, namespaces, endpoint->ns);

	return record_name(lazy_read_string(policy, ns->name),
			   lazy_read_string(policy, endpoint->name));
}

bool record_is_of(const struct bh_added *record, const struct bh_added *name)
{
	return !strncmp(record->ns, name->ns, sizeof(record->ns)) &&
	       !strncmp(record->name, name->name, sizeof(record->name));
}

/* The fields that stand for one text or flag of an endpoint. */
static const struct single {
	const char *name;
	size_t at; /* in struct endpoint: a bool, or a text that may be NULL */
	const char *flag; /* the field's value if the bool is true; NULL: a text */
} singles[] = {
	{"node", offsetof(struct endpoint, node), NULL},
	{"interface", offsetof(struct endpoint, interface), NULL},
	{"mode", offsetof(struct endpoint, l2), "l2"},
	{"audit", offsetof(struct endpoint, audit), "yes"},
	{"uid", offsetof(struct endpoint, uid), NULL},
	{"attachment", offsetof(struct endpoint, attachment), NULL},
	{"unknown", offsetof(struct endpoint, unknown), "yes"},
	{"rests", offsetof(struct endpoint, rests), "yes"},
};

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

static void put_single(struct record_writer *writer, const struct endpoint *endpoint,
		       const struct single *single)
{
	const void *at = (const char *)endpoint + single->at;
	const char *value = NULL;

	if (!single->flag)
		value = *(const char *const *)at;
	else if (*(const bool *)at)
		value = single->flag;
	if (value)
		put(writer, "%s=%s", single->name, value);
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
	if (endpoint->has_mac)
		put(&writer, "mac=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		    mac[4], mac[5]);
	for (size_t i = 0; i < ARRAY_SIZE(singles); i++)
		put_single(&writer, endpoint, &singles[i]);
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

static int read_mac(struct record_reader *reader, const char *value)
{
	uint8_t *mac = reader->endpoint->mac;

	reader->endpoint->has_mac = true;
	return sscanf(value, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6
		       ? 0
		       : -EINVAL;
}

static int read_single(struct record_reader *reader, const struct single *single, const char *value)
{
	void *at = (char *)reader->endpoint + single->at;

	if (single->flag)
		*(bool *)at = true;
	else
		*(const char **)at = intern(reader, value);
	return single->flag ? strcmp(value, single->flag) : 0;
}

static const struct {
	const char *name;
	int (*read)(struct record_reader *reader, const char *value);
} fields[] = {
	{"ip", read_ip},	 {"label", read_label}, {"port", read_port},
	{"source", read_source}, {"mac", read_mac},
};

/* Returns the value of a field of that name; NULL: it has another name. */
static const char *value_of(const char *field, const char *name)
{
	const size_t length = strlen(name);

	return !strncmp(field, name, length) && field[length] == '=' ? field + length + 1 : NULL;
}

static int read_field(struct record_reader *reader, const char *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *value = value_of(field, fields[i].name);

		if (value)
			return fields[i].read(reader, value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(singles); i++) {
		const char *value = value_of(field, singles[i].name);

		if (value)
			return read_single(reader, &singles[i], value);
	}
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

void record_uid(const struct bh_added *record, uint32_t uid[2])
{
	static const char name[] = "uid=";
	const char *field = next_field(record, NULL);

	while (field && *field && strncmp(field, name, strlen(name)) != 0)
		field = next_field(record, field);
	policy_uid_hash(field && *field ? field + strlen(name) : NULL, uid);
}

/* Returns true if an address of @policy is another pod's than the endpoint's, a pod that a
 * container runtime added. */
static bool is_anothers(const struct lazy_policy *policy, const struct policy_address *address,
			const struct endpoint *endpoint)
{
	const struct policy_endpoint *owner = LAZY_ONE(policy, endpoints, address->endpoint);
	const struct policy_namespace *ns = LAZY_ONE(policy, namespaces, owner->ns);
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

bool record_is_audited(const struct lazy_policy *policy, const struct endpoint *endpoint)
{
	const struct policy_namespace *ns = lazy_namespace_by_name(policy, endpoint->ns_name);

	return endpoint->audit || (ns && ns->flags & POLICY_AUDIT);
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
