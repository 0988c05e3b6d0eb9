/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last load, kept on disk for the node's next start: one file with the options that the next
 * start needs and the compiled policy.
 *
 *     bulkhead-load 1 CHECKSUM    XXH3 (128 bits, hexadecimal) of all that follows this line
 *     node=NAME
 *     uplink=IFACE                a line each
 *     set=NAME=NUMBER             a line each
 *     audit=yes|no
 *                                 an empty line, and the blob
 */
#ifndef BULKHEAD_NODE_SAVED_H
#define BULKHEAD_NODE_SAVED_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "node/node.h"

#define SAVED_DIR "/var/lib/bulkhead"
#define SAVED_FILE "policy"

/* Returns @state, the user's option, or the default folder. NULL: loads of this pin folder are
 * not kept. */
const char *saved_dir(const char *pin, const char *state);

struct saved {
	struct node_options options; /* name, uplinks, resolvers, settings, audit */
	char *text; /* holds the options' strings and the blob */
	size_t size;
	size_t blob; /* offset of the blob in `text` */
	const char **strings;
	char path[PATH_MAX];
};

/* Returns 0; -ENOENT, not reported, if nothing is kept; or another -errno, reported: -EINVAL if
 * the file is damaged. Free @kept in any case. */
int saved_read(const char *dir, struct diag *diag, struct saved *kept);
void saved_free(struct saved *kept);

/* Returns 0 and a policy to free, or -errno, reported. */
int saved_policy(const struct saved *kept, struct diag *diag, struct policy **policy);

/*
 * Keeps the options and the policy of a node_load() in one step. Does not write the file again if
 * it has the same content. Makes the folder. A failure is a warning: the policy is active, and the
 * file keeps the load before. Returns 0 or that -errno. @dir NULL: keeps nothing.
 */
int saved_save(const char *dir, const struct node_options *options,
	       const struct node_change *change, const struct policy *policy, struct diag *diag);

/*
 * Keeps the policy that node_load_delta() has activated: as a delta (SAVED_DELTA) beside the whole
 * policy that is kept, while the delta is small; else as a whole: @whole, or read from the pins
 * under
 * @pin if @whole is NULL. Returns as saved_save().
 */
#define SAVED_DELTA "policy.delta"
struct delta;
int saved_save_delta(const char *dir, const char *pin, const struct node_options *options,
		     const struct node_change *change, const struct delta *delta,
		     const struct policy *whole, struct diag *diag);

/* saved_open_dir() opens a folder and locks it. saved_replace() replaces a file of the folder in
 * one step: a machine that stops meanwhile has the old file or the new one. Both return -errno, not
 * reported, if they fail. */
int saved_open_dir(const char *path);
int saved_replace(int dir, const char *name, const struct iovec *parts, size_t n);

/* saved_look() notes which load is kept. saved_remove() removes that load, unless another load has
 * been kept since; it returns 0, also if no load is kept, or -errno, not reported. */
struct saved_mark {
	struct stat file;
	bool there;
};
void saved_look(const char *dir, struct saved_mark *mark);
int saved_remove(const char *dir, const struct saved_mark *mark);

#endif
