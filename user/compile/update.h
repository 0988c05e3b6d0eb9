/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes the endpoints of a compiled policy, and its Services, without a compile: each address
 * goes into the segment that it fits. Rules and segments stay as they are. */
#ifndef BULKHEAD_COMPILE_UPDATE_H
#define BULKHEAD_COMPILE_UPDATE_H

#include "model/cluster.h"
#include "policy/policy.h"

/* A pod that has changed. */
struct update_pod {
	const char *ns, *name;
	const struct endpoint *now; /* NULL: it is gone. Without an address: it is expected */
};

/* All Services of some namespaces, which stand in place of those that the base has there. */
struct update_services {
	/* A finished cluster of these, with their EndpointSlices, and, if one takes its backends
	 * from pods, with all pods of its namespace. None is closed. Other pods, and EndpointSlices
	 * of no Service, do not count. */
	const struct cluster *cluster;
	const char *const *namespaces; /* sorted */
	size_t n_namespaces;
};

struct update {
	const struct update_pod *pods; /* each name once */
	size_t n_pods;
	const struct update_services *services; /* NULL: none have changed */
	bool extends;
};

/*
 * Continues a policy if nothing but pods, Services and EndpointSlices has changed. Verdicts are
 * those of a compile, at a small part of its price. With `extends`, pods that fit no segment get
 * new ones (extend.h): the compile of @base must not have left the port names of a namespace's pods
 * without numbers. Policies that it has set aside stay so: @base has them without their rules.
 * Strings, segments that no endpoint uses any more, and records of deleted segments stay until the
 * next compile. @base must be whole in memory. If a Service takes its backends from pods of a
 * namespace where one has changed, `services` has the Services of that namespace. Returns 0 and a
 * policy to free, of @base's generation if nothing has changed; -EOPNOTSUPP: only a compile can
 * tell; or -ENOMEM. Reports nothing.
 */
int policy_update(const struct policy *base, const struct update *update, struct policy **policy);

/* An endpoint that is added. If an endpoint of the policy has its name, that endpoint gets its
 * addresses too, and its other properties. */
struct update_endpoint {
	const struct endpoint *endpoint;
	/* Each has its place: a segment, or POLICY_NOWHERE: the endpoint is isolated. `endpoint` of
	 * the records is not set. */
	const struct policy_address *addresses;
	size_t n_addresses;
};

/*
 * Changes @policy to the endpoints that are active now, in its own generation: `endpoint` may have
 * added and removed some since the compile. Deletes the addresses that @deleted marks (by index of
 * the policy's addresses; NULL: none), and each endpoint that has none left. Adds @added. No
 * address may stand twice. The policy must not have a source. policy_free() frees the new tables,
 * or overlay_free() those of a struct copy. Returns 0; or -ENOMEM, not reported: @policy is as it
 * was.
 */
int overlay_endpoints(struct policy *policy, const bool *deleted,
		      const struct update_endpoint *added, size_t n);

#endif
