// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag.h"

#include <stdarg.h>
#include <stdbool.h>

static bool diag_count(struct diag *diag, enum diag_level level)
{
	unsigned int *count = level == DIAG_ERROR   ? &diag->errors :
			      level == DIAG_WARNING ? &diag->warnings :
						      &diag->notes;

	(*count)++;
	if (*count == DIAG_MAX + 1 && diag->to)
		fprintf(diag->to, "%s\n",
			level == DIAG_ERROR   ? "too many errors" :
			level == DIAG_WARNING ? "further warnings are not shown" :
						"further notes are not shown");
	return *count <= DIAG_MAX;
}

/* What an input says may stand in a message: no byte of it may steer a terminal. */
static void print_safely(FILE *to, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = *text;

		if (byte < 0x20 || byte == 0x7f)
			fprintf(to, "\\x%02x", byte);
		else
			fputc(byte, to);
	}
}

void diag_report(struct diag *diag, enum diag_level level, const struct where *where,
		 const char *field, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!diag_count(diag, level) || !diag->to)
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
		fputs(level == DIAG_WARNING ? "warning: " : "note: ", diag->to);
	print_safely(diag->to, text);
	fputc('\n', diag->to);
}
