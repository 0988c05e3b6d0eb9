#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whom a packet comes from behind the masquerading of the real kube-proxy. A pod that is isolated in both directions
# does not talk with an outside host by the entry that a dropped call to its NodePort left; a pod that may call nobody
# does not ride the entry of a pod that had its port before; a denied caller of a NodePort does not ride an allowed
# caller's. The policies come and go under what conntrack has.
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
INITIATOR_NODE=worker-1 INITIATOR_NODE_MAC=02:00:00:00:07:11
# shellcheck source=selftests/lib/initiator.sh
. "$(dirname "$0")/lib/initiator.sh"
command -v nft conntrack >/dev/null || net_skip "needs nftables and conntrack"

cluster_pods() {
	cat <<-EOF
	shop db worker-1 "role": "db"
	shop web worker-1 "role": "web"
	shop shut worker-1 "role": "shut"
	shop far worker-2 "role": "far"
	EOF
}
cluster_services() {
	cat <<-EOF
	shop db   80 8080 30001 db   type: NodePort,
	shop web  80 8080 30002 web  type: NodePort,
	shop far  80 8080 30007 far  type: NodePort,
	EOF
}
# db and shut are isolated. web may call far, and admits the pod shut and one block of addresses outside.
policies() {
	cat <<-EOF
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: isolated, namespace: shop},
	 spec: {podSelector: {matchExpressions: [{key: role, operator: In, values: [db, shut]}]},
	  policyTypes: [Ingress, Egress]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: web}}, policyTypes: [Ingress, Egress],
	  ingress: [{from: [{ipBlock: {cidr: 172.17.0.0/24}}, {ipBlock: {cidr: "fd17:0::/64"}}]}],
	  egress: [{to: [{podSelector: {matchLabels: {role: far}}}]}]}}
	EOF
}

# An older iptables has no fully random masquerading: a caller keeps its port if nobody has it, so that callers
# are behind one port of the node after each other.
older_iptables() {
	local name real
	mkdir "$NET_TMP/bin"
	for name in iptables ip6tables; do
		real=$(command -v $name) || return
		printf '#!/bin/sh\n[ "$1" != --version ] || { echo "%s v1.6.1"; exit; }\nexec %s "$@"\n' $name "$real" \
			>"$NET_TMP/bin/$name"
	done
	chmod +x "$NET_TMP/bin"/*
	PATH=$NET_TMP/bin:$PATH
}
outside_addresses() {
	local who
	for who in allowed denied; do
		ip -n "$NET-out" addr add "$(initiator_outside $who 4)/32" dev lo &&
			ip -n "$NET-out" addr add "$(initiator_outside $who 6)/128" dev lo nodad || return
	done
}
at() { # HOST 4|6
	net_ip"${2#4}" "$1"
}
is_kept() { # the node keeps a caller's port
	! net_on worker-1 iptables-save -t nat | grep -q random-fully
}

# An isolated pod sends to its node what is the reply to a call that was dropped.
replies() { # 4|6
	local protocol kind flags to db
	to=$(at worker-1 "$1") db=$(at db "$1")
	for protocol in udp tcp; do
		kind=$protocol flags=
		[ $protocol = udp ] || flags="2 100"
		initiator_forget
		# shellcheck disable=SC2086
		net_check "IPv$1: a call of outside to the isolated pod's NodePort drops, by $protocol" net_is "$(initiator_arrives db \
			$protocol 8080 initiator_from out 6100 $kind "$(initiator_outside allowed "$1")" "$to" 30001 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: what the isolated pod sends to its node is no reply to outside, by $protocol" net_is \
			"$(initiator_arrives out $protocol 6100 initiator_from db 8080 $kind "$db" "$to" 6100 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: a call of another isolated pod drops, by $protocol" net_is "$(initiator_arrives db $protocol \
			8080 initiator_from shut 6200 $kind "$(at shut "$1")" "$to" 30001 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: what the isolated pod sends to its node is no reply to that pod, by $protocol" net_is \
			"$(initiator_arrives shut $protocol 6200 initiator_from db 8080 $kind "$db" "$to" 6200 $flags)" 0
	done
}

calls() { # POD PROTOCOL ADDRESS WAIT: far, by its NodePort
	net_on "$1" "$NET_HELPERS/backend" ask "$2" "$3" 30007 "$4" 1 | grep -q '^far'
}

# Another pod calls from the port that a pod with more rights had before.
leaves() { # 4|6
	local protocol to
	to=$(at worker-1 "$1")
	initiator_binds web 5000
	initiator_binds shut 5000
	for protocol in udp tcp; do
		initiator_forget
		net_check "IPv$1: web reaches far by $protocol and a NodePort" calls web $protocol "$to" "$NET_WAIT_ALLOWED"
		initiator_forget
		net_check "IPv$1: the isolated pod does not, by $protocol from the same port" eval \
			"! calls shut $protocol $to $NET_WAIT_DENIED"
	done
	initiator_forget
	net_check "IPv$1: web reaches far from this port again" calls web udp "$to" "$NET_WAIT_ALLOWED"
	initiator_binds web "32768 60999"
	initiator_binds shut "32768 60999"
}

# Without policy each of these packets arrives, so what drops below is dropped by policy.
passes_without() { # 4|6
	local to db
	to=$(at worker-1 "$1") db=$(at db "$1")
	initiator_forget
	net_check "IPv$1: without policy a call of outside to db's NodePort arrives" net_is "$(initiator_arrives db udp 8080 \
		initiator_from out 6110 udp "$(initiator_outside allowed "$1")" "$to" 30001)" 1
	net_check "IPv$1: without policy db's reply to outside arrives" net_is "$(initiator_arrives out udp 6110 \
		initiator_from db 8080 udp "$db" "$to" 6110)" 1
	net_check "IPv$1: without policy shut reaches far by a NodePort" calls shut tcp "$to" "$NET_WAIT_ALLOWED"
}

older_iptables || net_skip "needs iptables"
cluster_start
net_check "the outside host has other addresses" outside_addresses
net_check "the node keeps a caller's port" is_kept
net_check "the hosts count" initiator_count out db web shut
net_check "both nodes load what the API has" cluster_load
for family in 4 6; do
	passes_without $family
done
cluster_apply "the API takes the policies" policies
net_check "both nodes load the policies" cluster_load
for family in 4 6; do
	replies $family
	leaves $family
	initiator_rides $family "$(at worker-1 $family)" "$(at web $family)" 8080
done
net_end
