// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chain of policies and rules at one end: each outcome, in order. diff_policy checks the
 * decisions against the oracle; here the chain is compared with the compiled policy, and a mismatch
 * must be noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/explain.h"
#include "compile/selection.h"
#include "input/input.h"
#include "selftests/lib/sample.h"

static const char world[] =
	"[node n1]\nip = 192.168.7.1\n"
	"[namespace shop]\nisolation = DefaultDeny\n"
	"[endpoint shop/db]\nnode = n1\nip = 10.0.0.1\nlabels = role=db\nport = redis TCP/6379\n"
	"[endpoint shop/web]\nip = 10.0.0.2\nlabels = role=web\n"
	"[endpoint lab/x]\nip = 10.0.0.3\n"
	"[admin-network-policy late]\npriority = 20\nsubject = namespaces()\n"
	"ingress = Allow from namespaces() ports TCP/22\n"
	"[admin-network-policy early]\npriority = 10\n"
	"subject = namespaces(kubernetes.io/metadata.name=shop)\n"
	"ingress = nobody: Deny from namespaces(none)\n"
	"ingress = udp: Deny from namespaces() ports UDP\n"
	"ingress = own: Pass from self\n"
	"[network-policy shop/a]\nendpoints = role=web\ningress = from any\n"
	"[network-policy shop/b]\nendpoints = role=db\n"
	"ingress = from endpoints(role=web) ports redis\n"
	"[network-policy shop/c]\nendpoints = role=db\ntypes = Egress\n"
	"[network-policy shop/d]\nendpoints =\n"
	"ingress = from cidr(10.0.0.0/30 except 10.0.0.3/32) ports TCP/80, TCP/6379\n"
	"[baseline-admin-network-policy default]\nsubject = namespaces()\n"
	"egress = Deny to namespaces(kubernetes.io/metadata.name=lab)\n"
	"[endpoint dual/one]\nip = 10.0.1.1, fd00::1\nlabels = role=one\n"
	"port = first TCP/1000\nport = second TCP/2000\n"
	"[endpoint dual/two]\nip = 10.0.1.2, fd00::2\nlabels = role=two\n"
	"[network-policy dual/e]\nendpoints = role=two\ntypes = Egress\n"
	"egress = to endpoints(role=one) ports first\n"
	"egress = to cidr(fd00::/64) ports second\n";

struct row {
	const char *source, *destination;
	uint8_t protocol;
	uint16_t port;
	enum direction direction;
	const char *chain;
};

#define EARLY_PASSES                                                                        \
	"early selects\nearly 0 peer does not match\nearly 1 port does not match\nearly 2 " \
	"passes\n"
#define EARLY_NOT                                                                   \
	"early selects\nearly 0 peer does not match\nearly 1 port does not match\n" \
	"early 2 peer does not match\n"

#define DUAL "early does not select\nlate selects, but not in this direction\ne isolates\n"

static const struct row rows[] = {
	/* A Pass skips `late`; of two policies that allow, both are listed. */
	{"10.0.0.2", "10.0.0.1", IPPROTO_TCP, 6379, INGRESS,
	 EARLY_PASSES "the namespace isolates\na does not select\nb isolates\nb 0 allows\n"
		      "c selects, but not in this direction\nd isolates\nd 0 allows\n"},
	{"10.0.0.2", "10.0.0.1", IPPROTO_TCP, 81, INGRESS,
	 EARLY_PASSES "the namespace isolates\na does not select\nb isolates\n"
		      "b 0 port does not match\nc selects, but not in this direction\nd isolates\n"
		      "d 0 port does not match\nisolated, and no rule allows\n"},
	{"10.0.0.3", "10.0.0.1", IPPROTO_UDP, 6379, INGRESS,
	 "early selects\nearly 0 peer does not match\nearly 1 denies\n"},
	{"10.0.0.3", "10.0.0.1", IPPROTO_TCP, 22, INGRESS,
	 EARLY_NOT "late selects\nlate 0 allows\n"},
	{"10.0.0.3", "10.0.0.1", IPPROTO_TCP, 80, INGRESS,
	 EARLY_NOT "late selects\nlate 0 port does not match\nthe namespace isolates\n"
		   "a does not select\nb isolates\nb 0 peer does not match\n"
		   "c selects, but not in this direction\nd isolates\nd 0 peer does not match\n"
		   "isolated, and no rule allows\n"},
	{"192.168.7.1", "10.0.0.1", IPPROTO_TCP, 80, INGRESS, "its own node: allowed\n"},
	{"10.0.0.1", "192.168.7.1", IPPROTO_TCP, 80, EGRESS,
	 "early selects, but not in this direction\nlate selects, but not in this direction\n"
	 "a does not select\nb selects, but not in this direction\nc isolates\n"
	 "d selects, but not in this direction\nisolated, and no rule allows\n"
	 "its own node: allowed\n"},
	{"10.0.0.2", "10.0.0.3", IPPROTO_TCP, 80, EGRESS,
	 "early selects, but not in this direction\nlate selects, but not in this direction\n"
	 "a selects, but not in this direction\nb does not select\nc does not select\n"
	 "d selects, but not in this direction\nnot isolated\ndefault selects\n"
	 "default 0 denies\n"},
	{"10.0.0.3", "10.0.0.2", IPPROTO_TCP, 80, EGRESS,
	 "early does not select\nlate selects, but not in this direction\nnot isolated\n"
	 "default selects\ndefault 0 peer does not match\nnothing decides: allowed\n"},
	{"10.0.0.2", "10.0.0.2", IPPROTO_TCP, 80, INGRESS, "an endpoint to itself: allowed\n"},
	{"10.0.0.2", "192.0.2.1", IPPROTO_TCP, 80, INGRESS, ""},
	/* The CIDR, and so the name of its port, concerns only one of the addresses. */
	{"10.0.1.2", "10.0.1.1", IPPROTO_TCP, 1000, EGRESS,
	 DUAL "e 0 allows\ne 1 peer does not match\n"},
	{"fd00::2", "fd00::1", IPPROTO_TCP, 1000, EGRESS,
	 DUAL "e 0 allows\ne 1 port does not match\n"},
	{"fd00::2", "fd00::1", IPPROTO_TCP, 2000, EGRESS,
	 DUAL "e 0 port does not match\ne 1 allows\n"},
};

static void read_world(struct cluster *cluster)
{
	struct diag diag = {.to = stderr};

	cluster_init(cluster);
	assert_int_equal(input_parse_ini(cluster, world, sizeof(world) - 1, "world", &diag), 0);
	assert_int_equal(cluster_finish(cluster, &diag), 0);
}

/* A line a step: the policy, the rule's index and the outcome. */
static char *print_steps(const struct explanation *explanation)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < explanation->n_steps; i++) {
		const struct explain_step *step = &explanation->steps[i];

		if (step->policy)
			fprintf(to, "%s ", step->policy->name);
		if (step->rule)
			fprintf(to, "%u ", step->rule->index);
		fprintf(to, "%s\n", explain_outcome_text(step->outcome));
	}
	fclose(to);
	return text;
}

static struct flow flow_of(const struct row *row)
{
	return (struct flow){sample_address(row->source), sample_address(row->destination),
			     row->protocol, row->port, NULL};
}

static void chains(void **state)
{
	struct cluster cluster;

	(void)state;
	read_world(&cluster);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow flow = flow_of(&rows[i]);
		struct explanation said;
		char *text;

		explain_flow(&cluster, &flow, rows[i].direction, &said);
		text = print_steps(&said);
		if (strcmp(text, rows[i].chain))
			fail_msg("%s -> %s, port %u:\n%s", rows[i].source, rows[i].destination,
				 rows[i].port, text);
		free(text);
		explanation_free(&said);
	}
	cluster_free(&cluster);
}

/* The same chains where only the compiled policy is known. */
static void chains_by_policy(void **state)
{
	struct diag diag = {.to = stderr};
	struct selection *selection;
	struct cluster cluster;
	struct policy *policy;

	(void)state;
	read_world(&cluster);
	assert_int_equal(compile_cluster(&cluster, NULL, &diag, &policy), 0);
	cluster_free(&cluster);
	assert_int_equal(selection_open(policy, &selection), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow flow = flow_of(&rows[i]);
		struct explanation said;
		char *text;

		explain_selection(selection, &flow, rows[i].direction, &said);
		text = print_steps(&said);
		if (strcmp(text, rows[i].chain))
			fail_msg("%s -> %s, port %u:\n%s", rows[i].source, rows[i].destination,
				 rows[i].port, text);
		free(text);
		explanation_free(&said);
	}
	selection_close(selection);
	policy_free(policy);
}

/* Another decision, or the same one by another rule, is a mismatch. */
static void disagree_all(const struct explanation *said, const struct policy *policy,
			 struct decision decision)
{
	struct decision other = decision;

	other.subject = !other.subject;
	assert_false(explain_agrees(said, policy, &other));
	if (!decision.subject)
		return;
	other = decision;
	other.allow = !other.allow;
	assert_false(explain_agrees(said, policy, &other));
	other = decision;
	other.tier = (other.tier + 1) % (TIER_DEFAULT + 1);
	assert_false(explain_agrees(said, policy, &other));
	for (size_t i = 0; i <= policy->n_rules; i++) {
		other = decision;
		other.rule = i < policy->n_rules ? &policy->rules[i] : NULL;
		assert_int_equal(explain_agrees(said, policy, &other), other.rule == decision.rule);
	}
}

static void agreement(void **state)
{
	struct diag diag = {.to = stderr};
	struct evaluate_source source;
	struct cluster cluster;
	struct policy *policy;

	(void)state;
	read_world(&cluster);
	assert_int_equal(compile_cluster(&cluster, NULL, &diag, &policy), 0);
	source = evaluate_policy(policy);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow flow = flow_of(&rows[i]);
		struct decision decisions[2];
		struct explanation said;

		evaluate_flow(&source, policy, &flow, &decisions[EGRESS], &decisions[INGRESS]);
		explain_flow(&cluster, &flow, rows[i].direction, &said);
		assert_true(explain_agrees(&said, policy, &decisions[rows[i].direction]));
		disagree_all(&said, policy, decisions[rows[i].direction]);
		explanation_free(&said);
	}
	policy_free(policy);
	cluster_free(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains),
		cmocka_unit_test(chains_by_policy),
		cmocka_unit_test(agreement),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
