#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a rollout that never rests, a node has the next policy staged as soon as the last is active. Its follower still
# guards a tunnel that comes up meanwhile.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world db
api_node worker-2
pods=0
pod() { # another Pod of worker-2
	api_pod worker-2 far-$((++pods)) far 10.244.9.$pods
}
# Endpoints may be in the policy that is staged; worker-1 activates it, and stages the next.
goes_on() {
	pod && api_await api_stored $((at + 2)) || return
	api_report worker-2 $((at + 1)) "$at"
	api_await api_wants $((at + 2)) $((at + 1)) || return
	api_report worker-2 $((at + 1)) $((at + 1))
	at=$((at + 1))
	api_await api_has worker-1 $((at + 1)) "$at"
}
agrees() {
	net_bulkhead status --check >/dev/null
}

api_change
api_engine one --node-limit 3600
api_follower worker-1
net_check "the nodes have a policy" api_await api_both_followed 0
net_check "status --check finds nothing" api_await agrees
at=$(api_generation)
pod
net_check "worker-1 has the next policy staged" api_await api_has worker-1 $((at + 1)) "$at"
ip -n "$NET-node" link add vxlan9 type vxlan id 9 dstport 8472 dev eth0
ip -n "$NET-node" link set vxlan9 up
net_check "status --check finds the tunnel" eval '! agrees'
first=$at
until agrees || [ $((at - first)) -ge 10 ]; do
	net_pause 3
	goes_on || break
done
net_check "the follower guards the tunnel within ten policies" agrees
net_check "the follower says so" api_logged follow-worker-1 note "follow: UDP port 8472 is a tunnel's by now"
net_check "worker-1 still has the next policy staged" api_has worker-1 $((at + 1)) "$at"
net_check "the rollout goes on" goes_on
net_end
