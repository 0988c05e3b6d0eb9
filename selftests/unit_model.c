// SPDX-License-Identifier: GPL-2.0-only
/* Addresses, interned strings, messages, and the guarantees of cluster_finish(). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input/input.h"
#include "model/diag_log.h"
#include "selftests/lib/dump.h"

static void addresses(void **state)
{
	static const struct {
		const char *text, *printed; /* NULL: refused */
		bool ipv4;
	} rows[] = {
		{"10.0.0.1", "10.0.0.1", true},
		{"0.0.0.0", "0.0.0.0", true},
		{"255.255.255.255", "255.255.255.255", true},
		{"fd00::1", "fd00::1", false},
		{"FD00:0:0::0001", "fd00::1", false},
		{"::", "::", false},
		{"::1", "::1", false},
		{"64:ff9b::10.0.0.1", "64:ff9b::a00:1", false},
		{"::ffff:10.0.0.1", NULL, false},
		{"::FFFF:a00:1", NULL, false},
		{"10.0.0", NULL, false},
		{"10.0.0.256", NULL, false},
		{"10.0.0.01", NULL, false},
		{" 10.0.0.1", NULL, false},
		{"10.0.0.1 ", NULL, false},
		{"10.0.0.1/32", NULL, false},
		{"fe80::1%eth0", NULL, false},
		{"", NULL, false},
	};
	char text[ADDRESS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct address address, untouched;

		memset(&address, 0x5a, sizeof(address));
		untouched = address;
		assert_int_equal(address_parse(rows[i].text, &address),
				 rows[i].printed ? 0 : -EINVAL);
		if (!rows[i].printed) {
			assert_memory_equal(&address, &untouched, sizeof(address));
			continue;
		}
		assert_string_equal(address_print(&address, text), rows[i].printed);
		assert_int_equal(address_is_ipv4(&address), rows[i].ipv4);
	}
}

static void cidrs(void **state)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.2.3/8", "10.0.0.0/8"},
		{"10.1.2.3/31", "10.1.2.2/31"},
		{"10.1.2.3/32", "10.1.2.3/32"},
		{"1.2.3.4/0", "0.0.0.0/0"},
		{"::/0", "::/0"},
		{"ffff:ffff::/0", "::/0"},
		{"fd00::ff/121", "fd00::80/121"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
		{"64:ff9b::/96", "64:ff9b::/96"},
		{"::/96", "::/96"},
		{"10.0.0.0", NULL},
		{"10.0.0.0/", NULL},
		{"10.0.0.0/33", NULL},
		{"10.0.0.0/-1", NULL},
		{"10.0.0.0/+8", NULL},
		{"10.0.0.0/08", NULL},
		{"10.0.0.0/ 8", NULL},
		{"10.0.0.0/8 ", NULL},
		{"10.0.0.0/8/8", NULL},
		{"10.0.0.0/999999999999999999999", NULL},
		{"fd00::/129", NULL},
		{"/8", NULL},
		{"::ffff:0:0/96", NULL},
		{"", NULL},
	};
	char text[ADDRESS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cidr cidr;

		assert_int_equal(cidr_parse(rows[i].text, &cidr), rows[i].printed ? 0 : -EINVAL);
		if (rows[i].printed)
			assert_string_equal(cidr_print(&cidr, text), rows[i].printed);
	}
}

static struct cidr cidr(const char *text)
{
	struct cidr cidr;

	assert_int_equal(cidr_parse(text, &cidr), 0);
	return cidr;
}

static void containment(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} rows[] = {
		{"10.0.0.0/8", "10.0.0.0/8", true},
		{"10.0.0.0/8", "10.255.255.255/32", true},
		{"10.0.0.0/8", "11.0.0.0/32", false},
		{"10.0.0.0/9", "10.0.0.0/8", false},
		{"10.0.0.0/9", "10.128.0.0/32", false},
		{"10.0.0.0/9", "10.127.0.0/32", true},
		{"0.0.0.0/0", "255.255.255.255/32", true},
		{"0.0.0.0/0", "::/0", false},
		{"0.0.0.0/0", "fd00::/8", false},
		{"::/0", "fd00::/8", true},
		{"::/0", "::/0", true},
		{"::/0", "10.0.0.0/8", false},
		{"::/0", "0.0.0.0/0", false},
		{"::/1", "10.0.0.1/32", false},
		{"fd00::/8", "fdff::/16", true},
		{"fd00::/8", "fe00::/16", false},
		{"fd00::80/121", "fd00::ff/128", true},
		{"fd00::80/121", "fd00::7f/128", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cidr outer = cidr(rows[i].outer), inner = cidr(rows[i].inner);

		if (cidr_covers(&outer, &inner) != rows[i].covers)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
		if (inner.length == 128 && cidr_contains(&outer, &inner.address) != rows[i].covers)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
	}
}

static void interning(void **state)
{
	struct cluster cluster;
	const char *first, *strings[10000];

	(void)state;
	cluster_init(&cluster);
	first = cluster_intern(&cluster, "abc!", 3);
	assert_string_equal(first, "abc");
	assert_ptr_equal(cluster_intern(&cluster, "abc", 3), first);
	assert_ptr_not_equal(cluster_intern(&cluster, "abcd", 4), first);
	assert_string_equal(cluster_intern(&cluster, "", 0), "");
	/* Growth of the pool moves no string. */
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < 10000; i++) {
			char text[20];
			int n = snprintf(text, sizeof(text), "string %d", i);
			const char *string = cluster_intern(&cluster, text, n);

			assert_string_equal(string, text);
			if (pass)
				assert_ptr_equal(string, strings[i]);
			strings[i] = string;
		}
	}
	assert_ptr_equal(cluster_intern(&cluster, "abc", 3), first);
	cluster_free(&cluster);
}

static void messages(void **state)
{
	struct where where = {"a\nb.yaml", 7}, whole = {"c", 0};
	struct diag diag = {0};
	char *text;
	size_t size;

	(void)state;
	diag.to = open_memstream(&text, &size);
	assert_non_null(diag.to);
	diag_error(&diag, &where, "spec.x", "is %s",
		   "\x1b[31mred\x7f \xc3\xa4\xc2\xa0\xc2\x9b\xc2\x80");
	diag_warn(&diag, &whole, NULL, "b");
	diag_note(&diag, NULL, "f", "d");
	diag_error(&diag, &whole, "", "e");
	fclose(diag.to);
	assert_string_equal(text, "a\\x0ab.yaml:7: spec.x: is \\x1b[31mred\\x7f "
				  "\xc3\xa4\xc2\xa0\\xc2\\x9b\\xc2\\x80\n"
				  "c: warning: b\nf: note: d\nc: e\n");
	assert_int_equal(diag.errors, 2);
	assert_int_equal(diag.warnings, 1);
	assert_int_equal(diag.notes, 1);
	free(text);
}

static void messages_have_a_limit(void **state)
{
	struct diag diag = {0};
	char *text, *line;
	size_t size;
	int n = 0;

	(void)state;
	diag.to = open_memstream(&text, &size);
	assert_non_null(diag.to);
	for (int i = 0; i < 3 * DIAG_MAX; i++) {
		assert_int_equal(diag_full(&diag), i >= DIAG_MAX);
		diag_error(&diag, NULL, NULL, "e");
	}
	fclose(diag.to);
	for (line = text; *line; line++)
		n += *line == '\n';
	assert_int_equal(n, DIAG_MAX + 1);
	assert_non_null(strstr(text, "errors end here: there may be more\n"));
	assert_int_equal(diag.errors, 3 * DIAG_MAX);
	free(text);
}

/* The log of a process that runs on: no message ends the log, and none floods it. */

static uint64_t log_ms;

static int log_clock(clockid_t clock, struct timespec *time)
{
	*time = (struct timespec){(clock == CLOCK_REALTIME ? 1700000000 : 0) + log_ms / 1000,
				  log_ms % 1000 * 1000000};
	return 0;
}

struct logged {
	struct diag_log log;
	struct diag diag;
	char *text;
	size_t size;
};

static void log_open(struct logged *logged)
{
	*logged = (struct logged){.log = {.clock = log_clock}};
	log_ms = 1000;
	logged->diag.to = open_memstream(&logged->text, &logged->size);
	logged->diag.log = &logged->log;
	assert_non_null(logged->diag.to);
}

static unsigned int log_lines(struct logged *logged)
{
	unsigned int n = 0;

	fflush(logged->diag.to);
	for (const char *at = logged->text; *at; at++)
		n += *at == '\n';
	return n;
}

static void log_close(struct logged *logged)
{
	diag_log_close(&logged->log);
	fclose(logged->diag.to);
	free(logged->text);
}

static void a_log_has_times_and_levels(void **state)
{
	const struct where where = {"https://server", 0};
	struct logged logged;

	(void)state;
	log_open(&logged);
	diag_warn(&logged.diag, &where, "/api/v1/pods", "the server\x1b hangs");
	log_ms += 5;
	diag_note(&logged.diag, NULL, NULL, "engine: leads");
	diag_error(&logged.diag, NULL, NULL, "e");
	fflush(logged.diag.to);
	assert_string_equal(
		logged.text,
		"2023-11-14T22:13:21.000Z warning: https://server: /api/v1/pods: the server\\x1b "
		"hangs\n2023-11-14T22:13:21.005Z note: engine: leads\n"
		"2023-11-14T22:13:21.005Z error: e\n");
	log_close(&logged);
}

/* A message once a second for a day, and another one behind it. */
static void a_log_does_not_end(void **state)
{
	struct logged logged;
	unsigned int before;

	(void)state;
	log_open(&logged);
	for (int i = 0; i < 86400; i++) {
		diag_warn(&logged.diag, NULL, NULL, "again");
		log_ms += 1000;
	}
	before = log_lines(&logged);
	assert_in_range(before, 86400000 / LOG_REPEAT_MS * LOG_SAME - LOG_SAME,
			86400000 / LOG_REPEAT_MS * LOG_SAME + LOG_SAME);
	assert_non_null(strstr(logged.text, "again (55 times more since this was printed last)\n"));
	diag_warn(&logged.diag, NULL, NULL, "another");
	assert_int_equal(log_lines(&logged), before + 1);
	assert_int_equal(logged.diag.warnings, 86401);
	log_close(&logged);
}

/* Thousands of messages at once, each another one: a burst is printed, the others are counted. */
static void a_log_has_no_flood(void **state)
{
	struct logged logged;

	(void)state;
	log_open(&logged);
	log_ms = 3600000;
	for (int i = 0; i < 5000; i++)
		diag_warn(&logged.diag, NULL, NULL, "message %d", i);
	assert_int_equal(log_lines(&logged), LOG_BURST);
	log_ms += 1000;
	for (int i = 0; i < 5000; i++)
		diag_warn(&logged.diag, NULL, NULL, "later message %d", i);
	assert_int_equal(log_lines(&logged), LOG_BURST + LOG_SECOND + 1);
	assert_non_null(strstr(logged.text, "log: 4900 messages were too many"));
	log_close(&logged);
}

static void log_about(struct logged *logged, const char *ns, int number)
{
	diag_report_about(&logged->diag, DIAG_WARNING, ns, "%s: message %d", ns ? ns : "-", number);
}

/* A tenant brings about thousands of messages, for a minute. Each message about another tenant is
 * printed, and each about no namespace; and one that is known stays known. */
static void a_log_has_an_allowance_for_each_namespace(void **state)
{
	struct logged logged;

	(void)state;
	log_open(&logged);
	log_ms = 3600000;
	for (int i = 0; i < LOG_SAME; i++)
		log_about(&logged, "quiet", 0);
	assert_int_equal(log_lines(&logged), LOG_SAME);
	for (int i = 0; i < 5000; i++)
		log_about(&logged, "noisy", i);
	assert_int_equal(log_lines(&logged), LOG_SAME + LOG_TENANT_BURST);
	assert_null(strstr(logged.text, "were too many"));
	for (int second = 1; second < 59; second++) {
		log_ms += 1000;
		for (int i = 0; i < 5000; i++)
			log_about(&logged, "noisy", 5000 * second + i);
		log_about(&logged, "quiet", second);
		log_about(&logged, NULL, second);
	}
	/* each second a line of each, and one that says how many were too many since the last */
	assert_int_equal(log_lines(&logged), LOG_SAME + LOG_TENANT_BURST + 1 + 4 * 58);
	assert_non_null(strstr(logged.text, "quiet: message 58\n"));
	assert_non_null(strstr(logged.text, "-: message 58\n"));
	log_close(&logged);
}

/* A message that is not printed takes the place of no message that the log knows. */
static void a_log_remembers_what_is_printed(void **state)
{
	struct logged logged;
	unsigned int before;

	(void)state;
	log_open(&logged);
	for (int i = 0; i < 5000; i++)
		log_about(&logged, "noisy", i);
	for (int i = 0; i < LOG_SAME; i++)
		diag_note(&logged.diag, NULL, NULL, "again");
	before = log_lines(&logged);
	for (int i = 0; i < 5000; i++)
		log_about(&logged, "noisy", i);
	diag_note(&logged.diag, NULL, NULL, "again");
	assert_int_equal(log_lines(&logged), before);
	log_close(&logged);
}

/* A command that ends prints so many messages, and counts the others. */
static void unprinted_messages_are_counted(void **state)
{
	unsigned int unprinted[3] = {0};
	struct diag diag = {.unprinted = unprinted};

	(void)state;
	for (int i = 0; i < DIAG_MAX + 7; i++)
		diag_warn(&diag, NULL, NULL, "w");
	diag_note(&diag, NULL, NULL, "n");
	assert_int_equal(unprinted[DIAG_NOTE], 0);
	assert_int_equal(unprinted[DIAG_WARNING], 7);
	assert_int_equal(unprinted[DIAG_ERROR], 0);
}

#define POD(name, ns, ip)                                                        \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\",\"namespace\":\"" ns "\"},\"status\":{\"podIP\":\"" ip "\"}}"
#define OBJECT(version, kind, metadata, spec)                                           \
	"{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{" metadata \
	"},\"spec\":{" spec "}}"
#define ADMIN(name, priority)                                                                      \
	OBJECT("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy", "\"name\":\"" name "\"", \
	       "\"priority\":" priority ",\"subject\":{\"namespaces\":{}}")
#define NETWORK(name, ns)                               \
	OBJECT("networking.k8s.io/v1", "NetworkPolicy", \
	       "\"name\":\"" name "\",\"namespace\":\"" ns "\"", "")

static const char *const objects[] = {
	OBJECT("v1", "Namespace", "\"name\":\"b\",\"labels\":{\"z\":\"1\",\"a\":\"2\"}", ""),
	OBJECT("v1", "Namespace", "\"name\":\"a\"", ""),
	OBJECT("v1", "Node", "\"name\":\"n2\"", ""),
	OBJECT("v1", "Node", "\"name\":\"n1\"", ""),
	POD("p", "c", "10.0.0.3"),
	POD("q", "a", "fd00::1"),
	POD("p", "a", "10.0.0.1"),
	POD("p", "b", "10.0.0.2"),
	ADMIN("x", "10"),
	ADMIN("y", "9"),
	ADMIN("w", "11"),
	NETWORK("p", "d"),
	NETWORK("q", "a"),
	NETWORK("p", "a"),
	OBJECT("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", "\"name\":\"x\"",
	       "\"tier\":\"Baseline\",\"priority\":1000,\"subject\":{\"namespaces\":{}}"),
	OBJECT("policy.networking.k8s.io/v1alpha1", "BaselineAdminNetworkPolicy", "\"name\":\"x\"",
	       "\"subject\":{\"namespaces\":{}}"),
};
enum { N_OBJECTS = sizeof(objects) / sizeof(*objects) };

static char *read_in_order(const size_t order[N_OBJECTS])
{
	struct diag diag = {.to = stderr};
	struct cluster cluster;
	char *text;

	cluster_init(&cluster);
	for (size_t i = 0; i < N_OBJECTS; i++) {
		const char *object = objects[order[i]];

		assert_int_equal(input_parse_json(&cluster, object, strlen(object), "t", &diag), 0);
	}
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	for (size_t i = 0; i < cluster.n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster.endpoints[i];
		const struct namespace *namespace = cluster_namespace(&cluster, endpoint->ns_name);

		assert_non_null(namespace);
		assert_ptr_equal(namespace, &cluster.namespaces[endpoint->ns]);
		assert_string_equal(labels_get(&namespace->labels, "kubernetes.io/metadata.name"),
				    endpoint->ns_name);
	}
	assert_null(cluster_namespace(&cluster, "e"));
	assert_null(cluster_namespace(&cluster, ""));
	text = dump_cluster(&cluster);
	cluster_free(&cluster);
	return text;
}

static void order_does_not_matter(void **state)
{
	size_t order[N_OBJECTS];
	uint32_t random = 1;
	char *first;

	(void)state;
	for (size_t i = 0; i < N_OBJECTS; i++)
		order[i] = i;
	first = read_in_order(order);
	for (int round = 0; round < 50; round++) {
		char *other;

		for (size_t i = N_OBJECTS - 1; i > 0; i--) {
			size_t j = (random = random * 1664525 + 1013904223) >> 8;
			size_t swapped = order[i];

			j %= i + 1;
			order[i] = order[j];
			order[j] = swapped;
		}
		other = read_in_order(order);
		assert_string_equal(other, first);
		free(other);
	}
	free(first);
}

/* An endpoint may list an address twice; two endpoints may not share one. */
static void one_address_one_endpoint(void **state)
{
	static const char twice[] =
		POD("p", "a", "10.0.0.1") POD("p", "b", "fd00::1") POD("q", "b", "10.0.0.1");
	struct diag diag = {0};
	struct cluster cluster;

	(void)state;
	cluster_init(&cluster);
	assert_int_equal(input_parse_json(&cluster, twice, sizeof(twice) - 1, "t", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), -EINVAL);
	assert_int_equal(diag.errors, 1);
	cluster_free(&cluster);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(cidrs),
		cmocka_unit_test(containment),
		cmocka_unit_test(interning),
		cmocka_unit_test(messages),
		cmocka_unit_test(messages_have_a_limit),
		cmocka_unit_test(a_log_has_times_and_levels),
		cmocka_unit_test(a_log_does_not_end),
		cmocka_unit_test(a_log_has_no_flood),
		cmocka_unit_test(a_log_has_an_allowance_for_each_namespace),
		cmocka_unit_test(a_log_remembers_what_is_printed),
		cmocka_unit_test(unprinted_messages_are_counted),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(one_address_one_endpoint),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
