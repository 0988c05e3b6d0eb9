#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An engine that is told to end gives its lease up, and another engine leads at once. An engine that is killed
# keeps the lease until the lease runs out.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
holder() {
	api_get $API_LEASE spec.holderIdentity
}
WATCHES="leases?watch=1"
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
net_check "the second engine waits for the lease" api_await api_counts "$WATCHES" 1
api_end engine-one TERM
net_check "an engine that ends leaves the lease to nobody or to the next" eval '! api_leads one'
began=$(date +%s%N)
net_check "the second engine leads" api_await api_leads two
echo "# after $((($(date +%s%N) - began) / 1000000)) ms"
net_check "the engine says that it gives the lease up" grep -q "gives the lease up" "$NET_TMP/engine-one.log"
before=$(api_wanted)
installs() { # worker-1 installs what is wanted
	api_installs worker-1 && api_rolled_out "${before#* }"
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

# An engine loses the lease while it publishes a policy, and leads again after another engine has gone on.
api_obeys worker-1
api_engine six
net_check "the sixth engine rolls a policy out" api_rolls
seen=$(api_count "$WATCHES")
api_engine seven
net_check "the seventh engine waits for the lease" api_await api_counts "$WATCHES" "$seen"
next=$(($(api_generation) + 1))
net_check "the server's answer waits" api_holds "POST $API_GENERATIONS"
api_change
net_check "the next policy is stored" api_await api_stored "$next"
kill -STOP "${API_PID[engine-six]}"
net_check "the server answers" api_holds ""
net_check "the seventh engine leads" api_await api_leads seven
net_check "the seventh engine goes on from the stored policy" api_await api_rolled_out $((next - 1))
net_check "the seventh engine rolls a policy out" api_rolls
kill -CONT "${API_PID[engine-six]}"
net_check "the sixth engine says that it leads no longer" api_await grep -q "leads no longer" "$NET_TMP/engine-six.log"
high=$(api_generation)
api_end engine-seven TERM
net_check "the sixth engine leads again" api_await api_leads six
net_check "the sixth engine goes on from there" api_rolls
# Prints the generations that nodes were to install, in the order of time.
history() {
	net_on node curl -s -N --max-time 2 \
		"http://127.0.0.1:$API_PORT${API_STATUS%/*}?watch=1&resourceVersion=1" |
		grep -o '"desiredPolicyGeneration": *[0-9]*' | grep -o '[0-9]*$'
}
history >"$NET_TMP/history"
net_check "nodes were to install all these policies" grep -qx "$next" "$NET_TMP/history"
net_check "no policy was older than the one before" sort -nc "$NET_TMP/history"

# Somebody deletes PolicyStatus while no engine leads: generations count anew, beside those that are stored.
api_end engine-six TERM
net_check "PolicyStatus is deleted" api DELETE $API_STATUS
api_engine eight
net_check "the eighth engine rolls the policy out" api_await api_rolled_out 0
net_check "a policy is made" api_rolls
net_check "the engine takes none of the stored policies for its own" grep -q \
	"another policy has the next generation" "$NET_TMP/engine-eight.log"
net_check "the policy comes after all stored ones" test "$(api_generation)" -gt "$high"
api_end engine-eight TERM

# The answer to a renewal was lost: the stored Lease is newer than the engine's, and its watch does not come back.
api_engine nine
net_check "the ninth engine leads" api_await api_leads nine
net_check "the server has no watches of leases" api_fails 503 "leases?watch"
net_check "the Lease changes" api PATCH $API_LEASE '{"metadata": {"annotations": {"a": "b"}}}'
net_check "the engine's renewal is refused" api_await grep -q "leads no longer" "$NET_TMP/engine-nine.log"
leads_again() {
	[ "$(grep -c "engine: leads$" "$NET_TMP/engine-nine.log")" = 2 ]
}
net_check "the engine reads the Lease, and leads again without the watch" api_await leads_again
api_end engine-nine TERM
api PUT /test/fail 0 >/dev/null

# A server under load: the watch tells of each renewal when the next one has been answered.
api_engine ten
net_check "the tenth engine leads" api_await api_leads ten
net_check "the watch of the Lease is one version behind" api PUT /test/lag "leases?watch"
renewals() {
	api GET "/test/count?PUT_$API_LEASE"
}
renewed() { # TIMES
	[ "$(renewals)" -ge "$1" ]
}
net_check "the engine renews its lease four times" api_await renewed $(($(renewals) + 4))
net_check "the engine led all the time" net_fails 1 grep "leads no longer" "$NET_TMP/engine-ten.log"
net_end
