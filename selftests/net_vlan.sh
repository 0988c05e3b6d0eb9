#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Frames with one and two VLAN tags, from an endpoint, to one and from the uplink: the packets in them are
# evaluated as packets without tags.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
net_start db web
gateway=02:00:00:00:02:01
db_mac=$(net_mac db) web_mac=$(net_mac web)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_endpoint db "mac = $db_mac")
$(net_endpoint web "mac = $web_mac")
[network-policy shop/db]
endpoints = role=db
ingress = from cidr(0.0.0.0/0), cidr(::/0) ports UDP/7000
[network-policy shop/web]
endpoints = role=web
types = Egress
egress = to cidr(0.0.0.0/0), cidr(::/0) ports UDP/7000
EOF
net_nobody out 172.18.0.1 fd18::1
net_nobody db 172.18.0.1 fd18::1
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

expect() { # COUNTERS NAME HOST FRAME-ARGUMENT...
	net_check "$2" net_moves "$1" net_frame "${@:3}"
}

new="pass 1 opens a connection that policy allows"
known="pass 1 of an allowed connection"
for version in 4 6; do
	address=net_ip outside=172.18.0.1
	[ $version = 4 ] || address=net_ip6 outside=fd18::1
	db=$($address db) web=$($address web)
	wanted=$new
	for tags in "" "-t 5" "-t 6 -t 7"; do
		echo "# IPv$version, ${tags:-no tag}"
		# shellcheck disable=SC2206
		from_web=(web $tags eth0 "$web_mac" $gateway)
		# shellcheck disable=SC2206
		to_db=(node $tags veth-db $gateway "$db_mac")
		# shellcheck disable=SC2206
		uplink=(out $tags eth0 02:00:00:00:07:02 02:00:00:00:07:01)
		expect "$wanted" "from an endpoint, allowed" "${from_web[@]}" udp "$web" $outside 7000
		expect "drop 1 denied by the source's policy" "denied" \
			"${from_web[@]}" udp "$web" $outside 7001
		expect "drop 1 source address that is not the endpoint's" "spoofed" \
			"${from_web[@]}" udp "$db" $outside 7000
		expect "$wanted" "to an endpoint, allowed" "${to_db[@]}" udp $outside "$db" 7000
		expect "drop 1 denied by the destination's policy" "denied" \
			"${to_db[@]}" udp $outside "$db" 7001
		expect "drop 1 claims an address of this node or its endpoints" \
			"from the uplink, spoofed" "${uplink[@]}" udp "$web" "$db" 7000
		expect "drop 1 denied by the destination's policy" "a SYN that is denied" \
			"${uplink[@]}" syn $outside "$db" 7001
		wanted=$known # the VLAN tags do not matter: it is one connection
	done
done
expect "drop 1 more than two VLAN tags" "three tags" \
	node -t 1 -t 2 -t 3 veth-db $gateway "$db_mac" udp 192.168.7.2 "$(net_ip db)" 7000

net_end
