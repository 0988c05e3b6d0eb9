// SPDX-License-Identifier: GPL-2.0-only
/* An answer that is text, read line by line as it comes: a pod's log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/large.h"

struct api_lines {
	struct api *api;
	struct api_lines_ops ops;
	void *data;
	struct api_transfer *transfer;
	struct api_buffer line;
	bool cut; /* the current line is too long, and is left out */
};

static int add(struct api_lines *lines, const char *bytes, size_t n)
{
	if (lines->line.n + n > API_LINE_MAX)
		lines->cut = true;
	return lines->cut ? 0 : api_buffer_add(&lines->line, bytes, n);
}

static int take_part(void *data, const char *bytes, size_t n)
{
	struct api_lines *lines = data;
	const char *end = bytes + n, *newline;

	while ((newline = memchr(bytes, '\n', end - bytes))) {
		if (add(lines, bytes, newline - bytes))
			return -ENOMEM;
		bytes = newline + 1;
		if (!lines->cut && lines->line.n)
			lines->ops.line(lines->data, lines->line.at);
		lines->line.n = 0;
		lines->cut = false;
	}
	return add(lines, bytes, end - bytes);
}

static void began(void *data)
{
	const struct api_lines *lines = data;

	lines->ops.began(lines->data);
}

static void ended(void *data, struct api_transfer *transfer, long status)
{
	struct api_lines *lines = data;
	struct json_object *body = status != 200 && transfer->received.n
					   ? api_parse(transfer->received.at, transfer->received.n)
					   : NULL;

	lines->transfer = NULL;
	lines->ops.ended(lines->data, status, api_transfer_error(transfer, status, body));
	json_object_put(body);
}

struct api_lines *api_lines(struct api *api, const char *path, const struct api_lines_ops *ops,
			    void *data)
{
	struct api_lines *lines = calloc(1, sizeof(*lines));
	struct api_transfer_options options = {.method = "GET",
					       .path = path,
					       .accept = "*/*",
					       .part = take_part,
					       .ended = ended,
					       .began = ops->began ? began : NULL,
					       .data = lines};

	if (!lines)
		return NULL;
	*lines = (struct api_lines){.api = api, .ops = *ops, .data = data};
	lines->transfer = api_transfer_begin(api, &options);
	if (lines->transfer)
		return lines;
	free(lines);
	return NULL;
}

void api_lines_close(struct api_lines *lines)
{
	if (!lines)
		return;
	if (lines->transfer)
		api_transfer_end(lines->transfer);
	api_buffer_free(&lines->line);
	free(lines);
}
