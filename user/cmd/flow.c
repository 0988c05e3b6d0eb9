/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/flow.h"

#define SERVICE_PREFIX "svc:"

static int service_parse(const struct policy *policy, const char *text, struct end *end,
			 char why[FLOW_TEXT])
{
	const char *name = text + strlen(SERVICE_PREFIX), *slash = strchr(name, '/');
	char ns[FLOW_TEXT];

	*end = (struct end){.name = text};
	if (slash) {
		snprintf(ns, sizeof(ns), "%.*s", (int)(slash - name), name);
		end->service = service_by_name(policy, ns, slash + 1);
	}
	if (!end->service) {
		snprintf(why, FLOW_TEXT, "%.200s: no such Service", text);
		return -EINVAL;
	}
	*end = end_of_service(policy, end->service, text);
	if (end->has[IPV4] || end->has[IPV6])
		return 0;
	snprintf(why, FLOW_TEXT, "%.100s: %s", text,
		 end->service->flags & POLICY_SERVICE_EXTERNAL_NAME
			 ? "is only another name, for what is outside"
		 : end->service->flags & POLICY_SERVICE_HEADLESS ? "is headless and has no backends"
								 : "has no address yet");
	return -EINVAL;
}

/* A pod that has its node's network is its node. */
static int host_pod_parse(const struct policy *policy, const char *text, struct end *end,
			  char why[FLOW_TEXT])
{
	const struct policy_host_pod *pod = policy_host_pod_by_name(policy, text);
	const struct policy_node *node;

	if (!pod) {
		snprintf(why, FLOW_TEXT, "%.200s: no such endpoint", text);
		return -EINVAL;
	}
	*end = (struct end){.name = text, .host = policy_string(policy, pod->node)};
	node = policy_node_by_name(policy, end->host);
	for (uint32_t i = 0; node && i < node->addresses.n; i++)
		end_add(end, &policy->node_addresses[node->addresses.at + i]);
	if (end->has[IPV4] || end->has[IPV6])
		return 0;
	snprintf(why, FLOW_TEXT, "%.100s is its node %.100s, which has no address here", text,
		 end->host);
	return -EINVAL;
}

int end_parse(const struct policy *policy, const char *text, struct end *end, char why[FLOW_TEXT])
{
	const struct policy_endpoint *endpoint;
	const char *slash = strchr(text, '/');
	struct address address;
	char ns[FLOW_TEXT];

	if (!strncmp(text, SERVICE_PREFIX, strlen(SERVICE_PREFIX)))
		return service_parse(policy, text, end, why);
	if (!slash) {
		if (address_parse(text, &address)) {
			snprintf(why, FLOW_TEXT, "%.100s: not an address, nor namespace/name",
				 text);
			return -EINVAL;
		}
		*end = (struct end){.name = text};
		end_add(end, &address);
		return 0;
	}
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - text), text);
	endpoint = policy_endpoint_by_name(policy, ns, slash + 1);
	if (!endpoint)
		return host_pod_parse(policy, text, end, why);
	*end = end_of_endpoint(policy, endpoint, text);
	return 0;
}

static const struct {
	const char *name;
	uint8_t protocol;
	bool has_ports;
} protocols[] = {
	{"TCP", IPPROTO_TCP, true},	   {"UDP", IPPROTO_UDP, true},
	{"SCTP", IPPROTO_SCTP, true},	   {"ICMP", IPPROTO_ICMP, false},
	{"ICMPv6", IPPROTO_ICMPV6, false},
};

#define N_PROTOCOLS (sizeof(protocols) / sizeof(*protocols))

static int parse_number(const char *text, unsigned long max, unsigned long *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 5 || text[digits])
		return -EINVAL;
	*number = strtoul(text, NULL, 10);
	return *number > max ? -EINVAL : 0;
}

int port_parse(const char *text, struct flow *flow, char why[FLOW_TEXT])
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text), i = 0;
	unsigned long number;

	while (i < N_PROTOCOLS &&
	       (strncasecmp(text, protocols[i].name, length) || protocols[i].name[length]))
		i++;
	if (i < N_PROTOCOLS && protocols[i].has_ports == !!slash &&
	    (!slash || !parse_number(slash + 1, 65535, &number))) {
		flow->protocol = protocols[i].protocol;
		flow->port = slash ? number : 0;
		return 0;
	}
	if (!slash && !parse_number(text, 255, &number) && number != IPPROTO_TCP &&
	    number != IPPROTO_UDP && number != IPPROTO_SCTP) {
		flow->protocol = number;
		flow->port = 0;
		return 0;
	}
	if (!slash && !parse_number(text, 65535, &number))
		snprintf(why, FLOW_TEXT, "%s: of which protocol? TCP/%s, UDP/%s or SCTP/%s", text,
			 text, text, text);
	else
		snprintf(why, FLOW_TEXT,
			 "%.100s: not TCP, UDP or SCTP with /PORT, nor ICMP, ICMPv6 or another "
			 "protocol's "
			 "number",
			 text);
	return -EINVAL;
}

char *port_print(const struct flow *flow, char text[FLOW_TEXT])
{
	size_t i = 0;

	while (i < N_PROTOCOLS && protocols[i].protocol != flow->protocol)
		i++;
	if (i == N_PROTOCOLS)
		snprintf(text, FLOW_TEXT, "%u", flow->protocol);
	else if (protocols[i].has_ports)
		snprintf(text, FLOW_TEXT, "%s/%u", protocols[i].name, flow->port);
	else
		snprintf(text, FLOW_TEXT, "%s", protocols[i].name);
	return text;
}
