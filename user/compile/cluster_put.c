// SPDX-License-Identifier: GPL-2.0-only
/* Fills the tables of the cluster: namespaces, nodes, endpoints with their addresses, prefixes, and
 * pods that are no endpoints. */
#include <stdio.h>
#include <string.h>

#include "compile/tables.h"

static struct policy_range put_labels(struct tables *t, const struct labels *labels)
{
	struct policy_range range = {t->policy->n_texts, 2 * labels->n};

	for (size_t i = 0; i < labels->n; i++) {
		table_push(t, texts, tables_string(t, labels->at[i].key));
		table_push(t, texts, tables_string(t, labels->at[i].value));
	}
	return range;
}

void settings_put(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;

	table_push(t, strings, '\0');
	t->policy->node = tables_string(t, cluster->node);
	t->policy->uplinks_n = cluster->n_uplinks;
	for (size_t i = 0; i < cluster->n_uplinks; i++)
		table_push(t, texts, tables_string(t, cluster->uplinks[i]));
}

void namespaces_put(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;

	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		const struct namespace *ns = &cluster->namespaces[i];
		struct policy_namespace record = {.name = tables_string(t, ns->name),
						  .flags = (ns->audit ? POLICY_AUDIT : 0) |
							   (ns->isolated ? POLICY_ISOLATED : 0),
						  .labels = put_labels(t, &ns->labels)};

		table_push(t, namespaces, record);
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *node = &cluster->nodes[i];
		struct policy_node record = {
			.name = tables_string(t, node->name),
			.addresses = {t->policy->n_node_addresses, node->n_addresses},
			.labels = put_labels(t, &node->labels)};

		table_push(t, nodes, record);
		for (size_t j = 0; j < node->n_addresses; j++)
			table_push(t, node_addresses, node->addresses[j]);
	}
}

struct placed {
	struct policy_address record;
	uint32_t order; /* order among the endpoints' addresses */
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return memcmp(&x->record.address, &y->record.address, sizeof(x->record.address));
}

static uint32_t variation_of(const struct tables *t, uint32_t segment, uint32_t resolution)
{
	const struct policy_segment *record = &t->policy->segments[segment];

	for (uint32_t i = 0; resolution && i < record->variations.n; i++) {
		const struct policy_variation *variation =
			&t->policy->variations[record->variations.at + i];

		if (variation->resolution == resolution)
			return variation->id;
	}
	return 0;
}

/* Writes the endpoints in order, their addresses sorted, and each endpoint's list of addresses. */
void addresses_put(struct tables *t, const uint32_t *resolution_ids, uint32_t *index)
{
	struct compiler *c = t->c;
	struct placed *placed = grow_zeroed(c->addresses.n, sizeof(*placed));

	for (uint32_t i = 0; i < c->addresses.n; i++) {
		const struct endpoint_address *from = &c->addresses.at[i];
		uint32_t segment = t->segment_index[from->segment];

		placed[i] = (struct placed){
			{.address = from->address,
			 .endpoint = from->endpoint,
			 .segment = segment,
			 .variation = variation_of(t, segment, resolution_ids[from->resolution])},
			i};
	}
	qsort(placed, c->addresses.n, sizeof(*placed), compare_placed);
	for (uint32_t i = 0; i < c->addresses.n; i++) {
		index[placed[i].order] = i;
		table_push(t, addresses, placed[i].record);
	}
	free(placed);
}

void tables_endpoint(struct tables *t, const struct endpoint *from, struct policy_endpoint *record)
{
	record->node = tables_string(t, from->node);
	record->interface = tables_string(t, from->interface);
	record->flags = (from->audit ? POLICY_AUDIT : 0) | (from->l2 ? POLICY_L2 : 0) |
			(from->has_mac ? POLICY_MAC : 0);
	memcpy(record->mac, from->mac, sizeof(record->mac));
	record->allow_source = tables_cidrs(t, from->allow_source, from->n_allow_source);
	policy_uid_hash(from->uid, record->uid);
}

void endpoints_put(struct tables *t, const uint32_t *index)
{
	struct compiler *c = t->c;
	const struct cluster *cluster = c->cluster;
	uint32_t next = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *from = &cluster->endpoints[i];
		struct policy_endpoint record = {
			.ns = from->ns,
			.name = tables_string(t, from->name),
			.addresses = {t->policy->n_endpoint_addresses, from->n_addresses}};

		tables_endpoint(t, from, &record);
		if (cluster->namespaces[from->ns].audit)
			record.flags |= POLICY_AUDIT;
		for (size_t j = 0; j < from->n_addresses; j++)
			table_push(t, endpoint_addresses, index[next++]);
		table_push(t, endpoints, record);
	}
}

void prefixes_put(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->regions.n; i++) {
		const struct region *region = &c->regions.at[i];

		if (i && region->segment == c->regions.at[region->parent].segment)
			continue;
		table_push(t, prefixes,
			   ((struct policy_prefix){region->cidr.address, region->cidr.length,
						   t->segment_index[region->segment]}));
	}
}

static int compare_host_pods(const void *a, const void *b, void *strings)
{
	const struct policy_host_pod *x = a, *y = b;

	return strcmp((const char *)strings + x->name, (const char *)strings + y->name);
}

void host_pods_put(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;
	char *name;

	for (size_t i = 0; i < cluster->n_host_pods; i++) {
		const struct endpoint *pod = &cluster->host_pods[i];

		if (!pod->node)
			continue;
		if (asprintf(&name, "%s/%s", pod->ns_name, pod->name) < 0)
			memory_exhausted();
		table_push(t, host_pods,
			   ((struct policy_host_pod){tables_string(t, name),
						     tables_string(t, pod->node)}));
		free(name);
	}
	if (t->policy->n_host_pods)
		qsort_r(t->policy->host_pods, t->policy->n_host_pods, sizeof(*t->policy->host_pods),
			compare_host_pods, t->policy->strings);
}

static struct policy_range put_named_ports(struct tables *t, const struct endpoint *endpoint)
{
	struct policy_range range = {t->policy->n_named_ports, endpoint->n_ports};

	for (size_t i = 0; i < endpoint->n_ports; i++)
		table_push(t, named_ports,
			   ((struct policy_named_port){
				   .name = tables_string(t, endpoint->ports[i].name),
				   .port = endpoint->ports[i].port,
				   .protocol = endpoint->ports[i].protocol}));
	return range;
}

void tables_expected(struct tables *t, const struct endpoint *pod)
{
	struct policy_expected record = {
		.ns = tables_string(t, pod->ns_name),
		.name = tables_string(t, pod->name),
		.uid = tables_string(t, pod->uid),
		.flags = pod->audit ? POLICY_AUDIT : 0,
		.labels = put_labels(t, &pod->labels),
		.ports = put_named_ports(t, pod),
		.allow_source = tables_cidrs(t, pod->allow_source, pod->n_allow_source)};

	table_push(t, expected, record);
}
