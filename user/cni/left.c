// SPDX-License-Identifier: GPL-2.0-only
#include "cni/left.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/lazy_policy.h"
#include "node/kernel/handle.h"

char *left_folder(const char *records)
{
	char *path;

	return asprintf(&path, "%s/" LEFT_FOLDER, records) < 0 ? NULL : path;
}

/* Writes the path of a file. The @prefix of a file that is not complete is a dot. */
static int make_path(const char *records, const struct left_address *left, const char *prefix,
		     char path[PATH_MAX])
{
	char text[ADDRESS_TEXT];
	int length = snprintf(path, PATH_MAX, "%s/" LEFT_FOLDER "/%s%s_%s", records, prefix,
			      address_print(&left->address, text), *left->uid ? left->uid : "-");

	return length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static struct json_object *to_json(const struct left_address *left)
{
	struct json_object *object = json_object_new_object();
	char text[ADDRESS_TEXT];

	cni_put_text(object, "address", address_print(&left->address, text));
	cni_put_text(object, "namespace", left->ns);
	cni_put_text(object, "name", left->name);
	cni_put_text(object, "uid", left->uid);
	json_object_object_add(object, "rests", json_object_new_boolean(left->rests));
	return object;
}

int left_put(const char *records, const struct left_address *left)
{
	struct json_object *object;
	char path[PATH_MAX], next[PATH_MAX];
	int error = 0;

	if (make_path(records, left, "", path) || make_path(records, left, ".", next))
		return -ENAMETOOLONG;
	object = to_json(left);
	if (json_object_to_file_ext(next, object, JSON_C_TO_STRING_PLAIN))
		error = errno ? -errno : -EIO;
	else if (rename(next, path))
		error = -errno;
	json_object_put(object);
	return error;
}

void left_remove(const char *records, const struct left_address *left)
{
	char path[PATH_MAX];

	if (!make_path(records, left, "", path))
		unlink(path);
}

static bool get_text(struct json_object *object, const char *key, char *to, size_t size)
{
	const char *text = cni_text(object, key);

	return text && snprintf(to, size, "%s", text) < (int)size;
}

/* Reads what the name of a damaged file tells. Returns false if it tells no address. */
static bool read_name(const char *file, struct left_address *left)
{
	const char *uid = strchr(file, '_');
	char address[ADDRESS_TEXT];

	*left = (struct left_address){.rests = true, .damaged = true};
	if (!uid || snprintf(address, sizeof(address), "%.*s", (int)(uid - file), file) >=
			    (int)sizeof(address))
		return false;
	snprintf(left->uid, sizeof(left->uid), "%s", strcmp(uid, "_-") ? uid + 1 : "");
	return !address_parse(address, &left->address);
}

static bool read_file(const char *path, struct left_address *left)
{
	struct json_object *object = json_object_from_file(path);
	const char *address = cni_text(object, "address");
	bool good = address && !address_parse(address, &left->address) &&
		    get_text(object, "namespace", left->ns, sizeof(left->ns)) &&
		    get_text(object, "name", left->name, sizeof(left->name)) &&
		    get_text(object, "uid", left->uid, sizeof(left->uid));

	left->damaged = false;
	left->rests = json_object_get_boolean(json_object_object_get(object, "rests"));
	json_object_put(object);
	return good;
}

void left_each(const char *records, struct diag *diag,
	       void (*visit)(void *data, const struct left_address *left), void *data)
{
	SCOPED_FREE char *path = left_folder(records);
	DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		struct left_address left;
		char file[PATH_MAX];

		if (*entry->d_name == '.' ||
		    snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >= (int)sizeof(file))
			continue;
		if (read_file(file, &left)) {
			visit(data, &left);
			continue;
		}
		if (access(file, F_OK))
			continue; /* it was removed meanwhile */
		diag_warn(diag, NULL, NULL,
			  "%s is damaged: the next pod with the address stays isolated; remove the "
			  "file",
			  file);
		if (read_name(entry->d_name, &left))
			visit(data, &left);
	}
	closedir(folder);
}

static struct left_address left_of(const struct attachment *attachment, size_t i)
{
	struct left_address left = {.address = attachment->addresses[i], .rests = true};

	snprintf(left.ns, sizeof(left.ns), "%s", attachment->pod_ns);
	snprintf(left.name, sizeof(left.name), "%s", attachment->pod_name);
	snprintf(left.uid, sizeof(left.uid), "%s", attachment->uid);
	return left;
}

static int noted(struct cni_call *call, int error)
{
	/* without the folder no follower runs */
	return error && error != -ENOENT
		       ? cni_fail(call, CNI_ERROR_IO, "cannot write to %s/" LEFT_FOLDER ": %s",
				  call->records, strerror(-error))
		       : 0;
}

int left_note(struct cni_call *call, const struct attachment *attachment)
{
	int code = 0;

	for (size_t i = 0; !code && i < attachment->n_addresses; i++) {
		const struct left_address left = left_of(attachment, i);

		code = noted(call, left_put(call->records, &left));
	}
	return code;
}

void left_forget(const struct cni_call *call, const struct attachment *attachment)
{
	for (size_t i = 0; *attachment->uid && i < attachment->n_addresses; i++) {
		const struct left_address left = left_of(attachment, i);

		left_remove(call->records, &left);
	}
}

/* Fills in the pod that has the address in the active policy. Returns 1; 0: none has; or -errno:
 * the policy cannot be read. */
static int find_owner(struct node_handle *handle, struct left_address *left, uint32_t uid[2])
{
	const struct lazy_policy *policy = lazy_plain(node_policy_head(handle));
	const struct policy_address *found =
		policy ? lazy_address_find(policy, &left->address) : NULL;
	const struct policy_endpoint *owner;
	const struct policy_namespace *ns;

	if (!found)
		return policy ? lazy_error(policy) : 0;
	owner = LAZY_ONE(policy, endpoints, found->endpoint);
	ns = LAZY_ONE(policy, namespaces, owner->ns);
	snprintf(left->ns, sizeof(left->ns), "%s", lazy_read_string(policy, ns->name));
	snprintf(left->name, sizeof(left->name), "%s", lazy_read_string(policy, owner->name));
	memcpy(uid, owner->uid, sizeof(owner->uid));
	return lazy_error(policy) ? lazy_error(policy) : 1;
}

static bool is_pod(const struct left_address *pod, const struct left_address *owner,
		   const uint32_t owner_uid[2])
{
	uint32_t uid[2];

	policy_uid_hash(*pod->uid ? pod->uid : NULL, uid);
	return !strcmp(pod->ns, owner->ns) && !strcmp(pod->name, owner->name) &&
	       (!(uid[0] | uid[1]) || !(owner_uid[0] | owner_uid[1]) ||
		!memcmp(uid, owner_uid, sizeof(uid)));
}

int left_is_in_policy(struct node_handle *handle, const struct left_address *left)
{
	struct left_address owner = {.address = left->address};
	uint32_t uid[2];
	const int found = find_owner(handle, &owner, uid);

	return found > 0 ? is_pod(left, &owner, uid) : found;
}

int left_note_reused(struct cni_call *call, struct node_handle *handle,
		     const struct attachment *attachment)
{
	int code = 0;

	for (size_t i = 0; !code && i < attachment->n_addresses; i++) {
		const struct left_address own = left_of(attachment, i);
		struct left_address owner = {.address = own.address, .rests = true};
		uint32_t uid[2];
		const int found = find_owner(handle, &owner, uid);

		if (found < 0)
			code = cni_fail(call, CNI_ERROR_NODE, "cannot read the active policy: %s",
					strerror(-found));
		else if (found && !is_pod(&own, &owner, uid))
			code = noted(call, left_put(call->records, &owner));
	}
	return code;
}

struct left_search {
	const struct attachment *attachment;
	bool rests;
};

static void look(void *data, const struct left_address *left)
{
	struct left_search *search = data;
	const struct attachment *attachment = search->attachment;

	if (!left->rests || (*left->uid && !strcmp(left->uid, attachment->uid)))
		return;
	for (size_t i = 0; i < attachment->n_addresses; i++)
		search->rests |=
			!memcmp(&left->address, &attachment->addresses[i], sizeof(left->address));
}

bool left_rests(struct cni_call *call, const struct attachment *attachment)
{
	struct left_search search = {.attachment = attachment};

	left_each(call->records, &call->diag, look, &search);
	return search.rests;
}
