#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What an honest, busy pod may do, and what a flood costs its clients. The table is so small that the exchanges
# fill it several times, as 20,000 connections a second do in ten minutes with the usual table. Floods come from
# addresses that nobody has, and fill the table before the clients begin. With BULKHEAD_FULL=1, 120,000 exchanges each, and the usual table: a client has 28,000
# ports, and a port of UDP that is used again within 180 s is in use, so no new connection replaces its entry.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

ROOM=32768 BUSY=12000 IDLE=100 PODS=8 RATE=250000 MORE=100
[ -z "${BULKHEAD_SMALL:-}" ] || ROOM=4096 BUSY=1600 IDLE=20 RATE=1500 MORE=5
[ -z "${BULKHEAD_FULL:-}" ] || ROOM=262144 BUSY=120000 IDLE=500 PODS=100
NET_PORTS="80 90"
others=()
for ((i = 1; i <= PODS; i++)); do others+=("n$i"); done
net_start db web "${others[@]}"
db4=$(net_ip db) db6=$(net_ip6 db) out=02:00:00:00:07:02 node=02:00:00:00:07:01 host=02:00:00:00:02:01
net_nobody out 198.18.0.0/15 2001:2::/48
net_on node ethtool -K eth0 gro on # the flood comes by XDP, which needs a peer that polls

policy() { # PORT: that db opens beside its first ones
	net_db_and_web eth0
	local i
	for i in "${others[@]}"; do
		net_endpoint "$i"
		# isolated, by a policy of its own
		printf '%s\n' "[network-policy shop/$i]" "endpoints = role=$i" "types = Egress"
	done
	# db sends nothing of its own: its answers pass by its clients' connections only
	printf '%s\n' "[network-policy shop/db]" "endpoints = role=db" "types = Ingress, Egress" \
		"ingress = from any ports TCP/80, UDP/80, UDP/9, TCP/5001-5008, TCP/$1"
}
policy 90 >"$NET_TMP/policy.ini"
policy 91 >"$NET_TMP/later.ini"

share() { # POD FIELD
	net_bulkhead status -j | tr '{' '\n' |
		sed -n "s/.*\"name\":\"veth-$1\".*\"$2\":\([0-9]*\).*/\1/p" | grep . || echo 0
}
# Each exchange has an answer, and Bulkhead has refused none of them a place meanwhile.
serves() { # FROM tcp|udp ADDRESS
	local answered late rate
	dropped >"$NET_TMP/dropped"
	read -r answered late rate < <(net_on "$1" "$NET_HELPERS/busy" "$2" "$3" 80 $BUSY 8)
	echo "# $1, $2: $answered of $BUSY answered, $late of them late, $rate a second"
	[ "$answered" = $BUSY ] && diff "$NET_TMP/dropped" <(dropped)
}
dropped() { # prints the drops for want of a place
	net_bulkhead metrics | grep '^bulkhead_packets_total.*"drop",reason="share"'
}
# Opens IDLE connections from a host outside and from a pod, IPv4 and IPv6, by four ports from FIRST on.
FIRST=5001
hold() {
	local held from to n=0
	for held in "out $db4" "out $db6" "web $db4" "web $db6"; do
		read -r from to <<<"$held"
		net_check "$IDLE connections from $from to $to" net_hold "$from" db "$to" $((FIRST + n)) $IDLE
		n=$((n + 1))
	done
}
alive() { # WHEN
	local port
	for ((port = FIRST; port < FIRST + 4; port++)); do
		net_check "$1: $IDLE idle connections to port $port are alive" net_is "$(net_alive $port)" $IDLE
	done
}

# Waits until connections to db make place for others: the table has no more room for the flood. An emulated machine's
# flood is too slow for that.
filled() {
	local i before
	[ -z "${BULKHEAD_SMALL:-}" ] && [ -e "$NET_PIN/config" ] || return 0
	before=$(share db replaced)
	for ((i = 0; i < 60; i++)); do
		[ "$(share db replaced)" = "$before" ] || return 0
		sleep 0.5
	done
	echo "a flood has not filled the table" | tee -a "$NET_TMP/unfilled"
}
# Runs COMMAND while frames of spoofed sources come in, RATE a second or as many as the machine has time for.
flooded() { # syn|udp SOURCE DESTINATION PORT COMMAND...
	local flooder sent rate
	net_server out "$NET_TMP/flood" "$NET_HELPERS/flood" eth0 $out $node "${@:1:4}" $RATE
	flooder=$!
	filled
	"${@:5}"
	kill $flooder
	wait $flooder
	read -r sent rate < <(tail -n 1 "$NET_TMP/flood")
	echo "# amid $sent frames, $rate a second, $1 to $3"
	echo "$1 $sent" >>"$NET_TMP/floods"
}
# 20 new clients, one after another, at each distance. Prints how many are served to FILE.
distant() { # FILE SOURCE ADDRESS
	local delay served first
	for delay in 1 50 150; do
		read -r served first < <(net_on out "$NET_HELPERS/distant" eth0 $out $node "$2" "$3" 80 $delay 20)
		echo "# $delay ms away: $served of 20 served, $first of them by their first SYN"
		echo "$served" >>"$1"
	done
}
# 20 new clients of UDP ask three times at most, as resolvers do: the queue of a veth may be full of the flood.
# Prints to FILE how many have an answer.
asks() { # FILE ADDRESS
	local i try n=0 first=0
	for ((i = 0; i < 20; i++)); do
		for try in 1 2 3; do
			net_ask out udp "$2" 80 3000 || continue
			n=$((n + 1)) first=$((first + (try == 1)))
			break
		done
	done
	echo "# $n of 20 answered, $first of them at their first question"
	echo $n >"$1"
}
# Clients outside, each kind amid a flood of its own. What is served is in the files WHEN.*.
clients() { # WHEN
	echo "# clients amid floods, $1 Bulkhead"
	local kind
	for kind in syn4 syn6 udp4 udp6; do
		clients_of $kind "$1"
	done
}
clients_of() { # FLOOD WHEN
	case $1 in
	syn4) flooded syn 198.18.0.0 "$db4" 80 distant "$NET_TMP/$2.$1" 198.19.0.0 "$db4" ;;
	syn6) flooded syn 2001:2:: "$db6" 80 distant "$NET_TMP/$2.$1" 2001:2:0:1:: "$db6" ;;
	# to an open port without a server, whose own queue would overflow
	udp4) flooded udp 198.18.0.0 "$db4" 9 asks "$NET_TMP/$2.$1" "$db4" ;;
	udp6) flooded udp 2001:2:: "$db6" 9 asks "$NET_TMP/$2.$1" "$db6" ;;
	esac
}
# Each flood had MORE times the frames of its clients: three from each of 60 of TCP, one from each of 20 of UDP.
overwhelmed() {
	awk -v more=$MORE '$2 < more * ($1 == "syn" ? 180 : 20) { bad = 1 } END { exit bad || NR != 8 }' "$NET_TMP/floods"
}
# No fewer clients than without Bulkhead were served.
served() { # FLOOD
	paste "$NET_TMP/without.$1" "$NET_TMP/with.$1" | awk '{ print } NF != 2 || $2 < $1 || !$2 { bad = 1 } END { exit bad || !NR }'
}

clients without
net_check "load" net_bulkhead load --set connections=$ROOM "$NET_TMP/policy.ini"
hold

for protocol in tcp udp; do
	for address in "$db4" "$db6"; do
		net_check "clients outside are served by db, $protocol to $address" serves out $protocol "$address"
		net_check "a pod calls db, $protocol to $address" serves web $protocol "$address"
	done
done
[ -n "${BULKHEAD_FULL:-}" ] || net_check "old connections have made place" test "$(share db replaced)" -gt 0
alive "after busy minutes"
net_check "status --check finds the counts right" eval '! net_bulkhead status --check | grep counts'

echo "# floods from outside, with the table that this machine's memory gives"
net_check "unload" net_bulkhead unload
net_check "load without a setting" net_bulkhead load "$NET_TMP/policy.ini"
FIRST=5005
hold

before=$(share db refused)
clients with
for kind in syn4 syn6 udp4 udp6; do
	net_check "$kind: as many new clients as without Bulkhead are served" served $kind
done
net_check "each flood sent far more than the clients beside it" overwhelmed
net_check "each flood had filled the table before the clients came" test ! -e "$NET_TMP/unfilled"
net_check "no packet of the floods was refused a place" net_is "$(share db refused)" "$before"
alive "after the floods"

echo "# floods of many pods"
many() {
	local i pids=()
	for i in "${others[@]}"; do
		net_frame "$i" -n 6000 -p eth0 "$(net_mac "$i")" $host udp "$(net_ip "$i")" "$(net_ip node)" 9 &
		pids+=($!)
	done
	wait "${pids[@]}"
}
net_check "$PODS isolated pods flood their own node" many
net_allowed web tcp "$db4" 80 "a pod connects beside them"
net_allowed out tcp "$db6" 80 "a host outside connects beside them"
net_allowed node tcp "$db4" 80 "the node connects beside them"
for i in n1 "n$PODS"; do
	net_allowed "$i" udp "$(net_ip node)" 80 "$i, which floods, reaches its node"
done
alive "after them"

echo "# ports that are used again"
again() { # SOURCE ADDRESS
	net_is "$(net_on out "$NET_HELPERS/distant" eth0 $out $node "$1" "$2" 80 1 1)" "1 1"
}
net_check "a client outside connects, IPv4" again 198.19.1.1 "$db4"
net_check "a client outside connects, IPv6" again 2001:2:0:2::1 "$db6"
net_check "the policy changes" net_bulkhead load "$NET_TMP/later.ini"
net_check "that client connects from the same port at once, IPv4" again 198.19.1.1 "$db4"
net_check "that client connects from the same port at once, IPv6" again 2001:2:0:2::1 "$db6"

net_end
