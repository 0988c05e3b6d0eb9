#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The CNI plugin tells a bridged pod's MAC. A load of a policy that has the pod's address, and no MAC, keeps
# that MAC: the pod sends by no other one, and reaches its peer by its own.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
write_policy() { # MEMBERS-OF-WEB MEMBERS-OF-DB
	cat >"$NET_TMP/policy.ini" <<-EOF
		[bulkhead]
		node = worker-1
		[namespace shop]
		[endpoint shop/web]
		labels = role=web
		$1
		[endpoint shop/db]
		labels = role=db
		$2
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web)
	EOF
}
interface_of() { # ADDRESS
	net_bulkhead endpoint list |
		awk -v a="$1" '$2 == a { for (i = 3; i <= NF; i++) if ($i ~ /^veth/) print "interface = " $i }'
}
cni_conf bridge "$(cni_bridge cni0 '"isGateway": true,' 10.51.0.0/24 fd51::/64)" "$(cni_own)"
write_policy "" ""
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
web='' web6='' db='' db6=''
for pod in web db; do
	cni_pod $pod
	net_check "ADD of $pod on a bridge" cni_named shop/$pod bridge ADD $pod
	declare "$pod=$(cni_address)" "${pod}6=$(cni_address 1)"
done
own=$(ip -n "$NET-web" -o link show eth0 | sed 's/.*ether \([^ ]*\).*/\1/')
net_serve db

take_mac() { # MAC
	ip -n "$NET-web" link set eth0 down && ip -n "$NET-web" link set eth0 address "$1" &&
		ip -n "$NET-web" addr replace "$web6/64" dev eth0 nodad &&
		ip -n "$NET-web" link set eth0 up
}
try() { # WHEN
	local address
	for address in "$db" "$db6"; do
		net_allowed web tcp "$address" 80 "$1, web reaches $address"
	done
	net_check "$1, web takes a MAC of nobody" take_mac 02:00:00:00:00:99
	for address in "$db" "$db6"; do
		net_denied web tcp "$address" 80 "$1, web does not reach $address by that MAC"
	done
	net_check "$1, web takes its own MAC again" take_mac "$own"
}
try "as added"
web_members="node = worker-1
ip = $web, $web6
$(interface_of "$web")"
db_members="node = worker-1
ip = $db, $db6
$(interface_of "$db")"
write_policy "$web_members" "$db_members"
net_check "load with the pods' addresses" net_bulkhead load "$NET_TMP/policy.ini"
try "after a load"
net_check "a second load" net_bulkhead load "$NET_TMP/policy.ini"
try "after a second load"
net_end
