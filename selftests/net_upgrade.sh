#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Another build of the command replaces the active programs, hook by hook on the same maps, and the first
# build takes them back: connections, counters and the policy stay, and no packet meets a hook without a
# program. A build with another map layout changes nothing.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
. "$(dirname "$0")/lib/hooks.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS="80 443"
net_start db web
db4=$(net_ip db)

# Also an endpoint on a bridge with another port.
# shellcheck disable=SC2034 # hooks_converged looks at it
HOOKS_PORT=veth-stray
ip -n "$NET-node" link add br0 type bridge
for pod in bridged stray; do
	net_host $pod
	net_link node veth-$pod 02:00:00:00:03:0${#pod} $pod eth0 02:00:00:00:04:0${#pod}
	ip -n "$NET-node" link set veth-$pod master br0
done
{
	hooks_policy
	net_endpoint_at bridged worker-1 10.50.0.1 "interface = veth-bridged" "mode = l2"
} >"$NET_TMP/policy.ini"

# A second build, and one with another BH_ABI. BUILDS=DIR holds both already: an emulated machine does not
# compile.
[ -n "${BUILDS:-}" ] || {
	BUILDS=$NET_TOP/build/builds
	net_check "make two other builds" "$NET_TOP/selftests/lib/builds.sh" "$BUILDS"
}
net_check "the other build's programs differ" bash -c \
	"[ -e '$BUILDS/second.bpf.o' ] && ! cmp '$BUILDS/second.bpf.o' '$(dirname "$BULKHEAD")/kern/tc.bpf.o'"
ln -s "$BUILDS"/{second,foreign,direct} "$NET_TMP"
ln -s "$BULKHEAD" "$NET_TMP/first"
load() { # first|second|foreign|direct [OPTION...]
	local command=$1
	shift
	BULKHEAD=$NET_TMP/$command net_bulkhead load "$@" "$NET_TMP/policy.ini"
}
dropped() { # REASON
	net_counters | sed -n "s/^drop \([0-9]*\) $1$/\1/p"
}
upgrade() { # what is done with either way of attaching
	local generation before
	net_check "load" load first --set timeout-udp=20 --set connections=5000
	hooks_connect
	net_check "a connection opens" hooks_connected
	net_stream db recv 1001 1002
	net_stream web send "$db4" 1001 1002
	sleep 0.3
	generation=$(net_bulkhead show generation)
	before=$(hooks_pinned tc_from_endpoint)
	net_check "the other build replaces the programs" net_ends 0 "programs were replaced" load second
	net_check "every hook has the new programs, and no old one is left" hooks_converged
	net_check "the hooks' programs have changed" test "$(hooks_pinned tc_from_endpoint)" != "$before"
	net_check "the generation stays" net_is "$(net_bulkhead show generation)" "$generation"
	net_check "the connection goes on" hooks_connected
	net_check "the policy is enforced by the new programs" hooks_enforced
	net_check "the same load again writes nothing" net_ends 0 '^0 map writes' load second -v
	net_check "a load with the first load's settings succeeds" load second --set timeout-udp=20 \
		--set connections=5000
	net_check "a load with other settings is refused" net_fails 2 load second --set timeout-udp=30
	net_check "the first build takes the hooks back" net_ends 0 "programs were replaced" load first
	net_check "every hook has the first build's programs" hooks_converged
	net_check "the connection goes on again" hooks_connected
	net_stream_end
	sed 's/^/# sent to /' "$NET_TMP/web.counts"
	sed 's/^/# received at /' "$NET_TMP/db.counts"
	net_check "over 100 datagrams were sent meanwhile" test "$(net_count web 1001)" -gt 100
	net_check "no allowed datagram was lost" \
		net_is "$(net_count db 1001)" "$(net_count web 1001)"
	net_check "no denied datagram arrived" net_is "$(net_count db 1002)" 0
	net_check "every denied datagram was counted by one of the builds" \
		test "$(dropped "denied by the destination's policy")" -ge "$(net_count web 1002)"
}

upgrade

# Commands of another build that replace no program.
other_commands() {
	local BULKHEAD=$NET_TMP/second command
	for command in "show segments" "show rules" "show conntrack" "show counters" "endpoint list" \
		"trace --from shop/web --to shop/db --port TCP/80" "monitor --seconds 1"; do
		# shellcheck disable=SC2086
		net_bulkhead $command || { echo "$command" && return 1; }
	done
	net_ends 0 "of another build" net_bulkhead status &&
		net_bulkhead endpoint add shop/late --ip 10.244.0.77 --labels role=web --node worker-2 &&
		net_bulkhead endpoint del shop/late
}
before=$(hooks_pinned tc_from_endpoint)
net_check "another build's commands read and change the maps and say whose the programs are" other_commands
net_check "another build's commands leave the programs" net_is "$(hooks_pinned tc_from_endpoint)" "$before"

# Runs every command of a build with another BH_ABI, and checks its message about the two layouts.
refused() {
	local BULKHEAD=$NET_TMP/foreign command
	for command in "load $NET_TMP/policy.ini" "load --stage $NET_TMP/policy.ini" status "show rules" \
		"endpoint list" "monitor --seconds 1" unload; do
		# shellcheck disable=SC2086
		net_ends 3 "version $abi,.*version 99.*unload" net_bulkhead $command ||
			{ echo "$command" && return 1; }
	done
}
abi=$(sed -n 's/^#define BH_ABI //p' "$NET_TOP/maps/abi.h")
generation=$(net_bulkhead show generation)
net_check "a build with another layout is refused and says what to do" refused
net_check "the refusal changes neither programs nor generation" net_is "$(hooks_pinned tc_from_endpoint) $(net_bulkhead show generation)" \
	"$before $generation"
net_check "the policy is enforced after the refusal" hooks_enforced

# Killed at a change of state, the load leaves each hook with a program of one build; the next load, by
# either build in turn, completes the change. CRASH=all walks every change of state.
STEP=3 SAMPLE=4
[ -z "${BULKHEAD_SMALL:-}" ] || STEP=11 SAMPLE=1
[ -z "${CRASH:-}" ] || STEP=1
walk() {
	local at n turn=first
	BULKHEAD=$NET_TMP/second net_fault state 0 kill load "$NET_TMP/policy.ini" >"$NET_TMP/killed" 2>&1 || return
	mapfile -t at < <(net_places $STEP $SAMPLE)
	for n in "${at[@]}"; do
		load first >"$NET_TMP/out" && BULKHEAD=$NET_TMP/second \
			net_kill_at state "$n" "load first" load "$NET_TMP/policy.ini" || return
		hooks_enforced || { echo "killed at $n" && return 1; }
		net_bulkhead status >"$NET_TMP/out" || { echo "killed at $n: no status" && return 1; }
		grep -q "another build" "$NET_TMP/out" && seen="$seen second" || seen="$seen first"
		load $turn && hooks_converged || { echo "killed at $n: not repaired" && return 1; }
		load $turn -v | grep -qx '0 map writes' ||
			{ echo "killed at $n: the repair left something to do" && return 1; }
		[ $turn = first ] && turn=second || turn=first
	done
	[ ${#at[@]} -gt 0 ]
}
seen=""
net_stream db recv 1001 1002
net_stream web send "$db4" 1001 1002
net_check "an upgrade killed anywhere leaves programs of one build" walk
net_check "some kills left the first build's programs" grep -q first <<<"$seen"
net_check "some kills left the second build's programs" grep -q second <<<"$seen"
net_check "the connection goes on after all kills" hooks_connected
net_stream_end
net_check "no allowed datagram was lost during the kills" \
	net_is "$(net_count db 1001)" "$(net_count web 1001)"
net_check "no denied datagram arrived during the kills" net_is "$(net_count db 1002)" 0
net_check "unload" net_bulkhead unload

# Programs of a build before at_<name> look the maps up directly, and the pins have no such places. This build's load makes
# them, and puts maps there that can be replaced: arrays in place of those of a fixed size.
map_flags() { # PIN
	bpftool -j map show pinned "$NET_PIN/$1" | sed 's/.*"flags":\([0-9]*\).*/\1/'
}
many_ports() { # prints the policy with more port intervals than the maps were made for
	sed '/^ingress/s/$/, TCP\/1100/' "$NET_TMP/policy.ini"
	printf '[network-policy shop/web]\nendpoints = role=web\ningress = ports '
	seq -f 'TCP/%g,' 2000 2 59998 | tr '\n' '\t' | sed 's/\t/\n\t/g'
	echo TCP/60000
}
hooks_disconnect
net_check "the build that knows no places loads" load direct
net_check "the pins have no places" eval '! ls "$NET_PIN" | grep ^at_'
net_check "the pinned arrays cannot be in a place" eval '[ $(($(map_flags ports) & 0x1000)) -eq 0 ]'
hooks_connect
net_check "a connection opens, without places" hooks_connected
net_check "the policy is enforced without places" hooks_enforced
net_check "this build's load replaces the programs that know no places" net_ends 0 "programs were replaced" load first
net_check "every hook has this build's programs in their place" hooks_converged
net_check "each place has the pinned map" hooks_placed
net_check "the connection goes on by places" hooks_connected
net_check "the policy is enforced by places" hooks_enforced
net_check "the same load again, with places, writes nothing" net_ends 0 '^0 map writes' load first -v
net_check "status --check has no problem with the places" net_bulkhead status --check
before=$(hooks_pinned tc_from_endpoint)
many_ports >"$NET_TMP/many.ini"
net_check "a policy that outgrows a map is loaded" net_bulkhead load "$NET_TMP/many.ini"
net_check "that load keeps the programs" net_is "$(hooks_pinned tc_from_endpoint)" "$before"
net_check "each place has the larger map" hooks_placed
net_check "the connection goes on by the larger maps" hooks_connected
net_check "unload the places" net_bulkhead unload

# What a pod has learned by domain names belongs to no build.
for n in 1 2; do
	ip -n "$NET-out" addr add 172.18.0.$n/32 dev lo
done
dns_pods=web
policy "Accept to names(api.example.com) ports TCP/80" >"$NET_TMP/names.ini"
load_names() { # first|second
	BULKHEAD=$NET_TMP/$1 net_bulkhead load --set dns-grace=600 "$NET_TMP/names.ini"
}
killed_names() { # N
	local BULKHEAD=$NET_TMP/second
	net_fails 99 net_fault state "$1" kill load "$NET_TMP/names.ini"
}
learned() { # WHEN
	net_allowed web tcp 172.18.0.1 80 "the address that web has learned is open $1"
	net_denied web tcp 172.18.0.2 80 "an address that nobody has learned is closed $1"
}
net_check "load a policy with a name" load_names first
dns_answers a=172.18.0.1
dns_asks web api.example.com
learned "at first"
for build in second first; do
	net_check "the $build build replaces the programs under names" net_ends 0 "programs were replaced" load_names $build
	learned "under the $build build"
done
for at in 1 2 4 8; do
	net_check "the second build's load of names is killed at its change $at" killed_names "$at"
	learned "after the kill at change $at"
	net_check "the first build loads names after the kill at change $at" load_names first
	learned "after that load, $at"
done
net_check "unload" net_bulkhead unload

# The same with TC filters, as on a kernel without TCX, and with an uplink that has another XDP program.
net_on node "$NET_HELPERS/foreign" xdp eth0
cat >"$NET_TMP/no_tcx.c" <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
typedef int create(int program, int target, int type, const void *options);
int bpf_link_create(int program, int target, int type, const void *options)
{
	if (type != 46 && type != 47) /* TCX */
		return ((create *)dlsym(RTLD_NEXT, "bpf_link_create"))(program, target, type, options);
	errno = EINVAL;
	return -EINVAL;
}
EOF2
gcc -shared -fPIC -o "$NET_TMP/no_tcx.so" "$NET_TMP/no_tcx.c" || exit 1
export LD_PRELOAD=$NET_TMP/no_tcx.so
hooks_disconnect
upgrade
net_check "the endpoints' hooks were filters" net_ends 0 "tc ingress clsact, egress clsact" net_bulkhead status
net_check "unload" net_bulkhead unload
net_end
