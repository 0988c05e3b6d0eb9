#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node has a newer policy than the cluster, and of the same lineage: the cluster's store is that of an older time, or
# somebody has loaded the policy by hand. The follower says so once, and loads the cluster's.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db web
only_open() { # PORT CLOSED
	api_traces allow web db "$1" && api_traces deny web db "$2"
}
told() {
	grep -c "policy [0-9]* is active on this node, and the cluster's is policy $cluster" "$NET_TMP/follow-worker-1.log"
}

api_opens POST db 80
api_engine one --node-limit 20
api_follower worker-1
net_check "the follower loads" api_await api_traces allow web db 80
settled() {
	[ "$(api_wanted)" = "$(api_active) $(api_active)" ]
}
net_check "the rollout ends" api_await settled
cluster=$(api_active)
spec=$(api GET $API_STATUS | jq -c '{spec}')
api_opens PUT db 443
net_check "the follower loads the next policy" api_await only_open 443 80
net_check "the next rollout ends" api_await settled
net_check "the generation of the next policy is higher" test "$(api_active)" -gt "$cluster"
api_end engine-one KILL
put_back() {
	api PATCH $API_STATUS "$spec" >/dev/null
}
net_check "the store is that of an older time" put_back
net_check "the follower loads the cluster's policy" api_await only_open 80 443
net_check "the cluster's generation is active" net_is "$(api_active)" "$cluster"
net_check "the log says so once" net_is "$(told)" 1
net_check "the log asks for no option" test -z "$(grep -e --rollback "$NET_TMP/follow-worker-1.log")"
net_allowed web tcp "$(net_ip db)" 80 "port 80, which the cluster's policy allows"
net_denied web tcp "$(net_ip db)" 443 "port 443, which the newer one allowed"
net_check "the maps are as the policy says" net_bulkhead status --check
net_end
