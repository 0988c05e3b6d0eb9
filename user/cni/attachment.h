/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of attached interfaces, one file for each network, container and interface, in a folder
 * that a reboot empties, as it empties the pin folder. A record is written before ADD changes
 * anything, and removed when nothing is left to undo.
 */
#ifndef BULKHEAD_CNI_ATTACHMENT_H
#define BULKHEAD_CNI_ATTACHMENT_H

#include "cni/invocation.h"

struct attachment {
	char network[128], container[128], ifname[IF_NAMESIZE];
	char pod_ns[64], pod_name[256]; /* who the pod is, as the runtime says */
	char name[256]; /* active name, in `pod_ns`; "": none is chosen yet */
	char uid[64]; /* "": unknown */
	char host_name[IF_NAMESIZE];
	uint32_t ifindex; /* interface on the node */
	uint8_t mac[6]; /* the pod's; 0: unknown, an older command wrote the record */
	struct address *addresses;
	size_t n_addresses;
	enum cni_source source;
	bool going; /* a DEL of this attachment waits for the lock of the pin folder */
};

void attachment_free(struct attachment *attachment);

/* Returns 0; -ENOENT, not reported, if there is no record; or another -errno, reported. */
int attachment_read(struct cni_call *call, struct attachment *attachment);
int attachment_write(const struct cni_call *call, const struct attachment *attachment);

/* Calls @visit for each record, and @damaged with the file's path for each one that is damaged;
 * NULL: skips these. Stops if @visit returns non-zero, and returns that; or -errno. Without the
 * folder nothing is attached. */
int attachment_each(const char *state, int (*visit)(void *data, struct attachment *attachment),
		    void (*damaged)(void *data, const char *path), void *data);

/* What a damaged record means. Format of its path. */
#define ATTACHMENT_DAMAGED \
	"%s is damaged: the pod stays guarded; remove the file once its interface is gone"

/* Fails the call, since the record in the file @path is damaged. Returns the code. */
int attachment_fail(struct cni_call *call, const char *path);

/* Returns true if the owner of an address is the attachment's endpoint. A load may have given the
 * endpoint the name that the policy has for it. */
bool attachment_is_owner(const struct attachment *attachment, const struct node_owner *owner);

/*
 * Removes the interface's endpoint, with its connections, and the record. An endpoint or interface
 * that is gone, or belongs to another pod by now, is no error. As long as the interface exists it
 * stays guarded, without an endpoint. Returns 0 or a code, failed.
 */
int attachment_end(struct cni_call *call, const struct attachment *attachment);

/* As attachment_end(), for a DEL. The DEL that gets the lock first also removes the attachments
 * that other DELs wait to remove, since a change waits two grace periods whatever its size. */
int attachment_end_batch(struct cni_call *call, struct attachment *attachment);

#endif
