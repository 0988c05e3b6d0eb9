/* SPDX-License-Identifier: GPL-2.0-only */
/* The command's entry: finds the subcommand in the table, reads options, prints usage. */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"

#define COMMAND_ENTRY(name) &command_##name,
const struct command *const commands[] = {COMMANDS(COMMAND_ENTRY) NULL};
#undef COMMAND_ENTRY

const struct command_option common_options[] = {
	{'j', "json", NULL, "JSON output"},
	{'p', "pretty", NULL, "JSON output with line breaks"},
	{'h', "help", NULL, "this text"},
	{0},
};

static const struct command_option version_option = {'V', "version", NULL, "the version"};

/* More than any command has; add_options() insists. */
#define OPTIONS_MAX 24

static void print_options(const struct command_option *options)
{
	for (; options && options->name; options++) {
		char text[48];

		snprintf(text, sizeof(text), "--%s%s%s", options->name, options->value ? " " : "",
			 options->value ? options->value : "");
		if (options->id < 256)
			printf("  -%c, %-24s %s\n", options->id, text, options->help);
		else
			printf("      %-24s %s\n", text, options->help);
	}
}

static void print_command_help(const struct command *command)
{
	printf("usage: bulkhead %s%s%s%s\n\n%s\n\noptions:\n", command->name,
	       command->options ? " [options]" : "", *command->operands ? " " : "",
	       command->operands, command->help);
	print_options(command->options);
	print_options(common_options);
}

static void print_help(void)
{
	printf("usage: bulkhead [-j|-p] COMMAND [options] [operands]\n\ncommands:\n");
	for (const struct command *const *command = commands; *command; command++)
		printf("  %-11s %s\n", (*command)->name, (*command)->help);
	printf("\n`bulkhead help COMMAND` tells more.\n\noptions:\n");
	print_options(common_options);
	print_options((const struct command_option[]){version_option, {0}});
	printf("\nINPUT is a file or folder of .ini, .yaml, .yml or .json, - for standard input,\n"
	       "or a compiled .bhp file.\n"
	       "exit status: 0 done, 1 denied or different, 2 bad input, 3 kernel or permission\n");
}

static void print_version(bool json)
{
	printf(json ? "{\"version\":\"%s\"}\n" : "bulkhead %s\n", BULKHEAD_VERSION);
}

void command_error(const char *format, ...)
{
	va_list args;

	fputs("bulkhead: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int status_of(int error)
{
	if (error == -EINVAL || error == -E2BIG)
		return STATUS_INPUT;
	return error ? STATUS_KERNEL : STATUS_OK;
}

void call_usage_error(const struct call *call, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "bulkhead %s: ", call->command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nTry: bulkhead %s --help\n", call->command->name);
	exit(STATUS_INPUT);
}

static size_t add_options(const struct command_option *from, struct option *to, size_t n,
			  char **letters)
{
	for (; from && from->name; from++, n++) {
		assert(n < OPTIONS_MAX);
		to[n] = (struct option){
			.name = from->name,
			.has_arg = from->value ? required_argument : no_argument,
			.val = from->id,
		};
		if (from->id < 256) {
			*(*letters)++ = (char)from->id;
			if (from->value)
				*(*letters)++ = ':';
		}
	}
	return n;
}

int call_option(struct call *call)
{
	struct option options[OPTIONS_MAX + 1] = {0};
	char letters[2 * OPTIONS_MAX + 2] = ":", *end = letters + 1;
	size_t n;

	n = add_options(call->command->options, options, 0, &end);
	add_options(common_options, options, n, &end);
	*end = '\0';
	opterr = 0;
	for (;;) {
		int id = getopt_long(call->argc, call->argv, letters, options, NULL);

		switch (id) {
		case 'p':
			call->pretty = true;
			/* fall through */
		case 'j':
			call->json = true;
			break;
		case 'h':
			print_command_help(call->command);
			exit(STATUS_OK);
		case '?':
			if (optopt)
				call_usage_error(call, "unknown option -%c", optopt);
			call_usage_error(call, "unknown option %s", call->argv[optind - 1]);
		case ':':
			call_usage_error(call, "%s wants a value", call->argv[optind - 1]);
		case -1:
			call->operands = call->argv + optind;
			call->n_operands = call->argc - optind;
			return -1;
		default:
			call->value = optarg;
			return id;
		}
	}
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
	command_error("no command `%s`. Try: bulkhead --help", name);
	return STATUS_INPUT;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help();
		return STATUS_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	print_command_help(command);
	return STATUS_OK;
}

static int run_command(struct call *call, int argc, char **argv)
{
	if (!strcmp(argv[0], "help"))
		return help(argc, argv);
	call->command = find_command(argv[0]);
	if (!call->command)
		return unknown_command(argv[0]);
	call->argc = argc;
	call->argv = argv;
	optind = 0; /* 0, not 1: makes glibc forget the state of the first round */
	return call->command->run(call);
}

static int run(int argc, char **argv)
{
	struct option options[] = {{"json", no_argument, NULL, 'j'},
				   {"pretty", no_argument, NULL, 'p'},
				   {"help", no_argument, NULL, 'h'},
				   {"version", no_argument, NULL, 'V'},
				   {0}};
	struct call call = {0};
	bool version = false;
	int id;

	/* `+`: stop at the subcommand, whose options are its own. */
	while ((id = getopt_long(argc, argv, "+jphV", options, NULL)) != -1) {
		switch (id) {
		case 'p':
			call.pretty = true;
			/* fall through */
		case 'j':
			call.json = true;
			break;
		case 'h':
			print_help();
			return STATUS_OK;
		case 'V':
			version = true;
			break;
		default:
			return STATUS_INPUT;
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

int main(int argc, char **argv)
{
	int status;

	/* Out of memory must not look like a denial. */
	obstack_exit_failure = STATUS_KERNEL;
	status = run(argc, argv);
	/* A full disk or a closed pipe must not look like an answer. */
	if ((fflush(stdout) || ferror(stdout)) && status < STATUS_INPUT) {
		command_error("cannot write standard output: %s", strerror(errno));
		status = STATUS_KERNEL;
	}
	return status;
}
