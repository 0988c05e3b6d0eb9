// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/kubectl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster/lease.h"
#include "cluster/listing.h"
#include "cluster/store.h"
#include "cmd/call.h"
#include "cmd/command.h"
#include "cmd/emit.h"

#define FOLLOWERS "/api/v1/namespaces/bulkhead-system/pods?labelSelector=app%3Dbulkhead-follower"
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/bulkhead-system/leases/" LEASE_NAME
#define STATUS_PATHS 2
/* s: a lease that is older by this machine's clock has no holder. Clocks differ. */
#define LEASE_OLD (4 * LEASE_SECONDS)
#define LINE 160
#define NAME_BYTES 254 /* of a name of the API, with its NUL */

/* The arguments behind the plugin's own options. argv[0] is the command. */
struct plugin {
	const char *kubeconfig;
	bool json, pretty;
	int argc;
	char **argv;
	int (*run)(int argc, char **argv);
};

bool kubectl_is_called(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;

	return argc && !strcmp(slash ? slash + 1 : argv[0], KUBECTL_NAME);
}

static int usage(FILE *to)
{
	fputs("usage: kubectl bulkhead [--kubeconfig FILE] COMMAND [options]\n\n"
	      "  trace --from SRC --to DST --port TCP/80   the verdict, and the rules that decide\n"
	      "  matrix --port TCP/80,...                  who reaches whom\n"
	      "  graph, lint                               as bulkhead's commands of these names\n"
	      "  status [-j]                               how far the cluster's policy is\n"
	      "  describe NAMESPACE/POLICY                 kubectl's description of a "
	      "NetworkPolicy, "
	      "and its Events\n"
	      "  monitor NODE [options]                    verdicts as that node's kernel gives "
	      "them\n"
	      "  version                                   the version\n\n"
	      "`bulkhead help COMMAND` has the options. Objects come from the API server.\n",
	      to);
	return to == stdout ? STATUS_OK : STATUS_INPUT;
}

/* Puts the cluster's objects where standard input is. */
static int objects_to_stdin(const struct plugin *plugin)
{
	struct diag diag = command_diag();
	int fd = memfd_create("objects", MFD_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");
	int error = to ? listing_write(plugin->kubeconfig, &diag, to) : -errno;

	if (to && fclose(to) && !error)
		error = -EIO;
	if (!error && (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0))
		error = -errno;
	if (error == -EIO || !to)
		command_error("cannot list the cluster's objects: %s", strerror(-error));
	if (fd >= 0)
		close(fd);
	return error;
}

static bool is_one_of(const char *text, const char *first, const char *second)
{
	return !strcmp(text, first) || !strcmp(text, second);
}

static bool has_argument(const struct plugin *plugin, const char *first, const char *second)
{
	for (int i = 1; i < plugin->argc; i++)
		if (is_one_of(plugin->argv[i], first, second))
			return true;
	return false;
}

/* Runs `COMMAND ... -` on the cluster's objects. */
static int ask(const struct plugin *plugin)
{
	char **argv = calloc(plugin->argc + 4, sizeof(*argv));
	int n = 0, status, error;

	if (!argv)
		return STATUS_KERNEL;
	if (has_argument(plugin, "-", "-")) {
		command_error("-: standard input has the cluster's objects; give a file");
		free(argv);
		return STATUS_INPUT;
	}
	error = has_argument(plugin, "-h", "--help") ? 0 : objects_to_stdin(plugin);
	if (error) {
		free(argv);
		return status_of(error);
	}
	argv[n++] = "bulkhead";
	for (int i = 0; i < plugin->argc; i++)
		argv[n++] = plugin->argv[i];
	argv[n++] = "-";
	status = plugin->run(n, argv);
	free(argv);
	return status;
}

static const char *text_of(struct json_object *object, const char *path)
{
	const char *text = api_text(object, path);

	return text ? text : "-";
}

static struct json_object *condition_of(struct json_object *object, const char *type)
{
	struct json_object *conditions = api_get(object, "status.conditions");

	for (size_t i = 0; conditions && i < json_object_array_length(conditions); i++) {
		struct json_object *at = json_object_array_get_idx(conditions, i);

		if (!strcmp(text_of(at, "type"), type))
			return at;
	}
	return NULL;
}

static bool is_true(struct json_object *condition)
{
	return !strcmp(text_of(condition, "status"), "True");
}

/* Prints a member of an object, and blanks up to @width. Tenants write Events, and each node its
 * status: what a terminal would obey is printed as \xNN. */
static void print_cell(struct json_object *object, const char *path, size_t width)
{
	const char *text = text_of(object, path);
	const size_t n = strlen(text);

	diag_print_text(stdout, text);
	printf("%*s", n < width ? (int)(width - n) : 0, "");
}

/* Which engine leads, by the engines' Lease. PolicyStatus cannot tell: without an engine, its
 * conditions stay as the last engine wrote them. */
struct leader {
	const char *status; /* of a condition */
	char message[LINE + 1];
};

/* Returns the seconds since a time of the API's, by this machine's clock, or -1 if it is none. */
static long long seconds_since(const char *text)
{
	struct tm tm = {0};
	long long ago;

	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
		return -1;
	ago = (long long)(time(NULL) - timegm(&tm));
	return ago < 0 ? 0 : ago;
}

static struct leader leader_of(struct json_object *lease)
{
	const char *holder = api_text(lease, "spec.holderIdentity");
	const long long ago = seconds_since(api_text(lease, "spec.renewTime"));
	struct leader leader = {.status = "False"};

	if (!holder || !*holder)
		snprintf(leader.message, sizeof(leader.message),
			 "no engine leads: the last one has given its lease up");
	else if (ago < 0)
		snprintf(leader.message, sizeof(leader.message),
			 "no engine leads: the lease of %s has no time", holder);
	else if (ago > LEASE_OLD)
		snprintf(leader.message, sizeof(leader.message),
			 "no engine leads: %s renewed its lease %lld s ago", holder, ago);
	else {
		leader.status = "True";
		snprintf(leader.message, sizeof(leader.message),
			 "%s leads, and renewed its lease %lld s ago", holder, ago);
	}
	return leader;
}

/* Reads the Lease, which a user may lack the right to: then nothing is known, and that is all.
 * *lease is to be put. */
static struct leader find_leader(const struct plugin *plugin, struct json_object **lease)
{
	static const char *const path[] = {LEASE};
	struct leader leader = {.status = "Unknown"};
	FILE *to = fmemopen(leader.message, LINE, "w");
	struct diag diag = {.to = to};
	int error = listing_get(plugin->kubeconfig, path, 1, &diag, lease);

	if (to)
		fclose(to);
	leader.message[strcspn(leader.message, "\n")] = '\0';
	if (!error && !*lease)
		snprintf(leader.message, sizeof(leader.message),
			 "bulkhead-system has no lease " LEASE_NAME);
	return *lease ? leader_of(*lease) : leader;
}

static void print_nodes(struct json_object *nodes)
{
	printf("%-24s %8s %9s %-6s %s\n", "NODE", "POLICY", "ENDPOINTS", "READY", "WHY");
	for (size_t i = 0; nodes && i < json_object_array_length(nodes); i++) {
		struct json_object *node = json_object_array_get_idx(nodes, i);
		struct json_object *ready = condition_of(node, "Ready");

		print_cell(node, "metadata.name", 24);
		printf(" %8lld %9lld ",
		       (long long)api_number(node, "status.latestPolicyGeneration"),
		       (long long)api_number(node, "status.latestEndpointGeneration"));
		print_cell(ready, "status", 7);
		print_cell(ready, is_true(ready) ? "reason" : "message", 0);
		putchar('\n');
	}
}

static void print_status(struct json_object *global, const struct leader *leader,
			 struct json_object *nodes)
{
	static const char *const types[] = {"RolledOut", "NodesHeard", "ObjectsAccepted"};

	printf("policy %lld is wanted, endpoints may be in policy %lld, the oldest of %lld nodes "
	       "is "
	       "in policy %lld\n",
	       (long long)api_number(global, "spec.desiredPolicyGeneration"),
	       (long long)api_number(global, "spec.desiredEndpointGeneration"),
	       (long long)api_number(global, "status.nodes"),
	       (long long)api_number(global, "status.oldestEndpointGeneration"));
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct json_object *condition = condition_of(global, types[i]);
		char message[LINE + 1];

		printf("%-16s ", types[i]);
		print_cell(condition, "status", 7);
		snprintf(message, sizeof(message), "%s", text_of(condition, "message"));
		diag_print_text(stdout, message);
		putchar('\n');
	}
	printf("%-16s %-7s ", "EngineLeads", leader->status);
	diag_print_text(stdout, leader->message);
	putchar('\n');
	print_nodes(nodes);
}

/* Returns true if the policy is rolled out, each node is ready, and an engine leads. If the user
 * may not read the Lease, an engine counts as leading. */
static bool all_is_well(struct json_object *global, const struct leader *leader,
			struct json_object *nodes)
{
	bool well = is_true(condition_of(global, "RolledOut")) && strcmp(leader->status, "False");

	for (size_t i = 0; nodes && i < json_object_array_length(nodes); i++)
		well &= is_true(condition_of(json_object_array_get_idx(nodes, i), "Ready"));
	return well;
}

static void print_status_json(bool pretty, struct json_object *global, struct json_object *lease,
			      struct json_object *nodes)
{
	struct emit emit = {.json = true, .pretty = pretty, .to = stdout};

	emit_object(&emit, NULL);
	emit_json(&emit, "policyStatus", json_object_get(global));
	emit_json(&emit, "lease", lease ? json_object_get(lease) : NULL);
	emit_json(&emit, "nodes", nodes ? json_object_get(nodes) : json_object_new_array());
	emit_end(&emit);
}

/* Returns false, reported, if status does not know an argument: an option that is passed over, as
 * kubectl's --context, would answer about another cluster. */
static bool status_knows(const struct plugin *plugin)
{
	for (int i = 1; i < plugin->argc; i++)
		if (!is_one_of(plugin->argv[i], "-j", "--json") &&
		    !is_one_of(plugin->argv[i], "-p", "--pretty")) {
			command_error("status: %s: unknown; kubectl bulkhead [--kubeconfig FILE] "
				      "status [-j]",
				      plugin->argv[i]);
			return false;
		}
	return true;
}

static int status(const struct plugin *plugin)
{
	static const char *const paths[STATUS_PATHS] = {STORE_POLICY_STATUS "/global",
							STORE_NODE_STATUS};
	struct json_object *documents[STATUS_PATHS], *nodes, *lease = NULL;
	struct diag diag = command_diag();
	struct leader leader;
	int error;
	bool well;

	if (has_argument(plugin, "-h", "--help"))
		return usage(stdout);
	if (!status_knows(plugin))
		return STATUS_INPUT;
	error = listing_get(plugin->kubeconfig, paths, STATUS_PATHS, &diag, documents);
	if (error)
		return status_of(error);
	if (!documents[0]) {
		command_error("the cluster has no policystatus `global`: no engine has led yet");
		json_object_put(documents[1]);
		return STATUS_NO;
	}
	nodes = api_get(documents[1], "items");
	leader = find_leader(plugin, &lease);
	if (plugin->json)
		print_status_json(plugin->pretty, documents[0], lease, nodes);
	else
		print_status(documents[0], &leader, nodes);
	well = all_is_well(documents[0], &leader, nodes);
	json_object_put(lease);
	for (int i = 0; i < STATUS_PATHS; i++)
		json_object_put(documents[i]);
	return well ? STATUS_OK : STATUS_NO;
}

static int with_kubectl(const struct plugin *plugin, char **argv, char *option, size_t size)
{
	int n = 0;

	argv[n++] = "kubectl";
	if (plugin->kubeconfig) {
		snprintf(option, size, "--kubeconfig=%s", plugin->kubeconfig);
		argv[n++] = option;
	}
	return n;
}

/* Events of a NetworkPolicy, which `kubectl describe networkpolicy` does not print */

/* Splits NAMESPACE/POLICY. Returns false if it is not of this form. */
static bool split_name(const char *text, char ns[NAME_BYTES], char name[NAME_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	const size_t n_ns = strspn(text, letters),
		     n = text[n_ns] == '/' ? strlen(text + n_ns + 1) : 0;

	if (!n_ns || !n || n_ns >= NAME_BYTES || n >= NAME_BYTES ||
	    strspn(text + n_ns + 1, letters) != n)
		return false;
	snprintf(ns, NAME_BYTES, "%.*s", (int)n_ns, text);
	snprintf(name, NAME_BYTES, "%s", text + n_ns + 1);
	return true;
}

/* Runs `kubectl describe`. Returns its exit status. */
static int describe_by_kubectl(const struct plugin *plugin, char *ns, char *name)
{
	char option[4200], *argv[8];
	int n = with_kubectl(plugin, argv, option, sizeof(option)), status;
	pid_t child;

	argv[n++] = "describe";
	argv[n++] = "networkpolicy";
	argv[n++] = "-n";
	argv[n++] = ns;
	argv[n++] = name;
	argv[n] = NULL;
	fflush(stdout);
	child = fork();
	if (!child) {
		execvp(argv[0], argv);
		command_error("kubectl: %s", strerror(errno));
		_exit(STATUS_KERNEL);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return STATUS_KERNEL;
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_KERNEL;
}

static void print_events(struct json_object *events, const char *name)
{
	bool any = false;

	for (size_t i = 0; events && i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		if (strcmp(text_of(event, "involvedObject.kind"), "NetworkPolicy") ||
		    strcmp(text_of(event, "involvedObject.name"), name))
			continue;
		if (!any)
			printf("Events:\n  %-8s %-10s %-21s %s\n", "Type", "Reason", "Last seen",
			       "Message");
		any = true;
		fputs("  ", stdout);
		print_cell(event, "type", 9);
		print_cell(event, "reason", 11);
		print_cell(event, "lastTimestamp", 22);
		print_cell(event, "message", 0);
		putchar('\n');
	}
	if (!any)
		puts("Events:      <none>");
}

static int describe(const struct plugin *plugin)
{
	char ns[NAME_BYTES], name[NAME_BYTES], path[1024];
	const char *const paths[] = {path};
	struct json_object *events = NULL;
	struct diag diag = command_diag();
	int status;

	if (plugin->argc != 2 || !split_name(plugin->argv[1], ns, name)) {
		command_error("describe: which policy? kubectl bulkhead describe NAMESPACE/POLICY");
		return STATUS_INPUT;
	}
	status = describe_by_kubectl(plugin, ns, name);
	if (status)
		return status;
	snprintf(path, sizeof(path),
		 "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.kind%%3DNetworkPolicy"
		 "%%2CinvolvedObject.name%%3D%s",
		 ns, name);
	status = listing_get(plugin->kubeconfig, paths, 1, &diag, &events);
	if (status)
		return status_of(status);
	print_events(api_get(events, "items"), name);
	json_object_put(events);
	return STATUS_OK;
}

/* Finds the follower's pod of a node. Returns 0 or -errno, reported. */
static int find_follower(const struct plugin *plugin, const char *node, char *pod, size_t size)
{
	static const char *const path[] = {FOLLOWERS};
	struct json_object *pods = NULL, *items;
	struct diag diag = command_diag();
	int error = listing_get(plugin->kubeconfig, path, 1, &diag, &pods);

	items = api_get(pods, "items");
	*pod = '\0';
	for (size_t i = 0; !error && items && i < json_object_array_length(items); i++) {
		struct json_object *at = json_object_array_get_idx(items, i);

		if (!strcmp(text_of(at, "spec.nodeName"), node) &&
		    !strcmp(text_of(at, "status.phase"), "Running"))
			snprintf(pod, size, "%s", text_of(at, "metadata.name"));
	}
	json_object_put(pods);
	if (!error && !*pod) {
		command_error(
			"no follower runs on node %s; see kubectl get pods -n bulkhead-system "
			"-o wide",
			node);
		error = -EINVAL;
	}
	return error;
}

/* Becomes `kubectl exec` of `bulkhead monitor` in the node's follower, whose maps are the node's.
 */
static int monitor(const struct plugin *plugin)
{
	static char *const words[] = {"exec", "-n", "bulkhead-system", "-c", "follower",
				      NULL,   "--", "bulkhead"};
	char pod[256], kubeconfig[4200], **argv;
	int n, error;

	if (plugin->argc < 2 || *plugin->argv[1] == '-') {
		command_error("monitor: which node? kubectl bulkhead monitor NODE [options]");
		return STATUS_INPUT;
	}
	error = find_follower(plugin, plugin->argv[1], pod, sizeof(pod));
	argv = error ? NULL : calloc(plugin->argc + 16, sizeof(*argv));
	if (!argv)
		return status_of(error ? error : -ENOMEM);
	n = with_kubectl(plugin, argv, kubeconfig, sizeof(kubeconfig));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		argv[n++] = words[i] ? words[i] : pod;
	argv[n++] = "monitor";
	for (int i = 2; i < plugin->argc; i++)
		argv[n++] = plugin->argv[i];
	execvp(argv[0], argv);
	command_error("kubectl: %s", strerror(errno));
	free(argv);
	return STATUS_KERNEL;
}

/* Reads --kubeconfig at argv[0]. Returns how many arguments it takes; 0: there is none. */
static int read_kubeconfig_option(struct plugin *plugin, int argc, char **argv)
{
	static const char option[] = "--kubeconfig";
	const size_t length = sizeof(option) - 1;

	if (!strncmp(argv[0], option, length) && argv[0][length] == '=') {
		plugin->kubeconfig = argv[0] + length + 1;
		return 1;
	}
	if (strcmp(argv[0], option) || argc < 2)
		return 0;
	plugin->kubeconfig = argv[1];
	return 2;
}

/* Returns how many arguments the plugin's own options take; -1: one is wrong. */
static int own_options(struct plugin *plugin, int argc, char **argv)
{
	int i = 1;

	while (i < argc && *argv[i] == '-') {
		const int n = read_kubeconfig_option(plugin, argc - i, argv + i);

		if (!n)
			return strcmp(argv[i], "-h") && strcmp(argv[i], "--help") ? -1 : argc;
		i += n;
	}
	return i;
}

/* Takes --kubeconfig out of the arguments behind the command: kubectl's own options may stand
 * there, too. */
static void take_kubeconfig(struct plugin *plugin)
{
	int kept = 1, n;

	for (int i = 1; i < plugin->argc; i += n ? n : 1) {
		n = read_kubeconfig_option(plugin, plugin->argc - i, plugin->argv + i);
		if (!n)
			plugin->argv[kept++] = plugin->argv[i];
	}
	plugin->argc = kept;
}

int kubectl_main(int argc, char **argv, int (*run)(int argc, char **argv))
{
	static const char *const questions[] = {"trace", "matrix", "graph", "lint"};
	struct plugin plugin = {.run = run};
	int at = own_options(&plugin, argc, argv);

	if (at < 0)
		return usage(stderr);
	if (at >= argc || !strcmp(argv[at], "help"))
		return usage(argc > 1 ? stdout : stderr);
	plugin.argc = argc - at;
	plugin.argv = argv + at;
	take_kubeconfig(&plugin);
	for (int i = 1; i < plugin.argc; i++) {
		plugin.pretty |= is_one_of(plugin.argv[i], "-p", "--pretty");
		plugin.json |= plugin.pretty || is_one_of(plugin.argv[i], "-j", "--json");
	}
	if (plugin.json)
		call_use_json(&(struct call){0});
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (!strcmp(argv[at], questions[i]))
			return ask(&plugin);
	if (!strcmp(argv[at], "status"))
		return status(&plugin);
	if (!strcmp(argv[at], "describe"))
		return describe(&plugin);
	if (!strcmp(argv[at], "monitor"))
		return monitor(&plugin);
	if (!strcmp(argv[at], "version"))
		return run(plugin.argc + 1, argv + at - 1);
	command_error("kubectl bulkhead has no command `%s`; on a node: bulkhead %s", argv[at],
		      argv[at]);
	return STATUS_INPUT;
}
