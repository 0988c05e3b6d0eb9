// SPDX-License-Identifier: GPL-2.0-only
#include "node/observe/drops.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "node/kernel/last_drops.h"

/* A record as it was at the last look. */
struct seen {
	uint64_t hash, time;
	uint32_t more;
};

struct drops {
	struct node_options options;
	struct node_handle *handle;
	bool looked;
	struct seen seen[PAST_RECORDS];
};

struct drops *drops_open(const char *pin, struct diag *diag)
{
	struct drops *drops = calloc(1, sizeof(*drops));

	if (!drops)
		return NULL;
	drops->options.pin = pin;
	if (!node_new(&drops->options, diag, &drops->handle))
		return drops;
	drops_close(drops);
	return NULL;
}

void drops_close(struct drops *drops)
{
	if (!drops)
		return;
	node_close(drops->handle);
	free(drops);
}

/* A hash of the members that do not change while a record counts further packets. */
static uint64_t hash_of(const struct past_drop *drop)
{
	struct bh_event event = drop->event;

	event.time = event.more = 0;
	return XXH3_64bits_withSeed(&event, sizeof(event), drop->ifindex);
}

/* Returns the packets of a record since the last look. A record that has a later time and counts no
 * more than before was made anew. */
static uint64_t packets_since(const struct seen *before, const struct seen *now)
{
	if (before->time == now->time && before->hash == now->hash)
		return 0;
	if (before->hash == now->hash && now->more > before->more)
		return now->more - before->more;
	return now->more + UINT64_C(1);
}

int drops_look(struct drops *drops,
	       void (*visit)(void *data, const struct bh_event *event, uint64_t packets),
	       void *data)
{
	CLEANUP(past_free) struct past past = {};
	int error = past_read(drops->handle, 0, &past);

	for (size_t i = 0; !error && i < past.n; i++) {
		const struct past_drop *drop = &past.at[i];
		const struct seen now = {hash_of(drop), drop->event.time, drop->event.more};
		const uint64_t packets = packets_since(&drops->seen[drop->at], &now);

		drops->seen[drop->at] = now;
		if (drops->looked && packets)
			visit(data, &drop->event, packets);
	}
	/* without a policy there are no maps, and all drops that come are new */
	drops->looked |= !error || error == -ENOENT;
	return error == -ENOENT ? 0 : error;
}
