/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a matrix as a table, in words and in JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/class_set.h"
#include "cmd/matrix_print.h"
#include "cmd/screen.h"

static const char marks[] = {
	[REACH_NONE] = ' ',    [REACH_NO] = '-',  [REACH_YES] = '+',
	[REACH_DEPENDS] = '?', [REACH_OWN] = 'o', [REACH_AUDIT] = 'a',
};

#define NAME_MAX_WIDTH 48 /* columns of a row's name */

static const char *name_at(const struct reach_table *table, size_t i, char text[NAME_MAX_WIDTH + 1])
{
	char name[1200];
	size_t length;

	if (i < table->kinds->n)
		flow_class_print(&table->kinds->at[i], name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", table->services[i - table->kinds->n].name);
	length = strlen(name);
	if (length > NAME_MAX_WIDTH) /* keeps the end, which counts the members */
		snprintf(text, NAME_MAX_WIDTH + 1, "%.*s..%s", NAME_MAX_WIDTH - 22, name,
			 name + length - 20);
	else
		snprintf(text, NAME_MAX_WIDTH + 1, "%s", name);
	return text;
}

static bool is_shown(const struct reach_table *table, size_t i)
{
	return table->column[i] || (i < table->kinds->n && table->row[i]);
}

/* Returns the printed number of a row or column: the printed rows and columns are counted from
 * 1. */
static size_t number_of(const struct reach_table *table, size_t i)
{
	size_t number = 0;

	for (size_t k = 0; k <= i; k++)
		number += is_shown(table, k);
	return number;
}

/* The table on the screen. A wide table is printed in several parts, each with some of the
 * columns. */
struct matrix_layout {
	int digits, name; /* widths in characters */
	bool tight; /* a blank after each fifth column only */
	size_t at_once; /* columns in one part */
};

static struct matrix_layout lay_out(const struct reach_table *table)
{
	size_t screen = screen_width(), n = n_columns(table), shown = 0, width;
	struct matrix_layout layout = {.digits = 1, .name = 4};
	char text[NAME_MAX_WIDTH + 1];

	if (n)
		layout.digits = snprintf(NULL, 0, "%zu", number_of(table, n - 1));
	for (size_t i = 0; i < n; i++) {
		shown += table->column[i];
		if (is_shown(table, i) && (int)strlen(name_at(table, i, text)) > layout.name)
			layout.name = strlen(text);
	}
	layout.at_once = n;
	if (!screen)
		return layout;
	width = screen > (size_t)(layout.digits + layout.name + 12)
			? screen - layout.digits - layout.name - 2
			: 10;
	layout.tight = 2 * shown > width;
	if (layout.tight && shown + shown / 5 > width)
		layout.at_once = width * 5 / 6;
	return layout;
}

static void put_cell(const struct matrix_layout *layout, size_t i, char c)
{
	if (!layout->tight || i % 5 == 0)
		putchar(' ');
	putchar(c);
}

/* Prints the numbers of the columns upright, one digit a line. */
static void print_numbers(const struct reach_table *table, const struct matrix_layout *layout,
			  size_t first, size_t end)
{
	char number[24], text[FLOW_TEXT];

	for (int line = 0; line < layout->digits; line++) {
		size_t shown = 0;

		printf("%*s %-*s", layout->digits, "", layout->name,
		       line + 1 < layout->digits ? "" : port_print(table->port, text));
		for (size_t to = first; to < end; to++) {
			if (!table->column[to])
				continue;
			snprintf(number, sizeof(number), "%*zu", layout->digits,
				 number_of(table, to));
			put_cell(layout, shown++, number[line]);
		}
		putchar('\n');
	}
}

static void print_row(const struct reach_table *table, const struct matrix_layout *layout,
		      size_t from, size_t first, size_t end)
{
	static const enum paint paints[] = {[REACH_NO] = PAINT_BAD,
					    [REACH_YES] = PAINT_GOOD,
					    [REACH_DEPENDS] = PAINT_WARN,
					    [REACH_OWN] = PAINT_WARN,
					    [REACH_AUDIT] = PAINT_WARN};
	enum reach last = REACH_NONE;
	char text[NAME_MAX_WIDTH + 1];
	size_t shown = 0;

	printf("%*zu %-*s", layout->digits, number_of(table, from), layout->name,
	       name_at(table, from, text));
	for (size_t to = first; to < end; to++) {
		enum reach reach = from < table->kinds->n ? reach_at(table, from, to) : REACH_NONE;

		if (!table->column[to])
			continue;
		if (reach != last)
			printf("%s%s", last ? paint_off() : "", paint_on(paints[reach]));
		put_cell(layout, shown++, marks[reach]);
		last = reach;
	}
	printf("%s\n", last ? paint_off() : "");
}

static void print_part(const struct reach_table *table, const struct matrix_layout *layout,
		       size_t first, size_t end)
{
	size_t n = n_columns(table), rows = table->kinds->n;

	print_numbers(table, layout, first, end);
	for (size_t from = 0; from < n; from++)
		if (from < rows ? table->row[from] : table->column[from])
			print_row(table, layout, from, first, end);
	/* also names the kinds that have a column in this part, but no row */
	for (size_t to = first; to < end && to < rows; to++)
		if (table->column[to] && !table->row[to]) {
			char text[NAME_MAX_WIDTH + 1];

			printf("%*zu %s\n", layout->digits, number_of(table, to),
			       name_at(table, to, text));
		}
}

static void print_table(const struct reach_table *table)
{
	struct matrix_layout layout = lay_out(table);
	size_t n = n_columns(table), end;

	for (size_t first = 0; first < n; first = end) {
		size_t shown = 0;

		for (end = first; end < n && shown + table->column[end] <= layout.at_once; end++)
			shown += table->column[end];
		if (!shown)
			continue;
		putchar('\n');
		print_part(table, &layout, first, end);
	}
}

/* A matrix with more columns is printed in words. */
#define TABLE_MAX 120

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct reach_table *table = data;
	const uint32_t *x = a, *y = b;
	size_t n = n_columns(table);
	int order = memcmp(table->reach + *x * n, table->reach + *y * n, n);

	return order ? order : *x < *y ? -1 : *x > *y;
}

struct run {
	size_t at, n; /* the run's first row among the sorted rows, and the number of its rows */
};

static int compare_runs(const void *a, const void *b, void *rows)
{
	const struct run *x = a, *y = b;
	uint32_t left = ((const uint32_t *)rows)[x->at], right = ((const uint32_t *)rows)[y->at];

	return left < right ? -1 : left > right;
}

/* Prints whom a run of equal rows reaches in one way. */
static void print_reached(const struct reach_table *table, struct class_set *set, size_t from,
			  enum reach reach, const char *word)
{
	struct text text = {printbuf_new()};
	uint32_t *kinds = calloc(table->kinds->n + 1, sizeof(*kinds));
	size_t n = 0;

	for (size_t to = 0; to < table->kinds->n && kinds; to++)
		if (table->column[to] && reach_at(table, from, to) == reach)
			kinds[n++] = to;
	class_set_print(set, &text, kinds, n, screen_width());
	for (size_t to = table->kinds->n; to < n_columns(table); to++)
		if (table->column[to] && reach_at(table, from, to) == reach)
			text_add_listed(&text, table->services[to - table->kinds->n].name);
	if (printbuf_length(text.buffer))
		printf("  %s %s\n", word, text.buffer->buf);
	printbuf_free(text.buffer);
	free(kinds);
}

static void print_alike(const struct reach_table *table, struct class_set *set,
			const uint32_t *rows, size_t n)
{
	struct text text = {printbuf_new()};
	size_t columns = n_columns(table);
	const char *row = table->reach + *rows * columns;

	class_set_print(set, &text, rows, n, screen_width());
	printf("%s%s%s\n", paint_on(PAINT_BOLD), text.buffer->buf, paint_off());
	print_reached(table, set, *rows, REACH_YES, "reach");
	print_reached(table, set, *rows, REACH_AUDIT, "reach, but for audited policies,");
	print_reached(table, set, *rows, REACH_OWN, "reach, of their own node,");
	print_reached(table, set, *rows, REACH_DEPENDS, "reach, by the backend,");
	if (!memchr(row, REACH_YES, columns) && !memchr(row, REACH_OWN, columns) &&
	    !memchr(row, REACH_DEPENDS, columns) && !memchr(row, REACH_AUDIT, columns))
		puts("  reach nobody");
	printbuf_free(text.buffer);
}

/* Finds runs of equal rows in the sorted @rows. Returns their number. Sorts the runs by their
 * first row. */
static size_t list_runs(const struct reach_table *table, const uint32_t *rows, size_t n,
			struct run *runs)
{
	size_t columns = n_columns(table), found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!i || memcmp(table->reach + rows[i - 1] * columns,
				 table->reach + rows[i] * columns, columns))
			runs[found++] = (struct run){i, 0};
		runs[found - 1].n++;
	}
	if (found)
		qsort_r(runs, found, sizeof(*runs), compare_runs, (void *)rows);
	return found;
}

/* Equal rows are printed once. */
static int print_words(const struct reach_table *table)
{
	struct class_set *set = class_set_open(table->kinds);
	uint32_t *rows = calloc(table->kinds->n + 1, sizeof(*rows));
	struct run *runs = calloc(table->kinds->n + 1, sizeof(*runs));
	bool good = set && rows && runs;
	size_t n = 0, n_runs;
	char text[FLOW_TEXT];

	for (size_t i = 0; i < table->kinds->n && good; i++)
		if (table->row[i])
			rows[n++] = i;
	if (n)
		qsort_r(rows, n, sizeof(*rows), compare_rows, (void *)table);
	n_runs = good ? list_runs(table, rows, n, runs) : 0;
	printf("\n%s\n", port_print(table->port, text));
	for (size_t i = 0; i < n_runs; i++)
		print_alike(table, set, rows + runs[i].at, runs[i].n);
	class_set_close(set);
	free(rows);
	free(runs);
	return good ? 0 : -ENOMEM;
}

static const char *plain_name(const struct reach_table *table, size_t i)
{
	return i < table->kinds->n ? table->kinds->at[i].members->end.name
				   : table->services[i - table->kinds->n].name;
}

static void add_reach(struct emit *emit, const struct reach_table *table, size_t from,
		      enum reach reach)
{
	for (size_t to = 0; to < n_columns(table); to++)
		if (table->column[to] && reach_at(table, from, to) == reach)
			emit_text(emit, NULL, plain_name(table, to));
}

static void emit_reach(struct emit *emit, const char *key, const struct reach_table *table,
		       size_t from, enum reach reach)
{
	emit_array(emit, key);
	add_reach(emit, table, from, reach);
	emit_end(emit);
}

static void emit_row(struct emit *emit, const struct reach_table *table, size_t from, bool pods)
{
	emit_object(emit, NULL);
	emit_text(emit, "from", plain_name(table, from));
	emit_array(emit, "to");
	add_reach(emit, table, from, REACH_YES);
	add_reach(emit, table, from, REACH_AUDIT);
	emit_end(emit);
	if (table->view->policy->n_audits)
		emit_reach(emit, "audited", table, from, REACH_AUDIT);
	/* Only a flow to a Service depends: one backend allows the flow, and another denies it. */
	if (table->n_services)
		emit_reach(emit, "depends", table, from, REACH_DEPENDS);
	if (!pods)
		emit_reach(emit, "own_node", table, from, REACH_OWN);
	emit_end(emit);
}

void matrix_emit(struct emit *emit, const struct reach_table *table, bool pods)
{
	char text[FLOW_TEXT];

	emit_object(emit, NULL);
	emit_text(emit, "port", port_print(table->port, text));
	if (!pods) {
		emit_array(emit, "groups");
		for (size_t i = 0; i < table->kinds->n; i++)
			if (table->row[i] || table->column[i])
				flow_class_emit(emit, &table->kinds->at[i]);
		emit_end(emit);
	}
	emit_array(emit, "reach");
	for (size_t from = 0; from < table->kinds->n; from++)
		if (table->row[from])
			emit_row(emit, table, from, pods);
	emit_end(emit);
	emit_end(emit);
}

static void print_legend(const struct reach_table *table)
{
	bool own = false, audited = false;

	for (size_t i = 0; i < table->kinds->n; i++) {
		const char *row = table->reach + i * n_columns(table);

		own |= !!memchr(row, REACH_OWN, n_columns(table));
		audited |= !!memchr(row, REACH_AUDIT, n_columns(table));
	}
	printf("Rows reach columns: + yes, - no%s%s%s.\n",
	       audited ? ", a yes, but audited policies would deny" : "",
	       table->view->policy->n_services
		       ? ", ? it depends on the backend that the kernel chooses"
		       : "",
	       own ? ", o only between a pod and its own node" : "");
}

int matrix_print(const struct reach_table *table, bool pods, bool first)
{
	size_t shown = 0;

	for (size_t i = 0; i < n_columns(table); i++)
		shown += table->column[i];
	if (!pods && shown > TABLE_MAX)
		return print_words(table);
	if (first)
		print_legend(table);
	print_table(table);
	return 0;
}
