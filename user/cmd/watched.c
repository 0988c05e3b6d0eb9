// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/reason.h"
#include "cmd/watched.h"
#include "model/protocol.h"

/* Returns the index of an end's block in struct bh_filter. */
static unsigned int block_of(uint8_t as)
{
	return as == BH_END_EITHER ? 0 : as == BH_END_SOURCE ? 1 : 2;
}

static void add_block(struct watched *watched, const struct call *call, const struct cidr *cidr,
		      uint8_t as)
{
	struct bh_filter *filter = &watched->filter.kernel;
	struct bh_block *block = &filter->block[block_of(as)];
	struct address all, mask;

	if (filter->blocks & as)
		call_usage_error(call, "%s: only one address for each end", call->value);
	memset(&all, 0xff, sizeof(all));
	mask = address_mask(&all, cidr->length);
	memcpy(&block->mask, &mask, sizeof(block->mask));
	memcpy(&block->value, &cidr->address, sizeof(block->value));
	filter->blocks |= as;
}

/* Adds "namespace/name", or with @whole a namespace. */
static void add_name(struct watched *watched, const struct call *call, bool whole, uint8_t as)
{
	size_t n = watched->filter.n_ends;
	char *text, *slash;

	if (n == WATCHED_ENDS)
		call_usage_error(call, "%s: more than %d names", call->value, WATCHED_ENDS);
	text = watched->names[n];
	if (snprintf(text, MONITOR_NAME, "%s", call->value) >= MONITOR_NAME || !*text)
		call_usage_error(call, "%s: no name", call->value);
	slash = strchr(text, '/');
	if (whole ? !!slash : !slash || !slash[1])
		call_usage_error(call, "%s: neither %s", call->value,
				 whole ? "a namespace nor part of one"
				       : "namespace/name nor an address");
	if (slash)
		*slash = '\0';
	watched->ends[n] = (struct monitor_end){text, slash ? slash + 1 : NULL, as};
	watched->filter.n_ends++;
}

static bool block_parse(const char *text, struct cidr *cidr)
{
	cidr->length = 128;
	return !address_parse(text, &cidr->address) || !cidr_parse(text, cidr);
}

static void add_end(struct watched *watched, const struct call *call, uint8_t as)
{
	struct cidr cidr;

	if (block_parse(call->value, &cidr))
		add_block(watched, call, &cidr, as);
	else
		add_name(watched, call, false, as);
}

static void add_address(struct watched *watched, const struct call *call)
{
	struct cidr cidr;

	if (!block_parse(call->value, &cidr))
		call_usage_error(call, "%s: not an address or a CIDR", call->value);
	add_block(watched, call, &cidr, BH_END_EITHER);
}

/* Parses a port number without a protocol. */
static bool any_port_parse(const char *text, uint16_t *port)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*port = number;
	return *text >= '0' && *text <= '9' && !*end && number <= UINT16_MAX;
}

static void set_port(struct watched *watched, const struct call *call)
{
	struct bh_filter *filter = &watched->filter.kernel;
	struct flow flow = {};
	char why[FLOW_TEXT];

	if (filter->flags)
		call_usage_error(call, "%s: only one port", call->value);
	watched->any_port = any_port_parse(call->value, &flow.port);
	if (watched->any_port) {
		filter->flags = BH_FILTER_PORT;
		filter->port = htons(flow.port);
		return;
	}
	if (port_parse(call->value, &flow, why))
		call_usage_error(call, "%s", why);
	filter->flags = BH_FILTER_PROTOCOL;
	filter->protocol = flow.protocol;
	if (protocol_by_number(flow.protocol)) {
		filter->flags |= BH_FILTER_PORT;
		filter->port = htons(flow.port);
	}
}

static void add_verdict(struct watched *watched, const struct call *call)
{
	if (!strcmp(call->value, "pass"))
		watched->pass = true;
	else if (!strcmp(call->value, "drop"))
		watched->drop = true;
	else if (!strcmp(call->value, "audit"))
		watched->audit = true;
	else
		call_usage_error(call, "%s: neither pass, drop nor audit", call->value);
}

static void add_reason(struct watched *watched, const struct call *call)
{
	const uint64_t bits = reason_bits(call->value);
	char name[REASON_NAME], all[BH_REASONS * (REASON_NAME + 1)];
	size_t n = 0;

	for (uint32_t i = 0; !bits && i < BH_REASONS; i++)
		n += snprintf(all + n, sizeof(all) - n, " %s", reason_name(i, name));
	if (!bits)
		call_usage_error(call, "%s: no such reason; there are:%s", call->value, all);
	watched->reasons |= bits;
}

bool watched_option(struct watched *watched, const struct call *call, int option)
{
	switch (option) {
	case WATCHED_ENDPOINT:
		add_name(watched, call, false, BH_END_EITHER);
		break;
	case WATCHED_NAMESPACE:
		add_name(watched, call, true, BH_END_EITHER);
		break;
	case WATCHED_ADDRESS:
		add_address(watched, call);
		break;
	case WATCHED_FROM:
		add_end(watched, call, BH_END_SOURCE);
		break;
	case WATCHED_TO:
		add_end(watched, call, BH_END_DESTINATION);
		break;
	case WATCHED_PORT:
		set_port(watched, call);
		break;
	case WATCHED_VERDICT:
		add_verdict(watched, call);
		break;
	case WATCHED_REASON:
		add_reason(watched, call);
		break;
	default:
		return false;
	}
	return true;
}

bool watched_has(const struct watched *watched, const struct bh_event *event)
{
	return !watched->any_port || protocol_by_number(event->protocol);
}

void watched_finish(struct watched *watched, const struct call *call)
{
	const bool any = !watched->pass && !watched->drop && !watched->audit;
	uint64_t *reasons = (uint64_t *)watched->filter.kernel.reasons;
	const uint64_t asked = watched->reasons ? watched->reasons : UINT64_MAX;

	for (uint32_t i = 0; i < BH_REASONS; i++) {
		uint64_t bit = UINT64_C(1) << i & asked;

		if (any || (bh_reason_drops(i) ? watched->drop : watched->pass))
			reasons[0] |= bit;
		if (bh_reason_drops(i) && (any || watched->audit))
			reasons[1] |= bit;
	}
	if (!reasons[0] && !reasons[1])
		call_usage_error(call, "no event has both that verdict and that reason");
	watched->filter.ends = watched->ends;
}
