/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container runtimes' plugin (CNI 0.3.0 to 1.1.0). It is chained behind the plugin that makes
 * a pod's interface: it guards the interface before the pod runs, finds out who the pod
 * is, and passes the other plugin's result on unchanged. It keeps a record of each attached
 * interface in a folder.
 */
#ifndef BULKHEAD_CNI_CNI_H
#define BULKHEAD_CNI_CNI_H

#include <stdbool.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/diag.h"

struct node_attached;

#define CNI_NAME "bulkhead-cni" /* the program's name, and `type` in a configuration */
#define CNI_CONF_FOLDER "/etc/cni/net.d"
#define CNI_RECORDS "/run/bulkhead/endpoints.d"
#define CNI_STATE "/run/bulkhead/cni"

/* Returns true if a container runtime called this process: by the plugin's name, or with
 * CNI_COMMAND and without arguments. */
bool cni_is_called(int argc, char **argv);

/* Runs the command that the environment and standard input give. Returns the exit status. */
int cni_main(void);

/*
 * Puts the plugin last into a network's list of plugins, or removes it from there, in one step.
 * Makes or removes the link by which runtimes find the program. *path, to be freed, is the list's
 * path; *changed: the list or the link was changed. Returns 0, -EINVAL or another -errno, reported.
 */
struct cni_install {
	const char *path; /* path of the list; NULL: the first *.conflist of the folder, by name */
	const char *folder; /* NULL: CNI_CONF_FOLDER */
	const char *program, *bin; /* target of the link, and the folder of the link */
	const char *pin; /* NULL: not given */
	const char *trust; /* JSON; NULL: not given */
	bool admit; /* unknown = admit */
};
int cni_install(const struct cni_install *install, struct diag *diag, char **path, bool *changed);
int cni_uninstall(const struct cni_install *install, struct diag *diag, char **path, bool *changed);
/* Removes the plugin from all lists of the folder. Changes nothing if runtimes do not find
 * install->program by the link: the plugin is another copy's then. */
int cni_uninstall_all(const struct cni_install *install, struct diag *diag, bool *changed);

/* Names the pods that were attached without a name, if a record or the active policy knows them
 * by now. Does not open the pin folder if no such pod is attached. */
struct cni_refresh {
	const char *records, *state, *pin; /* NULL: the default */
	const char *ns, *name; /* NULL: all pods; else this one */
};
int cni_refresh(const struct cni_refresh *options, struct diag *diag, uint32_t *named);

/* Puts the pods active that are attached, and are not active while their interfaces are there: the
 * policy was unloaded meanwhile, or the pins were lost. *n: so many pods; NULL: says it in a note.
 */
int cni_again(const struct cni_refresh *options, struct diag *diag, uint32_t *n);

/* Returns true if an interface of the pod is attached. @state NULL: CNI_STATE. */
bool cni_has_attached(const char *state, const char *ns, const char *name);

/* Returns the addresses of the pods that are attached and whose interfaces are there, to be freed;
 * NULL: there are none. Skips damaged records. @state NULL: CNI_STATE. */
struct node_attached *cni_attached(const char *state, size_t *n);

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_GC, CNI_STATUS, CNI_VERSION, CNI_COMMANDS };
extern const char *const cni_command_names[CNI_COMMANDS];

/* Where a pod's identity comes from. */
enum cni_source {
	CNI_UNKNOWN,
	CNI_POLICY,
	CNI_RECORD,
	CNI_ANNOTATION,
	CNI_ARGUMENT,
	CNI_ADMITTED,
	CNI_RESTING, /* isolated: other nodes may still evaluate its address by the former pod */
	CNI_SOURCES
};
extern const char *const cni_source_names[CNI_SOURCES];

/* Counts of the plugin's work since the node started. */
struct cni_counts {
	struct {
		uint64_t done, failed, microseconds;
	} calls[CNI_COMMANDS];
	uint64_t attached[CNI_SOURCES]; /* attached now, by source */
	/* Behind the rest: a file of an older command lacks it, and the rest of that file still
	 * counts. */
	struct histogram took[CNI_COMMANDS];
};
/* Reads the counts. @state NULL: CNI_STATE. Returns false if the plugin never ran. */
bool cni_count(const char *state, struct cni_counts *counts);

#endif
