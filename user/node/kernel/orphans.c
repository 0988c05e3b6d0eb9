// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "node/kernel/attach.h"
#include "node/kernel/orphans.h"
#include "node/kernel/programs.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/xdp.h"

#define CONFIG "config"
#define XDP_NAME "xdp_uplink"
#define FIRST_BPFFS "/proc/1/root/sys/fs/bpf"
#define DEPTH 4 /* folders below the mount in which a pin folder may be */

/* Configuration maps of Bulkhead's programs that are not this pin folder's. */
struct marks {
	uint32_t at[32];
	size_t n;
};

static void marks_drop(struct marks *marks, uint32_t mark)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->at[i] == mark)
			marks->at[i--] = marks->at[--marks->n];
}

static bool marks_have(const struct marks *marks, uint32_t mark)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->at[i] == mark)
			return true;
	return false;
}

/* The kernel keeps the first BPF_OBJ_NAME_LEN - 1 characters of a name. */
static bool has_our_name(const char *name)
{
	if (!strcmp(name, XDP_NAME))
		return true;
	for (size_t i = 0; i < N_NODE_PROGRAMS; i++)
		if (*name && !strncmp(name, node_program_names[i], BPF_OBJ_NAME_LEN - 1))
			return true;
	return false;
}

/* Returns the configuration map of a program that has one of our names; 0: it is none of ours, or
 * is gone. */
static uint32_t mark_of(uint32_t id)
{
	SCOPED_FD int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {};
	uint32_t length = sizeof(info), mark = 0;
	struct program program;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length) || !has_our_name(info.name) ||
	    program_read(fd, &program) || program_find_map(&program, CONFIG, &mark))
		return 0;
	return mark;
}

static int list_marks(struct node_handle *handle, struct marks *marks)
{
	uint32_t id = 0;
	bool ours;
	int error = programs_is_ours(handle, 0, &ours); /* finds the mark */

	while (!error && marks->n < ARRAY_SIZE(marks->at) && !bpf_prog_get_next_id(id, &id)) {
		const uint32_t mark = mark_of(id);

		if (mark && mark != handle->mark && !marks_have(marks, mark))
			marks->at[marks->n++] = mark;
	}
	return error;
}

/* Drops the marks that folders below @path pin. */
static void drop_pinned(const char *path, dev_t device, int depth, struct marks *marks)
{
	char below[PATH_MAX];
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	DIR *folder = marks->n && depth ? opendir(path) : NULL;
	struct dirent *entry;
	struct stat stat;

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || snprintf(below, sizeof(below), "%s/%s", path,
							entry->d_name) >= (int)sizeof(below))
			continue;
		if (!strcmp(entry->d_name, CONFIG)) {
			SCOPED_FD int fd = bpf_obj_get(below);

			if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length))
				marks_drop(marks, info.id);
		} else if (!lstat(below, &stat) && S_ISDIR(stat.st_mode) && stat.st_dev == device) {
			drop_pinned(below, device, depth - 1, marks);
		}
	}
	closedir(folder);
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}

/* Drops the marks that are pinned anywhere in the bpffs of a pin folder, which may not exist. */
static void drop_pinned_beside(const char *pin, struct marks *marks)
{
	char path[PATH_MAX], *slash;
	struct stat top;

	snprintf(path, sizeof(path), "%s", pin);
	if (!is_bpffs(path)) {
		slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
	while (is_bpffs(path) && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (is_bpffs(path))
			continue;
		*slash = '/';
		if (!stat(path, &top))
			drop_pinned(path, top.st_dev, DEPTH, marks);
		return;
	}
}

/* Drops the marks of programs that TCX links of the interface run. */
static void drop_linked_at(uint32_t ifindex, struct marks *marks)
{
	for (uint32_t type = ATTACH_TCX_INGRESS; type <= ATTACH_TCX_EGRESS; type++) {
		uint32_t programs[64];
		LIBBPF_OPTS(bpf_prog_query_opts, query, .prog_ids = programs,
			    .prog_cnt = ARRAY_SIZE(programs));

		if (bpf_prog_query_opts(ifindex, type, &query))
			continue;
		for (uint32_t i = 0; i < query.prog_cnt; i++)
			marks_drop(marks, mark_of(programs[i]));
	}
}

/* A link whose pin was removed a moment ago is still there: the kernel frees links later. */
#define LINK_TRIES 20
#define LINK_WAIT 10000 /* us */

/* Drops the marks of programs that TCX links run. */
static void drop_linked(const struct link *links, size_t n, struct marks *marks)
{
	struct marks alone = {};

	for (int i = 0; i < LINK_TRIES && alone.n < marks->n; i++) {
		if (i)
			usleep(LINK_WAIT);
		alone = *marks;
		for (size_t k = 0; k < n && alone.n; k++)
			drop_linked_at(links[k].ifindex, &alone);
	}
	*marks = alone;
}

/* Asks whether the interface has a program on the maps of @mark. */
static int look_at(struct node_handle *handle, const struct link *link, uint32_t mark,
		   struct orphan found[2], size_t *n)
{
	const uint32_t own = handle->mark;
	SCOPED_FREE struct filter *filters = NULL;
	struct attached attached = {};
	size_t n_filters = 0;
	bool ours = false;
	int error;

	*n = 0;
	handle->mark = mark;
	error = link->xdp ? xdp_read(handle, link->ifindex, &attached) : 0;
	if (!error)
		error = rtnl_filters(handle->rtnl, link->ifindex, &filters, &n_filters);
	for (size_t i = 0; !error && !ours && i < n_filters; i++)
		error = programs_is_ours(handle, filters[i].program, &ours);
	handle->mark = own;
	if (attached.xdp == NODE_XDP_NATIVE || attached.xdp == NODE_XDP_GENERIC)
		found[(*n)++] = (struct orphan){link->ifindex, mark, true};
	if (ours)
		found[(*n)++] = (struct orphan){link->ifindex, mark, false};
	return error == -ENODEV ? 0 : error;
}

static int find_at_links(struct node_handle *handle, const struct marks *marks,
			 const struct link *links, size_t n_links, struct orphan **orphans,
			 size_t *n)
{
	int error = 0;

	*orphans = calloc(2 * n_links * marks->n + 1, sizeof(**orphans));
	if (!*orphans)
		return -ENOMEM;
	for (size_t i = 0; !error && i < n_links * marks->n; i++) {
		size_t found;

		error = look_at(handle, &links[i / marks->n], marks->at[i % marks->n],
				*orphans + *n, &found);
		*n += found;
	}
	return error;
}

int orphans_find(struct node_handle *handle, struct orphan **orphans, size_t *n)
{
	SCOPED_FREE struct link *links = NULL;
	struct marks marks = {};
	size_t n_links = 0;
	int error = list_marks(handle, &marks);

	*orphans = NULL;
	*n = 0;
	if (!error && !marks.n)
		return 0;
	if (!error)
		error = rtnl_links(handle->rtnl, &links, &n_links);
	drop_pinned_beside(handle->pin, &marks);
	drop_pinned_beside(FIRST_BPFFS, &marks);
	if (!error)
		drop_linked(links, n_links, &marks);
	if (!error)
		error = find_at_links(handle, &marks, links, n_links, orphans, n);
	return error ? node_fail(handle, error, "cannot look for programs without pins") : 0;
}

int orphans_remove(struct node_handle *handle)
{
	SCOPED_FREE struct orphan *orphans = NULL;
	size_t n = 0;
	int error = orphans_find(handle, &orphans, &n);

	for (size_t i = 0; !error && i < n; i++) {
		char name[IF_NAMESIZE] = "?";

		error = attach_remove_orphan(handle, orphans[i].ifindex, orphans[i].mark);
		if (!error)
			diag_warn(handle->diag, NULL, NULL,
				  "%s had %s of Bulkhead whose pins were gone: it is removed",
				  if_indextoname(orphans[i].ifindex, name) ? name : "?",
				  orphans[i].xdp ? "an XDP program" : "a TC program");
	}
	return error;
}
