#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load of a cluster's dump with an object that the API server accepts and Bulkhead cannot use: the object is set
# aside with a warning, closed, and the rest is active. A file that a person has written, and a dump with
# --strict, is refused, and the active policy stays. Of several Pods of a dump with one address one gets it, as in
# the engine (compile/address_claims.h).
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web other
pod() { # NAME
	cat <<END
- {apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: $1, uid: pod-$1, labels: {role: $1}},
   spec: {nodeName: node-1}, status: {phase: Running, podIP: $(net_ip "$1"), podIPs: [{ip: $(net_ip "$1")}, {ip: '$(net_ip6 "$1")'}]}}
END
}
policy() { # NAME LABEL PEER UID
	cat <<END
- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: shop, name: $1$4},
   spec: {podSelector: {matchLabels: {role: $2}}, ingress: [{from: [{$3}]}]}}
END
}
dump() { # UID: of the policy that cannot be used
	printf 'apiVersion: v1\nkind: List\nitems:\n'
	pod db
	pod web
	pod other
	policy db db "podSelector: {matchLabels: {role: web}}" ", uid: policy-db"
	policy octal other "ipBlock: {cidr: 010.0.0.0/8}" "$1"
}
load() { # ARGUMENT...
	net_bulkhead load -n node-1 --uplink eth0 "$@"
}
dump ", uid: policy-octal" >"$NET_TMP/dump.yaml"
dump "" >"$NET_TMP/hand.yaml"

net_check "a dump with a policy that cannot be used loads with a warning" net_ends 0 \
	'dump.yaml:[0-9]*: spec.*cidr: warning: .*NetworkPolicy shop/octal is set aside' load "$NET_TMP/dump.yaml"
net_allowed web tcp "$(net_ip db)" 6379 "web reaches db"
net_denied other tcp "$(net_ip db)" 6379 "other does not reach db"
net_denied web tcp "$(net_ip other)" 6379 "web does not reach other, which the unusable policy selects"
net_denied web tcp "$(net_ip6 other)" 6379 "web does not reach other over IPv6"
net_allowed other tcp "$(net_ip web)" 6379 "other reaches web, since the policy names ingress only"

net_check "a file that a person has written is refused with file, line and field" net_ends 2 \
	'hand.yaml:[0-9]*: spec.*cidr: "010.0.0.0/8"' load "$NET_TMP/hand.yaml"
net_check "a dump is refused with --strict" net_ends 2 \
	'dump.yaml:[0-9]*: spec.*cidr: "010.0.0.0/8"' load --strict "$NET_TMP/dump.yaml"
net_allowed web tcp "$(net_ip db)" 6379 "web reaches db after the refusals"
net_denied other tcp "$(net_ip db)" 6379 "other does not reach db after the refusals"

# Pods that name addresses of others
claimant() { # NAME ROLE NODE DAY MORE ADDRESS...
	local ips
	ips=$(printf "{ip: '%s'}, " "${@:6}")
	cat <<END
- {apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: $1, UID labels: {role: $2}, creationTimestamp: '2026-01-${4}T00:00:00Z'},
   spec: {nodeName: $3$5}, status: {phase: Running, podIP: '$6', podIPs: [${ips%, }]}}
END
}
node() { # NAME ADDRESS...
	local addresses
	addresses=$(printf "{type: InternalIP, address: '%s'}, " "${@:2}")
	cat <<END
- {apiVersion: v1, kind: Node, metadata: {name: $1, uid: $1}, status: {addresses: [${addresses%, }]}}
END
}
contest() { # REPLACEMENT: of "UID "
	printf 'apiVersion: v1\nkind: List\nitems:\n'
	node node-1 "$(net_ip node)" "$(net_ip6 node)"
	node node-2 "$(net_ip out)" "$(net_ip6 out)"
	claimant thief free node-2 09 '' "$(net_ip db)" "$(net_ip6 db)" 10.9.0.1
	claimant forged web node-2 01 '' "$(net_ip out)" "$(net_ip6 out)"
	claimant other other node-1 01 '' "$(net_ip web)" "$(net_ip6 other)"
	claimant db db node-1 05 '' "$(net_ip db)" "$(net_ip6 db)"
	claimant web web node-1 05 '' "$(net_ip web)" "$(net_ip6 web)"
	claimant agent agent node-1 05 ', hostNetwork: true' "$(net_ip node)"
	claimant over free node-1 08 '' "$(net_ip web)" | sed 's/Running/Succeeded/'
	policy db db "podSelector: {matchLabels: {role: web}}" ", uid: policy-db"
}
contest | sed 's/name: \([a-z]*\), UID /name: \1, uid: pod-\1, /' >"$NET_TMP/contest.yaml"
contest | sed 's/UID //' >"$NET_TMP/hand-contest.yaml"
warned() { # PATTERN
	grep -qE "contest.yaml:[0-9]+: status.podIPs: warning: $1" "$NET_TMP/warnings"
}
net_bulkhead load -n node-1 --uplink eth0 "$NET_TMP/contest.yaml" 2>"$NET_TMP/warnings" >&2
net_check "a dump in which Pods name others' addresses loads" net_is "$?" 0
for ip in "$(net_ip db)" "$(net_ip6 db)"; do
	net_check "a warning names both Pods and $ip" warned "$ip belongs to Pod shop/db on node node-1 .*Pod shop/thief is left without it"
done
for ip in "$(net_ip out)" "$(net_ip6 out)"; do
	net_check "a warning names the Pod that claims a Node's $ip" warned \
		"$ip is an address of node node-2, and no Pod's; Pod shop/forged is left without it"
done
net_check "a newer Pod of the node goes before an older one" warned \
	"$(net_ip web) belongs to Pod shop/web .*Pod shop/other is left without it"
net_check "nobody else is warned of" net_is "$(grep -c 'is left without' "$NET_TMP/warnings")" 5
owner() { # ADDRESS: the Pods that have it
	net_bulkhead show endpoints "$NET_TMP/contest.yaml" 2>/dev/null | grep -w -- "$1" | grep -oE 'shop/[a-z]*'
}
net_check "the Pod keeps an address that nobody else names" net_is "$(owner 10.9.0.1)" shop/thief
net_allowed web tcp "$(net_ip db)" 6379 "web, which keeps its address, reaches db"
net_allowed web tcp "$(net_ip6 db)" 6379 "web reaches db over IPv6"
net_denied other tcp "$(net_ip db)" 6379 "other does not reach db, whose address a Pod without policy claims"
net_denied other tcp "$(net_ip6 db)" 6379 "other does not reach db over IPv6"
net_denied other tcp "$(net_ip web)" 6379 "other sends from no address that it has lost or does not name"
net_allowed other tcp "$(net_ip6 web)" 6379 "other sends from the address that it keeps"
net_denied out tcp "$(net_ip db)" 6379 "the Node whose address a Pod with web's labels claims does not reach db"
net_denied out tcp "$(net_ip6 db)" 6379 "the Node does not reach db over IPv6"
net_allowed out tcp "$(net_ip web)" 6379 "the Node reaches web, which no policy selects"

net_check "a file that a person has written is refused if two Pods have one address" net_ends 2 \
	'hand-contest.yaml:[0-9]*: shop/.* has the address .*, which is shop/.*.s too' load "$NET_TMP/hand-contest.yaml"
net_check "such a dump is refused with --strict" net_ends 2 \
	'contest.yaml:[0-9]*: status.podIPs: .* is an address of node node-2' load --strict "$NET_TMP/contest.yaml"
net_allowed web tcp "$(net_ip db)" 6379 "web reaches db after these refusals"
net_denied other tcp "$(net_ip6 db)" 6379 "other does not reach db after these refusals"
net_end
