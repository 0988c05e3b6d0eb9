#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Domain names whose answers are pods' addresses: a pod's own name, and headless Services. The name opens the egress
# of the pod that asked; the ingress of the other pod decides as always. Same node, and by the uplink to a pod of
# another node, which the outside host plays.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

net_start web other db shut
far4=172.18.0.9 far6=fd18::9
ip -n "$NET-out" addr add $far4/32 dev lo
ip -n "$NET-out" addr add $far6/128 dev lo
db4=$(net_ip db) db6=$(net_ip6 db) shut4=$(net_ip shut) shut6=$(net_ip6 shut)
web4=$(net_ip web) web6=$(net_ip6 web)

# web and other have names. shut lets in nobody but other.
dns_pods="web other db shut"
names="Accept to names(*.shop.svc.cluster.local, *.pod.cluster.local) ports TCP/80, TCP/7443"
world() { # [RULE...]
	policy "$@" | sed 's/^subject = .*/subject = endpoints(role in (web, other) in namespaces())/'
	net_endpoint_at far worker-2 "$far4, $far6"
	cat <<-END
	[network-policy shop/shut]
	endpoints = role=shut
	types = Ingress
	ingress = from endpoints(role=other)
	END
}
loads() { # NAME [RULE...]
	world "${@:2}" >"$NET_TMP/policy.ini"
	net_check "load: $1" net_bulkhead load "$NET_TMP/policy.ini"
}
asks_both() { # POD NAME IPV4 IPV6: one answer for each type
	dns_answers ttl=3000 a="$3" aaaa="$4"
	dns_asks "$1" "$2" A
	dns_asks "$1" "$2" AAAA
}
both() { # allowed|denied FROM IPV4 IPV6 PORT NAME
	"net_$1" "$2" tcp "$3" "$5" "$6"
	"net_$1" "$2" tcp "$4" "$5" "$6, IPv6"
}

both allowed web "$db4" "$db6" 80 "without a policy web reaches db"
both allowed web "$shut4" "$shut6" 80 "without a policy web reaches shut"
both allowed web $far4 $far6 80 "without a policy web reaches the pod of the other node"

loads "names that pods have" "$names"
both denied web "$db4" "$db6" 80 "before its answer a pod is closed"
both denied web $far4 $far6 80 "before its answer a pod of another node is closed"

asks_both web db.shop.svc.cluster.local "$db4" "$db6"
both allowed web "$db4" "$db6" 80 "by a headless Service's name web reaches the pod"
both denied web "$db4" "$db6" 443 "at another port the pod stays closed"
both denied other "$db4" "$db6" 80 "a pod that has not asked does not reach it"
both allowed db "$web4" "$web6" 80 "db reaches web as before: web has no ingress policy"
net_check "trace of the pod says by which name" net_ends 0 \
	"egress   allow admin names/egress.1.: by the name \*.shop.svc.cluster.local" \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/80
net_check "trace of the pod at another port denies" net_ends 1 "^deny " \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/443
net_check "trace of the name lists the pod" net_ends 0 "allow $db4, learned, for [0-9]* s still" \
	net_bulkhead trace --from shop/web --to name:db.shop.svc.cluster.local --port TCP/80
net_check "trace explains the name" net_ends 0 "egress.1.  *allows" \
	net_bulkhead trace -v --from shop/web --to shop/db --port TCP/80

# Both ends consent, at the same node too.
asks_both web shut.shop.svc.cluster.local "$shut4" "$shut6"
both denied web "$shut4" "$shut6" 80 "a name does not open the other pod's ingress"
asks_both other shut.shop.svc.cluster.local "$shut4" "$shut6"
both allowed other "$shut4" "$shut6" 80 "a name and the other pod's ingress together let the flow pass"

asks_both web 172-18-0-9.shop.pod.cluster.local $far4 $far6
both allowed web $far4 $far6 80 "by its name web reaches a pod of another node"
both denied other $far4 $far6 80 "a pod that has not asked does not reach the other node's"
net_allowed out tcp "$db4" 80 "the pod of the other node reaches db as before" $far4
net_denied out tcp "$shut4" 80 "the pod of the other node does not reach shut" $far4

# A change of policy, and of the endpoints, keeps what was learned.
net_check "a connection by the name" net_hold web db "$db4" 7443 1
world "$names" "Accept to cidr(198.51.100.0/24) ports TCP/80" >"$NET_TMP/more.ini"
net_check "load: one more rule" net_bulkhead load "$NET_TMP/more.ini"
net_check "the connection goes on" net_is "$(net_alive 7443)" 1
both allowed web "$db4" "$db6" 80 "after a load the learned pod is open"
net_check "the policy without the names" net_bulkhead load <(world)
net_check "the connection ends" net_is "$(net_alive 7443)" 0
net_check "load: the names again" net_bulkhead load "$NET_TMP/more.ini"
net_check "delete db" net_bulkhead endpoint del shop/db
net_check "add db with labels that no endpoint has" \
	net_bulkhead endpoint add shop/db --ip "$db4, $db6" --labels role=db,tier=new
both allowed web "$db4" "$db6" 80 "a pod of a new kind is open by its name"
both denied other "$db4" "$db6" 80 "a pod of a new kind is closed to who has not asked"

# An earlier Deny wins, and a later one does not.
loads "a Deny of the pods behind the names" "$names" "Deny to endpoints(role=db in namespaces())"
both allowed web "$db4" "$db6" 80 "a later Deny of the pod does not count"
loads "a Deny of the pods before the names" "Deny to endpoints(role=db in namespaces())" "$names"
both denied web "$db4" "$db6" 80 "an earlier Deny of the pod wins"
both allowed web $far4 $far6 80 "an earlier Deny of one pod concerns no other"
loads "a Pass of the pods before the names" "Pass to endpoints(role=db in namespaces())" "$names"
both allowed web "$db4" "$db6" 80 "an earlier Pass leaves the pod to the later tiers, which allow"
cat >>"$NET_TMP/policy.ini" <<-END
[network-policy shop/web]
endpoints = role=web
types = Egress
egress = to endpoints(role=other)
egress = to cidr($out4/32) ports UDP/53
END
net_check "load: a NetworkPolicy isolates web" net_bulkhead load "$NET_TMP/policy.ini"
both denied web "$db4" "$db6" 80 "an earlier Pass leaves the pod to a NetworkPolicy, which denies"
both allowed web $far4 $far6 80 "a name of the Admin tier comes before the NetworkPolicy"
# What an audited policy would deny depends on the rules of the NetworkPolicy, too.
sed -i 's/^\[cluster-network-policy names\]/&\naudit = yes/' "$NET_TMP/policy.ini"
net_check "load: the policy by names is audited" net_bulkhead load "$NET_TMP/policy.ini"
other4=$(net_ip other)
audited() { # COUNT
	local moved
	moved=$(net_moved net_ask web tcp "$other4" 80 $NET_WAIT_ALLOWED | grep -c "^audit .* by the source's policy")
	net_is "$moved" "$1"
}
net_check "the address alone would be denied, which the NetworkPolicy allows" audited 1
dns_answers ttl=3000 a="$other4"
dns_asks web other.shop.svc.cluster.local
net_check "by the name nothing would be denied" audited 0

# One load gives web's interface to another endpoint, as where the kernel gives its number to another interface.
loads "web has its names again" "$names"
both allowed web "$db4" "$db6" 80 "web reaches db by the name that it has learned"
heir=10.244.9.9
ip -n "$NET-web" addr add $heir/32 dev eth0
ip -n "$NET-web" addr del "$web4/32" dev eth0
ip -n "$NET-node" route add $heir dev veth-web
net_neighbours veth-web "$(net_mac web)" $heir | net_ips node
sed -e 's/role in (web, other)/role in (web, other, heir)/' -e 's/^\[endpoint shop\/web\]/[endpoint shop\/heir]/' \
	-e "s/^ip = $web4, $web6/ip = $heir/" -e 's/^labels = role=web$/labels = role=heir/' "$NET_TMP/policy.ini" \
	>"$NET_TMP/heir.ini"
net_check "load: heir has the interface that web had" net_bulkhead load --force "$NET_TMP/heir.ini"
net_denied web tcp "$db4" 80 "heir does not reach db by the name that web has learned"
dns_answers ttl=3000 a="$db4"
dns_asks web db.shop.svc.cluster.local A
net_allowed web tcp "$db4" 80 "heir reaches db by the name that it has learned itself"

ip -n "$NET-web" addr add "$web4/32" dev eth0
ip -n "$NET-web" addr del $heir/32 dev eth0
loads "no names"
both denied web "$db4" "$db6" 80 "without the name the pod is closed"
net_check "unload" net_bulkhead unload
both allowed web "$db4" "$db6" 80 "after the unload everything is open"
net_end
