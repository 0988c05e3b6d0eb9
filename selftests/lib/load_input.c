// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/load_input.h"

#include <errno.h>
#include <stdlib.h>

#include "compile/compile.h"

int read_input(print_input_fn print, const void *data, struct cluster *cluster)
{
	struct diag diag = {.to = stdout};
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int err;

	cluster_init(cluster);
	if (!to)
		return -errno;
	print(to, data);
	fclose(to);
	err = input_parse_ini(cluster, text, size, "input.ini", &diag);
	free(text);
	return err ? err : cluster_finish(cluster, &diag);
}

int load_input(const struct node_options *options, print_input_fn print, const void *data)
{
	struct diag diag = {.to = stdout};
	const struct policy *base;
	struct node_change change;
	struct policy *policy;
	struct cluster cluster;
	struct node_handle *handle;
	int err;

	err = node_open(options, true, &diag, &handle);
	if (err)
		return err;
	err = node_policy(handle, &base);
	if (!err)
		err = read_input(print, data, &cluster);
	if (!err) {
		err = compile_cluster(&cluster, base, &diag, &policy);
		cluster_free(&cluster);
	}
	if (!err) {
		err = node_load(handle, policy, &change);
		policy_free(policy);
	}
	node_close(handle);
	return err;
}
