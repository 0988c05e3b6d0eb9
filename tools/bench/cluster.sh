#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A cluster of many nodes and 150,000 endpoints: the engine, a real API server and etcd, and followers that
# do all but the kernel's part (cluster/followers.c). How long a change takes from kubectl until the
# last node has it, what it costs each of them, and what 100 pods a second cost. Before that, three real nodes
# (cluster_real.sh).
#
# Usage: cluster.sh BUILD-FOLDER      CLUSTER_NODES="100 500" CLUSTER_PODS=150000 ROUNDS=7 CHANGES=100
#        CHANGES=0 leaves the real nodes out
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${KUBE_CONFIGS:-}" ]; then
	build=$(cd "$1" && pwd)
	[ "${CHANGES:-100}" = 0 ] || "$here/cluster_real.sh" "$build" || exit
	for nodes in ${CLUSTER_NODES:-100 500}; do
		"$here/../kube" run "$0" "$build" "$nodes" || exit
	done
	exit
fi
build=$1 nodes=$2
pods=${CLUSTER_PODS:-150000}
rounds=${ROUNDS:-7}
ENGINE=127.0.0.1:9465 FOLLOWER=127.0.0.1:9470

die() {
	echo "cluster.sh: $1" >&2
	tail -n 5 "$TMPDIR"/bench-*.log >&2
	exit 1
}
await() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || die "waited too long for: $*"
		sleep 1
	done
}
status() { # FIELD...: of PolicyStatus
	local field line=
	for field; do
		line+="{.$field} "
	done
	kubectl get policystatus global -o jsonpath="$line" 2>/dev/null
}
is_published() {
	[ "$(status spec.desiredEndpointGeneration)" -ge 1 ] 2>/dev/null
}
is_settled() {
	local wanted oldest count
	read -r wanted oldest count < <(status spec.desiredPolicyGeneration status.oldestEndpointGeneration status.nodes)
	[ "$wanted $nodes" = "$oldest $count" ]
}
tell() { # COMMAND...: prints the followers' answer
	local answer
	echo "$*" >&"${FOLLOWERS[1]}"
	read -r answer <&"${FOLLOWERS[0]}" || die "the followers ended"
	echo "$answer"
}
metric() { # ADDRESS NAME
	curl -s --max-time 60 "http://$1/metrics" | awk -v name="bulkhead_$2" '$1 == name { print $2 }'
}
# Writes of objects that the API server took, of Bulkhead's kinds.
writes() {
	kubectl get --raw /metrics | awk '
		/^apiserver_request_total/ && /group="bulkhead.dev"/ && /verb="(POST|PUT|PATCH|DELETE)"/ { n += $NF }
		END { print n + 0 }'
}
# Requests that read: a list or a get, of any kind of object.
reads() {
	kubectl get --raw /metrics | awk '
		/^apiserver_request_total/ && /verb="(GET|LIST)"/ && /resource="[a-z]/ { n += $NF } END { print n + 0 }'
}
# Print, of a process and its children, the processor time in ms and the resident MB; and of one process the most
# MB that were ever resident.
processor() { # PID
	local pid
	for pid in "$1" $(pgrep -P "$1"); do
		cat "/proc/$pid/stat"
	done | awk -v tick="$(getconf CLK_TCK)" '{ spent += $14 + $15 } END { print int(spent * 1000 / tick) }'
}
resident() { # PID
	local pid
	for pid in "$1" $(pgrep -P "$1"); do
		cat "/proc/$pid/status"
	done | awk '/^VmRSS/ { kb += $2 } END { print int(kb / 1024) }'
}
most() { # PID
	awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status"
}
# Prints the median, the 99th percentile and the worst of the milliseconds in a file.
spread() {
	sort -n "$1" | awk '{ v[NR] = $1 } END {
		high = int(NR * 0.99 + 0.999999)
		if (high > NR)
			high = NR
		printf "%.0f %.0f %.0f", v[int((NR + 1) / 2)], v[high], v[NR] }'
}
row() { # NAME VALUE [GOAL]
	printf '  %-58s %22s%s\n' "$1" "$2" "${3:+   goal $3}"
}
PIDS=()
note() { # takes what is spent so far
	local pid
	SPENT_BYTES=$(metric $FOLLOWER api_received_bytes_total)
	SPENT_SENT=$(metric $FOLLOWER api_sent_bytes_total)
	SPENT_WRITES=$(writes)
	SPENT_AT=${EPOCHREALTIME/./}
	SPENT=()
	for pid in "${PIDS[@]}"; do
		SPENT+=("$(processor "$pid")")
	done
}
cost() { # CHANGES: rows about what was spent since, for each change
	local i names=(engine "followers, all" kube-apiserver etcd) bytes sent written lasted
	bytes=$(metric $FOLLOWER api_received_bytes_total)
	lasted=$((${EPOCHREALTIME/./} - SPENT_AT)) # us
	sent=$(metric $FOLLOWER api_sent_bytes_total)
	written=$(writes)
	bytes=$((${bytes%.*} - ${SPENT_BYTES%.*}))
	row "  bytes to a node" $((bytes / $1))
	if [ -z "${IDLE_BYTES:-}" ]; then
		IDLE_BYTES=$bytes IDLE_LASTED=$lasted # what answers to heartbeats are
	else
		row "  of these, without what a node gets anyway in that time" \
			$(((bytes - IDLE_BYTES * (lasted / 1000) / (IDLE_LASTED / 1000)) / $1)) "${2:-}"
	fi
	row "  bytes from a node" $(((${sent%.*} - ${SPENT_SENT%.*}) / $1))
	row "  writes to the API, and for each node" \
		"$(awk -v n=$((written - SPENT_WRITES)) -v c="$1" -v m="$nodes" 'BEGIN { printf "%.0f, %.2f", n / c, n / c / m }')"
	for i in "${!PIDS[@]}"; do
		row "  processor, ms: ${names[$i]}" $((($(processor "${PIDS[$i]}") - SPENT[i]) / $1))
	done
}
change_policy() { # ROUND
	cat <<-EOF | kubectl apply -f - >>"$TMPDIR/bench-kubectl.log" 2>&1
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: app-0, namespace: tenant-0},
	 spec: {podSelector: {matchLabels: {app: app-0}}, policyTypes: [Ingress],
	  ingress: [{from: [{podSelector: {matchLabels: {app: app-1}}}], ports: [{protocol: TCP, port: $((9000 + $1))}]}]}}
	EOF
}
change_pod() { # ROUND
	tell pod $((pods + $1)) "$nodes" >/dev/null
}
measure() { # NAME COMMAND GOAL-BYTES: rounds of one change
	local i first last
	: >"$TMPDIR/last"
	note
	for ((i = 0; i < rounds; i++)); do
		await 120 is_settled
		tell mark >/dev/null
		"$2" "$i"
		read -r first last < <(tell wait "${CLUSTER_WAIT:-120}")
		[ "$first" != late ] || die "$1: after 120 s it is $first $last"
		echo "$last" >>"$TMPDIR/last"
	done
	await 120 is_settled
	row "$1: ms until the last node has it (median, 99th, worst)" "$(spread "$TMPDIR/last")" "10000"
	cost "$rounds" "$3"
}

# A follower as it is, with maps, on one more node. The node has no pod: all endpoints are others'.
is_real_settled() {
	[ "$(kubectl get nodepolicystatus real -o jsonpath='{.status.latestEndpointGeneration}' 2>/dev/null)" = \
		"$(status spec.desiredPolicyGeneration | tr -d ' ')" ]
}
measure_real() {
	local i real before
	printf -- '---\n{apiVersion: v1, kind: Node, metadata: {name: real}}\n' | kubectl apply -f - >/dev/null || die "cannot make a node"
	KUBECONFIG=$KUBE_CONFIGS/admin "$build/bulkhead" follow -n real --pin /sys/fs/bpf/real --records "$TMPDIR/records" \
		</dev/null >"$TMPDIR/bench-real.log" 2>&1 &
	real=$!
	await 300 is_real_settled
	row "resident MB: a real follower, at most, while it loads a whole policy" "$(most $real)"
	before=$(processor $real)
	for ((i = 0; i < 20; i++)); do
		tell pod $((pods + 100000 + i)) "$nodes" >/dev/null
		sleep 1
		await 120 is_real_settled
		resident $real >>"$TMPDIR/resident"
	done
	row "resident MB: a real follower after each of 20 deltas (median, 99th, worst)" "$(spread "$TMPDIR/resident")" 30
	row "processor, ms: of a delta" $((($(processor $real) - before) / 20))
	kill $real
}

kubectl apply -k "$here/../deploy/base" >/dev/null && kubectl wait --for condition=established --timeout=60s \
	crd/policystatuses.bulkhead.dev crd/policygenerations.bulkhead.dev crd/nodepolicystatuses.bulkhead.dev \
	>/dev/null || die "cannot install"
coproc FOLLOWERS { KUBECONFIG=$KUBE_CONFIGS/admin exec "$build/bench/followers" 2>"$TMPDIR/bench-followers.log"; }
began=$SECONDS
tell fill "$nodes" "$pods" >/dev/null
filled=$((SECONDS - began))
KUBECONFIG=$KUBE_CONFIGS/engine "$build/bulkhead" engine --listen $ENGINE </dev/null >"$TMPDIR/bench-engine.log" 2>&1 &
PIDS=($! "$FOLLOWERS_PID" "$(pgrep -x kube-apiserver)" "$(pgrep -x etcd)")
began=$SECONDS
await 300 is_published
published=$((SECONDS - began))
began=$SECONDS
tell start "$nodes" "$(status spec.desiredPolicyGeneration spec.checksum)" >/dev/null
await 600 is_settled
echo "$nodes nodes, $pods endpoints (etcd filled in $filled s; the engine's first policy after $published s; all nodes counted after $((SECONDS - began)) s)"
note
read_before=$(reads)
sleep "${CLUSTER_IDLE:-60}"
row "nothing changes for ${CLUSTER_IDLE:-60} s: objects read from the API" $(($(reads) - read_before))
cost 1
measure "a policy changes" change_policy ""
measure "a pod comes" change_pod 2000
note
generations=$(status spec.desiredPolicyGeneration)
tell mark >/dev/null
took=$(tell pods 100 30 $((pods + 1000)) "$nodes")
await 120 is_settled
row "100 pods a second come for 30 s: s, generations" "$(awk -v t="$took" 'BEGIN { printf "%.0f", t / 1000 }'), $(($(status spec.desiredPolicyGeneration) - generations))"
cost 30
row "resident MB: engine, and at most" "$(resident "${PIDS[0]}"), $(most "${PIDS[0]}")" 500
row "resident MB: followers together, and kB of each" "$(resident "${PIDS[1]}"), $(($(resident "${PIDS[1]}") * 1024 / nodes))"
row "resident MB: kube-apiserver, etcd" "$(resident "${PIDS[2]}"), $(resident "${PIDS[3]}")"
row "failed requests: engine, a follower" "$(metric $ENGINE api_requests_failed_total), $(metric $FOLLOWER api_requests_failed_total)" 0
measure_real
