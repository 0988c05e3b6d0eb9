/* SPDX-License-Identifier: GPL-2.0-only */
/* How the shared headers reach a packet at the TC hooks. */
#ifndef BULKHEAD_KERN_SKB_H
#define BULKHEAD_KERN_SKB_H

#include "base.h"

typedef struct __sk_buff hook_context;

/* Of kernels with `kern_ctx` (tunables.h). */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

static __always_inline void *hook_data(hook_context *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *hook_end(hook_context *ctx)
{
	return (void *)(long)ctx->data_end;
}

/* Returns true if neither an interface nor a socket tells who sent the packet. If it is an IPv6
 * fragment, the kernel may have made it anew, of a packet that it forwards. Fragments of the node's
 * own packet have its socket. */
static __always_inline bool hook_is_lost(hook_context *ctx)
{
	return !ctx->ingress_ifindex && !ctx->sk;
}

static __always_inline __u32 hook_length(hook_context *ctx)
{
	return ctx->len;
}

static __always_inline long hook_load(hook_context *ctx, __u32 at, void *to, __u32 size)
{
	return bpf_skb_load_bytes(ctx, at, to, size);
}

#endif
