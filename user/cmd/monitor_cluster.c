// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/monitor_cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/linkhash.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "api/api.h"
#include "cmd/side.h"
#include "cmd/json_output.h"
#include "cmd/reason.h"
#include "cmd/screen.h"
#include "cmd/signals.h"
#include "node/observe/event_filter.h"

#define PODS "/api/v1/namespaces/bulkhead-system/pods"
#define FOLLOWERS "labelSelector=app%3Dbulkhead-follower"
#define AGAIN_MS 1000 /* before a log that ended is read again, at first */
#define AGAIN_MAX 30000
#define LOOK_MS 500 /* between looks whether anybody reads standard output */
/* Denials of a log that are known again: more than a follower reports within the seconds that are
 * read twice (cluster/denials.h). */
#define KNOWN 64

struct denials_watch {
	struct monitor_cluster *options;
	struct api *api;
	struct diag diag;
	struct lh_table *logs; /* by the pod's name: struct log */
	bool synced; /* the pods are listed */
	size_t reading; /* logs that are being read */
	int status;
	struct api_timer end, look;
};

/* A follower's log. */
struct log {
	struct denials_watch *cluster;
	char *pod;
	struct api_lines *lines;
	struct api_timer again;
	unsigned int backoff;
	bool begun; /* the server has begun to answer */
	uint64_t ended; /* ms: when the log last ended that had begun; 0: not yet */
	uint64_t known[KNOWN]; /* hashes of the last denials; 0: none */
	size_t n_known; /* denials so far */
	bool late; /* the pod came after the first list: its log is read from its beginning */
	bool failed; /* a fault was reported */
};

/* Filters */

static const char *text_of(struct json_object *line, const char *path)
{
	const char *text = api_text(line, path);

	return text ? text : "";
}

static bool is_named(const struct monitor_end *end, const char *name)
{
	const size_t n = strlen(end->ns);

	return !strncmp(name, end->ns, n) && name[n] == '/' &&
	       (!end->name || !strcmp(name + n + 1, end->name));
}

/* Notes which ends of the filter the name of a packet's end has. Returns 0 or -ENOMEM. */
static int add_end(const struct monitor_filter *filter, const char *name,
		   const struct bh_addr *address, struct table *ends)
{
	uint8_t as = 0;

	for (size_t i = 0; i < filter->n_ends; i++)
		if (is_named(&filter->ends[i], name))
			as |= filter->ends[i].as;
	return table_insert(ends, address, &as);
}

static struct bh_addr address_of(struct json_object *line, const char *path)
{
	struct address address = {};
	struct bh_addr addr;

	address_parse(text_of(line, path), &address);
	memcpy(&addr, &address, sizeof(addr));
	return addr;
}

/* Makes the event again that a line tells of, as far as filters ask for its members. */
static struct bh_event event_of(struct json_object *line)
{
	struct bh_event event = {.source = address_of(line, "source.address"),
				 .destination = address_of(line, "destination.address"),
				 .source_port = htons(api_number(line, "source.port")),
				 .destination_port = htons(api_number(line, "destination.port")),
				 .hook = BH_HOOK_UPLINK};
	const uint64_t reason = reason_bits(text_of(line, "reason_name"));
	struct flow flow = {};
	char why[FLOW_TEXT];

	if (!port_parse(text_of(line, "port"), &flow, why))
		event.protocol = flow.protocol;
	event.reason = reason ? __builtin_ctzll(reason) : 0;
	if (!strcmp(text_of(line, "verdict"), "audit"))
		event.flags |= BH_EVENT_AUDIT;
	if (json_object_get_boolean(api_get(line, "reply")))
		event.flags |= BH_EVENT_REPLY;
	return event;
}

/* Returns true if the options ask for this line. */
static bool is_asked(const struct event_options *selected, struct json_object *line)
{
	const struct bh_event event = event_of(line);
	struct bh_filter filter = selected->filter.kernel;
	struct table ends;
	bool asked;

	for (size_t i = 0; i < selected->filter.n_ends; i++)
		filter.named |= selected->filter.ends[i].as;
	table_init(&ends, sizeof(struct bh_addr), sizeof(uint8_t));
	asked = !add_end(&selected->filter, text_of(line, "source.name"), &event.source, &ends) &&
		!add_end(&selected->filter, text_of(line, "destination.name"), &event.destination,
			 &ends) &&
		event_filter_matches(&filter, &ends, &event) &&
		event_options_match(selected, &event);
	table_free(&ends);
	return asked;
}

/* Lines */

static void print_side(struct json_object *line, const char *side)
{
	struct json_object *object = api_get(line, side);
	const char *name = api_text(object, "name"), *address = text_of(object, "address");
	const int64_t port = api_number(object, "port");

	if (name)
		diag_print_text(stdout, name);
	fputs(name ? " (" : "", stdout);
	fputs(port && strchr(address, ':') ? "[" : "", stdout);
	diag_print_text(stdout, address);
	fputs(port && strchr(address, ':') ? "]" : "", stdout);
	if (port)
		printf(":%" PRId64, port);
	fputs(name ? ")" : "", stdout);
}

static void print_list(struct json_object *array, const char *before)
{
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		fputs(i ? ", " : before, stdout);
		diag_print_text(stdout,
				json_object_get_string(json_object_array_get_idx(array, i)));
	}
}

/* Prints the rule or the policies by which an end denies, or would if they were enforced; nothing
 * if the end allows. */
static void print_decision(struct json_object *line, const char *end)
{
	struct json_object *decision = api_get(line, end), *audit = api_get(decision, "audit");
	const char *rule;

	if (!strcmp(text_of(decision, "verdict"), "deny"))
		audit = NULL;
	else if (audit)
		decision = audit;
	else
		return;
	printf("; %s: %s", end, audit ? "audit: deny " : "deny ");
	diag_print_text(stdout, text_of(decision, "tier"));
	rule = api_text(decision, "rule");
	if (rule) {
		fputc(' ', stdout);
		diag_print_text(stdout, text_of(decision, "policy"));
		fputc('/', stdout);
		diag_print_text(stdout, rule);
	}
	print_list(api_get(decision, "isolated_by"), ", isolated by ");
	print_list(api_get(decision, "policies"), ", isolated by ");
}

static void print_text(struct json_object *line)
{
	const char *verdict = text_of(line, "verdict");
	const enum paint paint = strcmp(verdict, "drop") ? PAINT_WARN : PAINT_BAD;

	diag_print_text(stdout, text_of(line, "time"));
	fputc(' ', stdout);
	diag_print_text(stdout, text_of(line, "node"));
	fputs(paint_on(paint), stdout);
	fputc(' ', stdout);
	diag_print_text(stdout, verdict);
	fputs(paint_off(), stdout);
	fputc(' ', stdout);
	print_side(line, "source");
	fputs(" -> ", stdout);
	print_side(line, "destination");
	fputc(' ', stdout);
	diag_print_text(stdout, text_of(line, "port"));
	fputs(": ", stdout);
	diag_print_text(stdout, text_of(line, "reason"));
	print_decision(line, "egress");
	print_decision(line, "ingress");
	if (api_number(line, "count") > 1)
		printf("; %" PRId64 " packets", api_number(line, "count"));
	fputc('\n', stdout);
}

/* Returns true if this line was among the last: a log that is read again repeats the lines of its
 * last seconds. Their times tell nothing: many denials have one time, and a follower reports an
 * older one after a younger one. */
static bool is_known(struct log *log, const char *text)
{
	const uint64_t hash = XXH3_64bits(text, strlen(text)) | 1;

	for (size_t i = 0; i < KNOWN; i++)
		if (log->known[i] == hash)
			return true;
	log->known[log->n_known++ % KNOWN] = hash;
	return false;
}

/* A follower's log also has messages, which are no JSON. */
static void take_line(void *data, const char *text)
{
	struct log *log = data;
	struct denials_watch *cluster = log->cluster;
	struct monitor_cluster *options = cluster->options;
	struct json_object *line = *text == '{' ? json_tokener_parse(text) : NULL;

	log->backoff = 0;
	if (!options->left || !api_get(line, "count") || is_known(log, text) ||
	    !is_asked(options->selected, line)) {
		json_object_put(line);
		return;
	}
	if (options->json) {
		json_write(stdout, line, options->pretty);
	} else {
		print_text(line);
		json_object_put(line);
	}
	if (fflush(stdout)) {
		command_error("cannot write standard output: %s", strerror(errno));
		cluster->status = STATUS_KERNEL;
	}
	if (!--options->left || cluster->status == STATUS_KERNEL)
		api_stop(cluster->api);
}

/* Logs */

static void read_log(void *data);

/* Ends if all that was asked for is printed. */
static void end_past(struct denials_watch *cluster)
{
	if (cluster->options->since && cluster->synced && !cluster->reading)
		api_stop(cluster->api);
}

static void complain(struct log *log, long status, const char *why)
{
	if (!log->failed)
		diag_warn(&log->cluster->diag, NULL, NULL, "%s: its log cannot be read: %s",
			  log->pod, why ? why : "the connection was lost");
	log->failed = true;
	if (status == 401 || status == 403) {
		log->cluster->status = STATUS_KERNEL;
		api_stop(log->cluster->api);
	}
}

static void log_began(void *data)
{
	struct log *log = data;

	log->begun = true;
}

static void log_ended(void *data, long status, const char *error)
{
	struct log *log = data;
	struct denials_watch *cluster = log->cluster;

	api_lines_close(log->lines);
	log->lines = NULL;
	/* an attempt that failed has read nothing of what was written since the last one */
	if (log->begun || !log->ended)
		log->ended = api_now();
	log->begun = false;
	cluster->reading--;
	if (status != 200)
		complain(log, status, error);
	if (cluster->options->since) {
		if (status != 200 && !cluster->status)
			cluster->status = STATUS_NO;
		return end_past(cluster);
	}
	api_timer_set(cluster->api, &log->again, api_backoff(&log->backoff, AGAIN_MS, AGAIN_MAX));
}

static void read_log(void *data)
{
	static const struct api_lines_ops ops = {
		.began = log_began, .line = take_line, .ended = log_ended};
	struct log *log = data;
	const struct monitor_cluster *options = log->cluster->options;
	char path[512], from[64] = "&follow=true";

	if (options->since)
		snprintf(from, sizeof(from), "&sinceSeconds=%" PRIu64, options->since);
	else if (log->ended)
		snprintf(from, sizeof(from), "&follow=true&sinceSeconds=%" PRIu64,
			 (api_now() - log->ended) / 1000 + 2);
	else if (!log->late)
		snprintf(from, sizeof(from), "&follow=true&tailLines=0");
	snprintf(path, sizeof(path), PODS "/%.253s/log?container=follower%s", log->pod, from);
	log->lines = api_lines(log->cluster->api, path, &ops, log);
	if (log->lines)
		log->cluster->reading++;
	else
		api_timer_set(log->cluster->api, &log->again, AGAIN_MS);
}

static void free_log(struct lh_entry *entry)
{
	struct log *log = lh_entry_v(entry);

	if (log->lines)
		log->cluster->reading--;
	api_timer_stop(log->cluster->api, &log->again);
	api_lines_close(log->lines);
	free(log->pod);
	free(log);
}

static void pod_changed(void *data, const char *key, struct json_object *pod)
{
	struct denials_watch *cluster = data;
	struct log *log;

	(void)key;
	if (strcmp(text_of(pod, "status.phase"), "Running") ||
	    lh_table_lookup_entry(cluster->logs, text_of(pod, "metadata.name")))
		return;
	log = calloc(1, sizeof(*log));
	if (!log)
		return;
	*log = (struct log){.cluster = cluster,
			    .pod = strdup(text_of(pod, "metadata.name")),
			    .late = cluster->synced,
			    .again = {.run = read_log, .data = log}};
	if (!log->pod || lh_table_insert(cluster->logs, log->pod, log)) {
		free(log->pod);
		free(log);
		return;
	}
	read_log(log);
}

static void pod_deleted(void *data, const char *key)
{
	struct denials_watch *cluster = data;
	const char *slash = strchr(key, '/');
	struct lh_entry *entry = lh_table_lookup_entry(cluster->logs, slash ? slash + 1 : key);

	if (entry)
		lh_table_delete_entry(cluster->logs, entry);
	end_past(cluster);
}

static void pods_synced(void *data)
{
	struct denials_watch *cluster = data;

	if (!cluster->synced && !cluster->logs->count)
		diag_warn(&cluster->diag, NULL, NULL,
			  "no follower runs in the namespace bulkhead-system");
	cluster->synced = true;
	end_past(cluster);
}

static void end(void *data)
{
	struct denials_watch *cluster = data;

	api_stop(cluster->api);
}

/* Ends if no process reads standard output any more. */
static void look(void *data)
{
	struct denials_watch *cluster = data;
	struct pollfd output = {.fd = STDOUT_FILENO};

	if (poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP))
		return api_stop(cluster->api);
	api_timer_set(cluster->api, &cluster->look, LOOK_MS);
}

static int begin(struct denials_watch *cluster)
{
	static const struct api_watch_ops ops = {
		.changed = pod_changed, .deleted = pod_deleted, .synced = pods_synced};

	cluster->logs = lh_kchar_table_new(64, free_log);
	if (!cluster->logs || !api_watch(cluster->api, PODS, FOLLOWERS, &ops, cluster))
		return -ENOMEM;
	cluster->end = (struct api_timer){.run = end, .data = cluster};
	cluster->look = (struct api_timer){.run = look, .data = cluster};
	if (cluster->options->seconds)
		api_timer_set(cluster->api, &cluster->end, cluster->options->seconds * 1000);
	look(cluster);
	return 0;
}

int monitor_cluster(struct monitor_cluster *options)
{
	struct denials_watch cluster = {.options = options, .diag = command_diag()};
	const int stop = signals_open();
	int error = stop < 0 ? stop : api_open(options->kubeconfig, &cluster.diag, &cluster.api);

	if (!error)
		error = begin(&cluster);
	if (!error)
		api_run(cluster.api, stop);
	if (cluster.logs)
		lh_table_free(cluster.logs);
	api_close(cluster.api);
	if (stop >= 0)
		close(stop);
	return error ? status_of(error) : cluster.status;
}
