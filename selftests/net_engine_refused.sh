#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The API server refuses what the engine publishes, and takes all else, as where a role is missing: the engine tries again
# ever more rarely, though objects change all the time, and goes on once the server takes it.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
api_begin
TRIES=POST_${API_GENERATIONS}_
changes() { # TIMES: one every tenth of a second
	local i
	for ((i = 0; i < $1; i++)); do
		api_change || return
		net_pause 0.1
	done
}
api_fails 403 POST "$API_GENERATIONS "
before=$(api_count "$TRIES") wanted=$(api_wanted)
net_check "a policy changes a hundred times" changes 100
net_check "the engine has tried again" api_counts "$TRIES" $((before + 2))
net_check "the engine has tried at most ten times: $(($(api_count "$TRIES") - before))" test "$(api_count "$TRIES")" -le $((before + 10))
net_check "no other policy is wanted" net_is "$(api_wanted)" "$wanted"
api_fails
net_check "the engine rolls out what has changed" api_await api_rolled_out "${wanted% *}"
net_check "the engine said why" api_logged engine-one warning "engine: a policy cannot be published: refused"
net_end
