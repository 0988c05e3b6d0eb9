#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Maps that hold only what the node needs: packets from and to endpoints of other nodes get the same
# verdicts whether the maps list these endpoints or not, both ways, as endpoints come and go, as policies
# change, and when a command is killed. STEP=1 walks every change of state.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

STEP=${STEP:-4} SAMPLE=3
[ -z "${BULKHEAD_SMALL:-}" ] || STEP=9 SAMPLE=1

# Pods of another node, behind the outside host. This node's policies distinguish `client`, `store` and
# `bad`, but not `same` and `only`; `block` is in a CIDR block that a policy names.
declare -A last=([same]=0.1 [block]=1.1 [client]=0.2 [store]=0.3 [bad]=1.2 [only]=0.4)
far4() {
	echo "10.245.${last[$1]}"
}
far6() {
	local at=${last[$1]}
	echo "fd45:${at%.*}::${at#*.}"
}

net_start db web late
for far in "${!last[@]}"; do
	ip -n "$NET-out" addr add "$(far4 "$far")/32" dev lo
	ip -n "$NET-out" addr add "$(far6 "$far")/128" dev lo nodad
done
late4=$(net_ip late) late6=$(net_ip6 late)

policy() { # INGRESS of db, besides
	cat <<-EOF
	$(net_head)
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=client) ports TCP/6379
	ingress = from cidr(10.245.1.0/24), cidr(fd45:1::/32) ports TCP/80
	ingress = from endpoints(role=web)
	$1
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=store) ports TCP/443, TCP/2000
	egress = to cidr(10.245.1.0/24), cidr(fd45:1::/32) ports UDP/7000, TCP/1024-9999
	egress = to endpoints(role=db)
	[network-policy shop/cache]
	endpoints = role=cache
	ingress = from endpoints(role=only) ports TCP/5978
	[network-policy shop/far]
	endpoints = role=far
	ingress = from endpoints(role=far)
	[admin-network-policy guard]
	priority = 1
	subject = endpoints(role in (web, db) in namespaces())
	ingress = Deny from endpoints(role=bad in namespaces())
	egress = Deny to endpoints(role=bad in namespaces())
	EOF
	local pod i
	for pod in db web; do
		net_endpoint $pod
	done
	for pod in "${!last[@]}"; do
		net_endpoint_at "$pod" worker-2 "$(far4 "$pod"), $(far6 "$pod")"
	done
	net_endpoint_at cache worker-2 10.245.2.1
	for i in {1..50}; do
		net_endpoint_at "far-$i" worker-2 "10.245.3.$i" "labels = role=far"
	done
}
policy "" >"$NET_TMP/one.ini"
policy "ingress = from endpoints(role=same) ports UDP/5978" >"$NET_TMP/two.ini"
one=$NET_TMP/one.ini two=$NET_TMP/two.ini

count() { # MAP
	net_bulkhead status -j | tr -d ' \n' | grep -o "\"name\":\"$1\",\"used\":[0-9]*" | grep -o '[0-9]*$'
}
# Probes between a pod of the other node and one of this node, over IPv4 and IPv6.
to() { # allowed|denied FAR POD tcp|udp PORT NAME
	"net_$1" out "$4" "$(net_ip "$3")" "$5" "$6" "$(far4 "$2")"
	"net_$1" out "$4" "$(net_ip6 "$3")" "$5" "$6, IPv6" "$(far6 "$2")"
}
from() { # allowed|denied POD FAR tcp|udp PORT NAME
	"net_$1" "$2" "$4" "$(far4 "$3")" "$5" "$6"
	"net_$1" "$2" "$4" "$(far6 "$3")" "$5" "$6, IPv6"
}
probes() { # HOW
	to allowed client db tcp 6379 "$1: who is told apart may"
	to denied client db tcp 80 "$1: and no more"
	to denied same db tcp 6379 "$1: who is not may not"
	to allowed block db tcp 80 "$1: a block lets him in"
	to denied bad db tcp 80 "$1: and him not, who is in it and told apart"
	from allowed web store tcp 443 "$1: out to who is told apart"
	from denied web store tcp 80 "$1: and no more"
	from denied web same tcp 443 "$1: not to who is not"
	from allowed web block udp 7000 "$1: to who is in the block"
	from denied web bad udp 7000 "$1: and not to who is told apart in it"
}
# Checks that matrix of the maps prints the same as matrix of the input.
agrees() { # INPUT
	local ports=TCP/6379,TCP/80,TCP/443,UDP/7000,UDP/5978,TCP/5978
	"$BULKHEAD" matrix --port $ports "$1" >"$NET_TMP/input" 2>/dev/null
	net_bulkhead matrix --port $ports >"$NET_TMP/force"
	cmp "$NET_TMP/input" "$NET_TMP/force" || return 1
	printf '%s\n' "shop/cache shop/db TCP/80" "shop/far-1 shop/cache TCP/5978" \
		"shop/only shop/cache TCP/5978" "shop/block shop/db TCP/80" \
		"10.245.1.9 shop/db TCP/80" "10.245.1.9 shop/cache TCP/5978" \
		"shop/web shop/same TCP/443" >"$NET_TMP/flows"
	"$BULKHEAD" trace --batch "$NET_TMP/flows" "$1" >"$NET_TMP/input" 2>/dev/null
	net_bulkhead trace --batch "$NET_TMP/flows" >"$NET_TMP/force"
	cmp "$NET_TMP/input" "$NET_TMP/force"
}
settled() { # INPUT: a second load has nothing to do
	net_is "$(net_writes "$1")" 0
}

net_check "--peers takes all or needed" net_fails 2 net_bulkhead load --peers some "$one"
net_check "load --peers all" net_bulkhead load --peers all "$one"
probes all
all=$(count pairs)

net_check "load --peers needed" \
	net_ends 0 '^5 of 59 endpoints, [0-9]* of [0-9]* segments are needed here' net_bulkhead load --peers needed "$one"
net_check "the maps have 10 endpoints" net_is "$(count endpoints)" 10
net_check "the maps have fewer pairs" test "$(count pairs)" -lt "$all"
probes needed
net_check "the same load again writes nothing" settled "$one"
net_check "matrix and trace say the same of endpoints that are left out" agrees "$one"
net_check "endpoint list marks them as left out" net_ends 0 'shop/same .*left out' net_bulkhead endpoint list
net_check "status has the numbers of the needed part" net_ends 0 'the part of the policy that this node needs' net_bulkhead status

net_check "add an endpoint of a segment that no endpoint here was in" \
	net_bulkhead endpoint add shop/late --ip "$late4, $late6" --mac "$(net_mac late)" --labels role=cache
to allowed only late tcp 5978 "the endpoint that only late's policy tells apart reaches it"
to denied only late tcp 80 "that endpoint reaches no other port of late"
to denied same late tcp 5978 "no other endpoint reaches late"
net_allowed web tcp "$(net_ip db)" 80 "web reaches db as before"
probes "with it"
net_check "add an endpoint of another node" \
	net_bulkhead endpoint add shop/more --node worker-2 --ip 172.17.0.9 --labels role=client
net_allowed out tcp "$(net_ip db)" 6379 "the other node's endpoint has its own verdict" 172.17.0.9
net_denied out tcp "$(net_ip db)" 80 "the other node's endpoint reaches no other port" 172.17.0.9
net_check "add an endpoint of a segment that no endpoint here is in" \
	net_bulkhead endpoint add shop/farther --node worker-2 --ip 172.17.1.9 --labels role=only
net_allowed out tcp "$late4" 5978 "late admits the added endpoint" 172.17.1.9
net_check "an address that is left out cannot be taken" \
	net_fails 2 net_bulkhead endpoint add shop/thief --node worker-2 --ip "$(far4 same)" --labels role=client
net_check "a name that is left out cannot be taken" \
	net_fails 2 net_bulkhead endpoint add shop/same --node worker-2 --ip 10.245.9.9 --labels role=client
net_check "delete an endpoint that is left out" net_bulkhead endpoint del shop/same
net_check "an endpoint cannot be deleted twice" net_fails 2 net_bulkhead endpoint del shop/same
net_check "trace takes the deleted endpoint's address for an outside one" \
	net_ends 0 '^deny.-.deny' net_bulkhead trace --batch - <<<"$(far4 same) shop/db TCP/6379"
net_check "the deleted endpoint's address can be taken" \
	net_bulkhead endpoint add shop/thief --node worker-2 --ip "$(far4 same)" --labels role=client
net_allowed out tcp "$(net_ip db)" 6379 "who has it now is told apart" "$(far4 same)"
net_check "load after the additions" net_bulkhead load "$one"
to allowed only late tcp 5978 "after the load the endpoint that late's policy tells apart reaches it"
to denied only late tcp 80 "after the load that endpoint reaches no other port of late"
net_check "the endpoint with an address of the input's is off" \
	net_is "$(net_bulkhead endpoint list | grep -c shop/thief)" 0
net_check "the same load again writes nothing" settled "$one"
for name in late more farther; do
	net_check "delete $name" net_bulkhead endpoint del shop/$name
done
net_check "load after the deletions" net_bulkhead load "$one"
net_check "the maps have 10 endpoints again" net_is "$(count endpoints)" 10
net_allowed out tcp "$late4" 80 "late is open after its deletion"
net_check "the deleted endpoint of the policy is back" net_ends 0 '^deny.allow default.deny' \
	net_bulkhead trace --batch - <<<"shop/same shop/db TCP/6379"
probes "after that"
net_check "the same load once more writes nothing" settled "$one"

to denied same db udp 5978 "the endpoint is not let in by the policy in force"
net_check "load a policy that needs other endpoints" \
	net_ends 0 '^6 of 59 endpoints' net_bulkhead load "$two"
to allowed same db udp 5978 "the new policy lets the endpoint in"
to denied same db tcp 80 "the new policy lets the endpoint in at no other port"
probes "by that"
net_check "matrix and trace say the same of the second policy" agrees "$two"
net_check "stage the first policy" net_bulkhead load --stage "$one"
to allowed same db udp 5978 "nothing has changed"
net_check "activate the first policy" net_ends 0 '^5 of 59 endpoints' \
	net_bulkhead load --activate "$(net_bulkhead status -j | tr -d ' \n' |
		grep -o '"policy_generation":{"desired":[0-9]*' | grep -o '[0-9]*$')"
to denied same db udp 5978 "he is left out"
net_check "a load of the first policy writes nothing" settled "$one"

# Opens connections from a pod of this node to the other node's pods, over IPv4 and IPv6.
LIVE=50
declare -A asks hears
hold() { # ADDRESS PORT
	local ask hear line
	mkfifo "$NET_TMP/$1.ask" "$NET_TMP/$1.hear"
	"$NET_HELPERS/pair" "/run/netns/$NET-web" "/run/netns/$NET-out" hold "$1" "$2" $LIVE \
		<"$NET_TMP/$1.ask" >"$NET_TMP/$1.hear" &
	NET_SERVERS+=($!)
	exec {ask}>"$NET_TMP/$1.ask" {hear}<"$NET_TMP/$1.hear"
	asks[$1]=$ask hears[$1]=$hear
	read -r -t 60 -u "$hear" line
	net_check "$LIVE connections to $1" net_is "$line" ready
}
alive() {
	local to line
	for to in "${!asks[@]}"; do
		line=none
		echo >&"${asks[$to]}"
		read -r -t 60 -u "${hears[$to]}" line
		[ "$line" = $LIVE ] || { echo "to $to: $line of $LIVE are alive" && return 1; }
	done
}
hold "$(far4 block)" 2001
hold "$(far6 block)" 2002
hold "$(far4 store)" 2000
for peers in all needed all needed; do
	net_check "load $peers" net_bulkhead load --peers $peers "$one"
	net_check "all connections are alive" alive
done

# A load of either policy over the other that is killed at any change of state leaves one of them in force,
# whole. A load after a killed one has fewer writes and may end before the Nth.
kills=0
killed_at() { # N COMMAND...
	net_fault state "$1" kill "${@:2}" >"$NET_TMP/faulty" 2>&1
	case $? in
	99) kills=$((kills + 1)) ;;
	0) [ "$(wc -l <"$NET_TMP/calls")" -lt "$1" ] ;;
	*) false ;;
	esac || { echo "not killed at $1" && cat "$NET_TMP/faulty" && false; }
}
places() { # COMMAND...
	net_fault state 0 kill "$@" >"$NET_TMP/faulty" 2>&1 && net_places "$STEP" $SAMPLE
}
whole() {
	net_ask out tcp "$(net_ip db)" 6379 $NET_WAIT_ALLOWED "$(far4 client)" &&
		net_ask web udp "$(far4 block)" 7000 $NET_WAIT_ALLOWED &&
		! net_ask out tcp "$(net_ip db)" 6379 $NET_WAIT_DENIED "$(far4 same)" &&
		agrees "$one" && alive
}
walk() { # PEERS OTHER-PEERS: a load of one over the other
	local at n kills=0
	mapfile -t at < <(places load --peers "$1" "$one")
	net_bulkhead load --peers "$2" "$one" || return
	for n in "${at[@]}"; do
		killed_at "$n" load --peers "$1" "$one" || return
		whole || { echo "killed at $n: not whole" && return 1; }
		net_bulkhead load --peers "$2" "$one" && settled "$one" && whole ||
			{ echo "killed at $n: not repaired" && return 1; }
		[ "$2" = all ] || net_is "$(count endpoints)" 10 || { echo "killed at $n" && return 1; }
	done
	net_bulkhead load --peers "$1" "$one" && whole && [ $kills -gt 2 ]
}
net_check "a load --peers all, killed anywhere, leaves one policy whole" walk all needed
net_check "a load --peers needed, killed anywhere, leaves one policy whole" walk needed all
added() {
	local at n kills=0 add=(endpoint add shop/late --ip "$late4" --mac "$(net_mac late)" --labels role=cache)
	mapfile -t at < <(places "${add[@]}")
	net_bulkhead endpoint del shop/late || return
	for n in "${at[@]}"; do
		killed_at "$n" "${add[@]}" || return
		whole || { echo "killed at $n: not whole" && return 1; }
		# The command repairs before it does anything else, even where its own endpoint does not
		# exist.
		net_bulkhead endpoint del shop/late || net_bulkhead endpoint del shop/far-1 || return 1
		net_ask out tcp "$late4" 80 $NET_WAIT_ALLOWED || { echo "killed at $n: guarded" && return 1; }
		net_bulkhead load "$one" && [ "$(count endpoints)" = 10 ] && settled "$one" && whole ||
			{ echo "killed at $n: not repaired" && return 1; }
	done
	[ $kills -gt 2 ]
}
net_check "endpoint add, killed anywhere, leaves the policy whole" added
net_check "unload" net_bulkhead unload

net_end
