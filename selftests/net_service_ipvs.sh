#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services that IPVS translates, as kube-proxy sets it up: the Services' addresses are the node's own, on a
# dummy interface; virtual servers with masquerading, in the kernel's conntrack; and a mark on packets to
# masquerade.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

command -v ipvsadm >/dev/null || net_skip "needs ipvsadm"
ipvsadm -Ln >/dev/null 2>&1 || net_skip "the kernel has no IPVS"
NET_PORTS=6379
net_start db bad web shut wide
service_far
net_on node sh -c 'echo 1 >/proc/sys/net/ipv4/vs/conntrack' || net_skip "IPVS without conntrack"
ip -n "$NET-node" link add kube-ipvs0 type dummy || net_skip "the kernel has no dummy interfaces"

# NodePorts 30000+N and packets that return to their caller are masqueraded, 31000+N are not.
net_on node nft -f - <<EOF2 || exit 1
table inet services {
	chain prepare {
		type filter hook prerouting priority mangle
		ip daddr $(net_ip node) meta l4proto { tcp, udp } th dport 30000-30999 meta mark set 0x4000
		ip6 daddr $(net_ip6 node) meta l4proto { tcp, udp } th dport 30000-30999 meta mark set 0x4000
	}
	chain after {
		type nat hook postrouting priority srcnat
		meta mark 0x4000 masquerade
		ip saddr $(net_ip web) ip daddr $(net_ip web) masquerade
		ip6 saddr $(net_ip6 web) ip6 daddr $(net_ip6 web) masquerade
	}
}
EOF2

bracketed() { # ADDRESS
	if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi
}

leads() { # NUMBER BACKEND PORT
	local family address protocol called
	for family in 4 6; do
		address=$(service_address "$1" $family)
		ip -n "$NET-node" addr add "$address/$([ $family = 4 ] && echo 32 || echo 128)" dev kube-ipvs0
		for protocol in t u; do
			for called in "$(bracketed "$address"):80" \
				"$(bracketed "$(service_node $family)"):$((30000 + $1))" \
				"$(bracketed "$(service_node $family)"):$((31000 + $1))"; do
				net_on node ipvsadm -A -$protocol "$called" -s rr &&
					net_on node ipvsadm -a -$protocol "$called" -m \
						-r "$(bracketed "$(service_at "$2" $family)"):$3" || return
			done
		done
	done
}
SERVICES="1:db 2:far 3:worse 4:web 8:bad"
for number in $SERVICES; do
	leads "${number%:*}" "${number#*:}" 6379 || exit 1
done

policy() { # ROLES that web may call, SETTING or nothing: then what Services there are
	service_endpoints ${2:+"$2"}
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in ($1)) ports TCP/6379, UDP/6379
	[network-policy shop/shut]
	endpoints = role=shut
	types = Egress
	[network-policy shop/wide]
	endpoints = role=wide
	types = Egress
	egress = to cidr(0.0.0.0/0 except 10.244.0.0/16), cidr(::/0 except fd44::/16)
	[network-policy shop/servers]
	endpoints = role in (db, bad)
	ingress = from endpoints(role in (web, shut, wide))
	ingress = from cidr(192.168.7.0/24), cidr(fd07::/64), cidr(172.17.0.0/24), cidr(fd17::/32)
	EOF2
	[ -n "${2:-}" ] || for number in $SERVICES; do
		service_object "${number%:*}" "${number#*:}" 6379
	done
}
policy "db, far" >"$NET_TMP/told.ini"
policy "bad, worse" >"$NET_TMP/other.ini"
policy "db, far" "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

port() { # net_allowed|net_denied HOW FROM PORT [SOURCE4 SOURCE6]
	local family protocol source
	for family in 4 6; do
		source=$([ $family = 4 ] && echo "${5:-}" || echo "${6:-}")
		for protocol in tcp udp; do
			"$1" "$3" $protocol "$(service_node $family)" "$4" \
				"$2: $3 ${source:+as $source }to $protocol NodePort $4 over IPv$family" \
				${source:+"$source"}
		done
	done
}

service_allows "no policy" web 1 2 3 4 8
service_allows "no policy" shut 1 2
port net_allowed "no policy" out 30008 172.17.1.9 fd17:1::9
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
service_allows told web 1 2 4
service_denies told web 3 8
service_denies told shut 1 2
service_denies told wide 1 2
port net_allowed told web 30001
port net_allowed told web 31002
port net_denied told web 30003
port net_denied told web 31008
port net_denied told shut 30001
for first in 30001 31001; do
	port net_allowed told out $first
	port net_allowed told out $first 172.17.0.9 fd17::9
	port net_denied told out $first 172.17.1.9 fd17:1::9
done
net_check "load a policy that allows the other backends" net_bulkhead load "$NET_TMP/other.ini"
service_allows other web 3 8
service_denies other web 1 2
net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
service_allows range web 1 2
service_denies range web 3 8
service_denies range shut 1 2
net_check "unload" net_bulkhead unload
net_end
