#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower that cannot load what the cluster wants tries again after a pause of a second and more, though the API
# server answers its reports at once; and loads once it can. It loads again what somebody unloads, whatever its next step
# would have been, and reports meanwhile that it has no policy.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
REPORTS=nodepolicystatuses/worker-1/status
has_failed() {
	[ "$(grep -c "uplink" "$NET_TMP/follow-worker-1.log")" -ge 2 ]
}
api_node worker-1
api_node worker-2
api_engine one --node-limit 20
net_check "the engine rolls out" api_await api_waits
api_run follow-worker-1 follow -n worker-1 --uplink eth9 --pin "$NET_PIN" --records "$NET_TMP/records"
net_check "a follower without its uplink fails to load, twice" api_await has_failed
net_check "the node's status says why" api_await api_ready worker-1 False ChangeFailed
net_check "the node's status has the message of the log, which names the uplink" api_await eval \
	'api GET $API_NODE/worker-1 | grep "\"message\": *\"load: uplink eth9: "'
before=$(api_count $REPORTS) began=$SECONDS
sleep 5
more=$(($(api_count $REPORTS) - before))
echo "# $more reports in $((SECONDS - began)) s"
net_check "the follower does not report and try on and on" test "$more" -le $((2 * (SECONDS - began + 1)))
uplink() {
	ip -n "$NET-node" link add eth9 type veth peer name eth10 && ip -n "$NET-node" link set eth9 up
}
net_check "the uplink comes" uplink
net_check "with its uplink the follower loads" api_await api_ready worker-1 True AsWanted

is_active() { # GENERATION
	[ "$(api_active)" = "$1" ]
}
net_check "the first policy is active" api_await eval 'api_has worker-1 1 1 && is_active 1'
ip -n "$NET-node" link del eth9
net_check "unload while the follower waits" net_bulkhead unload
net_check "the follower hears of it, and reports no policy that it cannot load" api_await api_has worker-1 0 0
net_check "the uplink comes again" uplink
net_check "the follower has loaded again" api_await eval 'api_has worker-1 1 1 && is_active 1'

net_check "the other node has the first policy" api_report worker-2 1 1
net_check "a second policy" api_change
net_check "the second policy is installed" api_await api_has worker-1 2 1
net_check "unload before its activation" net_bulkhead unload
net_check "the other node has the second policy" api_report worker-2 2 1
net_check "the follower has loaded the second policy" api_await eval 'api_has worker-1 2 2 && is_active 2'

net_check "unload before a policy comes" net_bulkhead unload
net_check "a third policy" api_change
net_check "the follower has loaded again" api_await eval 'is_active 2 || is_active 3'
net_check "the other node has the third policy" api_report worker-2 3 2
net_check "the third policy is active" api_await eval 'api_has worker-1 3 3 && is_active 3'
net_end
