// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces, nodes, pods and lists: which objects are read, and their fields. */
#include "selftests/lib/read.h"

#define NAMESPACE "apiVersion: v1\nkind: Namespace\nmetadata:\n"
#define NODE "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {a: b}}\n"
#define POD "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: x, labels: {a: b}}\n"
#define IP "status: {podIP: 10.0.0.1}\n"
#define NAME "kubernetes.io/metadata.name="
#define X "namespace x undeclared " NAME "x\n"

static const struct read_row namespaces[] = {
	{"namespace", "  name: x\n", NULL, "namespace x " NAME "x\n"},
	{"namespace: labels", "  name: x\n  labels: {b.io/c: '1', a: , Z_.-9: y}\n", NULL,
	 "namespace x Z_.-9=y a= b.io/c=1 " NAME "x\n"},
	{"namespace: the label of its name",
	 "  name: x\n  labels: {"
	 "kubernetes.io/metadata.name: x}\n",
	 NULL, "namespace x " NAME "x\n"},
	{"namespace: another name in that label",
	 "  name: x\n  labels: {"
	 "kubernetes.io/metadata.name: y}\n",
	 "t:1: kubernetes.io/metadata.name: is \"y\", but", NULL},
	{"namespace: metadata may hold anything",
	 "  name: x\n  managedFields: [{a: {b: [1, {c: ~}]}}]\n  uid: 1\nstatus: {phase: Active}\n",
	 NULL, "namespace x " NAME "x\n"},
	{"namespace: finalizers", "  name: x\nspec: {finalizers: [kubernetes]}\n", NULL,
	 "namespace x " NAME "x\n"},
	{"namespace: unknown field in spec", "  name: x\nspec:\n  isolation: DefaultDeny\n",
	 "t:6: spec.isolation: unknown field", NULL},
	{"isolation by spec",
	 "  name: x\nspec: {networkPolicy: {ingress: {isolation: DefaultDeny}}}\n", NULL,
	 "namespace x isolated " NAME "x\n"},
	{"isolation by spec, nothing said", "  name: x\nspec: {networkPolicy: {ingress: {}}}\n",
	 NULL, "namespace x " NAME "x\n"},
	{"isolation by spec, null", "  name: x\nspec: {networkPolicy: {ingress: {isolation: }}}\n",
	 NULL, "namespace x " NAME "x\n"},
	{"isolation by spec, unknown",
	 "  name: x\nspec:\n  networkPolicy: {ingress: {isolation: Deny}}\n",
	 "t:6: spec.networkPolicy.ingress.isolation: must be DefaultDeny", NULL},
	{"isolation by spec, of egress", "  name: x\nspec: {networkPolicy: {egress: {}}}\n",
	 "t:5: spec.networkPolicy.egress: unknown field", NULL},
	{"isolation by annotation",
	 "  name: x\n  annotations:\n    net.beta.kubernetes.io/network-policy: |\n      {\n"
	 "        \"ingress\": {\n          \"isolation\": \"DefaultDeny\"\n        }\n      }\n",
	 NULL, "namespace x isolated " NAME "x\n"},
	{"isolation by annotation, with tabs",
	 "  name: x\n  annotations:\n    net.beta.kubernetes.io/network-policy: "
	 "\"{\\t\\\"ingress\\\":\\t{\\\"isolation\\\":\\\"DefaultDeny\\\"}}\"\n",
	 NULL, "namespace x isolated " NAME "x\n"},
	{"isolation by annotation, nothing said",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: '{}'}\n", NULL,
	 "namespace x " NAME "x\n"},
	{"annotation that is not JSON",
	 "  name: x\n  annotations:\n    a: b\n"
	 "    net.beta.kubernetes.io/network-policy: '{ingress: {isolation: DefaultDeny}}'\n",
	 "t:7: metadata.annotations[net.beta.kubernetes.io/network-policy]: is not JSON", NULL},
	{"annotation that is empty",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: ''}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy]: is not JSON", NULL},
	{"annotation that goes on after its JSON",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: '{} {}'}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy]: is not JSON", NULL},
	{"annotation with a key twice",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: "
	 "'{\"ingress\":{\"isolation\":\"DefaultDeny\"},\"ingress\":{}}'}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy]: is not JSON", NULL},
	{"annotation with an unknown field",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: '{\"egress\":{}}'}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy].egress: unknown field",
	 NULL},
	{"annotation with an unknown isolation",
	 "  name: x\n  annotations:\n    net.beta.kubernetes.io/network-policy: |\n"
	 "      {\"ingress\":\n       {\"isolation\": \"No\"}}\n",
	 "t:6: metadata.annotations[net.beta.kubernetes.io/network-policy].ingress.isolation: must",
	 NULL},
	{"annotation that is a list",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: '[]'}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy]: must be a map", NULL},
	{"annotation that is no string",
	 "  name: x\n  annotations: {net.beta.kubernetes.io/network-policy: {ingress: {}}}\n",
	 "t:5: metadata.annotations[net.beta.kubernetes.io/network-policy]: must be a string",
	 NULL},
	{"namespace: name missing", "  labels: {}\n", "t:3: metadata.name: is missing", NULL},
	{"namespace: name null", "  name:\n", "t:3: metadata.name: is missing", NULL},
	{"namespace: name with a dot", "  name: a.b\n", "t:4: metadata.name: \"a.b\" is no name",
	 NULL},
	{"namespace: name in upper case", "  name: A\n", "t:4: metadata.name: \"A\" is no name",
	 NULL},
	{"namespace: name that is a number", "  name: 1\n", "t:4: metadata.name: must be a string",
	 NULL},
	{"namespace: name of 64",
	 "  name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
	 "t:4: metadata.name: \"aaaaaaaa", NULL},
	{"namespace: bad label", "  name: x\n  labels: {a: b/c}\n",
	 "t:5: metadata.labels.a: \"b/c\" is no label value", NULL},
	{"namespace: labels as a list", "  name: x\n  labels: [a]\n",
	 "t:5: metadata.labels: must be a map", NULL},
	{"namespace twice", "  name: x\n---\n" NAMESPACE "  name: x\n",
	 "t:6: Namespace x is given twice, first at t:1", NULL},
};

static const struct read_row nodes[] = {
	{"node without addresses", "", NULL, "node n a=b\n"},
	{"node with addresses",
	 "status:\n  addresses:\n  - {type: Hostname, address: n}\n"
	 "  - {type: ExternalIP, address: 'fd00::1'}\n  - {type: InternalIP, address: 10.0.0.1}\n"
	 "  - {type: InternalIP, address: 10.0.0.1}\n  - {type: ExternalDNS, address: x}\n",
	 NULL, "node n a=b fd00::1 10.0.0.1\n"},
	{"node: a bad address",
	 "status:\n  addresses:\n  - {type: InternalIP, address: 10.0.0.256}\n",
	 "t:6: status.addresses[0].address: \"10.0.0.256\" is no IPv4 or IPv6 address", NULL},
	{"node: an address is missing", "status:\n  addresses:\n  - {type: InternalIP}\n",
	 "t:6: status.addresses[0].address: is missing", NULL},
	{"node: spec may hold anything", "spec: {podCIDR: 10.0.0.0/24, x: [~]}\n", NULL,
	 "node n a=b\n"},
	{"node twice", "---\n" NODE, "t:5: Node n is given twice, first at t:1", NULL},
};

static const struct read_row pods[] = {
	{"pod", IP, NULL, X "endpoint x/p a=b 10.0.0.1\n"},
	{"pod: both families",
	 "status: {podIP: 10.0.0.1, podIPs: [{ip: 'fd00::1'}, {ip: 10.0.0.1}]}\n", NULL,
	 X "endpoint x/p a=b 10.0.0.1 fd00::1\n"},
	{"pod: podIPs alone", "status: {podIPs: [{ip: 10.0.0.1}]}\n", NULL,
	 X "endpoint x/p a=b 10.0.0.1\n"},
	{"pod: node", "spec: {nodeName: n1, x: {y: [z]}}\n" IP, NULL,
	 X "endpoint x/p a=b 10.0.0.1 on n1\n"},
	{"pod: ports",
	 "spec:\n  containers:\n  - name: a\n    ports:\n"
	 "    - {name: http, containerPort: 8080}\n    - {containerPort: 1}\n"
	 "    - {name: dns, containerPort: 53, protocol: UDP, hostPort: 5353}\n"
	 "  - {name: b, ports: [{name: http, containerPort: 80, protocol: TCP}]}\n  - {name: c}\n"
	 "  initContainers:\n"
	 "  - {name: d, restartPolicy: Always, ports: [{name: s, containerPort: 7, protocol: "
	 "SCTP}]}\n"
	 "  - {name: e, ports: [{name: http, containerPort: 80}]}\n" IP,
	 NULL,
	 X "endpoint x/p a=b 10.0.0.1 port dns UDP/53 port http TCP/80 port http TCP/8080 "
	   "port s SCTP/7\n"},
	{"pod without addresses", "status: {phase: Pending}\n", NULL, X "expected x/p a=b\n"},
	{"pod without status", "", NULL, X "expected x/p a=b\n"},
	{"pod: empty address", "status: {podIP: '', podIPs: []}\n", NULL, X "expected x/p a=b\n"},
	{"pod without addresses on its node's network", "spec: {hostNetwork: true}\n", NULL, ""},
	{"pod without addresses, and one with", "---\n" POD IP,
	 "t:1: Pod x/p is given twice, first at t:5", NULL},
	{"pod that succeeded", "status: {phase: Succeeded, podIP: 10.0.0.1}\n", NULL, ""},
	{"pod that failed", "status: {phase: Failed, podIP: 10.0.0.1}\n", NULL, ""},
	{"pod that runs", "status: {phase: Running, podIP: 10.0.0.1}\n", NULL,
	 X "endpoint x/p a=b 10.0.0.1\n"},
	{"pod on its node's network", "spec: {hostNetwork: true}\n" IP, NULL, ""},
	{"pod on its node's network, in capitals", "spec: {hostNetwork: True}\n" IP, NULL, ""},
	{"pod on a network of its own", "spec: {hostNetwork: false}\n" IP, NULL,
	 X "endpoint x/p a=b 10.0.0.1\n"},
	{"pod: hostNetwork in quotes", "spec:\n  hostNetwork: 'true'\n" IP,
	 "t:5: spec.hostNetwork: must be true or false", NULL},
	{"pod: a bad address", "status: {podIP: 10.0.0.1/32}\n",
	 "t:4: status.podIP: \"10.0.0.1/32\" is no IPv4 or IPv6 address", NULL},
	{"pod: a bad port", "spec:\n  containers:\n  - ports: [{name: a, containerPort: 0}]\n" IP,
	 "t:6: spec.containers[0].ports[0].containerPort: must be 1 to 65535", NULL},
	{"pod: a bad port name",
	 "spec:\n  containers:\n  - ports: [{name: A, containerPort: 1}]\n" IP,
	 "t:6: spec.containers[0].ports[0].name: \"A\" is no port name", NULL},
	{"pod: a port without a number", "spec:\n  containers:\n  - ports: [{name: a}]\n" IP,
	 "t:6: spec.containers[0].ports[0].containerPort: is missing", NULL},
	{"two pods with one address", IP "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n" IP,
	 "t:1: x/p has the address 10.0.0.1, which is default/q's too (t:6)", NULL},
	{"two pods with one address, one is over",
	 IP "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n"
	    "status: {phase: Failed, podIP: 10.0.0.1}\n",
	 NULL, X "endpoint x/p a=b 10.0.0.1\n"},
	{"pod twice", IP "---\n" POD "status: {podIP: 10.0.0.2}\n",
	 "t:6: Pod x/p is given twice, first at t:1", NULL},
};

#define LISTED "namespace a " NAME "a\nnamespace b " NAME "b\n"

static const struct read_row objects[] = {
	{"nothing", "", "t: note: there are no objects in it", ""},
	{"nothing but comments", "# nothing\n---\n# more\n---\n",
	 "t: note: there are no objects in it", ""},
	{"an empty document between", "---\n---\n" NAMESPACE "  name: x\n---\n", NULL,
	 "namespace x " NAME "x\n"},
	{"a kind that is not known", "kind: Secret\napiVersion: v1\ndata: {a: b}\n",
	 "t:1: note: Secret (v1) is skipped", ""},
	{"a known kind at an unknown version",
	 "---\napiVersion: networking.k8s.io/v1beta1\nkind: NetworkPolicy\n",
	 "t:2: NetworkPolicy of apiVersion \"networking.k8s.io/v1beta1\" is not read", NULL},
	{"AdminNetworkPolicy at v1alpha2",
	 "apiVersion: policy.networking.k8s.io/v1alpha2\nkind: AdminNetworkPolicy\n",
	 "t:1: AdminNetworkPolicy of apiVersion", NULL},
	{"ClusterNetworkPolicy at v1alpha1",
	 "apiVersion: policy.networking.k8s.io/v1alpha1\nkind: ClusterNetworkPolicy\n",
	 "t:1: ClusterNetworkPolicy of apiVersion", NULL},
	{"kind missing", "apiVersion: v1\nmetadata: {name: x}\n", "t:1: kind: is missing", NULL},
	{"apiVersion missing", "kind: Namespace\n", "t:1: apiVersion: is missing", NULL},
	{"kind that is no string", "apiVersion: v1\nkind: 1\n", "t:2: kind: must be a string",
	 NULL},
	{"metadata missing", "apiVersion: v1\nkind: Pod\n", "t:1: metadata: is missing", NULL},
	{"an object that is no map", "- a\n", "t:1: must be a map", NULL},
	{"unknown field beside the spec of a policy",
	 "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\n"
	 "spec: {}\npodSelector: {}\n",
	 "t:5: podSelector: unknown field", NULL},
	{"a policy without a namespace is default's",
	 "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p.q}\nspec: {}\n",
	 NULL,
	 "namespace default undeclared " NAME "default\n"
	 "NP network-policy 0 default/p.q pods(*) ingress-isolated\n"},
	{"an empty namespace is default's",
	 "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, "
	 "namespace: ''}, spec: {}}\n",
	 NULL,
	 "namespace default undeclared " NAME "default\n"
	 "NP network-policy 0 default/p pods(*) ingress-isolated\n"},
	{"List",
	 "apiVersion: v1\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"
	 "- {apiVersion: v1, kind: Namespace, metadata: {name: b}}\nkind: List\nmetadata: {}\n",
	 NULL, LISTED},
	{"List in a List",
	 "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: "
	 "a}}\n"
	 "- apiVersion: v1\n  kind: List\n  items:\n"
	 "  - {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n",
	 NULL, LISTED},
	{"empty List", "{apiVersion: v1, kind: List, items: []}\n", NULL, ""},
	{"NamespaceList, items without a kind",
	 "apiVersion: v1\nkind: NamespaceList\nitems: [{metadata: {name: a}}, {metadata: {name: "
	 "b}}]\n",
	 NULL, LISTED},
	{"a list of a kind that is not known", "{apiVersion: v1, kind: SecretList, items: [{}]}\n",
	 "t:1: note: SecretList (v1) is skipped", ""},
	{"NetworkPolicyList at an unknown version",
	 "apiVersion: v1\nkind: NetworkPolicyList\nitems: [{metadata: {name: a}}]\n",
	 "t:3: NetworkPolicy of apiVersion \"v1\" is not read", NULL},
	{"path in a list begins at its item",
	 "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n"
	 "  metadata:\n    name: A\n",
	 "t:7: metadata.name: \"A\" is no name", NULL},
	{"an item that is no map", "{apiVersion: v1, kind: List, items: [1]}\n",
	 "t:1: items[0]: must be a map", NULL},
};

#define ANP(name, priority)                                                               \
	"---\n{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, " \
	"metadata: {name: " name "}, spec: {priority: " priority ", subject: {namespaces: {}}}}\n"
#define CNP(name, tier, priority)                                                           \
	"---\n{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, " \
	"metadata: {name: " name "}, spec: {tier: " tier ", priority: " priority            \
	", subject: {namespaces: {}}}}\n"
#define BANP(name)                                                       \
	"---\n{apiVersion: policy.networking.k8s.io/v1alpha1, "          \
	"kind: BaselineAdminNetworkPolicy, metadata: {name: " name "}, " \
	"spec: {subject: {namespaces: {}}}}\n"
#define NP(version, ns)                                                                          \
	"---\n{apiVersion: " version ", kind: NetworkPolicy, metadata: {name: p, namespace: " ns \
	"}, spec: {}}\n"

static const struct read_row order[] = {
	{"policies stand in the order they are asked",
	 BANP("b") CNP("a", "Baseline", "1000") NP("networking.k8s.io/v1", "y")
		 NP("networking.k8s.io/v1", "x") CNP("c", "Admin", "3") ANP("z", "2") ANP("y", "4"),
	 NULL,
	 X "namespace y undeclared " NAME "y\n"
	   "ANP admin 2 z ns(*) pods(*) ingress egress\n"
	   "CNP admin 3 c ns(*) pods(*) ingress egress\n"
	   "ANP admin 4 y ns(*) pods(*) ingress egress\n"
	   "NP network-policy 0 x/p pods(*) ingress-isolated\n"
	   "NP network-policy 0 y/p pods(*) ingress-isolated\n"
	   "CNP baseline 1000 a ns(*) pods(*) ingress egress\n"
	   "BANP baseline 0 b ns(*) pods(*) ingress egress\n"},
	{"equal priorities go by name", ANP("b", "2") ANP("a", "2"),
	 "t:2: priority: warning: AdminNetworkPolicy a and AdminNetworkPolicy b both have 2",
	 "ANP admin 2 a ns(*) pods(*) ingress egress\nANP admin 2 b ns(*) pods(*) ingress "
	 "egress\n"},
	{"equal priorities, AdminNetworkPolicy goes first", CNP("a", "Admin", "2") ANP("b", "2"),
	 "t:2: priority: warning: AdminNetworkPolicy b and ClusterNetworkPolicy a both have 2",
	 "ANP admin 2 b ns(*) pods(*) ingress egress\nCNP admin 2 a ns(*) pods(*) ingress "
	 "egress\n"},
	{"one priority in two tiers is no tie", CNP("a", "Admin", "2") CNP("b", "Baseline", "2"),
	 NULL,
	 "CNP admin 2 a ns(*) pods(*) ingress egress\n"
	 "CNP baseline 2 b ns(*) pods(*) ingress egress\n"},
	{"a policy twice at two priorities", ANP("a", "2") ANP("b", "3") ANP("a", "4"),
	 "t:6: AdminNetworkPolicy a is given twice, first at t:2", NULL},
	{"a NetworkPolicy twice", NP("networking.k8s.io/v1", "x") NP("networking.k8s.io/v1", "x"),
	 "t:4: NetworkPolicy x/p is given twice, first at t:2", NULL},
	{"both versions of a NetworkPolicy",
	 NP("networking.k8s.io/v1", "x") NP("extensions/v1beta1", "x"), NULL,
	 X "NP network-policy 0 x/p pods(*) ingress-isolated\n"
	   "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n"},
	{"BaselineAdminNetworkPolicy is a singleton", BANP("a") BANP("b"),
	 "t:4: BaselineAdminNetworkPolicy b: there can be only one, and a is given at t:2", NULL},
};

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_YAML, NAMESPACE, namespaces),
		READ_TABLE(READ_YAML, NODE, nodes),
		READ_TABLE(READ_YAML, POD, pods),
		READ_TABLE(READ_YAML, NULL, objects),
		READ_TABLE(READ_YAML, NULL, order),
	};

	return read_tables_run("objects", tables, sizeof(tables) / sizeof(*tables));
}
