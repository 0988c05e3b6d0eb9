#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Audit by namespace, with kubectl's YAML: packets that policy denies pass and are reported in a namespace
# that has the annotation or that `load --audit-namespace` names; in other namespaces they are dropped.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db cache web
by_ingress="denied by the destination's policy"

# shop/db and lab/cache have equal policies: both deny TCP 443 from and to everyone.
world() { # AUDIT-OF-SHOP
	cat <<-EOF2
	apiVersion: v1
	kind: Node
	metadata: {name: worker-1}
	status: {addresses: [{type: InternalIP, address: $(net_ip node)}, {type: InternalIP, address: "$(net_ip6 node)"}]}
	EOF2
	for pod in shop/db lab/cache web/web; do
		cat <<-EOF2
		---
		apiVersion: v1
		kind: Namespace
		metadata:
		  name: ${pod%/*}
		  annotations: {bulkhead.dev/audit: "$([ "$pod" = shop/db ] && echo "$1" || echo false)"}
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: ${pod#*/}, namespace: ${pod%/*}}
		spec: {nodeName: worker-1}
		status:
		  podIPs: [{ip: $(net_ip "${pod#*/}")}, {ip: "$(net_ip6 "${pod#*/}")"}]
		EOF2
		[ "$pod" = web/web ] || cat <<-EOF2
		---
		apiVersion: networking.k8s.io/v1
		kind: NetworkPolicy
		metadata: {name: in, namespace: ${pod%/*}}
		spec:
		  podSelector: {}
		  policyTypes: [Ingress, Egress]
		  ingress: [{ports: [{port: 80}, {port: 80, protocol: UDP}]}]
		EOF2
	done
}
world true >"$NET_TMP/annotated.yaml"
world false >"$NET_TMP/plain.yaml"

# Each probe is denied at the source and at the destination, over IPv4 and IPv6, in both namespaces.
shop_is_audited() {
	for version in "" 6; do
		db=$("net_ip$version" db) cache=$("net_ip$version" cache) web=$("net_ip$version" web)
		net_allowed web tcp "$db" 80 "$1: what policy allows reaches the audited pod"
		net_allowed web tcp "$db" 443 "$1: what policy denies reaches the audited pod"
		net_allowed db tcp "$web" 80 "$1: the audited pod sends what policy denies"
		net_allowed web tcp "$cache" 80 "$1: what policy allows reaches the other pod"
		net_denied web tcp "$cache" 443 "$1: what policy denies does not reach the other pod"
		net_denied cache tcp "$web" 80 "$1: the other pod does not send what policy denies"
	done
	net_check "$1: a would-be drop is counted as audited" \
		net_moves "audit 2 $by_ingress" net_datagram web "$(net_ip db)" 9
	net_check "$1: a packet to the other pod is counted as dropped" net_moves "drop 1 $by_ingress" net_datagram web "$(net_ip cache)" 9
	net_check "$1: status has the audited interface" \
		net_is "$(net_bulkhead status | grep 'audited only' | awk '{ print $1 }')" veth-db
}

nobody_is_audited() {
	for version in "" 6; do
		net_denied web tcp "$("net_ip$version" db)" 443 "$1: what policy denies does not reach the pod"
		net_allowed web tcp "$("net_ip$version" db)" 80 "$1: what policy allows reaches the pod"
	done
	net_check "$1: no interface is audited" net_is "$(net_bulkhead status | grep -c 'audited only')" 0
}

net_check "load with the annotation" net_bulkhead load -n worker-1 "$NET_TMP/annotated.yaml"
shop_is_audited annotation
audits() { # the events of a probe
	net_watch "$NET_TMP/events" -j
	net_datagram web "$(net_ip db)" 9
	net_datagram web "$(net_ip cache)" 9
	net_printed "$NET_TMP/events"
	grep -F '"verdict":"audit"' "$NET_TMP/events" | grep -F '"shop/db"' &&
		grep -F '"verdict":"drop"' "$NET_TMP/events" | grep -F '"lab/cache"' &&
		! grep -F '"verdict":"drop"' "$NET_TMP/events" | grep -F '"shop/db"'
}
net_check "the audited pod's event is an audit, the other's a drop" audits
net_check "load without the annotation" net_bulkhead load "$NET_TMP/plain.yaml"
nobody_is_audited "without the annotation"

net_check "load --audit-namespace" net_bulkhead load --audit-namespace shop "$NET_TMP/plain.yaml"
shop_is_audited option
net_check "the same load again writes nothing" net_is \
	"$(net_bulkhead load -v --audit-namespace shop "$NET_TMP/plain.yaml" | tail -n 1)" "0 map writes"
net_check "load without --audit-namespace" net_bulkhead load "$NET_TMP/plain.yaml"
nobody_is_audited "without the option"

"$BULKHEAD" compile -o "$NET_TMP/plain.bhp" "$NET_TMP/plain.yaml" >/dev/null
net_check "load a compiled file with two --audit-namespace" net_bulkhead load --audit-namespace shop \
	--audit-namespace lab "$NET_TMP/plain.bhp"
net_allowed web tcp "$(net_ip db)" 443 "what policy denies reaches the first namespace"
net_allowed web tcp "$(net_ip6 cache)" 443 "what policy denies reaches the second namespace over IPv6"
net_check "the same load of the file again writes nothing" net_is "$(net_bulkhead load -v --audit-namespace lab \
	--audit-namespace shop "$NET_TMP/plain.bhp" | tail -n 1)" "0 map writes"
net_check "load the compiled file without options" net_bulkhead load "$NET_TMP/plain.bhp"
nobody_is_audited "the file as it is"

refused() { # PATTERN ARGUMENT...
	net_ends 2 "$1" net_bulkhead load "${@:2}"
}
net_check "an unknown namespace is refused, and the nearest is named" \
	refused 'no such namespace; did you mean `shop`' --audit-namespace shpo "$NET_TMP/plain.yaml"
net_check "an unknown namespace of a compiled file is refused" \
	refused 'no such namespace; did you mean `shop`' --audit-namespace shpo "$NET_TMP/plain.bhp"
world yes >"$NET_TMP/bad.yaml"
net_check "an annotation that is neither true nor false is refused by its line" \
	refused 'bad.yaml:[0-9]*: metadata.annotations.*audit.*: is "yes", neither "true" nor "false"' \
	"$NET_TMP/bad.yaml"
nobody_is_audited "after what was refused"

net_end
