#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load says in one line what changed, and names each policy and endpoint that a change opens. An input that
# deletes most policies, or comes to a node of another name, needs --force.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

json=$NET_HELPERS/json
net_start db web
db4=$(net_ip db)
{
	net_policy_of TCP/80 TCP/80
	printf '[network-policy shop/%s]\nendpoints = role=db\ningress = from cidr(192.0.2.0/24)\n' third fourth
} >"$NET_TMP/policy.ini"
without() { # NAME...: the policy without these policies
	local name
	cp "$NET_TMP/policy.ini" "$NET_TMP/part.ini"
	for name; do
		sed -i "/^\[network-policy shop\/$name\]/,/^\(in\|e\)gress/d" "$NET_TMP/part.ini"
	done
	echo "$NET_TMP/part.ini"
}
line() { # PATTERN ARGUMENT...: of load, on standard output
	net_bulkhead load "${@:2}" >"$NET_TMP/out" 2>"$NET_TMP/err" || { cat "$NET_TMP/err" && return 1; }
	head -n 1 "$NET_TMP/out" | grep -E -- "$1" || { cat "$NET_TMP/out" "$NET_TMP/err" && false; }
}
warned() { # PATTERN
	grep -E -- "^warning: $1" "$NET_TMP/err" || { cat "$NET_TMP/err" && false; }
}
has() { # FIELD VALUE: of load -j
	net_is "$("$json" get "$1" <"$NET_TMP/out")" "$2"
}

# Another name than the node's.
net_check "a first load with another node's name is refused" net_ends 2 \
	'no object of the input is on a node of this name.*did you mean `worker-1`?' net_bulkhead load -n worker1 "$NET_TMP/policy.ini"
net_check "a first load with an empty name is refused" net_ends 2 "the node's name is empty" net_bulkhead load -n "" "$NET_TMP/policy.ini"
sed '/^node = worker-1/d' "$NET_TMP/policy.ini" | sed 's/^\[endpoint .*/&\nnode = worker-1/' >"$NET_TMP/unnamed.ini"
net_check "a first load by the host's name is refused" net_ends 2 'no object of the input is on a node' net_bulkhead load \
	"$NET_TMP/unnamed.ini"
sed '/^node = /d' "$NET_TMP/policy.ini" >"$NET_TMP/nowhere.ini"
net_check "a first load whose endpoints name no node is refused" net_ends 2 \
	'no endpoint of the input is on it, and 2 name no node: give each endpoint of this node `node = worker-1`' \
	net_bulkhead load -n worker-1 "$NET_TMP/nowhere.ini"
net_allowed out tcp "$db4" 443 "nothing is guarded after the refusals"
net_check "load --force of endpoints that name no node warns that nothing is guarded" net_ends 0 \
	'^warning: no endpoint is on the node worker-1, and 2 name no node: nothing is guarded' \
	net_bulkhead load --force -n worker-1 "$NET_TMP/nowhere.ini"
net_check "status --check reports that no endpoint names the node" net_ends 1 \
	'no object of the policy is on a node named "worker-1"' net_bulkhead status --check
net_check "unload" net_bulkhead unload
awk '/^node = / && seen++ == 1 { next } 1' "$NET_TMP/policy.ini" >"$NET_TMP/half.ini"
net_check "a load of which one endpoint names no node says so" net_ends 0 '^note: 1 of 2 endpoints name no node: no node guards them' \
	net_bulkhead load -n worker-1 "$NET_TMP/half.ini"
net_check "unload" net_bulkhead unload
net_check "load --force with another node's name" net_bulkhead load --force -n nosuch "$NET_TMP/policy.ini"
net_check "status --check reports that no object is on that node" net_ends 1 'no object of the policy is on a node named "nosuch"' \
	net_bulkhead status --check
net_check "unload" net_bulkhead unload

# The line.
net_check "the first load counts policies and endpoints" line ': 4 policies, 2 endpoints guarded' "$NET_TMP/policy.ini"
net_check "a load that opens nothing warns of nothing" net_is "$(grep warning "$NET_TMP/err")" ""
net_check "the load of the active policy says the same" line 'already: 4 policies, 2 endpoints guarded, 1 uplinks$' \
	"$NET_TMP/policy.ini"
net_check "the load of the active policy writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "a load without one policy names the policy" line ': 3 policies \(-1: shop/fourth\), 2 endpoints' "$(without fourth)"
net_check "a load without one policy warns of the policy" warned 'policy shop/fourth is deleted'
net_check "no endpoint is opened by that load" net_is "$(grep isolated "$NET_TMP/out" "$NET_TMP/err")" ""
net_denied web tcp "$db4" 443 "db is isolated still"
net_check "a load with the policy again counts it" line ': 4 policies \(\+1\), 2 endpoints' "$NET_TMP/policy.ini"
net_check "a load that opens web's egress names web" line ', 1 isolated no longer: shop/web \(egress\)$' "$(without web)"
net_check "a load that opens web's egress warns of web" warned 'endpoint shop/web is isolated no longer at egress'
net_check "load the whole policy" net_bulkhead load "$NET_TMP/policy.ini"
net_check "-v names the policies" grep -qx 'policy shop/web is deleted' <(net_bulkhead load -v "$(without web)")
net_check "load the whole policy again" net_bulkhead load "$NET_TMP/policy.ini"

# As JSON.
net_bulkhead load -j "$(without web)" >"$NET_TMP/out" 2>/dev/null
net_check "-j has the number of policies" has policies 3
net_check "-j has the deleted policies" has policies_deleted '[ "shop\/web" ]'
net_check "-j has the endpoints that are isolated" has isolated '{ "ingress": 1, "egress": 0 }'
net_check "-j has the endpoints that were opened" has opened \
	'[ { "endpoint": "shop\/web", "ingress": false, "egress": true, "audited": false } ]'

# A delta.
delta() { # PATTERN INPUT: load the changes from the active policy to this one
	"$BULKHEAD" compile -o "$NET_TMP/to.bhp" --base "$NET_TMP/from.bhp" --delta "$2" >/dev/null &&
		line "$1" "$NET_TMP/to.bhp" &&
		"$BULKHEAD" compile -o "$NET_TMP/whole.bhp" --base "$NET_TMP/from.bhp" "$NET_TMP/to.bhp" >/dev/null &&
		mv "$NET_TMP/whole.bhp" "$NET_TMP/from.bhp"
}
"$BULKHEAD" compile -o "$NET_TMP/from.bhp" "$NET_TMP/policy.ini" >/dev/null
net_check "load a compiled policy" net_bulkhead load --rollback "$NET_TMP/from.bhp"
net_check "a delta that opens web's egress names web" delta \
	': 3 policies \(-1: shop/web\), 2 endpoints guarded.*, 1 isolated no longer: shop/web \(egress\)$' "$(without web)"
net_check "a delta that opens web's egress warns of web" warned 'endpoint shop/web is isolated no longer at egress'
net_check "a delta that closes web's egress counts the policy" delta ': 4 policies \(\+1\), 2 endpoints guarded, 1 uplinks$' \
	"$NET_TMP/policy.ini"
sed 's/TCP\/80/TCP\/443/' "$NET_TMP/policy.ini" >"$NET_TMP/port.ini"
net_check "a delta that changes a port changes no policy's number" delta ': 4 policies, 2 endpoints guarded, 1 uplinks$' "$NET_TMP/port.ini"
net_check "load the first policy after the deltas" net_bulkhead load --rollback --force "$NET_TMP/policy.ini"

# An added endpoint, which the input lacks.
net_check "load the whole policy before an endpoint is deleted" net_bulkhead load "$NET_TMP/policy.ini"
sed '/^\[endpoint shop\/web\]/,/^labels/d' "$NET_TMP/policy.ini" >"$NET_TMP/added.ini"
net_check "delete web" net_bulkhead endpoint del shop/web
net_check "add web" net_bulkhead endpoint add shop/web --ip "$(net_ip web)" --labels role=web
net_check "load the policy without web" line ': 4 policies, 2 endpoints guarded' "$NET_TMP/added.ini"
sed '/^\[network-policy shop\/web\]/,$d' "$NET_TMP/added.ini" >"$NET_TMP/opened.ini"
sed -n '/^\[network-policy shop\/third/,$p' "$NET_TMP/added.ini" >>"$NET_TMP/opened.ini"
net_check "a load that opens an added endpoint names the endpoint" line '1 isolated no longer: shop/web \(egress\)$' \
	"$NET_TMP/opened.ini"
net_check "load the whole policy after that" net_bulkhead load "$NET_TMP/policy.ini"

# Audit.
audited=(--state "$NET_TMP/state" --audit "$NET_TMP/policy.ini")
net_check "a load with --audit says that endpoints are audited only" line \
	', 2 endpoints guarded, 2 of them audited only, .*, 2 newly audited: shop/db, shop/web$' "${audited[@]}"
net_check "a load with --audit warns of db" warned 'endpoint shop/db is audited only: policy denies it nothing any more'
net_check "a load with --audit says that the next start audits" grep -q \
	'note: policy denies nothing on this node, nor after its next start, until a load without --audit' "$NET_TMP/err"
net_check "metrics count endpoints that are audited" net_is "$(net_bulkhead metrics | grep ^bulkhead_endpoints_audited)" \
	"bulkhead_endpoints_audited 2"
net_check "unload keeps the state of another folder" net_bulkhead unload
net_check "the restored load says that endpoints are audited only" net_ends 0 ', 2 of them audited only' \
	net_bulkhead load --restore --state "$NET_TMP/state"
net_check "a load without --audit audits nobody" net_is \
	"$(net_bulkhead load "$NET_TMP/policy.ini" 2>&1 | grep -c audit)" 0

# Labels that open an endpoint.
says() { # COMMAND ARGUMENT...: on standard error
	{ net_bulkhead "$@" >/dev/null; } 2>&1
}
net_check "labels that no policy selects open db with a warning" net_is "$(says endpoint set shop/db --labels '')" \
	"warning: endpoint shop/db is isolated no longer at ingress"
net_allowed out tcp "$db4" 443 "db is open with these labels"
net_check "labels that policies select open nothing" net_is "$(says endpoint set shop/db --labels role=db)" ""
net_check "further labels open nothing" net_is "$(says endpoint set shop/db --labels role=db,more=yes)" ""
net_denied out tcp "$db4" 443 "db is isolated again"
net_allowed web tcp "$db4" 80 "db lets web in"
net_check "load the whole policy after db was set" net_bulkhead load "$NET_TMP/policy.ini"

# Policies that vanish.
refused() { # PATTERN ARGUMENT...: of load, before it changes anything
	net_ends 2 "$1" net_bulkhead load "${@:2}"
}
net_check "an input without policies is refused" refused "the input has 0 policies, and 4 are active" "$(without db web third fourth)"
net_check "an input with a quarter of the policies is refused" refused "the input has 1 policies, and 4 are active" \
	"$(without web third fourth)"
net_check "staging that input is refused" refused "the input has 1 policies, and 4 are active" --stage "$(without web third fourth)"
"$BULKHEAD" compile -o "$NET_TMP/base.bhp" "$NET_TMP/policy.ini"
"$BULKHEAD" compile --base "$NET_TMP/base.bhp" --delta -o "$NET_TMP/delta.bhp" "$(without web third fourth)"
net_check "load the compiled policy" net_bulkhead load --rollback "$NET_TMP/base.bhp"
net_check "a delta to a quarter of the policies is refused" refused "the input has 1 policies, and 4 are active" "$NET_TMP/delta.bhp"
net_allowed web tcp "$db4" 80 "web sends what the policy allows after the refusals"
net_denied web tcp "$db4" 443 "web sends nothing else after the refusals"
net_check "an input with half of the policies is loaded" line ': 2 policies \(-2: shop/fourth, shop/third\)' "$(without third fourth)"
net_check "load --force of an input without policies" line ': 0 policies \(-2: shop/db, shop/web\), .*2 isolated no longer' \
	--force "$(without db web third fourth)"
net_check "the load with --force warns of db" warned 'endpoint shop/db is isolated no longer at ingress'
net_check "the load with --force warns of the policy" warned 'policy shop/db is deleted'
net_allowed web tcp "$db4" 443 "db is open after --force"
net_check "load the whole policy after --force" net_bulkhead load "$NET_TMP/policy.ini"
staged=$(net_bulkhead load --force --stage -j "$(without web third fourth)" | "$json" get policy_generation)
net_check "a staged policy with a quarter of the policies is activated" net_ends 0 ': 1 policies (-3: shop/fourth, ' \
	net_bulkhead load --activate "$staged"
metric() { # PATTERN
	net_bulkhead metrics | grep -x "$1"
}
net_check "metrics count policies" metric "bulkhead_policies 1"
net_check "metrics count endpoints that are isolated at ingress" metric 'bulkhead_endpoints_isolated{direction="ingress"} 1'
net_check "metrics count endpoints that are isolated at egress" metric 'bulkhead_endpoints_isolated{direction="egress"} 0'
net_check "metrics count no audited endpoint" metric "bulkhead_endpoints_audited 0"

# Kinds that are not read, and namespaces that are misspelt.
kind() { # APIVERSION KIND [NAMESPACE]
	printf 'apiVersion: %s\nkind: %s\nmetadata: {name: n, namespace: %s}\nspec: {podSelector: {}}\n' "$1" "$2" "${3:-shop}"
}
mkdir "$NET_TMP/kinds"
cp "$NET_TMP/policy.ini" "$NET_TMP/kinds"
for kind in "networking.k8s.io/v1 NetworkPolcy" "networking.k8s.io/v1 Networkpolicy" "cilium.io/v2 CiliumNetworkPolicy" \
	"projectcalico.org/v3 GlobalNetworkPolicy" "crd.antrea.io/v1beta1 ClusterNetworkPolicies" "v1 Namespce"; do
	# shellcheck disable=SC2086
	kind $kind >"$NET_TMP/kinds/kind.yaml"
	net_check "${kind#* } is refused" refused "1 objects look like policies and would not be enforced" "$NET_TMP/kinds"
	net_check "${kind#* } is named" grep -q "kind.yaml:1: warning: ${kind#* } (${kind% *}) is not enforced" "$NET_TMP/said"
done
kind networking.k8s.io/v1 NetworkPolcy >"$NET_TMP/kinds/kind.yaml"
net_check "the nearest kind is named" refused 'did you mean `NetworkPolicy`?' "$NET_TMP/kinds"
net_check "compile refuses the kind, too" net_ends 2 "1 objects look like policies" "$BULKHEAD" compile -o "$NET_TMP/b.bhp" "$NET_TMP/kinds"
net_check "compile --force leaves the object out" "$BULKHEAD" compile --force -o "$NET_TMP/b.bhp" "$NET_TMP/kinds"
net_check "trace of the input warns" net_ends 0 'warning: NetworkPolcy' "$BULKHEAD" trace --from shop/web --to shop/db \
	--port TCP/80 "$NET_TMP/kinds"
net_check "load --force leaves the object out" net_bulkhead load --force "$NET_TMP/kinds"
for kind in "v1 Secret" "batch/v1 Job" "apps/v1 Deployment" "policy/v1 PodDisruptionBudget" "kyverno.io/v1 ClusterPolicy"; do
	# shellcheck disable=SC2086
	kind $kind >"$NET_TMP/kinds/kind.yaml"
	net_check "${kind#* } is no policy of connections" net_ends 0 "note: ${kind#* } (.*) is skipped" net_bulkhead load "$NET_TMP/kinds"
done
kind networking.k8s.io/v1 NetworkPolicy shpo >"$NET_TMP/kinds/kind.yaml"
net_check "load warns of a namespace that no object has" net_ends 0 \
	'kind.yaml:1: warning: policy shpo/n selects nothing: no pod is in namespace shpo.*did you mean `shop`?' net_bulkhead load "$NET_TMP/kinds"
net_check "lint reports the namespace" net_ends 1 'no pod is in its namespace.*did you mean `shop`? \[no-namespace\]' \
	"$BULKHEAD" lint "$NET_TMP/kinds"
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shpo}\n---\n' >>"$NET_TMP/kinds/other.yaml"
net_check "load does not warn of a namespace that has an object" net_is \
	"$(net_bulkhead load "$NET_TMP/kinds" 2>&1 | grep 'selects nothing')" ""
net_end
