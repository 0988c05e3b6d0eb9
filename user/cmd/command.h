/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The subcommands: one table drives dispatch, usage, option parsing and
 * completion. A subcommand NAME is a file NAME.c that defines command_NAME, and
 * one line in COMMANDS.
 */
#ifndef BULKHEAD_CMD_COMMAND_H
#define BULKHEAD_CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* COMMAND(name), in the order of the usage text. */
#define COMMANDS(COMMAND)  \
	COMMAND(compile)   \
	COMMAND(load)      \
	COMMAND(unload)    \
	COMMAND(endpoint)  \
	COMMAND(cni)       \
	COMMAND(trace)     \
	COMMAND(matrix)    \
	COMMAND(graph)     \
	COMMAND(lint)      \
	COMMAND(diff)      \
	COMMAND(recommend) \
	COMMAND(show)      \
	COMMAND(monitor)   \
	COMMAND(status)    \
	COMMAND(metrics)   \
	COMMAND(engine)    \
	COMMAND(follow)    \
	COMMAND(probe)     \
	COMMAND(version)   \
	COMMAND(completion)

enum exit_status {
	STATUS_OK = 0,
	STATUS_NO = 1, /* the answer is no: denied, or different */
	STATUS_INPUT = 2, /* bad input or usage */
	STATUS_KERNEL = 3, /* the kernel or a permission said no */
};

struct call;

struct command_option {
	char letter; /* 0: the option has none */
	const char *name;
	const char *value; /* the value's name in the usage text; NULL: the option takes no value */
	const char *help;
	/* Takes the option. @to is the part of the command's request that begins at byte @at. */
	void (*take)(struct call *call, void *to);
	size_t at;
	size_t n_at; /* OPTION_LIST: the byte at which the number of values begins */
};

/* The last members of a command_option: what the option sets in the command's request, which is a
 * @type. OPTION_TEXT sets a `const char *`; OPTION_FLAG a bool; OPTION_LIST, an option that may
 * occur many times, adds to the array @field of @n_field texts; OPTION_TAKE calls @function with
 * the address of the field. */
#define OPTION_TEXT(type, field) .take = option_text, .at = OPTION_AT(type, field, const char *)
#define OPTION_FLAG(type, field) .take = option_flag, .at = OPTION_AT(type, field, bool)
#define OPTION_LIST(type, field, n_field)                                       \
	.take = option_list, .at = OPTION_AT(type, field, const char *const *), \
	.n_at = OPTION_AT(type, n_field, size_t)
#define OPTION_TAKE(type, field, function) .take = function, .at = offsetof(type, field)

/* offsetof(), which does not compile if the field is not of the type @of. */
#define OPTION_AT(type, field, of) \
	(offsetof(type, field) + 0 * sizeof((of *)0 == &((type *)0)->field))

void option_text(struct call *call, void *to);
void option_flag(struct call *call, void *to);
void option_list(struct call *call, void *to);

#define CALL_LISTS 5 /* the most options of a command that are lists */

/* The arguments of one run of a command, while call_options() reads them. */
struct call {
	const struct command *command;
	const struct command *const *commands; /* all commands; NULL ends the array */
	bool json, pretty; /* -j, -p */
	char **operands; /* the operands, once call_options() has returned */
	int n_operands;
	const struct command_option *option; /* the option that is being taken, and its value */
	char *value;
	const char **lists[CALL_LISTS]; /* from here on: private to call.c and main.c */
	size_t n_lists;
	int argc;
	char **argv;
};

struct command {
	const char *name;
	const char *operands; /* as the usage text shows them; "": the command takes none */
	const char *help; /* the command's purpose, in one line */
	/* values of the first operand, separated by blanks; NULL: operands are files */
	const char *words;
	/* ends with an option without a name; NULL: the command has none */
	const struct command_option *options;
	int (*run)(struct call *call); /* returns an exit status */
};

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* Options of the commands that change a node or read its maps. */
#define PIN_OPTION(type, field)                                                             \
	{                                                                                   \
		0, "pin", "DIR", "the pin folder, else " NODE_PIN, OPTION_TEXT(type, field) \
	}

#define STATE_OPTION(type, field)                                                           \
	{                                                                                   \
		0, "state", "DIR",                                                          \
			"keeps the last load, else " SAVED_DIR " (and nothing with --pin)", \
			OPTION_TEXT(type, field)                                            \
	}

/* @options: the field that is a struct node_options */
#define SET_OPTION(type, options)                                                          \
	{                                                                                  \
		0, "set", "NAME=N",                                                        \
			"first load: connections, timeout-tcp ... (seconds), event-rate, " \
			"redirect; "                                                       \
			"later: more connections",                                         \
			OPTION_LIST(type, options.settings, options.n_settings)            \
	}

/* The options that every command takes: -j, -p, -d, --strict, -h. */
extern const struct command_option common_options[];

/*
 * Takes all options of the call into the command's request. Options and operands may mix; `--` ends
 * the options. Ends the process with STATUS_INPUT at an option that the command does not have, and
 * at an operand if it takes none.
 */
void call_options(struct call *call, void *request);

/* Returns the number that is the option's value. Ends the process if the value is no number within
 * the limits; @unit is then part of the message: "" or " of seconds". */
uint64_t call_number(const struct call *call, const char *unit, uint64_t min, uint64_t max);

/* Returns true if an operand is `-`. Call it after call_options(). */
bool call_reads_stdin(const struct call *call);

/* Prints the message and a hint at --help, and ends the process with STATUS_INPUT. */
void call_usage_error(const struct call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Ends the process as call_usage_error() does. Writes the option that is being taken, and its
 * value, before the message. */
void call_value_error(const struct call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Prints `bulkhead: MESSAGE` to stderr, with -j as a JSON object like the objects of
 * command_diag(). */
void command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints that nothing is active in the pin folder @pin (NULL: the default), and the hint. */
void command_inactive(const char *pin, const char *hint);

/* Returns the sink for the messages of readers, compiler and node. It writes to stderr: text, or
 * with -j one JSON object a line, with "level", "file", "line", "field" and "message". */
struct diag command_diag(void);

/* Returns the exit status for -errno: STATUS_INPUT for -EINVAL and -E2BIG, else STATUS_KERNEL. */
int status_of(int error);

#endif
