#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A flood of a million SYNs, each from another source, to a port that policy allows: many times the capacity
# of the table of connections. No open connection is lost, and hosts outside connect meanwhile.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

# FLOOD: over each version of IP. The smaller one is more than a table of 16,384, all the same.
FLOOD=500000 LIVE=250
[ -z "${BULKHEAD_SMALL:-}" ] || FLOOD=20000 LIVE=25
NET_PORTS="80 81"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web eth0)
[network-policy shop/db]
endpoints = role=db
ingress = from cidr(0.0.0.0/0), cidr(::/0) ports TCP/80, TCP/5000-5999
EOF

# Opens LIVE connections from HOST to db, all held by one process.
hold() { # HOST ADDRESS PORT
	net_check "$LIVE connections from $1 to $2" net_hold "$1" db "$2" "$3" $LIVE
}

all_alive() { # WHEN
	local port
	for port in 5001 5002 5003 5004; do
		net_check "$1: the connections to port $port are alive" net_is "$(net_alive $port)" $LIVE
	done
}

# A queue between the hosts may drop some SYNs; most must arrive.
flood() { # REASONS SOURCE DESTINATION PORT: how many of FLOOD were counted for that reason
	local before
	before=$(count "$1")
	net_frame out -n $FLOOD eth0 02:00:00:00:07:02 02:00:00:00:07:01 syn "$2" "$3" "$4"
	test $(($(count "$1") - before)) -gt $((FLOOD * 9 / 10))
}

count() { # REASONS, as sed -E knows alternatives: all together
	net_counters | sed -nE "s/^[a-z]* ([0-9]*) ($1)$/\1/p" | awk '{ n += $1 } END { print n + 0 }'
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_nobody out 198.18.0.0/15 2001:2::/48
hold web "$db4" 5001
hold web "$db6" 5002
hold out "$db4" 5003
hold out "$db6" 5004
all_alive "before the flood"

opened="opens a connection that policy allows|beyond the endpoint's share of connections" denied="denied by the destination's policy"
net_check "a flood of $FLOOD SYNs over IPv4 arrives" flood "$opened" 198.18.0.0 "$db4" 80
net_check "a flood of $FLOOD SYNs over IPv6 arrives" flood "$opened" 2001:2:: "$db6" 80
all_alive "after the flood"
net_check "a flood of $FLOOD SYNs to a denied port arrives" flood "$denied" 198.18.0.0 "$db4" 81
all_alive "after that"
net_allowed web tcp "$db4" 80 "a new connection opens after the floods"

net_end
