#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The CNI plugin behind each of Debian's reference plugins: bridge, routed or not, tuning, which changes the
# MAC, portmap, bandwidth and firewall. Allowed traffic works at once, over IPv4 and IPv6, denied traffic
# does not, and nothing is left behind.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cat >"$NET_TMP/policy.ini" <<EOF
[bulkhead]
node = worker-1
[endpoint shop/db]
labels = role=db
[endpoint shop/web]
labels = role=web
[endpoint shop/other]
labels = role=other
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports TCP/80
EOF
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

# Skips where the chain fails without our plugin: the kernel lacks a feature that a plugin needs.
chain() { # NAME SUBNET-NUMBER PLUGIN MEMBERS-OF-BRIDGE
	local name=$1 n=$2 db db6 pod
	cni_conf plain "$(cni_bridge "br-p$n" "$4" "10.7$n.0.0/24" "fd7$n::/64")" ${3:+"$3"}
	cni_pod probe
	if ! cni plain ADD probe; then
		net_result ok "$name # SKIP $(tail -n 1 "$NET_TMP/cni.out")"
		cni plain DEL probe
		ip netns del "$NET-probe"
		return
	fi
	cni plain DEL probe
	ip netns del "$NET-probe"
	cni_conf "chain$n" "$(cni_bridge "br$n" "$4" "10.6$n.0.0/24" "fd6$n::/64")" ${3:+"$3"} "$(cni_own)"
	for pod in db web other; do
		cni_pod $pod
	done
	net_check "$name: ADD" cni_named shop/db "chain$n" ADD db
	db=$(cni_address) db6=$(cni_address 1)
	net_check "$name: ADD of a second pod" cni_named shop/web "chain$n" ADD web
	net_check "$name: ADD of a third pod" cni_named shop/other "chain$n" ADD other
	net_serve db
	net_allowed web tcp "$db" 80 "$name: web reaches db at an allowed port"
	net_denied web tcp "$db" 443 "$name: web does not reach db at a denied port"
	net_denied other tcp "$db" 80 "$name: a denied pod does not reach db"
	net_allowed web tcp "$db6" 80 "$name: web reaches db over IPv6"
	net_denied other tcp "$db6" 80 "$name: a denied pod does not reach db over IPv6"
	if [ "$n" -ne 2 ]; then
		net_allowed node tcp "$db" 80 "$name: the node reaches db"
	fi
	kill "${NET_SERVERS[-1]}"
	rm "$NET_TMP/db.ready"
	for pod in db web other; do
		net_check "$name: DEL" cni "chain$n" DEL $pod
		ip netns del "$NET-$pod"
	done
	net_check "$name: no endpoint is left" net_is "$(net_bulkhead endpoint list)" ""
}

gateway='"isGateway": true,'
chain "bridge, routed" 1 '' "$gateway"
chain "bridge alone" 2 '' ''
chain "tuning" 3 '{"type": "tuning", "sysctl": {"net.core.somaxconn": "100"}, "mtu": 1400, "promisc": true}' "$gateway"
chain "portmap" 4 '{"type": "portmap", "capabilities": {"portMappings": true},
	"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}}' "$gateway"
# Before TCX, the ingress qdisc by which the bandwidth plugin limits a pod's traffic takes the place of our clsact.
if [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" = 6.6 ]; then
	chain "bandwidth" 5 '{"type": "bandwidth", "ingressRate": 100000000, "ingressBurst": 100000000,
		"egressRate": 100000000, "egressBurst": 100000000}' "$gateway"
else
	chain "bandwidth" 5 '{"type": "bandwidth", "ingressRate": 100000000, "ingressBurst": 100000000}' "$gateway"
	cni_conf both "$(cni_bridge br-both "$gateway" 10.81.0.0/24)" \
		'{"type": "bandwidth", "egressRate": 100000000, "egressBurst": 100000000}' "$(cni_own)"
	cni_pod db
	net_check "bandwidth of what a pod sends: ADD fails" eval '! cni_named shop/db both ADD db'
	net_check "the message says that the interface cannot be guarded" grep -q "cannot guard" "$NET_TMP/cni.out"
	net_check "DEL after the failed ADD" cni both DEL db
	ip netns del "$NET-db"
fi
chain "firewall" 6 '{"type": "firewall"}' "$gateway"

# A MAC that changes before ours is called is the pod's.
cni_conf mac "$(cni_bridge br-mac "$gateway" 10.80.0.0/24)" \
	'{"type": "tuning", "mac": "02:00:00:00:99:01"}' "$(cni_own)"
cni_pod db
cni_pod web
net_check "ADD of a pod whose MAC tuning changes" cni_named shop/web mac ADD web
cni_conf mac "$(cni_bridge br-mac "$gateway" 10.80.0.0/24)" "$(cni_own)"
net_check "ADD of a pod whose MAC nobody changes" cni_named shop/db mac ADD db
db=$(cni_address)
net_serve db
net_allowed web tcp "$db" 80 "the pod sends with its new MAC"
ip -n "$NET-web" link set eth0 address 02:00:00:00:99:02
net_denied web tcp "$db" 80 "the pod sends with no other MAC"
net_end
