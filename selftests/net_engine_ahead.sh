#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# While nodes install a policy, the engine publishes the next one if only Pods have changed, and one write of
# PolicyStatus lets endpoints into the one and has nodes install the other. A change of a policy waits for its turn. A
# write of PolicyStatus that the API server refuses loses no change.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
api_node worker-1
STATUS_WRITES=PUT_$API_STATUS
begins() { # a rollout of a policy, for which worker-1 is waited for; $at is the generation before
	at=$(api_generation)
	api_change && api_await api_wants $((at + 1)) "$at"
}
follows() { # worker-1 does what the cluster wants, until that is all one policy, newer than GENERATION
	api_installs worker-1
	api_rolled_out "$1"
}

api_pod worker-1 db db 10.244.0.1
api_engine one --node-limit 3600
api_change
net_check "the first policy is rolled out" api_await follows 0

net_check "a rollout waits for the node" begins
before=$(api_count "$STATUS_WRITES")
api_pod worker-1 late db 10.244.0.2
net_check "the policy with another Pod is published meanwhile" api_await api_stored $((at + 2))
net_check "nodes are not to install it yet" api_wants $((at + 1)) "$at"
api_report worker-1 $((at + 1)) "$at"
net_check "nodes install it once endpoints may be in the one before" api_await api_wants $((at + 2)) $((at + 1))
net_check "both are one write" net_is "$(($(api_count "$STATUS_WRITES") - before))" 1
api_report worker-1 $((at + 2)) $((at + 1))
net_check "endpoints may be in it once it is installed" api_await api_wants $((at + 2)) $((at + 2))
api_report worker-1 $((at + 2)) $((at + 2))

net_check "another rollout waits for the node" begins
before=$(api_count "$STATUS_WRITES")
api_change
api_report worker-1 $((at + 1)) "$at"
net_check "a change of a policy follows" api_await api_wants $((at + 2)) $((at + 1))
net_check "the change of a policy is a write of its own" net_is "$(($(api_count "$STATUS_WRITES") - before))" 2
net_check "the change of a policy is rolled out" api_await follows $((at + 1))

before=$(api_count "$STATUS_WRITES")
api_fails 500 PUT "$API_STATUS"
at=$(api_wanted)
api_change
net_check "PolicyStatus cannot be written" api_await api_counts "$STATUS_WRITES" $((before + 1))
net_check "PolicyStatus stays as it was" net_is "$(api_wanted)" "$at"
api_fails
net_check "the change is rolled out when it can" api_await follows "${at% *}"
net_end
