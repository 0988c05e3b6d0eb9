#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel refuses a call, or somebody damages the pins: the active policy stays, whole and enforced,
# the command prints the error and ends with status 3, and the next load succeeds. Calls fail one by one: a
# sample, or with FAULTS=all every call, with other errors as well.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

FAULTS=${FAULTS:-}
# The step between calls of a walk, and the size of a sample. After each call of an unload follows a first
# load, which takes longest.
STATE_STEP=2 BPF_STEP=11 UNLOAD_STATE_STEP=2 UNLOAD_BPF_STEP=3 WIDER_STEP=1 PIN_STEP=1 SAMPLE=3 PINS=2
[ -z "${BULKHEAD_SMALL:-}" ] || STATE_STEP=5 BPF_STEP=19 UNLOAD_STATE_STEP=11 UNLOAD_BPF_STEP=10 \
	WIDER_STEP=3 PIN_STEP=5 SAMPLE=1 PINS=1
[ "$FAULTS" != all ] || STATE_STEP=1 BPF_STEP=1 UNLOAD_STATE_STEP=1 UNLOAD_BPF_STEP=1
EPERM=1 ENOMEM=12 E2BIG=7 # the kernel's answer when a map is full
net_start db web many
net_old_and_new
old=$NET_TMP/old.ini new=$NET_TMP/new.ini

# Checks a command that was to replace BEFORE by NEW. Status 0: NEW is active; leftovers that were not
# collected after the commit are only a warning. Status 3: BEFORE is active. An unload leaves nothing.
check_outcome() { # STATUS BEFORE NEW
	local state
	state=$(net_active)
	case $1/$state in
	"0/both") nothing_left && return ;;
	"0/$3") ! grep "libxdp does not manage" "$NET_TMP/error" && return ;;
	"3/$2") grep -q . "$NET_TMP/error" && return ;;
	"3/both") [ "$3" = both ] && grep -q . "$NET_TMP/error" && return ;;
	esac
	echo "status $1, $state is active"
	cat "$NET_TMP/error"
	return 1
}
hooks() { # what is attached, and where; filters tell a program's ID in their names, too
	net_on node bpftool -j net show | sed -E 's/"(prog_)?id":[0-9]+,?|:\[[0-9]+\]//g'
	net_on node tc qdisc show
	find "$NET_PIN" -name 'tcx_*' 2>/dev/null | sort
}
old_again() {
	net_bulkhead load --rollback "$old" && net_is "$(net_active)" old &&
		net_is "$(net_writes "$old")" 0 && net_is "$(hooks)" "$loaded"
}
nothing_left() {
	net_is "$(hooks)" "$unloaded" && [ ! -e "$NET_PIN" ]
}
nothing_again() {
	net_bulkhead unload && nothing_left
}
# After a failed unload, an unload and a load in turn repair the rest.
turn=0
old_anew() {
	turn=$((turn + 1))
	[ $((turn % 2)) -eq 1 ] || nothing_again && old_again
}
staged_again() {
	old_again && net_bulkhead load --rollback "$NET_TMP/old.bhp" &&
		net_bulkhead load --stage "$NET_TMP/new.bhp"
}

# Fails one system call of a kind at a time, at the walk's numbers.
walk() { # AGAIN BEFORE NEW state|bpf STEP ERRNO COMMAND...: how to get to BEFORE, and what then fails
	local at n status refused=0
	$1 || return
	net_fault "$4" 0 "$6" "${@:7}" >"$NET_TMP/error" 2>&1
	status=$?
	mapfile -t at < <(net_places "$5" $SAMPLE)
	check_outcome $status none "$3" && $1 || return
	for n in "${at[@]}"; do
		net_fault "$4" "$n" "$6" "${@:7}" >"$NET_TMP/error" 2>&1
		status=$?
		check_outcome $status "$2" "$3" && $1 ||
			{ echo "at $n, $(tail -1 "$NET_TMP/calls")" && return 1; }
		[ $status -eq 0 ] || refused=$((refused + 1))
	done
	echo "# at ${at[*]}, $refused of them refused it" >"$NET_TMP/walked"
	[ $refused -gt 0 ]
}
walked() { # NAME WALK-ARGUMENT...
	net_check "$1" walk "${@:2}"
	cat "$NET_TMP/walked"
}
# Fails a command at its changes of state and at its bpf(2) calls.
errors() { # NAME AGAIN BEFORE NEW COMMAND...
	local error
	walked "ENOMEM from changes of state of $1" "${@:2:3}" state $STATE_STEP $ENOMEM "${@:5}"
	walked "ENOMEM from bpf(2) of $1" "${@:2:3}" bpf $BPF_STEP $ENOMEM "${@:5}"
	[ "$FAULTS" = all ] || return 0
	for error in $EPERM $E2BIG; do
		walked "error $error from bpf(2) of $1" "${@:2:3}" bpf 1 "$error" "${@:5}"
	done
}

unloaded=$(hooks)
net_check "compile the two policies" eval '
	"$BULKHEAD" compile -o "$NET_TMP/old.bhp" "$old" &&
	"$BULKHEAD" compile --base "$NET_TMP/old.bhp" -o "$NET_TMP/new.bhp" "$new"'
[ "$FAULTS" != all ] || errors "a first load" nothing_again both old load "$old"
net_check "load" net_bulkhead load "$old"
loaded=$(hooks)
errors "a load" old_again old new load "$new"
# Settings of an interface change after the commit: a smaller step.
sed '/^mac/a allow-source = 10.9.0.0/16' "$new" >"$NET_TMP/wider.ini"
walked "ENOMEM from changes of state of a load where an interface changes" old_again old new \
	state $WIDER_STEP $ENOMEM load "$NET_TMP/wider.ini"
errors "a load that stages" old_again old old load --stage "$new"
errors "one that activates" staged_again old new load --activate 2
STATE_STEP=$UNLOAD_STATE_STEP BPF_STEP=$UNLOAD_BPF_STEP
errors "an unload" old_anew old both unload
net_check "the old policy is active again" old_again

still() { # NAME: the active policy is
	net_check "$1" net_is "$(net_active)" old
}

# Removes one pin at a time, or puts another map in its place.
broken() { # COMMAND PIN: breaks it; the load is refused, or does without it; then it is mended
	local status pin=$NET_PIN/$2
	mv "$pin" "$pin-away" && "$1" "$pin" || return
	net_bulkhead load "$new" >"$NET_TMP/error" 2>&1
	status=$?
	check_outcome $status old new || { echo "with $2" && return 1; }
	rm -f "$pin" && mv "$pin-away" "$pin" && old_again || { echo "after $2" && return 1; }
	echo "$status $2" >>"$NET_TMP/broken"
}
another_map() { # PIN
	bpftool map create "$1" type array key 4 value 7 entries 3 name another
}
some() { # PIN...
	printf '%s\n' "$@" | net_sample $PIN_STEP $PINS
}
each_pin() { # COMMAND
	local pin others
	mapfile -t others < <(find "$NET_PIN" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort |
		grep -vxF "$(printf '%s\n' config blob $policy_pins)")
	: >"$NET_TMP/broken"
	for pin in $(some config blob $policy_pins) $(some "${others[@]}"); do
		broken "$1" "$pin" || return
	done
}
refused() { # PIN...: those of them that were taken
	local pin taken=0
	for pin; do
		grep -q " $pin$" "$NET_TMP/broken" || continue
		grep -qx "3 $pin" "$NET_TMP/broken" || { echo "it went on without $pin" && return 1; }
		taken=$((taken + 1))
	done
	[ $taken -gt 0 ]
}
policy_pins="ifaces macs allow_source endpoints added prefixes segments pairs ports named variations"
net_check "a load copes with each missing pin" each_pin true
went_on() { # PIN...: those of them that were taken
	! grep -E "^[^0]+ ($(printf '%s|' "$@")none)$" "$NET_TMP/broken" && grep -qE "^0 ($(printf '%s|' "$@")none)$" "$NET_TMP/broken"
}
net_check "a load is refused without the pins that only commands use" refused config blob added
# shellcheck disable=SC2086
net_check "a load goes on without a pin of a map that the programs read" went_on ${policy_pins/added /}
net_check "a load copes with another map at each pin" each_pin another_map
net_check "a load is refused where another map is at a pin of the policy" refused config blob $policy_pins

# Damages one byte of the stored policy, and clears it.
page() { # its first page, as bpftool prints it
	bpftool -j map lookup pinned "$NET_PIN/blob" key 0 0 0 0 | grep -o '"0x..' | cut -c2-
}
mapfile -t bytes < <(page | tail -n 4096)
store() { # BYTE...
	bpftool map update pinned "$NET_PIN/blob" key 0 0 0 0 value "$@"
}
refuses() { # PATTERN INPUT
	net_ends 3 "$1" net_bulkhead load "$2"
}
changed=("${bytes[@]}")
changed[400]=$((changed[400] ^ 1)) # in the compressed part
net_check "bpftool prints a page of the stored policy" test ${#bytes[@]} -eq 4096
net_check "change a byte of the stored policy" store "${changed[@]}"
net_check "a load reports the changed byte" refuses "blob is damaged" "$new"
placed() { # by what is damaged
	net_bulkhead endpoint add shop/late --ip 10.9.9.9 --labels role=web 2>"$NET_TMP/said"
	[ $? -eq 3 ] && grep -q "blob is damaged" "$NET_TMP/said" &&
		! bpftool map lookup pinned "$NET_PIN/endpoints" \
			key hex 00 00 00 00 00 00 00 00 00 00 ff ff 0a 09 09 09
}
net_check "endpoint add does not use the changed policy" placed
still "packets are evaluated by the maps"
net_check "clear the page" store "${bytes[@]/*/0}"
net_check "a load reports the cleared page" refuses "blob is damaged" "$new"
still "packets are evaluated by them still"
net_check "restore the page" store "${bytes[@]}"
net_check "the next load succeeds" old_again

# An endpoint that exceeds a map's room, and interfaces that do not exist.
{
	printf '[endpoint shop/many]\nnode = worker-1\nip = %s\nallow-source = 10.9.0.0/32' "$(net_ip many)"
	for ((i = 1; i < 1100; i++)); do
		printf ',\n\t10.9.%d.%d/32' $((i / 256)) $((i % 256))
	done
} >"$NET_TMP/many.ini"
full() {
	net_ends 2 'shop/many: its labels, ports, addresses and sources take more' \
		net_bulkhead endpoint add --file "$NET_TMP/many.ini"
}
net_check "endpoint add refuses an endpoint that is larger than its record" full
net_check "nothing of the refused endpoint is left" net_is \
	"$(bpftool map dump pinned "$NET_PIN/allow_source" | grep -c ifindex)" 0
still "the refused endpoint changed nothing"
net_check "the next load succeeds after the refusal" old_again
net_check "an uplink that does not exist is refused with status 3" net_fails 3 net_bulkhead load --uplink nowhere "$new"
still "the uplink that does not exist changed nothing"
sed 's/^mac.*/interface = veth-nowhere/' "$new" >"$NET_TMP/lost.ini"
net_check "an interface that does not exist is refused with status 3" net_fails 3 net_bulkhead load "$NET_TMP/lost.ini"
still "the interface that does not exist changed nothing"
net_check "a load after these refusals" net_bulkhead load "$new"
net_check "that load activates the other policy" net_is "$(net_active)" new

# The recovery that the errors name, for each pin that no load puts back.
start_anew() { # PIN...
	local pin
	for pin; do
		rm "$NET_PIN/$pin" && net_fails 3 net_bulkhead load "$old" && net_bulkhead unload &&
			nothing_left && net_bulkhead load "$new" && net_is "$(net_active)" new ||
			{ echo "without $pin" && return 1; }
	done
}
net_check "unload and load work with each of these pins missing" start_anew config blob added

net_end
