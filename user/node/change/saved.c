// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "policy/blob_file.h"
#include "input/text.h"
#include "node/change/saved.h"
#include "node/kernel/handle.h"

#define MAGIC "bulkhead-load 1 "
#define NEW_FILE SAVED_FILE ".new"

/* Bytes of the first line: MAGIC, 32 digits, a newline. */
#define FIRST_LINE (sizeof(MAGIC) - 1 + 32 + 1)

const char *saved_dir(const char *pin, const char *state)
{
	return state ? state : !pin || !strcmp(pin, NODE_PIN) ? SAVED_DIR : NULL;
}

static void first_line(char line[FIRST_LINE + 1], XXH128_hash_t sum)
{
	snprintf(line, FIRST_LINE + 1, MAGIC "%016llx%016llx\n", (unsigned long long)sum.high64,
		 (unsigned long long)sum.low64);
}

/* Sets the option that the line names. Returns false if the line names no option. */
static bool set_option(struct saved *kept, char *line, size_t *n_settings, size_t n_lines)
{
	struct node_options *options = &kept->options;
	char *value = strchr(line, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(line, "node"))
		options->name = value;
	else if (!strcmp(line, "uplink"))
		kept->strings[options->n_uplinks++] = value;
	else if (!strcmp(line, "resolver"))
		kept->strings[2 * n_lines + options->n_resolvers++] = value;
	else if (!strcmp(line, "set"))
		kept->strings[n_lines + (*n_settings)++] = value;
	else if (!strcmp(line, "peers"))
		; /* an older command's: the maps have all that the policy has */
	else if (!strcmp(line, "audit"))
		options->audit = !strcmp(value, "yes");
	else
		return false;
	return true;
}

/* Reads the options up to the empty line. Returns 0, -ENOMEM or -EINVAL. */
static int read_options(struct saved *kept)
{
	char *at = kept->text + FIRST_LINE, *end = memmem(at, kept->size - FIRST_LINE, "\n\n", 2);
	size_t n_lines = 1, n_settings = 0;
	char *line, *rest;

	if (!end)
		return -EINVAL;
	*end = '\0';
	kept->blob = end + 2 - kept->text;
	for (const char *c = at; *c; c++)
		n_lines += *c == '\n';
	kept->strings = calloc(n_lines, 3 * sizeof(*kept->strings));
	if (!kept->strings)
		return -ENOMEM;
	for (line = strtok_r(at, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!set_option(kept, line, &n_settings, n_lines))
			return -EINVAL;
	kept->options.uplinks = kept->strings;
	kept->options.settings = kept->strings + n_lines;
	kept->options.n_settings = n_settings;
	kept->options.resolvers = kept->strings + 2 * n_lines;
	return 0;
}

static int check_file(struct saved *kept, struct diag *diag)
{
	const struct where where = {kept->path, 0};
	char line[FIRST_LINE + 1];
	int error;

	if (kept->size < FIRST_LINE || memcmp(kept->text, MAGIC, strlen(MAGIC))) {
		diag_error(diag, &where, NULL,
			   "was not written by a load of this version: load the policy again");
		return -EINVAL;
	}
	first_line(line, XXH3_128bits(kept->text + FIRST_LINE, kept->size - FIRST_LINE));
	if (memcmp(kept->text, line, FIRST_LINE)) {
		diag_error(diag, &where, NULL,
			   "is damaged, its checksum does not match: load the policy again");
		return -EINVAL;
	}
	error = read_options(kept);
	if (error == -EINVAL)
		diag_error(diag, &where, NULL,
			   "has an option that this version does not know: load the policy again");
	return error;
}

int saved_read(const char *dir, struct diag *diag, struct saved *kept)
{
	SCOPED_FD int fd = -1;
	int error;

	*kept = (struct saved){};
	if (snprintf(kept->path, sizeof(kept->path), "%s/%s", dir, SAVED_FILE) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(kept->path, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? -errno : text_load(fd, TEXT_MAX, &kept->text, &kept->size);
	if (error == -ENOENT)
		return error;
	if (error) {
		diag_error(diag, &(struct where){kept->path, 0}, NULL, "%s", strerror(-error));
		return error;
	}
	return check_file(kept, diag);
}

void saved_free(struct saved *kept)
{
	free(kept->text);
	free(kept->strings);
}

/* refuses a newline in a value, which would begin another option */
static int put_options(const struct node_options *options, char **text, size_t *size)
{
	FILE *to = open_memstream(text, size);
	size_t lines = 3;

	if (!to)
		return -errno;
	fprintf(to, "node=%s\n", options->name);
	for (size_t i = 0; i < options->n_uplinks; i++, lines++)
		fprintf(to, "uplink=%s\n", options->uplinks[i]);
	for (size_t i = 0; i < options->n_resolvers; i++, lines++)
		fprintf(to, "resolver=%s\n", options->resolvers[i]);
	for (size_t i = 0; i < options->n_settings; i++, lines++)
		fprintf(to, "set=%s\n", options->settings[i]);
	fprintf(to, "audit=%s\n\n", options->audit ? "yes" : "no");
	if (fclose(to))
		return -ENOMEM;
	for (const char *c = *text; *c; c++)
		lines -= *c == '\n';
	return lines ? -EINVAL : 0;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	for (ssize_t n; size; size -= n, bytes = (const char *)bytes + n) {
		n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return -errno;
	}
	return 0;
}

int saved_replace(int dir, const char *name, const struct iovec *parts, size_t n)
{
	SCOPED_FD int fd =
		openat(dir, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = fd < 0 ? -errno : 0;

	for (size_t i = 0; !error && i < n; i++)
		error = write_all(fd, parts[i].iov_base, parts[i].iov_len);
	if (!error && (fsync(fd) || renameat(dir, NEW_FILE, dir, name) || fsync(dir)))
		error = -errno;
	if (error && fd >= 0)
		unlinkat(dir, NEW_FILE, 0);
	return error;
}

static bool is_saved(int dir, const struct iovec *parts, size_t n)
{
	SCOPED_FD int fd = openat(dir, SAVED_FILE, O_RDONLY | O_CLOEXEC);
	SCOPED_FREE char *text = NULL;
	char line[FIRST_LINE];
	size_t size, at = 0;

	/* the first line has the checksum: reads all of the file only to see that it is not damaged
	 */
	if (fd < 0 || pread(fd, line, FIRST_LINE, 0) != FIRST_LINE ||
	    memcmp(line, parts[0].iov_base, FIRST_LINE) || text_load(fd, TEXT_MAX, &text, &size))
		return false;
	for (size_t i = 0; i < n; at += parts[i++].iov_len)
		if (size - at < parts[i].iov_len ||
		    memcmp(text + at, parts[i].iov_base, parts[i].iov_len))
			return false;
	return at == size;
}

int saved_open_dir(const char *path)
{
	SCOPED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		return -errno;
	return TAKE_FD(fd);
}

/* Returns 0 or -errno, not reported. */
static int save(const char *dir, const struct node_options *options, struct policy policy)
{
	SCOPED_FREE char *text = NULL;
	SCOPED_FREE void *bytes = NULL;
	SCOPED_FD int fd = -1;
	char line[FIRST_LINE + 1];
	XXH3_state_t sum;
	struct iovec parts[3] = {{line, FIRST_LINE}};
	int error = put_options(options, &text, &parts[1].iov_len);

	if (!error)
		error = blob_write(&policy, &bytes, &parts[2].iov_len);
	if (error)
		return error;
	parts[1].iov_base = text;
	parts[2].iov_base = bytes;
	XXH3_128bits_reset(&sum);
	for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
		XXH3_128bits_update(&sum, parts[i].iov_base, parts[i].iov_len);
	first_line(line, XXH3_128bits_digest(&sum));
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	fd = saved_open_dir(dir);
	if (fd < 0)
		return fd;
	if (!is_saved(fd, parts, ARRAY_SIZE(parts)))
		error = saved_replace(fd, SAVED_FILE, parts, ARRAY_SIZE(parts));
	/* the kept delta belongs to the policy that was kept before */
	if (!error && unlinkat(fd, SAVED_DELTA, 0) && errno != ENOENT)
		error = -errno;
	return error;
}

/* Returns the settings of the first load: later loads leave them active. */
static const char **all_settings(const struct node_options *last, const struct node_options *first,
				 size_t *n)
{
	const char **all = calloc(first->n_settings + last->n_settings + 1, sizeof(*all));

	*n = first->n_settings;
	for (size_t i = 0; all && i < first->n_settings; i++)
		all[i] = first->settings[i];
	for (size_t i = 0; all && i < last->n_settings; i++) {
		size_t j = 0;

		while (j < *n && strcmp(all[j], last->settings[i]))
			j++;
		all[j] = last->settings[i];
		*n += j == *n;
	}
	return all;
}

int saved_save(const char *dir, const struct node_options *options,
	       const struct node_change *change, const struct policy *policy, struct diag *diag)
{
	struct node_options now = *options;
	struct diag silent = {};
	CLEANUP(saved_free) struct saved before = {};
	int error;

	if (!dir)
		return 0;
	if (!change->first && saved_read(dir, &silent, &before))
		before.options.n_settings = 0;
	now.name = change->node;
	now.settings = all_settings(options, &before.options, &now.n_settings);
	error = now.settings ? save(dir, &now, *policy) : -ENOMEM;
	free((void *)now.settings);
	if (error)
		diag_warn(diag, NULL, NULL,
			  "the policy is active, but cannot be kept in %s (%s): the node would "
			  "start with the policy that was kept before",
			  dir, strerror(-error));
	return error;
}

void saved_look(const char *dir, struct saved_mark *mark)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, SAVED_FILE);
	mark->there = !stat(path, &mark->file);
}

int saved_remove(const char *dir, const struct saved_mark *mark)
{
	SCOPED_FD int fd = mark->there ? saved_open_dir(dir) : -1;
	struct stat now;

	if (!mark->there || fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fstatat(fd, SAVED_FILE, &now, 0))
		return errno == ENOENT ? 0 : -errno;
	if (now.st_ino != mark->file.st_ino || now.st_mtim.tv_sec != mark->file.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != mark->file.st_mtim.tv_nsec)
		return 0;
	/* a delta is useless without its base */
	unlinkat(fd, SAVED_DELTA, 0);
	return unlinkat(fd, SAVED_FILE, 0) ? -errno : 0;
}
