// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists and watches against a scripted API server in a child process: pages, streams that end,
 * split and malformed lines, expired versions, errors and nonsense. A script is a list of
 * exchanges: what the request must contain, and the answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/loop.h"

#define PARTS 32
/* Ends a test whose reports never come. A busy machine takes over 20 s for test_large_page. */
#define LIMIT_MS 600000
#define MANY (33u << 20) /* bytes that no page may have */
#define STALL_MS 60000 /* no limit of a request is less, and each wait between two is */

/* An answer: its status, then its parts, each sent by itself. HANG: the connection stays open. */
struct exchange {
	const char *request; /* part of the request; with a leading !, not part of it */
	const char *status; /* NULL: the connection ends without an answer */
	const char *parts[PARTS];
};
#define HANG "\x01"
#define SPACES "\x02" /* white space of MANY bytes */
#define RULES "\x03" /* 250,000 rules of two objects each */
#define EMPTY "\x04" /* 500,000 rules that open everything */
#define FILLS "\x05" /* as many characters as a large object has */

static void send_text(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(0);
}

/* The client may end the connection before it has all. */
static void send_times(int fd, const char *text, size_t times)
{
	const size_t n = strlen(text);
	char *all = malloc(n * times);

	if (!all)
		_exit(0);
	for (size_t i = 0; i < times; i++)
		memcpy(all + i * n, text, n);
	for (size_t sent = 0; sent < n * times;) {
		ssize_t some = send(fd, all + sent, n * times - sent, MSG_NOSIGNAL);

		if (some < 0)
			break;
		sent += some;
	}
	free(all);
}

static void answer(int fd, const struct exchange *exchange)
{
	char line[200];

	if (!exchange->status)
		return;
	snprintf(line, sizeof(line),
		 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
		 exchange->status);
	send_text(fd, line);
	for (int i = 0; i < PARTS && exchange->parts[i]; i++) {
		if (!strcmp(exchange->parts[i], HANG)) {
			pause();
			_exit(0);
		}
		if (!strcmp(exchange->parts[i], SPACES))
			send_times(fd, "  ", MANY / 2);
		else if (!strcmp(exchange->parts[i], RULES))
			send_times(fd, "{\"a\":{}},", 250000);
		else if (!strcmp(exchange->parts[i], EMPTY))
			send_times(fd, "{},", 500000);
		else if (!strcmp(exchange->parts[i], FILLS))
			send_times(fd, "x", TURN_BYTES);
		else
			send_text(fd, exchange->parts[i]);
		usleep(20000);
	}
}

static void read_request(int fd, char *request, size_t size)
{
	size_t n = 0;

	while (n < size - 1) {
		ssize_t got = read(fd, request + n, size - 1 - n);

		if (got <= 0)
			break;
		n += got;
		request[n] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	request[n] = '\0';
}

/* Returns true if the answer does not end: another process gives it then. */
static bool hangs(const struct exchange *exchange)
{
	for (int i = 0; i < PARTS && exchange->parts[i]; i++)
		if (!strcmp(exchange->parts[i], HANG))
			return true;
	return false;
}

static void serve(int listener, const struct exchange *script)
{
	static char request[65536];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; script->request; script++) {
		int fd = accept(listener, NULL, NULL);
		bool without = *script->request == '!';

		read_request(fd, request, sizeof(request));
		if (!strstr(request, script->request + without) != without) {
			send_text(fd, "HTTP/1.1 418 Unexpected\r\nConnection: close\r\n\r\n"
				      "{\"message\":\"unexpected\"}");
			fprintf(stderr, "# not %s: %.200s\n", script->request, request);
			_exit(1);
		}
		if (!hangs(script) || !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			answer(fd, script);
		}
		close(fd);
	}
	pause();
	_exit(0);
}

struct world {
	pid_t server;
	char folder[40], config[64];
	struct api *api;
	char log[4096]; /* the callbacks' reports */
	const char *want; /* the loop ends once the log is that */
	struct api_timer limit;
};

static void say(struct world *world, const char *what, const char *key, const char *text)
{
	size_t n = strlen(world->log);

	snprintf(world->log + n, sizeof(world->log) - n, "%s%s%s%s%s ", what, key ? " " : "",
		 key ? key : "", text ? "=" : "", text ? text : "");
	if (!strcmp(world->log, world->want))
		api_stop(world->api);
}

static void changed(void *data, const char *key, struct json_object *object)
{
	say(data, "+", key, api_text(object, "metadata.resourceVersion"));
}

static void deleted(void *data, const char *key)
{
	say(data, "-", key, NULL);
}

static void synced(void *data)
{
	say(data, "synced", NULL, NULL);
}

static void too_late(void *data)
{
	api_stop(((struct world *)data)->api);
}

/* The client's clock, in the place of user/api/clock.c. If own_clock is set,
 * each query moves a clock of the test's own by step_ms, and each wait but the limit is over at
 * once. */
static bool own_clock;
static unsigned int step_ms;

uint64_t api_now(void)
{
	static uint64_t own = 1;
	struct timespec now;

	if (own_clock)
		return own += step_ms;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* The linker puts this in the client's calls (Makefile). */
void __real_api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms);
void __wrap_api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms);

void __wrap_api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms)
{
	if (own_clock)
		ms = timer->run == too_late ? INT32_MAX : ms < STALL_MS ? 0 : ms;
	__real_api_timer_set(api, timer, ms);
}

static void write_config(struct world *world, int port, const char *user)
{
	FILE *file;

	strcpy(world->folder, "/tmp/unit_api.XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->config, sizeof(world->config), "%s/config", world->folder);
	file = fopen(world->config, "w");
	assert_non_null(file);
	fprintf(file,
		"apiVersion: v1\nkind: Config\ncurrent-context: here\n"
		"contexts: [{name: here, context: {cluster: c, user: u}}]\n"
		"clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d/\"}}]\n"
		"users: [{name: u, user: {%s}}]\n",
		port, user);
	assert_int_equal(fclose(file), 0);
}

static struct diag quiet;

static void begin(struct world *world, const struct exchange *script, const char *user)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	quiet = (struct diag){0};
	assert_int_equal(bind(listener, (void *)&address, length), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (void *)&address, &length), 0);
	world->server = fork();
	if (!world->server)
		serve(listener, script);
	close(listener);
	write_config(world, ntohs(address.sin_port), user);
	assert_int_equal(api_open(world->config, &quiet, &world->api), 0);
	world->limit = (struct api_timer){.run = too_late, .data = world};
	api_timer_set(world->api, &world->limit, LIMIT_MS);
}

static void end(struct world *world)
{
	api_close(world->api);
	kill(world->server, SIGKILL);
	waitpid(world->server, NULL, 0);
	unlink(world->config);
	rmdir(world->folder);
}

static const struct api_watch_ops ops = {.changed = changed, .deleted = deleted, .synced = synced};

/* Follows the server's @script until the reports are @want. */
static void follows(const struct exchange *script, const char *want)
{
	struct world world = {.want = want};

	begin(&world, script, "token: secret");
	assert_non_null(api_watch(world.api, "/api/v1/pods", NULL, &ops, &world));
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

#define OBJECT(name, version)                                                                     \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\",\"resourceVersion\":\"" version \
	"\"}}"
#define LIST(version, next, items)                                                \
	"{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next \
	"\"},\"items\":[" items "]}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"

static void test_pages(void **state)
{
	static const struct exchange script[] = {
		{"GET /api/v1/pods?limit=500 ",
		 "200 OK",
		 {LIST("10", "more", OBJECT("a", "1") "," OBJECT("b", "2"))}},
		{"&continue=more", "200 OK", {LIST("10", "", OBJECT("c", "3"))}},
		{"resourceVersion=10", "200 OK", {EVENT("ADDED", "d", "11"), HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 + n/b=2 + n/c=3 synced + n/d=11 ");
}

static void test_parts(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "200 OK", {LIST("10", "", "")}},
		{"watch=1",
		 "200 OK",
		 {"{\"type\":\"ADDED\",\"ob", "ject\":" OBJECT("a", "11"),
		  "}\n" EVENT("MODIFIED", "a", "12") "{\"type\":\"DEL",
		  "ETED\",\"object\":" OBJECT("a", "13") "}\n" EVENT("ADDED", "b", "14"), HANG}},
		{0},
	};

	(void)state;
	follows(script, "synced + n/a=11 + n/a=12 - n/a + n/b=14 ");
}

/* A page of too many bytes is asked for again with fewer objects, down to one. */
static void test_large_page(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {"{\"items\":[" OBJECT("a", "1"), SPACES}},
		{"?limit=62 ", "200 OK", {LIST("10", "more", OBJECT("a", "1"))}},
		{"?limit=62&continue=more", "200 OK", {SPACES}},
		{"?limit=7 ", "200 OK", {SPACES}},
		{"?limit=1 ", "200 OK", {LIST("10", "more", OBJECT("a", "1"))}},
		{"?limit=1&continue=more", "200 OK", {LIST("10", "", OBJECT("b", "2"))}},
		{"resourceVersion=10", "200 OK", {EVENT("ADDED", "d", "11"), HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 + n/b=2 synced + n/d=11 ");
}

static void changed_rules(void *data, const char *key, struct json_object *object)
{
	struct json_object *rules = api_get(object, "spec.ingress");

	say(data, json_object_is_type(rules, json_type_array) ? "*" : "!", key,
	    json_object_is_type(rules, json_type_array) ? api_text(object, "spec.egress")
							: json_object_get_string(rules));
	say(data, "=", "", api_text(object, "spec.last"));
}

#define POLICY(name, version)                                                                     \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\",\"resourceVersion\":\"" version \
	"\"},\"spec\":{\"egress\":\"]}\\\"\",\"podSelector\":{\"matchLabels\":{}},"               \
	"\"ingress\":["
#define ENDS "{}],\"last\":\"there\"}}"

/* Of an object with too many values, the lists that have them are left out, in a list and in an
 * event; json-c would take 400 MB for these. */
static void test_large_object(void **state)
{
	static const struct api_watch_ops rules = {
		.changed = changed_rules, .deleted = deleted, .synced = synced};
	static const struct exchange script[] = {
		{"?limit=500 ",
		 "200 OK",
		 {"{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" POLICY("a", "1"), RULES,
		  ENDS "," POLICY("b", "2") ENDS "]}"}},
		{"resourceVersion=10",
		 "200 OK",
		 {"{\"type\":\"ADDED\",\"object\":" POLICY("c", "11"), RULES, ENDS "}\n", HANG}},
		{0},
	};
	static const char want[] = "! n/a=500001 objects and lists: too many = =there * n/b=]}\" "
				   "= =there synced ! n/c=500001 objects and lists: too many = "
				   "=there ";
	struct world world = {.want = want};

	(void)state;
	begin(&world, script, "token: secret");
	assert_non_null(api_watch(world.api, "/api/v1/pods", NULL, &rules, &world));
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

#define OBJECT_OF(ns, name, version)                               \
	"{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name \
	"\",\"resourceVersion\":\"" version "\"}}"
#define WRITTEN(type, ns, name, version)                                                      \
	"{\"type\":\"" type "\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name  \
	"\",\"namespace\":\"" ns "\",\"resourceVersion\":\"" version "\",\"annotations\":\"", \
		FILLS, "\"}}}\n"
#define ASKED(ns, name) "GET /api/v1/namespaces/" ns "/pods?fieldSelector=metadata.name%3D" name " "

static void next_turn_now(struct world *world)
{
	world->api->turns.next = 0;
	world->api->turns.rest = 0;
	api_timer_set(world->api, &world->api->turns.timer, 0);
}

static void changed_in_turns(void *data, const char *key, struct json_object *object)
{
	struct world *world = data;

	changed(data, key, object);
	/* to ask for an object again changes nothing of what the watch has told: its end, if it is
	 * `a` */
	if (!strcmp(key, "m/small"))
		assert_int_equal(api_watch_again(world->api->watches, "n/a"), 0);
	if (strstr(key, "/small"))
		next_turn_now(data);
}

/* Begins to watch. Only the first large object is taken at once: the others wait. */
static void watch_in_turns(struct world *world, const struct exchange *script,
			   const struct api_watch_ops *in_turns)
{
	begin(world, script, "token: secret");
	world->api->turns.rest = 100000;
	assert_non_null(api_watch(world->api, "/api/v1/pods", NULL, in_turns, world));
}

/* Of a large object that is written again and again its newest version counts, in its turn; a small
 * object does not wait for it; namespaces take turns; and what the server does not answer is asked
 * for again after another namespace's turn, and before what follows it in its own. */
static void test_turns(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {LIST("10", "", "")}},
		{"resourceVersion=10",
		 "200 OK",
		 {WRITTEN("ADDED", "n", "a", "11"), WRITTEN("MODIFIED", "n", "a", "12"),
		  WRITTEN("ADDED", "m", "b", "13"), WRITTEN("MODIFIED", "n", "a", "14"),
		  WRITTEN("ADDED", "n", "c", "15"), EVENT("ADDED", "small", "16"), HANG}},
		{ASKED("n", "a"), "500 Internal Server Error", {"{}"}},
		{ASKED("m", "b"), "200 OK", {LIST("17", "", OBJECT_OF("m", "b", "13"))}},
		{ASKED("n", "a"), "200 OK", {LIST("17", "", OBJECT("a", "14"))}},
		{ASKED("n", "c"), "200 OK", {LIST("17", "", OBJECT("c", "15"))}},
		{0},
	};
	static const struct api_watch_ops in_turns = {
		.changed = changed_in_turns, .deleted = deleted, .synced = synced, .turns = true};
	static const char want[] = "synced + n/a=11 + n/small=16 + m/b=13 + n/a=14 + n/c=15 ";
	struct world world = {.want = want};

	(void)state;
	watch_in_turns(&world, script, &in_turns);
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

static void changed_asks(void *data, const char *key, struct json_object *object)
{
	struct world *world = data;

	changed(data, key, object);
	if (strcmp(key, "m/small") != 0)
		return;
	world->api->turns.timer.run(world->api->turns.timer.data);
}

/* A watch that ends while one of its objects is asked for, and others wait, leaves nothing. */
static void test_ends_in_turn(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {LIST("10", "", "")}},
		{"resourceVersion=10",
		 "200 OK",
		 {WRITTEN("ADDED", "n", "a", "11"), WRITTEN("ADDED", "n", "b", "12"),
		  EVENT("DELETED", "a", "13"),
		  "{\"type\":\"ADDED\",\"object\":" OBJECT_OF("m", "small", "17") "}\n", HANG}},
		{ASKED("n", "b"), "200 OK", {HANG}},
		{0},
	};
	static const struct api_watch_ops in_turns = {.changed = changed_asks,
						      .deleted = deleted,
						      .synced = synced,
						      .turns = true,
						      .ordered = true};
	static const char want[] = "synced + n/a=11 + m/small=17 ";
	struct world world = {.want = want};

	(void)state;
	watch_in_turns(&world, script, &in_turns);
	api_run(world.api, -1);
	assert_string_equal(world.log, want);
	assert_non_null(world.api->turns.asked);
	assert_non_null(world.api->turns.first);
	api_unwatch(world.api->watches);
	assert_null(world.api->turns.asked);
	assert_null(world.api->turns.first);
	end(&world);
}

static void count_wait(void *data, const struct api_wait *wait)
{
	size_t *n = data;

	(void)wait;
	++*n;
}

/* The others' objects come between those of a namespace of which many wait. Returns 0 if all is as
 * it should be. Asserts nothing: it runs in a process of its own. */
static int wait_by_many(struct api_watch *watch)
{
	enum { WAITING = 60000 };
	static const struct api_turn_ops turn_ops;
	struct api api = {0};
	int faults = api_turns_open(&api);
	size_t n = 0;
	char key[64];

	for (unsigned int i = 0; !faults && i < 2 * WAITING; i++) {
		snprintf(key, sizeof(key), "evil/policy-%u", i % WAITING);
		faults -= api_turns_add(&api, watch, &turn_ops,
					&(struct api_turn){.key = key, .version = "1"});
		snprintf(key, sizeof(key), "shop/web-%u", i);
		faults += api_turns_wait(&api, watch, key);
		api_turns_forget(&api, watch, key);
	}
	api_waits(&api, count_wait, &n);
	faults += n != WAITING || !api_turns_wait(&api, watch, "evil/other");
	for (unsigned int i = 0; i < WAITING; i++) {
		snprintf(key, sizeof(key), "evil/policy-%u", i);
		api_turns_forget(&api, watch, key);
	}
	faults += !!api.turns.first;
	api_turns_end(&api);
	return faults;
}

/* A tenant lets tens of thousands of policies wait behind a large one, and changes each again and
 * again. What comes of his and of others looks for its turn, and not at all of these. The limit of
 * processor time is a hundred times what that takes; to look at all takes many times the limit. */
static void test_many_wait(void **state)
{
	const struct rlimit limit = {30, 30};
	char watch;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CPU, &limit);
		_exit(!!wait_by_many((struct api_watch *)&watch));
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* In an ordered collection the changes of a namespace follow each other: one that replaces an
 * object by another has never neither. An answer of which the watch has not told yet does not
 * count. */
static void test_ordered(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {LIST("10", "", "")}},
		{"resourceVersion=10",
		 "200 OK",
		 {WRITTEN("ADDED", "n", "a", "11"), WRITTEN("ADDED", "n", "new", "12"),
		  EVENT("ADDED", "q", "13") EVENT("DELETED", "a", "14"),
		  WRITTEN("MODIFIED", "n", "new", "15"), EVENT("ADDED", "last", "16"),
		  "{\"type\":\"ADDED\",\"object\":" OBJECT_OF("m", "small", "17") "}\n", HANG}},
		{ASKED("n", "q"), "200 OK", {LIST("19", "", OBJECT("q", "18"))}},
		{ASKED("n", "new"), "200 OK", {LIST("19", "", OBJECT("new", "15"))}},
		{ASKED("n", "last"), "200 OK", {LIST("19", "", OBJECT("last", "16"))}},
		{0},
	};
	static const struct api_watch_ops in_turns = {.changed = changed_in_turns,
						      .deleted = deleted,
						      .synced = synced,
						      .turns = true,
						      .ordered = true};
	static const char want[] = "synced + n/a=11 + m/small=17 - n/a + n/new=15 + n/last=16 ";
	struct world world = {.want = want};

	(void)state;
	watch_in_turns(&world, script, &in_turns);
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

static void count_told(void *data, const struct api_wait *wait)
{
	size_t *told = data;

	assert_string_equal(wait->key, "n/a");
	*told += *wait->told;
	*wait->told = true;
}

static void changed_meanwhile(void *data, const char *key, struct json_object *object)
{
	struct world *world = data;
	size_t told = 0;

	changed(data, key, object);
	api_waits(world->api, count_told, &told);
	assert_int_equal(told, !strcmp(key, "n/later"));
	if (!strcmp(key, "n/small"))
		next_turn_now(world);
}

/* An object waits on if it was asked for and has a newer version, of which the watch has yet to
 * tell. */
static void test_waits_on(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {LIST("10", "", "")}},
		{"resourceVersion=10",
		 "200 OK",
		 {WRITTEN("ADDED", "n", "a", "11"), WRITTEN("MODIFIED", "n", "a", "12"),
		  EVENT("ADDED", "small", "13")}},
		{ASKED("n", "a"), "200 OK", {LIST("15", "", OBJECT("a", "15"))}},
		{"resourceVersion=13",
		 "200 OK",
		 {EVENT("ADDED", "later", "14"), WRITTEN("MODIFIED", "n", "a", "15"), HANG}},
		{0},
	};
	static const struct api_watch_ops in_turns = {
		.changed = changed_meanwhile, .deleted = deleted, .synced = synced, .turns = true};
	static const char want[] = "synced + n/a=11 + n/small=13 + n/later=14 + n/a=15 ";
	struct world world = {.want = want};
	size_t told = 0;

	(void)state;
	watch_in_turns(&world, script, &in_turns);
	api_run(world.api, -1);
	api_waits(world.api, count_told, &told);
	assert_int_equal(told, 0);
	assert_null(world.api->turns.missed);
	end(&world);
	assert_string_equal(world.log, want);
}

/* Asks for the first object that waits, and the watch tells of it before the answer comes. */
static void changed_overtakes(void *data, const char *key, struct json_object *object)
{
	struct world *world = data;
	struct api_turns *turns = &world->api->turns;

	changed(data, key, object);
	if (strcmp(key, "n/small") != 0)
		return;
	next_turn_now(world);
	api_timer_stop(world->api, &turns->timer);
	turns->timer.run(turns->timer.data);
	api_turns_forget(world->api, world->api->watches, "n/b");
}

/* An object that waits, and of which the watch tells in a smaller version or its end, has no turn;
 * nor does an answer count that the watch has overtaken; an object that is gone is not reported. */
static void test_overtaken(void **state)
{
	static const struct exchange script[] = {
		{"?limit=500 ", "200 OK", {LIST("10", "", "")}},
		{"resourceVersion=10",
		 "200 OK",
		 {WRITTEN("ADDED", "n", "a", "11"), WRITTEN("MODIFIED", "n", "a", "12"),
		  WRITTEN("DELETED", "n", "a", "13"), WRITTEN("ADDED", "n", "a", "14"),
		  EVENT("MODIFIED", "a", "15"), WRITTEN("ADDED", "n", "d", "16"),
		  WRITTEN("DELETED", "n", "d", "16"), WRITTEN("ADDED", "n", "b", "16"),
		  WRITTEN("ADDED", "n", "gone", "17") EVENT("ADDED", "small", "18"), HANG}},
		{ASKED("n", "b"), "200 OK", {LIST("19", "", OBJECT("b", "16"))}},
		{ASKED("n", "gone"), "200 OK", {"{\"metadata\":{},\"items\":null}"}},
		{0},
	};
	static const char want[] = "synced + n/a=11 - n/a + n/a=15 + n/small=18 ";
	static const struct api_watch_ops in_turns = {
		.changed = changed_overtakes, .deleted = deleted, .synced = synced, .turns = true};
	struct world world = {.want = "all"};

	(void)state;
	watch_in_turns(&world, script, &in_turns);
	do {
		struct api_timer soon = {.run = too_late, .data = &world};

		api_timer_set(world.api, &soon, 10);
		api_run(world.api, -1);
		api_timer_stop(world.api, &soon);
	} while (world.limit.due && (strlen(world.log) < strlen(want) || world.api->turns.first ||
				     world.api->turns.asked));
	assert_string_equal(world.log, want);
	assert_true(world.limit.due);
	end(&world);
}

static void changed_count(void *data, const char *key, struct json_object *object)
{
	struct json_object *rules = api_get(object, "spec.ingress"), *text;
	char n[20];

	snprintf(n, sizeof(n), "%zu", json_object_array_length(rules));
	say(data, "*", key, n);
	for (size_t i = 0; i < json_object_array_length(rules); i++)
		if ((text = api_get(json_object_array_get_idx(rules, i), "a")))
			say(data, "=", "", json_object_get_string(text));
}

/* Of an object with many values, repeated items {} are left out, and nothing else; json-c would
 * take 400 MB for these. */
static void test_repeats(void **state)
{
	static const struct api_watch_ops rules = {
		.changed = changed_count, .deleted = deleted, .synced = synced};
	static const struct exchange script[] = {
		{"?limit=500 ",
		 "200 OK",
		 {"{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" POLICY("a", "1"), EMPTY,
		  "{\"a\":\",{},{},\"},{\"a\":{}},{\"a\":[{},{}]},{},[]," ENDS
		  "," POLICY("b", "2") "{},{}," ENDS "]}"}},
		{"resourceVersion=10",
		 "200 OK",
		 {"{\"type\":\"ADDED\",\"object\":" POLICY("c", "11"), EMPTY, ENDS "}\n", HANG}},
		{0},
	};
	static const char want[] = "* n/a=7 = =,{},{}, = ={ } = =[ { } ] * n/b=3 synced * n/c=1 ";
	struct world world = {.want = want};

	(void)state;
	begin(&world, script, "token: secret");
	assert_non_null(api_watch(world.api, "/api/v1/pods", NULL, &rules, &world));
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

static void test_stream_ends(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "200 OK", {LIST("10", "", OBJECT("a", "1"))}},
		{"resourceVersion=10", "200 OK", {EVENT("MODIFIED", "a", "11")}},
		{"resourceVersion=11", "200 OK", {EVENT("BOOKMARK", "", "20")}},
		{"resourceVersion=20", "200 OK", {"{\"type\":\"MODI"}},
		{"resourceVersion=20", "200 OK", {EVENT("MODIFIED", "a", "21"), HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 synced + n/a=11 + n/a=21 ");
}

/*
 * After an expired version, vanished objects are reported, and unchanged objects are not reported
 * again.
 */
static void test_too_old(void **state)
{
	static const struct exchange script[] = {
		{"?limit",
		 "200 OK",
		 {LIST("10", "", OBJECT("a", "1") "," OBJECT("b", "2") "," OBJECT("c", "3"))}},
		{"resourceVersion=10", "410 Gone", {"{\"message\":\"too old\"}"}},
		{"?limit",
		 "200 OK",
		 {LIST("30", "", OBJECT("a", "1") "," OBJECT("b", "22") "," OBJECT("d", "23"))}},
		{"resourceVersion=30",
		 "200 OK",
		 {"{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n"}},
		{"?limit", "200 OK", {LIST("40", "", OBJECT("a", "1"))}},
		{"resourceVersion=40", "200 OK", {HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 + n/b=2 + n/c=3 synced + n/b=22 + n/d=23 - n/c synced "
			"- n/b - n/d synced ");
}

static void test_page_too_old(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "200 OK", {LIST("10", "more", OBJECT("a", "1"))}},
		{"&continue=more", "410 Gone", {"{}"}},
		{"!continue", "200 OK", {LIST("12", "", OBJECT("a", "1") "," OBJECT("b", "2"))}},
		{"resourceVersion=12", "200 OK", {HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 + n/b=2 synced ");
}

static void test_errors(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "500 Internal Server Error", {"{\"message\":\"no\"}"}},
		{"?limit", NULL, {0}},
		{"?limit", "200 OK", {"not JSON"}},
		{"?limit", "200 OK", {"{\"items\":7}"}},
		{"?limit", "200 OK", {LIST("", "", OBJECT("a", "1"))}},
		{"?limit", "200 OK", {LIST("10", "", OBJECT("a", "1"))}},
		{"resourceVersion=10", "200 OK", {EVENT("BOOKMARK", "", "")}},
		{"resourceVersion=10", "200 OK", {"nonsense\n"}},
		{"resourceVersion=10", "503 Service Unavailable", {"{}"}},
		{"resourceVersion=10", "200 OK", {"{\"type\":\"ADDED\"}\n"}},
		{"resourceVersion=10", "200 OK", {EVENT("ADDED", "b", "11"), HANG}},
		{0},
	};

	(void)state;
	follows(script, "+ n/a=1 synced + n/b=11 ");
}

/* Follows as follows() does. Returns the messages without their places, to be freed. */
static char *complaints(const struct exchange *script, const char *want)
{
	struct world world = {.want = want};
	char *text = NULL, *to;
	size_t size;

	begin(&world, script, "token: secret");
	quiet.to = open_memstream(&text, &size);
	assert_non_null(api_watch(world.api, "/api/v1/pods", NULL, &ops, &world));
	api_run(world.api, -1);
	end(&world);
	fclose(quiet.to);
	quiet.to = NULL;
	assert_string_equal(world.log, want);
	to = text;
	for (const char *line = text; *line; line += strspn(line, "\n")) {
		const size_t n = strcspn(line, "\n") + 1;
		const char *place = strstr(line, "/api/v1/pods: ");

		assert_non_null(place);
		place += strlen("/api/v1/pods: ");
		memmove(to, place, line + n - place);
		to += line + n - place;
		line += n - 1;
	}
	*to = '\0';
	return text;
}

/* Each kind of fault is reported once, and numbers make no kind. */
static void test_kinds_of_faults(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "401 Unauthorized", {"{\"message\":\"Unauthorized\"}"}},
		{"?limit", "403 Forbidden", {"{\"message\":\"pods is forbidden\"}"}},
		{"?limit", "401 Unauthorized", {"{\"message\":\"Unauthorized\"}"}},
		{"?limit", "500 Error", {"{\"message\":\"no leader after 7 ms\"}"}},
		{"?limit", "500 Error", {"{\"message\":\"no leader after 12 ms\"}"}},
		{"?limit", "429 Many", {"slow down"}},
		{"?limit", "200 OK", {"{\"items\":7}"}},
		{"?limit", "200 OK", {LIST("10", "", OBJECT("a", "1"))}},
		{"resourceVersion=10", "200 OK", {"nonsense\n"}},
		{"resourceVersion=10",
		 "200 OK",
		 {"{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"too slow\"}}\n"}},
		{"resourceVersion=10", "200 OK", {EVENT("ADDED", "b", "11"), HANG}},
		{0},
	};
	char *said;

	(void)state;
	said = complaints(script, "+ n/a=1 synced + n/b=11 ");
	assert_string_equal(
		said,
		"warning: Unauthorized (401)\n"
		"warning: pods is forbidden (403)\n"
		"warning: no leader after 7 ms (500)\n"
		"warning: the server refuses (429)\n"
		"warning: answers with something else than a list\n"
		"note: answers again\n"
		"warning: streams something else than events, or a larger one than there are\n"
		"warning: the stream ends with an error: too slow\n"
		"note: answers again\n");
	free(said);
}

#define FORGETS                                                   \
	{"?limit", "200 OK", {LIST("10", "", OBJECT("a", "1"))}}, \
	{                                                         \
		"resourceVersion=10", "410 Gone",                 \
		{                                                 \
			"{\"message\":\"old\"}"                   \
		}                                                 \
	}

/* A server that forgets at once what it has listed is asked for ever fewer lists. */
static void test_forgets(void **state)
{
	static const struct exchange script[] = {
		FORGETS,
		FORGETS,
		FORGETS,
		FORGETS,
		FORGETS,
		{"?limit", "200 OK", {LIST("11", "", OBJECT("a", "1"))}},
		{"resourceVersion=11", "200 OK", {EVENT("ADDED", "b", "12")}},
		{"resourceVersion=12", "410 Gone", {"{}"}},
		{"?limit", "200 OK", {LIST("13", "", "")}},
		{0},
	};
	char *said;

	(void)state;
	said = complaints(script, "+ n/a=1 synced synced synced synced synced synced + n/b=12 "
				  "- n/a - n/b synced ");
	assert_string_equal(said, "warning: forgets at once what it has listed (410)\n"
				  "note: answers again\n");
	free(said);
}

/* Returns what is reported of a server that ends four streams, each @ms after it began. */
static char *complaints_of_streams(unsigned int ms)
{
	static const struct exchange script[] = {
		{"?limit", "200 OK", {LIST("10", "", OBJECT("a", "1"))}},
		{"resourceVersion=10", "200 OK", {0}},
		{"resourceVersion=10", "200 OK", {0}},
		{"resourceVersion=10", "200 OK", {0}},
		{"resourceVersion=10", "200 OK", {0}},
		{"resourceVersion=10", "200 OK", {EVENT("ADDED", "b", "11"), HANG}},
		{0},
	};
	char *said;

	own_clock = true;
	step_ms = ms;
	said = complaints(script, "+ n/a=1 synced + n/b=11 ");
	own_clock = false;
	return said;
}

/* A proxy that ends each stream at once is named, and a server that ends each after a while is not.
 */
static void test_short_streams(void **state)
{
	char *said = complaints_of_streams(0);

	(void)state;
	assert_string_equal(said, "warning: the server ends each stream at once\n");
	free(said);
	said = complaints_of_streams(1000);
	assert_string_equal(said, "");
	free(said);
}

/* Events as Tables. */

#define TABLE(type, version, columns, cells)                                             \
	"{\"type\":\"" type                                                              \
	"\",\"object\":{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"" version \
	"\"},\"columnDefinitions\":" columns ",\"rows\":[{\"cells\":[" cells             \
	"],\"object\":null}]}}\n"
#define COLUMNS "[{\"name\":\"Name\"},{\"name\":\"Desired\"}]"

static void changed_cells(void *data, const char *key, struct json_object *object)
{
	char text[60];

	snprintf(text, sizeof(text), "%s/%d", api_text(object, "metadata.resourceVersion"),
		 (int)api_number(object, "cells.Desired"));
	say(data, "+", key, text);
}

static void follows_cells(const struct exchange *script, const char *path, const char *want)
{
	static const char *const columns[] = {"Desired", NULL};
	const struct api_watch_ops cells = {.changed = changed_cells,
					    .deleted = deleted,
					    .synced = synced,
					    .columns = columns,
					    .columns_path = path};
	struct world world = {.want = want};

	begin(&world, script, "token: secret");
	assert_non_null(api_watch(world.api, "/things", NULL, &cells, &world));
	api_run(world.api, -1);
	end(&world);
	assert_string_equal(world.log, want);
}

static void test_tables(void **state)
{
	static const struct exchange script[] = {
		{"!as=Table",
		 "200 OK",
		 {"{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}"}},
		{"resourceVersion=10&includeObject=None",
		 "200 OK",
		 {TABLE("ADDED", "11", COLUMNS, "\"a\",7"),
		  TABLE("MODIFIED", "12", "null", "\"a\",8"),
		  TABLE("BOOKMARK", "13", "null", "\"\",null")}},
		/* each stream says its columns anew */
		{"resourceVersion=13", "200 OK", {TABLE("MODIFIED", "14", "null", "\"a\",9")}},
		{"resourceVersion=13",
		 "200 OK",
		 {TABLE("MODIFIED", "15", "[{\"name\":\"Desired\"},{\"name\":\"Name\"}]",
			"9,\"a\""),
		  TABLE("DELETED", "16", "null", "9,\"a\""), HANG}},
		{0},
	};

	(void)state;
	follows_cells(script, NULL, "synced + a=11/7 + a=12/8 + a=15/9 - a ");
}

/* Without a column that is wanted, and from a server that has no Tables, come whole objects. */
static void test_no_tables(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "200 OK", {LIST("10", "", "")}},
		{"as=Table", "200 OK", {TABLE("ADDED", "11", "[{\"name\":\"Name\"}]", "\"a\"")}},
		{"!as=Table", "200 OK", {EVENT("ADDED", "a", "11"), HANG}},
		{0},
	};
	static const struct exchange plain[] = {
		{"?limit", "200 OK", {LIST("10", "", "")}},
		{"as=Table", "200 OK", {EVENT("ADDED", "a", "11"), HANG}},
		{0},
	};

	(void)state;
	follows_cells(script, NULL, "synced + n/a=11/0 ");
	follows_cells(plain, NULL, "synced + n/a=11/0 ");
}

/* The columns are those of another version of the things, which a server may lack: then come whole
 * objects, until the next list. */
static void test_columns_of_a_version(void **state)
{
	static const struct exchange script[] = {
		{"/things?limit", "200 OK", {LIST("10", "", "")}},
		{"/seen/things?watch=1",
		 "200 OK",
		 {TABLE("ADDED", "11", COLUMNS, "\"a\",7"), HANG}},
		{0},
	};
	static const struct exchange older[] = {
		{"/things?limit", "200 OK", {LIST("10", "", "")}},
		{"/seen/things?watch=1", "404 Not Found", {"{}"}},
		{"GET /things?watch=1", "200 OK", {EVENT("ADDED", "a", "11")}},
		{"GET /things?watch=1", "410 Gone", {"{}"}},
		{"/things?limit", "200 OK", {LIST("12", "", OBJECT("a", "11"))}},
		{"/seen/things?watch=1",
		 "200 OK",
		 {TABLE("MODIFIED", "13", COLUMNS, "\"a\",7"), HANG}},
		{0},
	};

	(void)state;
	follows_cells(script, "/seen/things", "synced + a=11/7 ");
	follows_cells(older, "/seen/things", "synced + n/a=11/0 synced + a=13/7 ");
}

static void test_not_there(void **state)
{
	static const struct exchange script[] = {
		{"?limit", "404 Not Found", {"{\"message\":\"no such thing\"}"}},
		{"GET /readyz ", "200 OK", {"ok"}},
		{"?limit", "404 Not Found", {"{\"message\":\"no such thing\"}"}},
		{0},
	};

	(void)state;
	follows(script, "synced ");
}

static void answered(void *data, const struct api_answer *answer)
{
	struct world *world = data;
	char text[100];

	snprintf(text, sizeof(text), "%ld", answer->status);
	say(world, "answer", answer->error, text);
}

/* The token is read from the file for each request. */
static void test_token(void **state)
{
	static const struct exchange script[] = {
		{"Authorization: Bearer first\r\n", "200 OK", {"{}"}},
		{"Authorization: Bearer second\r\n", "403 Forbidden", {"{\"message\":\"no\"}"}},
		{0},
	};
	struct world world = {.want = "answer=200 "};
	struct api_request request = {
		.method = "GET", .path = "/x", .done = answered, .data = &world};
	char path[100];
	FILE *file;

	(void)state;
	begin(&world, script, "tokenFile: token");
	snprintf(path, sizeof(path), "%s/token", world.folder);
	for (int i = 0; i < 2; i++) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(i ? "second\n" : "first\n", file);
		fclose(file);
		assert_int_equal(api_send(world.api, &request), 0);
		api_run(world.api, -1);
		assert_string_equal(world.log, world.want);
		world.want = "answer=200 answer no=403 ";
	}
	unlink(path);
	end(&world);
}

static void write_to_pipe(void *data)
{
	assert_int_equal(write(((int *)data)[1], "", 1), 1);
}

/* The loop ends when its file descriptor can be read, and before that it runs timers. */
static void test_stop(void **state)
{
	struct world world = {.want = ""};
	struct api_timer timer = {.data = (int[2]){}};
	int *pipes = timer.data;

	(void)state;
	begin(&world, (const struct exchange[]){{0}}, "token: secret");
	assert_int_equal(pipe(pipes), 0);
	timer.run = write_to_pipe;
	api_timer_set(world.api, &timer, 1);
	api_run(world.api, pipes[0]);
	assert_int_equal(timer.due, 0);
	assert_int_not_equal(world.limit.due, 0);
	close(pipes[0]);
	close(pipes[1]);
	end(&world);
}

static struct world *sleeper;
static int slept; /* ms: the wait that the loop asked for */

static CURLMcode poll_not(CURLM *multi, struct curl_waitfd *fds, unsigned int n, int ms, int *ready)
{
	(void)multi;
	(void)fds;
	(void)n;
	(void)ready;
	slept = ms;
	api_stop(sleeper->api);
	return CURLM_OK;
}

/* Where nothing else is due, the loop sleeps until the test's time limit. */
static void test_sleeps(void **state)
{
	static const struct exchange script[] = {{0}};
	struct world world = {.want = ""};
	__typeof__(curl.multi_poll) poll;

	(void)state;
	begin(&world, script, "token: secret");
	sleeper = &world;
	poll = curl.multi_poll;
	curl.multi_poll = poll_not;
	api_run(world.api, -1);
	curl.multi_poll = poll;
	end(&world);
	assert_in_range(slept, LIMIT_MS / 2, LIMIT_MS);
}

static void refuses(const char *cluster, const char *user, const char *what)
{
	char path[] = "/tmp/unit_api.XXXXXX", *said = NULL;
	size_t size;
	struct diag diag = {.to = open_memstream(&said, &size)};
	struct api *api = NULL;
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fprintf(file,
		"current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n"
		"clusters: [{name: c, cluster: {%s}}]\nusers: [{name: u, user: {%s}}]\n",
		cluster, user);
	fclose(file);
	assert_int_equal(api_open(path, &diag, &api), -EINVAL);
	fclose(diag.to);
	assert_non_null(strstr(said, what));
	assert_non_null(strstr(said, path));
	free(said);
	unlink(path);
}

static void test_kubeconfig(void **state)
{
	(void)state;
	refuses("server: \"https://x\", insecure-skip-tls-verify: true", "token: t",
		"clusters[0].cluster.insecure-skip-tls-verify: TLS is always verified");
	refuses("server: \"http://10.0.0.1\"", "token: t", "must begin with https://");
	refuses("server: \"http://127.0.0.1.example.org\"", "token: t", "must begin with https://");
	refuses("server: \"http://127.0.0.1:80.example.org\"", "token: t",
		"must begin with https://");
	refuses("server: \"http://127.0.0.1:80@example.org/\"", "token: t",
		"must begin with https://");
	refuses("server: \"http://127.0.0.10:80\"", "token: t", "must begin with https://");
	refuses("certificate-authority: ca", "token: t", "names no server");
	refuses("server: \"https://x\"", "exec: {command: aws}",
		"users[0].user.exec: only a token");
	refuses("server: \"https://x\", certificate-authority-data: \"*\"", "token: t",
		"is not base64");
}

/* Writes kubeconfigs into folders, and reads them as $KUBECONFIG lists them. @wanted: the server;
 * the certificate's path, if there is one; or what the message has, if there is neither. */
static void reads_list(const char *const files[], size_t n, const char *wanted)
{
	char folder[] = "/tmp/unit_api.XXXXXX", path[100], list[1000] = "", *said = NULL;
	size_t size;
	struct diag diag = {.to = open_memstream(&said, &size)};
	struct api_config config;
	int error;

	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < n; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%zu", folder, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%zu/config", folder, i);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ":" : "",
			 path);
		if (!files[i])
			continue;
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(files[i], file);
		assert_int_equal(fclose(file), 0);
	}
	setenv("KUBECONFIG", list, 1);
	error = api_config_read(NULL, &diag, &config);
	unsetenv("KUBECONFIG");
	fclose(diag.to);
	if (error)
		assert_non_null(strstr(said, wanted));
	else
		assert_string_equal(
			config.ca_file ? config.ca_file + strlen(folder) : config.server, wanted);
	api_config_free(&config);
	free(said);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%zu/config", folder, i);
		unlink(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	rmdir(folder);
}

#define READS(wanted, ...)                             \
	reads_list((const char *const[]){__VA_ARGS__}, \
		   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), wanted)

#define CONTEXT(name) "contexts: [{name: " name ", context: {cluster: c, user: u}}]\n"
#define CLUSTER(port) "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:" port "\"}}]\n"
#define USER "users: [{name: u, user: {token: t}}]\n"

/* A list of files is read as kubectl reads it: the first file that has a name counts. */
static void test_kubeconfigs(void **state)
{
	(void)state;
	READS("https://127.0.0.1:1", "current-context: a\n" CONTEXT("a"), CLUSTER("1"), USER);
	READS("https://127.0.0.1:1", CLUSTER("1") USER, "current-context: a\n" CONTEXT("a"),
	      "current-context: b\n" CONTEXT("b") CLUSTER("2") USER);
	READS("https://127.0.0.1:2", "current-context: \"\"\n" CLUSTER("2") USER CONTEXT("a"),
	      "current-context: a\n");
	READS("https://127.0.0.1:1", NULL, "", "# nothing\n",
	      "current-context: a\n" CONTEXT("a") CLUSTER("1") USER, NULL);
	READS("/0/config: No such file", NULL, NULL);
	READS("/1/config:2: current-context: there is no current context", CLUSTER("1"),
	      USER "current-context: b\n", CONTEXT("a"));
	READS("/2/config:1: users[0].user.exec: only a token", "current-context: a\n" CONTEXT("a"),
	      CLUSTER("1"), "users: [{name: u, user: {exec: {command: aws}}}]\n", USER);
	READS("/1/config:1: clusters[0].cluster: names no server",
	      "current-context: a\n" CONTEXT("a"),
	      "clusters: [{name: c, cluster: {tls-server-name: x}}]\n", CLUSTER("1"), USER);
	READS("/0/config:2: contexts[0].context: names no user",
	      "current-context: a\n" CONTEXT("a"), CLUSTER("1"),
	      "users: [{name: other, user: {token: t}}]\n");
	READS("/1/config:", "current-context: a\n" CONTEXT("a"), "clusters: [\n",
	      CLUSTER("1") USER);
	/* a path begins where its file is */
	READS("/1/ca", "current-context: a\n" CONTEXT("a"),
	      "clusters: [{name: c, cluster: {server: \"https://x\", certificate-authority: "
	      "ca}}]\n",
	      USER);
}

/* Clients that wait by api_jitter() do not act at once, and wait for as long as they were told. */
static void test_jitter(void **state)
{
	unsigned int least = UINT32_MAX, most = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		unsigned int ms = api_jitter(1000);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	assert_in_range(least, 1000, 1200);
	assert_in_range(most, 1300, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_stream_ends),
		cmocka_unit_test(test_too_old),
		cmocka_unit_test(test_page_too_old),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_kinds_of_faults),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_short_streams),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_kubeconfig),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_kubeconfigs),
		cmocka_unit_test(test_no_tables),
		cmocka_unit_test(test_columns_of_a_version),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_large_page),
		cmocka_unit_test(test_large_object),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_waits_on),
		cmocka_unit_test(test_ordered),
		cmocka_unit_test(test_ends_in_turn),
		cmocka_unit_test(test_many_wait),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
