// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/delta_view.h"
#include "policy/lazy_policy.h"
#include "policy/references.h"

/* Bytes of the whole policy that are put together at a time: a few records. */
#define BLOCK 1024

struct delta_view {
	struct policy_source source;
	const struct delta *delta;
	const struct lazy_policy *base;
	const struct where *where;
	struct diag *diag;
	struct blob_header header;
	unsigned char *blob; /* the policy's blob, as far as it was put together */
	bool *known; /* by block */
};

static void fail(struct delta_view *view, int error)
{
	if (view->source.error)
		return;
	view->source.error = error;
	if (error == -EINVAL)
		diag_error(view->diag, view->where, NULL,
			   "a record of the change refers to what is not there");
}

/* Writes all records of a table that begin or end in a block. */
static void put_records(struct delta_view *view, enum blob_table table, size_t from, size_t end)
{
	const size_t at = view->header.tables[table].at, n = view->header.tables[table].n;
	const size_t size = table_layouts[table].size;
	const size_t first = from > at ? (from - at) / size : 0;
	size_t last = end > at ? (end - at + size - 1) / size : 0;
	int error;

	last = last < n ? last : n;
	if (first >= last)
		return;
	error = delta_records(view->delta, view->base, table, first, last - first,
			      view->blob + at + first * size);
	if (error)
		fail(view, error);
}

static void put_block(struct delta_view *view, size_t number)
{
	const size_t from = number * BLOCK;

	view->known[number] = true;
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		put_records(view, table, from, from + BLOCK);
	if (lazy_error(view->base))
		fail(view, lazy_error(view->base));
}

static void need(struct policy_source *source, const void *at, size_t size)
{
	struct delta_view *view = (struct delta_view *)source;
	const size_t total = view->header.length;
	const size_t from = (const unsigned char *)at - view->blob;

	if (from > total || size > total - from) {
		fail(view, -EINVAL);
		return;
	}
	for (size_t i = from / BLOCK; size && i * BLOCK < from + size; i++)
		if (!view->known[i])
			put_block(view, i);
}

int delta_view_open(const struct delta *delta, const struct lazy_policy *base,
		    const struct where *where, struct diag *diag, struct delta_view **result,
		    struct lazy_policy **policy)
{
	struct delta_view *view = calloc(1, sizeof(*view));
	int error;

	if (!view)
		return -ENOMEM;
	*view = (struct delta_view){.source.need = need,
				    .delta = delta,
				    .base = base,
				    .where = where,
				    .diag = diag,
				    .header = delta_blob_header(delta)};
	view->blob = calloc(1, view->header.length);
	view->known = calloc(view->header.length / BLOCK + 1, sizeof(*view->known));
	if (view->blob && view->known) {
		memcpy(view->blob, &view->header, sizeof(view->header));
		error = blob_view(view->blob, view->header.length, &view->source, where, diag,
				  policy);
	} else {
		error = -ENOMEM;
	}
	if (error) {
		free(view->blob);
		delta_view_close(view);
		return error;
	}
	*result = view;
	return 0;
}

void delta_view_close(struct delta_view *view)
{
	free(view ? view->known : NULL);
	free(view);
}
