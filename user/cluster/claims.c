// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/claims.h"

#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
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
	for (size_t i = 0; i < json_object_array_length(list); i++)
		add_statement(node, json_object_array_get_idx(list, i));
	lh_table_insert(claims->nodes, check_memory(strdup(name)), node);
}

static void tell(struct json_object *list, void (*concerns)(void *data, const char *pod),
		 void *data)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
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

/* Removes the endpoints that have no address left. */
static void remove_without_address(struct cluster *cluster)
{
	size_t kept = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (cluster->endpoints[i].n_addresses)
			cluster->endpoints[kept++] = cluster->endpoints[i];
	cluster->n_endpoints = kept;
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
	remove_without_address(cluster);
}

/* Addresses that several objects name */

struct claim {
	struct address address;
	const struct endpoint *pod; /* NULL: a Node claims the address */
	const struct node *node;
	bool lost;
};

/* The objects that name one address. */
struct contest {
	struct claim *at;
	size_t n;
	const struct policy *base;
	const struct policy_endpoint
		*owner; /* the address's owner in the last policy; NULL: none */
};

static int claim_order(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return memcmp(&x->address, &y->address, sizeof(x->address));
}

/* Counts the claims. Keeps each address of an object once. */
static size_t count_claims(struct cluster *cluster)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		struct endpoint *pod = &cluster->endpoints[i];

		n += pod->n_addresses = addresses_sort(pod->addresses, pod->n_addresses);
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		struct node *node = &cluster->nodes[i];

		n += node->n_addresses = addresses_sort(node->addresses, node->n_addresses);
	}
	return n;
}

static size_t list_claims(const struct cluster *cluster, struct claim *claims)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		for (size_t k = 0; k < cluster->endpoints[i].n_addresses; k++)
			claims[n++] = (struct claim){.address = cluster->endpoints[i].addresses[k],
						     .pod = &cluster->endpoints[i]};
	for (size_t i = 0; i < cluster->n_nodes; i++)
		for (size_t k = 0; k < cluster->nodes[i].n_addresses; k++)
			claims[n++] = (struct claim){.address = cluster->nodes[i].addresses[k],
						     .node = &cluster->nodes[i]};
	return n;
}

static bool same_node(const char *a, const char *b)
{
	return a && b && *a && !strcmp(a, b);
}

static bool is_owner(const struct contest *contest, const struct endpoint *pod)
{
	const struct policy_endpoint *owner = contest->owner;
	const struct policy *base = contest->base;

	return owner && !strcmp(pod->name, policy_string(base, owner->name)) &&
	       !strcmp(pod->ns_name, policy_string(base, base->namespaces[owner->ns].name));
}

/* Returns true if the Pod, or another Pod of its node, has the address in the last policy. */
static bool is_incumbent(const struct contest *contest, const struct endpoint *pod)
{
	const struct policy_endpoint *owner = contest->owner;

	return owner && (same_node(pod->node, policy_string(contest->base, owner->node)) ||
			 is_owner(contest, pod));
}

static const char *made(const struct endpoint *pod)
{
	return pod->created ? pod->created : "";
}

/* Orders Pods without regard to the order in which the API server lists them. */
static int compare_names(const struct endpoint *a, const struct endpoint *b)
{
	const int order = strcmp(a->ns_name, b->ns_name);

	return order ? order : strcmp(a->name, b->name);
}

/* Returns true if Pod @a goes before Pod @b, both of one node. Of Pods of the same second, the one
 * that has the address keeps it. */
static bool precedes(const struct contest *contest, const struct endpoint *a,
		     const struct endpoint *b)
{
	const int order = strcmp(made(a), made(b));

	if (a->terminating != b->terminating)
		return b->terminating;
	if (order)
		return order > 0;
	if (is_owner(contest, a) != is_owner(contest, b))
		return is_owner(contest, a);
	return compare_names(a, b) < 0;
}

/* Returns true if Pod @a is older than Pod @b. */
static bool is_older(const struct endpoint *a, const struct endpoint *b)
{
	const int order = strcmp(made(a), made(b));

	return order ? order < 0 : compare_names(a, b) < 0;
}

/* Returns the oldest Pod of the node that has the address; NULL: no Pod names the address. */
static const struct endpoint *find_first(const struct contest *contest)
{
	const struct endpoint *first = NULL;

	for (size_t i = 0; i < contest->n; i++) {
		const struct endpoint *pod = contest->at[i].pod;

		if (pod && (!first || (is_incumbent(contest, pod) != is_incumbent(contest, first)
					       ? is_incumbent(contest, pod)
					       : is_older(pod, first))))
			first = pod;
	}
	return first;
}

/* Returns the claim that gets the address. */
static const struct claim *find_winner(const struct contest *contest)
{
	const struct endpoint *first = find_first(contest);
	const struct claim *winner = NULL;

	if (!first || !is_incumbent(contest, first) ||
	    claims_is_node(contest->base, &contest->at->address))
		for (size_t i = 0; i < contest->n; i++)
			if (contest->at[i].node)
				return &contest->at[i];
	for (size_t i = 0; i < contest->n; i++) {
		const struct endpoint *pod = contest->at[i].pod;

		if (pod && (pod == first || same_node(pod->node, first->node)) &&
		    (!winner || precedes(contest, pod, winner->pod)))
			winner = &contest->at[i];
	}
	return winner;
}

static void write_why(const struct claim *loser, const struct claim *winner, char *why, size_t size)
{
	const char *field = loser->pod ? "status.podIPs" : "status.addresses";
	char text[ADDRESS_TEXT];

	address_print(&loser->address, text);
	if (winner->node)
		snprintf(why, size, "%s: %s is an address of node %s, and no Pod's", field, text,
			 winner->node->name);
	else
		snprintf(why, size, "%s: %s belongs to Pod %s/%s on node %s until that Pod ends",
			 field, text, winner->pod->ns_name, winner->pod->name,
			 winner->pod->node ? winner->pod->node : "(none)");
}

/* Returns true if the loser is ending, and its node uses the address again: that is no fault. */
static bool is_followed(const struct claim *loser, const struct claim *winner)
{
	return loser->pod && loser->pod->terminating && winner->pod &&
	       same_node(loser->pod->node, winner->pod->node);
}

static void decide(const struct contest *contest,
		   void (*found)(void *data, const struct contested *contested), void *data)
{
	const struct claim *winner = find_winner(contest);
	char why[1024];

	for (size_t i = 0; i < contest->n; i++) {
		struct claim *claim = &contest->at[i];
		struct contested contested = {.kind = claim->pod ? "Pod" : "Node",
					      .ns = claim->pod ? claim->pod->ns_name : NULL,
					      .name = claim->pod ? claim->pod->name
								 : claim->node->name};

		/* Two Nodes may have one address: nothing is anybody's but a Node's. */
		claim->lost = claim != winner && !(claim->node && winner->node);
		if (claim->lost && !is_followed(claim, winner)) {
			write_why(claim, winner, why, sizeof(why));
			contested.why = why;
		}
		found(data, &contested);
	}
}

/* Returns how many claims from @at on are of one address. */
static size_t run_of(const struct claim *at, size_t n)
{
	size_t run = 1;

	while (run < n && !claim_order(at, at + run))
		run++;
	return run;
}

static bool names_pod(const struct claim *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at[i].pod)
			return true;
	return false;
}

/* Removes the addresses that were lost. */
static void remove_lost(const struct claim *claims, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct endpoint *pod = (struct endpoint *)claims[i].pod;
		struct node *node = (struct node *)claims[i].node;
		struct address *addresses = pod ? pod->addresses : node->addresses;
		size_t *n_addresses = pod ? &pod->n_addresses : &node->n_addresses;
		size_t kept = 0;

		for (size_t k = 0; claims[i].lost && k < *n_addresses; k++)
			if (memcmp(&addresses[k], &claims[i].address, sizeof(*addresses)))
				addresses[kept++] = addresses[k];
		if (claims[i].lost)
			*n_addresses = kept;
	}
}

void claims_resolve(struct cluster *cluster, const struct policy *base,
		    void (*found)(void *data, const struct contested *contested), void *data)
{
	struct claim *claims = check_memory(calloc(count_claims(cluster) + 1, sizeof(*claims)));
	const size_t n = list_claims(cluster, claims);

	array_order(claims, n, sizeof(*claims), claim_order);
	for (size_t at = 0, run; at < n; at += run) {
		struct contest contest = {.at = claims + at, .base = base};
		const struct policy_address *owned;

		run = contest.n = run_of(claims + at, n - at);
		if (run < 2 || !names_pod(claims + at, run))
			continue;
		owned = base ? policy_address_find(base, &claims[at].address) : NULL;
		contest.owner = owned ? &base->endpoints[owned->endpoint] : NULL;
		decide(&contest, found, data);
	}
	remove_lost(claims, n);
	free(claims);
	remove_without_address(cluster);
}

bool claims_is_node(const struct policy *policy, const struct address *address)
{
	for (size_t i = 0; i < policy->n_node_addresses; i++)
		if (!memcmp(&policy->node_addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

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
		 void (*held)(void *data, const char *pod), void *data)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		struct endpoint *pod = &cluster->endpoints[i];
		const size_t n = pod->n_addresses;
		char key[512];

		pod->n_addresses = 0;
		for (size_t k = 0; k < n; k++)
			if (!is_anothers(base, pod, &pod->addresses[k]))
				pod->addresses[pod->n_addresses++] = pod->addresses[k];
		if (pod->n_addresses == n)
			continue;
		snprintf(key, sizeof(key), "%s/%s", pod->ns_name, pod->name);
		held(data, key);
	}
	remove_without_address(cluster);
}
