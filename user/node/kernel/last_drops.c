// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "node/kernel/last_drops.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/table.h"

void past_free(struct past *past)
{
	free(past->at);
}

static int compare_drops(const void *a, const void *b)
{
	const struct past_drop *x = a, *y = b;

	return x->event.time < y->event.time ? -1 : x->event.time > y->event.time;
}

static int add_place(struct past *past, uint32_t ifindex, uint32_t place, const struct bh_past *at,
		     uint64_t since)
{
	struct past_drop *more;

	more = reallocarray(past->at, past->n + BH_PAST_DROPS, sizeof(*more));
	if (!more)
		return -ENOMEM;
	past->at = more;
	for (size_t i = 0; i < BH_PAST_DROPS; i++)
		if (at->drops[i].time && at->drops[i].time >= since)
			past->at[past->n++] = (struct past_drop){ifindex, place * BH_PAST_DROPS + i,
								 at->drops[i]};
	return 0;
}

int past_read(struct node_handle *handle, uint64_t since, struct past *past)
{
	SCOPED_FD int fd = pins_get(handle, "tally_keys");
	SCOPED_FD int places = pins_get(handle, "past");
	struct bh_tally_key keys[BH_TALLIES];
	int error = fd < 0 ? fd : places < 0 ? places : 0;

	*past = (struct past){};
	if (!error)
		error = table_read_range(fd, 0, BH_TALLIES, sizeof(*keys), keys);
	for (uint32_t place = 0; !error && place < BH_TALLIES; place++) {
		struct bh_past at;

		if (!keys[place].ifindex)
			continue;
		error = bpf_map_lookup_elem(places, &place, &at)
				? -errno
				: add_place(past, keys[place].ifindex, place, &at, since);
	}
	if (past->n)
		qsort(past->at, past->n, sizeof(*past->at), compare_drops);
	return error;
}
