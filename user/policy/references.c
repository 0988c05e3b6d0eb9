// SPDX-License-Identifier: GPL-2.0-only
#include "policy/references.h"

#define LAYOUT(type, name, moves)                                                                \
	[BLOB_TABLE_##name] = {offsetof(struct policy, name), offsetof(struct policy, n_##name), \
			       sizeof(type)},

const struct table_layout table_layouts[BLOB_TABLES] = {POLICY_TABLES(LAYOUT)};

#define REFERS(kind, table, offset, target)                                        \
	{                                                                          \
		BLOB_TABLE_##table, BLOB_TABLE_##target, REFERS_TO_##kind, offset, \
	}
#define RECORD(table, field, target) REFERS(RECORD, table, FIELD_AT(table, field), target)
#define RANGE(table, field, target) REFERS(RANGE, table, FIELD_AT(table, field), target)
#define PORTS(table, field) REFERS(PORTS, table, FIELD_AT(table, field), intervals)
/* References of a table of indexes. */
#define INDEXES(table, target) REFERS(RECORD, table, 0, target)

static const struct reference references[] = {
	INDEXES(texts, strings),
	INDEXES(numbers, matchers),
	INDEXES(endpoint_addresses, addresses),
	RECORD(requirements, key, strings),
	RANGE(requirements, values, texts),
	RECORD(clauses, ns, strings),
	RANGE(clauses, namespaces, requirements),
	RANGE(clauses, pods, requirements),
	RANGE(clauses, except, cidrs),
	RANGE(matchers, clauses, clauses),
	RECORD(namespaces, name, strings),
	RANGE(namespaces, labels, texts),
	RECORD(nodes, name, strings),
	RANGE(nodes, addresses, node_addresses),
	RANGE(nodes, labels, texts),
	RECORD(endpoints, ns, namespaces),
	RECORD(endpoints, name, strings),
	RECORD(endpoints, node, strings),
	RECORD(endpoints, interface, strings),
	RANGE(endpoints, addresses, endpoint_addresses),
	RANGE(endpoints, allow_source, cidrs),
	RECORD(addresses, endpoint, endpoints),
	RECORD(addresses, segment, segments),
	RECORD(prefixes, segment, segments),
	RECORD(domains, name, strings),
	RECORD(domains, segment, segments),
	RECORD(rules, policy, strings),
	RECORD(rules, name, strings),
	RANGE(audits, policies, texts),
	RECORD(given, ns, strings),
	RECORD(given, name, strings),
	RANGE(given, namespaces, requirements),
	RANGE(given, pods, requirements),
	RANGE(given, rules[0], given_rules),
	RANGE(given, rules[1], given_rules),
	RECORD(given_rules, name, strings),
	RANGE(given_rules, peers, given_peers),
	RANGE(given_rules, ports, given_ports),
	RANGE(given_peers, namespaces, requirements),
	RANGE(given_peers, pods, requirements),
	RANGE(given_peers, nodes, requirements),
	RANGE(given_peers, keys, texts),
	RANGE(given_peers, except, cidrs),
	RECORD(given_ports, name, strings),
	RECORD(isolations, policy, strings),
	RECORD(isolations, matcher, matchers),
	RECORD(host_pods, name, strings),
	RECORD(host_pods, node, strings),
	RECORD(expected, ns, strings),
	RECORD(expected, name, strings),
	RECORD(expected, uid, strings),
	RANGE(expected, labels, texts),
	RANGE(expected, ports, named_ports),
	RANGE(expected, allow_source, cidrs),
	RANGE(segments, in, numbers),
	RANGE(segments, not_in, numbers),
	RANGE(segments, names, texts),
	RANGE(segments, variations, variations),
	PORTS(segments, fallback[0][0]),
	PORTS(segments, fallback[0][1]),
	PORTS(segments, fallback[1][0]),
	PORTS(segments, fallback[1][1]),
	RANGE(resolutions, ports, named_ports),
	RECORD(named_ports, name, strings),
	PORTS(pairs, ports),
	PORTS(named, ports),
	INDEXES(by_namespace, matchers),
	INDEXES(by_matchers, segments),
	RECORD(services, ns, strings),
	RECORD(services, name, strings),
	RANGE(services, ports, service_ports),
	RECORD(service_ports, service, services),
	RANGE(service_ports, backends, backends),
	RECORD(backends, node, strings),
	RECORD(frontends, service_port, service_ports),
};

#define N_REFERENCES (sizeof(references) / sizeof(*references))

struct references references_of(enum blob_table table)
{
	size_t first = 0, end;

	while (first < N_REFERENCES && references[first].table != table)
		first++;
	end = first;
	while (end < N_REFERENCES && references[end].table == table)
		end++;
	return (struct references){references + first, end - first};
}

bool reference_range(const struct reference *reference, const void *record,
		     struct policy_range *range)
{
	const uint32_t *at = (const void *)((const char *)record + reference->offset);
	const struct bh_ports_ref *ports = (const void *)at;

	_Static_assert(!offsetof(struct policy_range, at) && !offsetof(struct bh_ports_ref, at),
		       "a reference begins with where it leads");
	switch (reference->kind) {
	case REFERS_TO_RECORD:
		*range = (struct policy_range){*at, 1};
		return true;
	case REFERS_TO_RANGE:
		*range = *(const struct policy_range *)at;
		return range->n;
	case REFERS_TO_PORTS:
		break;
	}
	*range = (struct policy_range){ports->at, ports->count};
	return ports->count && ports->count != BH_PORTS_NAMED;
}

static void move(const struct reference *reference, void *record, uint32_t at)
{
	*(uint32_t *)((char *)record + reference->offset) = at;
}

bool references_move(const struct references *own, void *record, reference_place *place,
		     const void *data)
{
	for (size_t i = 0; i < own->n; i++) {
		struct policy_range range;
		uint32_t to;

		if (!reference_range(&own->at[i], record, &range))
			continue;
		to = place(data, own->at[i].target, range.at);
		if (to == UINT32_MAX)
			return false;
		move(&own->at[i], record, to);
	}
	return true;
}

bool references_fit(const struct references *own, const void *record, const uint32_t n[BLOB_TABLES])
{
	for (size_t i = 0; i < own->n; i++) {
		const struct reference *reference = &own->at[i];
		const uint32_t n_target = n[reference->target];
		struct policy_range range;

		if (!reference_range(reference, record, &range) &&
		    reference->kind == REFERS_TO_PORTS)
			continue;
		if (range.at > n_target || range.n > n_target - range.at)
			return false;
	}
	return true;
}

void references_build(struct policy *policy)
{
	for (size_t k = 0; k < N_REFERENCES; k++) {
		const struct reference *reference = &references[k];
		struct policy_range range;

		for (size_t i = 0; i < table_count(policy, reference->table) &&
				   reference->kind == REFERS_TO_RANGE;
		     i++) {
			void *record = (void *)table_record(policy, reference->table, i);

			if (!reference_range(reference, record, &range))
				move(reference, record, 0);
		}
	}
}
