#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `endpoint add`, `set` and `del`, killed at or refused any system call that changes state, leave the
# endpoint in its state before or after the command, for packets both ways, over IPv4 and IPv6. The next
# command completes or undoes the change. CRASH=all kills at every system call, FAULTS=all refuses every
# bpf(2).
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

CRASH=${CRASH:-state}
[ "$CRASH" != all ] || CRASH_ALL=1
ENOMEM=12 KILL_STEP=1 STATE_STEP=1 BPF_STEP=7 SAMPLE=2
[ -z "${BULKHEAD_SMALL:-}" ] || KILL_STEP=5 STATE_STEP=4 BPF_STEP=11 SAMPLE=1
[ "${FAULTS:-}" != all ] || STATE_STEP=1 BPF_STEP=1
net_start db late
cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db "mac = $(net_mac db)")
$(net_endpoint_at web worker-2 "10.9.0.1, fd09::1")
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports UDP/80
ingress = from any ports UDP/443, UDP/5978
[network-policy shop/web]
endpoints = role=web
ingress = from endpoints(role=db) ports UDP/80
egress = to endpoints(role=db) ports UDP/80, UDP/5978
[network-policy shop/odd]
endpoints = role=odd
ingress = from endpoints(role=db) ports UDP/443
egress = to endpoints(role=db) ports UDP/5978
EOF

web() { # add|del [LABEL]
	if [ "$1" = del ]; then
		echo endpoint del shop/late
	else
		echo endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" \
			--mac "$(net_mac late)" --labels "role=${2:-web}"
	fi
}

answering() { # WAIT FROM ADDRESS PORT...: those that answer
	net_on "$2" "$NET_PROBE" which "$1" "${@:3}"
}

# Prints how late is evaluated: as no endpoint, as a web, as the first of the kind `odd`, or as a mixture.
look() { # WAIT
	local asked=()
	answering "$1" late "$(net_ip db)" 80 443 5978 >"$NET_TMP/1" & asked+=($!)
	answering "$1" db "$(net_ip late)" 443 80 >"$NET_TMP/2" & asked+=($!)
	answering "$1" late "$(net_ip6 db)" 80 443 5978 >"$NET_TMP/3" & asked+=($!)
	answering "$1" db "$(net_ip6 late)" 443 80 >"$NET_TMP/4" & asked+=($!)
	wait "${asked[@]}"
	case $(paste -d / "$NET_TMP"/[1-4]) in
	"443 5978/443 80/443 5978/443 80") echo nobody ;;
	"80 5978/80/80 5978/80") echo web ;;
	"5978/443/5978/443") echo first ;;
	*) echo "mixed: $(paste -d / "$NET_TMP"/[1-4])" ;;
	esac
}

# An isolated endpoint never answers, so each look waits the whole timeout. The first look is short; if the
# state is unexpected, a second look gives a slow machine more time.
is_one_of() { # STATE...
	local wait
	for wait in $NET_WAIT_DENIED $NET_WAIT_ALLOWED; do
		state=$(look "$wait")
		[[ " $* " != *" $state "* ]] || return 0
	done
	echo "it is $state"
	false
}

# Repeats a command that was interrupted (status 2: it had taken effect before) and undoes it; checks both
# states.
mend() { # BEFORE AFTER COMMAND BACK
	# shellcheck disable=SC2086
	net_bulkhead $3 || [ $? -eq 2 ] || return 1
	is_one_of "$2" || { echo "done again" && return 1; }
	# shellcheck disable=SC2086
	net_bulkhead $4 || return 1
	is_one_of "$1" || { echo "and back" && return 1; }
}

# Runs a command to its end, undoes it, and prints the numbers of the system calls to fail.
places() { # all|state|bpf STEP BEFORE AFTER COMMAND BACK
	# shellcheck disable=SC2086
	{ net_fault "$1" 0 kill $5 && cp "$NET_TMP/calls" "$NET_TMP/all" && is_one_of "$4" &&
		net_bulkhead $6 && is_one_of "$3"; } >"$NET_TMP/fault" 2>&1 || return
	cp "$NET_TMP/all" "$NET_TMP/calls"
	net_places "$2" $SAMPLE
}

# Kills a command at each of these system calls; at last runs it to its end.
walk() { # BEFORE AFTER COMMAND BACK
	local at n state
	: >"$NET_TMP/states"
	mapfile -t at < <(places "$CRASH" $KILL_STEP "$@")
	for n in "${at[@]}"; do
		# shellcheck disable=SC2086
		net_kill_at "$CRASH" "$n" "net_bulkhead $4" $3 || return 1
		is_one_of "$1" "$2" || { echo "killed at $n: $(tail -n 1 "$NET_TMP/calls")" && return 1; }
		echo "$state" >>"$NET_TMP/states"
		mend "$@" || { echo "killed at $n" && return 1; }
	done
	echo "killed at ${at[*]}" >"$NET_TMP/places"
	[ ${#at[@]} -gt 0 ] || cat "$NET_TMP/fault"
	# shellcheck disable=SC2086
	[ ${#at[@]} -gt 0 ] && net_bulkhead $3 && is_one_of "$2"
}

# Refuses each of these system calls: either the command fails with status 3 and a message and has changed
# nothing, or it succeeds without the call, and says so if something is left to collect.
walk_errors() { # state|bpf STEP BEFORE AFTER COMMAND BACK
	local at n status refused=0 state
	mapfile -t at < <(places "$@")
	for n in "${at[@]}"; do
		# shellcheck disable=SC2086
		net_fault "$1" "$n" $ENOMEM $5 >"$NET_TMP/error" 2>&1
		status=$?
		cat "$NET_TMP/error" >>"$NET_TMP/errors"
		case $status in
		0) is_one_of "$4" ;;
		3) refused=$((refused + 1)) && grep . "$NET_TMP/error" && is_one_of "$3" ;;
		*) false ;;
		esac && mend "${@:3}" ||
			{ echo "status $status at $n, $(tail -1 "$NET_TMP/calls")" && return 1; }
	done
	echo "at ${at[*]}, $refused of them refused it" | tee "$NET_TMP/places"
	[ $refused -gt 0 ]
}
errors() { # NAME BEFORE AFTER COMMAND BACK
	: >"$NET_TMP/errors"
	net_check "$1 whose changes of state get ENOMEM" walk_errors state $STATE_STEP "${@:2}"
	echo "# $(cat "$NET_TMP/places")"
	net_check "$1 whose bpf(2) calls get ENOMEM" walk_errors bpf $BPF_STEP "${@:2}"
	echo "# $(cat "$NET_TMP/places")"
}

# The commit is an add's last change of state: only a walk of all system calls has kills after it.
seen() { # STATE...
	local state
	for state; do
		grep -q "^$state" "$NET_TMP/states" || return 1
	done
}

nothing_left() {
	net_is "$(net_writes "$NET_TMP/policy.ini")" 0
}

# Kills an add just before its commit, then kills the command that repairs it at each of its system calls.
half() {
	# shellcheck disable=SC2046
	net_kill_at "$CRASH" "$last" "net_bulkhead $(web del)" $(web add)
}
walk_repair() {
	local at n last
	# shellcheck disable=SC2046
	net_fault "$CRASH" 0 kill $(web add) >"$NET_TMP/fault" 2>&1 &&
		last=$(wc -l <"$NET_TMP/calls") && net_bulkhead $(web del) && half || return
	net_fault "$CRASH" 0 kill endpoint del shop/nobody >"$NET_TMP/fault" 2>&1
	mapfile -t at < <(net_places $KILL_STEP $SAMPLE)
	for n in "${at[@]}"; do
		half && net_kill_at "$CRASH" "$n" half endpoint del shop/nobody || return
		is_one_of nobody || { echo "killed at $n: $(tail -n 1 "$NET_TMP/calls")" && return 1; }
		mend nobody web "$(web add)" "$(web del)" || { echo "killed at $n" && return 1; }
	done
	echo "killed at ${at[*]}" >"$NET_TMP/places"
	[ ${#at[@]} -gt 1 ]
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "late is nobody's at first" is_one_of nobody
net_check "an add killed anywhere leaves late as nobody or as a web" walk nobody web "$(web add)" "$(web del)"
echo "# $(cat "$NET_TMP/places")"
net_check "kills left late as nobody" seen nobody ${CRASH_ALL:+web}
# shellcheck disable=SC2046
net_check "delete late after the last add" net_bulkhead $(web del)
net_check "nothing of the killed adds is left" nothing_left

# The policy is pinned as a delta from the first such endpoint on, which the next ones find so.
once() {
	# shellcheck disable=SC2046
	net_bulkhead $(web add odd) && net_bulkhead $(web del)
}
net_check "the first endpoint of its kind comes and goes" once
net_check "an add of the first of its kind killed anywhere leaves it as nobody or as that kind" \
	walk nobody first "$(web add odd)" "$(web del)"
echo "# $(cat "$NET_TMP/places")"
net_check "kills left the first of its kind as nobody" seen nobody ${CRASH_ALL:+first}
# shellcheck disable=SC2046
net_check "delete the first of its kind" net_bulkhead $(web del)
net_check "nothing of its segment is left" nothing_left
errors "an add of the first of its kind" nobody first "$(web add odd)" "$(web del)"
errors "an add" nobody web "$(web add)" "$(web del)"
net_check "nothing of the killed and refused adds is left" nothing_left
[ -n "${CRASH_ALL:-}" ] || {
	net_check "a repair killed anywhere is repaired by the next command" walk_repair
	echo "# $(cat "$NET_TMP/places")"
	net_check "nothing of the killed repairs is left" nothing_left
}
# shellcheck disable=SC2046
net_check "add late" net_bulkhead $(web add)

set_to() { # LABEL
	echo endpoint set shop/late --labels "role=$1"
}
net_check "a set killed anywhere leaves the old or the new labels" walk web first "$(set_to odd)" "$(set_to web)"
echo "# $(cat "$NET_TMP/places")"
# shellcheck disable=SC2046
net_check "set late back" net_bulkhead $(set_to web)
errors "a set" web first "$(set_to odd)" "$(set_to web)"

net_check "a del killed anywhere leaves late as a web or as nobody" walk web nobody "$(web del)" "$(web add)"
echo "# $(cat "$NET_TMP/places")"
net_check "kills left late in both states" seen web nobody
net_check "nothing of the killed dels is left" nothing_left
# shellcheck disable=SC2046
net_check "add late again" net_bulkhead $(web add)
errors "a del" web nobody "$(web del)" "$(web add)"
net_check "some calls of the del were refused after its commit" \
	grep "endpoint shop/late is off; the next command collects what is left of it" "$NET_TMP/errors"
# shellcheck disable=SC2046
net_check "delete late at last" net_bulkhead $(web del)
net_check "nothing of the refused dels is left" nothing_left
net_check "unload" net_bulkhead unload

net_end
