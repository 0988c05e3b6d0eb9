// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead metrics`: questions and answers of DNS, and what endpoints have learned. */
#include <inttypes.h>
#include <string.h>

#include "cmd/metrics.h"
#include "maps/dns.h"

static const char *const results[] = {
#define RESULT(identifier, name, text) name,
	BH_DNS_RESULTS(RESULT)
#undef RESULT
};

static int add_result(void *data, const void *key, const void *value)
{
	uint64_t *sums = data;
	const uint64_t *counts = value;
	uint32_t result;

	memcpy(&result, key, sizeof(result));
	for (int i = 0; result < BH_DNS_RESULT_COUNT && i < live_cpus(); i++)
		sums[result] += counts[i];
	return 0;
}

static int count_entry(void *data, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)data;
	return 0;
}

int metrics_dns(const struct metrics *metrics)
{
	uint64_t sums[BH_DNS_RESULT_COUNT] = {0}, learned = 0;
	int error = live_each(metrics->live, "dns_counts", add_result, sums);

	if (!error)
		error = live_each(metrics->live, "learned", count_entry, &learned);
	if (error)
		return error;
	metrics_family(metrics, "dns_messages_total", "counter",
		       "Messages between endpoints and resolvers about names of the policy, and "
		       "addresses, by what became of them.");
	for (int i = 0; i < BH_DNS_RESULT_COUNT; i++)
		fprintf(metrics->to, "bulkhead_dns_messages_total{result=\"%s\"} %" PRIu64 "\n",
			results[i], sums[i]);
	metrics_single(metrics, "learned_addresses", "gauge",
		       "Addresses that endpoints have learned by domain names.", learned);
	return 0;
}
