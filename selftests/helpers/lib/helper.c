// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/helpers/lib/helper.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

volatile sig_atomic_t helper_stopped;

_Noreturn void helper_die(const char *what)
{
	perror(what);
	exit(2);
}

void helper_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void stop(int signal)
{
	(void)signal;
	helper_stopped = 1;
}

void helper_stop_on_term(void)
{
	signal(SIGTERM, stop);
}

socklen_t helper_address(const char *text, uint16_t port, struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	char *plain = strdupa(text), *interface = strchr(plain, '%');

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (interface) {
		*interface++ = 0;
		v6->sin6_scope_id = if_nametoindex(interface);
	}
	if (inet_pton(AF_INET6, plain, &v6->sin6_addr) != 1)
		helper_die(text);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return sizeof(*v6);
}

int helper_listen(int type, uint16_t port)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0), on = 1, off = 0;

	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		helper_die("bind");
	if (type == SOCK_STREAM && listen(fd, 128))
		helper_die("listen");
	return fd;
}

uint64_t helper_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

uint16_t helper_sum(const void *bytes, size_t n, uint32_t total)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < n; i++)
		total += i % 2 ? byte[i] : byte[i] << 8;
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return total;
}

/* A message with the datagram's other end and its control data. */
static struct msghdr message_of(struct helper_datagram *datagram, struct iovec *part)
{
	return (struct msghdr){.msg_name = &datagram->from,
			       .msg_namelen = sizeof(datagram->from),
			       .msg_iov = part,
			       .msg_iovlen = 1,
			       .msg_control = datagram->control,
			       .msg_controllen = sizeof(datagram->control)};
}

bool helper_take(int fd, struct helper_datagram *datagram)
{
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = message_of(datagram, &part);

	if (recvmsg(fd, &message, 0) < 0)
		return false;
	/* The reply's source is the address that was asked, whichever interface it leaves by. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_type == IPV6_PKTINFO)
			((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_ifindex = 0;
	datagram->n_control = message.msg_controllen;
	return true;
}

void helper_answer(int fd, struct helper_datagram *datagram, const void *answer, size_t n)
{
	struct iovec part = {(void *)answer, n};
	struct msghdr message = message_of(datagram, &part);

	message.msg_controllen = datagram->n_control;
	sendmsg(fd, &message, 0);
}
