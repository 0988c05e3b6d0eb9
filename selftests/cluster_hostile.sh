#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A cluster of many namespaces of which 19 are hostile: they write policies over every budget, large ones within all
# budgets, Services with common addresses, objects that Bulkhead cannot use, and hold idle connections; each of these acts
# once, in an order that the seed draws, and then at random. What is over a budget is set aside, closed, what is not counts,
# and all other namespaces' changes go on; prints how long these take.
#
#   TENANTS=1000 PODS=5 CHANGES=60 ACT_SECONDS=3    namespaces, Pods in each, changes, and the pause between two acts
CLUSTER_NODES="worker-1 worker-2 worker-3"
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"
# shellcheck source=selftests/lib/changes.sh
. "$(dirname "$0")/lib/changes.sh"
TENANTS=${TENANTS:-1000} PODS=${PODS:-5} CHANGES=${CHANGES:-60} ACT_SECONDS=${ACT_SECONDS:-3}
# The first time, each act is of a tenant of its own, that no other act touches. Later ones are of the ten others.
ACTS=(services wide three mapped tcp passing rules deep idle)
OTHERS=10
HOSTILE=$((${#ACTS[@]} + OTHERS))
RANDOM=${BULKHEAD_SEED:-1}
SERVER=https://192.168.7.10:6443
policies=/apis/networking.k8s.io/v1/namespaces

# Requests in a file for curl, each with its body in a file or in the request itself.
head_of_requests() {
	printf 'header = "Content-Type: application/json"\nheader = "Authorization: Bearer secret-of-admin"\ncacert = "%s"\noutput = /dev/null\n' \
		"$KUBE_CA"
}
request() { # METHOD PATH BODY
	printf 'next\nrequest = %s\nurl = "%s%s"\n%s\ndata = "%s"\n' "$1" "$SERVER" "$2" "$(head_of_requests)" "${3//\"/\\\"}"
}
send() { # FILE: of requests
	curl -s -Z --parallel-max 20 -K <(tail -n +2 "$1")
}
api() { # METHOD PATH [BODY-FILE]
	curl -s -f --max-time 60 --cacert "$KUBE_CA" -H "Authorization: Bearer secret-of-admin" -X "$1" \
		-H "Content-Type: application/json" ${3:+--data-binary "@$3"} "$SERVER$2" >/dev/null
}

# Tenants, each with its Pods and a policy. The Pods are on a node without a follower. One process writes all requests: a
# process for each takes minutes.
tenants() {
	awk -v tenants="$TENANTS" -v pods="$PODS" -v server="$SERVER" -v head="$(head_of_requests)" -v to="$NET_TMP" '
		function request(file, method, path, body) {
			gsub(/"/, "\\\"", body)
			printf "next\nrequest = %s\nurl = \"%s%s\"\n%s\ndata = \"%s\"\n", method, server, path, head, body >(to "/" file)
		}
		function pod(i, j, status) {
			return sprintf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"t-%d\",\"labels\":{\"app\":\"p%d\"}},\"spec\":{\"nodeName\":\"worker-9\",\"containers\":[{\"name\":\"main\",\"image\":\"none\",\"ports\":[{\"name\":\"http\",\"containerPort\":8080}]}]}%s}", j, i, j, status)
		}
		BEGIN {
			for (i = 0; i < tenants; i++) {
				ns = "/api/v1/namespaces/t-" i
				request("namespaces", "POST", "/api/v1/namespaces", sprintf("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"t-%d\"}}", i))
				for (j = 0; j < pods; j++) {
					n++
					request("pods", "POST", ns "/pods", pod(i, j, ""))
					request("statuses", "PUT", ns "/pods/p" j "/status", pod(i, j, sprintf(",\"status\":{\"phase\":\"Running\",\"podIP\":\"10.%d.%d.%d\"}", 100 + int(n / 60000), int(n / 250) % 240, n % 250 + 1)))
				}
				request("policies", "POST", "/apis/networking.k8s.io/v1/namespaces/t-" i "/networkpolicies", sprintf("{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{\"name\":\"p\",\"namespace\":\"t-%d\"},\"spec\":{\"podSelector\":{\"matchLabels\":{\"app\":\"p0\"}},\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":{\"app\":\"p1\"}}}],\"ports\":[{\"port\":%d}]}]}}", i, 8000 + i % 100))
			}
		}'
	send "$NET_TMP/namespaces" && send "$NET_TMP/pods" && send "$NET_TMP/statuses" && send "$NET_TMP/policies"
}
are_there() { # KIND COUNT
	[ "$(kubectl get "$1" -A -o name | grep -c .)" -ge "$2" ]
}

# What hostile tenants write.
ports() { # PROTOCOL: every second port
	seq 1 2 65535 | sed "s/.*/{\"protocol\":\"$1\",\"port\":&}/" | paste -sd,
}
policy() { # NAME SPEC
	printf '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"%s","annotations":{"at":"MOMENT"}},"spec":%s}' \
		"$1" "$2"
}
weapons() {
	local protocol fields
	for protocol in TCP UDP SCTP; do
		policy "${protocol,,}" '{"podSelector":{},"ingress":[{"ports":['"$(ports $protocol)"']}]}' >"$NET_TMP/weapon-${protocol,,}"
	done
	policy wide '{"podSelector":{},"ingress":[{"ports":['"$(ports TCP)"']}'"$(seq 0 899 |
		awk '{ printf ",{\"from\":[{\"ipBlock\":{\"cidr\":\"20.%d.%d.0/24\"}}],\"ports\":[{\"port\":%d}]}", $1 / 256, $1 % 256, 2 + 2 * $1 }')"']}' \
		>"$NET_TMP/weapon-wide"
	policy rules '{"podSelector":{},"ingress":['"$(yes '{}' | head -n 320000 | paste -sd,)"']}' >"$NET_TMP/weapon-rules"
	policy mapped '{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"::ffff:10.0.0.0/104"}}]}]}' >"$NET_TMP/weapon-mapped"
	# fields within one another, deeper than readers of JSON take
	fields=$(yes '{"f:x":' | head -n 3000 | tr -d '\n'){}$(yes '}' | head -n 3000 | tr -d '\n')
	policy deep '{"podSelector":{},"policyTypes":["Ingress"]}' | sed 's/"annotations"/"managedFields":[{"manager":"x",'\
'"operation":"Update","time":"2026-01-01T00:00:00Z","apiVersion":"networking.k8s.io\/v1","fieldsType":"FieldsV1","fieldsV1":'"$fields"'}],&/' \
		>"$NET_TMP/weapon-deep"
}
strike() { # NAMESPACE WEAPON: creates or replaces the policy
	sed "s/MOMENT/$EPOCHREALTIME/" "$NET_TMP/weapon-$2" >"$NET_TMP/striking"
	api PUT "$policies/$1/networkpolicies/$2" "$NET_TMP/striking" || api POST "$policies/$1/networkpolicies" "$NET_TMP/striking"
}
crowd_of_services() { # NAMESPACE: with common addresses and ports
	local i k addresses ports
	addresses=$(seq -f '"198.51.100.%g"' -s , 1 40)
	for ((i = 0; i < 200; i++)); do
		ports=
		for ((k = i; k < i + 5; k++)); do
			ports+=",{\"name\":\"p$k\",\"port\":$((1000 + k))}"
		done
		request POST "/api/v1/namespaces/$1/services" '{"apiVersion":"v1","kind":"Service","metadata":{"name":"s'$i'"},"spec":{"externalIPs":['"$addresses"'],"ports":['"${ports#,}"']}}'
	done >"$NET_TMP/services"
	send "$NET_TMP/services"
}
idles() { # 150 connections to an engine's port, for some seconds; a client at another address is answered meanwhile
	local i fd
	for ((i = 0; i < 150; i++)); do
		# shellcheck disable=SC2034 # each stays open
		exec {fd}<>/dev/tcp/127.0.0.1/9465 || break
	done
	curl -s --max-time 60 --interface 127.0.0.2 http://127.0.0.1:9465/healthz | sed "s/^/$i /" >>"$NET_TMP/idled"
	sleep 5
} 2>/dev/null
said() { # NAMESPACE POLICY REASON TEXT: an Event of the policy has this message
	kubectl get events -n "$1" --field-selector "involvedObject.name=$2,reason=$3" -o jsonpath='{.items[*].message}' |
		grep -q -- "$4"
}
# Writes a policy and withdraws it once an Event has told of it: one within all budgets may take seconds of each compile as
# long as it is there.
passes() { # NAMESPACE WEAPON REASON
	strike "$1" "$2" && rollout_await 120 said "$1" "$2" "$3" .
	api DELETE "$policies/$1/networkpolicies/$2"
}
own_tenant() { # ACT: whose tenant
	local i
	for i in "${!ACTS[@]}"; do
		[ "${ACTS[i]}" != "$1" ] || echo "t-$((TENANTS - 1 - i))"
	done
}
act() { # ACT NAMESPACE
	case $1 in
	services) crowd_of_services "$2" ;;
	wide | mapped | tcp | deep) strike "$2" "$1" ;;
	three) strike "$2" tcp && strike "$2" udp && strike "$2" sctp ;;
	passing) passes "$2" wide SetAside ;;
	rules) passes "$2" rules Active ;;
	idle) (idles) & ;;
	esac
	echo "$*" >>"$NET_TMP/acts"
}
hostilities() {
	local left=("${ACTS[@]}") next
	while [ ${#left[@]} -gt 0 ]; do
		next=$((RANDOM % ${#left[@]}))
		act "${left[next]}" "$(own_tenant "${left[next]}")"
		left=("${left[@]:0:next}" "${left[@]:next + 1}")
		sleep "$ACT_SECONDS"
	done
	while [ -e "$NET_TMP/hostile" ]; do
		act "${ACTS[RANDOM % ${#ACTS[@]}]}" "t-$((TENANTS - HOSTILE + RANDOM % OTHERS))"
		sleep "$ACT_SECONDS"
	done
}

# A change is active on a node when the node's maps allow its port. The API server's watch tells when it has the change.
is_active() { # PORT
	local node
	for node in $CLUSTER_NODES; do
		cluster_bulkhead "$node" trace --from "$(net_ip web)" --to "$(net_ip db)" --port "TCP/$1" 2>/dev/null |
			grep -q '^allow' || return
	done
}
# When all nodes have reported a policy that has the change. Looks at the maps only after a report: a process that asks them
# all the time would take the processor from those whose time this is.
active_at() { # SINCE GENERATION-BEFORE PORT
	local at generation=$2 end=$((SECONDS + 180))
	while [ $SECONDS -lt $end ]; do
		at=$(changes_last "$1" "$generation" 4)
		if [ -z "$at" ]; then
			sleep 0.1
		elif is_active "$3"; then
			echo "$at" && return
		else
			generation=$((generation + 1))
		fi
	done
	false
}
change() { # PORT: shop/db
	local before began stored ended
	before=$(changes_generation)
	began=${EPOCHREALTIME/./}
	cat <<-EOF | kubectl apply -f - >/dev/null || return
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: web}}}], ports: [{port: $1, protocol: TCP}]}]}}
	EOF
	ended=$(active_at "$began" "$before" "$1") || return
	stored=$(changes_first policy "$began" 0 3)
	echo $((ended - began)) >>"$NET_TMP/all$PHASE"
	echo $((ended - ${stored:-$began})) >>"$NET_TMP/own$PHASE"
}
# Prints what the engine has counted so far: the seconds of all compiles, their number, the same of all rollouts.
counted() {
	local name
	for name in compile rollout; do
		rollout_metric "engine_${name}_seconds_sum"
		rollout_metric "engine_${name}_seconds_count"
	done | xargs
}
changes() { # FIRST COUNT
	local i before
	before=$(counted)
	changes_spend
	for ((i = 0; i < $2; i++)); do
		change $(($1 + i)) || return
		sleep 0.3
	done
	changes_spent "$2" "a change" >"$NET_TMP/spent$PHASE"
	awk '{ printf "%.0f %.0f\n", ($5 - $1) / ($6 - $2) * 1000, ($7 - $3) / ($8 - $4) * 1000 }' \
		<<<"$before $(counted)" >"$NET_TMP/mean$PHASE"
}
# What a node says of a Pod that only the hostile policies select. None of these policies but `rules` opens an even port.
is_open() { # TENANT PORT
	cluster_bulkhead worker-1 trace --from "$(net_ip web)" --to "$1/p2" --port "TCP/$2" | grep -q '^allow'
}
closed() { # TENANT
	cluster_bulkhead worker-1 trace --from "$(net_ip web)" --to "$1/p2" --port TCP/2 | grep -q '^deny'
}
said_of_any() { # NAMESPACE REASON TEXT
	kubectl get events -n "$1" --field-selector "reason=$2" -o jsonpath='{.items[*].message}' | grep -q -- "$3"
}
some_aside() {
	[ "$(rollout_metric engine_objects_aside)" -ge "$1" ]
}

cluster_start
net_check "resources and rights" rollout_install
KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
net_check "$TENANTS tenants" tenants
net_check "the tenants have $((TENANTS * PODS)) Pods" are_there pods $((TENANTS * PODS))
net_check "the tenants have a policy each" are_there networkpolicies "$TENANTS"
weapons
rollout_engine one
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
changes_watch
net_check "all nodes have the policy" rollout_await 120 rollout_is_settled 3
PHASE=-quiet
net_check "$CHANGES changes of a policy while nobody is hostile" changes 10000 "$CHANGES"
for ((i = 0; i < OTHERS; i++)); do
	strike "t-$((TENANTS - HOSTILE + i))" wide
done
net_check "the hostile policies are set aside" rollout_await 120 some_aside "$OTHERS"
touch "$NET_TMP/hostile"
hostilities >/dev/null 2>&1 &
hostilities=$!
PHASE=-hostile
net_check "$CHANGES changes of a policy go on beside $HOSTILE hostile tenants" changes 20000 "$CHANGES"
rm "$NET_TMP/hostile"
wait $hostilities
net_check "all nodes have what the cluster wants" rollout_await 120 rollout_is_settled 3

# What became of each act, in the tenant that no other act touches.
wide=$(own_tenant wide) three=$(own_tenant three) mapped=$(own_tenant mapped) tcp=$(own_tenant tcp)
passing=$(own_tenant passing) rules=$(own_tenant rules) services=$(own_tenant services) deep=$(own_tenant deep)
net_check "the policy of 900 long lists isolates" rollout_await 120 closed "$wide"
net_check "the Pods of other tenants are not isolated" eval '! closed t-0'
net_check "an Event says why the policy of 900 long lists is set aside" \
	said "$wide" wide SetAside 'needs [0-9]* port intervals or more, the limit is 262144'
net_check "one of three policies with too long a list together is set aside" \
	said_of_any "$three" SetAside 'needs [0-9]* port intervals in one list, the limit is 131071'
net_check "the three policies isolate" rollout_await 120 closed "$three"
net_check "a policy with an address that cannot be used is refused" said "$mapped" mapped Refused 'ipBlock.cidr: '
net_check "the refused policy isolates" rollout_await 120 closed "$mapped"
net_check "a policy of 32,768 ports is active" said "$tcp" tcp Active 'active at generation'
net_check "the policy of 32,768 ports opens its ports" rollout_await 120 is_open "$tcp" 1
net_check "the policy of 32,768 ports opens no other" closed "$tcp"
net_check "a policy that came and went was set aside" said "$passing" wide SetAside 'isolates what it selects'
net_check "the policy that went isolates no more" rollout_await 120 is_open "$passing" 2
net_check "a policy of 320,000 empty rules was active" said "$rules" rules Active 'active at generation'
net_check "the API server keeps 3,000 fields within one another" eval \
	'[ "$(kubectl get --raw $policies/$deep/networkpolicies/deep | grep -o f:x | wc -l)" -ge 3000 ]'
net_check "the policy with 3,000 fields within one another isolates" closed "$deep"
net_check "200 Services with common addresses are there" \
	test "$(kubectl get services -n "$services" -o name | grep -c .)" -eq 200
net_check "nothing that is within all budgets was set aside" eval \
	'! said_of_any $tcp SetAside . && ! said_of_any $rules SetAside . && ! said_of_any $services SetAside .'
net_check "the engine answers beside 150 idle connections" grep -q '^150 ok' "$NET_TMP/idled"
mkdir "$NET_TMP/bin" && ln -s "$BULKHEAD" "$NET_TMP/bin/kubectl-bulkhead"
net_check "kubectl bulkhead describe has the Event below what kubectl describes" rollout_await 60 eval \
	"PATH=$NET_TMP/bin:$PATH kubectl bulkhead describe $wide/wide >\"\$NET_TMP/described\" &&
		grep -q '^Spec:' \"\$NET_TMP/described\" && grep -q '^  Warning  SetAside .*isolates what it selects' \"\$NET_TMP/described\""
echo "# $(wc -l <"$NET_TMP/acts") hostile acts; ms: median, 99th, worst"
for phase in quiet hostile; do
	echo "# $phase: kubectl apply until the change is active: $(changes_spread all-$phase)   goal 300 at the 99th"
	echo "# $phase: since the API server has told of it:      $(changes_spread own-$phase)   goal 80 at the 99th"
	read -r compile rollout <"$NET_TMP/mean-$phase"
	echo "# $phase: by the engine's metrics, on average: $compile a compile, $rollout a rollout"
	sed 's/^/#/' "$NET_TMP/spent-$phase"
done
awk '/^VmHWM/ { print "# resident MB of the engine, at most: " int($2 / 1024) }' "/proc/${ROLLOUT_PID[engine-one]}/status"
net_end
