// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cni/invocation.h"
#include "cni/counts.h"
#include "node/kernel/handle.h"

bool cni_is_called(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";

	return !strcmp(name, CNI_NAME) || (argc == 1 && getenv("CNI_COMMAND"));
}

static void print(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
}

static void print_error(struct cni_call *call)
{
	struct json_object *object = json_object_new_object();

	fflush(call->diag.to);
	cni_put_text(object, "cniVersion",
		     call->version ? call->version : cni_versions[CNI_VERSIONS - 1]);
	json_object_object_add(object, "code", json_object_new_int(call->code));
	cni_put_text(object, "msg", call->message);
	if (call->n_said)
		cni_put_text(object, "details", call->said);
	print(object);
	json_object_put(object);
}

static int print_versions(struct cni_call *call)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	cni_put_text(object, "cniVersion",
		     call->version ? call->version : cni_versions[CNI_VERSIONS - 1]);
	for (size_t i = 0; i < CNI_VERSIONS; i++)
		json_object_array_add(list, json_object_new_string(cni_versions[i]));
	json_object_object_add(object, "supportedVersions", list);
	print(object);
	json_object_put(object);
	return 0;
}

static int answer(struct cni_call *call)
{
	static int (*const commands[CNI_COMMANDS])(struct cni_call * call) = {
		[CNI_ADD] = cni_add, [CNI_DEL] = cni_del,	[CNI_CHECK] = cni_check,
		[CNI_GC] = cni_gc,   [CNI_STATUS] = cni_status, [CNI_VERSION] = print_versions,
	};
	int code = cni_call_read(call);

	if (!code)
		code = commands[call->command](call);
	if (!code && call->command == CNI_ADD)
		print(call->prev);
	return code;
}

static const char *came_of(const struct cni_call *call)
{
	if (call->code)
		return call->message;
	return *call->about ? call->about : "done";
}

static void write_log(const struct cni_call *call, uint64_t took)
{
	const time_t now = time(NULL);
	struct tm utc;
	char stamp[32];
	FILE *log = call->log ? fopen(call->log, "ae") : NULL;

	if (!log)
		return;
	strftime(stamp, sizeof(stamp), "%FT%TZ", gmtime_r(&now, &utc));
	/* One write a line, so that lines of parallel calls do not mix. */
	setvbuf(log, NULL, _IOFBF, 65536);
	fprintf(log, "%s %s %s %s %s: %s, %.1f ms%s%s%s\n", stamp, cni_command_names[call->command],
		call->network, call->container ? call->container : "-",
		call->ifname ? call->ifname : "-", came_of(call), took / 1e3,
		*call->stages ? " (" : "", call->stages, *call->stages ? ")" : "");
	fputs(call->said ? call->said : "", log);
	fclose(log);
}

int cni_main(void)
{
	const uint64_t began = cni_now();
	struct cni_call call = {.stage = began};
	int code = answer(&call);

	if (code && call.diag.to)
		print_error(&call);
	if (call.diag.to)
		fflush(call.diag.to);
	if (call.said)
		fputs(call.said, stderr);
	if (call.network && call.command < CNI_COMMANDS) {
		write_log(&call, cni_now() - began);
		counts_add(&call, cni_now() - began);
	}
	cni_call_end(&call);
	if (fflush(stdout) || ferror(stdout))
		return 1;
	return code ? 1 : 0;
}
