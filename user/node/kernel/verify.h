/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads the TC programs in threads. The kernel's verifier takes some 0.1 s for a program and runs
 * in the thread that asks for it, and libbpf loads the programs of an object one after the other.
 * So libbpf only prepares each program of the one object, and loads a stub in its place; the
 * threads load the prepared programs, each of which takes the file descriptor of its stub. The
 * object reads the kernel's BTF, which costs 20 to 80 ms, once for all programs.
 */
#ifndef BULKHEAD_NODE_VERIFY_H
#define BULKHEAD_NODE_VERIFY_H

#include <linux/types.h>
#include <stdbool.h>

struct bh_tc;

/* This thread is one of them. */
#define VERIFY_THREADS 3

/* Registers the programs' sections with libbpf. An object that verify_load() is to load is opened
 * after this. Returns 0 or -errno, not reported. */
int verify_register(void);

/* Loads the maps of @tc and all of its programs. @log_level: as the kernel's; what it writes goes
 * to standard error. *made: the maps are made. Returns 0 or -errno, not reported. */
int verify_load(struct bh_tc *tc, __u32 log_level, bool *made);

#endif
