#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# While nodes install a policy, the engine publishes the next one if only Pods have changed, and one write of
# PolicyStatus lets endpoints into the one and has nodes install the other. A change of a policy waits for its turn. A
# write of PolicyStatus that the API server refuses loses no change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start
api_start
api_node worker-1
pod() { # NAME ADDRESS
	api POST /api/v1/namespaces/shop/pods '{"metadata": {"name": "'"$1"'", "labels": {"role": "db"}}, "spec": {"nodeName":
		"worker-1"}, "status": {"phase": "Running", "podIP": "'"$2"'", "podIPs": [{"ip": "'"$2"'"}]}}' >/dev/null
}
writes() { # of PolicyStatus
	api GET "/test/count?PUT_$API_STATUS"
}
wrote() { # MORE-THAN
	[ "$(writes)" -gt "$1" ]
}
is_stored() { # GENERATION
	[ "$(api_get "/apis/bulkhead.dev/v1alpha1/policygenerations/g$1" metadata.name)" = "g$1" ]
}
follows() { # worker-1 does what the cluster wants, until that is all one policy, newer than GENERATION
	local wanted
	wanted=$(api_wanted)
	[ "$wanted" = " " ] || api_report worker-1 "${wanted% *}" "${wanted#* }"
	api_rolled_out "$1"
}
begins() { # a rollout of a policy, for which worker-1 is waited for; $at is the generation before
	at=$(api_wanted)
	at=${at% *}
	api_change && api_await api_wants $((at + 1)) "$at"
}

pod db 10.244.0.1
api_engine one --node-limit 3600
api_change
net_check "the first policy is rolled out" api_await follows 0

net_check "a rollout waits for the node" begins
before=$(writes)
pod late 10.244.0.2
net_check "the policy with another Pod is published meanwhile" api_await is_stored $((at + 2))
net_check "nodes are not to install it yet" api_wants $((at + 1)) "$at"
api_report worker-1 $((at + 1)) "$at"
net_check "nodes install it once endpoints may be in the one before" api_await api_wants $((at + 2)) $((at + 1))
net_check "both are one write" net_is "$(($(writes) - before))" 1
api_report worker-1 $((at + 2)) $((at + 1))
net_check "endpoints may be in it once it is installed" api_await api_wants $((at + 2)) $((at + 2))
api_report worker-1 $((at + 2)) $((at + 2))

net_check "another rollout waits for the node" begins
before=$(writes)
api_change
api_report worker-1 $((at + 1)) "$at"
net_check "a change of a policy follows" api_await api_wants $((at + 2)) $((at + 1))
net_check "the change of a policy is a write of its own" net_is "$(($(writes) - before))" 2
net_check "the change of a policy is rolled out" api_await follows $((at + 1))

before=$(writes)
api PUT /test/fail "500 PUT $API_STATUS" >/dev/null
at=$(api_wanted)
api_change
net_check "PolicyStatus cannot be written" api_await wrote $((before + 1))
net_check "PolicyStatus stays as it was" net_is "$(api_wanted)" "$at"
api PUT /test/fail "0" >/dev/null
net_check "the change is rolled out when it can" api_await follows "${at% *}"
net_end
