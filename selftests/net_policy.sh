#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# NetworkPolicy on real sockets: each probe that is denied has an allowed twin.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web job

# db's port "redis" is 6379, web's is 7000: the same rule opens a different number for each.
cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db "interface = veth-db" "mac = $(net_mac db)" "labels = role=db, redis=yes" \
	"port = redis TCP/6379")
$(net_endpoint web "labels = role=web, redis=yes" "port = redis TCP/7000")
$(net_endpoint job)

[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
ingress = from endpoints(role=web) ports UDP/443
ingress = from cidr(172.17.0.0/16 except 172.17.1.0/24) ports TCP/80
egress = to cidr(192.168.7.0/24) ports TCP/5978

[network-policy shop/redis]
endpoints = redis=yes
ingress = from endpoints(role=web), endpoints(role=job) ports redis
EOF

db4=$(net_ip db) db6=$(net_ip6 db) web4=$(net_ip web) web6=$(net_ip6 web)
job4=$(net_ip job) out4=$(net_ip out) out6=$(net_ip6 out)

net_allowed job tcp "$db4" 80 "before load, all is open"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

net_allowed web udp "$db4" 443 "ingress: a named peer reaches the UDP port"
net_denied job udp "$db4" 443 "ingress: another peer does not reach the UDP port"
net_denied web udp "$db4" 5978 "ingress: the named peer reaches no other UDP port"
net_denied web tcp "$db4" 443 "ingress: the named peer does not reach the same TCP port"
net_allowed web udp "$db6" 443 "ingress: the named peer reaches the UDP port over IPv6"
net_denied job udp "$db6" 443 "ingress: another peer does not reach the UDP port over IPv6"

net_allowed job tcp "$db4" 6379 "a named port is the number that db gives it"
net_allowed job tcp "$web4" 7000 "the named port is the number that web gives it"
net_denied job tcp "$web4" 6379 "db's number of the named port is closed at web"
net_denied job tcp "$db4" 7000 "web's number of the named port is closed at db"
net_allowed job tcp "$web6" 7000 "a named port is open over IPv6"
net_denied job tcp "$web6" 6379 "another number of the named port is closed over IPv6"

net_allowed out tcp "$db4" 80 "an address in the rule's block reaches db" 172.17.0.9
net_denied out tcp "$db4" 80 "an address that the block excepts does not reach db" 172.17.1.9
net_denied out tcp "$db4" 80 "an address outside the block does not reach db" "$out4"

net_allowed db tcp "$out4" 5978 "egress: db reaches the block at the rule's port"
net_denied db tcp "$out4" 80 "egress: db reaches no other port of the block"
net_denied db tcp 172.17.0.9 5978 "egress: db does not reach a block that only ingress names"
net_denied db tcp "$out6" 5978 "egress: db does not reach an IPv6 address that no rule names"
net_allowed web tcp "$out6" 5978 "egress: web, whose egress no policy selects, reaches the outside"
net_denied db tcp "$job4" 80 "egress: db does not reach an endpoint without policy"
net_allowed web tcp "$job4" 80 "web reaches an endpoint without policy"

net_allowed node tcp "$db4" 80 "the node reaches its endpoint"
net_allowed node udp "$db6" 7000 "the node reaches any port of its endpoint"
net_allowed db tcp "$db4" 80 "an endpoint reaches itself"

net_end
