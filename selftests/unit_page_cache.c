// SPDX-License-Identifier: GPL-2.0-only
/* How often a page of metrics is made, with a clock that the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/page_cache.h"

static uint64_t now;

/* A stand-in for the loop's clock. */
uint64_t api_now(void)
{
	return now;
}

/* A page that takes a while to make, and has its number. */
struct book {
	unsigned int made, ms;
	bool short_of_memory;
};

static char *make(void *data)
{
	struct book *book = data;
	char text[20];

	now += book->ms;
	snprintf(text, sizeof(text), "%u", ++book->made);
	return book->short_of_memory ? NULL : strdup(text);
}

static unsigned int get(struct page_cache *cache, struct book *book)
{
	const char *text = page_cache_get(cache, make, book);

	return text ? strtoul(text, NULL, 10) : 0;
}

/* However often the page is asked for, to make it takes a tenth of the time at most. */
static void asked_without_end(void **state)
{
	static const unsigned int durations[] = {0, 1, 25, 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
		struct page_cache cache = {};
		struct book book = {.ms = durations[i]};
		const uint64_t began = now += 100000;

		while (now < began + 100000) {
			get(&cache, &book);
			now++;
		}
		assert_true(book.made > 1);
		assert_true((uint64_t)(book.made - 1) * book.ms <= (now - began) / 10);
		page_cache_free(&cache);
	}
}

/* Prometheus gets a page that is made for it. */
static void asked_seldom(void **state)
{
	struct page_cache cache = {};
	struct book book = {.ms = 25};

	(void)state;
	for (unsigned int i = 1; i < 100; i++) {
		now += 1000;
		assert_int_equal(get(&cache, &book), i);
		assert_int_equal(get(&cache, &book), i);
	}
	page_cache_free(&cache);
}

static void no_memory(void **state)
{
	struct page_cache cache = {};
	struct book book = {.ms = 1, .short_of_memory = true};

	(void)state;
	now += 1000;
	assert_int_equal(get(&cache, &book), 0);
	now += 1000;
	book.short_of_memory = false;
	assert_int_equal(get(&cache, &book), 2);
	now += 1000;
	book.short_of_memory = true;
	assert_int_equal(get(&cache, &book), 2);
	page_cache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked_without_end),
		cmocka_unit_test(asked_seldom),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
