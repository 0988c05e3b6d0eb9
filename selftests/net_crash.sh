#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A command that is killed at any system call that changes state leaves the old policy or the new one in
# force, whole: of two probes each policy allows exactly one, and exactly one passes. The next command
# repairs the rest. CRASH=all walks every system call. WALKS="first unload" selects walks.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

CRASH=${CRASH:-state}
# The step between system calls of a walk, and the size of a sample. Walks of a first load or an unload take
# longest to prepare.
STEP=1 ENDS_STEP=1 SAMPLE=2 ENDS_SAMPLE=1
[ -z "${BULKHEAD_SMALL:-}" ] || STEP=5 ENDS_STEP=17 SAMPLE=2 ENDS_SAMPLE=1
net_start db web
net_old_and_new
old=$NET_TMP/old.ini new=$NET_TMP/new.ini

# Prints the numbers of the system calls at which to kill a command.
places() { # STEP COUNT PREPARE SUBCOMMAND ARGUMENT...
	{ $3 && net_fault "$CRASH" 0 kill "${@:4}"; } >"$NET_TMP/faulted" 2>&1 ||
		{ cat "$NET_TMP/faulted" >&2 && return 1; }
	net_places "$1" "$2" | tee "$NET_TMP/places"
}

walked() { # NAME WALK ARGUMENT...
	net_check "$1" "${@:2}"
	echo "# killed at $(xargs <"$NET_TMP/places")"
}

load_from() {
	net_bulkhead load --rollback "$from" && $prepare
}
# Kills a load over old at each of these system calls, and repairs by a load of old.
walk_load() { # PREPARE OLD ARGUMENT...: what it is a load of
	local at n state prepare=$1 from=$2
	: >"$NET_TMP/states"
	mapfile -t at < <(places $STEP $SAMPLE "$1" load "${@:3}")
	for n in "${at[@]}"; do
		load_from && net_kill_at "$CRASH" "$n" load_from load "${@:3}" || return 1
		state=$(net_active)
		[ "$state" = old ] || [ "$state" = new ] ||
			{ echo "killed at $n: $state is active" && return 1; }
		echo "$state" >>"$NET_TMP/states"
		net_bulkhead load --rollback "$2" || return 1
		[ "$(net_active)" = old ] || { echo "killed at $n: not repaired" && return 1; }
		[ "$(net_writes "$2")" = 0 ] ||
			{ echo "killed at $n: the repair left something to do" && return 1; }
	done
	[ -s "$NET_TMP/states" ]
}
stage() {
	net_bulkhead load --stage "$NET_TMP/new.bhp"
}

attached() {
	net_on node bpftool -j net show
	net_on node tc qdisc show
}
before=$(attached)

# A killed first load or unload is completed by a load and by an unload in turn.
load_all() {
	net_bulkhead load "$old" && net_is "$(net_active)" old && net_is "$(net_writes "$old")" 0
}
unload_all() {
	net_bulkhead unload && net_is "$(attached)" "$before" && [ ! -e "$NET_PIN" ]
}

# Kills a first load or an unload at each of these system calls: either nothing is enforced or the policy is
# active, and the next command succeeds.
walk_ends() { # load_all|unload_all: how to get to where it begins; SUBCOMMAND ARGUMENT...
	local n=0 turn=0 state repairs=(load_all unload_all)
	for n in $(places $ENDS_STEP $ENDS_SAMPLE "$1" "${@:2}"); do
		$1 && net_kill_at "$CRASH" "$n" "$1" "${@:2}" || return
		state=$(net_active)
		[ "$state" = both ] || [ "$state" = old ] ||
			{ echo "killed at $n: $state is active" && return 1; }
		${repairs[turn++ % 2]} || { echo "killed at $n: not repaired" && return 1; }
	done
	[ $turn -gt 1 ]
}

walk_first() {
	walked "a first load killed anywhere" walk_ends unload_all load "$old"
}
walk_over() {
	net_check "a load over the old policy" net_bulkhead load --rollback "$old"
	walked "a load over another killed anywhere" walk_load true "$old" "$new"
	net_check "the kills left the old policy and the new one active" \
		net_is "$(sort -u "$NET_TMP/states" | xargs)" "new old"
}
walk_stage() {
	net_check "a load with a staged policy" net_bulkhead load --rollback "$NET_TMP/old.bhp"
	walked "a load that stages, killed anywhere" \
		walk_load true "$NET_TMP/old.bhp" --stage "$NET_TMP/new.bhp"
	net_check "killed stages put nothing active" net_is "$(sort -u "$NET_TMP/states")" old
}
walk_activate() {
	net_check "a load after the killed activations" net_bulkhead load --rollback "$NET_TMP/old.bhp"
	walked "one that activates, killed anywhere" \
		walk_load stage "$NET_TMP/old.bhp" --activate 2
	net_check "the killed activations left the old policy and the new one active" \
		net_is "$(sort -u "$NET_TMP/states" | xargs)" "new old"
}
walk_unload() {
	walked "an unload killed anywhere" walk_ends load_all unload
}

net_check "compile the two policies" eval '
	"$BULKHEAD" compile -o "$NET_TMP/old.bhp" "$old" &&
	"$BULKHEAD" compile --base "$NET_TMP/old.bhp" -o "$NET_TMP/new.bhp" "$new"'
for walk in ${WALKS:-first over stage activate unload}; do
	"walk_$walk"
done
net_check "an unload that was not killed" unload_all

net_end
