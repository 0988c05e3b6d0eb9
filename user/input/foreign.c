/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <string.h>

#include "input/foreign.h"

/* API groups of other systems whose kinds "...Policy" allow and deny connections. */
static const char *const policy_groups[] = {
	"cilium.io",	 "crd.projectcalico.org", "projectcalico.org",
	"crd.antrea.io", "k8s.ovn.org",		  "policy.networking.k8s.io",
};

/* API groups that are known to have no policy of connections. */
static const char *const other_groups[] = {
	"apps",
	"batch",
	"policy",
	"autoscaling",
	"apiextensions.k8s.io",
	"rbac.authorization.k8s.io",
	"admissionregistration.k8s.io",
	"kustomize.config.k8s.io",
	"monitoring.coreos.com",
	"kyverno.io",
	"templates.gatekeeper.sh",
	"constraints.gatekeeper.sh",
};

/* Returns the length of the group in an apiVersion; 0: the core group. */
static size_t group_length(const char *version)
{
	const char *slash = strchr(version, '/');

	return slash ? slash - version : 0;
}

bool foreign_same_group(const char *a, const char *b)
{
	const size_t length = group_length(a);

	return length == group_length(b) && !strncmp(a, b, length);
}

static bool is_of(const char *version, const char *const *groups, size_t n)
{
	const size_t length = group_length(version);

	for (size_t i = 0; i < n; i++)
		if (strlen(groups[i]) == length && !strncmp(groups[i], version, length))
			return true;
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), suffix = strlen(end);

	return length >= suffix && !strcmp(text + length - suffix, end);
}

bool foreign_is_policy(const char *version, const char *kind)
{
	if (is_of(version, other_groups, sizeof(other_groups) / sizeof(*other_groups)))
		return false;
	if (strcasestr(kind, "NetworkPolic"))
		return true;
	return is_of(version, policy_groups, sizeof(policy_groups) / sizeof(*policy_groups)) &&
	       ends_with(kind, "Policy");
}

void foreign_try(struct nearest *nearest, const char *version, const char *kind,
		 const char *kind_version)
{
	const struct nearest before = *nearest;

	if (!foreign_same_group(version, kind_version))
		return;
	nearest_try(nearest, kind);
	/* "Job" is no misspelt "Pod" */
	if (nearest->found == kind && nearest->distance > (strlen(kind) < 8 ? 1 : 2))
		*nearest = before;
}
