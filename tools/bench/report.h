/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The results of a part: figures with one sample a round, and ratios of two figures, round by
 * round. Sample i of every figure is of the same round, so that a slow phase of the machine is
 * in both parts of a ratio.
 */
#ifndef BULKHEAD_TOOLS_BENCH_REPORT_H
#define BULKHEAD_TOOLS_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#define REPORT_ROUNDS 64

enum limit { LIMIT_NONE, LIMIT_AT_MOST, LIMIT_AT_LEAST };

struct figure {
	char name[72];
	const char *unit; /* "" for a ratio */
	double samples[REPORT_ROUNDS];
	size_t n;
	enum limit limit;
	double target;
	const struct figure *of[2]; /* of a ratio: its two figures */
	bool quiet; /* in the JSON only */
};

struct report {
	const char *part;
	const char *folder; /* folder of the JSON */
	struct figure *figures[512];
	size_t n;
};

struct figure *__attribute__((format(printf, 3, 4)))
report_figure(struct report *report, const char *unit, const char *name, ...);
void figure_add(struct figure *figure, double sample);
/* Keeps the lesser (or the greater) of the last sample and this one: disturbances only add time. */
void figure_least(struct figure *figure, double sample);
void figure_most(struct figure *figure, double sample);
void figure_target(struct figure *figure, enum limit limit, double target);

/* Returns the ratio @a / @b, sample by sample. */
struct figure *__attribute__((format(printf, 4, 5)))
report_ratio(struct report *report, const struct figure *a, const struct figure *b,
	     const char *name, ...);

/* Returns the difference @a - @b, sample by sample. */
struct figure *__attribute__((format(printf, 4, 5)))
report_difference(struct report *report, const struct figure *a, const struct figure *b,
		  const char *name, ...);

double figure_median(const struct figure *figure);

/* Prints the table, ratios first, and writes FOLDER/PART.json. */
int report_finish(struct report *report);

#endif
