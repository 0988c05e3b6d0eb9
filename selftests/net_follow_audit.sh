#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `follow --audit` drops nothing and counts; a follower that begins without the option enforces at once what the node
# has, and does not wait for the cluster's next policy.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
api_start
api_pods worker-1 db web
api POST /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies '{"metadata": {"name": "db"}, "spec":
	{"podSelector": {"matchLabels": {"role": "db"}}, "ingress": [{"ports": [{"port": 80}]}]}}' >/dev/null
guarded() { # both pods
	[ "$(net_bulkhead endpoint list 2>/dev/null | grep -c '^shop/')" = 4 ] &&
		net_bulkhead metrics | grep -qx "bulkhead_endpoints_unguarded 0"
}
audited() {
	net_counters | grep -q "^audit [1-9][0-9]* denied by the destination's policy"
}
api_engine one
api_follower worker-1 --audit
net_check "the follower guards both pods" api_await guarded
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed web tcp "$address" 80 "web reaches $address"
	net_allowed web tcp "$address" 443 "audit lets web reach $address at a port that no rule allows"
done
net_check "audit counts what it would drop" audited
net_check "metrics count the audited endpoints" net_is "$(net_bulkhead metrics | sed -n 's/^bulkhead_endpoints_audited //p')" 2

# Nothing changes in the cluster, and no engine runs.
api_end engine-one TERM
api_end follow-worker-1 TERM
enforces() {
	[ "$(net_bulkhead metrics | sed -n 's/^bulkhead_endpoints_audited //p')" = 0 ]
}
api_follower worker-1
net_check "a follower without --audit loads the active policy again" api_await enforces
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_denied web tcp "$address" 443 "web does not reach $address at 443 any more"
	net_allowed web tcp "$address" 80 "web still reaches $address"
done
api_end follow-worker-1 TERM
api_follower worker-1 --audit
net_check "a follower with --audit enforces nothing from then on" api_await eval '! enforces'
net_allowed web tcp "$(net_ip db)" 443 "web reaches 443 in audit"
net_end
