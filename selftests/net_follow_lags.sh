#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A watch that lags behind the server's store for some seconds, as that of a server under load, is not silent: the follower
# does not list all objects anew, which would load the server more.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
api_pods worker-1 db
lists() { # of PolicyStatus: one as the follower begins, and one each time that it looks back
	api GET "/test/count?policystatuses?fieldSelector"
}
looks() { # AFTER
	[ "$(lists)" -gt "$1" ]
}
streams() { # FAULT: what the watch gets from now on
	api PUT /test/fail "$1" >/dev/null
}
marked() {
	api PATCH $API_STATUS '{"metadata": {"annotations": {"late": "yes"}}}' >/dev/null
}

api_change
api_engine one --node-limit 20
api_follower worker-1
net_check "a policy is rolled out" api_await api_rolled_out
api_end engine-one TERM
net_check "the watch tells nothing from now on" api PUT /test/hold "policystatuses?watch"
net_check "PolicyStatus changes" marked
before=$(lists)
net_check "the stream ends" streams "500 policystatuses?watch"
net_check "a stream begins" streams 0
net_check "the follower looks back" api_await looks "$before"
net_pause 10
net_check "the watch tells of the change" api PUT /test/hold ""
net_check "the follower did not list all objects anew" net_fails 1 grep "objects are listed anew" "$NET_TMP/follow-worker-1.log"
net_end
