// SPDX-License-Identifier: GPL-2.0-only
/* What every command calls: its options, its help, and messages. */
#include "cmd/call.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inputs.h"
#include "cmd/emit.h"
#include "model/nearest.h"
#include "node/node.h"

const struct command_option common_options[] = {
	{'j', "json", NULL, "JSON output"},
	{'p', "pretty", NULL, "JSON output with line breaks"},
	{'d', "debug", NULL, "print to stderr what libbpf, libxdp and the kernel's verifier say"},
	{STRICT_ID, "strict", NULL,
	 "refuse an INPUT with an object that an API server accepts and Bulkhead cannot use"},
	{'h', "help", NULL, "this text"},
	{0},
};

/* The most options of a command; add_options() asserts it. */
#define OPTIONS_MAX 24

#define HELP_COLUMNS 80
#define OPTION_INDENT 31 /* column of an option's help */

void call_print_wrapped(const char *text, size_t at, size_t indent)
{
	while (*text) {
		const size_t word = strcspn(text, " ");

		if (at > indent && at + 1 + word > HELP_COLUMNS) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)word, text);
		at += word;
		text += word + strspn(text + word, " ");
	}
	putchar('\n');
}

void call_print_options(const struct command_option *options)
{
	for (; options && options->name; options++) {
		char text[48];
		int n;

		snprintf(text, sizeof(text), "--%s%s%s", options->name, options->value ? " " : "",
			 options->value ? options->value : "");
		if (options->id < 256)
			n = printf("  -%c, %-24s", options->id, text);
		else
			n = printf("      %-24s", text);
		if (n >= OPTION_INDENT) {
			printf("\n%*s", OPTION_INDENT, "");
		} else {
			putchar(' ');
		}
		call_print_wrapped(options->help, OPTION_INDENT, OPTION_INDENT);
	}
}

void call_print_help(const struct command *command)
{
	int at =
		printf("usage: bulkhead %s%s", command->name, command->options ? " [options]" : "");

	call_print_wrapped(command->operands, at, strlen("usage: "));
	putchar('\n');
	call_print_wrapped(command->help, 0, 0);
	printf("\noptions:\n");
	call_print_options(command->options);
	call_print_options(common_options);
}

/* -j is given: messages are JSON as well. */
static bool json_messages;

void call_use_json(struct call *call)
{
	call->json = json_messages = true;
}

static void print_json_message(FILE *to, const struct diag_message *message)
{
	static const char *const levels[] = {"note", "warning", "error"};
	const struct where *where = message->where;
	struct emit emit = {.json = true, .to = to};
	bool has_line = where && where->file && where->line;

	emit_object(&emit, NULL);
	emit_text(&emit, "level", levels[message->level]);
	emit_text(&emit, "file", where ? where->file : NULL);
	emit_json(&emit, "line", has_line ? json_object_new_uint64(where->line) : NULL);
	emit_name(&emit, "field", message->field ? message->field : "");
	emit_text(&emit, "message", message->text);
	emit_end(&emit);
}

static void print_message(FILE *to, const struct diag_message *message)
{
	if (json_messages)
		print_json_message(to, message);
	else
		diag_print(to, message);
}

static unsigned int unprinted[DIAG_ERROR + 1]; /* by level: messages beyond the limit */

struct diag command_diag(void)
{
	return (struct diag){.to = stderr, .print = print_message, .unprinted = unprinted};
}

void call_print_unprinted(void)
{
	static const char *const names[] = {"notes", "warnings", "errors"};
	char text[64];

	for (int level = DIAG_NOTE; level <= DIAG_ERROR; level++) {
		if (!unprinted[level])
			continue;
		snprintf(text, sizeof(text), "%u more %s are not printed", unprinted[level],
			 names[level]);
		print_message(stderr, &(struct diag_message){.level = level, .text = text});
	}
}

/* The messages for a lack of memory are constants: printing them takes no memory. */
#define OUT_OF_MEMORY "bulkhead: there is not enough memory\n"
#define OUT_OF_MEMORY_JSON                                                 \
	"{\"level\":\"error\",\"file\":null,\"line\":null,\"field\":null," \
	"\"message\":\"there is not enough memory\"}\n"

static void print_error(const char *prefix, const char *format, va_list args, const char *suffix)
{
	char *text;

	if (vasprintf(&text, format, args) < 0) {
		fputs(json_messages ? OUT_OF_MEMORY_JSON : OUT_OF_MEMORY, stderr);
		return;
	}
	if (json_messages)
		print_json_message(stderr,
				   &(struct diag_message){.level = DIAG_ERROR, .text = text});
	else
		fprintf(stderr, "%s: %s\n%s", prefix, text, suffix);
	free(text);
}

void command_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error("bulkhead", format, args, "");
	va_end(args);
}

void command_inactive(const char *pin, const char *hint)
{
	command_error("nothing is active in %s: %s", pin ? pin : NODE_PIN, hint);
}

int status_of(int error)
{
	if (error == -EINVAL || error == -E2BIG)
		return STATUS_INPUT;
	return error ? STATUS_KERNEL : STATUS_OK;
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

/* As getopt_long(), with the command's options and the common ones. */
static int next_option(const struct call *call)
{
	struct option options[OPTIONS_MAX + 1] = {0};
	char letters[2 * OPTIONS_MAX + 2] = ":", *end = letters + 1;
	size_t n;

	n = add_options(call->command->options, options, 0, &end);
	add_options(common_options, options, n, &end);
	*end = '\0';
	opterr = 0;
	return getopt_long(call->argc, call->argv, letters, options, NULL);
}

void call_usage_error(const struct call *call, const char *format, ...)
{
	char prefix[64], hint[96];
	va_list args;
	int option;

	/* Reads the rest of the options for a -j, which makes this message JSON. */
	while ((option = next_option(call)) != -1)
		json_messages |= option == 'j' || option == 'p';
	snprintf(prefix, sizeof(prefix), "bulkhead %s", call->command->name);
	snprintf(hint, sizeof(hint), "Try: bulkhead %s --help\n", call->command->name);
	va_start(args, format);
	print_error(prefix, format, args, hint);
	va_end(args);
	exit(STATUS_INPUT);
}

void call_value_error(const struct call *call, const char *format, ...)
{
	const struct command_option *option = call->command->options;
	char *text;
	va_list args;

	while (option->id != call->option)
		option++;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	call_usage_error(call, "--%s %s: %s", option->name, call->value, text ? text : "");
}

static void try_options(struct nearest *nearest, const struct command_option *options)
{
	for (; options && options->name; options++)
		nearest_try(nearest, options->name);
}

static void __attribute__((noreturn)) unknown_option(const struct call *call, const char *given)
{
	struct nearest nearest = {.word = given + strspn(given, "-")};
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(nearest.word, "="), nearest.word);
	nearest.word = name;
	try_options(&nearest, call->command->options);
	try_options(&nearest, common_options);
	if (nearest.found)
		call_usage_error(call, "unknown option %s; did you mean --%s?", given,
				 nearest.found);
	call_usage_error(call, "unknown option %s", given);
}

int call_option(struct call *call)
{
	for (;;) {
		int id = next_option(call);

		switch (id) {
		case 'p':
			call->pretty = true;
			/* fall through */
		case 'j':
			call_use_json(call);
			break;
		case 'd':
			node_debug();
			break;
		case STRICT_ID:
			inputs_are_strict();
			break;
		case 'h':
			call_print_help(call->command);
			exit(STATUS_OK);
		case '?':
			if (optopt && !strncmp(call->argv[optind - 1], "--", 2))
				call_usage_error(call, "%s: the option takes no value",
						 call->argv[optind - 1]);
			if (optopt)
				call_usage_error(call, "unknown option -%c", optopt);
			unknown_option(call, call->argv[optind - 1]);
		case ':':
			call_usage_error(call, "%s needs a value", call->argv[optind - 1]);
		case -1:
			call->operands = call->argv + optind;
			call->n_operands = call->argc - optind;
			return -1;
		default:
			call->option = id;
			call->value = optarg;
			return id;
		}
	}
}

bool call_reads_stdin(const struct call *call)
{
	for (int i = 0; i < call->n_operands; i++)
		if (!strcmp(call->operands[i], "-"))
			return true;
	return false;
}
