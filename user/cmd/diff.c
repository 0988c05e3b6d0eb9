/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `bulkhead diff`: what one policy allows and another does not. Ends that neither
 * tells apart are of one kind; each pair of kinds is judged by both policies at
 * every point of the number line where a verdict of either may change.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/ends.h"
#include "cmd/inputs.h"
#include "cmd/json.h"
#include "cmd/ports.h"
#include "cmd/text.h"

enum side { OLD, NEW, SIDES };

/* One end as each policy has it; NULL: it has none of that name. */
struct both {
	const char *name;
	const struct end *end[SIDES];
	bool endpoint;
	uint32_t kind; /* index of comparison.kinds */
};

/* What differs between the ends of one kind and those of another. */
struct cell {
	uint32_t to; /* kind */
	struct json_object *changes[FAMILIES]; /* NULL: no such family, or none */
	bool alike; /* in both families the same */
};

struct kind {
	size_t member[2]; /* of comparison.all: the first and, else again the first, another */
	bool known; /* the cells are */
	struct cell *cells; /* where something differs, by kind */
	size_t n;
};

struct comparison {
	struct policy *policy[SIDES];
	struct ends ends[SIDES]; /* endpoints and nodes */
	struct ends outside; /* addresses by the prefixes of both */
	struct both *all;
	size_t n;
	struct kind *kinds;
	size_t n_kinds;
};

static int compare_prefixes(const void *a, const void *b)
{
	const struct policy_prefix *first = a, *second = b;
	int order = memcmp(&first->address, &second->address, sizeof(first->address));

	return order ? order : (int)first->length - (int)second->length;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct policy_address *first = a, *second = b;

	return memcmp(&first->address, &second->address, sizeof(first->address));
}

/* Appends a table of a policy to what is there. Returns the new number of records, 0: no memory. */
static size_t append(void **table, size_t n, const void *more, size_t n_more, size_t record)
{
	char *grown = realloc(*table, (n + n_more) * record + 1);

	if (!grown)
		return 0;
	if (n_more)
		memcpy(grown + n * record, more, n_more * record);
	*table = grown;
	return n + n_more;
}

/* Prefixes, taken once each, and addresses of both policies as one: what either tells apart. */
static int list_outside(struct comparison *comparison)
{
	void *prefixes = NULL, *addresses = NULL, *nodes = NULL;
	struct policy merged = {0};
	size_t n = 0;
	int error = 0;

	for (enum side side = OLD; side < SIDES && !error; side++) {
		const struct policy *policy = comparison->policy[side];

		n = append(&prefixes, n, policy->prefixes, policy->n_prefixes,
			   sizeof(*policy->prefixes));
		merged.n_addresses = append(&addresses, merged.n_addresses, policy->addresses,
					    policy->n_addresses, sizeof(*policy->addresses));
		merged.n_node_addresses =
			append(&nodes, merged.n_node_addresses, policy->node_addresses,
			       policy->n_node_addresses, sizeof(*policy->node_addresses));
		if (!prefixes || !addresses || !nodes || !n)
			error = -ENOMEM;
	}
	if (!error) {
		merged.prefixes = prefixes;
		merged.addresses = addresses;
		merged.node_addresses = nodes;
		qsort(addresses, merged.n_addresses, sizeof(*merged.addresses), compare_addresses);
		qsort(prefixes, n, sizeof(*merged.prefixes), compare_prefixes);
		for (size_t i = 0; i < n; i++)
			if (!i || compare_prefixes(&merged.prefixes[i - 1], &merged.prefixes[i]))
				merged.prefixes[merged.n_prefixes++] = merged.prefixes[i];
		error = ends_list(&merged, &comparison->outside);
	}
	free(prefixes);
	free(addresses);
	free(nodes);
	return error;
}

/* How many of the first ends are endpoints and nodes. */
static size_t named_ends(const struct comparison *comparison, enum side side)
{
	return comparison->policy[side]->n_endpoints + comparison->policy[side]->n_nodes;
}

static int compare_both(const void *a, const void *b)
{
	const struct both *first = a, *second = b;

	return strcmp(first->name, second->name);
}

/* Puts the ends of both policies together by name: those of endpoints and nodes, then outside. */
static int join_ends(struct comparison *comparison)
{
	size_t n = named_ends(comparison, OLD) + named_ends(comparison, NEW), joined = 0;
	struct both *all = calloc(n + comparison->outside.n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	n = 0;
	for (enum side side = OLD; side < SIDES; side++) {
		const struct ends *ends = &comparison->ends[side];

		for (size_t i = 0; i < named_ends(comparison, side); i++, n++) {
			all[n].name = ends->at[i].name;
			all[n].end[side] = &ends->at[i];
			all[n].endpoint = i < ends->n_endpoints;
		}
	}
	qsort(all, n, sizeof(*all), compare_both);
	for (size_t i = 0; i < n; i++) {
		if (joined && !compare_both(&all[joined - 1], &all[i])) {
			enum side side = all[i].end[OLD] ? OLD : NEW;

			all[joined - 1].end[side] = all[i].end[side];
			continue;
		}
		all[joined++] = all[i];
	}
	for (size_t i = 0; i < comparison->outside.n; i++) {
		const struct end *end = &comparison->outside.at[i];

		all[joined++] = (struct both){.name = end->name, .end = {end, end}};
	}
	comparison->all = all;
	comparison->n = joined;
	return 0;
}

/* What the policies see of an end: ends with the same traits fare alike with any third. */
struct traits {
	size_t index; /* of comparison.all */
	uint32_t endpoint, present;
	uint32_t segment[SIDES][FAMILIES], variation[SIDES][FAMILIES]; /* ID; 0: no such address */
	const char *node[SIDES]; /* whose own node may reach it, or which node it is */
};

/* An endpoint's node, or the node itself; else "". */
static const char *node_of(const struct policy *policy, const struct both *both,
			   const struct end *end)
{
	const struct policy_address *found = policy_address_find(policy, &end->address[end->first]);

	if (both->endpoint && found)
		return policy_string(policy, policy->endpoints[found->endpoint].node);
	return strncmp(both->name, "node ", 5) ? "" : both->name;
}

static struct traits traits_of(const struct comparison *comparison, size_t index)
{
	const struct both *both = &comparison->all[index];
	struct traits traits = {.index = index, .endpoint = both->endpoint, .node = {"", ""}};

	for (enum side side = OLD; side < SIDES; side++) {
		const struct end *end = both->end[side];
		struct judge_source source = judge_policy(comparison->policy[side]);
		struct policy_segment segment;

		if (!end)
			continue;
		traits.present |= 1u << side;
		traits.node[side] = node_of(comparison->policy[side], both, end);
		for (enum family family = IPV4; family < FAMILIES; family++) {
			if (!end->has[family])
				continue;
			source.resolve(source.data, &end->address[family], &segment,
				       &traits.variation[side][family]);
			traits.segment[side][family] = segment.id;
		}
	}
	return traits;
}

static int compare_traits(const struct traits *a, const struct traits *b)
{
	int order = memcmp(&a->endpoint, &b->endpoint,
			   offsetof(struct traits, node) - offsetof(struct traits, endpoint));

	for (enum side side = OLD; side < SIDES && !order; side++)
		order = strcmp(a->node[side], b->node[side]);
	return order;
}

static int compare_traits_and_places(const void *a, const void *b)
{
	const struct traits *first = a, *second = b;
	int order = compare_traits(first, second);

	return order ? order : first->index < second->index ? -1 : 1;
}

static int find_kinds(struct comparison *comparison)
{
	struct traits *traits = calloc(comparison->n + 1, sizeof(*traits));
	size_t n = 0;

	comparison->kinds = calloc(comparison->n + 1, sizeof(*comparison->kinds));
	if (!traits || !comparison->kinds) {
		free(traits);
		return -ENOMEM;
	}
	for (size_t i = 0; i < comparison->n; i++)
		traits[i] = traits_of(comparison, i);
	qsort(traits, comparison->n, sizeof(*traits), compare_traits_and_places);
	for (size_t i = 0; i < comparison->n; i++) {
		size_t index = traits[i].index;

		if (!i || compare_traits(&traits[i - 1], &traits[i]))
			comparison->kinds[n++] = (struct kind){.member = {index, index}};
		comparison->kinds[n - 1].member[1] = index;
		comparison->all[index].kind = n - 1;
	}
	comparison->n_kinds = n;
	free(traits);
	return 0;
}

static void free_kinds(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->n_kinds; i++) {
		struct kind *kind = &comparison->kinds[i];

		for (size_t k = 0; k < kind->n; k++)
			for (enum family family = IPV4; family < FAMILIES; family++)
				json_object_put(kind->cells[k].changes[family]);
		free(kind->cells);
	}
	free(comparison->kinds);
}

/* What each policy says of one flow. */
struct judgement {
	bool allow[SIDES];
	struct decision decisions[SIDES][2]; /* by direction */
};

static bool same_decision(const struct decision *a, const struct decision *b)
{
	return a->subject == b->subject && a->allow == b->allow && a->tier == b->tier &&
	       a->rule == b->rule;
}

static bool same_judgement(const struct judgement *a, const struct judgement *b)
{
	for (enum side side = OLD; side < SIDES; side++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			if (!same_decision(&a->decisions[side][d], &b->decisions[side][d]))
				return false;
	return a->allow[OLD] == b->allow[OLD] && a->allow[NEW] == b->allow[NEW];
}

static struct flow flow_at(const struct flow *ends, uint32_t point)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP};
	struct flow flow = *ends;

	flow.protocol = protocols[point >> 16];
	flow.port = point & 0xffff;
	return flow;
}

/* Points where a verdict of a policy on a flow may change; @points grows, unsorted. */
static int add_points(const struct policy *policy, const struct flow *flow, void **points,
		      size_t *n)
{
	struct judge_source source = judge_policy(policy);
	struct policy_segment from, to;
	uint32_t variation, resolution;

	source.resolve(source.data, &flow->source, &from, &variation);
	source.resolve(source.data, &flow->destination, &to, &variation);
	resolution = variation ? source.resolution(source.data, to.id, variation) : 0;
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		struct verdicts verdicts = verdicts_of(policy, d == INGRESS ? &to : &from,
						       d == INGRESS ? &from : &to, d, resolution);

		for (size_t i = 0; i < verdicts.n; i++) {
			*n = append(points, *n, &verdicts_at(&verdicts, i)->start, 1,
				    sizeof(uint32_t));
			if (!*n)
				return -ENOMEM;
		}
	}
	return 0;
}

static int compare_points(const void *a, const void *b)
{
	const uint32_t *first = a, *second = b;

	return *first < *second ? -1 : *first > *second;
}

static struct json_object *json_decision(const struct policy *policy,
					 const struct decision *decision)
{
	char text[DECISION_TEXT];

	if (!decision->subject)
		return NULL;
	return json_object_new_string(decision_print(policy, decision, text, sizeof(text)));
}

static struct json_object *json_change(const struct comparison *comparison,
				       const struct judgement *judgement, uint32_t first,
				       uint32_t end)
{
	struct json_object *change = json_object_new_object();
	struct json_object *ports = json_object_new_array();

	json_add_text(change, "change", judgement->allow[NEW] ? "gains" : "loses");
	points_each(first, end, json_append_visit, ports);
	json_add(change, "ports", ports);
	for (enum side side = OLD; side < SIDES; side++) {
		const struct policy *policy = comparison->policy[side];
		struct json_object *why = json_object_new_object();

		json_add(why, "egress", json_decision(policy, &judgement->decisions[side][EGRESS]));
		json_add(why, "ingress",
			 json_decision(policy, &judgement->decisions[side][INGRESS]));
		json_add(change, side == OLD ? "old" : "new", why);
	}
	return change;
}

/* Judges the stretches between the points; neighbours that fare alike are one. */
static void compare_stretches(const struct comparison *comparison, const struct flow flow[SIDES],
			      const uint32_t *points, size_t n, struct json_object *changes)
{
	struct judgement last, now;
	uint32_t first = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i && i < n && points[i] == points[i - 1])
			continue;
		for (enum side side = OLD; side < SIDES && i < n; side++) {
			struct judge_source source = judge_policy(comparison->policy[side]);
			struct flow probe = flow_at(&flow[side], points[i]);

			now.allow[side] = judge_flow(&source, comparison->policy[side], &probe,
						     &now.decisions[side][EGRESS],
						     &now.decisions[side][INGRESS]);
		}
		if (i && i < n && same_judgement(&last, &now))
			continue;
		if (i && last.allow[OLD] != last.allow[NEW])
			json_object_array_add(changes,
					      json_change(comparison, &last, first,
							  i < n ? points[i] : BH_POINT_OTHER + 1));
		if (i < n) {
			last = now;
			first = points[i];
		}
	}
}

/* Returns 0 or -ENOMEM. *changes stays NULL where there are none, or where the ends have no address
 * of that family in both policies. */
static int changes_between(const struct comparison *comparison, const struct both *from,
			   const struct both *to, enum family family, struct json_object **changes)
{
	struct json_object *found;
	struct flow flow[SIDES];
	void *points = NULL;
	size_t n = 0;
	int error = 0;

	for (enum side side = OLD; side < SIDES; side++) {
		if (!from->end[side]->has[family] || !to->end[side]->has[family])
			return 0;
		flow[side] = (struct flow){from->end[side]->address[family],
					   to->end[side]->address[family], 0, 0};
	}
	for (enum side side = OLD; side < SIDES && !error; side++)
		error = add_points(comparison->policy[side], &flow[side], &points, &n);
	if (!error) {
		qsort(points, n, sizeof(uint32_t), compare_points);
		found = json_object_new_array();
		compare_stretches(comparison, flow, points, n, found);
		if (json_object_array_length(found))
			*changes = json_object_get(found);
		json_object_put(found);
	}
	free(points);
	return error;
}

/* Whether what happens over one family is what happens over the other. */
static bool families_alike(const struct both *from, const struct both *to, const struct cell *cell)
{
	for (enum side side = OLD; side < SIDES; side++)
		for (enum family family = IPV4; family < FAMILIES; family++)
			if (!from->end[side]->has[family] || !to->end[side]->has[family])
				return false;
	return cell->changes[IPV4] && cell->changes[IPV6] &&
	       json_object_equal(cell->changes[IPV4], cell->changes[IPV6]);
}

/* An end that both policies have, and one of the two an endpoint, else no policy has a say. */
static bool is_compared(const struct both *from, const struct both *to)
{
	return (from->endpoint || to->endpoint) && from->end[OLD] && from->end[NEW] &&
	       to->end[OLD] && to->end[NEW];
}

static int add_cell(const struct comparison *comparison, struct kind *kind, uint32_t to_kind)
{
	const struct kind *other = &comparison->kinds[to_kind];
	const struct both *from = &comparison->all[kind->member[0]];
	const struct both *to = &comparison->all[other->member[kind == other]];
	struct cell cell = {.to = to_kind};
	void *cells = kind->cells;
	int error = 0;

	/* One end to itself is always allowed. */
	if (from == to || !is_compared(from, to))
		return 0;
	for (enum family family = IPV4; family < FAMILIES && !error; family++)
		error = changes_between(comparison, from, to, family, &cell.changes[family]);
	if (error || !(cell.changes[IPV4] || cell.changes[IPV6]))
		return error;
	cell.alike = families_alike(from, to, &cell);
	kind->n = append(&cells, kind->n, &cell, 1, sizeof(cell));
	kind->cells = cells;
	return kind->n ? 0 : -ENOMEM;
}

static int know_kind(const struct comparison *comparison, struct kind *kind)
{
	int error = 0;

	for (size_t i = 0; i < comparison->n_kinds && !kind->known && !error; i++)
		error = add_cell(comparison, kind, i);
	kind->known = true;
	return error;
}

static void add_pair(struct json_object *output, const struct both *from, const struct both *to,
		     const char *family, struct json_object *changes)
{
	struct json_object *pair = json_object_new_object();

	json_add_text(pair, "from", from->name);
	json_add_text(pair, "to", to->name);
	json_add_text(pair, "family", family);
	json_add(pair, "changes", json_object_get(changes));
	json_object_array_add(output, pair);
}

/* The family is only told where the two differ, or where there is only one. */
static void add_changes(struct json_object *output, const struct both *from, const struct both *to,
			const struct cell *cell)
{
	if (cell->alike) {
		add_pair(output, from, to, NULL, cell->changes[IPV4]);
		return;
	}
	if (cell->changes[IPV4])
		add_pair(output, from, to, "IPv4", cell->changes[IPV4]);
	if (cell->changes[IPV6])
		add_pair(output, from, to, "IPv6", cell->changes[IPV6]);
}

static void add_lone(struct json_object *output, const struct both *end)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "end", end->name);
	json_add_text(object, "change", end->end[NEW] ? "added" : "removed");
	json_object_array_add(output, object);
}

static int compare_from(const struct comparison *comparison, const struct both *from,
			const struct cell **row, struct json_object *output)
{
	struct kind *kind = &comparison->kinds[from->kind];
	int error = know_kind(comparison, kind);

	if (error || !kind->n)
		return error;
	for (size_t i = 0; i < kind->n; i++)
		row[kind->cells[i].to] = &kind->cells[i];
	for (size_t i = 0; i < comparison->n; i++) {
		const struct both *to = &comparison->all[i];

		if (row[to->kind] && to != from)
			add_changes(output, from, to, row[to->kind]);
	}
	for (size_t i = 0; i < kind->n; i++)
		row[kind->cells[i].to] = NULL;
	return 0;
}

static int compare_all(const struct comparison *comparison, struct json_object *output)
{
	const struct cell **row = calloc(comparison->n_kinds + 1, sizeof(struct cell *));
	int error = row ? 0 : -ENOMEM;

	for (size_t i = 0; i < comparison->n; i++)
		if (!comparison->all[i].end[OLD] || !comparison->all[i].end[NEW])
			add_lone(output, &comparison->all[i]);
	for (size_t i = 0; i < comparison->n && !error; i++)
		error = compare_from(comparison, &comparison->all[i], row, output);
	free(row);
	return error;
}

static void print_why(struct json_object *change)
{
	static const char *const sides[] = {"old", "new"};

	for (enum side side = OLD; side < SIDES; side++) {
		struct json_object *why = json_object_object_get(change, sides[side]);
		const char *egress = json_get_text(why, "egress");
		const char *ingress = json_get_text(why, "ingress");

		printf("    %s: egress %s, ingress %s\n", sides[side], egress ? egress : "-",
		       ingress ? ingress : "-");
	}
}

static void print_pair(struct json_object *pair, struct text *text)
{
	struct json_object *changes = json_object_object_get(pair, "changes");
	const char *family = json_get_text(pair, "family");

	if (!changes) {
		printf("%s %s\n", json_get_text(pair, "change"), json_get_text(pair, "end"));
		return;
	}
	for (size_t i = 0; i < json_object_array_length(changes); i++) {
		struct json_object *change = json_object_array_get_idx(changes, i);

		text_join(text, json_object_object_get(change, "ports"));
		printf("%s -> %s%s%s %s %s\n", json_get_text(pair, "from"),
		       json_get_text(pair, "to"), family ? " over " : "", family ? family : "",
		       json_get_text(change, "change"), text->buffer->buf);
		print_why(change);
	}
}

static int report(const struct call *call, struct json_object *output)
{
	struct text text = {printbuf_new()};
	size_t n = json_object_array_length(output);

	for (size_t i = 0; i < n && !call->json; i++)
		print_pair(json_object_array_get_idx(output, i), &text);
	if (call->json)
		json_print(json_object_get(output), call->pretty);
	printbuf_free(text.buffer);
	return n ? STATUS_NO : STATUS_OK;
}

static int run(struct call *call)
{
	struct json_object *output = json_object_new_array();
	struct comparison comparison = {0};
	struct diag diag = {.to = stderr};
	int error = 0, status;

	while (call_option(call) != -1)
		;
	if (call->n_operands != 2)
		call_usage_error(call, "wants two inputs: OLD and NEW");
	for (enum side side = OLD; side < SIDES && !error; side++) {
		error = inputs_policy(&call->operands[side], 1, NULL, &diag,
				      &comparison.policy[side], NULL);
		if (!error)
			error = ends_list(comparison.policy[side], &comparison.ends[side]);
	}
	if (!error)
		error = list_outside(&comparison);
	if (!error)
		error = join_ends(&comparison);
	if (!error)
		error = find_kinds(&comparison);
	if (!error)
		error = compare_all(&comparison, output);
	status = error ? status_of(error) : report(call, output);
	json_object_put(output);
	free_kinds(&comparison);
	free(comparison.all);
	ends_free(&comparison.outside);
	for (enum side side = OLD; side < SIDES; side++) {
		ends_free(&comparison.ends[side]);
		policy_free(comparison.policy[side]);
	}
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.operands = "OLD NEW",
	.help = "which ends gain or lose which ports, and by which rule; 1 where some do",
	.run = run,
};
