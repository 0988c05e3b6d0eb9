/* SPDX-License-Identifier: GPL-2.0-only */
/* `show endpoints` and `show pairs`. */
#include <stdio.h>
#include <string.h>

#include "cmd/json_output.h"
#include "cmd/screen.h"
#include "cmd/show.h"
#include "policy/verdicts.h"

/* Returns the interface that the active maps have for the endpoint, else the one that the policy
 * names; "": neither is known. */
static const char *interface_of(const struct show *show, const struct policy_endpoint *endpoint,
				char name[IF_NAMESIZE])
{
	const struct policy *policy = show->policy;

	for (uint32_t i = 0; show->view->live && i < endpoint->addresses.n; i++) {
		const uint32_t at = policy->endpoint_addresses[endpoint->addresses.at + i];

		if (live_interface(show->view->live, &policy->addresses[at].address, name))
			return name;
	}
	return policy_string(policy, endpoint->interface);
}

static void add_address(struct columns *columns, struct emit *emit, const struct policy *policy,
			const struct policy_address *address)
{
	const uint32_t segment =
		address->segment == POLICY_NOWHERE ? 0 : policy->segments[address->segment].id;
	char printed[ADDRESS_TEXT], text[64] = "isolated, in no segment";

	address_print(&address->address, printed);
	if (segment && address->variation)
		snprintf(text, sizeof(text), "segment %u variation %u", segment,
			 address->variation);
	else if (segment)
		snprintf(text, sizeof(text), "segment %u", segment);
	columns_add(columns, printed);
	columns_add(columns, text);
	emit_object(emit, NULL);
	emit_text(emit, "address", printed);
	emit_number(emit, "segment", segment);
	emit_number(emit, "variation", address->variation);
	emit_end(emit);
}

static void show_endpoint(const struct show *show, const struct policy_endpoint *endpoint,
			  struct columns *columns, struct text *text)
{
	const struct policy *policy = show->policy;
	const uint8_t *mac = endpoint->mac;
	char printed[18] = "", buffer[IF_NAMESIZE];
	const char *node = policy_string(policy, endpoint->node);
	const char *interface = interface_of(show, endpoint, buffer);
	struct emit *emit = show->emit;

	show_endpoint_name(text, policy, endpoint);
	if (endpoint->flags & POLICY_MAC)
		snprintf(printed, sizeof(printed), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
	emit_object(emit, NULL);
	emit_text(emit, "name", text->buffer->buf);
	emit_name(emit, "node", node);
	emit_name(emit, "interface", interface);
	emit_name(emit, "mac", printed);
	emit_array(emit, "addresses");
	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		columns_add(columns, i ? "" : text->buffer->buf);
		columns_add(columns, i ? "" : node);
		columns_add(columns, i ? "" : interface);
		add_address(
			columns, emit, policy,
			&policy->addresses[policy->endpoint_addresses[endpoint->addresses.at + i]]);
	}
	emit_end(emit);
	emit_end(emit);
}

/* The two ends of a pair, as sets of segments. */
struct pair_ends {
	enum direction direction;
	bool common;
	struct json_object *subjects, *peers; /* arrays of IDs */
	bool subject_meant, peer_meant, either;
};

/* Lists the segments that a pair's subject ID stands for, and the direction. */
static void list_subjects(const struct show *show, uint32_t id, struct pair_ends *ends)
{
	const struct index_entries found = index_find(&show->index->subjects, id);

	for (size_t i = 0; i < found.n; i++) {
		const uint32_t at = found.at[i].number / 2;
		const struct policy_segment *segment = &show->policy->segments[at];

		ends->direction = found.at[i].number % 2;
		ends->common = segment->common[ends->direction] == id;
		ends->subject_meant |=
			show_has(ends->direction == INGRESS ? show->to : show->from, at);
		ends->either |= show_has(show->either, at);
		json_object_array_add(ends->subjects, json_object_new_uint64(segment->id));
	}
}

static void list_peers(const struct show *show, uint32_t id, struct pair_ends *ends)
{
	const struct index_entries found =
		index_find(ends->common ? &show->index->common : &show->index->own, id);
	const bool *meant = ends->direction == INGRESS ? show->from : show->to;

	for (size_t i = 0; i < found.n; i++) {
		const uint32_t at = found.at[i].number;

		ends->peer_meant |= show_has(meant, at);
		ends->either |= show_has(show->either, at);
		json_object_array_add(ends->peers,
				      json_object_new_uint64(show->policy->segments[at].id));
	}
}

/* A list that uses port names has a form for each variation of its destinations, so --port never
 * leaves it out. */
static bool pair_has_port(const struct show *show, struct bh_ports_ref ports)
{
	struct verdicts verdicts;

	if (ports.count == BH_PORTS_NAMED)
		return true;
	verdicts = verdicts_of_list(show->policy, ports);
	return show_has_port(show, &verdicts);
}

int show_endpoints(const struct show *show)
{
	static const char *const titles[] = {"ENDPOINT", "NODE",    "INTERFACE",
					     "ADDRESS",	 "SEGMENT", NULL};
	struct columns *columns = show->emit->json ? NULL : columns_new(titles);
	const struct policy *policy = show->policy;
	struct text text = {printbuf_new()};

	emit_array(show->emit, NULL);
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		const char *ns = policy_string(policy, policy->namespaces[endpoint->ns].name);

		if (!show->filter->ns || !strcmp(show->filter->ns, ns))
			show_endpoint(show, endpoint, columns, &text);
	}
	emit_end(show->emit);
	columns_print(columns);
	printbuf_free(text.buffer);
	return STATUS_OK;
}

/* The ports of a pair are a list of their own, or its number if the list uses port names. */
static void show_pair_ports(struct emit *emit, const struct policy *policy,
			    struct bh_ports_ref ports, struct text *text)
{
	struct verdicts verdicts;
	struct json_object *array;

	if (ports.count == BH_PORTS_NAMED) {
		emit_say(emit, "by port names, list %u\n", ports.at);
		emit_number(emit, "named_list", ports.at);
		return;
	}
	verdicts = verdicts_of_list(policy, ports);
	array = json_object_new_array();
	verdicts_each_allowed(&verdicts, json_append_visit, array);
	text_join(text, array);
	emit_say(emit, "%s\n", text->buffer->buf);
	emit_json(emit, "ports", array);
}

static void show_pair(const struct show *show, const struct policy_pair *pair, struct text *text)
{
	struct pair_ends ends = {.subjects = json_object_new_array(),
				 .peers = json_object_new_array()};
	struct emit *emit = show->emit;

	list_subjects(show, pair->subject, &ends);
	list_peers(show, pair->peer, &ends);
	if (ends.subject_meant && ends.peer_meant && ends.either &&
	    pair_has_port(show, pair->ports)) {
		emit_say(emit, "subject %u peer %u: %s of segments %s, peers %s: ", pair->subject,
			 pair->peer, direction_name(ends.direction),
			 json_object_get_string(ends.subjects), json_object_get_string(ends.peers));
		emit_object(emit, NULL);
		emit_number(emit, "subject", pair->subject);
		emit_number(emit, "peer", pair->peer);
		emit_text(emit, "direction", direction_name(ends.direction));
		emit_bool(emit, "common", ends.common);
		emit_json(emit, "subject_segments", json_object_get(ends.subjects));
		emit_json(emit, "peer_segments", json_object_get(ends.peers));
		show_pair_ports(emit, show->policy, pair->ports, text);
		emit_end(emit);
	}
	json_object_put(ends.subjects);
	json_object_put(ends.peers);
}

int show_pairs(const struct show *show)
{
	struct text text = {printbuf_new()};

	emit_array(show->emit, NULL);
	for (size_t i = 0; i < show->policy->n_pairs; i++)
		show_pair(show, &show->policy->pairs[i], &text);
	emit_end(show->emit);
	printbuf_free(text.buffer);
	return STATUS_OK;
}
