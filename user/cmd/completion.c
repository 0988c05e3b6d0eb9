/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead completion`: a bash completion script, made from the table of commands. */
#include <stdio.h>

#include "cmd/command.h"

static void print_options(const struct command_option *options)
{
	for (; options && options->name; options++)
		printf(" --%s", options->name);
}

static void print_command(const struct command *command)
{
	printf("\t%s)\n\t\toptions='", command->name);
	print_options(command->options);
	print_options(common_options);
	printf("'\n\t\twords='%s'\n\t\t;;\n", command->words ? command->words : "");
}

static int run(struct call *call)
{
	while (call_option(call) != -1)
		;
	if (call->n_operands)
		call_usage_error(call, "takes no operands");
	printf("# Bash completion for bulkhead, printed by `bulkhead completion`.\n"
	       "_bulkhead()\n{\n"
	       "\tlocal current=${COMP_WORDS[COMP_CWORD]} command options words i\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\t[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
	       "\tdone\n"
	       "\tcase $command in\n"
	       "\t'' | help)\n\t\twords='help");
	for (const struct command *const *command = commands; *command; command++)
		printf(" %s", (*command)->name);
	printf("'\n\t\toptions='");
	print_options(common_options);
	printf(" --version'\n\t\t;;\n");
	for (const struct command *const *command = commands; *command; command++)
		print_command(*command);
	printf("\tesac\n"
	       "\tif [[ $current == -* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
	       "\telif [[ -n $words ]] && ((COMP_CWORD <= i + 1)); then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	       "\telse\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	       "\tfi\n"
	       "}\n"
	       "complete -o filenames -F _bulkhead bulkhead\n");
	return STATUS_OK;
}

const struct command command_completion = {
	.name = "completion",
	.operands = "",
	.help = "print a bash completion script: source <(bulkhead completion)",
	.run = run,
};
