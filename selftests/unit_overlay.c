// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy with other endpoints than it was compiled with: those that have gone and come, the order
 * that lookups need, and the compiled state again afterwards, or if memory runs out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "compile/update.h"
#include "policy/evaluate.h"
#include "selftests/lib/sample.h"

#define DB 1 /* the segment of default/db in the sample */

static struct address address(const char *text)
{
	return sample_address(text);
}

/* The endpoint with an address, or "". */
static const char *owner(const struct policy *policy, const char *text)
{
	const struct address wanted = address(text);
	const struct policy_address *found = policy_address_find(policy, &wanted);

	return found ? policy_string(policy, policy->endpoints[found->endpoint].name) : "";
}

static bool has(const struct policy *policy, const char *ns, const char *name)
{
	return policy_endpoint_by_name(policy, ns, name);
}

static void who_has_gone(void **state)
{
	struct policy policy = *sample_policy();
	/* 10.1.0.4 client, 10.1.0.5 db, 10.1.0.6 web, fd00:1::5 db */
	const bool gone[] = {true, true, false, false};

	(void)state;
	assert_int_equal(overlay_endpoints(&policy, gone, NULL, 0), 0);
	assert_string_equal(owner(&policy, "10.1.0.4"), "");
	assert_string_equal(owner(&policy, "10.1.0.5"), "");
	assert_string_equal(owner(&policy, "10.1.0.6"), "web");
	assert_string_equal(owner(&policy, "fd00:1::5"), "db");
	assert_false(has(&policy, "default", "client"));
	assert_true(has(&policy, "default", "db"));
	assert_int_equal(policy_endpoint_by_name(&policy, "default", "db")->addresses.n, 1);
	overlay_free(&policy);
	assert_memory_equal(&policy, sample_policy(), sizeof(policy));
}

static void who_has_come(void **state)
{
	struct policy policy = *sample_policy();
	const struct policy_address addresses[] = {
		{.address = address("9.0.0.1"), .segment = DB},
		{.address = address("fd00:9::1"), .segment = DB},
		{.address = address("9.0.0.2"), .segment = POLICY_NOWHERE},
		{.address = address("10.1.0.9"), .segment = DB},
	};
	struct cidr source = {address("10.8.0.0"), 120};
	const struct endpoint endpoints[] = {
		{.ns_name = "between", .name = "new"},
		{.ns_name = "zone", .name = "lost", .node = "worker"},
		{.ns_name = "default", .name = "db", .allow_source = &source, .n_allow_source = 1},
	};
	const struct update_endpoint came[] = {
		{&endpoints[0], &addresses[0], 2},
		{&endpoints[1], &addresses[2], 1},
		{&endpoints[2], &addresses[3], 1},
	};
	const struct policy_endpoint *endpoint;
	struct evaluate_source evaluate;
	struct policy_segment segment;
	uint32_t variation;

	(void)state;
	assert_int_equal(overlay_endpoints(&policy, NULL, came, 3), 0);
	assert_string_equal(owner(&policy, "9.0.0.1"), "new");
	assert_string_equal(owner(&policy, "fd00:9::1"), "new");
	assert_string_equal(owner(&policy, "10.1.0.4"), "client");
	endpoint = policy_endpoint_by_name(&policy, "between", "new");
	assert_non_null(endpoint);
	/* IPv4 first. */
	assert_int_equal(endpoint->addresses.n, 2);
	assert_true(address_is_ipv4(
		&policy.addresses[policy.endpoint_addresses[endpoint->addresses.at]].address));
	endpoint = policy_endpoint_by_name(&policy, "default", "db");
	assert_int_equal(endpoint->addresses.n, 3);
	assert_int_equal(endpoint->allow_source.n, 1);
	assert_int_equal(policy.cidrs[endpoint->allow_source.at].length, 120);
	assert_true(has(&policy, "other", "web"));
	evaluate = evaluate_policy(&policy);
	assert_true(evaluate.resolve(evaluate.places, &addresses[0].address, &segment, &variation));
	assert_int_equal(segment.id, policy.segments[DB].id);
	assert_false(
		evaluate.resolve(evaluate.places, &addresses[2].address, &segment, &variation));
	overlay_free(&policy);
	assert_memory_equal(&policy, sample_policy(), sizeof(policy));
}

/* AddressSanitizer ends a process that asks for too much, unless this says otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void without_memory(void **state)
{
	const struct policy_address address_of_new = {.address = address("9.0.0.1"), .segment = DB};
	const struct endpoint endpoint = {.ns_name = "between", .name = "new"};
	const struct update_endpoint came = {&endpoint, &address_of_new, 1};
	struct policy policy = *sample_policy(), before;

	(void)state;
	/* a table that no array can hold: its copy fails, behind the copy of another table */
	policy.n_cidrs = SIZE_MAX / 2;
	before = policy;
	assert_int_equal(overlay_endpoints(&policy, NULL, &came, 1), -ENOMEM);
	assert_memory_equal(&policy, &before, sizeof(policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_gone),
		cmocka_unit_test(who_has_come),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
