// SPDX-License-Identifier: GPL-2.0-only
/*
 * The INI form, through inih. Three of inih's limits would cut a policy in
 * silence: lines of 200 bytes, section names of 50, and that it does not tell a
 * continuation from a further entry of the same name. So the reader that hands
 * it the lines watches over all three.
 */
#include "input/ini.h"

#include <ini.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/objects.h"
#include "input/value.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* inih's buffer, with the NUL. */
#define LINE_MAX_BYTES 200

struct entry {
	const char *key, *text;
	uint32_t line;
};

struct ini {
	struct reader reader; /* first: field_at() gets it */
	const char *at, *end; /* what inih has not seen yet */
	uint32_t line; /* of what it has seen last */
	bool continues; /* that line goes on with the entry before it */

	struct obstack memory; /* of the section */
	const char *header; /* "namespace shop", NULL before the first */
	uint32_t header_line;
	struct entry *entries;
	size_t n_entries, room;
	unsigned int errors; /* of all inputs before the section */

	/* The entry that may still go on. */
	char *key, *text;
	size_t text_size;
	FILE *writer;
	uint32_t first_line, last_line;
};

struct section;
typedef void section_reader(struct ini *ini, const struct section *section, const char *name);
static section_reader read_settings, read_namespace, read_node, read_endpoint, read_policy;

static const struct section {
	const char *name;
	section_reader *read;
	const char *keys[10]; /* ending in NULL */
	const char *version, *kind;
	bool namespaced; /* named NAMESPACE/NAME */
	enum policy_kind policy;
} sections[] = {
	{"bulkhead", read_settings, {"node", "uplink"}, NULL, NULL, false, 0},
	{"namespace",
	 read_namespace,
	 {"labels", "isolation", "audit"},
	 "v1",
	 "Namespace",
	 false,
	 0},
	{"node", read_node, {"ip", "labels"}, "v1", "Node", false, 0},
	{"endpoint",
	 read_endpoint,
	 {"ip", "node", "interface", "mac", "labels", "port", "mode", "allow-source", "audit"},
	 "v1",
	 "Pod",
	 true,
	 0},
	{"network-policy",
	 read_policy,
	 {"endpoints", "types", "ingress", "egress"},
	 "networking.k8s.io/v1",
	 "NetworkPolicy",
	 true,
	 POLICY_NETWORK},
	{"network-policy-v1beta1",
	 read_policy,
	 {"endpoints", "ingress"},
	 "extensions/v1beta1",
	 "NetworkPolicy",
	 true,
	 POLICY_NETWORK_V1BETA1},
	{"admin-network-policy",
	 read_policy,
	 {"priority", "subject", "ingress", "egress"},
	 "policy.networking.k8s.io/v1alpha1",
	 "AdminNetworkPolicy",
	 false,
	 POLICY_ADMIN},
	{"baseline-admin-network-policy",
	 read_policy,
	 {"subject", "ingress", "egress"},
	 "policy.networking.k8s.io/v1alpha1",
	 "BaselineAdminNetworkPolicy",
	 false,
	 POLICY_BASELINE_ADMIN},
	{"cluster-network-policy",
	 read_policy,
	 {"tier", "priority", "subject", "ingress", "egress"},
	 "policy.networking.k8s.io/v1alpha2",
	 "ClusterNetworkPolicy",
	 false,
	 POLICY_CLUSTER},
};

static void refuse(struct ini *ini, uint32_t line, const char *field, const char *what)
{
	diag_error(ini->reader.diag, &(struct where){ini->reader.file, line}, field, "%s", what);
}

static const char *field_at(const struct reader *reader, unsigned int line)
{
	const struct ini *ini = (const struct ini *)reader;
	size_t low = 0, high = ini->n_entries;

	/* The last entry that begins on the line or above it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ini->entries[middle].line <= line)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? ini->entries[low - 1].key : NULL;
}

static struct value value_of(struct ini *ini, const struct entry *entry)
{
	return (struct value){.memory = &ini->memory,
			      .diag = ini->reader.diag,
			      .file = ini->reader.file,
			      .field = entry->key,
			      .at = entry->text,
			      .line = entry->line};
}

/* To put together what no entry says in so many words: told with the section's line. */
static struct value value_of_header(struct ini *ini)
{
	return (struct value){.memory = &ini->memory,
			      .diag = ini->reader.diag,
			      .file = ini->reader.file,
			      .at = "",
			      .line = ini->header_line};
}

static const struct entry *find(const struct ini *ini, const char *key)
{
	for (size_t i = 0; i < ini->n_entries; i++)
		if (!strcmp(ini->entries[i].key, key))
			return &ini->entries[i];
	return NULL;
}

/* The object of the section, without what is in it: apiVersion, kind and metadata. */
static struct tree *make_object(struct ini *ini, const struct section *section, const char *name)
{
	struct value value = value_of_header(ini);
	struct tree *root = value_map(&value, NULL, NULL), *metadata;
	const char *slash = section->namespaced ? strchr(name, '/') : NULL;

	value_text(&value, root, "apiVersion", section->version);
	value_text(&value, root, "kind", section->kind);
	metadata = value_map(&value, root, "metadata");
	if (slash) {
		const char *ns = obstack_copy0(&ini->memory, name, slash - name);

		value_text(&value, metadata, "namespace", ns);
		name = slash + 1;
	} else if (section->namespaced) {
		refuse(ini, ini->header_line, NULL, "the section's name must be NAMESPACE/NAME");
	}
	value_text(&value, metadata, "name", name);
	return root;
}

static struct tree *map_of(struct ini *ini, struct tree *root, const char *key)
{
	struct value value = value_of_header(ini);
	struct tree *map = tree_get(root, key);

	return map ? map : value_map(&value, root, key);
}

/* Adds what the entry @key says, where there is one, to @parent as @field. */
static void put(struct ini *ini, const char *key, struct tree *parent, const char *field,
		void (*read)(struct value *value, struct tree *parent, const char *field))
{
	const struct entry *entry = find(ini, key);
	struct value value;

	if (!entry)
		return;
	value = value_of(ini, entry);
	read(&value, parent, field);
}

/* What was not understood would be told as missing: then the object is not read. */
static void read_object(struct ini *ini, struct tree *root)
{
	if (ini->reader.diag->errors == ini->errors)
		object_read(&ini->reader, root);
}

static bool truth(struct ini *ini, const char *key)
{
	const struct entry *entry = find(ini, key);
	struct value value;

	if (!entry)
		return false;
	value = value_of(ini, entry);
	return value_bool(&value);
}

/* An interface's name as text, interned; NULL where it is none (reported). */
static const char *interface_name(struct ini *ini, const struct tree *node)
{
	const char *name = reader_string(&ini->reader, node);

	if (!name || strlen(name) < IFNAMSIZ)
		return name;
	reader_error(&ini->reader, node, "no interface has a name of more than 15 bytes");
	return NULL;
}

static void read_settings(struct ini *ini, const struct section *section, const char *name)
{
	struct value value = value_of_header(ini);
	struct cluster *cluster = ini->reader.cluster;
	struct tree *root = value_map(&value, NULL, NULL), *list;
	const char **uplinks;

	(void)section;
	if (*name)
		refuse(ini, ini->header_line, NULL, "[bulkhead] has no name");
	put(ini, "node", root, "node", value_string);
	if (tree_get(root, "node")) {
		const char *node = reader_string(&ini->reader, tree_get(root, "node"));

		if (cluster->node && cluster->node != node)
			refuse(ini, ini->header_line, "node", "is another one than before");
		cluster->node = node;
	}
	if (!find(ini, "uplink"))
		return;
	value = value_of(ini, find(ini, "uplink"));
	value_words(&value, root, "uplink", NULL);
	list = tree_get(root, "uplink");
	reader_array(&ini->reader, uplinks, cluster->n_uplinks + list->n);
	if (cluster->n_uplinks)
		memcpy(uplinks, cluster->uplinks, cluster->n_uplinks * sizeof(*uplinks));
	cluster->uplinks = uplinks;
	for (const struct tree *item = list->first; item; item = item->next) {
		const char *uplink = interface_name(ini, item);

		if (uplink)
			uplinks[cluster->n_uplinks++] = uplink;
	}
	cluster->n_uplinks = texts_sort(uplinks, cluster->n_uplinks);
}

static void read_namespace(struct ini *ini, const struct section *section, const char *name)
{
	struct tree *root = make_object(ini, section, name), *policy;
	struct cluster *cluster = ini->reader.cluster;
	size_t before = cluster->n_namespaces;

	put(ini, "labels", tree_get(root, "metadata"), "labels", value_labels);
	if (find(ini, "isolation")) {
		policy = map_of(ini, map_of(ini, root, "spec"), "networkPolicy");
		put(ini, "isolation", map_of(ini, policy, "ingress"), "isolation", value_string);
	}
	read_object(ini, root);
	if (cluster->n_namespaces > before)
		cluster->namespaces[before].audit = truth(ini, "audit");
}

static void read_node(struct ini *ini, const struct section *section, const char *name)
{
	struct tree *root = make_object(ini, section, name), *list;
	struct value value = value_of_header(ini);

	put(ini, "labels", tree_get(root, "metadata"), "labels", value_labels);
	if (find(ini, "ip")) {
		list = map_of(ini, root, "status");
		value = value_of(ini, find(ini, "ip"));
		value_words(&value, list, "addresses", "address");
		for (struct tree *item = tree_get(list, "addresses")->first; item;
		     item = item->next)
			value_text(&value, item, "type", "InternalIP");
	}
	read_object(ini, root);
}

static bool read_mac(const char *text, uint8_t mac[6])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 6; i++, text += 3) {
		const char *high = memchr(digits, text[0] | 0x20, 16);
		const char *low = high ? memchr(digits, text[1] | 0x20, 16) : NULL;

		/* 0x10 to 0x19 would pass for digits. */
		if (!low || text[0] < '0' || text[1] < '0' || text[2] != (i < 5 ? ':' : '\0'))
			return false;
		mac[i] = (high - digits) << 4 | (low - digits);
	}
	return true;
}

/* Whether @mac may be that of one interface. */
static bool is_unicast(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !(mac[0] & 1) && memcmp(mac, none, sizeof(none));
}

static const char *text_of(struct ini *ini, struct tree *root, const char *key)
{
	put(ini, key, root, key, value_string);
	return tree_get(root, key) ? reader_string(&ini->reader, tree_get(root, key)) : NULL;
}

static void read_allow_source(struct ini *ini, struct tree *root, struct endpoint *endpoint)
{
	const struct tree *list;
	struct value value;

	if (!find(ini, "allow-source"))
		return;
	value = value_of(ini, find(ini, "allow-source"));
	value_words(&value, root, "allow-source", NULL);
	list = tree_get(root, "allow-source");
	reader_array(&ini->reader, endpoint->allow_source, list->n);
	for (const struct tree *item = list->first; item; item = item->next)
		if (reader_cidr(&ini->reader, item,
				&endpoint->allow_source[endpoint->n_allow_source]))
			endpoint->n_allow_source++;
}

/* What an endpoint has and a Pod has not. */
static void read_link(struct ini *ini, struct endpoint *endpoint)
{
	struct value value = value_of_header(ini);
	struct tree *root = value_map(&value, NULL, NULL);
	const char *mac = text_of(ini, root, "mac"), *mode = text_of(ini, root, "mode");

	put(ini, "interface", root, "interface", value_string);
	if (tree_get(root, "interface"))
		endpoint->interface = interface_name(ini, tree_get(root, "interface"));
	if (mac && (!read_mac(mac, endpoint->mac) || !is_unicast(endpoint->mac)))
		refuse(ini, find(ini, "mac")->line, "mac",
		       "must be a unicast address such as 02:00:00:00:00:05");
	endpoint->has_mac = mac;
	endpoint->l2 = mode && !strcmp(mode, "l2");
	if (mode && !endpoint->l2 && strcmp(mode, "l3"))
		refuse(ini, find(ini, "mode")->line, "mode", "must be l2 or l3");
	endpoint->audit = truth(ini, "audit");
	read_allow_source(ini, root, endpoint);
}

static void put_ports(struct ini *ini, struct tree *spec)
{
	struct value value = value_of_header(ini);
	struct tree *container = value_map(&value, value_list(&value, spec, "containers"), NULL);
	struct tree *ports = value_list(&value, container, "ports");

	for (size_t i = 0; i < ini->n_entries; i++) {
		if (strcmp(ini->entries[i].key, "port"))
			continue;
		value = value_of(ini, &ini->entries[i]);
		value_named_ports(&value, ports);
	}
}

static void read_endpoint(struct ini *ini, const struct section *section, const char *name)
{
	struct tree *root = make_object(ini, section, name), *spec = map_of(ini, root, "spec");
	struct cluster *cluster = ini->reader.cluster;
	size_t before = cluster->n_endpoints;
	struct value value;

	if (!find(ini, "ip")) {
		refuse(ini, ini->header_line, "ip", "is missing");
		return;
	}
	put(ini, "labels", tree_get(root, "metadata"), "labels", value_labels);
	put(ini, "node", spec, "nodeName", value_string);
	put_ports(ini, spec);
	value = value_of(ini, find(ini, "ip"));
	value_words(&value, map_of(ini, root, "status"), "podIPs", "ip");
	read_object(ini, root);
	if (cluster->n_endpoints > before)
		read_link(ini, &cluster->endpoints[before]);
}

static void put_rules(struct ini *ini, const struct section *section, struct tree *spec,
		      enum direction direction)
{
	const char *key = direction == INGRESS ? "ingress" : "egress";
	struct value value;
	struct tree *rules = NULL;

	for (size_t i = 0; i < ini->n_entries; i++) {
		if (strcmp(ini->entries[i].key, key))
			continue;
		value = value_of(ini, &ini->entries[i]);
		if (!rules)
			rules = value_list(&value, spec, key);
		value_rule(&value, section->policy, direction, rules);
	}
}

static void put_types(struct value *value, struct tree *spec, const char *key)
{
	value_words(value, spec, key, NULL);
}

static void read_policy(struct ini *ini, const struct section *section, const char *name)
{
	struct tree *root = make_object(ini, section, name), *spec = map_of(ini, root, "spec");

	put(ini, "endpoints", spec, "podSelector", value_selector);
	put(ini, "types", spec, "policyTypes", put_types);
	put(ini, "tier", spec, "tier", value_string);
	put(ini, "priority", spec, "priority", value_number);
	put(ini, "subject", spec, "subject", value_subject);
	put_rules(ini, section, spec, INGRESS);
	put_rules(ini, section, spec, EGRESS);
	read_object(ini, root);
}

static bool is_repeatable(const char *key)
{
	return !strcmp(key, "ingress") || !strcmp(key, "egress") || !strcmp(key, "port");
}

/* Whether every key is one of the section's, and stands there as often as it may. */
static bool check_keys(struct ini *ini, const struct section *section)
{
	bool good = true;

	for (size_t i = 0; i < ini->n_entries && !diag_full(ini->reader.diag); i++) {
		const struct entry *entry = &ini->entries[i];
		const char *const *key = section->keys;

		while (*key && strcmp(*key, entry->key))
			key++;
		if (!*key)
			refuse(ini, entry->line, entry->key, "unknown key in this section");
		else if (!is_repeatable(entry->key) && find(ini, entry->key) != entry)
			refuse(ini, entry->line, entry->key, "the key is given twice");
		else
			continue;
		good = false;
	}
	return good;
}

static void end_entry(struct ini *ini)
{
	struct entry *entry;

	if (!ini->key)
		return;
	if (fclose(ini->writer))
		obstack_alloc_failed_handler();
	if (ini->n_entries == ini->room) {
		ini->room = ini->room ? ini->room * 2 : 16;
		ini->entries = reallocarray(ini->entries, ini->room, sizeof(*ini->entries));
		if (!ini->entries)
			obstack_alloc_failed_handler();
	}
	entry = &ini->entries[ini->n_entries++];
	entry->key = obstack_copy0(&ini->memory, ini->key, strlen(ini->key));
	entry->text = obstack_copy0(&ini->memory, ini->text, strlen(ini->text));
	entry->line = ini->first_line;
	free(ini->key);
	free(ini->text);
	ini->key = ini->text = NULL;
}

static void read_section(struct ini *ini)
{
	size_t kind = strcspn(ini->header, " \t");
	const char *name = ini->header + kind + strspn(ini->header + kind, " \t");

	ini->errors = ini->reader.diag->errors;
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const struct section *section = &sections[i];

		if (strlen(section->name) != kind || strncmp(section->name, ini->header, kind))
			continue;
		if (check_keys(ini, section))
			section->read(ini, section, name);
		return;
	}
	refuse(ini, ini->header_line, NULL, "there is no such kind of section");
}

static void end_section(struct ini *ini)
{
	end_entry(ini);
	if (ini->header && !diag_full(ini->reader.diag))
		read_section(ini);
	ini->header = NULL;
	ini->n_entries = 0;
	obstack_free(&ini->memory, NULL);
	obstack_init(&ini->memory);
}

/* inih keeps 49 bytes of a section's name: this keeps all. */
static void begin_section(struct ini *ini, const char *line)
{
	const char *start = line + 1 + strspn(line + 1, " \t"), *end = strchr(line, ']');

	end_section(ini);
	while (end && end > start && strchr(" \t", end[-1]))
		end--;
	if (!end || end[strspn(end, " \t")] != ']')
		return; /* inih refuses it */
	ini->header = obstack_copy0(&ini->memory, start, end - start);
	ini->header_line = ini->line;
}

/*
 * fgets() for inih: one line, without what ends it. A line that does not fit
 * is refused, and inih sees an empty one.
 */
static char *next_line(char *buffer, int size, void *stream)
{
	struct ini *ini = stream;
	const char *end = memchr(ini->at, '\n', ini->end - ini->at), *start = ini->at;
	size_t length = (end ? end : ini->end) - start;
	const char *text;

	if (ini->at == ini->end)
		return NULL;
	ini->at = end ? end + 1 : ini->end;
	ini->line++;
	if (length && start[length - 1] == '\r')
		length--;
	if (length >= (size_t)size || length >= LINE_MAX_BYTES) {
		refuse(ini, ini->line, NULL,
		       "this line has 200 bytes or more: go on in another that begins with white "
		       "space");
		length = 0;
	}
	memcpy(buffer, start, length);
	buffer[length] = '\0';
	text = buffer + strspn(buffer, " \t\v\f\r");
	ini->continues = ini->key && text > buffer && *text && !strchr(";#", *text);
	if (*text == '[' && !ini->continues)
		begin_section(ini, text);
	return buffer;
}

static void begin_entry(struct ini *ini, const char *key)
{
	end_entry(ini);
	ini->key = strdup(key);
	ini->writer = open_memstream(&ini->text, &ini->text_size);
	if (!ini->key || !ini->writer)
		obstack_alloc_failed_handler();
	ini->first_line = ini->last_line = ini->line;
}

/* inih cuts comments off the first line of a value only. */
static size_t without_comment(const char *text)
{
	size_t n = strcspn(text, ";");

	while (text[n] && n && !strchr(" \t", text[n - 1]))
		n += 1 + strcspn(text + n + 1, ";");
	return n;
}

static int take_entry(void *user, const char *section, const char *key, const char *value)
{
	struct ini *ini = user;

	(void)section;
	if (!ini->continues)
		begin_entry(ini, key);
	if (!ini->header && !ini->continues)
		refuse(ini, ini->line, key, "stands before any section");
	/* Comments and empty lines between count too. */
	for (; ini->last_line < ini->line; ini->last_line++)
		fputc('\n', ini->writer);
	fwrite(value, 1, without_comment(value), ini->writer);
	return 1;
}

int ini_read(struct reader *reader, const char *text, size_t size)
{
	struct ini ini = {.reader = *reader, .at = text, .end = text + size};
	unsigned int errors = reader->diag->errors;
	bool any;
	int line;

	ini.reader.field = field_at;
	obstack_init(&ini.memory);
	line = ini_parse_stream(next_line, &ini, take_entry, &ini);
	any = ini.header;
	end_section(&ini);
	if (line > 0)
		refuse(&ini, line, NULL, "neither a [section] nor KEY = VALUE");
	if (line < 0)
		obstack_alloc_failed_handler();
	if (!any && reader->diag->errors == errors)
		diag_note(reader->diag, &(struct where){reader->file, 0}, NULL,
			  "there are no objects in it");
	obstack_free(&ini.memory, NULL);
	free(ini.entries);
	return 0;
}
