// SPDX-License-Identifier: GPL-2.0-only
/* Events of a stream that the server sends as Tables: an event has the cells of the printer
 * columns, and no object. */
#include <errno.h>
#include <string.h>

#include "api/internal.h"

static bool has_column(struct json_object *columns, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(columns); i++) {
		const char *column = api_text(json_object_array_get_idx(columns, i), "name");

		if (column && !strcmp(column, name))
			return true;
	}
	return false;
}

/* Only the first event of a stream has the definitions of the columns. */
static int take_columns(struct json_object *table, const char *const *names,
			struct json_object **columns)
{
	struct json_object *given = api_get(table, "columnDefinitions");

	if (!json_object_is_type(given, json_type_array))
		return *columns ? 0 : -EPROTO;
	for (; *names; names++)
		if (!has_column(given, *names))
			return -ENOENT;
	json_object_put(*columns);
	*columns = json_object_get(given);
	return 0;
}

static struct json_object *read_cells(struct json_object *columns, struct json_object *cells)
{
	struct json_object *read = json_object_new_object();

	for (size_t i = 0;
	     i < json_object_array_length(columns) && i < json_object_array_length(cells); i++) {
		const char *name = api_text(json_object_array_get_idx(columns, i), "name");

		if (name)
			json_object_object_add(
				read, name, json_object_get(json_object_array_get_idx(cells, i)));
	}
	return read;
}

int api_table_row(struct json_object *table, const char *const *names, struct json_object **columns,
		  struct json_object **row)
{
	struct json_object *rows = api_get(table, "rows"), *cells, *read, *metadata;
	int error = take_columns(table, names, columns);

	if (error)
		return error;
	if (!json_object_is_type(rows, json_type_array) || json_object_array_length(rows) != 1)
		return -EPROTO;
	cells = api_get(json_object_array_get_idx(rows, 0), "cells");
	if (!json_object_is_type(cells, json_type_array))
		return -EPROTO;
	*row = json_object_new_object();
	metadata = json_object_new_object();
	json_object_object_add(*row, "metadata", metadata);
	json_object_object_add(metadata, "resourceVersion",
			       json_object_get(api_get(table, "metadata.resourceVersion")));
	read = read_cells(*columns, cells);
	json_object_object_add(*row, "cells", read);
	json_object_object_add(metadata, "name", json_object_get(api_get(read, "Name")));
	return 0;
}
