#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Three nodes with real maps beside a real API server: the time from kubectl apply until the last node has
# reported that its endpoints are in the new policy, and where that time goes.
#
# Usage: cluster_real.sh BUILD-FOLDER      CHANGES=100
CLUSTER_NODES="worker-1 worker-2 worker-3"
build=$(cd "${1:-build}" && pwd)
export BULKHEAD=$build/bulkhead NET_HELPERS=$build/selftests/helpers
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${KUBE_CONFIGS:-}" ]; then
	exec "$here/tools/kube" run "$0" "$build"
fi
# shellcheck source=selftests/lib/cluster.sh
. "$here/selftests/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$here/selftests/lib/rollout.sh"

# Notes when each version of Bulkhead's objects, and of NetworkPolicies, comes: microseconds, what, generation.
watch_objects() { # PATH
	curl -sN --cacert "$KUBE_CA" -H "Authorization: Bearer secret-of-admin" \
		"https://192.168.7.10:6443$1?watch=1" | while read -r line; do
		local at=${EPOCHREALTIME/./} name='' installed='' active=''
		[[ $line =~ \"name\":\"([^\"]*)\" ]] && name=${BASH_REMATCH[1]}
		[[ $line =~ (latest|desired)PolicyGeneration\":([0-9]+) ]] && installed=${BASH_REMATCH[2]}
		[[ $line =~ (latest|desired)EndpointGeneration\":([0-9]+) ]] && active=${BASH_REMATCH[2]}
		[[ $line != *'"kind":"NetworkPolicy"'* ]] || { name=policy && installed=0 && active=0; }
		echo "$at $name ${installed:-0} ${active:-0}"
	done >>"$NET_TMP/versions"
}
generation() {
	kubectl get policystatus global -o jsonpath='{.spec.desiredEndpointGeneration}'
}
# The first time, at $2 or later, at which NAME has a generation of more than $3 in FIELD.
first() { # NAME SINCE GENERATION FIELD
	awk -v name="$1" -v since="$2" -v old="$3" -v field="$4" \
		'$2 == name && $1 >= since && (name == "policy" || $field > old) { print $1; exit }' "$NET_TMP/versions"
}
last() { # SINCE GENERATION FIELD: of all nodes
	local node at max=0
	for node in $CLUSTER_NODES; do
		at=$(first "$node" "$@")
		[ -n "$at" ] || return
		[ "$at" -le "$max" ] || max=$at
	done
	echo "$max"
}
is_done() {
	[ -n "$(last "$began" "$before" 4)" ]
}
spread() { # FILE: median, 99th percentile, worst
	sort -n "$1" | awk '{ v[NR] = $1 / 1000 } END {
		high = int(NR * 0.99 + 0.999999)
		if (high > NR)
			high = NR
		printf "%6.0f %6.0f %6.0f\n", v[int((NR + 1) / 2)], v[high], v[NR] }'
}

cluster_start >/dev/null
rollout_install >/dev/null || exit
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
: >"$NET_TMP/versions"
for path in /apis/bulkhead.dev/v1alpha1/policystatuses /apis/bulkhead.dev/v1alpha1/nodepolicystatuses \
	/apis/networking.k8s.io/v1/networkpolicies; do
	watch_objects $path &
	NET_SERVERS+=($!)
done
rollout_settles &>/dev/null || exit
changes=${CHANGES:-100}
for ((i = 0; i < changes; i++)); do
	sleep 0.2
	before=$(generation)
	began=${EPOCHREALTIME/./}
	cat <<-EOF | kubectl apply -f - >/dev/null
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: web}}}], ports: [{port: $((9000 + i)), protocol: TCP}]}]}}
	EOF
	rollout_await 60 is_done || exit
	stored=$(first policy "$began" 0 3)
	ended=$(last "$began" "$before" 4)
	steps=("$began" "$stored" "$(first global "$began" "$before" 3)" "$(last "$began" "$before" 3)"
		"$(first global "$began" "$before" 4)" "$ended")
	for ((step = 0; step < 5; step++)); do
		echo $((steps[step + 1] - steps[step])) >>"$NET_TMP/step-$step"
	done
	echo $((ended - began)) >>"$NET_TMP/all"
	echo $((ended - stored)) >>"$NET_TMP/own"
done
row() { # NAME FILE [GOAL]
	printf '  %-64s %s%s\n' "$1" "$(spread "$NET_TMP/$2")" "${3:+   goal $3}"
}
echo "three real nodes, $changes policies one after another, ms: median, 99th, worst"
row "kubectl apply until the last node has reported the policy in force" all "300 at the 99th"
row "of that, since the API server has told of the policy" own
row "  kubectl, until the API server has told of it" step-0
row "  the engine: gather, compile, publish" step-1
row "  nodes: install and report" step-2
row "  the engine: let endpoints move" step-3
row "  nodes: move endpoints and report" step-4
for name in engine-one follow-worker-1 follow-worker-2 follow-worker-3; do
	awk -v name="$name" '/^VmHWM/ { high = $2 } /^VmRSS/ { now = $2 } END {
		printf "  resident MB of %s: %.1f, at most %.1f\n", name, now / 1024, high / 1024 }' \
		"/proc/${ROLLOUT_PID[$name]}/status"
done
cluster_cleanup
