#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A `monitor` whose output is read slowly takes longer for the events of a flood than programs write for a reader
# that is silent (5 s), and reports those of the time afterwards all the same.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db quiet noisy
{
	net_head "uplink = eth0"
	for pod in db quiet noisy; do
		net_endpoint $pod
	done
	printf '%s\n' "[network-policy shop/closed]" "endpoints = role in (quiet, noisy)" "types = Egress"
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load --set event-rate=4000 "$NET_TMP/policy.ini"

# The flood's 4,000 events are 2 MB, of which 16 KiB are read in 0.12 s: in 14 s or more.
read_slowly() {
	local hold
	# shellcheck disable=SC2034 # keeps the pipe open
	mkfifo "$NET_TMP/events" && exec {hold}<>"$NET_TMP/events" || return
	while dd bs=16384 count=1 iflag=fullblock 2>/dev/null; do
		sleep 0.12
	done <"$NET_TMP/events" >"$NET_TMP/read" &
	NET_SERVERS+=($!)
	net_watch "$NET_TMP/events" -j
}
net_check "monitor starts" read_slowly
net_check "noisy sends 4,000 datagrams that policy denies" \
	net_frame noisy -n 4000 -p eth0 "$(net_mac noisy)" 02:00:00:00:02:01 udp "$(net_ip noisy)" "$(net_ip db)" 9
sleep 7
net_check "monitor still writes the flood's events after seven seconds" \
	test "$(wc -c <"$NET_TMP/read")" -lt 1400000
net_check "quiet sends what policy denies" net_on quiet bash -c "echo -n '?' >/dev/udp/$(net_ip db)/1234"
# dd waits for 16 KiB: further events follow, to another port.
reported() {
	local i
	for ((i = 0; i < 600; i++)); do
		grep -qF 'UDP/1234"' "$NET_TMP/read" && return
		net_on quiet bash -c "for i in {1..10}; do echo -n '?' >/dev/udp/$(net_ip db)/7; done"
		sleep 0.1
	done
	return 1
}
net_check "monitor reports what quiet sent meanwhile" reported
net_end
