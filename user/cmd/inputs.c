/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/inputs.h"
#include "policy/blob_file.h"
#include "compile/address_claims.h"
#include "compile/compile.h"
#include "policy/delta.h"
#include "input/input.h"
#include "input/text.h"
#include "input/workload.h"
#include "model/memory.h"
#include "model/unknown.h"

/* Returns -EINVAL for a file that cannot be opened or read: the user named a wrong file. */
static int input_error(int error)
{
	return error && error != -ENOMEM ? -EINVAL : error;
}

/* Replaces standard input by a file in memory with this text. */
static int keep_stdin(const char *text, size_t size)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) ||
			dup2(fd, STDIN_FILENO) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Replaces standard input by a file that is too large. Who reads on where reading ended would take
 * the rest for an input. */
static int refuse_stdin(void)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	if (fd >= 0 && (ftruncate(fd, TEXT_MAX + 1) || dup2(fd, STDIN_FILENO) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Copies standard input into memory, so that it can be read twice. A pipe can only be read once. */
static int open_stdin(void)
{
	size_t size;
	char *text;
	int fd;

	if (lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0)
		return dup(STDIN_FILENO);
	errno = -text_load(STDIN_FILENO, TEXT_MAX, &text, &size);
	if (errno == EFBIG)
		return refuse_stdin();
	if (errno)
		return -1;
	fd = keep_stdin(text, size);
	free(text);
	return fd;
}

static int open_input(const char *path)
{
	return strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : open_stdin();
}

static bool begins(const char *path, bool (*is)(const void *, size_t))
{
	char start[8];
	int fd = open_input(path);
	ssize_t n;

	if (fd < 0)
		return false; /* the reader of the file reports the error */
	/* pread() fails on a pipe, and so consumes nothing of it. */
	n = pread(fd, start, sizeof(start), lseek(fd, 0, SEEK_CUR));
	close(fd);
	return n > 0 && is(start, n);
}

static bool is_blob(const char *path)
{
	return begins(path, blob_is);
}

static bool is_delta(const char *path)
{
	return begins(path, delta_is);
}

static bool is_gzip(const void *start, size_t size)
{
	return size >= 2 && !memcmp(start, "\x1f\x8b", 2);
}

/* Returns what a file is that is no compiled policy. */
static const char *other_kind(const char *path)
{
	struct stat status;

	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		return "it is a folder";
	return begins(path, is_gzip) ? "it is compressed; gunzip it"
				     : "the file is empty, cut or text";
}

/* Refuses a file named .bhp that is no compiled policy. Read as text, an empty file would be a
 * policy without rules. */
static int check_name(const char *path, struct diag *diag)
{
	const char *end = strrchr(path, '.');

	if (!end || strcmp(end, ".bhp") || access(path, F_OK) || is_blob(path) || is_delta(path))
		return 0;
	diag_error(diag, &(struct where){path, 0}, NULL,
		   "not a compiled policy as its name says; %s", other_kind(path));
	return -EINVAL;
}

/* --strict is given. */
static bool strict;

void inputs_are_strict(void)
{
	strict = true;
}

struct input_reading {
	char *const *paths;
	int n;
	struct cluster *cluster;
	struct diag *diag;
};

static void report_contested(void *data, const struct contested *contested)
{
	if (contested->why)
		diag_report(data, strict ? DIAG_ERROR : DIAG_WARNING, &contested->where,
			    contested->field, "%s; %s %s%s%s is left without it", contested->why,
			    contested->kind, contested->ns ? contested->ns : "",
			    contested->ns ? "/" : "", contested->name);
}

static int read_cluster(void *data)
{
	const struct input_reading *reading = data;
	struct diag *diag = reading->diag;
	const unsigned int errors = diag->errors;
	int error = 0;

	reading->cluster->lenient = !strict;
	/* If one file is bad, the other files are read all the same, so that one run reports the
	 * errors of all files. cluster_finish() is left out then: it would report errors that only
	 * follow from these. */
	for (int i = 0; i < reading->n; i++) {
		const char *path = reading->paths[i];
		int bad = -EINVAL;

		if (check_name(path, diag))
			bad = -EINVAL;
		else if (is_blob(path) || is_delta(path))
			diag_error(diag, &(struct where){path, 0}, NULL,
				   "a compiled file holds no objects: give the inputs that it was "
				   "compiled from");
		else
			bad = input_read(reading->cluster, path, diag);
		error = error ? error : input_error(bad);
	}
	if (!error && reading->cluster->workloads)
		workloads_finish(reading->cluster);
	if (error)
		return error;
	/* No policy before this one counts: all nodes that load these objects decide alike. */
	address_claims_resolve(reading->cluster, &(struct former_owners){0}, report_contested,
			       diag);
	error = cluster_finish(reading->cluster, diag);
	return diag->errors == errors ? error : -EINVAL;
}

static int no_memory(struct diag *diag)
{
	diag_error(diag, NULL, NULL, "cannot read the input: there is not enough memory");
	return -ENOMEM;
}

int inputs_cluster(char *const *paths, int n, struct cluster *cluster, struct diag *diag)
{
	struct input_reading reading = {paths, n, cluster, diag};
	int error = memory_guarded(read_cluster, &reading);

	return error == -ENOMEM ? no_memory(diag) : error;
}

static struct where where_of(const char *path)
{
	return (struct where){strcmp(path, "-") ? path : "stdin", 0};
}

static int read_bytes(const char *path, struct diag *diag, char **bytes, size_t *size)
{
	const struct where where = where_of(path);
	int fd = open_input(path);
	int error = fd < 0 ? -errno : text_load(fd, TEXT_MAX, bytes, size);

	if (fd >= 0)
		close(fd);
	if (error)
		diag_error(diag, &where, NULL, "%s", text_error(error));
	return input_error(error);
}

static int read_delta(const char *path, struct diag *diag, struct delta **delta)
{
	const struct where where = where_of(path);
	char *bytes = NULL;
	size_t size = 0;
	int error = read_bytes(path, diag, &bytes, &size);

	if (!error)
		error = delta_read(bytes, size, &where, diag, delta);
	free(bytes);
	return error;
}

static int apply_delta(const char *path, const struct inputs_base *base, struct diag *diag,
		       struct policy **policy)
{
	const struct where where = where_of(path);
	struct delta *delta = NULL;
	int error = read_delta(path, diag, &delta);

	if (!error)
		error = delta_apply(
			delta, base->policy ? policy_lazy(overlay_compiled(base->policy)) : NULL,
			base->name, &where, diag, policy);
	delta_free(delta);
	return error;
}

int inputs_delta(char *const *paths, int n, const struct lazy_policy *base, struct diag *diag,
		 struct delta **delta)
{
	const struct where where = where_of(n ? *paths : "");
	int error;

	*delta = NULL;
	if (n != 1 || !is_delta(*paths))
		return 0;
	error = read_delta(*paths, diag, delta);
	return error ? error : delta_check_base(*delta, base, "active", &where, diag);
}

int inputs_blob(const char *path, struct diag *diag, struct policy **policy)
{
	const struct where where = where_of(path);
	size_t size = 0;
	char *bytes = NULL;
	int error = read_bytes(path, diag, &bytes, &size);

	if (error)
		return error;
	if (delta_is(bytes, size)) {
		diag_error(
			diag, &where, NULL,
			"has only changes, and here a policy has to be whole: make one by "
			"compile --base PREV -o WHOLE, with the policy that they change as PREV");
		error = -EINVAL;
	} else {
		error = blob_read(bytes, size, &where, diag, policy);
	}
	if (error)
		free(bytes);
	return error;
}

void inputs_free_cluster(struct cluster *cluster)
{
	if (cluster)
		cluster_free(cluster);
	free(cluster);
}

static int no_namespace(const struct nearest *nearest, struct diag *diag)
{
	char like[NEAREST_TEXT];

	diag_error(diag, NULL, NULL, "--audit-namespace %s: there is no such namespace%s",
		   nearest->word, nearest_print(nearest, like));
	return -EINVAL;
}

struct input_naming {
	struct cluster *cluster;
	char text[600];
	const char *name;
};

static int no_policy(const struct nearest *nearest, struct diag *diag)
{
	char like[NEAREST_TEXT];

	diag_error(diag, NULL, NULL, "--audit-policy %s: there is no such policy%s", nearest->word,
		   nearest_print(nearest, like));
	return -EINVAL;
}

static int intern_name(void *data)
{
	struct input_naming *naming = data;

	naming->name = cluster_intern(naming->cluster, naming->text, strlen(naming->text));
	return 0;
}

/* Returns "namespace/name" or "name" of a policy, which lives as long as the cluster; NULL: there
 * is not enough memory. */
static const char *full_name(struct cluster *cluster, const struct policy_object *policy)
{
	struct input_naming naming = {.cluster = cluster};

	snprintf(naming.text, sizeof(naming.text), "%s%s%s", policy->ns_name ? policy->ns_name : "",
		 policy->ns_name ? "/" : "", policy->name);
	return memory_guarded(intern_name, &naming) ? NULL : naming.name;
}

/* Audits the policies of --audit-policy: a NetworkPolicy is NAMESPACE/NAME. */
static int audit_policies(struct cluster *cluster, const struct inputs_audit *audit,
			  struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; audit->enforce && i < cluster->n_policies; i++)
		cluster->policies[i].audit = false;
	for (size_t i = 0; i < audit->n_policies; i++) {
		struct nearest nearest = {.word = audit->policies[i]};
		bool found = false;

		for (size_t k = 0; k < cluster->n_policies; k++) {
			struct policy_object *policy = &cluster->policies[k];
			const char *name = full_name(cluster, policy);
			const bool same = name && !strcmp(name, audit->policies[i]);

			if (!name)
				return no_memory(diag);
			policy->audit |= same;
			found |= same;
			nearest_try(&nearest, name);
		}
		if (!found)
			error = no_policy(&nearest, diag);
	}
	return error;
}

static int audit_cluster(struct cluster *cluster, const struct inputs_audit *audit,
			 struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < audit->n; i++) {
		struct nearest nearest = {.word = audit->names[i]};
		bool found = false;

		for (size_t k = 0; k < cluster->n_namespaces; k++) {
			struct namespace *ns = &cluster->namespaces[k];
			bool same = !strcmp(ns->name, audit->names[i]);

			ns->audit |= same;
			found |= same;
			nearest_try(&nearest, ns->name);
		}
		if (!found)
			error = no_namespace(&nearest, diag);
	}
	return error;
}

static int audit_policy(struct policy *policy, const struct inputs_audit *audit, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < audit->n; i++) {
		struct nearest nearest = {.word = audit->names[i]};
		bool found = false;

		for (size_t k = 0; k < policy->n_namespaces; k++) {
			struct policy_namespace *ns = &policy->namespaces[k];
			bool same = !strcmp(policy_string(policy, ns->name), audit->names[i]);

			ns->flags |= same ? POLICY_AUDIT : 0;
			found |= same;
			nearest_try(&nearest, policy_string(policy, ns->name));
		}
		if (!found)
			error = no_namespace(&nearest, diag);
	}
	return error;
}

/* Sets the flags in a compiled policy. The result is another policy, with a checksum of its own. */
static int audit_blob(struct policy *policy, const struct inputs_audit *audit, struct diag *diag)
{
	int error = audit_policy(policy, audit, diag);
	void *bytes;
	size_t size;

	if (audit->n_policies) {
		diag_error(diag, NULL, NULL,
			   "--audit-policy %s: a compiled file has no policies to change; compile "
			   "its inputs with the annotation bulkhead.dev/audit",
			   *audit->policies);
		return -EINVAL;
	}
	if (error || !audit->n)
		return error;
	error = blob_write(policy, &bytes, &size);
	if (!error)
		free(bytes);
	return error;
}

static void warn_unknown(void *data, const struct policy_object *policy,
			 const struct nearest *nearest)
{
	char like[NEAREST_TEXT];

	diag_warn(
		data, &policy->where, NULL,
		"policy %s/%s selects nothing: no pod is in namespace %s, and no Namespace object "
		"has this name%s",
		policy->ns_name, policy->name, policy->ns_name, nearest_print(nearest, like));
}

int inputs_check(const struct cluster *cluster, bool force, struct diag *diag)
{
	if (!cluster)
		return 0;
	if (unknown_namespaces(cluster, warn_unknown, diag))
		return no_memory(diag);
	if (!cluster->n_unread || force)
		return 0;
	diag_error(
		diag, NULL, NULL,
		"%zu objects look like policies and would not be enforced: --force leaves them out",
		cluster->n_unread);
	return -EINVAL;
}

static int compile_inputs(char *const *paths, int n, const struct policy *base,
			  const struct inputs_audit *audit, struct diag *diag,
			  struct policy **policy, struct cluster **objects)
{
	struct cluster *cluster = malloc(sizeof(*cluster));
	int error;

	if (!cluster)
		return no_memory(diag);
	cluster_init(cluster);
	cluster->workloads = audit->workloads;
	error = inputs_cluster(paths, n, cluster, diag);
	if (!error)
		error = audit_cluster(cluster, audit, diag);
	if (!error)
		error = audit_policies(cluster, audit, diag);
	if (!error)
		error = compile_cluster(cluster, base, diag, policy);
	if (objects && !error)
		*objects = cluster;
	else
		inputs_free_cluster(cluster);
	return error;
}

static const struct inputs_base no_base = {
	.name = "here a policy has to be whole (load, diff and compile --base take changes)"};

static int read_inputs(char *const *paths, int n, const struct inputs_base *base,
		       const struct inputs_audit *audit, struct diag *diag, struct policy **policy,
		       struct cluster **cluster)
{
	int error;

	if (cluster)
		*cluster = NULL;
	for (int i = 0; i < n; i++) {
		bool delta = is_delta(paths[i]);

		if (!delta && !is_blob(paths[i]))
			continue;
		if (n == 1) {
			error = delta ? apply_delta(paths[i], base, diag, policy)
				      : inputs_blob(paths[i], diag, policy);
			return error ? error : audit_blob(*policy, audit, diag);
		}
		diag_error(diag, &(struct where){paths[i], 0}, NULL,
			   "a compiled file must be the only input");
		return -EINVAL;
	}
	return compile_inputs(paths, n, base->policy, audit, diag, policy, cluster);
}

int inputs_policy(char *const *paths, int n, const struct inputs_base *base, struct diag *diag,
		  struct policy **policy, struct cluster **cluster)
{
	const struct inputs_audit nothing = {.workloads = true};

	return read_inputs(paths, n, base ? base : &no_base, &nothing, diag, policy, cluster);
}

int inputs_audited(char *const *paths, int n, const struct inputs_base *base,
		   const struct inputs_audit *audit, struct diag *diag, struct policy **policy,
		   struct cluster **cluster)
{
	return read_inputs(paths, n, base ? base : &no_base, audit, diag, policy, cluster);
}

int inputs_after(char *path, const struct inputs_base *old, struct diag *diag,
		 struct policy **policy)
{
	return inputs_policy(&path, 1, is_delta(path) ? old : NULL, diag, policy, NULL);
}
