/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the command's entry and call.c. A subcommand includes command.h. */
#ifndef BULKHEAD_CMD_CALL_H
#define BULKHEAD_CMD_CALL_H

#include <stddef.h>

#include "cmd/command.h"

/* Prints words that begin at column @at, and further lines from column @indent on. */
void call_print_wrapped(const char *text, size_t at, size_t indent);
/* Prints a line of help for each option. NULL: there is none. */
void call_print_options(const struct command_option *options);
/* Prints the help of one command. */
void call_print_help(const struct command *command);
/* -j is given: results and messages are JSON. */
void call_use_json(struct call *call);
/* Prints how many messages of each level were not printed. After many errors the compiler and the
 * parsers stop, so there may be even more errors. */
void call_print_unprinted(void);

#endif
