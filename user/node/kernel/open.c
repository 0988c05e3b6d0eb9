// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "node/kernel/maps.h"
#include "node/kernel/pins.h"
#include "node/kernel/rights.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/store.h"

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

int node_new(const struct node_options *options, struct diag *diag, struct node_handle **host)
{
	struct node_handle *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->options = options;
	new->diag = diag;
	new->pin = options->pin ? options->pin : NODE_PIN;
	new->lock = -1;
	memset(new->maps, -1, sizeof(new->maps));
	*host = new;
	/* Silences libbpf: its messages answer questions that this command asks, or are in the
	 * error that it returns. */
	libbpf_set_print(debug ? print_libbpf : NULL);
	libxdp_set_print(debug ? print_libxdp : NULL);
	new->rtnl = rtnl_open();
	return new->rtnl ? 0 : node_fail(new, -errno, "cannot open rtnetlink");
}

void node_close(struct node_handle *host)
{
	if (!host)
		return;
	pins_close(host);
	policy_free(host->policy);
	store_free(host->store);
	rtnl_close(&host->rtnl);
	cleanup_fd(&host->lock);
	if (host->seen)
		image_free(host->seen);
	free(host->seen);
	free(host);
}

void cleanup_host(struct node_handle **host)
{
	node_close(*host);
}

/* A policy is stored after the configuration exists, and removed before it goes. */
static int check_config(const struct node_handle *host)
{
	if (host->config || !store_is_there(host))
		return 0;
	return node_fail(host, -ENOENT, "cannot open %s/config: to start anew, unload and load",
			 host->pin);
}

int node_find(struct node_handle *host)
{
	int error = pins_open_config(host);

	if (!error)
		error = check_config(host);
	if (!error)
		error = pins_open_maps(host);
	return error ? error : store_find(host);
}

int node_open(const struct node_options *options, bool create, struct diag *diag,
	      struct node_handle **host)
{
	SCOPED_HOST struct node_handle *new = NULL;
	int error = node_new(options, diag, &new);

	if (!error && create)
		error = rights_to_change(new);
	if (!error)
		error = pins_lock(new, create && !options->rehearse);
	if (!error && new->lock >= 0)
		error = node_find(new);
	if (error)
		return error;
	*host = new->lock >= 0 || options->rehearse ? TAKE_PTR(new) : NULL;
	return 0;
}

int node_policy(struct node_handle *host, const struct policy **policy)
{
	int error = store_read(host);

	*policy = error ? NULL : host->policy;
	return error;
}

const struct policy *node_policy_head(const struct node_handle *host)
{
	return host->policy;
}

uint64_t node_map_writes(const struct node_handle *host)
{
	return host->writes;
}
