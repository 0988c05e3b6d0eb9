// SPDX-License-Identifier: GPL-2.0-only
/*
 * Equal lists of matchers → segments. An address is listed by the matchers of
 * its endpoint and by those whose CIDRs hold its region, since a CIDR may hold
 * an endpoint's addresses, or only one of them.
 */
#include "compile/budget.h"

static uint32_t add_set(struct intern *sets, numbers_t *numbers)
{
	numbers_sort(numbers);
	return intern_add(sets, numbers->at, numbers->n * sizeof(*numbers->at), NULL);
}

static bool is_listed(const uint32_t *listed, size_t n, uint32_t matcher)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (listed[middle] == matcher)
			return true;
		if (listed[middle] < matcher)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Returns the set of an address: matchers that list its endpoint by selectors, and its region by
 * CIDRs. */
static uint32_t combine(struct compiler *c, const numbers_t *listed, uint32_t region)
{
	numbers_t all = {0};
	size_t n;
	const uint32_t *by_cidr = intern_set(&c->sets, c->regions.at[region].listed, &n);
	uint32_t set;

	budget_charge_matchers(c, listed->at, listed->n, BUDGET_STEPS, 1);
	budget_charge_matchers(c, by_cidr, n, BUDGET_STEPS, 1);
	for (size_t i = 0; i < listed->n; i++)
		if (!c->matchers.at[listed->at[i]].negative ||
		    !is_listed(by_cidr, n, listed->at[i]))
			array_push(&all, listed->at[i]);
	for (size_t i = 0; i < n; i++)
		if (!c->matchers.at[by_cidr[i]].negative)
			array_push(&all, by_cidr[i]);
	set = add_set(&c->sets, &all);
	array_free(&all);
	return set;
}

static void put_sorted_keys(bytes_t *bytes, struct policy_key *keys, size_t n,
			    int (*compare)(const void *, const void *))
{
	qsort(keys, n, sizeof(*keys), compare);
	bytes_number(bytes, n);
	bytes_put(bytes, keys, n * sizeof(*keys));
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct policy_key));
}

/* Appends the keys of matchers. Their numbers depend on the rest of the cluster, the keys do
 * not. */
static void put_matchers(struct compiler *c, bytes_t *bytes, const uint32_t *matchers, size_t n)
{
	struct policy_key *keys = grow_zeroed(n, sizeof(*keys));

	for (size_t i = 0; i < n; i++)
		keys[i] = c->matchers.at[matchers[i]].key;
	put_sorted_keys(bytes, keys, n, compare_keys);
	free(keys);
}

/* Returns the class of peers that @listed makes alike; INTERN_NONE: no rule lists them. */
static uint32_t add_peer(struct compiler *c, const uint32_t *listed, size_t n, bool external,
			 bool own)
{
	numbers_t numbers = {0};
	bytes_t bytes = {0};
	bool any_own = false, fresh;
	uint32_t number = INTERN_NONE;

	array_push(&numbers, (uint32_t)own << 1 | external);
	for (size_t i = 0; i < n; i++) {
		const struct matcher *matcher = &c->matchers.at[listed[i]];

		if (!matcher->common && !(own && matcher->own))
			continue;
		any_own |= matcher->own;
		array_push(&numbers, listed[i]);
	}
	if (own ? any_own : numbers.n > 1) {
		number = intern_add(&c->peer_bytes, numbers.at, numbers.n * sizeof(*numbers.at),
				    &fresh);
		if (fresh) {
			bytes_string(&bytes, own ? "own peer" : "common peer");
			bytes_number(&bytes, external);
			put_matchers(c, &bytes, numbers.at + 1, numbers.n - 1);
			array_push(&c->peers, ((struct peer_class){.key = bytes_key(&bytes),
								   .common = INTERN_NONE,
								   .edges = INTERN_NONE,
								   .external = external}));
		}
	}
	array_free(&numbers);
	array_free(&bytes);
	return number;
}

static bool uses_domains(const struct plain_rule *rule, const struct compiler *c)
{
	return rule->common && c->matchers.at[rule->common - 1].domains;
}

/* @common: the common part; INTERN_NONE: this is a common part. */
static uint32_t add_subject(struct compiler *c, enum direction direction, uint32_t isolation,
			    uint32_t common, const numbers_t *rules)
{
	uint32_t number, head[3] = {(uint32_t)direction << 1 | isolation_enforced(isolation),
				    common, isolation};
	bytes_t bytes = {0};
	bool fresh;

	bytes_put(&bytes, head, sizeof(head));
	bytes_put(&bytes, rules->at, rules->n * sizeof(*rules->at));
	number = intern_add(&c->subject_bytes, bytes.at, bytes.n, &fresh);
	if (fresh) {
		struct subject *subject = array_add(&c->subjects);

		*subject =
			(struct subject){.direction = direction,
					 .isolation = isolation,
					 .common = common == INTERN_NONE ? number : common,
					 .rules = intern_add(&c->sets, rules->at,
							     rules->n * sizeof(*rules->at), NULL)};
		/* A rule's key includes its place in the order, so the set of keys is enough. */
		bytes.n = 0;
		bytes_number(&bytes, head[0]);
		bytes_number(&bytes, common != INTERN_NONE);
		isolation_put(c, &bytes, isolation);
		if (common != INTERN_NONE)
			bytes_put(&bytes, &c->subjects.at[common].key, sizeof(subject->key));
		for (size_t i = 0; i < rules->n; i++)
			bytes_put(&bytes, &c->rules.at[rules->at[i]].key, sizeof(subject->key));
		subject->key = bytes_key(&bytes);
		for (size_t i = 0; i < rules->n; i++)
			subject->domains |= uses_domains(&c->rules.at[rules->at[i]], c);
	}
	array_free(&bytes);
	return number;
}

/* Returns true if the rule belongs to the common part: it tells peers apart as rules of other
 * subjects do. */
static bool is_common_rule(const struct plain_rule *rule)
{
	return rule->any_peer || rule->common;
}

static uint32_t find_subject(struct compiler *c, const numbers_t *units, enum direction direction)
{
	numbers_t own = {0}, common = {0}, audited = {0};
	bool isolated = false, enforced = false;
	uint32_t number = INTERN_NONE, isolation;

	for (size_t i = 0; i < units->n; i++) {
		const struct unit *unit = &c->units.at[units->at[i]];
		const bool audit = unit->policy && unit->policy->audit;

		if (unit->isolates[direction] && audit)
			array_push(&audited, unit->policy - c->cluster->policies);
		else
			isolated |= unit->isolates[direction];
		enforced |= !audit && (unit->isolates[direction] || unit->rules[direction].n);
		if (!budget_charge(c, unit->policy, BUDGET_STEPS, unit->rules[direction].n))
			continue;
		for (size_t j = 0; j < unit->rules[direction].n; j++) {
			uint32_t rule = unit->rules[direction].at[j];

			if (is_common_rule(&c->rules.at[rule]))
				array_push(&common, rule);
			if (c->rules.at[rule].own)
				array_push(&own, rule);
		}
	}
	if (isolated || audited.n || own.n || common.n) {
		numbers_sort(&own);
		numbers_sort(&common);
		isolation = isolation_of(c, isolated, &audited);
		number = add_subject(c, direction, isolation, INTERN_NONE, &common);
		number = add_subject(c, direction, isolation, number, &own);
		c->subjects.at[number].enforced = enforced;
	}
	array_free(&audited);
	array_free(&own);
	array_free(&common);
	return number;
}

static void find_units(const struct compiler *c, const uint32_t *listed, size_t n, numbers_t *units)
{
	for (size_t i = 0; i < n; i++) {
		const struct matcher *matcher = &c->matchers.at[listed[i]];

		for (uint32_t unit = matcher->negative ? 0 : matcher->units; unit;
		     unit = c->units.at[unit - 1].next)
			array_push(units, unit - 1);
	}
	for (size_t i = 0; i < c->negative_subjects.n; i++) {
		uint32_t number = c->negative_subjects.at[i];

		if (is_listed(listed, n, number))
			continue;
		for (uint32_t unit = c->matchers.at[number].units; unit;
		     unit = c->units.at[unit - 1].next)
			array_push(units, unit - 1);
	}
	/* in the order of the policies, so that their rules are sorted */
	numbers_sort(units);
}

static void add_rule_names(struct compiler *c, const struct rule *rule, numbers_t *names)
{
	for (size_t i = 0; i < rule->n_ports; i++)
		if (rule->ports[i].kind == PORT_NAME)
			array_push(names, intern_add(&c->port_names, rule->ports[i].name,
						     strlen(rule->ports[i].name) + 1, NULL));
}

/* A segment's names are sorted, and stand in its record. */
static bool charge_names(struct compiler *c, const struct policy_object *policy, uint64_t n)
{
	return budget_charge(c, policy, BUDGET_STEPS, n) &&
	       budget_charge(c, policy, BUDGET_BYTES, n * sizeof(uint32_t));
}

/* Adds the names of a list of uses. */
static void add_used_names(struct compiler *c, uint32_t first, numbers_t *names)
{
	for (uint32_t i = first; i; i = c->name_uses.at[i - 1].next) {
		const struct name_use *use = &c->name_uses.at[i - 1];

		if (!charge_names(c, use->policy, 1))
			return;
		array_push(names, use->name);
	}
}

/* Finds the port names that rules use for destinations in the segment. */
static uint32_t find_names(struct compiler *c, const uint32_t *listed, size_t n,
			   const numbers_t *units)
{
	numbers_t names = {0};
	uint32_t set;

	for (size_t i = 0; i < units->n; i++) {
		const numbers_t *rules = &c->units.at[units->at[i]].rules[INGRESS];

		for (size_t j = 0; j < rules->n; j++) {
			const struct plain_rule *rule = &c->rules.at[rules->at[j]];

			if (rule->n_names && charge_names(c, rule->policy, rule->rule->n_ports))
				add_rule_names(c, rule->rule, &names);
		}
	}
	add_used_names(c, c->any_names, &names);
	for (size_t i = 0; i < n; i++)
		if (!c->matchers.at[listed[i]].negative)
			add_used_names(c, c->matchers.at[listed[i]].names, &names);
	for (size_t i = 0; i < c->negative_names.n; i++)
		if (!is_listed(listed, n, c->negative_names.at[i]))
			add_used_names(c, c->matchers.at[c->negative_names.at[i]].names, &names);
	set = add_set(&c->names, &names);
	array_free(&names);
	return set;
}

static void put_peer(const struct compiler *c, bytes_t *bytes, uint32_t peer)
{
	bytes_number(bytes, peer != INTERN_NONE);
	if (peer != INTERN_NONE)
		bytes_put(bytes, &c->peers.at[peer].key, sizeof(c->peers.at[peer].key));
}

/* Returns a key that changes with all that an endpoint of the segment can notice, and with
 * nothing else. */
static struct policy_key segment_key(struct compiler *c, const struct segment *segment,
				     const uint32_t *listed, size_t n_listed)
{
	bytes_t bytes = {0};
	struct policy_key key;
	size_t n;
	const uint32_t *names = intern_set(&c->names, segment->names, &n);
	const char **strings = grow_zeroed(n, sizeof(*strings));

	bytes_number(&bytes, segment->external);
	put_matchers(c, &bytes, listed, n_listed);
	put_peer(c, &bytes, segment->peer_own);
	put_peer(c, &bytes, segment->peer_common);
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		uint32_t subject = segment->subject[direction];

		bytes_number(&bytes, subject != INTERN_NONE);
		if (subject != INTERN_NONE)
			bytes_put(&bytes, &c->subjects.at[subject].key, sizeof(key));
	}
	for (size_t i = 0; i < n; i++)
		strings[i] = intern_bytes(&c->port_names, names[i], &(size_t){0});
	n = texts_sort(strings, n);
	for (size_t i = 0; i < n; i++)
		bytes_string(&bytes, strings[i]);
	key = bytes_key(&bytes);
	free(strings);
	array_free(&bytes);
	return key;
}

uint32_t segments_add(struct compiler *c, uint32_t set, bool external)
{
	uint32_t identity[2] = {external, set}, number;
	struct segment segment = {
		.listed = set, .external = external, .subject = {INTERN_NONE, INTERN_NONE}};
	numbers_t units = {0}, listed = {0};
	const uint32_t *at;
	size_t n;
	bool fresh;

	number = intern_add(&c->segment_bytes, identity, sizeof(identity), &fresh);
	if (!fresh)
		return number;
	at = intern_set(&c->sets, set, &n);
	/* a copy, since adding sets may move the first */
	for (size_t i = 0; i < n; i++)
		array_push(&listed, at[i]);
	/* the segment's record names its matchers, its classes' keys do */
	budget_charge_matchers(c, listed.at, n, BUDGET_BYTES, 3 * sizeof(*listed.at));
	if (!external) {
		find_units(c, listed.at, n, &units);
		for (int direction = INGRESS; direction <= EGRESS; direction++)
			segment.subject[direction] = find_subject(c, &units, direction);
		segment.names = find_names(c, listed.at, n, &units);
	} else {
		segment.names = intern_add(&c->names, NULL, 0, NULL);
	}
	segment.peer_own = add_peer(c, listed.at, n, external, true);
	segment.peer_common = add_peer(c, listed.at, n, external, false);
	if (segment.peer_own != INTERN_NONE)
		c->peers.at[segment.peer_own].common = segment.peer_common;
	segment.key = segment_key(c, &segment, listed.at, n);
	array_push(&c->segments, segment);
	array_free(&listed);
	array_free(&units);
	return number;
}

uint32_t segments_add_by_name(struct compiler *c, uint32_t subject, const numbers_t *common,
			      const numbers_t *own)
{
	const uint32_t isolation = c->subjects.at[subject].isolation;
	const uint32_t part = add_subject(c, EGRESS, isolation, INTERN_NONE, common);
	const uint32_t whole = add_subject(c, EGRESS, isolation, part, own);
	const uint32_t identity[2] = {UINT32_MAX, whole};
	struct segment segment = {.listed = intern_add(&c->sets, NULL, 0, NULL),
				  .external = true,
				  .names = intern_add(&c->names, NULL, 0, NULL),
				  .peer_own = INTERN_NONE,
				  .peer_common = INTERN_NONE,
				  .subject = {INTERN_NONE, whole}};
	bool fresh;
	uint32_t number = intern_add(&c->segment_bytes, identity, sizeof(identity), &fresh);

	if (!fresh)
		return number;
	c->subjects.at[whole].enforced = true;
	segment.key = segment_key(c, &segment, NULL, 0);
	array_push(&c->segments, segment);
	return number;
}

/* Returns the number of the resolution by the endpoint's ports of the segment's names; 0: none
 * has a number. */
static uint32_t find_resolution(struct compiler *c, const struct segment *segment,
				const struct endpoint *endpoint)
{
	bytes_t bytes = {0};
	uint32_t number = 0;
	size_t n;
	const uint32_t *names = intern_set(&c->names, segment->names, &n);

	if (!budget_numbers_ports(c, endpoint->ns))
		return 0;
	for (size_t i = 0; n && i < endpoint->n_ports; i++) {
		const struct named_port *port = &endpoint->ports[i];
		uint32_t name = intern_find(&c->port_names, port->name, strlen(port->name) + 1);

		if (name == INTERN_NONE || !is_listed(names, n, name))
			continue;
		/* in the form that resolution_next() reads */
		bytes_number(&bytes, strlen(port->name) + 1);
		bytes_put(&bytes, port->name, strlen(port->name) + 1);
		bytes_number(&bytes, (uint32_t)port->protocol << 16 | port->port);
	}
	if (bytes.n)
		number = intern_add(&c->resolutions, bytes.at, bytes.n, NULL);
	array_free(&bytes);
	return number;
}

/* Notes whose CIDRs have brought about the class of peers that a segment of the region is in. */
static void note_edges(struct compiler *c, uint32_t region, uint32_t segment)
{
	const uint32_t number = c->segments.at[segment].peer_common;
	struct peer_class *peer = number == INTERN_NONE ? NULL : &c->peers.at[number];

	if (peer && peer->edges == INTERN_NONE)
		peer->edges = c->regions.at[region].edges;
}

/* Notes a namespace of the endpoints in a class of peers. */
static void note_ns(struct compiler *c, uint32_t number, uint32_t ns)
{
	struct peer_class *peer = number == INTERN_NONE ? NULL : &c->peers.at[number];

	for (uint32_t i = 0; peer && i < peer->n_ns; i++)
		if (peer->ns[i] == ns)
			return;
	if (peer && peer->n_ns < PEER_NAMESPACES_MAX)
		peer->ns[peer->n_ns++] = ns;
}

/* Adds the segment of an endpoint. */
static uint32_t add_of(struct compiler *c, const struct endpoint *endpoint, const numbers_t *listed,
		       uint32_t region)
{
	const uint32_t segment = segments_add(c, combine(c, listed, region), false);

	note_ns(c, c->segments.at[segment].peer_own, endpoint->ns);
	note_ns(c, c->segments.at[segment].peer_common, endpoint->ns);
	return segment;
}

/* Endpoints in a region of so few addresses are told apart by its CIDR; in a wider one, rather by
 * what administrators' rules select. */
#define NARROW_BITS 120 /* of IPv4: 24 */

static void place_endpoint(struct compiler *c, uint32_t number, const numbers_t *listed)
{
	const struct endpoint *endpoint = &c->cluster->endpoints[number];

	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		const struct address *address = &endpoint->addresses[i];
		uint32_t region = regions_find(c, address);
		uint32_t segment = add_of(c, endpoint, listed, region);
		uint32_t resolution = find_resolution(c, &c->segments.at[segment], endpoint);

		if (c->regions.at[region].cidr.length >= NARROW_BITS)
			note_edges(c, region, segment);
		if (resolution)
			array_push(&c->segments.at[segment].resolutions, resolution);
		array_push(&c->addresses,
			   ((struct endpoint_address){*address, number, segment, resolution}));
	}
}

static void sort_resolutions(struct compiler *c)
{
	for (size_t i = 0; i < c->segments.n; i++)
		numbers_sort(&c->segments.at[i].resolutions);
}

/* An expected pod gets segments in advance for at most so many kinds of regions. */
#define EXPECTED_SETS 16
/* The expected pods of a namespace get at most so many variations of a segment. A pod without one
 * gets it when it has its address. */
#define EXPECTED_OF_NAMESPACE 64
/* the expected pods of all namespaces get at most so many variations of a segment */
#define EXPECTED_VARIATIONS (BH_VARIATION_MAX / 2)

/* A resolution of an expected pod in a segment. */
struct foreseen {
	uint32_t segment, ns, resolution;
};

typedef ARRAY(struct foreseen) foreseen_t;

static void add_listed(numbers_t *sets, uint32_t listed)
{
	for (size_t i = 0; i < sets->n; i++)
		if (sets->at[i] == listed)
			return;
	array_push(sets, listed);
}

/* Lists the regions in which an expected pod's address may be: all, or if there are too many, those
 * of other endpoints. @regions gets one of each kind. */
static void find_expected_regions(struct compiler *c, numbers_t *regions)
{
	numbers_t sets = {0};

	for (uint32_t i = 0; i < c->regions.n && sets.n <= EXPECTED_SETS; i++) {
		size_t before = sets.n;

		add_listed(&sets, c->regions.at[i].listed);
		if (sets.n > before)
			array_push(regions, i);
	}
	if (sets.n > EXPECTED_SETS) {
		sets.n = regions->n = 0;
		for (size_t i = 0; i <= c->addresses.n && sets.n < EXPECTED_SETS; i++) {
			/* region 0 is in no CIDR */
			uint32_t region = i ? regions_find(c, &c->addresses.at[i - 1].address) : 0;
			size_t before = sets.n;

			add_listed(&sets, c->regions.at[region].listed);
			if (sets.n > before)
				array_push(regions, region);
		}
	}
	array_free(&sets);
}

static void place_expected(struct compiler *c, const struct endpoint *endpoint,
			   const numbers_t *listed, const numbers_t *regions, foreseen_t *foreseen)
{
	for (size_t i = 0; i < regions->n; i++) {
		uint32_t segment = add_of(c, endpoint, listed, regions->at[i]);
		uint32_t resolution = find_resolution(c, &c->segments.at[segment], endpoint);

		if (resolution)
			array_push(foreseen,
				   ((struct foreseen){segment, endpoint->ns, resolution}));
	}
}

static int compare_foreseen(const void *a, const void *b)
{
	const struct foreseen *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->resolution < y->resolution ? -1 : x->resolution > y->resolution;
}

static int compare_by_namespace(const void *a, const void *b)
{
	const struct foreseen *x = a, *y = b;

	if (x->segment == y->segment && x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return compare_foreseen(a, b);
}

/* Leaves each namespace its part of a segment's variations. */
static void keep_shares(foreseen_t *foreseen)
{
	size_t kept = 0, n = 0;

	array_sort(foreseen, compare_by_namespace);
	for (size_t i = 0; i < foreseen->n; i++) {
		const struct foreseen at = foreseen->at[i];
		const struct foreseen *last = kept ? &foreseen->at[kept - 1] : NULL;

		if (last && !compare_by_namespace(last, &at))
			continue;
		n = last && last->segment == at.segment && last->ns == at.ns ? n + 1 : 1;
		if (n <= EXPECTED_OF_NAMESPACE)
			foreseen->at[kept++] = at;
	}
	foreseen->n = kept;
}

/* Gives the segments the variations of expected pods, behind those that endpoints need. */
static void add_foreseen(struct compiler *c, foreseen_t *foreseen)
{
	keep_shares(foreseen);
	array_sort(foreseen, compare_foreseen);
	for (size_t i = 0, end; i < foreseen->n; i = end) {
		numbers_t *resolutions = &c->segments.at[foreseen->at[i].segment].resolutions;
		const size_t n = resolutions->n;

		for (end = i;
		     end < foreseen->n && foreseen->at[end].segment == foreseen->at[i].segment;
		     end++)
			if (resolutions->n < EXPECTED_VARIATIONS &&
			    !is_listed(resolutions->at, n, foreseen->at[end].resolution) &&
			    (end == i ||
			     compare_foreseen(&foreseen->at[end - 1], &foreseen->at[end])))
				array_push(resolutions, foreseen->at[end].resolution);
		numbers_sort(resolutions);
	}
}

static void expected_build(struct compiler *c, struct members *members)
{
	numbers_t listed = {0}, regions = {0};
	foreseen_t foreseen = {0};
	size_t before = c->segments.n;

	if (c->cluster->n_expected)
		find_expected_regions(c, &regions);
	for (size_t i = 0; i < c->cluster->n_expected; i++) {
		const struct endpoint *pod = &c->cluster->expected[i];

		if (i && pod->ns != pod[-1].ns)
			before = c->segments.n;
		if (c->segments.n - before >= EXPECTED_SEGMENTS ||
		    c->segments.n >= SEGMENTS_MAX / 2)
			continue;
		listed.n = 0;
		budget_strangers(c, &pod->ns, 1);
		members_list(members, pod, &listed);
		place_expected(c, pod, &listed, &regions, &foreseen);
	}
	budget_strangers(c, NULL, 0);
	add_foreseen(c, &foreseen);
	array_free(&listed);
	array_free(&regions);
	array_free(&foreseen);
}

void segments_begin(struct compiler *c)
{
	intern_add(&c->resolutions, NULL, 0, NULL);
	for (uint32_t i = 0; i < c->matchers.n; i++)
		if (c->matchers.at[i].negative && c->matchers.at[i].names)
			array_push(&c->negative_names, i);
}

static void place_endpoints(struct compiler *c, struct members *members)
{
	numbers_t listed = {0};

	for (uint32_t i = 0; i < c->cluster->n_endpoints; i++) {
		listed.n = 0;
		budget_strangers(c, &c->cluster->endpoints[i].ns, 1);
		members_list(members, &c->cluster->endpoints[i], &listed);
		place_endpoint(c, i, &listed);
	}
	budget_strangers(c, NULL, 0);
	array_free(&listed);
}

void segments_place(struct compiler *c)
{
	struct members *members = members_open(c);

	place_endpoints(c, members);
	sort_resolutions(c);
	expected_build(c, members);
	for (uint32_t i = 0; i < c->regions.n; i++) {
		c->regions.at[i].segment = segments_add(c, c->regions.at[i].listed, true);
		note_edges(c, i, c->regions.at[i].segment);
	}
	members_close(members);
}
