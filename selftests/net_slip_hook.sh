#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What really is in the kernel: programs of Bulkhead without pins are named by status and removed by load and
# unload; a program that runs before Bulkhead's is named; a lost pin is put back; another network namespace is
# told apart.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
db4=$(net_ip db)
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"
sed '/^\[network-policy shop\/db\]/,/^ingress/d; s/^types = Egress/types = Ingress/; /^egress/d' "$NET_TMP/policy.ini" >"$NET_TMP/open.ini"

xdp() { # COUNT: so many interfaces of the node have an XDP program
	net_is "$(ip -n "$NET-node" -o link show | grep -c 'prog/xdp\|xdpgeneric\|xdpdrv\|xdp ')" "$1"
}
fine() {
	net_is "$(net_bulkhead status --check)" ""
}
orphan='interface eth0: a program of Bulkhead whose pins are gone'

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "status --check has no problem after load" fine
net_denied out tcp "$db4" 443 "the outside does not reach db"
rm -rf "$NET_PIN"
net_check "the uplink's program outlives its pins" xdp 1
net_check "status names the orphan where nothing is loaded" net_ends 1 "$orphan" net_bulkhead status --check
net_check "status without --check names the orphan" net_ends 0 "$orphan" net_bulkhead status
net_check "load removes the orphan" net_ends 0 "eth0 had a program of Bulkhead whose pins were gone" \
	net_bulkhead load "$NET_TMP/open.ini"
net_check "the uplink has the new program" xdp 1
net_check "status --check has no problem after that load" fine
net_allowed out tcp "$db4" 443 "the outside reaches db by the new policy"
net_check "the next load writes nothing" net_is "$(net_writes "$NET_TMP/open.ini")" 0
rm -rf "$NET_PIN"
net_check "unload removes the orphan" net_ends 0 "eth0 had a program of Bulkhead whose pins were gone" net_bulkhead unload
net_check "no XDP program is left" xdp 0
net_check "another unload finds nothing" net_is "$(net_bulkhead unload 2>&1)" ""

# Lost pins of maps that only the programs need.
net_check "load before pins are lost" net_bulkhead load "$NET_TMP/policy.ini"
checked() { # PIN: status --check names it, or says that load puts it back
	case $1 in
	ct | share_total | readers | tallies) net_ends 3 "load puts a missing pin back" net_bulkhead status --check ;;
	*) net_ends 1 "^pin $1: is missing; load again" net_bulkhead status --check ;;
	esac
}
for pin in ct counters share_total rule_hits readers tallies learned at_endpoints at_rule_hits pairs endpoints ifaces macs; do
	[ -e "$NET_PIN/$pin" ] || continue
	before=$(bpftool -j map show pinned "$NET_PIN/$pin" | sed 's/.*"id":\([0-9]*\).*/\1/')
	rm "$NET_PIN/$pin"
	net_check "status --check has a problem without the pin $pin" checked "$pin"
	[ "$pin" != counters ] ||
		net_check "metrics without the pin $pin say who names it" net_ends 3 "status --check names missing pins" net_bulkhead metrics
	[ "$pin" != tallies ] ||
		net_check "monitor without the pin $pin says what to do" net_ends 3 "tallies: load puts a missing pin back" net_bulkhead monitor -s 1
	net_check "load puts the pin $pin back" net_ends 0 "$pin was missing: it is put back" net_bulkhead load "$NET_TMP/policy.ini"
	net_check "the pin $pin is the map in use" net_is "$before" \
		"$(bpftool -j map show pinned "$NET_PIN/$pin" | sed 's/.*"id":\([0-9]*\).*/\1/')"
	net_check "status --check has no problem with the pin $pin back" fine
done
mv "$NET_PIN/config" "$NET_PIN/aside"
for command in "monitor -s 1" status; do
	# shellcheck disable=SC2086
	net_check "${command% -*} without the pin config does not say that nothing is loaded" net_ends 3 \
		"cannot open $NET_PIN/config: No such file or directory; to start anew" net_bulkhead $command
done
mv "$NET_PIN/aside" "$NET_PIN/config"
net_check "unload after pins were lost" net_bulkhead unload

# Two instances of Bulkhead in one network namespace: neither takes the other's program for an orphan.
second() { # SUBCOMMAND ARGUMENT...
	net_on node "$BULKHEAD" "$1" --pin "$NET_PIN-second" "${@:2}"
}
net_check "load the first instance" net_bulkhead load "$NET_TMP/policy.ini"
net_check "load a second instance" second load "$NET_TMP/open.ini"
net_check "the second instance has no orphan" net_is "$(second status --check | grep -c 'pins are gone')" 0
net_check "unload the second instance" second unload
net_check "the first instance has all of its programs" fine
net_denied out tcp "$db4" 443 "the first instance enforces its policy"
net_allowed web tcp "$db4" 80 "the first instance allows what its policy allows"

# Another network namespace.
outside() { # SUBCOMMAND ARGUMENT...
	net_on out "$BULKHEAD" "$1" --pin "$NET_PIN" "${@:2}"
}
if [ -n "$(find "$NET_PIN" -name 'tcx_*')" ]; then
	net_check "status of another network namespace says so" net_ends 1 "active in another network namespace" outside status --check
	net_check "status without --check says so" net_ends 0 "active in another network namespace" outside status
	net_check "load in another network namespace is refused" net_ends 2 "active in another network namespace" \
		outside load "$NET_TMP/open.ini"
	net_check "the refused load changes nothing" fine
	net_denied out tcp "$db4" 443 "the policy is enforced still"
fi

# An interface that leaves the namespace takes its programs along, and may keep its number: the next interface of that
# number has none of them.
again() { # the link between the node and web, made anew
	local number mac
	number=$(ip -n "$NET-node" -o link show veth-web | cut -d: -f1) mac=$(net_mac web)
	ip -n "$NET-node" link set veth-web netns "$NET-out" name aside || return
	ip -n "$NET-web" link set eth0 name former && ip -n "$NET-web" addr flush dev former
	net_ips node <<-EOF
	link add veth-web index $number address 02:00:00:00:02:01 type veth peer name eth0 address $mac netns $NET-web
	link set veth-web up
	neigh replace $(net_ip web) dev veth-web lladdr $mac nud permanent
	route replace $(net_ip web) dev veth-web
	neigh replace 10.244.0.77 dev veth-web lladdr $mac nud permanent
	route replace 10.244.0.77 dev veth-web
	EOF
	net_ips web <<-EOF
	link set eth0 up
	addr add $(net_ip web)/32 dev eth0
	addr add 10.244.0.77/32 dev eth0
	route replace default dev eth0
	neigh replace $db4 dev eth0 lladdr 02:00:00:00:02:01 nud permanent
	neigh replace $(net_ip out) dev eth0 lladdr 02:00:00:00:02:01 nud permanent
	EOF
}
net_check "another interface gets the number of one that leaves" again
net_check "status names the interface that has no program" net_ends 1 "NOT GUARDED\|veth-web" net_bulkhead status --check
net_check "load guards it" net_bulkhead load "$NET_TMP/policy.ini"
net_denied web tcp "$(net_ip out)" 80 "web does not send by another's address" 10.244.0.77
net_allowed web tcp "$db4" 80 "web sends what the policy allows by its new interface"
net_check "status --check has no problem with the new interface" fine
ip -n "$NET-out" link del aside

# One screen.
status() { # ARGUMENT...: to a file
	net_bulkhead status "$@" >"$NET_TMP/out" && cat "$NET_TMP/out"
}
net_check "status begins with policy, node, age and who loaded" eval 'status | sed -n 1p |
	grep -E "^generation [0-9]+ is active on worker-1: policy [0-9]+ of lineage [0-9a-f]+, loaded [0-9]+ (s|min) ago by [a-z0-9 _-]+ with load$"'
net_check "status counts what is guarded" eval 'status | sed -n 2p |
	grep -x "2 policies, 2 endpoints guarded, 1 isolated at ingress, 1 at egress, 1 uplinks"'
net_check "status prints uplinks first" eval 'status | sed -n "/^interfaces:/{n;p}" | grep "^  eth0  *uplink, xdp"'
for i in {1..15}; do
	ip -n "$NET-node" link add "more$i" type veth peer name "less$i"
	ip -n "$NET-node" link set "more$i" up
done
net_check "load with many interfaces" net_bulkhead load "$NET_TMP/policy.ini"
net_check "status is one screen" test "$(status | wc -l)" -le 24
net_check "status counts the interfaces that it leaves out" grep -q '^  and 7 more, all guarded (-v)$' "$NET_TMP/out"
net_check "status counts the maps that it leaves out" grep -qE '^  and [0-9]+ more, at most [0-9]+ % full \(-v\)$' "$NET_TMP/out"
net_check "status -v prints all interfaces" net_is "$(status -v | grep -c '^  more')" 15
net_check "status -v prints all maps" grep -qE '^  services +[0-9]+ of' "$NET_TMP/out"
ip -n "$NET-node" link add late0 type veth peer name late1 && ip -n "$NET-node" link set late0 up
net_check "status names a problem first" eval 'status | sed -n 1p | grep "^NOT GUARDED: interface late0"'
ip -n "$NET-node" link del late0

# A node may lack a program at each of its endpoints.
for i in {1..15}; do
	net_bulkhead endpoint add "shop/more$i" --ip "10.244.9.$i" --interface "more$i" --labels role=more >"$NET_TMP/added" 2>&1 || cat "$NET_TMP/added"
done
for i in {1..15}; do ip -n "$NET-node" link del "more$i"; done
for i in {1..25}; do
	ip -n "$NET-node" link add "late$i" type veth peer name "later$i"
	ip -n "$NET-node" link set "late$i" up
done
net_check "status names ten endpoints of many without an interface" net_is "$(status | grep -c '^NOT GUARDED: endpoint')" 10
net_check "status counts the endpoints that it does not name" grep -qx 'and 5 more endpoints that are not guarded (-v)' "$NET_TMP/out"
net_check "status names ten interfaces of many without a program" net_is "$(grep -c '^NOT GUARDED: interface' "$NET_TMP/out")" 10
net_check "status counts the interfaces that it does not name" grep -qx 'and 15 more interfaces that are not guarded (-v)' "$NET_TMP/out"
net_check "the list of interfaces counts those without a program" grep -qE '^  and [0-9]+ more, NOT GUARDED: [0-9]+ \(-v\)$' "$NET_TMP/out"
net_check "status of many problems is two screens" test "$(wc -l <"$NET_TMP/out")" -le 64
net_check "status -v names all endpoints" net_is "$(status -v | grep -c '^NOT GUARDED: endpoint')" 15
net_check "status -v names all interfaces" net_is "$(grep -c '^NOT GUARDED: interface' "$NET_TMP/out")" 25
net_bulkhead status --check >"$NET_TMP/out"
net_check "status --check names all endpoints" net_is "$(grep -c '^NOT GUARDED: endpoint' "$NET_TMP/out")" 15
net_check "status --check names all interfaces" net_is "$(grep -c '^NOT GUARDED: interface' "$NET_TMP/out")" 25
net_check "status -j has all endpoints" net_is "$(net_bulkhead status -j | sed 's/.*"unguarded":\[//;s/\].*//' | grep -o '"name"' | wc -l)" 15
for i in {1..25}; do ip -n "$NET-node" link del "late$i"; done
for i in {1..15}; do net_bulkhead endpoint del "shop/more$i"; done >"$NET_TMP/added" 2>&1

# Another tool's program before Bulkhead's.
foreign=$NET_HELPERS/foreign
if net_on node "$foreign" tcx-first veth-web "${NET_PIN}_foreign" 2>/dev/null; then
	net_allowed web tcp "$db4" 80 "web sends what the policy allows past the other program"
	net_check "status --check names the program that runs first" net_ends 1 \
		"interface veth-web: program foreign runs before Bulkhead's, and may let packets pass" net_bulkhead status --check
	net_check "load names the program, and puts Bulkhead's first" net_ends 0 "warning: veth-web: program foreign ran before" \
		net_bulkhead load "$NET_TMP/policy.ini"
	net_check "status --check has no problem after that" fine
	net_denied web tcp "$(net_ip out)" 80 "web sends nothing that the policy denies"
	net_allowed web tcp "$db4" 80 "web sends what the policy allows"
	net_check "the load after that writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
	rm -f "${NET_PIN}_foreign"
else
	echo "ok $((NET_TEST += 1)) - a program before Bulkhead's # SKIP the kernel has no TCX"
fi
net_end
