// SPDX-License-Identifier: GPL-2.0-only
/* Draws a graph as an SVG: a table whose rows reach its columns. Edges as arrows are the DOT form.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/graph.h"
#include "cmd/text_buffer.h"
#include "policy/verdicts.h"

#define UNITS_MAX 64 /* groups with a row of their own; of more groups, a namespace is a row */
#define ROWS_MAX 160
#define WIDTH 800 /* px; a table with more columns than fit is wider */
#define LABEL_MAX 46 /* characters of a row's name */
#define TITLE_MAX 20 /* characters of a column's name */
#define CHARACTER 6 /* px of a character, on average */
#define LEGEND 44 /* px above the columns' names */
#define CELL_MIN 5 /* px */
#define CELL_MAX 58
#define CELL_NAMED 11 /* columns of this width have names, narrower ones numbers */
#define CELL_TEXT 40 /* cells of this width have ports */
#define ROW_MIN 14
#define ROW_MAX 22

/* A row and column: one kind, or all kinds of a namespace. */
struct svg_unit {
	char *name;
	char *title; /* the name without a number of pods */
	size_t kinds, pods;
	unsigned int isolated; /* 1 << enum direction, where a kind of the unit is isolated */
	bool external;
	bool source; /* a kind of the unit sends: not only domain names */
	bool wanted; /* is in the namespace that is asked for */
	bool shown;
};

struct cell {
	/* pairs of kinds with an allowed port; of these, those that no policy restricts */
	uint32_t reach, open;
	char *ports; /* of the last pair */
};

struct svg_table {
	const struct policy *policy;
	const struct flow_classes *kinds;
	const struct graph_filter *filter;
	uint32_t *unit_of; /* by kind */
	struct svg_unit *units;
	size_t n; /* units */
	struct cell *cells; /* n * n */
	struct text text;
	bool fold; /* there are too many namespaces for a row each: one row has all others */
	bool failed; /* memory is short */
	FILE *to;
	size_t left, top, column, row; /* px */
};

static void clear_units(struct svg_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->units[i].name);
		free(table->units[i].title);
	}
	table->n = 0;
}

static void table_free(struct svg_table *table)
{
	for (size_t i = 0; table->cells && i < table->n * table->n; i++)
		free(table->cells[i].ports);
	clear_units(table);
	free(table->cells);
	free(table->units);
	free(table->unit_of);
	if (table->text.buffer)
		printbuf_free(table->text.buffer);
}

/* Prints the name of the unit that a kind is counted in if there are too many kinds. */
static void print_unit(const struct svg_table *table, const struct flow_class *kind, char *text,
		       size_t size)
{
	const char *first = kind->members->end.name, *last = kind->members[kind->n - 1].end.name;
	const size_t length = strcspn(first, "/");

	if (kind->members->is_node)
		snprintf(text, size, "nodes");
	else if (kind->members->external)
		snprintf(text, size, "addresses outside");
	else if (table->fold)
		snprintf(text, size, "pods of other namespaces");
	else if (strncmp(first, last, length + 1))
		snprintf(text, size, "pods of several namespaces");
	else
		snprintf(text, size, "%.*s", (int)length, first);
}

static struct svg_unit *find_unit(struct svg_table *table, const char *name)
{
	for (size_t i = table->n; i-- > 0;)
		if (!strcmp(table->units[i].name, name))
			return &table->units[i];
	return NULL;
}

static void place_kind(struct svg_table *table, size_t i)
{
	const struct flow_class *kind = &table->kinds->at[i];
	const struct policy_segment *segment = graph_segment(table->policy, kind);
	const bool wanted = table->filter->ns && graph_in_namespace(kind, table->filter->ns);
	const bool alone = table->kinds->n <= UNITS_MAX || wanted;
	struct svg_unit *unit;
	char name[1200];

	if (alone)
		flow_class_print(kind, name, sizeof(name));
	else
		print_unit(table, kind, name, sizeof(name));
	unit = alone ? NULL : find_unit(table, name);
	if (!unit) {
		unit = &table->units[table->n++];
		*unit = (struct svg_unit){.name = strdup(name),
					  .title = strndup(name, strcspn(name, "(")),
					  .external = kind->members->external};
		table->failed |= !unit->name || !unit->title;
	}
	unit->kinds++;
	unit->source |= !kind->members->end.domain;
	unit->pods += kind->n;
	unit->wanted |= wanted;
	unit->shown = !table->filter->ns || unit->wanted;
	for (enum direction d = INGRESS; d <= EGRESS && !unit->external; d++)
		unit->isolated |= (unsigned int)graph_isolated(segment, d) << d;
	table->unit_of[i] = unit - table->units;
}

static int make_units(struct svg_table *table)
{
	const size_t n = table->kinds->n;

	table->unit_of = calloc(n + 1, sizeof(*table->unit_of));
	table->units = calloc(n + 1, sizeof(*table->units));
	table->text.buffer = printbuf_new();
	if (!table->unit_of || !table->units || !table->text.buffer)
		return -ENOMEM;
	for (size_t i = 0; i < n && !table->failed; i++) {
		place_kind(table, i);
		if (table->n <= ROWS_MAX || table->fold || !table->filter->ns)
			continue;
		table->fold = true;
		clear_units(table);
		i = SIZE_MAX; /* from the first kind again */
	}
	if (table->failed)
		return -ENOMEM;
	if (table->n > ROWS_MAX)
		return -E2BIG;
	table->cells = calloc(table->n * table->n + 1, sizeof(*table->cells));
	return table->cells ? 0 : -ENOMEM;
}

static void add_port(void *data, const char *port)
{
	text_add_listed(data, port);
}

static void put_edge(void *data, size_t from, size_t to, const struct verdicts *allowed)
{
	struct svg_table *table = data;
	const struct flow_class *source = &table->kinds->at[from], *target = &table->kinds->at[to];
	struct svg_unit *a = &table->units[table->unit_of[from]];
	struct svg_unit *b = &table->units[table->unit_of[to]];
	struct cell *cell = &table->cells[(a - table->units) * table->n + (b - table->units)];

	cell->reach++;
	if (!graph_restricts(table->policy, source, target)) {
		cell->open++;
		return;
	}
	/* The peers of what is asked for are shown, too. */
	a->shown |= b->wanted;
	b->shown |= a->wanted;
	text_clear(&table->text);
	verdicts_each_allowed(allowed, add_port, &table->text);
	free(cell->ports);
	cell->ports = strdup(table->text.buffer->buf);
	table->failed |= !cell->ports;
}

static void skip_node(void *data, size_t kind)
{
	(void)data;
	(void)kind;
}

static void skip_backend(void *data, const struct graph_backend *backend)
{
	(void)data;
	(void)backend;
}

static void put_escaped(FILE *to, const char *text, size_t n)
{
	static const char *const entities[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};

	for (size_t i = 0; i < n && text[i]; i++) {
		const char *entity = entities[(unsigned char)text[i]];

		if (entity)
			fputs(entity, to);
		else
			fputc(text[i], to);
	}
}

/* Writes at most @max characters of the text, and two dots in place of further ones. The end in
 * parentheses, which counts pods, stays. */
static void put_cut(FILE *to, const char *text, size_t max)
{
	const size_t n = strlen(text);
	const char *count = strrchr(text, '(');
	const size_t end =
		count && count > text && strlen(count) + 10 < max ? strlen(count) + 1 : 0;

	if (n <= max) {
		put_escaped(to, text, n);
		return;
	}
	put_escaped(to, text, max - 2 - end);
	fputs("..", to);
	put_escaped(to, text + n - end, end);
}

static size_t lay_out(struct svg_table *table)
{
	size_t shown = 0, longest = 0, rest;

	for (size_t i = 0; i < table->n; i++) {
		const size_t length = strlen(table->units[i].name);

		if (!table->units[i].shown)
			continue;
		shown++;
		longest = length > longest ? length : longest;
	}
	longest = longest > LABEL_MAX ? LABEL_MAX : longest;
	table->left = 40 + longest * CHARACTER;
	rest = (WIDTH - 8 - table->left) / (shown ? shown : 1);
	table->column = rest < CELL_MIN ? CELL_MIN : rest > CELL_MAX ? CELL_MAX : rest;
	table->row = table->column < ROW_MIN   ? ROW_MIN
		     : table->column > ROW_MAX ? ROW_MAX
					       : table->column;
	table->top = LEGEND + (table->column < CELL_NAMED ? 24 : TITLE_MAX * CHARACTER + 8);
	return shown;
}

static const char *cell_class(const struct cell *cell, size_t pairs)
{
	if (!cell->reach)
		return "no";
	if (cell->reach < pairs)
		return "some";
	return cell->open == cell->reach ? "open" : "allow";
}

/* Returns the width of the frame that leaves of a cell's square the share of its pairs that reach,
 * in steps of a third. */
static double cell_frame(const struct svg_table *table, const struct cell *cell, size_t pairs)
{
	const size_t side = table->column < table->row ? table->column : table->row;

	return cell->reach && cell->reach < pairs ? .1 * side * (3 - 3 * cell->reach / pairs) : 0;
}

static void put_cell(const struct svg_table *table, size_t from, size_t to, size_t x, size_t y)
{
	const struct svg_unit *a = &table->units[from], *b = &table->units[to];
	const struct cell *cell = &table->cells[from * table->n + to];
	const size_t pairs = a->kinds * b->kinds, gap = table->column > 8;
	const double frame = cell_frame(table, cell, pairs);
	/* One pod has no flow to itself; no policy evaluates flows of the outside. */
	const bool empty =
		(a->external && b->external) || !a->source || (from == to && a->pods == 1);

	if (empty)
		return;
	fprintf(table->to, "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"",
		cell_class(cell, pairs), x + frame / 2, y + frame / 2, table->column - gap - frame,
		table->row - 1 - frame);
	if (frame > 0)
		fprintf(table->to, " stroke-width=\"%g\"", frame);
	fputs(">", table->to);
	if (cell->reach) {
		fputs("<title>", table->to);
		put_escaped(table->to, a->name, SIZE_MAX);
		fputs(" -&gt; ", table->to);
		put_escaped(table->to, b->name, SIZE_MAX);
		if (pairs > 1)
			fprintf(table->to, ": %u of %zu pairs of groups", cell->reach, pairs);
		else
			fprintf(table->to, ": %s", cell->ports ? cell->ports : "all, no policy");
		fputs("</title>", table->to);
	}
	fputs("</rect>\n", table->to);
	if (pairs > 1 || !cell->ports || table->column < CELL_TEXT)
		return;
	fprintf(table->to, "<text class=\"port\" x=\"%zu\" y=\"%zu\">", x + table->column / 2,
		y + table->row / 2 + 3);
	put_cut(table->to, cell->ports, table->column / 5);
	fputs("</text>\n", table->to);
}

static void put_row(const struct svg_table *table, size_t from, size_t number, size_t y)
{
	const struct svg_unit *unit = &table->units[from];
	size_t x = table->left;

	for (enum direction d = INGRESS; d <= EGRESS; d++)
		if (unit->isolated >> d & 1)
			fprintf(table->to,
				"<rect class=\"%s\" x=\"%d\" y=\"%zu\" width=\"4\" "
				"height=\"%zu\"/>\n",
				d == INGRESS ? "in" : "out", d == INGRESS ? 2 : 7, y,
				table->row - 2);
	fprintf(table->to,
		"<text class=\"number\" x=\"32\" y=\"%zu\">%zu</text><text x=\"36\" y=\"%zu\">",
		y + table->row / 2 + 4, number, y + table->row / 2 + 4);
	put_cut(table->to, unit->name, LABEL_MAX);
	fputs("</text>\n", table->to);
	for (size_t to = 0; to < table->n; to++) {
		if (!table->units[to].shown)
			continue;
		put_cell(table, from, to, x, y);
		x += table->column;
	}
}

/* Columns have the rows' numbers, and names if there is room. */
static void put_columns(const struct svg_table *table)
{
	const bool named = table->column >= CELL_NAMED;
	size_t number = 0;

	for (size_t i = 0; i < table->n; i++) {
		const size_t x = table->left + number * table->column + table->column / 2;

		if (!table->units[i].shown || (++number % 5 && table->column < 8))
			continue;
		fprintf(table->to,
			"<text class=\"%s\" transform=\"translate(%zu %zu) rotate(-90)\">",
			named ? "name" : "small", x + 4, table->top - 4);
		fprintf(table->to, "%zu ", number);
		if (named)
			put_cut(table->to, table->units[i].title, TITLE_MAX - 3);
		fputs("</text>\n", table->to);
	}
}

static void put_legend(const struct svg_table *table, size_t shown)
{
	static const struct {
		const char *class, *text;
		int x, y;
	} items[] = {
		{"allow", "a policy allows", 8, 22}, {"open", "no policy restricts", 120, 22},
		{"no", "denied", 256, 22},	     {"in", "ingress isolated", 324, 22},
		{"out", "egress isolated", 444, 22},
	};
	const bool whole = shown <= UNITS_MAX && table->kinds->n <= UNITS_MAX;

	fputs("<text class=\"head\" x=\"8\" y=\"14\">Rows reach columns</text>\n", table->to);
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
		fprintf(table->to,
			"<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"10\" height=\"10\"/>"
			"<text x=\"%d\" y=\"%d\">%s</text>\n",
			items[i].class, items[i].x, items[i].y, items[i].x + 15, items[i].y + 9,
			items[i].text);
	if (!whole)
		fprintf(table->to,
			"<text class=\"soft\" x=\"170\" y=\"14\">%zu groups: a row is a namespace; "
			"a smaller square: some of its groups; --namespace NS draws one "
			"whole</text>\n",
			table->kinds->n);
}

static void put_head(const struct svg_table *table, size_t shown)
{
	const size_t inside = table->left + shown * table->column + 8;
	const size_t width = inside > WIDTH ? inside : WIDTH;
	const size_t height = table->top + shown * table->row + 8;

	fprintf(table->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"viewBox=\"0 0 %zu %zu\">\n",
		width, height, width, height);
	fputs("<style>\n"
	      "svg { --ink: #1d2733; --soft: #66727f; --paper: #fff; --no: #eef1f4;\n"
	      "\t--mark: #0b62c4; --open: #bcd9f7; --in: #d97706; --out: #7c3aed; --port: #fff; }\n"
	      "@media (prefers-color-scheme: dark) { svg { --ink: #e4e9ee; --soft: #94a0ac;\n"
	      "\t--paper: #151b21; --no: #222b34; --mark: #6cb0ff; --open: #2b4a6b; --in: "
	      "#f0a95a;\n"
	      "\t--out: #c4a5ff; --port: #10161c; } }\n"
	      "text { font: 11px system-ui, sans-serif; fill: var(--ink); }\n"
	      ".head { font-weight: bold; font-size: 13px; } .soft { fill: var(--soft); }\n"
	      ".number { text-anchor: end; fill: var(--soft); } .small { font-size: 8px; }\n"
	      ".port { text-anchor: middle; font-size: 9px; fill: var(--port); pointer-events: "
	      "none; }\n"
	      ".paper { fill: var(--paper); } .no { fill: var(--no); } .open { fill: var(--open); "
	      "}\n"
	      ".allow, .some { fill: var(--mark); } .some { stroke: var(--no); }\n"
	      ".in { fill: var(--in); } .out { fill: var(--out); }\n"
	      "</style>\n"
	      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
	      table->to);
}

static void draw(struct svg_table *table)
{
	const size_t shown = lay_out(table);
	size_t number = 0;

	put_head(table, shown);
	put_legend(table, shown);
	put_columns(table);
	for (size_t i = 0; i < table->n; i++)
		if (table->units[i].shown) {
			put_row(table, i, number + 1, table->top + number * table->row);
			number++;
		}
	fputs("</svg>\n", table->to);
}

int graph_svg(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	      const struct graph_filter *filter)
{
	static const struct graph_visitor visitor = {skip_node, put_edge, skip_backend};
	struct graph_filter all = *filter;
	struct svg_table table = {.policy = policy, .kinds = kinds, .filter = filter, .to = to};
	int error = make_units(&table);

	all.open = true;
	if (!error)
		error = graph_walk(policy, kinds, &all, &visitor, &table);
	if (!error && table.failed)
		error = -ENOMEM;
	if (!error)
		draw(&table);
	table_free(&table);
	return error;
}
