#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower loads again what another command unloaded, and with the policy come the pods that the CNI plugin attached:
# behind a bridge, where no route leads to a pod's own interface, and pods that no policy names.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cni_conf br "$(cni_bridge cni0 '"isGateway": true,' 10.51.0.0/24 fd51::/64)" "$(cni_own)"
# The follower finds the plugin's folder where it is on a node: in a mount namespace of its own.
cat >"$NET_TMP/follower" <<END
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/bulkhead && ln -s "$CNI_STATE" /run/bulkhead/cni && exec "$BULKHEAD" "\$@"' sh "\$@"
END
chmod +x "$NET_TMP/follower"

api_start
api_node worker-1
api_engine one --node-limit 20
BULKHEAD=$NET_TMP/follower api_follower worker-1
is_loaded() {
	net_bulkhead status | grep -q "is active on worker-1"
}
lists() { # PATTERN
	net_bulkhead endpoint list 2>/dev/null | grep -qE "$1"
}
net_check "the follower loads" api_await is_loaded
for pod in db late; do
	cni_pod $pod
	net_check "ADD of $pod" cni_named shop/$pod br ADD $pod
	[ $pod = late ] || { db=$(cni_address) && db6=$(cni_address 1); }
done
late=$(cni_address)
net_serve db late
net_check "the API server hears of a policy" api POST $API_POLICIES \
	'{"metadata": {"name": "db"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{"port": 80}]}]}}'
net_check "the API server hears of db" api_pod worker-1 db db "$db" "$db6"
enforced() { # WHEN
	net_check "$1: db is in its segment, at its interface" api_await lists "^shop/db +$db +segment [0-9]+ +veth"
	net_allowed db tcp 192.168.7.2 80 "$1: db sends what its policy allows"
	net_denied db tcp 192.168.7.2 443 "$1: db sends nothing else"
	net_check "$1: the pod that nobody names is isolated, at its interface" api_await lists "^shop/late +$late +isolated +veth"
	net_denied late tcp 192.168.7.2 80 "$1: the pod that nobody names sends nothing"
	net_allowed node tcp "$late" 80 "$1: the node reaches that pod"
}
enforced "at first"
net_check "unload" net_bulkhead unload
net_check "the follower loads again" api_await is_loaded
enforced "after that"

# A pod for which the plugin is not called, as after another program has written the network's list anew.
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
starts() { # POD: without an address first
	api POST $API_PODS '{"metadata": {"name": "'"$1"'"}, "spec": {"nodeName": "worker-1"}, "status": {"phase": "Pending"}}' >/dev/null &&
		api_await test -e "$NET_TMP/records/shop_$1.json"
}
has_address() { # POD
	api PATCH "$API_PODS/$1/status" '{"status": {"phase": "Running", "podIP": "'"$(cni_address)"'",
		"podIPs": [{"ip": "'"$(cni_address)"'"}, {"ip": "'"$(cni_address 1)"'"}]}}' >/dev/null
}
warns() { # POD
	api_logged follow-worker-1 warning "Pod shop/$1: was not guarded until now, since the CNI plugin was not called"
}
for pod in missed called; do
	cni_pod $pod
	net_check "the API server hears of the pod that is $pod" starts $pod
done
net_check "ADD of a pod without Bulkhead's plugin" eval 'RUNTIME_ONLY=ptp cni_named shop/missed ptp ADD missed && has_address missed'
net_check "the follower warns that the plugin was not called for the pod" api_await warns missed
net_check "the follower guards the pod" lists "^shop/missed +$(cni_address) +segment [0-9]+ +veth"
net_check "ADD of a pod with Bulkhead's plugin" eval 'cni_named shop/called ptp ADD called && has_address called'
# The follower has taken the pod `called` by the time that it hears of a later pod.
net_check "the API server hears of a pod that comes later" starts later
net_check "the follower does not warn of the pod that the plugin was called for" eval '! warns called'
net_end
