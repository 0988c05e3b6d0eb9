// SPDX-License-Identifier: GPL-2.0-only
/* Writes the HTML page: graph.html with the policies' tables in it, as JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/graph.h"
#include "cmd/json_output.h"
#include "cmd/matcher.h"
#include "maps/segment.h"
#include "model/protocol.h"

/* The text in graph.html that the tables replace. */
#define MARK "/*DATA*/"

static const char page[] =
#include "graph_html.h"
	;

static struct json_object *numbers_json(const uint32_t *at, size_t n)
{
	struct json_object *array = json_object_new_array_ext(n);

	for (size_t i = 0; i < n; i++)
		json_object_array_add(array, json_object_new_uint64(at[i]));
	return array;
}

static struct json_object *ref_json(struct bh_ports_ref ref)
{
	return numbers_json((const uint32_t[]){ref.at, ref.count}, 2);
}

/* Arrays by direction are in the order of enum bh_direction: ingress first. */
static struct json_object *segment_json(const struct policy *policy,
					const struct policy_segment *segment, struct text *text)
{
	struct json_object *object = json_object_new_object();
	struct json_object *fallback = json_object_new_array();

	json_add_number(object, "id", segment->id);
	json_add_bool(object, "external", segment->flags & BH_SEGMENT_EXTERNAL);
	json_add(object, "policy",
		 numbers_json((const uint32_t[]){!!(segment->flags & BH_SEGMENT_POLICY(INGRESS)),
						 !!(segment->flags & BH_SEGMENT_POLICY(EGRESS))},
			      2));
	json_add(object, "peer",
		 numbers_json((const uint32_t[]){segment->peer_own, segment->peer_common}, 2));
	json_add(object, "own", numbers_json(segment->own, 2));
	json_add(object, "common", numbers_json(segment->common, 2));
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		for (int external = 0; external < 2; external++)
			json_object_array_add(fallback, ref_json(segment->fallback[d][external]));
	json_add(object, "fallback", fallback);
	json_add(object, "in", matchers_json(policy, segment->in, text));
	return object;
}

static struct json_object *segments_json(const struct policy *policy, struct text *text)
{
	struct json_object *array = json_object_new_array_ext(policy->n_segments);

	for (size_t i = 0; i < policy->n_segments; i++)
		json_object_array_add(array, segment_json(policy, &policy->segments[i], text));
	return array;
}

/* Each pair is four consecutive numbers. */
static struct json_object *pairs_json(const struct policy *policy)
{
	struct json_object *array = json_object_new_array_ext(4 * policy->n_pairs);

	for (size_t i = 0; i < policy->n_pairs; i++) {
		const struct policy_pair *pair = &policy->pairs[i];
		const uint32_t row[] = {pair->subject, pair->peer, pair->ports.at,
					pair->ports.count};

		for (int k = 0; k < 4; k++)
			json_object_array_add(array, json_object_new_uint64(row[k]));
	}
	return array;
}

static struct json_object *named_json(const struct policy *policy)
{
	struct json_object *array = json_object_new_array_ext(4 * policy->n_named);

	for (size_t i = 0; i < policy->n_named; i++) {
		const struct policy_named *named = &policy->named[i];
		const uint32_t row[] = {named->list, named->resolution, named->ports.at,
					named->ports.count};

		for (int k = 0; k < 4; k++)
			json_object_array_add(array, json_object_new_uint64(row[k]));
	}
	return array;
}

/* Each record is three consecutive numbers: flow_class_index.names, class of the subject, segment
 * by the name. */
static struct json_object *domains_json(const struct policy *policy)
{
	struct json_object *array = json_object_new_array_ext(3 * policy->n_domains);
	size_t first = 0, next = 0;

	for (size_t i = 0; i < policy->n_domains; i++) {
		const struct policy_domain *domain = &policy->domains[i];

		if (i == next) {
			first = i;
			next = policy_domain_next(policy, i);
		}
		json_object_array_add(array, json_object_new_uint64(1 + first));
		json_object_array_add(array, json_object_new_uint64(domain->class));
		json_object_array_add(array, json_object_new_uint64(domain->segment));
	}
	return array;
}

static struct json_object *rules_json(const struct policy *policy)
{
	struct json_object *object = json_object_new_object();
	char key[16], text[DECISION_TEXT];

	for (size_t i = 0; i < policy->n_rules; i++) {
		snprintf(key, sizeof(key), "%u", policy->rules[i].id);
		json_add_text(object, key,
			      rule_print(policy, &policy->rules[i], text, sizeof(text)));
	}
	return object;
}

static struct json_object *policy_json(const struct policy *policy, struct text *text)
{
	struct json_object *object = json_object_new_object();

	json_add_number(object, "generation", policy->generation);
	json_add(object, "segments", segments_json(policy, text));
	json_add(object, "pairs", pairs_json(policy));
	json_add(object, "intervals",
		 numbers_json((const uint32_t *)policy->intervals,
			      policy->n_intervals * sizeof(*policy->intervals) / sizeof(uint32_t)));
	json_add(object, "named", named_json(policy));
	json_add(object, "domains", domains_json(policy));
	json_add(object, "rules", rules_json(policy));
	return object;
}

/* Lists the nodes of the kind's members, each once; "" for a member whose node is unknown. */
static struct json_object *nodes_json(const struct flow_class *kind, size_t policy)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < kind->n; i++) {
		const char *node = kind->members[i].node[policy];
		size_t n = json_object_array_length(array), k = 0;

		while (k < n &&
		       strcmp(node, json_object_get_string(json_object_array_get_idx(array, k))))
			k++;
		if (k == n)
			json_append_text(array, node);
	}
	return array;
}

static struct json_object *kind_json(const struct flow_class *kind, size_t n_policies)
{
	struct json_object *object = json_object_new_object();
	struct json_object *places = json_object_new_array();
	struct json_object *members = json_object_new_array_ext(kind->n);
	char name[1200];

	for (size_t i = 0; i < n_policies; i++) {
		struct flow_class_index place = kind->members->place[i];

		json_object_array_add(
			places,
			place.segment == FLOW_CLASS_ABSENT || place.segment == FLOW_CLASS_NOWHERE
				? NULL
				: numbers_json((const uint32_t[]){place.segment, place.resolution,
								  place.names},
					       3));
	}
	for (size_t i = 0; i < kind->n; i++)
		json_append_text(members, kind->members[i].end.name);
	json_add_text(object, "name", flow_class_print(kind, name, sizeof(name)));
	json_add_bool(object, "external", kind->members->external);
	json_add_bool(object, "node", kind->members->is_node);
	json_add_bool(object, "domain", kind->members->end.domain);
	json_add(object, "families",
		 numbers_json((const uint32_t[]){kind->has[IPV4], kind->has[IPV6]}, FAMILIES));
	json_add(object, "nodes", nodes_json(kind, n_policies - 1));
	json_add(object, "places", places);
	json_add(object, "members", members);
	return object;
}

/* Lists {"service", "port", "to", "kind"} for each kind of backend behind each port of a Service.
 * @policy is the policy at index @nth of those that @kinds were made from. */
static struct json_object *services_json(const struct policy *policy,
					 const struct flow_classes *kinds, size_t nth)
{
	struct json_object *array = json_object_new_array();
	struct graph_backend *backends;
	size_t n;

	if (graph_backends(policy, kinds, nth, &backends, &n))
		return array;
	for (size_t i = 0; i < n; i++) {
		const struct policy_service_port *port = backends[i].port;
		const struct flow flow = {.protocol = port->protocol, .port = port->port};
		struct json_object *object = json_object_new_object();
		char name[SERVICE_NAME_TEXT], text[FLOW_TEXT];

		json_add_text(object, "service",
			      service_name(policy, &policy->services[port->service], name));
		json_add_text(object, "port", port_print(&flow, text));
		json_add_number(object, "to", backends[i].to_port);
		json_add_number(object, "kind", backends[i].kind);
		json_object_array_add(array, object);
	}
	free(backends);
	return array;
}

/* Writes JSON inside a script element, which "</" would end, and which "<!--" and then "<script"
 * would keep from its end. */
static void put_json(FILE *to, struct json_object *root)
{
	const char *text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);

	/* a "<" is in strings alone */
	for (; *text; text++)
		if (*text == '<')
			fputs("\\u003c", to);
		else
			putc(*text, to);
}

int graph_page(FILE *to, const struct policy *const policies[], size_t n,
	       const struct flow_classes *kinds)
{
	struct json_object *root = json_object_new_object(), *array = json_object_new_array();
	const char *mark = strstr(page, MARK);
	struct text text = {printbuf_new()};

	if (!text.buffer) {
		json_object_put(root);
		json_object_put(array);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		json_object_array_add(array, policy_json(policies[i], &text));
	json_add(root, "policies", array);
	array = json_object_new_array();
	for (size_t i = 0; i < kinds->n; i++)
		json_object_array_add(array, kind_json(&kinds->at[i], n));
	json_add(root, "kinds", array);
	array = json_object_new_array();
	for (size_t i = 0; i < n; i++)
		json_object_array_add(array, services_json(policies[i], kinds, i));
	json_add(root, "services", array);
	array = json_object_new_array();
	for (size_t i = 0; i < BH_PROTOCOLS; i++)
		json_append_text(array, protocols[i].name);
	json_add(root, "protocols", array);
	fwrite(page, 1, mark - page, to);
	put_json(to, root);
	fputs(mark + strlen(MARK), to);
	json_object_put(root);
	printbuf_free(text.buffer);
	return 0;
}
