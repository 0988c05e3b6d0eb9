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
