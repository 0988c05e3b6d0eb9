// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cni/invocation.h"
#include "node/kernel/handle.h"

#define INPUT_MAX (16u << 20)
#define DEPTH_MAX 64

const char *const cni_command_names[CNI_COMMANDS] = {
	[CNI_ADD] = "ADD", [CNI_DEL] = "DEL",	    [CNI_CHECK] = "CHECK",
	[CNI_GC] = "GC",   [CNI_STATUS] = "STATUS", [CNI_VERSION] = "VERSION",
};

int cni_fail(struct cni_call *call, int code, const char *format, ...)
{
	va_list args;

	if (call->code)
		return call->code;
	va_start(args, format);
	vsnprintf(call->message, sizeof(call->message), format, args);
	va_end(args);
	return call->code = code;
}

uint64_t cni_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

void cni_stage(struct cni_call *call, const char *name)
{
	const uint64_t now = cni_now();
	const size_t length = strlen(call->stages);

	snprintf(call->stages + length, sizeof(call->stages) - length, "%s%s %.1f",
		 length ? ", " : "", name, (now - call->stage) / 1e3);
	call->stage = now;
}

bool cni_is_name(const char *text)
{
	if (!isalnum((unsigned char)*text))
		return false;
	while (isalnum((unsigned char)*text) || (*text && strchr("_.-", *text)))
		text++;
	return !*text;
}

static bool cni_is_ifname(const char *text)
{
	if (!*text || strlen(text) >= IF_NAMESIZE || !strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	while (*text && *text != '/' && *text != ':' && !isspace((unsigned char)*text))
		text++;
	return !*text;
}

struct json_object *cni_member(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *member = NULL;

	json_object_object_get_ex(object, key, &member);
	return json_object_is_type(member, type) ? member : NULL;
}

const char *cni_text(struct json_object *object, const char *key)
{
	struct json_object *member = cni_member(object, key, json_type_string);

	return member ? json_object_get_string(member) : NULL;
}

void cni_put_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

char *cni_argument(const struct cni_call *call, const char *key)
{
	const size_t length = strlen(key);
	const char *at = call->args;

	while (at && *at) {
		size_t n = strcspn(at, ";");

		if (n > length && !strncmp(at, key, length) && at[length] == '=')
			return strndup(at + length + 1, n - length - 1);
		at += n + (at[n] == ';');
	}
	return NULL;
}

/* Variables of the environment, and the commands that have them, by the specification. */
static const struct variable {
	const char *name;
	bool (*is_good)(const char *text);
	size_t at; /* offset in struct cni_call */
	unsigned int needed; /* a bit, 1 << enum cni_command, for each command that requires it */
} variables[] = {
	{"CNI_CONTAINERID", cni_is_name, offsetof(struct cni_call, container),
	 1 << CNI_ADD | 1 << CNI_DEL | 1 << CNI_CHECK},
	{"CNI_IFNAME", cni_is_ifname, offsetof(struct cni_call, ifname),
	 1 << CNI_ADD | 1 << CNI_DEL | 1 << CNI_CHECK},
	{"CNI_NETNS", NULL, offsetof(struct cni_call, netns), 1 << CNI_ADD | 1 << CNI_CHECK},
	{"CNI_ARGS", NULL, offsetof(struct cni_call, args), 0},
};

static int read_command(struct cni_call *call)
{
	const char *name = getenv("CNI_COMMAND");

	for (size_t i = 0; name && i < CNI_COMMANDS; i++) {
		if (strcmp(name, cni_command_names[i]))
			continue;
		call->command = i;
		return 0;
	}
	call->command = CNI_COMMANDS;
	return cni_fail(call, CNI_ERROR_ENVIRONMENT, "CNI_COMMAND is %s%s", name ? name : "missing",
			name ? ": it is ADD, DEL, CHECK, GC, STATUS or VERSION" : "");
}

static int read_variables(struct cni_call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const struct variable *variable = &variables[i];
		const char *value = getenv(variable->name);

		if (value && !*value)
			value = NULL;
		if (!value && variable->needed & 1u << call->command)
			return cni_fail(call, CNI_ERROR_ENVIRONMENT, "%s is missing",
					variable->name);
		if (value && variable->is_good && variable->needed & 1u << call->command &&
		    !variable->is_good(value))
			return cni_fail(call, CNI_ERROR_ENVIRONMENT, "%s is no valid name: %s",
					variable->name, value);
		*(const char **)((char *)call + variable->at) = value;
	}
	return 0;
}

static int read_input(struct cni_call *call, char **text, size_t *size)
{
	char *at = malloc(INPUT_MAX + 1);
	size_t n = at ? fread(at, 1, INPUT_MAX + 1, stdin) : 0;

	*text = at;
	*size = n;
	if (!at || ferror(stdin))
		return cni_fail(call, CNI_ERROR_IO, "cannot read standard input: %s",
				strerror(errno));
	if (n > INPUT_MAX)
		return cni_fail(call, CNI_ERROR_IO, "the configuration has more than %u bytes",
				INPUT_MAX);
	return 0;
}

/* Says why the text is no object. */
static const char *why_no_object(enum json_tokener_error error)
{
	if (error == json_tokener_continue)
		return "it is empty, or ends in the middle";
	return error ? json_tokener_error_desc(error) : "it is another value";
}

static int parse_input(struct cni_call *call)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	SCOPED_FREE char *text = NULL;
	size_t size;
	int code = read_input(call, &text, &size);

	if (!code && tokener) {
		json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8 | JSON_TOKENER_STRICT);
		call->config = json_tokener_parse_ex(tokener, text, size);
		if (!call->config || !json_object_is_type(call->config, json_type_object))
			code = cni_fail(call, CNI_ERROR_DECODE,
					"the configuration is no JSON object: %s",
					why_no_object(json_tokener_get_error(tokener)));
	}
	json_tokener_free(tokener);
	return code;
}

const char *const cni_versions[CNI_VERSIONS] = {"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

/* Index in cni_versions of the version that a command came with. */
static const size_t first_version[CNI_COMMANDS] = {
	[CNI_CHECK] = 2,
	[CNI_GC] = 4,
	[CNI_STATUS] = 4,
};

bool cni_knows_version(enum cni_command command, const char *version)
{
	for (size_t i = first_version[command]; i < CNI_VERSIONS; i++)
		if (!strcmp(version, cni_versions[i]))
			return true;
	return false;
}

static int check_version(struct cni_call *call)
{
	const size_t first = first_version[call->command];
	const char *version = cni_text(call->config, "cniVersion");

	if (call->command == CNI_VERSION || (version && cni_knows_version(call->command, version)))
		call->version = version;
	if (call->command == CNI_VERSION || call->version)
		return 0;
	return cni_fail(call, CNI_ERROR_VERSION, "cniVersion is %s: %s understands %s%s%s",
			version ? version : "missing", cni_command_names[call->command],
			cni_versions[first], first < CNI_VERSIONS - 1 ? " to " : "",
			first < CNI_VERSIONS - 1 ? cni_versions[CNI_VERSIONS - 1] : "");
}

/* Returns true if a key comes from the runtime, which puts such keys into the configuration of each
 * plugin. Keys with a / are extensions. */
static bool is_runtimes(const char *key)
{
	static const char *const keys[] = {"cniVersion", "name",	  "type",   "prevResult",
					   "args",	 "runtimeConfig", "ipMasq", "ipam",
					   "dns",	 "capabilities"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return strchr(key, '/');
}

static int wrong(struct cni_call *call, const char *key, struct json_object *value,
		 const char *wanted)
{
	return cni_fail(call, CNI_ERROR_CONFIG, "%s is %s: it must be %s", key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), wanted);
}

static int read_unknown(struct cni_call *call, struct json_object *value)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string) ||
	    (strcmp(text, "isolate") && strcmp(text, "admit")))
		return wrong(call, "unknown", value, "isolate or admit");
	call->admit = !strcmp(text, "admit");
	return 0;
}

static int read_trust(struct cni_call *call, struct json_object *value)
{
	if (!json_object_is_type(value, json_type_array))
		return wrong(call, "trust", value, "a list of annotations and args");
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(value, i));

		if (text && !strcmp(text, "annotations"))
			call->annotations = true;
		else if (text && !strcmp(text, "args"))
			call->arguments = true;
		else
			return wrong(call, "trust", value, "a list of annotations and args");
	}
	return 0;
}

static int read_field(struct cni_call *call, const char *key, struct json_object *value)
{
	const struct {
		const char *name;
		const char **to;
	} texts[] = {{"pin", &call->node.pin},
		     {"records", &call->records},
		     {"state", &call->state},
		     {"log", &call->log},
		     {"namespace", &call->ns}};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(key, texts[i].name))
			continue;
		*texts[i].to = json_object_get_string(value);
		if (!json_object_is_type(value, json_type_string) || !**texts[i].to)
			return wrong(call, key, value, "a text");
		return 0;
	}
	if (!strcmp(key, "unknown"))
		return read_unknown(call, value);
	if (!strcmp(key, "trust"))
		return read_trust(call, value);
	return cni_fail(call, CNI_ERROR_FIELD, "unsupported field %s: %s", key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
}

static int read_config(struct cni_call *call)
{
	struct json_object *prev = NULL;
	int code = 0;

	call->records = CNI_RECORDS;
	call->state = CNI_STATE;
	call->ns = "default";
	call->node.tells_at_once = true;
	call->network = cni_text(call->config, "name");
	if (!call->network || !cni_is_name(call->network))
		return cni_fail(call, CNI_ERROR_CONFIG, "name is missing, or no network's name: %s",
				call->network ? call->network : "");
	if (json_object_object_get_ex(call->config, "prevResult", &prev) && prev &&
	    !json_object_is_type(prev, json_type_object))
		return wrong(call, "prevResult", prev, "an object");
	call->prev = prev;
	json_object_object_foreach(call->config, key, value)
	{
		if (!code && !is_runtimes(key))
			code = read_field(call, key, value);
	}
	return code;
}

int cni_call_read(struct cni_call *call)
{
	int code;

	call->diag.to = open_memstream(&call->said, &call->n_said);
	if (!call->diag.to)
		return cni_fail(call, CNI_ERROR_IO, "out of memory");
	code = read_command(call);
	if (!code)
		code = read_variables(call);
	if (!code)
		code = parse_input(call);
	if (!code)
		code = check_version(call);
	return code || call->command == CNI_VERSION ? code : read_config(call);
}

void cni_call_end(struct cni_call *call)
{
	if (call->diag.to)
		fclose(call->diag.to);
	free(call->said);
	json_object_put(call->config);
}
