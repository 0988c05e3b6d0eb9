#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The store is put back to an older time while a node has staged a policy, and another policy gets the same generation.
# The node does not say that it has installed the other one before it has: so the rollout waits for it, and its endpoints
# move without a load of the whole policy.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443 7000"
api_world db web
api_node worker-2
put_back() {
	api DELETE "$API_GENERATIONS/g$((at + 1))" >/dev/null && api PATCH $API_STATUS "$spec" >/dev/null && api_wants "$at" "$at"
}

api_opens POST db 80
api_engine one --node-limit 3600
api_follower worker-1
net_check "the first policy is rolled out" api_await api_both_followed 0
at=$(api_generation)
api_end engine-one TERM
spec=$(api GET $API_STATUS | jq -c '{spec: (.spec + {delta: null})}')

api_engine one --node-limit 3600
api_opens PUT db 443
net_check "the node has installed the next policy, and waits" api_await api_has worker-1 $((at + 1)) "$at"
net_check "endpoints are not to be in it" api_wants $((at + 1)) "$at"
api_end engine-one TERM
net_check "the store is put back" put_back
net_check "the node says that it has not installed what the cluster wants" api_await api_has worker-1 "$at" "$at"
api_opens PUT db 7000
api_engine one --node-limit 3600
net_check "another policy gets the same generation" api_await api_wants $((at + 1)) "$at"
net_check "the node installs that one" api_await api_has worker-1 $((at + 1)) "$at"
net_allowed web tcp "$(net_ip db)" 80 "port 80, until endpoints may be in the other policy"
api_report worker-2 $((at + 1)) "$at"
net_check "endpoints are in it" api_await api_has worker-1 $((at + 1)) $((at + 1))
net_both allowed web db 7000 "the other policy opens port 7000 of @"
net_both denied web db 443 "the lost policy's port 443 of @ stays closed"
net_both denied web db 80 "the former policy's port 80 of @ is closed"
net_check "no policy but the first was loaded whole" net_is "$(api_wholes)" 1
net_check "the maps are as the policy says" net_bulkhead status --check
net_end
