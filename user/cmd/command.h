/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The subcommands: one table drives dispatch, usage, option parsing and
 * completion. A subcommand NAME is a file NAME.c that defines command_NAME, and
 * one line in COMMANDS.
 */
#ifndef BULKHEAD_CMD_COMMAND_H
#define BULKHEAD_CMD_COMMAND_H

#include <stdbool.h>

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

/* `id` is the option's letter. An option without a letter has a number above 255. */
struct command_option {
	int id;
	const char *name;
	const char *value; /* the value's name in the usage text; NULL: the option takes no value */
	const char *help;
};

/* The arguments of one run of a command, while call_option() reads them. */
struct call {
	const struct command *command;
	const struct command *const *commands; /* all commands; NULL ends the array */
	bool json, pretty; /* -j, -p */
	char **operands; /* the operands, once call_option() has returned -1 */
	int n_operands;
	char *value; /* value of the option that call_option() returned last */
	int option; /* that option's id; from here on: private to call_option() */
	int argc;
	char **argv;
};

struct command {
	const char *name;
	const char *operands; /* as the usage text shows them */
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
#define PIN_ID 256
#define PIN_OPTION                                                     \
	{                                                              \
		PIN_ID, "pin", "DIR", "the pin folder, else " NODE_PIN \
	}

#define STATE_OPTION(id)                                                                   \
	{                                                                                  \
		id, "state", "DIR",                                                        \
			"keeps the last load, else " SAVED_DIR " (and nothing with --pin)" \
	}

#define SET_OPTION(id)                                                                     \
	{                                                                                  \
		id, "set", "NAME=N",                                                       \
			"first load: connections, timeout-tcp ... (seconds), event-rate, " \
			"redirect; "                                                       \
			"later: more connections"                                          \
	}

#define STRICT_ID 511 /* --strict; above the options of commands */

/* The options that every command takes: -j, -p, -d, --strict, -h. */
extern const struct command_option common_options[];

/*
 * Returns the next option's id, -1 after the last. Options and operands may mix; `--` ends the
 * options. Handles these common options itself. Ends the process with STATUS_INPUT at an option
 * that the command does not have.
 */
int call_option(struct call *call);

/* Returns true if an operand is `-`. Call it after call_option() has returned -1. */
bool call_reads_stdin(const struct call *call);

/* Prints the message and a hint at --help, and ends the process with STATUS_INPUT. */
void call_usage_error(const struct call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Ends the process as call_usage_error() does. Writes the option that call_option() returned last,
 * and its value, before the message. */
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
