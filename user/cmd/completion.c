/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead completion`: scripts that complete the commands in bash, zsh and fish, made from the
 * table of commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"

/* How to complete an option's value, by the value's name in the usage text. */
static const struct {
	const char *value;
	const char *bash; /* a command that prints the candidates; NULL: files */
	const char *zsh; /* an action of _arguments */
	const char *fish; /* an argument of complete --arguments; NULL: files */
} values[] = {
	{"FILE", NULL, "_files", NULL},
	{"DIR", NULL, "_files -/", NULL},
	{"PREV", NULL, "_files", NULL},
	{"OLD", NULL, "_files", NULL},
	{"SRC", "_bulkhead_pods", "_bulkhead_pods", "(__bulkhead_pods)"},
	{"DST", "_bulkhead_ends", "_bulkhead_ends", "(__bulkhead_ends)"},
	{"POD", "_bulkhead_pods", "_bulkhead_pods", "(__bulkhead_pods)"},
	{"NS", "_bulkhead_namespaces", "_bulkhead_namespaces", "(__bulkhead_namespaces)"},
	{"IFACE", "ls /sys/class/net", "_net_interfaces", "(command ls /sys/class/net)"},
	{"FORMAT", "echo dot svg html", "(dot svg html)", "dot svg html"},
};

#define N_VALUES (sizeof(values) / sizeof(*values))

static size_t find_value(const char *value)
{
	size_t i = 0;

	while (i < N_VALUES && strncmp(value, values[i].value, strlen(values[i].value)))
		i++;
	return i;
}

/* Returns true if the value's name is a list of its possible words, such as "isolate|admit". */
static bool is_choice(const char *value)
{
	return strchr(value, '|') && islower((unsigned char)*value);
}

static void print_choices(const char *value)
{
	for (; *value; value++)
		putchar(*value == '|' ? ' ' : *value);
}

/* A command that prints the domain names active, each as "name:NAME". */
#define DOMAIN_NAMES                                                                \
	"bulkhead graph -j 2>/dev/null | grep -o '\"name:[^\"]*\"' | tr -d '\"' | " \
	"sort -u"

/* Prints functions that print the names of pods and namespaces, and what a flow may lead to. They
 * print nothing if no policy is active. */
static void print_names(void)
{
	printf("_bulkhead_pods()\n{\n"
	       "\tbulkhead endpoint list 2>/dev/null | cut -d' ' -f1 | sort -u\n}\n"
	       "_bulkhead_ends()\n{\n\t_bulkhead_pods\n\t" DOMAIN_NAMES "\n}\n"
	       "_bulkhead_namespaces()\n{\n\t_bulkhead_pods | cut -d/ -f1 | sort -u\n}\n");
}

/* Prints how to put together the words up to the cursor: readline splits them at colons. */
static void print_bash_line(void)
{
	printf("\tlocal line=() word\n"
	       "\tfor word in \"${COMP_WORDS[@]:0:COMP_CWORD + 1}\"; do\n"
	       "\t\tif ((${#line[@]})) && [[ $word == : || ${line[-1]} == *: ]]; then\n"
	       "\t\t\tline[-1]+=$word\n"
	       "\t\telse\n"
	       "\t\t\tline+=(\"$word\")\n"
	       "\t\tfi\n"
	       "\tdone\n"
	       "\tlocal last=$((${#line[@]} - 1)) colon=''\n"
	       "\tlocal current=${line[last]}\n"
	       "\t[[ $COMP_WORDBREAKS != *:* ]] || colon=${current%%\"${current##*:}\"}\n");
}

static void bash_options(const struct command_option *options)
{
	for (; options && options->name; options++)
		printf(" --%s", options->name);
}

/* Prints a branch for each option whose value can be completed. */
static void bash_values(const struct command *command)
{
	const struct command_option *option = command->options;

	for (; option && option->name; option++) {
		size_t i = option->value ? find_value(option->value) : N_VALUES;
		bool choice = option->value && is_choice(option->value);

		if (!choice && (i == N_VALUES || !values[i].bash))
			continue;
		printf("\t\t'%s --%s'", command->name, option->name);
		if (option->letter)
			printf(" | '%s -%c'", command->name, option->letter);
		printf(") candidates='");
		if (choice) {
			printf("echo ");
			print_choices(option->value);
		} else {
			printf("%s", values[i].bash);
		}
		printf("' ;;\n");
	}
}

static const struct command *const *commands; /* all commands; NULL ends the array */

static void bash_command(const struct command *command)
{
	printf("\t%s)\n\t\toptions='", command->name);
	bash_options(command->options);
	bash_options(common_options);
	printf("'\n\t\twords='%s'\n\t\t;;\n", command->words ? command->words : "");
}

/* compgen -W would run the commands in a name, as in an interface's $(...). */
static void print_bash(void)
{
	printf("# Bash completion for bulkhead, printed by `bulkhead completion bash`.\n");
	print_names();
	printf("_bulkhead()\n{\n"
	       "\tlocal command options words candidates='' names=() i\n");
	print_bash_line();
	printf("\tfor ((i = 1; i < last; i++)); do\n"
	       "\t\t[[ ${line[i]} == -* ]] || { command=${line[i]}; break; }\n"
	       "\tdone\n"
	       "\tcase $command in\n"
	       "\t'' | help)\n\t\twords='help");
	for (const struct command *const *command = commands; *command; command++)
		printf(" %s", (*command)->name);
	printf("'\n\t\toptions='");
	bash_options(common_options);
	printf(" --version'\n\t\t;;\n");
	for (const struct command *const *command = commands; *command; command++)
		bash_command(*command);
	printf("\tesac\n"
	       "\tcase \"$command ${line[last - 1]}\" in\n");
	for (const struct command *const *command = commands; *command; command++)
		bash_values(*command);
	printf("\t\t'endpoint del' | 'endpoint set') candidates=_bulkhead_pods ;;\n"
	       "\tesac\n"
	       "\tif [[ -n $candidates ]]; then\n"
	       "\t\tread -r -d '' -a names < <(eval \"$candidates\")\n"
	       "\t\tCOMPREPLY=()\n"
	       "\t\tfor word in \"${names[@]}\"; do\n"
	       "\t\t\t[[ $word != \"$current\"* ]] || COMPREPLY+=(\"$word\")\n"
	       "\t\tdone\n"
	       "\telif [[ $current == -* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
	       "\telif [[ -n $words ]] && ((last <= i + 1)); then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	       "\telse\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	       "\tfi\n"
	       "\tCOMPREPLY=(\"${COMPREPLY[@]#\"$colon\"}\")\n"
	       "}\n"
	       "complete -o filenames -F _bulkhead bulkhead\n");
}

/* Prints text inside a quoted specification of _arguments. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_option(const struct command_option *option)
{
	size_t i = option->value ? find_value(option->value) : N_VALUES;

	if (option->letter)
		printf("\t\t\t'*'{-%c,--%s}'[", option->letter, option->name);
	else
		printf("\t\t\t'*--%s[", option->name);
	zsh_text(option->help);
	putchar(']');
	if (option->value) {
		putchar(':');
		zsh_text(option->value);
		putchar(':');
		if (is_choice(option->value)) {
			putchar('(');
			print_choices(option->value);
			putchar(')');
		} else if (i < N_VALUES) {
			printf("%s", values[i].zsh);
		}
	}
	printf("' \\\n");
}

static void zsh_options(const struct command_option *options)
{
	for (; options && options->name; options++)
		zsh_option(options);
}

static void zsh_command(const struct command *command)
{
	printf("\t%s)\n\t\t_arguments \\\n", command->name);
	zsh_options(command->options);
	zsh_options(common_options);
	if (command->words)
		printf("\t\t\t'1:what:(%s)' '*:operand:_bulkhead_operand'\n", command->words);
	else
		printf("\t\t\t'*:input:_files'\n");
	printf("\t\t;;\n");
}

static void print_zsh(void)
{
	printf("#compdef bulkhead\n"
	       "# Zsh completion for bulkhead, printed by `bulkhead completion zsh`.\n"
	       "_bulkhead_list_pods()\n{\n"
	       "\tbulkhead endpoint list 2>/dev/null | cut -d' ' -f1 | sort -u\n}\n"
	       "_bulkhead_pods()\n{\n\tcompadd -- ${(f)\"$(_bulkhead_list_pods)\"}\n}\n"
	       "_bulkhead_ends()\n{\n"
	       "\t_bulkhead_pods\n\tcompadd -- ${(f)\"$(" DOMAIN_NAMES ")\"}\n}\n"
	       "_bulkhead_namespaces()\n{\n"
	       "\tcompadd -- ${(f)\"$(_bulkhead_list_pods | cut -d/ -f1 | sort -u)\"}\n}\n"
	       "_bulkhead_operand()\n{\n"
	       "\tif [[ $words[1] == endpoint ]]; then _bulkhead_pods; else _files; fi\n}\n"
	       "_bulkhead()\n{\n"
	       "\tlocal curcontext=$curcontext state line\n"
	       "\tlocal -a names=(\n");
	for (const struct command *const *command = commands; *command; command++) {
		printf("\t\t'%s:", (*command)->name);
		zsh_text((*command)->help);
		printf("'\n");
	}
	printf("\t\t'help:the help of a command'\n\t)\n\t_arguments -C \\\n");
	zsh_options(common_options);
	printf("\t\t\t'(-V --version)'{-V,--version}'[the version]' \\\n"
	       "\t\t\t'1:command:->command' '*::argument:->argument'\n"
	       "\tcase $state in\n"
	       "\tcommand) _describe command names; return ;;\n"
	       "\tesac\n"
	       "\tcase $words[1] in\n"
	       "\thelp) _describe command names ;;\n");
	for (const struct command *const *command = commands; *command; command++)
		zsh_command(*command);
	printf("\tesac\n}\n"
	       "_bulkhead \"$@\"\n");
}

/* Prints text inside single quotes of fish. */
static void fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void fish_option(const char *condition, const struct command_option *option)
{
	size_t i = option->value ? find_value(option->value) : N_VALUES;

	printf("complete -c bulkhead -n \"%s\"", condition);
	if (option->letter)
		printf(" -s %c", option->letter);
	printf(" -l %s", option->name);
	if (option->value && is_choice(option->value)) {
		printf(" -x -a '");
		print_choices(option->value);
		putchar('\'');
	} else if (i < N_VALUES && values[i].fish) {
		printf(" -x -a '%s'", values[i].fish);
	} else if (option->value) {
		printf(i < N_VALUES ? " -r -F" : " -x");
	}
	printf(" -d ");
	fish_text(option->help);
	putchar('\n');
}

static void fish_command(const struct command *command)
{
	char condition[64];

	snprintf(condition, sizeof(condition), "__fish_seen_subcommand_from %s", command->name);
	printf("complete -c bulkhead -n __fish_use_subcommand -f -a %s -d ", command->name);
	fish_text(command->help);
	putchar('\n');
	for (const struct command_option *option = command->options; option && option->name;
	     option++)
		fish_option(condition, option);
	if (command->words)
		printf("complete -c bulkhead -n \"%s\" -f -a '%s'\n", condition, command->words);
}

static void print_fish(void)
{
	printf("# Fish completion for bulkhead, printed by `bulkhead completion fish`.\n"
	       "function __bulkhead_pods\n"
	       "\tbulkhead endpoint list 2>/dev/null | string split -f 1 ' ' | sort -u\nend\n"
	       "function __bulkhead_ends\n\t__bulkhead_pods\n\t" DOMAIN_NAMES "\nend\n"
	       "function __bulkhead_namespaces\n"
	       "\t__bulkhead_pods | string split -f 1 / | sort -u\nend\n"
	       "complete -c bulkhead -n __fish_use_subcommand -f -a help -d 'the help of a "
	       "command'\n");
	for (const struct command_option *option = common_options; option->name; option++)
		fish_option("true", option);
	for (const struct command *const *command = commands; *command; command++)
		fish_command(*command);
	printf("complete -c bulkhead -n '__fish_seen_subcommand_from endpoint; and "
	       "__fish_seen_subcommand_from del set' -f -a '(__bulkhead_pods)'\n");
}

static int run(struct call *call)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	const char *shell;

	call_options(call, NULL);
	commands = call->commands;
	shell = call->n_operands ? call->operands[0] : "bash";
	for (size_t i = 0; call->n_operands < 2 && i < sizeof(shells) / sizeof(*shells); i++) {
		if (strcmp(shell, shells[i].name))
			continue;
		shells[i].print();
		return STATUS_OK;
	}
	call_usage_error(call, "needs bash, zsh or fish");
}

const struct command command_completion = {
	.name = "completion",
	.operands = "[bash|zsh|fish]",
	.help = "print a completion script: source <(bulkhead completion)",
	.words = "bash zsh fish",
	.run = run,
};
