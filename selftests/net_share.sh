#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pod that floods hurts only itself: whatever it sends to its node, or receives from outside at its ports,
# the connections of others live on, idle or not, slow handshakes complete, and `monitor` reports each of
# their drops; the pod's own entries make place for each other. FLOOD packets at a time, for BULKHEAD_SECONDS. With
# BULKHEAD_FULL=1 the table has a node's size, 500 connections are idle meanwhile, and each flood takes a
# minute.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

ROOM=4096 LIVE=200 FLOOD=12000
[ -z "${BULKHEAD_FULL:-}" ] || ROOM=262144 LIVE=125 FLOOD=120000 BULKHEAD_SECONDS=60
# In an emulated machine a packet takes twenty times as long.
[ -z "${BULKHEAD_SMALL:-}" ] || ROOM=4096 LIVE=50 FLOOD=6000 BULKHEAD_SECONDS=0
NET_PORTS="80 443"
net_start db web noisy loud quiet
db4=$(net_ip db) db6=$(net_ip6 db) far4=198.51.100.1 far6=2001:db8::1
host=02:00:00:00:02:01 out=02:00:00:00:07:02 node=02:00:00:00:07:01

{
	net_db_and_web eth0
	for pod in noisy loud quiet; do
		net_endpoint $pod
		printf '%s\n' "[network-policy shop/$pod]" "endpoints = role=$pod" "types = Egress"
	done
	printf '%s\n' "[network-policy shop/db]" "endpoints = role=db" \
		"ingress = ports TCP/80, TCP/5001-5004"
} >"$NET_TMP/policy.ini"
net_nobody out $far4 $far6 198.18.0.0/15 2001:2::/48

all_alive() { # WHEN
	for port in 5001 5002 5003 5004; do
		net_check "$1: the connections to port $port are alive" net_is "$(net_alive $port)" "$LIVE"
	done
}
late() { # ADDRESS PORT: how many of eight handshakes come to an end
	local i
	for i in 1 2 3 4 5 6 7 8; do
		net_on web timeout ${BULKHEAD_SMALL:+3}6 bash -c "exec 3<>/dev/tcp/$1/$2" 2>/dev/null && echo "$i" &
	done | wc -l
	wait
}
slowly() { # DELAY
	net_server out "$NET_TMP/$1.ready" "$NET_HELPERS/slow" eth0 "$1" "$1"
}
replaced() { # POD: how many of its connections made place for another one
	net_bulkhead status -j | tr '{' '\n' |
		sed -n "s/.*\"name\":\"veth-$1\".*\"replaced\":\([0-9]*\).*/\1/p" | grep . || echo 0
}

# quiet's datagrams to db are denied. Each goes to a port of its own, by which its event is told.
DENIED=10 sent=0
denied() { # sends DENIED over IPv4 and over IPv6
	net_on quiet bash -c "for ((port = 7000 + $sent; port < 7000 + $sent + $DENIED; port++)); do
		echo -n '?' >/dev/udp/$db4/\$port && echo -n '?' >/dev/udp/$db6/\$port && sleep 0.1 || exit
	done" && sent=$((sent + DENIED))
}
# The events of a minute's flood are hundreds of megabytes: only those of quiet's own packets are kept.
watch_quiet() {
	local hold
	# shellcheck disable=SC2034 # keeps the pipe open
	mkfifo "$NET_TMP/events" && exec {hold}<>"$NET_TMP/events" || return
	grep --line-buffered '"source":{"name":"shop/quiet"' <"$NET_TMP/events" >"$NET_TMP/quiet" &
	NET_SERVERS+=($!)
	net_watch "$NET_TMP/events" -j
}
reported() { # how many of quiet's drops were reported by now, each counted once
	grep -F '"verdict":"drop"' "$NET_TMP/quiet" | grep -oE '"destination":\{[^}]*\}' | sort -u | wc -l
}
all_reported() {
	local i
	for ((i = 0; i < ${BULKHEAD_SMALL:+6}200; i++)); do
		[ "$(reported)" -lt $((2 * sent)) ] || return 0
		sleep 0.1
	done
	echo "$(reported) of $((2 * sent))"
	return 1
}

# While COMMAND floods, makes eight handshakes with either delay, and quiet sends what is denied.
flood() { # NAME COMMAND...
	local name=$1 flooder began=$SECONDS left
	shift
	{ RANDOM=${BULKHEAD_SEED:-1}; while :; do "$@" $((RANDOM % 4000 + 1)) || break; done; } >/dev/null 2>&1 &
	flooder=$!
	# An emulated machine has one processor, which monitor needs as well.
	[ -z "${BULKHEAD_SMALL:-}" ] || renice -n 19 -p "$flooder" >/dev/null
	sleep 0.5
	for delay in 150 400; do
		for address in $far4 $far6; do
			net_check "$name: web's handshakes with $address, $delay ms away, complete" \
				net_is "$(late $address $delay)" 8
			net_check "$name: quiet sends what policy denies" denied
		done
	done
	left=$((began + ${BULKHEAD_SECONDS:-0} - SECONDS))
	[ $left -le 0 ] || sleep $left
	echo "# $name, $((SECONDS - began)) seconds: $(net_bulkhead status | grep ' replaced' | tr '\n' ';')"
	kill $flooder 2>/dev/null
	wait $flooder 2>/dev/null
	all_alive "$name"
	net_check "$name: monitor has reported each drop of quiet's" all_reported
}
twice() { # PORT: each of FLOOD flows of UDP to the node, two packets
	net_frame noisy -n "$FLOOD" -p eth0 "$(net_mac noisy)" $host udp "$(net_ip noisy)" "$(net_ip node)" "$1"
	net_frame noisy -n "$FLOOD" -p eth0 "$(net_mac noisy)" $host udp "$(net_ip6 noisy)" "$(net_ip6 node)" "$1"
}
refusals() { # both pods' datagrams, which policy denies
	net_frame loud -n "$FLOOD" -p eth0 "$(net_mac loud)" $host udp "$(net_ip6 loud)" "$db6" 9 &
	net_frame noisy -n "$FLOOD" -p eth0 "$(net_mac noisy)" $host udp "$(net_ip noisy)" "$db4" 9
	wait $!
}
syns() { # to the node, each from another port
	net_frame noisy -n "$FLOOD" -p eth0 "$(net_mac noisy)" $host syn "$(net_ip noisy)" "$(net_ip node)" 80
}
outside() { # SYNs to a port that db has open
	net_frame out -n "$FLOOD" eth0 $out $node syn 198.18.0.0 "$db4" 80
	net_frame out -n "$FLOOD" eth0 $out $node syn 2001:2:: "$db6" 80
}

net_check "load" net_bulkhead load --set connections=$ROOM "$NET_TMP/policy.ini"
holders() { # the keys of the shares of holders (BH_SHARE_IS_HOLDER)
	bpftool map dump pinned "$NET_PIN/shares" -j | grep -oE '"key":[0-9]+' | cut -d: -f2 | awk '$1 >= 2 ^ 31' | sort
}
net_allowed web tcp "$(net_ip out)" 80 "web connects"
surplus() { # the sum of the holders' surplus
	bpftool map dump pinned "$NET_PIN/shares" -j | grep -oE '"key":[0-9]+,"value":\{"count":[0-9]+' | tr -c '0-9\n' ' ' |
		while read -r key count; do [ "$key" -lt $((1 << 31)) ] || echo $((count & 0xffffffff)); done | sort -u | xargs
}
until_swept() { # the first sweep computes the floor, and no connection is surplus
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(surplus)" = 0 ] && return
		sleep 0.1
	done
	surplus
	return 1
}
held=$(holders)
net_check "the namespace has a holder's share" test -n "$held"
net_check "one connection is no surplus" until_swept
{
	cat "$NET_TMP/policy.ini"
	printf '%s\n' "[network-policy shop/again]" "endpoints = role=db" "ingress = ports TCP/80"
} >"$NET_TMP/again.ini"
net_check "load another policy" net_bulkhead load --set connections=$ROOM "$NET_TMP/again.ini"
net_check "after a load the holder has its share" net_is "$(holders)" "$held"
holder_of() { # POD: the key of the holder of its share
	local number
	number=$(net_on node ip -o link show "veth-$1" | cut -d: -f1)
	bpftool map dump pinned "$NET_PIN/shares" -j | grep -oE "\"key\":$number,\"value\":\{[^}]*" | grep -oE '"holder":[0-9]+' | cut -d: -f2
}
holds() { # POD yes|no: waits until the namespace shop is the holder of its share, or another one is
	local i is
	for ((i = 0; i < 600; i++)); do
		is=no
		[ "$(holder_of "$1")" != "$held" ] || is=yes
		[ $is != "$2" ] || return 0
		sleep 0.1
	done
	return 1
}
sed 's,^\[endpoint shop/web\],[endpoint other/web],' "$NET_TMP/policy.ini" >"$NET_TMP/moved.ini"
net_check "load with web in another namespace" net_bulkhead load --set connections=$ROOM "$NET_TMP/moved.ini"
net_check "web counts for its new namespace" holds web no
net_check "load with web where it was" net_bulkhead load --set connections=$ROOM "$NET_TMP/policy.ini"
net_check "web counts for its namespace again" holds web yes
slowly 150
slowly 400
for connections in "web $db4 5001" "web $db6 5002" "out $db4 5003" "out $db6 5004"; do
	read -r from to port <<<"$connections"
	net_check "$LIVE connections from $from to $to" net_hold "$from" db "$to" "$port" "$LIVE"
done
net_check "without a flood web's handshakes complete" net_is "$(late $far4 400)" 8

net_check "monitor starts" watch_quiet
net_check "without a flood quiet sends what policy denies" denied
net_check "without a flood monitor reports each drop of quiet's" all_reported

flood "denied datagrams of two pods" refusals
flood "UDP to the own node" twice
net_check "a pod that floods its node still reaches it" net_ask noisy udp "$(net_ip node)" 80 $NET_WAIT_ALLOWED
net_check "status names the endpoint that holds most" eval 'net_bulkhead status | grep -q "^  veth-noisy .*replaced"'
before=$(replaced noisy)
flood "SYNs to the own node" syns
net_check "connections of noisy beyond its share replace noisy's own" test "$(replaced noisy)" -gt "$before"
net_check "a metric counts noisy's connections beyond its share" test \
	"$(net_bulkhead metrics | sed -n 's/^bulkhead_connections_surplus //p')" -gt 0
before=$(replaced db)
flood "SYNs from outside" outside
net_check "connections to db beyond its share replace db's own" test "$(replaced db)" -gt "$before"
for pod in quiet loud; do
	net_check "none of $pod's connections made place" net_is "$(replaced $pod)" 0
done
net_allowed db tcp "$(net_ip out)" 80 "the flooded pod opens connections of its own"
net_check "the table has no more connections than room" \
	test "$(net_bulkhead status -j | tr '{' '\n' | sed -n 's/.*"name":"ct","used":\([0-9]*\).*/\1/p')" -le $ROOM

echo "# a count that disagrees with the table"
miscount() { # adds 2^20 to the count of db's share
	local key value
	key=$(printf '%08x' "$(net_on node ip -o link show veth-db | cut -d: -f1)" | sed 's/\(..\)\(..\)\(..\)\(..\)/\4 \3 \2 \1/')
	# shellcheck disable=SC2086 # the bytes of the key
	read -ra value < <(bpftool -j map lookup pinned "$NET_PIN/shares" key hex $key |
		grep -oE '"value":\["[^]]*' | grep -oE '0x[0-9a-f]{2}' | cut -c3- | tr '\n' ' ')
	value[2]=$(printf '%02x' $((0x${value[2]} + 16)))
	# shellcheck disable=SC2086
	bpftool map update pinned "$NET_PIN/shares" key hex $key value hex "${value[@]}"
}
miscounts() {
	net_bulkhead status --check | grep "veth-db counts [0-9]* connections and the table has [0-9]*: the next sweep corrects it"
}
is_told() { # a sweep may end between the two steps
	local i
	for i in 1 2 3; do
		miscount && miscounts && return
	done
	return 1
}
metric() {
	net_bulkhead metrics | sed -n "s/^bulkhead_connections$1\({interface=\"[^\"]*\"}\)\? //p"
}
heals() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(metric _corrected_total)" -gt "$corrected" ] && ! miscounts && return
		sleep 0.1
	done
	return 1
}
net_check "status --check finds the counts right" eval '! miscounts'
corrected=$(metric _corrected_total)
net_check "status --check names a count that the table disagrees with" is_told
net_check "the next sweep corrects the count" heals
net_check "a metric says how many connections the table is to hold" net_is "$(metric _max)" "$ROOM"
for is in "" _floor _largest _replaced_total; do
	net_check "the metric bulkhead_connections$is counts" test "$(metric $is)" -gt 0
done
in_status() { # FIELD
	net_bulkhead status -j | sed -n "s/.*\"connections\":{[^}]*\"$1\":\([0-9]*\).*/\1/p"
}
net_check "a metric says how many connections endpoints share" net_is "$(metric _surplus_max)" "$(in_status surplus_max)"
for is in replaced refused; do
	net_check "status and metrics agree how many connections were $is" net_is "$(metric _${is}_total)" "$(in_status $is)"
done

echo "# endpoints that go"
number=$(net_on node ip -o link show veth-noisy | cut -d: -f1)
share() { # what the map says of the interface
	bpftool map dump pinned "$NET_PIN/shares" -j | grep -oE "\"key\":$number,\"value\":\{[^}]*\}"
}
in_use() { # the share, unless it is freed or counts no connection
	local count
	count=$(share | sed 's/.*"count":\([0-9]*\).*/\1/')
	[ $((count & 0xffffffff)) = 0 ] || share
	[ $((count & 0xffffffff)) != 0 ]
}
swept() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ -z "$(in_use)" ] && return 0
		sleep 0.1
	done
	share
	return 1
}
net_check "five connections from out to noisy" net_hold out noisy "$(net_ip noisy)" 5005 5
net_check "noisy has connections" in_use
replaced_before=$(metric _replaced_total)
net_check "connections of noisy have made place for others" test "$(replaced noisy)" -gt 0
net_check "delete noisy" net_bulkhead endpoint del shop/noisy
net_check "noisy's connections are swept" swept
net_check "delete quiet" net_bulkhead endpoint del shop/quiet
net_check "noisy's share is freed" net_is "$(share)" ""
net_check "the connections that were replaced count on" test "$(metric _replaced_total)" -ge "$replaced_before"
# Both ends of web's connections with db go before the garbage collector has passed.
number_of() { net_on node ip -o link show "veth-$1" | cut -d: -f1; }
web=$(number_of web) end_db=$(number_of db)
number=$web
net_check "web and db have connections" in_use
net_check "delete web" net_bulkhead endpoint del shop/web
net_check "delete db, the other end of web's connections" net_bulkhead endpoint del shop/db
net_check "web's connections are swept" swept
number=$end_db
net_check "db's connections are swept" swept
number=$(number_of loud)
net_check "delete loud" net_bulkhead endpoint del shop/loud
net_check "loud's connections are swept" swept
net_check "a load after all endpoints of the namespace are gone" eval \
	'net_bulkhead load "$NET_TMP/policy.ini" && for pod in db web noisy quiet loud; do net_bulkhead endpoint del shop/$pod || exit; done'
net_check "the share of a holder that has no endpoint is freed" test -z "$(comm -12 <(echo "$held") <(holders))"

net_end
