#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower guards what comes up on its node while no policy changes: a tunnel, as an overlay network makes it after
# the first load, another interface, another default route, another address. Nothing else makes it load again.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db bad
inside=02:00:00:00:08:01 remote=10.244.9.9
api_node worker-2
api_pod worker-2 remote remote $remote
api POST $API_POLICIES '{"metadata": {"name": "db"}, "spec":
	{"podSelector": {"matchLabels": {"role": "db"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"role": "remote"}}}]}]}}' >/dev/null
api_engine one --node-limit 20
ip -n "$NET-node" route replace default via 192.168.7.2 metric 9
api_run follow-worker-1 follow -n worker-1 --pin "$NET_PIN" --records "$NET_TMP/records"

is_active() {
	net_bulkhead trace --from shop/remote --to shop/db --port UDP/80 | grep -q ^allow &&
		net_bulkhead trace --from shop/bad --to shop/db --port UDP/80 | grep -q ^deny
}
agrees() {
	net_bulkhead status --check >/dev/null
}
# Runs a command while the follower stands still: it would be faster.
stands_still() { # COMMAND...
	local status
	kill -STOP "${API_PID[follow-worker-1]}"
	"$@"
	status=$?
	kill -CONT "${API_PID[follow-worker-1]}"
	return $status
}
# True if status --check finds what COMMAND changes.
changes() { # COMMAND...
	"$@" && ! agrees
}
disagrees() { # COMMAND...
	stands_still changes "$@"
}
loads() { # how often the follower has loaded again
	grep -c "the active policy is loaded again" "$NET_TMP/follow-worker-1.log"
}
encapsulated() { # HOST MAC GATEWAY SOURCE: VXLAN to the node, and in it UDP/80 from `remote` to db
	net_frame "$1" eth0 "$2" "$3" tunnel "$4" "$(net_ip node)" "vxlan:8472:9:$inside" $remote "$(net_ip db)" 80
}
of_bad() {
	encapsulated bad "$(net_mac bad)" 02:00:00:00:02:01 "$(net_ip bad)"
}
of_outside() {
	encapsulated out 02:00:00:00:07:02 02:00:00:00:07:01 "$(net_ip out)"
}

net_check "the follower loads" api_await is_active
net_check "status --check finds nothing" api_await agrees
makes_tunnel() {
	ip -n "$NET-node" link add vxlan9 address $inside type vxlan id 9 dstport 8472 dev eth0 &&
		ip -n "$NET-node" link set vxlan9 up &&
		net_on node sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >"$f"; done'
}
net_check "status --check finds the tunnel" disagrees makes_tunnel
net_check "the follower guards the tunnel" api_await agrees
net_check "the follower says so" api_logged follow-worker-1 note "follow: UDP port 8472 is a tunnel's by now"
net_check "a pod's VXLAN to the tunnel is dropped" net_moves "drop 1 encapsulated, from an endpoint to a node" of_bad
opened() { # COMMAND...
	net_moved "$@" | grep -q "^pass 1 opens a connection that policy allows"
}
net_check "another host's VXLAN to the tunnel opens what policy allows" opened of_outside
net_check "status --check finds the node's new address" disagrees ip -n "$NET-node" addr add 192.168.7.77/32 dev eth0
net_check "the follower learns the node's new address" api_await agrees
net_check "status --check finds the address that the node gave up" disagrees ip -n "$NET-node" addr del 192.168.7.77/32 dev eth0
net_check "the follower learns that the node gave the address up" api_await agrees
ip -n "$NET-node" link add late type veth peer name late netns "$NET-out"
ip -n "$NET-out" link set late up
ip -n "$NET-node" link set late up
net_check "the follower guards an interface that comes up" api_await agrees
net_check "the follower names the interface" api_logged follow-worker-1 note "follow: interface late has come up"
ip -n "$NET-node" route add default dev late metric 1
is_uplink() {
	net_bulkhead status | grep -qE "^ *late:? .*uplink"
}
net_check "the interface of another default route becomes an uplink" api_await is_uplink
net_check "the follower has loaded again once for each" net_is "$(loads)" 5

# Addresses that change all the time, as those of Services at kube-proxy's kube-ipvs0.
for i in $(seq 250) $(seq 250); do
	ip -n "$NET-node" addr add "10.96.0.$i/32" dev lo 2>/dev/null || ip -n "$NET-node" addr del "10.96.0.$i/32" dev lo
	net_pause 0.5
done 2>/dev/null &
NET_SERVERS+=($!)
net_pause 40
loads=$(loads)
# True if status --check says of the interface that it is not guarded.
unguarded() { # INTERFACE
	net_bulkhead status --check 2>&1 | grep -q "NOT GUARDED: interface $1"
}
brings() { # INTERFACE
	ip -n "$NET-node" link add "$1" type veth peer name "$1" netns "$NET-out" &&
		ip -n "$NET-out" link set "$1" up && ip -n "$NET-node" link set "$1" up && unguarded "$1"
}
guards() { # INTERFACE
	local said status
	said=$(net_bulkhead status --check 2>&1)
	status=$?
	[ $status -le 1 ] && ! grep -q "NOT GUARDED: interface $1" <<<"$said"
}
# A load for the addresses that is under way when an interface comes up guards it, and then no message names the interface.
# So another one comes up: a follower that guards interfaces only by such loads names none of them.
for i in 1 2 3 4 5 6 7 8; do
	net_check "status --check finds the interface later$i" stands_still brings later$i
	net_check "addresses that change all the time do not leave later$i unguarded" api_await guards later$i
	grep -q "follow: interface later$i has come up" "$NET_TMP/follow-worker-1.log" && break
done
net_check "addresses that change all the time delay no interface's guard" grep -q "follow: interface later$i has come up" \
	"$NET_TMP/follow-worker-1.log"
net_check "the follower has loaded again for such addresses" test "$loads" -gt 5
net_end
