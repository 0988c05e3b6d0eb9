#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whose answers teach where the node translates a resolver's address: those of the Service's own backends, on this node
# and on another one, and of a cache of the node that has the Service's address. Those of a pod to which another Service
# with the resolver's address leads (externalIPs) teach nothing. The same of a Service that is named as a resolver.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

DNS=$NET_HELPERS/dns
NET_PORTS=80
NET_WAIT_DENIED=400
service_start dns evil web
for n in {1..40}; do
	ip -n "$NET-out" addr add "172.18.0.$n/32" dev lo
done

policy() { # [LINE...]: of [bulkhead]
	service_endpoints "$@"
	service_object 53/53 "${BACKENDS:-dns,far}" 53 | sed "s|^\[service .*|[service ${SERVICE:-kube-system/kube-dns}]|"
	cat <<-END
	[service shop/thief]
	address = 10.96.0.99, fd96::99
	external-address = 10.96.0.53, fd96::53
	port = tcp TCP/53 to 53, udp UDP/53 to 53
	backends = $(net_ip evil), $(net_ip6 evil)
	END
	cat <<-END
	[cluster-network-policy names]
	tier = Admin
	priority = 10
	subject = endpoints(role=web in namespaces())
	egress = Accept to endpoints(role in (dns, far, evil) in namespaces()), nodes() ports UDP/53, TCP/53
	egress = Accept to names(api.example.com) ports TCP/80
	egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
	END
}
loads() { # [LINE...]
	policy "$@" >"$NET_TMP/policy.ini"
	net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
}
# Asks by each protocol at the address. Each answer has an address of its own.
n=0
asks() { # WHO CALLED SERVER ADDRESS allowed|denied: ADDRESS is the server's own
	local protocol name="opens its address"
	[ "$5" = allowed ] || name="opens nothing"
	for protocol in udp tcp; do
		n=$((n + 1))
		net_server "$3" "$NET_TMP/$3.$n" "$DNS" serve "$4" "a=172.18.0.$n"
		net_check "$1 answers web by $protocol at $2" \
			net_ends 0 "^172.18.0.$n$" net_on web "$DNS" ask $protocol "$2" api.example.com
		"net_$5" web tcp 172.18.0.$n 80 "an answer by $protocol of $1 at $2 $name"
		kill $!
		wait $! 2>/dev/null
	done
}
teaches() { # WHO SERVER NAME: the Service leads to NAME, which is the host SERVER
	asks "$1" 10.96.0.53 "$2" "$(service_ip "$3")" allowed
	asks "$1" fd96::53 "$2" "$(service_ip6 "$3")" allowed
}

loads
service_leads 53/53 dns 53
teaches "the Service's backend on this node" dns dns
service_leads 53/53 far 53
teaches "the Service's backend on another node" out far
service_leads 53/53 evil 53
asks "another Service's backend" 10.96.0.53 evil "$(net_ip evil)" denied
asks "another Service's backend" fd96::53 evil "$(net_ip6 evil)" denied
net_check "the packets of the other Service's backend are counted" test "$(net_bulkhead metrics |
	sed -n 's/^bulkhead_dns_messages_total{result="backend"} //p')" -ge 4

# A resolver's address that is named, and is a Service's: the backends of that Service, whatever its name is.
named="resolver = 10.96.0.53, fd96::53"
SERVICE=shop/resolver loads "$named"
service_leads 53/53 dns 53
teaches "a backend of a Service that is named as a resolver" dns dns
service_leads 53/53 evil 53
asks "another backend than a named resolver's" 10.96.0.53 evil "$(net_ip evil)" denied
asks "another backend than a named resolver's" fd96::53 evil "$(net_ip6 evil)" denied

changed() { # BACKENDS: a delta changes the Service's backends
	SERVICE=shop/resolver policy "$named" >"$NET_TMP/base.ini" &&
		SERVICE=shop/resolver BACKENDS=$1 policy "$named" >"$NET_TMP/next.ini" &&
		"$BULKHEAD" compile -o "$NET_TMP/base.bhp" "$NET_TMP/base.ini" >/dev/null &&
		"$BULKHEAD" compile --base "$NET_TMP/base.bhp" --delta -o "$NET_TMP/next.bhd" "$NET_TMP/next.ini" >/dev/null &&
		net_bulkhead load "$NET_TMP/base.bhp" && net_bulkhead load "$NET_TMP/next.bhd"
}
net_check "a delta gives the Service another backend" changed evil,far
teaches "the backend that a delta brought" evil evil
service_leads 53/53 dns 53
asks "the backend that a delta took" 10.96.0.53 dns "$(net_ip dns)" denied
asks "the backend that a delta took" fd96::53 dns "$(net_ip6 dns)" denied

net_check "nothing is translated any more" net_on node nft delete table inet services
for address in 10.96.0.53/32 fd96::53/128 169.254.20.10/32; do
	ip -n "$NET-node" addr add $address dev lo
done
loads
for address in 10.96.0.53 fd96::53 169.254.20.10; do
	asks "a cache of the node" $address node $address allowed
done
net_end
