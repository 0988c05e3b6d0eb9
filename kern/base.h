/* SPDX-License-Identifier: GPL-2.0-only */
/* The base of every header of this folder: BPF helpers, and loads and stores of one piece. */
#ifndef BULKHEAD_KERN_BASE_H
#define BULKHEAD_KERN_BASE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

/*
 * A function that the verifier checks once, whatever is known at its calls, and not along each path
 * to them. The function must check its pointers for NULL. Before 6.2 none of them may be a map's
 * key.
 */
#define BPF_GLOBAL __attribute__((noinline))

/* Makes the compiler compute a value here. Without it, clang may move the computation behind a
 * later call and keep all its operands on the stack until then. */
#define SETTLE(x) asm volatile("" : "+r"(x))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
