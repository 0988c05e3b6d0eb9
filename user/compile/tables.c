// SPDX-License-Identifier: GPL-2.0-only
/* The compiler's results → the tables of struct policy, each in the order that policy.h gives. */
#include "compile/budget.h"
#include "policy/references.h"
#include "compile/tables.h"
#include "maps/segment.h"

void tables_pair(struct compiler *c, uint32_t subject, uint32_t peer, uint32_t verdicts)
{
	array_push(&c->pairs, ((struct pair){subject, peer, verdicts}));
}

void tables_need(struct compiler *c, uint32_t verdicts, uint32_t resolution_set)
{
	struct need need = {verdicts, 0};
	const uint32_t *resolutions, *rules;
	size_t n, n_rules;

	if (c->verdicts.at[verdicts].ports.count != BH_PORTS_NAMED)
		return;
	intern_add(&c->needs, &need, sizeof(need), NULL);
	resolutions = intern_set(&c->sets, resolution_set, &n);
	rules = ports_rules(c, verdicts, &n_rules);
	if (!budget_charge_namespace(c, rules, n_rules, BUDGET_STEPS, n))
		return;
	for (size_t i = 0; i < n; i++) {
		need.resolution = resolutions[i];
		intern_add(&c->needs, &need, sizeof(need), NULL);
	}
}

static struct policy_range put_labels(struct tables *t, const struct labels *labels)
{
	struct policy_range range = {t->policy->n_texts, 2 * labels->n};

	for (size_t i = 0; i < labels->n; i++) {
		table_push(t, texts, tables_string(t, labels->at[i].key));
		table_push(t, texts, tables_string(t, labels->at[i].value));
	}
	return range;
}

static void put_settings(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;

	table_push(t, strings, '\0');
	t->policy->node = tables_string(t, cluster->node);
	t->policy->uplinks_n = cluster->n_uplinks;
	for (size_t i = 0; i < cluster->n_uplinks; i++)
		table_push(t, texts, tables_string(t, cluster->uplinks[i]));
}

static void put_namespaces(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;

	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		const struct namespace *ns = &cluster->namespaces[i];
		struct policy_namespace record = {.name = tables_string(t, ns->name),
						  .flags = (ns->audit ? POLICY_AUDIT : 0) |
							   (ns->isolated ? POLICY_ISOLATED : 0),
						  .labels = put_labels(t, &ns->labels)};

		table_push(t, namespaces, record);
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *node = &cluster->nodes[i];
		struct policy_node record = {
			.name = tables_string(t, node->name),
			.addresses = {t->policy->n_node_addresses, node->n_addresses},
			.labels = put_labels(t, &node->labels)};

		table_push(t, nodes, record);
		for (size_t j = 0; j < node->n_addresses; j++)
			table_push(t, node_addresses, node->addresses[j]);
	}
}

static void put_matchers(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->matchers.n; i++) {
		const struct matcher *matcher = &c->matchers.at[i];

		table_push(t, matchers,
			   ((struct policy_matcher){
				   .key = matcher->key,
				   .clauses = {t->policy->n_clauses, matcher->n_clauses},
				   .flags = matcher->negative ? MATCHER_NEGATIVE : 0}));
		for (uint32_t j = 0; j < matcher->n_clauses; j++) {
			const struct clause *clause = &c->clauses.at[matcher->clauses + j];
			struct policy_clause record = {
				.kind = clause->kind,
				.ns = tables_string(t, clause->ns),
				.namespaces = tables_selector(t, &clause->namespaces),
				.pods = tables_selector(t, &clause->pods),
				.address = clause->cidr.address,
				.length = clause->cidr.length,
				.except = tables_cidrs(t, clause->except, clause->n_except)};

			table_push(t, clauses, record);
		}
	}
}

static int compare_rules(const void *a, const void *b)
{
	const struct policy_rule *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_rules(struct tables *t)
{
	struct compiler *c = t->c;
	bytes_t name = {0};

	for (size_t i = 0; i < c->rules.n; i++) {
		const struct plain_rule *rule = &c->rules.at[i];

		/* A policy's rule is several plain rules if its relations were resolved. */
		if (i && rule->rule == c->rules.at[i - 1].rule)
			continue;
		name.n = 0;
		policy_name_put(&name, rule->policy);
		table_push(t, rules,
			   ((struct policy_rule){.id = rule->id,
						 .policy = tables_string(t, (const char *)name.at),
						 .name = tables_string(t, rule->rule->name),
						 .index = rule->rule->index,
						 .direction = rule->direction,
						 .tier = rule->policy->tier,
						 .action = rule->action,
						 .kind = rule->policy->kind,
						 .flags = rule->policy->audit ? POLICY_AUDIT : 0}));
	}
	table_sort(t, rules, compare_rules);
	array_free(&name);
}

/* Returns true if the tables had the record from the beginning. */
#define BEGUN_HAS(t, table, compare, ...)                                                 \
	((t)->begun &&                                                                    \
	 policy_search(&(__typeof__(*(t)->begun->table)){__VA_ARGS__}, (t)->begun->table, \
		       (t)->begun->n_##table, sizeof(*(t)->begun->table), compare))

static int compare_resolutions(const void *a, const void *b)
{
	const struct policy_resolution *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct policy_key resolution_key(const struct compiler *c, uint32_t number)
{
	bytes_t bytes = {0};
	struct policy_key key;
	size_t size;
	const void *at = intern_bytes(&c->resolutions, number, &size);

	bytes_put(&bytes, at, size);
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key;
}

/* Returns the resolutions' IDs by the compiler's number. Number 0 has ID 0. */
static uint32_t *put_resolutions(struct tables *t)
{
	struct compiler *c = t->c;
	size_t n = c->resolutions.entries.n;
	uint32_t *ids = grow_zeroed(n, sizeof(*ids));

	for (uint32_t i = 1; i < n; i++) {
		struct policy_resolution record = {.key = resolution_key(c, i),
						   .ports = {t->policy->n_named_ports, 0}};
		struct policy_named_port port = {0};
		const char *name;
		size_t offset = 0;

		record.id = ids[i] = lineage_resolution(c->lineage, &record.key);
		if (BEGUN_HAS(t, resolutions, compare_resolutions, .id = record.id))
			continue;
		while (resolution_next(c, i, &offset, &name, &port.protocol, &port.port)) {
			port.name = tables_string(t, name);
			table_push(t, named_ports, port);
			record.ports.n++;
		}
		table_push(t, resolutions, record);
	}
	table_sort(t, resolutions, compare_resolutions);
	return ids;
}

static struct policy_range put_listed(struct tables *t, uint32_t set, bool external, bool negative)
{
	const struct compiler *c = t->c;
	struct policy_range range = {t->policy->n_numbers, 0};
	size_t n;
	const uint32_t *listed = intern_set(&c->sets, set, &n);

	for (size_t i = 0; i < n; i++) {
		/* an external segment is listed by the matchers that match it */
		if ((!external && c->matchers.at[listed[i]].negative) != negative)
			continue;
		table_push(t, numbers, listed[i]);
		range.n++;
	}
	return range;
}

static struct policy_range put_names(struct tables *t, uint32_t set)
{
	const struct compiler *c = t->c;
	size_t n, size;
	const uint32_t *names = intern_set(&c->names, set, &n);
	struct policy_range range = {t->policy->n_texts, n};

	for (size_t i = 0; i < n; i++)
		table_push(t, texts,
			   tables_string(t, intern_bytes(&c->port_names, names[i], &size)));
	return range;
}

static int compare_variations(const void *a, const void *b)
{
	const struct policy_variation *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void refuse_variations(struct compiler *c, const struct segment *segment, uint32_t n)
{
	uint32_t number = segment - c->segments.at, i = 0;
	const struct endpoint *member;
	char name[512];

	while (i < c->addresses.n && c->addresses.at[i].segment != number)
		i++;
	member = i < c->addresses.n ? &c->cluster->endpoints[c->addresses.at[i].endpoint]
				    : c->cluster->expected;
	snprintf(name, sizeof(name), "%s/%s", member->ns_name, member->name);
	diag_error(c->diag, &member->where, name,
		   "its segment has %u variations of its port names, the limit is %u", n,
		   BH_VARIATION_MAX);
	c->too_big = true;
}

static bool has_variation(const struct policy *policy, uint32_t segment, uint32_t id)
{
	const struct policy_segment *record = policy ? policy_segment_by_id(policy, segment) : NULL;

	for (uint32_t i = 0; record && i < record->variations.n; i++)
		if (policy->variations[record->variations.at + i].id == id)
			return true;
	return false;
}

/* Returns a variation's ID for this node's extension that the segment has neither here nor active:
 * the highest, while a compile gives the lowest. @at: the segment's first new variation. 0: there
 * is none. */
static uint32_t local_variation(const struct tables *t, uint32_t segment, size_t at)
{
	const struct policy_segment *begun = policy_segment_by_id(t->begun, segment);

	for (uint32_t id = BH_VARIATION_MAX; id >= (begun ? begun->next_variation : 1); id--) {
		bool taken = has_variation(t->begun, segment, id) ||
			     has_variation(t->before, segment, id);

		for (size_t i = at; i < t->policy->n_variations; i++)
			taken |= t->policy->variations[i].id == id;
		if (!taken)
			return id;
	}
	return 0;
}

/* Variation IDs count in each segment. The base's record has those that were given before. */
static void put_variations(struct tables *t, const struct segment *segment, const uint32_t *ids,
			   const struct policy_segment *old, struct policy_segment *record)
{
	struct compiler *c = t->c;

	record->variations = (struct policy_range){t->policy->n_variations, segment->resolutions.n};
	record->next_variation = old ? old->next_variation : 1;
	for (size_t i = 0; i < segment->resolutions.n; i++) {
		struct policy_variation variation = {0, ids[segment->resolutions.at[i]]};

		for (uint32_t j = 0; old && j < old->variations.n; j++) {
			const struct policy_variation *known =
				&c->base->variations[old->variations.at + j];

			if (known->resolution == variation.resolution)
				variation.id = known->id;
		}
		if (!variation.id)
			variation.id =
				t->local ? local_variation(t, record->id, record->variations.at)
					 : record->next_variation++;
		c->too_big |= !variation.id;
		table_push(t, variations, variation);
	}
	if (t->local)
		record->next_variation = record->variations.n ? BH_VARIATION_MAX + 1 : 1;
	sort_records(t->policy->variations + record->variations.at, record->variations.n,
		     sizeof(*t->policy->variations), compare_variations);
	if (record->next_variation - 1 > BH_VARIATION_MAX && !c->too_big)
		refuse_variations(c, segment, record->next_variation - 1);
}

static uint32_t peer_id(const struct compiler *c, uint32_t class)
{
	return class == INTERN_NONE ? 0 : c->peers.at[class].id;
}

/* Returns a port list of the compiler's as a record refers to it. All of these lists are put last,
 * except beside those of `begun`. */
static struct bh_ports_ref put_ports(struct tables *t, struct bh_ports_ref ports)
{
	size_t n;
	const struct bh_interval *from = ports_intervals(t->c, &n) + ports.at;
	uint32_t number;
	bool fresh;

	if (!t->begun || !ports.count || ports.count == BH_PORTS_NAMED)
		return ports;
	/* the compiler has each list once */
	number = intern_add(&t->lists, &ports.at, sizeof(ports.at), &fresh);
	if (fresh) {
		array_push(&t->list_at, t->policy->n_intervals);
		for (uint32_t i = 0; i < ports.count; i++)
			table_push(t, intervals, from[i]);
	}
	return (struct bh_ports_ref){t->list_at.at[number], ports.count};
}

static void put_subject(struct tables *t, const struct segment *segment, int direction,
			struct policy_segment *record)
{
	const struct compiler *c = t->c;
	const struct subject *subject, *common;

	if (segment->subject[direction] == INTERN_NONE) {
		struct bh_ports_ref open = {bh_verdict(true, BH_TIER_DEFAULT, 0), 0};

		record->fallback[direction][0] = record->fallback[direction][1] = open;
		return;
	}
	subject = &c->subjects.at[segment->subject[direction]];
	common = &c->subjects.at[subject->common];
	record->flags |= BH_SEGMENT_POLICY(direction);
	if (common->domains)
		record->flags |= BH_SEGMENT_DOMAINS;
	if (!subject->enforced)
		record->flags |= BH_SEGMENT_AUDITED(direction);
	record->own[direction] = subject->id;
	record->common[direction] = common->id;
	for (int external = 0; external <= 1; external++)
		record->fallback[direction][external] =
			put_ports(t, c->verdicts.at[common->fallback[external]].ports);
}

static int compare_segments(const void *a, const void *b)
{
	const struct policy_segment *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Keeps segments of the base that this policy no longer has, and those that the base marks
 * deleted. */
static void put_deleted(struct tables *t, uint32_t generation)
{
	const struct policy *base = t->c->base;
	struct intern kept = {0};

	for (size_t i = 0; i < t->c->segments.n; i++)
		intern_add(&kept, &t->segment_id[i], sizeof(uint32_t), NULL);
	for (size_t i = 0; base && i < base->n_segments; i++) {
		struct policy_segment record = {
			.key = base->segments[i].key,
			.id = base->segments[i].id,
			.create_generation = base->segments[i].create_generation,
			.delete_generation = base->segments[i].delete_generation,
			.flags = base->segments[i].flags & BH_SEGMENT_EXTERNAL};

		if (intern_find(&kept, &record.id, sizeof(record.id)) != INTERN_NONE)
			continue;
		/* a segment that an earlier generation deleted disappears */
		if (record.delete_generation && record.delete_generation != generation)
			continue;
		record.delete_generation = generation;
		table_push(t, segments, record);
	}
	intern_free(&kept);
}

/* Returns the record of a segment, without variations. */
static struct policy_segment segment_record(struct tables *t, const struct segment *segment,
					    uint32_t id, uint32_t create_generation)
{
	struct compiler *c = t->c;
	struct policy_segment record = {.key = segment->key,
					.id = id,
					.flags = segment->external ? BH_SEGMENT_EXTERNAL : 0,
					.create_generation = create_generation,
					.peer_own = peer_id(c, segment->peer_own),
					.peer_common = peer_id(c, segment->peer_common)};

	record.in = put_listed(t, segment->listed, segment->external, false);
	record.not_in = put_listed(t, segment->listed, segment->external, true);
	record.names = put_names(t, segment->names);
	for (int direction = INGRESS; direction <= EGRESS; direction++)
		put_subject(t, segment, direction, &record);
	return record;
}

/* Puts a segment, or the variations that it has beside those of `begun`. */
static void put_segment(struct tables *t, size_t number, const uint32_t *resolution_ids)
{
	const struct segment *segment = &t->c->segments.at[number];
	const struct policy_segment *old = t->old[number];
	const struct policy_segment *begun =
		t->begun ? policy_segment_by_id(t->begun, t->segment_id[number]) : NULL;
	struct policy_segment record;

	if (begun && begun->variations.n == segment->resolutions.n)
		return;
	if (begun)
		record = *begun;
	else
		record = segment_record(t, segment, t->segment_id[number],
					old ? old->create_generation : t->policy->generation);
	put_variations(t, segment, resolution_ids, old, &record);
	if (begun)
		t->policy->segments[begun - t->begun->segments] = record;
	else
		table_push(t, segments, record);
}

static void put_segments(struct tables *t, const uint32_t *resolution_ids)
{
	struct compiler *c = t->c;
	struct intern order = {0};

	for (size_t i = 0; i < c->segments.n; i++)
		put_segment(t, i, resolution_ids);
	if (!t->begun)
		put_deleted(t, t->policy->generation);
	table_sort(t, segments, compare_segments);
	for (uint32_t i = 0; i < t->policy->n_segments; i++)
		intern_add(&order, &t->policy->segments[i].id, sizeof(uint32_t), NULL);
	for (size_t i = 0; i < c->segments.n; i++)
		t->segment_index[i] = intern_find(&order, &t->segment_id[i], sizeof(uint32_t));
	intern_free(&order);
}

struct placed {
	struct policy_address record;
	uint32_t order; /* order among the endpoints' addresses */
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return memcmp(&x->record.address, &y->record.address, sizeof(x->record.address));
}

static uint32_t variation_of(const struct tables *t, uint32_t segment, uint32_t resolution)
{
	const struct policy_segment *record = &t->policy->segments[segment];

	for (uint32_t i = 0; resolution && i < record->variations.n; i++) {
		const struct policy_variation *variation =
			&t->policy->variations[record->variations.at + i];

		if (variation->resolution == resolution)
			return variation->id;
	}
	return 0;
}

/* Writes the endpoints in order, their addresses sorted, and each endpoint's list of addresses. */
static void put_addresses(struct tables *t, const uint32_t *resolution_ids, uint32_t *index)
{
	struct compiler *c = t->c;
	struct placed *placed = grow_zeroed(c->addresses.n, sizeof(*placed));

	for (uint32_t i = 0; i < c->addresses.n; i++) {
		const struct endpoint_address *from = &c->addresses.at[i];
		uint32_t segment = t->segment_index[from->segment];

		placed[i] = (struct placed){
			{.address = from->address,
			 .endpoint = from->endpoint,
			 .segment = segment,
			 .variation = variation_of(t, segment, resolution_ids[from->resolution])},
			i};
	}
	qsort(placed, c->addresses.n, sizeof(*placed), compare_placed);
	for (uint32_t i = 0; i < c->addresses.n; i++) {
		index[placed[i].order] = i;
		table_push(t, addresses, placed[i].record);
	}
	free(placed);
}

void tables_endpoint(struct tables *t, const struct endpoint *from, struct policy_endpoint *record)
{
	record->node = tables_string(t, from->node);
	record->interface = tables_string(t, from->interface);
	record->flags = (from->audit ? POLICY_AUDIT : 0) | (from->l2 ? POLICY_L2 : 0) |
			(from->has_mac ? POLICY_MAC : 0);
	memcpy(record->mac, from->mac, sizeof(record->mac));
	record->allow_source = tables_cidrs(t, from->allow_source, from->n_allow_source);
	policy_uid_hash(from->uid, record->uid);
}

static void put_endpoints(struct tables *t, const uint32_t *index)
{
	struct compiler *c = t->c;
	const struct cluster *cluster = c->cluster;
	uint32_t next = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *from = &cluster->endpoints[i];
		struct policy_endpoint record = {
			.ns = from->ns,
			.name = tables_string(t, from->name),
			.addresses = {t->policy->n_endpoint_addresses, from->n_addresses}};

		tables_endpoint(t, from, &record);
		if (cluster->namespaces[from->ns].audit)
			record.flags |= POLICY_AUDIT;
		for (size_t j = 0; j < from->n_addresses; j++)
			table_push(t, endpoint_addresses, index[next++]);
		table_push(t, endpoints, record);
	}
}

static void put_prefixes(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->regions.n; i++) {
		const struct region *region = &c->regions.at[i];

		if (i && region->segment == c->regions.at[region->parent].segment)
			continue;
		table_push(t, prefixes,
			   ((struct policy_prefix){region->cidr.address, region->cidr.length,
						   t->segment_index[region->segment]}));
	}
}

static int compare_domains(const void *a, const void *b, void *strings)
{
	const struct policy_domain *x = a, *y = b;
	int order = strcmp((const char *)strings + x->name, (const char *)strings + y->name);

	return order ? order : x->class < y->class ? -1 : x->class > y->class;
}

/* Puts the domains of the classes of subjects for which `begun` has none. */
static void put_domains(struct tables *t)
{
	struct compiler *c = t->c;
	struct policy *policy = t->policy;
	struct intern known = {0};

	for (size_t i = 0; t->begun && i < t->begun->n_domains; i++)
		intern_add(&known, &t->begun->domains[i].class, sizeof(uint32_t), NULL);
	for (size_t i = 0; i < c->domains.n; i++) {
		const struct domain *domain = &c->domains.at[i];
		const uint32_t class = c->subjects.at[domain->subject].id;

		if (intern_find(&known, &class, sizeof(class)) == INTERN_NONE)
			table_push(t, domains,
				   ((struct policy_domain){tables_string(t, domain->name), class,
							   t->segment_index[domain->segment]}));
	}
	intern_free(&known);
	if (policy->n_domains)
		qsort_r(policy->domains, policy->n_domains, sizeof(*policy->domains),
			compare_domains, policy->strings);
}

static int compare_classes(const void *a, const void *b)
{
	const struct policy_class *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_class(struct tables *t, const struct policy_key *key, uint32_t id)
{
	if (id && !BEGUN_HAS(t, classes, compare_classes, .id = id))
		table_push(t, classes, ((struct policy_class){*key, id, 0}));
}

static void put_classes(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->peers.n; i++)
		put_class(t, &c->peers.at[i].key, c->peers.at[i].id);
	for (size_t i = 0; i < c->subjects.n; i++)
		put_class(t, &c->subjects.at[i].key, c->subjects.at[i].id);
	table_sort(t, classes, compare_classes);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct policy_pair *x = a, *y = b;

	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

static void put_pairs(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->pairs.n; i++) {
		const struct pair *pair = &c->pairs.at[i];

		if (!BEGUN_HAS(t, pairs, compare_pairs, pair->subject, pair->peer, {0}))
			table_push(t, pairs,
				   ((struct policy_pair){
					   pair->subject, pair->peer,
					   put_ports(t, c->verdicts.at[pair->verdicts].ports)}));
	}
	table_sort(t, pairs, compare_pairs);
}

static int compare_named(const void *a, const void *b)
{
	const struct policy_named *x = a, *y = b;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	return x->resolution < y->resolution ? -1 : x->resolution > y->resolution;
}

static void put_named(struct tables *t, const uint32_t *resolution_ids)
{
	struct compiler *c = t->c;

	for (uint32_t i = 0; i < c->needs.entries.n; i++) {
		struct need need;
		struct bh_ports_ref ports;
		size_t size;
		uint32_t list, rules, resolution;

		memcpy(&need, intern_bytes(&c->needs, i, &size), sizeof(need));
		list = c->verdicts.at[need.verdicts].ports.at;
		rules = c->verdicts.at[need.verdicts].rules;
		resolution = resolution_ids[need.resolution];
		/* Each list has one need for resolution 0, so this lists each once. */
		if (!need.resolution && !BEGUN_HAS(t, lists, compare_classes, .id = list))
			table_push(t, lists,
				   ((struct policy_class){ports_list_key(c, rules), list, 0}));
		if (BEGUN_HAS(t, named, compare_named, list, resolution, {0}))
			continue;
		ports = put_ports(t, ports_resolve(c, rules, need.resolution));
		table_push(t, named, ((struct policy_named){list, resolution, ports}));
	}
	table_sort(t, named, compare_named);
	table_sort(t, lists, compare_classes);
}

/* Comes last, since resolving lists may have made new intervals. */
static void put_intervals(struct tables *t)
{
	size_t n;
	const struct bh_interval *intervals = ports_intervals(t->c, &n);

	if (t->begun || !n)
		return;
	t->policy->intervals =
		grow_capacity(t->policy->intervals, &t->capacity_intervals, n, sizeof(*intervals));
	memcpy(t->policy->intervals, intervals, n * sizeof(*intervals));
	t->policy->n_intervals = n;
}

struct bound {
	const char *ns;
	uint32_t number;
};

static int compare_bound(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;
	int order = strcmp(x->ns, y->ns);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static void put_by_namespace(struct tables *t)
{
	struct policy *policy = t->policy;
	struct bound *bound = grow_zeroed(policy->n_matchers, sizeof(*bound));

	for (uint32_t i = 0; i < policy->n_matchers; i++)
		bound[i] = (struct bound){matcher_namespace(policy, &policy->matchers[i]), i};
	sort_records(bound, policy->n_matchers, sizeof(*bound), compare_bound);
	for (uint32_t i = 0; i < policy->n_matchers; i++)
		table_push(t, by_namespace, bound[i].number);
	free(bound);
}

struct listed {
	struct policy_lists lists;
	uint32_t segment;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return policy_compare_lists(&x->lists, &y->lists);
}

static void put_by_matchers(struct tables *t)
{
	struct policy *policy = t->policy;
	struct listed *listed = grow_zeroed(policy->n_segments, sizeof(*listed));
	size_t n = 0;

	policy->n_by_matchers = 0;
	for (uint32_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (policy_segment_has_members(segment))
			listed[n++] = (struct listed){policy_lists_of(policy, segment), i};
	}
	sort_records(listed, n, sizeof(*listed), compare_listed);
	for (size_t i = 0; i < n; i++)
		table_push(t, by_matchers, listed[i].segment);
	free(listed);
}

/* Counts the segment's resolutions that no variation of the base's record has. */
static size_t count_new_variations(const struct compiler *c, const struct segment *segment,
				   const struct policy_segment *old)
{
	struct intern known = {0};
	size_t n = 0;

	for (uint32_t i = 0; i < old->variations.n; i++) {
		const uint32_t id = c->base->variations[old->variations.at + i].resolution;
		const struct policy_resolution wanted = {.id = id}, *resolution;

		resolution = policy_search(&wanted, c->base->resolutions, c->base->n_resolutions,
					   sizeof(wanted), compare_resolutions);
		if (resolution)
			intern_add(&known, &resolution->key, sizeof(resolution->key), NULL);
	}
	for (size_t i = 0; i < segment->resolutions.n; i++) {
		struct policy_key key = resolution_key(c, segment->resolutions.at[i]);

		n += intern_find(&known, &key, sizeof(key)) == INTERN_NONE;
	}
	intern_free(&known);
	return n;
}

/* Returns true if the base's segment has no IDs left for the variations: they are never used
 * again. */
static bool is_used_up(const struct compiler *c, const struct segment *segment,
		       const struct policy_segment *old)
{
	const size_t used = old ? old->next_variation - 1 : 0, n = segment->resolutions.n;

	return old && used + n > BH_VARIATION_MAX &&
	       used + count_new_variations(c, segment, old) > BH_VARIATION_MAX;
}

static void find_segment_ids(struct tables *t)
{
	struct compiler *c = t->c;

	t->segment_index = grow_zeroed(c->segments.n, sizeof(*t->segment_index));
	t->segment_id = grow_zeroed(c->segments.n, sizeof(*t->segment_id));
	t->old = grow_zeroed(c->segments.n, sizeof(*t->old));
	for (size_t i = 0; i < c->segments.n; i++) {
		const struct segment *segment = &c->segments.at[i];

		t->segment_id[i] = lineage_segment(c->lineage, &segment->key, &t->old[i]);
		if (t->begun || !is_used_up(c, segment, t->old[i]))
			continue;
		t->segment_id[i] = lineage_new_segment(c->lineage);
		t->old[i] = NULL;
	}
}

/* A unit without a policy is a namespace's isolation; its matcher has the namespace's name. */
static void put_isolation(struct tables *t, const struct unit *unit, bytes_t *name)
{
	const struct compiler *c = t->c;
	const struct matcher *matcher = &c->matchers.at[unit->matcher];
	const char *ns = c->clauses.at[matcher->clauses].ns;

	name->n = 0;
	if (unit->policy) {
		policy_name_put(name, unit->policy);
	} else {
		bytes_put(name, "namespace ", strlen("namespace "));
		bytes_put(name, ns, strlen(ns) + 1);
	}
	table_push(t, isolations,
		   ((struct policy_isolation){
			   .policy = tables_string(t, (const char *)name->at),
			   .matcher = unit->matcher,
			   .directions = (uint32_t)unit->isolates[INGRESS] << INGRESS |
					 (uint32_t)unit->isolates[EGRESS] << EGRESS,
			   .flags = unit->policy && unit->policy->audit ? POLICY_AUDIT : 0,
		   }));
}

static int compare_isolations(const void *a, const void *b, void *strings)
{
	const struct policy_isolation *x = a, *y = b;
	int order = strcmp((const char *)strings + x->policy, (const char *)strings + y->policy);

	return order ? order : x->matcher < y->matcher ? -1 : x->matcher > y->matcher;
}

static void put_isolations(struct tables *t)
{
	bytes_t name = {0};

	for (size_t i = 0; i < t->c->units.n; i++) {
		const struct unit *unit = &t->c->units.at[i];

		if (unit->isolates[INGRESS] || unit->isolates[EGRESS])
			put_isolation(t, unit, &name);
	}
	if (t->policy->n_isolations)
		qsort_r(t->policy->isolations, t->policy->n_isolations,
			sizeof(*t->policy->isolations), compare_isolations, t->policy->strings);
	array_free(&name);
}

static int compare_host_pods(const void *a, const void *b, void *strings)
{
	const struct policy_host_pod *x = a, *y = b;

	return strcmp((const char *)strings + x->name, (const char *)strings + y->name);
}

static void put_host_pods(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;
	char *name;

	for (size_t i = 0; i < cluster->n_host_pods; i++) {
		const struct endpoint *pod = &cluster->host_pods[i];

		if (!pod->node)
			continue;
		if (asprintf(&name, "%s/%s", pod->ns_name, pod->name) < 0)
			memory_exhausted();
		table_push(t, host_pods,
			   ((struct policy_host_pod){tables_string(t, name),
						     tables_string(t, pod->node)}));
		free(name);
	}
	if (t->policy->n_host_pods)
		qsort_r(t->policy->host_pods, t->policy->n_host_pods, sizeof(*t->policy->host_pods),
			compare_host_pods, t->policy->strings);
}

static struct policy_range put_named_ports(struct tables *t, const struct endpoint *endpoint)
{
	struct policy_range range = {t->policy->n_named_ports, endpoint->n_ports};

	for (size_t i = 0; i < endpoint->n_ports; i++)
		table_push(t, named_ports,
			   ((struct policy_named_port){
				   .name = tables_string(t, endpoint->ports[i].name),
				   .port = endpoint->ports[i].port,
				   .protocol = endpoint->ports[i].protocol}));
	return range;
}

void tables_expected(struct tables *t, const struct endpoint *pod)
{
	struct policy_expected record = {
		.ns = tables_string(t, pod->ns_name),
		.name = tables_string(t, pod->name),
		.uid = tables_string(t, pod->uid),
		.flags = pod->audit ? POLICY_AUDIT : 0,
		.labels = put_labels(t, &pod->labels),
		.ports = put_named_ports(t, pod),
		.allow_source = tables_cidrs(t, pod->allow_source, pod->n_allow_source)};

	table_push(t, expected, record);
}

/* Puts what tells what the segments may reach. */
static void put_reach(struct tables *t, const uint32_t *resolution_ids)
{
	put_domains(t);
	put_classes(t);
	put_pairs(t);
	put_named(t, resolution_ids);
	put_intervals(t);
	audits_put(t);
	put_by_matchers(t);
}

void tables_extend(struct tables *t)
{
	uint32_t *resolution_ids;

	find_segment_ids(t);
	resolution_ids = put_resolutions(t);
	put_segments(t, resolution_ids);
	put_reach(t, resolution_ids);
	references_build(t->policy);
	lineage_numbers(t->c->lineage, t->policy);
	free(resolution_ids);
}

/* Begins a policy with what does not depend on its generation. */
static void begin(struct tables *t)
{
	t->policy = grow_zeroed(1, sizeof(*t->policy));
	put_settings(t);
	put_namespaces(t);
	put_matchers(t);
	put_rules(t);
	given_put(t);
	put_isolations(t);
	put_host_pods(t);
	for (size_t i = 0; i < t->c->cluster->n_expected; i++)
		tables_expected(t, &t->c->cluster->expected[i]);
	references_build(t->policy);
}

static void finish(struct tables *t, uint32_t generation)
{
	uint32_t *resolution_ids, *index = grow_zeroed(t->c->addresses.n, sizeof(*index));

	t->policy->generation = generation;
	resolution_ids = put_resolutions(t);
	put_segments(t, resolution_ids);
	put_addresses(t, resolution_ids, index);
	put_endpoints(t, index);
	put_prefixes(t);
	put_reach(t, resolution_ids);
	put_by_namespace(t);
	services_put(t);
	references_build(t->policy);
	lineage_numbers(t->c->lineage, t->policy);
	free(resolution_ids);
	free(index);
}

#define TABLE_BEGINS(type, name, moves)                                            \
	if (a->n_##name > b->n_##name ||                                           \
	    (a->n_##name && memcmp(a->name, b->name, a->n_##name * sizeof(type)))) \
		return false;

/* Returns true if each table of @b begins with that of @a. */
static bool begins_with(const struct policy *b, const struct policy *a)
{
	POLICY_TABLES(TABLE_BEGINS)
	return true;
}

#define TABLE_EQUAL(type, name, moves)                                             \
	if (a->n_##name != b->n_##name ||                                          \
	    (a->n_##name && memcmp(a->name, b->name, a->n_##name * sizeof(type)))) \
		return false;

static bool policies_equal(const struct policy *a, const struct policy *b)
{
	POLICY_TABLES(TABLE_EQUAL)
	return a->node == b->node && a->uplinks_n == b->uplinks_n &&
	       a->next_segment == b->next_segment && a->next_class == b->next_class &&
	       a->next_rule == b->next_rule && a->next_resolution == b->next_resolution &&
	       a->next_list == b->next_list;
}

#define TABLE_PUT(type, name, moves)            \
	bytes_number(&bytes, policy->n_##name); \
	bytes_put(&bytes, policy->name, policy->n_##name * sizeof(type));

/* Returns the lineage of a policy without a base. Equal inputs begin the same lineage. */
static uint64_t lineage_of(const struct policy *policy)
{
	bytes_t bytes = {0};
	struct policy_key key;

	POLICY_TABLES(TABLE_PUT)
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key.word[0];
}

#define TABLE_EMPTY(type, name, moves) t->capacity_##name = 0;

/* Empties the tables for another fill(). The caller keeps their content. */
static void empty(struct tables *t)
{
	intern_free(&t->strings);
	t->string_at.n = 0;
	POLICY_TABLES(TABLE_EMPTY)
}

void tables_free(struct tables *t)
{
	intern_free(&t->strings);
	intern_free(&t->lists);
	array_free(&t->string_at);
	array_free(&t->list_at);
	free(t->segment_index);
	free(t->segment_id);
	free(t->old);
}

struct policy *tables_build(struct compiler *c)
{
	struct tables t = {.c = c};
	const struct policy *base = c->base;
	struct policy *policy;
	bool is_base = false;

	find_segment_ids(&t);
	begin(&t);
	/* If nothing has changed, the policy is the base, whose generation its segments name. */
	if (base && begins_with(base, t.policy)) {
		finish(&t, base->generation);
		is_base = policies_equal(t.policy, base);
		if (!is_base) {
			policy_free(t.policy);
			empty(&t);
			begin(&t);
		}
	}
	if (!is_base)
		finish(&t, base ? base->generation + 1 : 1);
	policy = t.policy;
	if (!base) {
		policy->lineage = lineage_of(policy);
	} else if (is_base) {
		policy->lineage = base->lineage;
		policy->parent = base->parent;
		policy->checksum = base->checksum;
	} else {
		policy->lineage = base->lineage;
		policy->parent = base->checksum;
	}
	tables_free(&t);
	return policy;
}
