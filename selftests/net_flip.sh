#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Flips between two policies, and kills on the way, while traffic flows: not a packet is judged by a
# mixture. FLIPS and KILLS say how many; `make check` runs a short one.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

FLIPS=${FLIPS:-60}
KILLS=${KILLS:-20}
NET_PORTS=80
net_start db web
here=$(dirname "$NET_PROBE")
db4=$(net_ip db)

# Port 1001 is always allowed. 1002 is denied by the one policy at its source and by the other at
# its destination. 1003 is allowed by one of them only, 1004 by the other only.
policy() { # INGRESS EGRESS
	cat <<-EOF2
	[bulkhead]
	node = worker-1
	[endpoint shop/db]
	node = worker-1
	ip = $db4
	labels = role=db
	[endpoint shop/web]
	node = worker-1
	ip = $(net_ip web)
	labels = role=web
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports $1
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=db) ports $2
	EOF2
}
policy "UDP/1001, UDP/1002, UDP/1003" "UDP/1001, UDP/1003, UDP/1004" >"$NET_TMP/one.ini"
policy "UDP/1001, UDP/1003, UDP/1004" "UDP/1001, UDP/1002, UDP/1004" >"$NET_TMP/two.ini"

stream() { # HOST ARGUMENT...: its counts go to HOST.counts, its process to $!
	local host=$1
	shift
	nsenter --net="/run/netns/$NET-$host" "$here/stream" "$@" </dev/null \
		>"$NET_TMP/$host.counts" 2>&1 &
	NET_SERVERS+=($!)
	until grep -q ready "$NET_TMP/$host.counts"; do
		kill -0 $! 2>/dev/null || exit 1
		sleep 0.05
	done
}
count() { # HOST PORT
	sed -n "s/^$2 //p" "$NET_TMP/$1.counts"
}

flips() {
	local i
	for ((i = 0; i < FLIPS; i++)); do
		net_bulkhead load "$NET_TMP/two.ini" && net_bulkhead load "$NET_TMP/one.ini" || return
	done
}

# Killed anywhere in the middle; the next load repairs and flips.
kills() {
	local i
	for ((i = 0; i < KILLS; i++)); do
		net_fault state $((15 + i % 25)) kill load "$NET_TMP/two.ini"
		net_bulkhead load "$NET_TMP/one.ini" || return
	done
}

net_check "load" net_bulkhead load "$NET_TMP/one.ini"
stream db recv 1001 1002 1003 1004
receiver=$!
stream web send "$db4" 1001 1002 1003 1004
sender=$!
net_check "$((2 * FLIPS)) flips" flips
net_check "$KILLS kills" kills
kill $sender && wait $sender
sleep 0.3
kill $receiver && wait $receiver
sed 's/^/# sent to /' "$NET_TMP/web.counts"
sed 's/^/# received at /' "$NET_TMP/db.counts"

net_check "something was sent" test "$(count web 1001)" -gt 100
net_check "of what both allow, nothing was lost" test "$(count db 1001)" -eq "$(count web 1001)"
net_check "of what neither allows at both ends, nothing arrived" test "$(count db 1002)" -eq 0
net_check "what only the first allows came while it was in force" test "$(count db 1003)" -gt 0
net_check "and not while the other was" test "$(count db 1003)" -lt "$(count web 1003)"
net_check "what only the second allows came while it was in force" test "$(count db 1004)" -gt 0
net_check "and not while the first was" test "$(count db 1004)" -lt "$(count web 1004)"
# Each flip may find one round half sent.
both=$(($(count db 1003) + $(count db 1004) - $(count web 1003)))
net_check "the two hand over to each other at each flip" test "${both#-}" -le $((2 * FLIPS + 2 * KILLS))

net_end
