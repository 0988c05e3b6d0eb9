#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Attempts to bypass the port check: encapsulated packets that the node would decapsulate, source routes,
# and checksum offload that writes to the ports.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="53 80"
net_start db bad web
gateway=02:00:00:00:02:01 remote=10.244.9.9 remote6=fd44:9::9 inside=02:00:00:00:08:01

{
	net_db_and_web eth0
	cat <<-EOF2
	$(net_endpoint bad "mac = $(net_mac bad)")
	$(net_endpoint_at remote worker-2 "$remote, $remote6")
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=remote) ports UDP/80
	ingress = from endpoints(role=web) ports UDP/53
	[network-policy shop/bad]
	endpoints = role=bad
	types = Egress
	EOF2
} >"$NET_TMP/policy.ini"

b4=$(net_ip bad) b6=$(net_ip6 bad) d4=$(net_ip db) d6=$(net_ip6 db) n4=$(net_ip node) n6=$(net_ip6 node)
out4=$(net_ip out) out6=$(net_ip6 out)

# Makes the node's tunnels that this kernel supports; a row has the packet and the tunnel.
rows=()
tunnel() { # NAME ROW... -- WHAT `ip link add` IS TO MAKE
	local more=() name=$1
	shift
	while [ "$1" != -- ]; do
		more+=("$1")
		shift
	done
	ip -n "$NET-node" link add "$name" "${@:2}" 2>/dev/null || return
	ip -n "$NET-node" link set "$name" up
	rows+=("${more[@]}")
}
tunnel vxlan4 "VXLAN: $b4 $n4 vxlan:4789:7:$inside $remote $d4" \
	"IPv6 in VXLAN: $b4 $n4 vxlan:4789:7:$inside $remote6 $d6" \
	-- address $inside type vxlan id 7 dstport 4789 dev eth0
tunnel vxlan6 "VXLAN over IPv6: $b6 $n6 vxlan:4789:8:$inside $remote $d4" \
	"IPv6 in VXLAN over IPv6: $b6 $n6 vxlan:4789:8:$inside $remote6 $d6" \
	-- address $inside type vxlan id 8 dstport 4789 local "$n6" dev eth0
tunnel ipip4 "IPIP: $b4 $n4 ip $remote $d4" -- type ipip local "$n4"
tunnel sit6 "6in4: $b4 $n4 ip $remote6 $d6" -- type sit local "$n4"
tunnel gre4 "GRE: $b4 $n4 gre $remote $d4" "IPv6 in GRE: $b4 $n4 gre $remote6 $d6" -- type gre local "$n4"
tunnel tnl6 "IPv6 in IPv6: $b6 $n6 ip $remote6 $d6" -- type ip6tnl mode any local "$n6"
# UDP ports without a device that lead to the tunnels above (FOU). The kernel does not load these modules on
# demand.
modprobe -qa fou fou6 2>/dev/null
udp_port() { # PORT KIND ROW...: what `ip fou add` is to make
	# shellcheck disable=SC2086
	net_on node ip fou add port "$1" $2 2>/dev/null || return
	rows+=("${@:3}")
}
udp_port 5555 "ipproto 4" "FOU: $b4 $n4 fou:5555 $remote $d4"
udp_port 6080 gue "GUE: $b4 $n4 gue:6080 $remote $d4" "IPv6 in GUE: $b4 $n4 gue:6080 $remote6 $d6"
udp_port 5556 "ipproto 4 -6" "FOU over IPv6: $b6 $n6 fou:5556 $remote $d4"
# L2TPv3: a session has a number, and no address. Over UDP the tunnel's socket takes the other end's packets only.
modprobe -qa l2tp_eth l2tp_ip gtp 2>/dev/null
ports=()
l2tp() { # TUNNEL SESSION ENCAPSULATION...
	ip -n "$NET-node" l2tp add tunnel tunnel_id "$1" peer_tunnel_id "$1" local "$n4" remote "$out4" encap "${@:3}" 2>/dev/null &&
		ip -n "$NET-node" l2tp add session name "l2tp$1" tunnel_id "$1" session_id "$2" peer_session_id "$2" &&
		ip -n "$NET-node" link set "l2tp$1" address $inside up
}
l2tp 5 70 ip && rows+=("L2TP: $b4 $n4 l2tp:70:$inside $remote $d4")
l2tp 6 71 udp udp_sport 1701 udp_dport 1701 && ports+=("L2TP 1701")
ip -n "$NET-node" link add gtp1 type gtp role sgsn 2>/dev/null && ports+=("GTP 2152" "GTP 3386")
for host in node out web; do
	net_on $host sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >"$f"; done
		for f in /proc/sys/net/ipv4/conf/*/accept_source_route; do echo 1 >"$f"; done'
done

checksum="checksum to be completed out of its place"
heard() { # HOST: datagrams that came, to whatever port
	net_on "$1" awk '
		/^Udp: [0-9]/ { n += $2 + $3 }
		/^Udp6(InDatagrams|NoPorts) / { n += $2 }
		END { print n }' /proc/net/snmp /proc/net/snmp6
}
hears() { # EXPECTED HOST COMMAND...: how many of what a command sends
	local expected=$1 host=$2 before tries=0
	before=$(heard "$host")
	"${@:3}"
	while [ $(($(heard "$host") - before)) -lt "$expected" ] && [ $((tries++)) -lt 200 ]; do
		sleep 0.05
	done
	net_is $(($(heard "$host") - before)) "$expected"
}
opens() { # COMMAND...: it passes, whatever the node answers where nobody listens
	net_moved "$@" >"$NET_TMP/moved"
	grep -q "^pass 1 o" "$NET_TMP/moved" && ! grep "^drop" "$NET_TMP/moved"
}
frame() { # FROM FRAME-ARGUMENT...: by its own MAC, to the node's
	local host=$1 mac options=()
	mac=$(net_mac "$host")
	shift
	while [[ $1 == -* ]]; do
		options+=("$1" "$2")
		shift 2
	done
	net_frame "$host" "${options[@]}" eth0 "$mac" $gateway "$@"
}
within() { # FROM OUTER-SOURCE OUTER-DESTINATION HOW SOURCE DESTINATION: UDP/80
	frame "$1" tunnel "${@:2}" 80
}
outside() { # [OPTION]... -- KIND...: a frame from there to the node
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	net_frame out "${options[@]}" eth0 02:00:00:00:07:02 02:00:00:00:07:01 "${@:2}"
}
taken_apart() { # EXPECTED: how much db hears of each
	local row
	for row in "${rows[@]}"; do
		# shellcheck disable=SC2086
		net_check "${row%%: *}: $1" hears "$1" db within bad ${row#*: }
	done
	net_check "VXLAN to a broadcast address, which policy allows: $1" hears "$1" db \
		within web "$(net_ip web)" 192.168.7.255 vxlan:4789:7:$inside $remote "$d4"
}
routed() { # EXPECTED: how much comes of what goes to the node first, by whichever way
	local type
	for type in 131 137; do
		net_check "source route $type to the outside: $1" hears "$1" out \
			frame web -r $type:"$out4" udp "$(net_ip web)" "$n4" 80
		net_check "source route $type from the outside: $1" hears "$1" web \
			outside -r $type:"$(net_ip web)" -- udp "$out4" "$n4" 80
	done
}

# Without TX checksum offload at db's interface, the kernel itself writes the checksum.
net_on node ethtool -K veth-db tx off >/dev/null
completed() { # EXPECTED: whether db hears of it where policy lets nothing in
	net_check "a checksum offset over the port, IPv4: $1" rewritten "$1" "$(net_ip web)" "$d4" 36:0
	net_check "a checksum offset over the port, IPv6: $1" rewritten "$1" "$(net_ip6 web)" "$d6" 56:0
	net_check "a checksum offset over the port in an open flow: $1" rewritten "$1" "$(net_ip web)" "$d4" 36:0
}
rewritten() { # EXPECTED SOURCE DESTINATION START:OFFSET: how often it is heard at 7777
	local before
	before=$(heard_at_7777)
	frame web -c "$4" written "$2" "$3" 53 7777
	net_is $(($(heard_at_7777) - before)) "$1"
}
heard_at_7777() { # no socket listens at 7777; one does at 53
	net_on db awk '/^Udp: [0-9]/ { n += $3 } /^Udp6NoPorts / { n += $2 } END { print n }' \
		/proc/net/snmp /proc/net/snmp6
}

taken_apart 1
routed 1
completed 1
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
taken_apart 0
routed 0
completed 0
net_check "a checksum offset over the port has a drop reason of its own" net_is \
	"$(net_moved frame web -c 36:0 written "$(net_ip web)" "$d4" 53 7777)" "drop 1 $checksum"
net_check "an offset that ends in the port has that reason, too" net_is \
	"$(net_moved frame web -c 34:10 written "$(net_ip web)" "$d4" 53 7777)" "drop 1 $checksum"
net_check "an offset to the UDP checksum itself is not dropped" net_is \
	"$(net_moved frame web -c 34:6 udp "$(net_ip web)" "$d4" 53 | grep -c ^drop)" 0
net_check "an offset to the UDP checksum itself is not dropped over IPv6" net_is \
	"$(net_moved frame web -c 54:6 udp "$(net_ip6 web)" "$d6" 53 | grep -c ^drop)" 0
for address in "$d4" "$d6"; do
	net_allowed web udp "$address" 53 "a socket's UDP with checksum offload reaches $address"
done
tunnelled="drop 1 encapsulated, from an endpoint to a node"
for row in "${rows[@]}"; do
	# shellcheck disable=SC2086
	net_check "${row%%: *} has a drop reason of its own" net_is "$(net_moved within bad ${row#*: })" "$tunnelled"
done
for port in "${ports[@]}"; do
	net_check "UDP to the port of the node's $port is dropped" net_is "$(net_moved frame bad udp "$b4" "$n4" "${port#* }")" "$tunnelled"
done
net_check "source routes have a drop reason of their own" net_is "$(net_moved frame web -r 131:$out4 udp "$(net_ip web)" "$n4" 80)" \
	"drop 1 source-routed"
net_check "a source route to an endpoint has that reason" net_is "$(net_moved outside -r 131:"$(net_ip web)" -- udp "$out4" "$(net_ip web)" 80)" \
	"drop 1 source-routed"

# Similar packets that policy allows.
for ends in "$b4 $n4" "$b6 $n6"; do
	# shellcheck disable=SC2086
	net_check "UDP to another port of the node passes" opens frame bad udp $ends 4790
done
net_check "a pod's VXLAN to another host passes" opens \
	within web "$(net_ip web)" "$out4" vxlan:4789:7:$inside $remote "$d4"
net_check "a pod's VXLAN to another host passes over IPv6" opens within web "$(net_ip6 web)" "$out6" vxlan:4789:7:$inside $remote "$d4"
net_check "another host's VXLAN to the node reaches db" hears 1 db \
	outside -- tunnel "$out4" "$n4" vxlan:4789:7:$inside $remote "$d4" 80
net_check "a packet without source route reaches the outside" hears 1 out frame web udp "$(net_ip web)" "$out4" 80
net_check "a packet from the outside without source route reaches web" hears 1 web outside -- udp "$out4" "$(net_ip web)" 80

# The next command knows a tunnel that is created after load.
ip -n "$NET-node" link add vxlan9 address $inside type vxlan id 9 dstport 8472 dev eth0
ip -n "$NET-node" link set vxlan9 up
late="$b4 $n4 vxlan:8472:9:$inside $remote $d4"
# shellcheck disable=SC2086
net_check "VXLAN by a tunnel that was made after load reaches db" hears 1 db within bad $late
net_pod late
net_endpoint_at late worker-1 "$(net_ip late)" >"$NET_TMP/late.ini"
net_check "endpoint add" net_bulkhead endpoint add -f "$NET_TMP/late.ini"
# shellcheck disable=SC2086
net_check "after endpoint add that VXLAN is dropped, in an open connection, too" hears 0 db within bad $late
ip -n "$NET-node" link del vxlan9
net_check "load after the tunnel was deleted" net_bulkhead load "$NET_TMP/policy.ini"
# shellcheck disable=SC2086
net_check "UDP to the deleted tunnel's port passes" opens within bad $late

net_check "unload" net_bulkhead unload
net_check "load that allows encapsulation" net_bulkhead load --set encapsulation=1 "$NET_TMP/policy.ini"
taken_apart 1

net_end
