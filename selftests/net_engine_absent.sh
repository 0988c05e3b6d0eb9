#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that starts does not know all collections, and a proxy that has no server knows none: both answer 404. An
# engine that begins then does not take that for a cluster without policies, and one that lists again keeps those that it
# has. A collection that a server lacks that is ready has no objects.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
api_start
api_pods worker-1 db web
lacks() { # PART: what the server lacks from now on, while it is not ready; "": nothing
	api PUT /test/fail "${1:+404 $1}" >/dev/null
}
asked() { # PART: how often
	api GET "/test/count?$1"
}
asked_since() { # PART COUNT
	[ "$(asked "$1")" -gt "$2" ]
}
guarded() { # both pods
	[ "$(net_bulkhead endpoint list 2>/dev/null | grep -c '^shop/')" = 4 ] &&
		net_bulkhead metrics | grep -qx "bulkhead_endpoints_unguarded 0"
}
protected() { # WHEN
	local address
	for address in "$(net_ip db)" "$(net_ip6 db)"; do
		net_denied web tcp "$address" 443 "$1, web does not reach $address at 443"
		net_allowed web tcp "$address" 80 "$1, web reaches $address at 80"
	done
}

net_check "a policy" api_db_at POST "" 80
api_engine one
api_follower worker-1
net_check "the follower guards both pods" api_await guarded
protected "at first"

api_end engine-one TERM
wanted=$(api_wanted) seen=$(asked GET_/readyz)
net_check "the server lacks the policies" lacks /networkpolicies
api_engine two --node-limit 20
net_check "the next engine asks whether the server is ready" api_await asked_since GET_/readyz $((seen + 1))
net_check "the engine says that it does not take the policies for deleted" api_await grep -q \
	'/networkpolicies: is not there (404), and the server does not say at /readyz' "$NET_TMP/engine-two.log"
net_pause 2
net_check "the engine makes no policy" net_is "$(api_wanted)" "$wanted"
protected "while the server lacks the policies"
net_check "the server has the policies again" lacks ""
net_check "another policy is rolled out" eval 'api_db_at PUT /db 443 && api_await api_rolled_out "${wanted% *}"'
net_check "the follower has it" api_await net_ask web tcp "$(net_ip db)" 443 1
net_denied web tcp "$(net_ip db)" 80 "web does not reach db at 80 by the new policy"
net_end
