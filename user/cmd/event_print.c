// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/emit.h"
#include "cmd/event_print.h"
#include "cmd/side.h"
#include "cmd/reason.h"
#include "cmd/screen.h"
#include "model/protocol.h"
#include "policy/isolation.h"
#include "maps/counter.h"
#include "node/node.h"

#define SECOND UINT64_C(1000000000) /* ns */
#define TIME_TEXT 64

/* One end of an event. */
struct event_side {
	char name[MONITOR_NAME]; /* "": the address is no endpoint's */
	char address[ADDRESS_TEXT];
	uint16_t port;
	const char *domains[BH_LEARNED_NAMES]; /* by which the other end has learned the address */
	size_t n_domains;
};

static const char *const reasons[] = BH_REASON_TEXTS;
static const char *const hooks[] = {
	[BH_HOOK_TO_ENDPOINT] = "to endpoint", [BH_HOOK_FROM_ENDPOINT] = "from endpoint",
	[BH_HOOK_UPLINK] = "uplink",	       [BH_HOOK_PORT] = "bridge port",
	[BH_HOOK_LEAVE] = "leaving",
};

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* Prints "2026-01-31T23:59:59.123Z". @since is in ns of CLOCK_MONOTONIC. */
static const char *print_time(uint64_t since, char text[TIME_TEXT])
{
	uint64_t time = now(CLOCK_REALTIME) - (now(CLOCK_MONOTONIC) - since);
	time_t seconds = time / SECOND;
	struct tm tm;
	size_t end;

	gmtime_r(&seconds, &tm);
	end = strftime(text, TIME_TEXT, "%FT%T", &tm);
	snprintf(text + end, TIME_TEXT - end, ".%03" PRIu64 "Z", time % SECOND / 1000000);
	return text;
}

/* @other: the address of the packet's other end. */
static void fill_side(const struct event_printer *printer, const struct policy *policy,
		      const struct bh_addr *addr, const struct bh_addr *other,
		      struct event_side *side)
{
	struct address address, learner;

	memcpy(&address, addr, sizeof(address));
	memcpy(&learner, other, sizeof(learner));
	address_print(&address, side->address);
	side->n_domains = 0;
	if (monitor_name(printer->monitor, policy, &address, side->name))
		return;
	side->name[0] = '\0';
	side->n_domains =
		monitor_domains(printer->monitor, policy, &learner, &address, side->domains);
}

static const char *verdict_text(const struct bh_event *event)
{
	if (event->flags & BH_EVENT_AUDIT)
		return "audit";
	return bh_reason_drops(event->reason) ? "drop" : "pass";
}

static const char *reason_text(const struct bh_event *event)
{
	return event->reason < BH_REASONS ? reasons[event->reason] : "unknown";
}

/* Returns "TCP/80", or "TCP" if no port is known: a later fragment has none, nor has a packet that
 * is cut short. */
static const char *protocol_text(const struct bh_event *event, char text[FLOW_TEXT])
{
	const struct protocol *protocol = protocol_by_number(event->protocol);
	struct flow flow = {.protocol = event->protocol};

	if (protocol && !event->source_port && !event->destination_port)
		return protocol->name;
	/* the port that the client asked for: in a reply, the packet's source port */
	flow.port =
		ntohs(event->flags & BH_EVENT_REPLY ? event->source_port : event->destination_port);
	return port_print(&flow, text);
}

static void emit_event_side(struct emit *emit, const char *key, const struct event_side *side)
{
	if (!side)
		return emit_text(emit, key, NULL);
	if (*side->name)
		emit_say(emit, "%s (", side->name);
	emit_object(emit, key);
	emit_name(emit, "name", side->name);
	emit_text(emit, "address", side->address);
	emit_number(emit, "port", side->port);
	if (side->n_domains) {
		emit_array(emit, "domain_names");
		for (size_t i = 0; i < side->n_domains; i++) {
			emit_say(emit, "%s%s%s", i ? ", " : "name:", side->domains[i],
				 i + 1 < side->n_domains ? "" : " (");
			emit_text(emit, NULL, side->domains[i]);
		}
		emit_end(emit);
	}
	emit_end(emit);
	emit_say(emit, side->port && strchr(side->address, ':') ? "[%s]" : "%s", side->address);
	if (side->port)
		emit_say(emit, ":%u", side->port);
	if (*side->name || side->n_domains)
		emit_say(emit, ")");
}

static struct emit emit_of(const struct event_printer *printer)
{
	return (struct emit){.json = printer->json, .pretty = printer->pretty, .to = printer->to};
}

/* Prints the verdict, in colours if standard output is a terminal. */
static void print_verdict(FILE *to, const struct bh_event *event)
{
	const bool passes = !bh_reason_drops(event->reason);
	const enum paint paint = event->flags & BH_EVENT_AUDIT ? PAINT_WARN
				 : passes		       ? PAINT_GOOD
							       : PAINT_BAD;
	const bool paints = to == stdout;

	fprintf(to, "%s%-5s%s ", paints ? paint_on(paint) : "", verdict_text(event),
		paints ? paint_off() : "");
}

/* Prints the decision for which the packet was dropped, or would have been; else the reason. */
static void print_cause(const struct event_printer *printer, const struct policy *policy,
			const struct bh_event *event, FILE *to)
{
	const enum direction d = event->reason == BH_DROP_EGRESS ? EGRESS : INGRESS;
	struct decision said = {};
	char text[DECISION_TEXT];

	if (event->reason == BH_DROP_EGRESS || event->reason == BH_DROP_INGRESS)
		said = monitor_decision(printer->monitor, policy, event, d);
	if (said.audit && said.allow)
		fprintf(to, "%s, audited: deny %s %s", direction_name(d),
			tier_name(said.audit_tier),
			audit_print(policy, said.audit, text, sizeof(text)));
	else if (!said.subject || said.allow)
		fputs(reason_text(event), to);
	else if (said.isolated)
		fprintf(to, "%s, %s", direction_name(d),
			decision_why(policy, &said, text, sizeof(text)));
	else
		fprintf(to, "%s %s", direction_name(d),
			decision_print(policy, &said, text, sizeof(text)));
}

#define BRIEF_TIME 8 /* "23:59:59" of print_time() */
#define BRIEF_HEAD (BRIEF_TIME + 2 + 5 + 1) /* columns before the ends: time, "Z" and verdict */

static const char *side_name(const struct event_side *side)
{
	return *side->name ? side->name : side->address;
}

/* Prints one line of the screen: names, the port and the cause. */
static void print_brief(const struct event_printer *printer, const struct policy *policy,
			const struct bh_event *event, const struct event_side sides[2],
			const char *service, uint64_t more)
{
	const size_t columns = printer->brief > BRIEF_HEAD ? printer->brief - BRIEF_HEAD : 1;
	char text[FLOW_TEXT], time[TIME_TEXT], *line = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&line, &size);

	if (!to)
		return;
	if (!(event->flags & BH_EVENT_NO_PACKET))
		fprintf(to, "%s -> %s %s%s", side_name(&sides[0]), side_name(&sides[1]),
			protocol_text(event, text), event->flags & BH_EVENT_REPLY ? " reply" : "");
	if (*service)
		fprintf(to, " by service %s", service);
	if (more)
		fprintf(to, " (%" PRIu64 " more)", more);
	fputs(": ", to);
	print_cause(printer, policy, event, to);
	fclose(to);
	print_time(event->time, time);
	fprintf(printer->to, "%.*sZ ", BRIEF_TIME, strchr(time, 'T') + 1);
	print_verdict(printer->to, event);
	if (size > columns && columns > 2)
		fprintf(printer->to, "%.*s..\n", (int)columns - 2, line);
	else
		fprintf(printer->to, "%s\n", line);
	free(line);
}

/* @service: "": the flow is to no Service. */
static void emit_event(const struct event_printer *printer, const struct policy *policy,
		       const struct bh_event *event, const struct event_side sides[2],
		       const char *service, uint64_t more)
{
	struct emit emit = emit_of(printer);
	const bool parsed = !(event->flags & BH_EVENT_NO_PACKET);
	char text[DECISION_TEXT], flow[FLOW_TEXT], reason[REASON_NAME], name[IF_NAMESIZE];
	const char *iface = if_indextoname(event->ifindex, name);

	print_time(event->time, text);
	emit_say(&emit, "%s ", text);
	if (!emit.json)
		print_verdict(emit.to, event);
	emit_object(&emit, NULL);
	emit_text(&emit, "time", text);
	emit_text(&emit, "verdict", verdict_text(event));
	emit_text(&emit, "reason_name", reason_name(event->reason, reason));
	emit_text(&emit, "reason", reason_text(event));
	emit_text(&emit, "hook", hooks[event->hook]);
	emit_text(&emit, "interface", iface);
	emit_event_side(&emit, "source", parsed ? &sides[0] : NULL);
	if (parsed)
		emit_say(&emit, " -> ");
	emit_event_side(&emit, "destination", parsed ? &sides[1] : NULL);
	emit_text(&emit, "port", parsed ? protocol_text(event, flow) : NULL);
	emit_name(&emit, "service", service);
	emit_bool(&emit, "reply", event->flags & BH_EVENT_REPLY);
	if (parsed)
		emit_say(&emit, " %s%s ", protocol_text(event, flow),
			 event->flags & BH_EVENT_REPLY ? " reply" : "");
	if (parsed && *service)
		emit_say(&emit, "by service %s ", service);
	emit_say(&emit, "%s (%s): %s", hooks[event->hook], iface ? iface : "?", reason_text(event));
	for (int d = EGRESS; d >= INGRESS; d--) {
		struct decision said = monitor_decision(printer->monitor, policy, event, d);

		emit_decision(&emit, direction_name(d), policy, &said);
		if (!said.subject)
			continue;
		emit_say(&emit, "; %s: %s", direction_name(d),
			 decision_print(policy, &said, text, sizeof(text)));
		if (said.isolated)
			emit_say(&emit, ", %s", decision_why(policy, &said, text, sizeof(text)));
	}
	if (more)
		emit_say(&emit, "; %" PRIu64 " more", more);
	emit_say(&emit, "\n");
	emit_number(&emit, "generation", event->generation);
	emit_number(&emit, "length", event->length);
	if (printer->node) {
		emit_text(&emit, "node", printer->node);
		emit_number(&emit, "count", printer->count);
	}
	emit_end(&emit);
}

void event_print(const struct event_printer *printer, const struct bh_event *event, uint64_t more)
{
	const struct policy *policy = monitor_policy(printer->monitor, event->generation);
	struct event_side sides[2];
	char service[MONITOR_NAME];

	fill_side(printer, policy, &event->source, &event->destination, &sides[0]);
	fill_side(printer, policy, &event->destination, &event->source, &sides[1]);
	sides[0].port = ntohs(event->source_port);
	sides[1].port = ntohs(event->destination_port);
	if (!monitor_service(printer->monitor, policy, event, service))
		*service = '\0';
	if (printer->brief && !printer->json)
		print_brief(printer, policy, event, sides, service, more);
	else
		emit_event(printer, policy, event, sides, service, more);
}

void event_print_left_out(const struct event_printer *printer, const struct monitor_left_out *left)
{
	char time[TIME_TEXT], iface[IF_NAMESIZE] = "?";
	struct emit emit = emit_of(printer);

	if_indextoname(left->ifindex, iface);
	print_time(now(CLOCK_MONOTONIC), time);
	emit_say(&emit, "%s %" PRIu64 " more events of packets %s %s (%s) are left out\n", time,
		 left->events, left->inward ? "to" : "from",
		 *left->name ? left->name : "no endpoint", iface);
	emit_object(&emit, NULL);
	emit_text(&emit, "time", time);
	emit_text(&emit, "verdict", "suppressed");
	emit_text(&emit, "interface", iface);
	emit_name(&emit, "endpoint", left->name);
	emit_text(&emit, "direction", direction_name(left->inward ? INGRESS : EGRESS));
	emit_number(&emit, "events", left->events);
	emit_end(&emit);
}

void event_print_lost(const struct event_printer *printer, uint64_t lost)
{
	struct emit emit = emit_of(printer);
	char time[TIME_TEXT];

	print_time(now(CLOCK_MONOTONIC), time);
	emit_say(&emit, "%s %" PRIu64 " events are lost: they came faster than monitor reads\n",
		 time, lost);
	emit_object(&emit, NULL);
	emit_text(&emit, "time", time);
	emit_text(&emit, "verdict", "lost");
	emit_number(&emit, "events", lost);
	emit_end(&emit);
}
