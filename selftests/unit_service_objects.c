// SPDX-License-Identifier: GPL-2.0-only
/* Services and EndpointSlices: which fields are read, and what is refused. */
#include "selftests/lib/read.h"

#define SERVICE "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: x}\nspec:\n"
#define SLICE(version)                                                                        \
	"apiVersion: discovery.k8s.io/" version "\nkind: EndpointSlice\nmetadata: {name: e, " \
	"namespace: x, labels: {kubernetes.io/service-name: s}}\n"
#define PORT "  ports: [{port: 80}]\n"
#define PORT_READ "  port - TCP/80 to 80 node 0\n"
#define CLUSTER_IP "  clusterIP: 10.96.0.1\n"

static const struct read_row services[] = {
	{"Service: the least", CLUSTER_IP PORT, NULL, "service x/s 10.96.0.1 external\n" PORT_READ},
	{"Service: both versions of IP",
	 CLUSTER_IP "  clusterIPs: [10.96.0.1, 'fd96::1']\n  ipFamilies: [IPv4, IPv6]\n"
		    "  ipFamilyPolicy: PreferDualStack\n" PORT,
	 NULL, "service x/s 10.96.0.1 fd96::1 external\n" PORT_READ},
	{"Service: IPv6 first", "  clusterIPs: ['fd96::1', 10.96.0.1]\n" PORT, NULL,
	 "service x/s fd96::1 10.96.0.1 external\n" PORT_READ},
	{"Service: no address yet", PORT, NULL, "service x/s external\n" PORT_READ},
	{"Service: an empty address", "  clusterIP: ''\n" PORT, NULL,
	 "service x/s external\n" PORT_READ},
	{"Service: headless", "  clusterIP: None\n  clusterIPs: [None]\n  selector: {a: b}\n", NULL,
	 "service x/s headless external pods(a in \"b\")\n"},
	{"Service: another name", "  type: ExternalName\n  externalName: a.example\n", NULL,
	 "service x/s external-name external\n"},
	{"Service: a name with ports", "  type: ExternalName\n  externalName: a.example\n" PORT,
	 NULL, "service x/s external-name external\n" PORT_READ},
	{"Service: an empty selector is none", CLUSTER_IP "  selector: {}\n" PORT, NULL,
	 "service x/s 10.96.0.1 external\n" PORT_READ},
	{"Service: all that decides nothing",
	 CLUSTER_IP
	 "  type: LoadBalancer\n  sessionAffinity: ClientIP\n"
	 "  sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}\n  loadBalancerIP: 1.2.3.4\n"
	 "  loadBalancerSourceRanges: [192.0.2.0/24]\n  loadBalancerClass: a/b\n"
	 "  allocateLoadBalancerNodePorts: false\n  trafficDistribution: PreferClose\n"
	 "  healthCheckNodePort: 30001\n  topologyKeys: ['*']\n"
	 "  ports: [{port: 80, appProtocol: http, targetPort: 0, nodePort: 0, name: ''}]\n"
	 "status: {loadBalancer: {}, conditions: [{a: b}]}\n",
	 NULL, "service x/s 10.96.0.1 external\n" PORT_READ},
	{"Service: ports",
	 CLUSTER_IP "  type: NodePort\n  externalTrafficPolicy: Local\n"
		    "  internalTrafficPolicy: Local\n  publishNotReadyAddresses: true\n"
		    "  ports:\n  - {name: a, port: 80, targetPort: 8080, nodePort: 30080}\n"
		    "  - {name: b, port: 80, protocol: UDP, targetPort: dns}\n"
		    "  - {name: c, port: 80, protocol: SCTP}\n",
	 NULL,
	 "service x/s 10.96.0.1 external any-ready internal-local external-local\n"
	 "  port a TCP/80 to 8080 node 30080\n  port b UDP/80 to 0dns node 0\n"
	 "  port c SCTP/80 to 80 node 0\n"},
	{"Service: external addresses",
	 CLUSTER_IP "  externalIPs: [203.0.113.1, 'fd00::9']\n" PORT
		    "status: {loadBalancer: {ingress: [{hostname: a.example}, {ip: 203.0.113.2},"
		    " {ip: 203.0.113.3, ipMode: Proxy}, {ip: 203.0.113.1, ipMode: VIP}]}}\n",
	 NULL, "service x/s 10.96.0.1 external 203.0.113.1 203.0.113.2 fd00::9\n" PORT_READ},

	{"Service: unknown field", CLUSTER_IP PORT "  mode: fast\n",
	 "t:7: spec.mode: unknown field", NULL},
	{"Service: unknown field of a port", CLUSTER_IP "  ports:\n  - port: 80\n    weight: 1\n",
	 "t:8: spec.ports[0].weight: unknown field", NULL},
	{"Service: unknown type", CLUSTER_IP PORT "  type: Cluster\n",
	 "t:7: spec.type: must be one of ClusterIP, NodePort, LoadBalancer, ExternalName, not "
	 "\"Cluster\"",
	 NULL},
	{"Service: no ports", CLUSTER_IP, "t:4: spec.ports: is missing", NULL},
	{"Service: port out of range", CLUSTER_IP "  ports: [{port: 0}]\n",
	 "t:6: spec.ports[0].port: must be 1 to 65535, not 0", NULL},
	{"Service: port missing", CLUSTER_IP "  ports: [{targetPort: 1}]\n",
	 "t:6: spec.ports[0].port: is missing", NULL},
	{"Service: target port out of range",
	 CLUSTER_IP "  ports: [{port: 1, targetPort: 65536}]\n",
	 "t:6: spec.ports[0].targetPort: must be 0 to 65535", NULL},
	{"Service: target port of no name", CLUSTER_IP "  ports: [{port: 1, targetPort: A_B}]\n",
	 "t:6: spec.ports[0].targetPort: \"A_B\" is no port name", NULL},
	{"Service: unknown protocol", CLUSTER_IP "  ports: [{port: 1, protocol: tcp}]\n",
	 "t:6: spec.ports[0].protocol: must be TCP, UDP or SCTP", NULL},
	{"Service: node port of the wrong type",
	 CLUSTER_IP "  ports: [{port: 1, nodePort: 30000}]\n",
	 "t:6: spec.ports[0].nodePort: is for the types NodePort and LoadBalancer only", NULL},
	{"Service: a port twice",
	 CLUSTER_IP "  ports: [{port: 1, name: a}, {port: 1, name: b, protocol: TCP}]\n",
	 "t:6: spec.ports[1]: the port and protocol stand there twice", NULL},
	{"Service: a name of a port twice",
	 CLUSTER_IP "  ports: [{port: 1, name: a}, {port: 2, name: a}]\n",
	 "t:6: spec.ports[1].name: stands there twice", NULL},
	{"Service: several ports, one without a name",
	 CLUSTER_IP "  ports:\n  - {port: 1, name: a}\n  - {port: 2}\n",
	 "t:8: spec.ports[1].name: is missing", NULL},
	{"Service: port name in capitals", CLUSTER_IP "  ports: [{port: 1, name: A}]\n",
	 "t:6: spec.ports[0].name: \"A\" is no port's name", NULL},
	{"Service: port name that is a map", CLUSTER_IP "  ports: [{port: 1, name: {}}]\n",
	 "t:6: spec.ports[0].name: must be a string", NULL},
	{"Service: no address", "  clusterIP: 10.96.0\n" PORT,
	 "t:5: spec.clusterIP: \"10.96.0\" is no IPv4 or IPv6 address", NULL},
	{"Service: address that is not one", "  clusterIP: {}\n" PORT,
	 "t:5: spec.clusterIP: must be a string", NULL},
	{"Service: addresses that differ", CLUSTER_IP "  clusterIPs: [10.96.0.2]\n" PORT,
	 "t:5: spec.clusterIP: must be the first of clusterIPs, \"10.96.0.2\"", NULL},
	{"Service: two of one version", "  clusterIPs: [10.96.0.1, 10.96.0.2]\n" PORT,
	 "t:5: spec.clusterIPs: two addresses must be one of IPv4 and one of IPv6", NULL},
	{"Service: three addresses", "  clusterIPs: [10.96.0.1, 'fd96::1', 10.96.0.2]\n" PORT,
	 "t:5: spec.clusterIPs: has 3 items, more than the 2 allowed", NULL},
	{"Service: None beside another", "  clusterIPs: [None, 10.96.0.1]\n" PORT,
	 "t:5: spec.clusterIPs: None stands alone", NULL},
	{"Service: headless node port", "  clusterIP: None\n  type: NodePort\n",
	 "t:6: spec.type: a headless Service is a ClusterIP", NULL},
	{"Service: a name with an address",
	 CLUSTER_IP "  type: ExternalName\n  externalName: a.example\n",
	 "t:6: spec.type: an ExternalName has no cluster address", NULL},
	{"Service: a name that is missing", "  type: ExternalName\n",
	 "t:4: spec.externalName: is missing", NULL},
	{"Service: loopback", CLUSTER_IP "  externalIPs: [127.0.0.1]\n" PORT,
	 "t:6: spec.externalIPs[0]: must not be an unspecified, loopback, link-local or multicast",
	 NULL},
	{"Service: link-local", CLUSTER_IP "  externalIPs: ['fe80::1']\n" PORT,
	 "t:6: spec.externalIPs[0]: must not be", NULL},
	{"Service: unspecified", "  clusterIP: '::'\n" PORT, "t:5: spec.clusterIP: must not be",
	 NULL},
	{"Service: bad address of a load balancer",
	 CLUSTER_IP PORT "status: {loadBalancer: {ingress: [{ip: x}]}}\n",
	 "t:7: status.loadBalancer.ingress[0].ip: \"x\" is no IPv4 or IPv6 address", NULL},
	{"Service: bad selector", CLUSTER_IP "  selector: {a: b/c}\n" PORT,
	 "t:6: spec.selector.a: \"b/c\" is no label value", NULL},
	{"Service: selector of expressions", CLUSTER_IP "  selector: {matchLabels: {a: b}}\n" PORT,
	 "t:6: spec.selector.matchLabels: must be a string", NULL},
	{"Service: bad affinity", CLUSTER_IP "  sessionAffinity: Client\n" PORT,
	 "t:6: spec.sessionAffinity: must be one of None, ClientIP", NULL},
	{"Service: affinity for ever",
	 CLUSTER_IP "  sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}\n" PORT,
	 "t:6: spec.sessionAffinityConfig.clientIP.timeoutSeconds: must be 1 to 86400", NULL},
	{"Service: bad traffic policy", CLUSTER_IP "  internalTrafficPolicy: local\n" PORT,
	 "t:6: spec.internalTrafficPolicy: must be one of Cluster, Local", NULL},
	{"Service: bad family", CLUSTER_IP "  ipFamilies: [ipv4]\n" PORT,
	 "t:6: spec.ipFamilies[0]: must be one of IPv4, IPv6", NULL},
	{"Service: bad range", CLUSTER_IP "  loadBalancerSourceRanges: [x]\n" PORT,
	 "t:6: spec.loadBalancerSourceRanges[0]: \"x\" is no CIDR", NULL},
	{"Service: readiness that is no truth", CLUSTER_IP "  publishNotReadyAddresses: 1\n" PORT,
	 "t:6: spec.publishNotReadyAddresses: must be true or false", NULL},
};

static const struct read_row versions[] = {
	{"Service: of another version",
	 "apiVersion: v2\nkind: Service\nmetadata: {name: s}\nspec: {}\n",
	 "t:1: Service of apiVersion \"v2\" is not read", NULL},
	{"Service: no spec", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
	 "t:1: spec: is missing", NULL},
	{"Service: a field beside the spec",
	 "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: None}\ntype: x\n",
	 "t:5: type: unknown field", NULL},
	{"EndpointSlice: of another version",
	 "apiVersion: discovery.k8s.io/v1alpha1\nkind: EndpointSlice\nmetadata: {name: s}\n",
	 "t:1: EndpointSlice of apiVersion \"discovery.k8s.io/v1alpha1\" is not read", NULL},
	{"Endpoints are skipped",
	 "apiVersion: v1\nkind: Endpoints\nmetadata: {name: s}\nsubsets: []\n",
	 "t:1: note: Endpoints (v1) is skipped", ""},
	{"Service: given twice",
	 SERVICE CLUSTER_IP PORT "---\n" SERVICE "  clusterIP: 10.96.0.2\n" PORT,
	 "t:8: Service x/s is given twice, first at t:1", NULL},
	{"Service: two with one address",
	 SERVICE CLUSTER_IP PORT
	 "---\napiVersion: v1\nkind: Service\nmetadata: {name: t, namespace: y}\n"
	 "spec: {clusterIP: 10.96.0.1, ports: [{port: 81}]}\n",
	 "t:8: Service y/t has the address 10.96.0.1, which is Service x/s's too (t:1)", NULL},
	{"Service: two with one node port",
	 SERVICE CLUSTER_IP
	 "  type: NodePort\n  ports: [{port: 80, nodePort: 30080}]\n"
	 "---\napiVersion: v1\nkind: Service\nmetadata: {name: t, namespace: y}\n"
	 "spec: {clusterIP: 10.96.0.2, type: NodePort, ports: [{port: 81, nodePort: 30080}]}\n",
	 "t:9: Service y/t has the node port 30080, which is Service x/s's too (t:1)", NULL},
	{"EndpointSlice: given twice",
	 SLICE("v1") "addressType: IPv4\nendpoints: []\n---\n" SLICE(
		 "v1beta1") "addressType: IPv4\nendpoints: []\n",
	 "t:7: EndpointSlice x/e is given twice, first at t:1", NULL},
};

static const struct read_row slices[] = {
	{"EndpointSlice: the least", "addressType: IPv4\nendpoints: []\n", NULL, "slice of x/s\n"},
	{"EndpointSlice: of nothing", "addressType: IPv6\nendpoints: null\nports: null\n", NULL,
	 "slice of x/s\n"},
	{"EndpointSlice: all fields",
	 "addressType: IPv4\nports:\n- {name: a, port: 80, protocol: UDP, appProtocol: x}\n"
	 "- {name: any}\n- {port: 81}\n"
	 "endpoints:\n- addresses: [10.0.0.1, 10.0.0.2]\n"
	 "  conditions: {ready: false, serving: true, terminating: true}\n  hostname: h\n"
	 "  targetRef: {kind: Pod, name: p, namespace: x, uid: '1'}\n"
	 "  deprecatedTopology: {a: b}\n  nodeName: n\n  zone: z\n"
	 "  hints: {forZones: [{name: z}], forNodes: [{name: n}]}\n",
	 NULL,
	 "slice of x/s\n  port a UDP/80\n  port - TCP/81\n"
	 "  backend serving terminating 10.0.0.1 10.0.0.2 on n\n"},
	{"EndpointSlice: conditions left out",
	 "addressType: IPv6\nendpoints: [{addresses: ['fd00::1'], conditions: {}}, "
	 "{addresses: ['fd00::2']}, {addresses: ['fd00::3'], conditions: {ready: null}}, "
	 "{addresses: ['fd00::4'], conditions: {ready: false}}]\n",
	 NULL,
	 "slice of x/s\n  backend ready serving fd00::1 on -\n  backend ready serving fd00::2 on "
	 "-\n"
	 "  backend ready serving fd00::3 on -\n  backend fd00::4 on -\n"},
	{"EndpointSlice: of names", "addressType: FQDN\nendpoints: [{addresses: [a.example]}]\n",
	 "t:1: note: an EndpointSlice of names", "slice of x/s\n  backend ready serving on -\n"},
	{"EndpointSlice: no type", "endpoints: []\n", "t:1: addressType: is missing", NULL},
	{"EndpointSlice: another type", "addressType: IP\nendpoints: []\n",
	 "t:4: addressType: must be IPv4, IPv6 or FQDN, not \"IP\"", NULL},
	{"EndpointSlice: address of the other version",
	 "addressType: IPv4\nendpoints:\n- addresses: ['fd00::1']\n",
	 "t:6: endpoints[0].addresses[0]: is not of the addressType IPv4", NULL},
	{"EndpointSlice: no addresses", "addressType: IPv4\nendpoints: [{addresses: []}]\n",
	 "t:5: endpoints[0].addresses: is missing", NULL},
	{"EndpointSlice: loopback", "addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]\n",
	 "t:5: endpoints[0].addresses[0]: must not be", NULL},
	{"EndpointSlice: unknown field", "addressType: IPv4\nsubsets: []\n",
	 "t:5: subsets: unknown field", NULL},
	{"EndpointSlice: unknown field of an endpoint",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], weight: 1}]\n",
	 "t:5: endpoints[0].weight: unknown field", NULL},
	{"EndpointSlice: unknown condition",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], conditions: {Ready: true}}]\n",
	 "t:5: endpoints[0].conditions.Ready: unknown field", NULL},
	{"EndpointSlice: condition that is no truth",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], conditions: {ready: 'true'}}]\n",
	 "t:5: endpoints[0].conditions.ready: must be true or false", NULL},
	{"EndpointSlice: unknown field of a port",
	 "addressType: IPv4\nendpoints: []\nports: [{port: 1, nodePort: 2}]\n",
	 "t:6: ports[0].nodePort: unknown field", NULL},
	{"EndpointSlice: port out of range",
	 "addressType: IPv4\nendpoints: []\nports: [{port: 65536}]\n",
	 "t:6: ports[0].port: must be 1 to 65535", NULL},
};

static const struct read_row beta[] = {
	{"EndpointSlice v1beta1: topology",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], topology: "
	 "{kubernetes.io/hostname: n, a: b}}]\n",
	 NULL, "slice of x/s\n  backend ready serving 10.0.0.1 on n\n"},
	{"EndpointSlice v1beta1: node",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], "
	 "nodeName: m, topology: {kubernetes.io/hostname: n}}]\n",
	 NULL, "slice of x/s\n  backend ready serving 10.0.0.1 on m\n"},
	{"EndpointSlice v1beta1: zone",
	 "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], zone: z}]\n",
	 "t:5: endpoints[0].zone: unknown field", NULL},
};

static const struct read_row ini[] = {
	{"[service]: the least", "address = 10.96.0.1\nport = TCP/80\n", NULL,
	 "service x/s 10.96.0.1 external\n" PORT_READ},
	{"[service]: headless", "backends = endpoints(a=b, c=)\n", NULL,
	 "service x/s headless external pods(a in \"b\"; c in \"\")\n"},
	{"[service]: all keys",
	 "address = 10.96.0.1, fd96::1\nexternal-address = 203.0.113.1, fd00::9\n"
	 "internal-traffic = Local\nexternal-traffic = Local\n"
	 "port = a TCP/80 to 8080 node 30080,\n\tb UDP/80 to dns\nport = c SCTP/80\n"
	 "backends = endpoints(a=b)\n",
	 NULL,
	 "service x/s 10.96.0.1 fd96::1 external 203.0.113.1 fd00::9 pods(a in \"b\") "
	 "internal-local external-local\n  port a TCP/80 to 8080 node 30080\n"
	 "  port b UDP/80 to 0dns node 0\n  port c SCTP/80 to 80 node 0\n"},
	{"[service]: backends",
	 "address = 10.96.0.1\nport = TCP/80 to 8080\nbackends = 10.0.0.1, 10.0.0.2 to 81\n", NULL,
	 "service x/s 10.96.0.1 external\n  port - TCP/80 to 8080 node 0\n"
	 "slice of x/s\n  port - TCP/8080\n  backend ready serving 10.0.0.1 on -\n"
	 "slice of x/s\n  port - TCP/81\n  backend ready serving 10.0.0.2 on -\n"},
	{"[service]: external without another", "external-address = 203.0.113.1\nport = TCP/80\n",
	 "t:2: external-address: is not served without an address", NULL},
	{"[service]: unknown key", "address = 10.96.0.1\nports = TCP/80\n",
	 "t:3: ports: unknown key in this section", NULL},
	{"[service]: port without protocol", "address = 10.96.0.1\nport = http 80\n",
	 "t:3: port: expected [NAME] PROTOCOL/NUMBER", NULL},
	{"[service]: more after a port", "address = 10.96.0.1\nport = TCP/80 from 81\n",
	 "t:3: port: does not go on with \"from 81\"", NULL},
	{"[service]: two ports, one without a name",
	 "address = 10.96.0.1\nport = a TCP/80\nport = TCP/81\n", "t:4: port: name is missing",
	 NULL},
	{"[service]: backends of a selector as kubectl has it",
	 "address = 10.96.0.1\nport = TCP/80\nbackends = endpoints(a in (b))\n",
	 "t:4: backends: expected \"=\" before", NULL},
	{"[service]: a backend's port by name",
	 "address = 10.96.0.1\nport = TCP/80\nbackends = 10.0.0.1 to http\n",
	 "t:4: backends: must be a number", NULL},
	{"[service]: a port by name at an address",
	 "address = 10.96.0.1\nport = TCP/80 to http\nbackends = 10.0.0.1\n",
	 "t:4: backends: a name of a port is looked up at endpoints() only", NULL},
	{"[service]: a backend's port of several",
	 "address = 10.96.0.1\nport = a TCP/80, b TCP/81\nbackends = 10.0.0.1 to 8080\n",
	 "t:4: backends: the Service has several ports", NULL},
	{"[service]: a backend that is no address",
	 "address = 10.96.0.1\nport = TCP/80\nbackends = role\n",
	 "t:4: backends: \"role\" is no IPv4 or IPv6 address", NULL},
};

static const struct read_row settings[] = {
	{"service-cidr", "service-cidr = 10.96.0.0/12, fd96::/112\nservice-cidr = 10.96.0.0/12\n",
	 "t:3: service-cidr: the key is given twice", NULL},
	{"service-cidr: each once", "service-cidr = fd96::/112, 10.97.0.0/12, 10.96.0.0/12\n", NULL,
	 "service-cidr 10.96.0.0/12\nservice-cidr fd96::/112\n"},
	{"service-cidr: no CIDR", "service-cidr = 10.96.0.1\n",
	 "t:2: service-cidr: \"10.96.0.1\" is no CIDR", NULL},
};

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_YAML, SERVICE, services),
		READ_TABLE(READ_YAML, NULL, versions),
		READ_TABLE(READ_YAML, SLICE("v1"), slices),
		READ_TABLE(READ_YAML, SLICE("v1beta1"), beta),
		READ_TABLE(READ_INI, "[service x/s]\n", ini),
		READ_TABLE(READ_INI, "[bulkhead]\n", settings),
	};

	return read_tables_run("service objects", tables, sizeof(tables) / sizeof(*tables));
}
