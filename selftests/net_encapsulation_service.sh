#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# VXLAN of a pod that a Service, a NodePort or another node's address leads to a node's tunnel: the packet within,
# in a remote pod's name, reaches nobody. The Services' backends are known to no policy.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS="53 80"
service_start db bad
net_bridge shut
net_bridge_routes
inside=02:00:00:00:08:01 gateway=02:00:00:00:02:01 remote=10.244.9.9 remote6=fd44:9::9
bad4=$(net_ip bad) bad6=$(net_ip6 bad) db4=$(net_ip db) db6=$(net_ip6 db) out4=$(net_ip out) out6=$(net_ip6 out)
far4=$(service_ip far) far6=$(service_ip6 far)

# Every node has a tunnel at each IP version. Services 1 and 4 lead to this node's, 2 and 5 to the other's; 3 to
# this node's DNS.
vxlan() { # HOST
	# shellcheck disable=SC2016
	net_on "$1" sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >"$f"; done'
	ip -n "$NET-$1" link add vxlan4 address $inside type vxlan id 7 dstport 4789 dev eth0 &&
		ip -n "$NET-$1" link add vxlan6 address $inside type vxlan id 8 dstport 4789 local "$(net_ip6 "$1")" dev eth0 &&
		ip -n "$NET-$1" link set vxlan4 up && ip -n "$NET-$1" link set vxlan6 up
}
for host in node out; do
	vxlan $host || net_skip "the kernel has no VXLAN"
done
service_leads 1 node 4789
service_leads 2 out 4789
service_leads 3 node 53

policy() {
	service_endpoints "service-cidr = 10.96.0.0/16, fd96::/64"
	net_bridged shut 1
	net_endpoint_at remote worker-2 "$remote, $remote6"
	cat <<-EOF
	[node worker-2]
	ip = $out4, $out6
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=remote) ports UDP/80
	EOF
}
policy >"$NET_TMP/range.ini"
{
	policy
	service_objects
} >"$NET_TMP/told.ini"

heard() { # HOST: datagrams that came, to whatever port; those that a tunnel takes are among them
	net_on "$1" awk '
		/^Udp: [0-9]/ { n += $2 + $3 }
		/^Udp6(InDatagrams|NoPorts) / { n += $2 }
		END { print n }' /proc/net/snmp /proc/net/snmp6
}
hears() { # NUMBER HOST COMMAND...
	local before tries=0
	before=$(heard "$2")
	"${@:3}"
	while [ $(($(heard "$2") - before)) -lt "$1" ] && [ $((tries++)) -lt 200 ]; do
		sleep 0.05
	done
	[ "$1" != 0 ] || sleep 0.3
	net_is $(($(heard "$2") - before)) "$1"
}
source=1024
within() { # 4|6 ADDRESS PORT INNER-DESTINATION: VXLAN of bad, a new connection each time
	local own=$bad4 vni=7 from=$remote
	[ "$1" = 4 ] || own=$bad6 vni=8 from=$remote6
	source=$((source + 1))
	net_frame bad -s $source eth0 "$(net_mac bad)" $gateway tunnel "$own" "$2" "vxlan:$3:$vni:$inside" "$from" "$4" 80
}
bridged() { # 4|6 ADDRESS PORT INNER-DESTINATION [IPV6-SOURCE]
	local own=10.50.0.1 vni=7 from=$remote
	[ "$1" = 4 ] || own=${5:-fd50::1} vni=8 from=$remote6
	source=$((source + 1))
	net_frame shut -s $source eth0 02:00:00:00:04:01 02:00:00:00:05:01 \
		tunnel "$own" "$2" "vxlan:$3:$vni:$inside" "$from" "$4" 80
}
# A tunnel counts a datagram, and the receiver within it another.
attacks() { # NAME HOW-MANY-PASS
	local family db far out node
	for family in 4 6; do
		db=$db4 far=$far4 out=$out4 node=$(service_node $family)
		[ $family = 4 ] || db=$db6 far=$far6 out=$out6
		net_check "$1: by a Service to this node's tunnel, IPv$family: $2" hears "$2" db \
			within $family "$(service_address 1 $family)" 80 "$db"
		net_check "$1: by a Service to this node's tunnel from a bridge, IPv$family: $2" hears "$2" db \
			bridged $family "$(service_address 1 $family)" 80 "$db"
		net_check "$1: by a NodePort to this node's tunnel, IPv$family: $2" hears "$2" db \
			within $family "$node" 31001 "$db"
		net_check "$1: to another node, IPv$family: $2" hears $((2 * $2)) out within $family "$out" 4789 "$far"
		net_check "$1: by a Service to another node, IPv$family: $2" hears $((2 * $2)) out \
			within $family "$(service_address 2 $family)" 80 "$far"
		net_check "$1: by a masqueraded NodePort to another node, IPv$family: $2" hears $((2 * $2)) out \
			within $family "$node" 30002 "$far"
		net_check "$1: by a Service to another node from a bridge, IPv$family: $2" hears $((2 * $2)) out \
			bridged $family "$(service_address 2 $family)" 80 "$far"
	done
	net_check "$1: by a Service to this node's tunnel from a link-local address: $2" \
		hears "$2" db bridged 6 "$(service_address 1 6)" 80 "$db6" fe80::ff:fe00:401
}
outside() { # 4|6 DESTINATION: another node's own VXLAN
	local own=$out4 node vni=7 from=$remote
	node=$(service_node "$1")
	[ "$1" = 4 ] || own=$out6 vni=8 from=$remote6
	net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 tunnel "$own" "$node" "vxlan:4789:$vni:$inside" "$from" "$2" 80
}
works() { # NAME
	net_check "$1: another node's VXLAN reaches db" hears 1 db outside 4 "$db4"
	net_check "$1: another node's VXLAN reaches db over IPv6" hears 1 db outside 6 "$db6"
	net_allowed bad udp "$(service_address 3 4)" 80 "$1: a Service leads to the node's DNS"
	net_allowed bad udp "$(service_address 3 6)" 80 "$1: a Service leads to the node's DNS over IPv6"
	net_allowed bad udp "$out4" 53 "$1: a pod reaches another port of another node"
	net_allowed bad udp "$out6" 53 "$1: a pod reaches another port of another node over IPv6"
}
attacks "no policy" 1
works "no policy"
for input in range told; do
	net_check "$input: load" net_bulkhead load --force "$NET_TMP/$input.ini"
	attacks "$input" 0
	works "$input"
done
tunnelled="drop 1 encapsulated, from an endpoint to a node"
net_check "a packet to another node has a drop reason of its own" net_moves "$tunnelled" within 4 "$out4" 4789 "$far4"
within_by_service() {
	net_moved within 4 "$(service_address "$1" 4)" 80 "$db4" | grep -c "$tunnelled"
}
net_check "that reason counts a packet at this node's tunnel" net_is "$(within_by_service 1)" 1
net_check "that reason counts a packet to another node by a Service" net_is "$(within_by_service 2)" 1
net_check "a node that is gone counts as any other host" net_bulkhead load --force <(grep -v "^ip = $out4, $out6" "$NET_TMP/range.ini" | grep -v 'node worker-2')
net_check "VXLAN to a host that is no node any more passes" hears 2 out within 4 "$out4" 4789 "$far4"
net_check "unload" net_bulkhead unload
attacks "unloaded" 1
net_check "load that allows encapsulation" net_bulkhead load --set encapsulation=1 "$NET_TMP/range.ini"
attacks "encapsulation=1" 1
net_end
