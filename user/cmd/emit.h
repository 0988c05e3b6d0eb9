/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a command's records, as text or with -j as JSON, so that the command walks its records
 * once. emit_say() writes text and does nothing for JSON. All other functions make JSON and do
 * nothing for text.
 *
 *	emit_object(emit, NULL);
 *	emit_text(emit, "name", map->name);
 *	emit_number(emit, "used", map->used);
 *	emit_say(emit, "%s: %u entries\n", map->name, map->used);
 *	emit_end(emit);
 *
 * A value has a key in an object, and NULL in an array and at the root.
 */
#ifndef BULKHEAD_CMD_EMIT_H
#define BULKHEAD_CMD_EMIT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/evaluate.h"

#define EMIT_DEPTH 16 /* objects and arrays in each other */

struct call;

struct emit {
	bool json, pretty;
	FILE *to;
	struct json_object *open[EMIT_DEPTH]; /* objects and arrays without their end yet */
	size_t n; /* of them */
};

/* Returns an emitter to standard output, for JSON if the command has -j. */
struct emit emit_begin(const struct call *call);

/* Begins an object or an array, which lasts until emit_end(). */
void emit_object(struct emit *emit, const char *key);
void emit_array(struct emit *emit, const char *key);
/* Ends the innermost object or array. The end of the root writes the root and a newline. */
void emit_end(struct emit *emit);
/* Frees the root without writing it, if it has no end yet. */
void emit_drop(struct emit *emit);

void emit_text(struct emit *emit, const char *key, const char *text); /* @text NULL: null */
void emit_name(struct emit *emit, const char *key, const char *text); /* @text "": null */
void emit_number(struct emit *emit, const char *key, uint64_t number);
void emit_bool(struct emit *emit, const char *key, bool value);
/* takes over @value */
void emit_json(struct emit *emit, const char *key, struct json_object *value);

/* Adds an object with "verdict", "tier", "policy" and "rule"; null if no policy at that end
 * decides. */
void emit_decision(struct emit *emit, const char *key, const struct policy *policy,
		   const struct decision *decision);
/* Adds "policy" and "rule"; both are null if @rule is NULL. */
void emit_rule(struct emit *emit, const struct policy *policy, const struct policy_rule *rule);

/* Adds a side of a flow: {"name", "address"}, and "node" unless @node is NULL. */
void emit_side(struct emit *emit, const char *key, const char *name, const char *address,
	       const char *node);
/* Adds "seconds", how long a learned address lasts still, and "over": a negative number. */
void emit_seconds(struct emit *emit, int32_t seconds);

void emit_say(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
