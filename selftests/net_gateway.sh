#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pod that is the gateway of clients (`allow-source`), and a pod of the same node: both are isolated. The
# gateway's policy evaluates its clients at its own hook, the other pod's policy evaluates them by their address.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 81 82"
net_start db vpn
IDLE=3
client4=10.9.0.1 client6=fd99::1
ip -n "$NET-vpn" addr add $client4 dev lo
ip -n "$NET-vpn" addr add $client6 dev lo
net_ips node <<-EOF
route add $client4 dev veth-vpn
route add $client6 dev veth-vpn
$(net_neighbours veth-vpn "$(net_mac vpn)" $client4 $client6)
EOF
# The gateway sends to db from its clients' addresses.
net_ips vpn <<-EOF
route add $(net_ip db) via 169.254.1.1 dev eth0 onlink src $client4
route add $(net_ip6 db) via fe80::1 dev eth0 onlink src $client6
EOF

policy() { # DB-LETS-IN GATEWAY-LETS-OUT [DB-LETS-OUT GATEWAY-LETS-IN]
	net_head "uplink = eth0"
	net_node_object
	net_endpoint db "mac = $(net_mac db)"
	net_endpoint vpn "mac = $(net_mac vpn)" "allow-source = 10.9.0.0/16, fd99::/64"
	cat <<-EOF
	[network-policy shop/db]
	endpoints = role=db
	types = Ingress, Egress
	ingress = from cidr(10.9.0.0/16), cidr(fd99::/64) ports $1
	${3:+egress = to cidr(10.9.0.0/16), cidr(fd99::/64) ports $3}
	[network-policy shop/vpn]
	endpoints = role=vpn
	types = Ingress, Egress
	egress = to endpoints(role=db) ports $2
	${4:+ingress = from endpoints(role=db) ports $4}
	EOF
}
all="TCP/80-82, UDP/80-82, TCP/5001-5004"
policy "TCP/80, UDP/80, TCP/82, UDP/82, TCP/5001-5004, SCTP/80" "TCP/80-81, UDP/80-81, TCP/5001-5004, SCTP/80-81" \
	"TCP/80-81, UDP/80-81" "TCP/80, UDP/80, TCP/82, UDP/82" >"$NET_TMP/first.ini"
policy "TCP/80, UDP/80, TCP/5001-5004" "TCP/80-82, UDP/80-82, TCP/5001-5004" >"$NET_TMP/other.ini"
policy "$all" "TCP/81" >"$NET_TMP/gateway.ini"
policy "TCP/81, UDP/81" "$all" >"$NET_TMP/db.ini"

forged() { # HOST SOURCE-MAC GATEWAY-MAC VERSION [PROTOCOL PORT]: a datagram from the client's address and port to db
	local client=$client4 db
	db=$(net_ip db)
	[ "$4" = 4 ] || client=$client6 db=$(net_ip6 db)
	net_frame "$1" eth0 "$2" "$3" "${5:-udp}" $client "$db" "${6:-80}"
}
# The answers to such a datagram, and the errors about these, move other counters.
counts() { # COUNTER COMMAND...
	net_moved "${@:2}" | grep -Fx "$1"
}
asks() { # allowed|denied NAME PORT [FROM ADDRESS ADDRESS]: by TCP and UDP, over IPv4 and IPv6
	local address protocol
	for address in "${5:-$(net_ip db)}" "${6:-$(net_ip6 db)}"; do
		for protocol in tcp udp; do
			"net_$1" "${4:-vpn}" $protocol "$address" "$3" "$2, $protocol to $address"
		done
	done
}
hold() { # PORT, and the next one
	net_check "$IDLE connections of clients over IPv4" net_hold vpn db "$(net_ip db)" "$1" $IDLE
	net_check "$IDLE connections of clients over IPv6" net_hold vpn db "$(net_ip6 db)" $(($1 + 1)) $IDLE
}
alive() { # PORT COUNT NAME
	net_check "$3, IPv4" net_is "$(net_alive "$1")" "$2"
	net_check "$3, IPv6" net_is "$(net_alive $(($1 + 1)))" "$2"
}

asks allowed "before load, a client reaches every port" 82
asks allowed "before load, db reaches a client" 82 db $client4 $client6
net_check "load" net_bulkhead load "$NET_TMP/first.ini"
asks allowed "both policies allow" 80
asks denied "db's policy denies" 81
asks denied "the gateway's policy denies" 82
asks allowed "both policies let db call a client" 80 db $client4 $client6
asks denied "the gateway's policy denies db's call" 81 db $client4 $client6
asks denied "db's policy denies its call of a client" 82 db $client4 $client6
# Nobody tells whether the node has put the source of SCTP there: a client's is its own.
for version in 4 6; do
	net_check "a client's SCTP passes, IPv$version" counts "pass 1 opens a connection that policy allows" \
		forged vpn "$(net_mac vpn)" 02:00:00:00:02:01 $version sctp 80
	net_check "a client's SCTP to another port is denied by db's policy, IPv$version" \
		counts "drop 1 denied by the destination's policy" \
		forged vpn "$(net_mac vpn)" 02:00:00:00:02:01 $version sctp 81
done
hold 5001

echo "# changes of policy"
net_check "load other ports" net_bulkhead load "$NET_TMP/other.ini"
alive 5001 $IDLE "what both allow as before goes on"
asks allowed "both policies still allow" 80
asks denied "db's policy denies another port" 82
for version in 4 6; do
	net_check "a client's datagram passes, IPv$version" counts "pass 1 opens a connection that policy allows" \
		forged vpn "$(net_mac vpn)" 02:00:00:00:02:01 $version
done
net_check "the gateway's policy lets nothing of this out" net_bulkhead load "$NET_TMP/gateway.ini"
asks denied "the gateway's policy denies by now" 80
for version in 4 6; do
	net_check "the client's next datagram is denied, IPv$version" counts "drop 1 denied by the source's policy" \
		forged vpn "$(net_mac vpn)" 02:00:00:00:02:01 $version
	# Such a host is no client of the gateway, so the gateway's policy has no say.
	net_check "a host outside with the client's address and port has a verdict of its own, IPv$version" counts \
		"pass 1 opens a connection that policy allows" forged out 02:00:00:00:07:02 02:00:00:00:07:01 $version
done
alive 5001 0 "the gateway's policy ends open connections"

echo "# db's policy ends them, too"
net_check "load the first policy" net_bulkhead load "$NET_TMP/first.ini"
hold 5003
net_check "db's policy lets nothing of this in" net_bulkhead load "$NET_TMP/db.ini"
alive 5003 0 "db's policy ends open connections"
asks denied "db's policy denies by now" 80
asks allowed "both policies allow another port" 81
net_end
