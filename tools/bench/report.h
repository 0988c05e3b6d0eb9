/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a part of the benchmark has measured: figures of one sample a round, and
 * ratios of two figures, taken round by round. Sample i of every figure belongs
 * to the same round, so that a slow phase of the machine is in both sides of a
 * ratio.
 */
#ifndef BULKHEAD_TOOLS_BENCH_REPORT_H
#define BULKHEAD_TOOLS_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#define REPORT_ROUNDS 64

enum limit { LIMIT_NONE, LIMIT_AT_MOST, LIMIT_AT_LEAST };

struct figure {
	char name[72];
	const char *unit; /* "" of a ratio */
	double samples[REPORT_ROUNDS];
	size_t n;
	enum limit limit;
	double target;
	const struct figure *of[2]; /* of a ratio: the figures, for the table */
	bool quiet; /* in the JSON only */
};

struct report {
	const char *part;
	const char *folder; /* where the JSON goes */
	struct figure *figures[512];
	size_t n;
};

struct figure *__attribute__((format(printf, 3, 4)))
report_figure(struct report *report, const char *unit, const char *name, ...);
void figure_add(struct figure *figure, double sample);
/* The least (or the most) that the last sample and this one are: what disturbs only adds time. */
void figure_least(struct figure *figure, double sample);
void figure_most(struct figure *figure, double sample);
void figure_target(struct figure *figure, enum limit limit, double target);

/* @a / @b, sample by sample. */
struct figure *__attribute__((format(printf, 4, 5)))
report_ratio(struct report *report, const struct figure *a, const struct figure *b,
	     const char *name, ...);

/* @a - @b, sample by sample. */
struct figure *__attribute__((format(printf, 4, 5)))
report_difference(struct report *report, const struct figure *a, const struct figure *b,
		  const char *name, ...);

double figure_median(const struct figure *figure);

/* The table, ratios first, on standard output; JSON into FOLDER/PART.json. */
int report_finish(struct report *report);

#endif
