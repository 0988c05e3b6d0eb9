#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets in more than one piece: a GSO packet (TCP in bulk, UDP_SEGMENT) counts as one packet with all its
# bytes, and headers in nonlinear pages are found.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db) web4=$(net_ip web) web6=$(net_ip6 web)
gateway=02:00:00:00:02:01 web_mac=$(net_mac web)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head "uplink = eth0")
$(net_endpoint db "mac = $(net_mac db)")
$(net_endpoint web "mac = $web_mac")
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web), cidr(192.168.7.0/24), cidr(fd07::/64), cidr(172.18.0.0/16),
	cidr(fd18::/64) ports TCP/5000-5999, UDP/5000-5999
[network-policy shop/web]
endpoints = role=web
types = Egress
egress = to endpoints(role=db) ports TCP/5000-6999, UDP/5000-6999
EOF
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

# Prints the sums of a reason's counters: packets, bytes.
sums() { # REASON
	net_bulkhead show counters |
		sed -nE "s/^[a-z]+ +([0-9]+) packets +([0-9]+) bytes +$1$/\1 \2/p"
}

# Prints the packets and bytes that a command adds to a reason.
adds() { # REASON COMMAND...
	local reason=$1 packets bytes packets_now bytes_now
	shift
	read -r packets bytes < <(sums "$reason")
	"$@" >/dev/null 2>&1
	read -r packets_now bytes_now < <(sums "$reason")
	echo "$((packets_now - ${packets:-0})) $((bytes_now - ${bytes:-0}))"
}

# Sends a megabyte over TCP in GSO frames.
bulk() { # FROM TO ADDRESS PORT
	local packets bytes
	read -r packets bytes < <(adds "of an allowed connection" net_pair "$1" "$2" tcp "$3" "$4" 1000000)
	echo "$packets packets, $bytes bytes"
	[ "$bytes" -gt 1000000 ] && [ $((bytes / packets)) -gt 1514 ]
}

opens="opens a connection that policy allows" known="of an allowed connection"
by_ingress="denied by the destination's policy" by_egress="denied by the source's policy"
segments() { # FROM TO ADDRESS PORT: 20 of 1,000 bytes as one
	WAIT=$NET_WAIT_DENIED net_pair "$1" "$2" gso "$3" "$4" 20000
}

arrives() { # FROM: in bulk, and not where it is denied
	local db
	for db in "$db4" "$db6"; do
		net_check "from $1 to $db, a megabyte over TCP arrives" \
			net_pair "$1" db tcp "$db" 5000 1000000
		net_check "from $1 to $db, a denied port gets no connection" \
			net_is "$(WAIT=$NET_WAIT_DENIED net_pair "$1" db tcp "$db" 6000 1; echo $?)" 1
		net_check "from $1 to $db, UDP segments arrive" net_pair "$1" db gso "$db" 5001 20000
	done
}

one_by_one() { # FROM: what the sender has left to segment is one packet to the hooks
	local db bytes
	for end in "$db4 $((14 + 20 + 8 + 20000))" "$db6 $((14 + 40 + 8 + 20000))"; do
		read -r db bytes <<<"$end"
		net_check "from $1 to $db, TCP in bulk is counted whole" bulk "$1" db "$db" 5002
		net_check "UDP segments count as one packet of $bytes bytes" \
			net_is "$(adds "$opens" segments "$1" db "$db" 5003)" "1 $bytes"
		net_check "denied UDP segments count as one packet of $bytes bytes" \
			net_is "$(adds "$by_ingress" segments "$1" db "$db" 6001)" "1 $bytes"
	done
}

arrives web
one_by_one web
net_check "UDP segments that the source denies count as one packet" net_is "$(adds "$by_egress" segments web db "$db4" 7000)" "1 20042"
net_check "UDP segments that the source denies count as one packet over IPv6" net_is "$(adds "$by_egress" segments web db "$db6" 7000)" "1 20062"
net_check "TCP in bulk to the uplink is counted whole" bulk db out "$(net_ip out)" 5004
net_check "TCP in bulk to the uplink is counted whole over IPv6" bulk db out "$(net_ip6 out)" 5004

# A veth segments frames for a peer with a native XDP program. With TC on the uplink, the frames arrive
# whole.
arrives out
net_check "unload" net_bulkhead unload
net_on node "$NET_HELPERS/foreign" xdp-pass eth0
net_check "load, so that TC guards the uplink" net_bulkhead load "$NET_TMP/policy.ini"
arrives out
one_by_one out

# Frames whose linear part is only their first bytes. The MTU is large enough for them.
for pod in db web; do
	ip -n "$NET-node" link set "veth-$pod" mtu 9000
	ip -n "$NET-$pod" link set eth0 mtu 9000
done
net_nobody db "$web4" "$web6" 172.18.0.0/16 fd18::/64

expect() { # COUNTERS NAME HOST FRAME-ARGUMENT...
	net_check "$2" net_moves "$1" net_frame "${@:3}"
}
source="drop 1 source address that is not the endpoint's"
port=5100 id=1

# Bytes in the linear part: up to the Ethernet header, into the IP header, into the transport header, or a
# little more.
SPLITS="14 15 30 34 40 50 54 60"
[ -z "${BULKHEAD_SMALL:-}" ] || SPLITS=14

from_pod() { # VERSION BYTES DB WEB
	local from_web=(web -l "$2" eth0 "$web_mac" "$gateway")
	id=$((id + 1)) port=$((port + 2))
	echo "# IPv$1, $2 bytes, from a pod"
	expect "pass 1 $opens" "allowed" "${from_web[@]}" udp "$4" "$3" $port
	expect "pass 1 $known" "a second packet" "${from_web[@]}" udp "$4" "$3" $port
	expect "drop 1 $by_ingress" "denied" "${from_web[@]}" udp "$4" "$3" 6100
	expect "drop 1 $by_egress" "denied at the source" "${from_web[@]}" udp "$4" "$3" 7100
	expect "$source" "spoofed" "${from_web[@]}" udp "$3" "$4" 5100
	expect "pass 1 $opens" "a first fragment" "${from_web[@]}" first "$4" "$3" $((port + 1)) $id
	expect "pass 1 follows its first fragment" "a later fragment" "${from_web[@]}" rest "$4" "$3" $id
}

to_pod() { # VERSION BYTES DB SOURCE [TAG...]
	local to_db=(node "${@:5}" -l "$2" veth-db "$gateway" "$(net_mac db)")
	port=$((port + 1))
	echo "# IPv$1, $2 bytes, to a pod ${*:5}"
	expect "pass 1 $opens" "allowed" "${to_db[@]}" syn "$4" "$3" $port
	expect "drop 1 $by_ingress" "denied" "${to_db[@]}" syn "$4" "$3" 6100
	expect "pass 1 $opens" "UDP" "${to_db[@]}" udp "$4" "$3" $port
	expect "drop 1 $by_ingress" "denied" "${to_db[@]}" udp "$4" "$3" 6100
	expect "drop 1 ICMP error about no connection" "an error" \
		"${to_db[@]}" too-big "$4" "$3" "$4" 6100
}

all_splits() {
	local at
	for at in $SPLITS; do
		from_pod 4 "$at" "$db4" "$web4"
		from_pod 6 "$at" "$db6" "$web6"
		to_pod 4 "$at" "$db4" 172.18.0.1
		to_pod 6 "$at" "$db6" fd18::1
		to_pod 4 "$at" "$db4" 172.18.0.2 -t 5 -t 6
		to_pod 6 "$at" "$db6" fd18::2 -t 5
	done
}
all_splits

# Proof that the frames arrive nonlinear: a program before ours drops all linear frames, and these pass.
if net_on node "$NET_HELPERS/foreign" whole veth-web "${NET_PIN}_foreign" 2>/dev/null; then
	net_denied web udp "$db4" 5080 "a program before ours drops linear frames"
	from_pod 4 14 "$db4" "$web4"
	from_pod 6 14 "$db6" "$web6"
	rm -f "${NET_PIN}_foreign"
else
	echo "ok $((NET_TEST += 1)) - what came in pieces # SKIP the kernel has no TCX"
fi
net_end
