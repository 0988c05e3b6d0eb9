/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The messages of a process that runs for months. Each has the time of day (UTC) and its level:
 *
 *   2026-01-31T12:00:00.123Z warning: https://10.0.0.1:6443: /api/v1/pods: the server hangs
 *
 * The same message is printed LOG_SAME times a minute at most, and then says how often it came
 * since. Of messages about the objects of one namespace, LOG_TENANT_BURST are printed at once and
 * one in each LOG_TENANT_STEP_MS at most; of all others together, LOG_BURST at once and LOG_SECOND
 * a second. So no tenant silences what is said of another. No message ends the log.
 */
#ifndef BULKHEAD_MODEL_DIAG_LOG_H
#define BULKHEAD_MODEL_DIAG_LOG_H

#include <stdint.h>
#include <time.h>

#include "model/allowance.h"
#include "model/diag.h"

#define LOG_REPEAT_MS 60000
#define LOG_SAME 5
#define LOG_BURST 100
#define LOG_SECOND 10
#define LOG_TENANT_BURST 100
#define LOG_TENANT_STEP_MS 1000
#define LOG_MESSAGES 64 /* messages that are known at a time */

struct diag_log {
	/* Reads a clock; NULL: clock_gettime(). For tests. */
	int (*clock)(clockid_t clock, struct timespec *time);
	struct {
		uint64_t hash, begin; /* ms: when its minute began; 0: the place is free */
		unsigned int times; /* how often it was printed in that minute */
		unsigned int since; /* how often it came, and was not printed */
	} messages[LOG_MESSAGES];
	uint64_t paid; /* for allowance_take(): lines that are about no namespace */
	struct allowances tenants; /* the others */
	unsigned int dropped; /* lines that were too many since the last line */
};

/* Prints a message, or counts it. */
void diag_log(struct diag_log *log, FILE *to, const struct diag_message *message);
void diag_log_close(struct diag_log *log);

#endif
