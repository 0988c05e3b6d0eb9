/* SPDX-License-Identifier: GPL-2.0-only */
/* One call of the plugin: the runtime's request, and the error. */
#ifndef BULKHEAD_CNI_INVOCATION_H
#define BULKHEAD_CNI_INVOCATION_H

#include <json-c/json.h>
#include <stdbool.h>

#include "cni/cni.h"
#include "node/node.h"

/* Codes of the CNI specification; the plugin's own begin at 100. */
enum cni_error {
	CNI_OK = 0,
	CNI_ERROR_VERSION = 1,
	CNI_ERROR_FIELD = 2,
	CNI_ERROR_ENVIRONMENT = 4,
	CNI_ERROR_IO = 5,
	CNI_ERROR_DECODE = 6,
	CNI_ERROR_CONFIG = 7,
	CNI_ERROR_AGAIN = 11,
	CNI_ERROR_UNAVAILABLE = 50,
	CNI_ERROR_NODE = 100, /* the kernel or a permission refused */
	CNI_ERROR_INTERFACE = 101, /* no interface can be guarded */
	CNI_ERROR_CHECK = 102, /* something is not as ADD left it */
	CNI_ERROR_TAKEN = 103, /* another living pod has the address */
};

struct cni_call {
	enum cni_command command;
	const char *container, *netns, *ifname, *args; /* NULL: not given */
	struct json_object *config;
	struct json_object *prev; /* prevResult; NULL: none */
	const char *version, *network;
	const char *records, *state, *log;
	const char *ns; /* namespace of pods for which the runtime gives none */
	bool admit, annotations, arguments; /* options of the configuration */
	struct node_options node;
	struct diag diag; /* messages are collected in `said` */
	char *said;
	size_t n_said;
	int code; /* enum cni_error */
	char message[512];
	char about[400]; /* for the log: the outcome */
	char stages[160]; /* for the log: how long each stage took */
	uint64_t stage; /* microseconds: when the last stage ended */
};

/* Reads the environment and standard input. Returns 0 or a code, failed. */
int cni_call_read(struct cni_call *call);
void cni_call_end(struct cni_call *call);

/* Sets the code and the message, unless one is set. Returns @code. */
int cni_fail(struct cni_call *call, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Notes that a stage of the call has ended. */
void cni_stage(struct cni_call *call, const char *name);
uint64_t cni_now(void); /* microseconds */

/* The versions of the specification, the oldest first. Commands came with some of them. */
#define CNI_VERSIONS 5
extern const char *const cni_versions[CNI_VERSIONS];
bool cni_knows_version(enum cni_command command, const char *version);

/* Returns true if the text may name a network or a container, and so be part of a
 * file's name. */
bool cni_is_name(const char *text);

/* Returns the value of a key in CNI_ARGS, to be freed; NULL: there is none. */
char *cni_argument(const struct cni_call *call, const char *key);

/* Returns a member that is a string; NULL: there is none. */
const char *cni_text(struct json_object *object, const char *key);
void cni_put_text(struct json_object *object, const char *key, const char *text);
struct json_object *cni_member(struct json_object *object, const char *key, enum json_type type);

/* The commands. They return 0 or a code, failed. */
int cni_add(struct cni_call *call);
int cni_del(struct cni_call *call);
int cni_check(struct cni_call *call);
int cni_gc(struct cni_call *call);
int cni_status(struct cni_call *call);

#endif
