#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The C library resolves a name through a DNS Service, over UDP and TCP, and through a node-local DNS cache.
# The node has the cache's link-local address and the Service's address; its Node object names neither.
# A pod that may only call the named Service and DNS reaches the Service by name.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

command -v dnsmasq >/dev/null || net_skip "needs dnsmasq-base"
CACHE4=169.254.20.10 CACHE6=fd20::10
NET_PORTS=6379
service_start dns db bad web blind locked
service_leads 53/53 dns 53 && service_leads 54/53 far 53 && service_leads 1 db 8080 &&
	service_leads 8 bad 8080 || exit 1
for pod in db bad; do
	net_names $pod 8080
done

# The cache answers from its own records: policy for pods does not evaluate the cache's own queries.
answers() { # HOST ADDRESS...
	local host=$1 address addresses=()
	shift
	for address; do
		addresses+=("--listen-address=$address")
	done
	nsenter --net="/run/netns/$NET-$host" dnsmasq --keep-in-foreground --conf-file=/dev/null \
		--user=root --pid-file= --no-resolv --no-hosts --bind-interfaces "${addresses[@]}" \
		--host-record=db.shop.svc.cluster.local,10.96.0.1,fd96::1 \
		--host-record=bad.shop.svc.cluster.local,10.96.0.8,fd96::8 \
		</dev/null >"$NET_TMP/$host.dns" 2>&1 &
	NET_SERVERS+=($!)
	until net_on "$host" ss -Hltn | grep -q ':53 '; do
		kill -0 $! 2>/dev/null || { cat "$NET_TMP/$host.dns" && exit 1; }
		sleep 0.05
	done
}
ip -n "$NET-node" link add nodelocal type veth peer name nodelocal0
ip -n "$NET-node" link set nodelocal up
ip -n "$NET-node" link set nodelocal0 up
for address in $CACHE4/32 $CACHE6/128 10.96.0.55/32 fd96::55/128; do
	ip -n "$NET-node" addr add $address dev nodelocal
done
answers dns "$(net_ip dns)" "$(net_ip6 dns)"
answers out 10.244.1.1 fd44:1::1
answers node $CACHE4 $CACHE6 10.96.0.55 fd96::55

policy() {
	service_endpoints
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role in (web, locked)
	types = Egress
	egress = to endpoints(role=db) ports TCP/8080
	egress = to endpoints(role in (dns, far)) ports UDP/53, TCP/53
	[network-policy shop/blind]
	endpoints = role=blind
	types = Egress
	egress = to endpoints(role=db) ports TCP/8080
	[admin-network-policy no-node]
	priority = 1
	subject = endpoints(role=locked in namespaces())
	egress = Deny to nodes()
	egress = Deny to cidr($CACHE4/32), cidr($CACHE6/128), cidr(10.96.0.55/32), cidr(fd96::55/128)
	EOF2
	service_object 53/53 dns 53
	service_object 54/53 far 53
	service_object 1 db 8080
	service_object 8 bad 8080
	cat <<-EOF2
	[service shop/cached]
	address = 10.96.0.55, fd96::55
	port = udp UDP/53 to 53, tcp TCP/53 to 53
	backends = $(net_ip dns), $(net_ip6 dns)
	EOF2
}
policy >"$NET_TMP/policy.ini"

# Resolves by one server, which a resolv.conf of the caller's own names.
by_name() { # FROM NAME SERVER OPTION: answered, silent, or unknown
	cat >"$NET_TMP/resolv.conf" <<-EOF2
	nameserver $3
	search shop.svc.cluster.local svc.cluster.local cluster.local
	options ndots:5 timeout:1 attempts:${tries:-3} $4
	EOF2
	net_on "$1" timeout 20 unshare --mount sh -c 'mount --bind "$1/resolv.conf" /etc/resolv.conf &&
		exec "$2" ask tcp "$3" 80 "$4" 1' sh "$NET_TMP" "$NET_HELPERS/backend" "$2" "$wait" | sed "s/ from .*//"
}

resolves() { # HOW FROM NAME EXPECTED SERVER...
	local how=$1 from=$2 name=$3 expected=$4 server option
	wait=$NET_WAIT_ALLOWED tries=3
	[ "$expected" != silent ] || wait=$NET_WAIT_DENIED
	[ "$expected" != unknown ] || tries=1
	shift 4
	for server; do
		for option in "" use-vc; do
			# Over TCP the C library waits for minutes when the server does not answer.
			[[ $expected/$option != unknown/use-vc ]] || continue
			net_check "$how: $from to $name by $server ${option:-udp}: $expected" net_is \
				"$(by_name "$from" "$name" "$server" "$option")" "$expected"
		done
	done
}
service="10.96.0.53 fd96::53" remote="10.96.0.54 fd96::54"
cache="$CACHE4 $CACHE6" own="10.96.0.55 fd96::55"
resolves "no policy" blind bad bad $service $remote $cache $own
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
resolves policy web db db $service $remote $cache $own
resolves policy web bad silent $service
resolves "policy, the node is denied" locked db db $service $remote
resolves "policy, the node is denied" locked db unknown $cache $own
resolves "policy, no DNS" blind db unknown $service $remote
net_check "unload" net_bulkhead unload
net_end
