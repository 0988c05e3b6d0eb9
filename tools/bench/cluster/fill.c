// SPDX-License-Identifier: GPL-2.0-only
/* Objects that go into etcd as an API server would have stored them, hundreds in a request: 150,000
 * pods by way of the API server would take longer than the benchmark. */
#include <curl/curl.h>
#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/cluster/cluster.h"

#define ETCD "http://127.0.0.1:2379/v3/kv/txn"
#define BATCH 100

static CURL *easy;
static struct json_object *batch;

static void die(const char *what)
{
	fprintf(stderr, "cluster: %s\n", what);
	exit(1);
}

static size_t ignore(char *bytes, size_t size, size_t n, void *data)
{
	(void)bytes;
	(void)data;
	return size * n;
}

static struct json_object *base64(const char *text)
{
	size_t n = strlen(text);
	char *out = malloc(sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL));
	struct json_object *object;

	sodium_bin2base64(out, sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL),
			  (const unsigned char *)text, n, sodium_base64_VARIANT_ORIGINAL);
	object = json_object_new_string(out);
	free(out);
	return object;
}

void fill_flush(void)
{
	struct json_object *request;
	long status = 0;

	if (!batch)
		return;
	if (!easy)
		easy = curl_easy_init();
	request = json_object_new_object();
	json_object_object_add(request, "success", batch);
	curl_easy_setopt(easy, CURLOPT_URL, ETCD);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
			 json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	if (curl_easy_perform(easy) || curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) ||
	    status != 200)
		die("etcd does not take objects");
	json_object_put(request);
	batch = NULL;
}

/* Adds an operation to the batch. */
static void add(const char *kind, const char *key, const char *value)
{
	struct json_object *operation = json_object_new_object(), *one = json_object_new_object();

	json_object_object_add(one, "key", base64(key));
	if (value)
		json_object_object_add(one, "value", base64(value));
	json_object_object_add(operation, kind, one);
	if (!batch)
		batch = json_object_new_array();
	json_object_array_add(batch, operation);
	if (json_object_array_length(batch) == BATCH)
		fill_flush();
}

static void uid_of(unsigned int kind, unsigned int number, char *uid)
{
	sprintf(uid, "%08x-0000-4000-8000-%012x", kind, number);
}

void fill_node(unsigned int node)
{
	char key[100], value[1000], uid[40];

	uid_of(1, node, uid);
	snprintf(key, sizeof(key), "/registry/minions/node-%u", node);
	snprintf(value, sizeof(value),
		 "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"node-%u\","
		 "\"uid\":\"%s\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{},"
		 "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
		 "\"172.%u.%u.%u\"}]}}",
		 node, uid, 16 + (node >> 16), node >> 8 & 255, node & 255);
	add("request_put", key, value);
}

void fill_namespace(unsigned int ns)
{
	char key[100], value[1000], uid[40];

	uid_of(2, ns, uid);
	snprintf(key, sizeof(key), "/registry/namespaces/tenant-%u", ns);
	snprintf(value, sizeof(value),
		 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
		 "\"tenant-%u\",\"uid\":\"%s\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		 "\"labels\":{\"tenant\":\"%u\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},"
		 "\"status\":{\"phase\":\"Active\"}}",
		 ns, uid, ns);
	add("request_put", key, value);
}

/* Pods of an application are reached by the next application of the namespace. */
void fill_policy(unsigned int ns, unsigned int app)
{
	char key[100], value[1000], uid[40];

	uid_of(3, ns * FILL_APPS + app, uid);
	snprintf(key, sizeof(key), "/registry/networkpolicies/tenant-%u/app-%u", ns, app);
	snprintf(value, sizeof(value),
		 "{\"kind\":\"NetworkPolicy\",\"apiVersion\":\"networking.k8s.io/v1\","
		 "\"metadata\":{\"name\":\"app-%u\",\"namespace\":\"tenant-%u\",\"uid\":\"%s\","
		 "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"podSelector\":"
		 "{\"matchLabels\":{\"app\":\"app-%u\"}},\"policyTypes\":[\"Ingress\"],"
		 "\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":{\"app\":\"app-%u\"}}}"
		 "],\"ports\":[{\"protocol\":\"TCP\",\"port\":8080}]}]}}",
		 app, ns, uid, app, (app + 1) % FILL_APPS);
	add("request_put", key, value);
}

static void pod_key(unsigned int pod, char *key, size_t size)
{
	snprintf(key, size, "/registry/pods/tenant-%u/pod-%u", pod % FILL_TENANTS, pod);
}

void fill_pod(unsigned int pod, unsigned int nodes)
{
	char key[100], value[2000], uid[40], address[32];

	uid_of(4, pod, uid);
	pod_key(pod, key, sizeof(key));
	snprintf(address, sizeof(address), "10.%u.%u.%u", 1 + (pod >> 16), pod >> 8 & 255,
		 pod & 255);
	snprintf(value, sizeof(value),
		 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"pod-%u\","
		 "\"namespace\":\"tenant-%u\",\"uid\":\"%s\",\"creationTimestamp\":"
		 "\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"app-%u\",\"pod-template-hash\":"
		 "\"5d4f8c7b9\"}},\"spec\":{\"nodeName\":\"node-%u\",\"containers\":[{\"name\":"
		 "\"main\",\"image\":\"registry/app:1\",\"ports\":[{\"name\":\"http\","
		 "\"containerPort\":8080,\"protocol\":\"TCP\"}]}]},\"status\":{\"phase\":"
		 "\"Running\",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}]}}",
		 pod, pod % FILL_TENANTS, uid, pod / FILL_TENANTS % FILL_APPS, pod % nodes + 1,
		 address, address);
	add("request_put", key, value);
}

void fill_no_pod(unsigned int pod)
{
	char key[100];

	pod_key(pod, key, sizeof(key));
	add("request_delete_range", key, NULL);
}

void fill_cluster(unsigned int nodes, unsigned int pods)
{
	for (unsigned int node = 1; node <= nodes; node++)
		fill_node(node);
	for (unsigned int ns = 0; ns < FILL_TENANTS; ns++) {
		fill_namespace(ns);
		for (unsigned int app = 0; app < FILL_APPS; app++)
			fill_policy(ns, app);
	}
	for (unsigned int pod = 0; pod < pods; pod++)
		fill_pod(pod, nodes);
	fill_flush();
}
