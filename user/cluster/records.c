// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"

/* Returns the path of a record, to free. No namespace has an underscore in its name, so paths
 * differ. */
static char *path_of(const char *folder, const char *ns, const char *name, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/%s_%s.ini%s", folder, ns, name, suffix) < 0 ? NULL : path;
}

static void put_labels(FILE *file, struct json_object *labels)
{
	const char *begin = "labels = ";

	if (!json_object_is_type(labels, json_type_object))
		return;
	json_object_object_foreach(labels, key, value)
	{
		fprintf(file, "%s%s=%s", begin, key, json_object_get_string(value));
		begin = ",\n\t"; /* a line of INI has less than 200 bytes */
	}
	if (json_object_object_length(labels))
		fputc('\n', file);
}

static void put_ports(FILE *file, struct json_object *containers)
{
	size_t n = json_object_is_type(containers, json_type_array)
			   ? json_object_array_length(containers)
			   : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *ports =
			api_get(json_object_array_get_idx(containers, i), "ports");
		size_t count = json_object_is_type(ports, json_type_array)
				       ? json_object_array_length(ports)
				       : 0;

		for (size_t k = 0; k < count; k++) {
			struct json_object *port = json_object_array_get_idx(ports, k);
			const char *name = api_text(port, "name");
			const char *protocol = api_text(port, "protocol");

			if (name)
				fprintf(file, "port = %s %s/%d\n", name,
					protocol ? protocol : "TCP",
					(int)api_number(port, "containerPort"));
		}
	}
}

static int write_record(const char *path, struct json_object *pod, const char *ns, const char *name)
{
	FILE *file = fopen(path, "we");
	const char *uid = api_text(pod, "metadata.uid");

	if (!file)
		return -errno;
	fprintf(file, "[endpoint %s/%s]\n", ns, name);
	if (uid)
		fprintf(file, "uid = %s\n", uid);
	put_labels(file, api_get(pod, "metadata.labels"));
	put_ports(file, api_get(pod, "spec.containers"));
	return fclose(file) ? -errno : 0;
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
		error = write_record(part, pod, ns, name);
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
