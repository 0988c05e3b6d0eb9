#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# On a bridge of endpoints, a link-local address that is not made of a MAC belongs to the endpoint that
# announced it first: no other endpoint may announce it or send from it until the owner has gone or has
# claimed more addresses than the limit.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80"
net_start far
# Endpoints (dim's MAC is not known), stray, which is no endpoint, and lan behind an uplink.
bridge=02:00:00:00:05:01
NET_BRIDGE+=(mcast_snooping 0)
net_bridge db job dim stray lan
net_bridge_node
for pod in "${NET_BRIDGED[@]}"; do
	net_on "$pod" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/ip_forward
		echo 0 >/proc/sys/net/ipv6/conf/eth0/router_solicitation_delay'
done
ip -n "$NET-node" addr add fe80::9/64 dev br0 nodad
db=02:00:00:00:04:01 job=02:00:00:00:04:02 dim=02:00:00:00:04:03
stray=02:00:00:00:04:04 lan=02:00:00:00:04:05 all=33:33:00:00:00:01
node6=fe80::ff:fe00:501 db6=fe80::5eed:db:1 dim6=fe80::ff:fe00:403 router6=fe80::1a:1
{
	net_head "uplink = veth-lan"
	net_bridged db 1
	net_bridged job 2
	net_bridged dim 3 | grep -v '^mac ='
} | grep -v '^mode =' >"$NET_TMP/policy.ini"

mac_of() {
	echo "${!1}"
}
knows() { # HOST INTERFACE ADDRESS: the MAC that it has for it
	ip -n "$NET-$1" neigh show "$3" dev "$2" | grep -o '02:00[0-9a-f:]*'
}
speaks() { # POD ADDRESS: the MAC that the node has for an address once the pod has advertised it
	ip -n "$NET-node" neigh replace "$2" dev br0 lladdr 02:00:00:00:09:09 nud stale
	net_frame "$1" eth0 "$(mac_of "$1")" $bridge nd "$2" $node6 "$(mac_of "$1")" "$2"
	knows node br0 "$2"
}
solicits() { # HOST
	net_on "$1" sed -n 's/^Icmp6OutNeighborSolicits[[:space:]]*//p' /proc/net/snmp6
}
within() { # SECONDS COMMAND...: waits until the command succeeds
	local end=$((SECONDS + $1))
	until "${@:2}" >/dev/null; do
		[ $SECONDS -lt $end ] || return
		sleep 0.1
	done
}
has_asked() { # HOST COUNT
	[ "$(solicits "$1")" -gt "$2" ]
}
# A host starts duplicate address detection for an address and an attacker claims the address; prints the
# state that results. Detection lasts a minute, longer than the machine ever stands still.
detected() { # HOST ADDRESS ATTACKER KIND
	local before own
	before=$(solicits "$1") own=$(mac_of "$3")
	net_on "$1" sh -c 'echo 60000 >/proc/sys/net/ipv6/neigh/eth0/retrans_time_ms
		echo 1 >/proc/sys/net/ipv6/conf/eth0/accept_dad'
	ip -n "$NET-$1" addr add "$2/64" dev eth0
	within 20 has_asked "$1" "$before"
	if [ "$4" = nd ]; then
		net_frame "$3" eth0 "$own" $all nd "$2" ff02::1 "$own" "$2"
	else
		net_frame "$3" eth0 "$own" "33:33:ff:${2: -7:2}:${2: -4:2}:${2: -2}" \
			dad :: "ff02::1:ff${2: -7}" "$2"
	fi
	# A failed detection shows a moment after the frame.
	if [ "$how" = dadfailed ]; then within 20 has_failed "$1" "$2"; else sleep 0.3; fi
	ip -n "$NET-$1" addr show dev eth0 to "$2" | grep -oE 'dadfailed|tentative' | head -n 1
	ip -n "$NET-$1" addr del "$2/64" dev eth0
	net_on "$1" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
		echo 1000 >/proc/sys/net/ipv6/neigh/eth0/retrans_time_ms'
}
has_failed() { # HOST ADDRESS
	ip -n "$NET-$1" addr show dev eth0 to "$2" | grep dadfailed
}
is_valid() { # HOST ADDRESS
	! ip -n "$NET-$1" addr show dev eth0 to "$2" | grep -E 'tentative|dadfailed'
}
begins() { # HOST ADDRESS: it is to have it, after duplicate address detection
	net_on "$1" sh -c 'echo 100 >/proc/sys/net/ipv6/neigh/eth0/retrans_time_ms
		echo 1 >/proc/sys/net/ipv6/conf/eth0/accept_dad'
	ip -n "$NET-$1" addr add "$2/64" dev eth0
	within 20 is_valid "$1" "$2"
}
datagrams() { # HOST
	net_on "$1" awk '/^Udp6(InDatagrams|NoPorts) / { n += $2 } END { print n }' /proc/net/snmp6
}
heard() { # BY FROM SOURCE DESTINATION: how many datagrams of the one come to the other
	local before
	before=$(datagrams "$1")
	net_frame "$2" eth0 "$(mac_of "$2")" "$(mac_of "$1")" udp "$3" "$4" 7001
	echo $(($(datagrams "$1") - before))
}
attacks() { # HOW HIJACKED|KEPT for each of what is seen
	local who address kind end=1100 how=tentative
	[ "$1" = kept ] || how=dadfailed
	for who in job stray; do
		for address in $db6 $dim6; do
			net_check "$1: $who advertises $address" net_is "$(speaks $who "$address")" \
				"$([ "$1" = hijacked ] && mac_of $who || echo 02:00:00:00:09:09)"
			net_check "$1: $who sends from $address" net_is "$(heard dim $who "$address" fd50::3)" \
				"$([ "$1" = hijacked ] && echo 1 || echo 0)"
		done
		for kind in nd dad; do
			end=$((end + 1))
			net_check "$1: $who answers db's duplicate address detection, by $kind" \
				net_is "$(detected db "fe80::5eed:db:$end" $who $kind)" $how
			net_check "$1: $who answers dim's duplicate address detection, by $kind" \
				net_is "$(detected dim "fe80::5eed:d1:$end" $who $kind)" $how
		done
	done
}

attacks hijacked
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "db announces an address that is not made of a MAC" begins db $db6
net_check "dim, whose MAC is unknown, announces an address made of its MAC" net_is "$(speaks dim $dim6)" $dim
attacks kept
net_check "db advertises its own address" net_is "$(speaks db $db6)" $db
net_check "db sends from its own address" net_is "$(heard dim db $db6 fd50::3)" 1
net_check "dim advertises its own address" net_is "$(speaks dim $dim6)" $dim
net_check "dim sends from its own address" net_is "$(heard db dim $dim6 fd50::1)" 1
net_check "job advertises an address that is nobody's" net_is "$(speaks job fe80::5eed:10b:1)" $job
net_check "stray advertises an address that is nobody's" net_is "$(speaks stray fe80::5eed:57a:1)" $stray
ip -n "$NET-db" neigh replace fe80::9 dev eth0 lladdr 02:00:00:00:09:09 nud stale
net_frame node br0 $bridge $db nd fe80::9 $db6 $bridge fe80::9
net_check "the node advertises its own address" net_is "$(knows db eth0 fe80::9)" $bridge

# A router behind an uplink is known by its router advertisements.
net_frame lan eth0 $lan $all ra $router6 ff02::1
net_check "job cannot advertise the address of the router behind the uplink" \
	net_is "$(speaks job $router6)" 02:00:00:00:09:09
net_check "the router advertises its own address" net_is "$(speaks lan $router6)" $lan

# An endpoint that claims more than eight addresses loses its own oldest claim; others keep theirs.
for ((i = 2; i <= 9; i++)); do
	net_check "job claims another address" net_is "$(speaks job fe80::5eed:10b:$i)" $job
done
net_check "dim can claim job's oldest address" net_is "$(speaks dim fe80::5eed:10b:1)" $dim
net_check "dim cannot claim job's latest address" net_is "$(speaks dim fe80::5eed:10b:9)" 02:00:00:00:09:09
net_check "job cannot claim db's address" net_is "$(speaks job $db6)" 02:00:00:00:09:09

net_check "load again" net_bulkhead load "$NET_TMP/policy.ini"
net_check "after the load job cannot claim db's address" net_is "$(speaks job $db6)" 02:00:00:00:09:09
net_check "delete db" net_bulkhead endpoint del shop/db
net_check "job can claim the deleted db's address" net_is "$(speaks job $db6)" $job

net_end
