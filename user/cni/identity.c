// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cni/identity.h"
#include "input/input.h"
#include "node/kernel/handle.h"

#define ANNOTATIONS "io.kubernetes.cri.pod-annotations"

/* The annotation and the argument that can name a pod's labels and ports. */
static const struct {
	const char *annotation, *argument, *key;
} sayings[] = {
	{"bulkhead.dev/labels", "BULKHEAD_LABELS", "labels"},
	{"bulkhead.dev/ports", "BULKHEAD_PORTS", "port"},
};

static int read_argument(struct cni_call *call, const char *key, const char *otherwise, char *to,
			 size_t size)
{
	SCOPED_FREE char *value = cni_argument(call, key);
	const char *text = value && *value ? value : otherwise;

	if (*text && (!cni_is_name(text) || strlen(text) >= size))
		return cni_fail(call, CNI_ERROR_ENVIRONMENT, "CNI_ARGS: %s is no name: %s", key,
				text);
	snprintf(to, size, "%s", text);
	return 0;
}

#define READ_ARGUMENT(call, key, otherwise, to) read_argument(call, key, otherwise, to, sizeof(to))

int identity_read_pod(struct cni_call *call, struct attachment *attachment)
{
	int code = READ_ARGUMENT(call, "K8S_POD_NAMESPACE", call->ns, attachment->pod_ns);

	if (!code)
		code = READ_ARGUMENT(call, "K8S_POD_NAME", call->container, attachment->pod_name);
	if (!code)
		code = READ_ARGUMENT(call, "K8S_POD_UID", "", attachment->uid);
	return code;
}

/* Takes labels and ports of @from. Moves the strings to the cluster that stays. */
static void take(struct cluster *cluster, const struct endpoint *from, struct endpoint *endpoint)
{
	const size_t n = from->labels.n;

#define KEEP(text) ((text) ? cluster_intern(cluster, text, strlen(text)) : NULL)
	endpoint->labels.at =
		obstack_alloc(&cluster->memory, (n + 1) * sizeof(*endpoint->labels.at));
	endpoint->labels.n = n;
	for (size_t i = 0; i < n; i++)
		endpoint->labels.at[i] = (struct label){KEEP(from->labels.at[i].key),
							KEEP(from->labels.at[i].value)};
	endpoint->ports =
		obstack_copy(&cluster->memory, from->ports, from->n_ports * sizeof(*from->ports));
	endpoint->n_ports = from->n_ports;
	for (size_t i = 0; i < from->n_ports; i++)
		endpoint->ports[i].name = KEEP(from->ports[i].name);
	endpoint->allow_source = obstack_copy(&cluster->memory, from->allow_source,
					      from->n_allow_source * sizeof(*from->allow_source));
	endpoint->n_allow_source = from->n_allow_source;
	endpoint->audit = from->audit;
	endpoint->unknown = false;
#undef KEEP
}

static bool is_of(const struct endpoint *record, const struct endpoint *endpoint)
{
	const size_t length = strcspn(endpoint->name, ":");

	if (strcmp(record->ns_name, endpoint->ns_name) || strlen(record->name) != length ||
	    strncmp(record->name, endpoint->name, length))
		return false;
	return !record->uid || !endpoint->uid || !strcmp(record->uid, endpoint->uid);
}

/* Returns the number of records of the pod. */
static size_t look(struct cluster *cluster, const struct endpoint *records, size_t n,
		   struct endpoint *endpoint)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_of(&records[i], endpoint))
			continue;
		take(cluster, &records[i], endpoint);
		found++;
	}
	return found;
}

static size_t look_in(struct cni_call *call, const char *path, struct cluster *cluster,
		      struct endpoint *endpoint)
{
	struct diag diag = {.to = call->diag.to};
	struct cluster records;
	size_t found = 0;

	cluster_init(&records);
	if (!input_read(&records, path, &diag) && !cluster_finish(&records, &diag))
		found = look(cluster, records.endpoints, records.n_endpoints, endpoint) +
			look(cluster, records.expected, records.n_expected, endpoint);
	cluster_free(&records);
	return found;
}

static bool is_record(const struct dirent *entry)
{
	const char *suffix = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' && suffix &&
	       (!strcmp(suffix, ".ini") || !strcmp(suffix, ".json"));
}

static bool by_record(struct cni_call *call, struct cluster *cluster, struct endpoint *endpoint)
{
	DIR *folder = opendir(call->records);
	const struct dirent *entry;
	size_t found = 0;

	if (!folder)
		return false;
	while ((entry = readdir(folder))) {
		char path[PATH_MAX];

		if (is_record(entry) && snprintf(path, sizeof(path), "%s/%s", call->records,
						 entry->d_name) < (int)sizeof(path))
			found += look_in(call, path, cluster, endpoint);
	}
	closedir(folder);
	if (found > 1) {
		diag_warn(&call->diag, NULL, NULL,
			  "%s has %zu records of %s/%s: none counts, and it is isolated",
			  call->records, found, endpoint->ns_name, endpoint->name);
		endpoint->unknown = true;
	}
	return found == 1;
}

/* Reads the texts as entries of an endpoint's section. Faulty texts leave the pod unknown: without
 * its labels, it would count as a pod that has none. */
static bool by_texts(struct cni_call *call, const char *const texts[], const char *from,
		     struct cluster *cluster, struct endpoint *endpoint)
{
	struct input_entry entries[ARRAY_SIZE(sayings)];
	SCOPED_FREE char *header = NULL;
	size_t n = 0, found = 0;
	struct cluster said;

	if (asprintf(&header, "endpoint %s/%.*s", endpoint->ns_name,
		     (int)strcspn(endpoint->name, ":"), endpoint->name) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(sayings); i++)
		if (texts[i])
			entries[n++] = (struct input_entry){sayings[i].key, texts[i]};
	cluster_init(&said);
	if (!input_read_section(&said, header, entries, n, from, &call->diag) &&
	    !cluster_finish(&said, &call->diag))
		found = look(cluster, said.expected, said.n_expected, endpoint);
	cluster_free(&said);
	return found;
}

static bool by_annotations(struct cni_call *call, struct cluster *cluster,
			   struct endpoint *endpoint)
{
	struct json_object *config = cni_member(call->config, "runtimeConfig", json_type_object);
	struct json_object *all = config ? cni_member(config, ANNOTATIONS, json_type_object) : NULL;
	const char *texts[ARRAY_SIZE(sayings)] = {0};

	for (size_t i = 0; all && i < ARRAY_SIZE(sayings); i++)
		texts[i] = cni_text(all, sayings[i].annotation);
	return texts[0] && by_texts(call, texts, "the annotations", cluster, endpoint);
}

static bool by_arguments(struct cni_call *call, struct cluster *cluster, struct endpoint *endpoint)
{
	SCOPED_FREE char *labels = cni_argument(call, sayings[0].argument);
	SCOPED_FREE char *ports = cni_argument(call, sayings[1].argument);
	const char *const texts[] = {labels, ports};

	/* Labels are written KEY:VALUE in CNI_ARGS, since other plugins refuse an argument with a
	 * second equals sign. */
	for (char *at = labels; at && *at; at++)
		if (*at == ':')
			*at = '=';

	return labels && by_texts(call, texts, "CNI_ARGS", cluster, endpoint);
}

int identity_find(struct cni_call *call, struct node_handle *handle, struct cluster *cluster,
		  struct endpoint *endpoint, enum cni_source *source)
{
	bool known = false;

	if (node_endpoint_known(handle, cluster, endpoint, &known))
		return cni_fail(call, CNI_ERROR_NODE, "cannot read the active policy");
	*source = CNI_UNKNOWN;
	if (known)
		*source = CNI_POLICY;
	else if (by_record(call, cluster, endpoint))
		*source = CNI_RECORD;
	else if (call->annotations && by_annotations(call, cluster, endpoint))
		*source = CNI_ANNOTATION;
	else if (call->arguments && by_arguments(call, cluster, endpoint))
		*source = CNI_ARGUMENT;
	else if (call->admit)
		*source = CNI_ADMITTED;
	/* Without labels the endpoint counts as unknown, so that each load looks for the pod in its
	 * policy again. */
	endpoint->unknown = *source == CNI_UNKNOWN || endpoint->as_policy;
	return 0;
}
