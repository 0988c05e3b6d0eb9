// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "api/api.h"

#define NAME_BYTES 180 /* of a pod's name in its file's name: that has no more than 255 bytes */

/* Returns the path of a record, to free. No namespace has an underscore in its name, so paths
 * differ. */
static char *path_of(const char *folder, const char *ns, const char *name, const char *suffix)
{
	const size_t length = strlen(name);
	char *path, hash[sizeof("_0123456789abcdef")] = "";

	if (length > NAME_BYTES)
		snprintf(hash, sizeof(hash), "_%016" PRIx64, (uint64_t)XXH3_64bits(name, length));
	return asprintf(&path, "%s/%s_%.*s%s.json%s", folder, ns,
			*hash ? NAME_BYTES - 17 : NAME_BYTES, name, hash, suffix) < 0
		       ? NULL
		       : path;
}

static void copy(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *member = json_object_object_get(from, key);

	if (member)
		json_object_object_add(to, key, json_object_get(member));
}

/* Writes a Pod without an address or node: it is expected, wherever it comes up. */
static int write_record(const char *path, struct json_object *pod)
{
	struct json_object *record = json_object_new_object(), *spec = json_object_new_object();
	FILE *file = fopen(path, "we");
	int error = file ? 0 : -errno;

	copy(pod, record, "apiVersion");
	copy(pod, record, "kind");
	copy(pod, record, "metadata");
	copy(api_get(pod, "spec"), spec, "containers");
	copy(api_get(pod, "spec"), spec, "initContainers");
	json_object_object_add(record, "spec", spec);
	if (file)
		fputs(json_object_to_json_string_ext(record, JSON_C_TO_STRING_PLAIN), file);
	if (file && fclose(file))
		error = -errno;
	json_object_put(record);
	return error;
}

int records_put(const char *folder, struct json_object *pod, struct diag *diag)
{
	const char *ns = api_text(pod, "metadata.namespace");
	const char *name = api_text(pod, "metadata.name");
	struct where where = {folder, 0};
	char *path = NULL, *part = NULL;
	int error = 0;

	if (!ns || !name || json_object_get_boolean(api_get(pod, "spec.hostNetwork")))
		return 0;
	mkdir(folder, 0755);
	path = path_of(folder, ns, name, "");
	part = path_of(folder, ns, name, ".part");
	if (!path || !part)
		error = -ENOMEM;
	if (!error)
		error = write_record(part, pod);
	if (!error && rename(part, path))
		error = -errno;
	if (error)
		diag_warn(diag, &where, NULL, "the record of %s/%s: %s", ns, name,
			  strerror(-error));
	free(path);
	free(part);
	return error;
}

void records_remove(const char *folder, const char *ns, const char *name)
{
	char *path = path_of(folder, ns, name, "");

	if (path)
		unlink(path);
	free(path);
}
