# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Engines and a follower beside helpers/apiserver.c, in the node's network namespace, where it is at 127.0.0.1.
#
#   api_world db web             net_start of the pods, the API server, and these pods' objects on the node worker-1
#   api_engine one --listen ...  an engine, whose messages are in $NET_TMP/engine-one.log
#   api_begin                    the node worker-1 without a follower, and an engine that rolls out: one row
#   api_follower worker-1        the follower of this node, by that name
#   api_node worker-2            a Node object without a follower
#   api_report worker-2 3 2      that node's report: policy 3 is installed, endpoints are in policy 2
#   api_obeys worker-2           that node reports what the cluster wants, from now on
#   api_opens POST db 80         a policy that opens port 80 of shop/db
#   api_rolls COMMAND...         what a command changes is rolled out
# shellcheck source=selftests/lib/net.sh
. "$(dirname "${BASH_SOURCE[0]}")/net.sh"

API_PORT=6443
API_CONFIG=$NET_TMP/kubeconfig
API_NODE=/apis/bulkhead.dev/v1alpha1/nodepolicystatuses
API_STATUS=/apis/bulkhead.dev/v1alpha1/policystatuses/global
API_GENERATIONS=/apis/bulkhead.dev/v1alpha1/policygenerations
API_POLICIES=/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies
API_PODS=/api/v1/namespaces/shop/pods
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

api_world() { # [POD...]
	net_start "$@"
	api_start
	[ $# = 0 ] || api_pods worker-1 "$@"
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

api_pod() { # NODE NAME ROLE ADDRESS...
	local addresses
	addresses=$(printf '{"ip": "%s"}, ' "${@:4}")
	api POST $API_PODS '{"metadata": {"name": "'"$2"'", "labels": {"role": "'"$3"'"}}, "spec": {"nodeName": "'"$1"'"},
		"status": {"phase": "Running", "podIP": "'"$4"'", "podIPs": ['"${addresses%, }"']}}' >/dev/null
}

# A Node object, and the pods on it, each with its name as its role.
api_pods() { # NODE POD...
	local name
	api POST /api/v1/nodes '{"metadata": {"name": "'"$1"'"}}' >/dev/null || return
	for name in "${@:2}"; do
		api_pod "$1" "$name" "$name" "$(net_ip "$name")" "$(net_ip6 "$name")" || return
	done
}

# A policy that opens these ports of a pod.
api_opens() { # POST|PUT POD PORT...
	local ports path=
	ports=$(printf '{"port": %s}, ' "${@:3}")
	[ "$1" = POST ] || path=/$2
	api "$1" "$API_POLICIES$path" '{"metadata": {"name": "'"$2"'"}, "spec": {"podSelector":
		{"matchLabels": {"role": "'"$2"'"}}, "ingress": [{"ports": ['"${ports%, }"']}]}}' >/dev/null
}

# Makes a policy that differs from each before, so that the cluster has another generation.
API_CHANGES=0
api_change() {
	local port=$((1000 + API_CHANGES++)) policy path=/db method=PUT
	policy='{"metadata": {"name": "db"}, "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": '$port'}]}]}}'
	[ "$port" != 1000 ] || path='' method=POST
	api $method "$API_POLICIES$path" "$policy" >/dev/null
}

# Requests whose line has PART get STATUS from now on; without arguments, none.
api_fails() { # [STATUS PART]
	api PUT /test/fail "${*:-0}" >/dev/null
}

# Watches whose line has PART tell nothing, and writes are answered late, from now on; "": all that was held back
api_holds() { # PART
	api PUT /test/hold "$1" >/dev/null
}

# Prints how many requests had PART in their line so far.
api_count() { # PART
	api GET "/test/count?$1"
}

api_counts() { # PART COUNT: they were more than COUNT
	[ "$(api_count "$1")" -gt "$2" ]
}

# Waits until the command succeeds, for $API_SECONDS at most. It asks ever more rarely: what takes a minute would
# else keep a processor busy for ten seconds.
API_SECONDS=240
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

# Prints the generation that nodes are to install.
api_generation() {
	api_get $API_STATUS spec.desiredPolicyGeneration
}

api_stored() { # GENERATION: the API server has this policy
	[ "$(api_get "$API_GENERATIONS/g$1" metadata.name)" = "g$1" ]
}

api_installs() { # NODE: reports what the cluster wants
	local wanted
	wanted=$(api_wanted)
	[ "$wanted" = " " ] || api_report "$1" "${wanted% *}" "${wanted#* }"
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

api_begin() { # [ENGINE-ARGUMENT...]
	api_node worker-1
	api_obeys worker-1
	api_engine one --node-limit 20 "$@"
	net_check "the engine rolls out" api_await api_rolled_out 0
}

# Prints the Events that have a reason, one a line.
api_events() { # REASON: an expression
	api GET /api/v1/events | sed 's/{"metadata"/\n&/g; s|\\/|/|g' | grep "\"reason\":\"$1\""
}

api_said() { # REASON TEXT: an Event has this message
	api_events "$1" | grep -q -- "$2"
}

# Prints a metric of the process that serves them at PORT.
api_metric() { # PORT NAME
	net_on node "$NET_HELPERS/http" GET "$1" /metrics | awk -v name="bulkhead_$2" '$1 == name { print $2 }'
}

api_metric_is() { # PORT NAME VALUE
	[ "$(api_metric "$1" "$2")" = "$3" ]
}

# True if the condition of a node says so, as the columns of `kubectl get nodepolicystatus` do.
api_ready() { # NODE STATUS REASON
	[ "$(api_get "$API_NODE/$1" status.conditions.0.type,status.conditions.0.status,status.conditions.0.reason)" = "Ready $2 $3" ]
}

api_accepted() { # STATUS REASON: PolicyStatus says so of the objects
	[ "$(api_get $API_STATUS status.conditions.2.type,status.conditions.2.status,status.conditions.2.reason)" = "ObjectsAccepted $1 $2" ]
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

# True if the endpoints of worker-1 are in the policy that the cluster wants, which is newer than GENERATION.
api_followed() { # GENERATION
	local wanted
	wanted=$(api_wanted)
	api_rolled_out "$1" && api_has worker-1 "${wanted% *}" "${wanted% *}"
}

# The same, of a cluster with a worker-2, which reports what the cluster wants.
api_both_followed() { # GENERATION
	api_installs worker-2
	api_followed "$1"
}

# Waits until a policy is rolled out that is newer than the one before COMMAND, which is a change by default; in the
# other two, until worker-1 follows, and until worker-2 does, too.
api_until() { # CONDITION COMMAND...
	local before
	before=$(api_generation)
	"${@:2}" && api_await "$1" "$before"
}
api_rolls() { # [COMMAND...]
	api_until api_rolled_out "${@:-api_change}"
}
api_follows() { # [COMMAND...]
	api_until api_followed "${@:-api_change}"
}
api_both_follow() { # [COMMAND...]
	api_until api_both_followed "${@:-api_change}"
}

# Prints how often worker-1's follower has loaded a whole policy.
api_wholes() {
	grep -c "note: generation .* is active: " "$NET_TMP/follow-worker-1.log"
}

# Prints the generation that is active on this node.
api_active() {
	net_bulkhead status | sed -n 's/.*: policy \([0-9]*\) of lineage.*/\1/p'
}

# True if the maps say so of a flow between pods of shop.
api_traces() { # allow|deny FROM TO PORT
	net_bulkhead trace --from "shop/$2" --to "shop/$3" --port "TCP/$4" | grep -q "^$1"
}

api_guarded() { # PODS: so many pods are guarded on this node
	[ "$(net_bulkhead endpoint list 2>/dev/null | grep -c '^[a-z]*/')" = $((2 * $1)) ] &&
		net_bulkhead metrics | grep -qx "bulkhead_endpoints_unguarded 0"
}

# Rows that web reaches a port of db and does not reach another one, over both IP versions.
api_protects() { # WHEN ALLOWED DENIED
	net_both denied web db "$3" "$1, web does not reach @ at $3"
	net_both allowed web db "$2" "$1, web reaches @ at $2"
}
