#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A link with a small MTU beyond the node: its ICMP errors reach the pod, which then sends smaller packets;
# an ICMP error about no connection is dropped.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)
far4=192.168.8.2 far6=fd08::2
uplink=(eth0 02:00:00:00:07:02 02:00:00:00:07:01) # from the outside host to the node

# The outside host routes to `far`. Only the outside host's end of that link has a small MTU, so that
# neither end of a connection knows it.
far_host() {
	net_host far
	net_link out eth1 02:00:00:00:08:01 far eth0 02:00:00:00:08:02
	ip -n "$NET-out" addr add 192.168.8.1/24 dev eth1
	ip -n "$NET-out" addr add fd08::1/64 dev eth1 nodad
	ip -n "$NET-far" addr add $far4/24 dev eth0
	ip -n "$NET-far" addr add $far6/64 dev eth0 nodad
	net_neighbour out eth1 02:00:00:00:08:02 $far4 $far6
	net_neighbour far eth0 02:00:00:00:08:01 192.168.8.1 fd08::1
	ip -n "$NET-far" route add default via 192.168.8.1
	ip -n "$NET-far" -6 route add default via fd08::1
	ip -n "$NET-out" link set eth1 mtu 1280
}

# Prints the path MTU that a pod has learnt, or nothing.
learnt() { # POD ADDRESS
	ip -n "$NET-$1" route get "$2" | grep -o 'mtu [0-9]*'
}

forget() { # POD
	ip -n "$NET-$1" route flush cache
	ip -n "$NET-$1" -6 route flush cache
}

count() { # REASON: how many packets it has counted
	net_counters | sed -n "s/^[a-z]* \([0-9]*\) $1$/\1/p"
}

cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web eth0)
[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
egress = to cidr(192.168.8.0/24), cidr(fd08::/64) ports TCP/7000, UDP/7000
EOF

far_host
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

related="ICMP error about a live connection" unrelated="ICMP error about no connection"
for ends in "192.168.7.2 $db4 $far4 1252" "fd07::2 $db6 $far6 1232"; do
	read -r router db far size <<<"$ends"
	forget db
	net_check "$far gets a megabyte over TCP" net_pair db far tcp "$far" 7000 1000000
	net_check "$far gets nothing at a denied port" \
		net_is "$(WAIT=$NET_WAIT_DENIED net_pair db far tcp "$far" 7001 1; echo $?)" 1
	net_check "$far: the sender has learnt the path MTU" net_is "$(learnt db "$far")" "mtu 1280"
	net_check "$far: ICMP errors about the connection passed" test "$(count "$related")" -gt 0
	forget db
	net_check "$far: the learnt path MTU is deleted" net_is "$(learnt db "$far")" ""
	net_check "$far: an unfragmented datagram gets as large as the path MTU allows" \
		net_is "$(net_pair db far df "$far" 7000 1400)" $size
	net_check "$far: the sender has learnt the path MTU again" net_is "$(learnt db "$far")" "mtu 1280"

	net_check "$far: an ICMP error about no connection is dropped" net_is \
		"$(net_moved net_frame out "${uplink[@]}" too-big "$router" "$db" "$far" 7002)" \
		"drop 1 $unrelated"
	net_check "$far: an ICMP error about another pod's connection is dropped" net_is \
		"$(net_moved net_frame out "${uplink[@]}" too-big "$router" \
			"$([[ $db == *:* ]] && net_ip6 web || net_ip web)" "$far" 7000)" \
		"drop 1 $unrelated"
done
forget web
net_check "a pod without policy sends a megabyte" net_pair web far tcp $far4 7001 1000000
net_check "the pod without policy has learnt the path MTU" net_is "$(learnt web $far4)" "mtu 1280"

net_end
