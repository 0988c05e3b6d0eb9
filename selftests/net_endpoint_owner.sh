#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An address changes its owner while connections are open: open connections are evaluated anew, and the next
# owner inherits none. Also endpoints whose interface is gone, and endpoints of other nodes. Over IPv4 and
# IPv6.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web late
{ net_db_and_web && cat; } >"$NET_TMP/policy.ini" <<EOF2
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports TCP/80, UDP/80
[network-policy shop/web]
endpoints = role=web
ingress = from endpoints(role=db)
[network-policy shop/odd]
endpoints = role=odd
types = Ingress, Egress
EOF2
late4=$(net_ip late) late6=$(net_ip6 late)

add_late() { # LABEL [NAME]
	net_bulkhead endpoint add "shop/${2:-late}" --ip "$late4,$late6" --mac "$(net_mac late)" \
		--labels "role=$1"
}

# Opens a connection by name; one process holds both ends.
declare -A TALK_IN TALK_OUT
talk() { # FROM ADDRESS PORT tcp|udp
	local name=$1-$2-$4 in out said
	mkfifo "$NET_TMP/$name-$3.in" "$NET_TMP/$name-$3.out"
	"$NET_HELPERS/pair" "/run/netns/$NET-$1" "/run/netns/$NET-late" talk "$2" "$3" "$4" \
		<>"$NET_TMP/$name-$3.in" >"$NET_TMP/$name-$3.out" 2>&1 &
	NET_SERVERS+=($!)
	exec {out}<"$NET_TMP/$name-$3.out" {in}>"$NET_TMP/$name-$3.in"
	TALK_IN[$name]=$in TALK_OUT[$name]=$out
	read -r -t 60 -u "$out" said
	net_is "$said" ready
}
talks() { # FROM PORT
	local address proto
	for address in "$late4" "$late6"; do
		for proto in tcp udp; do
			talk "$1" "$address" "$2" "$proto" || return 1
		done
	done
}
all_say() { # FROM there|back arrived|lost [PROTO]
	local name said wait=$NET_WAIT_ALLOWED status=0
	[ "$3" = arrived ] || wait=$NET_WAIT_DENIED
	for name in "${!TALK_IN[@]}"; do
		[[ $name == $1-*-${4:-*} ]] || continue
		echo "$2 $wait" >&"${TALK_IN[$name]}"
		read -r -t 60 -u "${TALK_OUT[$name]}" said
		[ "$said" = "$3" ] || { echo "$name $2: $said" && status=1; }
	done
	return $status
}

mac_of_late() {
	# shellcheck disable=SC2046
	bpftool map lookup pinned "$NET_PIN/macs" key hex $(net_mac late | tr : ' ') 00 00
}
known_of_late() { # LINKS
	net_bulkhead show conntrack | grep -qE "${late4}[):]|${late6}[])]" &&
		net_bulkhead endpoint list | grep -q "$late4" &&
		net_bulkhead endpoint list | grep -q "$late6" &&
		mac_of_late &&
		[ "$(find "$NET_PIN" -name 'tcx_*' | wc -l)" -ge "$1" ]
}
none_of_late() { # LINKS
	! net_bulkhead show conntrack | grep -E "${late4}[):]|${late6}[])]" || return 1
	! net_bulkhead endpoint list | grep -E "$late4|$late6" || return 1
	! mac_of_late || return 1
	[ "$(find "$NET_PIN" -name 'tcx_*' | wc -l)" = "$1" ]
}
links=0
count_links() {
	links=$(find "$NET_PIN" -name 'tcx_*' | wc -l)
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
count_links
net_check "db opens connections to an address that is nobody's" talks db 7001
net_check "web opens connections to that address" talks web 7002
net_check "db's connections carry data" all_say db there arrived
net_check "web's connections carry data" all_say web there arrived
net_check "the address becomes a web's, which only a db may reach" add_late web
net_check "db's connections go on" all_say db there arrived
net_check "db's connections go on in the other direction" all_say db back arrived
net_check "web's connections stop" all_say web there lost
net_check "web's connections stop in the other direction" all_say web back lost
net_allowed late tcp "$(net_ip db)" 80 "late reaches db as a web"
net_allowed late tcp "$(net_ip6 db)" 80 "late reaches db as a web over IPv6"

net_check "connections, both addresses and hooks of late are there" known_of_late "$links"
net_check "delete late" net_bulkhead endpoint del shop/late
net_check "no connection, address or hook of late is left" none_of_late "$links"
net_check "add an isolated endpoint with late's address" add_late odd other
net_check "db's old connections do not reach the new owner" all_say db there lost
net_check "the new owner does not reach db by the old connections" all_say db back lost
net_denied late tcp "$(net_ip db)" 80 "the new owner is no web to db"
net_denied late tcp "$(net_ip6 db)" 80 "the new owner is no web to db over IPv6"
net_check "delete the new owner" net_bulkhead endpoint del shop/other
net_check "add late as a web again" add_late web
net_check "db's old TCP connections stay lost" all_say db there lost tcp
net_allowed db tcp "$late4" 443 "db opens a new connection"
net_allowed db tcp "$late6" 443 "db opens a new connection over IPv6"

far() { # add|del
	[ "$1" = del ] || set -- add --ip "172.17.0.9, fd07::2" --node worker-2 --labels role=web
	net_bulkhead endpoint "$1" shop/far "${@:2}"
}
net_denied out tcp "$(net_ip db)" 80 "an address outside is no web to db" 172.17.0.9
net_denied out tcp "$(net_ip6 db)" 80 "an address outside is no web to db over IPv6"
net_check "late's interface is deleted" ip -n "$NET-node" link del veth-late
net_check "add an endpoint of another node as a web" far add
net_allowed out tcp "$(net_ip db)" 80 "the other node's endpoint reaches db" 172.17.0.9
net_denied out tcp "$(net_ip db)" 80 "another address of its host does not reach db" 172.17.1.9
net_allowed out tcp "$(net_ip6 db)" 80 "the other node's endpoint reaches db over IPv6"
net_check "nothing of late is left without its interface" none_of_late $((links - 1))
net_check "delete the other node's endpoint" far del
net_denied out tcp "$(net_ip db)" 80 "the deleted endpoint does not reach db" 172.17.0.9
net_denied out tcp "$(net_ip6 db)" 80 "the deleted endpoint does not reach db over IPv6"

net_plug late
net_check "add an endpoint after the interface is back" add_late web next
net_allowed late tcp "$(net_ip db)" 80 "the endpoint behind the new interface reaches db"
net_allowed late tcp "$(net_ip6 db)" 80 "the endpoint behind the new interface reaches db over IPv6"
net_denied out tcp "$late4" 80 "the endpoint behind the new interface is guarded"
net_denied out tcp "$late6" 80 "the endpoint behind the new interface is guarded over IPv6"

net_allowed web tcp "$(net_ip db)" 80 "the policy's web reaches db"
net_check "the policy's web loses its interface" ip -n "$NET-node" link del veth-web
off() {
	net_bulkhead endpoint del shop/next 2>"$NET_TMP/noted" &&
		grep -q 'shop/web is off: its interface is gone' "$NET_TMP/noted" &&
		! net_bulkhead endpoint list | grep shop/web
}
net_check "the next command reports that and removes web" off
net_plug web
net_denied web tcp "$(net_ip db)" 80 "a new pod with web's address is not web"
net_check "load finds the new pod" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "the new pod is web"
net_allowed web tcp "$(net_ip6 db)" 80 "the new pod is web over IPv6"
net_denied out tcp "$(net_ip web)" 80 "the new pod is guarded"
net_denied out tcp "$(net_ip6 web)" 80 "the new pod is guarded over IPv6"
# A folder that an older build made has no such program; then the command walks through the table itself.
of_late() {
	net_bulkhead show conntrack | grep -E "${late4}[):]|${late6}[])]"
}
none_known() {
	! of_late
}
both_of_late() {
	of_late | grep -F "$late4" && of_late | grep -F "$late6"
}
net_check "add late for the way without a program" add_late web
net_check "db opens connections to late" talks db 7003
net_check "the table has late's connections" both_of_late
net_check "the program that forgets connections goes missing" rm "$NET_PIN/forget"
net_check "delete late without the program" net_bulkhead endpoint del shop/late
net_check "without the program, too, no connection of late is left" none_known
net_check "the next load puts the program back" net_ends 0 "programs were replaced" \
	net_bulkhead load "$NET_TMP/policy.ini"
net_check "the program is pinned again" test -e "$NET_PIN/forget"

# A load gives late's address to another sandbox, at once or by another load between: by a whole policy, or by a delta.
# Or the former sandbox is another node's.
late_is() { # NAME NODE LINE...
	net_db_and_web
	[ "$1" = nobody ] || net_endpoint_at "shop/$1" "$2" "$late4, $late6" "${@:3}"
	cat <<-EOF2
	[network-policy shop/closed]
	endpoints = role=closed
	types = Ingress
	EOF2
}
late_is former worker-1 >"$NET_TMP/former.ini"
late_is former worker-2 >"$NET_TMP/distant.ini"
late_is nobody >"$NET_TMP/nobody.ini"
late_is next worker-1 "labels = role=closed" >"$NET_TMP/next.ini"
declare -A CALL_IN CALL_OUT
calls() { # PEER PORT: late opens UDP to the peer over IPv4 and IPv6
	local family name in out said
	for family in "" 6; do
		name=$NET_TMP/$1$family-$2
		mkfifo "$name.in" "$name.out"
		"$NET_HELPERS/pair" "/run/netns/$NET-late" "/run/netns/$NET-$1" talk "$(net_ip$family "$1")" "$2" udp \
			<>"$name.in" >"$name.out" 2>&1 &
		NET_SERVERS+=($!)
		exec {out}<"$name.out" {in}>"$name.in"
		CALL_IN[$1$family]=$in CALL_OUT[$1$family]=$out
		read -r -t 60 -u "$out" said
		net_is "$said" ready || return
	done
}
called() { # there|back arrived|lost: over all of these
	local name said wait=$NET_WAIT_ALLOWED
	[ "$2" = arrived ] || wait=$NET_WAIT_DENIED
	for name in "${!CALL_IN[@]}"; do
		echo "$1 $wait" >&"${CALL_IN[$name]}"
		read -r -t 60 -u "${CALL_OUT[$name]}" said
		[ "$said" = "$2" ] || { echo "$name $1: $said" && return 1; }
	done
}
by_delta() { # FROM TO
	"$BULKHEAD" compile -o "$NET_TMP/$1.bhp" "$NET_TMP/$1.ini" &&
		net_bulkhead load "$NET_TMP/$1.bhp" &&
		"$BULKHEAD" compile --base "$NET_TMP/$1.bhp" --delta -o "$NET_TMP/$2.bhd" "$NET_TMP/$2.ini"
}
port=7010
for how in whole between delta distant; do
	port=$((port + 10)) former=former
	[ $how != distant ] || former=distant
	net_check "$how: late is the former pod's" net_bulkhead load --force "$NET_TMP/$former.ini"
	[ $how != delta ] || net_check "compile the delta" by_delta former next
	net_check "$how: the former pod calls the outside" calls out $port
	net_check "$how: the former pod calls db" calls db $((port + 5))
	net_check "$how: both are answered" called back arrived
	net_check "$how: the former pod's interface is deleted" ip -n "$NET-node" link del veth-late
	[ $how != between ] || net_check "a load without late" net_bulkhead load "$NET_TMP/nobody.ini"
	net_plug late
	if [ $how = delta ]; then
		net_check "$how: late is the next pod's" net_bulkhead load "$NET_TMP/next.bhd"
	else
		net_check "$how: late is the next pod's" net_bulkhead load "$NET_TMP/next.ini"
	fi
	net_check "$how: no peer of the former pod reaches the next one, which lets nobody in" called back lost
	net_check "$how: the next pod calls the same peers" called there arrived
	net_check "$how: it gets their answers" called back arrived
done

# The same loads, killed after the commit and before they forget connections. A former pod of this node keeps its
# interface: what its connections were made for shows that they are not the next pod's. Of one of another node nothing
# shows that, so its connections are forgotten before the commit, too.
net_check "a load without late" net_bulkhead load --force "$NET_TMP/nobody.ini"
forget_call() { # the number of the call that forgets, the last program that a load runs
	grep -n '^bpf 10$' "$NET_TMP/calls" | tail -n 1 | cut -d : -f 1
}
plug_again() { # the pod gets a second interface, and the node's routes lead there
	net_ips node <<-EOF2 || return
	$(net_links veth-again 02:00:00:00:02:01 late eth1 02:00:00:00:01:7f)
	$(net_neighbours veth-again 02:00:00:00:01:7f "$late4" "$late6")
	route replace $late4 dev veth-again
	route replace $late6 dev veth-again
	EOF2
	net_ips late <<-EOF2
	link set eth1 up
	neigh replace 169.254.1.1 dev eth1 lladdr 02:00:00:00:02:01 nud permanent
	neigh replace fe80::1 dev eth1 lladdr 02:00:00:00:02:01 nud permanent
	route replace default via 169.254.1.1 dev eth1 onlink
	route replace default via fe80::1 dev eth1 onlink
	EOF2
}
next_comes() { # moved|distant
	[ "$1" = moved ] || { ip -n "$NET-node" link del veth-late && net_plug late && return; }
	plug_again
}
late_as_before() {
	ip -n "$NET-node" link del veth-again 2>/dev/null
	ip -n "$NET-node" link del veth-late
	net_plug late
}
for how in moved distant; do
	former=former
	[ $how = moved ] || former=distant
	for at in 0 forget; do
		port=$((port + 10))
		net_check "$how: late is the former pod's" net_bulkhead load --force "$NET_TMP/$former.ini"
		net_check "$how: the former pod calls the outside" calls out $port
		net_check "$how: the former pod calls db" calls db $((port + 5))
		net_check "$how: both are answered" called back arrived
		net_check "$how: the next pod's interface is there" next_comes $how
		if [ $at = 0 ]; then
			net_check "$how: late is the next pod's" net_fault state 0 kill load --force "$NET_TMP/next.ini"
			net_check "$how: no peer of the former pod reaches the next one" called back lost
			forget=$(forget_call)
		else
			net_check "$how: a load is killed before it forgets" net_kill_at state "$forget" false \
				load --force "$NET_TMP/next.ini"
			net_check "$how: the killed load has activated its policy" \
				eval 'net_bulkhead show segments | grep -q closed'
			net_check "$how: after the kill no peer of the former pod reaches the next one" called back lost
			net_check "$how: the next command repairs" net_bulkhead load --force "$NET_TMP/next.ini"
			net_check "$how: after the repair no peer of the former pod reaches the next one" called back lost
		fi
		net_check "$how: the next pod calls the same peers" called there arrived
		net_check "$how: it gets their answers" called back arrived
		net_check "$how: late has its first interface again" late_as_before
	done
done
net_check "unload" net_bulkhead unload

net_end
