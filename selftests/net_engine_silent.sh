#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node whose follower stands still, or is killed, is not called ready: the engine writes since when it is silent, once,
# and a further engine leaves that as it is. When the node is back, its status is what it says. A rollout waits for a node whose
# status somebody deletes, until the node has made another one, or has been silent for too long.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world db
api_node worker-2
api_obeys worker-2
tells() { # HEARTBEAT: the condition's message has it
	api_get $API_NODE/worker-1 status.conditions.0.message | grep -qE \
		"^node worker-1 is silent, and no rollout waits for it: its last heartbeat is $1, .*; Ready was True since 20[^ ]*Z: AsWanted, the last change succeeded$"
}
version() {
	api_get $API_NODE/worker-1 metadata.resourceVersion
}
api_engine one --node-limit 20
api_follower worker-1
net_check "the node is ready" api_await api_ready worker-1 True AsWanted
net_check "a change is rolled out" api_rolls

kill -STOP "${API_PID[follow-worker-1]}"
net_check "a node whose follower stands still is silent" api_await api_ready worker-1 Unknown Silent
net_check "the message has the last heartbeat, and what Ready was" tells "$(api_get $API_NODE/worker-1 status.heartbeat)"
net_check "the node's other condition stays" net_is "$(api_get $API_NODE/worker-1 status.conditions.1.type)" AddressesFree
kill -CONT "${API_PID[follow-worker-1]}"
net_check "the node is ready when its follower goes on" api_await api_ready worker-1 True AsWanted

api_end follow-worker-1 KILL
net_check "a node whose follower is killed is silent" api_await api_ready worker-1 Unknown Silent
written=$(version)
net_check "a change is rolled out without the node" api_rolls
api_end engine-one TERM
api_engine two --node-limit 20
net_check "another engine leads" api_await api_leads two
net_check "another engine rolls a change out" api_rolls
net_check "the node's silence was written once" net_is "$(version)" "$written"
api_follower worker-1
net_check "the node is ready when its follower is back" api_await api_ready worker-1 True AsWanted

# The engine's mark crosses a report of a node. A worker-3 is silent for the engine, which hears no node.
says() { # STATUS HEARTBEAT: worker-3 reports the condition AddressesFree; no rollout waits for it
	api PATCH $API_NODE/worker-3/status '{"status": {"latestPolicyGeneration": 999999, "latestEndpointGeneration": 999999,
		"heartbeat": "'"$2"'", "conditions": [{"type": "Ready", "status": "True", "reason": "AsWanted", "message": "ok"},
		{"type": "AddressesFree", "status": "'"$1"'", "reason": "Test", "message": "text"}]}}' >/dev/null
}
MARKS=nodepolicystatuses/worker-3/status # and its reports
free() {
	api_get $API_NODE/worker-3 status.conditions.1.status
}
silent() {
	[ "$(api_get $API_NODE/worker-3 status.conditions.0.reason)" = Silent ]
}
api_node worker-3
net_check "another node reports" says True first
net_check "a change is rolled out, so the engine has read the report" api_rolls
api_holds "nodepolicystatuses?"
net_check "a report that the engine does not hear" says False second
before=$(api_count $MARKS)
net_check "the engine marks the node" api_await api_counts $MARKS "$before"
net_check "the node's later condition stays" net_is "$(free)" False
api_holds ""
net_check "the node is marked silent once the engine has read its status" api_await silent
net_check "the node's later condition stays beside the mark" net_is "$(free)" False

# A worker-4 has installed nothing since its status was deleted.
reports() { # POLICY ENDPOINT: worker-4, which makes a status if there is none
	api GET $API_NODE/worker-4 >/dev/null || api POST $API_NODE '{"metadata": {"name": "worker-4"}}' >/dev/null
	api_report worker-4 "$1" "$2"
}
follows() { # worker-4 reports what is wanted
	local wanted
	wanted=$(api_wanted)
	reports "${wanted% *}" "${wanted#* }"
}
begins() { # a rollout that waits
	local before
	before=$(api_generation)
	api_change && api_await eval '[ "$(api_generation)" -gt '"$before"' ]' && sleep 2 && api_waits
}
ends() {
	follows && api_rolled_out 0
}
counts() { # PolicyStatus tells of so many nodes: all but worker-3, which is silent
	[ "$(api_get $API_STATUS status.nodes)" = 3 ]
}
api_node worker-4
net_check "a further node reports" follows
net_check "the further node counts" api_await counts
net_check "a rollout waits for the further node" begins
net_check "the rollout ends with the report of the further node" api_await ends
net_check "the status of the further node is deleted" api DELETE $API_NODE/worker-4
sleep 1
net_check "the next rollout waits for the further node" begins
net_check "the rollout ends once the node has made a status" api_await ends
net_check "the status of the further node is deleted again" api DELETE $API_NODE/worker-4
net_check "a change is rolled out when the further node is silent" api_rolls
net_check "the further node reports again" follows
net_check "the further node counts again" api_await counts
net_check "a rollout waits for the further node again" begins
net_check "the status of the further node, and its Node, are deleted" eval 'api DELETE $API_NODE/worker-4 && api DELETE /api/v1/nodes/worker-4'
net_check "the rollout ends without the node" api_await api_rolled_out 0
net_end
