#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The outside host as a resolver that answers as a test says. Sourced after net.sh.
# shellcheck source=selftests/lib/net.sh
# shellcheck disable=SC2034

DNS=$NET_HELPERS/dns
out4=$(net_ip out)

# Starts the resolver anew, with an answer for each question.
dns_pid=
dns_answers() { # WORD...
	if [ -n "$dns_pid" ]; then
		kill "$dns_pid"
		while kill -0 "$dns_pid" 2>/dev/null; do sleep 0.01; done
	fi
	net_server out "$NET_TMP/dns" "$DNS" serve "${resolver:-$out4}" "$@"
	dns_pid=$!
}

# Asks from a pod; the answer must come, whatever it teaches.
dns_asks() { # POD NAME [TYPE] [tcp|udp]
	net_on "$1" "$DNS" ask "${4:-udp}" "${resolver:-$out4}" "$2" "${3:-A}" >"$NET_TMP/answer" || {
		net_result "not ok" "$1 gets the answer about $2"
	}
}

# Prints the policy: dns_pods may ask dns_resolvers, and have the rules that are given.
dns_pods="web other"
dns_resolvers=$out4 # or several: "ADDRESS, ADDRESS"
policy() { # [RULE...]
	local address cidrs=
	for address in ${dns_resolvers//,/ }; do
		[[ $address == *:* ]] && address+=/128 || address+=/32
		cidrs+="${cidrs:+, }cidr($address)"
	done
	net_head "uplink = eth0" "resolver = $dns_resolvers"
	# shellcheck disable=SC2086
	printf '%s\n' $dns_pods | while read -r pod; do net_endpoint "$pod"; done
	cat <<-END
	[cluster-network-policy names]
	tier = Admin
	priority = 10
	subject = namespaces()
	egress = Accept to $cidrs ports UDP/53, TCP/53
	END
	[ $# -eq 0 ] || printf 'egress = %s\n' "$@"
	echo "egress = Deny to cidr(0.0.0.0/0), cidr(::/0)"
}
