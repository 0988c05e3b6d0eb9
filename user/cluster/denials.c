// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/denials.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cluster/count.h"
#include "cluster/event_objects.h"
#include "policy/flow.h"
#include "policy/isolation.h"
#include "maps/counter.h"
#include "model/allowance.h"
#include "node/observe/drops.h"

#define IDLE_MS 60000 /* without denials, the policy's names are freed after so long */
#define POLICIES_OF_ONE 4 /* policies for which a denial counts */

/* A policy's denials in one direction. */
struct series {
	char *policy;
	enum direction direction;
	uint64_t packets;
};

struct denial {
	uint64_t id; /* 0: the place is free */
	uint64_t owner; /* hash of the pod */
	/* ms: when the denial is reported again, or forgotten; 0: not reported yet */
	uint64_t until;
	uint64_t packets, reported; /* so far; of these, when last reported */
	time_t since; /* the first one */
	struct bh_event event; /* the last one */
	struct json_object *pod; /* NULL: the API server has no such pod */
	char key[64]; /* all that tells the pod's denials apart */
	uint16_t series[POLICIES_OF_ONE];
	uint8_t n_series;
};

struct denials {
	struct api *api;
	struct denials_options options;
	struct diag *diag;
	struct drops *drops;
	struct monitor *monitor; /* for names; NULL: closed */
	uint64_t used; /* ms: when `monitor` was last asked */
	struct api_timer timer;
	uint64_t paid; /* for allowance_take(): reports */
	struct denial denials[DENIALS_MAX];
	struct series series[DENIALS_POLICIES + 2]; /* the last two: of all others, by direction */
	size_t n_series;
	uint64_t unreported; /* packets beyond the limits */
};

static void free_denial(struct denial *denial)
{
	json_object_put(denial->pod);
	*denial = (struct denial){0};
}

/* Opens the names of what is active. Returns false if nothing is loaded. */
static bool open_monitor(struct denials *denials)
{
	denials->used = api_now();
	if (denials->monitor && !monitor_is_live(denials->monitor)) {
		monitor_close(denials->monitor);
		denials->monitor = NULL;
	}
	if (!denials->monitor &&
	    monitor_open_past(denials->options.pin, NULL, denials->diag, &denials->monitor))
		denials->monitor = NULL;
	return denials->monitor;
}

/* The ends of a denial: the pod that a policy selects, and its peer. */
struct denial_ends {
	enum direction direction;
	struct address subject, peer;
	uint16_t port; /* that the connection was opened to */
};

static struct denial_ends ends_of(const struct bh_event *event)
{
	const bool reply = event->flags & BH_EVENT_REPLY;
	struct address caller, called;
	struct denial_ends ends = {
		.direction = event->reason == BH_DROP_INGRESS ? INGRESS : EGRESS,
		.port = ntohs(reply ? event->source_port : event->destination_port)};

	memcpy(&caller, reply ? &event->destination : &event->source, sizeof(caller));
	memcpy(&called, reply ? &event->source : &event->destination, sizeof(called));
	ends.subject = ends.direction == INGRESS ? called : caller;
	ends.peer = ends.direction == INGRESS ? caller : called;
	return ends;
}

/* Series */

static struct series *others(struct denials *denials, enum direction direction)
{
	return &denials->series[DENIALS_POLICIES + direction];
}

/* The state of add_series() while decision_policies() runs. */
struct naming {
	struct denials *denials;
	struct denial *denial;
	enum direction direction;
};

static void add_series(void *data, const char *policy)
{
	struct naming *naming = data;
	struct denials *denials = naming->denials;
	struct denial *denial = naming->denial;
	size_t i = 0;

	while (i < denials->n_series && (denials->series[i].direction != naming->direction ||
					 strcmp(denials->series[i].policy, policy)))
		i++;
	if (denial->n_series == POLICIES_OF_ONE)
		return;
	if (i == DENIALS_POLICIES)
		i += naming->direction;
	else if (i == denials->n_series) {
		char *name = strdup(policy);

		if (!name)
			return;
		denials->series[denials->n_series++] =
			(struct series){.policy = name, .direction = naming->direction};
	}
	denial->series[denial->n_series++] = i;
}

static void count(struct denials *denials, const struct denial *denial, uint64_t packets)
{
	for (size_t i = 0; i < denial->n_series; i++)
		denials->series[denial->series[i]].packets += packets;
}

/* New denials */

/* Returns the place of a denial; else a free one; NULL: the pod or the node has too many. */
static struct denial *place_of(struct denials *denials, uint64_t id, uint64_t owner)
{
	struct denial *free = NULL;
	size_t n = 0;

	for (size_t i = 0; i < DENIALS_MAX; i++) {
		struct denial *at = &denials->denials[i];

		if (at->id == id)
			return at;
		n += at->id && at->owner == owner;
		if (!at->id && !free)
			free = at;
	}
	return n < DENIALS_OF_POD ? free : NULL;
}

/* Notes a denial that is new, and whose policies count. */
static void begin(struct denials *denials, struct denial *denial, const struct policy *policy,
		  const struct bh_event *event, enum direction direction)
{
	struct naming naming = {denials, denial, direction};
	const struct decision said = monitor_decision(denials->monitor, policy, event, direction);

	if (policy)
		decision_policies(policy, &said, add_series, &naming);
	if (!denial->n_series)
		denial->series[denial->n_series++] = DENIALS_POLICIES + direction;
}

static void take(void *data, const struct bh_event *event, uint64_t packets)
{
	struct denials *denials = data;
	const struct denial_ends ends = ends_of(event);
	const struct policy *policy;
	char name[MONITOR_NAME], key[64];
	struct denial *denial;
	uint64_t id, owner;

	if ((event->reason != BH_DROP_INGRESS && event->reason != BH_DROP_EGRESS) ||
	    event->flags & BH_EVENT_NO_PACKET || !open_monitor(denials))
		return;
	policy = monitor_policy(denials->monitor, event->generation);
	if (!monitor_name(denials->monitor, policy, &ends.subject, name))
		address_print(&ends.subject, name);
	snprintf(key, sizeof(key), "%s %u %u/%u %s",
		 ends.direction == INGRESS ? "ingress" : "egress",
		 monitor_segment(denials->monitor, policy, &ends.peer), event->protocol, ends.port,
		 event->flags & BH_EVENT_AUDIT ? "audit" : "");
	owner = XXH3_64bits(name, strlen(name));
	id = XXH3_64bits_withSeed(key, strlen(key), owner) | 1;
	denial = place_of(denials, id, owner);
	if (!denial) {
		others(denials, ends.direction)->packets += packets;
		denials->unreported += packets;
		return;
	}
	if (!denial->id) {
		denial->id = id;
		denial->owner = owner;
		denial->since = time(NULL);
		denial->pod = json_object_get(denials->options.pod(denials->options.data, name));
		snprintf(denial->key, sizeof(denial->key), "%s", key);
		begin(denials, denial, policy, event, ends.direction);
	}
	denial->event = *event;
	denial->packets += packets;
	count(denials, denial, packets);
}

/* Reports */

/* Returns true if one more denial may be reported now. */
static bool pay(struct denials *denials)
{
	return allowance_take(&denials->paid, api_now(), events_share(*denials->options.nodes),
			      DENIALS_BURST);
}

/* Prints the peer. Whoever reads a namespace's Events reads no name of another namespace's pod. */
static void print_peer(struct denials *denials, const struct policy *policy,
		       const struct denial *denial, const struct address *peer, FILE *to)
{
	const char *ns = api_text(denial->pod, "metadata.namespace");
	char name[MONITOR_NAME], address[ADDRESS_TEXT];
	const size_t n = ns ? strlen(ns) : 0;

	address_print(peer, address);
	if (n && monitor_name(denials->monitor, policy, peer, name) && !strncmp(name, ns, n) &&
	    name[n] == '/')
		fprintf(to, "%s (%s)", name, address);
	else
		fputs(address, to);
}

/* Writes "ingress from shop/web (10.0.0.2) to TCP/80: deny network-policy, isolated by shop/db". */
static void describe(struct denials *denials, const struct denial *denial, FILE *to)
{
	const struct bh_event *event = &denial->event;
	const struct denial_ends ends = ends_of(event);
	const struct policy *policy = monitor_policy(denials->monitor, event->generation);
	const struct decision said =
		monitor_decision(denials->monitor, policy, event, ends.direction);
	struct flow flow = {.protocol = event->protocol, .port = ends.port};
	char text[DECISION_TEXT];

	fputs(ends.direction == INGRESS ? "ingress from " : "egress to ", to);
	print_peer(denials, policy, denial, &ends.peer, to);
	fprintf(to, "%s %s: ", ends.direction == INGRESS ? " to" : "", port_print(&flow, text));
	fputs(decision_print(policy, &said, text, sizeof(text)), to);
	if (said.isolated)
		fprintf(to, ", %s", decision_why(policy, &said, text, sizeof(text)));
}

static void report(struct denials *denials, struct denial *denial)
{
	char *message = NULL;
	size_t size;
	FILE *to = open_memstream(&message, &size);
	struct events_denial event = {.key = denial->key,
				      .reason = denial->event.flags & BH_EVENT_AUDIT ? "WouldDeny"
										     : "Denied",
				      .count = denial->packets,
				      .since = denial->since};

	denial->until = api_now() + DENIALS_AGAIN_MS;
	denial->reported = denial->packets;
	denials->options.print(denials->monitor, &denial->event, denials->options.node,
			       denial->packets);
	if (!to)
		return;
	describe(denials, denial, to);
	fclose(to);
	event.message = message;
	if (denial->pod && message)
		events_denied(denials->options.events, denial->pod, &event);
	free(message);
}

/* Reports what is due, and forgets what has ended. */
static void report_due(struct denials *denials)
{
	const uint64_t now = api_now();

	for (size_t i = 0; i < DENIALS_MAX; i++) {
		struct denial *denial = &denials->denials[i];

		if (!denial->id || denial->until > now)
			continue;
		if (denial->packets == denial->reported) {
			free_denial(denial);
			continue;
		}
		if (!open_monitor(denials))
			return;
		if (!pay(denials))
			return;
		report(denials, denial);
	}
}

static void look(void *data)
{
	struct denials *denials = data;
	const int error = drops_look(denials->drops, take, denials);

	if (error)
		diag_warn(denials->diag, NULL, NULL, "denials: the kept drops cannot be read: %s",
			  strerror(-error));
	report_due(denials);
	if (denials->monitor && denials->used + IDLE_MS < api_now()) {
		monitor_close(denials->monitor);
		denials->monitor = NULL;
	}
	api_timer_set(denials->api, &denials->timer, DENIALS_MS);
}

struct denials *denials_open(struct api *api, const struct denials_options *options,
			     struct diag *diag)
{
	struct denials *denials = calloc(1, sizeof(*denials));

	if (!denials)
		return NULL;
	denials->api = api;
	denials->options = *options;
	denials->diag = diag;
	denials->timer = (struct api_timer){.run = look, .data = denials};
	denials->drops = drops_open(options->pin, diag);
	if (!denials->drops) {
		denials_close(denials);
		return NULL;
	}
	for (int direction = INGRESS; direction <= EGRESS; direction++)
		others(denials, direction)->direction = direction;
	look(denials);
	return denials;
}

void denials_close(struct denials *denials)
{
	if (!denials)
		return;
	api_timer_stop(denials->api, &denials->timer);
	for (size_t i = 0; i < DENIALS_MAX; i++)
		free_denial(&denials->denials[i]);
	for (size_t i = 0; i < denials->n_series; i++)
		free(denials->series[i].policy);
	monitor_close(denials->monitor);
	drops_close(denials->drops);
	free(denials);
}

/* The API server lets no name have a character that a label must quote. */
static void put_series(const struct series *series, const char *policy, FILE *to)
{
	char labels[600];

	snprintf(labels, sizeof(labels), "policy=\"%.500s\",direction=\"%s\"", policy,
		 series->direction == INGRESS ? "ingress" : "egress");
	count_series(to, "follow_denied_packets_total", labels, series->packets);
}

void denials_metrics(const struct denials *denials, FILE *to)
{
	count_family(
		to, "follow_denied_packets_total",
		"Packets that policy denied, or would but for audit, by each policy that denies "
		"them: at least so many, since the kernel keeps the last kinds of drops only.");
	for (size_t i = 0; i < denials->n_series; i++)
		put_series(&denials->series[i], denials->series[i].policy, to);
	for (size_t i = DENIALS_POLICIES; i < DENIALS_POLICIES + 2; i++)
		if (denials->series[i].packets)
			put_series(&denials->series[i], "(others)", to);
	count_put(to, "follow_denied_packets_unreported_total",
		  "Denied packets beyond the limits of reports, which no Event counts.",
		  denials->unreported);
}
