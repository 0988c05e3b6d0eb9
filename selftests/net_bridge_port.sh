#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A port of the endpoints' bridge that is no endpoint's has a guard of its own: frames that the bridge
# routes, floods or learns from it are not taken for an endpoint's of this node. The port may become an
# endpoint's or an uplink and back; at no moment can it use another endpoint's address.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
. "$(dirname "$0")/lib/hooks.sh"

ENOMEM=12 STEP=2 SAMPLE=1
[ -z "${BULKHEAD_SMALL:-}" ] || STEP=13 SAMPLE=1
NET_PORTS="80 443 7000"
net_start far

# Four pods on a bridge, the first two of which are endpoints, and `far` behind the node.
bridge=02:00:00:00:05:01
net_bridge db web stray other
net_bridge_routes
net_serve db web stray other
dbs=02:00:00:00:04:01 webs=02:00:00:00:04:02 own=02:00:00:00:04:03 others=02:00:00:00:04:04

{
	net_head "uplink = eth0"
	net_bridged db 1
	net_bridged web 2
	cat <<-EOF2
	$(net_endpoint far)
	$(net_endpoint_at stray-too worker-2 "10.9.0.3, fd09::3" "labels = role=stray")
	[network-policy shop/far]
	endpoints = role=far
	ingress = from endpoints(role=web) ports TCP/80, UDP/7000-7002
	[network-policy shop/stray]
	endpoints = role=stray
	types = Egress
	egress = to endpoints(role=db) ports TCP/80
	EOF2
} >"$NET_TMP/one.ini"
{ cat "$NET_TMP/one.ini" && net_bridged stray 3; } >"$NET_TMP/two.ini"
net_bridged stray 3 >"$NET_TMP/stray.ini"
sed 's/^uplink = .*/uplink = veth-stray/' "$NET_TMP/one.ini" >"$NET_TMP/uplink.ini"
one=$NET_TMP/one.ini two=$NET_TMP/two.ini uplink=$NET_TMP/uplink.ini

claim="drop 1 claims an address of this node or its endpoints"
speaks="drop 1 ARP or neighbour discovery that speaks for others"
by_egress="drop 1 denied by the source's policy"
forge() { # FROM-MAC TO-MAC KIND...: which counters it moves
	net_moved net_frame stray eth0 "$@"
}
passes() { # COMMAND...: what it sends; to a port where nobody is, the answer is an error
	net_moved "$@" >"$NET_TMP/moved"
	grep -q '^pass' "$NET_TMP/moved" && ! grep -q '^drop' "$NET_TMP/moved" || { cat "$NET_TMP/moved" && false; }
}
has_hooks() { # INTERFACE INGRESS [EGRESS]: the programs that it carries, and no others of ours
	hooks_look
	hooks_carry "$1" ingress "$2" && hooks_carry "$1" egress "${3:-}"
}
is_port() { has_hooks "${1:-veth-stray}" tc_uplink tc_leave && role "${1:-veth-stray}" "bridge port, tc ingress"; }
is_endpoint() { has_hooks "${1:-veth-stray}" tc_from_endpoint tc_to_endpoint && role "${1:-veth-stray}" "endpoint,"; }
is_uplink() { has_hooks veth-stray "" tc_leave && role veth-stray "uplink, xdp [ng]"; }
role() { # INTERFACE TEXT
	net_bulkhead status | grep "^  $1 .*$2" | grep -v "NOT GUARDED" ||
		{ net_bulkhead status && return 1; }
}
knows() { # POD ADDRESS: the MAC that it has for it
	ip -n "$NET-$1" neigh show "$2" dev eth0 | grep -o '02:00[0-9a-f:]*'
}
port_of() { # MAC: which port the bridge sends it to
	net_on node bridge fdb show br br0 | sed -n "s/^$1 dev \([^ ]*\) .*/\1/p" | head -n 1
}
hooks() {
	net_on node bpftool -j net show | sed -E 's/"(prog_)?id":[0-9]+,?|:\[[0-9]+\]//g'
	net_on node tc qdisc show
}
# Frames that stray's port sends with web's addresses are dropped, over IPv4 and IPv6; web's own pass.
holds() {
	local ends
	for ends in "10.50.0.2 $(net_ip far)" "fd50::2 $(net_ip6 far)"; do
		# shellcheck disable=SC2086
		forge $own $bridge udp $ends 7001 >"$NET_TMP/forged"
		grep -q '^drop 1 ' "$NET_TMP/forged" && [ "$(wc -l <"$NET_TMP/forged")" = 1 ] ||
			{ echo "forged: $(cat "$NET_TMP/forged")" && return 1; }
		net_ask web udp "${ends#* }" 7000 $NET_WAIT_ALLOWED || { echo "web is denied" && return 1; }
	done
}
unloaded=$(hooks)

# Without the guard, the attacks succeed.
for ends in "10.50.0.2 10.50.0.1" "fd50::2 fd50::1"; do
	web=${ends% *}
	net_allowed db tcp "$web" 80 "before load, db reaches $web"
	net_check "before load, db knows the MAC of $web" net_is "$(knows db "$web")" $webs
done
net_frame stray eth0 $own $dbs arp $own 10.50.0.2
net_frame stray eth0 $own $dbs nd fd50::3 fd50::1 $own fd50::2
net_check "before load, a port takes another's place by ARP" net_is "$(knows db 10.50.0.2)" $own
net_check "before load, a port takes another's place by neighbour discovery" net_is "$(knows db fd50::2)" $own
# Any frame from web makes the bridge learn web's own port again.
takes_place() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		net_frame stray eth0 $webs $dbs udp 10.50.0.3 10.50.0.1 9
		[ "$(port_of $webs)" != veth-stray ] || return 0
	done
	echo "after $i frames $webs is still at $(port_of $webs)" && false
}
net_check "before load, a port takes another's place by its MAC" takes_place
ip -n "$NET-db" neigh flush dev eth0

net_bulkhead load "$one" >"$NET_TMP/told" 2>&1
net_check "load" net_is $? 0
net_check "load counts the other ports" grep -q ", 1 uplinks, 2 other bridge ports$" "$NET_TMP/told"
net_check "status has stray's port as a guarded bridge port" is_port
net_check "status has the second port as a guarded bridge port" is_port veth-other
net_check "status -j has stray's port as a port" eval 'net_bulkhead status -j | grep -q "\"name\": *\"veth-stray\",[^}]*\"role\": *\"port\""'
net_check "the same load again writes nothing" net_is "$(net_writes "$one")" 0

for ends in "10.50.0.3 10.50.0.2 10.50.0.9 10.50.0.4 $(net_ip far)" \
		"fd50::3 fd50::2 fd50::9 fd50::4 $(net_ip6 far)"; do
	read -r stray web node other far <<<"$ends"
	echo "# $far"
	net_check "a packet from $web by stray's port to a routed endpoint is a claim" net_is "$(forge $own $bridge udp "$web" "$far" 7001)" "$claim"
	net_check "a fragment from $web by stray's port is a claim" net_is "$(forge $own $bridge rest "$web" "$far" 77)" "$claim"
	net_check "a packet from $web by stray's port to another port is a claim" net_is "$(forge $own $others udp "$web" "$other" 7001)" "$claim"
	net_check "a packet from the node's $node by stray's port is a claim" net_is "$(forge $own $bridge udp "$node" "$far" 7001)" "$claim"
	net_check "a packet with web's MAC by stray's port is a claim" net_is "$(forge $webs $others udp "$stray" "$other" 7001)" "$claim"
	net_check "a packet from $stray itself is evaluated by policy" net_is "$(forge $own $bridge udp "$stray" "$far" 7001)" \
		"drop 1 denied by the destination's policy"
	net_allowed stray tcp "$web" 80 "$stray reaches a pod without policy"
	net_allowed stray tcp "$other" 443 "$stray reaches $other, which no policy guards"
	net_allowed other tcp "$stray" 443 "$other reaches $stray"
	net_allowed stray tcp "$node" 443 "$stray reaches the node at $node"
	net_allowed db tcp "$web" 443 "db reaches $web at its own port"
	net_allowed web tcp "$far" 80 "$web is routed from its own port"
	net_check "the packet that was a claim passes by web's own port" passes net_frame web eth0 $webs $bridge udp "$web" "$far" 7001
	net_check "db has web's MAC for $web" net_is "$(knows db "$web")" $webs
done
net_check "stray's ARP for web's address is dropped" net_is "$(forge $own $dbs arp $own 10.50.0.2)" "$speaks"
net_check "stray's ARP for the node's address is dropped" net_is "$(forge $own $dbs arp $own 10.50.0.9)" "$speaks"
net_check "stray's ARP with web's MAC is a claim" net_is "$(forge $webs $dbs arp $webs 10.50.0.3)" "$claim"
net_check "stray's advertisement of web's address is dropped" net_is "$(forge $own $dbs nd fd50::3 fd50::1 $own fd50::2)" "$speaks"
net_check "stray's advertisement from web's address is a claim" net_is "$(forge $own $dbs nd fd50::2 fd50::1 $own fd50::2)" "$claim"
net_check "db still has web's MAC for 10.50.0.2" net_is "$(knows db 10.50.0.2)" $webs
net_check "db still has web's MAC for fd50::2" net_is "$(knows db fd50::2)" $webs
net_check "the bridge still has web's port" net_is "$(port_of $webs)" veth-web
net_check "stray's own ARP passes" net_is "$(forge $own $dbs arp $own 10.50.0.3)" ""
net_check "stray's own advertisement passes" net_is "$(forge $own $dbs nd fd50::3 fd50::1 $own fd50::3)" ""

# An audited port's claims pass and are reported.
net_check "load --audit" net_bulkhead load --audit "$one"
net_nobody other 10.50.0.2
net_check "under --audit a claim is counted" net_is "$(forge $own $others udp 10.50.0.2 10.50.0.4 7001)" "audit 1 ${claim#drop 1 }"
ip -n "$NET-other" route del blackhole 10.50.0.2
net_check "load without --audit" net_bulkhead load "$one"

# The port changes its role by load, endpoint add and endpoint del.
net_check "stage a policy that makes stray an endpoint" net_bulkhead load --stage "$two"
net_check "staging leaves the port as it was" is_port
staged=$(net_bulkhead status | sed -n 's/^policy \([0-9]*\) is staged/\1/p')
net_check "activate the staged policy" net_bulkhead load --activate "$staged"
net_check "stray's port is guarded as an endpoint's" is_endpoint
net_check "stray still cannot send with web's addresses" holds
net_check "stray's egress policy is active" net_is "$(forge $own $webs udp 10.50.0.3 10.50.0.2 7000)" "$by_egress"
net_allowed stray tcp 10.50.0.1 80 "stray sends what its policy allows"
net_check "the same load again writes nothing" net_is "$(net_writes "$two")" 0
net_check "load a policy without stray" net_bulkhead load --force "$one"
net_check "stray's port is a bridge port again" is_port
net_check "no egress policy evaluates stray" passes net_frame stray eth0 $own $webs udp 10.50.0.3 10.50.0.2 7000
net_check "the same load again writes nothing" net_is "$(net_writes "$one")" 0
add="endpoint add -f $NET_TMP/stray.ini"
# shellcheck disable=SC2086
net_check "endpoint add of stray" net_bulkhead $add
net_check "endpoint add makes the port an endpoint's" is_endpoint
net_check "the added stray has its egress policy" net_is "$(forge $own $webs udp 10.50.0.3 10.50.0.2 7000)" "$by_egress"
net_allowed stray tcp fd50::1 80 "the added stray sends what its policy allows"
net_check "load a policy that has stray" net_bulkhead load "$two"
net_check "stray's port stays an endpoint's" is_endpoint
net_check "endpoint del of stray" net_bulkhead endpoint del shop/stray
net_check "endpoint del makes the port a bridge port" is_port
net_check "the port cannot send with web's addresses" holds
net_check "endpoint del of web" net_bulkhead endpoint del shop/web
net_check "endpoint del makes web's port a bridge port" is_port veth-web
net_check "web's port cannot send with db's address" net_is \
	"$(net_moved net_frame web eth0 $webs $bridge udp 10.50.0.1 "$(net_ip far)" 7001)" "$claim"
net_check "load the policy with web" net_bulkhead load "$one"
net_check "web's port is an endpoint's again" is_endpoint veth-web
net_check "load with stray's port as an uplink" net_bulkhead load --uplink veth-stray "$one"
net_check "the uplink has XDP and the hook at egress" is_uplink
net_check "the uplink drops ARP for web's address" net_is "$(forge $own $dbs arp $own 10.50.0.2)" "$speaks"
net_check "the uplink drops a claim of web's address" net_is "$(forge $own $bridge udp 10.50.0.2 "$(net_ip far)" 7001)" "$claim"
net_check "load without that uplink" net_bulkhead load "$one"
net_check "stray's port is a bridge port once more" is_port
net_check "the same load again writes nothing" net_is "$(net_writes "$one")" 0

# All the while, stray's port sends as web, and web's own stream goes on.
net_stream far recv 7001 7002
net_stream web send "$(net_ip far)" 7002
while :; do net_frame stray -n 50 eth0 $own $bridge udp 10.50.0.2 "$(net_ip far)" 7001; done &
forger=$!
NET_SERVERS+=("$forger")
for _ in 1 2 3; do
	# shellcheck disable=SC2086
	net_check "the port becomes an endpoint's by load and by add, an uplink, and a port again" eval '
		net_bulkhead load "$two" && net_bulkhead load --force "$one" && net_bulkhead $add &&
		net_bulkhead endpoint del shop/stray && net_bulkhead load --uplink veth-stray "$one" &&
		net_bulkhead load "$one"'
done
tried=$(net_counters | sed -n "s/^drop \([0-9]*\) claims an address.*/\1/p")
kill $forger
wait $forger 2>/dev/null
net_stream_end
net_check "meanwhile stray sent over 1,000 claims" test "$tried" -gt 1000
net_check "no claim arrived" net_is "$(net_count far 7001)" 0
net_check "all that web sent arrived" net_is "$(net_count far 7002)" "$(net_count web 7002)"
net_check "web sent over 100 datagrams" test "$(net_count web 7002)" -gt 100

# Killed or refused at any change of state, the command leaves web's address safe and the next command
# restores the state. A refusal with nothing left behind means that the command has not begun.
walk() { # kill|ERRNO BEFORE AFTER-REFUSAL COMMAND BACK-COMMAND INPUT: of what it was before
	local at n status
	# shellcheck disable=SC2086
	net_fault state 0 kill $4 && mapfile -t at < <(net_places $STEP $SAMPLE) && net_bulkhead $5 || return
	net_bulkhead load --force "$6" && $2 || return
	for n in "${at[@]}"; do
		# shellcheck disable=SC2086
		net_fault state "$n" "$1" $4 >"$NET_TMP/fault" 2>&1
		status=$?
		case $1/$status in
		kill/99 | "$ENOMEM/0") ;;
		kill/0) [ "$(wc -l <"$NET_TMP/calls")" -lt "$n" ] || return ;; # a dump that had gaps made more calls
		"$ENOMEM/3") grep . "$NET_TMP/fault" && $3 || { echo "refused at $n" && return 1; } ;;
		*) echo "status $status at $n" && cat "$NET_TMP/fault" && return 1 ;;
		esac
		holds || { echo "at $n, $(tail -n 1 "$NET_TMP/calls")" && return 1; }
		# shellcheck disable=SC2086
		net_bulkhead $5 || [ $? -eq 2 ] || return 1
		net_bulkhead load --force "$6" && $2 && net_is "$(net_writes "$6")" 0 ||
			{ echo "back from $n" && return 1; }
	done
	echo "# at ${at[*]}" >"$NET_TMP/places"
	[ ${#at[@]} -gt 1 ]
}
walked() { # NAME WALK-ARGUMENT...
	net_check "$1, killed anywhere" walk kill "${@:2}"
	cat "$NET_TMP/places"
	net_check "$1, refused anywhere" walk $ENOMEM "${@:2}"
	cat "$NET_TMP/places"
}
echo "# nowhere" >"$NET_TMP/places"
walked "a load that makes it an endpoint's" is_port is_port "load $two" "load --force $one" "$one"
walked "endpoint add" is_port is_port "$add" "endpoint del shop/stray" "$one"
walked "a load that makes it an uplink" is_port is_port "load $uplink" "load $one" "$one"
net_bulkhead load "$uplink" >/dev/null 2>&1
walked "a load that makes it an uplink no more" is_uplink is_uplink "load $one" "load $uplink" "$uplink"
net_check "load the policy with stray's port as a port" net_bulkhead load "$one"
net_check "load the policy with stray as an endpoint" net_bulkhead load "$two"
walked "a load that makes it a port" is_endpoint is_endpoint "load --force $one" "load $two" "$two"
walked "endpoint del" is_endpoint true "endpoint del shop/stray" "load $two" "$two"
net_bulkhead load --force "$one" >/dev/null 2>&1
net_check "stray's port ends as a bridge port" is_port

# Ports join and leave the bridge.
net_bridge_pod late
net_check "load after a port has joined the bridge" net_bulkhead load "$one"
net_check "the new port is guarded as a bridge port" is_port veth-late
ip -n "$NET-node" link set veth-late nomaster
net_check "load after a port has left the bridge" net_bulkhead load "$one"
net_check "the interface is guarded as a way out of the node" has_hooks veth-late "" tc_leave
ip -n "$NET-node" link set veth-late master br0
net_check "load after the port is back on the bridge" net_bulkhead load "$one"
ip -n "$NET-node" link del veth-late
# shellcheck disable=SC2086
net_check "endpoint add after a port was deleted" net_bulkhead $add
net_check "status names no interface that is gone" net_is "$(net_bulkhead status | grep -c gone)" 0

# A port that leads to another bridge of this node may carry another endpoint's frames: load warns and
# leaves the port alone.
ip -n "$NET-node" link add br1 address 02:00:00:00:05:02 type bridge
net_on node sh -c 'echo 1 >/proc/sys/net/ipv4/conf/br1/arp_ignore' # the addresses are br0's
ip -n "$NET-node" link set br1 up
ip -n "$NET-node" link add patch0 type veth peer name patch1
ip -n "$NET-node" link set patch0 master br0 up
ip -n "$NET-node" link set patch1 master br1 up
ip -n "$NET-node" link set veth-other master br1
{ cat "$one" && net_bridged other 4; } >"$NET_TMP/patched.ini"
net_bulkhead load "$NET_TMP/patched.ini" >"$NET_TMP/told" 2>&1
net_check "load with an endpoint behind another bridge" net_is $? 0
net_check "load warns of the port that leads to another bridge" grep -q "bridge br0: its port patch0 leads to another interface" \
	"$NET_TMP/told"
net_check "that port is guarded at egress only" has_hooks patch0 "" tc_leave
for address in 10.50.0.9 fd50::9 "$(net_ip out)" "$(net_ip6 out)"; do
	net_allowed other tcp "$address" 80 "the endpoint behind the other bridge reaches $address"
done

net_check "unload" net_bulkhead unload
ip -n "$NET-node" link del br1
ip -n "$NET-node" link del patch0
net_check "unload leaves no program and no qdisc" net_is "$(hooks)" "$unloaded"
net_check "unload leaves no pin folder" test ! -e "$NET_PIN"

net_end
