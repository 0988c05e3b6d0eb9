#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pods on a bridge that call Services. The backends are on the same bridge, routed by the node, or on
# another node. The node masquerades a call whose backend is on the caller's bridge, since the reply would
# bypass the translation otherwise. Policy evaluates the pod that called.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db bad web
NET_BRIDGE=(type bridge)
net_bridge bdb bbad bweb
net_bridge_routes
net_serve bdb bbad bweb
number=0
for pod in "${NET_BRIDGED[@]}"; do
	number=$((number + 1))
	SERVICE_IP[$pod]=10.50.0.$number SERVICE_IP6[$pod]=fd50::$number
done
net_on node nft -f - <<EOF2 || exit 1
add rule inet services after ct status dnat ip saddr 10.50.0.0/24 ip daddr 10.50.0.0/24 masquerade
add rule inet services after ct status dnat ip6 saddr fd50::/64 ip6 daddr fd50::/64 masquerade
EOF2
for number in 1:db 2:far 3:worse 8:bad 11:bdb 18:bbad; do
	service_leads "${number%:*}" "${number#*:}" 6379 || exit 1
done

policy() { # [SETTING]
	service_endpoints ${1:+"$1"}
	net_bridged bdb 1
	net_bridged bbad 2
	net_bridged bweb 3
	cat <<-EOF2
	[network-policy shop/callers]
	endpoints = role in (bweb, web)
	types = Egress
	egress = to endpoints(role in (db, far, bdb)) ports TCP/6379, UDP/6379
	EOF2
	[ -n "${1:-}" ] || service_objects
}
policy >"$NET_TMP/told.ini"
policy "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"
policy | sed 's/^egress = .*/egress = to endpoints(role in (bad, worse, bbad)) ports TCP\/6379, UDP\/6379/' \
	>"$NET_TMP/other.ini"

cases() { # HOW
	service_allows "$1" bweb 1 2 11
	service_denies "$1" bweb 3 8 18
	service_allows "$1: a bridged backend" web 11
	service_denies "$1: a bridged backend" web 18
	net_allowed out tcp "$(net_ip node)" 30011 "$1: outside reaches a bridged backend by a NodePort"
	net_allowed out tcp "$(net_ip6 node)" 31018 "$1: outside reaches a bridged backend by a NodePort without masquerading"
}

service_allows "no policy" bweb 1 2 3 8 11 18
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
cases told
net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
cases range
net_check "load a policy that allows the other backends" net_bulkhead load "$NET_TMP/other.ini"
service_allows other bweb 3 8 18
service_denies other bweb 1 2 11
net_check "unload" net_bulkhead unload
net_end
