// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes what a container runtime gives the CNI plugin on standard input: the plugin reads the
 * configuration, or fails with a code and a message. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cni/invocation.h"

static void read_as(const char *command, const uint8_t *data, size_t size)
{
	/* fmemopen() opens nothing of no length */
	FILE *input = fmemopen((void *)data, size, "r"), *real = stdin;
	struct cni_call call = {};
	int code;

	if (!input)
		return;
	setenv("CNI_COMMAND", command, 1);
	stdin = input;
	code = cni_call_read(&call);
	stdin = real;
	fclose(input);
	/* A refusal has a message, and only a refusal. */
	if (code != call.code || !code != !*call.message)
		abort();
	cni_call_end(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	setenv("CNI_CONTAINERID", "container", 1);
	setenv("CNI_NETNS", "/run/netns/pod", 1);
	setenv("CNI_IFNAME", "eth0", 1);
	setenv("CNI_PATH", "/opt/cni/bin", 1);
	if (size) {
		read_as("ADD", data, size);
		read_as("GC", data, size);
	}
	return 0;
}
