#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower's log says what each change of policy opens on its node, in load's line.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
api_start
policies=/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies
api POST /api/v1/nodes '{"metadata": {"name": "worker-1"}}' >/dev/null
for name in db web; do
	api POST /api/v1/namespaces/shop/pods '{"metadata": {"name": "'"$name"'", "labels": {"role": "'"$name"'"}},
		"spec": {"nodeName": "worker-1"}, "status": {"phase": "Running", "podIPs": [{"ip": "'"$(net_ip "$name")"'"},
		{"ip": "'"$(net_ip6 "$name")"'"}]}}' >/dev/null
done
policy() { # NAME
	api POST $policies '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {"matchLabels": {"role": "'"$1"'"}},
		"ingress": [{"ports": [{"port": 80}]}]}}' >/dev/null
}
says() { # PATTERN
	grep -qE -- "$1" "$NET_TMP/follow-worker-1.log"
}
log_has() { # PATTERN
	api_await says "$1" || { sed 's/^/# /' "$NET_TMP/follow-worker-1.log" && false; }
}
policy db
policy web
api_engine one
api_follower worker-1
net_check "the log has the first load" log_has 'generation [0-9]+ is in force: 2 policies, 2 endpoints guarded'
net_denied web tcp "$(net_ip db)" 443 "db is isolated"
api DELETE $policies/db >/dev/null
net_check "the log says which policy is gone, and whom that opens" log_has \
	': 1 policies \(-1: shop/db\), 2 endpoints guarded.*, 1 isolated no longer: shop/db \(ingress\)$'
net_check "the log warns of the endpoint" log_has 'warning: endpoint shop/db is isolated no longer at ingress'
net_allowed web tcp "$(net_ip db)" 443 "db is open"
policy db
net_check "the log says that a policy is new" log_has ': 2 policies \(\+1\), 2 endpoints guarded'
net_denied web tcp "$(net_ip db)" 443 "db is isolated again"
net_check "status says that the follower loaded" grep -qE ' ago by [a-z0-9 _-]+ with follow$' <(net_bulkhead status)
net_end
