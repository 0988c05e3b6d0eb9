// SPDX-License-Identifier: GPL-2.0-only
/* Compiled Services: their addresses and backends. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/blob.h"
#include "compile/compile.h"
#include "compile/frontend.h"
#include "input/input.h"

/* One cluster in both forms. In YAML, shop/slices has EndpointSlices; shop/db never has any. */
static const char world_ini[] =
	"[bulkhead]\nservice-cidr = 10.96.0.0/12, fd00:96::/112\n"
	"[node w1]\nip = 192.168.7.1, fd00:7::1\n"
	"[node w2]\nip = 192.168.7.2\n"
	"[endpoint shop/db-0]\nnode = w1\nip = 10.1.0.5, fd00:1::5\nlabels = role=db\n"
	"port = redis TCP/6379\n"
	"[endpoint shop/db-1]\nnode = w2\nip = 10.1.0.6\nlabels = role=db\nport = redis TCP/6380\n"
	"[endpoint shop/mute]\nnode = w2\nip = 10.1.0.7\nlabels = role=db\n"
	"[endpoint other/db]\nnode = w2\nip = 10.1.0.8\nlabels = role=db\nport = redis TCP/6379\n"
	"[service shop/db]\naddress = 10.96.0.10, fd00:96::10\nexternal-address = 203.0.113.1\n"
	"external-traffic = Local\n"
	"port = redis TCP/6379 to redis node 30379, dns UDP/53 to 5353\n"
	"backends = endpoints(role=db)\n"
	"[service shop/slices]\naddress = 10.96.0.11\ninternal-traffic = Local\nport = TCP/443\n"
	"backends = 192.168.7.1 to 6443, 192.168.7.2 to 6443, 10.1.0.8 to 8443, 198.51.100.9 to 1\n"
	"[service shop/headless]\nbackends = endpoints(role=db)\n"
	"[service shop/empty]\naddress = 192.168.7.2\nport = SCTP/9\n";

#define POD(ns, name, node, ips, ports)                                                    \
	"---\n{apiVersion: v1, kind: Pod, metadata: {name: " name ", namespace: " ns       \
	", labels: {role: db}},\n spec: {nodeName: " node ", containers: [{ports: [" ports \
	"]}]},\n status: {podIPs: [" ips "]}}\n"
#define SERVICE(name, spec)                                                                       \
	"---\n{apiVersion: v1, kind: Service, metadata: {name: " name ", namespace: shop}, " spec \
	"}\n"
#define NODE(name, addresses)                                            \
	"---\n{apiVersion: v1, kind: Node, metadata: {name: " name "}, " \
	"status: {addresses: [" addresses "]}}\n"
#define SLICE(name, version, ports, endpoints)                                                     \
	"---\n{apiVersion: discovery.k8s.io/" version ", kind: EndpointSlice, addressType: IPv4, " \
	"metadata: {name: " name ", namespace: shop, labels: {kubernetes.io/service-name: "        \
	"slices}},\n ports: [" ports "], endpoints: [" endpoints "]}\n"

static const char world_yaml[] = NODE(
	"w1",
	"{type: InternalIP, address: 192.168.7.1}, {type: InternalIP, address: "
	"'fd00:7::1'}") NODE("w2",
			     "{type: InternalIP, address: 192.168.7.2}") POD("shop", "db-0", "w1",
									     "{ip: 10.1.0.5}, {ip: "
									     "'fd00:1::5'}",
									     "{name: redis, "
									     "containerPort: 6379}")
	POD("shop", "db-1", "w2", "{ip: 10.1.0.6}", "{name: redis, containerPort: 6380}") POD(
		"shop", "mute", "w2", "{ip: 10.1.0.7}",
		"") POD("other", "db", "w2", "{ip: 10.1.0.8}", "{name: redis, containerPort: 6379}")
		SERVICE("db",
			"spec: {type: NodePort, selector: {role: db}, clusterIP: 10.96.0.10,\n"
			" clusterIPs: [10.96.0.10, 'fd00:96::10'], externalTrafficPolicy: Local,\n"
			" sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: "
			"{timeoutSeconds: 9}},\n"
			" ports: [{name: redis, port: 6379, targetPort: redis, nodePort: 30379},\n"
			"  {name: dns, protocol: UDP, port: 53, targetPort: 5353}]},\n"
			" status: {loadBalancer: {ingress: [{ip: 203.0.113.1, ipMode: VIP},\n"
			"  {hostname: x}, {ip: 203.0.113.2, ipMode: Proxy}]}}")
			SERVICE("slices",
				"spec: {internalTrafficPolicy: Local, clusterIP: 10.96.0.11, "
				"ports: [{port: 443}]}") SLICE("a", "v1",
							       "{port: 6443, protocol: TCP, name: "
							       "''}",
							       "{addresses: [192.168.7.1], "
							       "nodeName: w1}, {addresses: "
							       "[192.168.7.2]}")
				SLICE("b", "v1beta1", "{port: 8443}, {name: other, port: 1}",
				      "{addresses: [10.1.0.8], topology: {kubernetes.io/hostname: "
				      "w2}}") SLICE("c", "v1", "{port: 1}",
						    "{addresses: [198.51.100.9]}")
					SERVICE("headless",
						"spec: {clusterIP: None, selector: {role: db}}")
						SERVICE("empty",
							"spec: {clusterIP: 192.168.7.2, ports: "
							"[{port: 9, protocol: SCTP}]}");

static const char world_listing[] = ":: TCP/30379 shop/db external local\n"
				    "  10.1.0.5 6379 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 6380 on w2, endpoint shop/db-1\n"
				    "  fd00:1::5 6379 on w1, endpoint shop/db-0\n"
				    "10.96.0.10 TCP/6379 shop/db\n"
				    "  10.1.0.5 6379 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 6380 on w2, endpoint shop/db-1\n"
				    "  fd00:1::5 6379 on w1, endpoint shop/db-0\n"
				    "10.96.0.10 UDP/53 shop/db\n"
				    "  10.1.0.5 5353 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 5353 on w2, endpoint shop/db-1\n"
				    "  10.1.0.7 5353 on w2, endpoint shop/mute\n"
				    "  fd00:1::5 5353 on w1, endpoint shop/db-0\n"
				    "10.96.0.11 TCP/443 shop/slices local\n"
				    "  10.1.0.8 8443 on w2, endpoint other/db\n"
				    "  192.168.7.1 6443 on w1, node\n"
				    "  192.168.7.2 6443 on w2, node\n"
				    "  198.51.100.9 1 on -, outside\n"
				    "192.168.7.2 SCTP/9 shop/empty shared\n"
				    "203.0.113.1 TCP/6379 shop/db external local\n"
				    "  10.1.0.5 6379 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 6380 on w2, endpoint shop/db-1\n"
				    "  fd00:1::5 6379 on w1, endpoint shop/db-0\n"
				    "203.0.113.1 UDP/53 shop/db external local\n"
				    "  10.1.0.5 5353 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 5353 on w2, endpoint shop/db-1\n"
				    "  10.1.0.7 5353 on w2, endpoint shop/mute\n"
				    "  fd00:1::5 5353 on w1, endpoint shop/db-0\n"
				    "fd00:96::10 TCP/6379 shop/db\n"
				    "  10.1.0.5 6379 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 6380 on w2, endpoint shop/db-1\n"
				    "  fd00:1::5 6379 on w1, endpoint shop/db-0\n"
				    "fd00:96::10 UDP/53 shop/db\n"
				    "  10.1.0.5 5353 on w1, endpoint shop/db-0\n"
				    "  10.1.0.6 5353 on w2, endpoint shop/db-1\n"
				    "  10.1.0.7 5353 on w2, endpoint shop/mute\n"
				    "  fd00:1::5 5353 on w1, endpoint shop/db-0\n";

/* Either text may be NULL. */
static struct policy *compile_texts(const char *ini, const char *yaml)
{
	struct diag diag = {0};
	struct cluster cluster;
	struct policy *policy;

	cluster_init(&cluster);
	if (ini)
		assert_int_equal(input_parse_ini(&cluster, ini, strlen(ini), "t", &diag), 0);
	if (yaml)
		assert_int_equal(input_parse_yaml(&cluster, yaml, strlen(yaml), "t", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	assert_int_equal(compile_cluster(&cluster, NULL, &diag, &policy), 0);
	cluster_free(&cluster);
	return policy;
}

static void list_backend(FILE *to, const struct policy *policy,
			 const struct policy_backend *backend)
{
	struct service_place place = backend_place(policy, backend);
	char text[ADDRESS_TEXT];

	fprintf(to, "  %s %u on %s, ", address_print(&backend->address, text), backend->port,
		place.node ? place.node : "-");
	if (place.endpoint)
		fprintf(to, "endpoint %s/%s",
			policy_string(policy, policy->namespaces[place.endpoint->ns].name),
			policy_string(policy, place.endpoint->name));
	else
		fputs(place.is_node ? "node" : "outside", to);
	if (!(backend->flags & POLICY_BACKEND_READY))
		fputs(", not ready", to);
	fprintf(to, "%s%s\n", backend->flags & POLICY_BACKEND_SERVING ? "" : ", not serving",
		backend->flags & POLICY_BACKEND_TERMINATING ? ", terminating" : "");
}

/* Lists every frontend with the backends of its port. */
static char *list_services(const struct policy *policy)
{
	char *listing = NULL;
	size_t size, n;
	FILE *to = open_memstream(&listing, &size);

	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct policy_backend *backends = frontend_backends(policy, frontend, &n);
		char text[ADDRESS_TEXT], name[SERVICE_NAME_TEXT];

		fprintf(to, "%s %s/%u %s%s%s%s\n", address_print(&frontend->address, text),
			frontend->protocol == IPPROTO_TCP   ? "TCP"
			: frontend->protocol == IPPROTO_UDP ? "UDP"
							    : "SCTP",
			frontend->port,
			service_name(policy, frontend_service(policy, frontend), name),
			frontend->flags & POLICY_FRONTEND_EXTERNAL ? " external" : "",
			frontend->flags & POLICY_FRONTEND_LOCAL ? " local" : "",
			frontend->flags & POLICY_FRONTEND_SHARED ? " shared" : "");
		for (size_t j = 0; j < n; j++)
			list_backend(to, policy, &backends[j]);
	}
	fclose(to);
	return listing;
}

static void *blob_of(struct policy *policy, size_t *size)
{
	void *bytes;

	assert_int_equal(blob_write(policy, &bytes, size), 0);
	return bytes;
}

static void both_forms(void **state)
{
	struct policy *ini = compile_texts(world_ini, NULL), *yaml, *read;
	size_t ini_size, yaml_size;
	void *ini_bytes = blob_of(ini, &ini_size), *yaml_bytes;
	char *listing = list_services(ini);
	struct diag diag = {.to = stderr};

	(void)state;
	assert_string_equal(listing, world_listing);
	yaml = compile_texts("[bulkhead]\nservice-cidr = fd00:96::/112, 10.96.0.0/12, "
			     "10.96.0.1/12\n",
			     world_yaml);
	yaml_bytes = blob_of(yaml, &yaml_size);
	free(listing);
	listing = list_services(yaml);
	assert_string_equal(listing, world_listing);
	assert_int_equal(ini_size, yaml_size);
	assert_memory_equal(ini_bytes, yaml_bytes, ini_size);
	assert_int_equal(blob_read(yaml_bytes, yaml_size, NULL, &diag, &read), 0);
	free(listing);
	listing = list_services(read);
	assert_string_equal(listing, world_listing);
	free(listing);
	free(ini_bytes);
	policy_free(ini);
	policy_free(yaml);
	policy_free(read);
}

#define PODS(status, deleted)                                                                     \
	"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {a: b}" deleted \
	"}, status: {podIP: 10.0.0.1" status "}}\n---\n"                                          \
	"{apiVersion: v1, kind: Pod, metadata: {name: h, namespace: shop, labels: {a: b}},"       \
	" spec: {hostNetwork: true, nodeName: w3, containers: [{ports: [{name: n, "               \
	"containerPort: 7}]}]}, status: {podIP: 192.168.7.3}}\n"
#define A_SERVICE(more) \
	SERVICE("s", "spec: {selector: {a: b}, clusterIP: 10.9.0.1, ports: [{port: 9}]" more "}")
#define HOST "  192.168.7.3 9 on w3, outside\n"
#define FRONT "10.9.0.1 TCP/9 shop/s\n"
#define FIRST FRONT "  10.0.0.1 9 on -, endpoint shop/p"
static const struct {
	const char *yaml, *listing;
} of_readiness[] = {
	{PODS("", "") A_SERVICE(""), FIRST "\n" HOST},
	{PODS(", conditions: [{type: Ready, status: 'False'}]", "") A_SERVICE(""),
	 FIRST ", not ready, not serving\n" HOST},
	{PODS(", conditions: [{type: Ready, status: 'True'}, {type: X, status: 'False'}]", "")
		 A_SERVICE(""),
	 FIRST "\n" HOST},
	{PODS(", conditions: [{type: Ready, status: 'False'}]", "")
		 A_SERVICE(", publishNotReadyAddresses: true"),
	 FIRST ", not serving\n" HOST},
	{PODS("", ", deletionTimestamp: '2026-01-01T00:00:00Z'") A_SERVICE(""),
	 FIRST ", not ready, terminating\n" HOST},
	{PODS(", phase: Succeeded", "") A_SERVICE(""), FRONT HOST},
	/* A pod in its node's network has named ports as other pods have. */
	{PODS("", "") SERVICE("s", "spec: {selector: {a: b}, clusterIP: 10.9.0.1, "
				   "ports: [{port: 9, targetPort: n}]}"),
	 FRONT "  192.168.7.3 7 on w3, outside\n"},
	/* Even an empty EndpointSlice replaces the selector. */
	{PODS("", "")
		 A_SERVICE("") "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, "
			       "addressType: "
			       "IPv4, metadata: {name: x, namespace: shop, labels: "
			       "{kubernetes.io/service-name: s}}, ports: null, endpoints: null}",
	 FRONT},
	/* An EndpointSlice of another namespace does not count. */
	{PODS("", "") A_SERVICE(
		 "") "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, "
		     "addressType: "
		     "IPv4, metadata: {name: x, labels: {kubernetes.io/service-name: s}}, "
		     "endpoints: []}",
	 FIRST "\n" HOST},
	{"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, "
	 "metadata: {name: x, namespace: shop, labels: {kubernetes.io/service-name: s}}, "
	 "ports: [{port: 8}, {port: 7, protocol: UDP}], endpoints: ["
	 "{addresses: [10.0.0.3], conditions: {ready: false}},"
	 "{addresses: [10.0.0.2], conditions: {ready: false, serving: true, terminating: "
	 "true}}, {addresses: [10.0.0.1], conditions: {}}]}\n" A_SERVICE(""),
	 FRONT "  10.0.0.1 8 on -, outside\n"
	       "  10.0.0.2 8 on -, outside, not ready, terminating\n"
	       "  10.0.0.3 8 on -, outside, not ready, not serving\n"},
	/* A Service without an address is not served, nor is an ExternalName. */
	{SERVICE("s", "spec: {externalIPs: [203.0.113.1], ports: [{port: 9}]}"), ""},
	{SERVICE("s", "spec: {type: ExternalName, externalName: example.org}"), ""},
};

/* Endpoint readiness agrees between EndpointSlices and selectors. */
static void readiness(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(of_readiness) / sizeof(*of_readiness); i++) {
		struct policy *policy = compile_texts(NULL, of_readiness[i].yaml);
		char *listing = list_services(policy);

		if (strcmp(listing, of_readiness[i].listing))
			fail_msg("row %zu: got\n%s, not\n%s", i, listing, of_readiness[i].listing);
		free(listing);
		policy_free(policy);
	}
}

/* The owner of an address and port. */
static void finds(void **state)
{
	static const struct {
		const char *node, *address;
		uint8_t protocol;
		uint16_t port;
		enum service_answer answer;
	} rows[] = {
		{NULL, "10.96.0.10", IPPROTO_TCP, 6379, SERVICE_FOUND},
		{NULL, "10.96.0.10", IPPROTO_UDP, 6379, SERVICE_NO_PORT},
		{NULL, "10.96.0.10", IPPROTO_ICMP, 0, SERVICE_NO_PORT},
		{NULL, "fd00:96::10", IPPROTO_UDP, 53, SERVICE_FOUND},
		{NULL, "203.0.113.1", IPPROTO_TCP, 6379, SERVICE_FOUND},
		{NULL, "203.0.113.1", IPPROTO_TCP, 80, SERVICE_NO_PORT},
		{NULL, "203.0.113.2", IPPROTO_TCP, 6379, SERVICE_NONE},
		/* A node's address is the Service's at the Service's port only. */
		{NULL, "192.168.7.2", IPPROTO_SCTP, 9, SERVICE_FOUND},
		{NULL, "192.168.7.2", IPPROTO_SCTP, 8, SERVICE_NONE},
		{"w1", "192.168.7.1", IPPROTO_TCP, 30379, SERVICE_FOUND},
		{"w1", "fd00:7::1", IPPROTO_TCP, 30379, SERVICE_FOUND},
		{"w1", "192.168.7.2", IPPROTO_TCP, 30379, SERVICE_NONE},
		{"w1", "192.168.7.1", IPPROTO_TCP, 30380, SERVICE_NONE},
		{NULL, "192.168.7.1", IPPROTO_TCP, 30379, SERVICE_NONE},
		{"w1", "10.1.0.5", IPPROTO_TCP, 30379, SERVICE_NONE},
		{NULL, "10.96.0.12", IPPROTO_TCP, 443, SERVICE_UNKNOWN},
		{NULL, "fd00:96::11", IPPROTO_TCP, 443, SERVICE_UNKNOWN},
		{NULL, "10.112.0.1", IPPROTO_TCP, 443, SERVICE_NONE},
		{NULL, "::", IPPROTO_TCP, 30379, SERVICE_NONE},
	};
	struct policy *policy = compile_texts(world_ini, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct service_frontends found;
		struct address address;

		assert_int_equal(address_parse(rows[i].address, &address), 0);
		if (service_find(policy, rows[i].node, &address, rows[i].protocol, rows[i].port,
				 &found) != rows[i].answer)
			fail_msg("row %zu, %s", i, rows[i].address);
	}
	assert_non_null(service_by_name(policy, "shop", "headless"));
	assert_null(service_by_name(policy, "shop", "db-0"));
	policy_free(policy);
}

/* Kubernetes lets two Services have one external address and port. */
static void shared_frontend(void **state)
{
	struct policy *policy = compile_texts("[service b/b]\naddress = 10.9.0.2\n"
					      "external-address = 203.0.113.1\nport = TCP/9\n"
					      "backends = 10.0.0.2\n"
					      "[service a/a]\naddress = 10.9.0.1\n"
					      "external-address = 203.0.113.1\nport = TCP/9\n"
					      "backends = 10.0.0.1\n",
					      NULL);
	struct service_frontends found;
	struct address address;

	(void)state;
	assert_int_equal(address_parse("203.0.113.1", &address), 0);
	assert_int_equal(service_find(policy, NULL, &address, IPPROTO_TCP, 9, &found),
			 SERVICE_FOUND);
	assert_int_equal(found.n, 2);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms),
		cmocka_unit_test(readiness),
		cmocka_unit_test(finds),
		cmocka_unit_test(shared_frontend),
	};

	return cmocka_run_group_tests_name("services", tests, NULL, NULL);
}
