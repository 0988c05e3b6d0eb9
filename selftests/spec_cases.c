// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generated cases of NetworkPolicy (lib/cases.h): in each state of each case, the compiled policy
 * and the oracle say the same of every flow between two Pods, and between a Pod and the outside, by
 * TCP, UDP and SCTP over IPv4 and IPv6. Each case's policy is compiled with the last state's for
 * its base, as an engine does.
 *
 *   spec_cases             compares
 *   spec_cases DIR [N OF]  writes the cases, or every OF-th from the Nth, into DIR, for
 * net_cases.sh: DIR/list has a line "FILE PODS NAME: STEP" for each state, DIR/FILE.yaml its
 * objects, and DIR/FILE.flows its flows: "FROM TO 4|6 TCP/80 allow|deny"
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "policy/evaluate.h"
#include "input/input.h"
#include "selftests/lib/cases.h"
#include "selftests/lib/oracle.h"

#define CASES_LEAST 217 /* as many as a public suite had that inspired these */
#define OUT (CASES_PODS + 1)

static const struct {
	const char *name;
	uint8_t number;
} protocols[] = {{"TCP", IPPROTO_TCP}, {"UDP", IPPROTO_UDP}, {"SCTP", IPPROTO_SCTP}};

/* The text of an end's address. */
static void end_address(unsigned int end, bool ipv6, char out[ADDRESS_TEXT])
{
	if (end == OUT)
		strcpy(out, ipv6 ? "fd07::2" : "192.168.7.2");
	else
		snprintf(out, ADDRESS_TEXT, ipv6 ? "fd44::%u" : "10.244.0.%u", end);
}

static void end_name(unsigned int end, char name[8])
{
	if (end == OUT)
		strcpy(name, "out");
	else
		cases_pod_name(end, name);
}

static int read_cluster(const struct case_step *step, struct cluster *cluster)
{
	struct diag diag = {.to = stdout};
	char path[] = "/tmp/bulkhead-case-XXXXXX";
	int fd = mkstemp(path), error = fd < 0 ? -errno : 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	cluster_init(cluster);
	if (error || !file)
		return error ? error : -ENOMEM;
	fputs(step->yaml, file);
	fclose(file);
	error = input_read(cluster, path, &diag);
	remove(path);
	return error ? error : cluster_finish(cluster, &diag);
}

/* What is done with each flow of a state. */
struct walk {
	const struct cluster *cluster;
	const struct policy *policy; /* NULL: flows are written to @to */
	FILE *to;
	unsigned int flows, wrong, denied;
};

static void print_flow(FILE *to, const struct flow *flow, bool allow, unsigned int from,
		       unsigned int end, const char *protocol)
{
	char names[2][8];

	end_name(from, names[0]);
	end_name(end, names[1]);
	fprintf(to, "%s %s %d %s/%u %s\n", names[0], names[1],
		address_is_ipv4(&flow->source) ? 4 : 6, protocol, flow->port,
		allow ? "allow" : "deny");
}

static void visit(struct walk *walk, unsigned int from, unsigned int end, unsigned int which)
{
	const unsigned int p = which % 3;
	char text[2][ADDRESS_TEXT];
	struct flow flow = {.protocol = protocols[p].number, .port = 80 + which / 3 % 2};
	struct oracle_decision decisions[2];
	struct oracle_flow question;
	bool allow;

	end_address(from, which / 6, text[0]);
	end_address(end, which / 6, text[1]);
	address_parse(text[0], &flow.source);
	address_parse(text[1], &flow.destination);
	question =
		(struct oracle_flow){flow.source, flow.destination, flow.protocol, flow.port, NULL};
	allow = oracle_evaluate(walk->cluster, &question, &decisions[0], &decisions[1]);
	walk->flows++;
	walk->denied += !allow;
	if (walk->policy) {
		struct evaluate_source source = evaluate_policy(walk->policy);
		struct decision egress, ingress;

		if (evaluate_flow(&source, walk->policy, &flow, &egress, &ingress) != allow &&
		    !walk->wrong++) {
			printf("# the oracle says: ");
			print_flow(stdout, &flow, allow, from, end, protocols[p].name);
		}
	} else {
		print_flow(walk->to, &flow, allow, from, end, protocols[p].name);
	}
}

static void walk_flows(struct walk *walk, unsigned int pods)
{
	for (unsigned int from = 1; from <= OUT; from++)
		for (unsigned int end = 1; end <= OUT; end++) {
			const bool there = (from == OUT || pods & 1u << (from - 1)) &&
					   (end == OUT || pods & 1u << (end - 1));

			for (unsigned int which = 0; from != end && there && which < 12; which++)
				visit(walk, from, end, which);
		}
}

/* Returns true if policy and oracle agree. *base: the last state's policy, which this state's
 * replaces. */
static bool compare(const struct case_step *step, struct policy **base, unsigned int *denied)
{
	struct diag diag = {.to = stdout};
	struct cluster cluster;
	struct policy *policy = NULL;
	struct walk walk = {.cluster = &cluster};
	bool agree = false;

	if (!read_cluster(step, &cluster) && !compile_cluster(&cluster, *base, &diag, &policy)) {
		walk.policy = policy;
		walk_flows(&walk, step->pods);
		agree = !walk.wrong && walk.flows > 500;
	}
	*denied += walk.denied;
	policy_free(*base);
	*base = policy;
	cluster_free(&cluster);
	return agree;
}

static int compare_all(const struct test_case *cases, size_t n)
{
	int failed = 0;
	unsigned int closed = 0;

	for (size_t i = 0; i < n; i++) {
		struct policy *base = NULL;
		unsigned int denied = 0;
		bool agree = cases[i].n_steps;

		for (size_t j = 0; j < cases[i].n_steps; j++)
			if (!compare(&cases[i].steps[j], &base, &denied)) {
				printf("# at: %s\n", cases[i].steps[j].name);
				agree = false;
			}
		policy_free(base);
		closed += denied > 0;
		failed += !agree;
		printf("%sok %zu - %s\n", agree ? "" : "not ", i + 1, cases[i].name);
	}
	printf("%sok %zu - there are %zu cases, and most deny something\n",
	       n >= CASES_LEAST && closed > n / 2 ? "" : "not ", n + 1, n);
	return failed || n < CASES_LEAST || closed <= n / 2;
}

static FILE *create(const char *dir, const char *name, const char *suffix)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(2);
	}
	return file;
}

static void write_step(const struct case_step *step, const char *dir, const char *name)
{
	struct cluster cluster;
	struct walk walk = {.cluster = &cluster, .to = create(dir, name, ".flows")};
	FILE *yaml = create(dir, name, ".yaml");

	if (read_cluster(step, &cluster))
		exit(2);
	fputs(step->yaml, yaml);
	fclose(yaml);
	walk_flows(&walk, step->pods);
	fclose(walk.to);
	cluster_free(&cluster);
}

static int write_all(const struct test_case *cases, size_t n, char **argv, int argc)
{
	const size_t of = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	const size_t first = argc > 3 ? strtoul(argv[2], NULL, 10) % of : 0;
	FILE *list = create(argv[1], "list", "");
	char name[48];

	for (size_t i = first; i < n; i += of)
		for (size_t j = 0; j < cases[i].n_steps; j++) {
			snprintf(name, sizeof(name), "%zu-%zu", i, j);
			write_step(&cases[i].steps[j], argv[1], name);
			fprintf(list, "%s %u %s: %s\n", name, cases[i].steps[j].pods, cases[i].name,
				cases[i].steps[j].name);
		}
	fclose(list);
	return 0;
}

int main(int argc, char **argv)
{
	size_t n;
	struct test_case *cases = cases_make(&n);
	int status = argc > 1 ? write_all(cases, n, argv, argc) : compare_all(cases, n);

	cases_free(cases, n);
	return status;
}
