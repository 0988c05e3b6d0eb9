/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container runtimes' plugin (CNI 0.4.0, 1.0.0, 1.1.0), chained behind the one that makes a
 * pod's interface: guards that before the pod runs, finds out who the pod is, and passes the result
 * of the plugin before on as it is. What was attached is remembered in a folder, a file each.
 */
#ifndef BULKHEAD_CNI_CNI_H
#define BULKHEAD_CNI_CNI_H

#include <stdbool.h>
#include <stdint.h>

#include "model/diag.h"

#define CNI_NAME "bulkhead-cni" /* of the program, as a configuration has it in `type` */
#define CNI_CONF_FOLDER "/etc/cni/net.d"
#define CNI_RECORDS "/run/bulkhead/endpoints.d"
#define CNI_STATE "/run/bulkhead/cni"

/* Whether a container runtime called this process: by the plugin's name, or with CNI_COMMAND and
 * without arguments. */
bool cni_is_called(int argc, char **argv);

/* Does what it was called for, by the environment and standard input. Returns the exit status. */
int cni_main(void);

/*
 * Puts the plugin last into a network's list of plugins, or takes it out, in one step, and makes or
 * removes the link by which runtimes find it. *path, to be freed: the list's; *changed: whether
 * there was anything to be done. Returns 0, -EINVAL or another -errno, reported.
 */
struct cni_install {
	const char *path; /* of the list; NULL: the first *.conflist of the folder, by name */
	const char *folder; /* NULL: CNI_CONF_FOLDER */
	const char *program, *bin; /* the link's target, and the folder that it is in */
	const char *pin; /* NULL: not said */
	const char *trust; /* JSON; NULL: not said */
	bool admit; /* unknown = admit */
};
int cni_install(const struct cni_install *install, struct diag *diag, char **path, bool *changed);
int cni_uninstall(const struct cni_install *install, struct diag *diag, char **path, bool *changed);

/* Names the pods that came in unknown, and that a record or the policy in force knows by now. */
struct cni_refresh {
	const char *records, *state, *pin; /* NULL: the default */
};
int cni_refresh(const struct cni_refresh *options, struct diag *diag, uint32_t *named);

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_GC, CNI_STATUS, CNI_VERSION, CNI_COMMANDS };
extern const char *const cni_command_names[CNI_COMMANDS];

/* How a pod's identity was found. */
enum cni_source {
	CNI_UNKNOWN,
	CNI_POLICY,
	CNI_RECORD,
	CNI_ANNOTATION,
	CNI_ARGUMENT,
	CNI_ADMITTED,
	CNI_SOURCES
};
extern const char *const cni_source_names[CNI_SOURCES];

/* What the plugin has done since the node started. */
struct cni_counts {
	struct {
		uint64_t done, failed, microseconds;
	} calls[CNI_COMMANDS];
	uint64_t attached[CNI_SOURCES]; /* now, by source */
};
/* @state: NULL: CNI_STATE. False: the plugin was never called. */
bool cni_count(const char *state, struct cni_counts *counts);

#endif
