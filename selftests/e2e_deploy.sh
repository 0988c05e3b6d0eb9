#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The commands of tools/deploy/README.md, from nothing to enforced and back, as they stand there, on a cluster
# of two workers that has a network and no policy: the image is built, pushed to a registry and pulled by
# both nodes; engine, followers and plugin run as pods with their own service accounts. A policy by kubectl
# is then enforced between pods on both workers, for pods that were there before and pods that come after,
# and the last commands leave the nodes as they were.
#
# This Kubernetes is older than 1.30, so the folder older stands for the one above, as README.md says.

# shellcheck source=selftests/lib/e2e.sh
. "$(dirname "$0")/lib/e2e.sh"
export KUBE_ACCOUNTS=1 WORKER_BULKHEAD=no
[ -n "${KUBE_CONFIGS:-}" ] || e2e_beside
e2e_begin

command -v podman >/dev/null && [ -x "$WORKER_BIN/docker-registry" ] || net_skip "needs podman and docker-registry"
[ -d /etc/cni/net.d ] || net_skip "needs /etc/cni/net.d"
AGNHOST=k8s.gcr.io/e2e-test-images/agnhost:2.21
TREE=$NET_TMP/tree

# The tree as somebody has it who follows README.md: with a tools/deploy that the commands may change.
deploy_tree() {
	mkdir -p "$TREE/tools" && ln -s "$NET_TOP"/* "$TREE/" 2>/dev/null
	ln -s "$NET_TOP"/tools/* "$TREE/tools/" && rm "$TREE/tools/deploy" &&
		cp -r "$NET_TOP/tools/deploy" "$TREE/tools/"
}
# Prints the commands of README.md's block with this one, without their comments.
deploy_block() { # REGEXP
	awk -v want="$1" '
		/^```/ { if (block ~ want) printf "%s", block; block = "" ; next }
		{ block = block $0 "\n" }' "$NET_TOP/tools/deploy/README.md" |
		sed 's/  *# .*//; s|-k build/image/deploy$|-k build/image/deploy/older|'
}
deploy_run() { # COMMAND
	(cd "$TREE" && REGISTRY=$WORKER_REGISTRY O=$(dirname "$BULKHEAD") bash -ec "$1")
}
deploy_commands() { # REGEXP
	local command
	while read -r command; do
		net_check "$command" deploy_run "$command"
	done < <(deploy_block "$1")
}

# A registry without TLS, and podman with images of its own that knows it.
deploy_registry() {
	cat >"$NET_TMP/registry.yaml" <<-END
	version: 0.1
	storage: {filesystem: {rootdirectory: $NET_TMP/registry}}
	http: {addr: "$WORKER_REGISTRY"}
	END
	cat >"$NET_TMP/storage.conf" <<-END
	[storage]
	driver = "vfs"
	graphroot = "$NET_TMP/images"
	runroot = "$NET_TMP/images.run"
	END
	printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$WORKER_REGISTRY" >"$NET_TMP/registries.conf"
	export CONTAINERS_STORAGE_CONF=$NET_TMP/storage.conf CONTAINERS_REGISTRIES_CONF=$NET_TMP/registries.conf
	docker-registry serve "$NET_TMP/registry.yaml" </dev/null >"$NET_TMP/registry.log" 2>&1 &
	NET_SERVERS+=($!)
	rollout_await 20 curl -sf -o /dev/null "http://$WORKER_REGISTRY/v2/"
}

pod() { # NAME NODE
	kubectl apply -f - <<-END
	apiVersion: v1
	kind: Pod
	metadata: {name: $1, labels: {role: "${1%%-*}"}}
	spec:
	  nodeName: $2
	  terminationGracePeriodSeconds: 0
	  containers:
	  - {name: agnhost, image: "$AGNHOST", args: [netexec, --http-port=8080]}
	END
}
pods_ready() {
	kubectl wait pod --all --for condition=Ready --timeout=120s
}
addresses() { # POD
	kubectl get pod "$1" -o jsonpath='{.status.podIPs[*].ip}'
}
called() { # FROM ADDRESS
	local host=$2
	[[ $2 != *:* ]] || host="[$2]"
	kubectl exec "$1" -- curl -g -s -m 2 -o /dev/null "http://$host:8080/hostname"
}
is_denied() { # FROM ADDRESS
	! called "$@"
}
# Waits: a policy takes a moment to come.
expect() { # allowed|denied WHEN FROM TO...
	local from=$3 result=$1 when=$2 to address command=called
	[ "$result" = allowed ] || command=is_denied
	for to in "${@:4}"; do
		for address in $(addresses "$to"); do
			net_check "$when: $from to $to ($address) is $result" rollout_await 60 $command "$from" "$address"
		done
	done
}
policy() {
	kubectl apply -f - <<-END
	apiVersion: networking.k8s.io/v1
	kind: NetworkPolicy
	metadata: {name: db}
	spec:
	  podSelector: {matchLabels: {role: db}}
	  ingress:
	  - from: [{podSelector: {matchLabels: {role: web}}}]
	END
}

# The files that Bulkhead may have put on a node; the layout of a network's list may differ. libxdp's folder is its lock,
# and stays: another program may wait for it.
node_state() { # NODE
	worker_on "$1" sh -c 'cat /etc/cni/net.d/* | tr -d "[:space:]"; echo; ls /opt /opt/cni/bin;
		find /sys/fs/bpf /var/lib/bulkhead ! \( -path /sys/fs/bpf/xdp -empty \) | sort;
		bpftool net show | grep -o "bh_.*\|tc_.*\|xdp_.*" | sort -u; ls -A /etc/cni/net.d'
}

e2e_cluster
for node in $CLUSTER_NODES; do
	net_check "$node has its network where the DaemonSet looks" worker_places "$node"
	node_state "$node" >"$NET_TMP/$node.before" 2>&1
done
net_check "a copy of the tree" deploy_tree
net_check "a registry" deploy_registry
net_check "README.md has three commands, and four back" net_is \
	"$(deploy_block 'make image' | wc -l) $(deploy_block 'delete -k' | wc -l)" "3 4"
for name in "db-1 worker-1" "web-1 worker-1" "web-2 worker-2" "job-1 worker-1"; do
	# shellcheck disable=SC2086
	pod $name >/dev/null
done
net_check "pods run" pods_ready
expect allowed "before" job-1 db-1

deploy_commands 'make image'
net_check "engines and followers run" kubectl wait pod -n bulkhead-system --all --for condition=Ready --timeout=180s
net_check "the engines are replaced, and kubectl says when" eval 'kubectl rollout restart -n bulkhead-system \
	deployment/engine && kubectl rollout status --timeout=180s -n bulkhead-system deployment/engine'
net_check "both nodes have the policy" rollout_await 120 rollout_is_settled 2
net_check "kubectl applies a policy" policy
for name in "db-2 worker-2" "job-2 worker-2"; do
	# shellcheck disable=SC2086
	pod $name >/dev/null
done
net_check "new pods run" pods_ready
for name in web-1 web-2; do
	expect allowed "enforced" $name db-1 db-2
done
for name in job-1 job-2; do
	expect denied "enforced" $name db-1 db-2
	expect allowed "enforced" $name web-1 web-2
done
net_check "kubectl deletes the policy" kubectl delete networkpolicy db
expect allowed "without the policy" job-2 db-1 db-2
net_check "kubectl applies the policy again" policy
expect denied "again" job-1 db-1 db-2

command=$(deploy_block 'delete -k' | sed -n 1p)
net_check "$command" deploy_run "$command"
expect denied "without engine and followers" job-1 db-1 db-2
expect allowed "without engine and followers" web-1 db-1 db-2
while read -r command; do
	net_check "$command" deploy_run "$command"
done < <(deploy_block 'delete -k' | sed 1d)
expect allowed "removed" job-1 db-1 db-2
for node in $CLUSTER_NODES; do
	node_state "$node" >"$NET_TMP/$node.after" 2>&1
	net_check "$node is as before" diff "$NET_TMP/$node.before" "$NET_TMP/$node.after"
done
net_check "pods start without Bulkhead" eval 'pod job-3 worker-1 && pods_ready'
expect allowed "removed" job-3 db-1 db-2
[ $NET_FAILED -eq 0 ] || { kubectl get pods -A -o wide; kubectl get events -A | grep -v Normal | tail -n 20; } | sed 's/^/# /'
net_end
