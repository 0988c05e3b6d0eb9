/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads inputs into a cluster: files, folders and standard input; YAML, JSON, INI.
 *
 * All functions return 0, or -EINVAL with the fault reported as `FILE:LINE: FIELD: message`, or
 * another -errno, also reported, if a file cannot be read. After an error the cluster is only
 * good for cluster_free().
 */
#ifndef BULKHEAD_INPUT_INPUT_H
#define BULKHEAD_INPUT_INPUT_H

#include "model/cluster.h"

/* Of a Namespace or a policy: only "true" turns audit on. */
#define AUDIT_ANNOTATION "bulkhead.dev/audit"
/* of a Namespace: isolates its pods, before NetworkPolicy was in Kubernetes */
#define ISOLATION_ANNOTATION "net.beta.kubernetes.io/network-policy"

/*
 * Reads a file, a folder or standard input ("-"). Of a folder it reads the .ini, .yaml, .yml and
 * .json files in the order of their names, without hidden files and subfolders. The suffix says
 * which form a file has. Without a known suffix the first character says: { and " begin JSON, [
 * and ; begin INI, all else is YAML. An input without objects is valid; a note reports it.
 */
int input_read(struct cluster *cluster, const char *path, struct diag *diag);

/* As input_read(), for text in memory. @name stands for the file in messages. */
int input_parse_yaml(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag);
int input_parse_json(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag);
int input_parse_ini(struct cluster *cluster, const char *text, size_t size, const char *name,
		    struct diag *diag);

/* An entry of an INI section: the text may be of any length. */
struct input_entry {
	const char *key, *text;
};

/* Reads one section of the INI form that no file holds, and so no line of 200 bytes cuts. @header:
 * "endpoint NAMESPACE/NAME". @name stands for the file in messages. */
int input_read_section(struct cluster *cluster, const char *header,
		       const struct input_entry *entries, size_t n, const char *name,
		       struct diag *diag);

/* Parses a selector as `kubectl -l` takes it: "app=web, tier in (a, b), !old". Empty text
 * selects everything. @where is for messages only. */
int input_parse_selector(struct cluster *cluster, const char *text, const struct where *where,
			 struct diag *diag, struct selector *selector);

#endif
