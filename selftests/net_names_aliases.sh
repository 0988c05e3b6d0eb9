#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The names along a chain of CNAMEs: they count by dns-aliases=1, also if no policy has the name that was asked for.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS=80
net_start web
dns_pods=web
for n in 1 2 3 4; do
	ip -n "$NET-out" addr add 172.18.0.$n/32 dev lo
	ip -n "$NET-out" addr add fd18::$n/128 dev lo
done
policy "Accept to names(api.example.com)" >"$NET_TMP/policy.ini"

asks() { # N WORD...: answers with these words, and then with address N
	dns_answers "${@:2}" a="172.18.0.$1" aaaa="fd18::$1"
	for type in A AAAA; do
		dns_asks web alias.example.org $type udp
	done
}
both() { # allowed|denied N NAME
	"net_$1" web tcp "172.18.0.$2" 80 "$3"
	"net_$1" web tcp "fd18::$2" 80 "$3, IPv6"
}

net_check "load a policy with a name" net_bulkhead load "$NET_TMP/policy.ini"
asks 1 cname=api.example.com
both denied 1 "without dns-aliases a name along the chain opens nothing"

net_check "unload" net_bulkhead unload
net_check "load it with dns-aliases=1" net_bulkhead load --set dns-aliases=1 "$NET_TMP/policy.ini"
asks 2 cname=api.example.com
both allowed 2 "with dns-aliases=1 the name at the end of the chain opens the address"
asks 3 cname=api.example.com cname=far.example.net
both allowed 3 "with dns-aliases=1 a name in the middle of the chain opens the address"
asks 4 cname=other.example.net
both denied 4 "with dns-aliases=1 a chain without a policy's name opens nothing"
net_end
