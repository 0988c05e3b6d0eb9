// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the cost of a packet: nanoseconds of the programs under BPF_PROG_TEST_RUN, against a
 * floor that only parses and finds the flow in an LRU hash, and against the same packets under a
 * small policy.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/programs.h"

/* The others are compared with the first. */
static const struct size {
	unsigned int policies, endpoints, ranges;
} sizes[] = {
	{10, 100, 1},	 {1000, 100, 1}, {75000, 100, 1}, {10, 10000, 1},
	{10, 150000, 1}, {10, 100, 32},	 {10, 100, 1000},
};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

#define PLACE_TCP N_SIZES /* place of TCP flows, with the first size */
#define N_PLACES (N_SIZES + 1)

#define FLOWS 100000
#define FEW 16
#define HOT 50000 /* packets of one flow in a sample */
#define NEW_FLOWS 20000 /* in a sample; the table has room for few more */

/* Lines of the chart. */
static const char *const lines[] = {"established", "denied", "new"};
#define N_LINES (sizeof(lines) / sizeof(lines[0]))

/* Two probes that run one after the other in each round. */
struct contest {
	struct probe a, b;
	size_t place_a, place_b;
	struct figure *figure_a, *figure_b;
	const char *line; /* line of the chart; NULL: not in the chart */
	bool after; /* b is the program before: both and their difference are reported */
	char name[72];
	double target; /* of the ratio, or of the difference; 0: none */
};

struct packet_bench {
	struct bench *bench;
	struct place places[N_PLACES];
	struct subject *subjects[N_PLACES];
	struct floor *floor, *floor_tcp; /* their tables have a set of flows each */
	struct contest *contests;
	size_t n;
};

static const struct probe established = {
	.program = PROGRAM_TO,
	.first = 1000,
	.ports = 2,
	.repeat = FLOWS,
	.rotate = true,
	.reason = BH_PASS_ESTABLISHED,
};
static const struct probe new = {
	.program = PROGRAM_TO,
	.first = 1002,
	.ports = 8,
	.repeat = NEW_FLOWS,
	.rotate = true,
	.in_order = true,
	.go_on = true,
	.reason = BH_PASS_NEW,
};
static const struct probe denied = {
	.program = PROGRAM_TO,
	.first = 999,
	.ports = 1,
	.repeat = HOT,
	.reason = BH_DROP_INGRESS,
};

static struct probe with(struct probe probe, enum bench_program program, bool ipv6)
{
	probe.program = program;
	probe.ipv6 = ipv6;
	if (program < PROGRAM_TO)
		probe.reason = 0;
	return probe;
}

/* Returns the probe as a TCP segment, to a port that the policies allow. */
static struct probe as_tcp(struct probe probe, uint8_t flags)
{
	probe.tcp = flags;
	probe.first = 5000;
	return probe;
}

static struct probe hot(struct probe probe)
{
	probe.rotate = false;
	probe.repeat = HOT;
	return probe;
}

/* Returns the probe with a few flows in turn, which the CPU's caches hold. */
static struct probe few(struct probe probe)
{
	probe.repeat = HOT;
	probe.in_order = true;
	probe.few = FEW;
	probe.ports = 1;
	return probe;
}

/* The contest that is returned moves when another one is added. */
static struct contest *add(struct packet_bench *p, struct probe a, size_t place_a, struct probe b,
			   size_t place_b, double target)
{
	struct contest *contests = reallocarray(p->contests, p->n + 1, sizeof(*contests)), *contest;

	if (!contests)
		abort();
	p->contests = contests;
	contest = &contests[p->n++];
	*contest = (struct contest){
		.a = a, .b = b, .place_a = place_a, .place_b = place_b, .target = target};
	return contest;
}

static void name(struct packet_bench *p, struct contest *contest, const char *hook, bool ipv6,
		 const char *what)
{
	struct report *report = &p->bench->report;

	snprintf(contest->name, sizeof(contest->name), "%s IPv%d: %s", hook, ipv6 ? 6 : 4, what);
	contest->figure_a = report_figure(report, "ns", "%s, ns", contest->name);
	contest->figure_b = report_figure(report, "ns", "%s, ns of the other", contest->name);
	contest->figure_a->quiet = contest->figure_b->quiet = true;
}

/* Adds the steps of the floor and of Bulkhead, each with one step more than the last. */
static void add_steps(struct packet_bench *p, bool ipv6)
{
	static const struct {
		enum bench_program program;
		const char *what;
	} steps[] = {
		{PROGRAM_RETURN, "return at once / floor"},
		{PROGRAM_PARSE, "the floor's parser / floor"},
		{PROGRAM_STEP_FORM, "headers and lengths / floor"},
		{PROGRAM_STEP_FIND, "and the lookup / floor"},
		{PROGRAM_STEP_WORDS, "and what both ends say / floor"},
		{PROGRAM_STEP_ENDS, "and where they are / floor"},
		{PROGRAM_STEP_AGE, "and the age / floor"},
		{PROGRAM_STEP_COUNT, "and the counter: all / floor"},
		{PROGRAM_STEP_LAST, "the last packet's connection / floor"},
		{PROGRAM_TO, "and the counter: all of it / floor"},
	};
	struct probe floor = with(hot(established), PROGRAM_FIND, ipv6);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		name(p, add(p, with(hot(established), steps[i].program, ipv6), 0, floor, 0, 0),
		     "step", ipv6, steps[i].what);
}

static void add_established(struct packet_bench *p, bool ipv6, bool tcp)
{
	static const char *const forms[3][2] = {
		{"established, hot / floor", "established TCP, hot / floor"},
		{"established, 16 flows / floor", "established TCP, 16 flows / floor"},
		{"established, 100,000 flows / floor", "established TCP, 100,000 flows / floor"},
	};
	static const struct {
		enum bench_program program;
		const char *hook;
	} ends[] = {{PROGRAM_TO, "to pod"}, {PROGRAM_FROM, "from pod"}};
	size_t place = tcp ? PLACE_TCP : 0;

	for (size_t i = 0; i < 2; i++) {
		struct probe a = with(established, ends[i].program, ipv6);
		struct probe floor = with(established, PROGRAM_FIND, ipv6);

		if (tcp) {
			a = as_tcp(a, PROBE_ACK);
			floor = as_tcp(floor, PROBE_ACK);
		}
		if (a.program == PROGRAM_FROM)
			/* the destination's hook counts packets that stay on the node */
			a.reason = 0;
		name(p, add(p, hot(a), place, hot(floor), place, 1.2), ends[i].hook, ipv6,
		     forms[0][tcp]);
		name(p, add(p, few(a), place, few(floor), place, 1.2), ends[i].hook, ipv6,
		     forms[1][tcp]);
		name(p, add(p, a, place, floor, place, 1.2), ends[i].hook, ipv6, forms[2][tcp]);
	}
}

/* Adds the cost of all that the fast path checks and counts beyond a lookup. */
static void add_after(struct packet_bench *p, bool ipv6, bool tcp)
{
	static const struct {
		enum bench_program program;
		const char *hook;
	} ends[] = {{PROGRAM_FROM, "from pod"}, {PROGRAM_TO, "to pod"}};
	struct report *report = &p->bench->report;
	size_t place = tcp ? PLACE_TCP : 0;

	for (size_t i = 0; i < 2; i++) {
		struct probe after = with(hot(established), ends[i].program, ipv6);
		struct probe before = with(hot(established), PROGRAM_BEFORE, ipv6);
		struct contest *contest;

		if (tcp) {
			after = as_tcp(after, PROBE_ACK);
			before = as_tcp(before, PROBE_ACK);
		}
		if (after.program == PROGRAM_FROM)
			after.reason = 0;
		contest = add(p, after, place, before, place, 0);
		contest->after = true;
		snprintf(contest->name, sizeof(contest->name), "%s IPv%d %s", ends[i].hook,
			 ipv6 ? 6 : 4, tcp ? "TCP" : "UDP");
		contest->figure_b = report_figure(report, "ns", "%s: before", contest->name);
		contest->figure_a = report_figure(report, "ns", "%s: after", contest->name);
	}
}

/* Adds the cost of the record that a drop leaves: of one more like the last, and of a new one. */
static void add_past(struct packet_bench *p, bool ipv6)
{
	static const struct {
		enum bench_program with, without;
		const char *what;
	} kept[] = {
		{PROGRAM_DROP_LIKE, PROGRAM_DROP_PARSE, "a drop like the last, kept"},
		{PROGRAM_DROP_NEW, PROGRAM_DROP_PARSE_NEW, "another drop, kept"},
	};
	struct report *report = &p->bench->report;

	for (size_t i = 0; i < 2; i++) {
		struct contest *contest = add(p, with(hot(established), kept[i].with, ipv6), 0,
					      with(hot(established), kept[i].without, ipv6), 0, 10);

		contest->after = true;
		snprintf(contest->name, sizeof(contest->name), "IPv%d %s", ipv6 ? 6 : 4,
			 kept[i].what);
		contest->figure_b = report_figure(report, "ns", "%s: before", contest->name);
		contest->figure_a = report_figure(report, "ns", "%s: after", contest->name);
	}
}

static void add_denied(struct packet_bench *p, bool ipv6)
{
	name(p,
	     add(p, with(denied, PROGRAM_TO, ipv6), 0, with(hot(established), PROGRAM_FIND, ipv6),
		 0, 2.5),
	     "to pod", ipv6, "denied / floor");
}

static void add_new(struct packet_bench *p, bool ipv6)
{
	name(p, add(p, with(new, PROGRAM_TO, ipv6), 0, with(new, PROGRAM_INSERT, ipv6), 0, 1.25),
	     "to pod", ipv6, "new, allowed / parse and insert");
}

static void add_xdp(struct packet_bench *p, bool ipv6)
{
	struct probe floor = with(hot(established), PROGRAM_FIND, ipv6);
	struct probe pass = with(hot(established), PROGRAM_UPLINK, ipv6);
	struct probe syn = with(denied, PROGRAM_UPLINK, ipv6);

	floor.xdp = true;
	pass.elsewhere = syn.elsewhere = true;
	syn.tcp = PROBE_SYN;
	pass.reason = 0; /* the endpoint's hook counts packets that pass */
	name(p, add(p, pass, 0, floor, 0, 0), "xdp", ipv6, "passed on to TC / floor");
	name(p, add(p, syn, 0, floor, 0, 2.5), "xdp", ipv6, "denied SYN / floor");
}

/* Adds the same packets under larger policies, against the smallest one. */
static void add_sizes(struct packet_bench *p, const struct probe *probe, bool ipv6,
		      const char *what)
{
	struct probe same = with(*probe, PROGRAM_TO, ipv6);
	struct contest *contest;
	char text[72];

	for (size_t i = 1; i < N_SIZES; i++) {
		if (sizes[i].policies != sizes[0].policies)
			snprintf(text, sizeof(text), "%s, %u policies / %u", what,
				 sizes[i].policies, sizes[0].policies);
		else if (sizes[i].endpoints != sizes[0].endpoints)
			snprintf(text, sizeof(text), "%s, %u endpoints / %u", what,
				 sizes[i].endpoints, sizes[0].endpoints);
		else
			snprintf(text, sizeof(text), "%s, %u port ranges / %u", what,
				 sizes[i].ranges, sizes[0].ranges);
		contest = add(p, same, i, same, 0, 1.1);
		contest->line = what;
		name(p, contest, "to pod", ipv6, text);
	}
}

/* Contests that open new flows come last: in the floor's table their entries push out older
 * ones. */
static void add_contests(struct packet_bench *p)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++)
		add_sizes(p, &established, ipv6, lines[0]);
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		add_steps(p, ipv6);
		add_after(p, ipv6, false);
		add_after(p, ipv6, true);
		add_established(p, ipv6, false);
		add_established(p, ipv6, true);
		add_denied(p, ipv6);
		add_past(p, ipv6);
		add_xdp(p, ipv6);
	}
	for (int ipv6 = 0; ipv6 < 2; ipv6++)
		add_sizes(p, &denied, ipv6, lines[1]);
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		add_new(p, ipv6);
		add_sizes(p, &new, ipv6, lines[2]);
	}
}

static int prepare_place(struct packet_bench *p, size_t i)
{
	const struct size *size = &sizes[i == PLACE_TCP ? 0 : i];
	char workload[64], path[BENCH_PATH];
	int err;

	snprintf(workload, sizeof(workload), "node %u %u %u", size->policies, size->endpoints,
		 size->ranges);
	err = bench_workload(p->bench, workload, "ini", path);
	err = err ? err : place_make(p->bench, i, &p->places[i]);
	err = err ? err : place_load(&p->places[i], path, NULL);
	err = err ? err : subject_open(&p->places[i], &p->subjects[i]);
	unlink(path);
	return err;
}

/* Sends such a packet of every flow that a probe is to find, through both hooks. */
static int pass_flows(struct packet_bench *p, size_t place, uint8_t tcp, bool back)
{
	struct probe open = tcp ? as_tcp(established, tcp) : established;
	double ns;
	int err = 0;

	open.reason = 0;
	open.in_order = true;
	open.back = back;
	for (int ipv6 = 0; ipv6 < 2 && !err; ipv6++) {
		struct probe from = with(open, PROGRAM_FROM, ipv6);
		struct probe to = with(open, PROGRAM_TO, ipv6);

		err = probe_run(p->floor, p->subjects[place], &from, &ns);
		err = err ? err : probe_run(p->floor, p->subjects[place], &to, &ns);
	}
	return err;
}

/* A question, its answer and another question: so the flows are streams. */
static int open_flows(struct packet_bench *p, size_t place)
{
	int err = pass_flows(p, place, 0, false);

	err = err ? err : pass_flows(p, place, 0, true);
	return err ? err : pass_flows(p, place, 0, false);
}

static int open_tcp_flows(struct packet_bench *p, size_t place)
{
	int err = pass_flows(p, place, PROBE_SYN, false);

	err = err ? err : pass_flows(p, place, PROBE_SYN | PROBE_ACK, true);
	return err ? err : pass_flows(p, place, PROBE_ACK, false);
}

/* Does the same in a floor's tables. */
static int insert_flows(struct packet_bench *p, struct floor *floor, bool tcp)
{
	const struct probe flows = tcp ? as_tcp(established, PROBE_ACK) : established;
	double ns;
	int err = 0;

	for (int i = 0; i < 4 && !err; i++) {
		struct probe insert = with(flows, PROGRAM_INSERT, i & 1);

		insert.xdp = i & 2;
		insert.in_order = true;
		err = probe_run(floor, p->subjects[0], &insert, &ns);
	}
	return err;
}

static int prepare(struct packet_bench *p)
{
	int err = no_statistics();

	err = err ? err : floor_open(&p->floor);
	err = err ? err : floor_open(&p->floor_tcp);
	for (size_t i = 0; i < N_PLACES && !err; i++)
		err = prepare_place(p, i);
	err = err ? err : open_tcp_flows(p, PLACE_TCP);
	err = err ? err : insert_flows(p, p->floor_tcp, true);
	return err ? err : events_read(p->subjects, N_SIZES);
}

static int populate(struct packet_bench *p)
{
	int err = 0;

	for (size_t i = 0; i < N_SIZES && !err; i++)
		err = open_flows(p, i);
	return err ? err : insert_flows(p, p->floor, false);
}

static int run_probe(struct packet_bench *p, struct probe *probe, size_t place, unsigned int round,
		     double *ns)
{
	/* The time of a flow's lookup depends on its place in the table. */
	probe->nth = round * 997 % (FLOWS / 2);
	return probe_run(place == PLACE_TCP ? p->floor_tcp : p->floor, p->subjects[place], probe,
			 ns);
}

static int run_contest(struct packet_bench *p, struct contest *contest, unsigned int round)
{
	bool a_first = round % 2;
	double a = 0, b = 0;
	int err = 0;

	if (a_first)
		err = run_probe(p, &contest->a, contest->place_a, round, &a);
	err = err ? err : run_probe(p, &contest->b, contest->place_b, round, &b);
	if (!a_first && !err)
		err = run_probe(p, &contest->a, contest->place_a, round, &a);
	if (err) {
		fprintf(stderr, "in: %s\n", contest->name);
		return err;
	}
	figure_add(contest->figure_a, a);
	figure_add(contest->figure_b, b);
	return 0;
}

static int rounds(struct packet_bench *p)
{
	int err = 0;

	for (unsigned int round = 0; round < p->bench->rounds && !err; round++) {
		err = populate(p);
		for (size_t i = 0; i < p->n && !err; i++)
			err = run_contest(p, &p->contests[i], round);
	}
	return err;
}

/* ---- the chart ---- */

static const struct axis {
	const char *name;
	unsigned int of[N_SIZES]; /* by size */
	size_t first, last; /* sizes that differ from the first on this axis only */
} axes[] = {
	{"policies", {10, 1000, 75000}, 1, 2},
	{"endpoints", {100, [3] = 10000, 150000}, 3, 4},
	{"port ranges", {1, [5] = 32, 1000}, 5, 6},
};
#define N_AXES (sizeof(axes) / sizeof(axes[0]))

/* Writes the points of one line, IPv4: position on the axis, and nanoseconds. */
static void chart_line(FILE *to, const struct packet_bench *p, size_t axis, size_t line)
{
	const struct axis *x = &axes[axis];

	fprintf(to, "$line%zu_%zu << END\n", axis, line);
	for (size_t i = 0; i < p->n; i++) {
		const struct contest *contest = &p->contests[i];

		if (contest->line != lines[line] || contest->a.ipv6 ||
		    contest->place_a < x->first || contest->place_a > x->last)
			continue;
		if (contest->place_a == x->first)
			fprintf(to, "%u %g\n", x->of[0], figure_median(contest->figure_b));
		fprintf(to, "%u %g\n", x->of[contest->place_a], figure_median(contest->figure_a));
	}
	fputs("END\n", to);
}

/* Writes what gnuplot is to draw. */
static int chart_write(const struct packet_bench *p, const char *path)
{
	FILE *to = fopen(path, "w");

	if (!to)
		return -errno;
	fprintf(to,
		"set terminal svg size 1080,360 background 'white'\n"
		"set output '%s/packet.svg'\n",
		p->bench->report.folder);
	for (size_t axis = 0; axis < N_AXES; axis++)
		for (size_t line = 0; line < N_LINES; line++)
			chart_line(to, p, axis, line);
	fprintf(to, "set multiplot layout 1,3 title 'Cost of a packet to a pod (IPv4)'\n"
		    "set logscale x\nset yrange [0:*]\nset ylabel 'ns'\nset key bottom\n");
	for (size_t axis = 0; axis < N_AXES; axis++) {
		fprintf(to, "set xlabel '%s'\nplot ", axes[axis].name);
		for (size_t line = 0; line < N_LINES; line++)
			fprintf(to, "%s$line%zu_%zu with linespoints title '%s'", line ? ", " : "",
				axis, line, lines[line]);
		fputc('\n', to);
	}
	return fclose(to) ? -errno : 0;
}

/* Draws packet.svg if gnuplot is there: the figures are printed in any case. */
static void chart(const struct packet_bench *p)
{
	char path[BENCH_PATH], command[BENCH_PATH + 16];

	snprintf(path, sizeof(path), "%s/packet.gnuplot", p->bench->report.folder);
	snprintf(command, sizeof(command), "gnuplot '%s'", path);
	if (chart_write(p, path) || system(command))
		fprintf(stderr, "%s: not drawn; install gnuplot\n", path);
}

static void conclude(struct packet_bench *p)
{
	struct report *report = &p->bench->report;
	uint64_t due = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct contest *contest = &p->contests[i];
		struct figure *figure =
			contest->after
				? report_difference(report, contest->figure_a, contest->figure_b,
						    "%s: difference", contest->name)
				: report_ratio(report, contest->figure_a, contest->figure_b, "%s",
					       contest->name);

		if (contest->target)
			figure_target(figure, LIMIT_AT_MOST, contest->target);
	}
	for (size_t i = 0; i < N_SIZES; i++)
		due += events_due(p->subjects[i]);
	usleep(100000);
	figure_add(report_figure(report, "%", "events that did not reach the reader"),
		   100.0 * (due - events_seen()) / due);
}

int bench_packet(struct bench *bench)
{
	struct packet_bench *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->bench = bench;
	err = prepare(p);
	if (err)
		return err;
	add_contests(p);
	err = rounds(p);
	if (err)
		return err;
	conclude(p);
	chart(p);
	return 0;
}
