#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Calls to Services by protocols for which the programs cannot ask the kernel's conntrack, that is, other
# than TCP and UDP: SCTP, masqueraded or not, is evaluated by the backend as well.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db bad web
for number in 1:db 2:far 3:worse 8:bad; do
	for family in 4 6; do
		ip=ip${family/4/} address=$(service_at "${number#*:}" $family)
		[ $family = 4 ] || ip=ip6 address="[$address]"
		# 11 and up are masqueraded.
		for called in "${number%:*}" "1${number%:*}"; do
			net_on node nft add rule inet services several "$ip" daddr \
				"$(service_address "$called" $family)" sctp dport 80 dnat "$ip" to "$address:6379"
		done || net_skip "the kernel does not translate SCTP"
	done
done
net_on node nft -f - <<EOF2 || exit 1
add rule inet services after ct original ip daddr { 10.96.0.11, 10.96.0.12, 10.96.0.13, 10.96.0.18 } masquerade
add rule inet services after ct original ip6 daddr { fd96::11, fd96::12, fd96::13, fd96::18 } masquerade
EOF2
for host in db bad out; do
	net_on $host nft -f - <<-EOF2 || exit 1
	table inet seen {
		counter inits { }
		chain in {
			type filter hook prerouting priority raw
			meta l4proto sctp counter name inits drop
		}
	}
	EOF2
done

policy() { # [SETTING]
	service_endpoints ${1:+"$1"}
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in (db, far)) ports SCTP/6379
	EOF2
	[ -n "${1:-}" ] || for number in 1:db 2:far 3:worse 8:bad; do
		for called in "${number%:*}" "1${number%:*}"; do
			cat <<-EOF2
			[service shop/s$called]
			address = 10.96.0.$called, fd96::$called
			port = SCTP/80 to 6379
			backends = $(service_at "${number#*:}" 4), $(service_at "${number#*:}" 6)
			EOF2
		done
	done
}
policy >"$NET_TMP/told.ini"
policy "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

seen() { # HOST
	net_on "$1" nft list counter inet seen inits | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

port=2000
arrives() { # NUMBER 4|6 HOST: how many of three INITs of a new association
	local before after
	port=$((port + 1))
	before=$(seen "$3")
	net_frame web -n 3 -s $port eth0 "$(net_mac web)" 02:00:00:00:02:01 sctp \
		"$(net_ip${2#4} web)" "$(service_address "$1" "$2")" 80
	sleep 0.1
	after=$(seen "$3")
	echo $((after - before))
}

cases() { # HOW ARRIVING-OF-THE-DENIED [ARRIVING-OF-THE-ALLOWED]
	local family number
	for family in 4 6; do
		for number in 1:db 2:out 11:db 12:out; do
			net_check "$1: SCTP to allowed Service ${number%:*} over IPv$family: ${3:-3} of 3 packets" \
				net_is "$(arrives "${number%:*}" $family "${number#*:}")" "${3:-3}"
		done
		for number in 8:bad 3:out 18:bad 13:out; do
			net_check "$1: SCTP to Service ${number%:*} over IPv$family: $2 of 3 packets" \
				net_is "$(arrives "${number%:*}" $family "${number#*:}")" "$2"
		done
	done
}

cases "no policy" 3
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
cases told 0

# The caller's hook asks the backend's policy, too, but drops nothing that an audited backend would only report.
denying() { # [LINE]: of db's endpoint
	sed "s|^\[endpoint shop/db\]|&${1:+\n$1}|" "$NET_TMP/told.ini"
	printf '[network-policy shop/db]\nendpoints = role=db\ntypes = Ingress\n'
}
backend() { # HOW COUNT
	local family
	for family in 4 6; do
		net_check "$1: SCTP to Service 1 over IPv$family: $2 of 3 packets" net_is "$(arrives 1 $family db)" "$2"
	done
}
denying >"$NET_TMP/denying.ini"
denying "audit = yes" >"$NET_TMP/audited.ini"
net_check "load a policy whose backend takes nothing" net_bulkhead load "$NET_TMP/denying.ini"
backend "a backend that takes nothing" 0
net_check "load a policy whose backend is audited" net_bulkhead load "$NET_TMP/audited.ini"
backend "an audited backend" 3

# No hook can tell to which call a packet from such a Service is the reply: an isolated pod calls none.
net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
cases range 0 0
net_check "unload" net_bulkhead unload
net_end
