/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks an event against a reader's filter, as the programs do before they write it
 * (kern/reader.h).
 */
#ifndef BULKHEAD_NODE_EVENT_FILTER_H
#define BULKHEAD_NODE_EVENT_FILTER_H

#include <stdbool.h>

#include "maps/event.h"
#include "maps/reader.h"
#include "node/kernel/table.h"

/* @ends: of the endpoints that the filter names, as in bh_reader_ends. */
bool event_filter_matches(const struct bh_filter *filter, const struct table *ends,
			  const struct bh_event *event);

#endif
