#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `follow --set NAME=VALUE` sizes the table of connections. A follower that begins with another value makes the table
# larger at once, and open connections live on. A value that is refused ends the follower, which says why; the policy and
# the table stay. A table that is larger than the value stays, too, and the follower goes on.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
IDLE=20
api_world db web
api_opens POST db 80 5001
api_engine one

room() { # for how many connections the table has room
	net_bulkhead status -j | sed -n 's/.*"connections":{[^}]*"max":\([0-9]*\).*/\1/p'
}
enforced() { # WHEN
	net_allowed web tcp "$(net_ip db)" 80 "$1: web reaches db at 80"
	net_denied web tcp "$(net_ip db)" 443 "$1: web does not reach db at 443"
}
refused() { # PATTERN VALUE [COMMAND...]: a follower with the value ends, and says why
	net_ends 2 "$1" timeout 20 nsenter --net="/run/netns/$NET-node" "${@:3}" "$BULKHEAD" follow --kubeconfig "$API_CONFIG" -n worker-1 --uplink eth0 --once \
		--pin "$NET_PIN" --records "$NET_TMP/records" --set "$2"
}
# A machine with 100 MB left.
sed 's/^MemAvailable:.*/MemAvailable: 102400 kB/' /proc/meminfo >"$NET_TMP/meminfo"
small=(unshare --mount sh -c 'mount --bind "$0" /proc/meminfo && exec "$@"' "$NET_TMP/meminfo")

net_check "an unknown setting is refused" refused "no setting" connection=5000
net_check "a setting out of range is refused" refused "must be 1024 to" connections=12
net_check "a first table beyond the memory is refused, with the need and the room" \
	refused "connections: 1000000 need [0-9]* MiB of memory, and 100 MiB are available" connections=1000000 "${small[@]}"
misconfigured() { # PATTERN: `kubectl get nodepolicystatus` shows this
	api_ready worker-1 False Misconfigured &&
		api_get $API_NODE/worker-1 status.conditions.0.message | grep -q "$1"
}
net_check "the node's status says why the follower ends" misconfigured \
	"^connections: 1000000 need [0-9]* MiB of memory, and 100 MiB are available"
net_check "the node has not reported a heartbeat" net_is "$(api_get $API_NODE/worker-1 status.heartbeat)" ""
net_check "the refused values load nothing" test ! -e "$NET_PIN/config"
api_follower worker-1 --set connections=5000 --set timeout-udp=20
net_check "a follower with a size guards both pods" api_await api_guarded 2
net_check "the table has that size" net_is "$(room)" 5000
net_check "the node's status is the follower's again" api_await api_ready worker-1 True AsWanted
enforced "with 5000"

net_check "$IDLE connections open" net_hold web db "$(net_ip db)" 5001 $IDLE
api_end engine-one TERM
api_end follow-worker-1 TERM
net_check "a larger table beyond the memory is refused, with the need and the room" \
	refused "connections: 1000000 need [0-9]* MiB of memory, and 100 MiB are available" connections=1000000 "${small[@]}"
net_check "another time-out is refused" refused "timeout-udp: is set when the programs are first loaded" timeout-udp=30
net_check "the node's status names the time-out" misconfigured "^timeout-udp: is set when the programs are first loaded"
net_check "the node's other condition stays" net_is "$(api_get $API_NODE/worker-1 status.conditions.1.type)" AddressesFree
net_check "the table stays" net_is "$(room)" 5000
enforced "after the refusals"

# Nothing changes in the cluster, and no engine runs.
api_follower worker-1 --set connections=9000
net_check "a follower with a larger size makes the table larger" api_await eval '[ "$(room)" = 9000 ]'
net_check "the $IDLE connections are alive" net_is "$(net_alive 5001)" $IDLE
enforced "with 9000"
api_end follow-worker-1 TERM
api_run follow-worker-1 follow -n worker-1 --uplink eth0 --once --pin "$NET_PIN" --records "$NET_TMP/records" \
	--set connections=9000
wait "${API_PID[follow-worker-1]}"
net_check "a follower with the same size ends well" test $? = 0
net_check "the table stays" net_is "$(room)" 9000

# A table that is larger than the follower's value. The first load after the follower's start is a whole one.
keeps() { # NUMBER: how often at least the follower has said so
	[ "$(grep -c "note: connections: the table keeps room for 9000, not 4000, while it is in use" \
		"$NET_TMP/follow-worker-1.log")" -ge "$1" ]
}
api_follower worker-1 --set connections=4000
net_check "a follower with a smaller size says that the table keeps its own" api_await keeps 1
api_opens PUT db 80 81
api_engine two
net_check "the follower with a smaller size loads the next policy" api_await api_rolled_out 1
net_check "the follower has said again that the table keeps its size" keeps 2
net_check "the table of the follower with a smaller size stays" net_is "$(room)" 9000
enforced "after the smaller size"
net_end
