#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# status --check: 0 only if every interface and endpoint is guarded and this build's policy is active;
# else 1, and a line for each problem.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"
sed 's/TCP\/80/TCP\/443/' "$NET_TMP/policy.ini" >"$NET_TMP/next.ini"

fine() {
	net_is "$(net_bulkhead status --check)" "" && net_bulkhead status --check &&
		net_is "$(net_bulkhead status --check -j)" "[]"
}
wrong() { # LINE...: those and no others
	net_bulkhead status --check >"$NET_TMP/out" 2>&1
	net_is $? 1 && net_is "$(cat "$NET_TMP/out")" "$(printf '%s\n' "$@")"
}
load() {
	net_bulkhead load "$NET_TMP/policy.ini"
}
net_check "status --check reports that nothing is loaded" wrong "nothing is loaded"
elsewhere() { # in a mount namespace where another file system hides bpffs
	net_on node unshare -m sh -c 'mount -t tmpfs none /sys/fs/bpf && exec "$@"' - "$@"
}
net_check "status --check says that bpffs is missing" net_ends 1 \
	'^nothing is loaded, and the pin folder is on no bpffs in this mount namespace$' elsewhere "$BULKHEAD" status --check --pin "$NET_PIN"
net_check "trace names the pin folder in which nothing is active" net_ends 2 \
	"nothing is active in $NET_PIN: give INPUT" net_bulkhead trace --from 10.0.0.1 --to 10.0.0.2 --port TCP/80
net_check "status -j has no time of loading then" net_ends 0 '"loaded":null,' net_bulkhead status -j
net_check "load" load
net_check "status --check has no problem after load" fine
guarantees() { # no endpoint has 0 connections, nor all of them together
	net_ends 0 "^connections: 0 of [0-9]" net_bulkhead status && ! grep -E "endpoint 0;| of 0$" "$NET_TMP/said"
}
net_check "status does not guarantee an endpoint 0 connections before the first packet" guarantees

tail_of_link=$NET_PIN/tcx_$(net_on node cat /sys/class/net/veth-db/ifindex 2>/dev/null ||
	ip -n "$NET-node" -o link show veth-db | sed 's/:.*//')_egress
if [ -e "$tail_of_link" ]; then
	rm "$tail_of_link"
else # clsact
	tc -n "$NET-node" filter del dev veth-db egress
fi
sleep 0.1
net_check "status --check names an interface without its program" wrong "NOT GUARDED: interface veth-db" \
	"NOT GUARDED: endpoint shop/db"
net_check "load attaches the program again" load
net_check "status --check has no problem with the program back" fine

rm "$NET_PIN/sk_node_link"
net_check "status --check names the node's sockets without their program" wrong \
	"NOT GUARDED: the node's sockets: load again"
net_check "load attaches that program again" load
net_check "status --check has no problem with that program back" fine

net_check "endpoint add" \
	net_bulkhead endpoint add shop/late --ip "$(net_ip late)" --labels role=web
net_check "status --check has no problem with the added endpoint" fine
ip -n "$NET-node" link del veth-late
net_check "status --check names an endpoint without its interface" wrong "NOT GUARDED: endpoint shop/late"
net_check "endpoint del of that endpoint" net_bulkhead endpoint del shop/late
net_check "status --check has no problem after the deletion" fine
ip -n "$NET-node" link add late0 type veth peer name late1
net_check "status --check has no problem with an interface that is down" fine
ip -n "$NET-node" link set late0 up
net_check "status --check names an interface that came up after load" wrong \
	"NOT GUARDED: interface late0, which has come up since the last load: load again"
net_check "load guards the interface" load
net_check "status --check has no problem with the guarded interface" fine
ip -n "$NET-node" link del late0
net_check "stage another policy" net_bulkhead load --stage "$NET_TMP/next.ini"
net_check "status --check has no problem with a staged policy" fine

# A load that is killed between its first map writes has put nothing active.
killed() {
	net_fault state 0 kill load "$NET_TMP/next.ini" && load || return
	net_fault state "$(grep -n '^bpf' "$NET_TMP/calls" | sed -n 's/:.*//; 2p')" kill \
		load "$NET_TMP/next.ini"
	[ $? -eq 99 ]
}
net_check "load" load
net_check "a load is killed" killed
net_check "status --check reports the killed command" grep "last change: interrupted" \
	<(net_bulkhead status --check)
net_check "status --check reports the policy that it was to load" grep "policy .: failed to load" \
	<(net_bulkhead status --check)
net_check "status --check exits with 1" net_is "$(net_bulkhead status --check >/dev/null; echo $?)" 1
# A command that holds the lock of the pin folder is at work.
during() { # says what is active, and nothing of what is undone
	net_ends 0 "^generation .* is active" net_on node flock "$NET_PIN" "$BULKHEAD" status --pin "$NET_PIN" &&
		! grep -E "failed to load|not active|not collected|interrupted" "$NET_TMP/said"
}
net_check "status does not call undone what another command does now" during
net_check "the next load succeeds" load
net_check "status --check has no problem after the repair" fine

net_end
