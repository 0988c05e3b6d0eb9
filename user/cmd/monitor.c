/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead monitor`: verdicts, as they are given. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/flow.h"
#include "cmd/json.h"
#include "compile/isolation.h"
#include "maps/counter.h"
#include "node/monitor.h"
#include "node/node.h"

#define SECOND UINT64_C(1000000000) /* ns */
#define POLL_MS 100

/* One end of an event. */
struct side {
	char name[MONITOR_NAME]; /* "": nobody's */
	char address[ADDRESS_TEXT];
	uint16_t port;
};

struct watch {
	const struct call *call;
	struct monitor *monitor;
	uint64_t since,
		until; /* CLOCK_MONOTONIC_COARSE, ns: what is older or newer is not printed */
	uint64_t left; /* events to be printed yet */
};

static const char *const reasons[] = BH_REASON_TEXTS;
static const char *const hooks[] = {
	[BH_HOOK_TO_ENDPOINT] = "to endpoint", [BH_HOOK_FROM_ENDPOINT] = "from endpoint",
	[BH_HOOK_UPLINK] = "uplink",	       [BH_HOOK_PORT] = "bridge port",
	[BH_HOOK_LEAVE] = "leaving",
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = true;
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* "2026-01-31T23:59:59.123Z": the kernel's clock goes in steps of some milliseconds. */
static void print_time(const struct bh_event *event, char text[64])
{
	uint64_t time = now(CLOCK_REALTIME) - (now(CLOCK_MONOTONIC) - event->time);
	time_t seconds = time / SECOND;
	struct tm tm;
	size_t end;

	gmtime_r(&seconds, &tm);
	end = strftime(text, 64, "%FT%T", &tm);
	snprintf(text + end, 64 - end, ".%03" PRIu64 "Z", time % SECOND / 1000000);
}

static void fill_side(const struct watch *watch, const struct policy *policy,
		      const struct bh_addr *addr, __be16 port, struct side *side)
{
	struct address address;

	memcpy(&address, addr, sizeof(address));
	address_print(&address, side->address);
	side->port = ntohs(port);
	if (!monitor_name(watch->monitor, policy, &address, side->name))
		side->name[0] = '\0';
}

/* What an end said, its rule, or who isolates it, named if its policy is known still. */
static struct decision decision(const struct watch *watch, const struct policy *policy,
				const struct bh_event *event, enum direction direction)
{
	const bool reply = event->flags & BH_EVENT_REPLY;
	const uint32_t verdict = event->verdict[direction];
	struct decision said;
	struct address caller;

	if (!verdict)
		return (struct decision){.subject = false};
	memcpy(&caller, reply ? &event->destination : &event->source, sizeof(caller));
	said = decision_of(policy, verdict);
	decision_blame(&said, policy,
		       direction == INGRESS ? monitor_called(watch->monitor, policy, event)
					    : monitor_segment(watch->monitor, policy, &caller),
		       direction);
	return said;
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

static const char *protocol_text(const struct bh_event *event, char text[FLOW_TEXT])
{
	struct flow flow = {.protocol = event->protocol};

	/* The port that was asked for: of a reply's packet, the source's. */
	flow.port =
		ntohs(event->flags & BH_EVENT_REPLY ? event->source_port : event->destination_port);
	return port_print(&flow, text);
}

static struct json_object *json_side(const struct side *side)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "name", *side->name ? side->name : NULL);
	json_add_text(object, "address", side->address);
	json_add_number(object, "port", side->port);
	return object;
}

/* @service: "": to none. */
static void print_json(const struct watch *watch, const struct policy *policy,
		       const struct bh_event *event, const struct side sides[2],
		       const char *service)
{
	struct json_object *object = json_object_new_object();
	bool parsed = !(event->flags & BH_EVENT_NO_PACKET);
	char text[FLOW_TEXT], time[64], iface[IF_NAMESIZE];

	print_time(event, time);
	json_add_text(object, "time", time);
	json_add_text(object, "verdict", verdict_text(event));
	json_add_text(object, "reason", reason_text(event));
	json_add_text(object, "hook", hooks[event->hook]);
	json_add_text(object, "interface", if_indextoname(event->ifindex, iface));
	json_add(object, "source", parsed ? json_side(&sides[0]) : NULL);
	json_add(object, "destination", parsed ? json_side(&sides[1]) : NULL);
	json_add_text(object, "port", parsed ? protocol_text(event, text) : NULL);
	json_add_text(object, "service", *service ? service : NULL);
	json_add_bool(object, "reply", event->flags & BH_EVENT_REPLY);
	for (int d = EGRESS; d >= INGRESS; d--) {
		struct decision said = decision(watch, policy, event, d);

		json_add_decision(object, d == EGRESS ? "egress" : "ingress", policy, &said);
	}
	json_add_number(object, "generation", event->generation);
	json_add_number(object, "length", event->length);
	json_add_number(object, "suppressed", event->suppressed);
	json_print(object, watch->call->pretty);
}

static void print_side(const struct side *side)
{
	bool colon = side->port && strchr(side->address, ':');

	if (*side->name)
		printf("%s (", side->name);
	printf(colon ? "[%s]" : "%s", side->address);
	if (side->port)
		printf(":%u", side->port);
	if (*side->name)
		putchar(')');
}

static void print_text(const struct watch *watch, const struct policy *policy,
		       const struct bh_event *event, const struct side sides[2],
		       const char *service)
{
	char text[DECISION_TEXT], time[64], iface[IF_NAMESIZE] = "?";

	if (event->suppressed)
		printf("%u events are left out here\n", event->suppressed);
	print_time(event, time);
	printf("%s %-5s ", time, verdict_text(event));
	if (!(event->flags & BH_EVENT_NO_PACKET)) {
		print_side(&sides[0]);
		printf(" -> ");
		print_side(&sides[1]);
		printf(" %s%s ", protocol_text(event, text),
		       event->flags & BH_EVENT_REPLY ? " reply" : "");
		if (*service)
			printf("by service %s ", service);
	}
	if_indextoname(event->ifindex, iface);
	printf("%s (%s): %s", hooks[event->hook], iface, reason_text(event));
	for (int d = EGRESS; d >= INGRESS; d--) {
		struct decision said = decision(watch, policy, event, d);

		if (!said.subject)
			continue;
		printf("; %s: %s", d == EGRESS ? "egress" : "ingress",
		       decision_print(policy, &said, text, sizeof(text)));
		if (said.isolated)
			printf(", %s", decision_why(policy, &said, text, sizeof(text)));
	}
	putchar('\n');
}

/* What comes from now on is not waited for. */
static void end_now(struct watch *watch)
{
	uint64_t time = now(CLOCK_MONOTONIC_COARSE);

	if (watch->until > time)
		watch->until = time;
}

static int print_event(void *data, const struct bh_event *event)
{
	struct watch *watch = data;
	const struct policy *policy;
	struct side sides[2];
	char service[MONITOR_NAME];

	if (stopped)
		end_now(watch);
	if (event->time < watch->since)
		return 0;
	if (event->time > watch->until || !watch->left)
		return 1;
	policy = monitor_policy(watch->monitor, event->generation);
	fill_side(watch, policy, &event->source, event->source_port, &sides[0]);
	fill_side(watch, policy, &event->destination, event->destination_port, &sides[1]);
	if (!monitor_service(watch->monitor, policy, event, service))
		*service = '\0';
	if (watch->call->json)
		print_json(watch, policy, event, sides, service);
	else
		print_text(watch, policy, event, sides, service);
	watch->left--;
	return !watch->left || ferror(stdout);
}

/* Waits a moment. Returns false if nobody reads standard output any more. */
static bool wait_a_moment(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};

	return poll(&output, 1, POLL_MS) <= 0 || !(output.revents & (POLLERR | POLLHUP));
}

static int watch_events(struct watch *watch)
{
	const struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (;;) {
		/* Asked before the last look, so that nothing that came earlier is missed. */
		bool last = stopped || now(CLOCK_MONOTONIC_COARSE) > watch->until ||
			    !monitor_is_live(watch->monitor);
		int error;

		if (last)
			end_now(watch);
		error = monitor_read(watch->monitor, print_event, watch);
		if (error) {
			command_error("cannot read the events: %s", strerror(-error));
			return STATUS_KERNEL;
		}
		/* The caller of all commands reports what could not be written. */
		if (fflush(stdout) || last || !watch->left || !wait_a_moment())
			return STATUS_OK;
	}
}

static uint64_t number(const struct call *call, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(call->value, &end, 10);
	if (errno || *end || *call->value < '0' || *call->value > '9' || !value || value > max)
		call_usage_error(call, "%s: not a number from 1 to %" PRIu64, call->value, max);
	return value;
}

enum { BACKLOG_ID = PIN_ID + 1 };

static const struct command_option options[] = {
	{'c', "count", "N", "end after so many events"},
	{'s', "seconds", "S", "end after so many seconds"},
	{BACKLOG_ID, "backlog", NULL, "begin with what nobody has read yet"},
	PIN_OPTION,
	{0},
};

static int run(struct call *call)
{
	struct watch watch = {.call = call,
			      .since = now(CLOCK_MONOTONIC_COARSE),
			      .until = UINT64_MAX,
			      .left = UINT64_MAX};
	struct diag diag = {.to = stderr};
	const char *pin = NULL;
	int option, error, status;

	while ((option = call_option(call)) != -1) {
		switch (option) {
		case 'c':
			watch.left = number(call, UINT32_MAX);
			break;
		case 's':
			watch.until =
				now(CLOCK_MONOTONIC_COARSE) + number(call, UINT32_MAX) * SECOND;
			break;
		case BACKLOG_ID:
			watch.since = 0;
			break;
		case PIN_ID:
			pin = call->value;
			break;
		}
	}
	if (call->n_operands)
		call_usage_error(call, "%s: monitor takes no operand", call->operands[0]);
	error = monitor_open(pin, &diag, &watch.monitor);
	if (error)
		return status_of(error);
	if (!watch.monitor) {
		command_error("nothing is in force here: load a policy first");
		return STATUS_INPUT;
	}
	status = watch_events(&watch);
	monitor_close(watch.monitor);
	return status;
}

const struct command command_monitor = {
	.name = "monitor",
	.operands = "",
	.help = "verdicts as they are given, with the rules that decide them; one reader at a time",
	.options = options,
	.run = run,
};
