#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Pod of a known kind comes or ends: the node has all segments of that policy, says so at once, and changes its maps once
# endpoints may be in the policy. If somebody loads another policy in between, the follower loads the cluster's whole.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web job
api_start
api_pods worker-1 db web
api_node worker-2
comes() { # job, of the role web
	api_pod worker-2 job web "$(net_ip job)" "$(net_ip6 job)"
}
reaches() { # PORT CLOSED WHEN: job
	net_both allowed job db "$1" "$3, job reaches @, port $1"
	net_both denied job db "$2" "$3, job does not reach @, port $2"
}

api POST $API_POLICIES '{"metadata": {"name": "db"}, "spec": {"podSelector":
	{"matchLabels": {"role": "db"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"role": "web"}}}],
	"ports": [{"port": 80}]}]}}' >/dev/null
{
	net_head
	net_endpoint db
	net_endpoint web
} >"$NET_TMP/hand.ini"
comes
api_engine one --node-limit 3600
api_follower worker-1
net_check "the first policy is rolled out" api_await api_both_followed 0
reaches 80 443 "in the first policy"

at=$(api_generation)
api DELETE $API_PODS/job >/dev/null
net_check "the node has the segments of the policy without job, and says so" api_await api_has worker-1 $((at + 1)) "$at"
net_check "endpoints are not to be in it before worker-2 has them, too" api_wants $((at + 1)) "$at"
net_check "nothing is staged for that policy" test ! -e "$NET_PIN/blob_next"
reaches 80 443 "until endpoints may be in that policy"
api_report worker-2 $((at + 1)) "$at"
net_check "endpoints are in the policy without job" api_await api_has worker-1 $((at + 1)) $((at + 1))
net_denied job tcp "$(net_ip db)" 80 "job does not reach db once it has ended"
net_allowed web tcp "$(net_ip db)" 80 "web reaches db"
net_check "no policy but the first was loaded whole" net_is "$(api_wholes)" 1

comes
net_check "the node has the segments of the policy with job" api_await api_has worker-1 $((at + 2)) $((at + 1))
net_check "somebody loads a policy by hand" net_bulkhead load "$NET_TMP/hand.ini" --force
api_report worker-2 $((at + 2)) $((at + 1))
loaded() { # the follower has loaded a whole policy for the second time
	[ "$(api_wholes)" = 2 ] && api_has worker-1 $((at + 2)) $((at + 2))
}
net_check "the follower loads the cluster's policy over that, whole" api_await loaded
reaches 80 443 "in the cluster's policy"
net_check "the maps are as the policy says" net_bulkhead status --check
api_report worker-2 $((at + 2)) $((at + 2))
API_CHANGES=1 api_change
net_check "the node has installed a policy with another rule" api_await api_has worker-1 $((at + 3)) $((at + 2))
net_check "the segments of the policy with another rule are staged" test -e "$NET_PIN/blob_next"
net_end
