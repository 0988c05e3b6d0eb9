// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "node/change/survey.h"
#include "node/kernel/rtnl.h"

static const struct link *ask_for_link(const struct survey *survey, const char *name,
				       uint32_t ifindex)
{
	struct local *local = survey->local;

	if (!survey->in_force || local->n_links == LINKS_OF_ONE ||
	    rtnl_link(survey->handle->rtnl, name, ifindex, &local->links[local->n_links]))
		return NULL;
	return &local->links[local->n_links++];
}

const struct link *survey_link_by_name(const struct survey *survey, const char *name)
{
	const struct local *local = survey->local;

	for (size_t i = 0; i < local->n_links; i++)
		if (!strcmp(local->links[i].name, name))
			return &local->links[i];
	return ask_for_link(survey, name, 0);
}

const struct link *survey_link(const struct survey *survey, uint32_t ifindex)
{
	const struct local *local = survey->local;

	for (size_t i = 0; i < local->n_links; i++)
		if (local->links[i].ifindex == ifindex)
			return &local->links[i];
	return ifindex ? ask_for_link(survey, NULL, ifindex) : NULL;
}

/* Returns NULL where the interface gets no programs so far. */
struct bh_iface *survey_iface(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->ifaces.n; i++)
		if (*(uint32_t *)table_key(&local->ifaces, i) == ifindex)
			return table_value(&local->ifaces, i);
	return NULL;
}

/* As survey_iface(). While one endpoint is added, it also looks among the interfaces in force. */
const struct bh_iface *survey_taken_by(const struct survey *survey, uint32_t ifindex)
{
	const struct bh_iface *iface = survey_iface(survey->local, ifindex);

	return iface || !survey->in_force ? iface : table_find(survey->in_force, &ifindex);
}

uint32_t survey_bridge(const struct survey *survey, const struct link *link)
{
	const struct link *master = link ? survey_link(survey, link->master) : NULL;

	return master && master->bridge ? master->ifindex : 0;
}
