// SPDX-License-Identifier: GPL-2.0-only
/* What a follower states of addresses that have left its node's Pods, and for how long. */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/resting.h"
#include "cluster/store.h"
#include "cni/left.h"

/* The clock in ms; the loop is not run. */
static uint64_t now;

uint64_t api_now(void)
{
	return now;
}

static struct api_timer *set;

void api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms)
{
	(void)api;
	set = timer;
	timer->due = now + ms;
}

void api_timer_stop(struct api *api, struct api_timer *timer)
{
	(void)api;
	timer->due = 0;
}

static struct api_reader *folder;

void api_reader_add(struct api *api, struct api_reader *reader)
{
	(void)api;
	folder = reader;
}

/* What the active policy says of each address, as left_is_in_policy() returns it; the policy cannot
 * be opened without. */
static const int *said;

int __wrap_node_open(const struct node_options *options, bool create, struct diag *diag,
		     struct node_handle **handle);
int __wrap_node_open(const struct node_options *options, bool create, struct diag *diag,
		     struct node_handle **handle)
{
	(void)options;
	(void)create;
	(void)diag;
	*handle = said ? (void *)&said : NULL;
	return said ? 0 : -ENOENT;
}

void __wrap_cleanup_handle(struct node_handle **handle);
void __wrap_cleanup_handle(struct node_handle **handle)
{
	(void)handle;
}

int __wrap_left_is_in_policy(struct node_handle *handle, const struct left_address *left);
int __wrap_left_is_in_policy(struct node_handle *handle, const struct left_address *left)
{
	(void)handle;
	(void)left;
	return *said;
}

static char records[] = "/tmp/unit_resting.XXXXXX";
static struct resting *resting;
static struct lh_table *pods;

static unsigned int changes;

static void on_change(void *data)
{
	(void)data;
	changes++;
}

static int reopen(void)
{
	static struct diag diag;
	static const struct node_options node = {.pin = "/nonexistent"};
	const struct resting_options options = {
		.records = records, .node = &node, .diag = &diag, .changed = on_change};

	return resting_open(NULL, &options, &resting);
}

static int begin(void **state)
{
	(void)state;
	now = 1000;
	changes = 0;
	said = NULL;
	strcpy(records + strlen(records) - 6, "XXXXXX");
	pods = lh_kchar_table_new(8, NULL);
	return !mkdtemp(records) || !pods || reopen();
}

static void remove_note(void *data, const struct left_address *left)
{
	(void)data;
	left_remove(records, left);
}

static int end(void **state)
{
	char *path = left_folder(records);
	struct diag diag = {0};

	(void)state;
	resting_close(resting);
	lh_table_free(pods);
	left_each(records, &diag, remove_note, NULL);
	rmdir(path);
	free(path);
	return rmdir(records);
}

static struct left_address address(const char *text, const char *uid, bool rests)
{
	struct left_address left = {.ns = "shop", .name = "db", .rests = rests};

	assert_int_equal(address_parse(text, &left.address), 0);
	snprintf(left.uid, sizeof(left.uid), "%s", uid);
	return left;
}

/* The loop has not heard of the note. */
static void note_unheard(const char *text, const char *uid, bool rests)
{
	const struct left_address left = address(text, uid, rests);

	assert_int_equal(left_put(records, &left), 0);
}

static void note(const char *text, const char *uid, bool rests)
{
	note_unheard(text, uid, rests);
	folder->ready(folder->data);
}

static unsigned int look(void)
{
	const struct resting_view view = {.pods = pods, .active = 7, .oldest = 7};

	return resting_look(resting, &view);
}

static void stated(const char *text)
{
	struct json_object *list = resting_statements(resting);

	assert_string_equal(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN), text);
	json_object_put(list);
}

static struct json_object *pod(const char *uid, const char *ip)
{
	struct json_object *object;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"db\", \"uid\": \"%s\"}, "
		 "\"status\": {\"podIP\": \"%s\", \"podIPs\": [{\"ip\": \"%s\"}]}}",
		 uid, ip, ip);
	object = json_tokener_parse(text);
	assert_non_null(object);
	return object;
}

#define DB "[{\"address\":\"10.0.0.1\",\"namespace\":\"shop\",\"name\":\"db\",\"uid\":\"u-1\"}]"

static void as_long_as_the_object_names_it(void **state)
{
	struct json_object *object = pod("u-1", "10.0.0.1");

	(void)state;
	lh_table_insert(pods, "shop/db", object);
	note("10.0.0.1", "u-1", false);
	assert_int_equal(look(), RESTING_STATED);
	stated(DB);
	assert_int_equal(look(), 0);
	now += 60000;
	assert_int_equal(look(), 0);
	lh_table_delete(pods, "shop/db");
	json_object_put(object);
	/* the engine may hear of the shorter list first */
	assert_int_equal(look(), 0);
	now += 9999;
	assert_int_equal(look(), 0);
	stated(DB);
	now += 1;
	assert_int_equal(look(), RESTING_STATED);
	stated("[]");
}

static void until_the_pod_has_it_again(void **state)
{
	const struct left_address left = address("10.0.0.1", "u-1", true);

	(void)state;
	note("10.0.0.1", "u-1", true);
	assert_int_equal(look(), RESTING_STATED);
	left_remove(records, &left);
	folder->ready(folder->data);
	assert_int_equal(look(), RESTING_STATED);
	stated("[]");
}

static void after_a_restart(void **state)
{
	(void)state;
	note("10.0.0.1", "u-1", true);
	resting_close(resting);
	assert_int_equal(reopen(), 0);
	assert_int_equal(look(), RESTING_STATED);
	stated(DB);
}

static size_t n_stated(void)
{
	struct json_object *list = resting_statements(resting);
	const size_t n = json_object_array_length(list);

	json_object_put(list);
	return n;
}

/* The API server takes a list of so many. The others wait until a place there is free. */
static void as_many_as_the_resource_takes(void **state)
{
	const struct left_address first = address("10.1.0.0", "u-1", false);
	char text[32];

	(void)state;
	for (unsigned int i = 0; i < STORE_LEFT_MAX; i++) {
		snprintf(text, sizeof(text), "10.1.%u.%u", i >> 8, i & 255);
		note_unheard(text, "u-1", false);
	}
	note("10.2.0.1", "u-1", false);
	assert_int_equal(look(), RESTING_STATED);
	assert_int_equal(n_stated(), STORE_LEFT_MAX);
	left_remove(records, &first);
	folder->ready(folder->data);
	look();
	assert_int_equal(n_stated(), STORE_LEFT_MAX);
}

/* Without a policy that lacks the address, the address rests however long. */
static void no_rest_ends_without_a_policy(void **state)
{
	const struct left_address left = address("10.0.0.1", "u-1", true);
	struct address late;
	size_t n;

	(void)state;
	note("10.0.0.1", "u-1", true);
	assert_int_equal(look(), RESTING_STATED);
	assert_int_equal(resting_late(resting, &late), 0);
	now += RESTING_LATE_MS;
	assert_int_equal(look(), RESTING_STATED);
	for (int i = 0; i < 3; i++) {
		struct json_object *list;

		look();
		list = resting_statements(resting);
		resting_told(resting, list);
		json_object_put(list);
		now += 3600000;
	}
	assert_int_equal(resting_late(resting, &late), 1);
	assert_memory_equal(&late, &left.address, sizeof(late));
	assert_int_equal(resting_count(resting, &n), 1);
	assert_int_equal(n, 1);
}

static void who_is_kept_off(void **state)
{
	struct {
		const char *uid, *ip;
		bool rests, off;
	} rows[] = {
		{"u-1", "10.0.0.1", true, true}, /* it has left this Pod */
		{"u-2", "10.0.0.1", true, true},  {"u-1", "10.0.0.2", true, false},
		{"u-1", "10.0.0.1", false, true}, {"u-2", "10.0.0.1", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_object *object = pod(rows[i].uid, rows[i].ip);

		note("10.0.0.1", "u-1", rows[i].rests);
		look();
		assert_int_equal(resting_keeps_off(resting, object), rows[i].off);
		json_object_put(object);
	}
}

/* The plugin's note counts from the moment it is written, and is looked at all the same. */
static void no_pod_is_first(void **state)
{
	struct json_object *next = pod("u-2", "10.0.0.1"), *other = pod("u-2", "10.0.0.2");

	(void)state;
	assert_false(resting_keeps_off(resting, next));
	note_unheard("10.0.0.1", "u-1", true);
	assert_true(resting_keeps_off(resting, next));
	assert_false(resting_keeps_off(resting, other));
	assert_int_equal(set->due, now);
	set->run(set->data);
	assert_int_equal(changes, 1);
	json_object_put(next);
	json_object_put(other);
}

/* The API server has the list without the note that nobody has looked at. */
static void no_report_is_first(void **state)
{
	struct json_object *next = pod("u-2", "10.0.0.1"), *list;

	(void)state;
	look();
	list = resting_statements(resting);
	note_unheard("10.0.0.1", "u-1", true);
	assert_true(resting_keeps_off(resting, next));
	resting_told(resting, list);
	json_object_put(list);
	assert_int_equal(set->due, now);
	now += 200;
	assert_int_equal(look(), RESTING_STATED);
	list = resting_statements(resting);
	set->due = 0;
	resting_told(resting, list);
	assert_int_equal(set->due, now + 250);
	json_object_put(list);
	json_object_put(next);
}

static unsigned int look_at(uint32_t wanted)
{
	const struct resting_view view = {.pods = pods, .wanted = wanted};

	return resting_look(resting, &view);
}

static void tell(void)
{
	struct json_object *list = resting_statements(resting);

	resting_told(resting, list);
	json_object_put(list);
}

/* The report that has told the restored server of the address may come before the node hears of the
 * older generation: it has to tell once more. */
static void told_again_after_a_restore(void **state)
{
	(void)state;
	note("10.0.0.1", "u-1", true);
	assert_int_equal(look_at(9), RESTING_STATED);
	tell();
	now += 1000;
	assert_int_equal(look_at(9), 0);
	assert_int_equal(look_at(9), 0);
	assert_int_equal(look_at(4), RESTING_STATED);
	tell();
	now += 1000;
	assert_int_equal(look_at(4), 0);
}

static unsigned int look_with(int policy)
{
	const struct resting_view view = {.pods = pods, .wanted = 7, .active = 7, .oldest = 7};
	unsigned int news;

	said = &policy;
	news = resting_look(resting, &view);
	said = NULL;
	return news;
}

/* The rest ends once all nodes have a policy that does not give the address to the former pod. A
 * policy that cannot be read is none, and is read again at the next look. */
static void rests_until_a_policy_is_read(void **state)
{
	(void)state;
	note("10.0.0.1", "u-1", true);
	assert_int_equal(look(), RESTING_STATED);
	tell();
	now += 240000;
	assert_false(look_with(-EIO) & RESTING_OVER);
	assert_false(look_with(1) & RESTING_OVER);
	assert_false(look_with(-EIO) & RESTING_OVER);
	note("10.0.0.2", "u-2", true);
	assert_int_equal(look(), RESTING_STATED);
	tell();
	now += 240000;
	assert_false(look_with(-EIO) & RESTING_OVER);
	assert_true(look_with(0) & RESTING_OVER);
}

static void no_look_is_first(void **state)
{
	(void)state;
	note_unheard("10.0.0.1", "u-1", true);
	assert_int_equal(look(), RESTING_STATED);
	stated(DB);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(as_long_as_the_object_names_it),
		TEST(until_the_pod_has_it_again),
		TEST(after_a_restart),
		TEST(as_many_as_the_resource_takes),
		TEST(no_rest_ends_without_a_policy),
		TEST(who_is_kept_off),
		TEST(no_pod_is_first),
		TEST(no_report_is_first),
		TEST(told_again_after_a_restore),
		TEST(rests_until_a_policy_is_read),
		TEST(no_look_is_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
