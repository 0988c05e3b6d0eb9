// SPDX-License-Identifier: GPL-2.0-only
#include "model/arrays.h"
#include "model/memory.h"
#include "model/cluster_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* A hash table of strings: open addressing, at most half full. */
struct interned {
	struct {
		uint32_t hash, length;
		const char *string; /* NULL: the slot is free */
	} * slots;
	size_t n_slots, n; /* n_slots is a power of two */
};

void cluster_init(struct cluster *cluster)
{
	memset(cluster, 0, sizeof(*cluster));
	obstack_begin(&cluster->memory, 1 << 16);
	cluster->strings = check_memory(calloc(1, sizeof(*cluster->strings)));
	cluster->strings->n_slots = 1024;
	cluster->strings->slots = check_memory(calloc(1024, sizeof(*cluster->strings->slots)));
	cluster_intern(cluster, NAME_LABEL, strlen(NAME_LABEL));
}

static void *copy_memory(const void *from, size_t n, size_t size)
{
	return memcpy(check_memory(calloc(n, size)), from, n * size);
}

void cluster_init_from(const struct cluster *from, struct cluster *to)
{
	const struct interned *strings = from->strings;

	memset(to, 0, sizeof(*to));
	obstack_begin(&to->memory, 1 << 16);
	to->strings = copy_memory(strings, 1, sizeof(*strings));
	to->strings->slots = copy_memory(strings->slots, strings->n_slots, sizeof(*strings->slots));
}

/* The arrays of objects. */
static const struct {
	size_t at, n, size; /* offsets in struct cluster, bytes of an element */
} arrays[] = {
#define ARRAY_OF(field)                                                               \
	{                                                                             \
		offsetof(struct cluster, field), offsetof(struct cluster, n_##field), \
			sizeof(*((struct cluster *)NULL)->field)                      \
	}
	ARRAY_OF(namespaces), ARRAY_OF(nodes),	  ARRAY_OF(endpoints), ARRAY_OF(policies),
	ARRAY_OF(host_pods),  ARRAY_OF(expected), ARRAY_OF(services),  ARRAY_OF(slices),
#undef ARRAY_OF
};

struct cluster_part {
	const struct cluster_part *next;
	size_t array;
	max_align_t element[];
};

static void **array_at(struct cluster *cluster, size_t i)
{
	return (void **)((char *)cluster + arrays[i].at);
}

static size_t *count_at(struct cluster *cluster, size_t i)
{
	return (size_t *)((char *)cluster + arrays[i].n);
}

const struct cluster_part *cluster_take(struct cluster *cluster)
{
	const struct cluster_part *first = NULL;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		for (size_t *n = count_at(cluster, i); *n; (*n)--) {
			const char *last =
				(char *)*array_at(cluster, i) + (*n - 1) * arrays[i].size;
			struct cluster_part *part =
				obstack_alloc(&cluster->memory, sizeof(*part) + arrays[i].size);

			part->next = first;
			part->array = i;
			memcpy(part->element, last, arrays[i].size);
			first = part;
		}
	}
	return first;
}

static struct address *copy_addresses(struct cluster *cluster, const struct address *addresses,
				      size_t n)
{
	return n ? obstack_copy(&cluster->memory, addresses, n * sizeof(*addresses)) : NULL;
}

void cluster_put(const struct cluster_part *part, struct cluster *to)
{
	const size_t endpoints = to->n_endpoints, nodes = to->n_nodes;

	for (; part; part = part->next)
		memcpy(array_grow(array_at(to, part->array), count_at(to, part->array),
				  arrays[part->array].size),
		       part->element, arrays[part->array].size);
	for (size_t i = endpoints; i < to->n_endpoints; i++)
		to->endpoints[i].addresses = copy_addresses(to, to->endpoints[i].addresses,
							    to->endpoints[i].n_addresses);
	for (size_t i = nodes; i < to->n_nodes; i++)
		to->nodes[i].addresses =
			copy_addresses(to, to->nodes[i].addresses, to->nodes[i].n_addresses);
}

void cluster_free(struct cluster *cluster)
{
	free(cluster->namespaces);
	free(cluster->nodes);
	free(cluster->endpoints);
	free(cluster->host_pods);
	free(cluster->expected);
	free(cluster->services);
	free(cluster->slices);
	free(cluster->policies);
	free(cluster->strings->slots);
	free(cluster->strings);
	obstack_free(&cluster->memory, NULL);
}

static void strings_grow(struct interned *strings)
{
	struct interned old = *strings;

	strings->n_slots *= 2;
	strings->slots = check_memory(calloc(strings->n_slots, sizeof(*strings->slots)));
	for (size_t i = 0; i < old.n_slots; i++) {
		size_t at = old.slots[i].hash & (strings->n_slots - 1);

		if (!old.slots[i].string)
			continue;
		while (strings->slots[at].string)
			at = (at + 1) & (strings->n_slots - 1);
		strings->slots[at] = old.slots[i];
	}
	free(old.slots);
}

const char *cluster_intern(struct cluster *cluster, const char *string, size_t length)
{
	struct interned *strings = cluster->strings;
	uint32_t hash = XXH3_64bits(string, length);
	size_t at = hash & (strings->n_slots - 1);

	for (; strings->slots[at].string; at = (at + 1) & (strings->n_slots - 1))
		if (strings->slots[at].hash == hash && strings->slots[at].length == length &&
		    !memcmp(strings->slots[at].string, string, length))
			return strings->slots[at].string;
	string = obstack_copy0(&cluster->memory, string, length);
	strings->slots[at].hash = hash;
	strings->slots[at].length = length;
	strings->slots[at].string = string;
	if (++strings->n * 2 > strings->n_slots)
		strings_grow(strings);
	return string;
}

struct namespace *cluster_add_namespace(struct cluster *cluster)
{
	return array_grow((void **)&cluster->namespaces, &cluster->n_namespaces,
			  sizeof(*cluster->namespaces));
}

struct node *cluster_add_node(struct cluster *cluster)
{
	return array_grow((void **)&cluster->nodes, &cluster->n_nodes, sizeof(*cluster->nodes));
}

struct endpoint *cluster_add_endpoint(struct cluster *cluster)
{
	return array_grow((void **)&cluster->endpoints, &cluster->n_endpoints,
			  sizeof(*cluster->endpoints));
}

struct endpoint *cluster_add_host_pod(struct cluster *cluster)
{
	return array_grow((void **)&cluster->host_pods, &cluster->n_host_pods,
			  sizeof(*cluster->host_pods));
}

struct endpoint *cluster_add_expected(struct cluster *cluster)
{
	return array_grow((void **)&cluster->expected, &cluster->n_expected,
			  sizeof(*cluster->expected));
}

struct policy_object *cluster_add_policy(struct cluster *cluster)
{
	return array_grow((void **)&cluster->policies, &cluster->n_policies,
			  sizeof(*cluster->policies));
}

void cluster_remove_unaddressed(struct cluster *cluster)
{
	size_t kept = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (cluster->endpoints[i].n_addresses)
			cluster->endpoints[kept++] = cluster->endpoints[i];
	cluster->n_endpoints = kept;
}

static int namespace_order(const void *a, const void *b)
{
	const struct namespace *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : where_order(&left->where, &right->where);
}

const struct namespace *cluster_namespace(const struct cluster *cluster, const char *name)
{
	size_t low = 0, high = cluster->n_namespaces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, cluster->namespaces[middle].name);

		if (!order)
			return &cluster->namespaces[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void namespace_add_label(struct cluster *cluster, struct namespace *namespace,
				struct diag *diag)
{
	const char *given = labels_get(&namespace->labels, NAME_LABEL);
	struct labels *labels = &namespace->labels;
	struct label *grown;

	if (given && strcmp(given, namespace->name))
		diag_error(diag, &namespace->where, NAME_LABEL,
			   "is \"%s\", but the label of a namespace is always its name, \"%s\"",
			   given, namespace->name);
	if (given)
		return;
	grown = obstack_alloc(&cluster->memory, (labels->n + 1) * sizeof(*grown));
	if (labels->n)
		memcpy(grown, labels->at, labels->n * sizeof(*grown));
	grown[labels->n].key = cluster_intern(cluster, NAME_LABEL, strlen(NAME_LABEL));
	grown[labels->n].value = namespace->name;
	labels->at = grown;
	labels->n++;
	labels_sort(labels);
}

/* @names are sorted. */
static void declare_used(struct cluster *cluster, const char **names, size_t n)
{
	size_t n_declared = cluster->n_namespaces, at = 0;

	for (size_t i = 0; i < n; i++) {
		struct namespace *namespace;

		while (at < n_declared && strcmp(cluster->namespaces[at].name, names[i]) < 0)
			at++;
		if (at < n_declared && !strcmp(cluster->namespaces[at].name, names[i]))
			continue;
		namespace = cluster_add_namespace(cluster);
		namespace->name = names[i];
	}
}

static void finish_namespaces(struct cluster *cluster, struct diag *diag)
{
	const size_t n_used = cluster->n_endpoints + cluster->n_expected + cluster->n_policies;
	size_t n = 0;
	const char **used = check_memory(calloc(n_used + 1, sizeof(*used)));

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		used[n++] = cluster->endpoints[i].ns_name;
	for (size_t i = 0; i < cluster->n_expected; i++)
		used[n++] = cluster->expected[i].ns_name;
	for (size_t i = 0; i < cluster->n_policies; i++)
		if (cluster->policies[i].ns_name)
			used[n++] = cluster->policies[i].ns_name;
	n = texts_sort(used, n);

	array_order(cluster->namespaces, cluster->n_namespaces, sizeof(*cluster->namespaces),
		    namespace_order);
	for (size_t i = 1; i < cluster->n_namespaces; i++) {
		struct namespace *first = &cluster->namespaces[i - 1], *second = first + 1;

		if (!strcmp(first->name, second->name))
			given_twice(diag, &first->where, &second->where, "Namespace", NULL,
				    second->name);
	}
	declare_used(cluster, used, n);
	array_order(cluster->namespaces, cluster->n_namespaces, sizeof(*cluster->namespaces),
		    namespace_order);
	for (size_t i = 0; i < cluster->n_namespaces; i++)
		namespace_add_label(cluster, &cluster->namespaces[i], diag);
	free(used);
}

static int node_order(const void *a, const void *b)
{
	const struct node *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : where_order(&left->where, &right->where);
}

static void finish_nodes(struct cluster *cluster, struct diag *diag)
{
	array_order(cluster->nodes, cluster->n_nodes, sizeof(*cluster->nodes), node_order);
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		struct node *node = &cluster->nodes[i];

		node->n_addresses = addresses_sort(node->addresses, node->n_addresses);
		if (i && !strcmp(node[-1].name, node->name))
			given_twice(diag, &node[-1].where, &node->where, "Node", NULL, node->name);
	}
}

static int named_port_order(const void *a, const void *b)
{
	const struct named_port *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order)
		return order;
	if (left->protocol != right->protocol)
		return left->protocol < right->protocol ? -1 : 1;
	return left->port < right->port ? -1 : left->port > right->port;
}

static int pod_order(const struct endpoint *left, const struct endpoint *right)
{
	int order = strcmp(left->ns_name, right->ns_name);

	return order ? order : strcmp(left->name, right->name);
}

static int endpoint_order(const void *a, const void *b)
{
	const struct endpoint *left = a, *right = b;
	int order = pod_order(left, right);

	return order ? order : where_order(&left->where, &right->where);
}

static void finish_ports(struct endpoint *endpoint)
{
	size_t kept = 0;

	array_order(endpoint->ports, endpoint->n_ports, sizeof(*endpoint->ports), named_port_order);
	for (size_t i = 0; i < endpoint->n_ports; i++)
		if (!kept || named_port_order(&endpoint->ports[kept - 1], &endpoint->ports[i]))
			endpoint->ports[kept++] = endpoint->ports[i];
	endpoint->n_ports = kept;
}

struct address_owner {
	struct address address;
	const struct endpoint *endpoint;
};

static int claim_order(const void *a, const void *b)
{
	const struct address_owner *left = a, *right = b;
	int order = memcmp(&left->address, &right->address, sizeof(left->address));

	if (order)
		return order;
	/* The endpoints are sorted, so their indexes order them. */
	return left->endpoint < right->endpoint ? -1 : left->endpoint > right->endpoint;
}

static void check_addresses(const struct cluster *cluster, struct diag *diag)
{
	size_t n = 0, n_claims = 0;
	struct address_owner *claims;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		n_claims += cluster->endpoints[i].n_addresses;
	claims = check_memory(calloc(n_claims + 1, sizeof(*claims)));
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		for (size_t j = 0; j < endpoint->n_addresses; j++)
			claims[n++] = (struct address_owner){endpoint->addresses[j], endpoint};
	}
	array_order(claims, n, sizeof(*claims), claim_order);
	for (size_t i = 1; i < n; i++) {
		const struct endpoint *first = claims[i - 1].endpoint, *second = claims[i].endpoint;
		char text[ADDRESS_TEXT];

		if (memcmp(&claims[i - 1].address, &claims[i].address, sizeof(struct address)))
			continue;
		/* one that is given twice is reported as that */
		if (first->ns_name != second->ns_name || first->name != second->name)
			diag_error(diag, &second->where, NULL,
				   "%s/%s has the address %s, which is %s/%s's too (%s:%u)",
				   second->ns_name, second->name,
				   address_print(&claims[i].address, text), first->ns_name,
				   first->name, first->where.file ? first->where.file : "?",
				   first->where.line);
	}
	free(claims);
}

static void finish_pods(struct cluster *cluster, struct endpoint *pods, size_t n, struct diag *diag)
{
	size_t ns = 0;

	array_order(pods, n, sizeof(*pods), endpoint_order);
	for (size_t i = 0; i < n; i++) {
		struct endpoint *endpoint = &pods[i];

		while (strcmp(cluster->namespaces[ns].name, endpoint->ns_name))
			ns++;
		endpoint->ns = ns;
		endpoint->n_addresses = addresses_sort(endpoint->addresses, endpoint->n_addresses);
		finish_ports(endpoint);
		if (i && !strcmp(endpoint[-1].ns_name, endpoint->ns_name) &&
		    !strcmp(endpoint[-1].name, endpoint->name))
			given_twice(diag, &endpoint[-1].where, &endpoint->where, "Pod",
				    endpoint->ns_name, endpoint->name);
	}
}

/* Both lists are sorted. */
static void check_expected(const struct cluster *cluster, struct diag *diag)
{
	const struct endpoint *endpoint = cluster->endpoints;
	const struct endpoint *end = endpoint + cluster->n_endpoints;

	for (size_t i = 0; i < cluster->n_expected; i++) {
		const struct endpoint *expected = &cluster->expected[i];
		int order = -1;

		while (endpoint < end && (order = pod_order(endpoint, expected)) < 0)
			endpoint++;
		if (endpoint < end && !order)
			given_twice(diag, &endpoint->where, &expected->where, "Pod",
				    endpoint->ns_name, endpoint->name);
	}
}

static void finish_endpoints(struct cluster *cluster, struct diag *diag)
{
	finish_pods(cluster, cluster->endpoints, cluster->n_endpoints, diag);
	finish_pods(cluster, cluster->expected, cluster->n_expected, diag);
	check_addresses(cluster, diag);
	check_expected(cluster, diag);
}

static const char *kind_name(enum policy_kind kind)
{
	switch (kind) {
	case POLICY_NETWORK:
	case POLICY_NETWORK_V1BETA1:
		return "NetworkPolicy";
	case POLICY_ADMIN:
		return "AdminNetworkPolicy";
	case POLICY_CLUSTER:
		return "ClusterNetworkPolicy";
	case POLICY_BASELINE_ADMIN:
		break;
	}
	return "BaselineAdminNetworkPolicy";
}

static int identity_order(const void *a, const void *b)
{
	const struct policy_object *left = a, *right = b;
	int order;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	order = strcmp(left->ns_name ? left->ns_name : "", right->ns_name ? right->ns_name : "");
	if (!order)
		order = strcmp(left->name, right->name);
	return order ? order : where_order(&left->where, &right->where);
}

/* Orders policies of a tier. The BaselineAdminNetworkPolicy has no priority, and comes after
 * those that have one. */
static int precedence(const struct policy_object *policy)
{
	return policy->kind == POLICY_BASELINE_ADMIN ? INT32_MAX : policy->priority;
}

/* The API knows only one BaselineAdminNetworkPolicy, by this name. */
static bool is_the_baseline(const struct policy_object *policy)
{
	return policy->kind == POLICY_BASELINE_ADMIN && !strcmp(policy->name, "default");
}

static int policy_order(const void *a, const void *b)
{
	const struct policy_object *left = a, *right = b;

	if (left->tier != right->tier)
		return left->tier < right->tier ? -1 : 1;
	if (precedence(left) != precedence(right))
		return precedence(left) < precedence(right) ? -1 : 1;
	if (is_the_baseline(left) != is_the_baseline(right))
		return is_the_baseline(left) ? -1 : 1;
	return identity_order(a, b);
}

static void check_policies(const struct cluster *cluster, struct diag *diag)
{
	for (size_t i = 1; i < cluster->n_policies; i++) {
		const struct policy_object *first = &cluster->policies[i - 1], *second = first + 1;
		const char *kind = kind_name(second->kind);

		if (first->kind != second->kind)
			continue;
		if (!strcmp(first->name, second->name) && first->ns_name == second->ns_name)
			given_twice(diag, &first->where, &second->where, kind, second->ns_name,
				    second->name);
		else if (second->kind == POLICY_BASELINE_ADMIN &&
			 !(cluster->lenient && first->accepted && second->accepted))
			diag_error(diag, &second->where, NULL,
				   "%s %s: there can be only one, and %s is given at %s:%u", kind,
				   second->name, first->name,
				   first->where.file ? first->where.file : "?", first->where.line);
	}
}

static void warn_of_ties(const struct cluster *cluster, struct diag *diag)
{
	for (size_t i = 1; i < cluster->n_policies; i++) {
		const struct policy_object *first = &cluster->policies[i - 1], *second = first + 1;

		if (first->tier == second->tier && second->tier != TIER_NETWORK_POLICY &&
		    second->kind != POLICY_BASELINE_ADMIN &&
		    precedence(first) == precedence(second))
			diag_warn(
				diag, &second->where, "priority",
				"%s %s and %s %s both have %d: the one named first is asked first",
				kind_name(first->kind), first->name, kind_name(second->kind),
				second->name, second->priority);
	}
}

int cluster_finish_policies(struct cluster *cluster, struct diag *diag)
{
	const size_t n = cluster->n_policies, size = sizeof(*cluster->policies);
	const unsigned int errors = diag->errors;

	array_order(cluster->policies, n, size, identity_order);
	check_policies(cluster, diag);
	array_order(cluster->policies, n, size, policy_order);
	warn_of_ties(cluster, diag);
	return diag->errors == errors ? 0 : -EINVAL;
}

int cluster_finish(struct cluster *cluster, struct diag *diag)
{
	unsigned int errors = diag->errors;

	finish_namespaces(cluster, diag);
	finish_nodes(cluster, diag);
	finish_endpoints(cluster, diag);
	cluster_finish_policies(cluster, diag);
	services_finish(cluster, diag);
	return diag->errors == errors ? 0 : -EINVAL;
}
