// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses that a Service shares: with another Service, an endpoint or a node. Sorting finds the
 * owners of one address, and among these the Services with one port: no step looks at all pairs of
 * owners, so that Services with many addresses in common cost only their addresses and ports.
 */
#include <stdlib.h>
#include <string.h>

#include "model/arrays.h"
#include "model/cluster_service.h"

/* Kinds of owners of an address. The last two are Services'. */
enum owner_kind { OWNER_ENDPOINT, OWNER_NODE, OWNER_SERVICE, OWNER_EXTERNAL };

struct owner {
	struct address address;
	enum owner_kind kind;
	const char *ns_name, *name;
	const struct service *service; /* NULL: an endpoint or node owns the address */
	const struct where *where;
};

/* A port of an owner. */
struct port_claim {
	uint32_t port; /* protocol << 16 | port */
	uint32_t owner; /* index among the owners of one address */
};

/* Two owners of one address with a port in common, the first before the second. */
struct clash {
	uint32_t first, second;
};

struct owners {
	struct owner *at;
	size_t n;
	struct port_claim *claims; /* room for the ports of all Services, twice */
	struct clash *clashes;
	size_t n_clashes;
	struct diag *diag;
};

/* Orders Services of one address by their place in the array, too. */
static int owner_order(const void *a, const void *b)
{
	const struct owner *left = a, *right = b;
	int order = memcmp(&left->address, &right->address, sizeof(left->address));

	if (order)
		return order;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return left->service < right->service ? -1 : left->service > right->service;
}

static void add_owners(struct owners *owners, const struct address *addresses, size_t n,
		       struct owner owner)
{
	for (size_t i = 0; i < n; i++) {
		owner.address = addresses[i];
		owners->at[owners->n++] = owner;
	}
}

static void add_services(struct owners *owners, const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *one = &cluster->services[i];
		struct owner owner = {.kind = OWNER_SERVICE,
				      .ns_name = one->ns_name,
				      .name = one->name,
				      .service = one,
				      .where = &one->where};

		add_owners(owners, one->addresses, one->n_addresses, owner);
		owner.kind = OWNER_EXTERNAL;
		add_owners(owners, one->external, one->n_external, owner);
	}
}

static struct owners list_owners(const struct cluster *cluster, struct diag *diag)
{
	struct owners owners = {.diag = diag};
	size_t n = 0, n_ports = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		n += cluster->endpoints[i].n_addresses;
	for (size_t i = 0; i < cluster->n_nodes; i++)
		n += cluster->nodes[i].n_addresses;
	for (size_t i = 0; i < cluster->n_services; i++) {
		n += cluster->services[i].n_addresses + cluster->services[i].n_external;
		n_ports += cluster->services[i].n_ports;
	}
	owners.at = check_memory(calloc(n + 1, sizeof(*owners.at)));
	/* a Service may have an address twice: from the cluster, and as an external one */
	owners.claims = check_memory(calloc(2 * n_ports + 1, sizeof(*owners.claims)));
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *one = &cluster->endpoints[i];

		add_owners(&owners, one->addresses, one->n_addresses,
			   (struct owner){.kind = OWNER_ENDPOINT,
					  .ns_name = one->ns_name,
					  .name = one->name,
					  .where = &one->where});
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *one = &cluster->nodes[i];

		add_owners(&owners, one->addresses, one->n_addresses,
			   (struct owner){
				   .kind = OWNER_NODE, .name = one->name, .where = &one->where});
	}
	add_services(&owners, cluster);
	array_order(owners.at, owners.n, sizeof(*owners.at), owner_order);
	return owners;
}

static const char *text_of(const char *name)
{
	return name ? name : "";
}

static void report_clash(struct diag *diag, enum diag_level level, const struct owner *first,
			 const struct owner *second, const char *meaning)
{
	static const char *const kinds[] = {[OWNER_ENDPOINT] = "Pod",
					    [OWNER_NODE] = "Node",
					    [OWNER_SERVICE] = "Service",
					    [OWNER_EXTERNAL] = "Service"};
	char text[ADDRESS_TEXT];

	diag_report(diag, level, second->where, NULL,
		    "Service %s/%s has the address %s, which is %s %s%s%s's too (%s:%u)%s",
		    second->ns_name, second->name, address_print(&second->address, text),
		    kinds[first->kind], text_of(first->ns_name), first->ns_name ? "/" : "",
		    first->name, text_of(first->where->file), first->where->line, meaning);
}

static int claim_order(const void *a, const void *b)
{
	const struct port_claim *left = a, *right = b;

	if (left->port != right->port)
		return left->port < right->port ? -1 : 1;
	return left->owner < right->owner ? -1 : left->owner > right->owner;
}

static int clash_order(const void *a, const void *b)
{
	const struct clash *left = a, *right = b;

	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return left->second < right->second ? -1 : left->second > right->second;
}

/* Lists the ports of @n owners by port, then by owner. Returns how many there are. */
static size_t list_claims(struct owners *owners, const struct owner *first, size_t n)
{
	size_t n_claims = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; first[i].service && k < first[i].service->n_ports; k++) {
			const struct service_port *port = &first[i].service->ports[k];

			owners->claims[n_claims++] =
				(struct port_claim){(uint32_t)port->protocol << 16 | port->port, i};
		}
	array_order(owners->claims, n_claims, sizeof(*owners->claims), claim_order);
	return n_claims;
}

/* Lists the first clashes of the owners that have one port. So many are enough: of all ports' first
 * clashes, no later one would be printed. External addresses come last among the claims. */
static void list_clashes(struct owners *owners, const struct owner *first,
			 const struct port_claim *claims, size_t n)
{
	size_t found = 0, external = n;

	while (external && first[claims[external - 1].owner].kind == OWNER_EXTERNAL)
		external--;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i < external ? external : i + 1; k < n && found < DIAG_MAX; k++) {
			const struct clash clash = {claims[i].owner, claims[k].owner};
			struct clash *to;

			if (first[clash.first].service == first[clash.second].service)
				continue;
			to = array_grow((void **)&owners->clashes, &owners->n_clashes, sizeof(*to));
			*to = clash;
			found++;
		}
}

/* Finds the Services at one address that have a port in common. */
static void find_clashes(struct owners *owners, const struct owner *first, size_t n)
{
	size_t n_claims = list_claims(owners, first, n), kept = 0;

	for (size_t i = 0, end; i < n_claims; i = end) {
		for (end = i + 1; end < n_claims; end++)
			if (owners->claims[end].port != owners->claims[i].port)
				break;
		list_clashes(owners, first, &owners->claims[i], end - i);
	}
	array_order(owners->clashes, owners->n_clashes, sizeof(*owners->clashes), clash_order);
	for (size_t i = 0; i < owners->n_clashes; i++)
		if (!kept || clash_order(&owners->clashes[kept - 1], &owners->clashes[i]))
			owners->clashes[kept++] = owners->clashes[i];
	owners->n_clashes = kept;
}

/* An API server gives both to one Service at a time: only for a while two have one. */
static enum diag_level level_of(const struct service *first, const struct service *second)
{
	return first->accepted && second->accepted ? DIAG_WARNING : DIAG_ERROR;
}

/* Reports the clashes of owner @i of @n that do not depend on ports: of a Pod or Node with
 * Services, and of two Services' addresses from the cluster. */
static void check_owner(const struct owners *owners, const struct owner *first, size_t i, size_t n)
{
	struct diag *diag = owners->diag;

	for (size_t k = i + 1; k < n && !diag_full(diag); k++) {
		const struct owner *second = &first[k];

		/* An external address is often a node's: that is how packets to it reach a node. */
		if (second->kind == OWNER_EXTERNAL &&
		    (first[i].kind == OWNER_NODE || first[i].service))
			return;
		if (!second->service)
			continue;
		if (!first[i].service) {
			report_clash(diag, DIAG_WARNING, &first[i], second,
				     ": at the Service's ports it stands for the Service");
		} else if (first[i].service != second->service) {
			const enum diag_level level = level_of(first[i].service, second->service);

			report_clash(diag, level, &first[i], second, "");
			/* each with the next one: a tenant may make many that have one address */
			if (level == DIAG_WARNING)
				return;
		}
	}
}

/* Checks the @n owners of one address. */
static void check_address(struct owners *owners, const struct owner *first, size_t n)
{
	size_t next = 0;

	for (size_t i = 0; i < n && !diag_full(owners->diag); i++) {
		check_owner(owners, first, i, n);
		for (; next < owners->n_clashes && owners->clashes[next].first == i; next++)
			report_clash(owners->diag, DIAG_WARNING, &first[i],
				     &first[owners->clashes[next].second],
				     ", with a port of it: it stands for the backends of both");
	}
}

/* Returns true if the same Services, and nothing else, own both addresses in the same way. */
static bool same_owners(const struct owner *a, const struct owner *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].kind != b[i].kind || a[i].service != b[i].service)
			return false;
	return true;
}

void owners_check(const struct cluster *cluster, struct diag *diag)
{
	struct owners owners = list_owners(cluster, diag);
	size_t last = 0, n_last = 0;

	for (size_t i = 0, n; i < owners.n && !diag_full(diag); i += n) {
		const struct owner *first = &owners.at[i];

		for (n = 1; i + n < owners.n; n++)
			if (memcmp(&first->address, &first[n].address, sizeof(first->address)))
				break;
		/* the clashes are those of the last address if its owners are the same */
		if (n != n_last || !same_owners(first, &owners.at[last], n)) {
			owners.n_clashes = 0;
			find_clashes(&owners, first, n);
		}
		check_address(&owners, first, n);
		last = i;
		n_last = n;
	}
	free(owners.claims);
	free(owners.clashes);
	free(owners.at);
}
