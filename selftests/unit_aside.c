// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's objects: each object that becomes set aside, or counts again, is reported once. A
 * namespace that was over a budget is evaluated by a process of its own, which is this program, and
 * here may be killed, fail, or wait for a signal before it evaluates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/evaluation.h"
#include "cluster/objects.h"
#include "policy/blob_file.h"

struct heard {
	unsigned int n, changes;
	char name[64], why[300]; /* of the last report; why "": it counts again */
};

static void on_change(void *data)
{
	((struct heard *)data)->changes++;
}

static void on_refusal(void *data, struct json_object *object, const char *why)
{
	(void)data;
	(void)object;
	(void)why;
	fail();
}

static void on_aside(void *data, struct json_object *object, const char *why)
{
	struct heard *heard = data;

	heard->n++;
	snprintf(heard->name, sizeof(heard->name), "%s", api_text(object, "metadata.name"));
	snprintf(heard->why, sizeof(heard->why), "%s", why ? why : "");
}

static void take(struct objects *objects, const char *type, const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	assert_true(objects_take(objects, type, object));
	json_object_put(object);
}

/* @cidrs: rules for one address each; @between: what stands between the addresses of two. */
static void take_cidrs(struct objects *objects, const char *type, unsigned int cidrs,
		       const char *between)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"big\",\"namespace\":\"evil\"},\"spec\":{\"podSelector\":{},\"ingress\":"
		"[%s",
		cidrs ? "{\"from\":[" : "");
	for (unsigned int i = 0; i < cidrs; i++)
		fprintf(to, "%s{\"ipBlock\":{\"cidr\":\"20.0.%u.%u/32\"}}", i ? between : "",
			i >> 8, i & 255);
	fprintf(to, "%s]}}", cidrs ? "]}" : "");
	fclose(to);
	take(objects, type, text);
	free(text);
}

static void take_policy(struct objects *objects, const char *type, unsigned int cidrs)
{
	take_cidrs(objects, type, cidrs, "]},{\"from\":[");
}

/* A large policy that is within its budgets: all addresses are one segment. */
static void take_list(struct objects *objects, const char *type, unsigned int cidrs)
{
	take_cidrs(objects, type, cidrs, ",");
}

static void take_pod(struct objects *objects, const char *type)
{
	take(objects, type,
	     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
	     "\"evil\"},\"spec\":{},\"status\":{\"podIPs\":[{\"ip\":\"10.0.0.1\"}]}}");
}

static void compile(struct objects *objects)
{
	struct diag diag = {0};
	struct policy *policy = NULL;

	assert_int_equal(objects_compile(objects, NULL, &diag, &policy), 0);
	policy_free(policy);
}

static const struct objects_ops ops = {
	.changed = on_change, .refused = on_refusal, .aside = on_aside};

static void reports_each_change_once(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);

	(void)state;
	assert_non_null(objects);
	take_pod(objects, "ADDED");
	take_policy(objects, "ADDED", 10);
	compile(objects);
	assert_int_equal(heard.n, 0);
	assert_int_equal(objects_aside(objects), 0);

	take_policy(objects, "MODIFIED", 5000);
	compile(objects);
	assert_int_equal(heard.n, 1);
	assert_string_equal(heard.name, "big");
	assert_string_equal(heard.why,
			    "isolates what it selects: it needs 4097 segments of addresses "
			    "or more, the limit is 4096");
	assert_int_equal(objects_aside(objects), 1);
	take_policy(objects, "MODIFIED", 5001);
	compile(objects);
	assert_int_equal(heard.n, 1);

	/* a new leader writes the Events of what is set aside */
	objects_report_refused(objects);
	assert_int_equal(heard.n, 2);

	take_policy(objects, "MODIFIED", 20);
	compile(objects);
	assert_int_equal(heard.n, 3);
	assert_string_equal(heard.why, "");
	assert_int_equal(objects_aside(objects), 0);

	take_policy(objects, "MODIFIED", 5000);
	compile(objects);
	take_policy(objects, "DELETED", 0);
	assert_int_equal(objects_aside(objects), 0);
	compile(objects);
	assert_int_equal(heard.n, 4);
	objects_close(objects);
}

/* A policy that is over its budget only beside a Pod: many ports from everywhere, and one more from
 * each of many CIDRs. @protocol: of the first port; "" is TCP, too. */
static void take_ports(struct objects *objects, const char *type, const char *protocol)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to,
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{"
		"\"name\":\"ports\",\"namespace\":\"evil\"},\"spec\":{\"podSelector\":{},"
		"\"ingress\":"
		"[{\"ports\":[{%s\"port\":1}",
		protocol);
	for (unsigned int port = 3; port < 65536; port += 2)
		fprintf(to, ",{\"port\":%u}", port);
	fprintf(to, "]}");
	for (unsigned int i = 0; i < 900; i++)
		fprintf(to,
			",{\"from\":[{\"ipBlock\":{\"cidr\":\"20.%u.%u.0/24\"}}],\"ports\":[{"
			"\"port\":%u}]}",
			i >> 8, i & 255, 2 + 2 * i);
	fprintf(to, "]}}");
	fclose(to);
	take(objects, type, text);
	free(text);
}

/* A policy that means the same as when it was over its budget is not over it for good. */
static void other_objects_count_too(void **state)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);

	(void)state;
	assert_non_null(objects);
	take_pod(objects, "ADDED");
	take_ports(objects, "ADDED", "");
	compile(objects);
	assert_int_equal(objects_aside(objects), 1);
	take_pod(objects, "DELETED");
	take_ports(objects, "MODIFIED", "\"protocol\":\"TCP\",");
	compile(objects);
	assert_int_equal(objects_aside(objects), 0);
	objects_close(objects);
}

/* Beside a loop */

#define PLAY "BULKHEAD_PLAY" /* what the process that evaluates does */
#define LIMIT_MS 120000

/* Returns true if the process has its limits, ends with the engine, and has no file of it. */
static bool is_limited(void)
{
	struct rlimit seconds;
	void *memory = malloc(4UL << 30);
	int death = 0, files = 0;

	free(memory);
	getrlimit(RLIMIT_CPU, &seconds);
	prctl(PR_GET_PDEATHSIG, &death);
	for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
		files += fcntl(fd, F_GETFD) >= 0;
	return !memory && seconds.rlim_max <= 60 && death == SIGKILL && !files &&
	       getpriority(PRIO_PROCESS, 0) >= 10;
}

static int play(char **argv)
{
	const char *what = getenv(PLAY);
	int status;

	if (!strcmp(what, "killed"))
		raise(SIGKILL);
	if (!strcmp(what, "waits"))
		raise(SIGSTOP);
	status = evaluation_main(argv);
	if (!strcmp(what, "fails") || (!strcmp(what, "limited") && is_limited()))
		status = EXIT_FAILURE;
	return status;
}

struct world {
	char config[40];
	struct api *api;
	struct objects *objects;
	struct heard heard;
	struct api_timer tick, limit;
	bool (*until)(struct world *world);
	pid_t waits; /* the process that waits for a signal */
	uint64_t later; /* ms */
};

static void on_tick(void *data)
{
	struct world *world = data;

	if (world->until(world))
		api_stop(world->api);
	else
		api_timer_set(world->api, &world->tick, 5);
}

static void on_limit(void *data)
{
	(void)data;
	fail_msg("nothing happens");
}

static void run_until(struct world *world, bool (*until)(struct world *world))
{
	world->until = until;
	api_timer_set(world->api, &world->tick, 0);
	api_timer_set(world->api, &world->limit, LIMIT_MS);
	api_run(world->api, -1);
	api_timer_stop(world->api, &world->limit);
}

static bool has_changed(struct world *world)
{
	return world->heard.changes;
}

static bool is_later(struct world *world)
{
	return api_now() >= world->later;
}

static bool has_stopped(struct world *world)
{
	siginfo_t info = {0};

	if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG))
		assert_int_equal(errno, ECHILD);
	world->waits = info.si_pid;
	return info.si_pid;
}

/* Returns true if a reason why an object is set aside begins so. */
static bool says(struct world *world, const char *why)
{
	world->heard.why[0] = '\0';
	objects_report_refused(world->objects);
	return !strncmp(world->heard.why, why, strlen(why));
}

static bool says_limit(struct world *world)
{
	return says(world, "isolates what it selects: it needs 4097 segments");
}

/* Returns true if it was reported that the policy's namespace cannot be evaluated, and why. */
static bool reports(struct world *world, const char *why)
{
	static const char start[] =
		"isolates what it selects: its namespace was over a budget, and "
		"cannot be evaluated now: ";

	return !strncmp(world->heard.why, start, strlen(start)) &&
	       !strcmp(world->heard.why + strlen(start), why);
}

static bool reports_failure(struct world *world)
{
	return reports(world, "the process that does so failed");
}

static bool reports_signal(struct world *world)
{
	return reports(world, "the process that does so ended by signal 9");
}

static uint64_t checksum(struct objects *objects)
{
	struct diag diag = {0};
	struct policy *policy = NULL;
	uint64_t checksum;
	void *blob;
	size_t size;

	assert_int_equal(objects_compile(objects, NULL, &diag, &policy), 0);
	assert_int_equal(blob_write(policy, &blob, &size), 0);
	free(blob);
	checksum = policy->checksum;
	policy_free(policy);
	return checksum;
}

/* Returns what the objects make if the policy is a list of these addresses. */
static uint64_t checksum_of_list(unsigned int cidrs)
{
	struct heard heard = {0};
	struct objects *objects = objects_open(NULL, &ops, &heard);
	uint64_t made;

	take_pod(objects, "ADDED");
	take_list(objects, "ADDED", cidrs);
	made = checksum(objects);
	objects_close(objects);
	return made;
}

/* The policy has been over its budget, and set aside. */
static void begin(struct world *world, const char *what)
{
	static struct diag quiet;
	int fd;

	strcpy(world->config, "/tmp/unit_aside.XXXXXX");
	fd = mkstemp(world->config);
	assert_true(fd >= 0);
	dprintf(fd, "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
		    "contexts: [{name: here, context: {cluster: c, user: u}}]\n"
		    "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1/\"}}]\n"
		    "users: [{name: u, user: {token: secret}}]\n");
	close(fd);
	quiet = (struct diag){0};
	assert_int_equal(setenv(PLAY, what, true), 0);
	assert_int_equal(api_open(world->config, &quiet, &world->api), 0);
	world->objects = objects_open(world->api, &ops, &world->heard);
	assert_non_null(world->objects);
	world->tick = (struct api_timer){.run = on_tick, .data = world};
	world->limit = (struct api_timer){.run = on_limit, .data = world};
	objects_evaluate(world->objects, true);
	take_pod(world->objects, "ADDED");
	take_policy(world->objects, "ADDED", 5000);
	compile(world->objects);
	assert_int_equal(objects_aside(world->objects), 1);
	world->heard = (struct heard){0};
}

/* No process is left. */
static void end(struct world *world)
{
	objects_close(world->objects);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	api_close(world->api);
	unlink(world->config);
}

static void a_verdict_is_taken_into_the_next_compile(void **state)
{
	struct world world = {0};
	uint64_t list = checksum_of_list(5000);

	(void)state;
	begin(&world, "answers");
	take_list(world.objects, "MODIFIED", 5000);
	assert_int_equal(world.heard.changes, 0);
	assert_true(checksum(world.objects) != list);
	assert_int_equal(objects_aside(world.objects), 1);
	run_until(&world, has_changed);
	assert_true(checksum(world.objects) == list);
	assert_int_equal(objects_aside(world.objects), 0);
	assert_int_equal(world.heard.n, 1);
	assert_string_equal(world.heard.why, "");

	/* a namespace that was over a budget lately is evaluated before its policy counts */
	take_policy(world.objects, "MODIFIED", 5001);
	assert_true(says(&world,
			 "isolates what it selects: its namespace was over a budget, and is "
			 "looked at again within"));
	compile(world.objects);
	assert_false(says_limit(&world));
	world.heard.changes = 0;
	run_until(&world, says_limit);
	assert_int_equal(world.heard.changes, 0);
	assert_int_equal(objects_aside(world.objects), 1);
	end(&world);
}

static void a_verdict_on_former_policies_is_thrown_away(void **state)
{
	struct world world = {0};

	(void)state;
	begin(&world, "waits");
	take_list(world.objects, "MODIFIED", 5000);
	run_until(&world, has_stopped);
	take_policy(world.objects, "MODIFIED", 5001);
	kill(world.waits, SIGCONT);
	/* the first process has found the list within its budgets; another one evaluates now */
	run_until(&world, has_stopped);
	assert_int_equal(world.heard.changes, 0);
	assert_int_equal(objects_aside(world.objects), 1);
	kill(world.waits, SIGCONT);
	run_until(&world, says_limit);
	assert_int_equal(world.heard.changes, 0);
	end(&world);
}

/* The policy stays closed, for a reason that is reported once, and is evaluated again later. */
static void fails(const char *what, bool (*until)(struct world *world))
{
	struct world world = {0};

	begin(&world, what);
	take_list(world.objects, "MODIFIED", 5000);
	run_until(&world, until);
	assert_int_equal(world.heard.changes, 0);
	compile(world.objects);
	assert_int_equal(world.heard.n, 1);
	assert_int_equal(objects_aside(world.objects), 1);
	setenv(PLAY, "answers", true);
	run_until(&world, has_changed);
	compile(world.objects);
	assert_int_equal(objects_aside(world.objects), 0);
	end(&world);
}

static void without_an_answer_it_stays_closed(void **state)
{
	(void)state;
	fails("killed", reports_signal);
	fails("fails", reports_failure);
}

static void the_process_has_limits(void **state)
{
	(void)state;
	fails("limited", reports_failure);
}

static void no_process_outlives_its_use(void **state)
{
	struct world world = {0};

	(void)state;
	begin(&world, "waits");
	take_list(world.objects, "MODIFIED", 5000);
	run_until(&world, has_stopped);
	objects_evaluate(world.objects, false);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	/* and none begins, long after the pause */
	take_list(world.objects, "MODIFIED", 5002);
	world.later = api_now() + 3000;
	run_until(&world, is_later);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	objects_evaluate(world.objects, true);
	run_until(&world, has_stopped);
	end(&world);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_each_change_once),
		cmocka_unit_test(other_objects_count_too),
		cmocka_unit_test(a_verdict_is_taken_into_the_next_compile),
		cmocka_unit_test(a_verdict_on_former_policies_is_thrown_away),
		cmocka_unit_test(without_an_answer_it_stays_closed),
		cmocka_unit_test(the_process_has_limits),
		cmocka_unit_test(no_process_outlives_its_use),
	};

	if (evaluation_is_called(argc, argv))
		return play(argv);
	return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
