#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node whose follower stands still, or is killed, is not called ready: the engine writes since when it is silent, once,
# and a further engine leaves that as it is. When the node is back, its status is what it says.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

API_SECONDS=120
net_start db
api_start
api_pods worker-1 db
api_node worker-2
api_obeys worker-2
ready() { # STATUS REASON: of worker-1, as the columns of `kubectl get nodepolicystatus` have them
	[ "$(api_get $API_NODE/worker-1 status.conditions.0.type,status.conditions.0.status,status.conditions.0.reason)" = "Ready $1 $2" ]
}
tells() { # HEARTBEAT: the condition's message has it
	api_get $API_NODE/worker-1 status.conditions.0.message | grep -qE \
		"^node worker-1 is silent, and no rollout waits for it: its last heartbeat is $1, .*; Ready was True since 20[^ ]*Z: AsWanted, the last change succeeded$"
}
version() {
	api_get $API_NODE/worker-1 metadata.resourceVersion
}
rolls_on() { # a change, by the node that goes on
	local before
	before=$(api_wanted)
	api_change && api_await api_rolled_out "${before% *}"
}
api_engine one --node-limit 20
api_follower worker-1
net_check "the node is ready" api_await ready True AsWanted
net_check "a change is rolled out" rolls_on

kill -STOP "${API_PID[follow-worker-1]}"
net_check "a node whose follower stands still is silent" api_await ready Unknown Silent
net_check "the message has the last heartbeat, and what Ready was" tells "$(api_get $API_NODE/worker-1 status.heartbeat)"
net_check "the node's other condition stays" net_is "$(api_get $API_NODE/worker-1 status.conditions.1.type)" AddressesFree
kill -CONT "${API_PID[follow-worker-1]}"
net_check "the node is ready when its follower goes on" api_await ready True AsWanted

api_end follow-worker-1 KILL
net_check "a node whose follower is killed is silent" api_await ready Unknown Silent
written=$(version)
net_check "a change is rolled out without the node" rolls_on
api_end engine-one TERM
api_engine two --node-limit 20
net_check "another engine leads" api_await api_leads two
net_check "another engine rolls a change out" rolls_on
net_check "the node's silence was written once" net_is "$(version)" "$written"
api_follower worker-1
net_check "the node is ready when its follower is back" api_await ready True AsWanted

# The engine's mark crosses a report of a node. A worker-3 is silent for the engine, which hears no node.
says() { # STATUS HEARTBEAT: worker-3 reports the condition AddressesFree; no rollout waits for it
	api PATCH $API_NODE/worker-3/status '{"status": {"latestPolicyGeneration": 999999, "latestEndpointGeneration": 999999,
		"heartbeat": "'"$2"'", "conditions": [{"type": "Ready", "status": "True", "reason": "AsWanted", "message": "ok"},
		{"type": "AddressesFree", "status": "'"$1"'", "reason": "Test", "message": "text"}]}}' >/dev/null
}
marks() { # of worker-3, and its reports
	api GET "/test/count?nodepolicystatuses/worker-3/status"
}
is_marked() { # COUNT: more marks than so many
	[ "$(marks)" -gt "$1" ]
}
free() {
	api_get $API_NODE/worker-3 status.conditions.1.status
}
silent() {
	[ "$(api_get $API_NODE/worker-3 status.conditions.0.reason)" = Silent ]
}
api_node worker-3
net_check "another node reports" says True first
net_check "a change is rolled out, so the engine has read the report" rolls_on
api PUT /test/hold "nodepolicystatuses?" >/dev/null
net_check "a report that the engine does not hear" says False second
before=$(marks)
net_check "the engine marks the node" api_await is_marked "$before"
net_check "the node's later condition stays" net_is "$(free)" False
api PUT /test/hold "" >/dev/null
net_check "the node is marked silent once the engine has read its status" api_await silent
net_check "the node's later condition stays beside the mark" net_is "$(free)" False
net_end
