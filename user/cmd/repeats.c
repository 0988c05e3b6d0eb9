/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "cmd/repeats.h"

#define SECOND UINT64_C(1000000000) /* ns */

static struct repeat_key key_of(const struct bh_event *event)
{
	struct repeat_key key;

	memset(&key, 0, sizeof(key));
	key.source = event->source;
	key.destination = event->destination;
	key.ifindex = event->ifindex;
	key.port = event->flags & BH_EVENT_REPLY ? event->source_port : event->destination_port;
	key.protocol = event->protocol;
	key.hook = event->hook;
	key.reason = event->reason;
	key.flags = event->flags;
	return key;
}

bool repeats_is_first(struct repeats *repeats, const struct bh_event *event, uint64_t now)
{
	const struct repeat_key key = key_of(event);

	for (size_t i = 0; i < repeats->n; i++) {
		struct repeat *repeat = &repeats->at[i];

		if (memcmp(&repeat->key, &key, sizeof(key)))
			continue;
		repeat->last = *event;
		repeat->more++;
		return false;
	}
	if (repeats->n < REPEATS_FLOWS)
		repeats->at[repeats->n++] = (struct repeat){.key = key, .until = now + SECOND};
	return true;
}

void repeats_tell(struct repeats *repeats, uint64_t now, bool all,
		  void (*tell)(void *data, const struct bh_event *last, uint64_t more), void *data)
{
	size_t kept = 0;

	for (size_t i = 0; i < repeats->n; i++) {
		struct repeat *repeat = &repeats->at[i];
		const bool over = all || repeat->until <= now;
		const bool more = over && repeat->more;

		if (more) {
			tell(data, &repeat->last, repeat->more);
			repeat->more = 0;
			repeat->until = now + SECOND;
		}
		/* A flow that was silent for a second is printed at once when it comes again. */
		if (!over || more)
			repeats->at[kept++] = *repeat;
	}
	repeats->n = kept;
}
