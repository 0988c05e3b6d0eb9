#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Endpoints come and go, at each other's addresses and at new ones: monitor, trace, matrix, show and status
# always print the endpoints and the policy in force.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web app late
db4=$(net_ip db) app4=$(net_ip app) app6=$(net_ip6 app) late4=$(net_ip late)
{
	net_policy_of TCP/80 TCP/80
	net_endpoint app "labels = role=web"
} >"$NET_TMP/policy.ini"

says() { # PATTERN COMMAND...
	"${@:2}" >"$NET_TMP/out" 2>&1
	grep -- "$1" "$NET_TMP/out" || { cat "$NET_TMP/out" && false; }
}
never() { # PATTERN COMMAND...
	! says "$@"
}
trace() { # FROM TO
	net_bulkhead trace --from "$1" --to "$2" --port TCP/80
}
shown() { # NAME PRESENT ABSENT: by every command that names endpoints
	net_check "$1: show endpoints" says "^$2 " net_bulkhead show endpoints
	net_check "$1: and no other" never "$3" net_bulkhead show endpoints
	net_check "$1: show segments" says "$2" net_bulkhead show segments
	net_check "$1: and no other" never "$3" net_bulkhead show segments
	net_check "$1: matrix" says "$2" net_bulkhead matrix --port TCP/80
	net_check "$1: and no other" never "$3" net_bulkhead matrix --port TCP/80
	net_check "$1: trace knows it" says "^allow $2" trace "$2" shop/db
	net_check "$1: and no other" says "$3: no such endpoint" trace "$3" shop/db
}
watched() { # what monitor says of one packet from app's address to db
	net_watch "$NET_TMP/watched"
	net_datagram app "$db4" 9
	net_seen "$NET_TMP/watched"
	kill "$net_reader"
}
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
shown "as loaded" shop/app shop/other
net_check "monitor names it" says "shop/app" watched

for peers in all needed; do
	net_check "load, of $peers" net_bulkhead load --force --peers $peers "$NET_TMP/policy.ini"
	net_check "app goes" net_bulkhead endpoint del shop/app
	net_check "trace knows it no more" says "shop/app: no such endpoint" trace shop/app shop/db
	net_check "nor its address" says "^deny $app4" trace "$app4" shop/db
	net_check "nor does show" never shop/app net_bulkhead show endpoints
	net_check "nor monitor" never shop/app watched
	net_check "another comes to its address" \
		net_bulkhead endpoint add shop/other --ip "$app4, $app6" --labels role=web
	shown "with $peers" shop/other shop/app
	net_check "monitor names it" says "shop/other" watched
	net_check "and not who was there" never "shop/app" watched
	net_check "status, too, has it alone" never shop/app net_bulkhead status
	net_check "and goes" net_bulkhead endpoint del shop/other
	net_check "app comes back, by another address" \
		net_bulkhead endpoint add shop/app --ip "$late4" --labels role=web
	net_allowed late tcp "$db4" 80 "it may what it is"
	net_denied late tcp "$db4" 443 "and no more"
	net_check "trace says so" says "^allow shop/app ($late4)" trace shop/app shop/db
	net_check "and of its old address, not" says "^deny $app4" trace "$app4" shop/db
	net_check "show has the new one" says "^shop/app .*$late4" net_bulkhead show endpoints
	net_check "and not the old" never "$app4" net_bulkhead show endpoints
done

net_end
