/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead version`: prints the version, and the numbers that say which maps and files another
 * build of the command can use. */
#include <inttypes.h>
#include <stdio.h>

#include "build_id.h"
#include "cmd/command.h"
#include "cmd/emit.h"
#include "policy/blob_file.h"
#include "maps/abi.h"
#include "version.h"

static int run(struct call *call)
{
	struct emit emit;
	char programs[17];

	call_options(call, NULL);
	snprintf(programs, sizeof(programs), "%016" PRIx64, (uint64_t)BUILD_ID);
	emit = emit_begin(call);
	emit_object(&emit, NULL);
	emit_text(&emit, "version", BULKHEAD_VERSION);
	emit_number(&emit, "maps", BH_ABI);
	emit_number(&emit, "compiled", BLOB_VERSION);
	emit_text(&emit, "programs", programs);
	emit_end(&emit);
	emit_say(&emit,
		 "bulkhead %s\n"
		 "layout of the maps:     %d\n"
		 "compiled policy:        %d\n"
		 "programs for the kernel: %s\n",
		 BULKHEAD_VERSION, BH_ABI, BLOB_VERSION, programs);
	return STATUS_OK;
}

const struct command command_version = {
	.name = "version",
	.operands = "",
	.help = "print the version, and the formats of maps, compiled policies and programs",
	.run = run,
};
