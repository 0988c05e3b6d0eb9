#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `load --set connections=N` makes the table of connections larger while packets flow: connections live on, others open
# meanwhile, what policy denies stays denied, and the table cannot shrink. A load that is killed leaves open connections
# open; where hooks have tables of both sizes, a new connection may wait for the next command.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/hooks.sh
. "$(dirname "$0")/lib/hooks.sh"

IDLE=100 BUSY=480
[ -z "${BULKHEAD_SMALL:-}" ] || IDLE=20 BUSY=80
NET_PORTS="80 81 443"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)
{
	hooks_policy
	printf '%s\n' "[network-policy shop/clients]" "endpoints = role=db" "types = Ingress, Egress" \
		"ingress = from any ports TCP/81, UDP/81, TCP/5001-5004"
} >"$NET_TMP/policy.ini"
load() { # CONNECTIONS
	net_bulkhead load --set "connections=$1" "$NET_TMP/policy.ini"
}
room() { # for how many connections the table has room
	net_bulkhead status -j | sed -n 's/.*"connections":{[^}]*"max":\([0-9]*\).*/\1/p'
}
counts_agree() { # once a sweep has corrected what opened in both tables
	local i
	for ((i = 0; i < 60; i++)); do
		net_bulkhead status --check 2>&1 | grep counts || return 0
		sleep 0.5
	done
	return 1
}

net_check "load with a small table" load 4096
net_check "the table has room for 4096" net_is "$(room)" 4096
port=5001
for pair in "out $db4" "out $db6" "web $db4" "web $db6"; do
	read -r from to <<<"$pair"
	net_check "$IDLE connections from $from to $to" net_hold "$from" db "$to" $port $IDLE
	port=$((port + 1))
done
alive() { # WHEN
	for ((port = 5001; port < 5005; port++)); do
		net_check "$1: $IDLE connections to port $port are alive" net_is "$(net_alive $port)" $IDLE
	done
}
hooks_connect
net_check "a connection opens" hooks_connected

# The clients below depend on this on a busy machine, where a client that has connected may pause for seconds.
asks_late() {
	net_is "$({ sleep 1.5 && echo; } | net_on out "$NET_PROBE" hold "$db4" 81 $NET_WAIT_ALLOWED)" answered
}
net_check "a client that asks late after it has connected has an answer" asks_late
net_stream db recv 1001 1002
net_stream web send "$db4" 1001 1002
# Clients come and go while the table grows three times. Prints how many exchanges there were, and how many of them had
# an answer.
exchanges() { # tcp|udp ADDRESS
	local asked=0 answered=0 n
	until [ -e "$NET_TMP/enough" ]; do
		read -r n _ < <(net_on out "$NET_HELPERS/busy" "$1" "$2" 81 $BUSY 8)
		asked=$((asked + BUSY)) answered=$((answered + n))
	done
	echo "$asked $answered" >"$NET_TMP/exchanges.$1.$2"
}
for protocol in tcp udp; do
	for address in "$db4" "$db6"; do
		exchanges $protocol "$address" &
		NET_SERVERS+=($!)
		clients+=($!)
	done
done
for larger in 8192 40000 200000; do
	net_check "load with room for $larger" net_ends 0 "programs were replaced" load $larger
	net_check "the table has room for $larger" net_is "$(room)" $larger
	net_check "every hook uses the larger table, and no old map is left" hooks_converged
done
touch "$NET_TMP/enough"
wait "${clients[@]}"
for file in "$NET_TMP"/exchanges.*; do
	read -r asked answered <"$file"
	echo "# ${file#*exchanges.}: $asked exchanges"
	net_check "${file#*exchanges.}: each client has an answer" net_is "$answered" "$asked"
done
net_stream_end
net_check "over 20 datagrams were sent meanwhile" test "$(net_count web 1001)" -gt 20
net_check "no allowed datagram of an open flow was lost" net_is "$(net_count db 1001)" "$(net_count web 1001)"
net_check "no denied datagram arrived" net_is "$(net_count db 1002)" 0
alive "in the larger table"
net_check "the connection goes on" hooks_connected
net_check "the policy is enforced" hooks_enforced
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "the counts agree with the table after a sweep" counts_agree

net_check "a smaller table is refused" net_ends 2 "connections: the table has room for 200000, and cannot shrink" load 4096
net_check "the table stays" net_is "$(room)" 200000
net_check "another setting cannot change" net_ends 2 "timeout-udp: is set when the programs are first loaded" \
	net_bulkhead load --set timeout-udp=31 "$NET_TMP/policy.ini"

still_denied() {
	! net_ask web tcp "$db4" 443 150 || { echo "443 is allowed" && return 1; }
}
# A load that is killed at a change of state leaves open connections open and denied ones denied. The next load completes
# the change.
walk() { # PLACE...
	local n size=200000
	for n in "$@"; do
		size=$((size + 1000))
		net_fault state "$n" kill load --set connections=$size "$NET_TMP/policy.ini" >"$NET_TMP/faulted" 2>&1
		[ $? -eq 99 ] || { echo "not killed at $n" && cat "$NET_TMP/faulted" && return 1; }
		hooks_connected && still_denied || { echo "killed at $n" && return 1; }
		load $size && hooks_connected && hooks_enforced && hooks_converged ||
			{ echo "killed at $n: not repaired" && return 1; }
		net_is "$(room)" $size || { echo "killed at $n" && return 1; }
		net_is "$(net_writes "$NET_TMP/policy.ini")" 0 || { echo "killed at $n" && return 1; }
	done
}
SAMPLE=4
[ -z "${BULKHEAD_SMALL:-}" ] || SAMPLE=1
[ -z "${BULKHEAD_FULL:-}" ] || SAMPLE=1000
net_fault state 0 kill load --set connections=200500 "$NET_TMP/policy.ini" >"$NET_TMP/said" 2>&1
mapfile -t kills < <(net_places 1 $SAMPLE)
net_check "such a load, killed at ${kills[*]}, leaves connections open and closed" walk "${kills[@]}"
alive "after them"
hooks_disconnect
net_check "unload" net_bulkhead unload
net_check "unload leaves no pin folder" test ! -e "$NET_PIN"
net_end
