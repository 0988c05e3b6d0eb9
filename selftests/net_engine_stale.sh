#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The watch of PolicyStatus is late, and then tells an engine of all that the engine has written since: the engine goes on
# from what it has written last. PolicyStatus goes to an older policy and back while the engine asks for the older
# one: the engine does not write it. And PolicyStatus stays at an older policy: the engine brings the objects' policy
# back, though no object changes. So it does if somebody writes a policy there that never was.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start
API_SECONDS=${SECS:-40}
api_start

FETCHES=GET_$API_GENERATIONS/
WRITES=PUT_${API_STATUS}_
api_begin
net_check "a change is rolled out" api_rolls
api_holds "/policystatuses?watch"
for i in 1 2 3 4; do
	net_check "change $i is rolled out while the watch is late" api_rolls
done
wanted=$(api_wanted) fetched=$(api_count "$FETCHES") written=$(api_count "$WRITES")
api_holds ""
net_check "a change is rolled out when the watch has told all" api_rolls
net_check "the next generation follows the last one" api_wants $((${wanted% *} + 1)) $((${wanted% *} + 1))
net_check "the engine asked for no policy of the store" net_is "$(api_count "$FETCHES")" "$fetched"
net_check "the engine wrote PolicyStatus twice: to install, and to activate" net_is "$(api_count "$WRITES")" $((written + 2))

spec=$(api GET $API_STATUS | jq -c '{spec}')
net_check "another change is rolled out" api_rolls
newest=$(api GET $API_STATUS | jq -c '{spec}')
wanted=$(api_wanted) fetched=$(api_count "$FETCHES") written=$(api_count "$WRITES")
net_check "the engine stands still" kill -STOP "${API_PID[engine-one]}"
net_check "PolicyStatus has an older policy" api PATCH $API_STATUS "$spec"
net_check "PolicyStatus has the newest policy again" api PATCH $API_STATUS "$newest"
kill -CONT "${API_PID[engine-one]}"
net_check "the engine asks for a policy" api_await api_counts "$FETCHES" "$fetched"
net_check "a further change is rolled out" api_rolls
net_check "the generation of the further change follows the last one" api_wants $((${wanted% *} + 1)) $((${wanted% *} + 1))
net_check "the engine wrote PolicyStatus for this change only" net_is "$(api_count "$WRITES")" $((written + 2))
net_check "no policy was made anew" eval '! grep -q "made anew" "$NET_TMP/engine-one.log"'

wanted=$(api_wanted)
net_check "PolicyStatus has an older policy, and no object changes" api PATCH $API_STATUS "$spec"
net_check "endpoints are in the objects' policy again" api_await api_rolled_out $((${wanted% *} - 1))

follows() { # GENERATION: a policy soon after that one is rolled out
	api_rolled_out "$1" && [ "$(api_generation)" -lt $(($1 + 10)) ]
}
for number in 4294967295 4294967290 3000000000 -5; do
	wanted=$(api_generation)
	net_check "somebody writes $number as the wanted policy" api PATCH $API_STATUS '{"spec": {"desiredPolicyGeneration": '$number'}}'
	net_check "a policy that follows the last one is rolled out" api_await follows "$wanted"
	net_check "a change is rolled out" api_rolls
done
net_check "somebody writes 99 as the policy of endpoints" api PATCH $API_STATUS '{"spec": {"desiredEndpointGeneration": 99}}'
net_check "endpoints are in a policy that is" api_await follows "$wanted"
is_whole() { # PolicyStatus has the checksum of a stored policy, and no delta that leads to none
	[ "$(api_get $API_STATUS spec.checksum)" = "$(api_get "$API_GENERATIONS/g$(api_generation)" spec.checksum)" ] &&
		[ "$(api_get $API_STATUS spec.delta)" != x ]
}
net_check "PolicyStatus has the policy's checksum" is_whole
net_check "somebody writes another checksum, and a delta" api PATCH $API_STATUS '{"spec": {"checksum": "x", "delta": "x"}}'
net_check "PolicyStatus has the policy's checksum again" api_await is_whole
net_check "a change is rolled out" api_rolls
net_end
