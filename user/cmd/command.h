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

#define BULKHEAD_VERSION "0.1"

/* COMMAND(name), in the order in which usage lists them. */
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
	COMMAND(completion)

enum exit_status {
	STATUS_OK = 0,
	STATUS_NO = 1, /* the answer is no: denied, or different */
	STATUS_INPUT = 2, /* bad input or usage */
	STATUS_KERNEL = 3, /* the kernel or a permission said no */
};

/* `id` is the option's letter, or above 255 where it has none. */
struct command_option {
	int id;
	const char *name;
	const char *value; /* what it takes, as usage shows it; NULL: nothing */
	const char *help;
};

/* An argument list in progress. */
struct call {
	const struct command *command;
	bool json, pretty; /* -j, -p */
	char **operands; /* once call_option() has returned -1 */
	int n_operands;
	char *value; /* of the option that call_option() returned */
	int argc; /* from here on call_option()'s own */
	char **argv;
};

struct command {
	const char *name;
	const char *operands; /* as usage shows them */
	const char *help; /* one line */
	const char *words; /* what the first operand may be, blank between; NULL: files */
	const struct command_option *options; /* up to one without a name; NULL: none */
	int (*run)(struct call *call); /* returns an exit status */
};

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* Every command, up to NULL. */
extern const struct command *const commands[];

/* What the commands that change a node, or look at it, take. */
#define PIN_ID 256
#define PIN_OPTION                                                     \
	{                                                              \
		PIN_ID, "pin", "DIR", "the pin folder, else " NODE_PIN \
	}

#define STATE_OPTION(id)                                                                  \
	{                                                                                 \
		id, "state", "DIR",                                                       \
			"keeps the last load, else " KEPT_DIR " (and nothing with --pin)" \
	}

/* What every command takes: -j, -p, -d, -h. */
extern const struct command_option common_options[];

/*
 * The next option's id, -1 after the last. Options and operands may mix; `--` ends the options.
 * -j, -p, -d and -h are dealt with; a wrong one ends the process with STATUS_INPUT.
 */
int call_option(struct call *call);

/* Ends the process with STATUS_INPUT, after the message and a hint at --help. */
void call_usage_error(const struct call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* `bulkhead: MESSAGE` on stderr; where -j is given, an object as command_diag()'s are. */
void command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where readers, compiler and node report: stderr, as text, or where -j is given as one JSON object
 * a line, with "level", "file", "line", "field" and "message". */
struct diag command_diag(void);

/* The status that goes with -errno: STATUS_INPUT for -EINVAL and -E2BIG, else STATUS_KERNEL. */
int status_of(int error);

#endif
