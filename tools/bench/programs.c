// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/programs.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "maps/conntrack.h"
#include "maps/reader.h"
#include "node/kernel/connections.h"
#include "node/kernel/program.h"
#include "tools/bench/floor.h"
#include "bench_before.skel.h"
#include "bench_floor.skel.h"
#include "bench_steps.skel.h"
#include "tc.skel.h"
#include "xdp.skel.h"

#define LOOPBACK 1 /* an interface that is no endpoint's */

struct subject {
	const struct place *place;
	struct bh_tc *tc;
	struct bh_xdp *xdp;
	struct bench_steps *steps;
	struct bench_before *before;
	struct connections table; /* 0 buckets: not mapped yet */
	struct floor_rotation reached[2]; /* by IP version */
};

struct floor {
	struct bench_floor *skeleton;
};

static int fail(const char *what)
{
	int err = -errno;

	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return err ? err : -EIO;
}

int floor_open(struct floor **out)
{
	struct floor *floor = calloc(1, sizeof(*floor));

	if (!floor)
		return -ENOMEM;
	floor->skeleton = bench_floor__open_and_load();
	if (!floor->skeleton)
		return fail("the floor's programs");
	*out = floor;
	return 0;
}

int floor_open_beside(const struct floor *other, struct floor **out)
{
	struct floor *floor = calloc(1, sizeof(*floor));
	struct bench_floor *f;

	if (!floor)
		return -ENOMEM;
	f = floor->skeleton = bench_floor__open();
	if (!f || bpf_map__reuse_fd(f->maps.flows4, bpf_map__fd(other->skeleton->maps.flows4)) ||
	    bpf_map__reuse_fd(f->maps.flows6, bpf_map__fd(other->skeleton->maps.flows6)) ||
	    bench_floor__load(f))
		return fail("the floor's programs of another CPU");
	*out = floor;
	return 0;
}

static int share_maps(const struct place *place, struct bpf_object *object)
{
	struct bpf_map *map;
	char path[128];
	int fd, err;

	bpf_object__for_each_map(map, object) {
		if (bpf_map__is_internal(map))
			continue;
		snprintf(path, sizeof(path), "%s/%s", place->pin,
			 program_pin_name(bpf_map__name(map)));
		fd = bpf_obj_get(path);
		if (fd < 0)
			return fail(path);
		err = bpf_map__reuse_fd(map, fd);
		close(fd);
		if (err)
			return fail(path);
	}
	return 0;
}

int subject_open(const struct place *place, struct subject **out)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	int err;

	if (!subject)
		return -ENOMEM;
	subject->place = place;
	subject->tc = bh_tc__open();
	subject->xdp = bh_xdp__open();
	subject->steps = bench_steps__open();
	subject->before = bench_before__open();
	if (!subject->tc || !subject->xdp || !subject->steps || !subject->before)
		return fail("Bulkhead's programs");
	subject->tc->rodata->event_rate = UINT32_MAX;
	/* All flows are one endpoint's, so its share is the whole table. */
	subject->tc->rodata->ct_capacity = 1 << 30;
	subject->xdp->rodata->event_rate = UINT32_MAX;
	/* Programs of a node ask the kernel's conntrack, which the load has made ready. */
	subject->tc->rodata->kernel_conntrack = program_kernel_has("bpf_skb_ct_lookup");
	subject->tc->rodata->kern_ctx = subject->steps->rodata->kern_ctx =
		program_kernel_has("bpf_cast_to_kern_ctx");
	err = share_maps(place, subject->tc->obj);
	err = err ? err : share_maps(place, subject->xdp->obj);
	err = err ? err : share_maps(place, subject->steps->obj);
	err = err ? err : share_maps(place, subject->before->obj);
	if (err)
		return err;
	if (bh_tc__load(subject->tc) || bh_xdp__load(subject->xdp) ||
	    bench_steps__load(subject->steps) || bench_before__load(subject->before))
		return fail("Bulkhead's programs");
	*out = subject;
	return 0;
}

static bool at_xdp(const struct probe *probe)
{
	return probe->xdp || probe->program == PROGRAM_UPLINK;
}

static int program_fd(const struct floor *floor, const struct subject *subject,
		      const struct probe *probe)
{
	const struct bench_floor *f = floor->skeleton;
	bool xdp = at_xdp(probe);

	switch (probe->program) {
	case PROGRAM_RETURN:
		return bpf_program__fd(xdp ? f->progs.return_xdp : f->progs.return_tc);
	case PROGRAM_PARSE:
		return bpf_program__fd(xdp ? f->progs.parse_xdp : f->progs.parse_tc);
	case PROGRAM_FIND:
		return bpf_program__fd(xdp ? f->progs.find_xdp : f->progs.find_tc);
	case PROGRAM_INSERT:
		return bpf_program__fd(xdp ? f->progs.insert_xdp : f->progs.insert_tc);
	case PROGRAM_TRACK:
		return bpf_program__fd(xdp ? f->progs.track_xdp : f->progs.track_tc);
	case PROGRAM_STEP_FORM:
		return bpf_program__fd(subject->steps->progs.step_form);
	case PROGRAM_STEP_FIND:
		return bpf_program__fd(subject->steps->progs.step_find);
	case PROGRAM_STEP_WORDS:
		return bpf_program__fd(subject->steps->progs.step_words);
	case PROGRAM_STEP_ENDS:
		return bpf_program__fd(subject->steps->progs.step_ends);
	case PROGRAM_STEP_AGE:
		return bpf_program__fd(subject->steps->progs.step_age);
	case PROGRAM_STEP_COUNT:
		return bpf_program__fd(subject->steps->progs.step_count);
	case PROGRAM_STEP_LAST:
		return bpf_program__fd(subject->steps->progs.step_last);
	case PROGRAM_DROP_PARSE:
		return bpf_program__fd(subject->steps->progs.drop_parse);
	case PROGRAM_DROP_LIKE:
		return bpf_program__fd(subject->steps->progs.drop_like);
	case PROGRAM_DROP_PARSE_NEW:
		return bpf_program__fd(subject->steps->progs.drop_parse_new);
	case PROGRAM_DROP_NEW:
		return bpf_program__fd(subject->steps->progs.drop_new);
	case PROGRAM_BEFORE:
		return bpf_program__fd(subject->before->progs.before_tc);
	case PROGRAM_TO:
		return bpf_program__fd(subject->tc->progs.tc_to_endpoint);
	case PROGRAM_FROM:
		return bpf_program__fd(subject->tc->progs.tc_from_endpoint);
	case PROGRAM_LEAVE:
		return bpf_program__fd(subject->tc->progs.tc_leave);
	default:
		return bpf_program__fd(subject->xdp->progs.xdp_uplink);
	}
}

/* ---- packets ---- */

struct frame {
	uint8_t bytes[128];
	uint32_t length, ports_at;
};

static void put(struct frame *frame, const void *bytes, size_t length)
{
	memcpy(frame->bytes + frame->length, bytes, length);
	frame->length += length;
}

/* The generator's pod-0 has address 1. */
static uint8_t pod_source(const struct probe *probe)
{
	return probe->elsewhere ? 3 : 2;
}

static uint8_t pod_destination(const struct probe *probe)
{
	return probe->away ? 3 : 1;
}

/* 10.0.0.N and fd00::N. */
static void put_ip(struct frame *frame, const struct probe *probe, uint16_t length)
{
	uint8_t source = probe->back ? pod_destination(probe) : pod_source(probe);
	uint8_t destination = probe->back ? pod_source(probe) : pod_destination(probe);
	uint8_t protocol = probe->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	struct iphdr v4 = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(sizeof(v4) + length),
		.ttl = 64,
		.protocol = protocol,
		.saddr = htonl(10 << 24 | source),
		.daddr = htonl(10 << 24 | destination),
	};
	struct ipv6hdr v6 = {
		.version = 6,
		.payload_len = htons(length),
		.nexthdr = protocol,
		.hop_limit = 64,
		.saddr.s6_addr = {[0] = 0xfd, [15] = source},
		.daddr.s6_addr = {[0] = 0xfd, [15] = destination},
	};

	if (probe->service) {
		inet_pton(AF_INET, SERVICE_IPV4, probe->back ? &v4.saddr : &v4.daddr);
		inet_pton(AF_INET6, SERVICE_IPV6, probe->back ? &v6.saddr : &v6.daddr);
	}
	if (probe->ipv6)
		put(frame, &v6, sizeof(v6));
	else
		put(frame, &v4, sizeof(v4));
}

static void frame_make(struct frame *frame, const struct probe *probe)
{
	struct ethhdr ethernet = {
		.h_dest = {2, 0, 0, 0, 0, probe->back ? 2 : 1},
		.h_source = {2, 0, 0, 0, 0, probe->back ? 1 : 2},
		.h_proto = htons(probe->ipv6 ? ETH_P_IPV6 : ETH_P_IP),
	};
	uint16_t port[] = {htons(FLOOR_SOURCE + probe->nth), htons(probe->first)};
	uint16_t source = port[probe->back], destination = port[!probe->back];
	/* In handshakes, each end's SYN has the number 1000. */
	struct tcphdr tcp = {.source = source,
			     .dest = destination,
			     .seq = htonl(1000 + !(probe->tcp & PROBE_SYN)),
			     .ack_seq = htonl(probe->tcp & PROBE_ACK ? 1001 : 0),
			     .doff = 5};
	struct udphdr udp = {.source = source, .dest = destination, .len = htons(sizeof(udp) + 18)};
	uint8_t payload[18] = {0};

	*frame = (struct frame){.length = 0};
	put(frame, &ethernet, sizeof(ethernet));
	put_ip(frame, probe, probe->tcp ? sizeof(tcp) : sizeof(udp) + sizeof(payload));
	frame->ports_at = frame->length;
	if (probe->tcp) {
		((uint8_t *)&tcp)[13] = probe->tcp;
		put(frame, &tcp, sizeof(tcp));
	} else {
		put(frame, &udp, sizeof(udp));
		put(frame, payload, sizeof(payload));
	}
}

/* ---- runs ---- */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/*
 * Runs the program. The kernel's time leaves out what other processes used, but is in whole
 * nanoseconds a packet; this clock adds the rest.
 */
static int run_program(int fd, struct bpf_test_run_opts *run, double *ns)
{
	double start = now_ns(), each;

	if (bpf_prog_test_run_opts(fd, run))
		return -errno;
	each = (now_ns() - start) / run->repeat;
	*ns = each < run->duration + 1.0 ? each : run->duration + 0.5;
	return 0;
}

static int run_tc(int fd, const struct place *place, const struct probe *probe,
		  const struct frame *frame, uint32_t *verdict, double *ns)
{
	unsigned int sender = place->ifindex[!probe->back], receiver = place->ifindex[probe->back];
	struct __sk_buff context = {
		.ifindex = probe->program == PROGRAM_FROM    ? sender
			   : probe->program == PROGRAM_LEAVE ? LOOPBACK
							     : receiver,
		.ingress_ifindex = probe->foreign     ? 0
				   : probe->elsewhere ? LOOPBACK
						      : sender,
	};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->bytes, .data_size_in = frame->length,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = probe->repeat);

	if (run_program(fd, &run, ns))
		return fail("BPF_PROG_TEST_RUN at TC");
	*verdict = run.retval;
	return 0;
}

static int run_xdp(int fd, const struct place *place, const struct probe *probe,
		   const struct frame *frame, uint32_t *verdict, double *ns)
{
	struct xdp_md context = {
		.data_end = frame->length,
		.ingress_ifindex = place->ifindex[0],
	};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->bytes, .data_size_in = frame->length,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = probe->repeat);

	if (run_program(fd, &run, ns))
		return fail("BPF_PROG_TEST_RUN at XDP");
	*verdict = run.retval;
	return 0;
}

uint64_t subject_counted(const struct subject *subject, uint32_t reason)
{
	struct bh_counter counters[libbpf_num_possible_cpus()];
	uint64_t packets = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(subject->tc->maps.bh_counters), &reason, counters))
		return 0;
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		packets += counters[i].packets[0] + counters[i].packets[1];
	return packets;
}

/* Makes the rotating program call @fd, and sets where it begins. */
static int rotate_through(struct floor *floor, struct subject *subject, const struct probe *probe,
			  const struct frame *frame, int fd)
{
	struct bench_floor *f = floor->skeleton;
	int target = bpf_map__fd(at_xdp(probe) ? f->maps.target_xdp : f->maps.target_tc);
	struct floor_rotation *rotation = &f->bss->rotation;
	uint32_t zero = 0;

	if (bpf_map_update_elem(target, &zero, &fd, BPF_ANY))
		return fail("tail call");
	/* The table evicts nothing, so the flows of the last run are removed. */
	if (probe->go_on && probe->program >= PROGRAM_TO && subject_forget(subject, probe->first))
		return -EIO;
	if (probe->go_on && subject->reached[probe->ipv6].ports_at)
		*rotation = subject->reached[probe->ipv6];
	else
		*rotation = (struct floor_rotation){
			.ports_at = frame->ports_at,
			.step = probe->in_order ? 1 : FLOOR_STEP,
			.source = FLOOR_SOURCE + probe->begin,
			.source_end = probe->few ? FLOOR_SOURCE + probe->few : FLOOR_SOURCE_END,
			.destination = probe->first,
			.destination_first = probe->first,
			.destination_end = probe->first + probe->ports,
			.back = probe->back,
		};
	return bpf_program__fd(at_xdp(probe) ? f->progs.rotate_xdp : f->progs.rotate_tc);
}

static int check(const struct subject *subject, const struct probe *probe, uint32_t verdict,
		 uint64_t before)
{
	uint32_t pass = at_xdp(probe) ? XDP_PASS : (uint32_t)FLOOR_TC_DONE;
	bool counts = probe->program >= PROGRAM_TO && probe->reason;
	uint64_t n = counts ? subject_counted(subject, probe->reason) - before : probe->repeat;

	if (probe->reason && bh_reason_drops(probe->reason))
		pass = at_xdp(probe) ? XDP_DROP : 2 /* TC_ACT_SHOT */;
	if (verdict != pass && !counts) {
		fprintf(stderr, "program %d: a packet got %d, not %d\n", probe->program,
			(int)verdict, (int)pass);
		return -EIO;
	}
	/* A nearly full table may refuse a few of many flows. */
	if (n < probe->repeat * 0.98) {
		fprintf(stderr, "program %d: %llu of %u packets were counted as reason %d\n",
			probe->program, (unsigned long long)n, probe->repeat, probe->reason);
		return -EIO;
	}
	return 0;
}

int probe_run(struct floor *floor, struct subject *subject, const struct probe *probe, double *ns)
{
	int fd = program_fd(floor, subject, probe), err;
	uint64_t before = subject_counted(subject, probe->reason);
	struct frame frame;
	uint32_t verdict = 0;

	frame_make(&frame, probe);
	if (probe->rotate)
		fd = rotate_through(floor, subject, probe, &frame, fd);
	if (fd < 0)
		return fd;
	err = place_enter(subject->place);
	err = err	      ? err
	      : at_xdp(probe) ? run_xdp(fd, subject->place, probe, &frame, &verdict, ns)
			      : run_tc(fd, subject->place, probe, &frame, &verdict, ns);
	if (probe->go_on)
		subject->reached[probe->ipv6] = floor->skeleton->bss->rotation;
	return err ? err : check(subject, probe, verdict, before);
}

/* ---- two CPUs at once ---- */

struct runner {
	struct floor *floor;
	struct subject *subject;
	const struct probe *probe;
	cpu_set_t cpu;
	pthread_barrier_t *start;
	pthread_t thread;
	double ns;
	int err;
};

static void *run_at_once(void *context)
{
	struct runner *r = context;
	int fd = program_fd(r->floor, r->subject, r->probe);
	struct frame frame;
	uint32_t verdict;

	frame_make(&frame, r->probe);
	fd = rotate_through(r->floor, r->subject, r->probe, &frame, fd);
	r->err = fd < 0 ? fd : place_enter(r->subject->place);
	if (!r->err && sched_setaffinity(0, sizeof(r->cpu), &r->cpu))
		r->err = fail("a CPU for each probe");
	pthread_barrier_wait(r->start);
	if (!r->err)
		r->err = run_tc(fd, r->subject->place, r->probe, &frame, &verdict, &r->ns);
	return NULL;
}

/* Gives each runner a CPU that this process may use. */
static int give_cpus(struct runner runners[2])
{
	cpu_set_t usable;
	int given = 0;

	if (sched_getaffinity(0, sizeof(usable), &usable))
		return fail("the CPUs of this process");
	for (int cpu = 0; cpu < CPU_SETSIZE && given < 2; cpu++)
		if (CPU_ISSET(cpu, &usable))
			CPU_SET(cpu, &runners[given++].cpu);
	return given < 2 ? -ENOTSUP : 0;
}

int probe_run_both(struct floor *const floors[2], struct subject *subject,
		   const struct probe probes[2], double *ns)
{
	uint64_t before = subject_counted(subject, probes[0].reason);
	struct probe both = probes[0];
	struct runner runners[2] = {0};
	pthread_barrier_t start;
	int err = give_cpus(runners);

	if (err)
		return err;
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		runners[i].floor = floors[i];
		runners[i].subject = subject;
		runners[i].probe = &probes[i];
		runners[i].start = &start;
		if (pthread_create(&runners[i].thread, NULL, run_at_once, &runners[i]))
			abort();
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(runners[i].thread, NULL);
		err = err ? err : runners[i].err;
	}
	pthread_barrier_destroy(&start);
	*ns = (runners[0].ns + runners[1].ns) / 2;
	both.repeat += probes[1].repeat;
	return err ? err : check(subject, &both, FLOOR_TC_DONE, before);
}

/* ---- connections ---- */

/* Maps the table, once. */
static int map_table(struct subject *subject)
{
	const struct bh_tc *tc = subject->tc;
	struct connections table = {
		.groups = bpf_map__max_entries(tc->maps.bh_ct),
		.seed = tc->rodata->ct_seed,
	};

	if (subject->table.groups)
		return 0;
	table.table = mmap(NULL, table.groups * sizeof(*table.table), PROT_READ | PROT_WRITE,
			   MAP_SHARED, bpf_map__fd(tc->maps.bh_ct), 0);
	table.total = mmap(NULL, sizeof(*table.total), PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(tc->maps.bh_share_total), 0);
	if (table.table == MAP_FAILED || table.total == MAP_FAILED)
		return fail("the table of connections");
	subject->table = table;
	return 0;
}

/* Returns the destination's port, the lower one. */
static uint16_t destination_of(const struct bh_ct_key *key)
{
	uint16_t a = ntohs(key->port[0]), b = ntohs(key->port[1]);

	return a < b ? a : b;
}

int subject_forget(struct subject *subject, uint16_t first)
{
	struct connections *table = &subject->table;
	int err = map_table(subject);

	for (uint32_t i = 0; !err && i < table->groups * BH_CT_GROUP; i++)
		for (int slot = 0; slot < BH_CT_SLOTS; slot++)
			if (bh_ct_is_filled(bh_ct_bucket(table->table, i)->tag[slot]) &&
			    destination_of(&bh_ct_slots(table->table, i)[slot].key) >= first)
				bh_ct_bucket(table->table, i)->tag[slot] = BH_CT_FREE;
	return err;
}

int subject_limit(struct subject *subject, bool limited)
{
	int err = map_table(subject);

	if (err)
		return err;
	subject->table.total->floor = limited ? 1 : 0;
	subject->table.total->capacity = limited ? 1 : 0;
	subject->table.total->surplus = limited ? INT32_MAX / 2 : 0;
	return 0;
}

int no_statistics(void)
{
	FILE *from = fopen("/proc/sys/kernel/bpf_stats_enabled", "r");
	int on = from ? fgetc(from) : '0';

	if (from)
		fclose(from);
	if (on == '0')
		return 0;
	fprintf(stderr, "kernel.bpf_stats_enabled is on, and would be measured\n");
	return -EBUSY;
}

/* ---- events ---- */

static uint64_t seen;

static int take(void *context, void *event, size_t size)
{
	(void)context;
	(void)event;
	(void)size;
	__atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
	return 0;
}

static void *read_events(void *ring)
{
	for (;;) {
		ring_buffer__consume(ring);
		usleep(2000);
	}
	return NULL;
}

/* Makes the ring of a reader of all events, for as long as the process lives. Returns -errno on
 * failure. */
static int attach_reader(const struct subject *subject)
{
	const uint32_t place = 0;
	struct bh_readers readers = {.active = 1};
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, BH_RING_BYTES, NULL);

	readers.reader[0].lease = UINT64_MAX;
	readers.reader[0].filter.reasons[0] = readers.reader[0].filter.reasons[1] = UINT64_MAX;
	if (fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(subject->tc->maps.bh_rings), &place, &fd, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(subject->tc->maps.bh_readers), &place, &readers,
				BPF_ANY))
		return -errno;
	return fd;
}

int events_read(struct subject **subjects, size_t n)
{
	struct ring_buffer *ring = NULL;
	pthread_t thread;

	for (size_t i = 0; i < n; i++) {
		int fd = attach_reader(subjects[i]);

		if (!ring)
			ring = ring_buffer__new(fd, take, NULL, NULL);
		else if (ring_buffer__add(ring, fd, take, NULL))
			ring = NULL;
		if (!ring)
			return fail("the reader of events");
	}
	return -pthread_create(&thread, NULL, read_events, ring);
}

uint64_t events_seen(void)
{
	return __atomic_load_n(&seen, __ATOMIC_RELAXED);
}

uint64_t events_due(const struct subject *subject)
{
	uint64_t n = subject_counted(subject, BH_PASS_NEW);

	for (uint32_t reason = 0; reason < BH_REASONS; reason++)
		n += bh_reason_drops(reason) ? subject_counted(subject, reason) : 0;
	return n;
}
