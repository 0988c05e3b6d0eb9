/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was attached, by network, container and interface: a file each, in a
 * folder that a reboot empties as it does the pin folder. Written before
 * anything is changed, and removed when nothing is left of it.
 */
#ifndef BULKHEAD_CNI_ATTACHMENT_H
#define BULKHEAD_CNI_ATTACHMENT_H

#include "cni/call.h"

struct attachment {
	char network[128], container[128], ifname[IF_NAMESIZE];
	char pod_ns[64], pod_name[256]; /* who the runtime says it is */
	char name[256]; /* in force, of that namespace; "": not yet */
	char uid[64]; /* "": not known */
	char host_name[IF_NAMESIZE];
	uint32_t ifindex; /* on the node */
	struct address *addresses;
	size_t n_addresses;
	enum cni_source source;
};

void attachment_free(struct attachment *attachment);

/* Return 0, -ENOENT: there is none, or another -errno. */
int attachment_read(const struct cni_call *call, struct attachment *attachment);
int attachment_write(const struct cni_call *call, const struct attachment *attachment);
int attachment_remove(const struct cni_call *call, const struct attachment *attachment);

/* Stops where @visit returns non-zero, and returns that; or -errno. No folder: nothing is attached.
 * What cannot be read is left out. */
int attachment_each(const char *state, int (*visit)(void *data, struct attachment *attachment),
		    void *data);

/*
 * Takes off what the interface still has in force, and forgets the attachment. What is not there
 * any more, or by now another's, is no error. The interface stays guarded, as nobody's, unless
 * @open. Returns 0 or a code, failed.
 */
int attachment_end(struct cni_call *call, const struct attachment *attachment, bool open);

#endif
