// SPDX-License-Identifier: GPL-2.0-only
/* Addresses that Services share: owners_check() reports what a comparison of all pairs of owners
 * reports, in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "model/cluster.h"
#include "model/cluster_service.h"

#define CASES 3000
#define SERVICES 6
#define ADDRESSES 3 /* few, so that they are shared */
#define PORTS 5

static unsigned int pick(unsigned int n)
{
	return (unsigned int)random() % n;
}

static const char *name_of(struct cluster *cluster, char letter, unsigned int i)
{
	char name[8];

	return cluster_intern(cluster, name, snprintf(name, sizeof(name), "%c%u", letter, i));
}

static struct address address_of(unsigned int i)
{
	return (struct address){{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 + i}};
}

static struct address *some_addresses(size_t *n)
{
	struct address *at = calloc(ADDRESSES, sizeof(*at));

	assert_non_null(at);
	*n = pick(ADDRESSES + 1);
	for (size_t i = 0; i < *n; i++)
		at[i] = address_of(pick(ADDRESSES));
	return at;
}

static void add_service(struct cluster *cluster, unsigned int i)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
	struct service *service = cluster_add_service(cluster);

	service->ns_name = name_of(cluster, 'n', pick(2));
	service->name = name_of(cluster, 's', i);
	service->where = (struct where){"t", 1 + i};
	service->addresses = some_addresses(&service->n_addresses);
	service->accepted = pick(2);
	/* most have no cluster address in common with another: that is an error, unless an API
	 * server has accepted both */
	if (pick(4))
		service->n_addresses = 0;
	service->external = some_addresses(&service->n_external);
	service->ports = calloc(PORTS, sizeof(*service->ports));
	assert_non_null(service->ports);
	service->n_ports = pick(PORTS + 1);
	for (size_t k = 0; k < service->n_ports; k++)
		service->ports[k] =
			(struct service_port){.protocol = protocols[pick(2)], .port = 1 + pick(12)};
}

static void make(struct cluster *cluster)
{
	for (unsigned int i = pick(2); i--;) {
		struct endpoint *pod = cluster_add_endpoint(cluster);

		pod->ns_name = name_of(cluster, 'n', pick(2));
		pod->name = name_of(cluster, 'p', i);
		pod->where = (struct where){"t", 50 + i};
		pod->addresses = some_addresses(&pod->n_addresses);
	}
	for (unsigned int i = pick(3); i--;) {
		struct node *node = cluster_add_node(cluster);

		node->name = name_of(cluster, 'w', i);
		node->where = (struct where){"t", 80 + i};
		node->addresses = some_addresses(&node->n_addresses);
	}
	for (unsigned int i = 0; i < SERVICES; i++)
		add_service(cluster, i);
}

static void unmake(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		free(cluster->endpoints[i].addresses);
	for (size_t i = 0; i < cluster->n_nodes; i++)
		free(cluster->nodes[i].addresses);
	for (size_t i = 0; i < cluster->n_services; i++) {
		free(cluster->services[i].addresses);
		free(cluster->services[i].external);
		free(cluster->services[i].ports);
	}
}

/* The naive reading: each owner of an address with each later one, but of Services that an API
 * server has accepted, and that have one cluster address, each with the next one */

enum kind { POD, NODE, SERVICE, EXTERNAL };

struct owner {
	enum kind kind;
	const char *word, *ns, *name;
	const struct service *service;
	unsigned int line;
};

static void put(struct owner *owners, size_t *n, const struct address *address,
		const struct address *addresses, size_t n_addresses, struct owner owner)
{
	for (size_t i = 0; i < n_addresses; i++)
		if (!memcmp(address, &addresses[i], sizeof(*address)))
			owners[(*n)++] = owner;
}

static size_t owners_of(const struct cluster *cluster, const struct address *address,
			struct owner *owners)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *one = &cluster->endpoints[i];

		put(owners, &n, address, one->addresses, one->n_addresses,
		    (struct owner){POD, "Pod", one->ns_name, one->name, NULL, one->where.line});
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *one = &cluster->nodes[i];

		put(owners, &n, address, one->addresses, one->n_addresses,
		    (struct owner){NODE, "Node", NULL, one->name, NULL, one->where.line});
	}
	for (int external = 0; external <= 1; external++)
		for (size_t i = 0; i < cluster->n_services; i++) {
			const struct service *one = &cluster->services[i];

			put(owners, &n, address, external ? one->external : one->addresses,
			    external ? one->n_external : one->n_addresses,
			    (struct owner){external ? EXTERNAL : SERVICE, "Service", one->ns_name,
					   one->name, one, one->where.line});
		}
	return n;
}

static bool share_port(const struct service *a, const struct service *b)
{
	for (size_t i = 0; i < a->n_ports; i++)
		for (size_t k = 0; k < b->n_ports; k++)
			if (a->ports[i].protocol == b->ports[k].protocol &&
			    a->ports[i].port == b->ports[k].port)
				return true;
	return false;
}

static void expect_pair(FILE *to, const struct owner *first, const struct owner *second,
			const struct address *address)
{
	const bool accepted = first->service && first->service->accepted && second->service &&
			      second->service->accepted;
	const char *level = "warning: ", *meaning = "";
	char text[ADDRESS_TEXT];

	if (!second->service || first->service == second->service ||
	    (first->kind == NODE && second->kind == EXTERNAL))
		return;
	if (!first->service)
		meaning = ": at the Service's ports it stands for the Service";
	else if (second->kind == SERVICE)
		level = accepted ? level : "";
	else if (share_port(first->service, second->service))
		meaning = ", with a port of it: it stands for the backends of both";
	else
		return;
	fprintf(to, "t:%u: %sService %s/%s has the address %s, which is %s %s%s%s's too (t:%u)%s\n",
		second->line, level, second->ns, second->name, address_print(address, text),
		first->word, first->ns ? first->ns : "", first->ns ? "/" : "", first->name,
		first->line, meaning);
}

static char *expected(const struct cluster *cluster)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (unsigned int a = 0; a < ADDRESSES; a++) {
		const struct address address = address_of(a);
		struct owner owners[64];
		size_t n = owners_of(cluster, &address, owners);

		for (size_t i = 0; i < n; i++) {
			bool told = false;

			for (size_t k = i + 1; k < n; k++) {
				const bool clash =
					owners[i].kind == SERVICE && owners[k].kind == SERVICE;

				if (!told || !clash)
					expect_pair(to, &owners[i], &owners[k], &address);
				told |= clash && owners[i].service->accepted &&
					owners[k].service->accepted;
			}
		}
	}
	fclose(to);
	return text;
}

/* Skips cases with so many messages that diag_report() does not print all. */
static void reports_what_all_pairs_report(void **state)
{
	size_t warned = 0, refused = 0;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct cluster cluster;
		char *got, *wanted;
		size_t size;
		struct diag diag = {.to = open_memstream(&got, &size)};

		srandom(i);
		assert_non_null(diag.to);
		cluster_init(&cluster);
		make(&cluster);
		cluster_finish(&cluster, &diag);
		fclose(diag.to);
		wanted = expected(&cluster);
		if (diag.warnings < DIAG_MAX && diag.errors < DIAG_MAX)
			assert_string_equal(got, wanted);
		warned += strstr(got, "backends of both") != NULL;
		refused += diag.errors != 0;
		free(got);
		free(wanted);
		unmake(&cluster);
		cluster_free(&cluster);
	}
	/* the cases are not all of one kind */
	assert_in_range(warned, CASES / 4, CASES);
	assert_in_range(refused, CASES / 20, CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_what_all_pairs_report),
	};

	return cmocka_run_group_tests_name("owners", tests, NULL, NULL);
}
