#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# While a rollout waits for another node, somebody loads a policy by hand on a follower's node: its generation is higher
# than what the cluster wants. The next step of the rollout brings the cluster's policy back; the follower says so once, and
# the rollouts go on.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443 7000"
api_world db web
api_node worker-2
only_open() { # PORT: of the three
	local port open
	for port in 80 443 7000; do
		api_traces allow web db "$port" && open+=$port
	done
	[ "$open" = "$1" ]
}
by_hand() { # PORTS: load a policy
	{
		net_db_and_web eth0
		printf '%s\n' "[network-policy shop/db]" "endpoints = role=db" "ingress = ports $1"
	} >"$NET_TMP/hand.ini"
	net_bulkhead load --force "$NET_TMP/hand.ini"
}
is_newer() { # the active policy is newer than what the cluster wants
	[ "$(api_active)" -gt 2 ] && net_is "$(api_wanted)" "2 1"
}
enforced() { # PORT WHEN
	local port
	for port in 80 443 7000; do
		if [ "$port" = "$1" ]; then
			net_allowed web tcp "$(net_ip db)" "$port" "$2: port $port passes"
		else
			net_denied web tcp "$(net_ip db)" "$port" "$2: port $port is denied"
		fi
	done
}
told() {
	grep -c "policy [0-9]* is active on this node, and the cluster's is policy" "$NET_TMP/follow-worker-1.log"
}

api_opens POST db 80
api_engine one --node-limit 600
net_check "the engine rolls out" api_await api_waits
net_check "the other node has the first policy" api_report worker-2 1 1
api_follower worker-1 --listen 127.0.0.1:9466
net_check "the first policy is active" api_await eval 'api_has worker-1 1 1 && only_open 80'
net_check "the policy changes" api_opens PUT db 443
net_check "the second policy is installed here, and the rollout waits for the other node" api_await eval 'api_has worker-1 2 1 && api_waits'
enforced 80 "the rollout waits"
net_check "a policy is loaded by hand" by_hand TCP/7000,TCP/80
net_check "another policy is loaded by hand" by_hand TCP/7000
net_check "the active policy is newer than the cluster's" is_newer
enforced 7000 "loaded by hand"
net_check "the other node has the second policy" api_report worker-2 2 1
net_check "the cluster's policy is active" api_await eval 'api_has worker-1 2 2 && only_open 443'
net_check "the follower has said once that the node's policy was newer" net_is "$(told)" 1
net_check "the follower has not failed: its next step followed at once" eval '! grep -q " error: " "$NET_TMP/follow-worker-1.log" && [ "$(api_metric 9466 follow_changes_failed_total)" = 0 ]'
net_check "the node is as the cluster wants it" api_ready worker-1 True AsWanted
enforced 443 "the rollout has ended"
net_check "the policy changes again" api_opens PUT db 80
net_check "the third policy is installed here" api_await api_has worker-1 3 2
net_check "the other node has the third policy" api_report worker-2 3 2
net_check "the third policy is active" api_await eval 'api_has worker-1 3 3 && only_open 80'
enforced 80 "the next rollout has ended"
net_check "the maps are as the policy says" net_bulkhead status --check
net_end
