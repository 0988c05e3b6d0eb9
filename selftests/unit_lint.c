// SPDX-License-Identifier: GPL-2.0-only
/* lint()'s findings as values: each check has a policy with the finding and one without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "compile/compile.h"
#include "compile/lint.h"
#include "input/input.h"

/* The comments count the lines that findings are at. */
static const char world[] = "[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n"
			    "[endpoint shop/web]\nip = 10.0.0.2\nlabels = role=web\n"
			    "[network-policy shop/fine]\nendpoints = role=db\n"
			    "ingress = from endpoints(role=web) ports TCP/80\n"
			    "[network-policy shop/nobody]\nendpoints = role=none\n" /* 10 */
			    "[network-policy shop/peerless]\nendpoints = role=db\n" /* 12 */
			    "ingress = from endpoints(role=none) ports TCP/81\n"
			    "[network-policy shop/portless]\nendpoints = role=db\n" /* 15 */
			    "ingress = from endpoints(role=web) ports nothing\n"
			    "[network-policy shop/block]\nendpoints = role=db\n" /* 18 */
			    "ingress = from cidr(10.0.0.0/24) ports TCP/82\n";

struct found {
	struct lint_findings findings;
	struct cluster cluster;
	struct policy *policy;
};

static void look(const char *text, struct found *found)
{
	struct diag diag = {.to = stderr};

	*found = (struct found){0};
	cluster_init(&found->cluster);
	assert_int_equal(input_parse_ini(&found->cluster, text, strlen(text), "world.ini", &diag),
			 0);
	assert_int_equal(cluster_finish(&found->cluster, &diag), 0);
	assert_int_equal(compile_cluster(&found->cluster, NULL, &diag, &found->policy), 0);
	assert_int_equal(lint(&found->cluster, found->policy, &found->findings), 0);
}

static void found_free(struct found *found)
{
	lint_free(&found->findings);
	policy_free(found->policy);
	cluster_free(&found->cluster);
}

static const struct lint_finding *find(const struct found *found, const char *check,
				       const char *object)
{
	for (size_t i = 0; i < found->findings.n; i++)
		if (!strcmp(found->findings.at[i].check, check) &&
		    !strcmp(found->findings.at[i].object, object))
			return &found->findings.at[i];
	return NULL;
}

static void each_check(void **state)
{
	static const struct {
		const char *check, *object, *text;
		unsigned int line;
	} wanted[] = {
		{"no-subject", "shop/nobody", "selects no endpoint", 10},
		{"no-peer", "shop/peerless/ingress[0]", "peer 0 selects nothing", 14},
		{"no-port", "shop/portless/ingress[0]", "no endpoint names a port `nothing`", 17},
		{"block-covers-pods", "shop/block/ingress[0]",
		 "10.0.0.0/24 covers shop/db: endpoints in it, 2 in all, match whatever their "
		 "labels",
		 20},
	};
	struct found found;

	(void)state;
	look(world, &found);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct lint_finding *finding =
			find(&found, wanted[i].check, wanted[i].object);

		assert_non_null(finding);
		assert_string_equal(finding->text, wanted[i].text);
		assert_string_equal(finding->where.file, "world.ini");
		assert_int_equal(finding->where.line, wanted[i].line);
	}
	for (size_t i = 0; i < found.findings.n; i++)
		assert_null(strstr(found.findings.at[i].object, "fine"));
	found_free(&found);
}

static void nothing(void **state)
{
	struct found found;

	(void)state;
	look("[endpoint shop/db]\nip = 10.0.0.1\nlabels = role=db\n"
	     "[endpoint shop/web]\nip = 10.0.0.2\nlabels = role=web\n"
	     "[network-policy shop/fine]\nendpoints = role=db\n"
	     "ingress = from endpoints(role=web) ports TCP/80\n",
	     &found);
	assert_int_equal(found.findings.n, 0);
	found_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_check),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
