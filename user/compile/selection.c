// SPDX-License-Identifier: GPL-2.0-only
#include "compile/selection.h"

#include <errno.h>
#include <string.h>

#include "compile/compiler.h"
#include "policy/given.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct selection {
	const struct policy *policy;
	struct cluster cluster;
	bool has_cluster;
	struct compiler c; /* has matchers, units and rules */
};

/* Returns the segment of an address; NULL: it has none. */
static const struct policy_segment *segment_of(const struct selection *s,
					       const struct address *address)
{
	const struct policy *policy = s->policy;
	const struct policy_address *found = policy_address_find(policy, address);

	if (!found)
		return policy_prefix_find(policy, address);
	return found->segment == POLICY_NOWHERE ? NULL : &policy->segments[found->segment];
}

static bool has_number(const struct policy *policy, struct policy_range range, uint32_t number)
{
	for (uint32_t i = 0; i < range.n; i++)
		if (policy->numbers[range.at + i] == number)
			return true;
	return false;
}

/* Returns true if a matcher matches the ends in a segment. */
static bool matches(const struct selection *s, uint32_t matcher,
		    const struct policy_segment *segment)
{
	if (s->c.matchers.at[matcher].negative && !(segment->flags & BH_SEGMENT_EXTERNAL))
		return !has_number(s->policy, segment->not_in, matcher);
	return has_number(s->policy, segment->in, matcher);
}

/* Returns the ports of an address' variation: those that rules about its segment name. */
static struct policy_range named_ports_of(const struct policy *policy,
					  const struct policy_address *address)
{
	const struct policy_segment *segment;
	uint32_t id = 0;

	if (address->segment == POLICY_NOWHERE || !address->variation)
		return (struct policy_range){0};
	segment = &policy->segments[address->segment];
	for (uint32_t i = 0; i < segment->variations.n; i++)
		if (policy->variations[segment->variations.at + i].id == address->variation)
			id = policy->variations[segment->variations.at + i].resolution;
	for (size_t i = 0; id && i < policy->n_resolutions; i++)
		if (policy->resolutions[i].id == id)
			return policy->resolutions[i].ports;
	return (struct policy_range){0};
}

static bool has_port(const struct endpoint *endpoint, const struct named_port *port)
{
	for (size_t i = 0; i < endpoint->n_ports; i++)
		if (!strcmp(endpoint->ports[i].name, port->name) &&
		    endpoint->ports[i].protocol == port->protocol &&
		    endpoint->ports[i].port == port->port)
			return true;
	return false;
}

static const struct policy_address *address_at(const struct policy *policy,
					       const struct policy_endpoint *endpoint, uint32_t i)
{
	return &policy->addresses[policy->endpoint_addresses[endpoint->addresses.at + i]];
}

/* Unites the ports of the addresses: a rule with a CIDR names ports at some of them only. */
static void fill_ports(struct selection *s, const struct policy_endpoint *from,
		       struct endpoint *endpoint)
{
	const struct policy *policy = s->policy;
	size_t capacity = 0;

	for (uint32_t i = 0; i < from->addresses.n; i++)
		capacity += named_ports_of(policy, address_at(policy, from, i)).n;
	endpoint->ports =
		obstack_alloc(&s->cluster.memory, (capacity + 1) * sizeof(*endpoint->ports));
	for (uint32_t i = 0; i < from->addresses.n; i++) {
		const struct policy_range range =
			named_ports_of(policy, address_at(policy, from, i));

		for (uint32_t k = 0; k < range.n; k++) {
			const struct policy_named_port *named = &policy->named_ports[range.at + k];
			const struct named_port port = {
				given_string(policy_lazy(policy), &s->cluster, named->name),
				named->protocol, named->port};

			if (!has_port(endpoint, &port))
				endpoint->ports[endpoint->n_ports++] = port;
		}
	}
}

static void fill_endpoint(struct selection *s, const struct policy_endpoint *from)
{
	const struct policy *policy = s->policy;
	struct endpoint *endpoint = cluster_add_endpoint(&s->cluster);

	endpoint->ns = from->ns;
	endpoint->ns_name = s->cluster.namespaces[from->ns].name;
	endpoint->name = given_string(policy_lazy(policy), &s->cluster, from->name);
	if (from->node)
		endpoint->node = given_string(policy_lazy(policy), &s->cluster, from->node);
	endpoint->addresses = obstack_alloc(&s->cluster.memory,
					    (from->addresses.n + 1) * sizeof(*endpoint->addresses));
	for (uint32_t i = 0; i < from->addresses.n; i++)
		endpoint->addresses[endpoint->n_addresses++] = address_at(policy, from, i)->address;
	fill_ports(s, from, endpoint);
}

static int open_selection(void *data)
{
	struct selection *s = data;

	obstack_init(&s->c.memory);
	cluster_init(&s->cluster);
	s->has_cluster = true;
	given_fill(policy_lazy(s->policy), &s->cluster);
	s->c.cluster = &s->cluster;
	rules_build(&s->c);
	if (s->c.matchers.n != s->policy->n_matchers)
		return -EILSEQ;
	for (size_t i = 0; i < s->policy->n_endpoints; i++)
		fill_endpoint(s, &s->policy->endpoints[i]);
	return 0;
}

int selection_open(const struct policy *policy, struct selection **selection)
{
	struct selection *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->policy = policy;
	error = memory_guarded(open_selection, s);
	if (error)
		selection_close(s);
	else
		*selection = s;
	return error;
}

void selection_close(struct selection *s)
{
	if (!s)
		return;
	compiler_free(&s->c);
	if (s->has_cluster)
		cluster_free(&s->cluster);
	free(s);
}

const struct cluster *selection_cluster(const struct selection *s)
{
	return &s->cluster;
}

bool selection_knows(const struct selection *s, const struct address *address)
{
	return segment_of(s, address);
}

bool selection_selects(const struct selection *s, const struct policy_object *object,
		       const struct address *subject)
{
	const struct policy_segment *segment = segment_of(s, subject);

	for (size_t i = 0; segment && i < s->c.units.n; i++)
		if (s->c.units.at[i].policy == object &&
		    matches(s, s->c.units.at[i].matcher, segment))
			return true;
	return false;
}

static bool has_name(const struct selection *s, const struct plain_rule *plain, const char *name)
{
	const struct matcher *matcher = &s->c.matchers.at[plain->common - 1];

	for (uint32_t i = 0; i < matcher->n_clauses; i++) {
		const struct clause *clause = &s->c.clauses.at[matcher->clauses + i];

		if (clause->kind == CLAUSE_DOMAIN && !strcmp(clause->ns, name))
			return true;
	}
	return false;
}

/* A rule whose peers relate to the subject's namespace is several plain rules. @name: by which the
 * subject has learned the other end; NULL: by none. */
static bool plain_lists(const struct selection *s, const struct plain_rule *plain,
			const struct policy_segment *other, const char *name)
{
	return plain->any_peer || (plain->own && matches(s, plain->own - 1, other)) ||
	       (plain->common && matches(s, plain->common - 1, other)) ||
	       (plain->by_name && name && has_name(s, plain, name));
}

bool selection_lists(const struct selection *s, const struct policy_object *object,
		     const struct rule *rule, const struct flow *flow, enum direction end)
{
	const struct policy_segment *from =
		segment_of(s, end == INGRESS ? &flow->destination : &flow->source);
	const struct policy_segment *to =
		segment_of(s, end == INGRESS ? &flow->source : &flow->destination);
	const char *name = end == EGRESS ? flow->name : NULL;

	for (size_t i = 0; from && to && i < s->c.units.n; i++) {
		const struct unit *unit = &s->c.units.at[i];

		if (unit->policy != object || !matches(s, unit->matcher, from))
			continue;
		for (int direction = INGRESS; direction <= EGRESS; direction++)
			for (size_t k = 0; k < unit->rules[direction].n; k++) {
				const struct plain_rule *plain =
					&s->c.rules.at[unit->rules[direction].at[k]];

				if (plain->rule == rule && plain_lists(s, plain, to, name))
					return true;
			}
	}
	return false;
}
