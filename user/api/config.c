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

struct config_reading {
	struct api_config *config;
	const char *file;
	char *folder; /* folder of the kubeconfig, ending in a slash; relative paths begin there */
	struct diag *diag;
	int error;
	const struct tree *context, *cluster, *user;
};

static void refuse(struct config_reading *reading, const struct tree *node, const char *what)
{
	struct where where = {reading->file, node ? node->line : 0};
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

static void set(struct config_reading *reading, char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
	if (text && !*to)
		reading->error = -ENOMEM;
}

/* Sets a path. A relative one begins at the kubeconfig's folder. */
static void set_path(struct config_reading *reading, char **to, const char *path)
{
	if (!path || *path == '/')
		return set(reading, to, path);
	free(*to);
	if (asprintf(to, "%s%s", reading->folder, path) < 0) {
		*to = NULL;
		reading->error = -ENOMEM;
	}
}

static void set_data(struct config_reading *reading, char **to, const struct tree *map,
		     const char *key)
{
	const struct tree *node = tree_get(map, key);
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
		refuse(reading, node, "is not base64");
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
	const struct tree *cluster = reading->cluster;
	const struct tree *insecure = tree_get(cluster, "insecure-skip-tls-verify");
	const char *server = scalar(cluster, "server");

	if (!server)
		return refuse(reading, cluster, "names no server");
	if (insecure && !strcmp(insecure->text, "true"))
		return refuse(reading, insecure,
			      "TLS is always verified: give a certificate-authority");
	if (!is_private(server))
		return refuse(reading, tree_get(cluster, "server"),
			      "must begin with https://, or be http://127.0.0.1:PORT");
	set(reading, &config->server, server);
	if (config->server)
		while (*config->server && config->server[strlen(config->server) - 1] == '/')
			config->server[strlen(config->server) - 1] = '\0';
	set(reading, &config->name, scalar(cluster, "tls-server-name"));
	set_path(reading, &config->ca_file, scalar(cluster, "certificate-authority"));
	set_data(reading, &config->ca, cluster, "certificate-authority-data");
}

static void read_user(struct config_reading *reading)
{
	static const char *const refused[] = {"exec", "auth-provider", "username", "password", "as",
					      NULL};
	struct api_config *config = reading->config;
	const struct tree *user = reading->user;

	for (size_t i = 0; refused[i]; i++)
		if (tree_get(user, refused[i]))
			return refuse(reading, tree_get(user, refused[i]),
				      "only a token or a client certificate is read");
	set(reading, &config->token, scalar(user, "token"));
	set_path(reading, &config->token_file, scalar(user, "tokenFile"));
	set_path(reading, &config->certificate_file, scalar(user, "client-certificate"));
	set_path(reading, &config->key_file, scalar(user, "client-key"));
	set_data(reading, &config->certificate, user, "client-certificate-data");
	set_data(reading, &config->key, user, "client-key-data");
}

static bool read_root(void *data, struct tree *root)
{
	struct config_reading *reading = data;
	const char *current = scalar(root, "current-context");

	reading->context = named(root, "contexts", current, "context");
	if (!current || !reading->context) {
		refuse(reading, tree_get(root, "current-context"), "there is no current context");
		return false;
	}
	reading->cluster = named(root, "clusters", scalar(reading->context, "cluster"), "cluster");
	reading->user = named(root, "users", scalar(reading->context, "user"), "user");
	if (!reading->cluster)
		refuse(reading, reading->context, "names no cluster that is there");
	if (!reading->user)
		refuse(reading, reading->context, "names no user that is there");
	if (!reading->error)
		read_cluster(reading);
	if (!reading->error)
		read_user(reading);
	return false;
}

static int read_kubeconfig(const char *path, struct diag *diag, struct api_config *config)
{
	struct where where = {path, 0};
	struct obstack memory;
	struct tree_maker maker = {.memory = &memory, .diag = diag, .file = path};
	struct config_reading reading = {.config = config, .file = path, .diag = diag};
	const char *slash = strrchr(path, '/');
	char *text = read_file(path);
	int error;

	if (!text) {
		diag_error(diag, &where, NULL, "%s", strerror(errno));
		return -EINVAL;
	}
	reading.folder = slash ? strndup(path, slash + 1 - path) : strdup("");
	obstack_begin(&memory, 1 << 14);
	error = reading.folder ? yaml_read(&maker, text, strlen(text), read_root, &reading)
			       : -ENOMEM;
	if (!error)
		error = reading.error;
	if (!error && !config->server) {
		diag_error(diag, &where, NULL, "is empty");
		error = -EINVAL;
	}
	obstack_free(&memory, NULL);
	free(reading.folder);
	free(text);
	return error;
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
	const char *home = getenv("HOME");
	char *path = NULL;
	int error;

	*config = (struct api_config){0};
	if (!kubeconfig)
		kubeconfig = getenv("KUBECONFIG");
	if (!kubeconfig && getenv("KUBERNETES_SERVICE_HOST") && !access(ACCOUNT "token", R_OK))
		return read_account(config);
	if (!kubeconfig && asprintf(&path, "%s/.kube/config", home ? home : "/root") < 0)
		return -ENOMEM;
	error = read_kubeconfig(kubeconfig ? kubeconfig : path, diag, config);
	free(path);
	return error;
}
