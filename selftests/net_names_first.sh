#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The first SYN: a pod that connects as soon as it has an answer never meets a hook that does not know the address yet.
# Each answer has an address that the pod has not learned before. The policy denies no packet of 10,000 connections
# over each IP version, and of those whose answers come over TCP. A late one had its SYN sent again, since the
# listener was full.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS=80
TIMES=10000
[ -z "${BULKHEAD_SMALL:-}" ] || TIMES=200
net_start web
ip -n "$NET-out" route add local 198.18.0.0/16 dev lo
ip -n "$NET-out" -6 route add local fd98::/64 dev lo
dns_pods=web dns_resolvers="$out4, $(net_ip6 out)"
policy "Accept to names(api.example.com) ports TCP/80" >"$NET_TMP/policy.ini"
net_check "load a policy with a name" net_bulkhead load --set dns-grace=0 "$NET_TMP/policy.ini"
for address in "$out4" "$(net_ip6 out)"; do
	net_server out "$NET_TMP/dns" "$DNS" serve "$address" ttl=60 each
done

denied() {
	net_counters | sed -n "s/^drop \([0-9]*\) denied by the source's policy$/\1/p"
}

races() { # NAME TIMES udp|tcp RESOLVER TYPE
	local before said
	before=$(denied)
	said=$(net_on web "$DNS" race "$2" "$3" "$4" api.example.com 80 "$5")
	echo "# $1: $said"
	net_check "$1: $2 times an answer and a connection, none lost" net_is "${said%%,*}" "0 lost"
	net_check "$1: no SYN is denied" net_is "$(denied)" "$before"
}

net_denied web tcp 198.18.200.1 80 "an address that no answer had"
net_denied web tcp fd98::f001 80 "an IPv6 address that no answer had"
races "IPv4" $TIMES udp "$out4" A
races "IPv6" $TIMES udp "$(net_ip6 out)" AAAA
races "IPv4 by an answer over IPv6" $((TIMES / 10)) udp "$(net_ip6 out)" A
races "IPv6 by an answer over IPv4" $((TIMES / 10)) udp "$out4" AAAA
races "IPv4 by TCP" $((TIMES / 10)) tcp "$out4" A
races "IPv6 by TCP" $((TIMES / 10)) tcp "$(net_ip6 out)" AAAA
net_end
