/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the matrix of one port: who reaches whom. */
#ifndef BULKHEAD_CMD_MATRIX_PRINT_H
#define BULKHEAD_CMD_MATRIX_PRINT_H

#include "cmd/filter.h"
#include "cmd/emit.h"
#include "cmd/view.h"

/* REACH_AUDIT: allowed, and policies that are only audited would deny. */
enum reach { REACH_NONE, REACH_NO, REACH_YES, REACH_DEPENDS, REACH_OWN, REACH_AUDIT };

/* The matrix of one port: the kinds of ends, and the Services that have the port, which are
 * columns only. */
struct reach_table {
	const struct view *view;
	const struct filter *filter;
	const struct flow_classes *kinds;
	const struct filter_flow_classes *meant;
	const struct flow *port;
	struct flow_side *services;
	size_t n_services;
	char *reach; /* enum reach of each cell, row by row */
	bool *row, *column; /* which of them are printed */
};

static inline size_t n_columns(const struct reach_table *table)
{
	return table->kinds->n + table->n_services;
}

static inline enum reach reach_at(const struct reach_table *table, size_t from, size_t to)
{
	return table->reach[from * n_columns(table) + to];
}

/* Prints a table, or words if the table is too wide. Returns 0 or -ENOMEM. */
int matrix_print(const struct reach_table *table, bool pods, bool first);
void matrix_emit(struct emit *emit, const struct reach_table *table, bool pods);

#endif
