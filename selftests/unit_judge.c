/* SPDX-License-Identifier: GPL-2.0-only */
/* Verdicts from a policy made by hand: each step of maps/segment.h, and the exceptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "policy/evaluate.h"
#include "selftests/lib/sample.h"

struct row {
	const char *why;
	const char *source, *destination;
	uint8_t protocol;
	uint16_t port;
	const char *egress, *ingress;
};

#define ISOLATED "deny network-policy"
#define DEFAULT "allow default"

static const struct row rows[] = {
	{"own pair, inside the interval", "10.1.0.4", "10.1.0.5", IPPROTO_TCP, 6379, DEFAULT,
	 "allow network-policy default/db/ingress[0]"},
	{"own pair, before it", "10.1.0.4", "10.1.0.5", IPPROTO_TCP, 6378, DEFAULT, ISOLATED},
	{"own pair, after it", "10.1.0.4", "10.1.0.5", IPPROTO_TCP, 6380, DEFAULT, ISOLATED},
	{"port 0", "10.1.0.4", "10.1.0.5", IPPROTO_TCP, 0, DEFAULT, ISOLATED},
	{"the same port of UDP", "10.1.0.4", "10.1.0.5", IPPROTO_UDP, 6379, DEFAULT, ISOLATED},
	{"the same port of SCTP", "10.1.0.4", "10.1.0.5", IPPROTO_SCTP, 6379, DEFAULT, ISOLATED},
	{"ICMP has no port", "10.1.0.4", "10.1.0.5", IPPROTO_ICMP, 0, DEFAULT, ISOLATED},
	{"a peer in a prefix", "172.17.0.1", "10.1.0.5", IPPROTO_UDP, 53, "-",
	 "allow network-policy default/db/ingress[0]"},
	{"a peer in a prefix, by protocol", "172.17.255.1", "10.1.0.5", IPPROTO_ICMP, 0, "-",
	 "allow network-policy default/db/ingress[0]"},
	{"the prefix inside it goes first", "172.17.1.1", "10.1.0.5", IPPROTO_UDP, 53, "-",
	 "deny admin guard/keep\\tout"},
	{"common pair", "8.8.8.8", "10.1.0.5", IPPROTO_TCP, 6379, "-",
	 "deny admin guard/keep\\tout"},
	{"common pair, IPv6", "2001:db8::1", "fd00:1::5", IPPROTO_TCP, 6379, "-",
	 "deny admin guard/keep\\tout"},
	{"fallback for endpoints", "10.1.0.6", "10.1.0.5", IPPROTO_TCP, 6379, DEFAULT, ISOLATED},
	{"fallback for addresses", "10.1.0.5", "8.8.8.8", IPPROTO_TCP, 80, ISOLATED, "-"},
	{"one verdict for all ports", "10.1.0.5", "172.17.0.1", IPPROTO_SCTP, 9,
	 "allow network-policy default/db/egress[0]", "-"},
	{"a name that the destination has", "10.1.0.5", "10.1.0.6", IPPROTO_TCP, 6380,
	 "allow network-policy default/db/egress[0]", DEFAULT},
	{"a name that has another number", "10.1.0.5", "10.1.0.6", IPPROTO_TCP, 6379, ISOLATED,
	 DEFAULT},
	{"a name that the destination lacks", "10.1.0.5", "10.1.0.4", IPPROTO_TCP, 6380, ISOLATED,
	 DEFAULT},
	{"no policy at either end", "10.1.0.4", "10.1.0.6", IPPROTO_TCP, 80, DEFAULT, DEFAULT},
	{"no endpoint at either end", "8.8.8.8", "172.17.0.1", IPPROTO_TCP, 80, "-", "-"},
	{"from its own node", "192.168.7.1", "10.1.0.5", IPPROTO_TCP, 80, "-", DEFAULT},
	{"from its own node, IPv6", "fd00:7::1", "fd00:1::5", IPPROTO_TCP, 80, "-", DEFAULT},
	{"to its own node", "10.1.0.5", "192.168.7.1", IPPROTO_TCP, 80, DEFAULT, "-"},
	{"to itself", "10.1.0.5", "10.1.0.5", IPPROTO_TCP, 80, DEFAULT, DEFAULT},
	{"to its other address", "10.1.0.5", "fd00:1::5", IPPROTO_TCP, 80, DEFAULT, DEFAULT},
};

static void flows(void **state)
{
	struct policy *policy = sample_policy();
	struct evaluate_source source = evaluate_policy(policy);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct flow flow = {sample_address(row->source), sample_address(row->destination),
				    row->protocol, row->port, NULL};
		char text[2][DECISION_TEXT];
		struct decision egress, ingress;
		bool allow = evaluate_flow(&source, policy, &flow, &egress, &ingress);

		decision_print(policy, &egress, text[0], DECISION_TEXT);
		decision_print(policy, &ingress, text[1], DECISION_TEXT);
		if (strcmp(text[0], row->egress) || strcmp(text[1], row->ingress))
			fail_msg("%s: %s | %s", row->why, text[0], text[1]);
		assert_int_equal(allow, row->egress[0] != 'd' && row->ingress[0] != 'd');
	}
}

/* Traffic to the own node passes, unless an administrator's policy denies it. */
static void local_node_denied_by_admin(void **state)
{
	struct policy policy = *sample_policy();
	struct policy_segment segments[6];
	struct evaluate_source source = evaluate_policy(&policy);
	struct flow flow = {sample_address("10.1.0.5"), sample_address("192.168.7.1"), IPPROTO_TCP,
			    80, NULL};
	struct decision egress, ingress;

	(void)state;
	memcpy(segments, policy.segments, sizeof(segments));
	policy.segments = segments;
	segments[1].fallback[EGRESS][1].at = bh_verdict(false, BH_TIER_ADMIN, 3);
	assert_false(evaluate_flow(&source, &policy, &flow, &egress, &ingress));
	assert_int_equal(egress.tier, TIER_ADMIN);
	segments[1].fallback[EGRESS][1].at = bh_verdict(false, BH_TIER_BASELINE, 0);
	assert_false(evaluate_flow(&source, &policy, &flow, &egress, &ingress));
	segments[1].fallback[EGRESS][1].at = bh_verdict(true, BH_TIER_ADMIN, 3);
	assert_true(evaluate_flow(&source, &policy, &flow, &egress, &ingress));
	assert_int_equal(egress.tier, TIER_DEFAULT);
	assert_null(egress.rule);
}

static bool resolve_no_endpoint(const void *data, const struct address *address,
				struct policy_segment *segment, uint32_t *variation)
{
	struct evaluate_source all = evaluate_policy(data);

	return !policy_address_find(data, address) &&
	       all.resolve(data, address, segment, variation);
}

static void isolated_without_a_segment(void **state)
{
	struct policy *policy = sample_policy();
	struct evaluate_source source = evaluate_policy(policy);
	struct flow flow = {sample_address("8.8.8.8"), sample_address("10.1.0.4"), IPPROTO_TCP, 80,
			    NULL};
	struct decision egress, ingress;

	(void)state;
	assert_true(evaluate_flow(&source, policy, &flow, &egress, &ingress));
	source.resolve = resolve_no_endpoint;
	assert_false(evaluate_flow(&source, policy, &flow, &egress, &ingress));
	assert_true(ingress.subject);
	assert_false(egress.subject);
	flow.source = sample_address("192.168.7.1");
	assert_true(evaluate_flow(&source, policy, &flow, &egress, &ingress));
}

static void names_are_escaped(void **state)
{
	struct policy policy = *sample_policy();
	static char strings[] = "\0a\\b\0c\nd\te\x1b\xc2\x9b\xc3\xa9";
	struct policy_rule rule = {.policy = 1, .name = 5, .tier = TIER_BASELINE};
	struct decision decision = {.subject = true, .tier = TIER_BASELINE, .rule = &rule};
	char text[DECISION_TEXT], cut[12];

	(void)state;
	policy.strings = strings;
	assert_string_equal(decision_print(&policy, &decision, text, sizeof(text)),
			    "deny baseline a\\\\b/c\\nd\\te\\x1b\\xc2\\x9b\xc3\xa9");
	assert_string_equal(decision_print(&policy, &decision, cut, sizeof(cut)), "deny baseli");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows),
		cmocka_unit_test(local_node_denied_by_admin),
		cmocka_unit_test(isolated_without_a_segment),
		cmocka_unit_test(names_are_escaped),
	};

	return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
