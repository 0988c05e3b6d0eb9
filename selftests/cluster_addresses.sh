#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node gives a pod's address to the next pod while the API server still lists the former one: other nodes
# evaluate no packet of the next pod by the former one's labels, with an engine and without. A node that names an
# address of another node's pod or of a node does not get it. Followers run on three nodes beside a real API
# server; the pods of worker-1 come by the CNI plugin.
#
#   ROUNDS=3   how many pods get the address one after another
CLUSTER_NODES="worker-1 worker-2 worker-3"
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"

ROUNDS=${ROUNDS:-3}
cluster_pods() {
	cat <<-EOF2
	shop db worker-2 "role": "db"
	shop web worker-3 "role": "web"
	shop job worker-3 "role": "job"
	EOF2
}
# The network of worker-1 has one address of each IP version, so that each pod gets the former one's.
X=10.244.1.200 X6=fd44:1::200
range() { # SUBNET ADDRESS
	echo "[{\"subnet\": \"$1\", \"rangeStart\": \"$2\", \"rangeEnd\": \"$2\"}]"
}
own() {
	echo "{\"type\": \"bulkhead-cni\", \"pin\": \"/sys/fs/bpf/worker-1\", \"records\": \"$NET_TMP/records-worker-1\"}"
}
runtime() { # COMMAND POD
	CNI_PATH=$CNI_DIR/bin:$CNI_BIN RUNTIME_CACHE=$CNI_DIR/cache \
		CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$2;K8S_POD_UID=$(cat "$NET_TMP/uid-$2")" \
		net_on worker-1 "$NET_HELPERS/runtime" "$CNI_DIR/net.d/one.conflist" "$1" "of-$2" "/run/netns/$NET-$2" eth0 \
		>"$NET_TMP/cni.out" 2>&1 || { cat "$NET_TMP/cni.out" && false; }
}

policy() {
	cat <<-EOF2
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: web}}}], ports: [{port: 7080, protocol: UDP}]},
	  {from: [{podSelector: {matchLabels: {role: job}}}], ports: [{port: 7090, protocol: UDP}]},
  {from: [{ipBlock: {cidr: 0.0.0.0/0}}, {ipBlock: {cidr: "::/0"}}], ports: [{port: 7070, protocol: UDP}]}]}}
	EOF2
}
pod_object() { # POD ROLE NODE
	cat <<-EOF2
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1", "namespace": "shop", "labels": {"role": "$2"},
	 "finalizers": ["bulkhead.dev/test"]},
	 "spec": {"nodeName": "$3", "containers": [{"name": "main", "image": "none"}]}}
	EOF2
}
make_pod() { # POD ROLE
	pod_object "$1" "$2" worker-1 | kubectl apply -f - >/dev/null &&
		kubectl get pod -n shop "$1" -o jsonpath='{.metadata.uid}' >"$NET_TMP/uid-$1" && cni_pod "$1"
}
tell_address() { # POD ADDRESS [ADDRESS6]
	kubectl get --raw "/api/v1/namespaces/shop/pods/$1" | sed 's/"status":{.*/"status":{"phase":"Running","podIP":"'"$2"'","podIPs":[{"ip":"'"$2"'"}'"${3:+,{\"ip\":\"$3\"\}}"']}}/' |
		kubectl replace --raw "/api/v1/namespaces/shop/pods/$1/status" -f - >/dev/null
}
recorded() { # POD: the follower has heard of the pod
	[ -e "$NET_TMP/records-worker-1/shop_$1.json" ]
}
# The pod sends to db by IPv4 and IPv6 each millisecond, until net_stream_end. db lets web in at UDP/7080, job
# at 7090, and every address at 7070.
begin() { # POD
	local port to=()
	for port in 7070 7080 7090; do
		to+=("$port" "$port@$(net_ip6 db)")
	done
	net_stream db recv 7070 7080 7090
	net_stream "$1" send "$(net_ip db)" "${to[@]}"
}
# How many packets to the port the pod has sent, or db has heard.
heard() { # POD PORT
	awk -v port="$2" 'split($1, at, "@") && at[1] == port { n += $2 } END { print n + 0 }' "$NET_TMP/$1.counts"
}
hears() { # POD PORT: db hears the pod there within half a second
	begin "$1"
	sleep 0.5
	net_stream_end
	[ "$(heard db "$2")" -gt 0 ]
}
arrive() { # POD ROLE
	net_check "$1 comes by the API" make_pod "$1" "$2"
	net_check "the follower of worker-1 hears of $1" rollout_await 30 recorded "$1"
}
# Prints how many milliseconds the pod's address rests. Ends after a minute.
rest_of() { # POD
	local file from=
	file=$NET_TMP/records-worker-1/left/${X}_$(cat "$NET_TMP/uid-$1")
	for ((n = 0; n < 6000; n++)); do
		if grep -qs '"rests":true' "$file"; then
			from=${from:-$(date +%s%N)}
		elif [ -n "$from" ]; then
			echo $((($(date +%s%N) - from) / 1000000))
			return
		fi
		sleep 0.01
	done
}
# The pod of an address ends, and the next one has the address at once. The former one's object stays.
replace() { # FORMER NEXT
	kubectl delete pod -n shop "$1" --wait=false >/dev/null &&
		runtime DEL "$1" && ip netns del "$NET-$1" && runtime ADD "$2"
}
free_former() { # POD: its object goes
	kubectl patch pod -n shop "$1" --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null &&
		kubectl delete pod -n shop "$1" --force --grace-period=0 --ignore-not-found >/dev/null 2>&1
}
port_of() { # ROLE
	[ "$1" = web ] && echo 7080 || echo 7090
}
denied_of() { # ROLE
	[ "$1" = web ] && echo 7090 || echo 7080
}
# The other nodes than thief's have the address active as this pod's; "": as nobody's.
owner_is() { # ADDRESS NAMESPACE/POD
	local node
	for node in worker-1 worker-2; do
		[ "$(cluster_bulkhead "$node" endpoint list | awk -v address="$1" '$2 == address { print $1 }')" = "$2" ] ||
			return
	done
}
has_event() { # POD PATTERN
	kubectl get events -n shop --field-selector "involvedObject.name=$1" -o jsonpath='{.items[*].message}' | grep -q "$2"
}

first_apart
cluster_start
cni_start
mkdir -p "$NET_TMP/records-worker-1"
cat >"$CNI_DIR/net.d/one.conflist" <<EOF2
{"cniVersion": "1.0.0", "name": "one", "plugins": [{"type": "ptp", "ipam": {"type": "host-local",
	"dataDir": "$CNI_DIR/ipam", "ranges": [$(range 10.244.1.0/24 $X), $(range fd44:1::/64 $X6)],
	"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}}, $(own)]}
EOF2
net_check "resources and rights" rollout_install
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
policy | kubectl apply -f - >/dev/null
net_check "all nodes have a policy" rollout_settles

# A status is no way to make the engine read on and on.
states() { # COUNT: by worker-3's own rights, addresses that have left pods there; prints the status and the message
	printf '{"status": {"leftAddresses": [%s]}}' "$(seq "$1" |
		sed 's/.*/{"address": "10.9.9.9", "namespace": "shop", "name": "gone", "uid": "gone-&"}/' | paste -sd,)" >"$NET_TMP/states"
	curl -s --cacert "$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")" -w '%{http_code}' \
		-H "Authorization: Bearer secret-of-worker-3" -X PATCH -H "Content-Type: application/merge-patch+json" \
		-d "@$NET_TMP/states" "https://192.168.7.10:6443/apis/bulkhead.dev/v1alpha1/nodepolicystatuses/worker-3/status"
}
net_check "a node may state 1024 addresses" eval 'states 1024 | grep -q "200$"'
net_check "the API server refuses one more" eval 'states 1025 | tr -d "\n" | grep -q "at most 1024 items.*422$"'
arrive pod-0 web
net_check "pod-0 starts" runtime ADD pod-0
net_check "the API server hears of pod-0's address" tell_address pod-0 $X $X6
net_check "all nodes have pod-0" rollout_settles
net_check "db hears pod-0 where policy allows" rollout_await 20 hears pod-0 7080
net_check "db hears pod-0 nowhere else" net_is "$(heard db 7090)" 0

# Pods of both roles take turns: what one may reach, the next may not.
last="pod-0"
for ((i = 1; i <= ROUNDS; i++)); do
	role=job
	[ $((i % 2)) = 1 ] || role=web
	arrive "pod-$i" "$role"
	rest_of "$last" >"$NET_TMP/rested" &
	rest=$!
	replace "$last" "pod-$i" >"$NET_TMP/said" 2>&1
	net_check "pod-$i has the address of $last" net_is "$?" 0
	begin "pod-$i"
	sleep 1
	net_check "the API server hears of pod-$i's address" tell_address "pod-$i" $X $X6
	sleep 1
	net_stream_end
	net_check "pod-$i has sent" test "$(heard "pod-$i" 7080)" -gt 200
	net_check "no packet of pod-$i passes by the labels of $last" net_is "$(heard db "$(denied_of $role)")" 0
	wait "$rest"
	net_check "the address of $last has rested" test "$(cat "$NET_TMP/rested")" -gt 0
	echo "# the address rested $(cat "$NET_TMP/rested") ms, and the first $(((($(heard "pod-$i" 7070) - $(heard db 7070))) / 2)) ms of pod-$i were closed"
	net_check "db hears pod-$i where policy allows" rollout_await 30 hears "pod-$i" "$(port_of $role)"
	net_check "the object of $last goes" free_former "$last"
	net_check "all nodes agree with the API's objects" rollout_settles
	last="pod-$i"
done

# No engine: the others cannot hear of the next pod, so that it is closed until one leads.
role=$([ $((ROUNDS % 2)) = 0 ] && echo job || echo web)
arrive alone "$role"
rollout_kill engine-one
replace "$last" alone >"$NET_TMP/said" 2>&1
net_check "without an engine, alone has the address of $last" net_is "$?" 0
begin alone
net_check "the API server hears of alone's address" tell_address alone $X $X6
sleep 2
net_stream_end
net_check "alone has sent" test "$(heard alone 7080)" -gt 600
net_check "no packet of alone passes by the labels of $last" net_is "$(heard db "$(denied_of "$role")")" 0
net_check "alone is closed while no engine leads" net_is "$(heard db 7070)" 0
net_check "the status of worker-1 says that an address rests" kubectl wait --for=condition=AddressesFree=false \
	--timeout=30s nodepolicystatus/worker-1
rollout_engine one
net_check "with an engine, db hears alone where policy allows" rollout_await 60 hears alone "$(port_of "$role")"
net_check "the status of worker-1 says that no address rests" kubectl wait --for=condition=AddressesFree \
	--timeout=30s nodepolicystatus/worker-1
net_check "db hears alone nowhere else" net_is "$(heard db "$(denied_of "$role")")" 0
net_check "the object of $last goes" free_former "$last"

# worker-3 writes addresses that are not its pod's.
thief() { # ADDRESS OWNER PATTERN WHOSE
	net_check "thief names the address of $4" tell_address thief "$1"
	net_check "an Event of thief names $4" rollout_await 30 has_event thief "$3"
	net_check "the address of $4 stays" owner_is "$1" "$2"
}
pod_object thief web worker-3 | kubectl apply -f - >/dev/null
thief "$(net_ip db)" shop/db "$(net_ip db) belongs to Pod shop/db on node worker-2" "shop/db"
thief "$(net_ip worker-2)" "" "$(net_ip worker-2) is an address of node worker-2" "node worker-2"
net_check "PolicyStatus says that an object is refused" kubectl wait --for=condition=ObjectsAccepted=false \
	--timeout=30s policystatus/global
net_check "thief names an address of its own" tell_address thief 10.244.3.77
net_check "an Event of thief says that it is accepted" rollout_await 30 has_event thief accepted
net_check "thief has its address" rollout_await 30 owner_is 10.244.3.77 shop/thief
net_end
