#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The API server refuses what the engine publishes, and takes all else, as where a role is missing: the engine tries again
# ever more rarely, though objects change all the time, and goes on once the server takes it.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start
api_start
api_node worker-1
api_obeys worker-1
api_engine one --node-limit 20
net_check "the engine rolls out" api_await api_rolled_out 0
tries() { # how often the engine wrote a policy
	api GET "/test/count?POST_/apis/bulkhead.dev/v1alpha1/policygenerations_"
}
tried() { # TIMES
	[ "$(tries)" -ge "$1" ]
}
changes() { # TIMES: one every tenth of a second
	local i
	for ((i = 0; i < $1; i++)); do
		api_change || return
		net_pause 0.1
	done
}
api PUT /test/fail "403 POST /apis/bulkhead.dev/v1alpha1/policygenerations " >/dev/null
before=$(tries) wanted=$(api_wanted)
net_check "a policy changes a hundred times" changes 100
net_check "the engine has tried again" tried $((before + 3))
net_check "the engine has tried at most ten times: $(($(tries) - before))" test "$(tries)" -le $((before + 10))
net_check "no other policy is wanted" net_is "$(api_wanted)" "$wanted"
api PUT /test/fail 0 >/dev/null
net_check "the engine rolls out what has changed" api_await api_rolled_out "${wanted% *}"
net_check "the engine said why" api_logged engine-one warning "engine: a policy cannot be published: refused"
net_end
