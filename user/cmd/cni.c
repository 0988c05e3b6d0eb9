// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead cni`: puts the container runtimes' plugin into a network's list, or takes it out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cni/cni.h"
#include "cni/copy.h"
#include "node/node.h"

struct cni_request {
	struct cni_install install;
	struct cni_refresh refresh;
	bool all; /* uninstall from all networks */
	const char *root; /* where the host's root is mounted; NULL: this is the host */
	char program[PATH_MAX];
	char folder[PATH_MAX], bin[PATH_MAX]; /* with `root`: the host's folders */
};

static const char *choose_bin(void)
{
	return access("/opt/cni/bin", F_OK) ? "/usr/lib/cni" : "/opt/cni/bin";
}

static void take_unknown(struct call *call, void *to)
{
	bool *admit = to;

	*admit = !strcmp(call->value, "admit");
	if (!*admit && strcmp(call->value, "isolate"))
		call_value_error(call, "neither isolate nor admit");
}

static void take_trust(struct call *call, void *to)
{
	const char **trust = to;

	if (!strcmp(call->value, "annotations"))
		*trust = "[\"annotations\"]";
	else if (!strcmp(call->value, "args"))
		*trust = "[\"args\"]";
	else if (!strcmp(call->value, "both"))
		*trust = "[\"annotations\", \"args\"]";
	else
		call_value_error(call, "not one of annotations, args and both");
}

static const struct command_option options[] = {
	{0, "conf-dir", "DIR", "install, uninstall: where networks are, else " CNI_CONF_FOLDER,
	 OPTION_TEXT(struct cni_request, install.folder)},
	{0, "bin-dir", "DIR",
	 "install, uninstall: the folder of the runtimes' plugins, else /opt/cni/bin or "
	 "/usr/lib/cni",
	 OPTION_TEXT(struct cni_request, install.bin)},
	{0, "root", "DIR",
	 "install, uninstall, from the container image: the host's root is mounted at DIR; the "
	 "command and its libraries are copied there",
	 OPTION_TEXT(struct cni_request, root)},
	{0, "all", NULL,
	 "uninstall: from each network of the folder, if the plugin there is this program",
	 OPTION_FLAG(struct cni_request, all)},
	{0, "unknown", "isolate|admit",
	 "install: a pod without a record is isolated, or has its namespace and no labels",
	 OPTION_TAKE(struct cni_request, install.admit, take_unknown)},
	{0, "trust", "annotations|args|both", "install: which data from the runtime may name a pod",
	 OPTION_TAKE(struct cni_request, install.trust, take_trust)},
	{0, "records", "DIR", "refresh: the folder of records, else " CNI_RECORDS,
	 OPTION_TEXT(struct cni_request, refresh.records)},
	{0, "state", "DIR", "refresh: the plugin's folder, else " CNI_STATE,
	 OPTION_TEXT(struct cni_request, refresh.state)},
	PIN_OPTION(struct cni_request, install.pin),
	{0},
};

static void report(const struct call *call, const char *path, const char *did, bool changed)
{
	struct emit emit = emit_begin(call);

	emit_say(&emit, "%s%s %s\n", path, changed ? "" : " already", did);
	emit_object(&emit, NULL);
	emit_text(&emit, "conflist", path);
	emit_bool(&emit, "changed", changed);
	emit_end(&emit);
}

/* Sets the host's folders, and the path of the program on the host. Copies the program to the host,
 * unless @uninstall. */
static int install_on_host(struct cni_request *request, bool uninstall, struct diag *diag)
{
	struct cni_install *to = &request->install;

	if (snprintf(request->folder, PATH_MAX, "%s%s", request->root, CNI_CONF_FOLDER) >=
		    PATH_MAX ||
	    snprintf(request->bin, PATH_MAX, "%s/opt/cni/bin", request->root) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!to->folder)
		to->folder = request->folder;
	if (!to->bin)
		to->bin = request->bin;
	strcpy(request->program, CNI_IMAGE_PROGRAM);
	return uninstall ? 0 : cni_copy_image(request->root, diag);
}

/* Removes the command and libraries that were copied to the host, once no network has the
 * plugin. */
static int remove_from_host(const struct cni_request *request, struct diag *diag)
{
	char plugin[PATH_MAX];

	if (snprintf(plugin, sizeof(plugin), "%s/" CNI_NAME, request->install.bin) >=
	    (int)sizeof(plugin))
		return -ENAMETOOLONG;
	return faccessat(AT_FDCWD, plugin, F_OK, AT_SYMLINK_NOFOLLOW)
		       ? cni_remove_image(request->root, diag)
		       : 0;
}

static int install_here(struct cni_request *request)
{
	ssize_t n = readlink("/proc/self/exe", request->program, sizeof(request->program) - 1);

	if (n < 0)
		return -errno;
	if (!request->install.bin)
		request->install.bin = choose_bin();
	return 0;
}

static int install(struct call *call, struct cni_request *request, struct diag *diag)
{
	const bool uninstall = !strcmp(call->operands[0], "uninstall");
	struct cni_install *to = &request->install;
	bool changed;
	char *path = NULL;
	int error =
		request->root ? install_on_host(request, uninstall, diag) : install_here(request);

	if (error)
		return error;
	to->program = request->program;
	to->path = call->n_operands > 1 ? call->operands[1] : NULL;
	if (request->all) {
		error = cni_uninstall_all(to, diag, &changed);
		if (!error)
			report(call, to->folder ? to->folder : CNI_CONF_FOLDER,
			       "is without the plugin", changed);
		return error;
	}
	error = uninstall ? cni_uninstall(to, diag, &path, &changed)
			  : cni_install(to, diag, &path, &changed);
	if (!error && uninstall && request->root)
		error = remove_from_host(request, diag);
	if (!error)
		report(call, path, uninstall ? "is without the plugin" : "has the plugin", changed);
	free(path);
	return error;
}

static int refresh(const struct call *call, const struct cni_request *request, struct diag *diag)
{
	struct emit emit = emit_begin(call);
	uint32_t named, again;
	int error = cni_again(&request->refresh, diag, &again);

	if (!error)
		error = cni_refresh(&request->refresh, diag, &named);
	if (error)
		return error;
	if (again)
		emit_say(&emit, "%u pods are active again\n", again);
	emit_say(&emit, "%u pods have a name now\n", named);
	emit_object(&emit, NULL);
	emit_number(&emit, "named", named);
	emit_number(&emit, "again", again);
	emit_end(&emit);
	return 0;
}

static int run(struct call *call)
{
	struct diag diag = command_diag();
	struct cni_request request = {};
	const char *verb;

	call_options(call, &request);
	request.refresh.pin = request.install.pin;
	verb = call->n_operands ? call->operands[0] : "";
	if (!strcmp(verb, "refresh") && call->n_operands == 1)
		return status_of(refresh(call, &request, &diag));
	if ((strcmp(verb, "install") && strcmp(verb, "uninstall")) || call->n_operands > 2)
		call_usage_error(call, "needs install, uninstall or refresh");
	if (request.all && (strcmp(verb, "uninstall") || call->n_operands > 1 || request.root))
		call_usage_error(call, "--all is for uninstall, without CONFLIST and --root");
	return status_of(install(call, &request, &diag));
}

const struct command command_cni = {
	.name = "cni",
	.operands = "install|uninstall|refresh [CONFLIST]",
	.help = "put the container runtimes' plugin into a network: pods are under policy from "
		"their first packet",
	.words = "install uninstall refresh",
	.options = options,
	.run = run,
};
