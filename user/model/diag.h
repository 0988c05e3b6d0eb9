/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the readers and the compiler about an input: `FILE:LINE: FIELD: what is wrong`.
 * "warning: " or "note: " stands before the text of such a message.
 */
#ifndef BULKHEAD_MODEL_DIAG_H
#define BULKHEAD_MODEL_DIAG_H

#include <stdbool.h>
#include <stdio.h>

/* A place in an input. `file` is the name that the user typed ("-" reads as "stdin"). `line`
 * counts from 1; 0 means the whole file. */
struct where {
	const char *file;
	unsigned int line;
};

struct diag_log; /* model/diag_log.h */

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_message {
	enum diag_level level;
	const struct where *where; /* NULL: not about an input; where->file may be NULL too */
	const char *field; /* NULL or "": not about a field */
	const char *text;
	const char *ns; /* of the object that it is about; NULL: of none */
};

struct diag {
	FILE *to; /* NULL: only count messages */
	FILE *copy; /* gets a copy of each error that is printed; NULL: there is no copy */
	/* Prints a message and the end of its line; NULL: diag_print(). */
	void (*print)(FILE *to, const struct diag_message *message);
	unsigned int notes, warnings, errors;
	/* NULL: DIAG_MAX messages of each level are printed. Else all, within the log's rates. */
	struct diag_log *log;
	/* By level: messages that are not printed are counted here, too, and the owner says how
	 * many there are; NULL: nowhere. */
	unsigned int *unprinted;
};

/* Prints text from an input with control characters as \xNN, ASCII's and U+0080 to U+009F, so
 * that no input steers the user's terminal. */
void diag_print_text(FILE *to, const char *text);
/* Returns true if the text has no such character. */
bool diag_is_plain(const char *text);
/* Prints the place and the field of a message, each with a colon behind it. */
void diag_print_place(FILE *to, const struct diag_message *message);
/* Prints a message as text. */
void diag_print(FILE *to, const struct diag_message *message);

/* Messages of one level that are printed. One more line says that there are more; all are
 * counted. */
#define DIAG_MAX 20

/* Reports a message. @where and @field may be NULL. */
void diag_report(struct diag *diag, enum diag_level level, const struct where *where,
		 const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reports a message about an object of the namespace @ns, or of no namespace (NULL): whoever writes
 * there may bring about as many as he likes, and a log has an allowance for each namespace. */
void diag_report_about(struct diag *diag, enum diag_level level, const char *ns, const char *format,
		       ...) __attribute__((format(printf, 4, 5)));

/* Returns true if a reader may stop, since further errors are not printed. */
static inline bool diag_full(const struct diag *diag)
{
	return diag->errors >= DIAG_MAX;
}

#define diag_error(diag, where, field, ...) diag_report(diag, DIAG_ERROR, where, field, __VA_ARGS__)
#define diag_warn(diag, where, field, ...) \
	diag_report(diag, DIAG_WARNING, where, field, __VA_ARGS__)
#define diag_note(diag, where, field, ...) diag_report(diag, DIAG_NOTE, where, field, __VA_ARGS__)

#endif
