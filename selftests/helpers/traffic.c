// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steady traffic between two network namespaces while policy changes; one process holds both ends.
 * For IPv4 and IPv6 and each port there is a UDP flow and a TCP connection whose server echoes.
 * Every millisecond (a tick) the client sends the tick's number over each UDP flow, and a message
 * over each TCP connection that does not lag behind.
 *
 *   traffic FROM TO ADDRESS4 ADDRESS6 KEPT FIRST SECOND NEVER...
 *
 * FROM and TO are files such as /run/netns/NAME, the rest are ports: KEPT is allowed by both
 * policies, FIRST only by the first, SECOND only by the second, NEVER by neither. All of them must
 * be allowed at the start. It prints "ready" then, and answers each line that it reads with "ok"
 * once everything sent before has arrived:
 *
 *   begin        a change of policy begins
 *   is first     the change has ended and the first policy is active; or "is second"
 *   is either    the change was killed: one of the policies is active
 *   over         traffic ends; everything is allowed again
 *   end          ends the connections and prints the report
 *
 * Between "is" and "begin" exactly the allowed packets arrive, tick by tick. From "begin" to "is"
 * the old policy's ticks come first, then the new one's, and between them at most one tick that the
 * commit divides. No packet to KEPT is lost, none to NEVER arrives. The report has the packets sent
 * and received, and "lost N": the packets, with TCP's acknowledgements and retransmissions, that
 * did not arrive at the other end.
 *
 * Exit status: 0, or 1 and a message for each deviation.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MAX_FLOWS 16
#define MAX_TICKS (1u << 22) /* more than an hour */
#define MAX_MARKS (1u << 14)
#define MAX_LAG 256 /* bytes of a connection that are under way: below any segment's size */
#define MAX_TOLD 20
#define WAIT_MS 20000
#define RTO_MAX_MS 44 /* of linux/tcp.h since 6.15 */
#define QUIET_MS 500

enum role { KEPT, FIRST, SECOND, NEVER };
enum end { CALLER, CALLED };

struct way {
	uint64_t sent, arrived;
};

struct flow {
	enum role role;
	bool v6;
	const char *port;
	int udp[2], tcp[2]; /* by end; -1: closed */
	struct way datagrams[2], messages[2]; /* by the end that sends */
	unsigned char rest[2][sizeof(uint32_t)]; /* of a partly received message, by end */
	size_t n_rest[2];
	struct way before[2]; /* segments sent and received when traffic began, by end */
};

/* The policies that may be active from this tick on: bits FIRST and SECOND, or none. */
struct mark {
	uint32_t tick;
	unsigned int allowed;
};

static struct flow flows[MAX_FLOWS];
static size_t n_flows;
static uint32_t ticks, saved_tick[2]; /* sent; the last tick that arrived, by version */
static uint8_t *came[2]; /* by version and tick: bits of the roles that arrived */
static struct mark marks[MAX_MARKS];
static size_t n_marks;
static unsigned int certain; /* the last mark's @allowed once earlier packets have arrived */
static bool watching;
static uint64_t lost;
static unsigned int wrongs;

static void wrong(const struct flow *flow, const char *what)
{
	if (wrongs++ < MAX_TOLD)
		printf("wrong: at tick %u, IPv%c port %s: %s\n", ticks, flow->v6 ? '6' : '4',
		       flow->port, what);
}

/* A socket stays in the network namespace that it was made in. */
static int open_socket(const char *namespace, int family, int type)
{
	int at = open(namespace, O_RDONLY | O_CLOEXEC), fd, capacity = 1 << 22;

	if (at < 0 || setns(at, CLONE_NEWNET))
		helper_die(namespace);
	close(at);
	fd = socket(family, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &capacity, sizeof(capacity));
	return fd;
}

/*
 * Sends each message as one segment. Retransmits at least every second, if the kernel can, for up
 * to a day.
 */
static void set_up_connection(int fd)
{
	int on = 1, second = 1000, day = 86400000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, RTO_MAX_MS, &second, sizeof(second));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &day, sizeof(day));
}

static bool await(int fd)
{
	struct pollfd poller = {fd, POLLIN, 0};

	return poll(&poller, 1, WAIT_MS) == 1;
}

/* The server learns the client's address from the first message. */
static void open_pair(const char *const namespaces[2], const char *address, const char *port,
		      int type, int ends[2])
{
	struct sockaddr_storage to, from;
	socklen_t length = helper_address(address, atoi(port), &to);
	int listener = open_socket(namespaces[CALLED], to.ss_family, type);
	char byte;

	ends[CALLER] = open_socket(namespaces[CALLER], to.ss_family, type);
	ends[CALLED] = listener;
	if (bind(listener, (struct sockaddr *)&to, length) ||
	    (type == SOCK_STREAM && listen(listener, 1)) ||
	    connect(ends[CALLER], (struct sockaddr *)&to, length))
		helper_die(port);
	if (type == SOCK_STREAM) {
		ends[CALLED] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		close(listener);
		set_up_connection(ends[CALLER]);
		set_up_connection(ends[CALLED]);
	} else if (send(ends[CALLER], "?", 1, 0) != 1 || !await(listener) ||
		   recvfrom(listener, &byte, 1, 0, (struct sockaddr *)&from, &length) != 1 ||
		   connect(listener, (struct sockaddr *)&from, length)) {
		helper_die(port);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i] < 0 || fcntl(ends[i], F_SETFL, O_NONBLOCK))
			helper_die(port);
}

static void open_flow(const char *const namespaces[2], const char *address, const char *port,
		      enum role role)
{
	struct flow *flow = &flows[n_flows++];

	*flow = (struct flow){.role = role, .v6 = strchr(address, ':'), .port = port};
	open_pair(namespaces, address, port, SOCK_DGRAM, flow->udp);
	open_pair(namespaces, address, port, SOCK_STREAM, flow->tcp);
}

static struct way segments(int fd)
{
	struct tcp_info info = {};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		helper_die("TCP_INFO");
	return (struct way){info.tcpi_segs_out, info.tcpi_segs_in};
}

/* The connection must be at rest. */
static uint64_t segments_lost(const struct flow *flow, enum end from)
{
	return segments(flow->tcp[from]).sent - flow->before[from].sent -
	       (segments(flow->tcp[!from]).arrived - flow->before[!from].arrived);
}

static unsigned int bit(enum role role)
{
	return role == FIRST || role == SECOND ? role : 0;
}

static void datagram_came(struct flow *flow, uint32_t tick)
{
	if (tick >= ticks)
		return wrong(flow, "a datagram that was not sent");
	if (flow->role == NEVER && watching)
		return wrong(flow, "a datagram arrived");
	if (flow->role == KEPT)
		saved_tick[flow->v6] = tick;
	if (came[flow->v6][tick] & bit(flow->role))
		wrong(flow, "a datagram arrived twice");
	came[flow->v6][tick] |= bit(flow->role);
}

static void message_came(struct flow *flow, enum end from, uint32_t number)
{
	if (number != flow->messages[from].arrived++)
		wrong(flow, "a message is not the next one");
	if (watching &&
	    (flow->role == NEVER || (certain && bit(flow->role) && !(certain & bit(flow->role)))))
		wrong(flow, "a message arrived");
}

static void send_datagram(struct flow *flow, enum end from, uint32_t tick)
{
	if (send(flow->udp[from], &tick, sizeof(tick), 0) == sizeof(tick))
		flow->datagrams[from].sent++;
}

static void send_message(struct flow *flow, enum end from)
{
	uint32_t number = flow->messages[from].sent;

	if (send(flow->tcp[from], &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number))
		flow->messages[from].sent++;
}

static void receive_datagrams(struct flow *flow, enum end to)
{
	uint32_t tick;

	while (recv(flow->udp[to], &tick, sizeof(tick), 0) == sizeof(tick)) {
		flow->datagrams[!to].arrived++;
		if (to == CALLED) {
			datagram_came(flow, tick);
			send_datagram(flow, CALLED, tick);
		}
	}
}

static void receive_messages(struct flow *flow, enum end to)
{
	unsigned char *rest = flow->rest[to];
	uint32_t number;
	ssize_t n;

	while ((n = recv(flow->tcp[to], rest + flow->n_rest[to], sizeof(number) - flow->n_rest[to],
			 0)) > 0) {
		flow->n_rest[to] += n;
		if (flow->n_rest[to] < sizeof(number))
			continue;
		flow->n_rest[to] = 0;
		memcpy(&number, rest, sizeof(number));
		message_came(flow, !to, number);
		if (to == CALLED)
			send_message(flow, CALLED);
	}
	if (!n || errno != EAGAIN)
		wrong(flow, "a connection has ended");
}

static void receive_all(void)
{
	for (size_t i = 0; i < n_flows; i++)
		for (int to = CALLED; to >= CALLER; to--) {
			receive_datagrams(&flows[i], to);
			if (flows[i].tcp[to] >= 0)
				receive_messages(&flows[i], to);
		}
}

static int under_way(int fd)
{
	int bytes;

	return ioctl(fd, SIOCOUTQ, &bytes) ? 0 : bytes;
}

static void tick(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (ticks == MAX_TICKS)
		helper_die("too many ticks");
	for (size_t i = 0; i < n_flows; i++)
		send_datagram(&flows[i], CALLER, ticks);
	for (size_t i = 0; i < n_flows; i++)
		if (under_way(flows[i].tcp[CALLER]) < MAX_LAG &&
		    under_way(flows[i].tcp[CALLED]) < MAX_LAG)
			send_message(&flows[i], CALLER);
	ticks++;
	receive_all();
	nanosleep(&pause, NULL);
	receive_all();
}

/*
 * Waits until everything sent so far has arrived or is dropped: one CPU handles packets in order.
 */
static void settle(void)
{
	const uint32_t now = ticks;

	for (int i = 0; i < WAIT_MS && (!i || saved_tick[0] < now || saved_tick[1] < now); i++)
		tick();
	if (saved_tick[0] < now || saved_tick[1] < now)
		wrong(&flows[0], "what both policies allow did not arrive");
}

static void mark(unsigned int allowed)
{
	if (n_marks == MAX_MARKS)
		helper_die("too many changes");
	marks[n_marks++] = (struct mark){ticks, allowed};
}

/* Closes a connection that neither policy allows without sending another packet. */
static void end_never(struct flow *flow)
{
	int on = 1;

	for (int end = 0; end < 2; end++)
		if (setsockopt(flow->tcp[end], IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)))
			helper_die("TCP_REPAIR");
	lost += segments_lost(flow, CALLER) + segments_lost(flow, CALLED);
	for (int end = 0; end < 2; end++) {
		close(flow->tcp[end]);
		flow->tcp[end] = -1;
	}
}

/* True if every connection has delivered all that was sent over it. */
static bool at_rest(void)
{
	for (size_t i = 0; i < n_flows; i++)
		for (int end = 0; flows[i].tcp[0] >= 0 && end < 2; end++)
			if (under_way(flows[i].tcp[end]) ||
			    flows[i].messages[end].arrived != flows[i].messages[CALLER].sent)
				return false;
	return true;
}

static void rest(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int quiet = 0;

	for (int i = 0; i < 4 * WAIT_MS && quiet < QUIET_MS; i++) {
		quiet = at_rest() ? quiet + 1 : 0;
		receive_all();
		nanosleep(&pause, NULL);
	}
	if (quiet < QUIET_MS)
		wrong(&flows[0], "a connection did not go on");
}

static void begin_watching(void)
{
	rest();
	for (size_t i = 0; i < n_flows; i++)
		for (int end = 0; end < 2; end++)
			flows[i].before[end] = segments(flows[i].tcp[end]);
	watching = true;
}

static void check_tick(bool v6, uint32_t at, bool good)
{
	if (!good && wrongs++ < MAX_TOLD)
		printf("wrong: of tick %u over IPv%c arrived:%s%s\n", at, v6 ? '6' : '4',
		       came[v6][at] & FIRST ? " first" : "",
		       came[v6][at] & SECOND ? " second" : "");
}

/* Checks the ticks between the beginning and the end of a change. */
static void check_change(bool v6, uint32_t from, uint32_t to, unsigned int old)
{
	const unsigned int new = (FIRST | SECOND) - old;
	uint32_t at = from;

	while (at < to && came[v6][at] == old)
		at++;
	if (at < to && came[v6][at] != new)
		at++;
	for (; at < to; at++)
		check_tick(v6, at, came[v6][at] == new);
}

/* Marks come in pairs: a policy is active from one tick on, and a change begins at another. */
static unsigned int check_ticks(bool v6)
{
	unsigned int handovers = 0, allowed, last = 0;

	for (size_t i = 0; i + 1 < n_marks; i += 2) {
		allowed = marks[i].allowed;
		if (allowed == (FIRST | SECOND))
			allowed = came[v6][marks[i].tick];
		check_tick(v6, marks[i].tick, allowed == FIRST || allowed == SECOND);
		for (uint32_t at = marks[i].tick; at < marks[i + 1].tick; at++)
			check_tick(v6, at, came[v6][at] == allowed);
		handovers += last && last != allowed;
		last = allowed;
		if (i + 2 < n_marks)
			check_change(v6, marks[i + 1].tick, marks[i + 2].tick, allowed);
	}
	return handovers;
}

static void print_ways(const struct flow *flow, const char *protocol, const struct way ways[2])
{
	static const char *const names[] = {"kept", "first", "second", "never"};

	printf("%s port %s IPv%c %s there %" PRIu64 " of %" PRIu64 " back %" PRIu64 " of %" PRIu64
	       "\n",
	       names[flow->role], flow->port, flow->v6 ? '6' : '4', protocol, ways[CALLER].arrived,
	       ways[CALLER].sent, ways[CALLED].arrived, ways[CALLED].sent);
}

static void report(void)
{
	for (size_t i = 0; i < n_flows; i++) {
		struct flow *flow = &flows[i];

		for (int end = 0; end < 2; end++) {
			lost += flow->datagrams[end].sent - flow->datagrams[end].arrived;
			if (flow->tcp[0] >= 0)
				lost += segments_lost(flow, end);
			if (flow->role == KEPT &&
			    (segments_lost(flow, end) ||
			     flow->datagrams[end].sent != flow->datagrams[end].arrived))
				wrong(flow, "something was lost");
		}
		print_ways(flow, "udp", flow->datagrams);
		print_ways(flow, "tcp", flow->messages);
	}
	printf("ticks %u\n", ticks);
	printf("handovers %u %u\n", check_ticks(false), check_ticks(true));
	printf("lost %" PRIu64 "\n", lost);
}

/* Returns true if this was the last line. */
static bool handle(const char *line)
{
	if (!strcmp(line, "end")) {
		rest();
		return true;
	}
	certain = 0;
	if (!strcmp(line, "begin")) {
		mark(0);
		settle();
	} else if (!strcmp(line, "over")) {
		watching = false;
		for (size_t i = 0; i < n_flows; i++)
			if (flows[i].role == NEVER)
				end_never(&flows[i]);
	} else {
		mark(!strcmp(line, "is first")	  ? FIRST
		     : !strcmp(line, "is second") ? SECOND
						  : FIRST | SECOND);
		settle();
		if (marks[n_marks - 1].allowed != (FIRST | SECOND))
			certain = marks[n_marks - 1].allowed;
	}
	return false;
}

static bool read_line(char *line, size_t size)
{
	struct pollfd poller = {STDIN_FILENO, POLLIN, 0};
	ssize_t n;

	if (poll(&poller, 1, 0) != 1)
		return false;
	n = read(STDIN_FILENO, line, size - 1);
	if (n <= 0)
		exit(2);
	line[n - 1] = '\0';
	return true;
}

int main(int argc, char **argv)
{
	char line[32];
	bool over = false;
	cpu_set_t one;

	if (argc < 9 || 2 * (argc - 5) > MAX_FLOWS)
		return fprintf(stderr, "usage: traffic FROM TO ADDRESS4 ADDRESS6 PORT...\n"), 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		helper_die("sched_setaffinity");
	for (int i = 0; i < 2; i++) {
		came[i] = calloc(MAX_TICKS, 1);
		for (int port = 5; port < argc; port++)
			open_flow((const char *const *)argv + 1, argv[3 + i], argv[port],
				  port - 5 < NEVER ? port - 5 : NEVER);
	}
	begin_watching();
	helper_ready();
	for (;;) {
		if (n_marks && !over)
			tick();
		else
			poll(NULL, 0, 1);
		if (!read_line(line, sizeof(line)))
			continue;
		if (handle(line))
			break;
		over |= !strcmp(line, "over");
		puts("ok");
		fflush(stdout);
	}
	report();
	return wrongs > 0;
}
