// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/claims.h"

#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "cluster/store.h"
#include "model/arrays.h"

/* Statements */

/* The addresses that have left one Pod. */
struct left {
	struct address *addresses;
	size_t n;
};

/* The statements of one node. */
struct node_claims {
	struct json_object *list; /* as stated */
	struct lh_table *by_uid; /* UID of a Pod -> struct left */
};

struct claims {
	struct lh_table *nodes; /* name -> struct node_claims */
};

static void free_left(struct lh_entry *entry)
{
	struct left *left = lh_entry_v(entry);

	free(left->addresses);
	free(left);
	free(lh_entry_k(entry));
}

static void free_node(struct lh_entry *entry)
{
	struct node_claims *node = lh_entry_v(entry);

	json_object_put(node->list);
	lh_table_free(node->by_uid);
	free(node);
	free(lh_entry_k(entry));
}

struct claims *claims_open(void)
{
	struct claims *claims = calloc(1, sizeof(*claims));

	if (claims)
		claims->nodes = lh_kchar_table_new(64, free_node);
	if (claims && claims->nodes)
		return claims;
	free(claims);
	return NULL;
}

void claims_close(struct claims *claims)
{
	if (!claims)
		return;
	lh_table_free(claims->nodes);
	free(claims);
}

static void *find(struct lh_table *table, const char *key)
{
	struct lh_entry *entry = key ? lh_table_lookup_entry(table, key) : NULL;

	return entry ? lh_entry_v(entry) : NULL;
}

/* Returns how many statements of a list count: a node must not make the engine read on and on. */
static size_t count(struct json_object *list)
{
	const size_t n = list ? json_object_array_length(list) : 0;

	return n < STORE_LEFT_MAX ? n : STORE_LEFT_MAX;
}

static void add_statement(struct node_claims *node, struct json_object *statement)
{
	const char *text = api_text(statement, "address"), *uid = api_text(statement, "uid");
	struct address address;
	struct left *left;

	if (!text || !uid || address_parse(text, &address))
		return;
	left = find(node->by_uid, uid);
	if (!left) {
		left = check_memory(calloc(1, sizeof(*left)));
		lh_table_insert(node->by_uid, check_memory(strdup(uid)), left);
	}
	*(struct address *)array_grow((void **)&left->addresses, &left->n, sizeof(address)) =
		address;
}

static void add_node(struct claims *claims, const char *name, struct json_object *list)
{
	struct node_claims *node = check_memory(calloc(1, sizeof(*node)));

	node->list = json_object_get(list);
	node->by_uid = check_memory(lh_kchar_table_new(16, free_left));
	for (size_t i = 0; i < count(list); i++)
		add_statement(node, json_object_array_get_idx(list, i));
	lh_table_insert(claims->nodes, check_memory(strdup(name)), node);
}

static void tell(struct json_object *list, void (*concerns)(void *data, const char *pod),
		 void *data)
{
	for (size_t i = 0; i < count(list); i++) {
		struct json_object *statement = json_object_array_get_idx(list, i);
		const char *ns = api_text(statement, "namespace");
		const char *name = api_text(statement, "name");
		char key[512];

		if (!ns || !name)
			continue;
		snprintf(key, sizeof(key), "%s/%s", ns, name);
		concerns(data, key);
	}
}

void claims_note(struct claims *claims, const char *node, struct json_object *left,
		 void (*concerns)(void *data, const char *pod), void *data)
{
	struct node_claims *former = find(claims->nodes, node);
	struct json_object *last = former ? json_object_get(former->list) : NULL;

	if (!json_object_is_type(left, json_type_array) || !json_object_array_length(left))
		left = NULL;
	if (json_object_equal(left, last)) {
		json_object_put(last);
		return;
	}
	if (last)
		lh_table_delete(claims->nodes, node);
	if (left)
		add_node(claims, node, left);
	tell(last, concerns, data);
	tell(left, concerns, data);
	json_object_put(last);
}

static bool has_left(const struct left *left, const struct address *address)
{
	for (size_t i = 0; i < left->n; i++)
		if (!memcmp(&left->addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

void claims_leave(const struct claims *claims, struct cluster *cluster)
{
	for (size_t i = 0; lh_table_length(claims->nodes) && i < cluster->n_endpoints; i++) {
		struct endpoint *pod = &cluster->endpoints[i];
		const struct node_claims *node = find(claims->nodes, pod->node);
		const struct left *left = node ? find(node->by_uid, pod->uid) : NULL;
		size_t kept = 0;

		if (!left)
			continue;
		for (size_t k = 0; k < pod->n_addresses; k++)
			if (!has_left(left, &pod->addresses[k]))
				pod->addresses[kept++] = pod->addresses[k];
		pod->n_addresses = kept;
	}
	cluster_remove_unaddressed(cluster);
}

/* Addresses that pass from one Pod to another */

/* Returns true if @base gives the address to a Pod other than @pod. */
static bool is_anothers(const struct policy *base, const struct endpoint *pod,
			const struct address *address)
{
	const struct policy_address *owned = policy_address_find(base, address);
	const struct policy_endpoint *owner = owned ? &base->endpoints[owned->endpoint] : NULL;
	static const uint32_t unknown[2];
	uint32_t uid[2];

	if (!owner)
		return false;
	if (strcmp(pod->name, policy_string(base, owner->name)) ||
	    strcmp(pod->ns_name, policy_string(base, base->namespaces[owner->ns].name)))
		return true;
	policy_uid_hash(pod->uid, uid);
	return memcmp(uid, owner->uid, sizeof(uid)) && memcmp(uid, unknown, sizeof(uid)) &&
	       memcmp(owner->uid, unknown, sizeof(uid));
}

void claims_pass(struct cluster *cluster, const struct policy *base,
		 void (*held)(void *data, const char *pod, const char *node,
			      const struct address *address),
		 void *data)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		struct endpoint *pod = &cluster->endpoints[i];
		const size_t n = pod->n_addresses;
		char key[512];

		pod->n_addresses = 0;
		for (size_t k = 0; k < n; k++) {
			const struct address address = pod->addresses[k];

			if (!is_anothers(base, pod, &address)) {
				pod->addresses[pod->n_addresses++] = address;
				continue;
			}
			snprintf(key, sizeof(key), "%s/%s", pod->ns_name, pod->name);
			held(data, key, pod->node, &address);
		}
	}
	cluster_remove_unaddressed(cluster);
}
