// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "maps/service.h"
#include "maps/tunnel.h"
#include "maps/variation.h"
#include "node/change/dry_run.h"

static const char *const phases[] = {
	[PHASE_PREPARE] = "prepare",
	[PHASE_STAGE] = "stage",
	[PHASE_COMMIT] = "flip",
	[PHASE_COLLECT] = "collect",
};

static const char *const acts[N_CHANGE_ACTS] = {
#define WORD(name, word) [ACT_##name] = word,
	CHANGE_ACTS(WORD)
#undef WORD
};

/* The state that node_step_item() reads. */
struct dry_run_state {
	const struct node_handle *handle;
	const struct change *change;
	const struct change_step *step;
	char text[DRY_RUN_NAME];
};

static const char *iface_name(uint32_t ifindex, char name[IF_NAMESIZE])
{
	if (!if_indextoname(ifindex, name))
		snprintf(name, IF_NAMESIZE, "%u", ifindex);
	return name;
}

static const char *role(uint32_t flags)
{
	return flags & BH_IFACE_ENDPOINT ? "an endpoint's"
	       : flags & BH_IFACE_UPLINK ? "an uplink"
	       : flags & BH_IFACE_PORT	 ? "a bridge's other port"
					 : "a way out";
}

static const char *address_text(const struct bh_addr *addr, char text[ADDRESS_TEXT])
{
	struct address address;

	memcpy(&address, addr, sizeof(address));
	return address_print(&address, text);
}

static void print_cidr(char *to, const struct bh_addr *addr, uint32_t length, const char *of)
{
	struct cidr cidr = {.length = length};
	char text[ADDRESS_TEXT];

	memcpy(&cidr.address, addr, sizeof(cidr.address));
	snprintf(to, DRY_RUN_NAME, "%s%s%s", cidr_print(&cidr, text), *of ? " of " : "", of);
}

/* The functions that name an entry by its key, by the column `entry` of maps/maps.def. */

static void print_interface(char *to, const void *key)
{
	char name[IF_NAMESIZE];

	snprintf(to, DRY_RUN_NAME, "%s", iface_name(*(const uint32_t *)key, name));
}

static void print_mac(char *to, const void *key)
{
	const struct bh_mac_key *of = key;
	const uint8_t *mac = of->mac;

	snprintf(to, DRY_RUN_NAME, "%02x:%02x:%02x:%02x:%02x:%02x%s", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5], of->kind == BH_MAC_ENDPOINT ? "" : " of the node");
}

static void print_source(char *to, const void *key)
{
	const struct bh_allow_source_key *source = key;
	char name[IF_NAMESIZE];

	print_cidr(to, &source->addr, source->length - 32,
		   iface_name(ntohl(source->ifindex), name));
}

static void print_link(char *to, const void *key)
{
	const struct bh_link_local_key *link = key;
	char name[IF_NAMESIZE];

	print_cidr(to, &link->addr, 128, iface_name(link->link, name));
}

static void print_address(char *to, const void *key)
{
	char text[ADDRESS_TEXT];

	snprintf(to, DRY_RUN_NAME, "%s", address_text(key, text));
}

static void print_tunnel(char *to, const void *key)
{
	const struct bh_tunnel_key *tunnel = key;
	char text[ADDRESS_TEXT];

	snprintf(to, DRY_RUN_NAME, "%s port %u", address_text(&tunnel->addr, text), tunnel->port);
}

static void print_prefix(char *to, const void *key)
{
	const struct bh_prefix_key *prefix = key;

	print_cidr(to, &prefix->addr, prefix->length, "");
}

static void print_service(char *to, const void *key)
{
	const struct bh_service_key *service = key;
	char text[ADDRESS_TEXT];

	snprintf(to, DRY_RUN_NAME, "%s protocol %u port %u", address_text(&service->addr, text),
		 service->protocol, ntohs(service->port));
}

static void print_slot(char *to, const void *key)
{
	snprintf(to, DRY_RUN_NAME, "slot %u", *(const uint32_t *)key);
}

static void print_index(char *to, const void *key)
{
	snprintf(to, DRY_RUN_NAME, "index %u", *(const uint32_t *)key);
}

static void print_pair(char *to, const void *key)
{
	const uint32_t *id = key;

	snprintf(to, DRY_RUN_NAME, "subject %u, peer %u", id[0], id[1]);
}

static void print_named(char *to, const void *key)
{
	const uint32_t *id = key;

	snprintf(to, DRY_RUN_NAME, "list %u, resolution %u", id[0], id[1]);
}

static void print_variation(char *to, const void *key)
{
	const uint32_t *id = key;

	snprintf(to, DRY_RUN_NAME, "segment %u, variation %u", id[0], id[1]);
}

/* Both maps' keys begin with the hash of a name. */
static void print_domain(char *to, const void *key)
{
	snprintf(to, DRY_RUN_NAME, "name %016" PRIx64, *(const uint64_t *)key);
}

void dry_run_name(char to[DRY_RUN_NAME], enum node_map_id map, const void *key)
{
	static void (*const print[N_NODE_MAPS])(char *to, const void *key) = {
#define NODE_MAP(name, key, value, entry, ...) [MAP_##name] = print_##entry,
#include "maps/maps.def"
	};

	print[map](to, key);
}

/* Returns the table whose keys name a step's items; NULL: no table does. */
static const struct table *table_of(const struct dry_run_state *r)
{
	return r->step->act == ACT_CLEAR ? &r->change->cleared : change_table(r->change, r->step);
}

static bool is_of_map(enum change_act act)
{
	return act == ACT_PUT || act == ACT_STORE || act == ACT_RECORD || act == ACT_REPLACE_LATE ||
	       act == ACT_QUARANTINE || act == ACT_DELETE;
}

/* Names the maps that a step makes, or makes larger. */
static void print_capacity(char *to, const struct capacity *capacity, enum change_act act)
{
	size_t used = 0;

	for (int i = 0; act != ACT_REPLACE && i < N_NODE_MAPS && used < DRY_RUN_NAME; i++)
		if (capacity->entries[i])
			used += snprintf(to + used, DRY_RUN_NAME - used, "%s%s of %u",
					 used ? ", " : "", node_map_names[i], capacity->entries[i]);
	if (capacity->rules && act == ACT_GROW && used < DRY_RUN_NAME)
		snprintf(to + used, DRY_RUN_NAME - used, "%shits of %u rules", used ? ", " : "",
			 capacity->rules);
	if (capacity->connections && act != ACT_GROW && used < DRY_RUN_NAME)
		snprintf(to + used, DRY_RUN_NAME - used, "%sconnections of %u", used ? ", " : "",
			 capacity->connections);
}

static void print_other(struct dry_run_state *r)
{
	const enum change_act act = r->step->act;

	if (act == ACT_ANEW || act == ACT_REPLACE || act == ACT_GROW)
		print_capacity(r->text, &r->change->capacity, act);
	else if (act == ACT_PIN)
		snprintf(r->text, DRY_RUN_NAME, "generation %u", r->change->policy.header.policy);
	else if (act == ACT_COMMIT || act == ACT_COMMIT_AGAIN)
		snprintf(r->text, DRY_RUN_NAME, "generation %" PRIu64,
			 (uint64_t)node_generation(r->handle) + 1 +
				 (act == ACT_COMMIT_AGAIN && r->change->commits));
}

const char *node_step_item(const struct node_step *step, size_t i)
{
	struct dry_run_state *r = (struct dry_run_state *)step->of;
	const struct table *table = table_of(r);
	const enum change_act act = r->step->act;
	char name[IF_NAMESIZE], text[ADDRESS_TEXT];

	*r->text = '\0';
	if (!table)
		print_other(r);
	else if (is_of_map(act))
		dry_run_name(r->text, r->step->map, table_key(table, i));
	else if (act == ACT_FORGET || act == ACT_FORGET_FORMER)
		snprintf(r->text, DRY_RUN_NAME, "%s", address_text(table_key(table, i), text));
	else if (act == ACT_SET_ROLE || act == ACT_SET_ROLE_LATE)
		snprintf(r->text, DRY_RUN_NAME, "%s: %s",
			 iface_name(*(uint32_t *)table_key(table, i), name),
			 role(((struct change_role *)table_value(table, i))->to.flags));
	else
		iface_name(*(uint32_t *)table_key(table, i), r->text);
	return r->text;
}

static void tell(struct node_handle *handle, const struct change *change,
		 const struct change_step *step)
{
	struct dry_run_state r = {.handle = handle, .change = change, .step = step};
	struct node_step told = {.change = change->name,
				 .phase = phases[step->phase],
				 .act = acts[step->act],
				 .map = is_of_map(step->act) ? node_map_names[step->map] : NULL,
				 .of = &r};
	const struct table *table = table_of(&r);

	told.n = table ? table->n : 1;
	if (told.n)
		handle->options->dry_run(handle->options->dry_run_data, &told);
}

static int see(struct node_handle *handle)
{
	struct image *image;
	int error;

	if (handle->seen)
		return 0;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image_init(image);
	error = handle->maps[MAP_ifaces] < 0 ? 0 : image_read(handle, image);
	handle->seen_generation = node_generation(handle);
	handle->seen = image;
	return error;
}

int dry_run(struct node_handle *handle, const struct change *change)
{
	int error;

	for (size_t i = 0; i < n_change_order; i++)
		if (change_count(change, &change_order[i]))
			tell(handle, change, &change_order[i]);
	error = see(handle);
	if (!error)
		error = change_simulate(change, handle->seen, &handle->seen_generation,
					n_change_order);
	return error ? node_fail(handle, error, "cannot make a dry run") : 0;
}
