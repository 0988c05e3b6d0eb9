/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads the TC programs in threads. The kernel's verifier takes some 0.1 s for a program and runs
 * in the thread that asks for it, and libbpf loads the programs of an object one after the other.
 * So each thread has an object of its own, with one part of the programs and the maps of the first
 * object.
 */
#ifndef BULKHEAD_NODE_VERIFY_H
#define BULKHEAD_NODE_VERIFY_H

#include <bpf/libbpf.h>

/* Each part costs some 30 ms beside the verifier: libbpf reads the kernel's BTF again. */
#define VERIFY_PARTS 3

struct bh_tc;
struct verified {
	struct bh_tc *parts[VERIFY_PARTS];
};

/* Loads each program. They use the maps of @maps, which has loaded its maps and no program. Returns
 * 0 or -errno, not reported. */
int verify(const struct bpf_object *maps, const struct bpf_object_open_opts *options,
	   struct verified *verified);
void verified_free(struct verified *verified);

/* Returns the fd of the program of this name, which is closed with @verified; -ENOENT: there is no
 * such program. */
int verified_program(const struct verified *verified, const char *name);

/* Makes @object load no program. */
void verify_no_program(struct bpf_object *object);

#endif
