#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A command that is killed at any system call that changes something leaves the old policy or the
# new one, whole: of two probes of which each policy allows exactly one, one passes. The next
# command repairs what is left over. CRASH=all walks every system call there is.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

CRASH=${CRASH:-state}
net_start db web
net_old_and_new
old=$NET_TMP/old.ini new=$NET_TMP/new.ini

# Runs a command and kills it at its Nth change of state. 0: killed.
kill_at() { # N SUBCOMMAND ARGUMENT...
	net_fault "$CRASH" "$1" kill "${@:2}" >"$NET_TMP/said" 2>&1
	[ $? -eq 99 ]
}


# Kills a load over old at each place, and repairs by a load of old.
walk_load() { # PREPARE OLD ARGUMENT...: what it is a load of
	local n=0 state
	: >"$NET_TMP/states"
	while n=$((n + 1)) && $1 && kill_at $n load "${@:3}"; do
		state=$(net_in_force)
		[ "$state" = old ] || [ "$state" = new ] ||
			{ echo "killed at $n: $state is in force" && return 1; }
		echo "$state" >>"$NET_TMP/states"
		net_bulkhead load --rollback "$2" || return 1
		[ "$(net_in_force)" = old ] || { echo "killed at $n: not repaired" && return 1; }
		[ "$(net_writes "$2")" = 0 ] ||
			{ echo "killed at $n: the repair left something to do" && return 1; }
	done
	echo "$((n - 1)) places" | tee "$NET_TMP/places"
}
stage() {
	net_bulkhead load --stage "$NET_TMP/new.bhp"
}

# Kills a first load, or an unload, at each place: all is open or the policy is in force, and the
# next command goes through.
walk_ends() { # SUBCOMMAND ARGUMENT...
	local n=0 state
	while n=$((n + 1)) && kill_at $n "$@"; do
		state=$(net_in_force)
		[ "$state" = both ] || [ "$state" = old ] ||
			{ echo "killed at $n: $state is in force" && return 1; }
		if [ "$1" = load ]; then
			net_bulkhead unload || return 1
			[ ! -e "$NET_PIN" ] || { echo "killed at $n: pins are left" && return 1; }
		else
			net_bulkhead load "$old" || return 1
			[ "$(net_in_force)" = old ] || { echo "killed at $n: not repaired" && return 1; }
		fi
	done
	echo "$((n - 1)) places" | tee "$NET_TMP/places"
}

walked() {
	echo "# $(cat "$NET_TMP/places")"
}

attached() {
	net_on node bpftool -j net show
	net_on node tc qdisc show
}
before=$(attached)

net_check "a first load killed anywhere" walk_ends load "$old"
walked
net_check "a load that was not killed" net_bulkhead load "$old"
net_check "a load over another killed anywhere" walk_load true "$old" "$new"
walked
net_check "it was killed before its flip" grep -q old "$NET_TMP/states"
net_check "and after it" grep -q new "$NET_TMP/states"

# In two phases.
net_check "the same policies, compiled" eval '
	"$BULKHEAD" compile -o "$NET_TMP/old.bhp" "$old" &&
	"$BULKHEAD" compile --base "$NET_TMP/old.bhp" -o "$NET_TMP/new.bhp" "$new" &&
	net_bulkhead load --rollback "$NET_TMP/old.bhp"'
net_check "a load that stages, killed anywhere" \
	walk_load true "$NET_TMP/old.bhp" --stage "$NET_TMP/new.bhp"
walked
net_check "puts nothing in force" net_is "$(sort -u "$NET_TMP/states")" old
net_check "one that activates, killed anywhere" \
	walk_load stage "$NET_TMP/old.bhp" --activate 2
walked
net_check "was killed before its flip, and after it" \
	net_is "$(sort -u "$NET_TMP/states" | xargs)" "new old"
net_check "back to the first policy" net_bulkhead load "$old"
net_check "an unload killed anywhere" walk_ends unload
walked
net_check "an unload that was not killed" net_bulkhead unload
net_check "nothing is left" test "$(attached)" = "$before"

net_end
