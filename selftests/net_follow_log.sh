#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What each change of policy opens on a node is in its follower's log, in load's line, and in an Event on the Node.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
api_start
api_pods worker-1 db web
says() { # PATTERN
	grep -qE -- "$1" "$NET_TMP/follow-worker-1.log"
}
log_has() { # PATTERN
	api_await says "$1" || { sed 's/^/# /' "$NET_TMP/follow-worker-1.log" && false; }
}
events() { # PATTERN: how many Events that a follower wrote about its node have it
	api_events Opened | grep -cE -- "$1"
}
has_event() { # PATTERN
	[ "$(events "$1")" = 1 ]
}
api_opens POST db 80
api_opens POST web 80
api_engine one
api_follower worker-1
net_check "the log has the first load" log_has 'generation [0-9]+ is active: 2 policies, 2 endpoints guarded'
net_denied web tcp "$(net_ip db)" 443 "db is isolated"
# A whole load has a line in the log; a delta that adds no policy and takes none away has none.
api_opens PUT db 443
net_check "a change of a policy that selects a pod of this node is active" api_await api_traces allow web db 443
net_check "the change came as a delta" net_is "$(grep -c 'is active' "$NET_TMP/follow-worker-1.log")" 1
net_check "the pods that the policy has in their places have no record" net_is "$(net_bulkhead endpoint list | grep -c added)" 0
api DELETE $API_POLICIES/db >/dev/null
net_check "the log says which policy is gone, and whom that opens" log_has \
	': 1 policies \(-1: shop/db\), 2 endpoints guarded.*, 1 isolated no longer: shop/db \(ingress\)$'
net_check "the log warns of the endpoint" log_has 'warning: endpoint shop/db is isolated no longer at ingress'
net_check "each line of the log has time and level, and one about an endpoint names it" \
	api_logged follow-worker-1 warning 'endpoint shop/db is isolated no longer at ingress'
net_allowed web tcp "$(net_ip db)" 443 "db is open"
net_check "an Event has the line" api_await has_event \
	'"message":"generation [0-9]+ is active: 1 policies \(-1: shop/db\), 2 endpoints guarded.*, 1 isolated no longer: shop/db \(ingress\)"'
net_check "the Event is a warning of the follower about its node" has_event \
	'"namespace":"default".*"type":"Warning",.*"kind":"Node","name":"worker-1","uid":"worker-1"\},"source":\{"component":"bulkhead-follower","host":"worker-1"\}'
api_opens POST db 80
net_check "the log says that a policy is new" log_has ': 2 policies \(\+1\), 2 endpoints guarded'
net_denied web tcp "$(net_ip db)" 443 "db is isolated again"
net_check "a load that isolates makes no Event" net_is "$(events .)" 1
api DELETE $API_POLICIES/web >/dev/null
net_check "another load that opens a pod has an Event of its own" api_await has_event ', 1 isolated no longer: shop/web'
net_check "the former Event stays" has_event 'isolated no longer: shop/db'
# A follower that begins anew stages its first change as a whole policy.
api_end follow-worker-1 TERM
api_follower worker-1
api DELETE $API_POLICIES/db >/dev/null
net_check "the log says that the last policy is gone, and whom that opens" log_has \
	': 0 policies \(-1: shop/db\), 2 endpoints guarded.*, 1 isolated no longer: shop/db \(ingress\)$'
net_check "the load without a policy has its Event" api_await has_event '0 policies \(-1: shop/db\)'
# The server takes no report of a follower that begins to audit.
audits() {
	api_end follow-worker-1 TERM
	api_fails 503 worker-1/status
	api_follower worker-1 --audit
	log_has 'newly audited: shop/db, shop/web$'
}
net_check "a follower begins to audit" audits
net_check "the Event waits for the report" net_is "$(events .)" 3
unwritten() { # TIMES
	[ "$(grep -c "this node's status cannot be written: " "$NET_TMP/follow-worker-1.log")" = "$1" ]
}
net_check "the log says that the report fails" api_await unwritten 1
api_fails 403 worker-1/status
net_check "the log says that the report fails in another way" api_await unwritten 2
api_fails
net_check "the Event follows the report" api_await has_event 'newly audited: shop/db, shop/web"'
net_check "status says that the follower loaded" grep -qE ' ago by [a-z0-9 _-]+ with follow$' <(net_bulkhead status)
net_end
