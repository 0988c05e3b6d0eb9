// SPDX-License-Identifier: GPL-2.0-only
/* Reads a kubeconfig, or a pod's service account. */
#include <errno.h>
#include <obstack.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "input/tree.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"
#define FILE_MAX (1 << 20)
#define FILES_MAX 64 /* of $KUBECONFIG */

void api_config_free(struct api_config *config)
{
	char **strings[] = {&config->server,	  &config->ca_file,    &config->certificate_file,
			    &config->key_file,	  &config->token_file, &config->ca,
			    &config->certificate, &config->key,	       &config->token,
			    &config->name};

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		free(*strings[i]);
		*strings[i] = NULL;
	}
}

/* Returns the file's content, to free; NULL with errno. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(FILE_MAX) : NULL;
	size_t n = text ? fread(text, 1, FILE_MAX - 1, file) : 0;

	if (file)
		fclose(file);
	if (text)
		text[n] = '\0';
	return text;
}

/* A kubeconfig of the list. */
struct config_file {
	const char *path;
	const struct tree *root;
};

/* A part of a kubeconfig, with the file that has it. */
struct config_part {
	const struct config_file *file;
	const struct tree *at; /* NULL: no file has it */
};

struct config_reading {
	struct api_config *config;
	struct diag *diag;
	int error;
	const char *separator;
	char *rest; /* paths that are still to be read; NULL: none */
	struct config_file missing; /* the first of the list, */
	const char *why; /* and what is wrong if no other file is there */
	struct obstack memory;
	struct config_file files[FILES_MAX]; /* those that are read, in the list's order */
	size_t n;
	struct config_part context, cluster, user;
};

static void refuse(struct config_reading *reading, const struct config_file *file,
		   const struct tree *node, const char *what)
{
	struct where where = {file->path, node ? node->line : 0};
	char *path = node ? tree_path(node) : NULL;

	diag_error(reading->diag, &where, path, "%s", what);
	free(path);
	reading->error = -EINVAL;
}

static const char *scalar(const struct tree *map, const char *key)
{
	const struct tree *node = tree_get(map, key);

	return node && node->type == TREE_SCALAR ? node->text : NULL;
}

/* Returns the member @what of the item named @name in the list @key. */
static const struct tree *named(const struct tree *root, const char *key, const char *name,
				const char *what)
{
	const struct tree *list = tree_get(root, key);
	const struct tree *item = list && list->type == TREE_LIST ? list->first : NULL;

	for (; item && name; item = item->next) {
		const char *text = scalar(item, "name");

		if (text && !strcmp(text, name))
			return tree_get(item, what);
	}
	return NULL;
}

/* Returns what the first file that has such an item has of it. */
static struct config_part find(const struct config_reading *reading, const char *key,
			       const char *name, const char *what)
{
	struct config_part part = {0};

	for (size_t i = 0; i < reading->n && !part.at; i++)
		part = (struct config_part){&reading->files[i],
					    named(reading->files[i].root, key, name, what)};
	return part;
}

static void set(struct config_reading *reading, char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
	if (text && !*to)
		reading->error = -ENOMEM;
}

/* Sets a path. A relative one begins at the folder of the kubeconfig that has it. */
static void set_path(struct config_reading *reading, char **to, const struct config_part *part,
		     const char *key)
{
	const char *path = scalar(part->at, key), *file = part->file->path;
	const char *slash = strrchr(file, '/');

	if (!path || *path == '/')
		return set(reading, to, path);
	free(*to);
	if (asprintf(to, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, path) < 0) {
		*to = NULL;
		reading->error = -ENOMEM;
	}
}

static void set_data(struct config_reading *reading, char **to, const struct config_part *part,
		     const char *key)
{
	const struct tree *node = tree_get(part->at, key);
	size_t size, length;

	if (!node || node->type != TREE_SCALAR)
		return;
	size = node->n / 4 * 3 + 4;
	free(*to);
	*to = malloc(size);
	if (!*to) {
		reading->error = -ENOMEM;
	} else if (sodium_base642bin((unsigned char *)*to, size - 1, node->text, node->n, "\r\n ",
				     &length, NULL, sodium_base64_VARIANT_ORIGINAL)) {
		(*to)[0] = '\0';
		refuse(reading, part->file, node, "is not base64");
	} else {
		(*to)[length] = '\0';
	}
}

/* Returns true if a token may be sent to @server: TLS, or this machine's own address. A name that
 * begins like that address is another host's. */
static bool is_private(const char *server)
{
	static const char loopback[] = "http://127.0.0.1";
	const char *rest = server + strlen(loopback);

	if (!strncmp(server, "https://", 8))
		return true;
	if (strncmp(server, loopback, strlen(loopback)))
		return false;
	if (*rest == ':')
		rest += 1 + strspn(rest + 1, "0123456789");
	return !*rest || *rest == '/';
}

static void read_cluster(struct config_reading *reading)
{
	struct api_config *config = reading->config;
	const struct config_part *part = &reading->cluster;
	const struct tree *cluster = part->at;
	const struct tree *insecure = tree_get(cluster, "insecure-skip-tls-verify");
	const char *server = scalar(cluster, "server");

	if (!server)
		return refuse(reading, part->file, cluster, "names no server");
	if (insecure && !strcmp(insecure->text, "true"))
		return refuse(reading, part->file, insecure,
			      "TLS is always verified: give a certificate-authority");
	if (!is_private(server))
		return refuse(reading, part->file, tree_get(cluster, "server"),
			      "must begin with https://, or be http://127.0.0.1:PORT");
	set(reading, &config->server, server);
	if (config->server)
		while (*config->server && config->server[strlen(config->server) - 1] == '/')
			config->server[strlen(config->server) - 1] = '\0';
	set(reading, &config->name, scalar(cluster, "tls-server-name"));
	set_path(reading, &config->ca_file, part, "certificate-authority");
	set_data(reading, &config->ca, part, "certificate-authority-data");
}

static void read_user(struct config_reading *reading)
{
	static const char *const refused[] = {"exec", "auth-provider", "username", "password", "as",
					      NULL};
	struct api_config *config = reading->config;
	const struct config_part *part = &reading->user;
	const struct tree *user = part->at;

	for (size_t i = 0; refused[i]; i++)
		if (tree_get(user, refused[i]))
			return refuse(reading, part->file, tree_get(user, refused[i]),
				      "only a token or a client certificate is read");
	set(reading, &config->token, scalar(user, "token"));
	set_path(reading, &config->token_file, part, "tokenFile");
	set_path(reading, &config->certificate_file, part, "client-certificate");
	set_path(reading, &config->key_file, part, "client-key");
	set_data(reading, &config->certificate, part, "client-certificate-data");
	set_data(reading, &config->key, part, "client-key-data");
}

/* Returns the file that says which context is current: the first that has one. */
static const struct config_file *find_current(const struct config_reading *reading)
{
	for (size_t i = 0; i < reading->n; i++) {
		const char *current = scalar(reading->files[i].root, "current-context");

		if (current && *current)
			return &reading->files[i];
	}
	return reading->files;
}

/* Takes the current context out of the files: of each name, the item of the first file counts. */
static void read_files(struct config_reading *reading)
{
	const struct config_file *file = find_current(reading);
	const char *current = scalar(file->root, "current-context");

	reading->context = find(reading, "contexts", current, "context");
	if (!reading->context.at)
		return refuse(reading, file, tree_get(file->root, "current-context"),
			      "there is no current context");
	reading->cluster =
		find(reading, "clusters", scalar(reading->context.at, "cluster"), "cluster");
	reading->user = find(reading, "users", scalar(reading->context.at, "user"), "user");
	if (!reading->cluster.at)
		refuse(reading, reading->context.file, reading->context.at,
		       "names no cluster that is there");
	if (!reading->user.at)
		refuse(reading, reading->context.file, reading->context.at,
		       "names no user that is there");
	if (!reading->error)
		read_cluster(reading);
	if (!reading->error)
		read_user(reading);
}

static void read_rest(struct config_reading *reading);

/* Reads the files behind this one, and then what all of them say: the tree is freed once this
 * returns. */
static bool read_root(void *data, struct tree *root)
{
	struct config_reading *reading = data;

	reading->files[reading->n++].root = root;
	read_rest(reading);
	return false;
}

/* Skips a file of the list that is missing or empty, as kubectl does. */
static void read_one(struct config_reading *reading, const char *path)
{
	struct tree_maker maker = {.memory = &reading->memory, .diag = reading->diag, .file = path};
	struct config_file *file = &reading->files[reading->n];
	char *text = read_file(path);
	const char *why = text ? "is empty" : strerror(errno);
	int error;

	file->path = path;
	if (!text && errno != ENOENT)
		return refuse(reading, file, NULL, why);
	if (!reading->missing.path) {
		reading->missing.path = path;
		reading->why = why;
	}
	error = text ? yaml_read(&maker, text, strlen(text), read_root, reading) : 0;
	free(text);
	if (error)
		reading->error = error;
}

static void read_rest(struct config_reading *reading)
{
	const size_t before = reading->n;
	const char *path;

	while (reading->n == before && !reading->error) {
		do
			path = strsep(&reading->rest, reading->separator);
		while (path && !*path);
		if (path && before == FILES_MAX)
			return refuse(reading, &reading->files[0], NULL,
				      "is the first of too many kubeconfigs");
		if (path)
			read_one(reading, path);
		else if (before)
			return read_files(reading);
		else
			return refuse(reading, &reading->missing, NULL, reading->why);
	}
}

/* @separator: between the paths of a list; "": @paths is one. */
static int read_kubeconfigs(const char *paths, const char *separator, struct diag *diag,
			    struct api_config *config)
{
	struct config_reading reading = {.config = config,
					 .diag = diag,
					 .separator = separator,
					 .rest = strdup(paths),
					 .why = "$KUBECONFIG names no file"};
	char *list = reading.rest;

	if (!list)
		return -ENOMEM;
	obstack_begin(&reading.memory, 1 << 14);
	read_rest(&reading);
	obstack_free(&reading.memory, NULL);
	free(list);
	return reading.error;
}

static int read_account(struct api_config *config)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	const char *bracket = strchr(host, ':') ? "[" : "";

	config->ca_file = strdup(ACCOUNT "ca.crt");
	config->token_file = strdup(ACCOUNT "token");
	if (asprintf(&config->server, "https://%s%s%s:%s", bracket, host, *bracket ? "]" : "",
		     port ? port : "443") < 0)
		config->server = NULL;
	return config->ca_file && config->token_file && config->server ? 0 : -ENOMEM;
}

int api_config_read(const char *kubeconfig, struct diag *diag, struct api_config *config)
{
	const char *home = getenv("HOME"), *list = getenv("KUBECONFIG");
	char *path = NULL;
	int error;

	*config = (struct api_config){0};
	if (kubeconfig)
		return read_kubeconfigs(kubeconfig, "", diag, config);
	if (list && *list)
		return read_kubeconfigs(list, ":", diag, config);
	if (getenv("KUBERNETES_SERVICE_HOST") && !access(ACCOUNT "token", R_OK))
		return read_account(config);
	if (asprintf(&path, "%s/.kube/config", home ? home : "/root") < 0)
		return -ENOMEM;
	if (access(path, F_OK)) {
		diag_error(diag, &(struct where){path, 0}, NULL,
			   "%s; give a kubeconfig by --kubeconfig or $KUBECONFIG", strerror(errno));
		error = -EINVAL;
	} else {
		error = read_kubeconfigs(path, "", diag, config);
	}
	free(path);
	return error;
}
