// SPDX-License-Identifier: GPL-2.0-only
/* DEL and GC. It is no error if an attachment, endpoint or interface is gone already. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cni/attachment.h"
#include "cni/left.h"
#include "node/kernel/handle.h"

#define VALID "cni.dev/valid-attachments"

int cni_del(struct cni_call *call)
{
	CLEANUP(attachment_free) struct attachment attachment = {};
	int error = attachment_read(call, &attachment);

	if (error == -ENOENT) {
		snprintf(call->about, sizeof(call->about), "nothing is attached");
		return 0;
	}
	if (error)
		return call->code;
	snprintf(call->about, sizeof(call->about), "%s/%s", attachment.pod_ns,
		 *attachment.name ? attachment.name : attachment.pod_name);
	return attachment_end_batch(call, &attachment);
}

struct cni_collection {
	struct cni_call *call;
	struct json_object *valid;
	size_t gone, failed;
	int code; /* code of the first removal that failed */
};

static bool is_valid(const struct cni_collection *collection, const struct attachment *attachment)
{
	for (size_t i = 0; i < json_object_array_length(collection->valid); i++) {
		struct json_object *one = json_object_array_get_idx(collection->valid, i);
		const char *container = cni_text(one, "containerID");
		const char *ifname = cni_text(one, "ifname");

		if (container && ifname && !strcmp(container, attachment->container) &&
		    !strcmp(ifname, attachment->ifname))
			return true;
	}
	return false;
}

/* Counts an attachment for which the call has failed, and lets the call go on. */
static void count_failed(struct cni_collection *collection)
{
	struct cni_call *call = collection->call;

	collection->failed++;
	collection->code = TAKE(call->code, 0);
	diag_warn(&call->diag, NULL, NULL, "%s", call->message);
}

static int collect(void *data, struct attachment *attachment)
{
	struct cni_collection *collection = data;
	struct cni_call *call = collection->call;

	if (strcmp(attachment->network, call->network) || is_valid(collection, attachment))
		return 0;
	if (left_note(call, attachment) || attachment_end(call, attachment))
		count_failed(collection);
	else
		collection->gone++;
	return 0;
}

/* Tells a damaged record of the network, by the names that its file has. */
static void tell_damaged(void *data, const char *path)
{
	struct cni_collection *collection = data;
	struct cni_call *call = collection->call;
	const char *file = path + strlen(call->state) + 1;
	struct attachment attachment;

	if (sscanf(file, "%127[^:]:%127[^:]:%15s", attachment.network, attachment.container,
		   attachment.ifname) != 3 ||
	    strcmp(attachment.network, call->network) || is_valid(collection, &attachment))
		return;
	attachment_fail(call, path);
	count_failed(collection);
}

int cni_gc(struct cni_call *call)
{
	struct cni_collection collection = {
		.call = call, .valid = cni_member(call->config, VALID, json_type_array)};
	int error;

	if (!collection.valid)
		return cni_fail(call, CNI_ERROR_CONFIG, VALID " is missing, or no list");
	error = attachment_each(call->state, collect, tell_damaged, &collection);
	snprintf(call->about, sizeof(call->about), "%zu attachments collected", collection.gone);
	if (error)
		return cni_fail(call, CNI_ERROR_IO, "cannot read %s: %s", call->state,
				strerror(-error));
	return collection.failed
		       ? cni_fail(call, collection.code, "%zu attachments could not be collected",
				  collection.failed)
		       : 0;
}
