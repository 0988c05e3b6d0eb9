// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag.h"

#include <stdarg.h>
#include <stdbool.h>

/* Returns which of its level this message is, from 1. */
static unsigned int count(struct diag *diag, enum diag_level level)
{
	switch (level) {
	case DIAG_NOTE:
		return ++diag->notes;
	case DIAG_WARNING:
		return ++diag->warnings;
	case DIAG_ERROR:
		break;
	}
	return ++diag->errors;
}

/* What an input says may stand in a message: nothing of it may steer a terminal, neither by a
 * control character nor by one of those that UTF-8 has beyond ASCII (U+0080 to U+009F). */
static void print_safely(FILE *to, const char *text)
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

void diag_report(struct diag *diag, enum diag_level level, const struct where *where,
		 const char *field, const char *format, ...)
{
	static const char *const words[] = {"note", "warning", "error"};
	unsigned int number = count(diag, level);
	char text[1024];
	va_list args;

	if (number > DIAG_MAX || !diag->to)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (where && where->file) {
		print_safely(diag->to, where->file);
		if (where->line)
			fprintf(diag->to, ":%u", where->line);
		fputs(": ", diag->to);
	}
	if (field && *field) {
		print_safely(diag->to, field);
		fputs(": ", diag->to);
	}
	if (level != DIAG_ERROR)
		fprintf(diag->to, "%s: ", words[level]);
	print_safely(diag->to, text);
	fputc('\n', diag->to);
	if (number == DIAG_MAX)
		fprintf(diag->to, "%ss end here: there may be more\n", words[level]);
}
