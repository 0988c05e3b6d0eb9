// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <string.h>

#include "maps/iface.h"
#include "node/kernel/attach.h"
#include "node/kernel/orphans.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/programs.h"
#include "node/kernel/rcu.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/xdp_attach.h"

/* From linux/bpf.h of Linux 6.6, as in attach.h. */
#define LINK_BEFORE (1u << 3)

/* An old kernel's error for an attach type that it does not know. */
#define ENOTSUPP 524

/* The TC hooks, and the programs that they carry. */
static const struct attach_side {
	const char *name;
	enum node_program program;
	enum bpf_tc_attach_point point;
	uint32_t parent;
	uint32_t tcx;
} sides[] = {
	{"ingress", PROGRAM_INGRESS, BPF_TC_INGRESS, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
	 ATTACH_TCX_INGRESS},
	{"egress", PROGRAM_EGRESS, BPF_TC_EGRESS, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
	 ATTACH_TCX_EGRESS},
};

/* Ingress of an uplink that takes no XDP program, and of a bridge's port. */
static const struct attach_side outside = {
	"ingress",	    PROGRAM_UPLINK,
	BPF_TC_INGRESS,	    TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
	ATTACH_TCX_INGRESS,
};

/* Egress of every interface that is no endpoint's: packets may leave the node by it. */
static const struct attach_side leaving = {
	"egress",	   PROGRAM_LEAVE, BPF_TC_EGRESS, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
	ATTACH_TCX_EGRESS,
};

/* The first priority. With 0 the kernel would choose a priority behind other filters. */
#define FILTER_PRIORITY 1

/* Handle of a filter that says that its qdisc is ours, too: attach_guard() finds no entry in
 * bh_ifaces that could say so. */
#define FILTER_WITH_QDISC 0xb01d

#define LINK_PREFIX "tcx_"
#define LINK_NAME_MAX 32

static const char *link_name(char name[LINK_NAME_MAX], uint32_t ifindex,
			     const struct attach_side *side)
{
	snprintf(name, LINK_NAME_MAX, LINK_PREFIX "%u_%s", ifindex, side->name);
	return name;
}

/* Returns true if TCX links run the program at an interface of this network namespace. */
static bool is_run(uint32_t ifindex, const struct attach_side *side, uint32_t program)
{
	uint32_t programs[64] = {};
	LIBBPF_OPTS(bpf_prog_query_opts, query, .prog_ids = programs,
		    .prog_cnt = ARRAY_SIZE(programs));

	if (bpf_prog_query_opts(ifindex, side->tcx, &query))
		return false;
	for (uint32_t i = 0; i < query.prog_cnt && i < ARRAY_SIZE(programs); i++)
		if (programs[i] == program)
			return true;
	return false;
}

/* Finds our live link on the interface. *program: the ID of its program; 0: there is no such
 * link. */
static int read_link(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side,
		     uint32_t *program)
{
	struct bpf_link_info info = {};
	uint32_t length = sizeof(info);
	char name[LINK_NAME_MAX];
	SCOPED_FD int fd = pins_get(handle, link_name(name, ifindex, side));

	*program = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length))
		return node_fail(handle, fd < 0 ? fd : -errno, "cannot read %s/%s", handle->pin,
				 name);
	/* The kernel's record of a TCX link begins like that of an XDP link. Its ifindex is 0
	 * once the interface is gone. An interface that has left this namespace may still have that
	 * number there. */
	if (info.type == LINK_TCX && info.xdp.ifindex == ifindex &&
	    is_run(ifindex, side, info.prog_id))
		*program = info.prog_id;
	return 0;
}

static bool is_pinned(struct node_handle *handle, const struct attach_side *side, uint32_t program)
{
	const struct program *pinned;

	return !pins_program(handle, side->program, &pinned) && pinned->id == program;
}

/* Returns the program that belongs at ingress (0) or egress (1) of an interface; NULL: none. */
static const struct attach_side *side_at(uint32_t flags, size_t i)
{
	if (flags & BH_IFACE_ENDPOINT)
		return &sides[i];
	return i ? &leaving : &outside;
}

static size_t side_of(const struct rtnl_filter *filter)
{
	return filter->parent == sides[1].parent;
}

static int read_filters(struct node_handle *handle, uint32_t flags,
			const struct rtnl_filter *filters, size_t n, struct attached *attached)
{
	bool others[ARRAY_SIZE(sides)] = {};

	for (size_t i = 0; i < n; i++) {
		const size_t side = side_of(&filters[i]);
		enum node_hook *hook = side ? &attached->egress : &attached->ingress;
		bool ours;
		int error = programs_is_ours(handle, filters[i].program, &ours);

		if (error)
			return error;
		if (!ours && !attached->orphan)
			attached->orphan = orphan_mark(handle, filters[i].program);
		others[side] |= !ours && !filters[i].chain;
		if (!ours)
			continue;
		attached->overtaken |=
			*hook == NODE_HOOK_TCX || (*hook == NODE_HOOK_NONE && others[side]);
		if (*hook == NODE_HOOK_NONE)
			*hook = NODE_HOOK_CLSACT;
		attached->stale |= !is_pinned(handle, side_at(flags, side), filters[i].program);
	}
	return 0;
}

/* The kernel runs TCX links before any filter, and one of them may end the run. */
static bool has_links(uint32_t ifindex, const struct attach_side *side)
{
	LIBBPF_OPTS(bpf_prog_query_opts, query);

	return !bpf_prog_query_opts(ifindex, side->tcx, &query) && query.prog_cnt;
}

/* Returns the first program that TCX links run at the hook, if it is not @program, which they run
 * too; else 0. */
static uint32_t read_before(uint32_t ifindex, const struct attach_side *side, uint32_t program)
{
	uint32_t programs[64] = {};
	LIBBPF_OPTS(bpf_prog_query_opts, query, .prog_ids = programs,
		    .prog_cnt = ARRAY_SIZE(programs));

	if (!program || bpf_prog_query_opts(ifindex, side->tcx, &query) || !query.prog_cnt)
		return 0;
	return programs[0] == program ? 0 : programs[0];
}

/* Asks whether a live link of ours is at an interface of this network namespace. *live: the link is
 * at an interface that exists, in any namespace. */
static bool is_here(const struct node_handle *handle, const char *name,
		    const struct attach_side *side, bool *live)
{
	SCOPED_FD int fd = pins_get(handle, name);
	struct bpf_link_info info = {};
	uint32_t length = sizeof(info);

	*live = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) && info.type == LINK_TCX &&
		info.xdp.ifindex;
	return *live && is_run(info.xdp.ifindex, side, info.prog_id);
}

bool attach_is_elsewhere(const struct node_handle *handle)
{
	DIR *folder = opendir(handle->pin);
	bool here = false, any = false, live;
	struct dirent *entry;

	while (folder && !here && (entry = readdir(folder))) {
		const char *end = strrchr(entry->d_name, '_');

		if (strncmp(entry->d_name, LINK_PREFIX, strlen(LINK_PREFIX)) || !end)
			continue;
		here = is_here(handle, entry->d_name, &sides[!strcmp(end + 1, sides[1].name)],
			       &live);
		any |= live;
	}
	if (folder)
		closedir(folder);
	return any && !here;
}

const char *attach_program_name(uint32_t id, char text[PROGRAM_NAME])
{
	SCOPED_FD int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {};
	uint32_t length = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length) || !*info.name)
		snprintf(text, PROGRAM_NAME, "program %u", id);
	else
		snprintf(text, PROGRAM_NAME, "program %s", info.name);
	return text;
}

static bool has_xdp(const struct attached *attached)
{
	return attached->xdp == NODE_XDP_NATIVE || attached->xdp == NODE_XDP_GENERIC;
}

int attach_read(struct node_handle *handle, uint32_t ifindex, uint32_t flags,
		struct attached *attached)
{
	enum node_hook *hooks[] = {&attached->ingress, &attached->egress};
	SCOPED_FREE struct rtnl_filter *filters = NULL;
	size_t n = 0;
	int error;

	*attached = (struct attached){.flags = flags};
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		uint32_t program;

		error = read_link(handle, ifindex, &sides[i], &program);
		if (error)
			return error;
		*hooks[i] = program ? NODE_HOOK_TCX : NODE_HOOK_NONE;
		if (!attached->before)
			attached->before = read_before(ifindex, &sides[i], program);
		attached->stale |= program && !is_pinned(handle, side_at(flags, i), program);
	}
	if (!attached->ingress || !attached->egress) {
		error = rtnl_filters(handle->rtnl, ifindex, &filters, &n);
		if (!error)
			error = read_filters(handle, flags, filters, n, attached);
		if (error && error != -ENODEV)
			return node_fail(handle, error, "cannot read the filters of interface %u",
					 ifindex);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		attached->overtaken |=
			*hooks[i] == NODE_HOOK_CLSACT && has_links(ifindex, &sides[i]);
	/* Our own links then replace all our filters. */
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (attached->overtaken && *hooks[i] == NODE_HOOK_CLSACT)
			*hooks[i] = NODE_HOOK_NONE;
	if (flags & BH_IFACE_ENDPOINT)
		return 0;
	error = xdp_read(handle, ifindex, attached);
	if (error && error != -ENODEV)
		return node_fail(handle, error, "cannot read the XDP programs of interface %u",
				 ifindex);
	if (flags & BH_IFACE_OTHER)
		attached->excess = attached->ingress || has_xdp(attached);
	else
		attached->excess =
			has_xdp(attached) && (attached->ingress || flags & BH_IFACE_PORT);
	return 0;
}

bool attach_is_complete(const struct attached *attached, uint32_t flags)
{
	if (!attached->egress)
		return false;
	return attached->ingress || flags & BH_IFACE_OTHER ||
	       (flags & BH_IFACE_UPLINK && has_xdp(attached));
}

static int add_link(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	/* before all other programs, since one of them may end the run */
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = LINK_BEFORE);
	SCOPED_FD int program = pins_get_program(handle, side->program);
	SCOPED_FD int link = -1;
	char name[LINK_NAME_MAX], path[PATH_MAX];
	int error;

	if (program < 0)
		return program;
	link = bpf_link_create(program, ifindex, side->tcx, &options);
	if (link < 0)
		return -errno;
	/* an earlier interface may have had this number */
	error = pins_remove(handle, link_name(name, ifindex, side));
	if (error)
		return error;
	return bpf_obj_pin(link, pins_path(handle, name, path)) ? -errno : 0;
}

/* Notes in bh_ifaces that the qdisc is ours, before it is made. */
static int claim_qdisc(struct node_handle *handle, uint32_t ifindex)
{
	struct bh_iface iface;

	if (bpf_map_lookup_elem(handle->maps[MAP_ifaces], &ifindex, &iface))
		return -errno;
	iface.flags |= BH_IFACE_QDISC;
	handle->writes++;
	return bpf_map_update_elem(handle->maps[MAP_ifaces], &ifindex, &iface, BPF_EXIST) ? -errno
											  : 0;
}

/* @number: 0: the kernel chooses one. */
static int put_filter(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side,
		      uint32_t number)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = side->point);
	LIBBPF_OPTS(bpf_tc_opts, options, .priority = FILTER_PRIORITY, .handle = number);
	SCOPED_FD int program = pins_get_program(handle, side->program);

	if (program < 0)
		return program;
	options.prog_fd = program;
	return bpf_tc_attach(&hook, &options);
}

static int add_filter(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = side->point);
	bool there;
	int error = rtnl_has_clsact(handle->rtnl, ifindex, &there);

	if (!error && !there)
		error = claim_qdisc(handle, ifindex);
	if (!error && !there)
		error = bpf_tc_hook_create(&hook);
	return error ? error : put_filter(handle, ifindex, side, 0);
}

/* Attaches one side. Reports nothing. */
static int try_side(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	int error = add_link(handle, ifindex, side);

	handle->tc = NODE_HOOK_TCX;
	if (error == -EINVAL || error == -EOPNOTSUPP || error == -ENOTSUPP) {
		handle->tc = NODE_HOOK_CLSACT;
		error = add_filter(handle, ifindex, side);
	}
	return error;
}

static int add_side(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	char name[IF_NAMESIZE];
	int error = try_side(handle, ifindex, side);

	if (error && !if_indextoname(ifindex, name))
		return -ENODEV;
	return error ? node_fail(handle, error, "cannot attach to %s, %s", name, side->name) : 0;
}

/* Attaches to a bridge's port that the policy does not name. A port that takes no program, because
 * another program's ingress qdisc is there, is no reason to refuse the policy. */
static void guard_port(struct node_handle *handle, uint32_t ifindex)
{
	char name[IF_NAMESIZE];
	int error = try_side(handle, ifindex, &outside);

	if (error && if_indextoname(ifindex, name))
		diag_warn(handle->diag, NULL, NULL,
			  "%s, another port of an endpoint's bridge, takes no program (%s): "
			  "packets that it sends through the bridge's own address can claim to be "
			  "an endpoint's",
			  name, strerror(-error));
}

static void guard_leaving(struct node_handle *handle, uint32_t ifindex)
{
	char name[IF_NAMESIZE];
	int error = try_side(handle, ifindex, &leaving);

	if (error && if_indextoname(ifindex, name))
		diag_warn(handle->diag, NULL, NULL,
			  "%s takes no program (%s): packets that leave by it to a Service's "
			  "backend are not evaluated",
			  name, strerror(-error));
}

static bool try_xdp(struct node_handle *handle, uint32_t ifindex)
{
	char name[IF_NAMESIZE] = "?";
	int error;

	if_indextoname(ifindex, name);
	error = xdp_add(handle, ifindex, name);
	if (error)
		diag_warn(handle->diag, NULL, NULL,
			  "uplink %s takes no XDP program (%s): a TC program guards it", name,
			  strerror(-error));
	return !error;
}

/* Attaches XDP to an uplink, or else TC. One of them must succeed. */
static int guard_uplink(struct node_handle *handle, uint32_t ifindex,
			const struct attached *attached)
{
	if (attached->xdp == NODE_XDP_NONE && try_xdp(handle, ifindex))
		return 0;
	return add_side(handle, ifindex, &outside);
}

static int renew_link(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	SCOPED_FD int program = pins_get_program(handle, side->program);
	char name[LINK_NAME_MAX];
	SCOPED_FD int link = pins_get(handle, link_name(name, ifindex, side));

	if (program < 0 || link < 0)
		return program < 0 ? program : link;
	return bpf_link_update(link, program, NULL) ? -errno : 0;
}

/* Puts a link with the pinned program before all others, and takes the old link off. The kernel
 * moves no link, and runs no program twice at a hook: the old link's program must be another one.
 */
static int advance_link(struct node_handle *handle, uint32_t ifindex,
			const struct attach_side *side)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = LINK_BEFORE);
	SCOPED_FD int program = pins_get_program(handle, side->program);
	char name[LINK_NAME_MAX];
	SCOPED_FD int old = pins_get(handle, link_name(name, ifindex, side));
	SCOPED_FD int link = -1;
	int error;

	if (program < 0 || old < 0)
		return program < 0 ? program : old;
	link = bpf_link_create(program, ifindex, side->tcx, &options);
	if (link < 0)
		return -errno;
	error = pins_put(handle, name, link);
	if (!error)
		bpf_link_detach(old);
	return error;
}

/* The kernel replaces a filter of the same handle and priority in place. */
static int renew_filter(struct node_handle *handle, uint32_t ifindex,
			const struct attach_side *side, const struct rtnl_filter *filter)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = side->point);
	LIBBPF_OPTS(bpf_tc_opts, options, .priority = filter->priority, .handle = filter->handle,
		    .flags = BPF_TC_F_REPLACE);
	SCOPED_FD int program = pins_get_program(handle, side->program);

	if (program < 0)
		return program;
	options.prog_fd = program;
	return bpf_tc_attach(&hook, &options);
}

static int renew_filters(struct node_handle *handle, uint32_t ifindex, uint32_t flags)
{
	SCOPED_FREE struct rtnl_filter *filters = NULL;
	size_t n = 0;
	int error = rtnl_filters(handle->rtnl, ifindex, &filters, &n);

	for (size_t i = 0; !error && i < n; i++) {
		const struct attach_side *side = side_at(flags, side_of(&filters[i]));
		bool ours;

		error = programs_is_ours(handle, filters[i].program, &ours);
		if (!error && ours && !is_pinned(handle, side, filters[i].program))
			error = renew_filter(handle, ifindex, side, &filters[i]);
	}
	return error;
}

static int renew_links(struct node_handle *handle, uint32_t ifindex, uint32_t flags)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(sides); i++) {
		const struct attach_side *side = side_at(flags, i);
		uint32_t program;

		error = read_link(handle, ifindex, side, &program);
		if (!error && program && !is_pinned(handle, side, program))
			error = read_before(ifindex, side, program)
					? advance_link(handle, ifindex, side)
					: renew_link(handle, ifindex, side);
	}
	return error;
}

/* Replaces the XDP program. Removes it if that fails: an old program may not know what the new
 * maps say. */
static int renew_xdp(struct node_handle *handle, uint32_t ifindex, const struct attached *attached)
{
	const struct attached taken = {.xdp = NODE_XDP_TAKEN};
	char name[IF_NAMESIZE] = "?";
	int error = xdp_renew(handle, ifindex);

	if (!error)
		return 0;
	diag_warn(handle->diag, NULL, NULL,
		  "uplink %s does not take the new XDP program (%s): a TC program guards it",
		  if_indextoname(ifindex, name) ? name : "that is gone", strerror(-error));
	error = attached->ingress ? 0 : guard_uplink(handle, ifindex, &taken);
	return error ? error : xdp_remove(handle, ifindex);
}

int attach_renew(struct node_handle *handle, uint32_t ifindex, uint32_t flags)
{
	char name[IF_NAMESIZE];
	struct attached attached;
	int error = attach_read(handle, ifindex, flags, &attached);

	if (!error && flags & BH_IFACE_UPLINK)
		xdp_tidy(handle, ifindex);
	if (error || !attached.stale)
		return error;
	rcu_expedite(handle);
	error = renew_links(handle, ifindex, flags);
	if (!error)
		error = renew_filters(handle, ifindex, flags);
	if (!error && has_xdp(&attached))
		error = renew_xdp(handle, ifindex, &attached);
	/* the interface may be gone, and its programs with it */
	if (error && !if_indextoname(ifindex, name))
		return 0;
	return error ? node_fail(handle, error, "cannot replace the programs on %s", name) : 0;
}

/* Removes our qdisc. It does not exist if a killed command claimed the qdisc and never made
 * it. */
static int remove_qdisc(struct node_handle *handle, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	bool there;
	int error = rtnl_has_clsact(handle->rtnl, ifindex, &there);

	return error || !there ? error : bpf_tc_hook_destroy(&hook);
}

static int is_claimed(const struct node_handle *handle, uint32_t ifindex, bool *claimed)
{
	struct bh_iface iface = {};
	int error = 0;

	if (handle->maps[MAP_ifaces] >= 0 &&
	    bpf_map_lookup_elem(handle->maps[MAP_ifaces], &ifindex, &iface))
		error = -errno;
	*claimed = iface.flags & BH_IFACE_QDISC;
	return error == -ENOENT ? 0 : error;
}

/* Removes our filters: with @only those of one side, and keeps the qdisc; with NULL those of both
 * sides, and our qdisc. */
static int remove_filters(struct node_handle *handle, uint32_t ifindex,
			  const struct attach_side *only)
{
	SCOPED_FREE struct rtnl_filter *filters = NULL;
	size_t n = 0, foreign = 0;
	int error = rtnl_filters(handle->rtnl, ifindex, &filters, &n);
	bool claimed = false, made = false;

	for (size_t i = 0; !error && i < n; i++) {
		const struct attach_side *side = &sides[side_of(&filters[i])];
		LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = side->point);
		LIBBPF_OPTS(bpf_tc_opts, options, .priority = filters[i].priority,
			    .handle = filters[i].handle);
		bool ours = true;

		if (only && only->parent != side->parent)
			continue;
		error = programs_is_ours(handle, filters[i].program, &ours);
		foreign += !ours;
		made |= ours && filters[i].handle == FILTER_WITH_QDISC;
		if (!error && ours)
			error = bpf_tc_detach(&hook, &options);
	}
	if (!error && !foreign && !only)
		error = is_claimed(handle, ifindex, &claimed);
	if (error || foreign || only || !(claimed || made))
		return error;
	return remove_qdisc(handle, ifindex);
}

/* Detaches the link before it removes the pin: without the pin alone, the kernel detaches it a
 * little later. */
static int remove_link(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	char name[LINK_NAME_MAX];
	SCOPED_FD int link = pins_get(handle, link_name(name, ifindex, side));

	if (link >= 0)
		bpf_link_detach(link);
	return pins_remove(handle, name);
}

int attach_remove(struct node_handle *handle, uint32_t ifindex)
{
	int error = 0;

	rcu_expedite(handle);
	for (size_t i = 0; !error && i < ARRAY_SIZE(sides); i++)
		error = remove_link(handle, ifindex, &sides[i]);
	if (error)
		return error;
	error = remove_filters(handle, ifindex, NULL);
	if (!error)
		error = xdp_remove(handle, ifindex);
	if (error && error != -ENODEV)
		return node_fail(handle, error, "cannot detach from interface %u", ifindex);
	return 0;
}

/* Detaches the filters and the XDP program that use the configuration map @mark. */
static int remove_marked(struct node_handle *handle, uint32_t ifindex, uint32_t mark)
{
	const uint32_t own = handle->mark;
	int error;

	handle->mark = mark;
	error = remove_filters(handle, ifindex, NULL);
	if (!error)
		error = xdp_remove(handle, ifindex);
	handle->mark = own;
	return error;
}

/* Removes each orphan of the interface, and reports it. */
static int remove_orphans(struct node_handle *handle, uint32_t ifindex, struct attached *attached)
{
	char name[IF_NAMESIZE] = "?";
	int error = 0;

	while (!error && attached->orphan) {
		const uint32_t mark = attached->orphan;

		error = remove_marked(handle, ifindex, mark);
		if (!error)
			error = attach_read(handle, ifindex, attached->flags, attached);
		if (!error && attached->orphan == mark)
			error = -EBUSY;
		if (!error)
			diag_warn(
				handle->diag, NULL, NULL,
				"%s had a program of Bulkhead whose pins were gone: it is removed",
				if_indextoname(ifindex, name) ? name : "?");
	}
	return error;
}

int attach_every(struct node_handle *handle,
		 int (*act)(struct node_handle *handle, uint32_t ifindex))
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(handle->rtnl, &links, &n);

	if (error)
		return node_fail(handle, error, "cannot list the interfaces");
	for (size_t i = 0; !error && i < n; i++)
		error = act(handle, links[i].ifindex);
	return error;
}

int attach_remove_orphans(struct node_handle *handle, uint32_t ifindex)
{
	struct attached attached;
	int error = attach_read(handle, ifindex, 0, &attached);

	if (!error && attached.orphan) {
		rcu_expedite(handle);
		error = remove_orphans(handle, ifindex, &attached);
	}
	if (error && error != -ENODEV)
		return node_fail(handle, error, "cannot detach from interface %u", ifindex);
	return 0;
}

static int remove_side(struct node_handle *handle, uint32_t ifindex, const struct attach_side *side)
{
	int error = remove_link(handle, ifindex, side);

	return error ? error : remove_filters(handle, ifindex, side);
}

/* Removes programs of ours that the interface's role does not have, once the role's own programs
 * are there. */
static int remove_excess(struct node_handle *handle, uint32_t ifindex, uint32_t flags)
{
	struct attached attached;
	int error = attach_read(handle, ifindex, flags, &attached);

	if (!error && flags & BH_IFACE_OTHER) {
		error = attached.ingress ? remove_side(handle, ifindex, &outside) : 0;
		return error || !has_xdp(&attached) ? error : xdp_remove(handle, ifindex);
	}
	if (error || !attached.ingress || !has_xdp(&attached) || attached.stale)
		return error;
	return flags & BH_IFACE_PORT ? xdp_remove(handle, ifindex)
				     : remove_side(handle, ifindex, &outside);
}

int attach_add(struct node_handle *handle, uint32_t ifindex, uint32_t flags)
{
	struct attached attached;
	int error = attach_read(handle, ifindex, flags, &attached);

	rcu_expedite(handle);
	if (!error)
		error = remove_orphans(handle, ifindex, &attached);
	if (!error && attached.stale)
		error = attach_renew(handle, ifindex, flags);
	if (!error && attached.stale)
		error = attach_read(handle, ifindex, flags, &attached);
	if (error)
		return error;
	if (flags & BH_IFACE_ENDPOINT && !attached.ingress)
		error = add_side(handle, ifindex, &sides[0]);
	if (!error && flags & BH_IFACE_ENDPOINT && !attached.egress)
		error = add_side(handle, ifindex, &sides[1]);
	if (!error && flags & BH_IFACE_UPLINK && !attached.egress)
		error = add_side(handle, ifindex, &leaving);
	if (!error && flags & BH_IFACE_UPLINK && !attached.ingress && !has_xdp(&attached))
		error = guard_uplink(handle, ifindex, &attached);
	if (!error && flags & (BH_IFACE_PORT | BH_IFACE_OTHER) && !attached.egress)
		guard_leaving(handle, ifindex);
	if (!error && flags & BH_IFACE_PORT && !attached.ingress)
		guard_port(handle, ifindex);
	/* Without links, our new filters stand before the old ones, which no packet reaches any
	 * more. */
	if (attached.overtaken && handle->tc == NODE_HOOK_CLSACT)
		attached.overtaken = false;
	if (error || !(attached.excess || attached.overtaken))
		return error;
	error = attached.overtaken ? remove_filters(handle, ifindex, NULL)
				   : remove_excess(handle, ifindex, flags);
	return error ? node_fail(handle, error, "cannot detach from interface %u", ifindex) : 0;
}

static int guard_by_links(struct node_handle *handle, uint32_t ifindex)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(sides); i++)
		error = add_link(handle, ifindex, &sides[i]);
	return error;
}

/* Fails if another program has a clsact qdisc on the interface. */
static int guard_by_filters(struct node_handle *handle, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int error = bpf_tc_hook_create(&hook);

	if (error)
		return error;
	for (size_t i = 0; !error && i < ARRAY_SIZE(sides); i++)
		error = put_filter(handle, ifindex, &sides[i], FILTER_WITH_QDISC);
	if (error)
		bpf_tc_hook_destroy(&hook);
	return error;
}

int attach_guard(struct node_handle *handle, uint32_t ifindex)
{
	const bool linked = has_links(ifindex, &sides[0]) || has_links(ifindex, &sides[1]);

	rcu_expedite(handle);
	if (!linked && !guard_by_filters(handle, ifindex))
		return 0;
	return guard_by_links(handle, ifindex);
}

/* The kernel reuses a replaced hash element for the next key, so no program may still read it. */
static int write_entry(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface)
{
	int error = rcu_wait(handle);

	if (error)
		return error;
	if (bpf_map_update_elem(handle->maps[MAP_ifaces], &ifindex, iface, BPF_EXIST))
		return node_fail(handle, -errno, "cannot write to %s/ifaces", handle->pin);
	handle->writes++;
	return rcu_wait(handle);
}

int attach_set_role(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface)
{
	struct attached attached;
	int error = write_entry(handle, ifindex, iface);

	if (!error && iface->flags & BH_IFACE_UPLINK) {
		/* the TC program guards the uplink already: a failure of XDP is no error */
		error = attach_read(handle, ifindex, iface->flags, &attached);
		if (!error && attached.xdp == NODE_XDP_NONE)
			try_xdp(handle, ifindex);
	}
	if (!error)
		error = attach_add(handle, ifindex, iface->flags);
	if (error || !(iface->flags & BH_IFACE_ENDPOINT))
		return error;
	/* a killed command may have left an XDP program there */
	error = xdp_remove(handle, ifindex);
	return error ? node_fail(handle, error, "cannot detach from interface %u", ifindex) : 0;
}
