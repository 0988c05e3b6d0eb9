#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Three nodes with real maps beside a real API server: how long after the API server is back a change is active on
# all nodes, and how long a change takes while the leading engine is drained.
#
# Usage: recovery.sh BUILD-FOLDER      ROUNDS=7
# shellcheck source=tools/bench/three_nodes.sh
. "$(dirname "$0")/three_nodes.sh"
ROUNDS=${ROUNDS:-7}
RANDOM=${BULKHEAD_SEED:-1}

api() { # METHOD PATH [BODY]
	curl -sf --max-time 5 --cacert "$KUBE_CA" -H "Authorization: Bearer secret-of-admin" -X "$1" \
		${3:+-H "Content-Type: application/json" -d "$3"} "https://192.168.7.10:6443$2"
}
ready() {
	api GET /readyz >/dev/null
}
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	until "${@:2}"; do
		[ $SECONDS -lt $end ] || return
		sleep 0.01
	done
}
# The oldest generation of all nodes' endpoints.
active() {
	local nodes
	nodes=$(api GET /apis/bulkhead.dev/v1alpha1/nodepolicystatuses) || return
	grep -o '"latestEndpointGeneration":[0-9]*' <<<"$nodes" | cut -d : -f 2 | sort -n | head -n 1
}
is_newer() { # GENERATION
	[ "$(active)" -gt "$1" ] 2>/dev/null
}
PORT=1000
change() {
	api PUT /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies/db '{"apiVersion": "networking.k8s.io/v1",
		"kind": "NetworkPolicy", "metadata": {"name": "db", "namespace": "shop"}, "spec": {"podSelector":
		{"matchLabels": {"role": "db"}}, "ingress": [{"ports": [{"port": '$((++PORT))'}]}]}}' >/dev/null
}
ms() { # SINCE
	echo $(((${EPOCHREALTIME/./} - $1) / 1000))
}
# Changes a policy; notes in FILE how many ms after SINCE the change is active on all nodes.
measure() { # FILE SINCE GENERATION-BEFORE
	until change; do
		sleep 0.02
	done
	within 180 is_newer "$3" || { tail -n 5 "$NET_TMP"/*.log && die "a change is not active after 180 s"; }
	ms "$2" >>"$NET_TMP/$1"
	[ -z "${VERBOSE:-}" ] || echo "# $1: $(tail -n 1 "$NET_TMP/$1") ms"
}

remember_server() {
	local words
	mapfile -d '' -t words <"/proc/$(pgrep -x kube-apiserver)/cmdline"
	SERVER=("${words[@]}")
}
restarts() { # FOR-MS: the API server is killed, and away for so long
	local before pid
	before=$(active)
	pid=$(pgrep -x kube-apiserver)
	kill -KILL "$pid"
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.05
	done
	wait "$pid" 2>/dev/null
	sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
	"${SERVER[@]}" </dev/null >>"$NET_TMP/kube-apiserver.log" 2>&1 &
	NET_SERVERS+=($!)
	within 180 ready || die "the API server is not back"
	measure recovery "${EPOCHREALTIME/./}" "$before"
}
drains() { # the leading engine ends, and a change follows at once; then it is started again
	local engine before holder
	holder=$(kubectl get lease -n bulkhead-system bulkhead-engine -o jsonpath='{.spec.holderIdentity}')
	for engine in one two; do
		[[ $holder == *_${ROLLOUT_PID[engine-$engine]}_* ]] || continue
		before=$(active)
		rollout_signal engine-$engine TERM
		measure drain "${EPOCHREALTIME/./}" "$before"
		wait "${ROLLOUT_PID[engine-$engine]}"
		rollout_engine $engine
		sleep 2
	done
}
spread() { # FILE
	sort -n "$NET_TMP/$1" | awk '{ v[NR] = $1 } END {
		high = int(NR * 0.99 + 0.999999)
		if (high > NR)
			high = NR
		printf "%6d %6d %6d\n", v[int((NR + 1) / 2)], v[high], v[NR] }'
}

cluster_start >/dev/null
rollout_install >/dev/null || die "cannot install"
for engine in one two; do
	rollout_engine $engine
done
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
remember_server
printf -- '---\n{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop}, spec: {podSelector: {}}}\n' |
	kubectl apply -f - >/dev/null && rollout_settles &>/dev/null || die "the cluster does not begin"
for ((i = 0; i < ROUNDS; i++)); do
	restarts $((RANDOM % 8000))
	sleep 1
done
for ((i = 0; i < ROUNDS; i++)); do
	drains
done
echo "three real nodes, $ROUNDS rounds, ms: median, 99th, worst"
printf '  %-64s %s   goal 2000\n' "a change, since the API server is back" "$(spread recovery)" \
	"a change, since the leading engine is told to end" "$(spread drain)"
cluster_cleanup
