#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas that bring and take endpoints on a bridge: the first, one of two, the last; with the interface gone, there,
# or quarantined as by a follower; behind the node's own port of the bridge, and behind an interface that is no
# bridge. Each is planned from what it names, and a load of the whole policy afterwards finds nothing to change. The
# bridge's other ports are guarded as after that load. So they are after `endpoint add` of the first one.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start far
NET_BRIDGE=(type bridge)
net_bridge db web late stray
net_bridge_routes
net_serve db web late stray
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"

policy() { # LINE...
	net_head
	net_endpoint far
	printf '[endpoint shop/other-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		db 1 1 db web 2 2 web
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
	END
	printf '%s\n' "$@"
}
late() {
	net_bridged late 3 "labels = role=web"
}
policy >"$here/0.ini"
policy "$(net_bridged db 1)" "$(net_bridged web 2)" >"$here/1.ini"
policy "$(net_bridged db 1)" "$(net_bridged web 2)" "$(late)" >"$here/2.ini"
cp "$here/1.ini" "$here/3.ini"
cp "$here/2.ini" "$here/4.ini"
cp "$here/1.ini" "$here/5.ini"
late | sed '/^node = /d' >"$here/late.ini"
net_bridged db 1 | sed '/^node = /d' >"$here/db.ini"
for name in one first again anew half back; do
	policy "$(net_bridged db 1)" >"$here/$name.ini"
done
for name in none closed shut empty gone unlinked alone; do
	policy >"$here/$name.ini"
done
policy "$(net_bridged db 1)" "$(net_bridged web 2)" >"$here/two.ini"
policy "$(net_endpoint_at web worker-1 "10.51.0.2, fd51::2" "interface = veth-web" "mode = l2")" >"$here/own.ini"
policy "$(net_endpoint_at web worker-1 "10.52.0.2, fd52::2" "interface = veth-web")" >"$here/via.ini"
net_check "compile policies and deltas" \
	chain 0 1 2 3 4 5 one none first closed again shut anew two half empty back gone own unlinked via alone

step() { # NAME WHAT
	net_check "a delta: $2" load_delta "$1"
	net_check "$2: a load of the whole policy has nothing to change" whole_changes_nothing "$1"
}
# Returns 0 if the node drops, as a claim, a packet with another's address from a port that is no endpoint's.
claims() { # POD NUMBER ADDRESS TO
	net_moved net_frame "$1" eth0 "02:00:00:00:04:0$2" 02:00:00:00:04:03 udp "$3" "$4" 7001 >"$NET_TMP/moved"
	cat "$NET_TMP/moved"
	grep -qx "drop 1 claims an address of this node or its endpoints" "$NET_TMP/moved"
}
guards() { # WHEN [POD NUMBER]: the port of a pod that is no endpoint
	net_check "$1: what ${2:-stray} claims is dropped" claims "${2:-stray}" "${3:-4}" "$(net_ip far)" 10.50.0.3
	net_check "$1: what ${2:-stray} claims over IPv6 is dropped" claims "${2:-stray}" "${3:-4}" "$(net_ip6 far)" fd50::3
}
passes() { # ADDRESS TO
	! claims stray 4 "$1" "$2"
}
leaves_be() { # WHEN
	net_check "$1: the bridge's ports are not guarded" passes "$(net_ip far)" 10.50.0.3
	net_check "$1: the bridge's ports are not guarded over IPv6" passes "$(net_ip6 far)" fd50::3
}
is_closed() { # WHEN
	local address
	for address in 10.50.0.4 fd50::4; do
		net_denied db tcp "$address" 80 "$1: db sends nothing to $address"
	done
	for address in 10.50.0.1 fd50::1; do
		net_denied stray tcp "$address" 80 "$1: nothing reaches $address"
	done
}
is_db() { # WHEN
	local address
	for address in 10.50.0.4 fd50::4; do
		net_allowed db tcp "$address" 80 "$1: db reaches $address"
	done
	for address in 10.50.0.1 fd50::1; do
		net_denied stray tcp "$address" 80 "$1: stray does not reach $address"
	done
}
is_web() { # WHEN
	local address
	for address in 10.50.0.1 fd50::1; do
		net_allowed late tcp "$address" 80 "$1: late reaches $address at its port"
		net_denied late tcp "$address" 443 "$1: late does not reach another port"
	done
}
about_interfaces() {
	"$NET_HELPERS/entries" "$NET_PIN" ifaces macs link_locals
}
as_loaded() { # NAME [OPTION]: the entries about interfaces are those that a load of the whole policy makes
	about_interfaces >"$NET_TMP/by-add" && load "${@:2}" "$here/$1.bhp" && about_interfaces | diff "$NET_TMP/by-add" -
}
again() { # NAME [OPTION]
	load --rollback --force "${@:2}" "$here/$1.bhp"
}
net_check "load a policy without endpoints on the bridge" load "$here/0.bhp"
leaves_be "without endpoints"

# `endpoint add` of the first endpoint of a bridge, and of one that came after the load
net_check "endpoint add of the first endpoint of the bridge" net_bulkhead endpoint add -f "$here/db.ini"
guards "the first endpoint is added"
is_db "the first endpoint is added"
net_check "endpoint del of the last endpoint of the bridge" net_bulkhead endpoint del shop/db
guards "the last endpoint is deleted, until the next load"
net_check "load the policy without endpoints again" again 0
leaves_be "loaded without endpoints"
net_check "endpoint add of the first endpoint again" net_bulkhead endpoint add -f "$here/db.ini"
net_check "endpoint add makes the entries that a load of the whole policy makes" as_loaded one
net_check "load the policy without endpoints again" again 0
# Killed anywhere, `endpoint add` does so when it is repeated.
add() { # FAULT
	net_fault state "$1" kill endpoint add -f "$here/db.ini"
}
without() {
	net_bulkhead endpoint del shop/db && again 0
}
calls() {
	add 0 && without
}
net_check "count the calls of endpoint add" calls
add_again() {
	net_bulkhead endpoint add -f "$here/db.ini" || net_is $? 2
}
for at in $(net_places 1 8); do
	add "$at" >"$NET_TMP/fault" 2>&1
	net_check "killed at call $at: endpoint add again" add_again
	net_check "killed at call $at: nothing is unguarded" net_bulkhead status --check
	guards "killed at call $at"
	net_check "without endpoints again" without
done
# Refused at any change of state, it leaves the bridge and its other ports as they were.
net_check "count the calls of endpoint add again" calls
mapfile -t places < <(net_places 1 100)
about_interfaces >"$NET_TMP/about"
refuse_add() { # CALL
	net_fault state "$1" 12 endpoint add -f "$here/db.ini" >"$NET_TMP/fault" 2>&1
	case $? in
	0) without ;; # the call was made after the commit
	3) refusals=$((refusals + 1)) && about_interfaces | diff "$NET_TMP/about" - ;;
	*) cat "$NET_TMP/fault" && false ;;
	esac
}
refusals=0
for at in "${places[@]}"; do
	net_check "refused at call $at: the interfaces' entries are as before" refuse_add "$at"
done
net_check "endpoint add was refused at more than one call" test $refusals -gt 1
leaves_be "endpoint add was refused"
net_check "an audited load without endpoints" again 0 --audit
net_check "endpoint add of the first endpoint, audited" net_bulkhead endpoint add -f "$here/db.ini"
net_check "endpoint add makes the entries that an audited load makes" as_loaded one --audit
net_check "load the policy without endpoints again" again 0
new_bridge() {
	ip -n "$NET-node" link add br1 address 02:00:00:00:05:02 type bridge && ip -n "$NET-node" link set br1 up &&
		ip -n "$NET-node" link set veth-stray master br1 && ip -n "$NET-node" link set veth-db master br1
}
net_check "a bridge that came since the load" new_bridge
net_check "endpoint add of its first endpoint" net_bulkhead endpoint add -f "$here/db.ini"
net_check "nothing is unguarded before the next load" net_bulkhead status --check
net_check "endpoint add makes the entries that a load makes there" as_loaded one
old_bridge() {
	ip -n "$NET-node" link set veth-stray master br0 && ip -n "$NET-node" link set veth-db master br0 &&
		ip -n "$NET-node" link del br1 && again 0
}
net_check "without that bridge" old_bridge
leaves_be "with the first bridge again"

step 1 "the first endpoints of the bridge"
guards "with endpoints"
net_denied late tcp 10.50.0.1 80 "late is nobody"
net_denied late tcp fd50::1 80 "late is nobody over IPv6"
net_check "a delta that brings one more" load_delta 2
is_web "by a delta"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 2
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "a delta that takes it" load_delta 3
net_denied late tcp 10.50.0.1 80 "late is nobody again"
net_denied late tcp fd50::1 80 "late is nobody again over IPv6"
net_check "endpoint add" net_bulkhead endpoint add -f "$here/late.ini"
is_web "added"
net_check "a delta that takes the added endpoint over" load_delta 4
is_web "taken over"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 4
net_check "the interface goes" ip -n "$NET-node" link del veth-late
net_check "a delta that takes the endpoint whose interface is gone" load_delta 5
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 5
net_allowed web tcp 10.50.0.1 80 "the others are as before"
net_denied web tcp 10.50.0.1 443 "the others reach no more than before"
net_allowed web tcp fd50::1 80 "the others are as before over IPv6"
net_denied web tcp fd50::1 443 "the others reach no more than before over IPv6"

# The endpoints' interfaces are there.
refused() { # the delta is refused as the whole policy is, and changes nothing
	state "$NET_TMP/before"
	load "$here/one.bhd" >"$NET_TMP/by-delta" 2>&1
	net_is $? 2 && grep "shop/web would be taken off" "$NET_TMP/by-delta" || return
	load "$here/one.bhp" >"$NET_TMP/by-whole" 2>&1
	net_is $? 2 && diff "$NET_TMP/by-delta" "$NET_TMP/by-whole" && state "$NET_TMP/after" &&
		diff "$NET_TMP/before" "$NET_TMP/after"
}
net_check "a delta that takes one of two endpoints off an interface that is there is refused" refused
force_delta() { # NAME
	load --force "$here/$1.bhd" >"$NET_TMP/said" 2>&1 && test -e "$NET_PIN/blob_base"
}
force() { # NAME WHAT
	net_check "a delta, --force: $2" force_delta "$1"
	net_check "$2: the load names the endpoint" grep "is taken off, and its interface" "$NET_TMP/said"
	net_check "$2: a load of the whole policy has nothing to change" whole_changes_nothing "$1"
}
force one "one of two endpoints goes"
guards "one of two endpoints is gone"
guards "one of two endpoints is gone" web 2
force none "the last endpoint goes"
leaves_be "the last endpoint is gone"
step first "the first endpoint of the bridge, alone"
guards "with the first endpoint"
is_db "with the first endpoint"

# A follower quarantines the interface, and the other ports of its bridge stay guarded.
follower_step closed "the last endpoint goes"
guards "the last endpoint is quarantined"
is_closed "the last endpoint is quarantined"
net_check "a load of the whole policy that is no follower's leaves the quarantine" whole_changes_nothing closed
follower_step again "the first endpoint of the bridge, quarantined before"
guards "the first endpoint is back"
is_db "the first endpoint is back"
twice() { # two loads of the whole policy
	net_is "$(follower shut.bhp)" whole && follower_changes_nothing shut
}
net_check "a follower's load of a whole policy takes the last endpoint, and the same load again changes nothing" twice
guards "quarantined by a whole load"
is_closed "quarantined by a whole load"
follower_step anew "the first endpoint again"
step two "a second one"
follower_step half "one of two endpoints goes"
guards "one of two endpoints is quarantined"
is_db "one of two endpoints is quarantined"
follower_step empty "the last endpoint goes, beside a quarantined one"
guards "both are quarantined"
is_closed "both are quarantined"
step back "the first endpoint is back"
is_db "back"
net_check "the interface of the last endpoint goes" ip -n "$NET-node" link del veth-db
follower_step gone "the last endpoint goes after its interface, beside a quarantined one"
guards "one is quarantined still"

# The node reaches an endpoint by a port of its own on the bridge, with a MAC and a link-local address.
by() { # INTERFACE: the node reaches web by it
	ip -n "$NET-node" link set "$1" up && ip -n "$NET-node" route add "$2" dev "$1" &&
		ip -n "$NET-node" route add "$3" dev "$1"
}
own_port() {
	ip -n "$NET-node" link add own0 address 02:00:00:00:05:10 type veth peer name own1 &&
		ip -n "$NET-node" link set own1 master br0 up && by own0 10.51.0.2 fd51::2
}
has_own_port() { # YES|NO: own0's MAC and its link-local address are the node's
	local mac link
	mac=$("$NET_HELPERS/entries" "$NET_PIN" macs | grep -c '^0200000005100100 ')
	link=$("$NET_HELPERS/entries" "$NET_PIN" link_locals | grep -c 'fe80000000000000000000fffe000510 ')
	net_is "$mac $link" "$1"
}
net_check "a port of the node's own" own_port
net_check "load before it has an endpoint" load "$here/gone.bhp"
net_check "without an endpoint the port's addresses are nobody's" has_own_port "0 0"
step own "the first endpoint behind the node's own port"
net_check "with an endpoint the port's addresses are the node's" has_own_port "1 1"
guards "an endpoint is behind the node's own port"
follower_step unlinked "the last endpoint behind the node's own port goes"
net_check "without an endpoint the port's addresses are nobody's again" has_own_port "0 0"

# The node reaches an endpoint by another interface than a bridge.
other_way() {
	net_link node via0 02:00:00:00:05:20 out via1 02:00:00:00:05:21
	ip -n "$NET-node" link set veth-web nomaster && by via0 10.52.0.2 fd52::2
}
is_way() { # FLAGS of its entry, as hexadecimal bytes
	local index
	index=$(printf %02x "$(ip -n "$NET-node" -o link show via0 | cut -d: -f1)")
	"$NET_HELPERS/entries" "$NET_PIN" ifaces | grep "^${index}000000 $1"
}
net_check "another way" other_way
net_check "load before that way has an endpoint" load "$here/unlinked.bhp"
net_check "without an endpoint that way is another interface" is_way 0004
step via "the first endpoint behind an interface that is no bridge"
net_check "with an endpoint packets of endpoints may come in by it" is_way 000c
force alone "the last endpoint behind an interface that is no bridge"
net_check "without an endpoint that way is another interface again" is_way 0004
net_endpoint_at web worker-1 "10.52.0.2, fd52::2" "interface = veth-web" | sed '/^node = /d' >"$here/web.ini"
net_check "endpoint add of the first endpoint behind that way" net_bulkhead endpoint add -f "$here/web.ini"
net_check "with the added endpoint packets of endpoints may come in by it" is_way 000c

# The first endpoint of the node: its MACs stand for the address that the Node object names, not the bridge's.
{ net_head && net_node_object && printf '[endpoint shop/a]\nnode = far\nip = 10.9.1.1\nlabels = role=stray\n'; } >"$here/node.ini"
{ cat "$here/node.ini" && net_bridged stray 4; } >"$here/begin.ini"
net_bridged stray 4 >"$here/stray.ini"
far_node() {
	printf '[node far]\nip = 192.168.8.1\n'
}
sed 's/^ip = 192.168.7.1, fd07::1$/ip = 192.168.7.77, fd07::77/' "$here/begin.ini" >"$here/renumbered.ini"
{ cat "$here/renumbered.ini" && far_node; } >"$here/beside.ini"
{ net_head && net_bridged stray 4 && far_node; } >"$here/nameless.ini"
cp "$here/beside.ini" "$here/named.ini"
net_check "compile a policy with a Node object, and deltas" chain node begin renumbered beside nameless named
net_check "unload" net_bulkhead unload
net_check "load a policy without endpoints on the node" load "$here/node.bhp"
step begin "the first endpoint of the node"
net_check "unload" net_bulkhead unload
net_check "load it again" load "$here/node.bhp"
net_check "endpoint add of the first endpoint" net_bulkhead endpoint add -f "$here/stray.ini"
macs() {
	"$NET_HELPERS/entries" "$NET_PIN" macs
}
macs >"$NET_TMP/by-add"
net_check "a load of the whole policy" load "$here/begin.bhp"
net_check "endpoint add gave the node's MACs the addresses that the load gives" eval 'macs | diff "$NET_TMP/by-add" -'

# The node's own addresses change: its MACs stand for the new ones.
stands_for() { # ADDRESS in hexadecimal: an IPv4 address for which each MAC of the node stands
	net_is "$(macs | sed -n 's/^............0100 00000000000000000000ffff\(.\{8\}\).*/\1/p' | sort -u)" "$1"
}
readdressed() { # NAME ADDRESS WHAT
	net_check "$3: a delta" load "$here/$1.bhd"
	net_check "$3: the node's MACs stand for it" stands_for "$2"
	net_check "$3: a load of the whole policy has nothing to change" whole_changes_nothing "$1"
}
net_check "the node's MACs stand for the Node object's address" stands_for c0a80701
readdressed renumbered c0a8074d "the Node object has another address"
step beside "another node comes"
readdressed nameless 0a320009 "the Node object goes, and the node's own first address counts"
readdressed named c0a8074d "the Node object comes"

net_end
