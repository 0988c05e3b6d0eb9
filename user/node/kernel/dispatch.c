// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <xdp/libxdp.h>

#include "node/kernel/dispatch.h"
#include "node/kernel/programs.h"

#define DISPATCHERS "/sys/fs/bpf/xdp"
#define FOLDER_MAX (sizeof(DISPATCHERS "/") + NAME_MAX)
#define PIN_MAX (FOLDER_MAX + sizeof("/") + NAME_MAX)

/* A link by which libxdp tests whether the kernel has links. libxdp pins and unpins the link under
 * its lock. So a command that has the lock and finds such a link knows that a killed command left
 * it. */
#define TRIAL "prog-test-link-%*u-%*u%n"

static void folder_close(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

#define SCOPED_FOLDER CLEANUP(folder_close)

static struct dirent *next_entry(DIR *folder)
{
	struct dirent *entry;

	do {
		entry = readdir(folder);
	} while (entry && entry->d_name[0] == '.');
	return entry;
}

bool dispatch_is_pinned(uint32_t ifindex, uint32_t dispatcher)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DISPATCHERS "/dispatch-%u-%u", ifindex, dispatcher);
	return !access(path, F_OK);
}

/* Returns the ID of the interface's dispatcher whose pins are in the folder of this name; 0: the
 * folder is no dispatcher's of this interface. */
static uint32_t dispatcher_of(const char *folder, uint32_t ifindex)
{
	uint32_t of, dispatcher;
	int end = 0;

	if (sscanf(folder, "dispatch-%u-%u%n", &of, &dispatcher, &end) != 2 || folder[end])
		return 0;
	return of == ifindex ? dispatcher : 0;
}

static bool is_trial(const char *name)
{
	int end = 0;

	sscanf(name, TRIAL, &end);
	return end && !name[end];
}

static bool is_attached(uint32_t ifindex, uint32_t program)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	/* if the kernel does not say, the program may be attached */
	return bpf_xdp_query(ifindex, 0, &query) || program == query.prog_id ||
	       program == query.drv_prog_id || program == query.skb_prog_id ||
	       program == query.hw_prog_id;
}

bool dispatch_may_remain(uint32_t ifindex)
{
	SCOPED_FOLDER DIR *all = opendir(DISPATCHERS);
	struct dirent *entry;

	while (all && (entry = next_entry(all))) {
		const uint32_t dispatcher = dispatcher_of(entry->d_name, ifindex);

		if (is_trial(entry->d_name) || (dispatcher && !is_attached(ifindex, dispatcher)))
			return true;
	}
	return false;
}

/* Returns the ID of the pinned program, or of the pinned link's program; 0: unknown. */
static uint32_t pinned_program(const char *path)
{
	struct bpf_prog_info program = {};
	struct bpf_link_info link = {};
	SCOPED_FD int fd = bpf_obj_get(path);
	const char *kind = strrchr(path, '-');
	const bool is_link = kind && !strcmp(kind, "-link");
	uint32_t length = is_link ? sizeof(link) : sizeof(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, is_link ? (void *)&link : &program, &length))
		return 0;
	return is_link ? link.prog_id : program.id;
}

static bool runs(const struct xdp_multiprog *running, uint32_t id)
{
	struct xdp_program *program = NULL;

	while (running && (program = xdp_multiprog__next_prog(program, running)))
		if (xdp_program__id(program) == id)
			return true;
	return false;
}

/* Returns true if no other process needs the pins of a dispatcher that runs on no interface. */
static bool is_left(struct node_handle *handle, const char *path,
		    const struct xdp_multiprog *running)
{
	SCOPED_FOLDER DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = next_entry(folder))) {
		char pin[PIN_MAX];
		uint32_t program;
		bool ours;

		snprintf(pin, sizeof(pin), "%s/%s", path, entry->d_name);
		program = pinned_program(pin);
		if (!program || programs_is_ours(handle, program, &ours) ||
		    (!ours && !runs(running, program)))
			return false;
	}
	return folder;
}

static void remove_folder(const char *path)
{
	SCOPED_FOLDER DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = next_entry(folder))) {
		char pin[PIN_MAX];

		snprintf(pin, sizeof(pin), "%s/%s", path, entry->d_name);
		unlink(pin);
	}
	rmdir(path);
}

void dispatch_tidy(struct node_handle *handle, uint32_t ifindex,
		   const struct xdp_multiprog *running)
{
	SCOPED_FOLDER DIR *all = opendir(DISPATCHERS);
	struct dirent *entry;

	/* libxdp holds this lock, too, while it pins and unpins. */
	if (!all || flock(dirfd(all), LOCK_EX))
		return;
	while ((entry = next_entry(all))) {
		const uint32_t dispatcher = dispatcher_of(entry->d_name, ifindex);
		char path[FOLDER_MAX];

		snprintf(path, sizeof(path), DISPATCHERS "/%s", entry->d_name);
		if (is_trial(entry->d_name))
			unlink(path);
		else if (dispatcher && !is_attached(ifindex, dispatcher) &&
			 is_left(handle, path, running))
			remove_folder(path);
	}
}
