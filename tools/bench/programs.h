/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the programs under test on packets by BPF_PROG_TEST_RUN. Bulkhead's programs are loaded a
 * second time on a place's maps, with an event for each packet, since the default rate would
 * suppress nearly all events.
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
	PROGRAM_TRACK, /* finds the flow, else inserts it; both directions are one flow */
	PROGRAM_STEP_FORM, /* Bulkhead's up to this step, at TC only: steps.bpf.c */
	PROGRAM_STEP_FIND,
	PROGRAM_STEP_WORDS,
	PROGRAM_STEP_ENDS,
	PROGRAM_STEP_AGE,
	PROGRAM_STEP_COUNT,
	PROGRAM_STEP_LAST,
	PROGRAM_DROP_PARSE, /* a drop without and with its record (events_keep()): steps.bpf.c */
	PROGRAM_DROP_LIKE,
	PROGRAM_DROP_PARSE_NEW,
	PROGRAM_DROP_NEW,
	PROGRAM_BEFORE, /* Bulkhead's without later checks, at TC only: before.bpf.c */
	PROGRAM_TO, /* Bulkhead's, this one and the next */
	PROGRAM_FROM,
	PROGRAM_LEAVE,
	PROGRAM_UPLINK,
	PROGRAMS
};

/* Returns 0, or -EBUSY, reported, where the kernel's statistics of programs are on: with them it
 * reads a clock twice for each run. */
int no_statistics(void);

#define SERVICE_IPV4 "10.96.0.1"
#define SERVICE_IPV6 "fd96::1"

struct subject; /* a place, with Bulkhead's programs for it */
struct floor; /* the programs that are the floor, and those that rotate flows */

int floor_open(struct floor **floor);
/* The same on the tables of @other: what another CPU runs at once. */
int floor_open_beside(const struct floor *other, struct floor **floor);
int subject_open(const struct place *place, struct subject **subject);

#define PROBE_SYN 0x02
#define PROBE_ACK 0x10

/* A packet of about 60 bytes from bench1's pod to bench0's. */
struct probe {
	enum bench_program program;
	bool xdp; /* run the floor's programs at XDP; PROGRAM_UPLINK always runs there */
	bool ipv6;
	bool elsewhere; /* from a pod of another node */
	bool away; /* to a pod of another node, from bench1's */
	bool service; /* to SERVICE_IPV4 or SERVICE_IPV6 */
	bool back; /* an answer: the ports are the destination's */
	bool foreign; /* PROGRAM_LEAVE: the node made it, for no endpoint */
	uint8_t tcp; /* flags of a TCP segment (PROBE_*); 0: a UDP datagram */
	/* rotate through flows, by 1 or by FLOOR_STEP; else send one flow only: */
	bool rotate, in_order;
	uint16_t nth; /* its number, from 0 */
	bool go_on; /* continue after the last such probe's flow; else begin with the first */
	uint32_t begin; /* without go_on: the source port to begin with, counted from the first */
	uint16_t first, ports; /* first destination port, and number of destination ports */
	uint16_t few; /* number of source ports; 0: all */
	uint32_t repeat;
	enum bh_reason reason; /* reason by which Bulkhead counts each packet; 0: it counts none */
};

/* Runs the probe. Returns 0 and nanoseconds a packet, or -errno, reported, also where the
 * verdict on any packet was not the expected one. */
int probe_run(struct floor *floor, struct subject *subject, const struct probe *probe, double *ns);

/* Runs two probes at once, each on a CPU of its own. Both rotate through flows, without `go_on`.
 * @floors: one made beside the other one. Returns 0 and the mean of their nanoseconds a packet, or
 * -ENOTSUP, not reported, if this process may use one CPU only; else as probe_run(). */
int probe_run_both(struct floor *const floors[2], struct subject *subject,
		   const struct probe probes[2], double *ns);

/* Returns the number of packets that the programs counted by that reason. */
uint64_t subject_counted(const struct subject *subject, uint32_t reason);

/* Removes the flows to that destination port, and to higher ones, from the table of connections.
 * Returns 0 or -errno, reported. */
int subject_forget(struct subject *subject, uint16_t first);

/* Makes the table one whose share for everybody is used up, or one with room. Returns 0 or -errno,
 * reported. */
int subject_limit(struct subject *subject, bool limited);

/* Reads the places' events for as long as the process lives, as `monitor` does. */
int events_read(struct subject **subjects, size_t n);
uint64_t events_seen(void);
/* number of events that the counters say there are */
uint64_t events_due(const struct subject *subject);

#endif
