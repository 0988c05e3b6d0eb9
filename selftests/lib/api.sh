# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Engines and a follower beside helpers/apiserver.c, in the node's network namespace, where it is at 127.0.0.1.
# Source lib/net.sh first.
#
#   api_start                    the API server, and the kubeconfig $API_CONFIG
#   api_engine one --listen ...  an engine, whose messages are in $NET_TMP/engine-one.log
#   api_follower worker-1        the follower of this node, by that name
#   api_node worker-2            a Node object without a follower
#   api_report worker-2 3 2      that node's report: policy 3 is installed, endpoints are in policy 2
#   api_obeys worker-2           that node reports what the cluster wants, from now on
#   api_pods worker-1 db web     a Node object, and the pods shop/db and shop/web on it, each with its name as its role

API_PORT=6443
API_CONFIG=$NET_TMP/kubeconfig
API_NODE=/apis/bulkhead.dev/v1alpha1/nodepolicystatuses
API_STATUS=/apis/bulkhead.dev/v1alpha1/policystatuses/global
API_LEASE=/apis/coordination.k8s.io/v1/namespaces/bulkhead-system/leases/bulkhead-engine
declare -A API_PID

api_server() {
	net_server node "$NET_TMP/apiserver.said" "$NET_HELPERS/apiserver" "$API_PORT"
	API_PID[apiserver]=$!
}

api_start() {
	net_kubeconfig | sed "s/127.0.0.1:1\"/127.0.0.1:$API_PORT\"/" >"$API_CONFIG"
	api_server
}

api() { # METHOD PATH [BODY]: prints the answer; fails where the status is 400 and above
	net_on node "$NET_HELPERS/http" "$1" "$API_PORT" "$2" ${3:+"$3"} 2>/dev/null
}

# Prints members of an object in one line: "spec.holderIdentity,metadata.name". Each request is two processes.
api_get() { # PATH MEMBER[,MEMBER]...
	api GET "$1?member=$2"
}

api_run() { # NAME COMMAND ARGUMENT...
	nsenter --net="/run/netns/$NET-node" "$BULKHEAD" "$2" --kubeconfig "$API_CONFIG" "${@:3}" \
		</dev/null >>"$NET_TMP/$1.log" 2>&1 &
	API_PID[$1]=$!
	NET_SERVERS+=($!)
}

api_engine() { # NAME ARGUMENT...
	api_run "engine-$1" engine "${@:2}"
}

api_follower() { # NODE ARGUMENT...
	api_run "follow-$1" follow -n "$1" --uplink eth0 --pin "$NET_PIN" --records "$NET_TMP/records" "${@:2}"
}

api_end() { # NAME SIGNAL
	kill -"$2" "${API_PID[$1]}"
	wait "${API_PID[$1]}" 2>/dev/null
}

api_node() { # NAME
	api POST /api/v1/nodes '{"metadata": {"name": "'"$1"'"}}' >/dev/null &&
		api POST $API_NODE '{"metadata": {"name": "'"$1"'"}}' >/dev/null
}

# PolicyStatus lacks the generation of endpoints until the first policy is installed: then ENDPOINT is empty.
api_report() { # NODE POLICY [ENDPOINT]
	api PATCH "$API_NODE/$1/status" '{"status": {"latestPolicyGeneration": '"${2:-0}"', "latestEndpointGeneration": '"${3:-0}"',
		"heartbeat": "'"$EPOCHREALTIME"'"}}' >/dev/null
}

api_pods() { # NODE POD...
	local name
	api POST /api/v1/nodes '{"metadata": {"name": "'"$1"'"}}' >/dev/null || return
	for name in "${@:2}"; do
		api POST /api/v1/namespaces/shop/pods '{"metadata": {"name": "'"$name"'", "labels": {"role": "'"$name"'"}},
			"spec": {"nodeName": "'"$1"'"}, "status": {"phase": "Running", "podIP": "'"$(net_ip "$name")"'",
			"podIPs": [{"ip": "'"$(net_ip "$name")"'"}, {"ip": "'"$(net_ip6 "$name")"'"}]}}' >/dev/null || return
	done
}

# Makes a policy that differs from each before, so that the cluster has another generation.
API_CHANGES=0
api_change() {
	local port=$((1000 + API_CHANGES++)) policy
	policy='{"metadata": {"name": "db"}, "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": '$port'}]}]}}'
	if [ "$port" = 1000 ]; then
		api POST /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies "$policy" >/dev/null
	else
		api PUT /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies/db "$policy" >/dev/null
	fi
}

# Waits until the command succeeds, for $API_SECONDS at most. It asks ever more rarely: what takes a minute would
# else keep a processor busy for ten seconds.
API_SECONDS=120
api_await() { # COMMAND...
	local end=$((SECONDS + API_SECONDS)) tries=0
	until "$@"; do
		[ $SECONDS -lt $end ] || return
		net_pause 0.$((tries < 20 ? 1 : tries < 40 ? 2 : 5))
		tries=$((tries + 1))
	done
}

api_leads() { # NAME
	[[ "$(api_get "$API_LEASE" spec.holderIdentity)" == *_${API_PID[engine-$1]}_* ]]
}

# Prints the generation that nodes are to install, and the one that endpoints may be in.
api_wanted() {
	api_get $API_STATUS spec.desiredPolicyGeneration,spec.desiredEndpointGeneration || echo " "
}

# The node reports each change, and a heartbeat each second or so.
api_obeys() { # NODE
	local wanted reported='' round=0
	while :; do
		wanted=$(api_wanted)
		if [ "$wanted" != " " ] && { [ "$wanted" != "$reported" ] || [ $((round++ % 5)) -eq 0 ]; }; then
			api_report "$1" "${wanted% *}" "${wanted#* }" && reported=$wanted
		fi
		net_pause 0.2
	done &
	NET_SERVERS+=($!)
}

api_said() { # REASON TEXT: an Event has this message
	api GET /api/v1/events | sed 's/{"metadata"/\n&/g' | grep "\"reason\":\"$1\"" | grep -q -- "$2"
}

# True if each line of a log has the time and a level, and one has the pattern behind these.
api_logged() { # engine-NAME|follow-NODE LEVEL PATTERN
	local time='^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z'
	! grep -vE "$time (note|warning|error): " "$NET_TMP/$1.log" && grep -qE "$time $2: $3" "$NET_TMP/$1.log"
}

api_waits() { # a rollout waits for nodes
	local wanted
	wanted=$(api_wanted)
	[ "${wanted% *}" -gt "${wanted#* }" ] 2>/dev/null
}

api_rolled_out() { # [GENERATION]: no rollout waits, and the wanted policy is newer
	local wanted
	wanted=$(api_wanted)
	[ "${wanted% *}" = "${wanted#* }" ] && [ "${wanted% *}" -gt "${1:-0}" ] 2>/dev/null
}

# True if nodes are to install the one policy, and endpoints may be in the other.
api_wants() { # POLICY ENDPOINT
	[ "$(api_wanted)" = "$1 $2" ]
}

# True if the node has reported these.
api_has() { # NODE POLICY ENDPOINT
	[ "$(api_get "$API_NODE/$1" status.latestPolicyGeneration,status.latestEndpointGeneration)" = "$2 $3" ]
}

# worker-2 reports what the cluster wants. True if that is one policy, newer than GENERATION, and worker-1 has it.
api_both_follow() { # GENERATION
	local wanted
	wanted=$(api_wanted)
	[ "$wanted" = " " ] || api_report worker-2 "${wanted% *}" "${wanted#* }"
	api_rolled_out "$1" && api_has worker-1 "${wanted% *}" "${wanted% *}"
}

# Prints how often worker-1's follower has loaded a whole policy.
api_wholes() {
	grep -c "note: generation .* is active: " "$NET_TMP/follow-worker-1.log"
}

# A policy that opens one port of shop/db.
api_db_at() { # METHOD PATH PORT
	api "$1" "/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies$2" '{"metadata": {"name": "db"}, "spec": {"podSelector":
		{"matchLabels": {"role": "db"}}, "ingress": [{"ports": [{"port": '"$3"'}]}]}}' >/dev/null
}
