/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by generate.c and generate_services.c: one cluster's random numbers, names and memory. */
#ifndef BULKHEAD_SELFTESTS_GENERATOR_H
#define BULKHEAD_SELFTESTS_GENERATOR_H

#include <netinet/in.h>
#include <string.h>

#include "selftests/lib/generate.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PICK(random, array) ((array)[random_below(random, COUNT(array))])

static const char *const namespace_names[] = {"alpha", "beta", "gamma"};
static const char *const keys[] = {"app", "tenant", "example.com/tier"};
static const char *const port_names[] = {"web", "dns", "metrics"};
static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};

struct generator {
	struct random random;
	struct cluster *cluster;
};

static inline uint32_t below(struct generator *g, uint32_t limit)
{
	return random_below(&g->random, limit);
}

static inline bool chance(struct generator *g, uint32_t percent)
{
	return random_chance(&g->random, percent);
}

static inline const char *intern(struct generator *g, const char *string)
{
	return cluster_intern(g->cluster, string, strlen(string));
}

static inline void *allocate(struct generator *g, size_t n, size_t size)
{
	void *memory = obstack_alloc(&g->cluster->memory, n * size + 1);

	return memset(memory, 0, n * size + 1);
}

/* An address in the network that the generated prefixes cut through. */
static inline struct address make_address(bool ipv4, uint8_t net, uint8_t host)
{
	if (ipv4)
		return (struct address){{[10] = 0xff, 0xff, 10, 0, net, host}};
	return (struct address){{0xfd, [13] = net, [15] = host}};
}

#endif
