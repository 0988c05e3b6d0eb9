#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A client outside hears at once that a pod's port is closed, whatever the pod's egress policy is: by the pod's
# address, by a port of the node as hostPorts have it, and by one that masquerades the client. The kernel's
# conntrack forgets such a call by the pod's RST. The pod sends out no other RST.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "needs nftables"
net_start db web
node4=$(net_ip node) node6=$(net_ip6 node)

# db may call nobody; web has no egress policy. Nobody listens at 4567.
cat >"$NET_TMP/policy.ini" <<EOF2
$(net_head "uplink = eth0")
$(net_endpoint db "mac = $(net_mac db)")
$(net_endpoint web)
[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
ingress = from cidr(192.168.7.0/24), cidr(fd07::/64) ports TCP/80, TCP/4567
EOF2

hears() { # ADDRESS PORT ANSWER: what the outside hears
	local wait=$NET_WAIT_ALLOWED
	[ "$3" != silent ] || wait=$NET_WAIT_DENIED
	net_is "$(net_on out "$NET_HELPERS/backend" ask tcp "$1" "$2" "$wait" 1)" "$3"
}
rst() { # SOURCE DESTINATION: of no call, from db's port 4567
	net_frame db -s 4567 eth0 "$(net_mac db)" 02:00:00:00:02:01 tcp "$1" "$2" 7000 4 1
}
direct() { # HOW
	local pod address
	for pod in db web; do
		for address in "$(net_ip $pod)" "$(net_ip6 $pod)"; do
			net_check "$1: $pod refuses at $address" hears "$address" 4567 refused
			net_allowed out tcp "$address" 80 "$1: $pod answers at $address"
		done
	done
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
direct "without conntrack"
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_check "db's policy lets no call to another port in, at $address" hears "$address" 4568 silent
done

# 30567 and 30080 lead to db's 4567 and 80; the outside's calls to 31567 and 31080 are masqueraded, too.
net_check "the node translates" net_on node nft -f - <<EOF2
table inet test {
	chain before {
		type nat hook prerouting priority dstnat
		tcp dport {31080, 31567} meta mark set 1
		ip daddr $node4 tcp dport {30567, 31567} dnat ip to $(net_ip db):4567
		ip daddr $node4 tcp dport {30080, 31080} dnat ip to $(net_ip db):80
		ip daddr $node4 tcp dport 30568 dnat ip to $(net_ip db):4568
		ip6 daddr $node6 tcp dport {30567, 31567} dnat ip6 to [$(net_ip6 db)]:4567
		ip6 daddr $node6 tcp dport {30080, 31080} dnat ip6 to [$(net_ip6 db)]:80
		ip6 daddr $node6 tcp dport 30568 dnat ip6 to [$(net_ip6 db)]:4568
	}
	chain after {
		type nat hook postrouting priority srcnat
		meta mark 1 masquerade
	}
}
EOF2
direct "with conntrack"
for address in "$node4" "$node6"; do
	for port in 30 31; do
		net_check "db refuses by port ${port}567 of $address" hears "$address" ${port}567 refused
		net_allowed out tcp "$address" ${port}080 "db answers by port ${port}080 of $address"
	done
	net_check "db's policy lets no call to another port in, by port 30568 of $address" hears "$address" 30568 silent
done
net_check "a RST of db's that refuses no call is dropped" net_is \
	"$(net_moved rst "$(net_ip db)" 192.168.7.2)" "drop 1 TCP segment of no connection"

net_end
