/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the helpers of the namespace tests. On failure the helper ends by helper_die(). */
#ifndef BULKHEAD_SELFTESTS_HELPER_H
#define BULKHEAD_SELFTESTS_HELPER_H

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Prints @what and errno's text, and exits with status 2. */
_Noreturn void helper_die(const char *what);

/* Prints "ready", which tests wait for. */
void helper_ready(void);

/* From then on SIGTERM sets helper_stopped instead of ending the process. */
void helper_stop_on_term(void);
extern volatile sig_atomic_t helper_stopped;

/*
 * Parses an IPv4 or IPv6 address; a link-local one names its interface: fe80::1%eth0. Returns the
 * length.
 */
socklen_t helper_address(const char *text, uint16_t port, struct sockaddr_storage *address);

/* Opens a socket that listens on every IPv4 and IPv6 address. */
int helper_listen(int type, uint16_t port);

/* Returns the time in ms, from some moment on. */
uint64_t helper_now(void);

/* Returns @total and the bytes' 16-bit words, added up with end-around carry. The complement is the
 * Internet checksum. */
uint16_t helper_sum(const void *bytes, size_t n, uint32_t total);

/*
 * A datagram from a helper_listen() socket; the reply comes from the address that it was sent to.
 */
struct helper_datagram {
	struct sockaddr_in6 from;
	char control[256];
	size_t n_control;
};
bool helper_take(int fd, struct helper_datagram *datagram);
void helper_answer(int fd, struct helper_datagram *datagram, const void *answer, size_t n);

#endif
