#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Neighbour discovery and MLD with data: beyond its link an endpoint sends and gets them only if policy allows
# other ICMPv6. On its link, a bridge too, neighbour discovery works whatever policy says.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
command -v nft >/dev/null || net_skip "needs nftables, which counts the test's own messages"

NET_PORTS=80
net_start bad good
net_bridge shut closed near
net_bridge_routes
gateway=02:00:00:00:02:01 bridge=02:00:00:00:05:01
bad6=$(net_ip6 bad) good6=$(net_ip6 good) node6=$(net_ip6 node) out6=$(net_ip6 out)

{
	net_head "uplink = eth0"
	net_node_object
	net_endpoint bad "mac = $(net_mac bad)"
	net_endpoint good "mac = $(net_mac good)"
	net_bridged shut 1
	net_bridged closed 2
	cat <<-EOF2
	[network-policy shop/isolated]
	endpoints = role in (bad, shut, closed)
	types = Ingress, Egress
	EOF2
} >"$NET_TMP/policy.ini"

# Hosts send neighbour discovery of their own whenever they probe an address, so the test counts its own messages
# alone: these carry a nonce that makes them 72 bytes (type 133) or 88 (others), a length that no host's message has.
for host in node out bad good shut closed near; do
	net_on $host nft -f - <<-EOF2 || exit 1
	table inet seen {
		$(printf 'counter type%s { }\n' 133 135 136 143)
		chain messages {
			type filter hook prerouting priority -300
			meta l4proto icmpv6 ip6 length { 72, 88 } counter name icmpv6 type map {
				133 : "type133", 135 : "type135", 136 : "type136", 143 : "type143" }
		}
	}
	EOF2
done
messages() { # HOST TYPE: messages of the test that came
	net_on "$1" nft list counter inet seen "type$2" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}
# Sends one, and waits for it where it is to arrive. What is to be lost has a twin that arrives after it.
gets() { # NUMBER HOST TYPE COMMAND...
	local before tries=0
	before=$(messages "$2" "$3")
	"${@:4}"
	while [ $(($(messages "$2" "$3") - before)) -lt "$1" ] && [ $((tries++)) -lt 400 ]; do
		sleep 0.05
	done
	[ "$1" != 0 ] || sleep 0.3
	net_is $(($(messages "$2" "$3") - before)) "$1"
}
routed() { # POD SOURCE DESTINATION TYPE HOPS [CODE]
	net_frame "$1" eth0 "$(net_mac "$1")" $gateway icmp6 "$2" "$3" "$4" "${6:-0}" "$5"
}
bridged() { # NUMBER TO-MAC DESTINATION TYPE
	net_frame "${NET_BRIDGED[$(($1 - 1))]}" eth0 "02:00:00:00:04:0$1" "$2" icmp6 "fd50::$1" "$3" "$4" 0 255
}
outside() { # DESTINATION TYPE HOPS
	net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 icmp6 "$out6" "$1" "$2" 0 "$3"
}

# What the isolated pods may not send and get; the node takes off one hop. Type 133 asks a router, 135 is a
# solicitation, 136 an advertisement, 143 an MLDv2 report.
beyond() { # NUMBER
	local type
	for type in 133 135 136; do
		net_check "an isolated pod's message $type to the outside: $1" gets "$1" out $type \
			routed bad "$bad6" "$out6" $type 255
	done
	net_check "an isolated bridged pod's advertisement to the outside: $1" gets "$1" out 136 \
		bridged 1 $bridge "$out6" 136
	net_check "MLD from the outside to an isolated pod: $1" gets "$1" bad 143 outside "$bad6" 143 2
}
# What passes, whoever is isolated.
near() {
	local type
	for type in 133 135 136; do
		net_check "a pod's message $type, which policy allows, to the outside" gets 1 out $type \
			routed good "$good6" "$out6" $type 255
		net_check "an isolated pod's message $type to its node" gets 1 node $type \
			routed bad "$bad6" "$node6" $type 255
		net_check "an isolated pod's message $type on its bridge" gets 1 closed $type \
			bridged 1 02:00:00:00:04:02 fd50::2 $type
		net_check "an isolated pod's message $type to a host on its bridge" gets 1 near $type \
			bridged 1 02:00:00:00:04:03 fd50::3 $type
	done
	net_check "MLD from the outside to a pod without policy" gets 1 good 143 outside "$good6" 143 2
	net_check "an isolated pod's message to its link" gets 1 node 135 routed bad "$bad6" fe80::ff:fe00:201 135 255
}
probed() { # HOST ADDRESS MAC: the host probes its neighbour by unicast, which answers
	local tries=0
	ip -n "$NET-$1" neigh replace "$2" dev eth0 lladdr "$3" nud probe
	until ip -n "$NET-$1" neigh show "$2" dev eth0 | grep -q REACHABLE; do
		[ $((tries++)) -lt 200 ] || return 1
		sleep 0.1
	done
}
neighbours() { # WHEN
	net_check "an isolated pod finds another one on its bridge $1" probed shut fd50::2 02:00:00:00:04:02
	net_check "an isolated pod finds a host on its bridge $1" probed shut fd50::3 02:00:00:00:04:03
	net_check "a host on the bridge finds an isolated pod $1" probed near fd50::2 02:00:00:00:04:02
	net_check "an isolated pod finds its node $1" probed shut fd50::9 $bridge
}

beyond 1
near
neighbours "without policy"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
beyond 0
near
neighbours "under policy"
denied="drop 1 denied by the source's policy"
net_check "policy is the reason of the drop" net_moves "$denied" routed bad "$bad6" "$out6" 136 255
net_check "a message with a code is dropped" net_moves "drop 1 inconsistent transport header" \
	routed bad "$bad6" "$node6" 136 255 1
net_check "an isolated pod does not reach a host beyond the bridge by the node's MAC" net_moves "$denied" \
	bridged 1 $bridge fd50::77 136
net_end
