// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of a policy that a node needs: addresses, prefixes and segments, each for one reason.
 * diff_locality checks the verdicts against the oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/locality.h"
#include "compile/reduce.h"
#include "input/input.h"

#define HERE "[endpoint shop/db]\nnode = n1\nip = 10.1.0.1\nlabels = role=db\n"
#define FAR(name, ip) "[endpoint shop/" name "]\nnode = n2\nip = " ip "\nlabels = role=" name "\n"
#define LET_IN(who)                                       \
	"[network-policy shop/db]\nendpoints = role=db\n" \
	"ingress = from " who "\n"

static struct policy *compile(const char *text)
{
	struct diag diag = {.to = stderr};
	struct policy *policy = NULL;
	struct cluster cluster;

	cluster_init(&cluster);
	assert_int_equal(input_parse_ini(&cluster, text, strlen(text), "test", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	assert_int_equal(compile_cluster(&cluster, NULL, &diag, &policy), 0);
	cluster_free(&cluster);
	return policy;
}

static void reduce(const struct policy *policy, const struct locality_node *node,
		   struct policy *reduced)
{
	struct locality locality;

	locality_init(&locality, policy);
	locality_decide(&locality, policy, node);
	policy_reduce(policy, &locality, reduced);
	locality_free(&locality);
}

static bool stays(const struct policy *reduced, const char *text)
{
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return policy_address_find(reduced, &address);
}

/* @wanted: for 10.1.0.1 and each next address, '+' where it stays on node n1, else '-'. */
static void expect(const char *text, const char *wanted)
{
	const struct locality_node node = {.name = "n1"};
	struct policy *policy = compile(text), reduced;
	char found[16] = "", address[16];

	reduce(policy, &node, &reduced);
	for (size_t i = 0; i < strlen(wanted); i++) {
		snprintf(address, sizeof(address), "10.1.0.%zu", i + 1);
		found[i] = stays(&reduced, address) ? '+' : '-';
	}
	assert_string_equal(found, wanted);
	policy_reduced_free(&reduced);
	policy_free(policy);
}

static void test_told_apart(void **state)
{
	(void)state;
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3")
		       LET_IN("endpoints(role=web) ports TCP/80"),
	       "++-");
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3"), "+--");
	/* Kept for the rule that names it, although another rule allows all. */
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3")
		       LET_IN("any") "ingress = from endpoints(role=web)\n",
	       "+--");
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3")
		       LET_IN("endpoints(role=web)") "ingress = from any\n",
	       "++-");
}

static void test_by_prefix(void **state)
{
	(void)state;
	/* A CIDR block keeps the addresses in it. */
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3") LET_IN("cidr(10.1.0.2/32)"),
	       "+--");
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3") LET_IN(
		       "cidr(10.1.0.2/32)") "ingress = from endpoints(role=web) ports UDP/53\n",
	       "+--");
	expect(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3")
		       LET_IN("cidr(10.1.0.2/32)") "[admin-network-policy a]\npriority = "
						   "1\nsubject = namespaces()\n"
						   "ingress = Deny from endpoints(role=web in "
						   "namespaces())\n",
	       "++-");
}

static void test_port_names(void **state)
{
	static const char out[] = "[network-policy shop/db]\nendpoints = role=db\ntypes = Egress\n"
				  "egress = to any ports web\n";
	char text[1024];

	(void)state;
	/* An endpoint with the port name must be distinguished from addresses without it. */
	snprintf(text, sizeof(text), "%s%s%s%s", HERE, FAR("web", "10.1.0.2") "port = web TCP/80\n",
		 FAR("job", "10.1.0.3"), out);
	expect(text, "++-");
}

static void test_elsewhere(void **state)
{
	(void)state;
	/* Policies of other nodes' endpoints do not matter. */
	expect(HERE FAR("web", "10.1.0.2")
		       FAR("job",
			   "10.1.0.3") "[network-policy shop/web]\nendpoints = role=web\n"
				       "ingress = from endpoints(role=db), endpoints(role=job)\n",
	       "+--");
}

static void test_bridged(void **state)
{
	(void)state;
	expect(HERE "mode = l2\n" FAR("web", "10.1.0.2"), "++");
	expect(HERE FAR("web", "10.1.0.2") "mode = l2\n", "+-");
}

static void test_special_addresses(void **state)
{
	struct address own[2];
	struct locality_node node = {.name = "n1", .addresses = own, .n_addresses = 2};
	struct policy *policy =
			      compile(HERE FAR("web", "10.1.0.2, fe80::2") FAR("job", "10.1.0.3")),
		      reduced;

	(void)state;
	address_parse("10.1.0.3", &own[0]);
	address_parse("192.168.7.1", &own[1]);
	reduce(policy, &node, &reduced);
	assert_false(stays(&reduced, "10.1.0.2"));
	assert_true(stays(&reduced, "fe80::2"));
	assert_true(stays(&reduced, "10.1.0.3"));
	policy_reduced_free(&reduced);
	policy_free(policy);
}

static uint32_t segment_of(const struct policy *policy, const char *name)
{
	const struct policy_endpoint *endpoint = policy_endpoint_by_name(policy, "shop", name);

	return policy->addresses[policy->endpoint_addresses[endpoint->addresses.at]].segment;
}

static bool has_segment(const struct policy *reduced, const struct policy *policy, uint32_t i)
{
	return policy_segment_by_id(reduced, policy->segments[i].id);
}

static void test_added(void **state)
{
	struct policy *policy = compile(HERE FAR("web", "10.1.0.2") FAR("job", "10.1.0.3") FAR(
			      "cron",
			      "10.1.0.4") "[network-policy shop/web]\nendpoints = role=web\n"
					  "ingress = from endpoints(role=job) ports TCP/80\n"
					  "[network-policy shop/cron]\nendpoints = role=cron\n"
					  "ingress = from endpoints(role=web) ports TCP/80\n"),
		      reduced;
	uint32_t web = segment_of(policy, "web"), cron = segment_of(policy, "cron");
	struct locality_node node = {.name = "n1"};

	(void)state;
	reduce(policy, &node, &reduced);
	assert_false(has_segment(&reduced, policy, web));
	assert_int_equal(reduced.n_pairs, 0);
	policy_reduced_free(&reduced);

	node = (struct locality_node){.name = "n1", .here = &web, .n_here = 1};
	reduce(policy, &node, &reduced);
	assert_true(stays(&reduced, "10.1.0.3"));
	assert_false(stays(&reduced, "10.1.0.4"));
	assert_true(has_segment(&reduced, policy, web));
	assert_int_equal(reduced.n_pairs, 1);
	policy_reduced_free(&reduced);

	node = (struct locality_node){.name = "n1", .elsewhere = &cron, .n_elsewhere = 1};
	reduce(policy, &node, &reduced);
	assert_false(stays(&reduced, "10.1.0.2"));
	assert_true(has_segment(&reduced, policy, cron));
	assert_int_equal(reduced.n_pairs, 0);
	policy_reduced_free(&reduced);
	policy_free(policy);
}

static void test_prefixes(void **state)
{
	struct policy *policy = compile(HERE FAR("web", "10.1.0.2") LET_IN(
			      "cidr(172.17.0.0/16 except 172.17.1.0/24) ports "
			      "TCP/1-9") "[network-policy shop/web]\nendpoints = "
					 "role=web\n"
					 "ingress = from cidr(172.17.2.0/24), "
					 "cidr(10.0.0.0/8) ports TCP/1-9, "
					 "UDP/1-9\n"),
		      reduced;
	const struct locality_node node = {.name = "n1"}, other = {.name = "n3"};
	const struct policy_segment *block;
	struct address address;

	(void)state;
	/* ::/0, the block and its exception. */
	reduce(policy, &node, &reduced);
	assert_int_equal(reduced.n_prefixes, 3);
	assert_int_equal(reduced.n_intervals, 3);
	address_parse("172.17.2.1", &address);
	block = policy_prefix_find(&reduced, &address);
	address_parse("172.17.3.1", &address);
	assert_ptr_equal(block, policy_prefix_find(&reduced, &address));
	address_parse("172.17.1.1", &address);
	assert_ptr_not_equal(block, policy_prefix_find(&reduced, &address));
	policy_reduced_free(&reduced);
	/* A node without endpoints. */
	reduce(policy, &other, &reduced);
	assert_int_equal(reduced.n_prefixes, 1);
	assert_int_equal(reduced.n_addresses + reduced.n_pairs + reduced.n_intervals, 0);
	assert_int_equal(reduced.n_segments, 1);
	policy_reduced_free(&reduced);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_apart), cmocka_unit_test(test_by_prefix),
		cmocka_unit_test(test_port_names), cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_bridged),	   cmocka_unit_test(test_special_addresses),
		cmocka_unit_test(test_added),	   cmocka_unit_test(test_prefixes),
	};

	return cmocka_run_group_tests_name("locality", tests, NULL, NULL);
}
