/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the readers and the compiler have to say about an input. A message
 * reads `FILE:LINE: FIELD: what is wrong`; errors come as they are, warnings
 * and notes with that word before the text.
 */
#ifndef BULKHEAD_MODEL_DIAG_H
#define BULKHEAD_MODEL_DIAG_H

#include <stdbool.h>
#include <stdio.h>

/* A place in an input. `file` is what the user typed ("-" reads as "stdin"), `line` counts from
 * 1; 0 is the file as a whole. */
struct where {
	const char *file;
	unsigned int line;
};

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_message {
	enum diag_level level;
	const struct where *where; /* NULL: not of an input; its file may be NULL as well */
	const char *field; /* NULL or "": of none */
	const char *text;
};

struct diag {
	FILE *to; /* NULL: count only */
	/* Writes a message and the end of its line; NULL: diag_print(). */
	void (*print)(FILE *to, const struct diag_message *message);
	unsigned int notes, warnings, errors;
};

/* A message as text. */
void diag_print(FILE *to, const struct diag_message *message);

/* So many messages of a level are printed, then that they end; the rest are counted. */
#define DIAG_MAX 20

/* @where and @field may be NULL. Control characters are printed as \xNN. */
void diag_report(struct diag *diag, enum diag_level level, const struct where *where,
		 const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A reader may stop: nobody will see its further errors. */
static inline bool diag_full(const struct diag *diag)
{
	return diag->errors >= DIAG_MAX;
}

#define diag_error(diag, where, field, ...) diag_report(diag, DIAG_ERROR, where, field, __VA_ARGS__)
#define diag_warn(diag, where, field, ...) \
	diag_report(diag, DIAG_WARNING, where, field, __VA_ARGS__)
#define diag_note(diag, where, field, ...) diag_report(diag, DIAG_NOTE, where, field, __VA_ARGS__)

#endif
