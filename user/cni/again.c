// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "cni/add.h"
#include "node/kernel/handle.h"

struct again {
	const struct cni_refresh *options;
	struct diag *diag;
	struct node_handle *handle; /* NULL: the attachments are counted */
	uint32_t n;
	int error;
};

/* Returns true if the interface is still the pod's. */
static bool is_there(const struct attachment *attachment)
{
	char name[IF_NAMESIZE];

	return if_indextoname(attachment->ifindex, name) && !strcmp(name, attachment->host_name);
}

/* Returns true if the pod is to be active: its ADD has come so far, and no DEL waits. */
static bool is_wanted(const struct attachment *attachment)
{
	return *attachment->name && !attachment->going && attachment->n_addresses;
}

static bool is_active(struct node_handle *handle, const struct attachment *attachment)
{
	struct node_owner owner;

	for (size_t i = 0; i < attachment->n_addresses; i++)
		if (!node_address_owner(handle, &attachment->addresses[i], &owner) &&
		    owner.ifindex == attachment->ifindex && attachment_is_owner(attachment, &owner))
			return true;
	return false;
}

/* Closes the interface as a failed ADD, and DEL, leave it. */
static int close_interface(struct again *again, uint32_t ifindex)
{
	bool guarded;
	int error = node_is_guarded(again->handle, ifindex, &guarded);

	return error || guarded ? error : node_quarantine(again->handle, ifindex);
}

static int put(struct again *again, struct attachment *attachment)
{
	const struct cni_refresh *options = again->options;
	struct cni_call call = {
		.records = options->records ? options->records : CNI_RECORDS,
		.state = options->state ? options->state : CNI_STATE,
		.network = attachment->network,
		.container = attachment->container,
		.ifname = attachment->ifname,
		.admit = attachment->source == CNI_ADMITTED,
		.diag = *again->diag,
	};

	if (!add_again(&call, again->handle, attachment)) {
		again->n++;
		return 0;
	}
	diag_error(again->diag, NULL, NULL, "%s/%s is not active again, and %s stays closed: %s",
		   attachment->pod_ns, attachment->pod_name, attachment->host_name, call.message);
	return -EIO;
}

/* Goes on past errors. */
static int visit(void *data, struct attachment *attachment)
{
	struct again *again = data;
	int error = 0;

	if (!is_there(attachment))
		return 0;
	if (!again->handle)
		again->n++;
	else if (!is_wanted(attachment))
		error = close_interface(again, attachment->ifindex);
	else if (!is_active(again->handle, attachment))
		error = put(again, attachment);
	again->error = again->error ? again->error : error;
	return 0;
}

static void tell(struct diag *diag, uint32_t *n, uint32_t done)
{
	if (n)
		*n = done;
	else if (done)
		diag_note(diag, NULL, NULL, "%u pods of the CNI plugin are active again", done);
}

int cni_again(const struct cni_refresh *options, struct diag *diag, uint32_t *n)
{
	const struct node_options node = {.pin = options->pin, .quarantine = true};
	const char *state = options->state ? options->state : CNI_STATE;
	struct again again = {.options = options, .diag = diag};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int error = attachment_each(state, visit, NULL, &again);

	if (n)
		*n = 0;
	if (error)
		diag_error(diag, &(struct where){state, 0}, NULL, "cannot be read: %s",
			   strerror(-error));
	if (error || !again.n)
		return error;
	again.n = 0;
	error = node_open(&node, false, diag, &handle);
	if (error || !node_is_loaded(handle))
		return error;
	again.handle = handle;
	error = attachment_each(state, visit, NULL, &again);
	tell(diag, n, again.n);
	return error ? error : again.error;
}

struct attached_list {
	struct node_attached *at;
	size_t n;
};

static int list(void *data, struct attachment *attachment)
{
	struct attached_list *attached = data;
	const size_t n = attached->n + attachment->n_addresses;
	void *at = is_there(attachment) && is_wanted(attachment)
			   ? reallocarray(attached->at, n, sizeof(*attached->at))
			   : NULL;

	if (!at)
		return 0;
	attached->at = at;
	for (size_t i = 0; i < attachment->n_addresses; i++) {
		struct node_attached *one = &attached->at[attached->n++];

		*one = (struct node_attached){.address = attachment->addresses[i],
					      .ifindex = attachment->ifindex};
		memcpy(one->mac, attachment->mac, sizeof(one->mac));
	}
	return 0;
}

struct node_attached *cni_attached(const char *state, size_t *n)
{
	struct attached_list attached = {};

	attachment_each(state ? state : CNI_STATE, list, NULL, &attached);
	*n = attached.n;
	return attached.at;
}

struct wanted_pod {
	const char *ns, *name;
};

static int is_pod(void *data, struct attachment *attachment)
{
	const struct wanted_pod *pod = data;

	return !strcmp(attachment->pod_ns, pod->ns) && !strcmp(attachment->pod_name, pod->name);
}

bool cni_has_attached(const char *state, const char *ns, const char *name)
{
	struct wanted_pod pod = {ns, name};

	return attachment_each(state ? state : CNI_STATE, is_pod, NULL, &pod) > 0;
}
