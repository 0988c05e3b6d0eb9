#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pods whose names and labels are as long as Kubernetes admits: each is added with its labels, by whatever way
# they are known, and a policy that selects by such a label decides on its packets.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

letters() { # LETTER N
	printf "%$2s" "" | tr ' ' "$1"
}
domain() { # LETTER: of 253 bytes
	echo "$(letters "$1" 63).$(letters "$1" 63).$(letters "$1" 63).$(letters "$1" 61)"
}
key=$(domain k)/$(letters k 63) value=$(letters v 63)
pod_ns=$(letters n 63)
pod_name=$(domain p)
labels() { # N: as many others, with the one that the policy selects
	local i
	for ((i = 1; i < $1; i++)); do
		printf '%s%s%s,' "$(domain k)/$(letters k 60)" "$(printf %03d "$i")" "=$value"
	done
	echo "$key=$value"
}
lists() { # NAME PATTERN
	net_bulkhead endpoint list >"$NET_TMP/list"
	grep -qE "^$pod_ns/$1 +$2" "$NET_TMP/list" || { cat "$NET_TMP/list" && false; }
}

net_start db late other
cni_start
db=$(net_ip db)
cat >"$NET_TMP/policy.yaml" <<EOF
{apiVersion: v1, kind: Namespace, metadata: {name: $pod_ns}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: shop, name: db}, spec: {podSelector: {},
  ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {"$key": "$value"}}}]}]}}
EOF
printf '%s\n[endpoint shop/db]\nnode = %s\nip = %s\ninterface = veth-db\n' "$(net_head)" worker-1 "$db" >"$NET_TMP/policy.ini"
net_serve db
net_check "load" net_bulkhead load "$NET_TMP/policy.ini" "$NET_TMP/policy.yaml"

# By `endpoint add` and `endpoint set`.
net_check "add a pod with the longest name and 8 of the longest labels" \
	net_bulkhead endpoint add "$pod_ns/$pod_name" --ip "$(net_ip late)" --labels "$(labels 8)"
net_check "add its twin without the label" net_bulkhead endpoint add "$pod_ns/twin" --ip "$(net_ip other)" --labels role=none
net_allowed late tcp "$db" 80 "the pod reaches db by its label"
net_denied other tcp "$db" 80 "its twin does not"
net_check "a load keeps the pod's labels" net_bulkhead load "$NET_TMP/policy.ini" "$NET_TMP/policy.yaml"
net_allowed late tcp "$db" 80 "after the load, the pod reaches db"
net_denied other tcp "$db" 80 "after the load, its twin does not"
net_check "set gives the twin the labels" net_bulkhead endpoint set "$pod_ns/twin" --labels "$(labels 9)"
net_check "set gives the pod another label" net_bulkhead endpoint set "$pod_ns/$pod_name" --labels role=none
net_allowed other tcp "$db" 80 "the twin reaches db by its new label"
net_denied late tcp "$db" 80 "the pod does not without the label"
net_check "status finds nothing wrong" net_bulkhead status --check
net_check "del of the pod" net_bulkhead endpoint del "$pod_ns/$pod_name"
net_check "del of its twin" net_bulkhead endpoint del "$pod_ns/twin"

# By the CNI plugin.
add() { # TRUST ANNOTATION ARGUMENT
	cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own "\"trust\": [$1]")"
	CNI_ARGS=${3:+BULKHEAD_LABELS=$3} \
		RUNTIME_ADDS="{\"runtimeConfig\": {\"io.kubernetes.cri.pod-annotations\": {\"bulkhead.dev/labels\": \"$2\"}}}" \
		cni_named "$pod_ns/$pod_name" ptp ADD pod || { cat "$NET_TMP/cni.out" "$NET_TMP/cni.err" && false; }
}
reaches() { # WAY
	net_check "labels by $1 give the pod its segment" lists "$pod_name" "$(cni_address) +segment"
	net_allowed pod tcp "$db" 80 "the pod, by $1, reaches db"
	net_check "CHECK of the pod, by $1" cni ptp CHECK pod
	net_check "DEL of the pod, by $1" cni ptp DEL pod
	net_check "DEL leaves nothing of the pod, by $1" net_is "$(net_bulkhead endpoint list | grep -c "^$pod_ns/")" 0
}
cni_pod pod
net_check "ADD of the pod whose labels nothing says" add '' "$(labels 8)" ''
net_check "without labels the pod is isolated" lists "$pod_name" "[0-9.]+ +isolated"
net_denied pod tcp "$db" 80 "the isolated pod does not reach db"
net_check "DEL of the isolated pod" cni ptp DEL pod
net_check "ADD by annotations" add '"annotations"' "$(labels 8)" ''
reaches annotations
net_check "ADD by arguments" add '"args"' '' "$(labels 8 | tr '=' ':')"
reaches arguments
labels 8 | tr , '\n' | sed 's/\(.*\)=\(.*\)/"\1": "\2"/' | paste -sd, >"$NET_TMP/labels"
echo "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"namespace\": \"$pod_ns\", \"name\": \"$pod_name\",
	\"labels\": {$(cat "$NET_TMP/labels")}}}" >"$CNI_DIR/records/1.json"
net_check "ADD by a record" add '' '' ''
reaches "a record"

# More than the record of an added endpoint has room for.
rm "$CNI_DIR/records/1.json"
net_check "ADD by annotations of 11 kB" add '"annotations"' "$(labels 30)" ''
net_check "the pod is isolated" lists "$pod_name" "[0-9.]+ +isolated"
pod=$(cni_address)
net_denied pod tcp "$db" 80 "the isolated pod does not reach db"
labels 30 | tr , '\n' | sed 's/\(.*\)=\(.*\)/"\1": "\2"/' | paste -sd, >"$NET_TMP/labels"
cat >"$NET_TMP/pod.yaml" <<EOF
{apiVersion: v1, kind: Pod, metadata: {namespace: $pod_ns, name: $pod_name, labels: {$(cat "$NET_TMP/labels")}},
  spec: {nodeName: worker-1}, status: {podIP: $pod}}
EOF
net_check "load a policy that has the pod" net_bulkhead load "$NET_TMP/policy.ini" "$NET_TMP/policy.yaml" "$NET_TMP/pod.yaml"
net_check "the pod has the policy's segment" lists "$pod_name" "$pod +segment"
net_allowed pod tcp "$db" 80 "the pod reaches db by its label"
net_check "endpoint add of labels of 11 kB is refused" net_ends 2 "take more than 3776 bytes" \
	net_bulkhead endpoint add "$pod_ns/other" --ip "$(net_ip other)" --labels "$(labels 30)"
net_end
