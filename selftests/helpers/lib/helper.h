/* SPDX-License-Identifier: GPL-2.0-only */
/* What the helpers of the namespace tests share. What fails ends the helper by helper_die(). */
#ifndef BULKHEAD_SELFTESTS_HELPER_H
#define BULKHEAD_SELFTESTS_HELPER_H

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Says what failed and why (errno), and exits with status 2. */
_Noreturn void helper_die(const char *what);

/* Prints "ready", for which a test waits. */
void helper_ready(void);

/* From then on SIGTERM sets helper_stopped, and no longer ends the process. */
void helper_stop_on_term(void);
extern volatile sig_atomic_t helper_stopped;

/* An address of either version; a link-local one has its interface behind it: fe80::1%eth0. Returns
 * the length. */
socklen_t helper_address(const char *text, uint16_t port, struct sockaddr_storage *address);

/* A socket that listens on every address of both versions. */
int helper_listen(int type, uint16_t port);

/* A datagram that came to a socket of helper_listen(), to be answered from the address that it was
 * sent to: the host may have several. */
struct helper_datagram {
	struct sockaddr_in6 from;
	char control[256];
	size_t n_control;
};
bool helper_take(int fd, struct helper_datagram *datagram);
void helper_answer(int fd, struct helper_datagram *datagram, const void *answer, size_t n);

#endif
