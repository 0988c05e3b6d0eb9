// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cni/add.h"
#include "cni/attachment.h"
#include "cni/device.h"
#include "cni/identity.h"
#include "cni/left.h"
#include "node/kernel/handle.h"

/* A pod that ADD brings into the policy. */
struct arrival {
	struct attachment attachment;
	struct device device;
	struct cluster cluster; /* holds the endpoint */
	struct endpoint endpoint;
	bool guarded; /* guarded before the lock was taken */
	bool isolated; /* fits no segment */
	uint64_t writes; /* map writes, for the log */
};

static void arrival_end(struct arrival *arrival)
{
	cluster_free(&arrival->cluster);
	attachment_free(&arrival->attachment);
}

/* Removes the leftovers of an earlier call. */
static int end_former(struct cni_call *call)
{
	CLEANUP(attachment_free) struct attachment former = {};
	int error = attachment_read(call, &former);

	if (error == -ENOENT)
		return 0;
	return error ? call->code : attachment_end(call, &former);
}

static int read_arrival(struct cni_call *call, struct arrival *arrival)
{
	struct attachment *attachment = &arrival->attachment;
	int code;

	if (!call->prev)
		return cni_fail(call, CNI_ERROR_CONFIG,
				"prevResult is missing: the plugin comes behind the one that makes "
				"the interface");
	code = identity_read_pod(call, attachment);
	if (!code)
		code = device_find(call, &arrival->device);
	if (!code)
		code = device_addresses(call, &attachment->addresses, &attachment->n_addresses);
	snprintf(attachment->network, sizeof(attachment->network), "%s", call->network);
	snprintf(attachment->container, sizeof(attachment->container), "%s", call->container);
	snprintf(attachment->ifname, sizeof(attachment->ifname), "%s", call->ifname);
	strcpy(attachment->host_name, arrival->device.name);
	attachment->ifindex = arrival->device.ifindex;
	memcpy(attachment->mac, arrival->device.mac, sizeof(attachment->mac));
	if (!code && (strcmp(attachment->network, call->network) ||
		      strcmp(attachment->container, call->container)))
		code = cni_fail(call, CNI_ERROR_CONFIG,
				"the network's or container's name is too long");
	return code;
}

static bool lives(const struct node_place *place)
{
	char name[IF_NAMESIZE];

	return place->ifindex && if_indextoname(place->ifindex, name);
}

struct sandbox {
	const struct attachment *wanted;
	/* another interface of the same container is attached under the pod's name */
	bool has_other;
};

static int look_at_sandbox(void *data, struct attachment *attachment)
{
	struct sandbox *sandbox = data;

	sandbox->has_other |= !strcmp(attachment->container, sandbox->wanted->container) &&
			      strcmp(attachment->ifname, sandbox->wanted->ifname) &&
			      !strcmp(attachment->name, sandbox->wanted->pod_name) &&
			      !strcmp(attachment->pod_ns, sandbox->wanted->pod_ns);
	return 0;
}

/* Removes the endpoint of that name, unless a living pod has it. */
static int free_name(struct cni_call *call, struct node_handle *handle,
		     const struct arrival *arrival, const char *name, bool *taken)
{
	const char *ns = arrival->attachment.pod_ns;
	SCOPED_FREE struct node_place *places = NULL;
	size_t n;

	if (node_name_places(handle, ns, name, &places, &n))
		return cni_fail(call, CNI_ERROR_NODE, "cannot look for %s/%s", ns, name);
	*taken = false;
	for (size_t i = 0; i < n; i++)
		*taken |= lives(&places[i]) && places[i].ifindex != arrival->device.ifindex;
	if (n && !*taken && node_endpoint_del(handle, ns, name))
		return cni_fail(call, CNI_ERROR_NODE, "cannot take the former %s/%s off", ns, name);
	return 0;
}

#define WHOLE_NAME 200 /* bytes of a pod's name that have room beside what tells it apart */

/*
 * Chooses the endpoint's name. A pod's second interface gets a name that no pod can have. So does a
 * pod's new sandbox while the former sandbox is still there. Of a longer name only a part has room,
 * which other pods may share: then the container tells them apart.
 */
static int choose_name(struct cni_call *call, struct node_handle *handle, struct arrival *arrival)
{
	struct attachment *attachment = &arrival->attachment;
	struct sandbox sandbox = {.wanted = attachment};
	bool taken;
	int code = free_name(call, handle, arrival, attachment->pod_name, &taken);

	strcpy(attachment->name, attachment->pod_name);
	if (code || !taken)
		return code;
	attachment_each(call->state, look_at_sandbox, NULL, &sandbox);
	if (sandbox.has_other && strlen(attachment->pod_name) <= WHOLE_NAME)
		snprintf(attachment->name, sizeof(attachment->name), "%.*s:%s", WHOLE_NAME,
			 attachment->pod_name, attachment->ifname);
	else
		snprintf(attachment->name, sizeof(attachment->name), "%.*s:%.12s:%s", WHOLE_NAME,
			 attachment->pod_name, attachment->container, attachment->ifname);
	code = free_name(call, handle, arrival, attachment->name, &taken);
	if (!code && taken)
		code = cni_fail(call, CNI_ERROR_TAKEN, "%s/%s is attached already",
				attachment->pod_ns, attachment->name);
	return code;
}

/* Takes the pod's addresses from endpoints whose interfaces are gone. Such an endpoint may have the
 * name of a living one: a policy knows a pod by the addresses of its former sandbox. */
static int free_addresses(struct cni_call *call, struct node_handle *handle,
			  struct arrival *arrival)
{
	const struct attachment *attachment = &arrival->attachment;
	char text[ADDRESS_TEXT], name[IF_NAMESIZE];
	bool owned = false;

	for (size_t i = 0; i < attachment->n_addresses; i++) {
		struct node_owner owner;

		if (node_address_owner(handle, &attachment->addresses[i], &owner))
			continue;
		if (owner.ifindex && owner.ifindex != attachment->ifindex &&
		    if_indextoname(owner.ifindex, name))
			return cni_fail(call, CNI_ERROR_TAKEN,
					"%s is %s/%s's, whose interface %s is there",
					address_print(&attachment->addresses[i], text), owner.ns,
					owner.name, name);
		owned = true;
	}
	if (owned && node_addresses_del(handle, attachment->addresses, attachment->n_addresses))
		return cni_fail(call, CNI_ERROR_NODE, "cannot free the addresses of %s/%s",
				attachment->pod_ns, attachment->pod_name);
	return 0;
}

static void make_endpoint(struct arrival *arrival)
{
	const struct attachment *attachment = &arrival->attachment;
	struct cluster *cluster = &arrival->cluster;
	char key[sizeof(attachment->container) + IF_NAMESIZE + 1];

	snprintf(key, sizeof(key), "%s:%s", attachment->container, attachment->ifname);
	arrival->endpoint = (struct endpoint){
		.ns_name = attachment->pod_ns,
		.name = attachment->name,
		.addresses = attachment->addresses,
		.n_addresses = attachment->n_addresses,
		.interface = attachment->host_name,
		.uid = *attachment->uid ? attachment->uid : NULL,
		.attachment = cluster_intern(cluster, key, strlen(key)),
		.unknown = true,
	};
	memcpy(arrival->endpoint.mac, attachment->mac, sizeof(attachment->mac));
	arrival->endpoint.has_mac =
		memcmp(attachment->mac, (const uint8_t[6]){}, sizeof(attachment->mac)) != 0;
}

static int remember(struct cni_call *call, const struct arrival *arrival)
{
	int error = attachment_write(call, &arrival->attachment);

	return error ? cni_fail(call, CNI_ERROR_IO, "cannot write to %s: %s", call->state,
				strerror(-error))
		     : 0;
}

/* Forgets who the pod is: it is isolated until a policy has it. */
static void forget_identity(struct endpoint *endpoint)
{
	endpoint->unknown = true;
	endpoint->as_policy = NULL;
	endpoint->labels.n = endpoint->n_ports = endpoint->n_allow_source = 0;
}

/* Isolates the pod if its record has no room for its labels: without them, it would count as a pod
 * that has none. The policy of a cluster has the pod soon. */
static void check_room(struct cni_call *call, struct arrival *arrival)
{
	struct endpoint *endpoint = &arrival->endpoint;

	if (node_endpoint_fits(endpoint))
		return;
	arrival->attachment.source = CNI_UNKNOWN;
	forget_identity(endpoint);
	diag_warn(&call->diag, NULL, NULL,
		  "%s/%s is isolated until a policy has it: its labels and ports take too many "
		  "bytes for its record",
		  endpoint->ns_name, endpoint->name);
}

/* Isolates the pod if one of its addresses rests after another pod. */
static int rest(struct cni_call *call, struct node_handle *handle, struct arrival *arrival)
{
	struct attachment *attachment = &arrival->attachment;
	struct endpoint *endpoint = &arrival->endpoint;

	if (left_note_reused(call, handle, attachment) || !left_rests(call, attachment))
		return call->code;
	attachment->source = CNI_RESTING;
	endpoint->rests = true;
	forget_identity(endpoint);
	return 0;
}

/* Puts the pod active. A pod without an address is isolated. Writes the name into the attachment's
 * record before the lock is given up: a call for the pod's other interface may wait for the lock.
 */
static int place(struct cni_call *call, struct node_handle *handle, struct arrival *arrival)
{
	int code;

	if (!arrival->guarded && node_quarantine(handle, arrival->device.ifindex))
		return cni_fail(call, CNI_ERROR_NODE, "cannot guard %s", arrival->device.name);
	code = choose_name(call, handle, arrival);
	if (!code)
		code = free_addresses(call, handle, arrival);
	if (code)
		return code;
	make_endpoint(arrival);
	code = identity_find(call, handle, &arrival->cluster, &arrival->endpoint,
			     &arrival->attachment.source);
	cni_stage(call, "identity");
	if (!code) {
		check_room(call, arrival);
		code = rest(call, handle, arrival);
	}
	if (!code)
		code = remember(call, arrival);
	if (!code && arrival->endpoint.n_addresses &&
	    node_endpoint_add(handle, &arrival->endpoint, &arrival->isolated))
		code = cni_fail(call, CNI_ERROR_NODE, "cannot guard %s/%s",
				arrival->endpoint.ns_name, arrival->endpoint.name);
	return code;
}

/* Does what place() does. If that makes no endpoint, the interface stays closed. */
static int place_or_close(struct cni_call *call, struct node_handle *handle,
			  struct arrival *arrival)
{
	int code = place(call, handle, arrival);

	/* by this entry, a load knows that the interface stays closed */
	if ((code || !arrival->attachment.n_addresses) &&
	    node_quarantine(handle, arrival->device.ifindex))
		code = cni_fail(call, CNI_ERROR_NODE, "cannot guard %s", arrival->device.name);
	return code;
}

static int add_present(struct cni_call *call, struct arrival *arrival)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int code;

	/* While other endpoints make room for the pod, their interfaces stay guarded. */
	call->node.quarantine = true;
	call->node.sandbox_is_new = true;
	cni_stage(call, "ask");
	arrival->guarded = !node_guard(&call->node, arrival->device.ifindex, &call->diag);
	cni_stage(call, "guard");
	if (node_open(&call->node, false, &call->diag, &handle))
		return cni_fail(call, CNI_ERROR_NODE, "cannot open the pin folder");
	if (!node_is_loaded(handle))
		return cni_fail(call, CNI_ERROR_AGAIN,
				"no policy is active: `bulkhead load` puts one there");
	cni_stage(call, "lock");
	code = place_or_close(call, handle, arrival);
	arrival->writes = node_map_writes(handle);
	return code;
}

/* Undoes a failed ADD. The interface stays closed: the plugin that made it removes it. */
static void undo(struct cni_call *call, struct arrival *arrival)
{
	const int code = TAKE(call->code, 0);

	attachment_end(call, &arrival->attachment);
	call->code = code;
}

int cni_add(struct cni_call *call)
{
	CLEANUP(arrival_end) struct arrival arrival = {};
	int code;

	cluster_init(&arrival.cluster);
	code = read_arrival(call, &arrival);
	if (!code)
		code = end_former(call);
	if (!code)
		code = remember(call, &arrival);
	if (code)
		return code;
	code = add_present(call, &arrival);
	cni_stage(call, "place");
	if (code)
		undo(call, &arrival);
	else
		left_forget(call, &arrival.attachment);
	snprintf(call->about, sizeof(call->about), "%s/%s identity=%s%s, %llu writes",
		 arrival.attachment.pod_ns,
		 *arrival.attachment.name ? arrival.attachment.name : arrival.attachment.pod_name,
		 cni_source_names[arrival.attachment.source], arrival.isolated ? " isolated" : "",
		 (unsigned long long)arrival.writes);
	return code;
}

int add_again(struct cni_call *call, struct node_handle *handle,
	      const struct attachment *attachment)
{
	CLEANUP(arrival_end) struct arrival arrival = {.attachment = *attachment};
	const size_t size = attachment->n_addresses * sizeof(*attachment->addresses);
	int code;

	cluster_init(&arrival.cluster);
	arrival.device.ifindex = attachment->ifindex;
	strcpy(arrival.device.name, attachment->host_name);
	arrival.attachment.addresses = malloc(size + 1);
	if (!arrival.attachment.addresses)
		return cni_fail(call, CNI_ERROR_IO, "out of memory");
	memcpy(arrival.attachment.addresses, attachment->addresses, size);
	code = place_or_close(call, handle, &arrival);
	if (!code && arrival.attachment.source == CNI_UNKNOWN && attachment->source != CNI_UNKNOWN)
		diag_warn(&call->diag, NULL, NULL,
			  "%s/%s is isolated: nothing says what it is any more (it was named by: "
			  "%s)",
			  attachment->pod_ns, attachment->name,
			  cni_source_names[attachment->source]);
	return code;
}
