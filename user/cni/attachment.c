// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cni/attachment.h"
#include "cni/left.h"
#include "node/kernel/handle.h"

const char *const cni_source_names[CNI_SOURCES] = {
	[CNI_UNKNOWN] = "unknown",	 [CNI_POLICY] = "policy",     [CNI_RECORD] = "record",
	[CNI_ANNOTATION] = "annotation", [CNI_ARGUMENT] = "argument", [CNI_ADMITTED] = "admitted",
	[CNI_RESTING] = "resting",
};

void attachment_free(struct attachment *attachment)
{
	free(attachment->addresses);
}

static int make_path(const char *state, const char *network, const char *container,
		     const char *ifname, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/%s:%s:%s", state, network, container, ifname);

	return length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

#define MAC_FORMAT "%02hhx:%02hhx:%02hhx:%02hhx:%02hhx:%02hhx"

static void put_mac(struct json_object *object, const uint8_t mac[6])
{
	char text[sizeof("00:00:00:00:00:00")];

	snprintf(text, sizeof(text), MAC_FORMAT, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	cni_put_text(object, "mac", text);
}

static void get_mac(struct json_object *object, uint8_t mac[6])
{
	const char *text = cni_text(object, "mac");

	if (!text ||
	    sscanf(text, MAC_FORMAT, &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6)
		memset(mac, 0, 6);
}

static struct json_object *to_json(const struct attachment *attachment)
{
	struct json_object *object = json_object_new_object();
	struct json_object *addresses = json_object_new_array();
	char text[ADDRESS_TEXT];

	cni_put_text(object, "network", attachment->network);
	cni_put_text(object, "container", attachment->container);
	cni_put_text(object, "interface", attachment->ifname);
	cni_put_text(object, "namespace", attachment->pod_ns);
	cni_put_text(object, "pod", attachment->pod_name);
	cni_put_text(object, "name", attachment->name);
	cni_put_text(object, "uid", attachment->uid);
	cni_put_text(object, "host_interface", attachment->host_name);
	json_object_object_add(object, "ifindex", json_object_new_int64(attachment->ifindex));
	put_mac(object, attachment->mac);
	for (size_t i = 0; i < attachment->n_addresses; i++)
		json_object_array_add(addresses, json_object_new_string(address_print(
							 &attachment->addresses[i], text)));
	json_object_object_add(object, "addresses", addresses);
	cni_put_text(object, "identity", cni_source_names[attachment->source]);
	if (attachment->going)
		json_object_object_add(object, "going", json_object_new_boolean(true));
	return object;
}

static void get_text(struct json_object *object, const char *key, char *to, size_t size)
{
	const char *text = cni_text(object, key);

	snprintf(to, size, "%s", text ? text : "");
}

#define GET_TEXT(object, key, to) get_text(object, key, to, sizeof(to))

static int from_json(struct json_object *object, struct attachment *attachment)
{
	struct json_object *ips = cni_member(object, "addresses", json_type_array);
	struct json_object *ifindex = cni_member(object, "ifindex", json_type_int);
	const char *source = cni_text(object, "identity");
	size_t n = ips ? json_object_array_length(ips) : 0;

	if (!ips || !ifindex)
		return -EILSEQ;
	GET_TEXT(object, "network", attachment->network);
	GET_TEXT(object, "container", attachment->container);
	GET_TEXT(object, "interface", attachment->ifname);
	GET_TEXT(object, "namespace", attachment->pod_ns);
	GET_TEXT(object, "pod", attachment->pod_name);
	GET_TEXT(object, "name", attachment->name);
	GET_TEXT(object, "uid", attachment->uid);
	GET_TEXT(object, "host_interface", attachment->host_name);
	attachment->ifindex = json_object_get_int64(ifindex);
	get_mac(object, attachment->mac);
	attachment->going = json_object_get_boolean(json_object_object_get(object, "going"));
	for (size_t i = 0; source && i < CNI_SOURCES; i++)
		if (!strcmp(source, cni_source_names[i]))
			attachment->source = i;
	attachment->addresses = calloc(n + 1, sizeof(*attachment->addresses));
	if (!attachment->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(ips, i));

		if (address_parse(text ? text : "",
				  &attachment->addresses[attachment->n_addresses++]))
			return -EILSEQ;
	}
	return 0;
}

static int read_file(const char *path, struct attachment *attachment)
{
	SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct json_object *object;
	int error;

	*attachment = (struct attachment){};
	if (fd < 0)
		return errno == ENAMETOOLONG ? -ENOENT : -errno; /* no file can have that name */
	object = json_object_from_fd(fd);
	error = object ? from_json(object, attachment) : -EILSEQ;
	json_object_put(object);
	if (error) {
		attachment_free(attachment);
		*attachment = (struct attachment){};
	}
	return error;
}

int attachment_fail(struct cni_call *call, const char *path)
{
	return cni_fail(call, CNI_ERROR_IO, ATTACHMENT_DAMAGED, path);
}

int attachment_read(struct cni_call *call, struct attachment *attachment)
{
	char path[PATH_MAX];
	int error = make_path(call->state, call->network, call->container, call->ifname, path);

	if (!error)
		error = read_file(path, attachment);
	if (error == -EILSEQ)
		attachment_fail(call, path);
	else if (error && error != -ENOENT)
		cni_fail(call, CNI_ERROR_IO, "cannot read from %s: %s", call->state,
			 strerror(-error));
	return error;
}

/* Makes the folder and those above it. */
static int make_folder(const char *path)
{
	char at[PATH_MAX];

	snprintf(at, sizeof(at), "%s", path);
	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(at, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(at, 0700) && errno != EEXIST ? -errno : 0;
}

static int write_text(const char *path, const char *text)
{
	SCOPED_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const size_t length = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
	if (n < 0)
		return -errno;
	return n == (ssize_t)length ? 0 : -ENOSPC;
}

int attachment_write(const struct cni_call *call, const struct attachment *attachment)
{
	struct json_object *object = to_json(attachment);
	char path[PATH_MAX], next[PATH_MAX + 2];
	int error = make_path(call->state, call->network, call->container, call->ifname, path);

	/* attachment_each() ignores hidden files. */
	snprintf(next, sizeof(next), "%s/.%s", call->state, path + strlen(call->state) + 1);
	if (!error)
		error = make_folder(call->state);
	if (!error)
		error = write_text(next,
				   json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	if (!error && rename(next, path))
		error = -errno;
	json_object_put(object);
	return error;
}

static int attachment_remove(const struct cni_call *call, const struct attachment *attachment)
{
	char path[PATH_MAX];
	int error = make_path(call->state, attachment->network, attachment->container,
			      attachment->ifname, path);

	return !error && unlink(path) && errno != ENOENT ? -errno : error;
}

int attachment_each(const char *state, int (*visit)(void *data, struct attachment *attachment),
		    void (*damaged)(void *data, const char *path), void *data)
{
	DIR *folder = opendir(state);
	const struct dirent *entry;
	int status = 0;

	if (!folder)
		return errno == ENOENT ? 0 : -errno;
	while (!status && (entry = readdir(folder))) {
		CLEANUP(attachment_free) struct attachment attachment = {};
		char path[PATH_MAX];
		int error;

		if (*entry->d_name == '.' || snprintf(path, sizeof(path), "%s/%s", state,
						      entry->d_name) >= (int)sizeof(path))
			continue;
		error = read_file(path, &attachment);
		if (!error)
			status = visit(data, &attachment);
		else if (error == -EILSEQ && damaged)
			damaged(data, path);
	}
	closedir(folder);
	return status;
}

bool attachment_is_owner(const struct attachment *attachment, const struct node_owner *owner)
{
	return !strcmp(owner->ns, attachment->pod_ns) &&
	       (!strcmp(owner->name, attachment->name) ||
		!strcmp(owner->name, attachment->pod_name));
}

/* Returns true if another interface has the number of the attachment's by now. */
static bool is_anothers(const struct attachment *attachment)
{
	char name[IF_NAMESIZE];

	return if_indextoname(attachment->ifindex, name) && strcmp(name, attachment->host_name);
}

/* Removes the endpoints of attachments in one change. */
static int take_off(struct node_handle *handle, const struct attachment *attachments, size_t n)
{
	SCOPED_FREE uint32_t *ifindexes = calloc(n + 1, sizeof(*ifindexes));
	size_t n_own = 0;

	if (!ifindexes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!is_anothers(&attachments[i]))
			ifindexes[n_own++] = attachments[i].ifindex;
	return node_interfaces_del(handle, ifindexes, n_own);
}

static int forget(struct cni_call *call, struct node_handle *handle,
		  const struct attachment *attachment)
{
	int error;

	if (handle && node_unguard(handle, attachment->ifindex))
		return cni_fail(call, CNI_ERROR_NODE, "cannot leave %s", attachment->host_name);
	error = attachment_remove(call, attachment);
	return error ? cni_fail(call, CNI_ERROR_IO, "cannot remove from %s: %s", call->state,
				strerror(-error))
		     : 0;
}

static int end_one(struct cni_call *call, struct node_handle *handle,
		   const struct attachment *attachment)
{
	if (node_is_loaded(handle) && take_off(handle, attachment, 1))
		return cni_fail(call, CNI_ERROR_NODE, "cannot take %s/%s off", attachment->pod_ns,
				attachment->name);
	return forget(call, handle, attachment);
}

int attachment_end(struct cni_call *call, const struct attachment *attachment)
{
	const struct node_options options = {
		.pin = call->node.pin, .quarantine = true, .tells_at_once = true};
	SCOPED_HANDLE struct node_handle *handle = NULL;

	if (node_open(&options, false, &call->diag, &handle))
		return cni_fail(call, CNI_ERROR_NODE, "cannot open the pin folder");
	return end_one(call, handle, attachment);
}

struct leavers {
	/* the network whose attachments are taken: its configuration names the pin folder */
	const char *network;
	struct attachment *all;
	size_t n;
};

static void leavers_free(struct leavers *leavers)
{
	for (size_t i = 0; i < leavers->n; i++)
		attachment_free(&leavers->all[i]);
	free(leavers->all);
}

static int gather(void *data, struct attachment *attachment)
{
	struct leavers *leavers = data;
	void *all;

	if (!attachment->going || strcmp(attachment->network, leavers->network))
		return 0;
	all = reallocarray(leavers->all, leavers->n + 1, sizeof(*leavers->all));
	if (!all)
		return -ENOMEM;
	leavers->all = all;
	leavers->all[leavers->n++] = *attachment;
	*attachment = (struct attachment){}; /* its addresses moved */
	return 0;
}

/* Removes the attachments of all DELs that wait. An attachment that cannot be removed is left to
 * its own DEL, which reports the failure. */
static void end_all(struct cni_call *call, struct node_handle *handle)
{
	CLEANUP(leavers_free) struct leavers leavers = {.network = call->network};

	if (attachment_each(call->state, gather, NULL, &leavers) || leavers.n < 2 ||
	    take_off(handle, leavers.all, leavers.n))
		return;
	for (size_t i = 0; i < leavers.n; i++)
		if (!node_unguard(handle, leavers.all[i].ifindex))
			attachment_remove(call, &leavers.all[i]);
}

static bool is_recorded(const struct cni_call *call, const struct attachment *attachment)
{
	char path[PATH_MAX];

	return make_path(call->state, attachment->network, attachment->container,
			 attachment->ifname, path) ||
	       !access(path, F_OK);
}

int attachment_end_batch(struct cni_call *call, struct attachment *attachment)
{
	const struct node_options options = {
		.pin = call->node.pin, .quarantine = true, .tells_at_once = true};
	SCOPED_HANDLE struct node_handle *handle = NULL;

	if (left_note(call, attachment))
		return call->code;
	attachment->going = true;
	/* if that fails, this DEL removes its own attachment only */
	attachment_write(call, attachment);
	if (node_open(&options, false, &call->diag, &handle))
		return cni_fail(call, CNI_ERROR_NODE, "cannot open the pin folder");
	if (node_is_loaded(handle) && is_recorded(call, attachment))
		end_all(call, handle);
	return is_recorded(call, attachment) ? end_one(call, handle, attachment) : 0;
}
