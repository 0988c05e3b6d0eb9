/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which build a program is of: the loader sets it to a hash of the compiled
 * programs (BUILD_ID). A command knows by it whether those in force are its own.
 */
#ifndef BULKHEAD_KERN_BUILD_H
#define BULKHEAD_KERN_BUILD_H

#include <linux/types.h>

const volatile __u64 build = 0;

#endif
