// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/report.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static struct figure *add(struct report *report, const char *unit, const char *name, va_list list)
{
	struct figure *figure = calloc(1, sizeof(*figure));

	if (!figure || report->n == sizeof(report->figures) / sizeof(report->figures[0]))
		abort();
	vsnprintf(figure->name, sizeof(figure->name), name, list);
	figure->unit = unit;
	report->figures[report->n++] = figure;
	return figure;
}

struct figure *report_figure(struct report *report, const char *unit, const char *name, ...)
{
	struct figure *figure;
	va_list list;

	va_start(list, name);
	figure = add(report, unit, name, list);
	va_end(list);
	return figure;
}

void figure_add(struct figure *figure, double sample)
{
	if (figure->n < REPORT_ROUNDS)
		figure->samples[figure->n++] = sample;
}

void figure_least(struct figure *figure, double sample)
{
	if (sample < figure->samples[figure->n - 1])
		figure->samples[figure->n - 1] = sample;
}

void figure_most(struct figure *figure, double sample)
{
	if (sample > figure->samples[figure->n - 1])
		figure->samples[figure->n - 1] = sample;
}

void figure_target(struct figure *figure, enum limit limit, double target)
{
	figure->limit = limit;
	figure->target = target;
}

/* Adds the ratios of the rounds so far. */
static void add_ratios(struct figure *ratio)
{
	const struct figure *a = ratio->of[0], *b = ratio->of[1];

	for (size_t i = ratio->n; a && i < a->n && i < b->n; i++)
		figure_add(ratio, a->samples[i] / b->samples[i]);
}

struct figure *report_ratio(struct report *report, const struct figure *a, const struct figure *b,
			    const char *name, ...)
{
	struct figure *ratio;
	va_list list;

	va_start(list, name);
	ratio = add(report, "", name, list);
	va_end(list);
	ratio->of[0] = a;
	ratio->of[1] = b;
	add_ratios(ratio);
	return ratio;
}

struct figure *report_difference(struct report *report, const struct figure *a,
				 const struct figure *b, const char *name, ...)
{
	struct figure *difference;
	va_list list;

	va_start(list, name);
	difference = add(report, a->unit, name, list);
	va_end(list);
	for (size_t i = 0; i < a->n && i < b->n; i++)
		figure_add(difference, a->samples[i] - b->samples[i]);
	return difference;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sorted(const struct figure *figure, double *values)
{
	memcpy(values, figure->samples, figure->n * sizeof(*values));
	qsort(values, figure->n, sizeof(*values), by_value);
}

double figure_median(const struct figure *figure)
{
	double values[REPORT_ROUNDS];

	if (!figure->n)
		return 0;
	sorted(figure, values);
	return (values[(figure->n - 1) / 2] + values[figure->n / 2]) / 2;
}

static const char *verdict(const struct figure *figure, char *text, size_t size)
{
	double median = figure_median(figure), target = figure->target;
	bool met = figure->limit == LIMIT_AT_MOST ? median <= target : median >= target;

	if (figure->limit == LIMIT_NONE)
		return "";
	snprintf(text, size, "%s %g: %s", figure->limit == LIMIT_AT_MOST ? "at most" : "at least",
		 target, met ? "met" : "missed");
	if (!met)
		snprintf(text + strlen(text), size - strlen(text), " by %.0f %%",
			 100 * (figure->limit == LIMIT_AT_MOST ? median / target - 1
							       : 1 - median / target));
	return text;
}

static void print_figures(const struct report *report, bool ratios)
{
	for (size_t i = 0; i < report->n; i++) {
		const struct figure *figure = report->figures[i];
		double values[REPORT_ROUNDS];
		char text[64], of[48] = "";

		if (!figure->n || figure->quiet || ratios == (figure->unit[0] != '\0'))
			continue;
		sorted(figure, values);
		if (figure->of[0])
			snprintf(of, sizeof(of), "%.4g / %.4g %s", figure_median(figure->of[0]),
				 figure_median(figure->of[1]), figure->of[0]->unit);
		printf("%-60s %9.4g %9.4g %9.4g %-3s %-22s %s\n", figure->name,
		       figure_median(figure), values[0], values[figure->n - 1], figure->unit, of,
		       verdict(figure, text, sizeof(text)));
	}
}

static void json_figure(FILE *to, const struct figure *figure)
{
	static const char *const limits[] = {
		[LIMIT_AT_MOST] = "at_most", [LIMIT_AT_LEAST] = "at_least"};
	double values[REPORT_ROUNDS];

	sorted(figure, values);
	fprintf(to, "{\"name\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, \"min\": %.6g, ",
		figure->name, figure->unit, figure_median(figure), values[0]);
	fprintf(to, "\"max\": %.6g, ", values[figure->n - 1]);
	if (figure->limit)
		fprintf(to, "\"%s\": %.6g, ", limits[figure->limit], figure->target);
	fputs("\"samples\": [", to);
	for (size_t i = 0; i < figure->n; i++)
		fprintf(to, "%s%.6g", i ? ", " : "", figure->samples[i]);
	fputs("]}", to);
}

static int write_json(const struct report *report)
{
	char path[PATH_MAX];
	struct utsname host;
	FILE *to;
	bool any = false;

	snprintf(path, sizeof(path), "%s/%s.json", report->folder, report->part);
	to = fopen(path, "w");
	if (!to) {
		int err = -errno;

		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return err;
	}
	uname(&host);
	fprintf(to, "{\"part\": \"%s\", \"kernel\": \"%s\", \"figures\": [", report->part,
		host.release);
	for (size_t i = 0; i < report->n; i++) {
		if (!report->figures[i]->n)
			continue;
		fputs(any ? ",\n" : "\n", to);
		json_figure(to, report->figures[i]);
		any = true;
	}
	fputs("\n]}\n", to);
	return fclose(to) ? -errno : 0;
}

int report_finish(struct report *report)
{
	for (size_t i = 0; i < report->n; i++)
		add_ratios(report->figures[i]);
	printf("\n%-60s %9s %9s %9s\n", report->part, "median", "min", "max");
	print_figures(report, true);
	print_figures(report, false);
	return write_json(report);
}
