#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The generated cases of NetworkPolicy (lib/cases.h) on real packets: nine pods and a host outside probe one another
# by TCP, UDP and, if the kernel has SCTP sockets, SCTP, over IPv4 and IPv6, in each state of each case. Exactly
# those flows pass that the oracle allows. Each state replaces the last one. A run has every 16th case, selected by
# BULKHEAD_SEED; BULKHEAD_FULL=1 has all.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

OF=16
[ -z "${BULKHEAD_FULL:-}" ] || OF=1
pods=(xa xb xc ya yb yc za zb zc)
[ "$(id -u)" -eq 0 ] || net_skip "needs root"
cases=$(dirname "$BULKHEAD")/selftests/spec_cases
[ -x "$cases" ] && [ -x "$NET_HELPERS/grid" ] || net_skip "not built: make all tests"
NET_PORTS=7000 # of the listeners that nobody asks
net_start "${pods[@]}"
mkdir "$NET_TMP/cases"
net_check "the cases are written" "$cases" "$NET_TMP/cases" "${BULKHEAD_SEED:-1}" $OF

hosts=()
for pod in "${pods[@]}"; do
	hosts+=("${pod:0:1}/${pod:1},/run/netns/$NET-$pod,$(net_ip "$pod"),$(net_ip6 "$pod")")
done
hosts+=("out,/run/netns/$NET-out,$(net_ip out),$(net_ip6 out)")
coproc GRID { exec "$NET_HELPERS/grid" "${hosts[@]}"; }
NET_SERVERS+=("$GRID_PID")
exec {ask}>&"${GRID[1]}" {hear}<&"${GRID[0]}"
read -r -t 60 -u $hear line
net_check "all hosts listen" test "${line%% *}" = ready
echo "# ${line/ready/TCP, UDP}"

# Prints the flows that do not do as the file says.
probe() { # FLOWS
	local line asked=
	echo "$1" >&$ask
	while read -r -t 120 -u $hear line; do
		[[ $line != done* ]] || { asked=${line#done } && break; }
		echo "$line"
	done
	[ "${asked:-0}" -gt 300 ] || echo "only ${asked:-none} were asked"
}
passes_exactly() { # FLOWS
	probe "$1" >"$NET_TMP/wrong"
	head -n 20 "$NET_TMP/wrong"
	[ ! -s "$NET_TMP/wrong" ]
}
# A Pod that is deleted keeps its interface here; and a load that has no policy is no mistake.
is_so() { # FILE: a state
	net_bulkhead load --force -n worker-1 --uplink eth0 "$NET_TMP/cases/$1.yaml" && passes_exactly "$NET_TMP/cases/$1.flows"
}

# Without a policy all flows pass: what is denied below is denied by Bulkhead.
sed 's/ deny$/ allow/' "$NET_TMP/cases/$(head -n 1 "$NET_TMP/cases/list" | cut -d ' ' -f 1).flows" >"$NET_TMP/all"
net_check "all flows pass while nothing is loaded" passes_exactly "$NET_TMP/all"
while read -r file _ name; do
	net_check "$name" is_so "$file"
done <"$NET_TMP/cases/list"
net_end
