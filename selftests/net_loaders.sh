#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Concurrent commands that change a node run one after the other, each on top of the result of the one
# before.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
net_old_and_new
old=$NET_TMP/old.ini new=$NET_TMP/new.ini

number() { # NAME FILE: of a command's JSON
	tr -d ' ' <"$2" | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}
start() { # COMMAND ARGUMENT...: its output goes to the file of its number
	local n=${#started[@]}
	net_bulkhead "$@" >"$NET_TMP/said.$n" 2>&1 &
	started+=($!)
}
all_end() {
	local n status=0
	for n in "${!started[@]}"; do
		wait "${started[$n]}" || { cat "$NET_TMP/said.$n" && status=1; }
	done
	return $status
}
# Prints the generations that the loads reported, in order.
reported() { # NAME
	local n
	for n in "${!started[@]}"; do
		number "$1" "$NET_TMP/said.$n"
	done | sort -n | xargs
}

# The pin folder, which the lock is on, does not exist yet.
started=()
start load -j "$old"
start load -j "$new"
net_check "two first loads at once succeed" all_end
net_check "the second one's policy succeeds the first one's" net_is "$(reported policy_generation)" "1 2"
state=$(net_active)
net_check "one of them is active: $state" grep -qx "old\|new" <<<"$state"
net_check "load the first policy" net_bulkhead load "$old"
before=$(net_bulkhead show generation -j | number policy_generation /dev/stdin)

# All three wait for the lock before any may begin. A process that stays holds it: in a PID namespace /proc/locks
# leaves out a lock whose process has ended, and who waits for it.
coproc holder { exec flock "$NET_PIN" sh -c 'echo locked && read -r line'; }
release() {
	[ -z "${holder_PID:-}" ] || { echo >&"${holder[1]}" && wait "$holder_PID"; }
}
trap 'release; net_cleanup' EXIT # net_cleanup's unload waits for the lock
read -r line <&"${holder[0]}"
net_check "another process holds the lock" net_is "$line" locked
started=()
start load -j "$new"
start load -j "$new"
start endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" --labels role=web
waiting() { # until so many wait for the lock
	local tries inode
	inode=$(stat -c %i "$NET_PIN")
	for ((tries = 0; tries < 200; tries++)); do
		[ "$(grep -c -- "-> FLOCK .*:$inode " /proc/locks)" -ne "$1" ] || return 0
		sleep 0.05
	done
	return 1
}
net_check "three commands wait for the lock" waiting 3
says_whom() { # until the command of this number has said for whom it waits
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! grep -qF "waits for process $holder_PID (flock), which has the lock of $NET_PIN" "$NET_TMP/said.$1" || return 0
		sleep 0.05
	done
	cat "$NET_TMP/said.$1"
	return 1
}
net_check "a load that waits for long says for which process" says_whom 0
net_check "an endpoint add that waits for long says so, too" says_whom 2
net_check "the old policy stays active meanwhile" net_is "$(net_active)" old
release
net_check "each of the waiting commands succeeds" all_end
net_check "the second load found the first one's policy" net_is \
	"$(reported policy_generation)" "$((before + 1)) $((before + 1))"
net_check "the new policy is active" net_is "$(net_active)" new

# Each load bases its generation on the active one: the generations are consecutive in any order.
started=()
for input in "$old" "$new" "$old" "$new" "$old" "$new"; do
	start load -j "$input"
done
net_check "six commands at once succeed" all_end
read -ra row < <(reported policy_generation | tr ' ' '\n' | uniq | xargs)
net_check "the generations are consecutive: ${row[*]}" \
	net_is "${row[*]}" "$(seq -s ' ' "${row[0]}" "${row[-1]}")"
net_check "the last generation is active" net_is \
	"$(net_bulkhead show generation -j | number policy_generation /dev/stdin)" "${row[-1]}"
state=$(net_active)
net_check "the active policy is whole: $state" grep -qx "old\|new" <<<"$state"
net_check "a load of its input writes nothing" net_is "$(net_writes "$NET_TMP/$state.ini")" 0

net_end
