/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "cmd/text.h"

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
