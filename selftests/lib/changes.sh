# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How long changes of a policy take beside lib/rollout.sh's cluster, and if the time goes. Source lib/rollout.sh
# first.
#
#   changes_watch           notes from now on when each version of the objects comes
#   changes_measure PORT    changes the policy shop/db by kubectl, and waits until all nodes have reported the change;
#                           adds the ms to the files all, own and step-0 to step-4 of changes_spread
#   changes_spread FILE     prints the median, the 99th percentile and the worst, in ms
#   changes_spend           notes the processor time that engine and followers have taken so far
#   changes_spent N WHAT    prints what they have taken since, for each of N, which no other process lengthens, and how
#                           long they waited for a processor
#
# all     kubectl apply until the last node has reported the policy active
# own     of that, since the API server has told of the policy
# step-0  kubectl, until the API server has told of the policy
# step-1  the engine: gather, compile, publish
# step-2  nodes: install and report
# step-3  the engine: let endpoints move
# step-4  nodes: move endpoints and report

# Writes lines: microseconds, name, generation of policy and of endpoints.
changes_note() { # PATH
	curl -sN --cacert "$KUBE_CA" -H "Authorization: Bearer secret-of-admin" \
		"https://192.168.7.10:6443$1?watch=1" | while read -r line; do
		local at=${EPOCHREALTIME/./} name='' installed='' active=''
		[[ $line =~ \"name\":\"([^\"]*)\" ]] && name=${BASH_REMATCH[1]}
		[[ $line =~ (latest|desired)PolicyGeneration\":([0-9]+) ]] && installed=${BASH_REMATCH[2]}
		[[ $line =~ (latest|desired)EndpointGeneration\":([0-9]+) ]] && active=${BASH_REMATCH[2]}
		[[ $line != *'"kind":"NetworkPolicy"'* ]] || { name=policy && installed=0 && active=0; }
		echo "$at $name ${installed:-0} ${active:-0}"
	done >>"$NET_TMP/versions"
}

changes_watch() {
	local path
	KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
	: >"$NET_TMP/versions"
	for path in /apis/bulkhead.dev/v1alpha1/policystatuses /apis/bulkhead.dev/v1alpha1/nodepolicystatuses \
		/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies; do
		changes_note $path &
		NET_SERVERS+=($!)
	done
}

# Prints the first time, at SINCE or later, at which NAME has a generation of more than GENERATION in FIELD.
changes_first() { # NAME SINCE GENERATION FIELD
	awk -v name="$1" -v since="$2" -v old="$3" -v field="$4" \
		'$2 == name && $1 >= since && (name == "policy" || $field > old) { print $1; exit }' "$NET_TMP/versions"
}

changes_last() { # SINCE GENERATION FIELD: of all nodes
	local node at max=0
	for node in $CLUSTER_NODES; do
		at=$(changes_first "$node" "$@")
		[ -n "$at" ] || return
		[ "$at" -le "$max" ] || max=$at
	done
	echo "$max"
}

changes_is_done() { # SINCE GENERATION
	[ -n "$(changes_last "$1" "$2" 4)" ]
}

# The generation that has the change is the first one that the engine wants after the API server has the change;
# where others change policies, too, that generation may have been compiled just before.
changes_measure() { # PORT
	local before began stored ended step steps
	before=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}')
	began=${EPOCHREALTIME/./}
	cat <<-EOF | kubectl apply -f - >/dev/null
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: web}}}], ports: [{port: $1, protocol: TCP}]}]}}
	EOF
	rollout_await 60 changes_is_done "$began" "$before" || return
	stored=$(changes_first policy "$began" 0 3)
	ended=$(changes_last "$began" "$before" 4)
	steps=("$began" "$stored" "$(changes_first global "$began" "$before" 3)" "$(changes_last "$began" "$before" 3)"
		"$(changes_first global "$began" "$before" 4)" "$ended")
	for ((step = 0; step < 5; step++)); do
		echo $((steps[step + 1] - steps[step])) >>"$NET_TMP/step-$step"
	done
	echo $((ended - began)) >>"$NET_TMP/all"
	echo $((ended - stored)) >>"$NET_TMP/own"
}

changes_generation() {
	kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}'
}

declare -A CHANGES_SPENT
changes_processor() { # NAME: us on a processor, and us of waiting for one
	awk '{ print int($1 / 1000), int($2 / 1000) }' "/proc/${ROLLOUT_PID[$1]}/schedstat"
}
changes_spend() {
	local name
	for name in "${!ROLLOUT_PID[@]}"; do
		CHANGES_SPENT[$name]=$(changes_processor "$name")
	done
}
changes_spent() { # N WHAT
	local name
	for name in $(printf '%s\n' "${!CHANGES_SPENT[@]}" | sort); do
		awk -v n="$1" -v what="processor ms of $name for $2, and of waiting for one" '{
			printf "  %-64s %6.1f %6.1f\n", what, ($3 - $1) / 1000 / n, ($4 - $2) / 1000 / n }' \
			<<<"${CHANGES_SPENT[$name]} $(changes_processor "$name")"
	done
}

changes_spread() { # FILE
	sort -n "$NET_TMP/$1" | awk '{ v[NR] = $1 / 1000 } END {
		high = int(NR * 0.99 + 0.999999)
		if (high > NR)
			high = NR
		printf "%6.0f %6.0f %6.0f\n", v[int((NR + 1) / 2)], v[high], v[NR] }'
}
