// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "build_id.h"
#include "node/kernel/dispatch.h"
#include "node/kernel/orphans.h"
#include "node/kernel/programs.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/settings.h"
#include "node/kernel/xdp_attach.h"
#include "xdp.skel.h"

static void multiprog_close(struct xdp_multiprog **multiprog)
{
	xdp_multiprog__close(*multiprog);
}

static void skeleton_free(struct bh_xdp **skeleton)
{
	bh_xdp__destroy(*skeleton);
}

static void program_close(struct xdp_program **program)
{
	if (!libxdp_get_error(*program))
		xdp_program__close(*program);
}

#define MAX_DISPATCHED 10

enum which { OURS, STALE, CURRENT };

/* Returns true if libxdp has read all programs of the interface. If the kernel had no memory to
 * describe a program, libxdp lists the program without an ID, or not at all, and takes a dispatcher
 * that it could not read for a single program. */
static bool is_whole(const struct xdp_multiprog *multiprog, uint32_t ifindex)
{
	const struct xdp_program *program = xdp_multiprog__main_prog(multiprog);

	if (!program)
		return xdp_multiprog__hw_prog(multiprog);
	if (!xdp_program__id(program))
		return false;
	return !xdp_multiprog__is_legacy(multiprog) ||
	       !dispatch_is_pinned(ifindex, xdp_program__id(program));
}

/* Reads the interface's programs. NULL: there is none. libxdp makes the kernel list every
 * interface, so libxdp is asked only if the interface has a program. */
static int open_multiprog(const struct node_handle *handle, uint32_t ifindex,
			  struct xdp_multiprog **multiprog)
{
	struct xdp_multiprog *there;
	struct link link;
	int error = rtnl_link(handle->rtnl, NULL, ifindex, &link);

	*multiprog = NULL;
	if (error || !link.xdp)
		return error;
	there = xdp_multiprog__get_from_ifindex(ifindex);
	error = libxdp_get_error(there);
	if (error)
		return error == -ENOENT ? 0 : error;
	if (!is_whole(there, ifindex)) {
		xdp_multiprog__close(there);
		return -EIO;
	}
	*multiprog = there;
	return 0;
}

static int is(struct node_handle *handle, const struct xdp_program *program, enum which which,
	      bool *it_is)
{
	const uint32_t id = xdp_program__id(program);
	int error = id ? programs_is_ours(handle, id, it_is) : -EIO;
	struct program read;

	if (error || !*it_is || which == OURS)
		return error;
	error = program_read(xdp_program__fd(program), &read);
	*it_is = !error && programs_is_current(handle, &read) == (which == CURRENT);
	return error;
}

static struct xdp_program *next(const struct xdp_multiprog *multiprog, struct xdp_program *program)
{
	if (!xdp_multiprog__is_legacy(multiprog))
		return xdp_multiprog__next_prog(program, multiprog);
	return program ? NULL : xdp_multiprog__main_prog(multiprog);
}

/* Finds our program among those of an interface, which may be a single one or a dispatcher's;
 * NULL: it is not there. */
static int find(struct node_handle *handle, const struct xdp_multiprog *multiprog, enum which which,
		struct xdp_program **found)
{
	struct xdp_program *program = next(multiprog, NULL);
	bool it_is = false;
	int error = 0;

	while (!error && !it_is && program) {
		error = is(handle, program, which, &it_is);
		if (!it_is)
			program = next(multiprog, program);
	}
	*found = error ? NULL : program;
	return error;
}

static enum node_xdp describe(const struct xdp_multiprog *multiprog, bool ours)
{
	if (!ours)
		return xdp_multiprog__is_legacy(multiprog) ? NODE_XDP_TAKEN : NODE_XDP_NONE;
	return xdp_multiprog__attach_mode(multiprog) == XDP_MODE_SKB ? NODE_XDP_GENERIC
								     : NODE_XDP_NATIVE;
}

int xdp_read(struct node_handle *handle, uint32_t ifindex, struct attached *attached)
{
	CLEANUP(multiprog_close) struct xdp_multiprog *multiprog = NULL;
	struct xdp_program *ours = NULL, *stale = NULL;
	int error = open_multiprog(handle, ifindex, &multiprog);

	attached->xdp = NODE_XDP_NONE;
	if (error || !multiprog)
		return error;
	error = find(handle, multiprog, OURS, &ours);
	if (!error && ours)
		error = find(handle, multiprog, STALE, &stale);
	if (error)
		return error;
	for (struct xdp_program *other = next(multiprog, NULL); other && !attached->orphan;
	     other = next(multiprog, other)) {
		bool is_ours = false;

		if (!is(handle, other, OURS, &is_ours) && !is_ours)
			attached->orphan = orphan_mark(handle, xdp_program__id(other));
	}
	attached->dispatched = !xdp_multiprog__is_legacy(multiprog);
	attached->xdp = describe(multiprog, ours);
	attached->stale |= !!stale;
	return 0;
}

/* Opens the program with the pinned maps. NULL: errno is set. */
static struct bh_xdp *open_program(struct node_handle *handle)
{
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = bh_xdp__open();
	int error;

	if (!skeleton)
		return NULL;
	error = programs_share_maps(handle, skeleton->obj);
	if (!error)
		error = settings_copy(handle, skeleton);
	if (error) {
		errno = -error;
		return NULL;
	}
	skeleton->rodata->build = BUILD_ID;
	return TAKE_PTR(skeleton);
}

/* Loads the program for one attempt to attach: a program that failed to attach cannot be used
 * again. */
static int try_mode(struct node_handle *handle, uint32_t ifindex, enum xdp_attach_mode mode)
{
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = open_program(handle);
	DECLARE_LIBXDP_OPTS(xdp_program_opts, options);
	CLEANUP(program_close) struct xdp_program *program = NULL;
	int error;

	if (!skeleton)
		return -errno;
	options.obj = skeleton->obj;
	options.prog_name = bpf_program__name(skeleton->progs.xdp_uplink);
	program = xdp_program__create(&options);
	error = libxdp_get_error(program);
	/* libxdp ignores the program's section. Without the flag, drivers refuse the program
	 * if frames may be longer than a page. */
	if (!error)
		error = xdp_program__set_xdp_frags_support(program, true);
	return error ? error : xdp_program__attach(program, ifindex, mode, 0);
}

static void say(struct node_handle *handle, uint32_t ifindex, const char *name, int native)
{
	struct attached attached = {};

	xdp_read(handle, ifindex, &attached);
	diag_note(handle->diag, NULL, NULL, "uplink %s: XDP, %s%s%s, %s", name,
		  attached.xdp == NODE_XDP_NATIVE ? "native" : "generic",
		  native ? " since native was refused: " : "", native ? strerror(-native) : "",
		  attached.dispatched ? "by libxdp's dispatcher"
				      : "a single program since libxdp cannot dispatch here");
}

void xdp_tidy(struct node_handle *handle, uint32_t ifindex)
{
	CLEANUP(multiprog_close) struct xdp_multiprog *running = NULL;

	if (dispatch_may_remain(ifindex) && !open_multiprog(handle, ifindex, &running))
		dispatch_tidy(handle, ifindex, running);
}

int xdp_add(struct node_handle *handle, uint32_t ifindex, const char *name)
{
	int native = try_mode(handle, ifindex, XDP_MODE_NATIVE);
	int error = native ? try_mode(handle, ifindex, XDP_MODE_SKB) : 0;

	if (!error)
		say(handle, ifindex, name, native);
	return error;
}

static int remove_all(struct node_handle *handle, uint32_t ifindex, enum which which)
{
	int error = 0;

	/* each removal makes a new dispatcher; a dispatcher holds at most so many programs */
	for (int i = 0; !error && i < MAX_DISPATCHED; i++) {
		CLEANUP(multiprog_close) struct xdp_multiprog *multiprog = NULL;
		struct xdp_program *program = NULL;

		error = open_multiprog(handle, ifindex, &multiprog);
		if (!error && multiprog)
			error = find(handle, multiprog, which, &program);
		if (error || !program)
			return error;
		error = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(multiprog),
					    0);
	}
	return error;
}

int xdp_remove(struct node_handle *handle, uint32_t ifindex)
{
	int error = remove_all(handle, ifindex, OURS);

	xdp_tidy(handle, ifindex);
	return error;
}

/* Replaces a program that runs without a dispatcher: libxdp cannot. */
static int replace_single(struct node_handle *handle, uint32_t ifindex,
			  const struct xdp_program *old, enum xdp_attach_mode mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = xdp_program__fd(old));
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = open_program(handle);
	int error = skeleton ? bh_xdp__load(skeleton) : -errno;

	if (error)
		return error;
	return bpf_xdp_attach(ifindex, bpf_program__fd(skeleton->progs.xdp_uplink),
			      mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE,
			      &options);
}

int xdp_renew(struct node_handle *handle, uint32_t ifindex)
{
	CLEANUP(multiprog_close) struct xdp_multiprog *multiprog = NULL;
	struct xdp_program *old = NULL, *current = NULL;
	enum xdp_attach_mode mode;
	int error = open_multiprog(handle, ifindex, &multiprog);

	if (!error && multiprog)
		error = find(handle, multiprog, STALE, &old);
	if (error || !old)
		return error;
	mode = xdp_multiprog__attach_mode(multiprog);
	if (xdp_multiprog__is_legacy(multiprog))
		return replace_single(handle, ifindex, old, mode);
	/* a command that was killed between the two steps left both programs */
	error = find(handle, multiprog, CURRENT, &current);
	if (!error && !current)
		error = try_mode(handle, ifindex, mode);
	return error ? error : remove_all(handle, ifindex, STALE);
}
