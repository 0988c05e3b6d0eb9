/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses that have left a pod of this node, one file for each address and pod, in the folder
 * RECORDS/left. A follower makes this folder and removes the files; without the folder, nothing is
 * noted. DEL notes an address, and so does ADD if the active policy gives the address to another
 * pod. While a file says "rests", other nodes may still evaluate the address by that pod: ADD
 * isolates the next pod that gets the address.
 */
#ifndef BULKHEAD_CNI_LEFT_H
#define BULKHEAD_CNI_LEFT_H

#include "cni/attachment.h"

#define LEFT_FOLDER "left"

struct left_address {
	struct address address;
	char ns[64], name[256], uid[64]; /* the former pod; uid "": unknown */
	bool rests;
	bool damaged; /* only the address and the UID are known, by the file's name */
};

/* Returns the folder's path, to free; NULL: no memory. */
char *left_folder(const char *records);

/* Writes or replaces a file. Returns 0, -ENOENT: there is no folder; or another -errno. */
int left_put(const char *records, const struct left_address *left);
void left_remove(const char *records, const struct left_address *left);

/* Calls @visit for each file. Warns of a file that is damaged; it is skipped if its name tells no
 * address. */
void left_each(const char *records, struct diag *diag,
	       void (*visit)(void *data, const struct left_address *left), void *data);

/* Notes that the attachment's addresses have left its pod. Returns 0 or a code, failed. */
int left_note(struct cni_call *call, const struct attachment *attachment);

/* Notes the addresses of @attachment that the active policy gives to another pod. Returns 0 or a
 * code, failed. */
int left_note_reused(struct cni_call *call, struct node_handle *handle,
		     const struct attachment *attachment);

/* Forgets that addresses of the attachment have left its own pod. */
void left_forget(const struct cni_call *call, const struct attachment *attachment);

/* Returns true if an address of the attachment rests after another pod. */
bool left_rests(struct cni_call *call, const struct attachment *attachment);

/* Returns 1 if the active policy gives the address to the pod, else 0; or -errno, reported. */
int left_is_in_policy(struct node_handle *handle, const struct left_address *left);

#endif
