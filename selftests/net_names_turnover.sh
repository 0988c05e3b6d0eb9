#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An address that a pod has learned by another pod's name goes, and another takes its memory, while the pod sends to it:
# no packet is evaluated by the other address's names.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS=80
net_start web other
{
	policy "Accept to names(api.example.com)" | sed 's/^subject = .*/subject = endpoints(role=web in namespaces())/'
	cat <<-EOF
	[cluster-network-policy others]
	tier = Admin
	priority = 11
	subject = endpoints(role=other in namespaces())
	egress = Accept to names(evil.example.net)
	EOF
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
dns_answers a=198.18.0.1
dns_asks web evil.example.net
dns_answers a=198.18.0.2
dns_asks web api.example.com
net_nobody out 198.18.0.0/16

sends() { # ADDRESS COUNT: to port 7000, from another port with every other frame
	net_frame web -p -n "$2" eth0 "$(net_mac web)" 02:00:00:00:02:01 udp "$(net_ip web)" "$1" 7000
}
drops() { # ADDRESS COUNT
	net_moved sends "$@" | sed -n "s/^drop \([0-9]*\) denied by the source's policy$/\1/p"
}
net_check "each packet to the address of the policy's name passes" net_is "$(drops 198.18.0.2 1000)" ""
net_check "no packet to the other pod's address passes" net_is "$(drops 198.18.0.1 1000)" 1000
"$NET_HELPERS/churn" "$NET_PIN/learned" 198.18.0.1 198.18.0.2 198.18.9.9 100000000 &
churn=$!
NET_SERVERS+=("$churn")
net_check "no packet to the other pod's address passes while it goes and comes" \
	net_is "$(drops 198.18.0.1 600000)" 600000
net_check "the addresses go and come until then" kill $churn
net_end
