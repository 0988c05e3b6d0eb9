#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands of the maps name the domain names by which a pod has learned an address: trace, monitor, matrix,
# recommend. The packets that the pod sends have the verdict that the commands say.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

net_start web other
for n in 1 2 3; do
	ip -n "$NET-out" addr add 172.18.0.$n/32 dev lo
	ip -n "$NET-out" addr add fd18::$n/128 dev lo
done

traces() { # STATUS PATTERN TO [FROM] [PORT]
	net_ends "$1" "$2" net_bulkhead trace --from "shop/${4:-web}" --to "$3" --port "${5:-TCP/80}"
}

policy "Accept to names(api.example.com, *.svc.example.org) ports TCP/80" >"$NET_TMP/policy.ini"
net_check "load a policy with names" net_bulkhead load --set dns-grace=0 "$NET_TMP/policy.ini"
net_check "trace says that nothing is learned yet" \
	traces 0 "has learned no address by it: it must ask" name:api.example.com
net_check "trace denies an address that nobody has learned" traces 1 "^deny " 172.18.0.1
net_denied web tcp 172.18.0.1 80 "the address that nobody has learned is closed"

dns_answers ttl=3000 a=172.18.0.1
dns_asks web API.example.com
net_check "trace of the address names the name and its time" \
	traces 0 "learned  by the name api.example.com, for [0-9]* s still" 172.18.0.1
net_check "trace of the address gives the name as the reason" \
	traces 0 "egress   allow admin names/egress.1.: by the name api.example.com" 172.18.0.1
net_check "trace of another port denies, and names the name" traces 1 "learned  by the name api.example.com" \
	172.18.0.1 web TCP/443
net_check "trace denies the address to another pod" traces 1 "^deny " 172.18.0.1 other
net_check "trace of the name lists the address" \
	traces 0 "allow 172.18.0.1, learned, for [0-9]* s still" name:api.example.com.
net_check "trace of the name at another port denies" traces 1 "deny 172.18.0.1, learned" \
	name:api.example.com web TCP/443
net_check "trace explains the name by the maps" net_ends 0 "egress.1.  *allows" \
	net_bulkhead trace -v -f shop/web -t name:api.example.com -P TCP/80
net_check "trace explains the address by the maps" net_ends 0 "egress.1.  *allows" \
	net_bulkhead trace -v -f shop/web -t 172.18.0.1 -P TCP/80
net_check "trace in JSON has the name and the seconds" net_ends 0 \
	'"domain_name":"api.example.com".*"learned_names":.{"name":"api.example.com","seconds":[0-9]*,"over":false' \
	net_bulkhead trace -j -f shop/web -t 172.18.0.1 -P TCP/80
net_check "trace of a name without a rule says so" traces 1 "no rule has a name for it" name:www.example.com
net_check "matrix has the names as peers" net_ends 0 "name:api.example.com" net_bulkhead matrix --pods --port TCP/80

net_watch "$NET_TMP/events"
net_allowed web tcp 172.18.0.1 80 "the learned address is open"
net_check "monitor names the name of a connection" \
	net_is "$(net_seen "$NET_TMP/events" | grep -o 'name:api.example.com (172.18.0.1:80)' | sort -u)" \
	"name:api.example.com (172.18.0.1:80)"
net_denied web tcp 172.18.0.1 443 "another port of the learned address is closed"
net_check "monitor names the name of a drop" \
	net_is "$(net_seen "$NET_TMP/events" | grep drop | grep -o 'name:api.example.com (172.18.0.1:443)' | sort -u)" \
	"name:api.example.com (172.18.0.1:443)"
kill "$net_reader"

dns_answers ttl=3000 aaaa=fd18::2
dns_asks web www.svc.example.org AAAA
net_check "trace of an IPv6 address names the wildcard" \
	traces 0 "learned  by the name \*.svc.example.org, for" fd18::2
net_check "trace of a name lists the address that its wildcard taught" \
	traces 0 "allow fd18::2, learned" name:www.svc.example.org
net_allowed web tcp fd18::2 80 "the IPv6 address is open"

dns_answers ttl=3000 a=172.18.0.1
dns_asks web other.svc.example.org
net_check "lint finds two names at one address" net_ends 1 \
	"names/egress.1.: \*.svc.example.org and api.example.com are both the address 172.18.0.1 .*shared-address" \
	net_bulkhead lint --learned "$NET_TMP/policy.ini"
net_check "lint without --learned finds no names at one address" bash -c \
	"! '$BULKHEAD' lint '$NET_TMP/policy.ini' | grep shared-address"

# An answer whose time is over.
dns_answers ttl=0 a=172.18.0.3
dns_asks other api.example.com
over() {
	until traces 1 "learned  by the name api.example.com, and its time is over" 172.18.0.3 other; do
		sleep 0.2
	done >/dev/null
}
net_check "trace says that the name's time is over" over
# The command's clock may be ahead of the kernel's jiffies by a tick, 0.3 s.
sleep 1
net_denied other tcp 172.18.0.3 80 "the address is closed when the time is over"
net_check "trace of the name says that its time is over" \
	traces 0 "172.18.0.3, learned, and its time is over" name:api.example.com other
net_end
