/* SPDX-License-Identifier: GPL-2.0-only */
/* `show segments`: the members of each segment, the segments that their policies let in, and the
 * segments that they reach. */
#include <stdio.h>
#include <string.h>

#include "cmd/json_output.h"
#include "cmd/matcher.h"
#include "cmd/show.h"
#include "policy/verdicts.h"
#include "maps/segment.h"

/* An array, and in text a line for each of its elements, the first with a title. */
struct titled_list {
	struct emit *emit;
	const char *title; /* of the next line */
};

static struct titled_list listing_begin(struct emit *emit, const char *key, const char *title)
{
	emit_array(emit, key);
	return (struct titled_list){emit, title};
}

static void listing_add(struct titled_list *listing, const char *text)
{
	emit_say(listing->emit, "  %-9s %s\n", listing->title, text);
	emit_text(listing->emit, NULL, text);
	listing->title = "";
}

static void list_matchers(const struct show *show, const char *key, const char *title,
			  struct policy_range range, struct text *text)
{
	struct titled_list listing = listing_begin(show->emit, key, title);

	for (uint32_t i = 0; i < range.n; i++) {
		matcher_print(text, show->policy, show->policy->numbers[range.at + i]);
		listing_add(&listing, text->buffer->buf);
	}
	emit_end(show->emit);
}

/* Lists endpoints by name, each once although it may have several addresses, then prefixes. */
static void list_members(const struct show *show, uint32_t segment, struct text *text)
{
	const struct index_entries members = index_find(&show->index->members, segment);
	struct titled_list listing = listing_begin(show->emit, "members", "members");
	const struct policy *policy = show->policy;

	for (size_t i = 0; i < members.n; i++) {
		const uint32_t at = members.at[i].number;

		if (at < policy->n_endpoints) {
			show_endpoint_name(text, policy, &policy->endpoints[at]);
		} else {
			const struct policy_prefix *prefix =
				&policy->prefixes[at - policy->n_endpoints];

			text_clear(text);
			prefix_print(text, &prefix->address, prefix->length);
		}
		listing_add(&listing, text->buffer->buf);
	}
	emit_end(show->emit);
}

/* Shows the ports that @subject lets @peer use, for each variation of the destination. */
static void show_reachable(const struct show *show, const struct policy_segment *subject,
			   const struct policy_segment *peer, enum direction direction,
			   const char **title, struct text *text)
{
	const struct policy *policy = show->policy;
	const struct policy_segment *destination = direction == INGRESS ? subject : peer;
	struct emit *emit = show->emit;

	/* Variation 0 numbers none of the port names. Every segment may have endpoints of variation
	 * 0. */
	for (uint32_t i = 0; i <= destination->variations.n; i++) {
		const struct policy_variation *variation =
			i ? &policy->variations[destination->variations.at + i - 1] : NULL;
		struct verdicts verdicts = verdicts_of(policy, subject, peer, direction,
						       variation ? variation->resolution : 0);
		struct json_object *ports;

		if (!verdicts_allow_any(&verdicts) || !show_has_port(show, &verdicts))
			continue;
		ports = json_object_new_array();
		verdicts_each_allowed(&verdicts, json_append_visit, ports);
		text_join(text, ports);
		emit_say(emit, "  %-9s %s segment %u: %s", *title,
			 direction == INGRESS ? "from" : "to", peer->id, text->buffer->buf);
		if (variation)
			emit_say(emit, " (variation %u)", variation->id);
		emit_say(emit, "\n");
		*title = "";
		emit_object(emit, NULL);
		emit_number(emit, "segment", peer->id);
		emit_number(emit, "variation", variation ? variation->id : 0);
		emit_json(emit, "ports", ports);
		emit_end(emit);
	}
}

/* Shows null if no policy selects the segment in this direction, an empty array if the segment
 * reaches or admits no peer. @part: the options leave out peers or ports. */
static void show_reach(const struct show *show, const struct policy_segment *subject,
		       enum direction direction, bool part, struct text *text)
{
	const struct policy *policy = show->policy;
	const bool *meant = direction == INGRESS ? show->from : show->to;
	const char *name = direction_name(direction), *title = name;
	struct emit *emit = show->emit;
	size_t n;

	if (!(subject->flags & BH_SEGMENT_POLICY(direction))) {
		emit_say(emit, "  %-9s free\n", name);
		emit_text(emit, name, NULL);
		return;
	}
	emit_array(emit, name);
	n = segment_index_peers(show->index, policy, subject, direction);
	for (size_t i = 0; i < n; i++) {
		const uint32_t at = show->index->peers[i];

		if (policy_segment_is_peer(&policy->segments[at]) && show_has(meant, at))
			show_reachable(show, subject, &policy->segments[at], direction, &title,
				       text);
	}
	if (title == name)
		emit_say(emit, "  %-9s %s\n", name,
			 part ? "none that the filter selects" : "isolated");
	emit_end(emit);
}

static void list_port_names(const struct show *show, const struct policy_segment *segment)
{
	struct titled_list listing = listing_begin(show->emit, "port_names", "ports");
	const struct policy *policy = show->policy;

	for (uint32_t i = 0; i < segment->names.n; i++)
		listing_add(&listing, policy_string(policy, policy->texts[segment->names.at + i]));
	emit_end(show->emit);
}

static void list_domain_names(const struct show *show, size_t segment)
{
	struct titled_list listing = listing_begin(show->emit, "domain_names", "names");
	const struct policy *policy = show->policy;
	uint32_t last = 0;

	for (size_t i = 0; i < policy->n_domains; i++) {
		const struct policy_domain *domain = &policy->domains[i];

		if (domain->segment != segment || domain->name == last)
			continue;
		listing_add(&listing, policy_string(policy, domain->name));
		last = domain->name;
	}
	emit_end(show->emit);
}

/* Lists the IDs of the segments that are evaluated as this one. */
static void list_subjects(const struct show *show, size_t by_domain)
{
	const struct policy *policy = show->policy;
	struct emit *emit = show->emit;
	const char *title = "of";
	size_t record = 0;

	/* all names of a segment are of the same subjects */
	while (policy->domains[record].segment != by_domain)
		record++;
	emit_array(emit, "subjects");
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (!policy_segment_has_members(segment) ||
		    policy_by_domain(policy, policy_string(policy, policy->domains[record].name),
				     segment) != &policy->segments[by_domain])
			continue;
		emit_say(emit, "  %-9s %u\n", title, segment->id);
		emit_number(emit, NULL, segment->id);
		title = "";
	}
	emit_end(emit);
}

/* Returns true if the options select the segment. --from and --to select the segments at either
 * end; show_reach() then shows only peers at the other end. */
static bool is_meant(const struct show *show, size_t index)
{
	bool ends = !show->from && !show->to;

	ends |= show->from && show->from[index];
	ends |= show->to && show->to[index];
	return ends && show_has(show->either, index);
}

static void show_segment(const struct show *show, size_t index, struct text *text)
{
	const struct policy_segment *segment = &show->policy->segments[index];
	const bool external = segment->flags & BH_SEGMENT_EXTERNAL;
	const bool by_domain = policy_segment_is_by_domain(segment);
	/* these options choose peers and ports: the lists are only a part */
	const bool part = show->from || show->to || show->filter->n_ports;
	struct emit *emit = show->emit;

	emit_say(emit, "segment %u%s, since generation %u\n", segment->id,
		 by_domain  ? " by domain names"
		 : external ? " of addresses"
			    : "",
		 segment->create_generation);
	emit_object(emit, NULL);
	emit_number(emit, "id", segment->id);
	emit_bool(emit, "external", external);
	emit_number(emit, "create_generation", segment->create_generation);
	list_matchers(show, "in", "in", segment->in, text);
	list_matchers(show, "not_in", "not in", segment->not_in, text);
	list_members(show, index, text);
	list_port_names(show, segment);
	if (by_domain) {
		list_domain_names(show, index);
		list_subjects(show, index);
	} else if (!external) {
		show_reach(show, segment, INGRESS, part, text);
	}
	if (by_domain || !external) {
		show_reach(show, segment, EGRESS, part, text);
		if (part)
			emit_bool(emit, "part", true);
	}
	emit_end(emit);
}

int show_segments(const struct show *show)
{
	struct text text = {printbuf_new()};

	emit_array(show->emit, NULL);
	for (size_t i = 0; i < show->policy->n_segments; i++)
		if (!show->policy->segments[i].delete_generation && is_meant(show, i))
			show_segment(show, i, &text);
	emit_end(show->emit);
	printbuf_free(text.buffer);
	return STATUS_OK;
}
