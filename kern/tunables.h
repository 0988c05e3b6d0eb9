/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Constants that the loader sets before it loads the programs. Times are in ticks of 64 jiffies
 * (maps/conntrack.h); the defaults are seconds at CONFIG_HZ=250.
 */
#ifndef BULKHEAD_KERN_TUNABLES_H
#define BULKHEAD_KERN_TUNABLES_H

#include "base.h"
#include "maps/conntrack.h"

#define SECONDS(n) ((n)*250u >> BH_TICK_SHIFT)

const volatile __u32 timeout_tcp = SECONDS(10800); /* above keepalive's 7,200 s and its probes */
const volatile __u32 timeout_tcp_closing = SECONDS(120); /* after FIN both ways */
const volatile __u32 timeout_tcp_reset = SECONDS(10); /* after RST */
const volatile __u32 timeout_half_open = SECONDS(75);
/* How long a connection without an answer costs more than one that had its answer
 * (conntrack_table.h). */
const volatile __u32 unanswered_stay = SECONDS(2);
const volatile __u32 timeout_udp = SECONDS(30); /* until the initiator sends after an answer */
const volatile __u32 timeout_udp_stream = SECONDS(180); /* from then on */
const volatile __u32 timeout_sctp = SECONDS(600);
const volatile __u32 timeout_icmp = SECONDS(30);
const volatile __u32 timeout_other = SECONDS(600);
/* the life of a connection that a change of policy denies */
const volatile __u32 timeout_denied = SECONDS(120);
const volatile __u32 timeout_fragment = SECONDS(30);

const volatile __u32 dns_grace = SECONDS(30); /* beyond the TTL, for new connections */
const volatile __u32 dns_aliases = 0; /* 0 or 1: the names along a chain of CNAMEs count, too */
const volatile __u64 domain_key[2] = {0, 0}; /* of domain_hash.h; the loader's, at random */

const volatile __u64 ct_seed = BH_CT_MIX; /* odd; the loader's, at random */
const volatile __u32 ct_capacity = BH_CT_CONNECTIONS; /* connections that bh_ct is to hold */
const volatile __u32 ct_buckets = BH_CT_BUCKETS(BH_CT_CONNECTIONS);

const volatile __u32 redirect = 0; /* 0 or 1: the shorter way of redirect.h */

/* 0 or 1: programs ask the kernel's conntrack (netfilter.h). The loader sets it if the kernel can
 * be asked and ask_conntrack is 1. */
const volatile __u32 kernel_conntrack = 0;
const volatile __u32 ask_conntrack = 1; /* 0 or 1: `load --set ask-conntrack` */
const volatile __u32 encapsulation = 0; /* 0 or 1: packets that tunnel.h would drop pass */
/* 1: the processor lets no store be seen before an earlier one. Known when the programs are
 * compiled: the verifier would remove 40 branches that never run, one by one, which took 6 % of a
 * first load. */
#ifdef __TARGET_ARCH_x86
#define ORDERED_STORES 1
#else
#define ORDERED_STORES 0
#endif
/* No program reads it. It has its place: a command finds the settings behind it by their offsets,
 * in the programs of other builds, too. */
const volatile __u32 ordered_stores = ORDERED_STORES;
const volatile __u32 kern_ctx = 0; /* 0 or 1: the kernel has bpf_cast_to_kern_ctx(), 6.2 */

/* 0 or 1: commands wait for normal grace periods (user/node/kernel/rcu.h). No program reads it: a
 * command finds the setting here, beside the others. */
const volatile __u32 rcu_normal = 0;

const volatile __u32 event_rate =
	1000; /* records of each endpoint a second, on each CPU; 0: none */
const volatile __u32 event_hz = 250; /* jiffies in a second */
const volatile __u32 event_sample = 1; /* of so many events, one is kept */
const volatile __u32 event_allow = 1; /* 0 or 1: new connections make events, too */

#endif
