// SPDX-License-Identifier: GPL-2.0-only
/*
 * grid NAME,FILE,ADDRESS4,ADDRESS6...
 *
 * Probes many flows between network namespaces at once. Each NAME is a host: FILE is its network
 * namespace, such as /run/netns/NAME. Each host serves TCP and UDP at 80 and 81, and SCTP if the
 * kernel has SCTP sockets; then the program prints "ready", or "ready sctp".
 *
 * For each line of standard input, the name of a file of flows "FROM TO 4|6 TCP|UDP|SCTP/PORT
 * allow|deny", asks all flows of that file, each by a socket of its own, and prints a line for each
 * flow that does not do as the file says, then "done ASKED". A flow is allowed if its answer is
 * back within WAIT ms (20000 if not in the environment), and denied if nothing has arrived within
 * DENIED ms (300), and until all allowed flows are answered. Flows of SCTP are left out without
 * SCTP sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define HOSTS 16
#define FLOWS 4096
#define AGAIN_MS 500 /* an unanswered datagram that should pass is sent again */

struct host {
	char name[16], address[2][64];
	int namespace;
};

struct flow {
	const struct host *from, *to;
	char text[80];
	bool ipv6, allow, stream, answered, arrived;
	int fd;
};

static struct host hosts[HOSTS];
static size_t n_hosts;
static struct flow flows[FLOWS];
static size_t n_flows;
static uint32_t n_files; /* asked so far: a datagram of an earlier one may arrive late */
static int servers; /* an epoll of the servers' sockets */
static bool has_sctp;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ll + time.tv_nsec / 1000000;
}

static int setting(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

static void enter(const struct host *host)
{
	if (setns(host->namespace, CLONE_NEWNET))
		helper_die(host->name);
}

/* Servers */

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(servers, EPOLL_CTL_ADD, fd, &event))
		helper_die("epoll");
}

static int sctp_socket(void)
{
	return socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP);
}

static void serve_sctp(uint16_t port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = sctp_socket();

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 128))
		helper_die("sctp");
	watch(fd);
}

static void serve(const struct host *host)
{
	enter(host);
	for (uint16_t port = 80; port <= 81; port++) {
		watch(helper_listen(SOCK_STREAM, port));
		watch(helper_listen(SOCK_DGRAM, port));
		if (has_sctp)
			serve_sctp(port);
	}
}

/* Returns what a flow's datagrams and their answers are. */
static uint32_t number_of(size_t i)
{
	return n_files * FLOWS + i;
}

static void answer(int fd)
{
	struct helper_datagram datagram;
	struct sockaddr_in6 from;
	socklen_t length = sizeof(from);
	uint32_t number = 0;
	int type, connection;
	socklen_t n = sizeof(type);

	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
	if (type == SOCK_STREAM) {
		/* the client's end tells whether it is connected */
		connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (connection >= 0)
			close(connection);
		return;
	}
	if (recvfrom(fd, &number, sizeof(number), MSG_PEEK | MSG_DONTWAIT, (struct sockaddr *)&from,
		     &length) == sizeof(number) &&
	    number / FLOWS == n_files && number % FLOWS < n_flows)
		flows[number % FLOWS].arrived = true;
	if (helper_take(fd, &datagram))
		helper_answer(fd, &datagram, &number, sizeof(number));
}

/* Flows */

static const struct host *host_of(const char *name)
{
	for (size_t i = 0; i < n_hosts; i++)
		if (!strcmp(hosts[i].name, name))
			return &hosts[i];
	errno = EINVAL;
	helper_die(name);
}

static void send_number(size_t i)
{
	const uint32_t number = number_of(i);

	send(flows[i].fd, &number, sizeof(number), MSG_NOSIGNAL);
}

static void begin(size_t i, const char *protocol, uint16_t port)
{
	struct flow *flow = &flows[i];
	struct sockaddr_storage to;
	socklen_t length = helper_address(flow->to->address[flow->ipv6], port, &to);
	const bool sctp = !strcmp(protocol, "SCTP");

	flow->stream = strcmp(protocol, "UDP");
	enter(flow->from);
	flow->fd = socket(to.ss_family,
			  (flow->stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  sctp ? IPPROTO_SCTP : 0);
	if (flow->fd < 0)
		helper_die("socket");
	if (connect(flow->fd, (struct sockaddr *)&to, length) && errno != EINPROGRESS)
		helper_die(flow->text);
	if (!flow->stream)
		send_number(i);
}

static void read_flows(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[80], from[16], to[16], protocol[8], verdict[8];
	int family, port;

	if (!file) {
		helper_die(path);
		return;
	}
	n_flows = 0;
	n_files++;
	while (fgets(line, sizeof(line), file) && n_flows < FLOWS) {
		if (sscanf(line, "%15s %15s %d %7[A-Z]/%d %7s", from, to, &family, protocol, &port,
			   verdict) != 6)
			helper_die(line);
		if (!strcmp(protocol, "SCTP") && !has_sctp)
			continue;
		flows[n_flows] = (struct flow){.from = host_of(from),
					       .to = host_of(to),
					       .ipv6 = family == 6,
					       .allow = !strcmp(verdict, "allow")};
		line[strcspn(line, "\n")] = '\0';
		strcpy(flows[n_flows].text, line);
		begin(n_flows, protocol, port);
		n_flows++;
	}
	fclose(file);
}

static void look(struct flow *flow, struct pollfd *poller)
{
	uint32_t number;

	if (!poller->revents)
		return;
	if (flow->stream)
		flow->answered = !(poller->revents & (POLLERR | POLLHUP));
	else
		flow->answered = recv(flow->fd, &number, sizeof(number), 0) == sizeof(number) &&
				 number == number_of(flow - flows);
	flow->arrived |= flow->answered;
	/* An error is no answer, and is told again and again. The answer to a former socket at this
	 * one's port is no answer, either. */
	if (flow->stream || flow->answered)
		poller->fd = -1;
}

static void serve_for(int ms)
{
	struct epoll_event events[64];
	int n = epoll_wait(servers, events, 64, ms);

	for (int i = 0; i < n; i++)
		answer(events[i].data.fd);
}

/* Waits as long as a flow that should pass is not answered, and at least as long as a denied flow
 * gets. */
static void wait_for_answers(void)
{
	static struct pollfd pollers[FLOWS];
	const int64_t began = now(), end = began + setting("WAIT", 20000);
	const int64_t least = began + setting("DENIED", 300);
	int64_t again = began + AGAIN_MS;
	bool missing = true;

	for (size_t i = 0; i < n_flows; i++)
		pollers[i] = (struct pollfd){flows[i].fd, flows[i].stream ? POLLOUT : POLLIN, 0};
	while (now() < least || (missing && now() < end)) {
		serve_for(2);
		poll(pollers, n_flows, 0);
		missing = false;
		for (size_t i = 0; i < n_flows; i++) {
			look(&flows[i], &pollers[i]);
			missing |= flows[i].allow && !flows[i].answered;
			if (now() > again && flows[i].allow && !flows[i].answered &&
			    !flows[i].stream)
				send_number(i);
		}
		if (now() > again)
			again = now() + AGAIN_MS;
	}
}

static void ask(const char *path)
{
	read_flows(path);
	wait_for_answers();
	for (size_t i = 0; i < n_flows; i++) {
		const struct flow *flow = &flows[i];

		if (flow->allow ? !flow->answered : flow->arrived)
			printf("%s, and %s\n", flow->text,
			       flow->answered  ? "it is answered"
			       : flow->arrived ? "it arrives"
					       : "there is no answer");
		close(flow->fd);
	}
	printf("done %zu\n", n_flows);
	fflush(stdout);
}

static void add_host(char *text)
{
	struct host *host = &hosts[n_hosts++];
	const char *name = strtok(text, ","), *file = strtok(NULL, ",");

	for (int i = 0; i < 2; i++) {
		const char *address = strtok(NULL, ",");

		snprintf(host->address[i], sizeof(host->address[i]), "%s", address ? address : "");
	}
	snprintf(host->name, sizeof(host->name), "%s", name ? name : "");
	host->namespace = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	if (host->namespace < 0 || !*host->address[1])
		helper_die(text);
	serve(host);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	char path[512];
	int probe;

	if (argc < 3 || argc - 1 > HOSTS) {
		fprintf(stderr, "usage: grid NAME,FILE,ADDRESS4,ADDRESS6...\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getrlimit(RLIMIT_NOFILE, &files))
		helper_die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		helper_die("setrlimit");
	servers = epoll_create1(EPOLL_CLOEXEC);
	probe = sctp_socket();
	has_sctp = probe >= 0;
	if (has_sctp)
		close(probe);
	for (int i = 1; i < argc; i++)
		add_host(argv[i]);
	puts(has_sctp ? "ready sctp" : "ready");
	fflush(stdout);
	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		ask(path);
	}
	return 0;
}
