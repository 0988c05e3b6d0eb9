#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Endpoints come, change and go between loads, and so do the Services that lead to them: what the last load
# knew of a Service's backends denies nothing that policy allows now. Also an endpoint behind an interface
# of the node that is no bridge.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db web late
for number in 1:db 2:late 3:db 4:far 5:worse; do
	service_leads "${number%:*}" "${number#*:}" 6379 || exit 1
done

# web may call who has the role `late`. Service 1 has the pods with app=x as backends, by selector, and 2
# an address that no pod has yet.
service_endpoints | awk '/^\[/ { skip = /shop\/late\]/ } !skip' >"$NET_TMP/policy.ini"
sed -i 's/^labels = role=db$/labels = role=db, app=x/' "$NET_TMP/policy.ini"
cat >>"$NET_TMP/policy.ini" <<EOF2
[network-policy shop/web]
endpoints = role in (web, behind)
types = Egress
egress = to endpoints(role in (late, far)) ports TCP/6379, UDP/6379
[service shop/s1]
address = 10.96.0.1, fd96::1
port = tcp TCP/80 to 6379 node 30001, udp UDP/80 to 6379 node 30001
backends = endpoints(app=x)
$(service_object 2 late 6379)
$(service_object 3 db 6379)
$(service_object 4 far 6379)
$(service_object 5 worse 6379)
EOF2

ports() { # net_allowed|net_denied NAME
	local protocol
	for protocol in tcp udp; do
		"$1" web $protocol "$(net_ip node)" 30001 "$2: by its NodePort, $protocol"
		"$1" web $protocol "$(net_ip6 node)" 30001 "$2: over IPv6"
	done
}
writes() {
	net_bulkhead endpoint "$@" -v 2>&1 | sed -n 's/^\([0-9]*\) map writes$/\1/p'
}

service_allows "no policy" web 1 2 3
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
service_denies "backends that policy denies" web 1 2 3
net_check "a call of which no backend is allowed is dropped at once" net_is \
	"$(net_moved net_datagram web 10.96.0.1 80)" "drop 1 denied by the source's policy"

net_check "endpoint add of a backend by address and by selector" \
	net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" \
	--mac "$(net_mac late)" --labels role=late,app=x
service_leads 1 late 6379
service_allows "an endpoint that was added is a backend" web 1 2
ports net_allowed "an endpoint that was added is a backend"
service_denies "the other still is denied" web 3
service_leads 1 db 6379
service_denies "db behind the first Service" web 1
ports net_denied "db behind the first Service"

net_check "endpoint set: the added backend gets another role" net_bulkhead endpoint set shop/late --labels role=db,app=x
service_denies "an endpoint that was changed" web 2
net_check "endpoint set: db gets the allowed role" net_bulkhead endpoint set shop/db --labels role=late,app=x
service_allows "an endpoint that was changed" web 1 3
net_check "endpoint set: db loses the allowed role" net_bulkhead endpoint set shop/db --labels role=db,app=x
service_denies "an endpoint that was changed back" web 1 3
net_check "endpoint del" net_bulkhead endpoint del shop/late
service_denies "who is gone" web 2
net_check "endpoint add of the backend again" \
	net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" \
	--mac "$(net_mac late)" --labels role=late,app=x
service_allows "who is back" web 2
net_check "load with the added backend" net_bulkhead load "$NET_TMP/policy.ini"
service_allows "it stays" web 2
service_denies "the other backend after the load" web 3

# A pod whose packets a switch of another's brings to the node by one of its own interfaces.
net_host behind
net_link node port0 02:00:00:00:03:01 behind eth0 02:00:00:00:04:01
ip -n "$NET-node" link add switch0 type veth peer name switch1
ip -n "$NET-node" link set switch0 up address 02:00:00:00:03:02
ip -n "$NET-node" link set switch1 up
for interface in port0 switch0; do
	tc -n "$NET-node" qdisc add dev $interface clsact
done
net_on node "$NET_HELPERS/foreign" bring port0 switch0 || exit 1
net_on node "$NET_HELPERS/foreign" send switch0 port0 || exit 1
SERVICE_IP[behind]=10.60.0.1 SERVICE_IP6[behind]=fd60::1
ip -n "$NET-behind" addr add 10.60.0.1/32 dev eth0
ip -n "$NET-behind" addr add fd60::1/128 dev eth0 nodad
ip -n "$NET-behind" route add default via 169.254.1.1 dev eth0 onlink
ip -n "$NET-behind" -6 route add default via fe80::1 dev eth0 onlink
net_neighbour behind eth0 02:00:00:00:03:02 169.254.1.1 fe80::1
net_neighbour node switch0 02:00:00:00:04:01 10.60.0.1 fd60::1
ip -n "$NET-node" route add 10.60.0.1 dev switch0
ip -n "$NET-node" -6 route add fd60::1 dev switch0
net_check "load with the switch's interfaces" net_bulkhead load "$NET_TMP/policy.ini"
service_allows "before it is an endpoint" behind 4 5
net_check "endpoint add of a pod behind an interface that is no bridge" net_bulkhead endpoint add shop/behind \
	--ip 10.60.0.1,fd60::1 --mac 02:00:00:00:04:01 --interface port0 --labels role=behind
service_allows "an endpoint behind it" behind 4
service_denies "an endpoint behind it" behind 5
net_check "unload" net_bulkhead unload
net_end
