// SPDX-License-Identifier: GPL-2.0-only
/*
 * The garbage collector's pass over the whole table, as a program that a test runs on the CPU and
 * at the moment that it wants: the timer takes a step of the table every 50 ms.
 */
#pragma clang diagnostic ignored "-Wunused-function" /* the timer's, and the end of a sweep */

#include "skb.h"
#include "garbage_collector.h"

char LICENSE[] SEC("license") = "GPL";

__u32 ahead; /* ticks by which the garbage collector's clock is ahead of that of packets */

SEC("tc")
int collect(struct __sk_buff *skb __attribute__((unused)))
{
	struct gc gc = {.now = table_now() + ahead, .shrink = SWEEP_WHOLE};

	bpf_loop(ct_buckets, gc_bucket, &gc, 0);
	return 0;
}
