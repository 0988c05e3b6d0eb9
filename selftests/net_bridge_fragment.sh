#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# IPv6 fragments that a bridge makes anew: with netfilter at the bridge (br_netfilter, as a cluster's nodes have it) the
# node joins the fragments of a frame that it only bridges. The new ones have lost the interface by which they came in.
# Those with the address of the node, or of a pod, reach no other host on the bridge by that host's MAC.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS=80
command -v nft >/dev/null || net_skip "needs nftables"
net_start far
NET_BRIDGE=(type bridge)
net_bridge db web job stray
net_bridge_routes
net_on node sysctl -qw net.bridge.bridge-nf-call-ip6tables=1 2>/dev/null || net_skip "the kernel has no br_netfilter"
# conntrack joins fragments where something asks for it
net_on node nft -f - <<'END' || exit 1
table ip6 joins {
	chain forward {
		type filter hook forward priority 0
		ct state invalid counter
	}
}
END

# The stray host has the addresses, too, so that it counts what comes.
node=fd50::9 db=fd50::1 stray=fd50::4
ip -n "$NET-stray" addr add $node/128 dev lo nodad
ip -n "$NET-stray" addr add $db/128 dev lo nodad

{
	net_head
	net_bridged db 1
	net_bridged web 2
	net_bridged job 3
	cat <<-EOF2
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints(role=db)
	EOF2
} >"$NET_TMP/policy.ini"

came() { # whole datagrams to a port without a listener so far
	net_on "$1" sed -n 's/^Udp6NoPorts *//p' /proc/net/snmp6
}
sends() { # FROM N MAC ADDRESS
	id=$((id + 1))
	net_frame "$1" -s $((5000 + id)) -n 3 eth0 "02:00:00:00:04:0$2" "$3" uneven "fd50::$2" "$4" 7001 "$id"
}
arrives() { # AT FROM N MAC ADDRESS
	local before i
	before=$(came "$1")
	sends "${@:2}"
	for ((i = 0; i < 400; i++)); do
		[ "$(came "$1")" = "$before" ] || return 0
		net_pause 0.05
	done
	return 1
}
lost() { # AT FROM N MAC ADDRESS
	local before
	before=$(came "$1")
	sends "${@:2}"
	net_pause 0.3
	net_is "$(came "$1")" "$before"
}
id=0
strays=02:00:00:00:04:04 bridge=$(ip -n "$NET-node" -o link show br0 | grep -o 'ether [0-9a-f:]*' | cut -d' ' -f2)

net_check "before load job's fragments to the node's address reach stray by its MAC" arrives stray job 3 $strays $node
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "job's fragments to the node's address do not reach stray by its MAC" lost stray job 3 $strays $node
net_check "job's fragments to db's address do not reach stray by its MAC" lost stray job 3 $strays $db
net_check "job's fragments to stray's own address do not reach stray" lost stray job 3 $strays $stray
net_check "job's fragments reach the node by its MAC" arrives node job 3 "$bridge" $node
net_check "job's fragments reach db by its MAC" arrives db job 3 02:00:00:00:04:01 $db
net_check "web, without a policy, reaches stray by fragments" arrives stray web 2 $strays $stray
net_check "unload" net_bulkhead unload

net_end
