#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node that cannot make a policy from the store says so, and the engine fetches the policy to see. A node that says so of
# each policy has one fetched, and no further one: a fetch is followed by a compile of all objects.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start
api_start
api_node worker-1
api_node worker-2
fetches() { # how often a policy was asked for
	api GET "/test/count?GET_/apis/bulkhead.dev/v1alpha1/policygenerations/"
}
fetched_since() { # COUNT
	[ "$(fetches)" -gt "$1" ]
}
lacks() { # NODE: the policy that the cluster wants
	local wanted
	wanted=$(api_wanted)
	api PATCH "$API_NODE/$1/status" '{"status": {"lacksGeneration": '"${wanted% *}"'}}' >/dev/null
}
follows() { # a change, which both nodes have then
	local before
	before=$(api_wanted)
	api_change && api_await api_rolled_out "${before% *}"
}
api_obeys worker-1
api_obeys worker-2
api_engine one --node-limit 20
net_check "the first policy is rolled out" api_await api_rolled_out 0
net_check "a change is rolled out" follows
before=$(fetches)
net_check "the store has faults" api PUT /test/fail "503 GET /apis/bulkhead.dev/v1alpha1/policygenerations/"
net_check "a node lacks the policy" lacks worker-2
net_check "the engine asks for the policy" api_await fetched_since "$before"
net_check "the store has no faults" api PUT /test/fail 0
before=$(fetches)
net_check "the engine asks again" api_await fetched_since "$before"
net_check "a change is rolled out after that" follows
before=$(fetches)
for i in 1 2 3; do
	net_check "the node says that it lacks policy $i" lacks worker-2
	net_check "change $i is rolled out" follows
done
net_check "the engine has fetched nothing for it" net_is "$(fetches)" "$before"
net_check "another node lacks the policy" lacks worker-1
net_check "the engine fetches for the other node" api_await fetched_since "$before"
net_end
