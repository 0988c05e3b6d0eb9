#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The first load sets for all programs which events they report.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web eth0)
[network-policy shop/db]
endpoints = role=db
ingress = ports UDP/80
EOF

load() { # NAME=VALUE...: and a reader
	local set=()
	for value; do
		set+=(--set "$value")
	done
	net_bulkhead load "${set[@]}" "$NET_TMP/policy.ini" && net_watch "$NET_TMP/watched" --each
}
again() { # NAME=VALUE...: as the first load
	net_bulkhead unload && load "$@"
}
# Sends packets from one CPU: the event limits are per CPU.
datagrams() { # PORT
	net_on web taskset -c 0 bash -c \
		"for i in {1..8}; do echo -n '?' >/dev/udp/$(net_ip db)/$1; done"
}
syns() {
	for _ in {1..8}; do
		net_on out taskset -c 0 "$NET_PROBE" ask tcp "$(net_ip db)" 9 50
	done
}
events() { # PATTERN
	net_seen "$NET_TMP/watched" | grep -c -- "$1"
}
drops() {
	net_counters | awk '/^drop .*denied by the destination/ { print $2 }'
}

net_check "load with the default settings" load
datagrams 9
net_check "by default each drop is an event" net_is "$(events ' drop .*:9)')" 8
datagrams 80
net_check "by default each connection that opens is an event" net_is "$(events ' pass .*:80)')" 8
net_check "load with event-rate=0" again event-rate=0
datagrams 9
syns
net_check "with event-rate=0 there is no event" net_is "$(events .)" 0
net_check "with event-rate=0 drops are counted" test "$(drops)" -ge 16
net_check "load with event-sample=4" again event-sample=4
datagrams 9
net_check "with event-sample=4 every fourth drop is an event" net_is "$(events ' drop .*:9)')" 2
net_check "with event-sample=4 every drop is counted" net_is "$(drops)" 8
net_check "load with event-sample=4 again" again event-sample=4
syns
net_check "with event-sample=4 every fourth drop at the uplink is an event" net_is "$(events ' drop .*uplink')" $(($(drops) / 4))
net_check "load with event-rate=2" again event-rate=2
datagrams 9
net_check "with event-rate=2 there are four events at most" test "$(events ' drop .*:9)')" -le 4
net_check "with event-rate=2 every drop is counted" net_is "$(drops)" 8
left_out() { # told of once a second
	local i
	for ((i = 0; i < 60; i++)); do
		! grep -qE " [456] more events of packets from shop/web \(veth-web\) are left out" "$NET_TMP/watched" ||
			return 0
		sleep 0.3
	done
	return 1
}
net_check "with event-rate=2 the number of events left out is printed" left_out
net_check "load with event-allow=0" again event-allow=0
datagrams 80
datagrams 9
net_check "with event-allow=0 only drops are events" net_is "$(events .) $(drops)" "8 8"

net_end
