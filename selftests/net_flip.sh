#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Flips between two policies, some killed midway, while TCP and UDP flow over IPv4 and IPv6: no packet is
# evaluated by a mixture, and none is lost that both policies allow. FLIPS and KILLS set the numbers.
# helpers/traffic.c has the assertions about each packet.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

FLIPS=${FLIPS:-120}
KILLS=${KILLS:-30}
NET_PORTS=80
net_start db web

ports() { # PORT...: as policies name them
	printf 'TCP/%s, ' "$@"
	printf 'UDP/%s, ' "$@" | sed 's/, $//'
}
# Both policies allow 1001. 1002 is denied by the first policy at its destination and by the second at its
# source. Only the first allows 1003, only the second 1004, neither 1005.
net_policy_of "$(ports 1001 1002 1003 1004 1005)" "$(ports 1001 1002 1003 1004 1005)" \
	>"$NET_TMP/open.ini"
net_policy_of "$(ports 1001 1002 1003)" "$(ports 1001 1003 1004)" >"$NET_TMP/first.ini"
net_policy_of "$(ports 1001 1003 1004)" "$(ports 1001 1002 1004)" >"$NET_TMP/second.ini"

for policy in first second; do
	"$BULKHEAD" compile -o "$NET_TMP/$policy.bhp" "$NET_TMP/$policy.ini" >/dev/null || exit
done

# Counts a load's changes of state.
count_places() {
	net_bulkhead load "$NET_TMP/first.ini" && net_fault state 0 kill load "$NET_TMP/second.ini" &&
		wc -l <"$NET_TMP/calls" >"$NET_TMP/places"
}

start_traffic() {
	local said
	mkfifo "$NET_TMP/in" "$NET_TMP/out"
	"$NET_HELPERS/traffic" "/run/netns/$NET-web" "/run/netns/$NET-db" "$(net_ip db)" \
		"$(net_ip6 db)" 1001 1003 1004 1002 1005 <>"$NET_TMP/in" >"$NET_TMP/out" 2>&1 &
	traffic=$!
	NET_SERVERS+=("$traffic")
	exec {in}>"$NET_TMP/in" {out}<"$NET_TMP/out"
	read -r -t 20 -u "$out" said
	net_is "$said" ready
}
tell() { # LINE
	local said
	echo "$1" >&"$in"
	while read -r -t 30 -u "$out" said; do
		[ "$said" != ok ] || return 0
		echo "$said" >>"$NET_TMP/report"
	done
	echo "no answer to $1"
	return 1
}
change() { # first|second [SUFFIX]
	tell begin && net_bulkhead load "$NET_TMP/$1${2:-.ini}" && tell "is $1"
}
# Flips to successors of the active policy and, every other time, to policies compiled apart, whose
# segment IDs differ.
flips() {
	local i
	for ((i = 0; i < FLIPS; i += 4)); do
		change second && change first && change second .bhp && change first .bhp || return
	done
}
used() { # how many entries of the maps that policy stands in
	net_bulkhead status -v | grep -E '^ +(endpoints|prefixes|segments|pairs|ports|named|variations) '
}
# Kills the load at each change of state in turn; the next load repairs and flips.
kills() {
	local i killed=0 places
	places=$(cat "$NET_TMP/places")
	for ((i = 0; i < KILLS; i++)); do
		tell begin || return
		net_fault state $((1 + i % places)) kill load "$NET_TMP/second.ini" >/dev/null
		[ $? -eq 99 ] && killed=$((killed + 1))
		tell "is either" && change first || return
	done
	echo "killed $killed" >>"$NET_TMP/report"
	[ $killed -gt $((KILLS * 8 / 10)) ]
}
drops() { # packets, whatever the reason
	awk '$1 == "drop" { n += $2 } END { print n + 0 }' "$1"
}

# With the long timeout, the connection entry of a denied flow stays: its packets count as denied by policy,
# not as unknown.
net_check "load a policy that allows all traffic" \
	net_bulkhead load --set timeout-denied=36000 "$NET_TMP/open.ini"
net_check "count the places at which a load may be killed" count_places
net_check "load that policy again" net_bulkhead load "$NET_TMP/open.ini"
net_check "start TCP connections and UDP flows over IPv4 and IPv6" start_traffic
net_counters >"$NET_TMP/before"
net_check "load the first policy" eval 'net_bulkhead load "$NET_TMP/first.ini" && tell "is first"'
used=$(used)
net_check "$FLIPS flips" flips
net_check "the flips leave nothing in the maps" net_is "$(used)" "$used"
net_check "$KILLS killed loads" kills
net_check "the killed loads leave nothing in the maps" net_is "$(used)" "$used"
net_check "traffic ends" eval 'tell begin && tell over'
net_check "load the policy that allows all traffic again" net_bulkhead load "$NET_TMP/open.ini"
echo end >&"$in"
cat <&"$out" >>"$NET_TMP/report"
wait $traffic
status=$?
net_counters >"$NET_TMP/after"
sed 's/^/# /' "$NET_TMP/report"
comm -13 <(sort "$NET_TMP/before") <(sort "$NET_TMP/after") | grep '^drop' >"$NET_TMP/drops"
sed 's/^/# /' "$NET_TMP/drops"

net_check "one of the policies evaluated each packet, and no packet that both allow was lost" \
	test $status -eq 0
lost=$(sed -n 's/^lost //p' "$NET_TMP/report")
dropped=$(($(drops "$NET_TMP/after") - $(drops "$NET_TMP/before")))
net_check "the lost packets are the counted drops" net_is "$lost" "$dropped"
net_check "every drop was one of policy" net_is \
	"$(grep -v "denied by the [a-z]*'s policy$" "$NET_TMP/drops")" ""
handovers=$(sed -n 's/^handovers //p' "$NET_TMP/report")
net_check "each load handed over from one policy to the other" test "${handovers% *}" -ge "$FLIPS" -a "${handovers#* }" -ge "$FLIPS"

net_end
