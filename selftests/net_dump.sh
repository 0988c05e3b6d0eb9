#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load of a cluster's dump with an object that the API server accepts and Bulkhead cannot use: the object is set
# aside with a warning, closed, and the rest is active. A file that a person has written, and a dump with
# --strict, is refused, and the active policy stays.
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
net_end
