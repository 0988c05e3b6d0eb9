// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag.h"

#include <stdbool.h>

/* Returns the length of the control character that the text begins with; 0: it begins with another.
 */
static size_t control_length(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	if (*byte < 0x20 || *byte == 0x7f)
		return 1;
	return byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0 ? 2 : 0;
}

bool diag_is_plain(const char *text)
{
	while (*text && !control_length(text))
		text++;
	return !*text;
}

void diag_print_text(FILE *to, const char *text)
{
	while (*text) {
		size_t n = control_length(text);

		if (!n)
			fputc(*text++, to);
		for (; n; n--)
			fprintf(to, "\\x%02x", (unsigned char)*text++);
	}
}

void diag_print_place(FILE *to, const struct diag_message *message)
{
	if (message->where && message->where->file) {
		diag_print_text(to, message->where->file);
		if (message->where->line)
			fprintf(to, ":%u", message->where->line);
		fputs(": ", to);
	}
	if (message->field && *message->field) {
		diag_print_text(to, message->field);
		fputs(": ", to);
	}
}
