#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Changes under traffic with the real kube-proxy: policies flip while connections to a Service are open, and
# backends change while packets flow, without a word to Bulkhead.
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"

cluster_pods() {
	cat <<-EOF
	shop web worker-1 "role": "web"
	shop web2 worker-1 "role": "web"
	shop s1 worker-1 "role": "server"
	shop s2 worker-2 "role": "server"
	shop x1 worker-1 "role": "other"
	shop x2 worker-2 "role": "other"
	EOF
}

# The Services whose backends change.
cluster_services() {
	cat <<-EOF
	shop local     80 8080 - s1
	shop remote    80 8080 - s2
	shop x-local   80 8080 - x1
	shop x-remote  80 8080 - x2
	shop moving    80 8080 - s1
	shop moving-udp 70 7000 - s1
	shop stream    70 7000 - s2
	shop x-stream  70 7000 - x2
	EOF
}

# Lets web reach these roles at the ports 8080 and 7000.
policy() { # ROLES
	cat <<-EOF
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: web}}, policyTypes: [Egress], egress: [
	  {to: [{podSelector: {matchExpressions: [{key: role, operator: In, values: [$1]}]}}],
	   ports: [{port: 8080, protocol: TCP}, {port: 8080, protocol: UDP}, {port: 7000, protocol: UDP}]}]}}
	EOF
}

flip() { # ROLES
	policy "$1" | kubectl apply -f - >/dev/null && cluster_load >/dev/null
}

# Keeps a socket of web open for each Service, IP version and protocol.
declare -A ASK HEAR
hold() { # SERVICE 4|6 PROTOCOL
	local key=$1/$2/$3 line='' ask hear
	mkfifo "$NET_TMP/${key//\//-}.ask" "$NET_TMP/${key//\//-}.hear"
	# shellcheck disable=SC2046 # address and port
	nsenter --net="/run/netns/$NET-web" "$NET_HELPERS/backend" hold "$3" \
		$(cluster_address "$1" "$2") "$NET_WAIT_ALLOWED" \
		<"$NET_TMP/${key//\//-}.ask" >"$NET_TMP/${key//\//-}.hear" &
	NET_SERVERS+=($!)
	exec {ask}>"$NET_TMP/${key//\//-}.ask" {hear}<"$NET_TMP/${key//\//-}.hear"
	ASK[$key]=$ask HEAR[$key]=$hear
	read -r -t 60 -u "$hear" line
	[ "$line" = ready ]
}

# Queries all sockets at once; prints for each Service which backend answers, or "silent", if its sockets
# agree.
held() { # WAIT SERVICE...
	local wait=$1 service key line said
	shift
	for service; do
		for key in "${!ASK[@]}"; do
			[[ $key != "$service"/* ]] || echo "$wait" >&"${ASK[$key]}"
		done
	done
	for service; do
		said=()
		for key in "${!ASK[@]}"; do
			[[ $key == "$service"/* ]] || continue
			read -r -t 60 -u "${HEAR[$key]}" line
			said+=("${line%% from *}")
		done
		printf '%s\n' "${said[@]}" | sort -u | paste -sd +
	done | paste -sd ' '
}

hold_all() { # SERVICE...
	local service family protocol
	for service; do
		for family in 4 6; do
			for protocol in tcp udp; do
				hold "$service" $family $protocol || return
			done
		done
	done
}

move() { # SERVICE BACKEND
	local target
	target=$(kubectl get -n shop endpointslice "$1-4" -o jsonpath='{.ports[0].port}')
	cluster_slice_objects shop "$1" "$target" "$2" | kubectl apply -f - >/dev/null && cluster_settled
}

# Prints which backends answer new connections to a Service, over both protocols and IP versions.
asked() { # SERVICE WAIT
	local family protocol
	for family in 4 6; do
		for protocol in tcp udp; do
			# shellcheck disable=SC2046 # address and port
			net_on web "$NET_HELPERS/backend" ask $protocol $(cluster_address "$1" $family) "$2" 4
		done
	done | sed 's/ from .*//' | sort -u | paste -sd +
}

# Streams to a Service whose backend changes from s1 to x1, s2, x2 and back; prints which backends received
# packets.
stream_moves() {
	local backend pod got=()
	for pod in s1 s2 x1 x2; do
		net_stream $pod recv 7000
	done
	net_stream web send "${CLUSTER_IP[moving-udp/4]}" 70
	for backend in x1 s2 x2 s1; do
		move moving-udp $backend
		sleep 0.2
	done
	net_stream_end
	for pod in s1 s2 x1 x2; do
		[ "$(net_count $pod 7000)" -eq 0 ] || got+=("$pod")
	done
	echo "${got[*]}"
}

moves() { # WHEN ANSWER-OF-x1 ANSWER-OF-x2
	local backend expected wait
	for backend in x1:$2 s2:s2 x2:$3 s1:s1; do
		expected=${backend#*:} wait=$NET_WAIT_ALLOWED
		[ "$expected" != silent ] || wait=$NET_WAIT_DENIED
		move moving "${backend%:*}"
		net_check "$1: new connections to a Service whose backend is now ${backend%:*}: $expected" \
			net_is "$(asked moving "$wait")" "$expected"
	done
}

cluster_start

net_check "no policy: open connections by each Service" hold_all local remote x-local x-remote
net_check "no policy: all connections are answered" net_is \
	"$(held "$NET_WAIT_ALLOWED" local remote x-local x-remote)" "s1 s2 x1 x2"
moves "no policy" x1 x2
net_check "no policy: a stream follows its Service's backend" net_is "$(stream_moves)" "s1 s2 x1 x2"

net_check "web may call role=server" flip server
net_check "open connections that policy allows go on" net_is \
	"$(held "$NET_WAIT_ALLOWED" local remote)" "s1 s2"
net_check "open connections that policy denies stop" net_is \
	"$(held "$NET_WAIT_DENIED" x-local x-remote)" "silent silent"
net_check "web may call role=other" flip other
net_check "connections that are denied now stop" net_is \
	"$(held "$NET_WAIT_DENIED" local remote)" "silent silent"
net_check "connections that are allowed again go on" net_is \
	"$(held "$NET_WAIT_ALLOWED" x-local x-remote)" "x1 x2"

net_check "web may call role=server again" flip server
moves "policy, Bulkhead not told" silent silent
net_check "policy, Bulkhead not told: a stream reaches no backend that is denied" net_is "$(stream_moves)" "s1 s2"
net_check "Bulkhead is told of the backends" cluster_load
moves "policy" silent silent

# Every policy allows web's stream, none allows web2's.
FLIPS=${FLIPS:-10}
net_stream s2 recv 7000
net_stream x2 recv 7000
net_stream web send "${CLUSTER_IP[stream/4]}" 70
net_stream web2 send "${CLUSTER_IP[x-stream/4]}" 70
for ((i = 0; i < FLIPS; i++)); do
	flip "server$([ $((i % 2)) -eq 1 ] || echo ', nobody')" || net_result "not ok" "flip $i"
done
net_stream_end
net_check "$FLIPS flips: none of $(net_count web2 70) denied datagrams arrived" net_is "$(net_count x2 7000)" 0
net_check "$FLIPS flips: every allowed datagram arrived" net_is "$(net_count s2 7000)" "$(net_count web 70)"
net_end
