/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that grows: json-c's buffer, which is there anyway. */
#ifndef BULKHEAD_CMD_TEXT_H
#define BULKHEAD_CMD_TEXT_H

#include <json-c/json.h>
#include <json-c/printbuf.h>

struct text {
	struct printbuf *buffer; /* buffer->buf is the text */
};

void text_clear(struct text *text);
void text_add(struct text *text, const char *what);
void text_add_listed(struct text *text, const char *what); /* "a, b, c" */

/* Sets it to the strings of @array, "a, b, c", or "none". */
void text_join(struct text *text, struct json_object *array);

#endif
