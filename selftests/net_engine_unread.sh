#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server may have a kind in a version that Bulkhead does not read, as after an upgrade of its definition (CRD). An engine
# does not take the kind's policies for deleted then: the last ones stay, and one that begins does not lead. So with a
# command that lists the objects once.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
group=policy.networking.k8s.io
admin=/apis/$group/v1alpha2/clusternetworkpolicies
api_start
api_pods worker-1 db web
has_only() { # VERSION: the one that the server has ClusterNetworkPolicies in; "": no other
	api PUT /test/only "${1:+$group $1 clusternetworkpolicies}" >/dev/null
}
closed='{"metadata": {"name": "closed"}, "spec": {"tier": "Admin", "priority": 10, "subject": {"pods": {"namespaceSelector": {},
	"podSelector": {"matchLabels": {"role": "db"}}}}, "ingress": [{"name": "no-tls", "action": "Deny", "from":
	[{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"number": 443}}}]}]}}'

net_check "a ClusterNetworkPolicy" api POST $admin "$closed"
api_engine one --listen 127.0.0.1:9470
api_follower worker-1
net_check "the follower guards both pods" api_await api_guarded 2
api_protects "at first" 80 443
net_check "all objects are accepted" api_await api_accepted True AllObjects

wanted=$(api_wanted)
net_check "the server names a version that it lacks" has_only absent
net_check "the engine asks for that version, and asks again" api_await api_counts GET_/apis/$group/absent 1
net_check "the engine publishes nothing without the kind" net_is "$(api_wanted)" "$wanted"
api_protects "while the server names a version that it lacks" 80 443
net_check "the server has the kind in another version" has_only v1beta1
net_check "the engine's log says so" api_await api_logged engine-one error \
	".*$admin: the server has this collection in v1beta1 alone, which this version of Bulkhead does not read"
net_check "the condition says so" api_await api_accepted False VersionUnread
net_check "the condition names both versions" eval \
	'[[ "$(api_get "$API_STATUS" status.conditions.2.message)" == "ClusterNetworkPolicy: the server has v1beta1 alone, and $group/v1alpha2 is read" ]]'
net_check "a metric counts the kind" net_is "$(api_metric 9470 engine_kinds_unread)" 1
net_check "the engine leads" api_leads one
net_check "the engine publishes nothing new" net_is "$(api_wanted)" "$wanted"
api_protects "with the kind in another version" 80 443
web='{"metadata": {"name": "web"}, "spec": {"podSelector": {"matchLabels": {"role": "web"}}, "ingress": [{"ports": [{"port": 80}]}]}}'
net_check "another policy" api POST $API_POLICIES "$web"
net_check "the other policy is rolled out" api_await api_rolled_out "${wanted% *}"
api_protects "after another policy" 80 443
listed() { # the message of a command that lists the objects
	net_on node env KUBECONFIG="$API_CONFIG" "$NET_TMP/kubectl-bulkhead" trace --from shop/web --to shop/db --port TCP/443 2>&1
}
ln -s "$BULKHEAD" "$NET_TMP/kubectl-bulkhead"
net_check "kubectl bulkhead trace says so" eval '[[ "$(listed)" == *"the server has this collection in v1beta1 alone"* ]]'

api_end engine-one TERM
wanted=$(api_wanted) seen=$(api_count GET_/apis/$group/v1beta1)
api_engine two --listen 127.0.0.1:9470
net_check "the next engine asks for versions" api_await api_counts GET_/apis/$group/v1beta1 "$seen"
net_check "the next engine says that it cannot read the kind" api_await api_logged engine-two error ".*in v1beta1 alone"
net_pause 2
net_check "the next engine does not lead" net_is "$(api_metric 9470 engine_leads)" 0
net_check "the next engine leaves the policy alone" net_is "$(api_wanted)" "$wanted"
api_protects "while the next engine cannot read the kind" 80 443

net_check "the server has the kind in the version that is read" has_only ""
API_SECONDS=100
net_check "the next engine leads" api_await api_leads two
net_check "all objects are accepted again" api_await api_accepted True AllObjects
net_check "no kind is unread" net_is "$(api_metric 9470 engine_kinds_unread)" 0
net_check "the last ClusterNetworkPolicy is deleted" eval 'api DELETE $admin/closed >/dev/null'
net_check "the deletion of the last ClusterNetworkPolicy counts" api_await net_ask web tcp "$(net_ip db)" 443 1
net_end
