/* SPDX-License-Identifier: GPL-2.0-only */
/* A string that grows, in json-c's buffer. */
#ifndef BULKHEAD_CMD_TEXT_BUFFER_H
#define BULKHEAD_CMD_TEXT_BUFFER_H

#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <stdio.h>

struct text {
	struct printbuf *buffer; /* buffer->buf is the string */
};

void text_clear(struct text *text);
void text_add(struct text *text, const char *what);
/* appends, after ", " unless it is the first */
void text_add_listed(struct text *text, const char *what);

/* Sets @text to the strings of @array, "a, b, c", or to "none". */
void text_join(struct text *text, struct json_object *array);

/* Writes text for the inside of double quotes: backslash, quote and newline become \\, \" and \n,
 * as DOT and Prometheus have them. */
void text_put_quoted(FILE *to, const char *text);

#endif
