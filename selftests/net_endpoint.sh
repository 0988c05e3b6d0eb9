#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# endpoint add, list and del: an endpoint that comes and goes without a load of the cluster.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
db4=$(net_ip db) late4=$(net_ip late) late6=$(net_ip6 late)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db "mac = $(net_mac db)" "port = redis TCP/6379")
$(net_endpoint web)
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports redis
[network-policy shop/web]
endpoints = role=web
ingress = from endpoints(role=db)
EOF

add() {
	net_bulkhead endpoint add shop/late --ip "$late4, $late6" --mac "$(net_mac late)" "$@"
}

net_check "no endpoint is added where nothing is loaded" net_fails 2 add --labels role=web
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 6379 "web reaches db"
net_denied late tcp "$db4" 6379 "an address that is no endpoint's does not"
net_allowed out tcp "$late4" 80 "and anybody reaches it"

net_check "add it as a web" add --labels role=web
net_allowed late tcp "$db4" 6379 "it may what a web may"
net_denied late tcp "$db4" 80 "and no more"
net_allowed late tcp "$(net_ip6 db)" 6379 "over IPv6 too"
net_denied late tcp "$(net_ip6 db)" 80 "and no more"
net_allowed db tcp "$late4" 80 "who may reach a web reaches it"
net_denied out tcp "$late4" 80 "and nobody else"
net_denied out tcp "$late6" 80 "over IPv6 neither"
net_check "it is listed as added" net_ends 0 "shop/late.*$late4.*added" net_bulkhead endpoint list
net_check "its address is taken, by it" net_ends 2 "shop/thief: $late4 is shop/late's" \
	net_bulkhead endpoint add shop/thief --ip "$late4"
net_check "and its name" net_ends 2 "shop/late: it is in force already, with $late4" \
	net_bulkhead endpoint add shop/late --ip 10.9.9.9
net_check "so are those of the policy: the address" net_ends 2 "shop/thief: $db4 is shop/db's" \
	net_bulkhead endpoint add shop/thief --ip "10.9.9.9, $db4"
net_check "and the name" net_ends 2 "shop/db: it is in force already, with $db4" \
	net_bulkhead endpoint add shop/db --ip 10.9.9.9
net_check "an interface too" net_fails 2 net_bulkhead endpoint add shop/thief --ip 10.9.9.9 \
	--interface veth-db

net_check "take it off" net_bulkhead endpoint del shop/late
net_denied late tcp "$db4" 6379 "its address is nobody's again"
net_allowed out tcp "$late4" 80 "and free to be reached"
net_check "which can be done once" net_fails 2 net_bulkhead endpoint del shop/late

net_check "add it as a db, with another number for the port's name" \
	net_ends 0 "isolated: it fits none" add --labels role=db --named-port "redis TCP/7000"
net_denied web tcp "$late4" 7000 "it fits no segment: it is isolated"
net_denied web tcp "$late6" 7000 "over IPv6 too"
net_denied late tcp "$(net_ip out)" 80 "in both directions"
net_denied late tcp "$(net_ip6 out)" 80 "over IPv6 too"
{
	cat "$NET_TMP/policy.ini"
	net_endpoint late "labels = role=db" "port = redis TCP/7000"
} >"$NET_TMP/more.ini"
net_check "load a policy that knows it" net_bulkhead load "$NET_TMP/more.ini"
net_allowed web tcp "$late4" 7000 "it is isolated no more"
net_allowed web tcp "$late6" 7000 "over IPv6 neither"
net_allowed late tcp "$(net_ip out)" 80 "in both directions"
net_check "and back" net_bulkhead load --force "$NET_TMP/policy.ini"
net_allowed out tcp "$late6" 443 "which does not know it"
net_check "add it again" net_ends 0 "isolated: it fits none" add --labels role=db --named-port "redis TCP/7000"
net_check "take that off" net_bulkhead endpoint del shop/late

printf '[endpoint shop/late]\nip = %s, %s\nlabels = role=db\nport = redis TCP/6379\n' \
	"$late4" "$late6" >"$NET_TMP/late.ini"
net_check "add it as a db, from a file" net_bulkhead endpoint add --file "$NET_TMP/late.ini"
net_allowed web tcp "$late4" 6379 "the port's name has its number"
net_denied web tcp "$late4" 80 "and no other"

net_allowed web tcp "$late6" 6379 "over IPv6 too"
net_denied web tcp "$late6" 80 "nor another there"
net_check "take that off, too" net_bulkhead endpoint del shop/late

cat >"$NET_TMP/late.yaml" <<EOF2
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: late, labels: {role: web}}
spec:
  nodeName: worker-1
  containers: [{name: c, image: i}]
status: {phase: Running, podIP: $late4, podIPs: [{ip: $late4}, {ip: "$late6"}]}
EOF2
net_check "add it as a web, from a Pod's manifest" \
	net_bulkhead endpoint add --file "$NET_TMP/late.yaml"
net_allowed late tcp "$db4" 6379 "it may what a web may"
net_allowed late tcp "$(net_ip6 db)" 6379 "over IPv6 too"
net_denied out tcp "$late4" 80 "and is guarded"
net_denied out tcp "$late6" 80 "over IPv6 too"
net_check "take that off" net_bulkhead endpoint del shop/late
net_check "add it as a db, from a file again" net_bulkhead endpoint add --file "$NET_TMP/late.ini"

net_check "take an endpoint of the policy off" net_bulkhead endpoint del shop/db
net_denied out tcp "$late4" 6379 "the others are guarded as before"
net_allowed out tcp "$db4" 80 "it is not"
net_check "load puts it back" net_bulkhead load "$NET_TMP/policy.ini"
net_denied out tcp "$db4" 80 "it is guarded again"
net_allowed web tcp "$db4" 6379 "as before"
net_denied out tcp "$late4" 80 "the one that was added stays"
net_allowed web tcp "$late4" 6379 "in its segment"
net_check "then there is nothing to do" \
	net_ends 0 '^0 map writes' net_bulkhead load -v "$NET_TMP/policy.ini"
net_check "unload" net_bulkhead unload

net_end
