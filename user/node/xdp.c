// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "node/programs.h"
#include "node/settings.h"
#include "node/xdp.h"
#include "xdp.skel.h"

static void multiprog_close(struct xdp_multiprog **multiprog)
{
	if (!libxdp_get_error(*multiprog))
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

/* Ours among the programs of an interface, be there one or a dispatcher's many; NULL: not there. */
static struct xdp_program *find(const struct host *host, const struct xdp_multiprog *multiprog)
{
	struct xdp_program *program;

	if (xdp_multiprog__is_legacy(multiprog)) {
		program = xdp_multiprog__main_prog(multiprog);
		return program && programs_is_ours(host, xdp_program__id(program)) ? program : NULL;
	}
	for (program = xdp_multiprog__next_prog(NULL, multiprog); program;
	     program = xdp_multiprog__next_prog(program, multiprog))
		if (programs_is_ours(host, xdp_program__id(program)))
			return program;
	return NULL;
}

void xdp_read(const struct host *host, uint32_t ifindex, struct attached *attached)
{
	CLEANUP(multiprog_close)
	struct xdp_multiprog *multiprog = xdp_multiprog__get_from_ifindex(ifindex);

	attached->xdp = NODE_XDP_NONE;
	if (libxdp_get_error(multiprog))
		return;
	attached->dispatched = !xdp_multiprog__is_legacy(multiprog);
	if (!find(host, multiprog))
		attached->xdp =
			xdp_multiprog__is_legacy(multiprog) ? NODE_XDP_TAKEN : NODE_XDP_NONE;
	else if (xdp_multiprog__attach_mode(multiprog) == XDP_MODE_SKB)
		attached->xdp = NODE_XDP_GENERIC;
	else
		attached->xdp = NODE_XDP_NATIVE;
}

/* A program that failed to attach has been loaded for that one try, so each has its own. */
static int try_mode(struct host *host, uint32_t ifindex, enum xdp_attach_mode mode)
{
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = bh_xdp__open();
	DECLARE_LIBXDP_OPTS(xdp_program_opts, options);
	CLEANUP(program_close) struct xdp_program *program = NULL;
	int error;

	if (!skeleton)
		return -errno;
	error = programs_share_maps(host, skeleton->obj);
	if (!error)
		error = settings_copy(host, skeleton);
	if (error)
		return error;
	options.obj = skeleton->obj;
	options.prog_name = bpf_program__name(skeleton->progs.xdp_uplink);
	program = xdp_program__create(&options);
	error = libxdp_get_error(program);
	/* libxdp does not look at the program's section. Without it, drivers refuse the program where
	 * frames may be longer than a page. */
	if (!error)
		error = xdp_program__set_xdp_frags_support(program, true);
	return error ? error : xdp_program__attach(program, ifindex, mode, 0);
}

static void say(const struct host *host, uint32_t ifindex, const char *name, int native)
{
	struct attached attached = {};

	xdp_read(host, ifindex, &attached);
	diag_note(host->diag, NULL, NULL, "uplink %s: XDP, %s%s%s, %s", name,
		  attached.xdp == NODE_XDP_NATIVE ? "native" : "generic",
		  native ? " since native was refused: " : "", native ? strerror(-native) : "",
		  attached.dispatched ? "by libxdp's dispatcher"
				      : "a single program since libxdp cannot dispatch here");
}

int xdp_add(struct host *host, uint32_t ifindex, const char *name)
{
	int native = try_mode(host, ifindex, XDP_MODE_NATIVE);
	int error = native ? try_mode(host, ifindex, XDP_MODE_SKB) : 0;

	if (!error)
		say(host, ifindex, name, native);
	return error;
}

int xdp_remove(const struct host *host, uint32_t ifindex)
{
	CLEANUP(multiprog_close)
	struct xdp_multiprog *multiprog = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *program = libxdp_get_error(multiprog) ? NULL : find(host, multiprog);

	if (!program)
		return 0;
	return xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(multiprog), 0);
}
