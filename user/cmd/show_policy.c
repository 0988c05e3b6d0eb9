/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints and pairs of a compiled policy. */
#include <stdio.h>
#include <string.h>

#include "cmd/json.h"
#include "compile/verdicts.h"
#include "cmd/show.h"

static struct json_object *json_addresses(const struct policy *policy,
					  const struct policy_endpoint *endpoint)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		uint32_t index = policy->numbers[endpoint->addresses.at + i];
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

static struct json_object *json_endpoint(const struct view *view, size_t index, struct text *text)
{
	const struct policy *policy = view->policy;
	const struct policy_endpoint *endpoint = &policy->endpoints[index];
	struct json_object *object = json_object_new_object();
	const uint8_t *mac = endpoint->mac;
	char printed[18] = "";

	show_endpoint_name(text, policy, endpoint);
	json_add_text(object, "name", text->buffer->buf);
	json_add_text(object, "node", string_or_null(policy, endpoint->node));
	json_add_text(object, "interface", string_or_null(policy, endpoint->interface));
	if (endpoint->flags & POLICY_MAC)
		snprintf(printed, sizeof(printed), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
	json_add_text(object, "mac", *printed ? printed : NULL);
	json_add(object, "addresses", json_addresses(policy, endpoint));
	return object;
}

static void print_endpoint(struct json_object *object, struct text *text)
{
	struct json_object *addresses = json_object_object_get(object, "addresses");
	const char *node = json_get_text(object, "node");

	(void)text;
	for (size_t i = 0; i < json_object_array_length(addresses); i++) {
		struct json_object *address = json_object_array_get_idx(addresses, i);

		const char *segment = json_get_text(address, "segment");

		printf("%-32s %-16s %-40s ", i ? "" : json_get_text(object, "name"),
		       i || !node ? "" : node, json_get_text(address, "address"));
		if (strcmp(segment, "0"))
			printf("segment %s", segment);
		else
			printf("isolated, in no segment");
		if (strcmp(json_get_text(address, "variation"), "0"))
			printf(" variation %s", json_get_text(address, "variation"));
		putchar('\n');
	}
}

/* Which segments a pair's subject ID stands for, and in which direction. */
static struct json_object *json_subjects(const struct policy *policy, uint32_t id,
					 enum direction *direction, bool *common)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		for (enum direction d = INGRESS; d <= EGRESS && !segment->delete_generation; d++) {
			if (segment->own[d] != id && segment->common[d] != id)
				continue;
			*direction = d;
			*common = segment->common[d] == id;
			json_object_array_add(array, json_object_new_uint64(segment->id));
		}
	}
	return array;
}

static struct json_object *json_peers(const struct policy *policy, uint32_t id, bool common)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (!segment->delete_generation &&
		    (common ? segment->peer_common : segment->peer_own) == id)
			json_object_array_add(array, json_object_new_uint64(segment->id));
	}
	return array;
}

static struct json_object *json_pair_ports(const struct policy *policy, struct bh_ports_ref ports)
{
	struct json_object *array = json_object_new_array();
	struct verdicts verdicts = {.n = 1, .all.verdict = ports.at};

	if (ports.count) {
		verdicts.at = &policy->intervals[ports.at];
		verdicts.n = ports.count;
	}
	verdicts_each_allowed(&verdicts, json_append_visit, array);
	return array;
}

static struct json_object *json_pair(const struct view *view, size_t index, struct text *text)
{
	const struct policy *policy = view->policy;
	const struct policy_pair *pair = &policy->pairs[index];
	struct json_object *object = json_object_new_object();
	enum direction direction = INGRESS;
	bool common = false;
	struct json_object *subjects = json_subjects(policy, pair->subject, &direction, &common);

	(void)text;
	json_add_number(object, "subject", pair->subject);
	json_add_number(object, "peer", pair->peer);
	json_add_text(object, "direction", direction == INGRESS ? "ingress" : "egress");
	json_add_bool(object, "common", common);
	json_add(object, "subject_segments", subjects);
	json_add(object, "peer_segments", json_peers(policy, pair->peer, common));
	if (pair->ports.count == BH_PORTS_NAMED)
		json_add_number(object, "named_list", pair->ports.at);
	else
		json_add(object, "ports", json_pair_ports(policy, pair->ports));
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

int show_endpoints(const struct call *call, const struct view *view)
{
	return show_list(call, view, view->policy->n_endpoints, json_endpoint, print_endpoint);
}

int show_pairs(const struct call *call, const struct view *view)
{
	return show_list(call, view, view->policy->n_pairs, json_pair, print_pair);
}
