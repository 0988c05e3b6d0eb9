#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower loads again what another command unloaded, and with the policy come the pods that the CNI plugin attached:
# behind a bridge, where no route leads to a pod's own interface, and pods that no policy names.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
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
net_check "the API server hears of a policy" api POST /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies \
	'{"metadata": {"name": "db"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{"port": 80}]}]}}'
net_check "the API server hears of db" api POST /api/v1/namespaces/shop/pods '{"metadata": {"name": "db", "labels": {"role": "db"}},
	"spec": {"nodeName": "worker-1"}, "status": {"phase": "Running", "podIP": "'"$db"'", "podIPs": [{"ip": "'"$db"'"}, {"ip": "'"$db6"'"}]}}'
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
net_end
