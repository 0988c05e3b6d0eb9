/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inputs into a cluster: files, folders and standard input; YAML, JSON, INI.
 *
 * All functions return 0, or -EINVAL with what is wrong reported as
 * `FILE:LINE: FIELD: what`, or another -errno, reported too, where a file
 * cannot be read. After an error the cluster is only good for cluster_free().
 */
#ifndef BULKHEAD_INPUT_INPUT_H
#define BULKHEAD_INPUT_INPUT_H

#include "model/cluster.h"

/*
 * Reads a file; a folder's own .ini, .yaml, .yml and .json files, in the order
 * of their names, without hidden ones and folders in it; or standard input
 * ("-"). The suffix says what a file holds; where it is another or there is
 * none, its first character does: { and a quote is JSON, [ or ; INI, else YAML.
 * An input without objects is fine, with a note.
 */
int input_read(struct cluster *cluster, const char *path, struct diag *diag);

/* The same for text in memory; @name stands for the file in messages. */
int input_parse_yaml(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag);
int input_parse_json(struct cluster *cluster, const char *text, size_t size, const char *name,
		     struct diag *diag);
int input_parse_ini(struct cluster *cluster, const char *text, size_t size, const char *name,
		    struct diag *diag);

/* A selector as `kubectl -l` takes it: "app=web, tier in (a, b), !old". Nothing selects all.
 * @where is only for messages. */
int input_parse_selector(struct cluster *cluster, const char *text, const struct where *where,
			 struct diag *diag, struct selector *selector);

#endif
