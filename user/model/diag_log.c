// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag_log.h"

#include <string.h>
#include <xxhash.h>

static struct timespec read_clock(const struct diag_log *log, clockid_t clock)
{
	struct timespec time = {0};

	(log->clock ? log->clock : clock_gettime)(clock, &time);
	return time;
}

static uint64_t hash_of(const struct diag_message *message)
{
	const char *parts[] = {message->where ? message->where->file : NULL, message->field,
			       message->text};
	uint64_t hash = message->level + 1;

	for (int i = 0; i < 3; i++)
		hash = XXH3_64bits_withSeed(parts[i] ? parts[i] : "",
					    parts[i] ? strlen(parts[i]) : 0, hash);
	return hash;
}

/* Returns the message's place; else a free one, or that of the message that was printed first. */
static size_t place_of(const struct diag_log *log, uint64_t hash)
{
	size_t oldest = 0;

	for (size_t i = 0; i < LOG_MESSAGES; i++) {
		if (log->messages[i].begin && log->messages[i].hash == hash)
			return i;
		if (log->messages[i].begin < log->messages[oldest].begin)
			oldest = i;
	}
	return oldest;
}

static void print_time(const struct diag_log *log, FILE *to)
{
	const struct timespec now = read_clock(log, CLOCK_REALTIME);
	char text[32];
	struct tm tm;

	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(to, "%s.%03ldZ ", text, now.tv_nsec / 1000000);
}

static void print(struct diag_log *log, FILE *to, const struct diag_message *message,
		  unsigned int since)
{
	static const char *const levels[] = {"note: ", "warning: ", "error: "};

	if (log->dropped) {
		print_time(log, to);
		fprintf(to, "warning: log: %u messages were too many, and are not printed\n",
			log->dropped);
		log->dropped = 0;
	}
	print_time(log, to);
	fputs(levels[message->level], to);
	diag_print_place(to, message);
	diag_print_text(to, message->text);
	if (since)
		fprintf(to, " (%u times more since this was printed last)", since);
	fputc('\n', to);
}

static bool may_print(struct diag_log *log, const struct diag_message *message, uint64_t now)
{
	if (message->ns)
		return allowances_take(&log->tenants, message->ns, now, LOG_TENANT_STEP_MS,
				       LOG_TENANT_BURST);
	return allowance_take(&log->paid, now, 1000 / LOG_SECOND, LOG_BURST);
}

/* A message that is not printed takes no other's place. */
void diag_log(struct diag_log *log, FILE *to, const struct diag_message *message)
{
	const struct timespec time = read_clock(log, CLOCK_MONOTONIC);
	const uint64_t now = time.tv_sec * 1000ull + time.tv_nsec / 1000000 + LOG_REPEAT_MS;
	const uint64_t hash = hash_of(message);
	__typeof__(log->messages[0]) *at = &log->messages[place_of(log, hash)];
	const bool known = at->begin && at->hash == hash;
	const bool recent = known && at->begin + LOG_REPEAT_MS > now;

	if (recent && at->times >= LOG_SAME) {
		at->since++;
		return;
	}
	if (!may_print(log, message, now)) {
		log->dropped++;
		return;
	}
	if (!known)
		at->since = 0;
	if (!recent) {
		at->hash = hash;
		at->begin = now;
		at->times = 0;
	}
	print(log, to, message, at->since);
	at->times++;
	at->since = 0;
}

void diag_log_close(struct diag_log *log)
{
	allowances_free(&log->tenants);
}
