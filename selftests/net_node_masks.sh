#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node that masquerades calls to NodePorts with an address that it got after load: the true caller is evaluated, a
# pod with an interface of its own or behind a bridge.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=7000
late4=192.168.7.9 late6=fd07::9
service_start db bad web job
service_leads 21 db 7000 || exit 1
service_leads 28 bad 7000 || exit 1
# Over IPv4 only: over IPv6 the kernel would masquerade with the bridge's address, which load finds.
net_bridge left right
ip -n "$NET-node" addr add 10.50.0.9/24 dev br0
for pod in left right; do
	ip -n "$NET-$pod" route add default via 10.50.0.9
done
{
	service_endpoints
	net_bridged left 1
	net_bridged right 2
	cat <<-EOF2
	[network-policy shop/job]
	endpoints = role=job
	types = Egress
	[network-policy shop/left]
	endpoints = role=left
	types = Egress
	[admin-network-policy others]
	priority = 5
	subject = endpoints(role=bad in namespaces())
	ingress = Deny from endpoints(role in (web, right) in namespaces())
	EOF2
	service_objects
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

# The node's address changes.
net_ips node <<-EOF
	addr del $(net_ip node)/24 dev eth0
	addr del $(net_ip6 node)/64 dev eth0
	addr add $late4/24 dev eth0
	addr add $late6/64 dev eth0 nodad
	route replace default via 192.168.7.2
	route replace default via fd07::2
EOF
net_on node nft -f - <<-EOF
	add rule inet services translate ip daddr $late4 meta l4proto { tcp, udp } \
		dnat ip to meta l4proto . th dport map @ports4
	add rule inet services translate ip6 daddr $late6 meta l4proto { tcp, udp } \
		dnat ip6 to meta l4proto . th dport map @ports6
EOF
for protocol in tcp udp; do
	for late in $late4 $late6; do
		net_allowed web $protocol "$late" 30021 "web reaches db by $protocol to $late"
		net_denied web $protocol "$late" 30028 "web does not reach bad by $protocol to $late"
		net_allowed web $protocol "$late" 30021 "web reaches db again by $protocol to $late"
		net_denied job $protocol "$late" 30021 "job does not reach db by $protocol to $late"
	done
	net_allowed right $protocol $late4 30021 "right reaches db by $protocol to $late4"
	net_denied right $protocol $late4 30028 "right does not reach bad by $protocol to $late4"
	net_denied left $protocol $late4 30021 "left does not reach db by $protocol to $late4"
done
net_end
