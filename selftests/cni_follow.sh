#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node as a cluster has it: the real kubelet and containerd, a real API server, Bulkhead as plugin, engine
# and follower. Pods and policies come by kubectl alone. The endpoint that the plugin attaches and the Pod that the
# follower reads are one: a pod is under policy from its first packet, whether plugin or follower is first.
#
#   STARTS=40   how many pods are started for that
CLUSTER_NODES=worker-1
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
FIRST_ADDRESSES=24
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"
CONTAINERD_NODE=worker-1
# shellcheck source=selftests/lib/containerd.sh
. "$(dirname "$0")/lib/containerd.sh"
# shellcheck source=selftests/lib/kubelet.sh
. "$(dirname "$0")/lib/kubelet.sh"

STARTS=${STARTS:-40}
SIDE=8 # pods at a time
pin=/sys/fs/bpf/worker-1
home=$CONTAINERD_HOME
containerd_apart /var/log/containers /var/lib/kubelet

end() {
	[ -z "${KUBELET:-}" ] || kubelet_kill
	containerd_end
	[ -z "${KUBE_KEEP:-}" ] || cp "$home/log" "$KUBE_KEEP/containerd.log"
	cluster_cleanup
} 2>/dev/null
cluster_pods() { :; }
on_node() { # SUBCOMMAND ARGUMENT...
	cluster_bulkhead worker-1 "$@"
}

# A pod of this node, by the API server: no scheduler runs.
put_pod() { # POD MILLISECONDS RESTART-POLICY [LABEL]
	kubelet_pod "$1" "$2" "$3" ', "nodeName": "worker-1"' ", \"labels\": {\"app\": \"${4:-web}\"}" |
		kubectl apply -f -
}
said() { # POD
	kubelet_said "$1"
}
drop_pod() { # POD [OPTION...]
	kubectl delete --wait=false pod "$@"
}
# Whether both addresses of the pod are active. A pod that comes before the former pod of its name has gone
# is listed as POD:CONTAINER:IFNAME.
is_listed() { # POD STATE: segment or isolated
	[ "$(on_node endpoint list | grep -c "^default/$1[: ].* $2")" = 2 ]
}
is_empty() {
	[ -z "$(on_node endpoint list)" ]
}
has_address() { # POD: the API server knows where it is
	[ -n "$(kubectl get pod "$1" -o jsonpath='{.status.podIP}')" ]
}
follow() {
	KUBECONFIG=$KUBE_CONFIGS/worker-1 nsenter --net="/run/netns/$NET-worker-1" "$BULKHEAD" follow -n worker-1 \
		--uplink eth0 --pin "$pin" </dev/null >>"$NET_TMP/follow-worker-1.log" 2>&1 &
	ROLLOUT_PID[follow-worker-1]=$!
	NET_SERVERS+=($!)
}
# The caller outside prints at its end the packets that it received.
hears_all() {
	first_listen 1 && [ "$(first_heard denied)" -gt 0 ]
}
hears_allowed() {
	first_listen 1 && [ "$(first_heard allowed)" -gt 0 ] && [ "$(first_heard denied)" -eq 0 ]
}

cluster_start
trap end EXIT
ip -n "$NET-out" route add 10.91.0.0/16 via "$(net_ip worker-1)"
ip -n "$NET-out" -6 route add fd91::/64 via "$(net_ip6 worker-1)"
cni_start
net_check "containerd's configuration and an image" containerd_make
first_network guarded 1 "$home/net.d"
net_check "install" net_on worker-1 "$BULKHEAD" cni install --conf-dir "$home/net.d" --bin-dir "$home/bin" --pin "$pin"
net_check "containerd starts" containerd_start
net_check "containerd takes the image" containerd_import
net_check "the machine's settings stay as they were" kubelet_prepare
net_check "resources and rights" rollout_install
rollout_engine one
follow
cat >"$NET_TMP/policy.yaml" <<EOF2
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: default},
 spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress, Egress],
  ingress: [{from: [{ipBlock: {cidr: 192.168.7.0/24}}, {ipBlock: {cidr: "fd07::/64"}}], ports: [{port: 7001, protocol: UDP}]}],
  egress: [{to: [{ipBlock: {cidr: 192.168.7.0/24}}, {ipBlock: {cidr: "fd07::/64"}}], ports: [{port: 7001, protocol: UDP}]}]}}
EOF2
net_check "a policy" kubectl apply -f "$NET_TMP/policy.yaml"
net_check "the node has it" rollout_await 90 rollout_is_settled 1
# The kubelet makes its own, and one without a capacity ends it.
net_check "the node's object goes" kubectl delete node worker-1
net_check "the kubelet starts" kubelet_start "$(net_ip worker-1)" --kubeconfig="$KUBE_CONFIGS/admin"

first_call 1
kubelet_run_pods 0 "$STARTS" >"$NET_TMP/kubectl" 2>&1
first_call_end
first_results "$STARTS"
net_check "nobody is left" await 120 is_empty

# The status has one of its two addresses; the plugin knows both, and both stay.
first_call 1
net_check "a pod" put_pod long 3600000 Always
net_check "the API server hears of its address" await 120 has_address long
net_check "follow hears of it: both addresses stay active" eval 'sleep 1; is_listed long segment'
first_call_end
net_check "the pod is heard where policy allows" test "$(first_heard allowed)" -gt 0
net_check "the pod is heard nowhere else: 0 packets" net_is "$(first_heard denied)" 0
net_check "the pod gets a label that no policy selects" kubectl label --overwrite pod long app=free
net_check "a pod that no policy selects is heard everywhere" await 60 hears_all
net_check "the pod gets its label back" kubectl label --overwrite pod long app=web
net_check "with its label back the pod is heard where policy allows and nowhere else" await 60 hears_allowed

# The plugin is first: follow stands still while a pod comes, whose name the active policy has not.
first_call 1
rollout_signal follow-worker-1 STOP
net_check "a pod that comes while follow stands still" put_pod late 3600000 Always
net_check "the pod that came while follow stands still is isolated" await 120 is_listed late isolated
net_check "the other pod is deleted by force" drop_pod long --force --grace-period=0
net_check "the plugin removes the endpoint of the deleted pod" await 120 eval '! on_node endpoint list | grep -q "^default/long[: ]"'
first_call_end
first_listen 1
net_check "nobody hears the isolated one" net_is "$(first_heard allowed) $(first_heard denied)" "0 0"
first_call 1
rollout_signal follow-worker-1 CONT
net_check "follow goes on: the pod has its name" await 120 is_listed late segment
first_call_end
net_check "0 packets of what policy denies meanwhile" net_is "$(first_heard denied)" 0
first_listen 1
net_check "the named pod is heard where policy allows" test "$(first_heard allowed)" -gt 0
net_check "the named pod is heard nowhere else: 0 packets" net_is "$(first_heard denied)" 0

# Deleted by force, and there again at once: the old one may still run.
first_call 1
for ((i = 0; i < 3; i++)); do
	drop_pod late --force --grace-period=0 >"$NET_TMP/kubectl" 2>&1
	put_pod late 3600000 Always >"$NET_TMP/kubectl" 2>&1
	await 120 has_address late
done
uid=$(kubectl get pod late -o jsonpath='{.metadata.uid}')
net_check "the last of them is active" await 120 is_listed late segment
net_check "as itself" grep -qr "$uid" /run/bulkhead/cni
net_check "follow is killed, a policy changes, follow is back" eval \
	'rollout_kill follow-worker-1; sed "s/port: 7001, protocol: UDP}/&, {port: 1, protocol: TCP}/g" "$NET_TMP/policy.yaml" | kubectl apply -f -; follow'
net_check "the node has it" rollout_await 90 rollout_is_settled 1
net_check "the pod is still there" is_listed late segment
first_call_end
net_check "meanwhile outside heard what policy allows" test "$(first_heard allowed)" -gt 0
net_check "meanwhile outside heard nothing else: 0 packets" net_is "$(first_heard denied)" 0
drop_pod late >"$NET_TMP/kubectl"
net_check "all go" await 120 is_empty
alarms() { # what would make a person look at a node on which nothing is wrong
	grep -E "is not guarded: no interface|none is on the node" "$NET_TMP/follow-worker-1.log"
}
net_check "follow raises no alarm about pods that come or go" net_is "$(alarms)" ""
net_check "nothing is attached" net_is "$(ls /run/bulkhead/cni)" ""
# A record goes with the Pod's object, which kubelet lets go later than the pod's network. The folder of addresses that
# have left pods stays.
net_check "no record stays" await 240 eval '[ -z "$(find /run/bulkhead/endpoints.d -name "*.json")" ]'
net_end
