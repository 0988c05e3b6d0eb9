#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An engine that is told to end gives its lease up, and another engine leads at once. An engine that is killed
# keeps the lease until the lease runs out.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start
api_start
holder() {
	api_get $API_LEASE spec.holderIdentity
}
api_engine one
net_check "the first engine leads" api_await api_leads one
api_node worker-1
# An engine that saw the Node before its NodePolicyStatus had nobody to wait for: the next change has.
change_waits() {
	api_waits && return
	api_change
	sleep 1
	api_waits
}
net_check "the first engine rolls a policy out" api_await change_waits
api_engine two
net_check "the second engine waits for the lease" api_await eval \
	'[ "$(api GET "/test/count?leases?watch=1")" -ge 2 ]'
api_end engine-one TERM
net_check "an engine that ends leaves the lease to nobody or to the next" eval '! api_leads one'
began=$(date +%s%N)
net_check "the second engine leads" api_await api_leads two
echo "# after $((($(date +%s%N) - began) / 1000000)) ms"
net_check "the engine says that it gives the lease up" grep -q "gives the lease up" "$NET_TMP/engine-one.log"
before=$(api_wanted)
installs() { # worker-1 installs what is wanted
	local wanted
	wanted=$(api_wanted)
	api_report worker-1 "${wanted% *}" "${wanted#* }" && api_rolled_out "${before#* }"
}
net_check "the second engine goes on with the rollout" api_await installs
api_end engine-two TERM
net_check "without another engine nobody holds the lease" net_is "$(holder)" ""
api_engine three
net_check "an engine takes a lease that nobody holds" api_await api_leads three
api_end engine-three KILL
net_check "an engine that is killed keeps the lease" api_leads three

# A renewal that is on its way when the engine ends.
api_engine four
net_check "the lease of a killed engine runs out" api_await api_leads four
api_end engine-four TERM
net_check "the fourth engine gives the lease up, too" net_is "$(holder)" ""

# The answer to a renewal was lost: the stored Lease is newer than the engine's, and its watch does not come back.
api_engine five
net_check "the fifth engine leads" api_await api_leads five
net_check "the server has no watches of leases" api PUT /test/fail "503 leases?watch"
net_check "the Lease changes" api PATCH $API_LEASE '{"metadata": {"annotations": {"a": "b"}}}'
net_check "the engine's renewal is refused" api_await grep -q "leads no longer" "$NET_TMP/engine-five.log"
leads_again() {
	[ "$(grep -c "engine: leads$" "$NET_TMP/engine-five.log")" = 2 ]
}
net_check "the engine reads the Lease, and leads again without the watch" api_await leads_again
net_end
