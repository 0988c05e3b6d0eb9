#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Forged TCP segments: a RST outside its receiver's window does not shorten the life of an idle connection,
# and other SYNs for the ports of a slow handshake displace nothing of the true one's.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
far4=198.51.100.1 far6=2001:db8::1 node=02:00:00:00:07:01 out=02:00:00:00:07:02 host=02:00:00:00:02:01
# The other SYNs come within so many ms, before the answer to web's own, which comes between two of its copies.
DELAY=${BULKHEAD_SMALL:+2}2500
NEXT=12345679 # the number of far's next byte, behind its SYN-ACK of helpers/slow.c
{
	net_db_and_web eth0
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Ingress, Egress
	egress = ports TCP/1000-2000
	EOF2
} >"$NET_TMP/policy.ini"
net_nobody out $far4 $far6
net_server out "$NET_TMP/quick" "$NET_HELPERS/slow" eth0 1000 0
net_server out "$NET_TMP/late" "$NET_HELPERS/slow" eth0 2000 "$DELAY"

# Opens a connection of web's, and keeps it. $port is web's port of it.
port=40000
begin() { # ADDRESS PORT
	port=$((port + 1))
	net_on web sysctl -qw net.ipv4.ip_local_port_range="$port $port" || return
	nsenter --net="/run/netns/$NET-web" bash -c "exec 3<>/dev/tcp/$1/$2 && sleep 1000" &
	NET_SERVERS+=($!)
}
connection_is() { # STATE: of the connection from $port, which it may enter a moment later
	local i
	for ((i = 0; i < 600; i++)); do
		[ -z "$(net_on web ss -Htn state "$1" sport = ":$port")" ] || return 0
		sleep 0.1
	done
	net_on web ss -tan
	return 1
}
opens() { # ADDRESS PORT
	begin "$@" && connection_is established
}
segment() { # SOURCE FLAGS NUMBER: to web, as by far
	local to
	to=$(net_ip web)
	[[ $1 != *:* ]] || to=$(net_ip6 web)
	net_frame out -s 1000 eth0 $out $node tcp "$1" "$to" "$port" "$2" "$3"
}
unknown() { # ADDRESS: how many of far's segments are dropped as of no connection
	net_moved segment "$1" 10 $NEXT | grep -c '^drop 1 TCP segment of no connection$'
}
contested() { # ADDRESS: SYNs for the ports of a handshake, with another number, until it is over
	local from i
	from=$(net_ip web)
	[[ $1 != *:* ]] || from=$(net_ip6 web)
	for ((i = 0; i < 300; i++)); do
		net_frame web -s "$port" eth0 "$(net_mac web)" $host tcp "$from" "$1" 2000 2 13572468 || return
		[ -n "$(net_on web ss -Htn state syn-sent sport = ":$port")" ] || return 0
	done
	return 1
}

net_check "load with a short life after a RST" net_bulkhead load --set timeout-tcp-reset=1 \
	"$NET_TMP/policy.ini"
for far in $far4 $far6; do
	for number in 92345679 12345677 1245567a; do
		net_check "web's connection to $far opens" opens $far 1000
		net_check "a RST of far's with the wrong number $number is sent" segment $far 4 $number
		sleep 3
		net_check "the connection lives after it" net_is "$(unknown $far)" 0
	done
	net_check "another of web's connections to $far opens" opens $far 1000
	net_check "a RST of far's with the right number is sent" segment $far 4 $NEXT
	sleep 3
	net_check "the connection has ended after it" net_is "$(unknown $far)" 1
done
for far in $far4 $far6; do
	net_check "web's SYN to $far goes out" eval "begin $far 2000 && connection_is syn-sent"
	net_check "other SYNs for its ports hold up no handshake with $far" contested $far
	net_check "web's slow handshake with $far completes" connection_is established
	net_check "a slow handshake with $far completes without other SYNs" opens $far 2000
	net_denied web tcp "$far" 80 "web opens no other port of $far"
done

net_end
