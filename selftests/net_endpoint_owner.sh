#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An address changes its owner while connections are open: open connections are judged anew, and the next
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
	net_bulkhead show conntrack | grep -qE "$late4 |$late6 " &&
		net_bulkhead endpoint list | grep -q "$late4" &&
		net_bulkhead endpoint list | grep -q "$late6" &&
		mac_of_late &&
		[ "$(find "$NET_PIN" -name 'tcx_*' | wc -l)" -ge "$1" ]
}
none_of_late() { # LINKS
	! net_bulkhead show conntrack | grep -E "$late4 |$late6 " || return 1
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
net_check "connections to an address that is nobody's: from db" talks db 7001
net_check "and from a web" talks web 7002
net_check "what db says arrives" all_say db there arrived
net_check "what the web says arrives" all_say web there arrived
net_check "it becomes a web, which only a db may reach" add_late web
net_check "db's connections go on" all_say db there arrived
net_check "and back" all_say db back arrived
net_check "the web's stop" all_say web there lost
net_check "and back" all_say web back lost
net_allowed late tcp "$(net_ip db)" 80 "it may what a web may"
net_allowed late tcp "$(net_ip6 db)" 80 "over IPv6 too"

net_check "all this is known of it" known_of_late "$links"
net_check "take it off" net_bulkhead endpoint del shop/late
net_check "nothing is left of it" none_of_late "$links"
net_check "its address gets another owner, who is isolated" add_late odd other
net_check "db's connections are not the next owner's" all_say db there lost
net_check "nor back" all_say db back lost
net_denied late tcp "$(net_ip db)" 80 "nor is it a web"
net_denied late tcp "$(net_ip6 db)" 80 "over IPv6 neither"
net_check "take that off" net_bulkhead endpoint del shop/other
net_check "and a web again" add_late web
net_check "TCP connections of before do not come back" all_say db there lost tcp
net_allowed db tcp "$late4" 443 "new ones come"
net_allowed db tcp "$late6" 443 "over IPv6 too"

far() { # add|del
	[ "$1" = del ] || set -- add --ip "172.17.0.9, fd07::2" --node worker-2 --labels role=web
	net_bulkhead endpoint "$1" shop/far "${@:2}"
}
net_denied out tcp "$(net_ip db)" 80 "who comes from outside is no web" 172.17.0.9
net_denied out tcp "$(net_ip6 db)" 80 "over IPv6 neither"
net_check "its interface goes" ip -n "$NET-node" link del veth-late
net_check "an endpoint of another node comes" far add
net_allowed out tcp "$(net_ip db)" 80 "it may what a web may" 172.17.0.9
net_denied out tcp "$(net_ip db)" 80 "another address of its host may not" 172.17.1.9
net_allowed out tcp "$(net_ip6 db)" 80 "over IPv6 too"
net_check "of the one without an interface nothing is left" none_of_late $((links - 1))
net_check "that goes" far del
net_denied out tcp "$(net_ip db)" 80 "it is a web no more" 172.17.0.9
net_denied out tcp "$(net_ip6 db)" 80 "over IPv6 neither"

net_plug late
net_check "the interface is back" add_late web next
net_allowed late tcp "$(net_ip db)" 80 "and what is behind it, a web"
net_allowed late tcp "$(net_ip6 db)" 80 "over IPv6 too"
net_denied out tcp "$late4" 80 "it is guarded"
net_denied out tcp "$late6" 80 "over IPv6 too"

net_allowed web tcp "$(net_ip db)" 80 "an endpoint of the policy, too"
net_check "loses its interface" ip -n "$NET-node" link del veth-web
off() {
	net_bulkhead endpoint del shop/next 2>"$NET_TMP/noted" &&
		grep -q 'shop/web is off: its interface is gone' "$NET_TMP/noted" &&
		! net_bulkhead endpoint list | grep shop/web
}
net_check "the next command says so and takes it off" off
net_plug web
net_denied web tcp "$(net_ip db)" 80 "what comes in its place is nobody"
net_check "until load finds it" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "where it was"
net_allowed web tcp "$(net_ip6 db)" 80 "over IPv6 too"
net_denied out tcp "$(net_ip web)" 80 "and guarded"
net_denied out tcp "$(net_ip6 web)" 80 "over IPv6 too"
net_check "unload" net_bulkhead unload

net_end
