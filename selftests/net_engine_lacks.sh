#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node that cannot make a policy from the store says so, and the engine fetches the policy to see. A node that says so of
# each policy has one fetched, and no further one: a fetch is followed by a compile of all objects. If the store is damaged,
# the policy is made anew each time.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
api_node worker-1
api_node worker-2
FETCHES=GET_$API_GENERATIONS/
lacks() { # NODE: the policy that the cluster wants
	api PATCH "$API_NODE/$1/status" '{"status": {"lacksGeneration": '"$(api_generation)"'}}' >/dev/null
}
api_obeys worker-1
api_obeys worker-2
api_engine one --node-limit 20
net_check "the first policy is rolled out" api_await api_rolled_out 0
net_check "a change is rolled out" api_rolls
before=$(api_count "$FETCHES")
net_check "the store has faults" api_fails 503 GET "$API_GENERATIONS/"
net_check "a node lacks the policy" lacks worker-2
net_check "the engine asks for the policy" api_await api_counts "$FETCHES" "$before"
net_check "the store has no faults" api_fails
before=$(api_count "$FETCHES")
net_check "the engine asks again" api_await api_counts "$FETCHES" "$before"
net_check "a change is rolled out after that" api_rolls
before=$(api_count "$FETCHES")
for i in 1 2 3; do
	net_check "the node says that it lacks policy $i" lacks worker-2
	net_check "change $i is rolled out" api_rolls
done
net_check "the engine has fetched nothing for it" net_is "$(api_count "$FETCHES")" "$before"
net_check "another node lacks the policy" lacks worker-1
net_check "the engine fetches for the other node" api_await api_counts "$FETCHES" "$before"

# Each time that a node is right, the engine makes the policy anew: a second damage soon after the first keeps no node.
api_node worker-3
api_obeys worker-3
for i in 1 2; do
	net_check "a change is rolled out before damage $i" api_rolls
	net_check "damage $i: the newest delta has another parent" api PATCH "$API_GENERATIONS/g$(api_generation)" \
		'{"spec": {"parent": "0123456789abcdef"}}'
	at=$(api_generation)
	net_check "a node lacks the policy after damage $i" lacks worker-3
	net_check "the policy is made anew after damage $i" api_await api_rolled_out "$at"
done
net_end
