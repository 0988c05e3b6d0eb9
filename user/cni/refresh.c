// SPDX-License-Identifier: GPL-2.0-only
/* Names pods that were attached without a name, if a record or the active policy knows them by
 * now. */
#include <errno.h>

#include "cni/attachment.h"
#include "cni/identity.h"
#include "cni/left.h"
#include "node/kernel/handle.h"

struct refresh {
	const struct cni_refresh *options;
	struct cni_call call;
	struct node_handle *handle;
	uint32_t unknown, named;
	int error;
};

static int set(struct refresh *refresh, struct attachment *attachment,
	       const struct endpoint *endpoint)
{
	const struct node_endpoint_set change = {.ns = attachment->pod_ns,
						 .name = attachment->name,
						 .labels = &endpoint->labels,
						 .ports = endpoint->ports,
						 .n_ports = endpoint->n_ports};
	bool isolated;
	int error = node_endpoint_set(refresh->handle, &change, &isolated);

	if (error)
		return error;
	refresh->named++;
	refresh->call.network = attachment->network;
	refresh->call.container = attachment->container;
	refresh->call.ifname = attachment->ifname;
	return attachment_write(&refresh->call, attachment);
}

static bool is_wanted(const struct cni_refresh *options, const struct attachment *attachment)
{
	return (attachment->source == CNI_UNKNOWN || attachment->source == CNI_RESTING) &&
	       attachment->n_addresses &&
	       (!options->name || (!strcmp(attachment->pod_ns, options->ns) &&
				   !strcmp(attachment->pod_name, options->name)));
}

static int count(void *data, struct attachment *attachment)
{
	struct refresh *refresh = data;

	refresh->unknown += is_wanted(refresh->options, attachment);
	return 0;
}

static void tell_damaged(void *data, const char *path)
{
	struct refresh *refresh = data;

	diag_warn(&refresh->call.diag, NULL, NULL, ATTACHMENT_DAMAGED, path);
}

static int look(void *data, struct attachment *attachment)
{
	struct refresh *refresh = data;
	struct endpoint endpoint = {
		.ns_name = attachment->pod_ns,
		.name = attachment->name,
		.uid = *attachment->uid ? attachment->uid : NULL,
		.attachment = attachment->container,
		.unknown = true,
	};
	struct node_owner owner;
	struct cluster cluster;
	int error = 0;

	/* A record does not change a pod that a policy knows by now. */
	if (!is_wanted(refresh->options, attachment) ||
	    node_address_owner(refresh->handle, attachment->addresses, &owner) || !owner.added ||
	    left_rests(&refresh->call, attachment))
		return 0;
	cluster_init(&cluster);
	if (identity_find(&refresh->call, refresh->handle, &cluster, &endpoint,
			  &attachment->source))
		error = -EIO;
	else if (attachment->source == CNI_POLICY || attachment->source == CNI_RECORD)
		error = endpoint.as_policy ? 0 : set(refresh, attachment, &endpoint);
	cluster_free(&cluster);
	refresh->error = refresh->error ? refresh->error : error;
	return 0;
}

int cni_refresh(const struct cni_refresh *options, struct diag *diag, uint32_t *named)
{
	struct refresh refresh = {
		.options = options,
		.call = {.records = options->records ? options->records : CNI_RECORDS,
			 .state = options->state ? options->state : CNI_STATE,
			 .node.pin = options->pin,
			 .diag = *diag},
	};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int error = attachment_each(refresh.call.state, count, tell_damaged, &refresh);

	*named = 0;
	if (error)
		diag_error(diag, &(struct where){refresh.call.state, 0}, NULL, "cannot be read: %s",
			   strerror(-error));
	if (error || !refresh.unknown)
		return error;
	error = node_open(&refresh.call.node, false, diag, &handle);
	if (error || !node_is_loaded(handle))
		return error;
	refresh.handle = handle;
	error = attachment_each(refresh.call.state, look, NULL, &refresh);
	*named = refresh.named;
	return error ? error : refresh.error;
}
