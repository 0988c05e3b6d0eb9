#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A resolver at an address of the node: who calls a pod by a NodePort from port 53 has that address and port behind
# masquerading, and the pod's packets to the resolver are replies to the caller. What the caller sends teaches nothing.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

DNS=$NET_HELPERS/dns
NET_PORTS=80
service_start web
resolver=$(net_ip node)
for n in 1 2; do
	ip -n "$NET-out" addr add "172.18.0.$n/32" dev lo
done
service_leads 1 web 9053
{
	net_head "uplink = eth0" "resolver = $resolver"
	net_node_object
	net_endpoint web
	service_object 1 web 9053
	cat <<-END
	[cluster-network-policy names]
	tier = Admin
	priority = 10
	subject = endpoints(role=web in namespaces())
	egress = Accept to nodes() ports UDP/53
	egress = Accept to names(api.example.com) ports TCP/80
	egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
	END
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

calls() { # ID COUNTER: the outside calls web by the NodePort, from port 53, with an answer
	net_moved sends "$1" | grep -Fx "$2"
}
sends() { # ID
	net_on out "$DNS" forge eth0 02:00:00:00:07:02 02:00:00:00:07:01 "$(net_ip out)" "$resolver" 30001 "$1" 1 \
		api.example.com 172.18.0.1
}
net_check "the caller's first packet comes to web" calls 1 "pass 1 opens a connection that policy allows"
net_on web "$DNS" leave 9053 2 "$resolver" api.example.com
net_check "the caller's next packet comes to web" calls 2 "pass 1 of an allowed connection"
net_denied web tcp 172.18.0.1 80 "the address that the caller has told stays closed"

net_server node "$NET_TMP/dns" "$DNS" serve "$resolver" a=172.18.0.2
net_check "the resolver answers web" net_ends 0 "^172.18.0.2$" net_on web "$DNS" ask udp "$resolver" api.example.com
net_allowed web tcp 172.18.0.2 80 "the resolver's answer opens its address"
net_end
