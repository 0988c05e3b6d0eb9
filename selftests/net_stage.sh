#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load --stage and --activate, and the generations that status prints for the policy and the endpoints:
# desired, installed, active and oldest.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
net_old_and_new
net_policy_of "UDP/80, UDP/5978" "UDP/80, UDP/443, UDP/5978" >"$NET_TMP/third.ini"
# The extra rule gives this policy other segments.
echo 'ingress = from namespaces(tenant=none)' >>"$NET_TMP/third.ini"
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
one=$NET_TMP/one.bhp two=$NET_TMP/two.bhp three=$NET_TMP/three.bhp
net_check "compile a policy and two successors" eval '
	compile -o "$one" "$NET_TMP/old.ini" &&
	compile --base "$one" -o "$two" "$NET_TMP/new.ini" &&
	compile --base "$two" -o "$three" "$NET_TMP/third.ini"'

# Prints the values of these names in the JSON on standard input.
numbers() { # NAME...: of standard input
	local text name
	text=$(tr -d ' \n')
	for name; do
		grep -o "\"$name\":[0-9]*" <<<"$text" | cut -d: -f2
	done | xargs
}
generations() { # NAME POLICY [ENDPOINTS]: desired, installed, active, oldest of either
	local said
	said=$(net_bulkhead status -j | tr -d ' \n' | grep -o '_generation":{[^}]*}' |
		while read -r line; do numbers desired installed active oldest <<<"$line"; done)
	net_check "$1" net_is "$said" "$2"$'\n'"${3:-$2}"
}
active_is() { # NAME old|new
	net_check "$1" net_is "$(net_active)" "$2"
}
# The endpoint's assignment refers to a segment that exists, not to 0.
assigned() {
	net_bulkhead endpoint list -j | numbers segment
}

net_check "nothing is staged where no policy is active" net_fails 2 net_bulkhead load --stage "$one"
net_check "nothing is activated where no policy is active" net_fails 2 net_bulkhead load --activate 1
net_check "load" net_bulkhead load "$one"
generations "all is at one generation" "1 1 1 1"

net_check "stage reports the policy generation" \
	net_is "$(net_bulkhead load --stage -j "$two" | numbers policy_generation endpoint_generation)" "2 1"
active_is "nobody is in its segments" old
generations "the policy's segments are there, the endpoints are not in them" "2 2 1 1" "1 1 1 1"
net_check "status prints the staged policy" grep -x 'policy 2 is staged' <(net_bulkhead status)
net_check "staging the same again writes nothing" \
	net_is "$(net_bulkhead load --stage -j "$two" | numbers map_writes)" 0

late() { # add|del
	[ "$1" = del ] || set -- add --ip "$(net_ip late),$(net_ip6 late)" --labels role=web
	net_bulkhead endpoint "$1" shop/late "${@:2}"
}
net_check "endpoint add while a policy is staged" late add
net_allowed late udp "$(net_ip db)" 80 "the added endpoint is under the active policy"
net_denied late udp "$(net_ip db)" 443 "the added endpoint is not under the staged policy"
net_check "endpoint del is killed" net_fails 99 net_fault state 3 kill endpoint del shop/late
net_check "the killed del came after its commit: the endpoint is gone" net_fails 2 late del
active_is "the active policy was repaired" old
generations "what is staged still is" "2 2 1 1" "1 1 1 1"
net_check "a generation that is not staged cannot be activated" net_fails 2 net_bulkhead load --activate 7
net_check "activate reports the endpoint generation" net_is \
	"$(net_bulkhead load --activate 2 -j | numbers policy_generation endpoint_generation)" "2 2"
active_is "the endpoints have moved" new
generations "all is at the next generation" "2 2 2 2"

net_check "stage the third policy" net_bulkhead load --stage "$three"
net_check "load the second policy" net_bulkhead load "$two"
net_check "the load has discarded the staged policy" net_fails 2 net_bulkhead load --activate 3
generations "the discarded policy is desired no more" "2 2 2 2"

# The staged segments are in the map before any endpoint refers to them; here, something deletes them.
slots() { # the slots in use, each as the bytes of its key
	"$NET_HELPERS/entries" "$NET_PIN" segments | sed -nE 's/^(..)(..)(..)(..) .*/\1 \2 \3 \4/p'
}
slots >"$NET_TMP/before"
net_check "stage the third policy again" net_bulkhead load --stage "$three"
slots | grep -vxFf "$NET_TMP/before" >"$NET_TMP/staged"
net_check "staging puts segments" test -s "$NET_TMP/staged"
empty=$(printf '0 %.0s' {1..64})
while read -r slot; do
	# shellcheck disable=SC2086
	bpftool map update pinned "$NET_PIN/segments" key hex $slot value $empty
done <"$NET_TMP/staged"
net_check "the staged segments are deleted by hand" net_is "$(slots | xargs)" "$(xargs <"$NET_TMP/before")"
net_check "activate the policy all the same" net_bulkhead load --activate 3
net_check "every endpoint is in a segment that exists" \
	net_is "$(assigned | tr ' ' '\n' | grep -cvx 0)" 4
active_is "the old policy evaluates packets" old

# Kills just before and just after the commit, which follows the pinning of the policy's blob.
last_pin() { # state|all: its number among the system calls of a load
	net_fault "$1" 0 kill load --rollback "$two" >/dev/null && net_bulkhead load "$three" >/dev/null &&
		awk '/^bpf 6$/ { pin = NR } END { print pin }' "$NET_TMP/calls"
}
at=$(last_pin all)
net_check "a load is killed before its commit" net_fails 99 net_fault all $((at + 1)) kill load --rollback "$two"
active_is "the old policy is active" old
generations "the other is desired, and all of it installed" "2 2 3 3"
net_check "the next load repairs" net_bulkhead load "$three"
generations "nothing is left of the killed load" "3 3 3 3"
at=$(last_pin state)
net_check "a load is killed after its commit" net_fails 99 net_fault state $((at + 1)) kill load --rollback "$two"
active_is "the new policy is active" new
generations "something of the old policy is left" "2 2 2 3"
net_check "status names the policy that is not collected" grep '^policy 3: not collected yet' <(net_bulkhead status)
net_check "the next load collects it" net_bulkhead load "$two"
generations "all that was left of it" "2 2 2 2"
net_check "a load that this node refuses" net_fails 3 net_bulkhead load --uplink nowhere "$three"
generations "is desired, and that is all" "3 2 2 2"
net_check "status names the policy that was to be loaded" grep -x 'policy 3: failed to load; load it again' <(net_bulkhead status)
active_is "the one before it is active" new
net_check "an older policy is refused and not desired" net_fails 2 net_bulkhead load "$one"
generations "it is as it was" "3 2 2 2"

net_end
