#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/deploy under the real scheduler and controllers, on one node, two and three: `kubectl rollout status` and
# `kubectl rollout restart` end, and engines are on two nodes if there are two. No kubelet runs: this test says in
# its place that pods run and are ready, and removes those that end.
export KUBE_CONTROLLERS=1 KUBE_NODE_GRACE=30m
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"

cleanup() {
	[ ${#NET_SERVERS[@]} -eq 0 ] || kill "${NET_SERVERS[@]}" 2>/dev/null
	rm -rf "$NET_TMP"
}
trap cleanup EXIT
NS=bulkhead-system
CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
patch_status() { # PATH JSON
	curl -s -f -o /dev/null --cacert "$CA" -H "Authorization: Bearer secret-of-admin" -X PATCH -d "$2" \
		-H "Content-Type: application/merge-patch+json" "https://192.168.7.10:6443/api/v1/$1/status"
}
node() { # NAME
	kubectl create -f - <<-END &&
	---
	{apiVersion: v1, kind: Node, metadata: {name: $1, labels: {kubernetes.io/hostname: $1}}}
	END
		patch_status "nodes/$1" '{"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "100"},
			"capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"},
			"conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "test"}]}}'
}
kubelet() {
	local name on ending
	while :; do
		kubectl get pods -n $NS -o 'jsonpath={range .items[*]}{.metadata.name}|{.spec.nodeName}|{.metadata.deletionTimestamp}{"\n"}{end}' 2>/dev/null |
			while IFS='|' read -r name on ending; do
				if [ -n "$ending" ]; then
					kubectl delete pod -n $NS --force --grace-period=0 "$name"
				elif [ -n "$on" ] && ! grep -q -x "$name" "$NET_TMP/run"; then
					patch_status "namespaces/$NS/pods/$name" '{"status": {"phase": "Running", "podIP": "192.168.7.99",
						"conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]}}' &&
						echo "$name" >>"$NET_TMP/run"
				fi
			done >/dev/null 2>&1
		sleep 0.3
	done
}
rolled_out() {
	kubectl rollout status -n $NS --timeout=120s deployment/engine
}
restarts() {
	kubectl rollout restart -n $NS deployment/engine && rolled_out
}
engines_on() { # NODES: two engines are there, on so many nodes
	local on
	on=$(kubectl get pods -n $NS -l app=bulkhead-engine -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}')
	net_is "$(wc -l <<<"$on") $(sort -u <<<"$on" | wc -l)" "2 $1"
}

: >"$NET_TMP/run"
net_check "a node" node worker-1
net_check "the server takes the manifests" kubectl apply -k "$NET_TOP/tools/deploy/base"
kubelet &
NET_SERVERS+=($!)
for nodes in 1 2 3; do
	[ $nodes = 1 ] || net_check "a cluster of $nodes nodes" node worker-$nodes
	net_check "kubectl rollout status ends on $nodes nodes" rolled_out
	for time in first second; do
		net_check "the $time rollout restart ends on $nodes nodes" restarts
	done
	net_check "engines are on two nodes of $nodes, or on the only one" rollout_await 30 engines_on $((nodes < 2 ? 1 : 2))
done
net_end
