// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cni/attachment.h"
#include "cni/counts.h"
#include "node/kernel/handle.h"

#define COUNTS_FILE ".counts"

/* Maps the file of counts. NULL: there is none, or none can be made. */
static struct cni_counts *map(const char *state, bool create)
{
	char path[PATH_MAX];
	SCOPED_FD int fd = -1;
	void *at;

	snprintf(path, sizeof(path), "%s/%s", state, COUNTS_FILE);
	fd = open(path, create ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	/* a store to a page that a full disk has no room for would kill the process */
	if (fd < 0 || (create && fallocate(fd, 0, 0, sizeof(struct cni_counts))))
		return NULL;
	if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct cni_counts))
		return NULL;
	at = mmap(NULL, sizeof(struct cni_counts), create ? PROT_READ | PROT_WRITE : PROT_READ,
		  MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void unmap(struct cni_counts **counts)
{
	if (*counts)
		munmap(*counts, sizeof(**counts));
}

void counts_add(const struct cni_call *call, uint64_t microseconds)
{
	CLEANUP(unmap) struct cni_counts *counts = NULL;

	if (!call->state || call->command >= CNI_COMMANDS)
		return;
	counts = map(call->state, true);
	if (!counts)
		return;
	__atomic_fetch_add(call->code ? &counts->calls[call->command].failed
				      : &counts->calls[call->command].done,
			   1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts->calls[call->command].microseconds, microseconds,
			   __ATOMIC_RELAXED);
	histogram_add(&counts->took[call->command], microseconds);
}

static int count_one(void *counts, struct attachment *attachment)
{
	((struct cni_counts *)counts)->attached[attachment->source]++;
	return 0;
}

bool cni_count(const char *state, struct cni_counts *counts)
{
	const char *folder = state ? state : CNI_STATE;
	CLEANUP(unmap) struct cni_counts *there = map(folder, false);

	if (!there)
		return false;
	*counts = *there;
	memset(counts->attached, 0, sizeof(counts->attached));
	attachment_each(folder, count_one, NULL, counts);
	return true;
}
