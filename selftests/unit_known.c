// SPDX-License-Identifier: GPL-2.0-only
/* What a watch knows of its objects, which come and go without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/linkhash.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/known.h"

#define OBJECTS 1000

static const char *key_of(unsigned int number)
{
	static char key[32];

	snprintf(key, sizeof(key), "shop/job-%u", number);
	return key;
}

static const char *version_of(unsigned int number)
{
	static char version[32];

	snprintf(version, sizeof(version), "%u", number);
	return version;
}

/* A search for a key that is not there ends at an empty place. */
static int empty_places(const struct lh_table *table)
{
	int n = 0;

	for (int i = 0; i < table->size; i++)
		n += table->table[i].k == LH_EMPTY;
	return n;
}

/* Jobs come, and each makes an older one go, until each place of the table has been used many
 * times: the table still has empty places, and the objects that are there. */
static void finds_what_is_not_there(void **state)
{
	const unsigned int end = 40 * OBJECTS;
	struct api_known known = {0};

	(void)state;
	assert_int_equal(api_known_open(&known), 0);
	for (unsigned int i = 0; i < end; i++) {
		assert_int_equal(api_known_put(&known, key_of(i), version_of(i)), 1);
		if (i >= OBJECTS)
			assert_true(api_known_delete(&known, key_of(i - OBJECTS)));
		assert_true(empty_places(known.table) >= known.table->size / 8);
	}
	assert_int_equal(api_known_count(&known), OBJECTS);
	for (unsigned int i = end - 2 * OBJECTS; i < end; i++) {
		const bool there = i >= end - OBJECTS;

		assert_int_equal(api_known_has(&known, key_of(i), version_of(i)), there);
		if (!there)
			assert_false(api_known_delete(&known, key_of(i)));
	}
	api_known_close(&known);
}

static void count_gone(void *data, const char *key)
{
	unsigned int *next = data;

	assert_string_equal(key, key_of((*next)++));
}

/* A list after a gap lacks almost all objects: each is gone once, in the order in which they came.
 */
static void forgets_what_a_list_lacks(void **state)
{
	struct api_known known = {0};
	unsigned int next = 0;

	(void)state;
	assert_int_equal(api_known_open(&known), 0);
	for (unsigned int i = 0; i < OBJECTS; i++)
		api_known_put(&known, key_of(i), version_of(i));
	api_known_begin(&known);
	for (unsigned int i = OBJECTS - 3; i < OBJECTS; i++)
		assert_int_equal(api_known_put(&known, key_of(i), version_of(i)), 0);
	api_known_end(&known, count_gone, &next);
	assert_int_equal(next, OBJECTS - 3);
	assert_int_equal(api_known_count(&known), 3);
	for (unsigned int i = 0; i < OBJECTS; i++)
		assert_int_equal(api_known_has(&known, key_of(i), version_of(i)), i >= OBJECTS - 3);
	api_known_close(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_not_there),
		cmocka_unit_test(forgets_what_a_list_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
