// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "maps/iface.h"
#include "node/change/survey.h"
#include "node/kernel/rtnl.h"

int survey_ways_out(struct survey *survey)
{
	int error =
		rtnl_default_routes(survey->handle->rtnl, &survey->ways_out, &survey->n_ways_out);

	return error ? node_fail(survey->handle, error, "cannot list the default routes") : 0;
}

bool survey_is_way_out(const struct survey *survey, uint32_t ifindex)
{
	for (size_t i = 0; i < survey->n_ways_out; i++)
		if (survey->ways_out[i] == ifindex)
			return true;
	return false;
}

static int add_uplink(struct survey *survey, uint32_t ifindex)
{
	const struct link *link = survey_link(survey, ifindex);
	struct bh_iface iface = {.flags = BH_IFACE_UPLINK, .bridge = survey_bridge(survey, link)};

	if (survey->handle->options->audit)
		iface.flags |= BH_IFACE_AUDIT;
	if (survey_iface(survey->local, ifindex))
		return 0;
	if (link && link->bare)
		iface.flags |= BH_IFACE_BARE;
	survey->local->uplinks++;
	return table_add(&survey->local->ifaces, &ifindex, &iface);
}

static int add_uplink_by_name(struct survey *survey, const char *name)
{
	const struct link *link = survey_link_by_name(survey, name);

	if (link)
		return add_uplink(survey, link->ifindex);
	if (!survey->handle->options->boot)
		return node_fail(survey->handle, -ENODEV, "uplink %s", name);
	diag_warn(survey->handle->diag, NULL, NULL,
		  "uplink %s does not exist yet: the next load guards it", name);
	return 0;
}

int survey_uplinks(struct survey *survey)
{
	const struct node_options *options = survey->handle->options;
	const struct policy *policy = survey->policy;
	int error = 0;

	for (size_t i = 0; !error && i < options->n_uplinks; i++)
		error = add_uplink_by_name(survey, options->uplinks[i]);
	if (error || options->n_uplinks)
		return error;
	for (uint32_t i = 0; !error && i < policy->uplinks_n; i++)
		error = add_uplink_by_name(survey, policy_string(policy, policy->texts[i]));
	if (error || policy->uplinks_n)
		return error;
	for (size_t i = 0; !error && i < survey->n_ways_out; i++)
		error = add_uplink(survey, survey->ways_out[i]);
	if (!error && !survey->n_ways_out)
		diag_note(survey->handle->diag, NULL, NULL,
			  "no uplink is named and there is no default route: endpoints are guarded "
			  "at "
			  "their own interfaces only");
	return error;
}
