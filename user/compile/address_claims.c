// SPDX-License-Identifier: GPL-2.0-only
#include "compile/address_claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/arrays.h"

struct claim {
	struct address address;
	const struct endpoint *pod; /* NULL: a Node claims the address */
	const struct node *node;
	bool lost;
};

/* The names of all Node objects, in order. */
struct node_names {
	const char **at;
	size_t n;
};

/* The objects that name one address. */
struct contest {
	struct claim *at;
	size_t n;
	const struct policy *base;
	const struct policy_endpoint
		*owner; /* the address's owner in the last policy; NULL: none */
	const char *node; /* the owner's, or that of the Pod to which it passes; NULL: none */
	const struct node_names *nodes;
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

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct node_names names_of(const struct cluster *cluster)
{
	struct node_names names = {check_memory(calloc(cluster->n_nodes + 1, sizeof(*names.at))),
				   cluster->n_nodes};

	for (size_t i = 0; i < names.n; i++)
		names.at[i] = cluster->nodes[i].name;
	array_order(names.at, names.n, sizeof(*names.at), name_order);
	return names;
}

/* Returns true if the Pod has ended with its node, though its object is still there. */
static bool has_ended(const struct contest *contest, const struct endpoint *pod)
{
	const struct node_names *nodes = contest->nodes;

	return pod->terminating && pod->node && nodes->n &&
	       !bsearch(&pod->node, nodes->at, nodes->n, sizeof(*nodes->at), name_order);
}

static bool is_owner(const struct contest *contest, const struct endpoint *pod)
{
	const struct policy_endpoint *owner = contest->owner;
	const struct policy *base = contest->base;

	return owner && !strcmp(pod->name, policy_string(base, owner->name)) &&
	       !strcmp(pod->ns_name, policy_string(base, base->namespaces[owner->ns].name));
}

/* Returns true if the Pod, or another Pod of its node, has the address in the last policy, or the
 * address passes to a Pod of its node. */
static bool is_incumbent(const struct contest *contest, const struct endpoint *pod)
{
	return !has_ended(contest, pod) &&
	       (same_node(pod->node, contest->node) || is_owner(contest, pod));
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

/* Returns true if Pod @a goes before Pod @b, of which neither or both are incumbents: the older
 * one, unless it has ended. */
static bool is_first(const struct contest *contest, const struct endpoint *a,
		     const struct endpoint *b)
{
	const int order = strcmp(made(a), made(b));

	if (has_ended(contest, a) != has_ended(contest, b))
		return has_ended(contest, b);
	return order ? order < 0 : compare_names(a, b) < 0;
}

/* Returns the first Pod of the node that has the address; NULL: no Pod names the address. */
static const struct endpoint *find_first(const struct contest *contest)
{
	const struct endpoint *first = NULL;

	for (size_t i = 0; i < contest->n; i++) {
		const struct endpoint *pod = contest->at[i].pod;

		if (pod && (!first || (is_incumbent(contest, pod) != is_incumbent(contest, first)
					       ? is_incumbent(contest, pod)
					       : is_first(contest, pod, first))))
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
	    policy_has_node(contest->base, &contest->at->address))
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
	char text[ADDRESS_TEXT];

	address_print(&loser->address, text);
	if (winner->node)
		snprintf(why, size, "%s is an address of node %s, and no Pod's", text,
			 winner->node->name);
	else
		snprintf(why, size, "%s belongs to Pod %s/%s on node %s until that Pod ends", text,
			 winner->pod->ns_name, winner->pod->name,
			 winner->pod->node ? winner->pod->node : "(none)");
}

/* Returns true if the loser is ending, and its node uses the address again, or the loser has ended:
 * that is no fault. */
static bool is_followed(const struct contest *contest, const struct claim *loser,
			const struct claim *winner)
{
	return loser->pod && loser->pod->terminating && winner->pod &&
	       (same_node(loser->pod->node, winner->pod->node) || has_ended(contest, loser->pod));
}

static struct contested of_pod(const struct endpoint *pod)
{
	return (struct contested){.kind = "Pod",
				  .ns = pod->ns_name,
				  .name = pod->name,
				  .where = pod->where,
				  .field = "status.podIPs"};
}

static struct contested of_node(const struct node *node)
{
	return (struct contested){.kind = "Node",
				  .name = node->name,
				  .where = node->where,
				  .field = "status.addresses"};
}

static void decide(const struct contest *contest,
		   void (*found)(void *data, const struct contested *contested), void *data)
{
	const struct claim *winner = find_winner(contest);
	char why[1024];

	for (size_t i = 0; i < contest->n; i++) {
		struct claim *claim = &contest->at[i];
		struct contested contested = claim->pod ? of_pod(claim->pod) : of_node(claim->node);

		/* Two Nodes may have one address: nothing is anybody's but a Node's. */
		claim->lost = claim != winner && !(claim->node && winner->node);
		if (claim->lost && !is_followed(contest, claim, winner)) {
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

/* Returns true if a Pod names the address, and each Pod that does has a UID. */
static bool has_accepted_pods(const struct claim *at, size_t n)
{
	size_t pods = 0;

	for (size_t i = 0; i < n; i++) {
		if (at[i].pod && !at[i].pod->uid)
			return false;
		pods += !!at[i].pod;
	}
	return pods;
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

static const char *node_of_passing(const struct former_owners *former,
				   const struct address *address)
{
	for (size_t i = 0; i < former->n_passing; i++)
		if (!memcmp(&former->passing[i].address, address, sizeof(*address)))
			return former->passing[i].node;
	return NULL;
}

/* Finds who has the address in the last policy. */
static void find_owner(struct contest *contest, const struct former_owners *former)
{
	const struct policy *base = former->base;
	const struct address *address = &contest->at->address;
	const struct policy_address *owned = base ? policy_address_find(base, address) : NULL;

	contest->base = base;
	contest->owner = owned ? &base->endpoints[owned->endpoint] : NULL;
	contest->node = contest->owner ? policy_string(base, contest->owner->node)
				       : node_of_passing(former, address);
}

void address_claims_resolve(struct cluster *cluster, const struct former_owners *former,
			    void (*found)(void *data, const struct contested *contested),
			    void *data)
{
	struct claim *claims = check_memory(calloc(count_claims(cluster) + 1, sizeof(*claims)));
	const size_t n = list_claims(cluster, claims);
	const struct node_names nodes = names_of(cluster);

	array_order(claims, n, sizeof(*claims), claim_order);
	for (size_t at = 0, run; at < n; at += run) {
		struct contest contest = {.at = claims + at, .nodes = &nodes};

		run = contest.n = run_of(claims + at, n - at);
		if (run < 2 || !has_accepted_pods(claims + at, run))
			continue;
		find_owner(&contest, former);
		decide(&contest, found, data);
	}
	remove_lost(claims, n);
	free(claims);
	free(nodes.at);
	cluster_remove_unaddressed(cluster);
}
