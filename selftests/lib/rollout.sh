# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs engines and followers beside lib/cluster.sh's control plane: starts, stops and kills each by name,
# and compares their state. Source lib/cluster.sh first. For the tests of make check-cluster.

# A pod on each of three nodes, and no Service.
cluster_pods() {
	cat <<-EOF
	shop db worker-1 "role": "db"
	shop web worker-2 "role": "web"
	shop job worker-3 "role": "job"
	EOF
}
cluster_services() { :; }
cluster_proxy() { :; }
cluster_settled() { :; }

declare -A ROLLOUT_PID
ROLLOUT_LIMIT=${ROLLOUT_LIMIT:-20} # s: a node without a report for this long does not count

rollout_install() {
	local node
	kubectl apply -k "$NET_TOP/tools/deploy/base" || return
	for node in $CLUSTER_NODES; do
		sed "s/NODE/$node/g" "$NET_TOP/tools/deploy/node.yaml" | kubectl apply -f - || return
	done
	kubectl wait --for condition=established --timeout=60s crd/policystatuses.bulkhead.dev \
		crd/nodepolicystatuses.bulkhead.dev crd/policygenerations.bulkhead.dev
}

# Runs in the control plane's network, with the rights that tools/deploy grants an engine.
declare -A ROLLOUT_METRICS=([one]=127.0.0.1:9465 [two]=127.0.0.1:9466) # where each engine serves its metrics
rollout_engine() { # NAME
	KUBECONFIG=$KUBE_CONFIGS/engine "$BULKHEAD" engine --node-limit "$ROLLOUT_LIMIT" \
		--listen "${ROLLOUT_METRICS[$1]}" \
		</dev/null >>"$NET_TMP/engine-$1.log" 2>&1 &
	ROLLOUT_PID[engine-$1]=$!
	NET_SERVERS+=($!)
}

rollout_follower() { # NODE
	KUBECONFIG=$KUBE_CONFIGS/$1 nsenter --net="/run/netns/$NET-$1" "$BULKHEAD" follow -n "$1" \
		--uplink eth0 --pin "/sys/fs/bpf/$1" --records "$NET_TMP/records-$1" --listen 127.0.0.1:9464 --denials \
		</dev/null >>"$NET_TMP/follow-$1.log" 2>&1 &
	ROLLOUT_PID[follow-$1]=$!
	NET_SERVERS+=($!)
}

# Whether each node's follower has the engine's limit for silent nodes.
rollout_limit_is() { # SECONDS
	local node
	for node in $CLUSTER_NODES; do
		nsenter --net="/run/netns/$NET-$node" curl -s --max-time 5 http://127.0.0.1:9464/metrics |
			grep -q -x "bulkhead_follow_node_limit_seconds $1" || return
	done
}

rollout_signal() { # NAME SIGNAL
	kill -"$2" "${ROLLOUT_PID[$1]}"
}

rollout_kill() { # NAME
	rollout_signal "$1" KILL
	wait "${ROLLOUT_PID[$1]}" 2>/dev/null
}

# Prints a metric's sum over all engines.
rollout_metric() { # NAME
	local engine
	for engine in "${!ROLLOUT_METRICS[@]}"; do
		curl -s --max-time 5 "http://${ROLLOUT_METRICS[$engine]}/metrics"
	done | awk -v name="bulkhead_$1" '$1 == name { sum += $2 } END { print sum + 0 }'
}

# Waits until the command succeeds twice in a row, 0.3 seconds apart.
rollout_await() { # SECONDS COMMAND...
	local end=$((SECONDS + $1)) again=
	shift
	until "$@" && { [ -n "$again" ] || { again=1 && sleep 0.3 && "$@"; }; }; do
		again=
		[ $SECONDS -lt $end ] || return
		sleep 0.2
	done
}

# True if this number of nodes has the desired generation active.
rollout_is_settled() { # NODES
	local said want
	said=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration} {.spec.desiredEndpointGeneration} {.status.oldestPolicyGeneration} {.status.oldestEndpointGeneration} {.status.nodes}') || return
	want=${said%% *}
	[ "$said" = "$want $want $want $want $1" ]
}

rollout_is_whole() { # NODES
	rollout_is_settled "$1" && { [ "$1" -lt "$(wc -w <<<"$CLUSTER_NODES")" ] || rollout_agrees >/dev/null; }
}

rollout_settles() { # [NODES]
	local nodes=${1:-$(wc -w <<<"$CLUSTER_NODES")}
	rollout_await 90 rollout_is_whole "$nodes" && return
	kubectl get policystatus,nodepolicystatus
	tail -n 5 "$NET_TMP"/engine-*.log "$NET_TMP"/follow-*.log
	false
}

rollout_waits() {
	local said=''
	sleep 1
	said=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration} {.spec.desiredEndpointGeneration}')
	[ "${said% *}" -gt "${said#* }" ]
}

# Compares each node's maps with a compile of all the API's objects, pair by pair and port by port.
rollout_agrees() {
	local node
	kubectl get -A -o yaml \
		"${ROLLOUT_KINDS:-namespaces,nodes,pods,services,endpointslices,networkpolicies}" \
		>"$NET_TMP/all.yaml" || return
	"$BULKHEAD" matrix ${ROLLOUT_MATRIX:-} --port TCP/8080,TCP/9090,UDP/8080,UDP/9090 "$NET_TMP/all.yaml" \
		>"$NET_TMP/fresh" || return
	for node in $CLUSTER_NODES; do
		"$BULKHEAD" matrix ${ROLLOUT_MATRIX:-} --port TCP/8080,TCP/9090,UDP/8080,UDP/9090 \
			--pin "/sys/fs/bpf/$node" >"$NET_TMP/has-$node" || return
		diff "$NET_TMP/fresh" "$NET_TMP/has-$node" || return
	done
}

# Checks every revision of Bulkhead's objects by a watch of etcd, which goes on where it ended when etcd comes
# back (helpers/history.c).
rollout_record() {
	local key end
	key=$(printf /registry/bulkhead.dev/ | base64)
	end=$(printf /registry/bulkhead.dev0 | base64)
	echo 1 >"$NET_TMP/history.next"
	: >"$NET_TMP/history.exempt"
	while [ -e "$NET_TMP/history.next" ]; do
		curl -sN -X POST http://127.0.0.1:2379/v3/watch -d \
			'{"create_request":{"key":"'"$key"'","range_end":"'"$end"'","start_revision":"'"$(cat "$NET_TMP/history.next")"'"}}'
		sleep 0.2
	done 2>/dev/null > >(exec "$NET_HELPERS/history" $((ROLLOUT_LIMIT - 5)) "$NET_TMP/history.next" \
		"$NET_TMP/history.exempt" >"$NET_TMP/history.said" 2>&1) &
	NET_SERVERS+=($!)
	ROLLOUT_HISTORY=$!
}

# Deletes all stored policies, which Bulkhead itself never does.
rollout_lose() {
	kubectl get policygenerations -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' \
		>>"$NET_TMP/history.exempt"
	kubectl delete policygenerations --all >/dev/null
}

# Ends the record. Whether in no revision endpoints were let into a policy that a node lacked, no generation went
# back, and nothing was deleted that leads to a wanted policy.
rollout_invariant() {
	rm "$NET_TMP/history.next"
	pkill -P "$ROLLOUT_HISTORY" -x curl
	rollout_await 20 grep -q '^[0-9 ]*$' "$NET_TMP/history.said"
	cat "$NET_TMP/history.said"
	awk 'END { exit !(NF == 5 && $1 > 10 && $2 > 10 && $4 > 5 && $5 == 0) }' "$NET_TMP/history.said"
}

rollout_collected() {
	rollout_await 20 rollout_is_collected
}
# The store has the newest policy's chain (a whole policy and its deltas), and no object from before it.
rollout_is_collected() {
	local newest whole names
	newest=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}') || return
	whole=$(kubectl get policygeneration "g$newest" -o jsonpath='{.spec.whole}') || return
	names=$(kubectl get policygenerations -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}') || return
	grep -q -x "$whole" <<<"$names" && sed 's/^[gw]//; s/-.*//' <<<"$names" | sort -n -u |
		awk -v first="$(sed 's/^w//; s/-.*//' <<<"$whole")" -v last="$newest" '
			BEGIN { want = first } { bad += $1 != want++ } END { exit bad || want != last + 1 }'
}

# Whether the object that leads to the newest policy is a delta.
rollout_is_delta() {
	local newest
	newest=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}') || return
	[ -n "$(kubectl get policygeneration "g$newest" -o jsonpath='{.spec.parent}')" ]
}

# The API server refuses actions for which the engine and the nodes have no right.
rollout_rights() {
	refused() { # USER ARGUMENT...
		! KUBECONFIG=$KUBE_CONFIGS/$1 command kubectl "${@:2}" >"$NET_TMP/said" 2>&1 &&
			grep -q -i forbidden "$NET_TMP/said"
	}
	refused engine get secrets -A && refused engine delete pod -n shop db &&
		refused engine patch networkpolicy -n shop db --type merge -p '{}' &&
		refused worker-1 get secrets -A && refused worker-1 delete policygenerations --all &&
		refused worker-1 patch policystatus global --type merge -p '{"spec":{}}' &&
		refused worker-1 create -f "$NET_TOP/tools/deploy/base/rbac.yaml" &&
		refused worker-1 get networkpolicies -A && node_writes
}

# Prints "VERB RESOURCE" for each right of a role.
granted() { # ROLE-OR-CLUSTERROLE...
	kubectl get "$@" -o 'jsonpath={range .rules[*]}{.resources}{"|"}{.verbs}{"\n"}{end}' | tr -d '[]" ' |
		awk -F '|' '{
			n = split($1, resources, ",")
			m = split($2, verbs, ",")
			for (i = 1; i <= n; i++)
				for (j = 1; j <= m; j++)
					print verbs[j], resources[i]
		}'
}
# Prints the same for each request of a user, from the server's audit log.
asked() { # USER SED-COMMAND: drops requests
	sed -n -E '/"username":"'"$1"'"/!d; '"$2"'
		s/.*"verb":"([^"]*)".*"objectRef":\{"resource":"([^"]*)"(.*)/\1 \2 \3/p' "$KUBE_AUDIT" |
		sed -E 's/^([^ ]* [^ ]*) .*"subresource":"([^"]*)".*/\1\/\2/; s/^([^ ]* [^ ]*) .*/\1/' | sort -u
}
# Prints which of the rights on standard input a user has not used, and what was refused each time: while a
# server starts, it does not know all roles, and refuses anything.
compare_rights() { # USER
	asked "$1" '/"code":403/d' >"$NET_TMP/used"
	grep -v -x -F -f "$NET_TMP/used"
	asked "$1" '/"code":403/!d' | grep -v -x -F -f "$NET_TMP/used" | sed 's/^/refused: /'
}
# Whether engine and nodes have used each of their rights, but for those that EXCEPT (an expression) names, and
# had all that they asked for.
rollout_rights_used() { # EXCEPT
	{
		{ granted clusterrole bulkhead-engine && granted -n bulkhead-system role bulkhead-engine; } |
			compare_rights system:serviceaccount:bulkhead-system:engine
		{ granted clusterrole bulkhead-follower && granted clusterrole bulkhead-node-worker-1; } |
			compare_rights bulkhead:node:worker-1 | grep -v -x 'patch events' # ten minutes after the first
	} | grep -v -x -E "$1" >"$NET_TMP/unused"
	cat "$NET_TMP/unused"
	[ -s "$KUBE_AUDIT" ] && [ ! -s "$NET_TMP/unused" ]
}

# A node may write its own status and no other node's.
node_writes() {
	local node code
	for node in worker-1 worker-2; do
		code=$(curl -s --cacert "$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")" \
			-o "$NET_TMP/said" -w '%{http_code}' -H "Authorization: Bearer secret-of-worker-1" -X PATCH \
			-H "Content-Type: application/merge-patch+json" -d '{"status":{"message":"x"}}' \
			"https://192.168.7.10:6443/apis/bulkhead.dev/v1alpha1/nodepolicystatuses/$node/status")
		[ "$node $code" = "worker-1 200" ] || [ "$node $code" = "worker-2 403" ] ||
			{ echo "$node: $code" && return 1; }
	done
}
