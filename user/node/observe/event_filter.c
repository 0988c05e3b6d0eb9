// SPDX-License-Identifier: GPL-2.0-only
#include "node/observe/event_filter.h"

static bool in_block(const struct bh_block *block, const struct bh_addr *addr)
{
	for (int i = 0; i < 4; i++)
		if ((addr->word[i] & block->mask.word[i]) != block->value.word[i])
			return false;
	return true;
}

/* Returns the BH_END_* whose address block contains that address of the packet. */
static uint8_t in_blocks(const struct bh_filter *filter, const struct bh_event *event)
{
	uint8_t have = 0;

	if (event->flags & BH_EVENT_NO_PACKET)
		return 0;
	if (in_block(&filter->block[0], &event->source) ||
	    in_block(&filter->block[0], &event->destination))
		have |= BH_END_EITHER;
	if (in_block(&filter->block[1], &event->source))
		have |= BH_END_SOURCE;
	if (in_block(&filter->block[2], &event->destination))
		have |= BH_END_DESTINATION;
	return have & filter->blocks;
}

/* Returns the BH_END_* that the ends have for the packet's source or destination. */
static uint8_t named(const struct table *ends, const struct bh_event *event, bool source)
{
	struct bh_addr key = source ? event->source : event->destination;
	const uint8_t *found;

	if (event->hook == (source ? BH_HOOK_FROM_ENDPOINT : BH_HOOK_TO_ENDPOINT))
		key = bh_end_iface(event->ifindex);
	else if (event->flags & BH_EVENT_NO_PACKET)
		return 0;
	found = table_find(ends, &key);
	return found ? *found : 0;
}

static bool matches_ends(const struct bh_filter *filter, const struct table *ends,
			 const struct bh_event *event)
{
	const uint8_t asked = filter->blocks | filter->named;
	uint8_t have = in_blocks(filter, event);

	if (filter->named)
		have |= (named(ends, event, true) & (BH_END_EITHER | BH_END_SOURCE)) |
			(named(ends, event, false) & (BH_END_EITHER | BH_END_DESTINATION));
	return (have & asked) == asked;
}

bool event_filter_matches(const struct bh_filter *filter, const struct table *ends,
			  const struct bh_event *event)
{
	const bool reply = event->flags & BH_EVENT_REPLY;

	if (!(filter->reasons[!!(event->flags & BH_EVENT_AUDIT)] >> (event->reason & 63) & 1))
		return false;
	if (filter->flags & BH_FILTER_PROTOCOL && filter->protocol != event->protocol)
		return false;
	if (filter->flags & BH_FILTER_PORT &&
	    filter->port != (reply ? event->source_port : event->destination_port))
		return false;
	return matches_ends(filter, ends, event);
}
