// SPDX-License-Identifier: GPL-2.0-only
/* Converts the printed YAML to JSON, event by event, so that both have the same spellings. */
#include "selftests/lib/generate.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 32

struct json {
	FILE *to;
	struct random random;
	bool list; /* the objects are the items of a List, as kubectl prints them */
	size_t n_objects;
	int depth;
	struct level {
		bool map;
		size_t n; /* keys and values */
	} levels[DEPTH_MAX];
};

static void space(struct json *json)
{
	static const char *const spaces[] = {"", " ", "\n", "\r\n\t"};

	fputs(spaces[random_below(&json->random, 4)], json->to);
}

/* Writes the separator before a value or a key. Returns true if a key follows. */
static bool next(struct json *json)
{
	struct level *level = &json->levels[json->depth];
	bool key = level->map && level->n % 2 == 0;

	if (level->map && !key)
		fputc(':', json->to);
	else if (json->depth && level->n)
		fputc(',', json->to);
	level->n++;
	space(json);
	return key;
}

static void open_level(struct json *json, bool map)
{
	next(json);
	fputc(map ? '{' : '[', json->to);
	if (++json->depth == DEPTH_MAX)
		abort();
	json->levels[json->depth] = (struct level){.map = map};
}

static void close_level(struct json *json)
{
	space(json);
	fputc(json->levels[json->depth--].map ? '}' : ']', json->to);
}

static void string(struct json *json, const char *text)
{
	fputc('"', json->to);
	for (; *text; text++) {
		bool plain = *text & 0x80 || !random_chance(&json->random, 5);

		if (!plain || *text < ' ' || *text == '"' || *text == '\\')
			fprintf(json->to, "\\u%04x", *text);
		else
			fputc(*text, json->to);
	}
	fputc('"', json->to);
}

static void scalar(struct json *json, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	bool key = next(json), plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !key;
	bool word = !strcmp(text, "true") || !strcmp(text, "false");

	if (plain && !*text)
		fputs("null", json->to);
	else if (plain && (word || strspn(text, "0123456789") == strlen(text)))
		fputs(text, json->to);
	else
		string(json, text);
}

static void begin_object(struct json *json)
{
	if (json->list && json->n_objects)
		fputc(',', json->to);
	json->n_objects++;
	json->levels[0] = (struct level){0};
}

/* Returns true if more events follow. */
static bool take(struct json *json, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		begin_object(json);
		break;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		open_level(json, event->type == YAML_MAPPING_START_EVENT);
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		close_level(json);
		break;
	case YAML_SCALAR_EVENT:
		scalar(json, event);
		break;
	default:
		break;
	}
	return event->type != YAML_STREAM_END_EVENT;
}

void generate_json(FILE *to, const struct cluster *cluster, uint64_t style)
{
	struct json json = {.to = to, .random = {style}};
	yaml_parser_t parser;
	yaml_event_t event;
	char *text;
	size_t size;
	FILE *yaml = open_memstream(&text, &size);
	bool more;

	if (!yaml || !yaml_parser_initialize(&parser))
		abort();
	generate_yaml(yaml, cluster, style);
	fclose(yaml);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	json.list = random_chance(&json.random, 50);
	fputs(json.list ? "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [" : "", to);
	do {
		if (!yaml_parser_parse(&parser, &event))
			abort();
		more = take(&json, &event);
		yaml_event_delete(&event);
	} while (more);
	fputs(json.list ? "]}" : "", to);
	yaml_parser_delete(&parser);
	free(text);
}
