#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kubectl's plugin: the command by the name kubectl-bulkhead answers from the objects of an API server as the command does
# from a file of them, says how far the cluster is, and reads a node's events through the follower's pod.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db web
api_start
mkdir "$NET_TMP/bin" && ln -s "$BULKHEAD" "$NET_TMP/bin/kubectl-bulkhead"
# Prints its arguments, in the place of kubectl.
printf '#!/bin/sh\necho "$@"\n' >"$NET_TMP/bin/kubectl" && chmod +x "$NET_TMP/bin/kubectl"
plugin() { # ARGUMENT...
	net_on node env PATH="$NET_TMP/bin:$PATH" kubectl-bulkhead --kubeconfig "$API_CONFIG" "$@"
}
pod() { # NAMESPACE NAME UID ADDRESS...
	local addresses
	addresses=$(printf ', {"ip": "%s"}' "${@:4}")
	printf '{"metadata": {"namespace": "%s", "name": "%s", "uid": "%s", "labels": {"role": "%s"}},
		"spec": {"nodeName": "worker-1"}, "status": {"phase": "Running", "podIPs": [%s]}}' "$1" "$2" "$3" "$2" "${addresses#, }"
}
policy='{"metadata": {"namespace": "shop", "name": "db", "uid": "u9"}, "spec": {"podSelector": {"matchLabels": {"role": "db"}},
	"ingress": [{"from": [{"podSelector": {"matchLabels": {"role": "web"}}}], "ports": [{"port": 80}]}]}}'
api POST /api/v1/namespaces '{"metadata": {"name": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}}}' >/dev/null
api POST /api/v1/nodes '{"metadata": {"name": "worker-1"}}' >/dev/null
{
	printf '{"apiVersion": "v1", "kind": "List", "items": ['
	number=0
	for name in db web; do
		pod shop $name u$((++number)) "$(net_ip $name)" "$(net_ip6 $name)" >"$NET_TMP/pod"
		api POST /api/v1/namespaces/shop/pods "$(cat "$NET_TMP/pod")" >/dev/null
		sed 's/^{/{"apiVersion": "v1", "kind": "Pod", /' "$NET_TMP/pod"
		printf ','
	done
	sed 's/^{/{"apiVersion": "networking.k8s.io\/v1", "kind": "NetworkPolicy", /' <<<"$policy"
	printf ']}'
} >"$NET_TMP/objects.json"
api POST /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies "$policy" >/dev/null

same() { # STATUS COMMAND...: the plugin answers as the command does from the file
	local wanted got status
	wanted=$("$BULKHEAD" "${@:2}" "$NET_TMP/objects.json" 2>&1)
	got=$(plugin "${@:2}" 2>&1)
	status=$?
	net_is "$status" "$1" && net_is "$got" "$wanted" && [ -n "$got" ]
}
net_check "trace of an allowed flow" same 0 trace --from shop/web --to shop/db --port TCP/80
net_check "trace of a denied flow ends with 1" same 1 trace --from shop/web --to shop/db --port TCP/443
net_check "trace over IPv6, as JSON" same 1 trace -j --from "$(net_ip6 web)" --to "$(net_ip6 db)" --port TCP/443
net_check "trace -v explains by the objects" same 0 trace -v --from shop/web --to shop/db --port TCP/80
net_check "matrix" same 0 matrix --port TCP/80,TCP/443
net_check "graph" same 0 graph -f dot
net_check "trace of a pod that is not there" net_ends 2 "shop/none" plugin trace --from shop/none --to shop/db --port TCP/80
net_check "no node was asked" test ! -e "$NET_PIN"
net_check "standard input cannot be another one" net_ends 2 "standard input" plugin trace --batch -
for option in -b- -jb- --batch=- --bat=-; do
	net_check "standard input cannot be another one, by $option either" net_ends 2 "standard input" plugin trace "$option"
done
echo "shop/web shop/db TCP/80" >"$NET_TMP/flows"
net_check "trace --batch of a file" net_ends 0 "^allow" plugin trace --batch "$NET_TMP/flows"

net_check "status before an engine led" net_ends 1 "no engine has led" plugin status
api_node worker-2
api_engine one
api_await eval '[ -n "$(api_wanted | tr -d " ")" ]'
ready() { # NODE
	api PATCH "$API_NODE/$1/status" '{"status": {"conditions": [{"type": "Ready", "status": "'"$2"'", "reason": "R", "message": "says why"}]}}' >/dev/null
}
reported() {
	api_installs worker-2 && ready worker-2 True && plugin status >"$NET_TMP/status"
}
net_check "status of a cluster that is rolled out ends with 0" api_await reported
net_check "status names the node" grep -qE "^worker-2 +[0-9]+ +[0-9]+ True" "$NET_TMP/status"
net_check "status names the engine that leads" grep -qE "^EngineLeads *True *[^ ]+ leads, and renewed its lease [0-9]+ s ago$" "$NET_TMP/status"
net_check "status -j has the objects" eval 'plugin status -j | grep -q "\"policyStatus\":{.*\"lease\":{.*\"nodes\":\[{"'
api PUT /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies/db "${policy/80/81}" >/dev/null
described() {
	reported
	plugin describe shop/db >"$NET_TMP/described" && grep -q "^Events:" "$NET_TMP/described" &&
		grep -qE "^  Normal +Active +20[0-9T:.-]+Z +.*generation [0-9]+ .*1 node" "$NET_TMP/described"
}
net_check "describe has the Event that says since when the policy is active" api_await described
cat "$NET_TMP/described"
net_check "describe begins with kubectl's description" grep -qx -e "--kubeconfig=$API_CONFIG describe networkpolicy -n shop db" \
	"$NET_TMP/described"
api POST /api/v1/namespaces/shop/events '{"metadata": {"name": "forged"}, "involvedObject": {"kind": "NetworkPolicy",
	"namespace": "shop", "name": "db"}, "type": "Normal", "reason": "Active", "message": "\u001b[2Jcleared\n  Normal   Active forged"}' >/dev/null
net_check "an Event of a tenant's cannot write to the terminal, nor a line of its own" net_ends 0 \
	'\\x1b\[2Jcleared\\x0a  Normal   Active forged$' plugin describe shop/db
net_check "describe of a policy without an Event says so" net_ends 0 "Events: *<none>" plugin describe shop/none
net_check "describe needs a namespace and a policy" net_ends 2 "NAMESPACE/POLICY" plugin describe db
net_check "describe takes no other characters than names have" net_ends 2 "NAMESPACE/POLICY" plugin describe "shop/db?x"
ready worker-2 False
net_check "status of a cluster whose node is not ready ends with 1" net_ends 1 "worker-2 .*False .*says why" plugin status
api PATCH "$API_NODE/worker-2/status" '{"status": {"conditions": [{"type": "Ready", "status": "False", "message": "\u001b[2J\nworker-3"}]}}' >/dev/null
net_check "a node's message cannot write to the terminal, nor a line of its own" net_ends 1 \
	'worker-2 .*False *\\x1b\[2J\\x0aworker-3$' plugin status

api_fails 403 networkpolicies
net_check "a kind that the user may not list is no answer" net_ends 3 "networkpolicies" plugin trace --from shop/web --to shop/db \
	--port TCP/443
api_fails

api_fails 403 leases
net_check "status without the right to read the lease answers, and says what it lacks" net_ends 1 "^EngineLeads *Unknown .*leases.*refused" plugin status
api_fails

net_check "monitor of a node without a follower" net_ends 2 "no follower runs on node worker-1" plugin monitor worker-1
follower=$(pod bulkhead-system follower-abc u7 192.0.2.9 | sed 's/"role": "follower-abc"/"app": "bulkhead-follower"/')
api POST /api/v1/namespaces/bulkhead-system/pods "$follower" >/dev/null
net_check "monitor runs in the follower's pod of the node" net_is "$(plugin monitor worker-1 --verdict drop)" \
	"--kubeconfig=$API_CONFIG exec -n bulkhead-system -c follower follower-abc -- bulkhead monitor --verdict drop"
net_check "--kubeconfig may stand behind the command" net_ends 1 "^policy [0-9]" net_on node env PATH="$NET_TMP/bin:$PATH" kubectl-bulkhead \
	status --kubeconfig "$API_CONFIG"
net_check "--kubeconfig behind the command is no argument of another program" net_is \
	"$(net_on node env PATH="$NET_TMP/bin:$PATH" kubectl-bulkhead monitor worker-1 "--kubeconfig=$API_CONFIG" --verdict drop)" \
	"--kubeconfig=$API_CONFIG exec -n bulkhead-system -c follower follower-abc -- bulkhead monitor --verdict drop"
net_check "status passes over no option that would name another cluster" net_ends 2 "^bulkhead: status: --context: unknown" \
	plugin status --context other
net_check "monitor needs a node" net_ends 2 "which node" plugin monitor
net_check "a node's command is refused" net_ends 2 "on a node: bulkhead unload" plugin unload
net_check "help" net_ends 0 "kubectl bulkhead" plugin help
net_check "version" net_ends 0 "^bulkhead $(cat "$NET_TOP/VERSION")" plugin version
# The conditions of a PolicyStatus stay as the last engine wrote them.
ready worker-2 True
api_end engine-one TERM
net_check "status of a cluster whose engines have ended ends with 1" net_ends 1 "^EngineLeads *False *no engine leads: the last one" plugin status
net_check "beside a policy that is rolled out" net_ends 1 "^RolledOut *True" plugin status
api PUT "$API_LEASE" '{"metadata": {"name": "bulkhead-engine"}, "spec": {"holderIdentity": "one", "renewTime": "2026-01-02T03:04:05.000000Z"}}' >/dev/null
net_check "a lease that nobody renews has no holder" net_ends 1 "^EngineLeads *False *no engine leads: one renewed its lease [0-9]* s ago" plugin status
api PUT "$API_LEASE" '{"metadata": {"name": "bulkhead-engine"}, "spec": {"holderIdentity": "one", "renewTime": "'"$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"'"}}' >/dev/null
net_check "one that was renewed has" net_ends 0 "^EngineLeads *True *one leads" plugin status
api_end apiserver KILL
net_check "an API server that is gone is named" net_ends 3 "127.0.0.1" plugin matrix --port TCP/80
for json in -j --json; do
	net_check "status $json says so in JSON" net_ends 3 '^{"level":"error".*127.0.0.1.*}$' plugin status $json
done
net_end
