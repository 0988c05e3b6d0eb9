// SPDX-License-Identifier: GPL-2.0-only
/* What a container runtime's plugin asks of a node beside the endpoints themselves. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "compile/expected.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/attach.h"
#include "node/inforce.h"
#include "node/leave.h"
#include "node/rcu.h"
#include "node/record.h"
#include "node/repair.h"
#include "node/rights.h"
#include "node/write.h"

bool node_is_loaded(const struct host *host)
{
	return host && host->policy;
}

int node_guard(const struct node_options *options, uint32_t ifindex, struct diag *diag)
{
	SCOPED_HOST struct host *host = NULL;
	struct bh_iface iface;
	int error = node_new(options, diag, &host);

	if (!error)
		error = rights_to_change(host);
	if (!error)
		error = node_find(host);
	if (error)
		return error;
	if (!node_is_loaded(host) || !bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &iface))
		return -EOPNOTSUPP;
	return attach_guard(host, ifindex) ? -EOPNOTSUPP : 0;
}

/* What an interface that is guarded as nobody's endpoint's says of it. */
static int write_sealed(struct host *host, uint32_t ifindex)
{
	const struct bh_iface sealed = {.flags = BH_IFACE_ENDPOINT};
	struct bh_iface there;

	if (bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &there)) {
		host->writes++;
		return bpf_map_update_elem(host->maps[MAP_ifaces], &ifindex, &sealed, BPF_NOEXIST)
			       ? node_fail(host, -errno, "cannot write to %s/ifaces", host->pin)
			       : 0;
	}
	if (there.flags & (BH_IFACE_PORT | BH_IFACE_OTHER))
		return attach_turn(host, ifindex, &sealed);
	return 0;
}

int node_seal(struct host *host, uint32_t ifindex)
{
	int error = rights_to_change(host);

	if (!error && node_is_busy(host))
		error = repair(host);
	if (error)
		return error;
	write_busy(host, true);
	error = write_sealed(host, ifindex);
	if (!error)
		error = attach_add(host, ifindex, BH_IFACE_ENDPOINT);
	write_busy(host, false);
	return error == -ENODEV ? node_fail(host, error, "cannot attach to interface %u", ifindex)
				: error;
}

int node_unguard(struct host *host, uint32_t ifindex, bool open)
{
	struct bh_iface iface;
	char name[IF_NAMESIZE];
	bool known;
	int error;

	if (host->maps[MAP_ifaces] < 0)
		return 0;
	known = !bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &iface);
	if (known && (!leave_is_sealed(&iface) || (!open && if_indextoname(ifindex, name))))
		return 0;
	error = attach_remove(host, ifindex);
	if (error || !known)
		return error;
	host->writes++;
	return bpf_map_delete_elem(host->maps[MAP_ifaces], &ifindex)
		       ? node_fail(host, -errno, "cannot write to %s/ifaces", host->pin)
		       : rcu_wait(host);
}

int node_address_owner(struct host *host, const struct address *address, struct node_owner *owner)
{
	struct bh_added name;
	struct bh_endpoint entry;

	if (!node_is_loaded(host) ||
	    bpf_map_lookup_elem(host->maps[MAP_endpoints], address, &entry) ||
	    !inforce_owner(host, address, &name))
		return -ENOENT;
	*owner = (struct node_owner){.ifindex = entry.ifindex};
	memcpy(owner->ns, name.ns, sizeof(owner->ns));
	memcpy(owner->name, name.name, sizeof(owner->name));
	owner->added = !bpf_map_lookup_elem(host->maps[MAP_added], address, &name);
	return 0;
}

int node_is_guarded(struct host *host, uint32_t ifindex, bool *guarded)
{
	struct attached attached;
	struct bh_iface iface;
	int error;

	*guarded = false;
	if (!node_is_loaded(host) ||
	    bpf_map_lookup_elem(host->maps[MAP_ifaces], &ifindex, &iface) ||
	    !(iface.flags & BH_IFACE_ENDPOINT))
		return 0;
	error = attach_read(host, ifindex, iface.flags, &attached);
	*guarded = !error && !attached.stale && attach_is_complete(&attached, iface.flags);
	return error;
}

/* Whether the policy has a pod of that name, which a pod of another UID is not. */
static bool has_pod(const struct policy *policy, const struct endpoint *endpoint, const char *name)
{
	const struct policy_endpoint *known =
		policy_endpoint_by_name(policy, endpoint->ns_name, name);
	uint32_t uid[2];

	policy_uid_hash(endpoint->uid, uid);
	return known && (!(known->uid[0] | known->uid[1]) || !endpoint->uid ||
			 !memcmp(known->uid, uid, sizeof(uid)));
}

int node_endpoint_known(struct host *host, struct cluster *cluster, struct endpoint *endpoint,
			bool *known)
{
	const struct policy *policy = host->policy;
	const char *name = cluster_intern(cluster, endpoint->name, strcspn(endpoint->name, ":"));

	*known = expected_fill(policy, cluster, endpoint);
	if (!*known && has_pod(policy, endpoint, name)) {
		endpoint->as_policy = name;
		*known = true;
	}
	return policy->source ? policy->source->error : 0;
}
