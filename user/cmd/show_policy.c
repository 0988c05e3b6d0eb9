/* SPDX-License-Identifier: GPL-2.0-only */
/* `show endpoints` and `show pairs`. */
#include <stdio.h>
#include <string.h>

#include "cmd/screen.h"
#include "cmd/show.h"
#include "policy/verdicts.h"

static struct json_object *json_addresses(const struct policy *policy,
					  const struct policy_endpoint *endpoint)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		uint32_t index = policy->endpoint_addresses[endpoint->addresses.at + i];
		const struct policy_address *address = &policy->addresses[index];
		struct json_object *object = json_object_new_object();
		char text[ADDRESS_TEXT];

		json_add_text(object, "address", address_print(&address->address, text));
		json_add_number(object, "segment",
				address->segment == POLICY_NOWHERE
					? 0
					: policy->segments[address->segment].id);
		json_add_number(object, "variation", address->variation);
		json_object_array_add(array, object);
	}
	return array;
}

static const char *string_or_null(const struct policy *policy, uint32_t string)
{
	return string ? policy_string(policy, string) : NULL;
}

/* Returns the interface that the active maps have for the endpoint, else the one that the policy
 * names; NULL: neither is known. */
static const char *interface_of(const struct show *show, const struct policy_endpoint *endpoint,
				char name[IF_NAMESIZE])
{
	const struct policy *policy = show->policy;

	for (uint32_t i = 0; show->view->live && i < endpoint->addresses.n; i++) {
		const uint32_t at = policy->endpoint_addresses[endpoint->addresses.at + i];

		if (live_interface(show->view->live, &policy->addresses[at].address, name))
			return name;
	}
	return string_or_null(policy, endpoint->interface);
}

static struct json_object *json_endpoint(const struct show *show, size_t index, struct text *text)
{
	const struct policy *policy = show->policy;
	const struct policy_endpoint *endpoint = &policy->endpoints[index];
	struct json_object *object;
	const char *ns = policy_string(policy, policy->namespaces[endpoint->ns].name);
	const uint8_t *mac = endpoint->mac;
	char printed[18] = "", interface[IF_NAMESIZE];

	if (show->filter->ns && strcmp(show->filter->ns, ns))
		return NULL;
	object = json_object_new_object();
	show_endpoint_name(text, policy, endpoint);
	json_add_text(object, "name", text->buffer->buf);
	json_add_text(object, "node", string_or_null(policy, endpoint->node));
	json_add_text(object, "interface", interface_of(show, endpoint, interface));
	if (endpoint->flags & POLICY_MAC)
		snprintf(printed, sizeof(printed), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
	json_add_text(object, "mac", *printed ? printed : NULL);
	json_add(object, "addresses", json_addresses(policy, endpoint));
	return object;
}

static void print_endpoint(struct json_object *object, struct columns *columns)
{
	struct json_object *addresses = json_object_object_get(object, "addresses");
	char text[64];

	for (size_t i = 0; i < json_object_array_length(addresses); i++) {
		struct json_object *address = json_object_array_get_idx(addresses, i);
		const char *segment = json_get_text(address, "segment");
		const char *variation = json_get_text(address, "variation");

		columns_add(columns, i ? "" : json_get_text(object, "name"));
		columns_add(columns, i ? "" : json_get_text(object, "node"));
		columns_add(columns, i ? "" : json_get_text(object, "interface"));
		columns_add(columns, json_get_text(address, "address"));
		snprintf(text, sizeof(text), "segment %s%s%s", segment,
			 strcmp(variation, "0") ? " variation " : "",
			 strcmp(variation, "0") ? variation : "");
		columns_add(columns, strcmp(segment, "0") ? text : "isolated, in no segment");
	}
}

/* The two ends of a pair, as sets of segments. */
struct pair_ends {
	enum direction direction;
	bool common;
	struct json_object *subjects, *peers; /* IDs */
	bool subject_meant, peer_meant, either;
};

/* Lists the segments that a pair's subject ID stands for, and the direction. */
static void list_subjects(const struct show *show, uint32_t id, struct pair_ends *ends)
{
	const struct policy *policy = show->policy;

	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		for (enum direction d = INGRESS; d <= EGRESS && !segment->delete_generation; d++) {
			if (segment->own[d] != id && segment->common[d] != id)
				continue;
			ends->direction = d;
			ends->common = segment->common[d] == id;
			ends->subject_meant |= show_has(d == INGRESS ? show->to : show->from, i);
			ends->either |= show_has(show->either, i);
			json_object_array_add(ends->subjects, json_object_new_uint64(segment->id));
		}
	}
}

static void list_peers(const struct show *show, uint32_t id, struct pair_ends *ends)
{
	const struct policy *policy = show->policy;
	const bool *meant = ends->direction == INGRESS ? show->from : show->to;

	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (segment->delete_generation ||
		    (ends->common ? segment->peer_common : segment->peer_own) != id)
			continue;
		ends->peer_meant |= show_has(meant, i);
		ends->either |= show_has(show->either, i);
		json_object_array_add(ends->peers, json_object_new_uint64(segment->id));
	}
}

static struct verdicts pair_verdicts(const struct policy *policy, struct bh_ports_ref ports)
{
	struct verdicts verdicts = {.n = 1, .all.verdict = ports.at};

	if (ports.count) {
		verdicts.at = &policy->intervals[ports.at];
		verdicts.n = ports.count;
	}
	return verdicts;
}

/* A list that uses port names has a form for each variation of its destinations, so --port never
 * leaves it out. */
static bool pair_has_port(const struct show *show, struct bh_ports_ref ports)
{
	struct verdicts verdicts;

	if (ports.count == BH_PORTS_NAMED)
		return true;
	verdicts = pair_verdicts(show->policy, ports);
	return show_has_port(show, &verdicts);
}

static struct json_object *json_pair_ports(const struct policy *policy, struct bh_ports_ref ports)
{
	struct verdicts verdicts = pair_verdicts(policy, ports);
	struct json_object *array = json_object_new_array();

	verdicts_each_allowed(&verdicts, json_append_visit, array);
	return array;
}

static struct json_object *json_pair(const struct show *show, size_t index, struct text *text)
{
	const struct policy_pair *pair = &show->policy->pairs[index];
	struct pair_ends ends = {.subjects = json_object_new_array(),
				 .peers = json_object_new_array()};
	struct json_object *object;

	(void)text;
	list_subjects(show, pair->subject, &ends);
	list_peers(show, pair->peer, &ends);
	if (!ends.subject_meant || !ends.peer_meant || !ends.either ||
	    !pair_has_port(show, pair->ports)) {
		json_object_put(ends.subjects);
		json_object_put(ends.peers);
		return NULL;
	}
	object = json_object_new_object();
	json_add_number(object, "subject", pair->subject);
	json_add_number(object, "peer", pair->peer);
	json_add_text(object, "direction", ends.direction == INGRESS ? "ingress" : "egress");
	json_add_bool(object, "common", ends.common);
	json_add(object, "subject_segments", ends.subjects);
	json_add(object, "peer_segments", ends.peers);
	if (pair->ports.count == BH_PORTS_NAMED)
		json_add_number(object, "named_list", pair->ports.at);
	else
		json_add(object, "ports", json_pair_ports(show->policy, pair->ports));
	return object;
}

static void print_pair(struct json_object *object, struct text *text)
{
	struct json_object *ports = json_object_object_get(object, "ports");

	if (ports)
		text_join(text, ports);
	printf("subject %s peer %s: %s of segments %s, peers %s: ",
	       json_get_text(object, "subject"), json_get_text(object, "peer"),
	       json_get_text(object, "direction"), json_get_text(object, "subject_segments"),
	       json_get_text(object, "peer_segments"));
	if (ports)
		puts(text->buffer->buf);
	else
		printf("by port names, list %s\n", json_get_text(object, "named_list"));
}

int show_endpoints(const struct show *show)
{
	static const char *const titles[] = {"ENDPOINT", "NODE",    "INTERFACE",
					     "ADDRESS",	 "SEGMENT", NULL};
	struct columns *columns = show->call->json ? NULL : columns_new(titles);
	struct text text = {printbuf_new()};
	int status = STATUS_OK;

	for (size_t i = 0; i < show->policy->n_endpoints && columns; i++) {
		struct json_object *object = json_endpoint(show, i, &text);

		if (object)
			print_endpoint(object, columns);
		json_object_put(object);
	}
	printbuf_free(text.buffer);
	columns_print(columns);
	if (show->call->json)
		status = show_list(show, show->policy->n_endpoints, json_endpoint, NULL);
	return status;
}

int show_pairs(const struct show *show)
{
	return show_list(show, show->policy->n_pairs, json_pair, print_pair);
}
