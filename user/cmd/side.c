/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/side.h"
#include "input/name_syntax.h"
#include "model/nearest.h"

#define SERVICE_PREFIX "svc:"
#define NAME_PREFIX "name:"

static int service_parse(const struct policy *policy, const char *text, struct flow_side *end,
			 char why[FLOW_TEXT])
{
	const char *name = text + strlen(SERVICE_PREFIX), *slash = strchr(name, '/');
	char ns[FLOW_TEXT];

	*end = (struct flow_side){.name = text};
	if (slash) {
		snprintf(ns, sizeof(ns), "%.*s", (int)(slash - name), name);
		end->service = service_by_name(policy, ns, slash + 1);
	}
	if (!end->service) {
		snprintf(why, FLOW_TEXT, "%.200s: no such Service%s", text,
			 slash ? "" : "; write it as svc:NAMESPACE/NAME");
		return -EINVAL;
	}
	*end = side_of_service(policy, end->service, text);
	if (end->has[IPV4] || end->has[IPV6])
		return 0;
	snprintf(why, FLOW_TEXT, "%.100s: %s", text,
		 end->service->flags & POLICY_SERVICE_EXTERNAL_NAME
			 ? "is of type ExternalName: it stands for a name outside the cluster"
		 : end->service->flags & POLICY_SERVICE_HEADLESS ? "is headless and has no backends"
								 : "has no address yet");
	return -EINVAL;
}

/* Says that no pod has the name, and which pod of the namespace, or which namespace, was probably
 * meant. */
static void no_endpoint(const struct policy *policy, const char *text, char why[FLOW_TEXT])
{
	const size_t length = strcspn(text, "/");
	char ns[FLOW_TEXT], like[NEAREST_TEXT];
	struct nearest name = {.word = text + length + 1}, other = {.word = ns};

	snprintf(ns, sizeof(ns), "%.*s", (int)length, text);
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		const char *has = policy_string(policy, policy->namespaces[endpoint->ns].name);

		if (!strcmp(has, ns))
			nearest_try(&name, policy_string(policy, endpoint->name));
		else
			nearest_try(&other, has);
	}
	snprintf(why, FLOW_TEXT, "%.200s: no such endpoint", text);
	nearest_print(name.found ? &name : &other, like);
	if (strlen(why) + strlen(like) < FLOW_TEXT)
		strcat(why, like);
}

/* Takes the name of a hostNetwork pod as the name of the pod's node. */
static int host_pod_parse(const struct policy *policy, const char *text, struct flow_side *end,
			  char why[FLOW_TEXT])
{
	const struct policy_host_pod *pod = policy_host_pod_by_name(policy, text);
	const struct policy_node *node;

	if (!pod) {
		no_endpoint(policy, text, why);
		return -EINVAL;
	}
	*end = (struct flow_side){.name = text, .host = policy_string(policy, pod->node)};
	node = policy_node_by_name(policy, end->host);
	for (uint32_t i = 0; node && i < node->addresses.n; i++)
		side_add(end, &policy->node_addresses[node->addresses.at + i]);
	if (end->has[IPV4] || end->has[IPV6])
		return 0;
	snprintf(why, FLOW_TEXT, "%.100s is its node %.100s, which has no address here", text,
		 end->host);
	return -EINVAL;
}

int end_parse(const struct policy *policy, const char *text, struct flow_side *end,
	      char why[FLOW_TEXT])
{
	const struct policy_endpoint *endpoint;
	const char *slash = strchr(text, '/');
	struct address address;
	char ns[FLOW_TEXT];

	if (!strncmp(text, SERVICE_PREFIX, strlen(SERVICE_PREFIX)))
		return service_parse(policy, text, end, why);
	if (!strncmp(text, NAME_PREFIX, strlen(NAME_PREFIX))) {
		*end = (struct flow_side){.name = text, .domain = text + strlen(NAME_PREFIX)};
		if (name_syntax_is_domain_name(end->domain))
			return 0;
		snprintf(why, FLOW_TEXT, "%.60s: " NAME_SYNTAX_DOMAIN_NAME, text);
		return -EINVAL;
	}
	if (!slash) {
		if (address_parse(text, &address)) {
			snprintf(why, FLOW_TEXT, "%.100s: not an address, nor namespace/name",
				 text);
			return -EINVAL;
		}
		*end = (struct flow_side){.name = text};
		side_add(end, &address);
		return 0;
	}
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - text), text);
	endpoint = policy_endpoint_by_name(policy, ns, slash + 1);
	if (!endpoint)
		return host_pod_parse(policy, text, end, why);
	*end = side_of_endpoint(policy, endpoint, text);
	return 0;
}
