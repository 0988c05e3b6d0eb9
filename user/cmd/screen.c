/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/screen.h"

size_t screen_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (columns && atoi(columns) > 0)
		return atoi(columns);
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static bool has_colours(void)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return !(none && *none) && terminal && strcmp(terminal, "dumb") && isatty(STDOUT_FILENO);
}

const char *paint_on(enum paint paint)
{
	static const char *const codes[] = {
		[PAINT_NONE] = "",	    [PAINT_BOLD] = "\033[1m",  [PAINT_GOOD] = "\033[32m",
		[PAINT_BAD] = "\033[1;31m", [PAINT_WARN] = "\033[33m",
	};

	return has_colours() ? codes[paint] : "";
}

const char *paint_off(void)
{
	return has_colours() ? "\033[0m" : "";
}

char *amount_print(uint64_t amount, char text[AMOUNT_TEXT])
{
	static const char *const prefixes[] = {"k", "M", "G", "T", "P", "E"};
	double rest = amount / 1e3;
	int i = 0;

	if (amount < 10000) {
		snprintf(text, AMOUNT_TEXT, "%" PRIu64, amount);
		return text;
	}
	for (; rest >= 999.95; rest /= 1000)
		i++;
	snprintf(text, AMOUNT_TEXT, "%.*f %s", rest < 99.95, rest, prefixes[i]);
	return text;
}

#define COLUMNS_MAX 10

struct columns {
	const char *titles[COLUMNS_MAX];
	size_t n_columns;
	size_t width[COLUMNS_MAX];
	char **cells; /* row by row, columns->n in each */
	size_t n;
};

struct columns *columns_new(const char *const titles[])
{
	struct columns *columns = calloc(1, sizeof(*columns));

	if (!columns)
		return NULL;
	for (; titles[columns->n_columns]; columns->n_columns++) {
		size_t i = columns->n_columns;

		columns->titles[i] = titles[i];
		columns->width[i] = strlen(titles[i]) - (*titles[i] == '>');
	}
	return columns;
}

void columns_add(struct columns *columns, const char *cell)
{
	size_t column;

	if (!columns)
		return;
	column = columns->n % columns->n_columns;
	if (!(columns->n & (columns->n - 1))) {
		void *grown = reallocarray(columns->cells, columns->n ? 2 * columns->n : 1,
					   sizeof(*columns->cells));

		if (!grown)
			return;
		columns->cells = grown;
	}
	columns->cells[columns->n] = strdup(cell ? cell : "");
	if (!columns->cells[columns->n])
		return;
	if (strlen(columns->cells[columns->n]) > columns->width[column])
		columns->width[column] = strlen(columns->cells[columns->n]);
	columns->n++;
}

/* Narrows the widest column until the table fits the screen. */
static void fit(struct columns *columns)
{
	size_t screen = screen_width(), total = 0, widest = 0;

	for (size_t i = 0; i < columns->n_columns; i++) {
		total += columns->width[i] + (i ? 2 : 0);
		widest = columns->width[i] > columns->width[widest] ? i : widest;
	}
	if (screen && total > screen && columns->width[widest] > total - screen + 10)
		columns->width[widest] -= total - screen;
}

static void print_cell(const struct columns *columns, size_t column, const char *cell)
{
	int width = columns->width[column], length = strlen(cell);
	bool right = *columns->titles[column] == '>', last = column + 1 == columns->n_columns;

	printf("%s", column ? "  " : "");
	if (right)
		printf("%*.*s", width, width, cell);
	else if (length > width && width > 2)
		printf("%.*s..", width - 2, cell);
	else
		printf("%-*.*s", last ? 0 : width, width, cell);
}

static void print_titles(const struct columns *columns)
{
	bool any = false;

	for (size_t i = 0; i < columns->n_columns; i++)
		any |= *columns->titles[i];
	if (!any)
		return;
	printf("%s", paint_on(PAINT_BOLD));
	for (size_t i = 0; i < columns->n_columns; i++)
		print_cell(columns, i, columns->titles[i] + (*columns->titles[i] == '>'));
	printf("%s\n", paint_off());
}

void columns_print(struct columns *columns)
{
	if (!columns)
		return;
	fit(columns);
	if (columns->n)
		print_titles(columns);
	for (size_t i = 0; i < columns->n; i++) {
		print_cell(columns, i % columns->n_columns, columns->cells[i]);
		if ((i + 1) % columns->n_columns == 0)
			putchar('\n');
	}
	for (size_t i = 0; i < columns->n; i++)
		free(columns->cells[i]);
	free(columns->cells);
	free(columns);
}
