// SPDX-License-Identifier: GPL-2.0-only
/* The INI form: each key, the grammar of its values, refusals, and agreement with YAML. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "selftests/lib/read.h"

#define NAME "kubernetes.io/metadata.name="
#define X "namespace x undeclared " NAME "x\n"
#define ENDPOINT "[endpoint x/p]\nip = 10.0.0.1\n"
#define EP X "endpoint x/p"

static const struct read_row objects[] = {
	{"nothing", "", "t: note: there are no objects in it", ""},
	{"nothing but comments", "; a\n# b\n\n  ; c\n", "t: note: there are no objects in it", ""},
	{"settings", "[bulkhead]\nnode = worker-1\nuplink = eth1, eth0\n", NULL,
	 "this node is worker-1\nuplink eth0\nuplink eth1\n"},
	{"settings twice", "[bulkhead]\nnode = n\nuplink = a\n[bulkhead]\nnode = n\nuplink = b\n",
	 NULL, "this node is n\nuplink a\nuplink b\n"},
	{"settings twice, another node", "[bulkhead]\nnode = n\n[bulkhead]\nnode = m\n",
	 "t:3: node: is another one than before", NULL},
	{"settings: uplink too long", "[bulkhead]\nuplink = eth0, abcdefghijklmnop\n",
	 "t:2: uplink: no interface has a name of more than 15", NULL},
	{"resolvers", "[bulkhead]\nresolver = 10.96.0.10, fd00::a, 10.96.0.10\n", NULL,
	 "resolver 10.96.0.10\nresolver fd00::a\n"},
	{"resolvers twice", "[bulkhead]\nresolver = 10.0.0.2\n[bulkhead]\nresolver = 10.0.0.1\n",
	 NULL, "resolver 10.0.0.1\nresolver 10.0.0.2\n"},
	{"resolvers: a network", "[bulkhead]\nresolver = 10.96.0.10,\n  10.96.0.0/24\n",
	 "t:3: resolver: \"10.96.0.0/24\" is no IPv4 or IPv6 address", NULL},
	{"resolvers: a name", "[bulkhead]\nresolver = kube-dns\n",
	 "t:2: resolver: \"kube-dns\" is no IPv4 or IPv6 address", NULL},
	{"settings with a name", "[bulkhead x]\nnode = n\n", "t:1: [bulkhead] has no name", NULL},
	{"namespace", "[namespace x]\n", NULL, "namespace x " NAME "x\n"},
	{"namespace: all keys",
	 "[namespace x]\nlabels = a=b, c.io/d=\nisolation = DefaultDeny\naudit = yes\n", NULL,
	 "namespace x isolated audit a=b c.io/d= " NAME "x\n"},
	{"namespace: empty labels", "[namespace x]\nlabels =\naudit = no\n", NULL,
	 "namespace x " NAME "x\n"},
	{"namespace: unknown isolation", "[namespace x]\nisolation = Deny\n",
	 "t:2: isolation: must be DefaultDeny", NULL},
	{"namespace: audit is neither", "[namespace x]\naudit = maybe\n",
	 "t:2: audit: must be yes or no", NULL},
	{"namespace: a label twice", "[namespace x]\nlabels = a=b, a=c\n",
	 "t:2: labels: the label a is given twice", NULL},
	{"namespace: a label without a value", "[namespace x]\nlabels = a, b=c\n",
	 "t:2: labels: expected \"=\"", NULL},
	{"namespace: a bad label", "[namespace x]\nlabels = a=b/c\n",
	 "t:2: labels: \"b/c\" is no label value", NULL},
	{"namespace: a bad name", "[namespace X]\n", "t:1: metadata.name: \"X\" is no name", NULL},
	{"namespace: no name", "[namespace]\n", "t:1: metadata.name: \"\" is no name", NULL},
	{"node", "[node n]\nip = 10.0.0.1, fd00::1\nlabels = a=b\n", NULL,
	 "node n a=b 10.0.0.1 fd00::1\n"},
	{"node without an address", "[node n]\n", NULL, "node n\n"},
	{"node: a bad address", "[node n]\nip = 10.0.0.1, 10.0.0\n",
	 "t:2: ip: \"10.0.0\" is no IPv4 or IPv6 address", NULL},
	{"node: no address after a comma", "[node n]\nip = 10.0.0.1,\n",
	 "t:2: ip: expected a word at the end", NULL},
	{"endpoint", ENDPOINT, NULL, EP " 10.0.0.1\n"},
	{"endpoint: all keys",
	 "[endpoint x/p]\nip = fd00::1, 10.0.0.1\nnode = n\ninterface = veth0\n"
	 "mac = 02:00:0A:bc:00:05\nlabels = a=b\nport = http TCP/80\nport = dns UDP/53, dns "
	 "TCP/53\n"
	 "mode = l2\nallow-source = 10.9.0.0/16, fd09::/16\naudit = true\n",
	 NULL,
	 EP " a=b fd00::1 10.0.0.1 port dns TCP/53 port dns UDP/53 port http TCP/80 on n at veth0 "
	    "mac 02:00:0a:bc:00:05 l2 audit source 10.9.0.0/16 source fd09::/16\n"},
	{"endpoint: l3", ENDPOINT "mode = l3\naudit = off\n", NULL, EP " 10.0.0.1\n"},
	{"endpoint: expected", "[endpoint x/p]\nlabels = a=b\nuid = u1\nport = p TCP/1\n", NULL,
	 X "expected x/p a=b port p TCP/1 uid u1\n"},
	{"endpoint: expected, and there", "[endpoint x/p]\n[endpoint x/p]\nip = 10.0.0.1\n",
	 "t:1: Pod x/p is given twice, first at t:2", NULL},
	{"endpoint: ip missing", "[endpoint x/p]\ninterface = a\n", "t:1: ip: is missing", NULL},
	{"endpoint: ip empty", "[endpoint x/p]\nip =\n", "t:2: ip: expected a word", NULL},
	{"endpoint: no namespace", "[endpoint p]\nip = 10.0.0.1\n",
	 "t:1: the section's name must be NAMESPACE/NAME", NULL},
	{"endpoint: empty namespace", "[endpoint /p]\nip = 10.0.0.1\n",
	 "t:1: the section's name must be NAMESPACE/NAME", NULL},
	{"endpoint: empty name", "[endpoint x/]\nip = 10.0.0.1\n",
	 "t:1: metadata.name: \"\" is no object's name", NULL},
	{"endpoint: unknown mode", ENDPOINT "mode = l4\n", "t:3: mode: must be l2 or l3", NULL},
	{"endpoint: interface too long", ENDPOINT "interface = abcdefghijklmnop\n",
	 "t:3: interface: no interface has a name of more than 15", NULL},
	{"endpoint: mac too short", ENDPOINT "mac = 02:00:00:00:00\n",
	 "t:3: mac: must be a unicast", NULL},
	{"endpoint: mac too long", ENDPOINT "mac = 02:00:00:00:00:00:00\n",
	 "t:3: mac: must be a unicast", NULL},
	{"endpoint: mac with a bad digit", ENDPOINT "mac = 02:00:00:00:00:0g\n",
	 "t:3: mac: must be a unicast", NULL},
	{"endpoint: mac of a group", ENDPOINT "mac = 01:00:5e:00:00:01\n",
	 "t:3: mac: must be a unicast", NULL},
	{"endpoint: mac of zeros", ENDPOINT "mac = 00:00:00:00:00:00\n",
	 "t:3: mac: must be a unicast", NULL},
	{"endpoint: port without a protocol", ENDPOINT "port = http 80\n",
	 "t:3: port: expected NAME PROTOCOL/NUMBER", NULL},
	{"endpoint: port out of range", ENDPOINT "port = http TCP/65536\n",
	 "t:3: port: must be 1 to 65535", NULL},
	{"endpoint: port with a bad name", ENDPOINT "port = HTTP TCP/1\n",
	 "t:3: port: \"HTTP\" is no port name", NULL},
	{"endpoint: port of an unknown protocol", ENDPOINT "port = http ICMP/1\n",
	 "t:3: port: must be TCP, UDP or SCTP", NULL},
	{"endpoint: bad allow-source", ENDPOINT "allow-source = 10.0.0.0\n",
	 "t:3: allow-source: \"10.0.0.0\" is no CIDR", NULL},
	{"endpoint twice", ENDPOINT "[endpoint x/p]\nip = 10.0.0.2\n",
	 "t:3: Pod x/p is given twice, first at t:1", NULL},
	{"unknown section", "[pod x/p]\nip = 10.0.0.1\n", "t:1: there is no such kind of section",
	 NULL},
	{"a section's name with a suffix", "[namespaces x]\n", "t:1: there is no such kind", NULL},
	{"unknown key", "[node n]\naddress = 10.0.0.1\n", "t:2: address: unknown key", NULL},
	{"a key twice", "[node n]\nip = 10.0.0.1\nip = 10.0.0.2\n",
	 "t:3: ip: the key is given twice", NULL},
	{"a key before any section", "ip = 10.0.0.1\n[node n]\n",
	 "t:1: ip: stands before any section", NULL},
	{"neither key nor section", "[node n]\nip\n", "t:2: neither a [section] nor KEY = VALUE",
	 NULL},
	{"a section without its end", "[node n]\n[node m\n", "t:2: neither a [section] nor", NULL},
	{"a section's name longer than inih keeps",
	 "[namespace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1]\n"
	 "[namespace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2]\n",
	 NULL,
	 "namespace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1 " NAME
	 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1\n"
	 "namespace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2 " NAME
	 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2\n"},
};

static const struct read_row lines[] = {
	{"CRLF and byte order mark", "\xef\xbb\xbf[node n]\r\nip = 10.0.0.1\r\n", NULL,
	 "node n 10.0.0.1\n"},
	{"no newline at the end", "[node n]\nip = 10.0.0.1", NULL, "node n 10.0.0.1\n"},
	{"white space around", "  [ node \t n ]  \n\t ip=10.0.0.1 \n", NULL, "node n 10.0.0.1\n"},
	{"colon instead of equals sign", "[node n]\nip: 10.0.0.1\n", NULL, "node n 10.0.0.1\n"},
	{"continuation", "[node n]\nip = 10.0.0.1,\n  10.0.0.2\n\t, 10.0.0.3\n", NULL,
	 "node n 10.0.0.1 10.0.0.2 10.0.0.3\n"},
	{"continuation after comments and empty lines",
	 "[node n]\nip = 10.0.0.1 ; first\n; all of a line\n\n  # indented\n  , 10.0.0.2 ; last\n",
	 NULL, "node n 10.0.0.1 10.0.0.2\n"},
	{"a section that is indented goes on with the value",
	 "[node n]\nip = 10.0.0.1\n  [node m]\n", "t:3: ip: does not go on with \"[node m]\"",
	 NULL},
	{"two entries of one key are no continuation",
	 "[endpoint x/p]\nip = 10.0.0.1\nport = a TCP/1\nport = b TCP/2\n", NULL,
	 EP " 10.0.0.1 port a TCP/1 port b TCP/2\n"},
	{"an error in a continuation has its line",
	 "[node n]\nip = 10.0.0.1,\n\n; comment\n 10.0.0.2,\n 10.0.0.999\nlabels = a=b\n",
	 "t:6: ip: \"10.0.0.999\" is no IPv4 or IPv6 address", NULL},
	{"a semicolon without white space before it is no comment", "[node n]\nlabels = a=b;c\n",
	 "t:2: labels: \"b;c\" is no label value", NULL},
};

#define NP "[network-policy x/p]\n"
#define NP_IN X "NP network-policy 0 x/p pods(*) ingress-isolated\n"
#define RULE NP_IN " ingress[0] allow"

static const struct read_row network[] = {
	{"NP: nothing said", NP, NULL, NP_IN},
	{"NP: types and selector", NP "endpoints = a=b\ntypes = Ingress, Egress\n", NULL,
	 X "NP network-policy 0 x/p pods(a in \"b\") ingress-isolated egress-isolated\n"},
	{"NP: empty selector", NP "endpoints =\ntypes = Egress\n", NULL,
	 X "NP network-policy 0 x/p pods(*) egress-isolated\n"},
	{"NP: unknown type", NP "types = ingress\n", "t:2: types: must be Ingress or Egress", NULL},
	{"NP: any", NP "ingress = from any\n", NULL, RULE " any-peer any-port\n"},
	{"NP: any, and any port", NP "ingress = from any ports any\n", NULL,
	 RULE " any-peer any-port\n"},
	{"NP: ports alone", NP "ingress = ports TCP/80\n", NULL,
	 RULE " any-peer\n  port TCP/80-80\n"},
	{"NP: peers",
	 NP "ingress = from endpoints(a=b), endpoints(), namespaces(c=d), namespaces(),\n"
	    "  endpoints(a=b in namespaces(c=d)), endpoints(in namespaces()),\n"
	    "  cidr(10.0.0.0/8), cidr(10.0.0.0/8 except 10.1.0.0/16, 10.2.0.0/16), cidr(::/0)\n",
	 NULL,
	 RULE " any-port\n"
	      "  peer own pods(a in \"b\")\n"
	      "  peer own pods(*)\n"
	      "  peer namespaces ns(c in \"d\") pods(*)\n"
	      "  peer namespaces ns(*) pods(*)\n"
	      "  peer namespaces ns(c in \"d\") pods(a in \"b\")\n"
	      "  peer namespaces ns(*) pods(*)\n"
	      "  peer cidr 10.0.0.0/8\n"
	      "  peer cidr 10.0.0.0/8 except 10.1.0.0/16 except 10.2.0.0/16\n"
	      "  peer cidr ::/0\n"},
	{"NP: ports",
	 NP
	 "ingress = from any ports TCP/80, UDP/7000-7010, SCTP/9, 443, 1-2, http, UDP/dns, TCP,\n"
	 "  UDP, SCTP, 80-http\n",
	 NULL,
	 RULE " any-peer\n"
	      "  port TCP/80-80\n"
	      "  port UDP/7000-7010\n"
	      "  port SCTP/9-9\n"
	      "  port TCP/443-443\n"
	      "  port TCP/1-2\n"
	      "  port TCP/http\n"
	      "  port UDP/dns\n"
	      "  port TCP\n"
	      "  port UDP\n"
	      "  port SCTP\n"
	      "  port TCP/80-http\n"},
	{"NP: rules keep their order", NP "ingress = ports 2\nendpoints = a\ningress = ports 1\n",
	 NULL,
	 X "NP network-policy 0 x/p pods(a exists) ingress-isolated\n"
	   " ingress[0] allow any-peer\n  port TCP/2-2\n ingress[1] allow any-peer\n  port "
	   "TCP/1-1\n"},
	{"NP: egress", NP "egress = to cidr(10.0.0.0/8)\n", NULL,
	 X "NP network-policy 0 x/p pods(*) ingress-isolated egress-isolated\n"
	   " egress[0] allow any-port\n  peer cidr 10.0.0.0/8\n"},
	{"NP: an empty rule", NP "ingress =\n", "t:2: ingress: expected from PEERS or ports PORTS",
	 NULL},
	{"NP: to in ingress", NP "ingress = to any\n", "t:2: ingress: expected from PEERS", NULL},
	{"NP: an action", NP "ingress = Allow from any\n", "t:2: ingress: expected from PEERS",
	 NULL},
	{"NP: an unknown peer", NP "ingress = from pods(a=b)\n",
	 "t:2: ingress: expected namespaces() before \"pods(a=b)\"", NULL},
	{"NP: self", NP "ingress = from self\n", "t:2: ingress: expected namespaces()", NULL},
	{"NP: nodes", NP "egress = to nodes()\n", "t:2: egress: expected namespaces()", NULL},
	{"NP: none", NP "ingress = from none\n", "t:2: ingress: none is for network-policy-v1beta1",
	 NULL},
	{"NP: a parenthesis too few", NP "ingress = from endpoints(a=b ports 1\n",
	 "t:2: ingress: expected \")\" before \"ports 1\"", NULL},
	{"NP: a comma too many", NP "ingress = from any ports 80,\n",
	 "t:2: ingress: expected a port", NULL},
	{"NP: words after the rule", NP "ingress = from any ports 80 90\n",
	 "t:2: ingress: does not go on with \"90\"", NULL},
	{"NP: a bad CIDR", NP "ingress = from any\ningress = from cidr(10.0.0.0/33)\n",
	 "t:3: ingress[1].from[0].ipBlock.cidr: \"10.0.0.0/33\" is no CIDR", NULL},
	{"NP: except outside", NP "ingress = from cidr(10.0.0.0/8 except 11.0.0.0/8)\n",
	 "t:2: ingress[0].from[0].ipBlock.except[0]: 11.0.0.0/8 is no strict subset", NULL},
	{"NP: a range the wrong way round", NP "ingress = ports 90-80\n",
	 "t:2: ingress[0].ports[0].endPort: must not be less than the port, 90", NULL},
	{"NP: a range without an end", NP "ingress = ports 90-\n",
	 "t:2: ingress[0].ports[0].endPort: must be a whole number", NULL},
	{"NP: port 0", NP "ingress = ports UDP/0\n",
	 "t:2: ingress[0].ports[0].port: must be 1 to 65535", NULL},
	{"NP: unknown protocol", NP "ingress = ports ICMP/1\n",
	 "t:2: ingress: expected a port such", NULL},
	{"NP: a bad port name", NP "ingress = ports HTTP\n",
	 "t:2: ingress[0].ports[0].port: \"HTTP\" is no port name", NULL},
	{"NP: priority", NP "priority = 1\n", "t:2: priority: unknown key", NULL},
	{"NP-v1beta1",
	 "[network-policy-v1beta1 x/p]\nendpoints = a=b\n"
	 "ingress = from none\ningress = from any ports none\ningress = from endpoints()\n",
	 NULL,
	 X "NP-v1beta1 network-policy 0 x/p pods(a in \"b\") ingress\n"
	   " ingress[0] allow any-port\n ingress[1] allow any-peer\n"
	   " ingress[2] allow any-port\n  peer own pods(*)\n"},
	{"NP-v1beta1: types", "[network-policy-v1beta1 x/p]\ntypes = Ingress\n",
	 "t:2: types: unknown key", NULL},
	{"NP-v1beta1: cidr", "[network-policy-v1beta1 x/p]\ningress = from cidr(10.0.0.0/8)\n",
	 "t:2: ingress[0].from[0].ipBlock: unknown field", NULL},
};

#define ANP "[admin-network-policy p]\npriority = 7\nsubject = namespaces()\n"
#define ANP_ALL "ANP admin 7 p ns(*) pods(*) ingress egress\n"
#define ANP_IN ANP_ALL " ingress[0] deny any-port\n"
#define CNP "[cluster-network-policy p]\ntier = Admin\npriority = 7\nsubject = namespaces()\n"
#define CNP_ALL "CNP admin 7 p ns(*) pods(*) ingress egress\n"

static const struct read_row admin[] = {
	{"ANP: no rules", ANP, NULL, ANP_ALL},
	{"ANP: subject by endpoints",
	 "[admin-network-policy p]\npriority = 7\nsubject = endpoints(a=b in namespaces(c=d))\n",
	 NULL, "ANP admin 7 p ns(c in \"d\") pods(a in \"b\") ingress egress\n"},
	{"ANP: subject by endpoints of all namespaces",
	 "[admin-network-policy p]\npriority = 7\nsubject = endpoints(a=b)\n", NULL,
	 "ANP admin 7 p ns(*) pods(a in \"b\") ingress egress\n"},
	{"ANP: subject missing", "[admin-network-policy p]\npriority = 7\n",
	 "t:1: subject: is missing", NULL},
	{"ANP: subject by cidr", "[admin-network-policy p]\npriority = 7\nsubject = cidr(::/0)\n",
	 "t:3: subject: expected namespaces() or endpoints()", NULL},
	{"ANP: subject in self",
	 "[admin-network-policy p]\npriority = 7\nsubject = endpoints(a in self)\n",
	 "t:3: subject: expected namespaces() before \"self)\"", NULL},
	{"ANP: priority missing", "[admin-network-policy p]\nsubject = namespaces()\n",
	 "t:1: priority: is missing", NULL},
	{"ANP: priority out of range",
	 "[admin-network-policy p]\npriority = 1001\nsubject = namespaces()\n",
	 "t:2: priority: must be 0 to 1000", NULL},
	{"ANP: priority that is no number",
	 "[admin-network-policy p]\npriority = high\nsubject = namespaces()\n",
	 "t:2: priority: must be a whole number", NULL},
	{"ANP: names and actions",
	 ANP
	 "ingress = one: Allow from namespaces()\ningress = Deny from namespaces()\n"
	 "ingress = two words: Pass from namespaces()\ningress = Deny: Deny from namespaces()\n",
	 NULL,
	 ANP_ALL " ingress[0] allow \"one\" any-port\n  peer namespaces ns(*) pods(*)\n"
		 " ingress[1] deny any-port\n  peer namespaces ns(*) pods(*)\n"
		 " ingress[2] pass \"two words\" any-port\n  peer namespaces ns(*) pods(*)\n"
		 " ingress[3] deny \"Deny\" any-port\n  peer namespaces ns(*) pods(*)\n"},
	{"ANP: peers",
	 ANP
	 "ingress = Deny from endpoints(a=b), endpoints(a=b in namespaces(c=d)), self, not-self,\n"
	 "  notSelf, same-labels(t, u), sameLabels(t), not-same-labels(t), notSameLabels(t),\n"
	 "  same-labels(), endpoints(a=b in self), endpoints(in not-same-labels(t)),\n"
	 "  namespaces(c=d)\n",
	 NULL,
	 ANP_IN "  peer namespaces ns(*) pods(a in \"b\")\n"
		"  peer namespaces ns(c in \"d\") pods(a in \"b\")\n"
		"  peer self pods(*)\n"
		"  peer not-self pods(*)\n"
		"  peer not-self pods(*)\n"
		"  peer same pods(*) t u\n"
		"  peer same pods(*) t\n"
		"  peer not-same pods(*) t\n"
		"  peer not-same pods(*) t\n"
		"  peer same pods(*)\n"
		"  peer self pods(a in \"b\")\n"
		"  peer not-same pods(*) t\n"
		"  peer namespaces ns(c in \"d\") pods(*)\n"},
	{"ANP: nodes and networks", ANP "egress = Deny to nodes(a=b), nodes(), cidr(10.0.0.0/8)\n",
	 NULL,
	 ANP_ALL " egress[0] deny any-port\n  peer nodes nodes(a in \"b\")\n"
		 "  peer nodes nodes(*)\n  peer cidr 10.0.0.0/8\n"},
	{"ANP: ports", ANP "ingress = Deny from self ports TCP/80, UDP/1-2, 443, http, SCTP\n",
	 NULL,
	 ANP_ALL " ingress[0] deny\n  peer self pods(*)\n  port TCP/80-80\n  port UDP/1-2\n"
		 "  port TCP/443-443\n  port any/http\n  port SCTP/1-65535\n"},
	{"ANP: action missing", ANP "ingress = from self\n",
	 "t:4: ingress: expected from PEERS or ports PORTS before \"self\"", NULL},
	{"ANP: unknown action", ANP "ingress = Accept from self\n",
	 "t:4: ingress[0].action: must be Allow, Deny or Pass, not \"Accept\"", NULL},
	{"ANP: no peers", ANP "ingress = Deny ports 80\n", "t:4: ingress[0].from: is missing",
	 NULL},
	{"ANP: any", ANP "ingress = Deny from any\n", "t:4: ingress: expected namespaces(), self",
	 NULL},
	{"ANP: none", ANP "ingress = Deny from none\n", "t:4: ingress: expected namespaces(), self",
	 NULL},
	{"ANP: nodes in ingress", ANP "ingress = Deny from nodes()\n",
	 "t:4: ingress[0].from[0].nodes: unknown field", NULL},
	{"ANP: except", ANP "egress = Deny to cidr(10.0.0.0/8 except 10.1.0.0/16)\n",
	 "t:4: egress: except is for network-policy only", NULL},
	{"ANP: a port name with a protocol", ANP "ingress = Deny from self ports UDP/dns\n",
	 "t:4: ingress: a port name stands alone here", NULL},
	{"ANP: a range of one", ANP "ingress = Deny from self ports 5-5\n",
	 "t:4: ingress[0].ports[0].portRange: start must be less than end", NULL},
	{"ANP: named port beside nodes", ANP "egress = Deny to nodes() ports http\n",
	 "t:4: egress[0]: a named port beside nodes, networks or domain names", NULL},
	{"ANP: names", ANP "egress = Allow to self\negress = Allow to names(a.io)\n", NULL,
	 ANP_ALL " egress[0] allow any-port\n  peer self pods(*)\n"
		 " egress[1] allow any-port\n  peer names a.io\n"},
	{"ANP: names in Deny", ANP "egress = Allow to self\negress = Deny to names(a.io)\n",
	 "t:5: egress[1].to[0].domainNames: a rule with domain names must allow", NULL},
	{"BANP",
	 "[baseline-admin-network-policy p]\nsubject = namespaces()\ningress = Deny from self\n",
	 NULL,
	 "BANP baseline 0 p ns(*) pods(*) ingress egress\n ingress[0] deny any-port\n"
	 "  peer self pods(*)\n"},
	{"BANP: priority",
	 "[baseline-admin-network-policy p]\nsubject = namespaces()\npriority = 1\n",
	 "t:3: priority: unknown key", NULL},
	{"CNP", CNP, NULL, CNP_ALL},
	{"CNP: Baseline",
	 "[cluster-network-policy p]\ntier = Baseline\npriority = 7\nsubject = namespaces()\n",
	 NULL, "CNP baseline 7 p ns(*) pods(*) ingress egress\n"},
	{"CNP: rules",
	 CNP
	 "ingress = one: Accept from endpoints(a=b), namespaces(c=d) ports TCP/80, UDP/1-2, SCTP/9,"
	 "\n  443, http, UDP\negress = Deny to nodes(), cidr(10.0.0.0/8)\n",
	 NULL,
	 CNP_ALL " ingress[0] allow \"one\"\n  peer namespaces ns(*) pods(a in \"b\")\n"
		 "  peer namespaces ns(c in \"d\") pods(*)\n"
		 "  port TCP/80-80\n  port UDP/1-2\n  port SCTP/9-9\n  port TCP/443-443\n"
		 "  port any/http\n  port UDP/1-65535\n"
		 " egress[0] deny any-port\n  peer nodes nodes(*)\n  peer cidr 10.0.0.0/8\n"},
	{"CNP: Allow", CNP "ingress = Allow from namespaces()\n",
	 "t:5: ingress[0].action: must be Accept, Deny or Pass", NULL},
	{"CNP: names",
	 CNP "egress = Accept to names(API.example.com, *.svc.example.org.) ports TCP/443\n", NULL,
	 CNP_ALL " egress[0] allow\n  peer names *.svc.example.org api.example.com\n"
		 "  port TCP/443-443\n"},
	{"CNP: names on two lines, and a network",
	 CNP "egress = Accept to names(a.io,\n  b.io), cidr(10.0.0.0/8)\n", NULL,
	 CNP_ALL " egress[0] allow any-port\n  peer names a.io b.io\n  peer cidr 10.0.0.0/8\n"},
	{"CNP: a name on the second line",
	 CNP "egress = Accept to names(a.io,\n  b..io), cidr(10.0.0.0/8)\n",
	 "t:6: egress[0].to[0].domainNames[1]: \"b..io\" is no domain name", NULL},
	{"CNP: names without a name", CNP "egress = Accept to names()\n",
	 "t:5: egress[0].to[0].domainNames: must have one item at least", NULL},
	{"CNP: names in ingress", CNP "ingress = Accept from names(a.io)\n",
	 "t:5: ingress[0].from[0].domainNames: unknown field", NULL},
	{"NP: names", NP "egress = to names(a.io)\n", "t:2: egress: expected namespaces()", NULL},
	{"CNP: self", CNP "ingress = Accept from self\n", "t:5: ingress: expected namespaces()",
	 NULL},
	{"CNP: tier missing", "[cluster-network-policy p]\npriority = 7\nsubject = namespaces()\n",
	 "t:1: tier: is missing", NULL},
};

/* A node's section with a line of @length bytes, and after it one of the length @after. */
static struct read_result read_line(int length, int after)
{
	char text[600];
	struct read_result result;
	int n = snprintf(text, sizeof(text),
			 "[node n]\nip = 10.0.0.1 ;%0*d\n[namespace x]\n;%0*d\n", length - 15, 7,
			 after - 1, 7);

	read_text(READ_INI, text, n, &result);
	return result;
}

static void line_length(void **state)
{
	static const char all[] = "namespace x kubernetes.io/metadata.name=x\nnode n 10.0.0.1\n";
	struct read_result result;

	(void)state;
	for (int length = 190; length < 200; length++) {
		result = read_line(length, 389 - length);
		if (result.err)
			fail_msg("%d bytes: %s", length, result.messages);
		assert_string_equal(result.cluster, all);
		read_result_free(&result);
	}
	for (int length = 200; length < 203; length++) {
		result = read_line(length, 10);
		assert_int_equal(result.err, -EINVAL);
		assert_memory_equal(result.messages, "t:2: this line has 200 bytes or more", 36);
		read_result_free(&result);
		result = read_line(20, length);
		assert_int_equal(result.err, -EINVAL);
		assert_memory_equal(result.messages, "t:4: this line has 200 bytes or more", 36);
		read_result_free(&result);
	}
}

static void long_value(void **state)
{
	struct read_result result;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	fputs("[node n]\nip = 10.0.0.0\n", to);
	for (int i = 1; i < 100000; i++)
		fprintf(to, " , 10.%d.%d.%d\n", i >> 16, i >> 8 & 255, i & 255);
	fputs(" , 10.0.0.256\n", to);
	fclose(to);
	read_text(READ_INI, text, size, &result);
	free(text);
	assert_int_equal(result.err, -EINVAL);
	assert_string_equal(result.messages,
			    "t:100002: ip: \"10.0.0.256\" is no IPv4 or IPv6 address\n");
	read_result_free(&result);
}

static const char example_ini[] =
	"[namespace shop]\n"
	"labels = project=myproject, tenant=t1\n"
	"isolation = DefaultDeny\n"
	"[node worker-1]\n"
	"ip = 192.168.7.1\n"
	"[endpoint shop/db-0]\n"
	"node = worker-1\n"
	"ip = 10.1.0.5, fd00:1::5\n"
	"labels = role=db\n"
	"port = redis TCP/6379\n"
	"[network-policy shop/db]\n"
	"endpoints = role=db\n"
	"types = Ingress, Egress\n"
	"ingress = from endpoints(role=frontend), namespaces(project=myproject),\n"
	"  cidr(172.17.0.0/16 except 172.17.1.0/24) ports TCP/6379, UDP/7000-7010, redis\n"
	"egress = to cidr(10.0.0.0/24) ports TCP/5978\n"
	"[admin-network-policy guard]\n"
	"priority = 10\n"
	"subject = namespaces(kubernetes.io/metadata.name=sensitive)\n"
	"ingress = deny-others: Deny from namespaces()\n"
	"ingress = Pass from sameLabels(tenant)\n"
	"egress = Allow to endpoints(app=dns in "
	"namespaces(kubernetes.io/metadata.name=kube-system))"
	" ports UDP/53\n"
	"[baseline-admin-network-policy default]\n"
	"subject = namespaces()\n"
	"ingress = Deny from namespaces()\n";

static const char example_yaml[] =
	"apiVersion: policy.networking.k8s.io/v1alpha1\n"
	"kind: BaselineAdminNetworkPolicy\n"
	"metadata: {name: default}\n"
	"spec:\n"
	"  subject: {namespaces: {}}\n"
	"  ingress:\n"
	"  - action: Deny\n"
	"    from: [namespaces: {namespaceSelector: {}}]\n"
	"---\n"
	"apiVersion: policy.networking.k8s.io/v1alpha1\n"
	"kind: AdminNetworkPolicy\n"
	"metadata: {name: guard}\n"
	"spec:\n"
	"  priority: 10\n"
	"  subject: {namespaces: {matchLabels: {kubernetes.io/metadata.name: sensitive}}}\n"
	"  ingress:\n"
	"  - {name: deny-others, action: Deny, from: [namespaces: {}]}\n"
	"  - {action: Pass, from: [namespaces: {sameLabels: [tenant]}]}\n"
	"  egress:\n"
	"  - action: Allow\n"
	"    to:\n"
	"    - pods:\n"
	"        namespaces:\n"
	"          namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}\n"
	"        podSelector: {matchLabels: {app: dns}}\n"
	"    ports: [portNumber: {protocol: UDP, port: 53}]\n"
	"---\n"
	"apiVersion: v1\n"
	"kind: List\n"
	"items:\n"
	"- apiVersion: networking.k8s.io/v1\n"
	"  kind: NetworkPolicy\n"
	"  metadata: {name: db, namespace: shop}\n"
	"  spec:\n"
	"    podSelector: {matchExpressions: [{key: role, operator: In, values: [db]}]}\n"
	"    policyTypes: [Ingress, Egress]\n"
	"    ingress:\n"
	"    - from:\n"
	"      - podSelector: {matchLabels: {role: frontend}}\n"
	"      - namespaceSelector: {matchLabels: {project: myproject}}\n"
	"      - ipBlock: {cidr: 172.17.0.0/16, except: [172.17.1.0/24]}\n"
	"      ports:\n"
	"      - {port: 6379}\n"
	"      - {protocol: UDP, port: 7000, endPort: 7010}\n"
	"      - {port: redis}\n"
	"    egress:\n"
	"    - to: [ipBlock: {cidr: 10.0.0.0/24}]\n"
	"      ports: [{protocol: TCP, port: 5978}]\n"
	"- apiVersion: v1\n"
	"  kind: Pod\n"
	"  metadata: {name: db-0, namespace: shop, labels: {role: db}}\n"
	"  spec: {nodeName: worker-1, containers: [ports: [{name: redis, containerPort: 6379}]]}\n"
	"  status: {podIPs: [{ip: 10.1.0.5}, {ip: 'fd00:1::5'}]}\n"
	"- apiVersion: v1\n"
	"  kind: Node\n"
	"  metadata: {name: worker-1}\n"
	"  status: {addresses: [{type: InternalIP, address: 192.168.7.1}]}\n"
	"- apiVersion: v1\n"
	"  kind: Namespace\n"
	"  metadata:\n"
	"    name: shop\n"
	"    labels: {tenant: t1, project: myproject}\n"
	"    annotations:\n"
	"      net.beta.kubernetes.io/network-policy: "
	"'{\"ingress\":{\"isolation\":\"DefaultDeny\"}}'\n";

/* In another order, too. */
static void yaml_says_the_same(void **state)
{
	struct read_result ini, yaml;

	(void)state;
	read_text(READ_INI, example_ini, sizeof(example_ini) - 1, &ini);
	read_text(READ_YAML, example_yaml, sizeof(example_yaml) - 1, &yaml);
	assert_string_equal(ini.messages, "");
	assert_string_equal(yaml.messages, "");
	assert_non_null(ini.cluster);
	assert_non_null(yaml.cluster);
	assert_string_equal(ini.cluster, yaml.cluster);
	read_result_free(&ini);
	read_result_free(&yaml);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(line_length),
	cmocka_unit_test(long_value),
	cmocka_unit_test(yaml_says_the_same),
};

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_INI, NULL, objects),
		READ_TABLE(READ_INI, NULL, lines),
		READ_TABLE(READ_INI, NULL, network),
		READ_TABLE(READ_INI, NULL, admin),
	};
	int failed = read_tables_run("ini", tables, sizeof(tables) / sizeof(*tables));

	return failed + cmocka_run_group_tests_name("ini as a whole", tests, NULL, NULL);
}
