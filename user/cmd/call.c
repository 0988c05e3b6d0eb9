// SPDX-License-Identifier: GPL-2.0-only
/* What every command calls: its options, its help, and messages. */
#include "cmd/call.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inputs.h"
#include "cmd/emit.h"
#include "model/memory.h"
#include "model/nearest.h"
#include "node/node.h"

/* The most options of a command; next_option() asserts it. */
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
		if (options->letter)
			n = printf("  -%c, %-24s", options->letter, text);
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

/* Returns the option's letter, or what stands for it. @i: its place among the call's options. */
static int option_id(const struct command_option *option, size_t i)
{
	return option->letter ? option->letter : 256 + (int)i;
}

/* Returns the call's option at this place: those of the command, then the common ones. NULL after
 * the last. */
static const struct command_option *option_at(const struct call *call, size_t i)
{
	const struct command_option *option = call->command->options;

	for (; option && option->name; option++)
		if (!i--)
			return option;
	return common_options[i].name ? &common_options[i] : NULL;
}

/* As getopt_long(), with the command's options and the common ones. */
static int next_option(const struct call *call)
{
	struct option options[OPTIONS_MAX + 1] = {0};
	char letters[2 * OPTIONS_MAX + 2] = ":", *end = letters + 1;
	const struct command_option *option;

	for (size_t i = 0; (option = option_at(call, i)); i++) {
		assert(i < OPTIONS_MAX);
		options[i] = (struct option){
			.name = option->name,
			.has_arg = option->value ? required_argument : no_argument,
			.val = option_id(option, i),
		};
		if (option->letter)
			*end++ = option->letter;
		if (option->letter && option->value)
			*end++ = ':';
	}
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
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	call_usage_error(call, "--%s %s: %s", call->option->name, call->value, text ? text : "");
}

static void __attribute__((noreturn)) unknown_option(const struct call *call, const char *given)
{
	struct nearest nearest = {.word = given + strspn(given, "-")};
	const struct command_option *option;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(nearest.word, "="), nearest.word);
	nearest.word = name;
	for (size_t i = 0; (option = option_at(call, i)); i++)
		nearest_try(&nearest, option->name);
	if (nearest.found)
		call_usage_error(call, "unknown option %s; did you mean --%s?", given,
				 nearest.found);
	call_usage_error(call, "unknown option %s", given);
}

static void take_option(struct call *call, void *request, int id)
{
	size_t i = 0;

	while (option_id(option_at(call, i), i) != id)
		i++;
	call->option = option_at(call, i);
	call->value = optarg;
	call->option->take(call, request ? (char *)request + call->option->at : NULL);
}

void call_options(struct call *call, void *request)
{
	int id;

	while ((id = next_option(call)) != -1) {
		const char *given = call->argv[optind - 1];

		if (id == ':')
			call_usage_error(call, "%s needs a value", given);
		if (id != '?')
			take_option(call, request, id);
		else if (optopt && !strncmp(given, "--", 2))
			call_usage_error(call, "%s: the option takes no value", given);
		else if (optopt)
			call_usage_error(call, "unknown option -%c", optopt);
		else
			unknown_option(call, given);
	}
	call->operands = call->argv + optind;
	call->n_operands = call->argc - optind;
	if (call->n_operands && !*call->command->operands)
		call_usage_error(call, "%s: %s takes no operand", call->operands[0],
				 call->command->name);
}

void option_text(struct call *call, void *to)
{
	*(const char **)to = call->value;
}

void option_flag(struct call *call, void *to)
{
	(void)call;
	*(bool *)to = true;
}

void option_list(struct call *call, void *to)
{
	size_t *n = (size_t *)((char *)to - call->option->at + call->option->n_at);
	const char ***list = to;

	if (!*n) {
		assert(call->n_lists < CALL_LISTS);
		/* no option occurs more than argc times */
		*list = call->lists[call->n_lists++] = calloc(call->argc, sizeof(**list));
		if (!*list)
			memory_exhausted();
	}
	(*list)[(*n)++] = call->value;
}

static void take_json(struct call *call, void *to)
{
	(void)to;
	call_use_json(call);
}

static void take_pretty(struct call *call, void *to)
{
	(void)to;
	call->pretty = true;
	call_use_json(call);
}

static void take_debug(struct call *call, void *to)
{
	(void)call;
	(void)to;
	node_debug();
}

static void take_strict(struct call *call, void *to)
{
	(void)call;
	(void)to;
	inputs_are_strict();
}

static void take_help(struct call *call, void *to)
{
	(void)to;
	call_print_help(call->command);
	exit(STATUS_OK);
}

const struct command_option common_options[] = {
	{'j', "json", NULL, "JSON output", .take = take_json},
	{'p', "pretty", NULL, "JSON output with line breaks", .take = take_pretty},
	{'d', "debug", NULL, "print to stderr what libbpf, libxdp and the kernel's verifier say",
	 .take = take_debug},
	{0, "strict", NULL,
	 "refuse an INPUT with an object that an API server accepts and Bulkhead cannot use",
	 .take = take_strict},
	{'h', "help", NULL, "this text", .take = take_help},
	{0},
};

uint64_t call_number(const struct call *call, const char *unit, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(call->value, &end, 10);
	if (errno || *end || *call->value < '0' || *call->value > '9' || value < min || value > max)
		call_value_error(call, "not a number%s from %" PRIu64 " to %" PRIu64, unit, min,
				 max);
	return value;
}

bool call_reads_stdin(const struct call *call)
{
	for (int i = 0; i < call->n_operands; i++)
		if (!strcmp(call->operands[i], "-"))
			return true;
	return false;
}
