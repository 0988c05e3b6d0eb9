// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "model/cluster.h"
#include "node/kernel/handle.h"
#include "node/local/iface_entry.h"

bool iface_entry_is_about(enum node_map_id map, const void *entry_key, const void *entry_value,
			  uint32_t ifindex)
{
#define IFACE_MAP(name, key_type, value_type, entry, about) \
	if (map == MAP_##name) {                            \
		const key_type *key = entry_key;            \
		const value_type *value = entry_value;      \
                                                            \
		(void)value;                                \
		return ifindex && (about) == ifindex;       \
	}
#include "maps/maps.def"
	return false;
}

bool iface_entry_deletes(enum node_map_id map)
{
	static const bool deletes[N_NODE_MAPS] = {
#define IFACE_MAP(name, ...) [MAP_##name] = true,
#include "maps/maps.def"
	};

	return deletes[map];
}

bool iface_entry_is_quarantined(const struct bh_iface *iface)
{
	const struct bh_addr none = {};

	return iface->flags & BH_IFACE_ENDPOINT && !memcmp(&iface->ipv4, &none, sizeof(none)) &&
	       !memcmp(&iface->ipv6, &none, sizeof(none));
}

bool iface_entry_has_endpoint(const struct bh_iface *iface)
{
	return iface->flags & BH_IFACE_ENDPOINT && !iface_entry_is_quarantined(iface);
}

void iface_entry_set_addresses(struct bh_iface *iface, const struct endpoint *endpoint)
{
	iface->ipv4 = iface->ipv6 = (struct bh_addr){};
	for (size_t i = endpoint->n_addresses; i-- > 0;) {
		const struct address *address = &endpoint->addresses[i];

		memcpy(address_is_ipv4(address) ? &iface->ipv4 : &iface->ipv6, address,
		       sizeof(*address));
	}
}

struct bh_iface iface_entry_quarantine(const struct bh_iface *iface)
{
	return (struct bh_iface){
		.flags = BH_IFACE_ENDPOINT | (iface->flags & (BH_IFACE_QDISC | BH_IFACE_L2)),
		.bridge = iface->bridge,
	};
}

struct bh_iface iface_entry_nobodys(const struct node_handle *handle, const struct bh_iface *iface)
{
	struct bh_iface nobodys = {.flags = BH_IFACE_OTHER};

	if (iface->bridge)
		nobodys = (struct bh_iface){.flags = BH_IFACE_PORT, .bridge = iface->bridge};
	if (iface->bridge && node_audits(handle))
		nobodys.flags |= BH_IFACE_AUDIT;
	return nobodys;
}
