/* SPDX-License-Identifier: GPL-2.0-only */
/* `show segments`: the members of each segment, the segments that their policies let in, and the
 * segments that they reach. */
#include <stdio.h>
#include <string.h>

#include "cmd/matcher.h"
#include "cmd/show.h"
#include "policy/verdicts.h"
#include "maps/segment.h"

/* Lists endpoints by name, each once although it may have several addresses, then prefixes. */
static struct json_object *json_members(const struct policy *policy, uint32_t segment,
					struct text *text)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < policy->n_endpoints; i++) {
		struct policy_range addresses = policy->endpoints[i].addresses;
		bool member = false;

		for (uint32_t k = 0; k < addresses.n; k++)
			member |= policy->addresses[policy->endpoint_addresses[addresses.at + k]]
					  .segment == segment;
		if (!member)
			continue;
		show_endpoint_name(text, policy, &policy->endpoints[i]);
		json_append_text(array, text->buffer->buf);
	}
	for (size_t i = 0; i < policy->n_prefixes; i++) {
		if (policy->prefixes[i].segment != segment)
			continue;
		text_clear(text);
		prefix_print(text, &policy->prefixes[i].address, policy->prefixes[i].length);
		json_append_text(array, text->buffer->buf);
	}
	return array;
}

/* Adds the ports that @subject lets @peer use, for each variation of the destination. */
static void add_reachable(struct json_object *array, const struct show *show,
			  const struct policy_segment *subject, const struct policy_segment *peer,
			  enum direction direction)
{
	const struct policy *policy = show->policy;
	const struct policy_segment *destination = direction == INGRESS ? subject : peer;

	/* Variation 0 numbers none of the port names. Every segment may have endpoints of variation
	 * 0. */
	for (uint32_t i = 0; i <= destination->variations.n; i++) {
		const struct policy_variation *variation =
			i ? &policy->variations[destination->variations.at + i - 1] : NULL;
		struct verdicts verdicts = verdicts_of(policy, subject, peer, direction,
						       variation ? variation->resolution : 0);
		struct json_object *entry, *ports;

		if (!verdicts_allow_any(&verdicts) || !show_has_port(show, &verdicts))
			continue;
		entry = json_object_new_object();
		ports = json_object_new_array();
		json_add_number(entry, "segment", peer->id);
		json_add_number(entry, "variation", variation ? variation->id : 0);
		verdicts_each_allowed(&verdicts, json_append_visit, ports);
		json_add(entry, "ports", ports);
		json_object_array_add(array, entry);
	}
}

/* Returns null if no policy selects the segment in this direction, an empty array if the
 * segment reaches or admits no peer. */
static struct json_object *json_reach(const struct show *show, const struct policy_segment *subject,
				      enum direction direction)
{
	const struct policy *policy = show->policy;
	const bool *meant = direction == INGRESS ? show->from : show->to;
	struct json_object *array;

	if (!(subject->flags & BH_SEGMENT_POLICY(direction)))
		return NULL;
	array = json_object_new_array();
	for (size_t i = 0; i < policy->n_segments; i++)
		if (policy_segment_is_peer(&policy->segments[i]) && show_has(meant, i))
			add_reachable(array, show, subject, &policy->segments[i], direction);
	return array;
}

static struct json_object *json_names(const struct policy *policy,
				      const struct policy_segment *segment)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < segment->names.n; i++)
		json_append_text(array,
				 policy_string(policy, policy->texts[segment->names.at + i]));
	return array;
}

static struct json_object *json_domain_names(const struct policy *policy, size_t segment)
{
	struct json_object *array = json_object_new_array();
	uint32_t last = 0;

	for (size_t i = 0; i < policy->n_domains; i++) {
		const struct policy_domain *domain = &policy->domains[i];

		if (domain->segment != segment || domain->name == last)
			continue;
		json_append_text(array, policy_string(policy, domain->name));
		last = domain->name;
	}
	return array;
}

/* Lists the IDs of the segments that are evaluated as this one. */
static struct json_object *json_subjects(const struct policy *policy, size_t by_domain)
{
	struct json_object *array = json_object_new_array();
	size_t record = 0;

	/* all names of a segment are of the same subjects */
	while (policy->domains[record].segment != by_domain)
		record++;
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (policy_segment_has_members(segment) &&
		    policy_by_domain(policy, policy_string(policy, policy->domains[record].name),
				     segment) == &policy->segments[by_domain])
			json_object_array_add(array, json_object_new_uint64(segment->id));
	}
	return array;
}

/* Returns true if the options select the segment. --from and --to select the segments at either
 * end; json_reach() then lists only peers at the other end. */
static bool is_meant(const struct show *show, size_t index)
{
	bool ends = !show->from && !show->to;

	ends |= show->from && show->from[index];
	ends |= show->to && show->to[index];
	return ends && show_has(show->either, index);
}

/* Returns NULL for a segment that is unused, or that the options leave out. */
static struct json_object *json_segment(const struct show *show, size_t index, struct text *text)
{
	const struct policy *policy = show->policy;
	const struct policy_segment *segment = &policy->segments[index];
	bool external = segment->flags & BH_SEGMENT_EXTERNAL;
	struct json_object *object;

	if (segment->delete_generation || !is_meant(show, index))
		return NULL;
	object = json_object_new_object();
	json_add_number(object, "id", segment->id);
	json_add_bool(object, "external", external);
	json_add_number(object, "create_generation", segment->create_generation);
	json_add(object, "in", matchers_json(policy, segment->in, text));
	json_add(object, "not_in", matchers_json(policy, segment->not_in, text));
	json_add(object, "members", json_members(policy, index, text));
	json_add(object, "port_names", json_names(policy, segment));
	if (policy_segment_is_by_domain(segment)) {
		json_add(object, "domain_names", json_domain_names(policy, index));
		json_add(object, "subjects", json_subjects(policy, index));
	} else if (external) {
		return object;
	} else {
		json_add(object, "ingress", json_reach(show, segment, INGRESS));
	}
	json_add(object, "egress", json_reach(show, segment, EGRESS));
	/* these options choose peers and ports: the lists are only a part */
	if (show->from || show->to || show->filter->n_ports)
		json_add_bool(object, "part", true);
	return object;
}

static void print_list(const char *title, struct json_object *array)
{
	size_t n = json_object_array_length(array);

	for (size_t i = 0; i < n; i++)
		printf("  %-9s %s\n", i ? "" : title,
		       json_object_get_string(json_object_array_get_idx(array, i)));
}

static void print_ports(struct json_object *entry, struct text *text)
{
	text_join(text, json_object_object_get(entry, "ports"));
	printf("segment %s: %s", json_get_text(entry, "segment"), text->buffer->buf);
	if (strcmp(json_get_text(entry, "variation"), "0"))
		printf(" (variation %s)", json_get_text(entry, "variation"));
	putchar('\n');
}

static void print_reach(struct text *text, const char *direction, const char *word,
			struct json_object *array, bool part)
{
	if (!array) {
		printf("  %-9s free\n", direction);
		return;
	}
	if (!json_object_array_length(array))
		printf("  %-9s %s\n", direction,
		       part ? "none that the filter selects" : "isolated");
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		printf("  %-9s %s ", i ? "" : direction, word);
		print_ports(json_object_array_get_idx(array, i), text);
	}
}

static void print_segment(struct json_object *object, struct text *text)
{
	bool external = json_object_get_boolean(json_object_object_get(object, "external")), part;
	struct json_object *names = json_object_object_get(object, "domain_names");

	printf("segment %s%s, since generation %s\n", json_get_text(object, "id"),
	       names	  ? " by domain names"
	       : external ? " of addresses"
			  : "",
	       json_get_text(object, "create_generation"));
	print_list("in", json_object_object_get(object, "in"));
	print_list("not in", json_object_object_get(object, "not_in"));
	print_list("members", json_object_object_get(object, "members"));
	print_list("ports", json_object_object_get(object, "port_names"));
	part = json_object_get_boolean(json_object_object_get(object, "part"));
	if (names) {
		print_list("names", names);
		print_list("of", json_object_object_get(object, "subjects"));
		print_reach(text, "egress", "to", json_object_object_get(object, "egress"), part);
	}
	if (external)
		return;
	print_reach(text, "ingress", "from", json_object_object_get(object, "ingress"), part);
	print_reach(text, "egress", "to", json_object_object_get(object, "egress"), part);
}

int show_segments(const struct show *show)
{
	return show_list(show, show->policy->n_segments, json_segment, print_segment);
}
