#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node that heartbeats and never installs holds a rollout up for three limits, and no longer: its status says
# what it lacks, the next rollouts and the next engine do not wait for it, and it counts again once it has put the
# policy active.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

API_SECONDS=200
api_world

# Until the test ends, worker-2 reports a line of its file each second, one after another.
reports() {
	local line
	while :; do
		while read -r line; do
			# shellcheck disable=SC2086
			api_report worker-2 $line
			sleep 1
		done <"$NET_TMP/worker-2"
	done
}
stays_at() { # POLICY ENDPOINT [POLICY ENDPOINT]
	printf '%s %s\n' "$@" >"$NET_TMP/next" && mv "$NET_TMP/next" "$NET_TMP/worker-2"
}
rolls_out() { # after GENERATION, with worker-1 alone
	api_installs worker-1
	api_rolled_out "$1"
}
ready() { # STATUS: of worker-2
	[ "$(api_get $API_NODE/worker-2 status.conditions.0.status)" = "$1" ]
}
said_of_nodes() { # TEXT: a message of PolicyStatus
	api_get $API_STATUS status.conditions | grep -q -- "$1"
}
change() { # $before is the generation before
	before=$(api_generation)
	api_change
}

api_node worker-1
api_node worker-2
stays_at 1 1
reports &
NET_SERVERS+=($!)
api_engine one --node-limit 20
both() {
	local wanted
	wanted=$(api_wanted)
	[ -n "${wanted% *}" ] && stays_at "${wanted% *}" "${wanted#* }"
	rolls_out 0
}
api_change
net_check "a policy is rolled out to both nodes" api_await both
change
# what the node says to have goes up and down
stays_at $((before - 1)) "$before" "$before" "$before"
net_check "a change waits for the node that makes no progress" api_await api_waits
late() { # while worker-1 reports
	api_installs worker-1
	ready False
}
api_fails 500 PUT $API_STATUS # endpoints may not follow yet
net_check "the node's status says that it is not ready before the rollout goes on" api_await late
net_check "the rollout has not gone on" api_waits
api_fails
net_check "the rollout goes on without the node" api_await rolls_out "$before"
net_check "the condition names node and policy" eval \
	'api_get $API_NODE/worker-2 status.conditions.0.message | grep -q "worker-2 lacks policy $((before + 1))"'
net_check "PolicyStatus names the node" api_await said_of_nodes "no rollout waits for node worker-2, until it has policy"
net_check "the engine says so" grep -q "node worker-2 lacks policy" "$NET_TMP/engine-one.log"

API_SECONDS=40 # a third of what the node would have to count
change
net_check "the next change does not wait for the node" api_await rolls_out "$before"
net_check "the node says that it is ready" api PATCH $API_NODE/worker-2/status \
	'{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "AsWanted", "message": "ok"},
	{"type": "AddressesFree", "status": "True", "reason": "NoneRests", "message": "ok"}]}}'
net_check "the engine says that the node is not" api_await ready False
net_check "the node's other condition stays" net_is \
	"$(api_get $API_NODE/worker-2 status.conditions.1.type)" AddressesFree
api_end engine-one TERM
api_engine two --node-limit 20
net_check "another engine leads" api_await api_leads two
change
net_check "a change does not wait for the node under another engine" api_await rolls_out "$before"

wanted=$(api_wanted)
stays_at "${wanted% *}" "${wanted#* }"
net_check "the node that has caught up is ready" api_await ready True
change
net_check "the next rollout begins" api_await api_waits
api_installs worker-1
net_check "the next rollout waits for the node" api_await said_of_nodes "not installed on node worker-2"
net_check "endpoints have not moved without the node" api_waits
stays_at $((before + 1)) "$before"
net_check "the rollout ends when the node has installed the policy" api_await rolls_out "$before"
net_end
