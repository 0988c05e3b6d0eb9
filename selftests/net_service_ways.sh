#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The ways by which a Service is reached: NodePorts with and without masquerading, session affinity, a
# backend that is the caller itself, one that is the node, and the node's own loopback.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS="6379 7000"
service_start db bad web web2 shut locked wide
for number in 1:db 2:far 3:worse 4:web 8:bad 9:shut 12:node; do
	service_leads "${number%:*}" "${number#*:}" 6379 || exit 1
done
for pod in web shut; do
	service_loops $pod
done

# 20 and 21 remember their callers: the first one has the backend that policy allows, the second one the
# other. 22 leads to the node and to db by turns.
several() { # TABLE-OF-CALLERS CALLED FAMILY BACKEND... : rules, and a chain for each backend
	local set=$1 called=$2 family=$3 i=0 address type=ipv4_addr chains="" map=""
	[ "$family" = ip ] || type=ipv6_addr
	shift 3
	for address; do
		i=$((i + 1))
		echo "add set inet services $set-$i { type $type; flags dynamic,timeout; timeout 3h; }"
		echo "add chain inet services $set-$i"
		echo "add rule inet services $set-$i update @$set-$i { $family saddr }"
		echo "add rule inet services $set-$i meta l4proto {tcp, udp} dnat $family to $address"
		chains+=" $i"
		map+="${map:+, }$((i - 1)) : goto $set-$i"
	done
	for i in $chains; do
		echo "add rule inet services several $family daddr $called $family saddr @$set-$i goto $set-$i"
	done
	echo "add rule inet services several $family daddr $called numgen inc mod ${#chains} vmap { $map }"
}
{
	several sticky4 10.96.0.20 ip "$(service_ip db):6379" "$(service_ip bad):6379"
	several sticky6 fd96::20 ip6 "[$(service_ip6 db)]:6379" "[$(service_ip6 bad)]:6379"
	several far4 10.96.0.21 ip "$(service_ip far):6379" "$(service_ip worse):6379"
	several far6 fd96::21 ip6 "[$(service_ip6 far)]:6379" "[$(service_ip6 worse)]:6379"
} | sed 's/mod [0-9]*/mod 2/' >"$NET_TMP/several"
net_on node nft -f "$NET_TMP/several" || { cat "$NET_TMP/several"; exit 1; }
net_on node nft add rule inet services several meta l4proto '{tcp, udp}' ip daddr 10.96.0.22 \
	dnat ip to numgen inc mod 2 map "{ 0 : $(service_ip node), 1 : $(service_ip db) }:6379" || exit 1

# web, web2 and locked may call servers, and the last of them not the node; shut may call no pod; wide
# whatever is no pod, and db.
policy() {
	service_endpoints
	cat <<-EOF2
	[network-policy shop/callers]
	endpoints = role in (web, web2, locked)
	types = Egress
	egress = to endpoints(role in (db, far)) ports TCP/6379, UDP/6379
	[network-policy shop/shut]
	endpoints = role=shut
	types = Egress
	[network-policy shop/wide]
	endpoints = role=wide
	types = Egress
	egress = to cidr(0.0.0.0/0 except 10.244.0.0/16), cidr(::/0 except fd44::/16)
	egress = to endpoints(role=db)
	[network-policy shop/servers]
	endpoints = role in (db, bad)
	ingress = from endpoints(role in (web, web2, locked, shut, wide))
	ingress = from cidr(192.168.7.0/24), cidr(fd07::/64), cidr(172.17.0.0/24), cidr(fd17::/32)
	[admin-network-policy no-node]
	priority = 1
	subject = endpoints(role=locked in namespaces())
	egress = Deny to nodes()
	EOF2
	for number in 1:db 2:far 3:worse 4:web 8:bad 9:shut 12:node; do
		service_object "${number%:*}" "${number#*:}" 6379
	done
	service_object 20 db,bad 6379
	service_object 21 far,worse 6379
	service_object 22 node,db 6379
}
policy >"$NET_TMP/policy.ini"

# Prints how many of four calls are answered. All or none is expected.
answers() { # FROM ADDRESS PROTOCOL EXPECTED
	local n=0 wait=$NET_WAIT_ALLOWED
	[ "$4" -gt 0 ] || wait=$NET_WAIT_DENIED
	for _ in 1 2 3 4; do
		! net_ask "$1" "$3" "$2" 80 "$wait" || n=$((n + 1))
	done
	echo $n
}

# web calls first.
sticky() { # HOW ANSWERS-OF-THE-SECOND
	local number family protocol
	for number in 20 21; do
		for family in 4 6; do
			for protocol in tcp udp; do
				net_check "$1: the first $protocol caller reaches Service $number over IPv$family" \
					net_is "$(answers web "$(service_address $number $family)" $protocol 4)" 4
				net_check "$1: $2 of 4 $protocol calls of the second caller reach Service $number over IPv$family" \
					net_is "$(answers web2 "$(service_address $number $family)" $protocol "$2")" "$2"
			done
		done
	done
}

# Probes Services by their NodePorts, masqueraded or not.
ports() { # net_allowed|net_denied HOW FROM SERVICES [SOURCE4 SOURCE6]
	local family protocol first number source
	for family in 4 6; do
		source=$([ $family = 4 ] && echo "${5:-}" || echo "${6:-}")
		for protocol in tcp udp; do
			for first in 30000 31000; do
				for number in $4; do
					"$1" "$3" $protocol "$(service_node $family)" $((first + number)) \
						"$2: $3 ${source:+as $source }to $protocol NodePort $((first + number)) over IPv$family" \
						${source:+"$source"}
				done
			done
		done
	done
}

from_loopback() { # PORT: what a pod sends to the node's loopback address, which the node translates
	net_moved net_frame wide eth0 "$(net_mac wide)" 02:00:00:00:02:01 udp "$(net_ip wide)" 127.0.0.1 "$1"
}

for interface in all veth-wide; do
	net_on node sh -c "echo 1 >/proc/sys/net/ipv4/conf/$interface/route_localnet"
done
sticky "no policy" 4
service_allows "no policy" web 1 2 3 4 8 12
service_allows "no policy" shut 9 1
ports net_allowed "no policy" out "1 8" 172.17.1.9 fd17:1::9
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

sticky affinity 0

ports net_allowed NodePort out 1
ports net_allowed NodePort out 1 172.17.0.9 fd17::9
ports net_denied NodePort out 1 172.17.1.9 fd17:1::9
ports net_allowed NodePort web "1 2"
ports net_denied NodePort web "3 8"
ports net_denied NodePort shut "1 2"
ports net_allowed NodePort wide "1 12"
ports net_denied NodePort wide "2 8"

service_allows "a backend that is the caller" shut 9
service_denies "any other" shut 1
service_allows "a backend that is the caller" web 4
service_denies "another caller's" web 9
ports net_allowed "a backend that is the caller" shut 9

service_allows "a backend that is the node" web 12
ports net_allowed "a backend that is the node" web 12
service_denies "a backend that is the node" locked 12
ports net_denied "a backend that is the node" locked 12
service_allows "a backend that is a pod" locked 1 2
for protocol in tcp udp; do
	net_check "a Service of the node and a pod by turns answers $protocol" \
		net_is "$(answers web 10.96.0.22 $protocol 4)" 4
	net_check "that Service is closed as a whole to a pod that is denied the node, $protocol" \
		net_is "$(answers locked 10.96.0.22 $protocol 0)" 0
done

for protocol in tcp udp; do
	net_allowed node $protocol 127.0.0.1 30001 "the node reaches a NodePort by its loopback address, $protocol"
done
net_check "a pod's frame to the node's loopback address and an allowed backend passes" net_is \
	"$(from_loopback 30001 | grep '^drop')" ""
net_check "a pod's frame to the node's loopback address and a denied backend is dropped" net_is \
	"$(from_loopback 30008 | grep '^drop')" "drop 1 denied by the source's policy"

# Another uplink of the node comes up.
net_link node eth1 02:00:00:00:07:03 out eth1 02:00:00:00:07:04
for name in far worse; do
	net_neighbour node eth1 02:00:00:00:07:04 "$(service_ip $name)" "$(service_ip6 $name)"
	ip -n "$NET-node" route add "$(service_ip $name)" dev eth1
	ip -n "$NET-node" -6 route add "$(service_ip6 $name)" dev eth1
done
net_check "status has the interface that came up after the load" grep -q \
	"NOT GUARDED: interface eth1, which has come up since the last load" \
	<(net_bulkhead status --check)
net_check "load with that interface" net_bulkhead load "$NET_TMP/policy.ini"
service_allows "a new way out" web 2
service_denies "a new way out" web 3

net_check "unload" net_bulkhead unload
net_end
