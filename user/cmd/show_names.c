// SPDX-License-Identifier: GPL-2.0-only
/* `show names`: the addresses that endpoints have learned by domain names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/screen.h"
#include "cmd/show.h"
#include "maps/endpoint.h"

/* An endpoint of this node. */
struct learner {
	uint32_t ifindex;
	struct address address;
};

struct names_listing {
	const struct show *show;
	struct learner *learners;
	size_t n;
};

static int add_learner(void *data, const void *key, const void *value)
{
	struct names_listing *listing = data;
	const struct bh_endpoint *endpoint = value;
	struct learner *more;

	if (!endpoint->ifindex)
		return 0;
	more = realloc(listing->learners, (listing->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	listing->learners = more;
	more[listing->n].ifindex = endpoint->ifindex;
	memcpy(&more[listing->n++].address, key, sizeof(more->address));
	return 0;
}

/* Sets @name to the endpoint's, or to its interface if no endpoint has that any more. */
static void name_learner(const struct names_listing *listing, uint32_t ifindex,
			 char name[FLOW_TEXT])
{
	*name = '\0';
	for (size_t i = 0; i < listing->n && !*name; i++)
		if (listing->learners[i].ifindex == ifindex)
			show_side_at(listing->show->policy, &listing->learners[i].address, name);
	if (!*name)
		snprintf(name, FLOW_TEXT, "interface %u", ifindex);
}

static void show_name(const struct names_listing *listing, const char *pod, const char *address,
		      const char *name, int32_t left)
{
	struct emit *emit = listing->show->emit;

	emit_say(emit, "%-32s %-40s %-40s ", pod, address, name);
	if (left >= 0)
		emit_say(emit, "%d s\n", left);
	else
		emit_say(emit, "over\n");
	emit_object(emit, NULL);
	emit_text(emit, "endpoint", pod);
	emit_text(emit, "address", address);
	emit_text(emit, "name", name);
	emit_seconds(emit, left);
	emit_end(emit);
}

static int show_learned(void *data, const void *key, const void *value)
{
	const struct names_listing *listing = data;
	const struct bh_learned_key *at = key;
	struct bh_learned learned; /* as far as it counts, unlike @value */
	char pod[FLOW_TEXT], address[ADDRESS_TEXT];

	(void)value;
	name_learner(listing, at->ifindex, pod);
	if (!filter_in_namespace(listing->show->filter->ns, &(struct flow_side){.name = pod}) ||
	    !live_learned(listing->show->view->live, at->ifindex, (const struct address *)&at->addr,
			  &learned))
		return 0;
	address_print((const struct address *)&at->addr, address);
	for (int i = 0; i < BH_LEARNED_NAMES; i++)
		if (learned.domain[i])
			show_name(
				listing, pod, address,
				domain_names_text(&listing->show->view->domains, learned.domain[i]),
				live_seconds((uint32_t)learned.until[i]));
	return 0;
}

static int show_resolver(void *data, const void *key, const void *value)
{
	const struct show *show = data;
	char address[ADDRESS_TEXT];

	(void)value;
	address_print(key, address);
	emit_say(show->emit, " %s", address);
	return 0;
}

int show_names(const struct show *show)
{
	struct names_listing listing = {.show = show};
	int error = live_each(show->view->live, "endpoints", add_learner, &listing);

	emit_array(show->emit, NULL);
	if (!error)
		emit_say(show->emit, "%s%-32s %-40s %-40s LEFT%s\n", paint_on(PAINT_BOLD),
			 "ENDPOINT", "ADDRESS", "NAME", paint_off());
	if (!error)
		error = live_each(show->view->live, "learned", show_learned, &listing);
	if (!error)
		emit_say(show->emit, "\nresolvers, whose answers teach names:");
	if (!error)
		error = live_each(show->view->live, "resolvers", show_resolver, (void *)show);
	if (!error)
		emit_say(show->emit, "\n");
	if (error)
		command_error("cannot read what endpoints have learned: %s", strerror(-error));
	else
		emit_end(show->emit);
	free(listing.learners);
	return status_of(error);
}
