// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiler against the oracle: random clusters are printed, read, compiled and evaluated flow
 * by flow. Each verdict, with the tier and the rule that decided at either end, must be the
 * oracle's.
 *
 * generate_seeds() says which clusters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/explain.h"
#include "policy/evaluate.h"
#include "policy/lazy_policy.h"
#include "policy/place.h"
#include "compile/selection.h"
#include "policy/service_grid.h"
#include "policy/verdicts.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 2500
#define CLUSTERS_SAMPLE 800
#define FLOWS 450 /* per cluster */
#define WALKS 150 /* per cluster */
#define FAILURES_MAX 3

enum check { VERDICTS, SUCCESSOR, READ_BACK, ORDER, SAME, PLACE, EXPLAIN, SELECT, GRID, N_CHECKS };

static const char *const check_names[] = {
	[VERDICTS] = "verdict, tier and rule of every flow are the oracle's",
	[SUCCESSOR] = "a successor of another policy gives the same verdicts",
	[READ_BACK] = "a blob that is written and read gives the same verdicts",
	[ORDER] = "the same objects in another order and spelling give the same bytes",
	[SAME] = "an unchanged cluster gives its base again",
	[PLACE] = "placed by the matchers alone, each endpoint is where the compiler put it",
	[EXPLAIN] = "walked rule by rule, each flow comes to the oracle's decisions",
	[SELECT] = "walked by the compiled policy alone, it takes the same steps",
	[GRID] = "the cell of each two kinds of ends says what a flow between two of their members "
		 "does",
};

/* A line as `trace --batch` prints it; a Service's backends without its name. */
struct answer {
	char text[16384];
};

static void __attribute__((format(printf, 2, 3)))
append(struct answer *answer, const char *format, ...)
{
	size_t length = strlen(answer->text);
	va_list list;

	va_start(list, format);
	vsnprintf(answer->text + length, sizeof(answer->text) - length, format, list);
	va_end(list);
}

static const char *outcome(size_t allowed, size_t n)
{
	return !allowed ? "deny" : allowed == n ? "allow" : "depends";
}

static void ask_oracle(const struct cluster *cluster, const struct oracle_flow *flow,
		       struct answer *answer)
{
	struct oracle_service service;
	char line[VERDICT_LINE], address[ADDRESS_TEXT];
	struct answer backends;
	size_t allowed = 0;

	answer->text[0] = backends.text[0] = '\0';
	if (!oracle_service(cluster, flow, &service)) {
		verdict_line_oracle(cluster, flow, line);
		append(answer, "%s", line);
		return;
	}
	for (size_t i = 0; i < service.n; i++) {
		allowed += verdict_line_oracle(cluster, &service.backends[i], line);
		append(&backends, "\n#     %s %u %s",
		       address_print(&service.backends[i].destination, address),
		       service.backends[i].port, line);
	}
	append(answer, "service %s%s", outcome(allowed, service.n), backends.text);
}

static int by_backend(const void *a, const void *b)
{
	const struct service_backend *x = a, *y = b;
	int order = memcmp(&x->flow.destination, &y->flow.destination, sizeof(struct address));

	return order ? order : (int)x->flow.port - y->flow.port;
}

/* If two Services share an external address, a backend of both is printed once. */
static void service_line(const struct policy *policy, struct service_verdict *verdict,
			 struct answer *answer)
{
	const struct service_backend *last = NULL;
	char line[VERDICT_LINE], address[ADDRESS_TEXT];

	if (verdict->n_backends)
		qsort(verdict->backends, verdict->n_backends, sizeof(*verdict->backends),
		      by_backend);
	append(answer, "service %s", service_outcome_text(verdict->outcome));
	for (size_t i = 0; i < verdict->n_backends; i++) {
		const struct service_backend *one = &verdict->backends[i];

		if (!one->chosen || (last && by_backend(last, one) == 0))
			continue;
		last = one;
		append(answer, "\n#     %s %u %s", address_print(&one->flow.destination, address),
		       one->flow.port,
		       verdict_line_print(policy, one->allow, &one->egress, &one->ingress, line));
	}
}

static void ask_policy(const struct policy *policy, const struct oracle_flow *flow,
		       struct answer *answer)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow question = verdict_line_flow(flow);
	struct service_verdict verdict;
	char line[VERDICT_LINE];

	answer->text[0] = '\0';
	evaluate_service(&source, policy, &question, &verdict);
	if (verdict.answer != SERVICE_NONE) {
		service_line(policy, &verdict, answer);
	} else {
		verdict_line_policy(policy, flow, line);
		append(answer, "%s", line);
	}
	service_verdict_free(&verdict);
}

/* The explainer says nothing of what audited policies would deny: for that, @decision keeps the
 * oracle's answer. */
static void walk_side(const struct cluster *cluster, const struct oracle_flow *flow,
		      enum direction direction, struct oracle_decision *decision)
{
	struct flow question = verdict_line_flow(flow);
	struct explanation said;

	if (!decision->by_name)
		question.name = NULL;
	explain_flow(cluster, &question, direction, &said);
	explanation_free(&said);
	decision->subject = said.subject;
	decision->allow = said.allow;
	decision->tier = said.tier;
	decision->direction = direction;
	decision->policy = said.policy;
	decision->rule = said.rule;
}

/*
 * @cluster has been read and finished, as the explainer needs. The explainer explains flows to a
 * backend, not to a Service's address: for those, this takes the oracle's answer.
 */
static void ask_explainer(const struct cluster *cluster, const struct oracle_flow *flow,
			  struct answer *answer)
{
	struct oracle_decision egress, ingress;
	char egress_text[ORACLE_TEXT], ingress_text[ORACLE_TEXT];
	struct oracle_service service;

	if (oracle_service(cluster, flow, &service)) {
		ask_oracle(cluster, flow, answer);
		return;
	}
	oracle_evaluate(cluster, flow, &egress, &ingress);
	walk_side(cluster, flow, EGRESS, &egress);
	walk_side(cluster, flow, INGRESS, &ingress);
	snprintf(answer->text, sizeof(answer->text), "%s | %s | %s",
		 egress.allow && ingress.allow ? "allow" : "deny",
		 oracle_print(&egress, egress_text), oracle_print(&ingress, ingress_text));
}

static bool same_answer(const struct answer *a, const struct answer *b)
{
	return strcmp(a->text, b->text) == 0;
}

static bool flow_agrees(const struct cluster *cluster, const struct policy *policy,
			const struct oracle_flow *flow)
{
	struct answer wanted, found;

	ask_oracle(cluster, flow, &wanted);
	ask_policy(policy, flow, &found);
	return same_answer(&wanted, &found);
}

/* The inputs of a check, to repeat it on a shrunk cluster. */
struct failure {
	enum check check;
	uint64_t style;
	const struct policy *base; /* of SUCCESSOR only */
	struct oracle_flow flow;
};

/* Writes and reads the policy's blob; NULL if the blob is refused. */
static struct policy *read_back(struct policy *policy)
{
	struct policy *again = NULL;
	struct diag diag = {.to = stdout};
	void *bytes;
	size_t size;

	if (blob_write(policy, &bytes, &size))
		return NULL;
	if (blob_read(bytes, size, NULL, &diag, &again))
		free(bytes);
	return again;
}

/* The policy that a check evaluates; NULL: the cluster was refused. */
static struct policy *policy_of(const struct cluster *cluster, const struct failure *failure)
{
	struct policy *policy = NULL, *again;

	if (generate_policy(cluster, failure->style, failure->base, NULL, &policy))
		return NULL;
	if (failure->check != READ_BACK)
		return policy;
	again = read_back(policy);
	policy_free(policy);
	return again;
}

/* Repeats the check's flow on a shrunk cluster; false if the cluster is refused. */
static bool ask_again(const struct cluster *cluster, const struct failure *failure,
		      struct answer *found)
{
	struct policy *policy;

	if (failure->check == EXPLAIN) {
		struct diag diag = {.to = NULL};
		struct cluster read;
		bool good;

		cluster_init(&read);
		good = generate_read(cluster, failure->style, &diag, &read) == 0;
		if (good)
			ask_explainer(&read, &failure->flow, found);
		cluster_free(&read);
		return good;
	}
	policy = policy_of(cluster, failure);
	if (!policy)
		return false;
	ask_policy(policy, &failure->flow, found);
	policy_free(policy);
	return true;
}

static bool flow_fails(struct cluster *cluster, void *data)
{
	const struct failure *failure = data;
	struct answer wanted, found;

	ask_oracle(cluster, &failure->flow, &wanted);
	return ask_again(cluster, failure, &found) && !same_answer(&wanted, &found);
}

static bool is_refused(struct cluster *cluster, void *data)
{
	const struct failure *failure = data;
	struct policy *policy;

	if (generate_policy(cluster, failure->style, failure->base, NULL, &policy))
		return true;
	policy_free(policy);
	return false;
}

static void print_answer(const char *who, const struct answer *answer)
{
	printf("#   %-8s %s\n", who, answer->text);
}

static void report_flow(struct cluster *cluster, uint64_t seed, struct failure *failure)
{
	const struct oracle_flow *flow = &failure->flow;
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT];
	struct answer wanted, found;

	printf("# SEED=%" PRIu64 ": %s: no. The least that differs:\n", seed,
	       check_names[failure->check]);
	generate_shrink(cluster, flow_fails, failure);
	generate_comment(cluster, failure->style);
	printf("# flow %s %s protocol %u port %u name %s\n", address_print(&flow->source, source),
	       address_print(&flow->destination, destination), flow->protocol, flow->port,
	       flow->name ? flow->name : "-");
	ask_oracle(cluster, flow, &wanted);
	print_answer("oracle", &wanted);
	if (ask_again(cluster, failure, &found))
		print_answer(failure->check == EXPLAIN ? "walk" : "policy", &found);
}

static void report_refusal(struct cluster *cluster, uint64_t seed, struct failure *failure)
{
	struct policy *policy;

	printf("# SEED=%" PRIu64 ": refused. The least that is:\n", seed);
	generate_shrink(cluster, is_refused, failure);
	generate_comment(cluster, failure->style);
	if (generate_policy(cluster, failure->style, failure->base, stdout, &policy) == 0)
		policy_free(policy);
}

struct run {
	uint64_t seed;
	uint64_t flows, failures[N_CHECKS];
};

/* Compares each flow's verdict by @policy, compiled from the cluster, with the oracle's. */
static bool compare_flows(struct run *run, struct cluster *cluster, const struct policy *policy,
			  struct failure *failure)
{
	struct random random = {run->seed ^ 0x666c6f77};
	struct flow_space space;
	bool agree = true;

	flow_space_init(&space, cluster);
	for (int i = 0; i < FLOWS && agree; i++) {
		generate_flow(&space, &random, &failure->flow);
		agree = flow_agrees(cluster, policy, &failure->flow);
		run->flows += failure->check == VERDICTS;
	}
	flow_space_free(&space);
	if (!agree) {
		run->failures[failure->check]++;
		report_flow(cluster, run->seed, failure);
	}
	return agree;
}

static bool write_policy(struct policy *policy, void **bytes, size_t *size)
{
	*bytes = NULL;
	return blob_write(policy, bytes, size) == 0;
}

static void check_order(struct run *run, struct cluster *cluster, struct policy *policy)
{
	struct policy *other;
	void *bytes = NULL, *others = NULL;
	size_t size, others_size;

	if (generate_policy(cluster, run->seed + 1, NULL, NULL, &other)) {
		struct failure failure = {.style = run->seed + 1};

		run->failures[ORDER]++;
		report_refusal(cluster, run->seed, &failure);
		return;
	}
	if (!write_policy(policy, &bytes, &size) || !write_policy(other, &others, &others_size) ||
	    size != others_size || memcmp(bytes, others, size) != 0) {
		printf("# SEED=%" PRIu64 ": other bytes in another order\n", run->seed);
		run->failures[ORDER]++;
	}
	free(bytes);
	free(others);
	policy_free(other);
}

/* Compiling an unchanged cluster again gives the same generation and checksum. */
static void check_same(struct run *run, const struct cluster *cluster, struct policy *policy)
{
	struct policy *again;
	void *bytes, *others = NULL;
	size_t size, others_size = 0;

	if (!write_policy(policy, &bytes, &size) ||
	    generate_policy(cluster, run->seed + 2, policy, NULL, &again)) {
		run->failures[SAME]++;
		free(bytes);
		return;
	}
	if (!write_policy(again, &others, &others_size) || size != others_size ||
	    memcmp(bytes, others, size) != 0) {
		printf("# SEED=%" PRIu64 ": an unchanged cluster changes its base\n", run->seed);
		run->failures[SAME]++;
	}
	free(bytes);
	free(others);
	policy_free(again);
}

static struct policy *compile_seed(uint64_t seed, const struct policy *base)
{
	struct policy *policy = NULL;
	struct cluster cluster;

	cluster_init(&cluster);
	generate_cluster(&cluster, seed);
	if (generate_policy(&cluster, seed, base, NULL, &policy))
		policy = NULL;
	cluster_free(&cluster);
	return policy;
}

/*
 * Compiles the cluster as the successor of two other clusters' policies, with IDs that those
 * deleted and kept.
 */
static void check_successor(struct run *run, struct cluster *cluster)
{
	struct policy *first = compile_seed(run->seed + 1, NULL);
	struct policy *second = compile_seed(run->seed + 2, first), *policy;
	struct failure failure = {.check = SUCCESSOR, .style = run->seed, .base = second};

	policy = policy_of(cluster, &failure);
	if (policy) {
		if (compare_flows(run, cluster, policy, &failure))
			check_same(run, cluster, policy);
		policy_free(policy);
	} else {
		run->failures[SUCCESSOR]++;
		report_refusal(cluster, run->seed, &failure);
	}
	policy_free(first);
	policy_free(second);
}

static void check_read_back(struct run *run, struct cluster *cluster, struct policy *policy)
{
	struct failure failure = {.check = READ_BACK, .style = run->seed};
	struct policy *again = read_back(policy);

	if (!again) {
		printf("# SEED=%" PRIu64 ": its own blob is refused\n", run->seed);
		run->failures[READ_BACK]++;
		return;
	}
	compare_flows(run, cluster, again, &failure);
	policy_free(again);
}

/* A policy read lazily: bytes that were not requested are 0. */
struct view {
	struct policy_source source;
	unsigned char *all, *read;
	size_t size;
	struct lazy_policy *policy;
};

static void view_need(struct policy_source *source, const void *at, size_t size)
{
	struct view *view = (struct view *)source;
	size_t from = (const unsigned char *)at - view->read;

	if (from > view->size || size > view->size - from)
		source->error = -EFAULT;
	else
		memcpy(view->read + from, view->all + from, size);
}

static bool view_open(struct view *view, const struct policy *policy)
{
	struct policy copy = *policy;
	struct diag diag = {.to = stdout};
	void *bytes;

	*view = (struct view){.source.need = view_need};
	if (blob_write(&copy, &bytes, &view->size))
		return false;
	view->all = bytes;
	view->read = calloc(1, view->size);
	return view->read &&
	       !blob_view(view->read, view->size, &view->source, NULL, &diag, &view->policy);
}

static void view_close(struct view *view)
{
	free(view->all);
	if (view->policy)
		lazy_policy_free(view->policy);
	else
		free(view->read);
}

static bool is_placed(const struct policy *policy, const struct endpoint *endpoint,
		      const struct address *address)
{
	const struct policy_address *put = policy_address_find(policy, address);
	struct placement placement;

	return put && !policy_place(policy_lazy(policy), endpoint, address, &placement) &&
	       placement.segment == put->segment && placement.variation == put->variation;
}

/* The placement is the same, and is found, if only the requested parts of the policy are read. */
static bool is_placed_by_part(const struct policy *policy, const struct endpoint *endpoint,
			      const struct address *address)
{
	const struct policy_address *put = policy_address_find(policy, address), *found;
	const struct policy_endpoint *named;
	struct placement placement = {};
	struct view view = {};
	bool same = false;

	if (put && view_open(&view, policy)) {
		same = !policy_place(view.policy, endpoint, address, &placement) &&
		       placement.segment == put->segment && placement.variation == put->variation;
		named = lazy_endpoint_by_name(view.policy, endpoint->ns_name, endpoint->name);
		found = lazy_address_find(view.policy, address);
		same &= named && named - view.policy->endpoints == put->endpoint && found &&
			found - view.policy->addresses == put - policy->addresses &&
			!view.source.error;
	}
	view_close(&view);
	return same;
}

static void check_places(struct run *run, const struct cluster *cluster,
			 const struct policy *policy)
{
	const size_t n = cluster->n_endpoints;
	size_t wrong = 0;

	for (size_t i = 0; i < n && !wrong; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		for (size_t j = 0; j < endpoint->n_addresses; j++)
			wrong += !is_placed(policy, endpoint, &endpoint->addresses[j]) ||
				 (i == run->seed % n &&
				  !is_placed_by_part(policy, endpoint, &endpoint->addresses[j]));
	}
	if (wrong) {
		printf("# SEED=%" PRIu64 ": an endpoint is placed elsewhere\n", run->seed);
		run->failures[PLACE]++;
	}
}

static bool same_steps(const struct explanation *a, const struct explanation *b)
{
	if (a->n_steps != b->n_steps || a->allow != b->allow || a->tier != b->tier)
		return false;
	for (size_t i = 0; i < a->n_steps; i++) {
		const struct explain_step *x = &a->steps[i], *y = &b->steps[i];

		if (x->tier != y->tier || x->outcome != y->outcome || !x->policy != !y->policy ||
		    !x->rule != !y->rule ||
		    (x->policy && strcmp(x->policy->name, y->policy->name)) ||
		    (x->rule && x->rule->index != y->rule->index))
			return false;
	}
	return true;
}

/* Explains flows by the objects and by the compiled policy. */
static void check_selection(struct run *run, const struct cluster *authored,
			    const struct cluster *cluster, const struct policy *policy)
{
	struct random random = {run->seed ^ 0x73656c};
	struct selection *selection = NULL;
	struct flow_space space;
	bool same = !selection_open(policy, &selection);

	flow_space_init(&space, authored);
	for (int i = 0; i < WALKS && same; i++) {
		struct explanation by_objects, by_policy;
		struct oracle_flow flow;
		struct flow question;

		generate_flow(&space, &random, &flow);
		question = verdict_line_flow(&flow);
		for (enum direction d = INGRESS; d <= EGRESS; d++) {
			explain_flow(cluster, &question, d, &by_objects);
			explain_selection(selection, &question, d, &by_policy);
			same &= same_steps(&by_objects, &by_policy);
			explanation_free(&by_objects);
			explanation_free(&by_policy);
		}
	}
	flow_space_free(&space);
	selection_close(selection);
	if (!same) {
		printf("# SEED=%" PRIu64 ": other steps by the compiled policy\n", run->seed);
		run->failures[SELECT]++;
	}
}

/* Returns what class_grid_each() should say of two kinds, by members that are taken at random. */
static enum grid_cell cell_of(const struct policy *policy, struct random *random,
			      const struct flow_class *from, const struct flow_class *to,
			      struct flow flow)
{
	const struct flow_class_member *a = &from->members[random_below(random, from->n)];
	const struct flow_class_member *b = &to->members[random_below(random, to->n)];
	struct evaluate_source source = evaluate_policy(policy);
	struct decision egress, ingress;

	if (!flow_classes_connect(from, to))
		return GRID_NONE;
	if (from == to || a->is_node || b->is_node || b->end.domain ||
	    !flow_between(&a->end, &b->end, &flow))
		return GRID_ASK;
	if (!evaluate_flow(&source, policy, &flow, &egress, &ingress))
		return GRID_DENY;
	return egress.audit || ingress.audit ? GRID_AUDIT : GRID_ALLOW;
}

/* Returns true if the policy of an end in a kind allows the other kind some port. */
static bool allows_some(const struct policy *policy, const struct flow_class *subject,
			const struct flow_class *peer, enum direction direction)
{
	const struct flow_class_index *a = subject->members->place, *b = peer->members->place;
	struct verdicts verdicts;

	if (a->segment == FLOW_CLASS_NOWHERE || b->segment == FLOW_CLASS_NOWHERE)
		return false;
	verdicts = verdicts_of(policy, &policy->segments[a->segment], &policy->segments[b->segment],
			       direction, direction == EGRESS ? b->resolution : a->resolution);
	return verdicts_allow_any(&verdicts);
}

/* Returns what class_grid_each() should say of two kinds, at any port. */
static enum grid_cell any_of(const struct policy *policy, const struct flow_class *from,
			     const struct flow_class *to)
{
	const struct flow_class_member *a = from->members, *b = to->members;

	if (!flow_classes_connect(from, to))
		return GRID_NONE;
	if (from == to || a->is_node || b->is_node || b->end.domain)
		return GRID_ASK;
	return allows_some(policy, from, to, EGRESS) && allows_some(policy, to, from, INGRESS)
		       ? GRID_ALLOW
		       : GRID_DENY;
}

struct grid_check {
	const struct policy *policy;
	struct random *random;
	const struct flow *port; /* NULL: at any port */
	const struct flow_classes *kinds;
	size_t next; /* the kind that is visited next */
};

static int check_row(void *data, size_t from, const char *cells)
{
	struct grid_check *check = data;
	const struct flow_classes *kinds = check->kinds;
	const struct flow_class *a = &kinds->at[from];
	bool agree = from == check->next++;

	for (size_t to = 0; to < kinds->n && agree; to++) {
		const struct flow_class *b = &kinds->at[to];
		const enum grid_cell wanted =
			check->port ? cell_of(check->policy, check->random, a, b, *check->port)
				    : any_of(check->policy, a, b);

		/* members of other IP versions say nothing of each other */
		agree = cells[to] == (char)wanted ||
			(wanted == GRID_ASK && cells[to] != GRID_NONE && a != b &&
			 (a->n > 1 || b->n > 1));
	}
	return agree ? 0 : -EINVAL;
}

static bool grid_agrees(struct grid_check check)
{
	const struct evaluate_source source = evaluate_policy(check.policy);
	const struct grid_request request = {
		.source = &source,
		.names = check.policy,
		.point = check.port ? bh_point(check.port->protocol, check.port->port) : 0,
		.any_port = !check.port,
		.kinds = check.kinds,
		.rows = 1 + random_below(check.random, check.kinds->n + 1)};

	return !class_grid_each(&request, check_row, &check) && check.next == check.kinds->n;
}

/* Returns what service_grid_fill() may say of a kind and a Service: what each call does that
 * counts. SERVICE_GRID_ASK: some have no IP version in common. */
static signed char service_cell_of(const struct policy *policy, const struct flow_class *kind,
				   const struct flow_side *service, const struct flow *port)
{
	const struct evaluate_source source = evaluate_policy(policy);
	signed char cell = SERVICE_GRID_ASK;

	for (size_t i = 0; i < kind->n; i++) {
		struct service_verdict verdict;
		struct flow flow = *port;

		if (!service_grid_counts(kind, i))
			continue;
		if (!flow_between(&kind->members[i].end, service, &flow))
			return SERVICE_GRID_ASK;
		evaluate_service(&source, policy, &flow, &verdict);
		service_verdict_free(&verdict);
		if (verdict.answer != SERVICE_FOUND)
			return SERVICE_GRID_ASK;
		cell = !i || cell == (signed char)verdict.outcome ? (signed char)verdict.outcome
								  : (signed char)SERVICE_DEPENDS;
	}
	return cell;
}

static bool service_cells_agree(const struct policy *policy,
				const struct service_grid_request *asked, const signed char *cells)
{
	bool agree = true;

	for (size_t i = 0; i < asked->kinds->n * asked->n && agree; i++)
		agree = cells[i] == SERVICE_GRID_ASK ||
			cells[i] == service_cell_of(policy, &asked->kinds->at[i / asked->n],
						    &asked->services[i % asked->n], asked->port);
	return agree;
}

static bool services_agree(const struct policy *policy, struct random *random,
			   const struct flow_classes *kinds)
{
	const struct evaluate_source source = evaluate_policy(policy);
	struct flow_side *sides = calloc(policy->n_services + 1, sizeof(*sides));
	signed char *cells = calloc(kinds->n * policy->n_services + 1, 1);
	const struct policy_service_port *any;
	struct flow port = {0};
	const struct service_grid_request request = {.source = &source,
						     .names = policy,
						     .port = &port,
						     .kinds = kinds,
						     .services = sides,
						     .n = policy->n_services};
	bool agree = sides && cells;

	if (policy->n_service_ports) {
		any = &policy->service_ports[random_below(random, policy->n_service_ports)];
		port = (struct flow){.protocol = any->protocol, .port = any->port};
	}
	for (size_t i = 0; i < policy->n_services && agree; i++)
		sides[i] = side_of_service(policy, &policy->services[i], NULL);
	agree = agree && !service_grid_fill(&request, cells) &&
		service_cells_agree(policy, &request, cells);
	free(sides);
	free(cells);
	return agree;
}

/* Compares the cells of all kinds of ends, and of all ends, at the port of a flow. One address is
 * in no segment, as that of an endpoint which a node knows by its name alone. */
static void check_grid(struct run *run, const struct cluster *cluster, const struct policy *whole)
{
	struct random random = {run->seed ^ 0x67726964};
	struct flow_classes kinds = {0}, each = {0};
	struct policy view = *whole;
	const struct policy *policy = &view;
	struct flow_space space;
	struct oracle_flow flow;
	struct flow port;

	flow_space_init(&space, cluster);
	generate_flow(&space, &random, &flow);
	flow_space_free(&space);
	port = verdict_line_flow(&flow);
	port.name = NULL;
	view.addresses = calloc(view.n_addresses + 1, sizeof(*view.addresses));
	memcpy(view.addresses, whole->addresses, view.n_addresses * sizeof(*view.addresses));
	if (view.n_addresses)
		view.addresses[random_below(&random, view.n_addresses)].segment = POLICY_NOWHERE;
	if (flow_classes_list(&policy, 1, &kinds) || flow_classes_list_each(policy, &each) ||
	    !grid_agrees((struct grid_check){policy, &random, &port, &kinds, 0}) ||
	    !grid_agrees((struct grid_check){policy, &random, &port, &each, 0}) ||
	    !grid_agrees((struct grid_check){policy, &random, NULL, &kinds, 0}) ||
	    !services_agree(policy, &random, &kinds) || !services_agree(policy, &random, &each)) {
		printf("# SEED=%" PRIu64 ": a cell of the grid is not what a flow is\n", run->seed);
		run->failures[GRID]++;
	}
	flow_classes_free(&kinds);
	flow_classes_free(&each);
	free(view.addresses);
}

static bool check_walks(struct run *run, struct cluster *authored, const struct cluster *cluster)
{
	struct failure failure = {.check = EXPLAIN, .style = run->seed};
	struct random random = {run->seed ^ 0x77616c6b};
	struct flow_space space;
	bool agree = true;

	flow_space_init(&space, authored);
	for (int i = 0; i < WALKS && agree; i++) {
		struct answer wanted, found;

		generate_flow(&space, &random, &failure.flow);
		ask_oracle(authored, &failure.flow, &wanted);
		ask_explainer(cluster, &failure.flow, &found);
		agree = same_answer(&wanted, &found);
	}
	flow_space_free(&space);
	if (!agree) {
		run->failures[EXPLAIN]++;
		report_flow(authored, run->seed, &failure);
	}
	return agree;
}

/*
 * The checks of the objects themselves, after reading. Returns false if the cluster has been
 * shrunk.
 */
static bool check_objects(struct run *run, struct cluster *authored, const struct policy *policy)
{
	struct diag diag = {.to = NULL};
	struct cluster cluster;
	bool whole = true;

	cluster_init(&cluster);
	if (generate_read(authored, run->seed, &diag, &cluster)) {
		printf("# SEED=%" PRIu64 ": read once, but not twice\n", run->seed);
		run->failures[PLACE]++;
	} else {
		check_places(run, &cluster, policy);
		check_selection(run, authored, &cluster, policy);
		check_grid(run, authored, policy);
		whole = check_walks(run, authored, &cluster);
	}
	cluster_free(&cluster);
	return whole;
}

static void check_cluster(struct run *run, struct cluster *cluster)
{
	struct failure failure = {.check = VERDICTS, .style = run->seed};
	struct policy *policy = policy_of(cluster, &failure);

	if (!policy) {
		run->failures[VERDICTS]++;
		report_refusal(cluster, run->seed, &failure);
		return;
	}
	check_order(run, cluster, policy);
	if (check_objects(run, cluster, policy) && compare_flows(run, cluster, policy, &failure)) {
		check_read_back(run, cluster, policy);
		check_successor(run, cluster);
	}
	policy_free(policy);
}

static bool too_many(const struct run *run)
{
	uint64_t sum = 0;

	for (enum check check = 0; check < N_CHECKS; check++)
		sum += run->failures[check];
	return sum >= FAILURES_MAX;
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	bool failed = false;

	printf("KTAP version 1\n1..%d\n", N_CHECKS);
	for (uint64_t i = 0; i < seeds.count && !too_many(&run); i++, run.seed++) {
		struct cluster cluster;

		cluster_init(&cluster);
		generate_cluster(&cluster, run.seed);
		generate_services(&cluster, run.seed);
		check_cluster(&run, &cluster);
		cluster_free(&cluster);
	}
	for (enum check check = 0; check < N_CHECKS; check++) {
		printf("%sok %d - %s\n", run.failures[check] ? "not " : "", check + 1,
		       check_names[check]);
		failed |= run.failures[check] > 0;
	}
	printf("# %" PRIu64 " flows of %" PRIu64 " clusters\n", run.flows, seeds.count);
	return failed;
}
