// SPDX-License-Identifier: GPL-2.0-only
/*
 * A busy client: COUNT exchanges with one server, each over a connection of its own, WORKERS at a
 * time: a byte there and a byte back, then it closes. A question of UDP is asked three times at
 * most, as resolvers do: the queue of an interface or of a socket may have been full.
 *
 *   busy tcp|udp ADDRESS PORT COUNT WORKERS
 *
 * prints how many had an answer, how many of those took longer than LATE_MS (a packet was sent
 * twice), and how many exchanges there were in a second.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATE_MS 900
#define WAIT_S 20 /* a machine with other tests may lose SYNs of its own, for 7 s and more */
#define UDP_TRIES 3
#define RESETS 3 /* of one exchange */

struct tally {
	uint32_t answered, late;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static bool exchange(const struct sockaddr_in6 *server, int type)
{
	struct timeval wait = {.tv_sec = WAIT_S};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
	int tries = type == SOCK_DGRAM ? UDP_TRIES : 1;
	bool answered = false;
	char byte = '?';

	if (fd < 0)
		return false;
	errno = 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (!connect(fd, (const struct sockaddr *)server, sizeof(*server)))
		while (!answered && tries--)
			answered =
				send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1;
	close(fd);
	return answered;
}

/* Linux may reset a connection that has just opened: its first segment with data, at another CPU
 * than the end of its handshake, finds neither the request nor the connection for a moment. So a
 * connection that was reset is opened again; who enforces policy drops packets, and resets none. */
static bool exchanges(const struct sockaddr_in6 *server, int type)
{
	int resets = 0;

	while (!exchange(server, type))
		if (errno != ECONNRESET || resets++ == RESETS)
			return false;
	return true;
}

static void work(const struct sockaddr_in6 *server, int type, uint32_t count, struct tally *tally)
{
	for (uint32_t i = 0; i < count; i++) {
		double begin = now();

		if (!exchanges(server, type))
			continue;
		tally->answered++;
		tally->late += now() - begin > LATE_MS;
	}
}

/* Both IP versions by one kind of socket: IPv4 addresses are mapped. */
static int read_server(const char *address, const char *port, struct sockaddr_in6 *server)
{
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(address, ':') ? "" : "::ffff:", address);
	*server = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
	return inet_pton(AF_INET6, mapped, &server->sin6_addr) == 1 ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 server;
	struct tally *tally, sum = {0};
	uint32_t count, workers;
	double begin = now();

	if (argc != 6 || read_server(argv[2], argv[3], &server))
		return fprintf(stderr, "usage: busy tcp|udp ADDRESS PORT COUNT WORKERS\n"), 2;
	count = atoi(argv[4]);
	workers = atoi(argv[5]);
	tally = mmap(NULL, workers * sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return perror("busy"), 2;
	for (uint32_t i = 0; i < workers; i++)
		if (!fork()) {
			work(&server, strcmp(argv[1], "udp") ? SOCK_STREAM : SOCK_DGRAM,
			     count / workers, &tally[i]);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	for (uint32_t i = 0; i < workers; i++) {
		sum.answered += tally[i].answered;
		sum.late += tally[i].late;
	}
	printf("%u %u %.0f\n", sum.answered, sum.late, 1e3 * count / (now() - begin));
	return 0;
}
