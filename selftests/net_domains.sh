#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Domain names in egress rules: what a pod learns from a resolver's answer opens, for this pod alone, what its
# policy denies otherwise. The outside host is the resolver, and has the addresses of the answers.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

net_start web other
net_serve_more() { # an address of the outside host, with a listener
	ip -n "$NET-out" addr add "$1" dev lo
}
for n in 1 2 3 4 5 6 7 8; do
	net_serve_more 172.18.0.$n/32
	net_serve_more fd18::$n/128
done

# Opens address N (172.18.0.N and fd18::N) or leaves it closed.
opens() { # N NAME [POD]
	net_allowed "${3:-web}" tcp 172.18.0.$1 80 "$2"
}
closed() { # N NAME [POD]
	net_denied "${3:-web}" tcp 172.18.0.$1 80 "$2"
}

policy "Accept to names(api.example.com, *.svc.example.org) ports TCP/80" >"$NET_TMP/policy.ini"
net_check "load a policy with names" net_bulkhead load --set dns-grace=0 "$NET_TMP/policy.ini"
closed 1 "the address is closed before the question"

dns_answers a=172.18.0.1
dns_asks web api.example.com
opens 1 "an answer opens the address"
net_denied web tcp 172.18.0.1 443 "an answer opens no other port"
closed 2 "an answer opens no other address"
closed 1 "an answer opens nothing for another pod" other
net_denied web tcp fd18::1 80 "an answer about IPv4 opens no IPv6 address"

dns_answers a=172.18.0.2
dns_asks web www.example.com
closed 2 "an answer about another name opens nothing"
dns_asks web example.com
closed 2 "an answer about the parent opens nothing"
dns_asks web svc.example.org
closed 2 "a wildcard does not match its own name"
dns_asks web asvc.example.org
closed 2 "a wildcard does not match a part of a label"
dns_asks web x.api.example.com
closed 2 "an exact name does not match names below it"
dns_asks web A.b.SVC.example.ORG
opens 2 "a wildcard matches any labels, in any case"

dns_answers a=172.18.0.3
dns_asks web API.Example.com A tcp
opens 3 "an answer over TCP opens the address"
dns_answers aaaa=fd18::3
dns_asks web api.example.com AAAA
net_allowed web tcp fd18::3 80 "an answer over IPv4 opens an IPv6 address"

dns_answers cname=a.example.net cname=b.example.net a=172.18.0.4
dns_asks web api.example.com
opens 4 "the end of a chain of CNAMEs is the name's"
dns_answers cname=api.example.com a=172.18.0.5
dns_asks web evil.example
closed 5 "an alias of a permitted name opens nothing"
dns_answers cname=a.example.net owner=b.example.net a=172.18.0.5
dns_asks web api.example.com
closed 5 "a record of a name beside the chain opens nothing"
dns_answers owner=evil.example a=172.18.0.5
dns_asks web api.example.com
closed 5 "a record of another owner opens nothing"

for wrong in id question type rcode query port; do
	dns_answers $wrong a=172.18.0.5
	net_on web timeout 1 "$DNS" ask udp "$out4" api.example.com >/dev/null
	closed 5 "an answer with a wrong $wrong opens nothing"
done
dns_answers cut a=172.18.0.5
dns_asks web api.example.com
opens 5 "a cut answer teaches what it has"

dns_answers many=80 a=172.18.0.6
dns_asks web many.svc.example.org A tcp
opens 6 "the address behind eighty others is open"
opens 1 "eighty addresses replace no earlier one"

net_check "show names lists the name, its address and time" net_ends 0 \
	"^shop/web  *172.18.0.1  *api.example.com  *[0-9]* s" net_bulkhead show names
net_check "show names lists the resolvers" net_ends 0 "^resolvers, whose answers teach names: .*$out4" net_bulkhead show names
net_check "show names leaves other namespaces out" bash -c \
	"! '$BULKHEAD' show names --pin '$NET_PIN' -n none | grep -q 172.18"
net_check "metrics count what answers taught" net_ends 0 \
	'^bulkhead_dns_messages_total{result="learned"} [1-9]' net_bulkhead metrics

# Time: an answer with TTL 1, without grace.
dns_answers ttl=1 a=172.18.0.7
dns_asks other api.example.com
opens 7 "an answer with a short life opens the address" other
until ! net_ask other tcp 172.18.0.7 80 $NET_WAIT_DENIED; do sleep 0.2; done
closed 7 "the address is closed when the life is over" other
dns_asks other api.example.com
opens 7 "the next answer opens the address again" other

# Connections go on as long as their policy allows their name, whatever the answer's time.
talk_open() { # tcp|udp PORT
	mkfifo "$NET_TMP/$1.in" "$NET_TMP/$1.out"
	"$NET_HELPERS/pair" "/run/netns/$NET-web" "/run/netns/$NET-out" talk 172.18.0.8 "$2" "$1" \
		<>"$NET_TMP/$1.in" >"$NET_TMP/$1.out" 2>&1 &
	NET_SERVERS+=($!)
	exec {out}<"$NET_TMP/$1.out" {in}>"$NET_TMP/$1.in"
	talk_in[$1]=$in talk_out[$1]=$out
	read -r -t 60 -u "$out" said
	net_is "$said" ready
}
declare -A talk_in talk_out
talk_says() { # arrived|lost
	local protocol wait=$NET_WAIT_ALLOWED status=0
	[ "$1" = arrived ] || wait=$NET_WAIT_DENIED
	for protocol in tcp udp; do
		echo "there $wait" >&"${talk_in[$protocol]}"
		read -r -t 60 -u "${talk_out[$protocol]}" said
		net_is "$said" "$1" || { echo "$protocol" && status=1; }
	done
	return $status
}
live="names(api.example.com, *.svc.example.org) ports TCP/80, TCP/9001, UDP/9001"
policy "Accept to $live" >"$NET_TMP/policy.ini"
net_check "load the names with more ports" net_bulkhead load "$NET_TMP/policy.ini"
opens 1 "what was learned before a load counts after the load"
dns_answers ttl=5 a=172.18.0.8
dns_asks web api.example.com
net_check "a TCP connection opens" talk_open tcp 9001
net_check "a UDP connection opens" talk_open udp 9001
net_check "packets pass" talk_says arrived
until ! net_ask web tcp 172.18.0.8 80 $NET_WAIT_DENIED; do talk_says arrived >/dev/null; done
net_check "open connections go on when the life of the answer is over" talk_says arrived
{ cat "$NET_TMP/policy.ini" && echo "[namespace more]"; } >"$NET_TMP/more.ini"
net_check "load another generation" net_bulkhead load "$NET_TMP/more.ini"
net_check "open connections go on at another generation" talk_says arrived
closed 8 "new connections stay closed at another generation"
policy "Accept to names(*.svc.example.org)" >"$NET_TMP/less.ini"
net_check "load a policy without the name" net_bulkhead load "$NET_TMP/less.ini"
net_check "open connections of a name that is gone stop" talk_says lost
closed 1 "an address of a name that is gone is closed"
net_check "load the name again" net_bulkhead load "$NET_TMP/policy.ini"
opens 1 "what was learned of the name counts again"

# Precedence is that of any rule.
policy "Deny to cidr(172.18.0.1/32)" "Accept to $live" >"$NET_TMP/policy.ini"
net_check "load a Deny before the name" net_bulkhead load "$NET_TMP/policy.ini"
closed 1 "an earlier Deny of the address wins"
opens 3 "an earlier Deny of one address leaves another open"
policy "Pass to cidr(172.18.0.1/32)" "Accept to $live" >"$NET_TMP/policy.ini"
cat >>"$NET_TMP/policy.ini" <<END
[network-policy shop/web]
endpoints = role=web
types = Egress
END
net_check "load a Pass before the name, and a NetworkPolicy" \
	net_bulkhead load "$NET_TMP/policy.ini"
closed 1 "an earlier Pass of the address leaves it to NetworkPolicy"
opens 3 "a name of the Admin tier wins over a NetworkPolicy"
sed 's/^tier = Admin/tier = Baseline/; s/^egress = Pass.*//' "$NET_TMP/policy.ini" >"$NET_TMP/baseline.ini"
net_check "load the names in the Baseline tier" net_bulkhead load "$NET_TMP/baseline.ini"
closed 3 "a NetworkPolicy wins over a name of the Baseline tier"
sed '/^.network-policy/,$d' "$NET_TMP/baseline.ini" >"$NET_TMP/policy.ini"
net_check "load the Baseline tier alone" net_bulkhead load "$NET_TMP/policy.ini"
opens 3 "a name of the Baseline tier opens the address"
dns_answers a=172.18.0.2
dns_asks web b.svc.example.org
opens 2 "a wildcard's address is open in the Baseline tier"

# A pod by a name: its own, or a headless Service's.
policy "Accept to $live" >"$NET_TMP/policy.ini"
net_check "load the names alone" net_bulkhead load "$NET_TMP/policy.ini"
net_denied web tcp "$(net_ip other)" 80 "a pod whose name was not asked for is shut"
dns_answers a="$(net_ip other)" a=172.18.0.1
dns_asks web headless.svc.example.org
net_allowed web tcp "$(net_ip other)" 80 "a name opens a pod"
opens 1 "the address outside in the same answer is open"
net_denied web tcp "$(net_ip6 other)" 80 "the pod's IPv6 address, which was not asked for, is shut"
dns_answers aaaa="$(net_ip6 other)" aaaa=fd18::1
dns_asks web headless.svc.example.org AAAA
net_allowed web tcp "$(net_ip6 other)" 80 "a name opens a pod's IPv6 address"
net_allowed web tcp fd18::1 80 "the IPv6 address outside in the same answer is open"
policy "Accept to endpoints(role=other in namespaces()) ports TCP/80" "Accept to $live" >"$NET_TMP/policy.ini"
net_check "load a rule by the pod's label" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip other)" 80 "a rule by labels opens the pod"
net_allowed web tcp "$(net_ip6 other)" 80 "a rule by labels opens the pod's IPv6 address"

# AdminNetworkPolicy has names, BaselineAdminNetworkPolicy has none.
policy "Accept to $live" | sed 's/^.cluster-network-policy/[admin-network-policy/; /^tier/d; s/Accept/Allow/' \
	>"$NET_TMP/admin.ini"
net_check "load an AdminNetworkPolicy with the names" net_bulkhead load "$NET_TMP/admin.ini"
dns_answers a=172.18.0.4
dns_asks other api.example.com
opens 4 "an AdminNetworkPolicy's name opens the address" other
closed 5 "an AdminNetworkPolicy's name opens no other address" other
sed 's/^.admin-network-policy/[baseline-admin-network-policy/; /^priority/d' "$NET_TMP/admin.ini" >"$NET_TMP/baseline.ini"
net_check "a BaselineAdminNetworkPolicy with names is refused" net_fails 2 net_bulkhead load "$NET_TMP/baseline.ini"
opens 4 "the AdminNetworkPolicy active stays after the refusal" other

# TTL 0: the grace is all of the time.
dns_answers ttl=0 a=172.18.0.5
dns_asks other api.example.com
until ! net_ask other tcp 172.18.0.5 80 $NET_WAIT_DENIED; do sleep 0.2; done
closed 5 "an answer with TTL 0 opens nothing for long without a grace" other
net_check "unload" net_bulkhead unload
net_check "load with a grace" net_bulkhead load --set dns-grace=600 "$NET_TMP/admin.ini"
closed 5 "an unload forgets what was learned" other
dns_asks other api.example.com
opens 5 "an answer with TTL 0 opens the address for the grace" other
net_end
