// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "input/input.h"

int place_ip(const char *batch)
{
	FILE *ip = popen("ip -batch -", "w");
	int status;

	if (!ip)
		return -errno;
	fputs(batch, ip);
	status = pclose(ip);
	if (status)
		fprintf(stderr, "ip -batch failed on:\n%s", batch);
	return status ? -EIO : 0;
}

int place_enter(const struct place *place)
{
	if (setns(place->netns, CLONE_NEWNET)) {
		perror("setns");
		return -EPERM;
	}
	return 0;
}

/* One size on every machine: twice the floor's flows of one IP version. */
static const char *const settings[] = {"connections=262144"};

int place_make(struct bench *bench, unsigned int number, struct place *place)
{
	int err;

	*place = (struct place){
		.options = {
			.pin = place->pin, .name = "bench", .settings = settings, .n_settings = 1}};
	snprintf(place->pin, sizeof(place->pin), "%s-%u", bench->pin, number);
	if (unshare(CLONE_NEWNET)) {
		perror("no network namespace");
		return -EPERM;
	}
	place->netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	err = place_ip("link add bench0 type veth peer name pod0\n"
		       "link add bench1 type veth peer name pod1\n"
		       "link set pod0 addrgenmode none up\nlink set bench0 addrgenmode none up\n"
		       "link set pod1 addrgenmode none up\nlink set bench1 addrgenmode none up\n");
	place->ifindex[0] = if_nametoindex("bench0");
	place->ifindex[1] = if_nametoindex("bench1");
	return err;
}

int place_load(struct place *place, const char *path, struct node_change *change)
{
	struct diag diag = {.to = stderr};
	struct node_change ignored;
	const struct policy *base = NULL;
	struct policy *policy = NULL;
	struct node_handle *host = NULL;
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	err = input_read(&cluster, path, &diag);
	err = err ? err : cluster_finish(&cluster, &diag);
	err = err ? err : node_open(&place->options, true, &diag, &host);
	err = err ? err : node_policy(host, &base);
	err = err ? err : compile_cluster(&cluster, base, &diag, &policy);
	cluster_free(&cluster);
	if (!err)
		err = node_load(host, policy, change ? change : &ignored);
	policy_free(policy);
	if (host)
		node_close(host);
	return err;
}
