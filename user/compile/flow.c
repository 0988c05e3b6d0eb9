/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compile/flow.h"

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
