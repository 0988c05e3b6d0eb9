#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The past: the kernel keeps the last drops of each endpoint without any reader. `monitor --last` and `--since` print
# them, with names, rules and filters, `status` names the endpoints, and an endpoint that comes later has none.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web other
policy() {
	net_head "uplink = eth0"
	net_endpoint db
	net_endpoint web
	net_endpoint other
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role in (db, other)
	types = Ingress, Egress
	ingress = from endpoints(role=web) ports UDP/80
	EOF2
}
policy >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
past() { # ARGUMENT...
	net_bulkhead monitor "$@"
}
lines() { # PATTERN ARGUMENT...: how many kept drops have the pattern
	past "${@:2}" | grep -cE -- "$1"
}
kept() { # NUMBER PATTERN ARGUMENT...: waits until so many are kept, since a host sends in its own time
	local i
	for ((i = 0; i < 100; i++)); do
		[ "$(lines "${@:2}")" = "$1" ] && return
		sleep 0.1
	done
	past "${@:3}" | sed 's/^/# /'
	return 1
}
net_check "no drop is kept at the start" net_is "$(lines 'shop/' --last 100 --verdict drop)" 0
net_check "status names no endpoint at the start" test -z "$(net_bulkhead status | grep 'last minute')"

net_datagram web "$(net_ip db)" 80
net_datagram web "$(net_ip db)" 9
net_datagram web "$(net_ip6 db)" 10
net_check "a drop over IPv4 is kept with its names and the policy" kept 1 \
	'drop +shop/web .*-> shop/db .*UDP/9 .*network-policy, isolated by shop/db' --last 100
net_check "a drop over IPv6 is kept" kept 1 'drop +shop/web .*-> shop/db .*UDP/10 ' --last 100
net_check "a packet that passes is not kept" net_is "$(lines 'UDP/80 ' --last 100)" 0
net_check "--last 1 prints the latest" net_is "$(lines 'UDP/10 ' --last 1)/$(past --last 1 | wc -l)" 1/1
net_check "--since has the drops of that time" net_is "$(lines 'UDP/(9|10) ' --since 1h)" 2
net_check "--port selects" net_is "$(lines 'UDP/9 ' --last 9 --port UDP/9)/$(lines . --last 9 --port UDP/9)" 1/1
net_check "where no kept drop is of that filter, a note says so" net_ends 0 \
	'^note: no kept drop is of this time and filter; `show counters` counts all drops' net_bulkhead monitor --last 9 --port UDP/80
net_check "where a kept drop is, there is no note" bash -c "! '$BULKHEAD' monitor --pin '$NET_PIN' --last 9 2>&1 | grep '^note'"
net_check "--endpoint selects" net_is "$(lines . --last 9 --endpoint shop/db)/$(lines . --last 9 --endpoint shop/other)" 2/0
net_check "--from and --address select" \
	net_is "$(lines . --last 9 --from shop/web)/$(lines . --last 9 --to shop/web)/$(lines . --last 9 --address "$(net_ip6 db)")" 2/0/1
net_check "-j prints lines of JSON" net_ends 0 '"verdict":"drop".*"name":"shop/web"' net_bulkhead monitor --last 1 -j
net_check "status names the endpoint" net_ends 0 'drops in the last minute: shop/db (2)' net_bulkhead status
net_check "status -j has the endpoint" net_ends 0 '"recent_drops":\[{"name":"veth-db","endpoint":"shop/db","drops":2}\]' \
	net_bulkhead status -j

# A terminal has one line for each drop: names, the port and the cause.
terminal() { # ARGUMENT...: of monitor, in a terminal of 80 columns
	env -u NO_COLOR -u COLUMNS TERM=xterm script -qec "stty cols 80; nsenter --net=/run/netns/$NET-node $BULKHEAD monitor \
		--pin $NET_PIN $*" /dev/null </dev/null | tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g'
}
terminal --last 9 >"$NET_TMP/terminal"
net_check "a terminal has the time of UTC, names, port and cause" grep -qE \
	'^[0-9:]{8}Z drop  shop/web -> shop/db UDP/9: ingress, isolated by shop/db$' "$NET_TMP/terminal"
net_check "no line is wider than the terminal" test "$(awk 'length > n { n = length } END { print n + 0 }' "$NET_TMP/terminal")" -le 80
net_check "a file has whole lines, also where a shell has exported COLUMNS" net_ends 0 \
	"drop  shop/web ($(net_ip web):.*UDP/9 .*isolated by shop/db" net_on node env COLUMNS=40 "$BULKHEAD" monitor --pin "$NET_PIN" --last 9
net_check "a terminal with -v has addresses" grep -qF "shop/web ($(net_ip web):" <(terminal --last 9 -v)

# Like packets are one record; the records of one endpoint do not displace another's.
for _ in 1 2 3 4 5; do net_datagram web "$(net_ip other)" 9; done
net_check "like packets are one record with a number" kept 1 'shop/other .*UDP/9 .*; 4 more' --last 100
for port in $(seq 1000 1019); do net_datagram web "$(net_ip other)" "$port"; done
net_check "the last eight drops of an endpoint are kept" kept 8 'shop/other .*UDP/10[0-9]*' --last 100 --endpoint shop/other
net_check "the latest of them is the last that was sent" net_is "$(lines 'UDP/1019 ' --last 1 --endpoint shop/other)" 1
net_check "another endpoint's records are still kept" net_is "$(lines . --last 100 --endpoint shop/db)" 2
net_check "a denied egress is kept at the sender" net_is \
	"$(net_datagram db "$(net_ip web)" 5; lines 'shop/db .*-> shop/web .*egress: deny' --last 1 --from shop/db)" 1

# Kept drops need no reader's place.
net_check "--last prints what is kept, and ends" net_ends 0 . timeout 20 "$BULKHEAD" monitor --pin "$NET_PIN" --last 3
net_check "--since refuses what is no time" net_ends 2 'not a time' net_bulkhead monitor --since 5x
net_check "--last refuses -c" net_ends 2 'leave -o' net_bulkhead monitor --last 5 -c 3

# An endpoint that is gone takes its past along.
net_check "delete other" net_bulkhead endpoint del shop/other
ip -n "$NET-node" link del veth-other
net_check "load without other" net_bulkhead load --force <(policy | sed '/\[endpoint shop\/other\]/,/^$/d; /role=other/d')
net_check "the past of an endpoint that is gone is deleted" kept 0 'UDP/1019 ' --last 100
net_check "the past of the others stays" net_is "$(lines 'UDP/(9|10) ' --last 100)" 2
net_end
