// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/count.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static bool is_counter(const char *name)
{
	static const char end[] = "_total";
	size_t n = strlen(name);

	return n >= sizeof(end) && !strcmp(name + n + 1 - sizeof(end), end);
}

void count_family(FILE *to, const char *name, const char *help)
{
	fprintf(to, "# HELP bulkhead_%s %s\n# TYPE bulkhead_%s %s\n", name, help, name,
		is_counter(name) ? "counter" : "gauge");
}

void count_series(FILE *to, const char *name, const char *labels, double value)
{
	fprintf(to, "bulkhead_%s{%s} %.15g\n", name, labels, value);
}

void count_put(FILE *to, const char *name, const char *help, double value)
{
	count_family(to, name, help);
	fprintf(to, "bulkhead_%s %.15g\n", name, value);
}

void count_histogram(FILE *to, const char *name, const char *help,
		     const struct histogram *histogram)
{
	fprintf(to, "# HELP bulkhead_%s %s\n# TYPE bulkhead_%s histogram\n", name, help, name);
	histogram_write(to, name, NULL, histogram);
}

void count_events(FILE *to, struct event_counts counts)
{
	count_put(to, "events_waiting",
		  "Kubernetes Events that wait to be written: a namespace gets 100 at once, and "
		  "then one a second.",
		  counts.waiting);
	count_put(to, "events_held_back_total",
		  "Kubernetes Events that were never written: a newer one of the same object and "
		  "reason came while they waited, or too many waited.",
		  counts.held_back);
}

void count_api(FILE *to, const struct api *api)
{
	const struct api_counts *counts = api_counts(api);

	count_put(to, "api_requests_total", "Requests to the API server, without watches.",
		  counts->requests);
	count_put(to, "api_requests_failed_total",
		  "Requests without an answer, or with a status of 500 and above.", counts->failed);
	count_put(to, "api_lists_total", "Lists of watched collections.", counts->lists);
	count_put(to, "api_watch_events_total", "Events of watches.", counts->events);
	count_put(to, "api_waited_total",
		  "Large objects that waited for their turn, and objects for room.",
		  counts->waited);
	count_put(to, "api_sent_bytes_total", "Bodies of requests.", counts->sent);
	count_put(to, "api_received_bytes_total", "Bodies of answers and of watches.",
		  counts->received);
}

/* Returns the process' memory in bytes; 0: unknown. */
static double resident(void)
{
	FILE *from = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!from)
		return 0;
	if (fscanf(from, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(from);
	return (double)pages * sysconf(_SC_PAGESIZE);
}

static double seconds(struct timeval time)
{
	return time.tv_sec + time.tv_usec / 1e6;
}

void count_process(FILE *to)
{
	struct rusage usage = {0};
	struct timespec now = {0};

	getrusage(RUSAGE_SELF, &usage);
	clock_gettime(CLOCK_REALTIME, &now);
	count_put(to, "process_clock_seconds",
		  "The time of this process' machine, seconds since 1970.",
		  now.tv_sec + now.tv_nsec / 1e9);
	count_put(to, "process_resident_bytes", "Resident memory of this process.", resident());
	count_put(to, "process_cpu_seconds_total", "Processor time of this process.",
		  seconds(usage.ru_utime) + seconds(usage.ru_stime));
}
