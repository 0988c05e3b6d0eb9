/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads a policy that a test prints as INI, in the test's own process. Functions return 0 or
 * -errno, and print errors. */
#ifndef BULKHEAD_SELFTESTS_LOAD_INPUT_H
#define BULKHEAD_SELFTESTS_LOAD_INPUT_H

#include <stdio.h>

#include "input/input.h"
#include "node/node.h"

typedef void (*print_input_fn)(FILE *to, const void *data);

/* @cluster: for cluster_free() after success. */
int read_input(print_input_fn print, const void *data, struct cluster *cluster);

int load_input(const struct node_options *options, print_input_fn print, const void *data);

#endif
