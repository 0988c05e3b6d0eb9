// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the data path learns from DNS answers, against the oracle (lib/dns_oracle.h). A node in the
 * test's own namespace has one endpoint, whose policy has names. For each round the endpoint's
 * question and an answer, as resolvers send it or mutated, go through the programs by
 * BPF_PROG_TEST_RUN; both must pass. Half of them go over TCP, where connections stay open for the
 * whole run, and a message is in one segment or several, which may come twice or late. Over UDP, an
 * answer may be in one packet with another that nobody has asked for (GRO). Then every
 * address in `learned` must be one that the oracle has found, by the patterns that match the
 * question's name, and not longer than the answer says. Of an answer that was not mutated, each
 * address must be learned.
 *
 * Fixed cases follow, of an endpoint that has two connections to resolvers by one pair of ports,
 * and would have the programs read the bytes of one at the numbers of the other.
 *
 * Each run has ANSWERS answers; BULKHEAD_FULL=1 has ANSWERS_FULL, ANSWERS=n that many. SEED=n
 * begins with answer n.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compile/compile.h"
#include "input/input.h"
#include "maps/conntrack.h"
#include "maps/dns.h"
#include "node/kernel/domain_maps.h"
#include "node/kernel/program.h"
#include "node/node.h"
#include "selftests/lib/dns_make.h"
#include "selftests/lib/ip_batch.h"
#include "selftests/lib/own_process.h"

#define ANSWERS 40000
#define ANSWERS_FULL 5000000
#define FAILURES_MAX 5
#define PASS -1 /* TC_ACT_UNSPEC */
#define PORTS 64 /* source ports: connections of questions */
#define SPARE 8 /* further ports, of the fixed cases */
#define GRACE 30 /* s */
#define TTL_MAX (7 * 86400) /* s: the programs take no longer time from an answer */
#define SWEEP 4096 /* rounds between two looks at the whole of `learned`, which are slow */
#define MESSAGE_MAX 3400 /* with its headers in the one page that a test run has */

static const char *const patterns[] = {
	"api.example.com", "*.svc.example.org", "*.deep.svc.example.org",
	"cdn.example.net", "*.example.com",	"a.b.c.example.org",
};
#define PATTERNS (sizeof(patterns) / sizeof(*patterns))

static const char world[] =
	"[bulkhead]\nnode = node-0\nresolver = 10.0.9.53, fd00:9::53, 10.0.1.1, 10.0.1.2,\n"
	"\tfd00:1::1, fd00:1::2\n"
	"[endpoint shop/web]\nnode = node-0\nip = 10.0.0.5, fd00::5\n"
	"[cluster-network-policy names]\ntier = Admin\npriority = 5\nsubject = namespaces()\n"
	"egress = Accept to cidr(10.0.9.53/32), cidr(fd00:9::53/128) ports UDP/53, TCP/53\n"
	"egress = Accept to names(api.example.com, *.svc.example.org, *.deep.svc.example.org,\n"
	"\tcdn.example.net, *.example.com, a.b.c.example.org) ports TCP/443\n"
	"egress = Deny to cidr(0.0.0.0/0), cidr(::/0)\n";

enum hook { FROM_ENDPOINT, TO_ENDPOINT, HOOKS };

/* A TCP connection to the resolver: the next numbers of the endpoint and of the resolver. */
struct stream {
	uint32_t next[HOOKS];
};

struct test {
	char pin[64];
	unsigned int endpoint, uplink; /* ifindexes */
	int programs[HOOKS], learned, learners, order, questions, counts;
	uint32_t place; /* of the next address that is learned */
	struct stream streams[2][PORTS + SPARE]; /* by IP version */
	struct mnl_socket *conntrack;
	uint64_t hashes[PATTERNS]; /* the patterns' keys in bh_domains */
	uint64_t hz;
	uint64_t mutated, over_tcp, taught, missed, addresses, failures;
};

/* ---- packets ---- */

struct frame {
	uint8_t bytes[MESSAGE_MAX + 128];
	size_t length;
	size_t datagram; /* bytes of each of its datagrams but the last; 0: it has one */
};

static void put(struct frame *frame, const void *bytes, size_t length)
{
	memcpy(frame->bytes + frame->length, bytes, length);
	frame->length += length;
}

static void put_ip(struct frame *frame, bool ipv6, bool answer, uint8_t protocol, size_t length)
{
	struct iphdr v4 = {.version = 4,
			   .ihl = 5,
			   .tot_len = htons(sizeof(v4) + length),
			   .ttl = 64,
			   .protocol = protocol};
	struct ipv6hdr v6 = {
		.version = 6, .payload_len = htons(length), .nexthdr = protocol, .hop_limit = 64};

	if (ipv6) {
		inet_pton(AF_INET6, answer ? "fd00:9::53" : "fd00::5", &v6.saddr);
		inet_pton(AF_INET6, answer ? "fd00::5" : "fd00:9::53", &v6.daddr);
		put(frame, &v6, sizeof(v6));
	} else {
		inet_pton(AF_INET, answer ? "10.0.9.53" : "10.0.0.5", &v4.saddr);
		inet_pton(AF_INET, answer ? "10.0.0.5" : "10.0.9.53", &v4.daddr);
		put(frame, &v4, sizeof(v4));
	}
}

static void begin_frame(struct frame *frame, bool ipv6, bool answer, uint8_t protocol,
			size_t length)
{
	struct ethhdr ethernet = {.h_dest = {2, 0, 0, 0, 0, 2},
				  .h_source = {2, 0, 0, 0, 0, 1},
				  .h_proto = htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP)};

	frame->length = frame->datagram = 0;
	put(frame, &ethernet, sizeof(ethernet));
	put_ip(frame, ipv6, answer, protocol, length);
}

static void make_frame(struct frame *frame, bool ipv6, bool answer, uint16_t port,
		       const uint8_t *message, size_t length)
{
	struct udphdr udp = {.source = htons(answer ? 53 : port),
			     .dest = htons(answer ? port : 53),
			     .len = htons(sizeof(udp) + length)};

	begin_frame(frame, ipv6, answer, IPPROTO_UDP, sizeof(udp) + length);
	put(frame, &udp, sizeof(udp));
	put(frame, message, length);
}

/* Returns true if the hook passes the frame. */
static bool run_hook(const struct test *test, enum hook hook, const struct frame *frame)
{
	struct __sk_buff skb = {.ifindex = test->endpoint,
				.ingress_ifindex =
					hook == FROM_ENDPOINT ? test->endpoint : test->uplink,
				.gso_size = frame->datagram,
				.gso_segs = frame->datagram ? 2 : 0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->bytes, .data_size_in = frame->length,
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	return !bpf_prog_test_run_opts(test->programs[hook], &run) && (int)run.retval == PASS;
}

/* ---- TCP ---- */

/* Sends a segment of @length bytes, which begin with the number @sequence. */
static bool send_segment(struct test *test, struct stream *stream, enum hook hook, bool ipv6,
			 const struct tcphdr *flags, uint32_t sequence, const uint8_t *bytes,
			 size_t length)
{
	static struct frame frame;
	const uint16_t port = 30000 + (stream - test->streams[ipv6]);
	struct tcphdr tcp = *flags;

	tcp.source = htons(hook == TO_ENDPOINT ? 53 : port);
	tcp.dest = htons(hook == TO_ENDPOINT ? port : 53);
	tcp.seq = htonl(sequence);
	tcp.ack_seq = tcp.ack ? htonl(stream->next[!hook]) : 0;
	tcp.doff = sizeof(tcp) / 4;
	tcp.window = htons(65535);
	begin_frame(&frame, ipv6, hook == TO_ENDPOINT, IPPROTO_TCP, sizeof(tcp) + length);
	put(&frame, &tcp, sizeof(tcp));
	put(&frame, bytes, length);
	return run_hook(test, hook, &frame);
}

/* Opens a connection. */
static bool open_stream(struct test *test, struct stream *stream, bool ipv6)
{
	static const struct tcphdr syn = {.syn = 1}, syn_ack = {.syn = 1, .ack = 1},
				   ack = {.ack = 1};
	const uint8_t nothing[1] = {};
	bool passes = send_segment(test, stream, FROM_ENDPOINT, ipv6, &syn,
				   stream->next[FROM_ENDPOINT]++, nothing, 0);

	passes = passes && send_segment(test, stream, TO_ENDPOINT, ipv6, &syn_ack,
					stream->next[TO_ENDPOINT]++, nothing, 0);
	return passes && send_segment(test, stream, FROM_ENDPOINT, ipv6, &ack,
				      stream->next[FROM_ENDPOINT], nothing, 0);
}

/* Sends a message in 1 to 5 segments, some of them twice. */
static bool send_message(struct test *test, struct random *random, struct stream *stream,
			 enum hook hook, const uint8_t *message, size_t length)
{
	static const struct tcphdr ack = {.ack = 1, .psh = 1};
	static uint8_t bytes[2 + MESSAGE_MAX];
	const bool ipv6 = stream >= test->streams[1];
	size_t at = 0, n;

	bytes[0] = length >> 8;
	bytes[1] = length;
	memcpy(bytes + 2, message, length);
	length += 2;
	for (int left = random_below(random, 5); at < length; at += n, left--) {
		n = length - at;
		if (left > 0)
			n = 1 + random_below(random, random_chance(random, 30) ? 3 : n);
		n = n < length - at ? n : length - at;
		for (int twice = random_chance(random, 10); twice >= 0; twice--)
			if (!send_segment(test, stream, hook, ipv6, &ack, stream->next[hook] + at,
					  bytes + at, n))
				return false;
	}
	stream->next[hook] += length;
	return true;
}

/* ---- one round ---- */

struct round {
	uint64_t seed;
	struct dns_question question;
	struct dns_made answer;
	struct dns_lesson lesson;
	bool mutated, ipv6, tcp;
	bool matches[PATTERNS]; /* the patterns that stand for the question's name */
	size_t n_matches;
	size_t learned;
};

/* The kernel starts jiffies five minutes before their low 32 bits overflow. */
static uint32_t now_ticks(const struct test *test)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint32_t) - (300 * test->hz) + now.tv_sec * test->hz +
		now.tv_nsec * test->hz / 1000000000) >>
	       BH_TICK_SHIFT;
}

#define PRINT_NAME(identifier, name, text) name,
static const char *const results[] = {BH_DNS_RESULTS(PRINT_NAME)};

/* Prints what has become of all answers so far. */
static void print_counts(const struct test *test)
{
	uint64_t counts[1024];

	for (uint32_t i = 0; i < BH_DNS_RESULT_COUNT; i++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(test->counts, &i, counts))
			continue;
		for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
			sum += counts[cpu];
		printf(" %s %" PRIu64, results[i], sum);
	}
}

static bool fail(struct test *test, const struct round *round, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints what differs, and the message. Returns false. */
static bool fail(struct test *test, const struct round *round, const char *format, ...)
{
	va_list args;

	printf("# SEED=%" PRIu64 ": ", round->seed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	print_counts(test);
	printf("; over %s, IPv%d; the oracle says %s, %zu addresses%s\n# ",
	       round->tcp ? "TCP" : "UDP", round->ipv6 ? 6 : 4,
	       dns_refusal_name(round->lesson.refusal), round->lesson.n,
	       round->lesson.truncated ? ", truncated" : "");
	for (size_t i = 0; i < round->answer.length; i++)
		printf("%02x", round->answer.bytes[i]);
	printf("\n");
	test->failures++;
	return false;
}

static void make_round(struct round *round, uint64_t seed)
{
	struct random random = {seed};

	round->seed = seed;
	round->ipv6 = random_chance(&random, 50);
	round->mutated = random_chance(&random, 80);
	round->tcp = random_chance(&random, 50);
	dns_make_question(&random, patterns, PATTERNS, &round->question);
	dns_make_answer(&random, &round->question, &round->answer);
	if (round->mutated)
		dns_mutate(&random, &round->answer);
	if (round->answer.length > MESSAGE_MAX)
		round->answer.length = MESSAGE_MAX;
	dns_oracle_read(round->answer.bytes, round->answer.length, &round->question,
			&round->lesson);
	round->n_matches = 0;
	for (size_t i = 0; i < PATTERNS; i++) {
		round->matches[i] = dns_oracle_matches(patterns[i], &round->question.name);
		round->n_matches += round->matches[i];
	}
	if (!round->n_matches)
		round->lesson.n = 0;
}

static const struct dns_address *find(const struct round *round, const struct bh_addr *address)
{
	for (size_t i = 0; i < round->lesson.n; i++)
		if (!memcmp(round->lesson.addresses[i].bytes, address, sizeof(*address)))
			return &round->lesson.addresses[i];
	return NULL;
}

/* Returns the number of names by which the entry was learned, if each matches the question's name;
 * else -1. */
static int count_names(const struct test *test, const struct round *round,
		       const struct bh_learned *learned)
{
	int n = 0;

	for (size_t i = 0; i < BH_LEARNED_NAMES; i++) {
		bool known = false;

		if (!learned->domain[i])
			continue;
		for (size_t k = 0; k < PATTERNS; k++)
			known |= round->matches[k] && test->hashes[k] == learned->domain[i];
		if (!known)
			return -1;
		n++;
	}
	return n;
}

static bool check_learned(struct test *test, const struct round *round,
			  const struct bh_learned_key *key, const struct bh_learned *learned,
			  uint32_t after)
{
	const struct dns_address *wanted = find(round, &key->addr);
	char text[ADDRESS_TEXT];
	int64_t ttl, most;

	address_print((const struct address *)&key->addr, text);
	if (key->ifindex != test->endpoint)
		return fail(test, round, "%s is learned for another endpoint", text);
	if (!wanted)
		return fail(test, round, "%s is learned", text);
	if (count_names(test, round, learned) != (int)round->n_matches)
		return fail(test, round, "%s is learned by other names", text);
	ttl = wanted->ttl > TTL_MAX ? TTL_MAX : wanted->ttl;
	most = ((ttl + GRACE) * test->hz >> BH_TICK_SHIFT) + 1;
	for (size_t i = 0; i < BH_LEARNED_NAMES; i++)
		if (learned->domain[i] && (int32_t)((uint32_t)learned->until[i] - after) > most)
			return fail(test, round, "%s is learned for %d ticks, and may for %" PRId64,
				    text, (int32_t)((uint32_t)learned->until[i] - after), most);
	return true;
}

/* Compares what was learned since the last round with the oracle, and empties `learned`. Each
 * address has got a place. @after: tick after the answer, however late this test runs. */
static bool compare(struct test *test, struct round *round, uint32_t after)
{
	struct bh_learned_place place = {.ifindex = test->endpoint};
	struct bh_learned_key key = {.ifindex = test->endpoint};
	struct bh_learner learner = {0};
	struct bh_learned learned;
	bool good = true;

	round->learned = 0;
	bpf_map_lookup_elem(test->learners, &test->endpoint, &learner);
	for (; test->place != learner.next; test->place++) {
		place.place = test->place % BH_LEARNED_SHARE;
		if (bpf_map_lookup_elem(test->order, &place, &key.addr) ||
		    bpf_map_lookup_elem(test->learned, &key, &learned))
			continue;
		good = good && check_learned(test, round, &key, &learned, after);
		round->learned++;
		bpf_map_delete_elem(test->learned, &key);
	}
	if (round->seed % SWEEP == 0 && !bpf_map_get_next_key(test->learned, NULL, &key))
		return fail(test, round, "something is learned that has no place");
	test->taught += !!round->learned;
	test->addresses += round->learned;
	if (good && round->learned < round->lesson.n) {
		test->missed++;
		if (!round->mutated)
			return fail(test, round, "only %zu are learned", round->learned);
	}
	return good;
}

/* The next round's answer must not meet this round's question. */
static void forget_questions(const struct test *test)
{
	struct bh_question_key key = {.ifindex = test->endpoint};

	for (; key.bucket < BH_QUESTION_BUCKETS; key.bucket++)
		bpf_map_delete_elem(test->questions, &key);
}

/* Makes one packet of the answer and of another one, with a transaction ID that nobody has used.
 * The longer one comes first. */
static void make_pair(struct frame *frame, const struct round *round, struct random *random)
{
	static uint8_t bytes[MESSAGE_MAX];
	const size_t length = round->answer.length, other = length - random_below(random, 2);
	const bool last = other == length && random_chance(random, 50);
	uint8_t *second = bytes + length;

	memcpy(bytes, round->answer.bytes, length);
	memcpy(second, round->answer.bytes, last ? length : other);
	*(last ? bytes : second) ^= 0x80;
	make_frame(frame, round->ipv6, true, 20000 + round->seed % PORTS, bytes, length + other);
	frame->datagram = length;
}

/* Sends a message of the round. */
static bool send_round(struct test *test, const struct round *round, enum hook hook,
		       const uint8_t *message, size_t length)
{
	static struct frame frame;
	struct random random = {round->seed ^ hook};
	const uint16_t port = round->seed % PORTS;

	if (round->tcp)
		return send_message(test, &random, &test->streams[round->ipv6][port], hook, message,
				    length);
	if (hook == TO_ENDPOINT && length > 1 && 2 * length <= MESSAGE_MAX &&
	    random_chance(&random, 30))
		make_pair(&frame, round, &random);
	else
		make_frame(&frame, round->ipv6, hook == TO_ENDPOINT, 20000 + port, message, length);
	return run_hook(test, hook, &frame);
}

static bool run_round(struct test *test, uint64_t seed)
{
	static struct round round;
	uint8_t query[512];
	uint32_t after;
	size_t length;

	make_round(&round, seed);
	test->mutated += round.mutated;
	test->over_tcp += round.tcp;
	length = dns_make_query(&round.question, query, sizeof(query));
	if (!send_round(test, &round, FROM_ENDPOINT, query, length))
		return fail(test, &round, "the question is dropped");
	if (!send_round(test, &round, TO_ENDPOINT, round.answer.bytes, round.answer.length))
		return fail(test, &round, "the answer is dropped");
	after = now_ticks(test);
	forget_questions(test);
	return compare(test, &round, after);
}

/* ---- two connections of one pair of ports ---- */

static const struct tcphdr is_syn = {.syn = 1}, is_answer = {.syn = 1, .ack = 1},
			   is_ack = {.ack = 1};
static const uint8_t nothing[1];

/* Makes an answer with its length before it, to a question for an A record. Returns its length. */
static size_t make_lesson(uint8_t *bytes, size_t size, const struct dns_question *question)
{
	static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 10, 99, 0, 1};
	size_t length = dns_make_query(question, bytes + 2, size - 2 - sizeof(record));

	bytes[4] = 0x81; /* an answer */
	bytes[5] = 0x80;
	bytes[9] = 1; /* record */
	memcpy(bytes + 2 + length, record, sizeof(record));
	length += sizeof(record);
	bytes[0] = length >> 8;
	bytes[1] = length;
	return 2 + length;
}

static bool sends(struct test *test, struct stream *stream, enum hook hook,
		  const struct tcphdr *flags, uint32_t sequence, const uint8_t *bytes,
		  size_t length)
{
	return send_segment(test, stream, hook, stream >= test->streams[1], flags, sequence, bytes,
			    length);
}

/* Returns true if the endpoint has learned the lesson's address, and forgets it. */
static bool has_learned(struct test *test)
{
	struct bh_learned_key key = {.ifindex = test->endpoint};

	key.addr.word[2] = htonl(0xffff);
	key.addr.word[3] = htonl(0x0a630001);
	return !bpf_map_delete_elem(test->learned, &key);
}

/* The endpoint asks, and gets @skip bytes and the answer in a segment that begins with the number
 * @at. @late: its begin comes after its end. Returns true if the answer teaches; sets *@good to
 * false if a segment drops. */
static bool teaches(struct test *test, struct stream *stream, uint32_t at, size_t skip, bool late,
		    bool *good)
{
	struct dns_question question = {.id = 77, .type = DNS_A};
	uint8_t query[256], bytes[MESSAGE_MAX] = {0};
	size_t length, end;

	dns_oracle_parse("api.example.com", &question.name);
	length = dns_make_query(&question, query + 2, sizeof(query) - 2);
	query[0] = 0;
	query[1] = length;
	*good &= sends(test, stream, FROM_ENDPOINT, &is_ack, stream->next[FROM_ENDPOINT], query,
		       2 + length);
	stream->next[FROM_ENDPOINT] += 2 + length;
	end = skip + make_lesson(bytes + skip, sizeof(bytes) - skip, &question);
	if (late) {
		*good &= sends(test, stream, TO_ENDPOINT, &is_ack, at + 9, bytes + 9, end - 9);
		*good &= sends(test, stream, TO_ENDPOINT, &is_ack, at, bytes, 9);
		*good &= sends(test, stream, TO_ENDPOINT, &is_ack, at + 9, bytes + 9, end - 9);
	} else {
		*good &= sends(test, stream, TO_ENDPOINT, &is_ack, at, bytes, end);
	}
	stream->next[TO_ENDPOINT] = at + end;
	forget_questions(test);
	return has_learned(test);
}

/* The endpoint sends its SYN, and a SYN-ACK of that number comes. */
static bool is_answered(struct test *test, struct stream *stream, uint32_t number)
{
	stream->next[FROM_ENDPOINT] = 5001;
	return sends(test, stream, FROM_ENDPOINT, &is_syn, 5000, nothing, 0) &&
	       sends(test, stream, TO_ENDPOINT, &is_answer, number, nothing, 0);
}

static bool acknowledges(struct test *test, struct stream *stream, uint32_t number)
{
	stream->next[TO_ENDPOINT] = number + 1;
	return sends(test, stream, FROM_ENDPOINT, &is_ack, 5001, nothing, 0);
}

/* A resolver has answered the SYN twice, by numbers that differ by @by. The endpoint acknowledges
 * the first one, and the answer comes behind that one, at the place of a message of the other. */
static bool two_numbers(struct test *test, struct stream *stream, uint32_t by, bool late)
{
	bool good = is_answered(test, stream, 7000) && is_answered(test, stream, 7000 + by) &&
		    acknowledges(test, stream, 7000);
	bool learned = teaches(test, stream, 7001, by, late, &good);

	if (good && learned == !by)
		return true;
	printf("# numbers that differ by %u, port %td: %s\n", by,
	       stream - test->streams[stream >= test->streams[1]],
	       good ? learned ? "learned" : "not learned" : "dropped");
	return false;
}

static void put_tuple(struct nlmsghdr *message, uint16_t type, bool ipv6, const char *from,
		      uint16_t from_port, const char *to, uint16_t to_port)
{
	const size_t size = ipv6 ? 16 : 4;
	struct nlattr *tuple = mnl_attr_nest_start(message, type), *part;
	uint8_t addr[16];

	part = mnl_attr_nest_start(message, CTA_TUPLE_IP);
	inet_pton(ipv6 ? AF_INET6 : AF_INET, from, addr);
	mnl_attr_put(message, ipv6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, size, addr);
	inet_pton(ipv6 ? AF_INET6 : AF_INET, to, addr);
	mnl_attr_put(message, ipv6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, size, addr);
	mnl_attr_nest_end(message, part);
	part = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_TCP);
	mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(from_port));
	mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(to_port));
	mnl_attr_nest_end(message, part);
	mnl_attr_nest_end(message, tuple);
}

/* Puts the connection into the kernel's conntrack, or removes it. @backend: 1 or 2; @masked: added
 * to the port that the backend sees. */
static bool tell(struct test *test, const struct stream *stream, uint16_t type, int backend,
		 uint16_t masked)
{
	const bool ipv6 = stream >= test->streams[1];
	const uint16_t port = 30000 + (stream - test->streams[ipv6]);
	const char *pod = ipv6 ? "fd00::5" : "10.0.0.5";
	const char *const backends[2][2] = {{"10.0.1.1", "10.0.1.2"}, {"fd00:1::1", "fd00:1::2"}};
	char buffer[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *general = mnl_nlmsg_put_extra_header(message, sizeof(*general));
	int n;

	message->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | type;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (type == IPCTNL_MSG_CT_NEW)
		message->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	general->nfgen_family = ipv6 ? AF_INET6 : AF_INET;
	general->version = NFNETLINK_V0;
	put_tuple(message, CTA_TUPLE_ORIG, ipv6, pod, port, ipv6 ? "fd00:9::53" : "10.0.9.53", 53);
	if (type == IPCTNL_MSG_CT_NEW) {
		put_tuple(message, CTA_TUPLE_REPLY, ipv6, backends[ipv6][backend - 1], 53, pod,
			  port + masked);
		mnl_attr_put_u32(message, CTA_TIMEOUT, htonl(600));
	}
	if (mnl_socket_sendto(test->conntrack, message, message->nlmsg_len) < 0)
		return false;
	n = mnl_socket_recvfrom(test->conntrack, buffer, sizeof(buffer));
	return n > 0 &&
	       mnl_cb_run(buffer, n, 0, mnl_socket_get_portid(test->conntrack), NULL, NULL) >= 0;
}

static bool tell_another(struct test *test, const struct stream *stream, int backend,
			 uint16_t masked)
{
	return tell(test, stream, IPCTNL_MSG_CT_DELETE, 0, 0) &&
	       tell(test, stream, IPCTNL_MSG_CT_NEW, backend, masked);
}

/* The node has translated the endpoint's calls of one pair of ports twice, and both backends have
 * sent a SYN-ACK. What the first one sends is not read at the numbers of the second. */
static bool two_backends(struct test *test, struct stream *stream, int backend, uint16_t masked)
{
	bool good = tell(test, stream, IPCTNL_MSG_CT_NEW, 1, 0) &&
		    is_answered(test, stream, 7000) &&
		    tell_another(test, stream, backend, masked) &&
		    is_answered(test, stream, 9000) && acknowledges(test, stream, 9000);
	bool own = teaches(test, stream, 9001, 0, false, &good);
	const uint32_t next = stream->next[TO_ENDPOINT];
	bool other, again;

	good = good && tell_another(test, stream, 1, 0);
	other = teaches(test, stream, 7001, next - 7001, false, &good);
	good = good && tell_another(test, stream, backend, masked);
	again = teaches(test, stream, next, 0, false, &good);
	good = good && tell(test, stream, IPCTNL_MSG_CT_DELETE, 0, 0);
	if (good && own && !other && again)
		return true;
	printf("# another %s%s: its own answer %d, the other's %d, its next %d\n",
	       masked ? "port" : "backend", good ? "" : ", and something fails", own, other, again);
	return false;
}

static bool run_cases(struct test *test)
{
	bool good = true;

	test->conntrack = mnl_socket_open(NETLINK_NETFILTER);
	if (!test->conntrack || mnl_socket_bind(test->conntrack, 0, MNL_SOCKET_AUTOPID)) {
		printf("# conntrack cannot be told: %s\n", strerror(errno));
		return false;
	}
	for (int version = 0; version < 2; version++) {
		struct stream *spare = test->streams[version] + PORTS;

		good &= two_numbers(test, spare + 0, 0, false);
		good &= two_numbers(test, spare + 1, 0, true);
		good &= two_numbers(test, spare + 2, 3, false);
		good &= two_numbers(test, spare + 3, 900, false);
		good &= two_backends(test, spare + 4, 2, 0);
		good &= two_backends(test, spare + 5, 1, 1);
	}
	mnl_socket_close(test->conntrack);
	return good;
}

/* ---- a node of its own ---- */

static int make_interfaces(struct test *test)
{
	FILE *batch = ip_batch_begin();

	if (!batch)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ip_batch_add(batch, "link add host%d type veth peer name pod%d", i, i);
		ip_batch_add(batch, "link set pod%d addrgenmode none up", i);
		ip_batch_add(batch, "link set host%d addrgenmode none up", i);
	}
	ip_batch_add(batch, "route add 10.0.0.5/32 dev host0");
	ip_batch_add(batch, "route add fd00::5/128 dev host0");
	if (ip_batch_end(batch))
		return -ENODEV;
	test->endpoint = if_nametoindex("host0");
	test->uplink = if_nametoindex("host1");
	return test->uplink ? 0 : -ENODEV;
}

static int make_policy(struct policy **policy)
{
	struct diag diag = {.to = stdout};
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	err = input_parse_ini(&cluster, world, strlen(world), "world", &diag);
	if (!err)
		err = cluster_finish(&cluster, &diag);
	if (!err)
		err = compile_cluster(&cluster, NULL, &diag, policy);
	cluster_free(&cluster);
	return err;
}

static int load(struct test *test, const struct node_options *options)
{
	struct diag diag = {.to = stdout};
	struct bh_domain domain;
	struct node_handle *handle;
	struct node_change change;
	struct policy *policy;
	int err;

	err = make_policy(&policy);
	if (err)
		return err;
	err = node_open(options, true, &diag, &handle);
	if (!err) {
		err = node_load(handle, policy, &change);
		for (size_t i = 0; !err && i < PATTERNS; i++)
			err = domains_hash(handle, patterns[i], (__u64 *)&test->hashes[i], &domain);
		node_close(handle);
	}
	policy_free(policy);
	return err;
}

static int open_pin(const struct test *test, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", test->pin, name);
	return bpf_obj_get(path);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool open_streams(struct test *test)
{
	for (int version = 0; version < 2; version++)
		for (int i = 0; i < PORTS; i++)
			if (!open_stream(test, &test->streams[version][i], version)) {
				printf("not ok 1 - a connection to the resolver opens\n");
				return false;
			}
	return true;
}

static int run_rounds(struct test *test)
{
	uint64_t usual = number("BULKHEAD_FULL", 0) ? ANSWERS_FULL : ANSWERS;
	uint64_t first = number("SEED", number("BULKHEAD_SEED", 1) * 1000000007);
	uint64_t count = number("ANSWERS", usual);

	if (!open_streams(test))
		return 1;
	test->failures = !run_cases(test);
	for (uint64_t i = 0; i < count && test->failures < FAILURES_MAX; i++)
		run_round(test, first + i);
	printf("%sok 1 - what an answer teaches is what the oracle finds in it\n",
	       test->failures ? "not " : "");
	printf("# %" PRIu64 " answers, %" PRIu64 " of them mutated, %" PRIu64 " over TCP; %" PRIu64
	       " taught %" PRIu64 " addresses; %" PRIu64
	       " mutated ones taught less than the oracle finds\n",
	       count, test->mutated, test->over_tcp, test->taught, test->addresses, test->missed);
	return test->failures > 0;
}

static int run(const char *pin)
{
	static const char *const settings[] = {"connections=1024"};
	struct test test = {0};
	struct node_options options = {.pin = test.pin,
				       .name = "node-0",
				       .force = true,
				       .settings = settings,
				       .n_settings = 1};
	int err;

	snprintf(test.pin, sizeof(test.pin), "%s", pin);
	test.hz = program_jiffies_per_second();
	err = make_interfaces(&test);
	if (!err)
		err = load(&test, &options);
	test.programs[FROM_ENDPOINT] = open_pin(&test, "tc_from_endpoint");
	test.programs[TO_ENDPOINT] = open_pin(&test, "tc_to_endpoint");
	test.learned = open_pin(&test, "learned");
	test.learners = open_pin(&test, "learners");
	test.order = open_pin(&test, "learn_order");
	test.questions = open_pin(&test, "questions");
	test.counts = open_pin(&test, "dns_counts");
	if (err || test.programs[FROM_ENDPOINT] < 0 || test.programs[TO_ENDPOINT] < 0 ||
	    test.learned < 0 || test.learners < 0 || test.order < 0 || test.questions < 0 ||
	    test.counts < 0) {
		printf("not ok 1 - the node is not there: %s\n", strerror(err ? -err : errno));
		return 1;
	}
	err = run_rounds(&test);
	return err | !!node_unload(&options, &(struct diag){.to = stdout});
}

int main(void)
{
	return own_process_run(run);
}
