// SPDX-License-Identifier: GPL-2.0-only
/*
 * NetworkPolicy, networking.k8s.io/v1 and extensions/v1beta1: each field present, missing, empty
 * and wrong.
 */
#include "selftests/lib/read.h"

/* The spec begins on line 5. */
#define V1                                    \
	"apiVersion: networking.k8s.io/v1\n"  \
	"kind: NetworkPolicy\n"               \
	"metadata: {name: p, namespace: x}\n" \
	"spec:\n"
#define V1BETA1                               \
	"apiVersion: extensions/v1beta1\n"    \
	"kind: NetworkPolicy\n"               \
	"metadata: {name: p, namespace: x}\n" \
	"spec:\n"
#define X "namespace x undeclared kubernetes.io/metadata.name=x\n"
#define NP X "NP network-policy 0 x/p pods(*)"
#define IN NP " ingress-isolated\n"
#define OUT NP " egress-isolated\n"

static const struct read_row policies[] = {
	{"selector missing selects all", "  policyTypes: [Ingress]\n", NULL, IN},
	{"selector empty selects all", "  podSelector: {}\n  policyTypes: [Ingress]\n", NULL, IN},
	{"selector null selects all", "  podSelector:\n  policyTypes: [Ingress]\n", NULL, IN},
	{"matchLabels and all operators",
	 "  podSelector:\n"
	 "    matchLabels: {b: '1', a: x}\n"
	 "    matchExpressions:\n"
	 "    - {key: k, operator: In, values: [z, y, z]}\n"
	 "    - {key: k, operator: NotIn, values: [q]}\n"
	 "    - {key: e.io/k, operator: Exists}\n"
	 "    - {key: k, operator: DoesNotExist, values: []}\n",
	 NULL,
	 X "NP network-policy 0 x/p pods(a in \"x\"; b in \"1\"; e.io/k exists; "
	   "k in \"y\",\"z\"; k notin \"q\"; k !exists) ingress-isolated\n"},
	{"a requirement given twice is one",
	 "  podSelector: {matchLabels: {a: x}, matchExpressions: [{key: a, operator: In, values: "
	 "[x]}]}\n",
	 NULL, X "NP network-policy 0 x/p pods(a in \"x\") ingress-isolated\n"},
	{"types missing, no rules", "  podSelector: {}\n", NULL, IN},
	{"types empty, no rules", "  policyTypes: []\n", NULL, IN},
	{"types missing, egress empty", "  egress: []\n", NULL, IN},
	{"types missing, egress rule", "  egress: [{}]\n", NULL,
	 NP " ingress-isolated egress-isolated\n egress[0] allow any-peer any-port\n"},
	{"types Egress alone", "  policyTypes: [Egress]\n", NULL, OUT},
	{"types both", "  policyTypes: [Egress, Ingress]\n", NULL,
	 NP " ingress-isolated egress-isolated\n"},
	{"rules of a direction that is not in the types do not apply",
	 "  policyTypes: [Egress]\n  ingress: [{}]\n", NULL,
	 OUT " ingress[0] allow any-peer any-port\n"},
	{"from and ports missing", "  ingress: [{}]\n", NULL,
	 IN " ingress[0] allow any-peer any-port\n"},
	{"from and ports empty", "  ingress: [{from: [], ports: []}]\n", NULL,
	 IN " ingress[0] allow any-peer any-port\n"},
	{"from and ports null", "  ingress: [{from: , ports: }]\n", NULL,
	 IN " ingress[0] allow any-peer any-port\n"},
	{"from alone", "  ingress: [{from: [podSelector: {}]}]\n", NULL,
	 IN " ingress[0] allow any-port\n  peer own pods(*)\n"},
	{"ports alone", "  ingress: [{ports: [port: 1]}]\n", NULL,
	 IN " ingress[0] allow any-peer\n  port TCP/1-1\n"},
	{"peers",
	 "  ingress:\n"
	 "  - from:\n"
	 "    - podSelector: {matchLabels: {a: b}}\n"
	 "    - namespaceSelector: {matchLabels: {c: d}}\n"
	 "    - namespaceSelector: {}\n"
	 "      podSelector: {matchLabels: {a: b}}\n"
	 "    - ipBlock: {cidr: 172.17.3.4/16, except: [172.17.1.0/24, 172.17.2.0/24]}\n"
	 "    - ipBlock: {cidr: 'fd00::1/8', except: []}\n"
	 "    - ipBlock: {cidr: '::/0', except: ['fd00::/8']}\n",
	 NULL,
	 IN " ingress[0] allow any-port\n"
	    "  peer own pods(a in \"b\")\n"
	    "  peer namespaces ns(c in \"d\") pods(*)\n"
	    "  peer namespaces ns(*) pods(a in \"b\")\n"
	    "  peer cidr 172.17.0.0/16 except 172.17.1.0/24 except 172.17.2.0/24\n"
	    "  peer cidr fd00::/8\n"
	    "  peer cidr ::/0 except fd00::/8\n"},
	{"ports",
	 "  egress:\n"
	 "  - to: [ipBlock: {cidr: 0.0.0.0/0}]\n"
	 "    ports:\n"
	 "    - {}\n"
	 "    - {protocol: UDP}\n"
	 "    - {port: 80}\n"
	 "    - {protocol: SCTP, port: 65535}\n"
	 "    - {protocol: TCP, port: 7000, endPort: 7000}\n"
	 "    - {protocol: UDP, port: 1, endPort: 65535}\n"
	 "    - {port: http}\n"
	 "    - {protocol: UDP, port: dns-8}\n"
	 "  policyTypes: [Egress]\n",
	 NULL,
	 OUT " egress[0] allow\n"
	     "  peer cidr 0.0.0.0/0\n"
	     "  port TCP\n"
	     "  port UDP\n"
	     "  port TCP/80-80\n"
	     "  port SCTP/65535-65535\n"
	     "  port TCP/7000-7000\n"
	     "  port UDP/1-65535\n"
	     "  port TCP/http\n"
	     "  port UDP/dns-8\n"},
	{"several rules keep their order", "  ingress: [{ports: [port: 2]}, {ports: [port: 1]}]\n",
	 NULL,
	 IN " ingress[0] allow any-peer\n  port TCP/2-2\n"
	    " ingress[1] allow any-peer\n  port TCP/1-1\n"},
};

static const struct read_row refused[] = {
	{"no spec", "  ~\n", "t:1: spec: is missing", NULL},
	{"spec is no map", "  - a\n", "t:4: spec: must be a map", NULL},
	{"unknown field", "  podSelector: {}\n  priority: 1\n", "t:6: spec.priority: unknown field",
	 NULL},
	{"unknown field in a rule", "  ingress:\n  - form: []\n",
	 "t:6: spec.ingress[0].form: unknown field", NULL},
	{"to in ingress", "  ingress:\n  - to: []\n", "t:6: spec.ingress[0].to: unknown field",
	 NULL},
	{"from in egress", "  egress:\n  - {}\n  - from: []\n",
	 "t:7: spec.egress[1].from: unknown field", NULL},
	{"rules are no list", "  ingress: {}\n", "t:5: spec.ingress: must be a list", NULL},
	{"a rule is null", "  ingress:\n  -\n", "t:6: spec.ingress[0]: must be a map", NULL},
	{"unknown field in a peer", "  ingress:\n  - from:\n    - pods: {}\n",
	 "t:7: spec.ingress[0].from[0].pods: unknown field", NULL},
	{"unknown field in a selector", "  podSelector: {matchlabels: {a: b}}\n",
	 "t:5: spec.podSelector.matchlabels: unknown field", NULL},
	{"unknown field in an expression",
	 "  podSelector: {matchExpressions: [{key: a, op: Exists, operator: Exists}]}\n",
	 "t:5: spec.podSelector.matchExpressions[0].op: unknown field", NULL},
	{"unknown field in a port", "  ingress:\n  - ports:\n    - {port: 1, name: x}\n",
	 "t:7: spec.ingress[0].ports[0].name: unknown field", NULL},
	{"unknown field in an ipBlock",
	 "  ingress:\n  - from:\n    - ipBlock: {cidr: 1.2.3.4/32, not: 1}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.not: unknown field", NULL},
	{"unknown type", "  policyTypes:\n  - Ingress\n  - egress\n",
	 "t:7: spec.policyTypes[1]: must be Ingress or Egress", NULL},
	{"too many types", "  policyTypes: [Ingress, Egress, Ingress]\n",
	 "t:5: spec.policyTypes: has 3 items, more than the 2", NULL},
	{"empty peer", "  ingress:\n  - from:\n    - {}\n",
	 "t:7: spec.ingress[0].from[0]: must have a podSelector", NULL},
	{"peer with null alone", "  ingress:\n  - from:\n    - podSelector:\n",
	 "t:7: spec.ingress[0].from[0]: must have a podSelector", NULL},
	{"ipBlock beside a selector",
	 "  egress:\n  - to:\n    - ipBlock: {cidr: 1.2.3.4/32}\n      podSelector: {}\n",
	 "t:7: spec.egress[0].to[0]: an ipBlock stands alone", NULL},
	{"cidr missing", "  ingress:\n  - from:\n    - ipBlock: {except: []}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.cidr: is missing", NULL},
	{"cidr without a length", "  ingress:\n  - from:\n    - ipBlock: {cidr: 10.0.0.1}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.cidr: \"10.0.0.1\" is no CIDR", NULL},
	{"cidr too long", "  ingress:\n  - from:\n    - ipBlock: {cidr: 10.0.0.0/33}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.cidr: \"10.0.0.0/33\" is no CIDR", NULL},
	{"cidr with a leading zero", "  ingress:\n  - from:\n    - ipBlock: {cidr: 010.0.0.0/8}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.cidr: \"010.0.0.0/8\" is no CIDR", NULL},
	{"cidr of a mapped address",
	 "  ingress:\n  - from:\n    - ipBlock: {cidr: '::ffff:10.0.0.0/104'}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.cidr: \"::ffff:10.0.0.0/104\" is no CIDR", NULL},
	{"except outside",
	 "  ingress:\n  - from:\n    - ipBlock:\n        cidr: 10.0.0.0/8\n"
	 "        except:\n        - 10.0.0.0/9\n        - 11.0.0.0/24\n",
	 "t:11: spec.ingress[0].from[0].ipBlock.except[1]: 11.0.0.0/24 is no strict subset", NULL},
	{"except equal",
	 "  ingress:\n  - from:\n    - ipBlock: {cidr: 10.0.0.0/8, except: [10.9.0.0/8]}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.except[0]: 10.9.0.0/8 is no strict subset", NULL},
	{"except wider",
	 "  ingress:\n  - from:\n    - ipBlock: {cidr: 10.0.0.0/8, except: [8.0.0.0/7]}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.except[0]: 8.0.0.0/7 is no strict subset", NULL},
	{"except of the other family",
	 "  ingress:\n  - from:\n    - ipBlock: {cidr: '::/0', except: [10.0.0.0/8]}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock.except[0]: 10.0.0.0/8 is no strict subset", NULL},
	{"port 0", "  ingress:\n  - ports:\n    - port: 0\n",
	 "t:7: spec.ingress[0].ports[0].port: must be 1 to 65535", NULL},
	{"port 65536", "  ingress:\n  - ports:\n    - port: 65536\n",
	 "t:7: spec.ingress[0].ports[0].port: must be 1 to 65535", NULL},
	{"a huge port", "  ingress:\n  - ports:\n    - port: 99999999999999999999999\n",
	 "t:7: spec.ingress[0].ports[0].port: must be 1 to 65535", NULL},
	{"a negative port", "  ingress:\n  - ports:\n    - port: -1\n",
	 "t:7: spec.ingress[0].ports[0].port: must be 1 to 65535", NULL},
	{"an octal port", "  ingress:\n  - ports:\n    - port: 010\n",
	 "t:7: spec.ingress[0].ports[0].port: must be a whole number in decimal", NULL},
	{"a port with a fraction", "  ingress:\n  - ports:\n    - port: 80.5\n",
	 "t:7: spec.ingress[0].ports[0].port: must be a whole number in decimal", NULL},
	{"a number in quotes is a name", "  ingress:\n  - ports:\n    - port: '80'\n",
	 "t:7: spec.ingress[0].ports[0].port: \"80\" is no port name", NULL},
	{"port name in upper case", "  ingress:\n  - ports:\n    - port: HTTP\n",
	 "t:7: spec.ingress[0].ports[0].port: \"HTTP\" is no port name", NULL},
	{"port name of 16", "  ingress:\n  - ports:\n    - port: abcdefghijklmnop\n",
	 "t:7: spec.ingress[0].ports[0].port: \"abcdefghijklmnop\" is no port name", NULL},
	{"port name with two dashes", "  ingress:\n  - ports:\n    - port: a--b\n",
	 "t:7: spec.ingress[0].ports[0].port: \"a--b\" is no port name", NULL},
	{"port is a truth value", "  ingress:\n  - ports:\n    - port: yes\n",
	 "t:7: spec.ingress[0].ports[0].port: must be a number", NULL},
	{"endPort less than port", "  ingress:\n  - ports:\n    - port: 80\n      endPort: 79\n",
	 "t:8: spec.ingress[0].ports[0].endPort: must not be less than the port, 80", NULL},
	{"endPort out of range", "  ingress:\n  - ports:\n    - port: 80\n      endPort: 65536\n",
	 "t:8: spec.ingress[0].ports[0].endPort: must be 1 to 65535", NULL},
	{"endPort beside a name", "  ingress:\n  - ports:\n    - port: http\n      endPort: 79\n",
	 "t:8: spec.ingress[0].ports[0].endPort: needs a port that is a number", NULL},
	{"endPort alone", "  ingress:\n  - ports:\n    - endPort: 79\n",
	 "t:7: spec.ingress[0].ports[0].endPort: needs a port that is a number", NULL},
	{"protocol in lower case", "  ingress:\n  - ports:\n    - protocol: tcp\n",
	 "t:7: spec.ingress[0].ports[0].protocol: must be TCP, UDP or SCTP", NULL},
	{"unknown protocol", "  ingress:\n  - ports:\n    - protocol: ICMP\n",
	 "t:7: spec.ingress[0].ports[0].protocol: must be TCP, UDP or SCTP", NULL},
	{"a port is null", "  ingress:\n  - ports: [null]\n",
	 "t:6: spec.ingress[0].ports[0]: must be a map", NULL},
	{"In without values",
	 "  podSelector:\n    matchExpressions:\n    - {key: a, operator: In}\n",
	 "t:7: spec.podSelector.matchExpressions[0].values: is missing", NULL},
	{"NotIn with empty values",
	 "  podSelector:\n    matchExpressions:\n    - {key: a, operator: NotIn, values: []}\n",
	 "t:7: spec.podSelector.matchExpressions[0].values: is missing", NULL},
	{"Exists with values",
	 "  podSelector:\n    matchExpressions:\n    - {key: a, operator: Exists, values: [b]}\n",
	 "t:7: spec.podSelector.matchExpressions[0].values: Exists and DoesNotExist take no", NULL},
	{"DoesNotExist with values",
	 "  podSelector:\n    matchExpressions:\n    - {key: a, operator: DoesNotExist, values: "
	 "[b]}\n",
	 "t:7: spec.podSelector.matchExpressions[0].values: Exists and DoesNotExist take no", NULL},
	{"unknown operator",
	 "  podSelector:\n    matchExpressions:\n    - {key: a, operator: in}\n",
	 "t:7: spec.podSelector.matchExpressions[0].operator: must be In, NotIn, Exists", NULL},
	{"operator missing", "  podSelector:\n    matchExpressions:\n    - {key: a}\n",
	 "t:7: spec.podSelector.matchExpressions[0].operator: is missing", NULL},
	{"key missing", "  podSelector:\n    matchExpressions:\n    - {operator: Exists}\n",
	 "t:7: spec.podSelector.matchExpressions[0].key: is missing", NULL},
	{"expressions as a map",
	 "  podSelector:\n    matchExpressions: {key: a, operator: Exists}\n",
	 "t:6: spec.podSelector.matchExpressions: must be a list", NULL},
	{"bad label key", "  podSelector: {matchLabels: {-a: b}}\n",
	 "t:5: spec.podSelector.matchLabels.-a: \"-a\" is no label key", NULL},
	{"bad prefix of a label key", "  podSelector: {matchLabels: {Example.com/a: b}}\n",
	 "t:5: spec.podSelector.matchLabels[Example.com/a]: \"Example.com/a\" is no label key",
	 NULL},
	{"two slashes in a label key", "  podSelector: {matchLabels: {a/b/c: d}}\n",
	 "t:5: spec.podSelector.matchLabels[a/b/c]: \"a/b/c\" is no label key", NULL},
	{"bad label value", "  podSelector: {matchLabels: {a: b c}}\n",
	 "t:5: spec.podSelector.matchLabels.a: \"b c\" is no label value", NULL},
	{"a number as a label value", "  podSelector: {matchLabels: {a: 1}}\n",
	 "t:5: spec.podSelector.matchLabels.a: must be a string; quote it", NULL},
	{"a truth value as a label value", "  podSelector: {matchLabels: {a: on}}\n",
	 "t:5: spec.podSelector.matchLabels.a: must be a string; quote it", NULL},
	{"a truth value as a label key", "  podSelector: {matchLabels: {yes: a}}\n",
	 "t:5: spec.podSelector.matchLabels.yes: the label key must be a string; quote it", NULL},
	{"bad value in an expression",
	 "  podSelector:\n    matchExpressions: [{key: a, operator: In, values: [b, _]}]\n",
	 "t:6: spec.podSelector.matchExpressions[0].values[1]: \"_\" is no label value", NULL},
};

static const struct read_row v1beta1[] = {
	{"v1beta1: no rules", "  podSelector:\n", NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n"},
	{"v1beta1: from and ports missing", "  podSelector:\n  ingress: [{}]\n", NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n"
	   " ingress[0] allow any-peer any-port\n"},
	{"v1beta1: from empty matches nothing", "  ingress: [{from: []}]\n", NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n ingress[0] allow any-port\n"},
	{"v1beta1: ports empty matches nothing", "  ingress: [{ports: []}]\n", NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n ingress[0] allow any-peer\n"},
	{"v1beta1: peers and ports",
	 "  ingress:\n"
	 "  - from:\n"
	 "    - podSelector: {matchLabels: {a: b}}\n"
	 "    - namespaceSelector: {}\n"
	 "    ports: [{}, {protocol: UDP, port: 53}, {port: http}]\n",
	 NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(*) ingress\n"
	   " ingress[0] allow\n"
	   "  peer own pods(a in \"b\")\n"
	   "  peer namespaces ns(*) pods(*)\n"
	   "  port TCP\n"
	   "  port UDP/53-53\n"
	   "  port TCP/http\n"},
	{"v1beta1: egress", "  egress: []\n", "t:5: spec.egress: unknown field", NULL},
	{"v1beta1: policyTypes", "  policyTypes: []\n", "t:5: spec.policyTypes: unknown field",
	 NULL},
	{"v1beta1: ipBlock", "  ingress:\n  - from:\n    - ipBlock: {cidr: 10.0.0.0/8}\n",
	 "t:7: spec.ingress[0].from[0].ipBlock: unknown field", NULL},
	{"v1beta1: both selectors",
	 "  ingress:\n  - from:\n    - {podSelector: {}, namespaceSelector: {}}\n",
	 "t:7: spec.ingress[0].from[0]: must have exactly one of podSelector, namespaceSelector",
	 NULL},
	{"v1beta1: neither selector", "  ingress:\n  - from:\n    - {}\n",
	 "t:7: spec.ingress[0].from[0]: must have exactly one of podSelector, namespaceSelector",
	 NULL},
	{"v1beta1: endPort", "  ingress:\n  - ports:\n    - {port: 1, endPort: 2}\n",
	 "t:7: spec.ingress[0].ports[0].endPort: unknown field", NULL},
	{"v1beta1: SCTP", "  ingress:\n  - ports:\n    - {protocol: SCTP}\n",
	 "t:7: spec.ingress[0].ports[0].protocol: must be TCP or UDP", NULL},
};

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_YAML, V1, policies),
		READ_TABLE(READ_YAML, V1, refused),
		READ_TABLE(READ_YAML, V1BETA1, v1beta1),
	};

	return read_tables_run("network_policy", tables, sizeof(tables) / sizeof(*tables));
}
