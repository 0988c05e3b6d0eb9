// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag.h"

#include <stdbool.h>

void diag_print_text(FILE *to, const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;

	for (; *byte; byte++) {
		bool beyond = byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0;

		if (*byte >= 0x20 && *byte != 0x7f && !beyond) {
			fputc(*byte, to);
			continue;
		}
		fprintf(to, "\\x%02x", *byte);
		if (beyond)
			fprintf(to, "\\x%02x", *++byte);
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
