// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>

#include "maps/assign.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/write.h"

int write_table(struct node_handle *handle, const struct table *table, enum node_map_id map)
{
	int error = table_write(table, handle->maps[map]);

	if (error == -E2BIG || error == -ENOSPC) {
		diag_error(handle->diag, NULL, NULL,
			   "the map %s has room for %u entries, and the endpoint needs more: a "
			   "load that has it makes room",
			   node_map_names[map], handle->capacity[map]);
		return -ENOSPC;
	}
	if (error)
		return node_fail(handle, error, "cannot write to %s/%s", handle->pin,
				 node_map_names[map]);
	handle->writes += table->n;
	return 0;
}

int write_one(struct node_handle *handle, const struct table *table, size_t i, enum node_map_id map)
{
	struct table one = *table;

	one.n = 1;
	one.entries = table_key(table, i);
	return write_table(handle, &one, map);
}

int write_delete(struct node_handle *handle, const struct table *table, enum node_map_id map)
{
	int error = table_delete(table, handle->maps[map]);

	if (error)
		return node_fail(handle, error, "cannot delete from %s/%s", handle->pin,
				 node_map_names[map]);
	handle->writes += table->n;
	return 0;
}

static int store(struct node_handle *handle, int program, const struct bh_assign *request)
{
	struct bh_assign copy = *request;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &copy, .ctx_size_in = sizeof(copy));
	int error = bpf_prog_test_run_opts(program, &run) ? -errno : (int)run.retval;

	if (!error)
		handle->writes++;
	return error;
}

int write_stores(struct node_handle *handle, const struct table *stores, enum node_map_id map)
{
	SCOPED_FD int program = pins_get_program(handle, PROGRAM_ASSIGN);
	int error = program < 0 ? program : 0;

	for (size_t i = 0; !error && i < stores->n; i++)
		error = store(handle, program, table_value(stores, i));
	return error ? node_fail(handle, error, "cannot store into %s/%s", handle->pin,
				 node_map_names[map])
		     : 0;
}

void write_commit(struct node_handle *handle, uint64_t generation)
{
	__atomic_store_n(&handle->config->generation, generation, __ATOMIC_RELEASE);
	handle->writes++;
}

void write_busy(struct node_handle *handle, bool busy)
{
	if (node_is_busy(handle) == busy)
		return;
	__atomic_store_n(&handle->config->changes, handle->config->changes + 1, __ATOMIC_SEQ_CST);
	handle->writes++;
}

void write_desired(struct node_handle *handle, uint32_t policy, uint32_t endpoint)
{
	struct bh_config *config = handle->config;

	if (config->desired_policy == policy && config->desired_endpoint == endpoint)
		return;
	__atomic_store_n(&config->desired_policy, policy, __ATOMIC_RELAXED);
	__atomic_store_n(&config->desired_endpoint, endpoint, __ATOMIC_RELAXED);
	handle->writes++;
}
