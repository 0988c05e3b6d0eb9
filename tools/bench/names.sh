#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of domain names: what an answer costs at the hook of the pod that gets it, by the kernel's statistics of
# programs, and how many questions by UDP a pod and a resolver outside exchange in a second of processor time, hooks
# included, without Bulkhead, with a policy without names, and with names. The last two are ratios to the first, of the
# same round, and the last one also to the second: what names cost. An answer has one address, another one each time, or
# 73, as 1,232 bytes have. Processor time, since a machine that does other things at the same time changes it little.
#
# Usage: [QUESTIONS=10000] [ROUNDS=7] names.sh BUILD-FOLDER
set -u
BULKHEAD=$(cd "$1" && pwd)/bulkhead
NET_HELPERS=$(cd "$1" && pwd)/selftests/helpers
export BULKHEAD NET_HELPERS
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/net.sh
. "$here/../../selftests/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$here/../../selftests/lib/dns.sh"
questions=${QUESTIONS:-10000} rounds=${ROUNDS:-7}
statistics=$(sysctl -n kernel.bpf_stats_enabled) || exit

net_start web
dns_pods=web
policy "Accept to names(*.svc.example.org) ports TCP/443" >"$NET_TMP/names.ini"
policy >"$NET_TMP/none.ini"

ask() { # NAME
	net_on web "$DNS" many "$questions" udp "$out4" "$1" >/dev/null || exit
}
rate() { # FILE: adds the questions for a second of processor time, the client's and the resolver's
	local before used TIMEFORMAT='%U %S'
	before=$(cut -d' ' -f1 "/proc/$dns_pid/schedstat")
	used=$({ time ask svc.example.org; } 2>&1) || exit
	used="$used $(($(cut -d' ' -f1 "/proc/$dns_pid/schedstat") - before))"
	echo "$questions $used" | awk '{ print int($1 / ($2 + $3 + $4 / 1e9)) }' >>"$NET_TMP/$1"
}
cost() { # FILE NAME: adds the nanoseconds that tc_to_endpoint takes for an answer
	local before after program
	program=$(bpftool -j prog show pinned "$NET_PIN/tc_to_endpoint" | sed 's/.*"id":\([0-9]*\).*/\1/')
	sysctl -qw kernel.bpf_stats_enabled=1
	before=$(runs "$program") && ask "$2" && after=$(runs "$program")
	sysctl -qw kernel.bpf_stats_enabled="$statistics"
	echo "$before $after" | awk '{ print int(($3 - $1) / ($4 - $2)) }' >>"$NET_TMP/$1"
}
runs() { # PROGRAM: nanoseconds, and times
	# a program that has never run while they were on has none
	bpftool -j prog show id "$1" | sed -nE 's/.*"run_time_ns":([0-9]+),"run_cnt":([0-9]+).*/\1 \2/p' |
		grep . || echo 0 0
}
middle() { # of the numbers of standard input
	sort -n | sed -n "$(((rounds + 1) / 2))p"
}
for what in one many; do
	words=each
	[ $what = one ] || words=many=73
	dns_answers ttl=60 $words
	for ((n = 0; n < rounds; n++)); do
		rate $what.nothing
		for policy in none names; do
			net_bulkhead load "$NET_TMP/$policy.ini" >/dev/null 2>&1 || exit
			rate $what.$policy
			[ $policy = none ] || cost $what.learns svc.example.org
			[ $policy = none ] || cost $what.other other.example.org
			net_bulkhead unload || exit
		done
	done
	[ $what = one ] && echo "answers with one address" || echo "answers with 73 addresses"
	printf '  %-56s %10s\n' "ns at the hook, of a name of the policy" "$(middle <"$NET_TMP/$what.learns")" \
		"ns at the hook, of another name" "$(middle <"$NET_TMP/$what.other")" \
		"questions a second of processor time, without Bulkhead" "$(middle <"$NET_TMP/$what.nothing")" \
		"ratio: a policy without names" \
		"$(paste "$NET_TMP/$what.none" "$NET_TMP/$what.nothing" | awk '{ printf "%.3f\n", $1 / $2 }' | middle)" \
		"ratio: names" \
		"$(paste "$NET_TMP/$what.names" "$NET_TMP/$what.nothing" | awk '{ printf "%.3f\n", $1 / $2 }' | middle)" \
		"ratio: names, to a policy without names" \
		"$(paste "$NET_TMP/$what.names" "$NET_TMP/$what.none" | awk '{ printf "%.3f\n", $1 / $2 }' | middle)"
done
net_end
