#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `cni install` and `uninstall`: the entries that they write into a network's list and take out of it. If one
# is killed or fails at any of its system calls, there is the old list or the new one, whole, and never a list
# with a plugin that is not there.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
helpers=$(dirname "$BULKHEAD")/selftests/helpers
fault=$helpers/fault
conf=$tmp/net.d bin=$tmp/bin
list=$conf/10-net.conflist
mkdir "$conf" "$bin"

cni() { # install|uninstall [ARGUMENT...]
	"$BULKHEAD" cni "$1" --conf-dir "$conf" --bin-dir "$bin" "${@:2}"
}
original() {
	cat <<-EOF2
	{"cniVersion": "1.0.0", "name": "net", "future/field": [1, {"a": "b/c"}],
	 "plugins": [{"type": "bridge", "isGateway": true}, {"type": "portmap", "capabilities": {"portMappings": true}}]}
	EOF2
}
start() {
	rm -rf "$conf" "$bin" && mkdir "$conf" "$bin" && original >"$list" && chmod 640 "$list"
}
plugins() {
	"$helpers/conflist" plugins "$1"
}
rest() {
	"$helpers/conflist" rest "$1"
}
refuses() { # TEXT COMMAND...
	local text=$1
	shift
	! "$@" 2>"$tmp/why" && grep -qF -- "$text" "$tmp/why"
}

start
cp "$list" "$tmp/was"
check "install succeeds" cni install --unknown admit --trust both
check "the list's other plugins stay first and unchanged" is "$(plugins "$list" | head -n 2)" "$(plugins "$tmp/was")"
check "Bulkhead's plugin is the last of the list" is "$(plugins "$list" | tail -n +3)" \
	'{"capabilities":{"io.kubernetes.cri.pod-annotations":true},"trust":["annotations","args"],"type":"bulkhead-cni","unknown":"admit"}'
check "the list's other fields stay" is "$(rest "$list")" "$(rest "$tmp/was")"
check "the list's owner and mode stay" is "$(stat -c '%a %u %g' "$list")" "$(echo "640 $(id -u) $(id -g)")"
check "runtimes find the plugin" is "$(readlink "$bin/bulkhead-cni")" "$(readlink -f "$BULKHEAD")"
check "no other file is in the two folders" is "$(ls -A "$conf") $(ls -A "$bin")" "10-net.conflist bulkhead-cni"
cp "$list" "$tmp/new"
check "install once more changes nothing" is "$(cni install --unknown admit --trust both)" "$list already has the plugin"
check "the second install changes no byte of the list" cmp "$list" "$tmp/new"
check "install with other options" cni install
check "the install replaces Bulkhead's plugin" is "$(plugins "$list" | tail -n +3)" '{"type":"bulkhead-cni"}'

check "somebody gives the plugin a log and a folder of records" \
	sed -i 's|"bulkhead-cni"|"bulkhead-cni", "log": "/var/log/cni", "records": "/run/r"|' "$list"
check "install with another option after that" cni install --unknown admit
check "the install keeps the log and the folder of records" is "$(plugins "$list" | tail -n +3)" \
	'{"log":"/var/log/cni","records":"/run/r","type":"bulkhead-cni","unknown":"admit"}'
check "the install after that changes nothing" is "$(cni install --unknown admit)" "$list already has the plugin"
check "uninstall of a plugin with a log" cni uninstall
check "install once more" cni install

cp "$tmp/was" "$conf/20-other.conflist"
check "install into another network" cni install "$conf/20-other.conflist"
check "uninstall succeeds" cni uninstall
check "uninstall removes Bulkhead's plugin and nothing else" is "$(plugins "$list") $(rest "$list")" "$(plugins "$tmp/was") $(rest "$tmp/was")"
check "the other network still has the plugin" grep -q bulkhead-cni "$conf/20-other.conflist"
check "the other network still finds the program" test -L "$bin/bulkhead-cni"
check "uninstall once more changes nothing" is "$(cni uninstall)" "$list already is without the plugin"
check "uninstall from the last network" cni uninstall "$conf/20-other.conflist"
check "the last uninstall removes the link" test ! -e "$bin/bulkhead-cni"
cp "$BULKHEAD" "$bin/bulkhead-cni"
check "install beside a program of the plugin's name that is no link" eval \
	'cni install 2>"$tmp/why" && grep -qF "$bin/bulkhead-cni is no link to this program: runtimes call that file" "$tmp/why"'
check "uninstall leaves that program" eval 'cni uninstall && test -x "$bin/bulkhead-cni"'

# All networks, as before the command is removed.
start
cp "$list" "$tmp/was" && cp "$list" "$conf/20-other.conflist" && echo '{' >"$conf/30-broken.conflist"
check "install into two networks" eval 'cni install && cni install "$conf/20-other.conflist"'
ln -sf /opt/other/bulkhead "$bin/bulkhead-cni"
check "uninstall --all where the plugin is another program" is "$(cni uninstall --all)" "$conf already is without the plugin"
check "that uninstall leaves the networks and the link" eval 'grep -q bulkhead-cni "$list" && test -L "$bin/bulkhead-cni"'
check "install makes the link anew" eval 'cni install && [ "$(readlink "$bin/bulkhead-cni")" = "$(readlink -f "$BULKHEAD")" ]'
touch "$conf/.10-net.conflist.bulkhead-kept" "$conf/.gone.conflist.bulkhead-kept"
check "uninstall --all" is "$(cni uninstall --all)" "$conf is without the plugin"
for network in "$list" "$conf/20-other.conflist"; do
	check "uninstall --all removes the plugin from ${network##*/}" is "$(plugins "$network") $(rest "$network")" "$(plugins "$tmp/was") $(rest "$tmp/was")"
done
check "uninstall --all removes what a follower has kept" eval '! ls -A "$conf" | grep kept'
check "uninstall --all removes the link" test ! -L "$bin/bulkhead-cni"
check "uninstall --all takes no list" refuses "--all is for uninstall" cni uninstall --all "$list"

# Networks that runtimes take before the list.
start
check "install beside networks that come later says nothing of them" eval \
	'echo {} >"$conf/11-later.conf" && echo {} >"$conf/1-no.network" && is "$(cni install 2>&1)" "$list has the plugin"'
check "install warns of a network that runtimes take before the list" eval \
	'echo {} >"$conf/05-early.conf" && cni install 2>&1 | grep -qF "$list: warning: 05-early.conf comes before it by name"'
check "install into a list that is named says nothing of others" is "$(cni install "$list" 2>&1)" "$list already has the plugin"

start
echo '{' >"$list"
ln -s "$BULKHEAD" "$tmp/bulkhead-cni"
add_fails() { # TEXT: ADD with standard input as its configuration
	CNI_COMMAND=ADD CNI_CONTAINERID=c CNI_NETNS=/proc/self/ns/net CNI_IFNAME=eth0 CNI_PATH=/ "$tmp/bulkhead-cni" >"$tmp/why"
	is $? 1 && { grep -qF -- "no JSON object: $1\"" "$tmp/why" || { cat "$tmp/why" && false; }; }
}
check "the plugin says that its configuration is empty or ends early" add_fails "it is empty, or ends in the middle" <<<'{'
check "the plugin says that its configuration is a list" add_fails "it is another value" <<<'[]'
check "install refuses a list that is no JSON" refuses "$list: is no JSON object" cni install
check "uninstall refuses a list that is no JSON" refuses "$list: is no JSON object" cni uninstall
echo '{"type": "bridge"}' >"$list"
check "install refuses a network that is no list" refuses "only a list of plugins takes one more" cni install
original | sed 's/1\.0\.0/0.2.0/' >"$list" && cp "$list" "$tmp/was"
check "install refuses a list of a version in which the plugin would refuse every call" \
	refuses "$list: cniVersion: is 0.2.0; bulkhead-cni understands 0.3.0 to 1.1.0" cni install
check "the refused install changes nothing" eval 'cmp "$list" "$tmp/was" && test ! -L "$bin/bulkhead-cni"'
original | sed 's/"cniVersion": "1\.0\.0"/"cniVersion": "9.0.0", "cniVersions": ["0.3.1", "9.0.0"]/' >"$list"
check "install into a list that may be used in a version that the plugin understands" cni install
rm "$list"
check "install refuses a folder without a list" refuses "name one" cni install
check "install refuses a file that does not exist" refuses "No such file" cni install "$conf/no.conflist"

# From the container image: the command and its libraries are copied to the host, all or none. /opt has the
# image, in a mount namespace of its own; the host is a disk of its own.
host=$tmp/host after=$tmp/after
mkdir "$host"
on_image() { # SIZE COMMAND...: afterwards $after lists the host's files: old, new, or the program
	mount -t tmpfs none /opt && mkdir /opt/bulkhead && cp "$BULKHEAD" /opt/bulkhead/bulkhead && mkdir /opt/bulkhead/lib &&
		mount -t tmpfs -o "size=$1" none "$host" && mkdir -p "$host"/{opt/{cni/bin,bulkhead/lib},etc/cni/net.d} &&
		original >"$host/etc/cni/net.d/10-net.conflist" || return
	echo old | tee "$host"/opt/bulkhead/{bulkhead,lib/a.so,lib/z.so} >/dev/null
	echo new | tee /opt/bulkhead/lib/{a,z}.so >/dev/null
	"${@:2}"
	local status=$? file
	for file in $(cd "$host/opt" && find . -type f -o -type l | sort); do
		case $(head -c 4 "$host/opt/$file" | tr -d '\0') in
		old | new) echo "$file $(cat "$host/opt/$file")" ;;
		*) echo "$file program" ;;
		esac
	done >"$after"
	return $status
}
image() { # SIZE COMMAND...
	export -f on_image original copy copy_twice copy_after_kill
	# shellcheck disable=SC2016
	BULKHEAD=$BULKHEAD host=$host after=$after unshare -m bash -c 'on_image "$@"' image "$@"
}
copy() {
	/opt/bulkhead/bulkhead cni install --root "$host"
}
copy_twice() {
	copy && stat -c %i "$host"/opt/bulkhead/{bulkhead,lib/*} >"$after.inodes" &&
		copy && stat -c %i "$host"/opt/bulkhead/{bulkhead,lib/*} | cmp - "$after.inodes"
}
copy_after_kill() { # of another version's copy
	copy && echo other >"$host/opt/bulkhead/lib/a.so.new" && copy
}
if unshare -m true 2>"$tmp/why"; then
	check "a copy to a host without room fails" refuses "No space left on device" image 4m copy
	check "the failed copy leaves the former command and libraries, and no other file" is "$(cat "$after")" \
		"$(printf './bulkhead/%s old\n' bulkhead lib/a.so lib/z.so)"
	check "a copy after another version's that was killed" image 64m copy_after_kill
	check "that copy leaves no file of the other version" is "$(grep -c 'a.so new$' "$after") $(wc -l <"$after")" "1 4"
	check "a second copy to a host with room writes no file" image 64m copy_twice
	check "the copy replaces the command and its libraries, and runtimes find the command" is "$(cat "$after")" \
		"$(printf '%s\n' './bulkhead/bulkhead program' './bulkhead/lib/a.so new' './bulkhead/lib/z.so new' './cni/bin/bulkhead-cni program')"
else
	check_skip "copies from the container image" "$(cat "$tmp/why")"
fi

# A fault at each call that changes state, and at a sample of all others, selected by BULKHEAD_SEED.
walk() { # install|uninstall kill|ERRNO
	local prepare=with calls at
	[ "$1" = uninstall ] || prepare=start
	$prepare
	for kind in state all; do
		run_fault "$1" $kind 0 kill >"$tmp/out" || return
		calls=$(wc -l <"$tmp/calls")
		[ "$calls" -gt 1 ] || { echo "only $calls calls" && return 1; }
		for at in $(seq 1 "$calls" | awk -v kind=$kind -v full="${BULKHEAD_FULL:-}" -v seed="${BULKHEAD_SEED:-0}" \
			'kind == "state" || full || $1 % 16 == seed % 16'); do
			$prepare && cp "$list" "$tmp/old"
			run_fault "$1" $kind "$at" "$2" >"$tmp/out" 2>&1
			is_whole "$1" $? || { echo "$kind call $at of $calls" && cat "$tmp/out" && return 1; }
			cni "$1" >"$tmp/out" && cmp "$list" "$tmp/$1" || { echo "$kind call $at: not made good" && return 1; }
		done
		$prepare
	done
}
run_fault() { # install|uninstall state|all N kill|ERRNO
	"$fault" "$tmp/calls" "$2" "$3" "$4" "$BULKHEAD" cni "$1" --conf-dir "$conf" --bin-dir "$bin"
}
with() {
	start && cni install >"$tmp/out"
}
is_whole() { # install|uninstall STATUS
	[ "$(ls "$conf")" = 10-net.conflist ] || { ls "$conf" && return 1; }
	cmp -s "$list" "$tmp/old" || cmp "$list" "$tmp/$1" || return
	[ "$2" -ne 0 ] || cmp "$list" "$tmp/$1" || return
	! grep -q bulkhead-cni "$list" || [ "$(readlink "$bin/bulkhead-cni")" = "$(readlink -f "$BULKHEAD")" ]
}
with && cp "$list" "$tmp/install"
cni uninstall >"$tmp/out" && cp "$list" "$tmp/uninstall"
if "$fault" "$tmp/calls" all 0 kill true 2>"$tmp/why"; then
	for command in install uninstall; do
		check "$command killed anywhere: the old list or the new" walk $command kill
		check "$command that fails anywhere, for want of room: the same" walk $command 28
	done
else
	check_skip "install and uninstall killed anywhere" "$(cat "$tmp/why")"
fi
# A DEL removes a record while `cni refresh` reads the folder: each open fails in turn as that one would.
state=$tmp/state
mkdir "$state"
echo '{"network": "net", "container": "c", "interface": "eth0", "namespace": "shop", "pod": "db", "name": "db",
	"host_interface": "veth0", "ifindex": 3, "addresses": ["10.50.0.2"], "identity": "policy"}' >"$state/net:c:eth0"
refresh() { # N: the call that fails
	"$fault" "$tmp/calls" all "$1" 2 "$BULKHEAD" cni refresh --state "$state" --pin /sys/fs/bpf/none >"$tmp/refreshed" 2>&1
}
never_damaged() {
	local at opens
	refresh 0 || { cat "$tmp/refreshed" && return 1; }
	mapfile -t opens < <(grep -nx 257 "$tmp/calls" | cut -d: -f1) # openat(2)
	[ ${#opens[@]} -gt 2 ] || return
	for at in "${opens[@]}"; do
		refresh "$at"
		! grep "damaged" "$tmp/refreshed" || return
	done
}
if [ "$(uname -m)" = x86_64 ] && "$fault" "$tmp/calls" all 0 kill true 2>"$tmp/why"; then
	check "a record that a DEL removes meanwhile is not damaged" never_damaged
else
	check_skip "a record that a DEL removes meanwhile is not damaged" "needs the numbers of x86_64's calls, and seccomp"
fi
echo '{"network": ' >"$state/net:c:eth0"
check "a damaged record is named" eval '"$BULKHEAD" cni refresh --state "$state" --pin /sys/fs/bpf/none 2>&1 | grep -qF "$state/net:c:eth0 is damaged"'
check "refresh of records that cannot be read says why" refuses "$list: cannot be read: Not a directory" \
	"$BULKHEAD" cni refresh --state "$list" --pin /sys/fs/bpf/none
check_end
