/* SPDX-License-Identifier: GPL-2.0-only */
#include "input/workload.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Returns the pod template of a workload; NULL: it has none. */
static const struct tree *template_of(const struct object *object)
{
	const struct tree *spec = tree_get(object->root, "spec");
	const struct tree *job = tree_get(spec, "jobTemplate");

	return tree_get(job ? tree_get(job, "spec") : spec, "template");
}

static bool is_owned(const struct object *object)
{
	const struct tree *owners = tree_get(object->metadata, "ownerReferences");

	return owners && owners->type == TREE_LIST && owners->n;
}

void workload_read(struct reader *reader, const struct object *object)
{
	const struct tree *template = template_of(object), *spec, *host;
	const struct tree *kind = tree_get(object->root, "kind");
	struct endpoint *endpoint;
	bool on_host = false;

	if (is_owned(object))
		return;
	if (!template) {
		spec = tree_get(object->root, "spec");
		reader_missing(reader, spec ? spec : object->root, spec ? "template" : "spec");
		return;
	}
	spec = tree_get(template, "spec");
	if (!reader_map(reader, template, NULL) || (spec && !reader_map(reader, spec, NULL)))
		return;
	host = tree_get(spec, "hostNetwork");
	if ((host && !reader_bool(reader, host, &on_host)) || on_host)
		return;
	endpoint = cluster_add_endpoint(reader->cluster);
	endpoint->workload = kind && kind->type == TREE_SCALAR
				     ? cluster_intern(reader->cluster, kind->text, kind->n)
				     : "workload";
	endpoint->ns_name = object->ns;
	endpoint->name = object->name;
	endpoint->where = reader_where(reader, object->root);
	reader_labels(reader, tree_get(tree_get(template, "metadata"), "labels"),
		      &endpoint->labels);
	if (spec)
		object_read_ports(reader, spec, endpoint);
}

static bool has_label(const struct labels *labels, const struct label *label)
{
	for (size_t i = 0; i < labels->n; i++)
		if (!strcmp(labels->at[i].key, label->key))
			return !strcmp(labels->at[i].value, label->value);
	return false;
}

/* Returns true if one of the pods has the workload's namespace and labels. */
static bool has_pod(const struct endpoint *workload, const struct endpoint *pods, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool same = !pods[i].workload && pods[i].ns_name == workload->ns_name;

		for (size_t k = 0; same && k < workload->labels.n; k++)
			same = has_label(&pods[i].labels, &workload->labels.at[k]);
		if (same)
			return true;
	}
	return false;
}

/* Adds its kind to the name of a workload that another one before it has: "web.job". */
static void rename_duplicate(struct cluster *cluster, size_t i)
{
	struct endpoint *endpoint = &cluster->endpoints[i];
	char name[512];

	for (size_t k = 0; k < i; k++) {
		const struct endpoint *other = &cluster->endpoints[k];

		if (other->ns_name != endpoint->ns_name || strcmp(other->name, endpoint->name) ||
		    !other->workload || !strcmp(other->workload, endpoint->workload))
			continue;
		snprintf(name, sizeof(name), "%s.%s", endpoint->name, endpoint->workload);
		for (char *letter = name + strlen(endpoint->name); *letter; letter++)
			*letter = tolower((unsigned char)*letter);
		endpoint->name = cluster_intern(cluster, name, strlen(name));
		return;
	}
}

static bool is_taken(const struct cluster *cluster, const struct address *address, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cluster->endpoints[i].workload &&
		    !memcmp(&cluster->endpoints[i].addresses[0], address, sizeof(*address)))
			return true;
	return false;
}

/* Gives the endpoint at index @i addresses that follow from its name, so that they are the same in
 * each input that has the workload. */
static void give_addresses(struct cluster *cluster, size_t i)
{
	struct endpoint *endpoint = &cluster->endpoints[i];
	struct address ipv4 = {.bytes = {[10] = 0xff, [11] = 0xff}}, ipv6 = {.bytes = {1}};
	char name[512];
	uint64_t hash;

	snprintf(name, sizeof(name), "%s/%s", endpoint->ns_name, endpoint->name);
	hash = XXH3_64bits(name, strlen(name));
	do {
		for (int byte = 0; byte < 8; byte++)
			ipv6.bytes[8 + byte] = hash >> 8 * byte;
		memcpy(&ipv4.bytes[12], &ipv6.bytes[8], 4);
		ipv4.bytes[12] |= 0xf0;
		hash++;
	} while (is_taken(cluster, &ipv4, i));
	endpoint->addresses = obstack_alloc(&cluster->memory, 2 * sizeof(*endpoint->addresses));
	endpoint->addresses[0] = ipv4;
	endpoint->addresses[1] = ipv6;
	endpoint->n_addresses = 2;
}

void workloads_finish(struct cluster *cluster)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		if (endpoint->workload &&
		    (has_pod(endpoint, cluster->endpoints, cluster->n_endpoints) ||
		     has_pod(endpoint, cluster->expected, cluster->n_expected)))
			continue;
		cluster->endpoints[n++] = *endpoint;
	}
	cluster->n_endpoints = n;
	for (size_t i = 0; i < n; i++) {
		if (!cluster->endpoints[i].workload)
			continue;
		rename_duplicate(cluster, i);
		give_addresses(cluster, i);
	}
}
