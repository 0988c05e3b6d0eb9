// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guards what comes up on the node without a change of policy: the tunnel that an overlay network
 * makes after the first load, another uplink, another default route; and learns the addresses that
 * the node gets and gives up. The follower looks every few seconds, and loads the active policy
 * again if it finds something. It does so while a policy is staged, too, which may be for long: the
 * rollout waits for a slow node, or there is no engine. That policy is staged again, since other
 * nodes may count on it.
 *
 * A pod whose labels fit no segment gets its own at once, but not while a policy is staged: it is
 * isolated until that is active. If that takes long, a load makes the segment.
 *
 * A pod's interface is there for a moment before the CNI plugin adds the pod: an interface is
 * loaded for only if the look before found it, too.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/follower.h"
#include "node/observe/newcomers.h"

#define LOOK_MS 5000
#define SEGMENT_MS 1000 /* a rollout that nothing holds up is over by then */
/* Loads for segments, and those for what comes up, take no more than one part in so many of a
 * processor each: whoever makes pods of ever new labels, or interfaces of ever new names, must not
 * keep the node busy. What a load waits for does not count: a load that a busy node stretches to
 * seconds would leave the next interface without its hook for minutes. */
#define LOAD_SHARE 20
#define LOOK_MAX_MS 300000 /* between loads for the same, while these do not help */

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
	for (size_t i = 0; i < now->n; i++)
		if (has(before, now->ifaces[i].ifindex))
			snprintf(text, size, "interface %s has come up", now->ifaces[i].name);
}

/* Keeps what a look has found. @loaded: the active policy has these addresses now, else those of an
 * earlier look. */
static void keep(struct follower *follower, struct newcomers *now, bool loaded)
{
	struct newcomers *before = &follower->newcomers;
	const struct newcomers had = *before;

	if (!loaded && before->n_addresses) {
		before->addresses = now->addresses;
		now->addresses = had.addresses;
		now->n_addresses = had.n_addresses;
	}
	newcomers_free(before);
	*before = *now;
}

/* Reports that the load that failed has succeeded by now, or is no longer needed. */
static void end_failure(struct follower *follower)
{
	if (!follower->load_failed)
		return;
	follower->load_failed = false;
	follower_set_message(follower, 0, "load");
	follower_report(follower);
}

static int load_again(struct follower *follower)
{
	struct heard heard;
	int error;

	follower_hear(follower, &heard);
	error = followed_node_load_again(&follower->node, follower->diag, &follower->has);
	follower_end_hearing(follower, &heard);
	follower->changes++;
	if (!error) {
		end_failure(follower);
		return 0;
	}
	follower->failed++;
	follower->load_failed = true;
	follower_set_message(follower, error, "load");
	follower_report(follower);
	return error;
}

/* Returns for how long no load may follow one before which the process had taken @before of the
 * processor. In ms, as are the times of api_processor_time(). */
static uint64_t pause_after(uint64_t before)
{
	return (api_processor_time() - before) * LOAD_SHARE;
}

/* Loads. If the node has other policies then, as where the staged one could not be staged again,
 * takes the next step. */
static int load(struct follower *follower, const char *what)
{
	const struct followed_node_state had = follower->has;
	int error;

	diag_note(follower->diag, NULL, NULL, "follow: %s: the active policy is loaded again",
		  what);
	error = load_again(follower);
	if (memcmp(&had, &follower->has, sizeof(had)) != 0)
		follower->go_on(follower);
	return error;
}

/* Returns true if it is time to load for @what; "": for nothing. For the same again only after a
 * pause that doubles: the loads before did not help, or the addresses change all the time, as those
 * of kube-proxy's IPVS. */
static bool is_due(struct look_pause *pause, const char *what)
{
	const uint64_t now = api_now();
	const bool same = !strcmp(what, pause->what);

	if (!*what && pause->until + pause->backoff < now)
		*pause->what = '\0';
	if (!*what || (same && pause->until > now))
		return false;
	if (!same)
		pause->backoff = 0;
	snprintf(pause->what, sizeof(pause->what), "%s", what);
	pause->until = now + api_backoff(&pause->backoff, LOOK_MS, LOOK_MAX_MS);
	return true;
}

/* Finds what has come up. An error is logged if the look before had none, and reported. */
static int find(struct follower *follower, struct newcomers *now)
{
	struct diag silent = {};
	const int had = follower->look_error;

	follower->look_error =
		followed_node_newcomers(&follower->node, had ? &silent : follower->diag, now);
	if (had && !follower->look_error)
		diag_note(follower->diag, NULL, NULL,
			  "follow: what comes up on the node is found again");
	if (had != follower->look_error)
		follower_report(follower);
	return follower->look_error;
}

/* Loads if something needs that. */
static void look(struct follower *follower)
{
	struct newcomers now = {};
	char what[sizeof(follower->come_up.what)] = "";
	const char *other = "";
	const uint64_t took = api_processor_time();
	const bool may = api_now() >= follower->look_next;
	bool comes, moves;

	if (find(follower, &now))
		return newcomers_free(&now);
	describe(&follower->newcomers, &now, what, sizeof(what));
	if (follower->newcomers.n_addresses && newcomers_moved(&follower->newcomers, &now))
		other = "the node has other addresses";
	comes = (may || !*what) && is_due(&follower->come_up, what);
	moves = is_due(&follower->moved, other);
	if (comes || moves)
		load(follower, comes ? what : other);
	else if (!*what && !*other && !follower->segments.due)
		end_failure(follower);
	if (comes)
		follower->look_next = api_now() + pause_after(took);
	keep(follower, &now, (comes || moves) && !follower->load_failed);
}

static void on_look(void *data)
{
	struct follower *follower = data;

	look(follower);
	api_timer_set(follower->api, &follower->look, api_jitter(LOOK_MS));
}

static void wait_for_segments(struct follower *follower)
{
	const uint64_t now = api_now(), next = follower->segments_next;

	api_timer_set(follower->api, &follower->segments,
		      next > now + SEGMENT_MS ? next - now : SEGMENT_MS);
}

static void on_segments(void *data)
{
	struct follower *follower = data;
	const uint64_t took = api_processor_time();
	uint64_t pause;
	int error;

	/* an activation has made the segments */
	if (follower->waits_in != follower->has.active ||
	    follower->has.installed == follower->has.active)
		return;
	error = load(follower, "a pod waits for its segment while a policy is staged");
	if (error) {
		pause = api_backoff(&follower->segments_backoff, LOOK_MS, LOOK_MAX_MS);
	} else {
		follower->segments_backoff = 0;
		pause = pause_after(took);
	}
	follower->segments_next = api_now() + (pause > LOOK_MS ? pause : LOOK_MS);
	if (error || follower->segments.due)
		wait_for_segments(follower);
}

void follower_pod_waits(struct follower *follower)
{
	follower->waits_in = follower->has.active;
	if (!follower->segments.due)
		wait_for_segments(follower);
}

void follower_newcomers_begin(struct follower *follower)
{
	follower->look = (struct api_timer){.run = on_look, .data = follower};
	follower->segments = (struct api_timer){.run = on_segments, .data = follower};
	api_timer_set(follower->api, &follower->look, api_jitter(LOOK_MS));
}
