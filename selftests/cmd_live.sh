#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What trace, matrix and show say of the maps in force: the same as of the inputs that were loaded.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web
cat >"$NET_TMP/policy.ini" <<END
[endpoint shop/db]
node = worker-1
ip = $(net_ip db), $(net_ip6 db)
labels = role=db
port = api TCP/443

[endpoint shop/web]
node = worker-1
ip = $(net_ip web), $(net_ip6 web)

[network-policy shop/db]
endpoints = role=db
ingress = from cidr(172.17.0.0/16 except 172.17.1.0/24) ports TCP/80
ingress = from endpoints() ports api
END
for from in shop/db shop/web 172.17.0.9 172.17.1.9 fd07::2; do
	for port in TCP/80 TCP/443 UDP/443 ICMP; do
		echo "$from shop/db $port"
		echo "shop/db $from $port"
	done
done >"$NET_TMP/flows"

says() { # NAME PATTERN ARGUMENT...: of the maps
	local name=$1 pattern=$2
	shift 2
	net_check "$name" sh -c 'pattern=$1; shift; "$@" | grep -E -- "$pattern"' - "$pattern" \
		"$BULKHEAD" "$@" --pin "$NET_PIN"
}

nothing_in_force() {
	net_bulkhead trace --batch "$NET_TMP/flows" 2>"$NET_TMP/why"
	[ $? -eq 2 ] && grep 'nothing is in force' "$NET_TMP/why"
}

same() { # ARGUMENT...: of the maps and of the input
	"$BULKHEAD" "$@" --pin "$NET_PIN" >"$NET_TMP/maps" &&
		"$BULKHEAD" "$@" "$NET_TMP/policy.ini" >"$NET_TMP/input" &&
		[ -s "$NET_TMP/maps" ] && diff "$NET_TMP/maps" "$NET_TMP/input"
}

explains_nothing() {
	set -- trace --from shop/web --to shop/db --port TCP/443
	"$BULKHEAD" "$@" -v --pin "$NET_PIN" >"$NET_TMP/maps" 2>"$NET_TMP/why" &&
		"$BULKHEAD" "$@" "$NET_TMP/policy.ini" >"$NET_TMP/input" &&
		diff "$NET_TMP/maps" "$NET_TMP/input" && grep 'give the INPUT' "$NET_TMP/why"
}

net_check "before load, there is nothing to ask" nothing_in_force
net_check "load" net_bulkhead load -n worker-1 "$NET_TMP/policy.ini"
net_check "trace" same trace --batch "$NET_TMP/flows"
net_check "trace in JSON" same -j trace --batch "$NET_TMP/flows"
net_check "trace -v has the decisions, and says what the maps lack" explains_nothing
net_check "matrix" same matrix --port TCP/80,TCP/443
net_check "show segments" same show segments
net_check "show endpoints" same -p show endpoints

net_allowed web tcp "$(net_ip db)" 443 "a connection that a rule allows"
net_denied web tcp "$(net_ip db)" 80 "and one that none does"
says "the rule has a hit" ' +[1-9][0-9]*  shop/db/ingress\[1\]$' show rules
says "the other has none" ' +0  shop/db/ingress\[0\]$' show rules
says "the denial is counted" '^drop +[1-9][0-9]* packets .*destination.s policy$' show counters
says "the connection is known" "^$(net_ip web) +$(net_ip db) +TCP/443 .*ingress allow$" show conntrack
says "and in JSON" '"destination":"'"$(net_ip db)"'","port":"TCP/443"' -j show conntrack
says "the generation" '^in force as generation [1-9]' show generation

net_end
