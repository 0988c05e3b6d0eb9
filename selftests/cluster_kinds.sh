#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each kind of object that a policy is made of, by kubectl alone: applied, edited and deleted, beside a real
# API server, an engine, a follower on each of three nodes and kube-proxy. After each step the maps of all
# nodes evaluate as a fresh compile of the API's objects, and real connections follow it: denied ones beside allowed
# ones, over IPv4 and IPv6. Beside it, follow --once.
CLUSTER_NODES="worker-1 worker-2 worker-3"
export KUBE_AUDIT=${KUBE_AUDIT:-1}
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
kube_proxy=$(declare -f cluster_proxy)
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"
eval "$kube_proxy"

cluster_pods() {
	cat <<-EOF
	shop db worker-1 "role": "db"
	shop web worker-2 "role": "web"
	shop job worker-3 "role": "job"
	shop worker-1 worker-1 "role": "host"
	EOF
}
ADMIN=policy.networking.k8s.io
ROLLOUT_KINDS="namespaces,nodes,pods,services,endpointslices,networkpolicies"
ROLLOUT_KINDS+=",adminnetworkpolicies.$ADMIN,baselineadminnetworkpolicies.$ADMIN,clusternetworkpolicies.$ADMIN"

# The three kinds of admin policies, with schemas that take anything.
definitions() {
	local crd=$NET_TOP/selftests/lib/loose-crd.yaml
	cat "$crd"
	echo ---
	sed 's/AdminNetworkPolicy/BaselineAdminNetworkPolicy/; s/adminnetworkpolic/baseline&/' "$crd" |
		sed 's/\(plural: \|singular: \)adminn/\1baselineadminn/g; s/, singular: adminn/, singular: baselineadminn/'
	echo ---
	sed 's/AdminNetworkPolicy/ClusterNetworkPolicy/; s/adminnetworkpolic/clusternetworkpolic/g; s/v1alpha1/v1alpha2/' "$crd"
}
# Begins as YAML, since kubectl takes a document that begins with a brace for strict JSON.
apply() {
	{ echo --- && cat; } | kubectl apply -f - >/dev/null
}

# Asks over IPv4 and IPv6, and compares who answers; "-": no one.
asks() { # NAME POD ADDRESS4 ADDRESS6 PORT ANSWER
	local address answer wait=$NET_WAIT_ALLOWED said=
	[ "$6" != - ] || wait=$NET_WAIT_DENIED
	for address in "$3" "$4"; do
		answer=$(net_on "$2" "$NET_HELPERS/backend" ask tcp "$address" "$5" "$wait" 1 |
			sed -nE 's/^([a-z0-9-]+) from .*/\1/p')
		said+="${answer:--} "
	done
	net_check "$1: $2 asks port $5 of $3 and $4, and hears $6" net_is "$said" "$6 $6 "
}
asks_pod() { # NAME POD OTHER ANSWER
	asks "$1" "$2" "$(net_ip "$3")" "$(net_ip6 "$3")" 8080 "$4"
}
evaluates_as_compiled() {
	local node
	for node in $CLUSTER_NODES; do
		"$BULKHEAD" diff --pin "/sys/fs/bpf/$node" "$NET_TMP/all.yaml" || return
	done
}
settles() { # NAME
	net_check "$1: all nodes have it" rollout_settles
	net_check "$1: the maps say what a fresh compile says" rollout_agrees
	net_check "$1: no flow is evaluated otherwise" evaluates_as_compiled
}

cluster_start
net_check "resources and rights" rollout_install
defined() {
	definitions | apply && rollout_await 30 kubectl get "$ROLLOUT_KINDS" -A
}
net_check "the kinds of admin policies" defined
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
settles "nothing but pods"
asks_pod "nothing but pods" web db db
asks_pod "nothing but pods" job db db

# Services: web may reach the role db and nothing else, and nobody but web may reach db.
cat <<EOF | apply
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: shop},
 spec: {podSelector: {matchLabels: {role: web}}, policyTypes: [Egress],
  egress: [{to: [{podSelector: {matchLabels: {role: db}}}]}]}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
 spec: {podSelector: {matchLabels: {role: db}}, ingress: [{from: [{podSelector: {matchLabels: {role: web}}}]}]}}
EOF
service() { # PORT BACKEND
	cluster_service_object shop front "$1" 8080 -
	cluster_slice_objects shop front 8080 "$2"
}
service_is() { # NAME
	settles "$1"
	cluster_lookup
	cluster_settled
}
asks_service() { # NAME POD PORT ANSWER
	asks "$1" "$2" "${CLUSTER_IP[front/4]}" "${CLUSTER_IP[front/6]}" "$3" "$4"
}
service 80 db | apply
service_is "a Service comes"
asks_service "a Service comes" web 80 db
asks_service "a Service comes" job 80 -
service 81 db | apply
service_is "its port is edited"
asks_service "its port is edited" web 81 db
asks_service "its port is edited" job 81 -
service 81 job | apply
service_is "its EndpointSlices are edited"
asks_service "its EndpointSlices are edited" db 81 job
asks_service "its EndpointSlices are edited" web 81 -
service 81 db | apply
service_is "its EndpointSlices are edited back"
asks_service "its EndpointSlices are edited back" web 81 db
asks_service "its EndpointSlices are edited back" job 81 -
kubectl delete -n shop endpointslice front-4 front-6 >/dev/null
service_is "its EndpointSlices are deleted"
asks_service "its EndpointSlices are deleted" web 81 -
asks_pod "its EndpointSlices are deleted" web db db
kubectl delete -n shop service front >/dev/null
settles "the Service is deleted"
asks_pod "the Service is deleted" web db db
asks_pod "the Service is deleted" job db -
kubectl delete -n shop networkpolicy web db >/dev/null
settles "the NetworkPolicies are deleted"
asks_pod "the NetworkPolicies are deleted" job db db

# Admin policies: who may not reach the role db.
admin() { # KIND VERSION NAME MORE-OF-SPEC ROLE
	cat <<-EOF | apply
	{apiVersion: $ADMIN/$2, kind: $1, metadata: {name: $3}, spec: {$4
	 subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {role: db}}}},
	 ingress: [{name: denied, action: Deny,
	  from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {role: $5}}}}]}]}}
	EOF
}
admin_kind() { # KIND VERSION NAME MORE-OF-SPEC
	admin "$1" "$2" "$3" "$4" job
	settles "$1 comes"
	asks_pod "$1 comes" job db -
	asks_pod "$1 comes" web db db
	admin "$1" "$2" "$3" "$4" web
	settles "$1 is edited"
	asks_pod "$1 is edited" job db db
	asks_pod "$1 is edited" web db -
	kubectl delete "$1.$ADMIN" "$3" >/dev/null
	settles "$1 is deleted"
	asks_pod "$1 is deleted" job db db
	asks_pod "$1 is deleted" web db db
}
admin_kind AdminNetworkPolicy v1alpha1 one "priority: 5,"
admin_kind BaselineAdminNetworkPolicy v1alpha1 default ""
admin_kind ClusterNetworkPolicy v1alpha2 two "tier: Admin, priority: 7,"

# Nodes: web may not reach the nodes of the zone old.
cat <<EOF | apply
{apiVersion: $ADMIN/v1alpha1, kind: AdminNetworkPolicy, metadata: {name: zones}, spec: {priority: 9,
 subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {role: web}}}},
 egress: [{name: old, action: Deny, to: [{nodes: {matchLabels: {zone: old}}}]}]}}
EOF
settles "a policy about Nodes"
asks_pod "a policy about Nodes" web worker-1 host-1
kubectl label node worker-1 zone=old >/dev/null
settles "a Node gets a label"
asks_pod "a Node gets a label" web worker-1 -
asks_pod "a Node gets a label" job worker-1 host-1
cluster_node_object worker-9 | sed 's/"name": "worker-9"/&, "labels": {"zone": "old"}/' | apply
cluster_node_object worker-9 | cluster_status "" nodes worker-9
settles "a Node comes"
kubectl label node worker-1 zone- >/dev/null
settles "the label is taken off"
asks_pod "the label is taken off" web worker-1 host-1
kubectl delete node worker-9 >/dev/null
settles "a Node is deleted"
asks_pod "a Node is deleted" web worker-1 host-1

# A pod that fits into a segment which is there, on a node that has no follower.
before=$(rollout_metric engine_compiles_patched_total)
next_object() {
	printf -- '---\n{"apiVersion": "v1", "kind": "Pod",'
	printf ' "metadata": {"name": "next", "namespace": "shop", "labels": {"role": "web"}},'
	printf ' "spec": {"nodeName": "worker-9", "containers": [{"name": "main", "image": "none"}]},'
	printf ' "status": {"phase": "Running", "podIP": "10.244.9.9", "podIPs": [{"ip": "10.244.9.9"}]}}'
}
next_object | apply
net_check "a pod of a known kind comes" eval 'next_object | cluster_status shop pods next'
all_know_next() {
	local node
	for node in $CLUSTER_NODES; do
		"$BULKHEAD" show endpoints --pin "/sys/fs/bpf/$node" | grep -q shop/next || return
	done
}
net_check "all nodes know the pod" rollout_await 60 all_know_next
settles "a pod of a known kind"
net_check "the engine has looked at that pod alone" eval \
	'[ "$(rollout_metric engine_compiles_patched_total)" -gt "$before" ]'

# follow --once, as a timer runs it.
once() {
	KUBECONFIG=$KUBE_CONFIGS/worker-3 timeout 60 nsenter --net="/run/netns/$NET-worker-3" "$BULKHEAD" follow \
		-n worker-3 --uplink eth0 --pin /sys/fs/bpf/worker-3 --records "$NET_TMP/records-worker-3" --once
}
rollout_kill follow-worker-3
admin AdminNetworkPolicy v1alpha1 one "priority: 5," job
net_check "follow --once follows to the newest policy, and ends" once
net_check "follow --once ends again where nothing is new" once
settles "follow --once"
asks_pod "follow --once" job db -
asks_pod "follow --once" web db db
net_check "the engine lists and watches every kind that it may" rollout_rights_used '(create|get|update|patch|delete) .*'
net_end
