#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Faults of a cluster: its API server and etcd are killed, stopped, full and compacted, a node is cut off,
# an engine hangs or is cut off while another leads, a node's clock is an hour off, objects are refused, a
# policy is lost, and any process is killed or stopped at a random moment. Each time the maps of all nodes
# converge to the API's objects. No packet of a denied stream ever arrives, and each one of an allowed stream does. Every
# revision in etcd is checked as it comes.
#
# BULKHEAD_SEED=N chooses the random moments, ROUNDS=N how many they are.
CLUSTER_NODES="worker-1 worker-2 worker-3"
export KUBE_ETCD_SIZE=256m KUBE_AUDIT=${KUBE_AUDIT:-1}
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"

PORT=8080
# Changes the TCP port that the role web may reach; job reaches nothing.
change() {
	PORT=$((17170 - PORT))
	cat <<-EOF | kubectl apply -f - >/dev/null
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: web}}}],
	   ports: [{port: $PORT, protocol: TCP}, {port: 7001, protocol: UDP}]}]}}
	EOF
}
reaches() { # PORT allowed|denied
	local wait=$NET_WAIT_ALLOWED address
	[ "$2" = allowed ] || wait=$NET_WAIT_DENIED
	for address in "$(net_ip db)" "$(net_ip6 db)"; do
		if net_on web "$NET_HELPERS/backend" ask tcp "$address" "$1" "$wait" 1 | grep -q '^db'; then
			[ "$2" = allowed ] || return
		else
			[ "$2" = denied ] || return
		fi
	done
}
stays_active() { # NAME
	net_check "$1: web reaches db at $PORT" reaches $PORT allowed
	net_check "$1: and not at $((17170 - PORT))" reaches $((17170 - PORT)) denied
}
settles() { # NAME
	net_check "$1: all nodes have it" rollout_settles
	stays_active "$1"
}

# Remembers a process of the control plane by name, to start it again with the same arguments.
declare -A LINE
remember() { # NAME
	mapfile -d '' -t words <"/proc/$(pgrep -x "$1")/cmdline"
	LINE[$1]=$(printf '%q ' "${words[@]}")
}
again() { # NAME
	local line=()
	eval "line=(${LINE[$1]})"
	"${line[@]}" </dev/null >>"$NET_TMP/$1.log" 2>&1 &
	NET_SERVERS+=($!)
}
end() { # NAME
	kill -KILL "$(pgrep -x "$1")"
	while pgrep -x "$1" >/dev/null; do
		sleep 0.1
	done
}
answers() {
	rollout_await 90 kubectl get --raw /readyz >/dev/null 2>&1
}
etcd() { # PATH JSON
	curl -s -X POST -d "$2" "http://127.0.0.1:2379/v3/$1"
}

cluster_start
net_check "resources and rights" rollout_install
rollout_record
rollout_engine one
for node in worker-1 worker-2; do
	rollout_follower "$node"
done
export LD_PRELOAD
LD_PRELOAD=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
FAKETIME=+1h FAKETIME_DONT_FAKE_MONOTONIC=1 rollout_follower worker-3
FAKETIME=-1h FAKETIME_DONT_FAKE_MONOTONIC=1 rollout_engine two
unset LD_PRELOAD
change
settles "a node's clock is an hour ahead, and an engine's an hour behind"
remember kube-apiserver
remember etcd
net_stream db recv 7000 7001
net_stream job send "$(net_ip db)" 7000
net_stream web send "$(net_ip db)" 7001

end kube-apiserver
sleep 5
stays_active "the API server is killed"
again kube-apiserver
net_check "the API server is back" answers
back=$(date +%s%N)
change
net_check "a change comes after the API server was killed" rollout_await 90 rollout_is_settled 3
echo "# the change came $((($(date +%s%N) - back) / 1000000)) ms after the API server was back"
settles "after the API server was killed"

kill -STOP "$(pgrep -x kube-apiserver)"
sleep 25
stays_active "the API server hangs, for longer than a node may be silent"
kill -CONT "$(pgrep -x kube-apiserver)"
net_check "the API server goes on" answers
change
settles "after the API server hung"

end etcd
sleep 2
again etcd
net_check "etcd was killed, and is back" answers
change
settles "after etcd was killed"

revision=$(etcd kv/range '{"key":"YQ=="}' | grep -o '"revision":"[0-9]*"' | grep -o '[0-9]*')
etcd kv/compaction "{\"revision\":\"$revision\",\"physical\":true}" >/dev/null
end kube-apiserver
again kube-apiserver
net_check "the server has forgotten all that was" answers
change
settles "after a compaction"

member=$(etcd cluster/member/list '{}' | grep -o '"ID":"[0-9]*"' | cut -d '"' -f 4)
alarm() { # ACTION
	etcd maintenance/alarm "{\"action\":\"$1\",\"memberID\":\"$member\",\"alarm\":\"NOSPACE\"}" >/dev/null
}
alarm ACTIVATE
sleep 3
stays_active "etcd is full"
net_check "nothing can be written" eval '! kubectl create namespace full 2>/dev/null'
alarm DEACTIVATE
change
settles "after etcd was full"

# A full disk: etcd exits when it must allocate a block.
disk=$(dirname "$KUBE_CONFIGS")/etcd
head -c 1G /dev/zero >"$disk/filler" 2>/dev/null
large() {
	head -c 400000 /dev/urandom >"$NET_TMP/large"
	kubectl create configmap "large-$1" --from-file="$NET_TMP/large" >/dev/null 2>&1
}
filled_up() {
	local i
	for ((i = 0; i < 400; i++)); do
		large $i || return 0
	done
	false
}
net_check "etcd's disk is full, and something large is not stored" filled_up
sleep 3
stays_active "etcd's disk is full"
rm "$disk/filler"
pgrep -x etcd >/dev/null || again etcd
net_check "the API server answers when the disk has room again" answers
change
settles "after etcd's disk was full"

ip -n "$NET-lan" link set port-worker-3 down
change
net_check "a node that is cut off holds the endpoints up" rollout_waits
net_check "until it counts no more" rollout_settles 2
stays_active "the others go on"
ip -n "$NET-lan" link set port-worker-3 up
change
settles "after the node was cut off"

# A node whose heartbeats go on, and which installs nothing.
beat() {
	local i ca
	ca=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
	for ((i = 0; ; i++)); do
		curl -s -o /dev/null --cacert "$ca" -H "Authorization: Bearer secret-of-worker-3" -X PATCH \
			-H "Content-Type: application/merge-patch+json" -d '{"status": {"heartbeat": "beat '$i'"}}' \
			"https://192.168.7.10:6443/apis/bulkhead.dev/v1alpha1/nodepolicystatuses/worker-3/status"
		sleep 1
	done
}
rollout_kill follow-worker-3
beat &
beats=$!
NET_SERVERS+=("$beats")
change
net_check "a node without progress holds the endpoints up" rollout_waits
net_check "a node without progress counts no more after a while" rollout_await 150 rollout_is_settled 2
stays_active "the others go on without the node that makes no progress"
net_check "the node's status names it and what it lacks" eval 'kubectl get -o wide nodepolicystatus worker-3 |
	grep "False *NoProgress" | grep -q "node worker-3 lacks policy"'
change
net_check "the next change does not wait" rollout_await 40 rollout_is_settled 2
kill "$beats"
rollout_follower worker-3
change
settles "the node makes progress again"
net_check "the node is ready" kubectl wait --for=condition=Ready --timeout=60s nodepolicystatus worker-3

leader=$(kubectl get lease -n bulkhead-system bulkhead-engine -o jsonpath='{.spec.holderIdentity}' | cut -d _ -f 2)
kill -STOP "$leader"
change
settles "the engine that leads stands still, and the other takes over"
kill -CONT "$leader"
change
settles "two believe that they lead"

# The engine that leads runs on a host of its own, which is cut off.
for engine in one two; do
	rollout_kill "engine-$engine"
done
leads() { # NAME
	grep -q "engine: leads" "$NET_TMP/engine-$1.log"
}
KUBECONFIG=$KUBE_CONFIGS/engine nsenter --net="/run/netns/$NET-out" "$BULKHEAD" engine \
	--node-limit "$ROLLOUT_LIMIT" </dev/null >>"$NET_TMP/engine-far.log" 2>&1 &
ROLLOUT_PID[engine-far]=$!
NET_SERVERS+=($!)
net_check "an engine elsewhere leads" rollout_await 90 leads far
change
settles "an engine elsewhere"
for engine in one two; do
	rollout_engine "$engine"
done
ip -n "$NET-lan" link set port-out down
change
settles "that engine alone is cut off, and another takes over"
ip -n "$NET-lan" link set port-out up
change
settles "the engine that was cut off is back, and believes that it leads"
rollout_kill engine-far
change
settles "the engine that was cut off is gone"

net_check "web reaches job" net_on web "$NET_HELPERS/backend" ask tcp "$(net_ip job)" 8080 "$NET_WAIT_ALLOWED" 1
refuse() {
	kubectl apply -f "$NET_TOP/selftests/lib/loose-crd.yaml" &&
		rollout_await 30 kubectl apply --validate=false -f "$NET_TOP/selftests/lib/refused.yaml"
}
refused() {
	[ "$(kubectl get policystatus global -o jsonpath='{.status.refusedObjects}')" = "$1" ]
}
net_check "a policy that the API takes and Bulkhead refuses" refuse
net_check "the refused policy is counted" rollout_await 90 refused 1
refused_metric() { # by the engine that leads, and the one that waits
	[ "$(rollout_metric engine_objects_refused)" = $((2 * $1)) ]
}
# an engine asks for a kind that the server did not have after 45 s at the latest
net_check "a metric tells of the refused policy" rollout_await 90 refused_metric 1
net_check "an Event tells of the refused policy" rollout_await 30 eval \
	'kubectl get events -A | grep -q "Refused.*refused"'
change
settles_refused() {
	rollout_await 60 rollout_is_settled 3
}
net_check "the rest goes on" settles_refused
stays_active "beside what is refused"
net_check "pods that the refused policy selects are isolated" eval \
	'! net_on web "$NET_HELPERS/backend" ask tcp "$(net_ip job)" 8080 $NET_WAIT_DENIED 1 | grep -q ^job'
kubectl delete events -A --all >/dev/null
leader=$(kubectl get lease -n bulkhead-system bulkhead-engine -o jsonpath='{.spec.holderIdentity}' | cut -d _ -f 2)
for engine in one two; do
	[ "${ROLLOUT_PID[engine-$engine]}" != "$leader" ] || rollout_kill "engine-$engine"
done
net_check "the engine that takes over tells of it, too" rollout_await 60 eval \
	'kubectl get events -A | grep -q "Refused.*refused"'
for engine in one two; do
	[ "${ROLLOUT_PID[engine-$engine]}" != "$leader" ] || rollout_engine "$engine"
done
net_check "PolicyStatus says so by a condition" kubectl wait --for=condition=ObjectsAccepted=false \
	--timeout=30s policystatus/global
kubectl delete -f "$NET_TOP/selftests/lib/refused.yaml" >/dev/null
net_check "after its deletion no refused policy is counted" rollout_await 30 refused 0
net_check "after its deletion the metric tells of none" rollout_await 90 refused_metric 0
change
settles "the other policies stay"

rollout_lose
for engine in one two; do
	rollout_kill "engine-$engine"
	rollout_engine "$engine"
done
change
settles "all stored policies were deleted"

# A node that comes late, to a policy of which something is wrong in the store.
newest() {
	kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}'
}
is_newer() { # GENERATION
	[ "$(newest)" -gt "$1" ]
}
leave() { # NAME: worker-3 ends, and a policy comes
	local before
	before=$(newest)
	rollout_kill follow-worker-3
	change
	net_check "$1: a policy comes while a node is away" rollout_await 30 is_newer "$before"
}
come_back() { # NAME
	rollout_follower worker-3
	settles "$1"
}
damage() { # NAME PATCH
	local name
	leave "$1"
	name=g$(newest)
	kubectl patch policystatus global --type merge -p '{"spec": {"delta": null}}' >/dev/null
	net_check "$1" kubectl patch policygeneration "$name" --type merge -p "{\"spec\": $2}"
	come_back "$1"
	net_check "$1: is told by name" grep -q "PolicyGeneration $name" "$NET_TMP/follow-worker-3.log"
}
leave "one that forgot all"
net_check "another policy comes when the node counts no more" rollout_settles 2
change
net_check "a third policy comes" rollout_settles 2
net_check "the third policy is a delta" rollout_is_delta
net_check "meanwhile the node is unloaded" cluster_bulkhead worker-3 unload
come_back "one that forgot all"
damage "a delta is damaged" '{"data": "AAAA"}'
damage "a delta has another parent" '{"parent": "0123456789abcdef"}'
leave "the delta in PolicyStatus is damaged"
net_check "the delta in PolicyStatus is damaged: it had one" kubectl patch policystatus global --type json \
	-p '[{"op": "replace", "path": "/spec/delta", "value": "AAAA"}]'
come_back "the delta in PolicyStatus is damaged"
leave "all is deleted"
kubectl patch policystatus global --type merge -p '{"spec": {"delta": null}}' >/dev/null
rollout_lose
come_back "all is deleted"
net_check "the store is whole again" rollout_collected

# Random moments.
RANDOM=${BULKHEAD_SEED:-1}
victims=(engine-one engine-two follow-worker-1 follow-worker-2 follow-worker-3 kube-apiserver etcd)
begin_again() { # NAME
	case $1 in
	engine-*) rollout_engine "${1#engine-}" ;;
	follow-*) rollout_follower "${1#follow-}" ;;
	*) again "$1" ;;
	esac
}
hurt() { # NAME KILL|STOP SECONDS
	local pid=${ROLLOUT_PID[$1]:-}
	[ -n "$pid" ] || pid=$(pgrep -x "$1")
	if [ "$2" = STOP ]; then
		kill -STOP "$pid"
		sleep "$3"
		kill -CONT "$pid"
		return
	fi
	case $1 in
	engine-* | follow-*) rollout_kill "$1" ;;
	*) end "$1" ;;
	esac
	sleep "$3"
	begin_again "$1"
}
for ((round = 1; round <= ${ROUNDS:-14}; round++)); do
	victim=${victims[RANDOM % ${#victims[@]}]}
	how=$((RANDOM % 2))
	[ $how = 1 ] && how=STOP || how=KILL
	moment=$((RANDOM % 3)).$((RANDOM % 10)) pause=$((RANDOM % 6)).$((RANDOM % 10))
	round_is="BULKHEAD_SEED=${BULKHEAD_SEED:-1}, round $round: $how $victim after $moment s for $pause s"
	change
	sleep "$moment"
	hurt "$victim" "$how" "$pause"
	net_check "$round_is: the server answers" answers
	settles "$round_is"
done

net_check "engine and nodes use each of their rights, and need no other" rollout_rights_used \
	'watch (baselineadmin|cluster)networkpolicies'
net_stream_end
net_check "no packet of the flow that every policy denies arrived" net_is "$(net_count db 7000)" 0
sent=$(net_count web 7001) arrived=$(net_count db 7001)
net_check "packets of the flow that every policy allows arrived: $arrived of $sent" eval '[ "$sent" -gt 1000 ] && [ "$arrived" = "$sent" ]'
net_check "in no revision may endpoints be in a policy that a node lacks, and nothing needed is deleted" \
	rollout_invariant
net_end
