#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower that cannot look for what comes up on its node says so in the node's status and in a metric, and once in its
# log, and goes on when it can look again.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
api_pods worker-1 db
metric() { # VALUE
	net_on node "$NET_HELPERS/http" GET 9467 /metrics | grep -qx "bulkhead_follow_interfaces_known $1"
}
says() { # VALUE STATUS REASON TEXT: of the metric and the condition
	metric "$1" && api GET $API_NODE/worker-1 | jq -r '.status.conditions[] | select(.type == "InterfacesKnown") |
		"\(.status) \(.reason) \(.message)"' | grep -qx "$2 $3 .*$4"
}
errors() {
	grep -c "cannot list the tunnels" "$NET_TMP/follow-worker-1.log"
}
guards() { # INTERFACE
	api_logged follow-worker-1 note "follow: interface $1 has come up"
}

api_change
api_engine one --node-limit 20
real=$BULKHEAD
BULKHEAD=$NET_TMP/faulty
printf '#!/bin/sh\nexec "%s" "%s" generic "%s" 1 "%s" "$@"\n' "$NET_HELPERS/fault" "$NET_TMP/calls" "$NET_TMP/fails" "$real" >"$BULKHEAD"
chmod +x "$BULKHEAD"
api_follower worker-1 --listen 127.0.0.1:9467
BULKHEAD=$real
net_check "a policy is active" api_await net_bulkhead show generation
net_check "the follower finds what comes up" api_await says 1 True Listed "is found"
touch "$NET_TMP/fails"
net_check "a follower that cannot look says so" api_await says 0 False CannotBeListed "Operation not permitted"
net_pause 15
net_check "the log has one error about several looks" net_is "$(errors)" 1
ip -n "$NET-node" link add late type veth peer name late netns "$NET-out"
ip -n "$NET-out" link set late up
ip -n "$NET-node" link set late up
rm "$NET_TMP/fails"
net_check "the follower says that it finds what comes up again" api_await says 1 True Listed "is found"
net_check "the log says so" api_logged follow-worker-1 note "follow: what comes up on the node is found again"
net_check "the interface that came up meanwhile is guarded" api_await guards late
net_end
