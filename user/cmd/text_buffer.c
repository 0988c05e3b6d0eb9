/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "cmd/text_buffer.h"

void text_clear(struct text *text)
{
	printbuf_reset(text->buffer);
}

void text_add(struct text *text, const char *what)
{
	printbuf_memappend(text->buffer, what, strlen(what));
}

void text_add_listed(struct text *text, const char *what)
{
	if (printbuf_length(text->buffer))
		text_add(text, ", ");
	text_add(text, what);
}

void text_join(struct text *text, struct json_object *array)
{
	text_clear(text);
	for (size_t i = 0; i < json_object_array_length(array); i++)
		text_add_listed(text, json_object_get_string(json_object_array_get_idx(array, i)));
	if (!json_object_array_length(array))
		text_add(text, "none");
}

void text_put_quoted(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", to);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
}
