// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls CNI plugins as a container runtime does: those of a conflist, each with the previous
 * result, forwards for ADD and CHECK, backwards for DEL. Unlike with a runtime, each part of a call
 * can be left out.
 *
 *   runtime CONFLIST ADD|DEL|CHECK CONTAINER NETNS IFNAME
 *   runtime CONFLIST GC|STATUS|VERSION
 *
 * NETNS "-": none is given. The environment goes to the plugins as it is, and says besides:
 *
 *   CNI_PATH=DIR:...         where the plugins are
 *   RUNTIME_CACHE=DIR        ADD's results are kept there, for CHECK and DEL
 *   RUNTIME_ONLY=TYPE        only this plugin is called
 *   RUNTIME_ADDS=JSON        members that each plugin's configuration gets
 *   RUNTIME_TIMES=1          microseconds of each plugin on standard error
 *
 * ADD's last result, or the error of the plugin that failed, is printed. Exit status: 0, or 1.
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *cache; /* the result's file, "": none */

static void die(const char *what)
{
	fprintf(stderr, "runtime: %s: %s\n", what, strerror(errno));
	exit(2);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(object, key, &member) ? json_object_get_string(member)
							       : "";
}

static const char *find(const char *type, char path[PATH_MAX])
{
	const char *at = getenv("CNI_PATH");

	while (at && *at) {
		size_t n = strcspn(at, ":");

		snprintf(path, PATH_MAX, "%.*s/%s", (int)n, at, type);
		if (!access(path, X_OK))
			return path;
		at += n + (at[n] == ':');
	}
	errno = ENOENT;
	die(type);
	return NULL;
}

static char *read_all(int fd)
{
	const size_t capacity = 1 << 20;
	char *text = calloc(1, capacity);
	size_t size = 0;
	ssize_t n;

	if (!text)
		die("memory");
	while ((n = read(fd, text + size, capacity - size - 1)) > 0)
		size += n;
	return text;
}

static uint64_t microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

/* Returns the plugin's output, to be freed, and sets *status to its exit status. */
static char *call(const char *type, const char *config, int *status)
{
	int in[2], out[2];
	char path[PATH_MAX], *text;
	pid_t pid;

	find(type, path);
	if (pipe(in) || pipe(out))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execl(path, path, (char *)NULL);
		die(path);
	}
	close(in[0]);
	close(out[1]);
	if (write(in[1], config, strlen(config)) != (ssize_t)strlen(config))
		fprintf(stderr, "runtime: %s does not read its input\n", type);
	close(in[1]);
	text = read_all(out[0]);
	close(out[0]);
	if (waitpid(pid, status, 0) != pid)
		die("wait");
	return text;
}

static void add_members(struct json_object *config)
{
	const char *text = getenv("RUNTIME_ADDS");
	struct json_object *adds = text ? json_tokener_parse(text) : NULL;

	if (!adds)
		return;
	json_object_object_foreach(adds, key, value)
	{
		json_object_object_add(config, key, json_object_get(value));
	}
	json_object_put(adds);
}

/* Returns the exit status; *result is replaced by what ADD answers. */
static int call_plugin(struct json_object *list, struct json_object *plugin, const char *command,
		       struct json_object **result)
{
	const char *type = text_of(plugin, "type"), *only = getenv("RUNTIME_ONLY");
	struct json_object *config = NULL;
	const uint64_t began = microseconds();
	char *answer;
	int status;

	if (only && strcmp(only, type))
		return 0;
	json_object_deep_copy(plugin, &config, NULL);
	json_object_object_add(config, "cniVersion",
			       json_object_new_string(text_of(list, "cniVersion")));
	json_object_object_add(config, "name", json_object_new_string(text_of(list, "name")));
	if (*result)
		json_object_object_add(config, "prevResult", json_object_get(*result));
	add_members(config);
	answer = call(type,
		      json_object_to_json_string_ext(
			      config, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
		      &status);
	if (getenv("RUNTIME_TIMES"))
		fprintf(stderr, "%s %s %llu\n", command, type,
			(unsigned long long)(microseconds() - began));
	if (status || (*answer && strcmp(command, "ADD")))
		printf("%s%s", answer, *answer ? "" : "no answer\n");
	if (!status && !strcmp(command, "ADD")) {
		json_object_put(*result);
		*result = json_tokener_parse(answer);
	}
	json_object_put(config);
	free(answer);
	return status ? 1 : 0;
}

static void keep(const char *command, struct json_object *result)
{
	if (!strcmp(command, "ADD") && *cache)
		json_object_to_file(cache, result);
	if (!strcmp(command, "DEL"))
		unlink(cache);
	if (!strcmp(command, "ADD"))
		puts(json_object_to_json_string_ext(
			result, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int run(struct json_object *list, const char *command)
{
	struct json_object *plugins = NULL, *result = NULL;
	const int backwards = !strcmp(command, "DEL"), ends = !strcmp(command, "ADD");
	int failed = 0;

	json_object_object_get_ex(list, "plugins", &plugins);
	if (*cache && (!ends || getenv("RUNTIME_ONLY")) && !access(cache, R_OK))
		result = json_object_from_file(cache);
	for (size_t i = 0, n = json_object_array_length(plugins); i < n && !(failed && ends); i++)
		failed |= call_plugin(list,
				      json_object_array_get_idx(plugins, backwards ? n - 1 - i : i),
				      command, &result);
	if (!failed)
		keep(command, result);
	json_object_put(result);
	return failed;
}

int main(int argc, char **argv)
{
	const char *folder = getenv("RUNTIME_CACHE");
	char path[PATH_MAX] = "";
	struct json_object *list = argc > 2 ? json_object_from_file(argv[1]) : NULL;
	int failed;

	if (!list || (argc != 3 && argc != 6)) {
		fprintf(stderr, "runtime: wants CONFLIST COMMAND [CONTAINER NETNS IFNAME]\n");
		return 2;
	}
	setenv("CNI_COMMAND", argv[2], 1);
	if (argc == 6) {
		setenv("CNI_CONTAINERID", argv[3], 1);
		setenv("CNI_NETNS", strcmp(argv[4], "-") ? argv[4] : "", 1);
		setenv("CNI_IFNAME", argv[5], 1);
		if (folder)
			snprintf(path, sizeof(path), "%s/%s-%s-%s", folder, text_of(list, "name"),
				 argv[3], argv[5]);
	}
	cache = path;
	failed = run(list, argv[2]);
	json_object_put(list);
	return failed || fflush(stdout);
}
