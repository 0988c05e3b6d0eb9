#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A command that attaches or detaches programs expedites the kernel's grace periods meanwhile, and puts back what
# /sys/kernel/rcu_expedited held: after success, after a failure, and, by the next command, after a kill at any
# step. It leaves the value of an administrator or of another command, and stays normal where rcu_normal, the
# setting or a read-only file asks for it.
# The file counts for the whole machine, and tests run side by side. So the commands of this test see plain files
# in its place.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

MARK=1073741824 # RCU_MARK
PWRITE=18
[ "$(uname -m)" = x86_64 ] || PWRITE=68
ENOMEM=12
net_start db web late
cat >"$NET_TMP/policy.ini" <<EOT
$(net_head "uplink = eth0")
$(net_endpoint db)
$(net_endpoint web)
EOT
late=(endpoint add shop/late --ip "$(net_ip late)" --interface veth-late --labels role=web)

holds() { # what rcu_expedited and rcu_normal hold
	printf '%s\n' "$1" >"$NET_TMP/rcu_expedited"
	printf '%s\n' "$2" >"$NET_TMP/rcu_normal"
}
# shellcheck disable=SC2016
apart='mount --bind "$1/rcu_expedited" /sys/kernel/rcu_expedited &&
	mount --bind "$1/rcu_normal" /sys/kernel/rcu_normal && mount -o "remount,bind,$2" /sys/kernel/rcu_expedited &&
	shift 2 && exec "$@"'
MODE=rw
beside() { # COMMAND...: with the files of this test in place of the kernel's
	net_on node unshare --mount sh -c "$apart" sh "$NET_TMP" "$MODE" "$@"
}
run() { # SUBCOMMAND ARGUMENT...
	beside "$BULKHEAD" "$1" "${@:2}" --pin "$NET_PIN"
}
faulted() { # WHICH N kill|ERRNO SUBCOMMAND ARGUMENT...
	beside "$NET_HELPERS/fault" "$NET_TMP/calls" "$1" "$2" "$3" "$BULKHEAD" "${@:4}" --pin "$NET_PIN" \
		>"$NET_TMP/fault" 2>&1
}
value() {
	local text
	read -r text <"$NET_TMP/rcu_expedited"
	echo $((10#$text))
}
is_normal() { net_is "$(value)" 0; }
loads_normal() {
	run load "$NET_TMP/policy.ini" && is_normal
}
both() {
	run "${late[@]}" && run endpoint del shop/late
}
is_marked() { [ "$(value)" -ge $MARK ] || { echo "value: $(value)" && false; }; }

# The number of the command's Nth write to the control; "last": of its last write.
write_call() { # first|last SUBCOMMAND ARGUMENT...
	local end=tail
	[ "$1" = last ] || end="head"
	faulted all 0 kill "${@:2}" || return
	grep -n "^$PWRITE\$" "$NET_TMP/calls" | $end -n 1 | cut -d : -f 1
}

holds 0 0
net_check "load" run load "$NET_TMP/policy.ini"
net_check "a load puts 0 back" is_normal
add_first=$(write_call first "${late[@]}") del_first=$(write_call first endpoint del shop/late)
net_check "the first write is in endpoint add" test "${add_first:-0}" -gt 0
net_check "the first write is in endpoint del" test "${del_first:-0}" -gt 0
add_last=$(write_call last "${late[@]}") del_last=$(write_call last endpoint del shop/late)
net_check "endpoint add writes a second time" test "${add_last:-0}" -gt "$add_first"
net_check "endpoint del writes a second time" test "${del_last:-0}" -gt "$del_first"
net_check "both put 0 back" is_normal
dry() { # CHECK
	run unload --dry-run && "$1"
}
net_check "a dry run writes nothing" dry is_normal

# ---- a kill ----

# Kills a command at its Nth system call, and lets the next command repair.
killed() { # N WANTED SUBCOMMAND ARGUMENT...
	faulted all "$1" kill "${@:3}"
	net_is $? 99 && { [ "$2" = any ] || "$2"; } || return
	run endpoint del shop/late
	is_normal || return
	! run endpoint list | grep -q shop/late
}
net_check "endpoint add, killed before the mark, leaves 0" killed "$add_first" is_normal "${late[@]}"
net_check "endpoint add, killed behind the mark, leaves it to the next command" \
	killed $((add_first + 1)) is_marked "${late[@]}"
net_check "endpoint add, killed before it puts 0 back, leaves the mark" killed "$add_last" is_marked "${late[@]}"
net_check "endpoint add, killed behind that, leaves 0" killed $((add_last + 1)) is_normal "${late[@]}"
steps=12
[ -z "${BULKHEAD_SMALL:-}" ] || steps=3
step=$(((add_last - add_first) / steps))
for ((n = add_first + 2; n < add_last; n += step)); do
	net_check "endpoint add, killed at system call $n: the next command puts 0 back" \
		killed "$n" is_marked "${late[@]}"
done
del_killed() { # N WANTED
	run "${late[@]}" && killed "$1" "$2" endpoint del shop/late
}
net_check "endpoint del, killed behind the mark, leaves it to the next command" del_killed $((del_first + 1)) is_marked
net_check "endpoint del, killed before it puts 0 back, leaves the mark" del_killed "$del_last" is_marked
left() { # makes the mark of a command that was killed
	faulted all $((add_first + 1)) kill "${late[@]}"
	is_marked
}
net_check "a command is killed" left
net_check "a load without a change puts 0 back as well" loads_normal
net_check "a command is killed again" left
net_check "a dry run does not repair" dry is_marked
net_check "unload repairs" run unload
net_check "0 is back after unload" is_normal

# ---- a failure ----

refused() { # N: the load fails at its Nth state-changing bpf(2) and puts 0 back
	faulted bpf "$1" $ENOMEM load "$NET_TMP/policy.ini"
	local code=$?
	[ $code -eq 3 ] || { cat "$NET_TMP/fault" && return 1; }
	is_normal
}
faulted bpf 0 kill load "$NET_TMP/policy.ini"
link=$(grep -n "^bpf 28\$" "$NET_TMP/calls" | tail -n 1 | cut -d : -f 1) # BPF_LINK_CREATE
run unload
if [ -n "$link" ]; then
	net_check "a load whose last link the kernel refuses puts 0 back" refused "$link"
else
	net_result ok "a load whose last link the kernel refuses # SKIP this kernel has no TCX"
fi
run load "$NET_TMP/policy.ini" >"$NET_TMP/load" 2>&1

# ---- who else writes the file ----

keeps() { # VALUE: at every step of endpoint add and del
	faulted all $((add_first + step)) kill "${late[@]}"
	net_is $? 99 && net_is "$(value)" "$1" || return
	run endpoint del shop/late
	net_is "$(value)" "$1" && both && net_is "$(value)" "$1"
}
holds 1 0
net_check "an administrator's 1 stays" keeps 1
holds 7 0
net_check "any other value stays" keeps 7
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
other() { # makes the mark of another command that runs
	"$bpftool" map create "$NET_PIN-other" type array key 4 value 4 entries 1 name bh_expedited &&
		id=$("$bpftool" map show pinned "$NET_PIN-other" | sed -n 's/^\([0-9]*\):.*/\1/p') &&
		holds $((MARK + id)) 0
}
net_check "another command runs" other
net_check "the mark of the other command stays" keeps $((MARK + id))
rm -f "$NET_PIN-other"
# The kernel frees the map a moment later.
ended() {
	local n
	for ((n = 0; n < 400; n++)); do
		run load "$NET_TMP/policy.ini" >/dev/null 2>&1 && is_normal >/dev/null && return
		sleep 0.05
	done
	is_normal
}
net_check "once it has ended, the next command puts 0 back" ended

# ---- who asks for normal grace periods ----

stays_normal() {
	keeps 0
}
holds 0 1
net_check "rcu_normal: the file stays at 0" stays_normal
holds $((MARK - 1 + MARK)) 1
net_check "rcu_normal: the mark of a killed command goes" loads_normal
holds 0 0
MODE=ro
net_check "a read-only file is no error" both
net_check "a read-only file stays at 0" is_normal
MODE=rw
run unload
net_check "rcu has two words" net_ends 2 "rcu: must be expedited or normal" run load --set rcu=fast "$NET_TMP/policy.ini"
net_check "load with rcu=normal" run load --set rcu=normal "$NET_TMP/policy.ini"
net_check "rcu=normal: the commands after the load keep 0, too" stays_normal
net_check "rcu=normal: a later load agrees" run load --set rcu=normal "$NET_TMP/policy.ini"
net_check "rcu=normal cannot change while the programs run" \
	net_ends 2 "unload, then load" run load --set rcu=expedited "$NET_TMP/policy.ini"
run unload

# ---- the kernel's own file ----

# Commands of tests beside this one may run, and keep their mark, or be killed, and leave it to the next one.
real() { cat /sys/kernel/rcu_expedited; }
not_ours() {
	local n
	for ((n = 0; n < 400; n++)); do
		net_bulkhead load "$NET_TMP/policy.ini" >/dev/null 2>&1 && net_bulkhead unload || return
		[ "$(real)" -lt $MARK ] && return
		sleep 0.05
	done
	echo "value: $(real)" && false
}
net_check "the kernel takes marks, and has 0 again afterwards" not_ours
net_end
