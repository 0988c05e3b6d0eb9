/* SPDX-License-Identifier: GPL-2.0-only */
/* Blobs: a round trip, and a refusal for each kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "maps/segment.h"
#include "selftests/lib/sample.h"

static const struct where where = {"test.bhp", 0};

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size);

	assert_non_null(copy);
	return memcpy(copy, bytes, size);
}

/* Returns true if a copy of the bytes is accepted; if not, the reason is in @reason (may be
 * NULL). */
static bool reads(const void *bytes, size_t size, char **reason)
{
	struct policy *policy = NULL;
	struct diag diag = {0};
	size_t length;
	char *text = NULL;
	void *copy = copy_of(bytes, size ? size : 1);
	int error;

	if (reason)
		diag.to = open_memstream(&text, &length);
	error = blob_read(copy, size, &where, &diag, &policy);
	if (reason) {
		fclose(diag.to);
		*reason = text;
	}
	if (error) {
		assert_int_equal(error, -EINVAL);
		assert_null(policy);
		assert_int_equal(diag.errors, 1);
		free(copy);
		return false;
	}
	assert_int_equal(diag.errors, 0);
	policy_free(policy);
	return true;
}

static void *sample_blob(size_t *size)
{
	void *bytes;

	assert_int_equal(blob_write(sample_policy(), &bytes, size), 0);
	return bytes;
}

static void round_trip(void **state)
{
	struct policy *sample = sample_policy(), *policy;
	struct diag diag = {0};
	size_t size, again_size;
	void *bytes = sample_blob(&size), *again;

	(void)state;
	assert_true(blob_is(bytes, size));
	assert_int_equal(blob_read(copy_of(bytes, size), size, &where, &diag, &policy), 0);
	assert_int_equal(policy->checksum, sample->checksum);
	assert_int_equal(policy->lineage, 77);
	assert_int_equal(policy->generation, 2);
	assert_int_equal(policy->next_class, sample->next_class);
#define SAME(type, name, moves)                               \
	assert_int_equal(policy->n_##name, sample->n_##name); \
	assert_memory_equal(policy->name, sample->name, policy->n_##name * sizeof(type));
	POLICY_TABLES(SAME)
#undef SAME
	assert_int_equal(blob_write(policy, &again, &again_size), 0);
	assert_int_equal(size, again_size);
	assert_memory_equal(bytes, again, size);
	policy_free(policy);
	free(again);
	free(bytes);
}

static void tells_a_blob_from_text(void **state)
{
	(void)state;
	assert_false(blob_is("bulkhea", 7));
	assert_false(blob_is("apiVersion: v1", 14));
	assert_true(blob_is("bulkhead", 8));
	assert_false(reads("bulkhead", 8, NULL));
	assert_false(reads("", 0, NULL));
}

static void each_flipped_bit(void **state)
{
	size_t size;
	unsigned char *bytes = sample_blob(&size);

	(void)state;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		if (reads(bytes, size, NULL))
			fail_msg("bit %zu flipped, and it was read", bit);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(reads(bytes, size, NULL));
	free(bytes);
}

static void each_truncation(void **state)
{
	size_t size;
	char *bytes = sample_blob(&size), *longer = calloc(1, size + 8);

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		if (reads(bytes, cut, NULL))
			fail_msg("cut at %zu, and it was read", cut);
	memcpy(longer, bytes, size);
	for (size_t more = 1; more <= 8; more++)
		assert_false(reads(longer, size + more, NULL));
	free(longer);
	free(bytes);
}

/* Damages the compressed frame while the checksum and the length are right. */
static bool frame_reads(struct blob_header *header, size_t size)
{
	header->length = size;
	header->checksum = blob_checksum(header, size);
	return reads(header, size, NULL);
}

static void wrong_frame(void **state)
{
	size_t size;
	struct blob_header *header = sample_blob(&size), *longer;
	uint64_t end = header->tables[BLOB_TABLE_strings].at + header->tables[BLOB_TABLE_strings].n;

	(void)state;
	assert_true(frame_reads(header, size));
	header->version++;
	assert_false(frame_reads(header, size));
	header->version--;
	header->abi++;
	assert_false(frame_reads(header, size));
	header->abi--;
	header->tables[BLOB_TABLE_pairs].at += 8;
	assert_false(frame_reads(header, size));
	header->tables[BLOB_TABLE_pairs].at -= 8;
	header->tables[BLOB_TABLE_named].n = UINT64_MAX / sizeof(struct policy_named);
	assert_false(frame_reads(header, size));
	header->tables[BLOB_TABLE_named].n = 3;
	longer = calloc(1, size + 16);
	memcpy(longer, header, size);
	assert_false(frame_reads(longer, size + 16));
	free(longer);
	/* The padding behind the strings. */
	assert_int_not_equal(end % 8, 0);
	((char *)header)[end] = 1;
	assert_false(frame_reads(header, size));
	((char *)header)[end] = 0;
	assert_true(frame_reads(header, size));
	free(header);
}

/* A policy with one record changed, and the record that the refusal must name. */
static struct policy *p;

struct corruption {
	const char *record;
	void (*change)(void);
};

#define ROWS(ROW)                                                                               \
	ROW("header: strings", strings_open, p->strings[p->n_strings - 1] = 'x')                \
	ROW("header: strings", strings_first, p->strings[0] = 'x')                              \
	ROW("header: no generation", generation, p->generation = 0)                             \
	ROW("header: an ID", next_id, p->next_list = 0)                                         \
	ROW("header: an ID", next_id_high, p->next_class = 0x80000001)                          \
	ROW("header: no such node", node, p->node = p->n_strings)                               \
	ROW("header: no such node", uplinks, p->uplinks_n = 13)                                 \
	ROW("header: ::/0", world, p->n_prefixes = 0)                                           \
	ROW("texts[7]", text, p->texts[7] = p->n_strings)                                       \
	ROW("texts[0]", text_control, p->strings[p->texts[0]] = 0x1b)                           \
	ROW("endpoints[0]", endpoint_control, p->strings[p->endpoints[0].name] = 0x7f)          \
	ROW("cidrs[0]", cidr_host_bits, p->cidrs[0].length = 96)                                \
	ROW("cidrs[1]", cidr_length, p->cidrs[1].length = 129)                                  \
	ROW("requirements[0]", requirement_key, p->requirements[0].key = 0)                     \
	ROW("requirements[0]", requirement_op, p->requirements[0].op = 4)                       \
	ROW("requirements[0]", requirement_values, p->requirements[0].values.n = 0)             \
	ROW("requirements[0]", requirement_far, p->requirements[0].values.at = 12)              \
	ROW("requirements[1]", requirement_extra, p->requirements[1].values.n = 1)              \
	ROW("clauses[0]", clause_kind, p->clauses[0].kind = 3)                                  \
	ROW("clauses[0]", clause_ns, p->clauses[0].ns = 5000)                                   \
	ROW("clauses[0]", clause_pods, p->clauses[0].pods.n = 3)                                \
	ROW("clauses[0]", clause_wrap, p->clauses[0].namespaces.at = UINT32_MAX)                \
	ROW("clauses[1]", clause_prefix, p->clauses[1].address.bytes[15] = 1)                   \
	ROW("clauses[1]", clause_except, p->clauses[1].except.n = UINT32_MAX)                   \
	ROW("matchers[1]", matcher, p->matchers[1].clauses.n = 2)                               \
	ROW("namespaces[0]", ns_name, p->namespaces[0].name = 0)                                \
	ROW("namespaces[1]", ns_twice, p->namespaces[1].name = p->namespaces[0].name)           \
	ROW("namespaces[1]", ns_flags, p->namespaces[1].flags = POLICY_L2)                      \
	ROW("namespaces[0]", ns_labels, p->namespaces[0].labels.n = 1)                          \
	ROW("namespaces[1]", ns_other_name, p->texts[11] = p->namespaces[0].name)               \
	ROW("namespaces[0]", ns_no_name, p->texts[8] = p->texts[0])                             \
	ROW("nodes[0]", node_name, p->nodes[0].name = 0)                                        \
	ROW("nodes[0]", node_addresses, p->nodes[0].addresses.n = 3)                            \
	ROW("isolations[0]", isolation_policy, p->isolations[0].policy = 0)                     \
	ROW("isolations[1]", isolation_order, p->isolations[1].policy = p->namespaces[0].name)  \
	ROW("isolations[1]", isolation_matcher, p->isolations[1].matcher = p->n_matchers)       \
	ROW("isolations[0]", isolation_none, p->isolations[0].directions = 0)                   \
	ROW("isolations[0]", isolation_far, p->isolations[0].directions = 4)                    \
	ROW("host_pods[0]", host_pod_name, p->host_pods[0].name = 0)                            \
	ROW("host_pods[1]", host_pod_node, p->host_pods[1].node = 0)                            \
	ROW("host_pods[1]", host_pod_order, p->host_pods[1].name = p->namespaces[0].name)       \
	ROW("expected[0]", expected_namespace, p->expected[0].ns = 0)                           \
	ROW("expected[1]", expected_name, p->expected[1].name = 0)                              \
	ROW("expected[1]", expected_order, p->expected[1].name = p->expected[0].name)           \
	ROW("expected[0]", expected_uid, p->expected[0].uid = p->n_strings)                     \
	ROW("expected[0]", expected_flag, p->expected[0].flags = POLICY_L2)                     \
	ROW("expected[0]", expected_labels, p->expected[0].labels.n = 1)                        \
	ROW("expected[0]", expected_ports, p->expected[0].ports.at = p->n_named_ports + 1)      \
	ROW("expected[0]", expected_sources, p->expected[0].allow_source.at = p->n_cidrs + 1)   \
	ROW("rules[0]", rule_id, p->rules[0].id = 0)                                            \
	ROW("rules[1]", rule_twice, p->rules[1].id = 1)                                         \
	ROW("rules[3]", rule_next, p->rules[3].id = 8)                                          \
	ROW("rules[2]", rule_policy, p->rules[2].policy = 0)                                    \
	ROW("rules[2]", rule_name, p->rules[2].name = p->n_strings)                             \
	ROW("rules[2]", rule_direction, p->rules[2].direction = 2)                              \
	ROW("rules[2]", rule_tier, p->rules[2].tier = TIER_DEFAULT)                             \
	ROW("rules[2]", rule_action, p->rules[2].action = 3)                                    \
	ROW("rules[2]", rule_kind, p->rules[2].kind = 5)                                        \
	ROW("rules[2]", rule_flags, p->rules[2].flags = 2)                                      \
	ROW("audits[0]", audit_id, p->audits[0].id = 0)                                         \
	ROW("audits[1]", audit_next, p->audits[1].id = p->next_rule)                            \
	ROW("audits[1]", audit_twice, p->audits[1].id = p->audits[0].id)                        \
	ROW("audits[0]", audit_decides, p->audits[0].decides += 4)                              \
	ROW("audits[1]", audit_of_audit, p->audits[1].decides |= 1u << BH_AUDIT_SHIFT)          \
	ROW("audits[0]", audit_denies, p->audits[0].denies = 4)                                 \
	ROW("audits[0]", audit_nobody, p->audits[0].policies.n = 0)                             \
	ROW("audits[1]", audit_policies, p->audits[1].policies.n = 50)                          \
	ROW("intervals[1]", interval_audit, p->intervals[1].verdict |= 1u << BH_AUDIT_SHIFT)    \
	ROW("isolations[0]", isolation_flags, p->isolations[0].flags = 2)                       \
	ROW("given[0]", given_flags, p->given[0].flags = 2)                                     \
	ROW("given[0]", given_tier, p->given[0].tier = TIER_NETWORK_POLICY)                     \
	ROW("given[0]", given_baseline, p->given[0].kind = POLICY_BASELINE_ADMIN)               \
	ROW("given[1]", given_kind, p->given[1].tier = TIER_ADMIN)                              \
	ROW("given[1]", given_ns, p->given[1].ns = p->given[1].name)                            \
	ROW("given[0]", given_own_namespace, p->given_rules[2].peers.n = 1)                     \
	ROW("given_ports[0]", given_protocol, p->given_ports[0].protocol = 1)                   \
	ROW("given_ports[1]", given_any_protocol, p->given_ports[1].protocol = 1)               \
	ROW("intervals[9]", interval_far, p->intervals[9].start++)                              \
	ROW("intervals[1]", interval_no_rule, p->intervals[1].verdict += 4)                     \
	ROW("intervals[1]", interval_action, p->intervals[1].verdict &= ~BH_VERDICT_ALLOW)      \
	ROW("intervals[1]", interval_tier, p->intervals[1].verdict ^= 1u << BH_TIER_SHIFT)      \
	ROW("pairs[0]", interval_order, p->intervals[2].start = p->intervals[1].start)          \
	ROW("pairs[0]", interval_first, p->intervals[0].start = 1)                              \
	ROW("named_ports[0]", port_name, p->named_ports[0].name = 0)                            \
	ROW("named_ports[0]", port_zero, p->named_ports[0].port = 0)                            \
	ROW("named_ports[0]", port_protocol, p->named_ports[0].protocol = 1)                    \
	ROW("resolutions[0]", resolution_id, p->resolutions[0].id = 2)                          \
	ROW("resolutions[0]", resolution_ports, p->resolutions[0].ports.n = 2)                  \
	ROW("variations[0]", variation_id, p->variations[0].id = BH_VARIATION_MAX + 1)          \
	ROW("variations[0]", variation_resolution, p->variations[0].resolution = 2)             \
	ROW("variations[0]", variation_of_nothing, p->variations[0].resolution = 0)             \
	ROW("classes[1]", class_twice, p->classes[1].id = 1)                                    \
	ROW("classes[3]", class_next, p->classes[3].id = p->next_class)                         \
	ROW("lists[1]", list_next, p->lists[1].id = p->next_list)                               \
	ROW("segments[0]", segment_id, p->segments[0].id = 0)                                   \
	ROW("segments[1]", segment_twice, p->segments[1].id = 1)                                \
	ROW("segments[6]", segment_next, p->segments[6].id = p->next_segment)                   \
	ROW("segments[0]", segment_flags, p->segments[0].flags = 64)                            \
	ROW("segments[0]", segment_policy, p->segments[0].flags |= BH_SEGMENT_POLICY(INGRESS))  \
	ROW("segments[5]", segment_audited, p->segments[5].flags = BH_SEGMENT_AUDITED(INGRESS)) \
	ROW("segments[0]", segment_born, p->segments[0].create_generation = 3)                  \
	ROW("segments[4]", segment_gone, p->segments[4].delete_generation = 1)                  \
	ROW("segments[1]", segment_in, p->numbers[0] = 2)                                       \
	ROW("segments[1]", segment_in_far, p->segments[1].in.at = 6)                            \
	ROW("segments[1]", segment_in_order, p->segments[1].in = ((struct policy_range){2, 2})) \
	ROW("segments[5]", segment_names, p->segments[5].names.at = 3)                          \
	ROW("segments[5]", segment_variations, p->segments[5].variations.n = 2)                 \
	ROW("segments[5]", segment_next_variation, p->segments[5].next_variation = 1)           \
	ROW("segments[1]", segment_peer, p->segments[1].peer_own = p->next_class)               \
	ROW("segments[1]", segment_own, p->segments[1].own[EGRESS] = p->next_class)             \
	ROW("segments[1]", segment_fallback, p->segments[1].fallback[EGRESS][0].at = 3)         \
	ROW("segments[1]", segment_fallback_rule, p->segments[1].fallback[EGRESS][1].at = 9)    \
	ROW("endpoints[0]", endpoint_ns, p->endpoints[0].ns = 2)                                \
	ROW("endpoints[0]", endpoint_name, p->endpoints[0].name = 0)                            \
	ROW("endpoints[1]", endpoint_twice, p->endpoints[1].name = p->endpoints[0].name)        \
	ROW("endpoints[1]", endpoint_order, p->endpoints[0].ns = 1)                             \
	ROW("endpoints[2]", endpoint_node, p->endpoints[2].node = 5000)                         \
	ROW("endpoints[2]", endpoint_no_node, p->endpoints[2].node = p->n_strings - 1)          \
	ROW("endpoints[2]", endpoint_flags, p->endpoints[2].flags = 8)                          \
	ROW("endpoints[2]", endpoint_mac, p->endpoints[2].mac[0] = 2)                           \
	ROW("endpoints[2]", endpoint_addresses, p->endpoints[2].addresses.n = 3)                \
	ROW("endpoints[1]", endpoint_sources, p->endpoints[1].allow_source.n = 3)               \
	ROW("addresses[0]", address_lost, p->endpoints[2].addresses.n = 0)                      \
	ROW("addresses[0]", address_far, p->addresses[0].endpoint = 3)                          \
	ROW("addresses[1]", address_foreign, p->addresses[1].endpoint = 2)                      \
	ROW("addresses[2]", address_twice, p->addresses[2].address = p->addresses[1].address)   \
	ROW("addresses[2]", address_segment, p->addresses[2].segment = 7)                       \
	ROW("addresses[2]", address_external, p->addresses[2].segment = 0)                      \
	ROW("addresses[2]", address_gone, p->addresses[2].segment = 4)                          \
	ROW("addresses[2]", address_variation, p->addresses[2].variation = 2)                   \
	ROW("prefixes[0]", prefix_world, p->prefixes[0].length = 1)                             \
	ROW("prefixes[1]", prefix_bits, p->prefixes[1].length = 100)                            \
	ROW("prefixes[2]", prefix_twice, p->prefixes[2] = p->prefixes[1])                       \
	ROW("prefixes[1]", prefix_segment, p->prefixes[1].segment = 1)                          \
	ROW("prefixes[1]", prefix_far, p->prefixes[1].segment = 7)                              \
	ROW("pairs[0]", pair_subject, p->pairs[0].subject = 0)                                  \
	ROW("pairs[3]", pair_peer, p->pairs[3].peer = p->next_class)                            \
	ROW("pairs[1]", pair_twice, p->pairs[1].peer = p->pairs[0].peer)                        \
	ROW("pairs[1]", pair_long, p->pairs[1].ports.count = 5)                                 \
	ROW("pairs[1]", pair_far, p->pairs[1].ports.at = 10)                                    \
	ROW("pairs[1]", pair_middle, p->pairs[1].ports.at = 7)                                  \
	ROW("named[2]", named_list, p->named[2].list = 3)                                       \
	ROW("named[2]", named_twice, p->named[2].resolution = 0)                                \
	ROW("named[2]", named_resolution, p->named[2].resolution = 2)                           \
	ROW("named[0]", named_named,                                                            \
	    p->named[0].ports = ((struct bh_ports_ref){1, BH_PORTS_NAMED}))                     \
	ROW("header: by_namespace", bound_missing, p->n_by_namespace = 1)                       \
	ROW("by_namespace[1]", bound_far, p->by_namespace[1] = 2)                               \
	ROW("by_namespace[1]", bound_twice, p->by_namespace[1] = 1)                             \
	ROW("by_namespace[1]", bound_order, (p->by_namespace[0] = 0, p->by_namespace[1] = 1))   \
	ROW("header: by_matchers", listed_missing, p->n_by_matchers = 2)                        \
	ROW("by_matchers[0]", listed_far, p->by_matchers[0] = 7)                                \
	ROW("by_matchers[0]", listed_external, p->by_matchers[0] = 0)                           \
	ROW("by_matchers[1]", listed_twice, p->by_matchers[1] = p->by_matchers[0])              \
	ROW("by_matchers[2]", listed_order, p->by_matchers[2] = p->by_matchers[1])              \
	ROW("services[0]", service_name, p->services[0].name = 0)                               \
	ROW("services[1]", service_twice, p->services[1].name = p->services[0].name)            \
	ROW("services[1]", service_flags, p->services[1].flags = 4)                             \
	ROW("services[1]", service_ports, p->services[1].ports.n = 2)                           \
	ROW("service_ports[0]", service_port_far, p->service_ports[0].service = 2)              \
	ROW("service_ports[1]", service_port_foreign, p->service_ports[1].service = 0)          \
	ROW("service_ports[0]", service_port_none, p->service_ports[0].protocol = 1)            \
	ROW("service_ports[0]", service_port_any, p->service_ports[0].port = 0)                 \
	ROW("service_ports[1]", service_port_backends, p->service_ports[1].backends.n = 2)      \
	ROW("service_ports[0]", backend_twice, p->backends[1].address = p->backends[0].address) \
	ROW("backends[2]", backend_node, p->backends[2].node = p->n_strings)                    \
	ROW("backends[0]", backend_flags, p->backends[0].flags = 8)                             \
	ROW("frontends[1]", frontend_twice, p->frontends[1] = p->frontends[0])                  \
	ROW("frontends[1]", frontend_far, p->frontends[1].service_port = 2)                     \
	ROW("frontends[1]", frontend_port, p->frontends[1].port = 0)                            \
	ROW("frontends[1]", frontend_flags, p->frontends[1].flags = 8)                          \
	ROW("service_cidrs[0]", service_cidr, p->service_cidrs[0].length = 96)                  \
	ROW("resolvers[0]", resolver, p->resolvers[0].length = 127)                             \
	ROW("domains[0]", domain_name, p->domains[0].name = 0)                                  \
	ROW("domains[1]", domain_twice, p->domains[1] = p->domains[0])                          \
	ROW("domains[0]", domain_class, p->domains[0].class = 0)                                \
	ROW("domains[0]", domain_far, p->domains[0].segment = 7)                                \
	ROW("domains[0]", domain_peer, p->domains[0].segment = 0)                               \
	ROW("domains[0]", domain_segment, p->domains[0].segment = 1)

#define ROW(what, name, change)        \
	static void break_##name(void) \
	{                              \
		change;                \
	}
ROWS(ROW)
#undef ROW

#define ROW(what, name, change) {what, break_##name},
static const struct corruption corruptions[] = {ROWS(ROW)};
#undef ROW

static void each_wrong_record(void **state)
{
	struct diag diag = {0};
	size_t size, broken_size;
	void *bytes = sample_blob(&size), *broken;
	char *reason;

	(void)state;
	for (size_t i = 0; i < sizeof(corruptions) / sizeof(*corruptions); i++) {
		assert_int_equal(blob_read(copy_of(bytes, size), size, &where, &diag, &p), 0);
		corruptions[i].change();
		assert_int_equal(blob_write(p, &broken, &broken_size), 0);
		if (reads(broken, broken_size, &reason) || !strstr(reason, corruptions[i].record))
			fail_msg("row %zu, %s: %s", i, corruptions[i].record,
				 *reason ? reason : "was read");
		free(reason);
		free(broken);
		policy_free(p);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	    cmocka_unit_test(tells_a_blob_from_text),
		cmocka_unit_test(each_flipped_bit), cmocka_unit_test(each_truncation),
		cmocka_unit_test(wrong_frame),	    cmocka_unit_test(each_wrong_record),
	};

	return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
