/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs under test, run on packets of our own by BPF_PROG_TEST_RUN. Those
 * of Bulkhead are loaded a second time onto a place's maps, with an event for
 * each packet: the default rate would suppress nearly all.
 */
#ifndef BULKHEAD_TOOLS_BENCH_PROGRAMS_H
#define BULKHEAD_TOOLS_BENCH_PROGRAMS_H

#include "maps/counter.h"
#include "tools/bench/place.h"

enum bench_program {
	PROGRAM_RETURN,
	PROGRAM_PARSE,
	PROGRAM_FIND,
	PROGRAM_INSERT,
	PROGRAM_TRACK, /* finds it, else inserts it: both directions are one flow */
	PROGRAM_STEP_FORM, /* as far as there, at TC only: steps.bpf.c */
	PROGRAM_STEP_FIND,
	PROGRAM_STEP_WORDS,
	PROGRAM_STEP_ENDS,
	PROGRAM_STEP_AGE,
	PROGRAM_STEP_COUNT,
	PROGRAM_STEP_LAST,
	PROGRAM_BEFORE, /* without what real networks ask for, at TC only: before.bpf.c */
	PROGRAM_TO, /* Bulkhead's, from here on */
	PROGRAM_FROM,
	PROGRAM_LEAVE,
	PROGRAM_UPLINK,
	PROGRAMS
};

/* With its statistics on, the kernel reads a clock twice for each run of a program.. Returns
 * 0, or -EBUSY, reported. */
int no_statistics(void);

#define SERVICE_IPV4 "10.96.0.1"
#define SERVICE_IPV6 "fd96::1"

struct subject; /* a place, with Bulkhead's programs for it */
struct floor; /* the programs that are measured against, and what rotates flows */

int floor_open(struct floor **floor);
int subject_open(const struct place *place, struct subject **subject);

#define PROBE_SYN 0x02
#define PROBE_ACK 0x10

/* A packet of 60 bytes or so to bench0's pod from bench1's. */
struct probe {
	enum bench_program program;
	bool xdp; /* run the floor's programs at XDP; PROGRAM_UPLINK always is */
	bool ipv6;
	bool elsewhere; /* from a pod that is not on this node */
	bool away; /* to one, from bench1's */
	bool service; /* to SERVICE_IPV4 or SERVICE_IPV6 */
	bool back; /* the other way: the ports are the destination's */
	bool foreign; /* PROGRAM_LEAVE: made here, and no endpoint's */
	uint8_t tcp; /* flags of a TCP segment (PROBE_*), 0: a UDP datagram */
	bool rotate, in_order; /* by 1, else by FLOOR_STEP; without rotate one flow all the time: */
	uint16_t nth; /* the first is 0 */
	bool go_on; /* rotate on from where the last such probe stopped, else from the first flow */
	uint32_t begin; /* without go_on: rotate from this source port on, counted from the first */
	uint16_t first, ports; /* destination ports that are rotated through */
	uint16_t few; /* source ports that are, 0: all */
	uint32_t repeat;
	enum bh_reason reason; /* that Bulkhead counts each packet by; 0: it counts none */
};

/* Runs it. Returns 0 and nanoseconds a packet, or -errno, reported: also where any packet met
 * another fate than the probe says. */
int probe_run(struct floor *floor, struct subject *subject, const struct probe *probe, double *ns);

/* Packets that its programs have counted by that reason. */
uint64_t subject_counted(const struct subject *subject, uint32_t reason);

/* Takes the flows to that destination port, and those above, out of the table of connections.
 * Returns 0 or -errno, reported. */
int subject_forget(struct subject *subject, uint16_t first);

/* Reads the places' events for as long as the process lives, as `monitor` does. */
int events_read(struct subject **subjects, size_t n);
uint64_t events_seen(void);
uint64_t events_due(const struct subject *subject); /* by the counters */

#endif
