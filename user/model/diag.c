// SPDX-License-Identifier: GPL-2.0-only
#include "model/diag.h"
#include "model/diag_log.h"

#include <stdarg.h>
#include <stdbool.h>

/* Counts the message. Returns its number among the messages of its level, from 1. */
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

void diag_print(FILE *to, const struct diag_message *message)
{
	static const char *const words[] = {"note: ", "warning: ", ""};

	diag_print_place(to, message);
	fputs(words[message->level], to);
	diag_print_text(to, message->text);
	fputc('\n', to);
}

/* Reports a message without a text yet. */
static void report(struct diag *diag, struct diag_message message, const char *format, va_list args)
{
	static const char *const last[] = {"notes end here: there may be more",
					   "warnings end here: there may be more",
					   "errors end here: there may be more"};
	const enum diag_level level = message.level;
	const unsigned int number = count(diag, level);
	char text[1024];

	if (number > DIAG_MAX && !diag->log && diag->unprinted)
		diag->unprinted[level]++;
	if ((number > DIAG_MAX && !diag->log) || !diag->to)
		return;
	vsnprintf(text, sizeof(text), format, args);
	message.text = text;
	if (diag->copy && level == DIAG_ERROR)
		diag_print(diag->copy, &message);
	if (diag->log) {
		diag_log(diag->log, diag->to, &message);
		return;
	}
	if (!diag->print)
		diag->print = diag_print;
	diag->print(diag->to, &message);
	/* A reader stops after so many errors: their number is not known. */
	if (number == DIAG_MAX && (!diag->unprinted || level == DIAG_ERROR))
		diag->print(diag->to, &(struct diag_message){.level = level, .text = last[level]});
}

void diag_report(struct diag *diag, enum diag_level level, const struct where *where,
		 const char *field, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(diag, (struct diag_message){.level = level, .where = where, .field = field}, format,
	       args);
	va_end(args);
}

void diag_report_about(struct diag *diag, enum diag_level level, const char *ns, const char *format,
		       ...)
{
	va_list args;

	va_start(args, format);
	report(diag, (struct diag_message){.level = level, .ns = ns}, format, args);
	va_end(args);
}
