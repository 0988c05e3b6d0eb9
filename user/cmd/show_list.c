// SPDX-License-Identifier: GPL-2.0-only
/* A list of records, as text or JSON, for the subjects of `bulkhead show`. */
#include "cmd/show.h"
#include "policy/verdicts.h"

void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint)
{
	text_clear(text);
	text_add(text, policy_string(policy, policy->namespaces[endpoint->ns].name));
	text_add(text, "/");
	text_add(text, policy_string(policy, endpoint->name));
}

bool show_has_port(const struct show *show, const struct verdicts *verdicts)
{
	bool any = !show->filter->n_ports;

	for (size_t i = 0; i < show->filter->n_ports && !any; i++) {
		const struct flow *port = &show->filter->ports[i];

		any = verdicts_allow(verdicts, bh_point(port->protocol, port->port));
	}
	return any;
}

int show_list(const struct show *show, size_t n,
	      struct json_object *(*make)(const struct show *show, size_t i, struct text *text),
	      void (*print)(struct json_object *object, struct text *text))
{
	struct json_object *array = json_object_new_array();
	struct text text = {printbuf_new()};
	bool json = show->call->json;

	for (size_t i = 0; i < n; i++) {
		struct json_object *object = make(show, i, &text);

		if (object && !json)
			print(object, &text);
		if (object && json)
			json_object_array_add(array, object);
		else
			json_object_put(object);
	}
	if (json)
		json_print(array, show->call->pretty);
	else
		json_object_put(array);
	printbuf_free(text.buffer);
	return STATUS_OK;
}
