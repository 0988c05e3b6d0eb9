#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# IPv6 fragments that the kernel makes anew: a node that translates joins the fragments of a datagram, and may be unable
# to part them as they came. The new ones have lost the interface by which the datagram came in, and are evaluated all
# the same: by pods' hooks, and by the host egress hook.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=80
service_start db bad web job
for service in 21:db 22:far 28:bad; do
	service_leads "${service%:*}" "${service#*:}" 7000 || exit 1
done
{
	service_endpoints
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=job), cidr(fd07::/64)
	[network-policy shop/bad]
	endpoints = role=bad
	types = Ingress, Egress
	ingress = from endpoints(role=nobody)
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	egress = to endpoints(role in (db, worse))
	EOF2
	service_object 21 db 7000
	service_object 22 far,worse 7000
	service_object 28 db,bad 7000
} >"$NET_TMP/policy.ini"

came() { # HOST: whole datagrams to a port without a listener so far
	net_on "$1" sed -n 's/^Udp6NoPorts *//p' /proc/net/snmp6
}
sends() { # FROM ADDRESS PORT [SOURCE]
	local mac to=02:00:00:00:02:01
	[ "$1" = out ] && mac=02:00:00:00:07:02 to=02:00:00:00:07:01 || mac=$(net_mac "$1")
	id=$((id + 1))
	net_frame "$1" -s $((5000 + id)) -n 3 eth0 "$mac" "$to" uneven "${4:-$(net_ip6 "$1")}" "$2" "$3" "$id"
}
arrives() { # AT FROM ADDRESS PORT [SOURCE]
	local before i
	before=$(came "$1")
	sends "${@:2}"
	for ((i = 0; i < 400; i++)); do
		[ "$(came "$1")" = "$before" ] || return 0
		net_pause 0.05
	done
	return 1
}
lost() { # AT FROM ADDRESS PORT [SOURCE]
	local before
	before=$(came "$1")
	sends "${@:2}"
	net_pause 0.3
	net_is "$(came "$1")" "$before"
}
id=0
node6=$(net_ip6 node) db6=$(net_ip6 db) bad6=$(net_ip6 bad)

net_check "before load the NodePort leads to bad" arrives bad out "$node6" 30028
net_check "before load the Service leads to far" arrives out job fd96::22 80
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

net_check "the outside reaches db by its masqueraded NodePort" arrives db out "$node6" 30021
net_check "the outside does not reach bad by its masqueraded NodePort" lost bad out "$node6" 30028
net_check "job reaches db by its masqueraded NodePort" arrives db job "$node6" 30021
net_check "job does not reach bad by its masqueraded NodePort" lost bad job "$node6" 30028
net_check "web, without a policy, reaches far by its Service" arrives out web fd96::22 80
net_check "job does not reach far by its Service" lost out job fd96::22 80

# A source to which the node has no route looks like an address of the node.
ip -n "$NET-node" -6 route del default
net_check "a host without a route reaches a pod without a policy" arrives web out "$(net_ip6 web)" 7000 2001:db8:77::9
net_check "a host without a route does not reach bad" lost bad out "$bad6" 7000 2001:db8:77::9
net_check "the outside reaches db" arrives db out "$db6" 7000
net_check "the outside does not reach bad" lost bad out "$bad6" 7000
net_check "a datagram of the node's own reaches bad" net_pair node bad udp "$bad6" 7001 3000

# Nobody can ask the kernel's conntrack about SCTP: what a pod sends to its node, in reply to a call that its policy
# denied, must not leave the node. The table counts what reaches the outside.
net_on out nft -f - <<EOF2 || exit 1
table inet seen {
	counter inits { }
	chain in { type filter hook prerouting priority raw; meta l4proto sctp counter name inits drop; }
}
EOF2
inits() {
	net_on out nft list counter inet seen inits | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}
replies() { # POD NODEPORT: the outside calls the pod, which replies to the node, where the call came from
	local before i
	id=$((id + 1)) before=$(inits)
	net_frame out -s $((5000 + id)) eth0 02:00:00:00:07:02 02:00:00:00:07:01 sctp "$(net_ip6 out)" "$node6" "$2"
	net_frame "$1" -s 7000 -n 3 eth0 "$(net_mac "$1")" 02:00:00:00:02:01 uneven-init "$(net_ip6 "$1")" "$node6" \
		$((5000 + id)) "$id"
	for ((i = 0; i < 10; i++)); do
		[ "$(inits)" = "$before" ] || return 0
		net_pause 0.05
	done
	return 1
}
for to in 28:bad 23:web; do
	net_on node nft add rule inet services several ip6 daddr "$node6" sctp dport "300${to%:*}" dnat ip6 to \
		"[$(net_ip6 "${to#*:}")]:7000" || exit 1
done
net_on node nft add rule inet services after meta l4proto sctp ct status dnat masquerade || exit 1
net_check "the SCTP reply of web, without a policy, leaves the node" replies web 30023
net_check "the SCTP reply of bad to a call that its policy denied does not leave the node" \
	net_fails 1 replies bad 30028
net_check "unload" net_bulkhead unload
net_check "after unload the SCTP reply of bad leaves the node" replies bad 30028
net_end
