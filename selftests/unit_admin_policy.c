// SPDX-License-Identifier: GPL-2.0-only
/* The cluster-scoped policies: each field present, missing, empty and wrong. */
#include <stdio.h>
#include <string.h>

#include "selftests/lib/read.h"

#define HEAD(version, kind)                                  \
	"apiVersion: policy.networking.k8s.io/" version "\n" \
	"kind: " kind "\n"                                   \
	"metadata: {name: p}\n"                              \
	"spec:\n"
/* In the texts, specs begin on line 5, rules on line 7, the first rule's fields on line 8. */
#define ANP HEAD("v1alpha1", "AdminNetworkPolicy")
#define BANP HEAD("v1alpha1", "BaselineAdminNetworkPolicy")
#define CNP HEAD("v1alpha2", "ClusterNetworkPolicy")
#define ANP_IN ANP "  priority: 7\n  subject: {namespaces: {}}\n  ingress:\n"
#define ANP_OUT ANP "  priority: 7\n  subject: {namespaces: {}}\n  egress:\n"
#define ANP_TO ANP_OUT "  - action: Deny\n    to:\n"
#define ANP_PORTS ANP_IN "  - action: Deny\n    from: [namespaces: {}]\n    ports:\n"
#define CNP_PORTS                                                                     \
	CNP "  tier: Admin\n  priority: 7\n  subject: {namespaces: {}}\n  ingress:\n" \
	    "  - action: Deny\n    from: [namespaces: {}]\n    protocols:\n"
#define CNP_TO                                                                       \
	CNP "  tier: Admin\n  priority: 7\n  subject: {namespaces: {}}\n  egress:\n" \
	    "  - action: Accept\n    to:\n"

#define SUBJECT "ANP admin 7 p ns(*) pods(*) ingress egress\n"
#define IN_DENY SUBJECT " ingress[0] deny any-port\n"
#define OUT_DENY SUBJECT " egress[0] deny any-port\n"
#define PORT_DENY SUBJECT " ingress[0] deny\n  peer namespaces ns(*) pods(*)\n"
#define CNP_DENY                                                         \
	"CNP admin 7 p ns(*) pods(*) ingress egress\n ingress[0] deny\n" \
	"  peer namespaces ns(*) pods(*)\n"

#define CNP_OUT "CNP admin 7 p ns(*) pods(*) ingress egress\n egress[0] allow"
#define CNP_ACCEPT CNP_OUT " any-port\n"
#define CNP_ACCEPT_PORTS CNP_OUT "\n"

static const struct read_row admin[] = {
	{"ANP: no rules", "  priority: 0\n  subject: {namespaces: {}}\n", NULL,
	 "ANP admin 0 p ns(*) pods(*) ingress egress\n"},
	{"ANP: subject by namespaces",
	 "  priority: 1000\n  subject: {namespaces: {matchLabels: {a: b}}}\n", NULL,
	 "ANP admin 1000 p ns(a in \"b\") pods(*) ingress egress\n"},
	{"ANP: subject by pods",
	 "  priority: 1\n  subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {a: "
	 "b}}}}\n",
	 NULL, "ANP admin 1 p ns(*) pods(a in \"b\") ingress egress\n"},
	{"ANP: priority missing", "  subject: {namespaces: {}}\n", "t:4: spec.priority: is missing",
	 NULL},
	{"ANP: priority below 0", "  priority: -1\n  subject: {namespaces: {}}\n",
	 "t:5: spec.priority: must be 0 to 1000, not -1", NULL},
	{"ANP: priority above 1000", "  priority: 1001\n  subject: {namespaces: {}}\n",
	 "t:5: spec.priority: must be 0 to 1000, not 1001", NULL},
	{"ANP: priority in quotes", "  priority: '1'\n  subject: {namespaces: {}}\n",
	 "t:5: spec.priority: must be a number", NULL},
	{"ANP: subject missing", "  priority: 1\n", "t:4: spec.subject: is missing", NULL},
	{"ANP: subject empty", "  priority: 1\n  subject: {}\n",
	 "t:6: spec.subject: must have exactly one of namespaces, pods", NULL},
	{"ANP: subject with both",
	 "  priority: 1\n  subject: {namespaces: {}, pods: {namespaceSelector: {}, podSelector: "
	 "{}}}\n",
	 "t:6: spec.subject: must have exactly one of namespaces, pods", NULL},
	{"ANP: subject as the KEP misprints it",
	 "  priority: 1\n  subject: {namespaceSelector: {}}\n",
	 "t:6: spec.subject.namespaceSelector: unknown field", NULL},
	{"ANP: subject pods without podSelector",
	 "  priority: 1\n  subject: {pods: {namespaceSelector: {}}}\n",
	 "t:6: spec.subject.pods.podSelector: is missing", NULL},
	{"ANP: subject pods without namespaceSelector",
	 "  priority: 1\n  subject: {pods: {podSelector: {}}}\n",
	 "t:6: spec.subject.pods.namespaceSelector: is missing", NULL},
	{"ANP: tier", "  priority: 1\n  tier: Admin\n  subject: {namespaces: {}}\n",
	 "t:6: spec.tier: unknown field", NULL},
};

static const struct read_row rules[] = {
	{"ANP: name and actions",
	 "  - {name: one, action: Allow, from: [namespaces: {}]}\n"
	 "  - {name: '', action: Deny, from: [namespaces: {}]}\n"
	 "  - {action: Pass, from: [namespaces: {}]}\n",
	 NULL,
	 SUBJECT " ingress[0] allow \"one\" any-port\n  peer namespaces ns(*) pods(*)\n"
		 " ingress[1] deny any-port\n  peer namespaces ns(*) pods(*)\n"
		 " ingress[2] pass any-port\n  peer namespaces ns(*) pods(*)\n"},
	{"ANP: action missing", "  - from: [namespaces: {}]\n",
	 "t:8: spec.ingress[0].action: is missing", NULL},
	{"ANP: Accept is ClusterNetworkPolicy's", "  - {action: Accept, from: [namespaces: {}]}\n",
	 "t:8: spec.ingress[0].action: must be Allow, Deny or Pass", NULL},
	{"ANP: action in lower case", "  - {action: deny, from: [namespaces: {}]}\n",
	 "t:8: spec.ingress[0].action: must be Allow, Deny or Pass", NULL},
	{"ANP: from missing", "  - {action: Deny}\n", "t:8: spec.ingress[0].from: is missing",
	 NULL},
	{"ANP: from null", "  - {action: Deny, from: }\n", "t:8: spec.ingress[0].from: is missing",
	 NULL},
	{"ANP: from empty", "  - {action: Deny, from: []}\n",
	 "t:8: spec.ingress[0].from: must have one item at least", NULL},
	{"ANP: to in ingress", "  - {action: Deny, to: [namespaces: {}]}\n",
	 "t:8: spec.ingress[0].to: unknown field", NULL},
	{"ANP: ports null", "  - {action: Deny, from: [namespaces: {}], ports: }\n", NULL,
	 IN_DENY "  peer namespaces ns(*) pods(*)\n"},
	{"ANP: ports empty", "  - {action: Deny, from: [namespaces: {}], ports: []}\n",
	 "t:8: spec.ingress[0].ports: must have one item at least", NULL},
	{"ANP: ports as the KEP misprints them",
	 "  - {action: Deny, from: [namespaces: {}], ports: {port: []}}\n",
	 "t:8: spec.ingress[0].ports: must be a list", NULL},
	{"ANP: released peer by namespaces",
	 "  - {action: Deny, from: [namespaces: {matchLabels: {a: b}}]}\n", NULL,
	 IN_DENY "  peer namespaces ns(a in \"b\") pods(*)\n"},
	{"ANP: released peer by pods",
	 "  - {action: Deny, from: [pods: {namespaceSelector: {}, podSelector: {matchLabels: {a: "
	 "b}}}]}\n",
	 NULL, IN_DENY "  peer namespaces ns(*) pods(a in \"b\")\n"},
	{"ANP: KEP's namespaceSelector",
	 "  - {action: Deny, from: [namespaces: {namespaceSelector: {matchLabels: {a: b}}}]}\n",
	 NULL, IN_DENY "  peer namespaces ns(a in \"b\") pods(*)\n"},
	{"ANP: KEP's Self", "  - {action: Deny, from: [namespaces: {related: Self}]}\n", NULL,
	 IN_DENY "  peer self pods(*)\n"},
	{"ANP: KEP's self in lower case",
	 "  - {action: Deny, from: [namespaces: {related: self}]}\n", NULL,
	 IN_DENY "  peer self pods(*)\n"},
	{"ANP: KEP's notself", "  - {action: Deny, from: [namespaces: {related: notself}]}\n", NULL,
	 IN_DENY "  peer not-self pods(*)\n"},
	{"ANP: KEP's sameLabels",
	 "  - {action: Deny, from: [namespaces: {sameLabels: [b, a, b]}]}\n", NULL,
	 IN_DENY "  peer same pods(*) a b\n"},
	{"ANP: KEP's notSameLabels",
	 "  - {action: Deny, from: [namespaces: {notSameLabels: [e.io/t]}]}\n", NULL,
	 IN_DENY "  peer not-same pods(*) e.io/t\n"},
	{"ANP: empty sameLabels select nothing",
	 "  - {action: Deny, from: [namespaces: {sameLabels: []}]}\n", NULL,
	 IN_DENY "  peer same pods(*)\n"},
	{"ANP: KEP's pods",
	 "  - action: Deny\n    from:\n"
	 "    - pods: {namespaces: {related: Self}, podSelector: {matchLabels: {a: b}}}\n"
	 "    - pods: {namespaces: {notSameLabels: [t]}, podSelector: {}}\n"
	 "    - pods: {namespaces: {namespaceSelector: {}}, podSelector: {}}\n",
	 NULL,
	 IN_DENY "  peer self pods(a in \"b\")\n  peer not-same pods(*) t\n"
		 "  peer namespaces ns(*) pods(*)\n"},
	{"ANP: unknown relation", "  - {action: Deny, from: [namespaces: {related: Same}]}\n",
	 "t:8: spec.ingress[0].from[0].namespaces.related: must be Self or NotSelf", NULL},
	{"ANP: two of the KEP's fields",
	 "  - {action: Deny, from: [namespaces: {related: Self, sameLabels: [a]}]}\n",
	 "t:8: spec.ingress[0].from[0].namespaces: must have exactly one of related", NULL},
	{"ANP: both shapes at once",
	 "  - {action: Deny, from: [namespaces: {related: Self, matchLabels: {a: b}}]}\n",
	 "t:8: spec.ingress[0].from[0].namespaces.matchLabels: unknown field", NULL},
	{"ANP: namespaceSelector as the KEP misprints it",
	 "  - {action: Deny, from: [namespaces: {namespaceSeletor: {}}]}\n",
	 "t:8: spec.ingress[0].from[0].namespaces.namespaceSeletor: unknown field", NULL},
	{"ANP: sameLabels with a bad key",
	 "  - {action: Deny, from: [namespaces: {sameLabels: ['a b']}]}\n",
	 "t:8: spec.ingress[0].from[0].namespaces.sameLabels[0]: \"a b\" is no label key", NULL},
	{"ANP: pods without podSelector",
	 "  - {action: Deny, from: [pods: {namespaceSelector: {}}]}\n",
	 "t:8: spec.ingress[0].from[0].pods.podSelector: is missing", NULL},
	{"ANP: pods without namespaces", "  - {action: Deny, from: [pods: {podSelector: {}}]}\n",
	 "t:8: spec.ingress[0].from[0].pods: must have exactly one of namespaces, namespaceSel",
	 NULL},
	{"ANP: two kinds of peer at once",
	 "  - {action: Deny, from: [{namespaces: {}, pods: {namespaceSelector: {}, podSelector: "
	 "{}}}]}\n",
	 "t:8: spec.ingress[0].from[0]: must have exactly one of namespaces, pods", NULL},
	{"ANP: nodes in ingress", "  - {action: Deny, from: [nodes: {}]}\n",
	 "t:8: spec.ingress[0].from[0].nodes: unknown field", NULL},
	{"ANP: networks in ingress", "  - {action: Deny, from: [networks: [10.0.0.0/8]]}\n",
	 "t:8: spec.ingress[0].from[0].networks: unknown field", NULL},
	{"ANP: an unknown kind of peer", "  - {action: Deny, from: [serviceAccounts: {}]}\n",
	 "t:8: spec.ingress[0].from[0].serviceAccounts: unknown field", NULL},
	{"ANP: a null peer", "  - {action: Deny, from: [~]}\n",
	 "t:8: spec.ingress[0].from[0]: must be a map", NULL},
	{"ANP: empty peer, Allow", "  - {action: Allow, from: [{}]}\n",
	 "t:8: spec.ingress[0].from[0]: warning: says nothing: the rule matches nothing",
	 SUBJECT " ingress[0] allow unknown any-port\n"},
	{"ANP: empty peer, Deny", "  - {action: Deny, from: [{}]}\n",
	 "t:8: spec.ingress[0].from[0]: warning: says nothing: the rule denies all",
	 SUBJECT " ingress[0] deny unknown any-port\n"},
	{"ANP: empty peer, Pass", "  - {action: Pass, from: [{}]}\n",
	 "t:8: spec.ingress[0].from[0]: warning: says nothing: the rule denies all",
	 SUBJECT " ingress[0] pass unknown any-port\n"},
	{"ANP: the KEP's pods.namespaces empty",
	 "  - {action: Allow, from: [pods: {namespaces: {}, podSelector: {}}]}\n",
	 "t:8: spec.ingress[0].from[0].pods.namespaces: warning: says nothing",
	 SUBJECT " ingress[0] allow unknown any-port\n"},
	{"ANP: protocols is ClusterNetworkPolicy's",
	 "  - {action: Deny, from: [namespaces: {}], protocols: [tcp: {}]}\n",
	 "t:8: spec.ingress[0].protocols: unknown field", NULL},
};

static const struct read_row peers_out[] = {
	{"ANP: nodes", "    - nodes: {matchLabels: {a: b}}\n", NULL,
	 OUT_DENY "  peer nodes nodes(a in \"b\")\n"},
	{"ANP: all nodes", "    - nodes: {}\n", NULL, OUT_DENY "  peer nodes nodes(*)\n"},
	{"ANP: networks", "    - networks: [10.1.2.3/8, '::/0']\n    - namespaces: {}\n", NULL,
	 OUT_DENY "  peer cidr 10.0.0.0/8\n  peer cidr ::/0\n  peer namespaces ns(*) pods(*)\n"},
	{"ANP: networks empty", "    - networks: []\n",
	 "t:10: spec.egress[0].to[0].networks: must have one item at least", NULL},
	{"ANP: a bad network", "    - networks: [10.0.0.0]\n",
	 "t:10: spec.egress[0].to[0].networks[0]: \"10.0.0.0\" is no CIDR", NULL},
	{"ANP: a network twice", "    - networks: [10.0.0.0/8, 11.0.0.0/8, 10.0.0.0/8]\n",
	 "t:10: spec.egress[0].to[0].networks[2]: 10.0.0.0/8 is given twice", NULL},
	{"ANP: a network that is no string", "    - networks: [{}, 10.0.0.0/8]\n",
	 "t:10: spec.egress[0].to[0].networks[0]: must be a string", NULL},
	{"ANP: Deny with domainNames", "    - domainNames: [kubernetes.io]\n",
	 "t:10: spec.egress[0].to[0].domainNames: a rule with domain names must allow", NULL},
	{"ANP: nodes and networks at once", "    - {nodes: {}, networks: [10.0.0.0/8]}\n",
	 "t:10: spec.egress[0].to[0]: must have exactly one of namespaces, pods, nodes", NULL},
	{"ANP: a named port beside networks",
	 "    - networks: [10.0.0.0/8]\n    ports: [namedPort: http]\n",
	 "t:8: spec.egress[0]: a named port beside nodes, networks or domain names", NULL},
	{"ANP: a named port beside nodes",
	 "    - namespaces: {}\n    - nodes: {}\n    ports: [namedPort: http]\n",
	 "t:8: spec.egress[0]: a named port beside nodes, networks or domain names", NULL},
};

static const struct read_row ports[] = {
	{"ANP: ports",
	 "    - portNumber: {port: 80}\n"
	 "    - portNumber: {protocol: UDP, port: 53}\n"
	 "    - portRange: {start: 1, end: 65535}\n"
	 "    - portRange: {protocol: SCTP, start: 7, end: 8}\n"
	 "    - namedPort: http\n",
	 NULL,
	 PORT_DENY "  port TCP/80-80\n  port UDP/53-53\n  port TCP/1-65535\n  port SCTP/7-8\n"
		   "  port any/http\n"},
	{"ANP: empty port", "    - {}\n", "t:11: spec.ingress[0].ports[0]: warning: says nothing",
	 SUBJECT " ingress[0] deny unknown\n"},
	{"ANP: two kinds of port", "    - {namedPort: a, portNumber: {port: 1}}\n",
	 "t:11: spec.ingress[0].ports[0]: must have exactly one of portNumber, namedPort, "
	 "portRange",
	 NULL},
	{"ANP: an unknown kind of port", "    - {port: 1}\n",
	 "t:11: spec.ingress[0].ports[0].port: unknown field", NULL},
	{"ANP: portNumber without a port", "    - portNumber: {protocol: TCP}\n",
	 "t:11: spec.ingress[0].ports[0].portNumber.port: is missing", NULL},
	{"ANP: portNumber empty", "    - portNumber: {}\n",
	 "t:11: spec.ingress[0].ports[0].portNumber.port: is missing", NULL},
	{"ANP: port 0", "    - portNumber: {port: 0}\n",
	 "t:11: spec.ingress[0].ports[0].portNumber.port: must be 1 to 65535", NULL},
	{"ANP: unknown protocol", "    - portNumber: {protocol: ICMP, port: 1}\n",
	 "t:11: spec.ingress[0].ports[0].portNumber.protocol: must be TCP, UDP or SCTP", NULL},
	{"ANP: start equals end", "    - portRange: {start: 5, end: 5}\n",
	 "t:11: spec.ingress[0].ports[0].portRange: start must be less than end", NULL},
	{"ANP: start beyond end", "    - portRange: {start: 6, end: 5}\n",
	 "t:11: spec.ingress[0].ports[0].portRange: start must be less than end", NULL},
	{"ANP: end missing", "    - portRange: {start: 6}\n",
	 "t:11: spec.ingress[0].ports[0].portRange.end: is missing", NULL},
	{"ANP: start missing", "    - portRange: {end: 6}\n",
	 "t:11: spec.ingress[0].ports[0].portRange.start: is missing", NULL},
	{"ANP: end out of range", "    - portRange: {start: 6, end: 65536}\n",
	 "t:11: spec.ingress[0].ports[0].portRange.end: must be 1 to 65535", NULL},
	{"ANP: a range that is no map", "    - portRange: 6-7\n",
	 "t:11: spec.ingress[0].ports[0].portRange: must be a map", NULL},
	{"ANP: a bad port name", "    - namedPort: a_b\n",
	 "t:11: spec.ingress[0].ports[0].namedPort: \"a_b\" is no port name", NULL},
};

static const struct read_row baseline[] = {
	{"BANP",
	 "  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Deny, to: [networks: [10.0.0.0/8]]}\n",
	 NULL,
	 "BANP baseline 0 p ns(*) pods(*) ingress egress\n egress[0] deny any-port\n"
	 "  peer cidr 10.0.0.0/8\n"},
	{"BANP: KEP's peers",
	 "  subject: {namespaces: {}}\n  ingress:\n"
	 "  - {action: Allow, from: [namespaces: {related: Self}]}\n",
	 NULL,
	 "BANP baseline 0 p ns(*) pods(*) ingress egress\n ingress[0] allow any-port\n"
	 "  peer self pods(*)\n"},
	{"BANP: priority", "  priority: 1\n  subject: {namespaces: {}}\n",
	 "t:5: spec.priority: unknown field", NULL},
	{"BANP: domainNames",
	 "  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Allow, to: [domainNames: [a.io]]}\n",
	 "t:7: spec.egress[0].to[0].domainNames: unknown field", NULL},
	{"BANP: Pass",
	 "  subject: {namespaces: {}}\n  ingress:\n"
	 "  - {action: Pass, from: [namespaces: {}]}\n",
	 "t:7: spec.ingress[0].action: must be Allow or Deny", NULL},
};

static const struct read_row cluster[] = {
	{"CNP: Admin tier", "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n", NULL,
	 "CNP admin 5 p ns(*) pods(*) ingress egress\n"},
	{"CNP: Baseline tier", "  tier: Baseline\n  priority: 5\n  subject: {namespaces: {}}\n",
	 NULL, "CNP baseline 5 p ns(*) pods(*) ingress egress\n"},
	{"CNP: tier missing", "  priority: 5\n  subject: {namespaces: {}}\n",
	 "t:4: spec.tier: is missing", NULL},
	{"CNP: unknown tier", "  tier: admin\n  priority: 5\n  subject: {namespaces: {}}\n",
	 "t:5: spec.tier: must be Admin or Baseline", NULL},
	{"CNP: pods without namespaceSelector",
	 "  tier: Admin\n  priority: 5\n  subject: {pods: {podSelector: {matchLabels: {a: b}}}}\n"
	 "  ingress: [{action: Accept, from: [pods: {podSelector: {}}]}]\n",
	 NULL,
	 "CNP admin 5 p ns(*) pods(a in \"b\") ingress egress\n ingress[0] allow any-port\n"
	 "  peer namespaces ns(*) pods(*)\n"},
	{"CNP: actions",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Accept, to: [networks: [10.0.0.0/8]]}\n"
	 "  - {action: Deny, to: [nodes: {}]}\n"
	 "  - {action: Pass, to: [namespaces: {}]}\n",
	 NULL,
	 "CNP admin 5 p ns(*) pods(*) ingress egress\n"
	 " egress[0] allow any-port\n  peer cidr 10.0.0.0/8\n"
	 " egress[1] deny any-port\n  peer nodes nodes(*)\n"
	 " egress[2] pass any-port\n  peer namespaces ns(*) pods(*)\n"},
	{"CNP: Allow is AdminNetworkPolicy's",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n"
	 "  ingress: [{action: Allow, from: [namespaces: {}]}]\n",
	 "t:8: spec.ingress[0].action: must be Accept, Deny or Pass", NULL},
	{"CNP: the KEP's peers",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n"
	 "  ingress: [{action: Deny, from: [namespaces: {related: Self}]}]\n",
	 "t:8: spec.ingress[0].from[0].namespaces.related: unknown field", NULL},
	{"CNP: ports is AdminNetworkPolicy's",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n"
	 "  ingress: [{action: Deny, from: [namespaces: {}], ports: []}]\n",
	 "t:8: spec.ingress[0].ports: unknown field", NULL},
	{"CNP: a named port beside nodes",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Deny, to: [nodes: {}], protocols: [destinationNamedPort: a]}\n",
	 "t:9: spec.egress[0]: a named port beside nodes, networks or domain names", NULL},
};

#define LABEL_63 "a23456789-123456789-123456789-123456789-123456789-123456789-123"
#define NAME_253                           \
	LABEL_63 "." LABEL_63 "." LABEL_63 \
		 ".a23456789-123456789-123456789-123456789-123456789-123456789-1"

/* Each row is the list of an Accept rule's domainNames on line 11, and what follows. */
static const struct read_row names[] = {
	{"names: exact, and below a name",
	 "    - domainNames: [kubernetes.io, '*.kubernetes.io']\n", NULL,
	 CNP_ACCEPT "  peer names *.kubernetes.io kubernetes.io\n"},
	{"names: case is folded", "    - domainNames: [API.Example.ORG, '*.SVC.example.org']\n",
	 NULL, CNP_ACCEPT "  peer names *.svc.example.org api.example.org\n"},
	{"names: a dot at the end", "    - domainNames: [a.io., '*.b.io.']\n", NULL,
	 CNP_ACCEPT "  peer names *.b.io a.io\n"},
	{"names: alike but for case and dot", "    - domainNames: [a.io, A.io, a.io.]\n", NULL,
	 CNP_ACCEPT "  peer names a.io\n"},
	{"names: all of one label", "    - domainNames: ['*.com']\n", NULL,
	 CNP_ACCEPT "  peer names *.com\n"},
	{"names: underscores", "    - domainNames: [_dmarc.a_b.io]\n", NULL,
	 CNP_ACCEPT "  peer names _dmarc.a_b.io\n"},
	{"names: digits and hyphens", "    - domainNames: [1.2-3.4, xn--bcher-kva.example]\n", NULL,
	 CNP_ACCEPT "  peer names 1.2-3.4 xn--bcher-kva.example\n"},
	{"names: 253 bytes", "    - domainNames: [" NAME_253 "]\n", NULL,
	 CNP_ACCEPT "  peer names " NAME_253 "\n"},
	{"names: 253 bytes and a dot", "    - domainNames: [" NAME_253 ".]\n", NULL,
	 CNP_ACCEPT "  peer names " NAME_253 "\n"},
	{"names: 254 bytes", "    - domainNames: [" NAME_253 "a]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a23456789", NULL},
	{"names: 254 bytes with the wildcard", "    - domainNames: ['*." NAME_253 "']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"*.a2345", NULL},
	{"names: a label of 64 bytes", "    - domainNames: [" LABEL_63 "4.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a23456789", NULL},
	{"names: one label", "    - domainNames: [localhost]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"localhost\" is no domain name", NULL},
	{"names: one label and a dot", "    - domainNames: [localhost.]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"localhost.\" is no domain name", NULL},
	{"names: everything", "    - domainNames: ['*']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"*\" is no domain name", NULL},
	{"names: a wildcard of nothing", "    - domainNames: ['*.']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"*.\" is no domain name", NULL},
	{"names: a part of a label", "    - domainNames: ['a*.io']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a*.io\" is no domain name", NULL},
	{"names: a wildcard in the middle", "    - domainNames: ['a.*.io']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a.*.io\" is no domain name", NULL},
	{"names: two wildcards", "    - domainNames: ['*.*.io']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"*.*.io\" is no domain name", NULL},
	{"names: an empty label", "    - domainNames: [a..io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a..io\" is no domain name", NULL},
	{"names: two dots at the end", "    - domainNames: [a.io..]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a.io..\" is no domain name", NULL},
	{"names: only a dot", "    - domainNames: [.]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \".\" is no domain name", NULL},
	{"names: empty", "    - domainNames: ['']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"\" is no domain name", NULL},
	{"names: a hyphen at the begin", "    - domainNames: [-a.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"-a.io\" is no domain name", NULL},
	{"names: a hyphen at the end of a label", "    - domainNames: [a-.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a-.io\" is no domain name", NULL},
	{"names: an underscore at the end of a label", "    - domainNames: [a_.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a_.io\" is no domain name", NULL},
	{"names: a space", "    - domainNames: ['a b.io']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"a b.io\" is no domain name", NULL},
	{"names: no ASCII", "    - domainNames: [b\303\274cher.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"b\303\274cher.io\" is no domain name", NULL},
	{"names: a URL", "    - domainNames: ['https://a.io']\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: \"https://a.io\" is no domain name", NULL},
	{"names: twice", "    - domainNames: [a.io, b.io, a.io]\n",
	 "t:11: spec.egress[0].to[0].domainNames[2]: a.io is given twice", NULL},
	{"names: an empty list", "    - domainNames: []\n",
	 "t:11: spec.egress[0].to[0].domainNames: must have one item at least", NULL},
	{"names: no list", "    - domainNames: a.io\n",
	 "t:11: spec.egress[0].to[0].domainNames: must be a list", NULL},
	{"names: a number", "    - domainNames: [1.5]\n",
	 "t:11: spec.egress[0].to[0].domainNames[0]: must be a string; quote it", NULL},
	{"names: 25",
	 "    - domainNames: [a.1, a.2, a.3, a.4, a.5, b.1, b.2, b.3, b.4, b.5, c.1, c.2, c.3,\n"
	 "        c.4, c.5, d.1, d.2, d.3, d.4, d.5, e.1, e.2, e.3, e.4, e.5]\n",
	 NULL,
	 CNP_ACCEPT "  peer names a.1 a.2 a.3 a.4 a.5 b.1 b.2 b.3 b.4 b.5 c.1 c.2 c.3 c.4 c.5 d.1 "
		    "d.2 d.3 d.4 d.5 e.1 e.2 e.3 e.4 e.5\n"},
	{"names: 26",
	 "    - domainNames: [a.1, a.2, a.3, a.4, a.5, b.1, b.2, b.3, b.4, b.5, c.1, c.2, c.3,\n"
	 "        c.4, c.5, d.1, d.2, d.3, d.4, d.5, e.1, e.2, e.3, e.4, e.5, e.6]\n",
	 "t:11: spec.egress[0].to[0].domainNames: has 26 items, more than the 25 allowed", NULL},
	{"names: beside other peers", "    - networks: [10.0.0.0/8]\n    - domainNames: [a.io]\n",
	 NULL, CNP_ACCEPT "  peer cidr 10.0.0.0/8\n  peer names a.io\n"},
	{"names: in one peer with networks",
	 "    - {networks: [10.0.0.0/8], domainNames: [a.io]}\n",
	 "t:11: spec.egress[0].to[0]: must have exactly one of namespaces, pods, nodes, networks, "
	 "domainNames",
	 NULL},
	{"names: a port beside",
	 "    - domainNames: [a.io]\n    protocols: [tcp: {destinationPort: "
	 "{number: 443}}]\n",
	 NULL, CNP_ACCEPT_PORTS "  peer names a.io\n  port TCP/443-443\n"},
	{"names: a port's name beside",
	 "    - domainNames: [a.io]\n    protocols: [destinationNamedPort: https]\n",
	 "t:9: spec.egress[0]: a named port beside nodes, networks or domain names", NULL},
};

static const struct read_row names_elsewhere[] = {
	{"names: Deny",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Deny, to: [domainNames: [a.io]]}\n",
	 "t:9: spec.egress[0].to[0].domainNames: a rule with domain names must allow", NULL},
	{"names: Pass",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Pass, to: [domainNames: [a.io]]}\n",
	 "t:9: spec.egress[0].to[0].domainNames: a rule with domain names must allow", NULL},
	{"names: Baseline",
	 "  tier: Baseline\n  priority: 5\n  subject: {namespaces: {}}\n  egress:\n"
	 "  - {action: Accept, to: [domainNames: [a.io]]}\n",
	 NULL,
	 "CNP baseline 5 p ns(*) pods(*) ingress egress\n egress[0] allow any-port\n"
	 "  peer names a.io\n"},
	{"names: ingress",
	 "  tier: Admin\n  priority: 5\n  subject: {namespaces: {}}\n  ingress:\n"
	 "  - {action: Accept, from: [domainNames: [a.io]]}\n",
	 "t:9: spec.ingress[0].from[0].domainNames: unknown field", NULL},
};

static const struct read_row protocols[] = {
	{"CNP: protocols",
	 "    - tcp: {destinationPort: {number: 80}}\n"
	 "    - udp: {destinationPort: {range: {start: 1, end: 2}}}\n"
	 "    - sctp: {destinationPort: {number: 65535}}\n"
	 "    - destinationNamedPort: http\n",
	 NULL,
	 CNP_DENY "  port TCP/80-80\n  port UDP/1-2\n  port SCTP/65535-65535\n  port any/http\n"},
	{"CNP: empty protocol", "    - {}\n",
	 "t:12: spec.ingress[0].protocols[0]: warning: says nothing: the rule denies all",
	 "CNP admin 7 p ns(*) pods(*) ingress egress\n ingress[0] deny unknown\n"},
	{"CNP: tcp empty", "    - tcp: {}\n",
	 "t:12: spec.ingress[0].protocols[0].tcp: warning: says nothing: the rule denies all",
	 "CNP admin 7 p ns(*) pods(*) ingress egress\n ingress[0] deny unknown\n"},
	{"CNP: no protocols", "      []\n",
	 "t:11: spec.ingress[0].protocols: must have one item at least", NULL},
	{"CNP: two protocols in one item", "    - {tcp: {}, udp: {}}\n",
	 "t:12: spec.ingress[0].protocols[0]: must have exactly one of tcp, udp, sctp", NULL},
	{"CNP: an unknown protocol", "    - icmp: {}\n",
	 "t:12: spec.ingress[0].protocols[0].icmp: unknown field", NULL},
	{"CNP: an unknown field of TCP", "    - tcp: {sourcePort: {}}\n",
	 "t:12: spec.ingress[0].protocols[0].tcp.sourcePort: unknown field", NULL},
	{"CNP: destinationPort empty", "    - tcp: {destinationPort: {}}\n",
	 "t:12: spec.ingress[0].protocols[0].tcp.destinationPort: must have exactly one of number",
	 NULL},
	{"CNP: destinationPort with both",
	 "    - tcp: {destinationPort: {number: 1, range: {start: 1, end: 2}}}\n",
	 "t:12: spec.ingress[0].protocols[0].tcp.destinationPort: must have exactly one of number",
	 NULL},
	{"CNP: destinationPort as a number", "    - tcp: {destinationPort: 80}\n",
	 "t:12: spec.ingress[0].protocols[0].tcp.destinationPort: must be a map", NULL},
	{"CNP: number 0", "    - udp: {destinationPort: {number: 0}}\n",
	 "t:12: spec.ingress[0].protocols[0].udp.destinationPort.number: must be 1 to 65535", NULL},
	{"CNP: start equals end", "    - udp: {destinationPort: {range: {start: 3, end: 3}}}\n",
	 "t:12: spec.ingress[0].protocols[0].udp.destinationPort.range: start must be less", NULL},
	{"CNP: a bad port name", "    - destinationNamedPort: ''\n",
	 "t:12: spec.ingress[0].protocols[0].destinationNamedPort: \"\" is no port name", NULL},
};

/* @n times @item, with commas between. */
static const char *repeat(char *text, size_t size, const char *before, const char *item, int n,
			  const char *after)
{
	size_t at = snprintf(text, size, "%s", before);

	for (int i = 0; i < n; i++)
		at += snprintf(text + at, size - at, "%s%s", i ? ", " : "", item);
	snprintf(text + at, size - at, "%s", after);
	return text;
}

#define RULE "{action: Deny, from: [namespaces: {}]}"
#define PEER "namespaces: {}"
#define PORT "namedPort: a"
#define ROW(name, message)                \
	{                                 \
		name, NULL, message, NULL \
	}

/* Each limited list with one item too many, and with the most items. */
static struct read_row admin_limits[] = {
	ROW("ANP: 101 rules", "t:7: spec.ingress: has 101 items, more than the 100"),
	ROW("ANP: 101 peers", "t:7: spec.ingress[0].from: has 101 items, more than the 100"),
	ROW("ANP: 101 ports", "t:7: spec.ingress[0].ports: has 101 items, more than the 100"),
	ROW("ANP: 26 networks",
	    "t:7: spec.egress[0].to[0].networks: has 26 items, more than the 25"),
	ROW("ANP: a rule name of 101", "t:7: spec.ingress[0].name: has 101 characters"),
	/* Only the last field is refused: the reader has accepted the fields before. */
	ROW("ANP: 100 rules are well", "t:8: spec.egress: must be a list"),
	ROW("ANP: 100 peers are well", "t:8: spec.egress: must be a list"),
	ROW("ANP: a rule name of 100 letters of two bytes is well",
	    "t:8: spec.egress: must be a list"),
};
static struct read_row cluster_limits[] = {
	ROW("CNP: 26 rules", "t:8: spec.ingress: has 26 items, more than the 25"),
	ROW("CNP: 26 peers", "t:8: spec.ingress[0].from: has 26 items, more than the 25"),
	ROW("CNP: 26 protocols", "t:8: spec.ingress[0].protocols: has 26 items, more than the 25"),
};

static void make_limits(void)
{
	static char text[11][8192];
	int n = 0;

#define MAKE(row, before, item, count, after) \
	((row).text = repeat(text[n], sizeof(text[n]), before, item, count, after), n++)
	MAKE(admin_limits[0], "  ingress: [", RULE, 101, "]\n");
	MAKE(admin_limits[1], "  ingress: [{action: Deny, from: [", PEER, 101, "]}]\n");
	MAKE(admin_limits[2], "  ingress: [{action: Deny, from: [namespaces: {}], ports: [", PORT,
	     101, "]}]\n");
	MAKE(admin_limits[3], "  egress: [{action: Deny, to: [networks: [", "10.0.0.0/8", 26,
	     "]]}]\n");
	MAKE(admin_limits[4],
	     "  ingress: [{action: Deny, from: [namespaces: {}], name: "
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	     "x", 1, "}]\n");
	MAKE(admin_limits[5], "  ingress: [", RULE, 100, "]\n  egress: 1\n");
	MAKE(admin_limits[6], "  ingress: [{action: Deny, from: [", PEER, 100,
	     "]}]\n  egress: 1\n");
	MAKE(admin_limits[7],
	     "  ingress: [{action: Deny, from: [namespaces: {}], name: "
	     "ääääääääääääääääääääääääääääääääääääääääääääääääää"
	     "äääääääääääääääääääääääääääääääääääääääääääääääää",
	     "ä", 1, "}]\n  egress: 1\n");
	MAKE(cluster_limits[0], "  ingress: [", RULE, 26, "]\n");
	MAKE(cluster_limits[1], "  ingress: [{action: Deny, from: [", PEER, 26, "]}]\n");
	MAKE(cluster_limits[2], "  ingress: [{action: Deny, from: [namespaces: {}], protocols: [",
	     "tcp: {destinationPort: {number: 1}}", 26, "]}]\n");
#undef MAKE
}

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_YAML, ANP, admin),
		READ_TABLE(READ_YAML, ANP_IN, rules),
		READ_TABLE(READ_YAML, ANP_TO, peers_out),
		READ_TABLE(READ_YAML, ANP_PORTS, ports),
		READ_TABLE(READ_YAML, BANP, baseline),
		READ_TABLE(READ_YAML, CNP, cluster),
		READ_TABLE(READ_YAML, CNP_TO, names),
		READ_TABLE(READ_YAML, CNP, names_elsewhere),
		READ_TABLE(READ_YAML, CNP_PORTS, protocols),
		READ_TABLE(READ_YAML, ANP "  priority: 7\n  subject: {namespaces: {}}\n",
			   admin_limits),
		READ_TABLE(READ_YAML,
			   CNP "  tier: Admin\n  priority: 7\n  subject: {namespaces: {}}\n",
			   cluster_limits),
	};

	make_limits();
	return read_tables_run("admin_policy", tables, sizeof(tables) / sizeof(*tables));
}
