// SPDX-License-Identifier: GPL-2.0-only
/* Objects of which the long lists are not parsed: they are printed as they came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/large.h"

#define MOST (4 << 20)

static const char *const rules[] = {"ingress", "egress", NULL};
static char text[MOST], want[MOST];

/* Writes a list of so many ports, with what might be taken for its end. */
static char *list_of(size_t ports)
{
	char *list = malloc(64 * (ports + 2)), *to = list;

	assert_non_null(list);
	to += sprintf(to, "[{\"from\":[]},{\"a]\\\"}\":[[]],\"ports\":[");
	for (size_t i = 0; i < ports; i++)
		to += sprintf(to, "%s{\"protocol\":\"TCP\",\"port\":%zu}", i ? "," : "", i);
	sprintf(to, "]}]");
	return list;
}

/* Writes an object with the lists into `text`. */
static void write_object(const char *head, const char *ingress, const char *egress,
			 const char *tail)
{
	assert_in_range(
		snprintf(text, sizeof(text),
			 "%s{\"metadata\":{\"name\":\"p\",\"ingress\":[1]},\"spec\":{"
			 "\"podSelector\":{},\"ingress\":%s,\"egress\":%s,\"last\":\"there\"}}%s",
			 head, ingress, egress, tail),
		1, sizeof(text) - 1);
	strcpy(want, text);
}

static struct json_object *member(struct json_object *object, const char *path)
{
	struct json_object *found = api_get(object, path);

	assert_non_null(found);
	return found;
}

static void check_printed(struct json_object *object, const char *as)
{
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE),
		as);
}

/* Both lists stay text, if they are long; all else is parsed, lists of that name elsewhere, too. */
static void test_event(void **state)
{
	static const size_t sizes[][2] = {{40000, 1}, {1, 40000}, {20000, 20000}, {1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *ingress = list_of(sizes[i][0]), *egress = list_of(sizes[i][1]);
		struct json_object *event, *list;

		write_object("{\"type\":\"ADDED\",\"object\":", ingress, egress, "}");
		event = api_parse_event(text, strlen(text), rules);
		assert_non_null(event);
		check_printed(event, want);
		check_printed(member(event, "object.spec.ingress"), ingress);
		assert_string_equal(api_text(event, "object.spec.last"), "there");
		list = member(event, "object.metadata.ingress");
		assert_int_equal(json_object_array_length(list), 1);
		list = member(event, "object.spec.ingress");
		assert_int_equal(json_object_array_length(list), sizes[i][0] > 1 ? 0 : 2);
		json_object_put(event);
		free(ingress);
		free(egress);
	}
}

/* The same of the items of a list, each of which may have such lists. */
static void test_items(void **state)
{
	char *ingress = list_of(10000), *egress = list_of(2), *one;
	struct json_object *item;
	struct api_items items;
	size_t n = 0;

	(void)state;
	write_object("", ingress, egress, "");
	one = strdup(text);
	assert_non_null(one);
	snprintf(text, sizeof(text), "{\"items\":[%s, %s ,%s],\"metadata\":{\"continue\":\"\"}}",
		 one, one, one);
	items = api_items_of(text, strlen(text));
	while (!api_items_next(&items, rules, &item)) {
		check_printed(item, one);
		json_object_put(item);
		n++;
	}
	assert_int_equal(n, 3);
	api_items_cut(&items);
	assert_string_equal(text, "{\"items\":[],\"metadata\":{\"continue\":\"\"}}");
	free(one);
	free(ingress);
	free(egress);
}

static void write_many(const char *item, char *list)
{
	char *to = list + sprintf(list, "[");

	for (size_t i = 0; i <= API_VALUES_MAX; i++)
		to += sprintf(to, "%s%s", i ? "," : "", item);
	sprintf(to, "]");
}

/* A list of too many objects is cut before it stays text. */
static void test_too_many(void **state)
{
	char *ingress = malloc(MOST), *egress = list_of(1);
	struct json_object *event;

	(void)state;
	assert_non_null(ingress);
	write_many("{}", ingress);
	write_object("{\"object\":", ingress, egress, "}");
	event = api_parse_event(text, strlen(text), rules);
	check_printed(member(event, "object.spec.ingress"), "[{}]");
	json_object_put(event);
	write_many("[]", ingress);
	write_object("{\"object\":", ingress, egress, "}");
	event = api_parse_event(text, strlen(text), rules);
	assert_non_null(strstr(api_text(event, "object.spec.ingress"), "too many"));
	json_object_put(event);
	free(ingress);
	free(egress);
}

/* A text that is no JSON is refused, with and without a list that was taken out before. */
static void test_refused(void **state)
{
	char *ingress = list_of(10000), *egress = list_of(1);
	static const char *const tails[] = {"", "}}", ",", "\"spec\":"};

	(void)state;
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		write_object("{\"object\":", ingress, egress, tails[i]);
		if (i == 1) /* json-c ends with the object */
			text[strlen(text) - 3] = '\0';
		assert_null(api_parse_event(text, strlen(text), rules));
	}
	/* the last spec counts for json-c: a list must not vanish with the first */
	snprintf(text, sizeof(text), "{\"object\":{\"spec\":{\"ingress\":%s},\"spec\":1}}",
		 ingress);
	assert_null(api_parse_event(text, strlen(text), rules));
	free(ingress);
	free(egress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
