// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead recommend`: prints NetworkPolicies that allow the flows an audit has seen. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cmd/advice.h"
#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/inputs.h"
#include "cmd/json_output.h"
#include "input/name_syntax.h"
#include "maps/counter.h"
#include "node/observe/event_monitor.h"
#include "node/node.h"

#define POLL_MS 100

struct recommend_request {
	const char *events; /* a file of `monitor -j`; "-": standard input; NULL: watch this node */
	unsigned long seconds; /* how long to watch this node */
	bool drops; /* take denied flows too, not only audited ones */
	const char *pin;
};

struct recommend_work {
	const struct recommend_request *request;
	struct cluster *cluster;
	struct policy *policy;
	struct advice *advice;
	struct monitor *monitor; /* NULL: the events are a file's */
	size_t seen[N_ADVICE_ANSWERS]; /* flows by the answer of advice_add() */
	int error;
};

static const char *const reasons[BH_REASONS] = BH_REASON_TEXTS;

static const char *const answers[] = {
	[ADVICE_HIGHER] = "an Admin or Baseline rule denies",
	[ADVICE_PROTOCOL] = "no NetworkPolicy can name the protocol of",
	[ADVICE_NAMELESS] = "no label sets an end apart from its namespace:",
	[ADVICE_ANSWER] = "a late answer to a call that is allowed:",
};

static void take_flow(struct recommend_work *work, const struct flow *flow, uint16_t source_port)
{
	char from[ADDRESS_TEXT], to[ADDRESS_TEXT], port[FLOW_TEXT];
	int answer = advice_add(work->advice, flow, source_port);

	if (answer < 0) {
		work->error = answer;
		return;
	}
	work->seen[answer]++;
	if (answer >= ADVICE_HIGHER)
		command_error("left out: %s %s to %s %s", answers[answer],
			      address_print(&flow->source, from),
			      address_print(&flow->destination, to), port_print(flow, port));
}

/* Keeps the name that says most: the first that is no wildcard, else the first. */
static const char *better(const char *best, const char *name)
{
	return !best || (*best == '*' && *name != '*') ? name : best;
}

static const char *keep_name(const struct recommend_work *work, const char *name)
{
	return name ? cluster_intern(work->cluster, name, strlen(name)) : NULL;
}

/* Returns the domain name by which the source has learned the destination; NULL: the event has
 * none. */
static const char *name_of(const struct recommend_work *work, struct json_object *destination)
{
	struct json_object *names;
	const char *best = NULL;

	if (!json_object_object_get_ex(destination, "domain_names", &names) ||
	    !json_object_is_type(names, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(names); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(names, i));

		if (name && name_syntax_is_domain_name(name))
			best = better(best, name);
	}
	return keep_name(work, best);
}

/* Returns true if policy was the reason. What was dropped, or would have been, for another one is
 * no flow that a policy could allow: of a TCP segment of no connection nobody knows who called. */
static bool is_denial(enum bh_reason reason)
{
	return reason == BH_DROP_EGRESS || reason == BH_DROP_INGRESS;
}

static bool is_denial_text(const char *reason)
{
	return !reason || !strcmp(reason, reasons[BH_DROP_EGRESS]) ||
	       !strcmp(reason, reasons[BH_DROP_INGRESS]);
}

/* Returns the port of an end; 0: the event has none. */
static uint16_t port_of(struct json_object *end)
{
	struct json_object *port;

	return json_object_object_get_ex(end, "port", &port) ? json_object_get_int(port) : 0;
}

/* Takes one event of `monitor -j` into account. Returns NULL, or the fault of the line. */
static const char *take_event(struct recommend_work *work, struct json_object *event)
{
	struct json_object *source, *destination, *reply;
	const char *verdict = json_get_text(event, "verdict"), *port = json_get_text(event, "port");
	const char *from, *to;
	char why[FLOW_TEXT];
	struct flow flow;

	if (!verdict)
		return "no verdict: not an event of `monitor -j`";
	if (strcmp(verdict, "audit") && !(work->request->drops && !strcmp(verdict, "drop")))
		return NULL;
	if (!is_denial_text(json_get_text(event, "reason")))
		return NULL;
	if (!json_object_object_get_ex(event, "source", &source) || !source ||
	    !json_object_object_get_ex(event, "destination", &destination) || !destination || !port)
		return NULL; /* the packet has no IP addresses */
	from = json_get_text(source, "address");
	to = json_get_text(destination, "address");
	if (!from || !to || address_parse(from, &flow.source) ||
	    address_parse(to, &flow.destination) || port_parse(port, &flow, why))
		return "an address or port is malformed";
	/* A reply needs no policy: policy allows replies with the flow that they belong to. */
	flow.name = name_of(work, destination);
	if (!json_object_object_get_ex(event, "reply", &reply) || !json_object_get_boolean(reply))
		take_flow(work, &flow, port_of(source));
	return NULL;
}

/* Returns true if the line is the beginning of an event: the last line of a file that is being
 * written. */
static bool is_cut(const char *line, enum json_tokener_error error)
{
	return !strchr(line, '\n') && line[strspn(line, " \t")] == '{' &&
	       (error == json_tokener_continue || error == json_tokener_error_parse_eof);
}

static int read_events(struct recommend_work *work)
{
	const char *path = work->request->events;
	const bool is_file = strcmp(path, "-");
	FILE *file = is_file ? fopen(path, "r") : stdin;
	struct diag diag = command_diag();
	size_t capacity = 0, number = 0;
	char *line = NULL;
	int status = STATUS_OK;

	if (!file) {
		command_error("%s: %s", path, strerror(errno));
		return STATUS_INPUT;
	}
	while (!status && !work->error && getline(&line, &capacity, file) >= 0) {
		const struct where where = {is_file ? path : "stdin", ++number};
		enum json_tokener_error error;
		struct json_object *event;
		const char *wrong = "not JSON";

		if (line[strspn(line, " \t\n")] == '\0')
			continue;
		event = json_tokener_parse_verbose(line, &error);
		if (json_object_is_type(event, json_type_object)) {
			wrong = take_event(work, event);
		} else if (is_cut(line, error)) {
			diag_note(&diag, &where, NULL, "the last event is cut, and left out");
			break;
		}
		if (wrong) {
			diag_error(&diag, &where, NULL, "%s", wrong);
			status = STATUS_INPUT;
		}
		json_object_put(event);
	}
	if (!status && ferror(file)) {
		command_error("%s: %s", path, strerror(errno));
		status = STATUS_INPUT;
	}
	free(line);
	if (file != stdin)
		fclose(file);
	return status;
}

static int take_live(void *data, const struct bh_event *event)
{
	struct recommend_work *work = data;
	bool audit = event->flags & BH_EVENT_AUDIT;
	const char *names[BH_LEARNED_NAMES], *best = NULL;
	const struct policy *policy;
	size_t n;
	struct flow flow = {.protocol = event->protocol, .port = ntohs(event->destination_port)};

	if (event->flags & (BH_EVENT_NO_PACKET | BH_EVENT_REPLY) ||
	    !(audit || work->request->drops) || !is_denial(event->reason))
		return 0;
	memcpy(&flow.source, &event->source, sizeof(flow.source));
	memcpy(&flow.destination, &event->destination, sizeof(flow.destination));
	policy = monitor_policy(work->monitor, event->generation);
	n = monitor_domains(work->monitor, policy, &flow.source, &flow.destination, names);
	for (size_t i = 0; i < n; i++)
		best = better(best, names[i]);
	flow.name = keep_name(work, best);
	take_flow(work, &flow, ntohs(event->source_port));
	return work->error;
}

static int watch_events(struct recommend_work *work)
{
	struct diag diag = command_diag();
	time_t until = time(NULL) + (time_t)work->request->seconds;
	struct monitor *monitor;
	struct monitor_filter filter = {.kernel.reasons = {0, ~0ull}};
	int error;

	if (work->request->drops)
		filter.kernel.reasons[0] = ~0ull;
	error = monitor_open(work->request->pin, &filter, &diag, &monitor);

	if (error)
		return status_of(error);
	if (!monitor) {
		command_inactive(work->request->pin, "load a policy with --audit first");
		return STATUS_INPUT;
	}
	work->monitor = monitor;
	while (!error && time(NULL) < until && monitor_is_live(monitor)) {
		error = monitor_read(monitor, take_live, work);
		poll(NULL, 0, POLL_MS);
	}
	if (!error)
		error = monitor_read(monitor, take_live, work);
	monitor_close(monitor);
	if (error)
		command_error("cannot read the events: %s", strerror(-error));
	return status_of(error);
}

/* Returns true if YAML reads the text without quotes as a string. Takes words that begin with a
 * letter. */
static bool is_plain(const char *text)
{
	static const char *const others[] = {"true", "false", "null", "yes", "no",
					     "on",   "off",   "y",    "n"};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcasecmp(text, others[i]))
			return false;
	if (!strspn(text, letters))
		return false;
	while (*text && (strchr(letters, *text) || strchr("0123456789-_./", *text)))
		text++;
	return !*text;
}

/* Writes a string as JSON, which is YAML too. Plain words need no quotes. */
static void put_scalar(FILE *to, struct json_object *value)
{
	if (json_object_is_type(value, json_type_string) && is_plain(json_object_get_string(value)))
		fputs(json_object_get_string(value), to);
	else
		fputs(json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE), to);
}

static void put_key(FILE *to, const char *key)
{
	struct json_object *text = json_object_new_string(key);

	put_scalar(to, text);
	fputc(':', to);
	json_object_put(text);
}

static void put_yaml(FILE *to, struct json_object *value, int indent);

static void put_value(FILE *to, struct json_object *value, int indent)
{
	bool list = json_object_is_type(value, json_type_array);

	if (!list && !json_object_is_type(value, json_type_object)) {
		fputc(' ', to);
		put_scalar(to, value);
		fputc('\n', to);
	} else if (list ? !json_object_array_length(value) : !json_object_object_length(value)) {
		fputs(list ? " []\n" : " {}\n", to);
	} else {
		fputc('\n', to);
		put_yaml(to, value, list ? indent : indent + 2);
	}
}

/* @in_list: the first line follows a "- " and is not indented. */
static void put_object(FILE *to, struct json_object *object, int indent, bool in_list)
{
	json_object_object_foreach(object, key, value)
	{
		fprintf(to, "%*s", in_list ? 0 : indent, "");
		in_list = false;
		put_key(to, key);
		put_value(to, value, indent);
	}
}

static void put_yaml(FILE *to, struct json_object *value, int indent)
{
	if (!json_object_is_type(value, json_type_array)) {
		put_object(to, value, indent, false);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);

		fprintf(to, "%*s- ", indent, "");
		if (json_object_is_type(item, json_type_object)) {
			put_object(to, item, indent + 2, true);
		} else {
			put_scalar(to, item);
			fputc('\n', to);
		}
	}
}

static void print_yaml(FILE *to, struct json_object *policies)
{
	for (size_t i = 0; i < json_object_array_length(policies); i++) {
		fputs("---\n", to);
		put_yaml(to, json_object_array_get_idx(policies, i), 0);
	}
}

/* Writes the policies to a temporary .yaml file, which the caller removes. Returns 0 or -EIO,
 * reported. */
static int print_to_file(struct json_object *policies, char path[PATH_MAX])
{
	const char *folder = getenv("TMPDIR");
	bool written = false;
	FILE *file;
	int fd;

	snprintf(path, PATH_MAX, "%s/recommended-XXXXXX.yaml", folder ? folder : "/tmp");
	fd = mkstemps(path, strlen(".yaml"));
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (file) {
		print_yaml(file, policies);
		written = !fflush(file) && !ferror(file);
		written &= !fclose(file);
	}
	if (written)
		return 0;
	command_error("cannot write %s: %s", path, strerror(errno));
	if (fd >= 0)
		unlink(path);
	return -EIO;
}

/* Policies that are only audited count: what they would deny is to be allowed. */
static const struct inputs_audit enforced = {.workloads = true, .enforce = true};

/* Compiles the inputs together with the new policies, and compares the result with the policy
 * before. */
static int check(const struct call *call, const struct recommend_work *work,
		 struct json_object *policies)
{
	char **paths = calloc(call->n_operands + 1, sizeof(*paths));
	struct diag diag = command_diag();
	struct policy *wider = NULL;
	char why[2 * FLOW_TEXT], path[PATH_MAX];
	int error = paths ? print_to_file(policies, path) : -ENOMEM;

	if (!error) {
		memcpy(paths, call->operands, call->n_operands * sizeof(*paths));
		paths[call->n_operands] = path;
		error = inputs_audited(paths, call->n_operands + 1, NULL, &enforced, &diag, &wider,
				       NULL);
		unlink(path);
	}
	if (!error)
		error = advice_check(work->advice, wider, why);
	if (error == -EPERM) {
		command_error("nothing is printed, since the policies would change more than the "
			      "flows seen: %s",
			      why);
		error = -EINVAL;
	}
	policy_free(wider);
	free(paths);
	return error;
}

static int print(const struct call *call, struct recommend_work *work)
{
	struct json_object *policies = advice_policies(work->advice);
	struct diag diag = command_diag();
	struct emit emit = emit_begin(call);
	size_t n = json_object_array_length(policies);
	size_t left_out = 0;
	int error = 0;

	for (int answer = ADVICE_HIGHER; answer < N_ADVICE_ANSWERS; answer++)
		left_out += work->seen[answer];
	if (n)
		error = check(call, work, policies);
	if (!error && call->json) {
		emit_object(&emit, NULL);
		emit_text(&emit, "apiVersion", "v1");
		emit_text(&emit, "kind", "List");
		emit_json(&emit, "items", json_object_get(policies));
		emit_end(&emit);
	} else if (!error && n) {
		print_yaml(stdout, policies);
	}
	json_object_put(policies);
	if (!error)
		diag_note(&diag, NULL, NULL,
			  "%zu policies for %zu flows; %zu are allowed already, %zu are left out",
			  n, work->seen[ADVICE_TAKEN] + work->seen[ADVICE_KNOWN],
			  work->seen[ADVICE_ALLOWED], left_out);
	if (error)
		return status_of(error);
	return left_out ? STATUS_NO : STATUS_OK;
}

static int recommend(const struct call *call, struct recommend_work *work)
{
	struct diag diag = command_diag();
	int error, status;

	error = inputs_audited(call->operands, call->n_operands, NULL, &enforced, &diag,
			       &work->policy, &work->cluster);
	if (error)
		return status_of(error);
	if (!work->cluster) {
		command_error("%s: a compiled file has no labels: give the inputs that it was "
			      "compiled from",
			      call->operands[0]);
		return STATUS_INPUT;
	}
	work->advice = advice_open(work->cluster, work->policy);
	if (!work->advice)
		return status_of(-ENOMEM);
	status = work->request->events ? read_events(work) : watch_events(work);
	if (!status)
		status = work->error ? status_of(work->error) : print(call, work);
	return status;
}

static void take_seconds(struct call *call, void *to)
{
	*(unsigned long *)to = call_number(call, " of seconds", 1, 7 * 86400);
}

static const struct command_option options[] = {
	{0, "events", "FILE", "a file of `monitor -j`; - is standard input",
	 OPTION_TEXT(struct recommend_request, events)},
	{'s', "seconds", "S", "without --events: watch this node for so many seconds",
	 OPTION_TAKE(struct recommend_request, seconds, take_seconds)},
	{0, "drops", NULL, "take dropped flows too, not only audited ones",
	 OPTION_FLAG(struct recommend_request, drops)},
	PIN_OPTION(struct recommend_request, pin),
	{0},
};

static void check_operands(const struct call *call, const struct recommend_request *request)
{
	if (!request->events == !request->seconds)
		call_usage_error(call, "needs --events FILE, or --seconds S to watch this node");
	if (!call->n_operands)
		call_usage_error(call, "needs INPUT: the cluster's objects, which have the labels");
	if (call_reads_stdin(call))
		call_usage_error(call, "INPUT cannot be `-`: it is read twice");
}

static int run(struct call *call)
{
	struct recommend_request request = {0};
	struct recommend_work work = {.request = &request};
	int status;

	call_options(call, &request);
	check_operands(call, &request);
	status = recommend(call, &work);
	advice_close(work.advice);
	policy_free(work.policy);
	inputs_free_cluster(work.cluster);
	return status;
}

const struct command command_recommend = {
	.name = "recommend",
	.operands = "INPUT...",
	.help = "print policies that allow the flows which an audit has seen",
	.options = options,
	.run = run,
};
