#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Domain names in egress rules: what a pod learns from a resolver's answer opens, for this pod alone, what its
# policy denies otherwise. The outside host is the resolver, and has the addresses of the answers.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

DNS=$NET_HELPERS/dns
out4=$(net_ip out)

# Starts the resolver anew, with an answer for each question.
dns_pid=
dns_answers() { # WORD...
	[ -z "$dns_pid" ] || kill "$dns_pid"
	net_server out "$NET_TMP/dns" "$DNS" serve "${resolver:-$out4}" "$@"
	dns_pid=$!
}

# Asks from a pod; the answer must come, whatever it teaches.
dns_asks() { # POD NAME [TYPE] [tcp|udp]
	net_on "$1" "$DNS" ask "${4:-udp}" "${resolver:-$out4}" "$2" "${3:-A}" >"$NET_TMP/answer" || {
		net_result "not ok" "$1 gets the answer about $2"
	}
}

net_start web other
net_serve_more() { # an address of the outside host, with a listener
	ip -n "$NET-out" addr add "$1" dev lo
}
for n in 1 2 3 4 5 6; do
	net_serve_more 172.18.0.$n/32
	net_serve_more fd18::$n/128
done

# Prints the policy. web and other may ask the resolver, and reach the names at TCP/80.
policy() { # RULE...
	cat <<EOF
$(net_head "uplink = eth0" "resolver = $out4")
$(net_endpoint web)
$(net_endpoint other)
[cluster-network-policy names]
tier = Admin
priority = 10
subject = namespaces()
egress = Accept to cidr($out4/32) ports UDP/53, TCP/53
$(printf 'egress = %s\n' "$@")
egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
EOF
}
policy "Accept to names(api.example.com) ports TCP/80" >"$NET_TMP/policy.ini"
net_check "load a policy with a name" net_bulkhead load "$NET_TMP/policy.ini"
net_denied web tcp 172.18.0.1 80 "before a question the address is closed"

dns_answers a=172.18.0.1
dns_asks web api.example.com
net_allowed web tcp 172.18.0.1 80 "an answer opens the address"
net_denied web tcp 172.18.0.1 443 "an answer opens no other port"
net_denied web tcp 172.18.0.2 80 "an answer opens no other address"
net_denied other tcp 172.18.0.1 80 "what one pod has learned opens nothing for another"
dns_answers a=172.18.0.2
dns_asks web www.example.com
net_denied web tcp 172.18.0.2 80 "an answer about another name opens nothing"
net_end
