#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy stays staged on a node while no engine leads. Meanwhile the node's follower guards what comes up, and gives
# a pod of new labels its segment. The policy stays staged for the engine's return.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db web
api_start
api_pods worker-1 db
api_node worker-2
agrees() {
	net_bulkhead status --check >/dev/null
}
staged() { # prints the generation that is staged
	net_bulkhead status -j | jq .policy_generation.installed
}
has_segment() { # POD
	net_bulkhead endpoint list | grep "^shop/$1 " | grep -vq isolated
}

api_opens POST db 80
api_engine one --node-limit 3600
api_follower worker-1
net_check "the nodes have a policy" api_await api_both_followed 0
at=$(api_generation)
api_opens PUT db 443
net_check "worker-1 has the next policy staged" api_await api_has worker-1 $((at + 1)) "$at"
api_end engine-one KILL
net_check "status --check finds nothing" api_await agrees

ip -n "$NET-node" link add vxlan9 type vxlan id 9 dstport 8472 dev eth0
ip -n "$NET-node" link set vxlan9 up
net_check "the follower guards a tunnel while no engine leads" api_await agrees
net_check "the follower says so" api_logged follow-worker-1 note "follow: UDP port 8472 is a tunnel's by now"
net_check "the node still has the next policy staged" net_is "$(staged)" $((at + 1))
net_check "worker-1 still reports the next policy staged" api_has worker-1 $((at + 1)) "$at"

net_check "a pod of new labels starts" api_pod worker-1 web web "$(net_ip web)"
net_check "the pod has a segment while no engine leads" api_await has_segment web
net_check "the node still has the next policy staged beside the pod" net_is "$(staged)" $((at + 1))

# as a load does that is killed
rm "$NET_PIN/blob_next"
ip -n "$NET-node" link add vxlan10 type vxlan id 10 dstport 8473 dev eth0
ip -n "$NET-node" link set vxlan10 up
net_check "the follower stages the policy again that a killed load has removed" api_await test -e "$NET_PIN/blob_next"

api_engine two --node-limit 3600
net_check "the rollout ends when an engine is back" api_await api_both_followed "$at"
net_end
