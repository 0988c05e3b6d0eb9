#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Endpoints come and go, at each other's addresses and at new ones: monitor, trace, matrix, show and status
# always print the endpoints and the active policy.
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
	net_check "$1: show endpoints has $2" says "^$2 " net_bulkhead show endpoints
	net_check "$1: show endpoints does not have $3" never "$3" net_bulkhead show endpoints
	net_check "$1: show segments has $2" says "$2" net_bulkhead show segments
	net_check "$1: show segments does not have $3" never "$3" net_bulkhead show segments
	net_check "$1: matrix has $2" says "$2" net_bulkhead matrix --port TCP/80
	net_check "$1: matrix does not have $3" never "$3" net_bulkhead matrix --port TCP/80
	net_check "$1: trace has $2" says "^allow $2" trace "$2" shop/db
	net_check "$1: trace does not have $3" says "$3: no such endpoint" trace "$3" shop/db
}
watched() { # what monitor says of one packet from app's address to db
	net_watch "$NET_TMP/watched"
	net_datagram app "$db4" 9
	net_seen "$NET_TMP/watched"
	kill "$net_reader"
}
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
shown "as loaded" shop/app shop/other
net_check "monitor names shop/app" says "shop/app" watched

net_check "delete app" net_bulkhead endpoint del shop/app
net_check "trace does not have the deleted app" says "shop/app: no such endpoint" trace shop/app shop/db
net_check "trace has app's address as nobody's" says "^deny $app4" trace "$app4" shop/db
net_check "show endpoints does not have the deleted app" never shop/app net_bulkhead show endpoints
net_check "monitor does not name the deleted app" never shop/app watched
net_check "add another endpoint at app's address" \
	net_bulkhead endpoint add shop/other --ip "$app4, $app6" --labels role=web
shown "with another endpoint" shop/other shop/app
net_check "monitor names the other endpoint" says "shop/other" watched
net_check "monitor does not name app" never "shop/app" watched
net_check "status does not have app" never shop/app net_bulkhead status
net_check "delete the other endpoint" net_bulkhead endpoint del shop/other
net_check "add app at another address" \
	net_bulkhead endpoint add shop/app --ip "$late4" --labels role=web
net_allowed late tcp "$db4" 80 "app sends what its labels allow"
net_denied late tcp "$db4" 443 "app sends nothing else"
net_check "trace has app at the new address" says "^allow shop/app ($late4)" trace shop/app shop/db
net_check "trace has the old address as nobody's" says "^deny $app4" trace "$app4" shop/db
net_check "show endpoints has app's new address" says "^shop/app .*$late4" net_bulkhead show endpoints
net_check "show endpoints does not have app's old address" never "$app4" net_bulkhead show endpoints

net_end
