#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower that cannot load what the cluster wants tries again after a pause of a second and more, though the API
# server answers its reports at once; and loads once it can. What another command unloads it loads again.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
reports() { # how many the server has had
	api GET "/test/count?nodepolicystatuses/worker-1/status"
}
has_failed() {
	[ "$(grep -c "uplink" "$NET_TMP/follow-worker-1.log")" -ge 2 ]
}
api_node worker-1
api_engine one --node-limit 20
net_check "the engine rolls out" api_await api_waits
api_run follow-worker-1 follow -n worker-1 --uplink eth9 --pin "$NET_PIN" --records "$NET_TMP/records"
net_check "a follower without its uplink fails to load, twice" api_await has_failed
net_check "the node's status says why" api_await eval '[ "$(api_get $API_NODE/worker-1 status.conditions.0.reason)" = ChangeFailed ]'
before=$(reports) began=$SECONDS
sleep 5
more=$(($(reports) - before))
echo "# $more reports in $((SECONDS - began)) s"
net_check "the follower does not report and try on and on" test "$more" -le $((2 * (SECONDS - began + 1)))
ip -n "$NET-node" link add eth9 type veth peer name eth10
ip -n "$NET-node" link set eth9 up
net_check "with its uplink the follower loads" api_await eval '[ "$(api_get $API_NODE/worker-1 status.conditions.0.reason)" = AsWanted ]'

# Without a change of policy, the next heartbeat finds that nothing is loaded; with one, the next step does.
pin() { # what tells the maps of one first load from those of another
	stat -c %i "$NET_PIN/config"
}
loaded_anew() {
	[ "$(pin 2>/dev/null || echo "$first")" != "$first" ]
}
said_what_it_has() { # POLICY: installed and active, as wanted
	[ "$(api_get $API_NODE/worker-1 status.latestPolicyGeneration) $(api_get $API_NODE/worker-1 status.latestEndpointGeneration)" = "$1 $1" ]
}
first=$(pin)
net_check "another command unloads" net_bulkhead unload
net_check "the follower loads again" api_await loaded_anew
first=$(pin)
net_check "another command unloads again" net_bulkhead unload
before=$(api_wanted)
api_change
net_check "the rollout of the next policy goes on" api_await api_rolled_out "${before% *}"
net_check "the follower says what it has" api_await said_what_it_has "$(api_wanted | cut -d ' ' -f 1)"
net_check "the follower has loaded again" loaded_anew
net_end
