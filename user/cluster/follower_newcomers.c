// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guards what comes up on the node without a change of policy: the tunnel that an overlay network
 * makes after the first load, another uplink, another default route; and learns the addresses that
 * the node gets and gives up. The follower looks every few seconds, and loads the active policy
 * again if it finds something.
 *
 * A pod's interface is there for a moment before the CNI plugin adds the pod: an interface is
 * loaded for only if the look before found it, too.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/follower.h"
#include "node/observe/newcomers.h"

#define LOOK_MS 5000
#define LOOK_MAX_MS 300000 /* while loads do not help */

static bool has(const struct newcomers *newcomers, uint32_t ifindex)
{
	for (size_t i = 0; i < newcomers->n; i++)
		if (newcomers->ifaces[i].ifindex == ifindex)
			return true;
	return false;
}

/* Says what a load is for. Leaves @text if nothing needs one. */
static void describe(const struct newcomers *before, const struct newcomers *now, char *text,
		     size_t size)
{
	if (now->tunnel) {
		snprintf(text, size, "UDP port %u is a tunnel's by now", now->tunnel);
		return;
	}
	if (now->uplink) {
		snprintf(text, size, "interface %u has a default route by now", now->uplink);
		return;
	}
	if (before->n_addresses && newcomers_moved(before, now)) {
		snprintf(text, size, "the node has other addresses");
		return;
	}
	for (size_t i = 0; i < now->n; i++)
		if (has(before, now->ifaces[i].ifindex))
			snprintf(text, size, "interface %s has come up", now->ifaces[i].name);
}

/* Returns true if no step is under way: a load of the active policy removes what is staged. */
static bool is_idle(const struct follower *follower)
{
	return follower->has.active && follower->has.installed == follower->has.active &&
	       !follower->fetching;
}

/* Loads if something needs that. Returns true if the load before was for the same, and so did not
 * help. */
static bool look(struct follower *follower)
{
	struct newcomers now = {};
	char what[sizeof(follower->loaded_for)] = "";
	bool again;

	if (!followed_node_newcomers(&follower->node, follower->diag, &now))
		describe(&follower->newcomers, &now, what, sizeof(what));
	newcomers_free(&follower->newcomers);
	follower->newcomers = now;
	again = *what && !strcmp(what, follower->loaded_for);
	strcpy(follower->loaded_for, what);
	if (!*what)
		return false;
	diag_note(follower->diag, NULL, NULL, "follow: %s: the active policy is loaded again",
		  what);
	followed_node_load_again(&follower->node, follower->diag);
	return again;
}

static void on_look(void *data)
{
	struct follower *follower = data;
	unsigned int wait = api_jitter(LOOK_MS);

	if (is_idle(follower) && look(follower))
		wait = api_backoff(&follower->look_backoff, LOOK_MS, LOOK_MAX_MS);
	else
		follower->look_backoff = 0;
	api_timer_set(follower->api, &follower->look, wait);
}

void follower_newcomers_begin(struct follower *follower)
{
	follower->look = (struct api_timer){.run = on_look, .data = follower};
	api_timer_set(follower->api, &follower->look, api_jitter(LOOK_MS));
}
