#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Three nodes with real maps beside a real API server: the time from kubectl apply until the last node has
# reported that its endpoints are in the new policy, and if that time goes.
#
# Usage: cluster_real.sh BUILD-FOLDER      CHANGES=100
# shellcheck source=tools/bench/three_nodes.sh
. "$(dirname "$0")/three_nodes.sh"

cluster_start >/dev/null
rollout_install >/dev/null || exit
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
changes_watch
rollout_settles &>/dev/null || exit
changes=${CHANGES:-100}
changes_spend
for ((i = 0; i < changes; i++)); do
	sleep 0.2
	changes_measure $((9000 + i)) || exit
done
row() { # NAME FILE [GOAL]
	printf '  %-64s %s%s\n' "$1" "$(changes_spread "$2")" "${3:+   goal $3}"
}
echo "three real nodes, $changes policies one after another, ms: median, 99th, worst"
row "kubectl apply until the last node has reported the active policy" all "300 at the 99th"
row "of that, since the API server has told of the policy" own
row "  kubectl, until the API server has told of it" step-0
row "  the engine: gather, compile, publish" step-1
row "  nodes: install and report" step-2
row "  the engine: let endpoints move" step-3
row "  nodes: move endpoints and report" step-4
changes_spent "$changes" "a change"
for name in engine-one follow-worker-1 follow-worker-2 follow-worker-3; do
	awk -v name="$name" '/^VmHWM/ { high = $2 } /^VmRSS/ { now = $2 } END {
		printf "  resident MB of %s: %.1f, at most %.1f\n", name, now / 1024, high / 1024 }' \
		"/proc/${ROLLOUT_PID[$name]}/status"
done
cluster_cleanup
