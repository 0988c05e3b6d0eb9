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
#ifndef BULKHEAD_NODE_KEPT_H
#define BULKHEAD_NODE_KEPT_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "node/node.h"

#define KEPT_DIR "/var/lib/bulkhead"
#define KEPT_FILE "policy"

/* Returns @state, the user's option, or the default folder. NULL: loads of this pin folder are
 * not kept. */
const char *kept_dir(const char *pin, const char *state);

struct kept {
	struct node_options options; /* name, uplinks, resolvers, settings, audit */
	char *text; /* holds the options' strings and the blob */
	size_t size;
	size_t blob; /* offset of the blob in `text` */
	const char **strings;
	char path[PATH_MAX];
};

/* Returns 0; -ENOENT, not reported, where nothing is kept; or another -errno, reported: -EINVAL
 * where the file is damaged. Free @kept in any case. */
int kept_read(const char *dir, struct diag *diag, struct kept *kept);
void kept_free(struct kept *kept);

/* Returns 0 and a policy to free, or -errno, reported. */
int kept_policy(const struct kept *kept, struct diag *diag, struct policy **policy);

/*
 * Keeps the options and the policy of a node_load() in one step. Does not write the file again
 * if it has the same content. Makes the folder. A failure is a warning: the policy is in force,
 * and the file keeps the load before. @dir NULL: keeps nothing.
 */
void kept_save(const char *dir, const struct node_options *options,
	       const struct node_change *change, const struct policy *policy, struct diag *diag);

/*
 * Keeps the policy that node_load_delta() has put in force: as a delta
 * (KEPT_DELTA) beside the whole policy that is kept, while the delta is small;
 * else as a whole, read from the pins under @pin.
 */
#define KEPT_DELTA "policy.delta"
struct delta;
void kept_save_delta(const char *dir, const char *pin, const struct node_options *options,
		     const struct node_change *change, const struct delta *delta,
		     struct diag *diag);

/* kept_open_dir() opens a folder and locks it. kept_replace() replaces a file of the folder in one
 * step: a machine that stops meanwhile has the old file or the new one. Both return -errno, not
 * reported, where they fail. */
int kept_open_dir(const char *path);
int kept_replace(int dir, const char *name, const struct iovec *parts, size_t n);

/* kept_look() notes which load is kept. kept_remove() removes that load, unless another load has
 * been kept since; it returns 0, also where no load is kept, or -errno, not reported. */
struct kept_mark {
	struct stat file;
	bool there;
};
void kept_look(const char *dir, struct kept_mark *mark);
int kept_remove(const char *dir, const struct kept_mark *mark);

#endif
