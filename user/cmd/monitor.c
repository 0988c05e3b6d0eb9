/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead monitor`: prints verdicts as the kernel gives them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/event_options.h"
#include "cmd/event_print.h"
#include "cmd/monitor_cluster.h"
#include "cmd/repeats.h"
#include "cmd/screen.h"
#include "node/observe/event_monitor.h"
#include "node/node.h"

#define SECOND UINT64_C(1000000000) /* ns */
#define POLL_MS 100

struct watch {
	struct event_printer printer;
	const struct event_options *selected;
	const char *path; /* the output file; NULL: standard output */
	bool failed; /* a write failed, which is reported once */
	/* ns of CLOCK_MONOTONIC_COARSE: the first and last moment of events to print */
	uint64_t since, until;
	uint64_t left; /* events that are still to be printed */
	uint64_t past; /* kept drops that were printed */
	uint64_t told; /* when the number of events left out was last printed */
	struct repeats *repeats; /* NULL: each packet is printed */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = true;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* Ends the watch: events from now on are not printed. */
static void end_now(struct watch *watch)
{
	uint64_t time = now();

	if (watch->until > time)
		watch->until = time;
}

static int print_event(void *data, const struct bh_event *event)
{
	struct watch *watch = data;

	if (stopped)
		end_now(watch);
	if (event->time < watch->since)
		return 0;
	if (event->time > watch->until || !watch->left)
		return 1;
	if (!event_options_match(watch->selected, event))
		return 0;
	if (watch->repeats && !repeats_is_first(watch->repeats, event, now()))
		return 0;
	event_print(&watch->printer, event, 0);
	watch->left--;
	return !watch->left || ferror(watch->printer.to);
}

static void print_repeats(void *data, const struct bh_event *last, uint64_t more)
{
	const struct watch *watch = data;

	event_print(&watch->printer, last, more - 1);
}

static int print_left_out(void *data, const struct monitor_left_out *left)
{
	const struct watch *watch = data;

	event_print_left_out(&watch->printer, left);
	return 0;
}

/* Prints the number of events left out, once a second and at the end. */
static int report_left_out(struct watch *watch, bool last)
{
	uint64_t lost;
	int error;

	if (!last && now() < watch->told + SECOND)
		return 0;
	watch->told = now();
	error = monitor_left_out(watch->printer.monitor, print_left_out, watch, &lost);
	if (!error && lost)
		event_print_lost(&watch->printer, lost);
	/* -ENOENT: `unload` removed the maps. */
	return error == -ENOENT ? 0 : error;
}

/* Waits 100 ms at most. Returns false if no process reads standard output any more. */
static bool wait_a_moment(const struct watch *watch)
{
	struct pollfd output = {.fd = watch->path ? -1 : STDOUT_FILENO};

	return poll(&output, 1, POLL_MS) <= 0 || !(output.revents & (POLLERR | POLLHUP));
}

/* Returns true if the path still names the open file. */
static bool is_there(const struct watch *watch)
{
	struct stat named, open;

	return watch->printer.to && !stat(watch->path, &named) &&
	       !fstat(fileno(watch->printer.to), &open) && named.st_ino == open.st_ino &&
	       named.st_dev == open.st_dev;
}

/* Opens the file again if the path names another one: the log was rotated. Returns false,
 * reported, if the file cannot be opened. */
static bool follow_file(struct watch *watch)
{
	int fd;

	if (!watch->path || is_there(watch))
		return true;
	fd = open(watch->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd < 0) {
		command_error("%s: %s", watch->path, strerror(errno));
		return false;
	}
	if (watch->printer.to)
		fclose(watch->printer.to);
	watch->printer.to = fdopen(fd, "a");
	return watch->printer.to;
}

/* Writes the buffer out. If that fails, events are lost, which is reported once: a watch that
 * writes to a file goes on. Returns false if standard output cannot be written. */
static bool flush(struct watch *watch)
{
	const bool any = __fpending(watch->printer.to);
	const bool failed = fflush(watch->printer.to) || ferror(watch->printer.to);

	if (failed && !watch->path)
		command_error("cannot write standard output: %s", strerror(errno));
	else if (failed && !watch->failed)
		command_error("%s: %s: events are lost", watch->path, strerror(errno));
	if (watch->path)
		clearerr(watch->printer.to);
	/* a flush of nothing does not tell that the disk has room again */
	if (any || failed)
		watch->failed = failed;
	return !failed || watch->path;
}

/* Prints the events that wait in the ring now. Returns 0 or -errno. */
static int read_events(struct watch *watch, bool last)
{
	int error = monitor_read(watch->printer.monitor, print_event, watch);

	if (!error && watch->repeats)
		repeats_tell(watch->repeats, now(), last, print_repeats, watch);
	return error ? error : report_left_out(watch, last || !watch->left);
}

static int report_end(const struct monitor *monitor)
{
	if (monitor_is_replaced(monitor))
		command_error("a load has made other maps, since the pins were gone: begin again "
			      "to see its events");
	else
		command_error("the policy was unloaded: nothing is guarded, and no event will "
			      "come");
	return STATUS_NO;
}

static int watch_events(struct watch *watch)
{
	const struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (watch->path)
		signal(SIGHUP, SIG_IGN);
	for (;;) {
		/* Checked before the ring is read, so that no event that came before the end is
		 * missed. */
		const bool live = monitor_is_live(watch->printer.monitor);
		bool last = stopped || now() > watch->until || !live;
		int error;

		if (last)
			end_now(watch);
		if (!follow_file(watch))
			return STATUS_INPUT;
		error = read_events(watch, last);
		if (error) {
			command_error("cannot read the events: %s", strerror(-error));
			return STATUS_KERNEL;
		}
		if (!flush(watch))
			return STATUS_KERNEL;
		if (last || !watch->left || !wait_a_moment(watch))
			return live ? STATUS_OK : report_end(watch->printer.monitor);
	}
}

/* The drops of the past that are asked for. */
struct past_request {
	uint64_t last, seconds; /* numbers of drops; how far back, 0: all */
	bool asked;
};

static int print_past(void *data, const struct bh_event *event)
{
	struct watch *watch = data;

	if (!event_options_match(watch->selected, event))
		return 0;
	watch->past++;
	event_print(&watch->printer, event, event->more);
	return ferror(watch->printer.to);
}

static int run_past(struct watch *watch, const char *pin, const struct monitor_filter *filter,
		    const struct past_request *past)
{
	struct diag diag = command_diag();
	const uint64_t since = past->seconds && past->seconds < watch->since / SECOND
				       ? watch->since - past->seconds * SECOND
				       : 0;
	int error = monitor_open_past(pin, filter, &diag, &watch->printer.monitor);

	if (error)
		return status_of(error);
	if (!watch->printer.monitor) {
		command_inactive(pin, "load a policy first");
		return STATUS_INPUT;
	}
	error = monitor_past(watch->printer.monitor, since, past->last, print_past, watch);
	monitor_close(watch->printer.monitor);
	if (error)
		command_error("cannot read the kept drops: %s", strerror(-error));
	else if (!watch->past)
		diag_note(&diag, NULL, NULL,
			  "no kept drop is of this time and filter; `show counters` counts all "
			  "drops");
	return status_of(error);
}

static int run_watch(struct watch *watch, const char *pin, const struct monitor_filter *filter)
{
	struct diag diag = command_diag();
	int status, error = monitor_open(pin, filter, &diag, &watch->printer.monitor);

	if (error)
		return status_of(error);
	if (!watch->printer.monitor) {
		command_inactive(pin, "load a policy first");
		return STATUS_INPUT;
	}
	status = watch_events(watch);
	monitor_close(watch->printer.monitor);
	return status;
}

static int run_cluster(struct call *call, const struct watch *watch,
		       const struct past_request *past, const char *kubeconfig)
{
	struct monitor_cluster options = {.kubeconfig = kubeconfig,
					  .selected = watch->selected,
					  .left = watch->left,
					  .json = call->json,
					  .pretty = call->pretty};

	if (watch->path || past->last != UINT64_MAX)
		call_usage_error(call, "--cluster reads the followers' logs: leave -o and --last");
	options.since = past->seconds;
	if (watch->until != UINT64_MAX)
		options.seconds = (watch->until - watch->since + SECOND - 1) / SECOND;
	return monitor_cluster(&options);
}

/* @path: the output file; NULL: standard output. */
static struct event_printer printer_of(const struct call *call, const char *path, bool verbose)
{
	return (struct event_printer){.to = path ? NULL : stdout,
				      .json = call->json || path,
				      .pretty = call->pretty,
				      .brief = verbose ? 0 : screen_width()};
}

struct monitor_request {
	uint64_t left, seconds; /* -c and -s; UINT64_MAX: without end */
	const char *path, *pin, *kubeconfig;
	bool each, cluster, verbose;
	struct past_request past;
	struct event_options selected;
};

static void take_number(struct call *call, void *to)
{
	*(uint64_t *)to = call_number(call, "", 1, UINT32_MAX);
}

static void take_last(struct call *call, void *to)
{
	struct past_request *past = to;

	take_number(call, &past->last);
	past->asked = true;
}

/* Takes a time as "5m". */
static void take_since(struct call *call, void *to)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	struct past_request *past = to;
	char *end;
	const uint64_t n = strtoull(call->value, &end, 10);
	const char *unit = *end && !end[1] ? strchr(units, *end) : NULL;

	if (*call->value < '0' || *call->value > '9' || !n || n > UINT32_MAX || !unit)
		call_value_error(call, "not a time as 30s, 5m, 2h or 1d");
	past->seconds = n * seconds[unit - units];
	past->asked = true;
}

static const struct command_option options[] = {
	{'c', "count", "N", "end after so many events",
	 OPTION_TAKE(struct monitor_request, left, take_number)},
	{'s', "seconds", "S", "end after so many seconds",
	 OPTION_TAKE(struct monitor_request, seconds, take_number)},
	{'o', "follow-file", "FILE",
	 "append JSON lines to this file, and open the file again when it is rotated",
	 OPTION_TEXT(struct monitor_request, path)},
	{'v', "verbose", NULL,
	 "print addresses, the hook and both decisions also on a terminal, as into a file",
	 OPTION_FLAG(struct monitor_request, verbose)},
	{0, "each", NULL,
	 "print each packet; else events that are alike within a second are one line with a "
	 "number",
	 OPTION_FLAG(struct monitor_request, each)},
	{0, "last", "N",
	 "print the last N drops that the kernel keeps without a reader, and end: up to 8 an "
	 "endpoint",
	 OPTION_TAKE(struct monitor_request, past, take_last)},
	{0, "since", "TIME", "print the kept drops of this time, as 30s, 5m or 2h, and end",
	 OPTION_TAKE(struct monitor_request, past, take_since)},
	{0, "cluster", NULL,
	 "print the denials of all nodes, as their followers report them; with --since, those of "
	 "that time",
	 OPTION_FLAG(struct monitor_request, cluster)},
	{0, "kubeconfig", "FILE",
	 "with --cluster: the file that says where the API server is; else as for follow",
	 OPTION_TEXT(struct monitor_request, kubeconfig)},
	EVENT_OPTIONS(struct monitor_request, selected),
	PIN_OPTION(struct monitor_request, pin),
	{0},
};

static int run(struct call *call)
{
	struct monitor_request request = {
		.left = UINT64_MAX, .seconds = UINT64_MAX, .past.last = UINT64_MAX};
	struct watch watch = {.since = now(), .until = UINT64_MAX, .selected = &request.selected};
	static struct repeats repeats;
	int status;

	call_options(call, &request);
	watch.left = request.left;
	watch.path = request.path;
	if (request.seconds != UINT64_MAX)
		watch.until = watch.since + request.seconds * SECOND;
	if (watch.path && call->pretty)
		call_usage_error(call, "-o writes one line for each event: leave -p");
	if (request.past.asked &&
	    (watch.path || watch.left != UINT64_MAX || watch.until != UINT64_MAX))
		call_usage_error(call, "--last and --since print what is kept, and end: leave -o, "
				       "-c and -s");
	event_options_finish(&request.selected, call);
	if (request.cluster)
		return run_cluster(call, &watch, &request.past, request.kubeconfig);
	if (request.kubeconfig)
		call_usage_error(call, "--kubeconfig is of use with --cluster alone");
	watch.printer = printer_of(call, watch.path, request.verbose);
	watch.repeats = request.each || watch.printer.json ? NULL : &repeats;
	status = request.past.asked
			 ? run_past(&watch, request.pin, &request.selected.filter, &request.past)
			 : run_watch(&watch, request.pin, &request.selected.filter);
	if (watch.path && watch.printer.to)
		fclose(watch.printer.to);
	return status;
}

const struct command command_monitor = {
	.name = "monitor",
	.operands = "",
	.help = "print verdicts as the kernel gives them, with the rules that decide; several may "
		"read",
	.options = options,
	.run = run,
};
