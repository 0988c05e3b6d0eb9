// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "node/kernel/handle.h"
#include "node/kernel/rcu.h"
#include "node/kernel/settings.h"

#define CONTROL "/sys/kernel/rcu_expedited"
#define NORMAL "/sys/kernel/rcu_normal"
#define MARK_NAME "bh_expedited"
#define UNKNOWN -1l

/* Returns the number that a file holds; UNKNOWN: the file cannot be read. */
static long read_number(int fd)
{
	char text[32];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return UNKNOWN;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* Writes a mark or 0. All have ten digits, so that the test can put a plain file in the control's
 * place. The kernel reads a number that begins with 0 as octal. */
static void write_control(int fd, long value)
{
	char text[32];

	/* a command that cannot write it is only slower */
	(void)!pwrite(fd, text, snprintf(text, sizeof(text), "%010ld\n", value), 0);
}

/* Returns true if @value is a mark whose command has ended. */
static bool is_left(long value)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = -1;

	if (value < RCU_MARK)
		return false;
	fd = bpf_map_get_fd_by_id(value - RCU_MARK);
	if (fd < 0)
		return errno == ENOENT;
	return !bpf_obj_get_info_by_fd(fd, &info, &length) && strcmp(info.name, MARK_NAME) != 0;
}

/* Makes the map whose ID is in the mark. If a mark is not possible, grace periods stay as they
 * are. */
static void make_mark(struct rcu *rcu)
{
	SCOPED_FD int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, MARK_NAME, sizeof(uint32_t),
					  sizeof(uint32_t), 1, NULL);
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length) || info.id >= RCU_MARK)
		return;
	rcu->map = TAKE_FD(fd);
	rcu->mark = RCU_MARK + info.id;
}

static bool is_normal(struct node_handle *handle)
{
	SCOPED_FD int fd = open(NORMAL, O_RDONLY | O_CLOEXEC);

	return read_number(fd) != 0 || settings_rcu_is_normal(handle);
}

/* Opens the control; a second try would fail as the first. */
static int open_control(struct rcu *rcu)
{
	if (!rcu->tried)
		rcu->control = open(CONTROL, O_RDWR | O_CLOEXEC);
	rcu->tried = true;
	return rcu->control;
}

void rcu_expedite(struct node_handle *handle)
{
	struct rcu *rcu = &handle->rcu;
	long value;

	if (open_control(rcu) < 0)
		return;
	if (!rcu->decided && !is_normal(handle))
		make_mark(rcu);
	rcu->decided = true;
	value = rcu->mark ? read_number(rcu->control) : rcu->mark;
	if (value != rcu->mark && (!value || is_left(value)))
		write_control(rcu->control, rcu->mark);
}

void rcu_restore(struct node_handle *handle)
{
	struct rcu *rcu = &handle->rcu;
	const long value = handle->options->dry_run ? 0 : read_number(open_control(rcu));

	if ((rcu->mark && value == rcu->mark) || is_left(value))
		write_control(rcu->control, 0);
	cleanup_fd(&rcu->map);
	cleanup_fd(&rcu->control);
	*rcu = RCU_NONE;
}

/* Updating a map of maps makes the kernel wait for a grace period. */
static int wait_by_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	SCOPED_FD int inner = -1, outer = -1;
	uint32_t key = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bh_rcu_inner", sizeof(key), sizeof(key), 1,
			       NULL);
	if (inner < 0)
		return -errno;
	options.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "bh_rcu", sizeof(key), sizeof(key), 1,
			       &options);
	if (outer < 0)
		return -errno;
	return bpf_map_update_elem(outer, &key, &inner, BPF_ANY) ? -errno : 0;
}

/* membarrier(2) refuses if a CPU runs without ticks (nohz_full) */
int rcu_wait(struct node_handle *handle)
{
	int error;

	rcu_expedite(handle);
	error = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? wait_by_map() : 0;

	return error ? node_fail(handle, error, "cannot wait for the programs that run") : 0;
}
