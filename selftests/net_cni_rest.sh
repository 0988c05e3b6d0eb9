#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pod is gone while a policy that gives it its address is still being installed: another node is slow. The address
# rests, and with it the next pod that has it, until every node has a policy without the former pod.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cni_conf one "$(cni_ptp 10.50.0.0/24=10.50.0.9)" "$(cni_own)"
pods=/api/v1/namespaces/shop/pods
pod() { # NAME
	api POST $pods '{"metadata": {"name": "'"$1"'", "labels": {"role": "'"$1"'"}},
		"spec": {"nodeName": "worker-1"}, "status": {"phase": "Pending"}}' >/dev/null
}
has_address() { # NAME: its object names the address from now on
	api PATCH "$pods/$1/status" '{"status": {"phase": "Running", "podIP": "10.50.0.9",
		"podIPs": [{"ip": "10.50.0.9"}]}}' >/dev/null
}
call() { # NAME COMMAND
	CONTAINER=of-$1 CNI_ARGS="K8S_POD_UID=$(api_get "$pods/$1" metadata.uid)" cni_named "shop/$1" one "$2" pod
}
owner_is() { # NAME STATE: segment or isolated
	net_bulkhead endpoint list | grep -q "^shop/$1  *10.50.0.9  *$2"
}
notes() { # NAME BOOLEAN: the address of this pod rests
	grep -q '"name":"'"$1"'".*"rests":'"$2" "$CNI_DIR"/records/left/*
}
free_is() { # BOOLEAN: the node's condition
	api GET $API_NODE/worker-1 | grep -q '"type":"AddressesFree","status":"'"$1"'"'
}
oldest_is() { # GENERATION
	[ "$(api_get $API_STATUS status.oldestEndpointGeneration)" = "$1" ]
}

cni_pod pod
api_start
api_node worker-2
api POST /api/v1/nodes '{"metadata": {"name": "worker-1"}}' >/dev/null
net_check "two pods to be" eval 'pod former && pod next'
api_engine one
api_run follow-worker-1 follow -n worker-1 --uplink eth0 --pin "$NET_PIN" --records "$CNI_DIR/records"
net_check "the follower and another node have the first policy" api_await eval 'api_report worker-2 1 1 && oldest_is 1'

net_check "ADD of the former pod" call former ADD
net_check "the former pod's object names the address" has_address former
net_check "a policy that gives it the address waits for the other node" api_await api_waits
net_check "DEL of the former pod" call former DEL
net_check "the address rests for long" api_await free_is False
net_check "ADD of the next pod by the address" call next ADD
net_check "the next pod's object names the address" has_address next
net_check "the next pod rests" owner_is next isolated
net_check "the other node has the policy, and then its endpoints in it" eval 'api_report worker-2 2 1 && api_report worker-2 2 2'
net_check "every node evaluates by that policy" api_await oldest_is 2
net_check "the next pod rests still" owner_is next isolated
net_check "the note of the former pod says so" notes former true
api_obeys worker-2
net_check "without the former pod in a policy the address rests no longer" api_await notes former false
net_check "the next pod is named" api_await owner_is next segment
net_check "no address rests" api_await free_is True
net_check "DEL of the next pod" call next DEL
net_check "the address of the next pod rests no longer either" api_await notes next false
net_end
