// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures a packet's cost on a node that has run for long: the tables hold as many connections
 * as three endpoints' shares allow, and each connection has sent more than one packet. Each
 * figure is compared with the floor's, which parses and finds its flow in an LRU hash or inserts
 * it, and whose tables are full of such flows. The hook where packets leave the node is measured
 * here, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/bench/programs.h"

#define FLOWS 100000 /* of each IP version */
#define NEW_FLOWS 20000 /* in a sample */
#define HANDSHAKES 2000 /* in parallel: each packet is sent for all before the next one */
#define HANDSHAKE_TRIES 8 /* attempts, of which the quickest counts */
#define HOT 50000

enum row {
	NEW,
	REPLACING,
	REPLACING_BOTH,
	SYN,
	SYN_ACK,
	ACK,
	HANDSHAKE,
	DENIED,
	DENIED_AWAY,
	DENIED_EACH,
	TO_POD,
	FROM_POD,
	SERVICE,
	HOST,
	FORWARDED,
	ROWS
};

static const struct {
	const char *name, *rival;
	double target; /* wanted ratio; 0: none */
} rows[ROWS] = {
	[NEW] = {"a new UDP flow", "floor", 1.25},
	[REPLACING] = {"a new UDP flow that replaces one", "floor", 1.25},
	[REPLACING_BOTH] = {"the same on two CPUs at once", "floor on two", 1.25},
	[SYN] = {"SYN", "floor", 0},
	[SYN_ACK] = {"SYN-ACK", "floor", 0},
	[ACK] = {"ACK", "floor", 0},
	[HANDSHAKE] = {"SYN, SYN-ACK and ACK", "floor", 1.1},
	[DENIED] = {"denied, to a reader", "floor, hot", 2.5},
	[DENIED_AWAY] = {"denied, from another node", "floor, hot", 2.5},
	[DENIED_EACH] = {"the same, each of another flow", "floor, hot", 0},
	[TO_POD] = {"100,000 flows in rotation, to the pod", "floor", 1.2},
	[FROM_POD] = {"100,000 flows in rotation, from the pod", "floor", 1.2},
	[SERVICE] = {"hot, from the pod to a Service", "to its backend", 1.1},
	[HOST] = {"leaves the node, the host's own", "return at once", 0},
	[FORWARDED] = {"leaves the node, a pod's", "return at once", 0},
};

struct steady {
	struct bench *bench;
	struct place place;
	struct subject *subject;
	struct floor *floor, *floor_beside;
	bool ipv6;
	struct figure *ours[2][ROWS], *rival[2][ROWS], *refused;
};

/* Flows to lower ports stay in the tables. */
#define STAY 1002

static struct probe flows(const struct steady *s, enum bench_program program)
{
	return (struct probe){.program = program,
			      .ipv6 = s->ipv6,
			      .first = 1000,
			      .ports = 2,
			      .rotate = true,
			      .repeat = FLOWS};
}

static struct probe new_flows(const struct steady *s, enum bench_program program,
			      unsigned int round)
{
	struct probe probe = flows(s, program);

	probe.first = STAY + round / 2 % 8;
	probe.ports = 1;
	probe.in_order = true;
	probe.begin = round % 2 * NEW_FLOWS;
	probe.repeat = NEW_FLOWS;
	return probe;
}

static struct probe one_flow(const struct steady *s, enum bench_program program)
{
	struct probe probe = flows(s, program);

	probe.rotate = false;
	probe.repeat = HOT;
	return probe;
}

static int run(struct steady *s, const struct probe *probe, double *ns)
{
	return probe_run(s->floor, s->subject, probe, ns);
}

static void sample(struct steady *s, enum row row, double ours, double rival)
{
	figure_add(s->ours[s->ipv6][row], ours);
	figure_add(s->rival[s->ipv6][row], rival);
}

/* Compares two probes. They take turns in going first. */
static int compare(struct steady *s, enum row row, const struct probe *ours,
		   const struct probe *rival, unsigned int round)
{
	const struct probe *first = round % 2 ? ours : rival, *second = round % 2 ? rival : ours;
	double ns[2] = {0};
	int err = run(s, first, &ns[first == rival]);

	err = err ? err : run(s, second, &ns[second == rival]);
	if (err)
		fprintf(stderr, "in: %s\n", rows[row].name);
	else
		sample(s, row, ns[0], ns[1]);
	return err;
}

/* Sends a question, its answer and another question of every flow that stays, by port. In the
 * floor's tables, whose other half holds earlier new flows, the first packet inserts what those
 * pushed out. */
static int populate(struct steady *s)
{
	static const struct {
		enum bench_program program;
		bool back;
	} packets[] = {
		{PROGRAM_FROM, false}, {PROGRAM_TO, false},    {PROGRAM_FROM, true},
		{PROGRAM_TO, false},   {PROGRAM_TRACK, false}, {PROGRAM_TRACK, false},
	};
	double ns;
	int err = 0;

	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]) && !err; i++) {
		struct probe probe = flows(s, packets[i].program);

		probe.in_order = true;
		probe.back = packets[i].back;
		err = run(s, &probe, &ns);
	}
	return err;
}

static int rotation(struct steady *s, unsigned int round)
{
	struct probe to = flows(s, PROGRAM_TO), from = flows(s, PROGRAM_FROM);
	struct probe floor = flows(s, PROGRAM_TRACK);
	int err;

	to.reason = BH_PASS_ESTABLISHED;
	err = compare(s, TO_POD, &to, &floor, round);
	return err ? err : compare(s, FROM_POD, &from, &floor, round);
}

/* Measures new flows. Each sends a second packet, which is not measured. */
static int opening(struct steady *s, unsigned int round)
{
	struct probe ours = new_flows(s, PROGRAM_TO, round);
	struct probe floor = new_flows(s, PROGRAM_TRACK, round);
	uint64_t refused = subject_counted(s->subject, BH_DROP_SHARE);
	double ns;
	int err = subject_forget(s->subject, STAY);

	ours.reason = BH_PASS_NEW;
	err = err ? err : compare(s, NEW, &ours, &floor, round);
	refused = subject_counted(s->subject, BH_DROP_SHARE) - refused;
	figure_add(s->refused, 100.0 * refused / NEW_FLOWS);
	ours.reason = BH_PASS_ESTABLISHED;
	err = err ? err : run(s, &ours, &ns);
	return err ? err : run(s, &floor, &ns);
}

/* In the floor's tables, whose flows any ports may have, these are new when opening() has sent its
 * flows. */
#define FLOOR_STAY (STAY + 8)
#define FLOOR_STAY_BOTH (STAY + 16)

/* Measures new flows on two CPUs at once. */
static int compare_both(struct steady *s, unsigned int round)
{
	struct floor *const floors[2] = {s->floor, s->floor_beside};
	struct probe ours[2], floor[2];
	double ns[2];
	int err = 0;

	for (unsigned int i = 0; i < 2; i++) {
		ours[i] = new_flows(s, PROGRAM_TO, 2 * round + i);
		ours[i].reason = BH_PASS_NEW;
		floor[i] = new_flows(s, PROGRAM_TRACK, 2 * round + i);
		floor[i].first += FLOOR_STAY_BOTH - STAY;
	}
	for (unsigned int i = 0; i < 2 && !err; i++)
		err = (round + i) % 2 ? probe_run_both(floors, s->subject, ours, &ns[0])
				      : probe_run_both(floors, s->subject, floor, &ns[1]);
	if (!err)
		sample(s, REPLACING_BOTH, ns[0], ns[1]);
	return err == -ENOTSUP ? 0 : err;
}

/* Fills an endpoint's share with flows that nobody has answered, but for those of one port. */
static int fill_share(struct steady *s, uint16_t but)
{
	double ns;
	int err = subject_forget(s->subject, STAY);

	for (unsigned int i = 0; i < 8 && !err; i++) {
		struct probe fill = new_flows(s, PROGRAM_TO, i);

		fill.reason = BH_PASS_NEW;
		if (fill.first != but)
			err = run(s, &fill, &ns);
	}
	return err;
}

/* Measures new flows of an endpoint whose share is used up: each replaces an answered or unanswered
 * one. */
static int replacing(struct steady *s, unsigned int round)
{
	struct probe ours = new_flows(s, PROGRAM_TO, round);
	struct probe floor = new_flows(s, PROGRAM_TRACK, round);
	int err = fill_share(s, ours.first);

	ours.reason = BH_PASS_NEW;
	floor.first += FLOOR_STAY - STAY;
	err = err ? err : subject_limit(s->subject, true);
	err = err ? err : compare(s, REPLACING, &ours, &floor, round);
	subject_limit(s->subject, false);
	return err;
}

static int replacing_both(struct steady *s, unsigned int round)
{
	int err = fill_share(s, STAY + round % 8);

	err = err ? err : subject_limit(s->subject, true);
	err = err ? err : compare_both(s, round);
	subject_limit(s->subject, false);
	return err ? err : subject_forget(s->subject, STAY);
}

/* Sends the three packets of a handshake for many connections. */
static int shake(struct steady *s, bool floor, unsigned int number, double ns[HANDSHAKE + 1])
{
	struct probe probe = new_flows(s, floor ? PROGRAM_TRACK : PROGRAM_TO, 0);
	int err;

	probe.first = 5000;
	probe.repeat = HANDSHAKES;
	probe.begin = number * HANDSHAKES;
	probe.tcp = PROBE_SYN;
	probe.reason = floor ? 0 : BH_PASS_NEW;
	err = run(s, &probe, &ns[SYN]);
	probe.tcp = PROBE_SYN | PROBE_ACK;
	probe.back = true;
	probe.program = floor ? PROGRAM_TRACK : PROGRAM_FROM;
	probe.reason = 0; /* the other pod's hook counts it */
	err = err ? err : run(s, &probe, &ns[SYN_ACK]);
	probe.tcp = PROBE_ACK;
	probe.back = false;
	probe.program = floor ? PROGRAM_TRACK : PROGRAM_TO;
	probe.reason = floor ? 0 : BH_PASS_ESTABLISHED;
	err = err ? err : run(s, &probe, &ns[ACK]);
	ns[HANDSHAKE] = ns[SYN] + ns[SYN_ACK] + ns[ACK];
	if (err)
		fprintf(stderr, "in: %s\n", rows[HANDSHAKE].name);
	return err;
}

static int handshakes(struct steady *s, unsigned int round)
{
	double ns[2][HANDSHAKE + 1], best[2][HANDSHAKE + 1];
	int err = subject_forget(s->subject, STAY);

	for (unsigned int i = 0; i < HANDSHAKE_TRIES && !err; i++) {
		bool first = i % 2;

		err = shake(s, first, round % 3 * HANDSHAKE_TRIES + i, ns[first]);
		err = err ? err : shake(s, !first, round % 3 * HANDSHAKE_TRIES + i, ns[!first]);
		for (int row = SYN; row <= HANDSHAKE; row++)
			for (int side = 0; side < 2; side++)
				if (!i || ns[side][row] < best[side][row])
					best[side][row] = ns[side][row];
	}
	for (int row = SYN; row <= HANDSHAKE && !err; row++)
		sample(s, row, best[0][row], best[1][row]);
	return err;
}

/* Measures denied packets: of one flow, whose second packet serves the others (kern/denial.h), and
 * of flows that differ in the source port, each evaluated. Of a flow from an endpoint of this node
 * the kernel's conntrack is asked, since the node may have translated it (kern/doubt.h). */
static int denied(struct steady *s, unsigned int round)
{
	struct probe ours = one_flow(s, PROGRAM_TO), floor = one_flow(s, PROGRAM_TRACK);
	int err;

	ours.first = 999;
	ours.reason = BH_DROP_INGRESS;
	err = compare(s, DENIED, &ours, &floor, round);
	ours.elsewhere = true;
	err = err ? err : compare(s, DENIED_AWAY, &ours, &floor, round);
	ours.rotate = true;
	ours.ports = 1;
	return err ? err : compare(s, DENIED_EACH, &ours, &floor, round);
}

/* Sends a question of the flow, its answer, and another question: so the flow is a stream. */
static int answered(struct steady *s, const struct probe *flow)
{
	struct probe question = *flow, answer = *flow;
	double ns;
	int err;

	question.repeat = answer.repeat = 1;
	answer.program = PROGRAM_TO;
	answer.back = true;
	err = run(s, &question, &ns);
	err = err ? err : run(s, &answer, &ns);
	return err ? err : run(s, &question, &ns);
}

/* Measures the caller's hook, where the node has not translated the Service's address yet. */
static int calling(struct steady *s, unsigned int round)
{
	struct probe ours = one_flow(s, PROGRAM_FROM), backend = ours, leaving;
	double ns;
	int err;

	ours.service = true;
	err = answered(s, &ours);
	err = err ? err : answered(s, &backend);
	err = err ? err : compare(s, SERVICE, &ours, &backend, round);
	/* it passed as a packet to a Service, and such an address leaves no node */
	leaving = ours;
	leaving.program = PROGRAM_LEAVE;
	leaving.reason = BH_DROP_UNTRANSLATED;
	leaving.repeat = 1;
	return err ? err : run(s, &leaving, &ns);
}

/* Measures the hook where packets leave the node. A pod's packets were evaluated at the pod's own
 * hook. */
static int leaving(struct steady *s, unsigned int round)
{
	struct probe ours = one_flow(s, PROGRAM_LEAVE), nothing = one_flow(s, PROGRAM_RETURN);
	struct probe evaluated;
	int err;

	ours.away = nothing.away = true;
	evaluated = ours;
	evaluated.program = PROGRAM_FROM;
	err = answered(s, &evaluated);
	err = err ? err : compare(s, FORWARDED, &ours, &nothing, round);
	ours.foreign = true;
	return err ? err : compare(s, HOST, &ours, &nothing, round);
}

static int one_round(struct steady *s, unsigned int round)
{
	int err = populate(s);

	err = err ? err : rotation(s, round);
	err = err ? err : denied(s, round);
	err = err ? err : calling(s, round);
	err = err ? err : leaving(s, round);
	err = err ? err : handshakes(s, round);
	err = err ? err : opening(s, round);
	err = err ? err : replacing(s, round);
	return err ? err : replacing_both(s, round);
}

/* Adds a Service with the backend pod-0 to the policies of @path. */
static int add_service(const char *path)
{
	FILE *to = fopen(path, "a");

	if (!to)
		return -errno;
	fprintf(to,
		"\n[service ns-0/bench]\naddress = %s, %s\nport = UDP/1000\n"
		"backends = 10.0.0.1, fd00::1\n",
		SERVICE_IPV4, SERVICE_IPV6);
	return fclose(to) ? -errno : 0;
}

static int prepare(struct steady *s)
{
	char path[BENCH_PATH];
	int err = bench_workload(s->bench, "node 10 100 1", "ini", path);

	err = err ? err : add_service(path);
	err = err ? err : floor_open(&s->floor);
	err = err ? err : floor_open_beside(s->floor, &s->floor_beside);
	err = err ? err : place_make(s->bench, 0, &s->place);
	err = err ? err : place_load(&s->place, path, NULL);
	err = err ? err : subject_open(&s->place, &s->subject);
	unlink(path);
	return err ? err : events_read(&s->subject, 1);
}

static void add_figures(struct steady *s)
{
	struct report *report = &s->bench->report;

	for (int ipv6 = 0; ipv6 < 2; ipv6++)
		for (int row = 0; row < ROWS; row++) {
			s->ours[ipv6][row] = report_figure(report, "ns", "IPv%d: %s", ipv6 ? 6 : 4,
							   rows[row].name);
			s->rival[ipv6][row] =
				report_figure(report, "ns", "IPv%d: %s: %s", ipv6 ? 6 : 4,
					      rows[row].name, rows[row].rival);
			s->ours[ipv6][row]->quiet = s->rival[ipv6][row]->quiet = true;
		}
}

/* Reports how many of the last flows, until the table is as full as three endpoints' shares
 * allow, find both their buckets full. */
static void add_refused(struct steady *s)
{
	s->refused = report_figure(&s->bench->report, "%", "new flows refused, of %d beside %d",
				   NEW_FLOWS, 2 * FLOWS);
}

static void conclude(struct steady *s)
{
	struct report *report = &s->bench->report;
	const struct figure *ours, *rival;
	struct figure *figure;

	for (int i = 0; i < 2 * ROWS; i++) {
		bool ipv6 = i >= ROWS;
		enum row row = i % ROWS;

		ours = s->ours[ipv6][row];
		rival = s->rival[ipv6][row];
		figure = report_ratio(report, ours, rival, "%s / %s", ours->name, rows[row].rival);
		if (rows[row].target)
			figure_target(figure, LIMIT_AT_MOST, rows[row].target);
		if (row == HOST)
			figure_target(
				report_difference(report, ours, rival, "%s: added", ours->name),
				LIMIT_AT_MOST, 15);
	}
}

int bench_steady(struct bench *bench)
{
	struct steady s = {.bench = bench};
	int err = no_statistics();

	err = err ? err : prepare(&s);
	if (err)
		return err;
	add_figures(&s);
	add_refused(&s);
	for (unsigned int round = 0; round < bench->rounds && !err; round++)
		for (int ipv6 = 0; ipv6 < 2 && !err; ipv6++) {
			s.ipv6 = ipv6;
			err = one_round(&s, round);
		}
	if (!err)
		conclude(&s);
	return err;
}
