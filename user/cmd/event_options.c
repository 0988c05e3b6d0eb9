// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/event_options.h"
#include "cmd/reason.h"
#include "cmd/side.h"
#include "model/protocol.h"

/* Returns the index of an end's block in struct bh_filter. */
static unsigned int block_of(uint8_t as)
{
	return as == BH_END_EITHER ? 0 : as == BH_END_SOURCE ? 1 : 2;
}

static void add_block(struct event_options *selected, const struct call *call,
		      const struct cidr *cidr, uint8_t as)
{
	struct bh_filter *filter = &selected->filter.kernel;
	struct bh_block *block = &filter->block[block_of(as)];
	struct address all, mask;

	if (filter->blocks & as)
		call_value_error(call, "only one address for each end");
	memset(&all, 0xff, sizeof(all));
	mask = address_mask(&all, cidr->length);
	memcpy(&block->mask, &mask, sizeof(block->mask));
	memcpy(&block->value, &cidr->address, sizeof(block->value));
	filter->blocks |= as;
}

/* Adds "namespace/name", or with @whole a namespace. */
static void add_name(struct event_options *selected, const struct call *call, bool whole,
		     uint8_t as)
{
	size_t n = selected->filter.n_ends;
	char *text, *slash;

	if (n == EVENT_OPTION_ENDS)
		call_value_error(call, "more than %d names", EVENT_OPTION_ENDS);
	text = selected->names[n];
	if (snprintf(text, MONITOR_NAME, "%s", call->value) >= MONITOR_NAME || !*text)
		call_value_error(call, "no name");
	slash = strchr(text, '/');
	if (whole ? !!slash : !slash || !slash[1])
		call_value_error(call, "neither %s",
				 whole ? "a namespace nor part of one"
				       : "namespace/name nor an address");
	if (slash)
		*slash = '\0';
	selected->ends[n] = (struct monitor_end){text, slash ? slash + 1 : NULL, as};
	selected->filter.n_ends++;
}

static bool block_parse(const char *text, struct cidr *cidr)
{
	cidr->length = 128;
	return !address_parse(text, &cidr->address) || !cidr_parse(text, cidr);
}

static void add_end(struct event_options *selected, const struct call *call, uint8_t as)
{
	struct cidr cidr;

	if (block_parse(call->value, &cidr))
		add_block(selected, call, &cidr, as);
	else
		add_name(selected, call, false, as);
}

void event_option_endpoint(struct call *call, void *to)
{
	add_name(to, call, false, BH_END_EITHER);
}

void event_option_namespace(struct call *call, void *to)
{
	add_name(to, call, true, BH_END_EITHER);
}

void event_option_from(struct call *call, void *to)
{
	add_end(to, call, BH_END_SOURCE);
}

void event_option_to(struct call *call, void *to)
{
	add_end(to, call, BH_END_DESTINATION);
}

void event_option_address(struct call *call, void *to)
{
	struct cidr cidr;

	if (!block_parse(call->value, &cidr))
		call_value_error(call, "not an address or a CIDR");
	add_block(to, call, &cidr, BH_END_EITHER);
}

/* Parses a port number without a protocol. */
static bool any_port_parse(const char *text, uint16_t *port)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*port = number;
	return *text >= '0' && *text <= '9' && !*end && number <= UINT16_MAX;
}

void event_option_port(struct call *call, void *to)
{
	struct event_options *selected = to;
	struct bh_filter *filter = &selected->filter.kernel;
	struct flow flow = {};
	char why[FLOW_TEXT];

	if (filter->flags)
		call_value_error(call, "only one port");
	selected->any_port = any_port_parse(call->value, &flow.port);
	if (selected->any_port) {
		filter->flags = BH_FILTER_PORT;
		filter->port = htons(flow.port);
		return;
	}
	if (port_parse(call->value, &flow, why))
		call_usage_error(call, "--port %s", why);
	filter->flags = BH_FILTER_PROTOCOL;
	filter->protocol = flow.protocol;
	if (protocol_by_number(flow.protocol)) {
		filter->flags |= BH_FILTER_PORT;
		filter->port = htons(flow.port);
	}
}

void event_option_verdict(struct call *call, void *to)
{
	struct event_options *selected = to;

	if (!strcmp(call->value, "pass"))
		selected->pass = true;
	else if (!strcmp(call->value, "drop"))
		selected->drop = true;
	else if (!strcmp(call->value, "audit"))
		selected->audit = true;
	else
		call_value_error(call, "neither pass, drop nor audit");
}

void event_option_reason(struct call *call, void *to)
{
	struct event_options *selected = to;
	const uint64_t bits = reason_bits(call->value);
	char name[REASON_NAME], all[BH_REASONS * (REASON_NAME + 1)];
	size_t n = 0;

	for (uint32_t i = 0; !bits && i < BH_REASONS; i++)
		n += snprintf(all + n, sizeof(all) - n, " %s", reason_name(i, name));
	if (!bits)
		call_value_error(call, "no such reason; there are:%s", all);
	selected->reasons |= bits;
}

bool event_options_match(const struct event_options *selected, const struct bh_event *event)
{
	return !selected->any_port || protocol_by_number(event->protocol);
}

void event_options_finish(struct event_options *selected, const struct call *call)
{
	const bool any = !selected->pass && !selected->drop && !selected->audit;
	uint64_t *reasons = (uint64_t *)selected->filter.kernel.reasons;
	const uint64_t asked = selected->reasons ? selected->reasons : UINT64_MAX;

	for (uint32_t i = 0; i < BH_REASONS; i++) {
		uint64_t bit = UINT64_C(1) << i & asked;

		if (any || (bh_reason_drops(i) ? selected->drop : selected->pass))
			reasons[0] |= bit;
		if (bh_reason_drops(i) && (any || selected->audit))
			reasons[1] |= bit;
	}
	if (!reasons[0] && !reasons[1])
		call_usage_error(call, "no event has both that verdict and that reason");
	selected->filter.ends = selected->ends;
}
