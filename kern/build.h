/* SPDX-License-Identifier: GPL-2.0-only */
/* The identity of these programs. The loader sets both constants. */
#ifndef BULKHEAD_KERN_BUILD_H
#define BULKHEAD_KERN_BUILD_H

#include <linux/types.h>

/* A hash of the compiled programs (BUILD_ID), by which a command knows whether the active ones are
 * its own. */
const volatile __u64 build = 0;

/* A number that differs for each load of programs. */
const volatile __u32 instance = 0;

#endif
