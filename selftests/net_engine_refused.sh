#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The API server refuses what the engine publishes, and takes all else, as where a role is missing: the engine tries again
# ever more rarely, though objects change all the time, and goes on once the server takes it. And PolicyStatus tells of an object
# that the engine refuses and whose last accepted version goes on, so that nothing is compiled; but not as often as its author
# writes it.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
api_node worker-1
api_obeys worker-1
api_engine one --node-limit 3600 # so that no step is due because a node may be silent
net_check "the engine rolls out" api_await api_rolled_out 0
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

WRITES=PATCH_${API_STATUS}/status
told() { # PolicyStatus says that endpoints of all nodes are in what is wanted
	[ "$(api_get $API_STATUS status.oldestEndpointGeneration,status.conditions.0.status)" = "$(api_generation) True" ]
}
net_check "PolicyStatus tells of the rollout" api_await told
api_fails 403 PATCH "$API_STATUS/status"
before=$(api_count "$WRITES")
net_check "a change is rolled out while the server refuses PolicyStatus's status" api_rolls
net_check "the engine tries to tell of it again and again" api_await api_counts "$WRITES" $((before + 2))
net_check "PolicyStatus is behind" eval '! told'
api_fails
net_check "PolicyStatus tells of the rollout once the server takes that" api_await told
cidr() { # POST|PUT CIDR: the policy lets this in
	local path=
	[ "$1" = POST ] || path=/from
	api "$1" "$API_POLICIES$path" '{"metadata": {"name": "from"}, "spec": {"podSelector": {}, "ingress": [{"from": [
		{"ipBlock": {"cidr": "'"$2"'"}}]}]}}' >/dev/null
}
toggles() { # TIMES
	local i
	for ((i = 0; i < $1; i++)); do
		cidr PUT 010.0.0.0/8 && net_pause 0.05 && cidr PUT 10.0.0.0/8 && net_pause 0.05 || return
	done
}
net_check "a policy is rolled out" api_rolls cidr POST 10.0.0.0/8
wanted=$(api_wanted)
sleep 5 # nothing is left of the rollout that would lead to another look
net_check "the next version of the policy is one that the engine refuses" cidr PUT 010.0.0.0/8
net_check "PolicyStatus says so" api_await api_accepted False Refused
sleep 5
net_check "the version after it is as the one before" cidr PUT 10.0.0.0/8
net_check "PolicyStatus says so" api_await api_accepted True AllObjects
net_check "no other policy is wanted" net_is "$(api_wanted)" "$wanted"
before=$(api_count "$WRITES") began=$SECONDS
net_check "the policy is refused and accepted fifty times" toggles 50
net_check "PolicyStatus is as it was" api_await api_accepted True AllObjects
writes=$(($(api_count "$WRITES") - before))
net_check "PolicyStatus was written once in two seconds at most: $writes" test $writes -le $(((SECONDS - began) / 2 + 2))
net_end
