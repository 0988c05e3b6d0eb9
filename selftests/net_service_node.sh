#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services that lead to the node by an address that the node got after load: as a backend, known to policy or not,
# and as a Service's own address. A pod whose Admin rule denies the node does not reach it so. And a Service with two of
# the node's addresses.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS="53 80"
service_start web free
net_bridge shut
net_bridge_routes
net_serve shut
SERVICE_IP[late]=10.66.0.1 SERVICE_IP6[late]=fd66::1
late4=${SERVICE_IP[late]} late6=${SERVICE_IP6[late]}
service_leads 1 late 53
service_leads 2 node 53
service_leads 3 free 53
# Service 4 has two backends that are the node's own.
SERVICE_IP[second]=10.66.0.2 SERVICE_IP6[second]=fd66::2
ip -n "$NET-node" addr add "${SERVICE_IP[second]}/32" dev lo
ip -n "$NET-node" addr add "${SERVICE_IP6[second]}/128" dev lo nodad
service_leads 4 second 53
SERVICE_LEADS[4]="node,second 53"

{
	service_endpoints "service-cidr = 10.96.0.0/16, fd96::/64"
	net_bridged shut 1
	service_objects
	cat <<-EOF
	[service shop/own]
	address = 10.96.0.9, fd96::9
	external-address = $late4, $late6
	port = tcp TCP/80 to 53, udp UDP/80 to 53
	backends = $(net_ip free), $(net_ip6 free)
	[admin-network-policy nodes]
	priority = 5
	subject = endpoints(role in (web, shut) in namespaces())
	egress = Deny to nodes()
	EOF
} >"$NET_TMP/told.ini"
service_endpoints "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"
{
	net_bridged shut 1
	sed -n '/^\[admin/,$p' "$NET_TMP/told.ini"
} >>"$NET_TMP/range.ini"

calls() { # INPUT
	local family protocol late pod
	for family in 4 6; do
		late=$(service_at late $family)
		for protocol in tcp udp; do
			for pod in web shut; do
				net_denied $pod $protocol "$late" 53 "$1: $pod, denied the node, does not reach $late by $protocol"
				net_denied $pod $protocol "$late" 80 "$1: $pod does not reach $late, a Service's address, by $protocol"
				net_denied $pod $protocol "$(service_address 1 $family)" 80 \
					"$1: $pod does not reach the late address by a Service, IPv$family, $protocol"
				net_denied $pod $protocol "$(service_address 2 $family)" 80 \
					"$1: $pod does not reach the node by a Service, IPv$family, $protocol"
				net_allowed $pod $protocol "$(service_address 3 $family)" 80 \
					"$1: $pod reaches another pod by a Service, IPv$family, $protocol"
			done
			for number in 1 2; do
				net_allowed free $protocol "$(service_address $number $family)" 80 \
					"$1: free reaches the node by Service $number, IPv$family, $protocol"
			done
			net_allowed free $protocol "$late" 80 "$1: free reaches $late by $protocol"
			net_allowed node $protocol "$(service_at web $family)" 80 \
				"$1: the node reaches web, which is denied the node, IPv$family, $protocol"
		done
	done
}

late() { # add|del
	local nodad=nodad
	[ "$1" = add ] || nodad=
	ip -n "$NET-node" addr "$1" "$late4/32" dev lo
	ip -n "$NET-node" addr "$1" "$late6/128" dev lo $nodad
}
for input in told range; do
	net_check "$input: load" net_bulkhead load --force "$NET_TMP/$input.ini"
	[ $input = range ] || for family in 4 6; do
		net_denied free tcp "$(service_address 4 $family)" 80 \
			"a Service with two backends of the node's own is closed, since no hook can tell them apart, IPv$family"
		net_allowed free tcp "$(service_at second $family)" 53 "free reaches the second address itself, IPv$family"
	done
	late add
	calls $input
	late del
done
late add
for family in 4 6; do
	net_allowed node free "$(service_at web $family)" 53 \
		"an answer of web, which is denied the node, comes to a socket that is not connected, IPv$family"
done
net_check "a packet that the node's socket refuses is counted" net_is "$(
	net_moved net_denied web udp "$(service_address 1 4)" 80 "web does not reach the late address" |
		grep -c "denied by the source's policy")" 1
net_end
