/* SPDX-License-Identifier: GPL-2.0-only */
/* The command's entry: the table of the subcommands, and which one runs. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/call.h"
#include "cmd/command.h"
#include "cmd/inputs.h"
#include "cmd/kubectl.h"
#include "model/nearest.h"
#include "model/memory.h"
#include "node/node.h"
#include "cni/cni.h"
#include "version.h"

#define COMMAND_ENTRY(name) &command_##name,
static const struct command *const commands[] = {COMMANDS(COMMAND_ENTRY) NULL};
#undef COMMAND_ENTRY

static const struct command_option version_option = {
	.letter = 'V', .name = "version", .help = "the version"};

#define COMMAND_INDENT 14

static void print_help(void)
{
	printf("usage: bulkhead [-j|-p] COMMAND [options] [operands]\n\ncommands:\n");
	for (const struct command *const *command = commands; *command; command++) {
		printf("  %-11s ", (*command)->name);
		call_print_wrapped((*command)->help, COMMAND_INDENT, COMMAND_INDENT);
	}
	printf("\n`bulkhead help COMMAND` tells more.\n\noptions:\n");
	call_print_options(common_options);
	call_print_options((const struct command_option[]){version_option, {0}});
	printf("\nINPUT is a file or folder of .ini, .yaml, .yml or .json, - for standard input,\n"
	       "or a compiled .bhp file.\n"
	       "exit status: 0 done, 1 denied or different, 2 bad input, 3 kernel or permission\n");
}

static void print_version(bool json)
{
	printf(json ? "{\"version\":\"%s\"}\n" : "bulkhead %s\n", BULKHEAD_VERSION);
}

static const struct command *find_command(const char *name)
{
	for (const struct command *const *command = commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

static int unknown_command(const char *name)
{
	struct nearest nearest = {.word = name};
	char like[NEAREST_TEXT];

	for (const struct command *const *command = commands; *command; command++)
		nearest_try(&nearest, (*command)->name);
	nearest_try(&nearest, "help");
	command_error("no command `%s`%s Try: bulkhead --help", name,
		      nearest.found ? nearest_print(&nearest, like) : ".");
	return STATUS_INPUT;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2 || !strcmp(argv[1], "help")) {
		print_help();
		return STATUS_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	call_print_help(command);
	return STATUS_OK;
}

static int run_command(struct call *call, int argc, char **argv)
{
	int status;

	if (!strcmp(argv[0], "help"))
		return help(argc, argv);
	call->command = find_command(argv[0]);
	if (!call->command)
		return unknown_command(argv[0]);
	call->argc = argc;
	call->argv = argv;
	optind = 0; /* 0, not 1: with 0, glibc forgets the state of the first pass */
	status = call->command->run(call);
	for (size_t i = 0; i < call->n_lists; i++)
		free(call->lists[i]);
	call_print_unprinted();
	return status;
}

/* Reports an option before the subcommand. */
static int unknown_first_option(const char *given)
{
	command_error("option %s: unknown here; a command's options follow its name", given);
	return STATUS_INPUT;
}

#define STRICT_ID 256 /* --strict, which has no letter */

static int run(int argc, char **argv)
{
	struct option options[] = {{"json", no_argument, NULL, 'j'},
				   {"pretty", no_argument, NULL, 'p'},
				   {"debug", no_argument, NULL, 'd'},
				   {"help", no_argument, NULL, 'h'},
				   {"version", no_argument, NULL, 'V'},
				   {"strict", no_argument, NULL, STRICT_ID},
				   {0}};
	struct call call = {.commands = commands};
	bool version = false;
	int id;

	opterr = 0;
	/* `+` stops at the subcommand, whose options belong to it. */
	while ((id = getopt_long(argc, argv, "+jpdhV", options, NULL)) != -1) {
		switch (id) {
		case 'p':
			call.pretty = true;
			/* fall through */
		case 'j':
			call_use_json(&call);
			break;
		case 'd':
			node_debug();
			break;
		case STRICT_ID:
			inputs_are_strict();
			break;
		case 'h':
			print_help();
			return STATUS_OK;
		case 'V':
			version = true;
			break;
		default:
			return unknown_first_option(argv[optind - 1]);
		}
	}
	if (version) {
		print_version(call.json);
		return STATUS_OK;
	}
	if (optind == argc) {
		command_error("no command. Try: bulkhead --help");
		return STATUS_INPUT;
	}
	return run_command(&call, argc - optind, argv + optind);
}

struct arguments {
	int argc, status;
	char **argv;
};

static int run_guarded(void *data)
{
	struct arguments *arguments = data;

	if (cni_is_called(arguments->argc, arguments->argv))
		arguments->status = cni_main();
	else if (kubectl_is_called(arguments->argc, arguments->argv))
		arguments->status = kubectl_main(arguments->argc, arguments->argv, run);
	else
		arguments->status = run(arguments->argc, arguments->argv);
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.argc = argc, .argv = argv};

	/* A message is one write(2), so that those of two commands do not mix in one log. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);

	/* Out of memory must not look like a denial. */
	if (memory_guarded(run_guarded, &arguments)) {
		command_error("there is not enough memory");
		arguments.status = STATUS_KERNEL;
	}
	/* A full disk or a closed pipe must not look like an answer. */
	if ((fflush(stdout) || ferror(stdout)) && arguments.status < STATUS_INPUT) {
		command_error("cannot write standard output: %s", strerror(errno));
		arguments.status = STATUS_KERNEL;
	}
	return arguments.status;
}
