/* SPDX-License-Identifier: GPL-2.0-only */
/* The policies and rules that one end asks, as `trace -v` shows them. */
#ifndef BULKHEAD_CMD_EXPLAIN_H
#define BULKHEAD_CMD_EXPLAIN_H

#include "cmd/json.h"
#include "compile/explain.h"

/* A policy a line, its rules below it. Of many in a row that come to the same, how many. */
void explain_print(const struct explanation *explanation);

/* Every step: an array of {"tier", "policy", "rule", "says", "file", "line"}. */
struct json_object *explain_json(const struct explanation *explanation);

#endif
