#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An address that a pod has learned by another pod's name goes, and another takes its memory, while the pod sends to it
# and learns: no packet is evaluated by the other address's names.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS=80
net_start web other
{
	policy "Accept to names(api.example.com, *.svc.example.org)" |
		sed 's/^subject = .*/subject = endpoints(role=web in namespaces())/'
	cat <<-EOF
	[cluster-network-policy others]
	tier = Admin
	priority = 11
	subject = endpoints(role=other in namespaces())
	egress = Accept to names(evil.example.net)
	EOF
} >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
dns_answers a=198.18.0.1 a=198.18.0.3
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
churn=("$NET_HELPERS/churn" "$NET_PIN/learned")
net_check "each packet to the address of the policy's name passes" net_is "$(drops 198.18.0.2 1000)" ""
net_check "no packet to the other pod's address passes" net_is "$(drops 198.18.0.1 1000)" 1000
"${churn[@]}" 198.18.0.1 198.18.0.2 100000000 &
NET_SERVERS+=($!)
net_check "no packet to the other pod's address passes while it goes and comes" \
	net_is "$(drops 198.18.0.1 600000)" 600000
net_check "the addresses go and come until then" kill $!
wait $!

# An answer about the policy's name writes it into the entry of its address, whose memory the other pod's address has
# just got.
dns_answers a=198.18.0.3
"$NET_ENTER" --net="/run/netns/$NET-web" "$DNS" many 1000000 udp "$out4" svc.example.org >/dev/null 2>&1 &
NET_SERVERS+=($!)
net_check "a name is written where the other pod's address is now" "${churn[@]}" 198.18.0.1 198.18.0.3 100000000
net_check "answers come until then" kill $!
net_check "no packet to the other pod's address passes by the name that was written there" \
	net_is "$(drops 198.18.0.1 1000)" 1000
dns_asks web late.svc.example.org
net_check "each packet to the address of the name that was written passes" net_is "$(drops 198.18.0.3 1000)" ""
net_end
