// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "policy/lazy_policy.h"
#include "node/kernel/maps.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/rcu.h"
#include "node/kernel/rights.h"
#include "node/kernel/rtnl.h"

static bool debug;

static int print_libxdp(enum libxdp_print_level level, const char *format, va_list args)
{
	(void)level;
	return vfprintf(stderr, format, args);
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	return vfprintf(stderr, format, args);
}

void node_debug(void)
{
	debug = true;
}

bool node_debugs(void)
{
	return debug;
}

int node_new(const struct node_options *options, struct diag *diag, struct node_handle **handle)
{
	struct node_handle *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->options = options;
	new->diag = diag;
	new->pin = options->pin ? options->pin : NODE_PIN;
	new->lock = -1;
	new->rcu = RCU_NONE;
	memset(new->maps, -1, sizeof(new->maps));
	*handle = new;
	/* Silences libbpf: its messages answer questions that this command asks, or are in the
	 * error that it returns. */
	libbpf_set_print(debug ? print_libbpf : NULL);
	libxdp_set_print(debug ? print_libxdp : NULL);
	new->rtnl = rtnl_open();
	return new->rtnl ? 0 : node_fail(new, -errno, "cannot open rtnetlink");
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void node_effect_free(struct node_effect *effect)
{
	if (!effect)
		return;
	free_names(effect->added, effect->n_added);
	free_names(effect->deleted, effect->n_deleted);
	free_names(effect->audits, effect->n_audits);
	for (size_t i = 0; i < effect->n_opened; i++)
		free(effect->opened[i].name);
	free(effect->opened);
	free(effect);
}

void node_close(struct node_handle *handle)
{
	if (!handle)
		return;
	if (handle->lock >= 0 || handle->rcu.tried)
		rcu_restore(handle);
	/* an empty folder is what a refused first load leaves; with pins in it, this fails */
	if (handle->made_folder && handle->lock >= 0)
		rmdir(handle->pin);
	pins_close(handle);
	lazy_policy_free(handle->policy);
	pinned_free(handle->pinned);
	rtnl_close(&handle->rtnl);
	cleanup_fd(&handle->lock);
	if (handle->seen)
		image_free(handle->seen);
	free(handle->seen);
	node_effect_free(handle->effect);
	free(handle);
}

void cleanup_handle(struct node_handle **handle)
{
	node_close(*handle);
}

int node_find_config(struct node_handle *handle)
{
	int error = pins_open_config(handle);

	/* a command pins the configuration first and removes it last */
	if (error || handle->config || !pinned_is_there(handle))
		return error;
	return node_fail_pinned(handle, -ENOENT, "cannot open %s/config", handle->pin);
}

static int find_maps(struct node_handle *handle)
{
	int error = node_find_config(handle);

	return error ? error : pins_open_maps(handle);
}

int node_find(struct node_handle *handle)
{
	int error = find_maps(handle);

	return error ? error : pinned_find(handle);
}

static int open_locked(const struct node_options *options, bool create, struct diag *diag,
		       int (*find)(struct node_handle *handle), struct node_handle **handle)
{
	SCOPED_HANDLE struct node_handle *new = NULL;
	int error = node_new(options, diag, &new);

	if (!error && create)
		error = rights_to_change(new);
	if (!error)
		error = pins_lock(new, create && !options->dry_run);
	if (!error && new->lock >= 0)
		error = find(new);
	if (error)
		return error;
	*handle = new->lock >= 0 || options->dry_run ? TAKE_PTR(new) : NULL;
	return 0;
}

int node_open(const struct node_options *options, bool create, struct diag *diag,
	      struct node_handle **handle)
{
	return open_locked(options, create, diag, node_find, handle);
}

int node_read_heads(const struct node_options *options, struct diag *diag, struct node_heads *heads)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int error = open_locked(options, false, diag, find_maps, &handle);

	*heads = (struct node_heads){};
	return error || !handle ? error : pinned_read_heads(handle, heads);
}

int node_policy(struct node_handle *handle, const struct policy **policy)
{
	int error = pinned_read(handle);

	*policy = error ? NULL : policy_plain(pinned_whole(handle));
	return error;
}

const struct lazy_policy *node_policy_head(const struct node_handle *handle)
{
	return lazy_plain(handle->policy);
}

bool node_audits(const struct node_handle *handle)
{
	return handle->blob.flags & BH_BLOB_AUDIT;
}

uint64_t node_map_writes(const struct node_handle *handle)
{
	return handle->writes;
}

bool node_is_loaded(const struct node_handle *handle)
{
	return handle && handle->policy;
}
