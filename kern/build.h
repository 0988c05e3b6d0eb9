/* SPDX-License-Identifier: GPL-2.0-only */
/* Which programs these are. The loader sets both. */
#ifndef BULKHEAD_KERN_BUILD_H
#define BULKHEAD_KERN_BUILD_H

#include <linux/types.h>

/* A hash of the compiled programs (BUILD_ID), by which a command knows whether those in force are
 * its own. */
const volatile __u64 build = 0;

/* Another number each time that programs are loaded. */
const volatile __u32 instance = 0;

#endif
