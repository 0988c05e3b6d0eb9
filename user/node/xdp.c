// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <xdp/libxdp.h>
#include <xxhash.h>

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

#define MAX_DISPATCHED 10

enum which { OURS, STALE };

static bool is(const struct host *host, const struct xdp_program *program, enum which which)
{
	return program && programs_is_ours(host, xdp_program__id(program)) &&
	       (which == OURS || !programs_is_current(host, xdp_program__fd(program)));
}

/* Ours among the programs of an interface, be there one or a dispatcher's many; NULL: not there. */
static struct xdp_program *find(const struct host *host, const struct xdp_multiprog *multiprog,
				enum which which)
{
	struct xdp_program *program;

	if (xdp_multiprog__is_legacy(multiprog)) {
		program = xdp_multiprog__main_prog(multiprog);
		return is(host, program, which) ? program : NULL;
	}
	for (program = xdp_multiprog__next_prog(NULL, multiprog); program;
	     program = xdp_multiprog__next_prog(program, multiprog))
		if (is(host, program, which))
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
	if (!find(host, multiprog, OURS))
		attached->xdp =
			xdp_multiprog__is_legacy(multiprog) ? NODE_XDP_TAKEN : NODE_XDP_NONE;
	else if (xdp_multiprog__attach_mode(multiprog) == XDP_MODE_SKB)
		attached->xdp = NODE_XDP_GENERIC;
	else
		attached->xdp = NODE_XDP_NATIVE;
	attached->stale |= !!find(host, multiprog, STALE);
}

/* An open program on the pinned maps; NULL: errno is set. */
static struct bh_xdp *open_program(struct host *host)
{
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = bh_xdp__open();
	int error;

	if (!skeleton)
		return NULL;
	error = programs_share_maps(host, skeleton->obj);
	if (!error)
		error = settings_copy(host, skeleton);
	if (error) {
		errno = -error;
		return NULL;
	}
	skeleton->rodata->build = programs_build();
	return TAKE_PTR(skeleton);
}

/* A program that failed to attach has been loaded for that one try, so each has its own. */
static int try_mode(struct host *host, uint32_t ifindex, enum xdp_attach_mode mode)
{
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = open_program(host);
	DECLARE_LIBXDP_OPTS(xdp_program_opts, options);
	CLEANUP(program_close) struct xdp_program *program = NULL;
	int error;

	if (!skeleton)
		return -errno;
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

static int remove_all(const struct host *host, uint32_t ifindex, enum which which)
{
	int error = 0;

	/* A dispatcher is another one after each; it holds so many at most. */
	for (int i = 0; !error && i < MAX_DISPATCHED; i++) {
		CLEANUP(multiprog_close)
		struct xdp_multiprog *multiprog = xdp_multiprog__get_from_ifindex(ifindex);
		struct xdp_program *program =
			libxdp_get_error(multiprog) ? NULL : find(host, multiprog, which);

		if (!program)
			return 0;
		error = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(multiprog),
					    0);
	}
	return error;
}

int xdp_remove(const struct host *host, uint32_t ifindex)
{
	return remove_all(host, ifindex, OURS);
}

/* Where there is no dispatcher, libxdp replaces nothing. */
static int replace_single(struct host *host, uint32_t ifindex, const struct xdp_program *old,
			  enum xdp_attach_mode mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = xdp_program__fd(old));
	CLEANUP(skeleton_free) struct bh_xdp *skeleton = open_program(host);
	int error = skeleton ? bh_xdp__load(skeleton) : -errno;

	if (error)
		return error;
	return bpf_xdp_attach(ifindex, bpf_program__fd(skeleton->progs.xdp_uplink),
			      mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE,
			      &options);
}

int xdp_renew(struct host *host, uint32_t ifindex)
{
	CLEANUP(multiprog_close)
	struct xdp_multiprog *multiprog = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *old = libxdp_get_error(multiprog) ? NULL : find(host, multiprog, STALE);
	enum xdp_attach_mode mode;
	int error;

	if (!old)
		return 0;
	mode = xdp_multiprog__attach_mode(multiprog);
	if (xdp_multiprog__is_legacy(multiprog))
		return replace_single(host, ifindex, old, mode);
	error = try_mode(host, ifindex, mode);
	return error ? error : remove_all(host, ifindex, STALE);
}

uint64_t xdp_build(uint64_t hash)
{
	size_t size;
	const void *bytes = bh_xdp__elf_bytes(&size);

	return XXH3_64bits_withSeed(bytes, size, hash);
}
