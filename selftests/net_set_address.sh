#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# endpoint set --ip: changes an endpoint's addresses in one step; the endpoint is never unguarded.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
db4=$(net_ip db) db6=$(net_ip6 db) late4=$(net_ip late) late6=$(net_ip6 late)
new4=10.244.0.77 new6=fd44::77
net_policy_of "TCP/80, UDP/1080, TCP/443" "TCP/80, UDP/1080, TCP/443" >"$NET_TMP/policy.ini"

# Gives a pod further addresses, and the node the routes, before the policy lists them.
also() { # POD INTERFACE ADDRESS4 ADDRESS6
	ip -n "$NET-$1" addr add "$3/32" dev eth0
	ip -n "$NET-$1" addr add "$4/128" dev eth0 nodad
	net_neighbour node "$2" "$(net_mac "$1")" "$3" "$4"
	ip -n "$NET-node" route add "$3" dev "$2"
	ip -n "$NET-node" -6 route add "$4" dev "$2"
}
also late veth-late $new4 $new6
set_late() {
	net_bulkhead endpoint set shop/late "$@"
}
fails() { # STATUS PATTERN COMMAND...
	"${@:3}" >"$NET_TMP/out" 2>&1
	net_is $? "$1" && grep -- "$2" "$NET_TMP/out"
}
addresses() { # of late active
	net_bulkhead endpoint list | awk '$1 == "shop/late" { print $2 }' | sort | paste -sd,
}
# Checks that policy evaluates late as a db and as a web at its two addresses, and not at the other two.
is_at() { # NAME ADDRESS4 ADDRESS6 OTHER4 OTHER6
	net_allowed web tcp "$2" 80 "$1: a web reaches late's address"
	net_allowed web tcp "$3" 80 "$1: a web reaches late's IPv6 address"
	net_denied out tcp "$2" 80 "$1: the outside does not reach late"
	net_denied out tcp "$3" 80 "$1: the outside does not reach late over IPv6"
	net_denied web tcp "$2" 8080 "$1: a web reaches no other port of late"
	net_denied web tcp "$4" 80 "$1: a web does not reach late's other address"
	net_denied web tcp "$5" 80 "$1: a web does not reach late's other IPv6 address"
	net_allowed late tcp "$(net_ip out)" 80 "$1: late sends with its address" "$2"
	net_allowed late tcp "$(net_ip6 out)" 80 "$1: late sends with its IPv6 address" "$3"
	net_denied late tcp "$(net_ip out)" 80 "$1: late does not send with the other address" "$4"
	net_denied late tcp "$(net_ip6 out)" 80 "$1: late does not send with the other IPv6 address" "$5"
	net_check "$1: endpoint list has late's addresses" net_is "$(addresses)" "$2,$3"
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "add late as a db" net_bulkhead endpoint add shop/late --ip "$late4, $late6" \
	--mac "$(net_mac late)" --labels role=db
is_at "as added" "$late4" "$late6" $new4 $new6
net_check "set late's addresses" set_late --ip "$new4, $new6"
is_at "after set" $new4 $new6 "$late4" "$late6"
net_check "set late's addresses and labels in one step" set_late --ip "$late4, $late6" --labels role=web
net_allowed late tcp "$db4" 80 "late, a web now, reaches db" "$late4"
net_allowed late tcp "$db6" 80 "late reaches db over IPv6" "$late6"
net_denied late tcp "$db4" 80 "late does not reach db from its old address" $new4
net_denied late tcp "$db4" 8080 "late reaches no other port of db" "$late4"
net_check "set late to a db again" set_late --labels role=db

net_check "load after the set" net_bulkhead load "$NET_TMP/policy.ini"
is_at "after a load" "$late4" "$late6" $new4 $new6
net_check "set refuses another endpoint's address" fails 2 "$db4 is shop/db's" set_late --ip "$db4"
net_check "set refuses a malformed address" fails 2 "10.244.0.300" set_late --ip 10.244.0.300
is_at "after what was refused" "$late4" "$late6" $new4 $new6

# All the while, outside sends denied packets to both addresses, and a flow goes on at the address that
# stays.
net_stream late recv 1443 1080
net_stream out send "$late4" 1443
net_stream web send "$late4" 1080
for ((i = 0; i < 20; i++)); do
	set_late --ip "$late4, $([ $((i % 2)) -eq 0 ] && echo $new6 || echo "$late6")" || break
done >"$NET_TMP/sets" 2>&1
net_check "set late's addresses twenty times" net_is "$i" 20
net_stream_end
net_check "the outside tried to reach late meanwhile" test "$(net_count out 1443)" -gt 10
net_check "no packet from the outside arrived" net_is "$(net_count late 1443)" 0
net_check "the flow to the address that stays lost no packet" \
	net_is "$(net_count late 1080)" "$(net_count web 1080)"
# For an endpoint of the loaded policy, the change lasts until the next load.
also web veth-web 10.244.0.78 fd44::78
net_check "set of an endpoint of the policy needs its labels" fails 2 "its labels have to be given" \
	net_bulkhead endpoint set shop/web --ip 10.244.0.78
net_check "set the policy's web to another address" net_bulkhead endpoint set shop/web --ip 10.244.0.78 --labels role=web
net_allowed web tcp "$db4" 80 "web reaches db from the new address" 10.244.0.78
net_denied web tcp "$db4" 80 "web does not reach db from the old address" "$(net_ip web)"
net_check "trace has web at the new address" fails 0 '^allow shop/web (10.244.0.78)' \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/80
net_check "load after the set of web" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 80 "web reaches db from the old address again" "$(net_ip web)"
net_denied web tcp "$db4" 80 "web does not reach db from the new address" 10.244.0.78
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "delete late" net_bulkhead endpoint del shop/late
net_check "endpoint list has no address of late" net_is "$(net_bulkhead endpoint list | grep -c late)" 0

net_end
