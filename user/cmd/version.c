/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead version`: prints the version, and the numbers that say which maps and files another
 * build of the command can use. */
#include <inttypes.h>
#include <stdio.h>

#include "build_id.h"
#include "cmd/command.h"
#include "cmd/json_output.h"
#include "policy/blob_file.h"
#include "maps/abi.h"
#include "version.h"

static void print_json(bool pretty)
{
	struct json_object *object = json_object_new_object();
	char programs[17];

	snprintf(programs, sizeof(programs), "%016" PRIx64, (uint64_t)BUILD_ID);
	json_add_text(object, "version", BULKHEAD_VERSION);
	json_add(object, "maps", json_object_new_int(BH_ABI));
	json_add(object, "compiled", json_object_new_int(BLOB_VERSION));
	json_add_text(object, "programs", programs);
	json_print(object, pretty);
}

static int run(struct call *call)
{
	while (call_option(call) != -1)
		;
	if (call->n_operands)
		call_usage_error(call, "version takes no operand");
	if (call->json) {
		print_json(call->pretty);
		return STATUS_OK;
	}
	printf("bulkhead %s\n"
	       "layout of the maps:     %d\n"
	       "compiled policy:        %d\n"
	       "programs for the kernel: %016" PRIx64 "\n",
	       BULKHEAD_VERSION, BH_ABI, BLOB_VERSION, (uint64_t)BUILD_ID);
	return STATUS_OK;
}

const struct command command_version = {
	.name = "version",
	.operands = "",
	.help = "print the version, and the formats of maps, compiled policies and programs",
	.run = run,
};
