#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# NodePorts as kube-proxy makes them: the node masquerades the client, and policy evaluates the client's own
# address, which the kernel's conntrack knows. Packets from outside with the node's address are dropped at
# the uplink. By XDP and, beside another XDP program, by TC.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "needs nftables"
NET_PORTS="80 443"
net_start db web
foreign=$NET_HELPERS/foreign
db4=$(net_ip db) db6=$(net_ip6 db) web4=$(net_ip web) web6=$(net_ip6 web)
node4=$(net_ip node) node6=$(net_ip6 node)

# 30080 and 30443 lead to db, 31080 and 31443 to web, for TCP and UDP.
net_on node nft -f - <<EOF2
table inet test {
	chain before {
		type nat hook prerouting priority dstnat
		ip daddr $node4 meta l4proto {tcp, udp} th dport 30080 dnat ip to $db4:80
		ip daddr $node4 meta l4proto {tcp, udp} th dport 30443 dnat ip to $db4:443
		ip daddr $node4 meta l4proto {tcp, udp} th dport 31080 dnat ip to $web4:80
		ip daddr $node4 meta l4proto {tcp, udp} th dport 31443 dnat ip to $web4:443
		ip6 daddr $node6 meta l4proto {tcp, udp} th dport 30080 dnat ip6 to [$db6]:80
		ip6 daddr $node6 meta l4proto {tcp, udp} th dport 30443 dnat ip6 to [$db6]:443
		ip6 daddr $node6 meta l4proto {tcp, udp} th dport 31080 dnat ip6 to [$web6]:80
		ip6 daddr $node6 meta l4proto {tcp, udp} th dport 31443 dnat ip6 to [$web6]:443
	}
	chain after {
		type nat hook postrouting priority srcnat
		ct status dnat masquerade
	}
}
EOF2

# db admits the node at port 80; web admits the outside host, but not the node, at port 80.
cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_endpoint db "mac = $(net_mac db)")
$(net_endpoint web "mac = $(net_mac web)")
[network-policy shop/db]
endpoints = role=db
ingress = from cidr($node4/32), cidr($node6/128) ports TCP/80, UDP/80
[network-policy shop/web]
endpoints = role=web
ingress = from cidr(192.168.7.0/24 except $node4/32), cidr(fd07::/64 except $node6/128)
	ports TCP/80, UDP/80
EOF

# Sends a frame from outside through the uplink and prints which counters moved.
frame() { # KIND SOURCE DESTINATION PORT
	net_moved net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 "$@"
}

ports() { # HOW
	local protocol node db web
	for node in "$node4 $db4 $web4" "$node6 $db6 $web6"; do
		read -r node db web <<<"$node"
		for protocol in tcp udp; do
			net_allowed out $protocol "$node" 31080 \
				"$1: outside to $node, $protocol, a pod that admits outside"
			net_denied out $protocol "$node" 31443 "$1: outside does not reach another port of it"
			net_denied out $protocol "$node" 30080 "$1: outside does not reach a pod that admits the node only"
			net_allowed out $protocol "$web" 80 "$1: outside reaches the first pod without a NodePort"
			net_denied out $protocol "$db" 80 "$1: outside does not reach the second pod without a NodePort"
		done
		net_allowed node tcp "$db" 443 "$1: the node's own connections reach the pod"
		net_check "$1: a packet from outside with the node's address is dropped" net_is \
			"$(frame udp "$node" "$db" 80)" \
			"drop 1 claims an address of this node or its endpoints"
		net_check "$1: a packet from outside with a pod's address is dropped" net_is \
			"$(frame udp "$db" "$node" 80)" \
			"drop 1 claims an address of this node or its endpoints"
		net_check "$1: a denied SYN is dropped at the uplink" net_is \
			"$(frame syn 172.17.0.9 "$web4" 80)" "drop 1 denied by the destination's policy"
	done
}

net_allowed out tcp "$node4" 30443 "before load the ports are open"
net_allowed out udp "$node6" 31443 "before load the ports are open over IPv6"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
ports XDP
net_check "unload" net_bulkhead unload

net_on node "$foreign" xdp-pass eth0
net_bulkhead load "$NET_TMP/policy.ini" 2>"$NET_TMP/told" >/dev/null
net_check "beside another XDP program, load says that TC does its work" \
	grep -q "eth0 has an XDP program that libxdp does not manage: it stays, and a TC program" \
	"$NET_TMP/told"
net_check "status says that TC guards the uplink" bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD status --pin $NET_PIN |
	grep -q 'eth0.*uplink, xdp taken by another program, tc ingress'"
ports TC
net_check "the same load again writes nothing" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load -v --pin $NET_PIN \
		$NET_TMP/policy.ini 2>/dev/null | grep -qx '0 map writes'"
net_check "unload beside the other XDP program" net_bulkhead unload
net_allowed out tcp "$node4" 30443 "after unload the ports are open"

net_end
