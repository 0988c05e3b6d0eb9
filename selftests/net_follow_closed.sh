#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Pod with too many labels is isolated on its node, in both directions and whatever policies allow; other Pods' packets
# pass as before. Without these labels its policies count again.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web box
api_start
api_pods worker-1 db web box
api POST /apis/networking.k8s.io/v1/namespaces/shop/networkpolicies '{"metadata": {"name": "db"}, "spec":
	{"podSelector": {"matchLabels": {"role": "db"}}, "ingress": [{"ports": [{"port": 80}]}]}}' >/dev/null
guarded() { # all three Pods
	[ "$(net_bulkhead endpoint list 2>/dev/null | grep -c '^shop/')" = 6 ] &&
		net_bulkhead metrics | grep -qx "bulkhead_endpoints_unguarded 0"
}
labels() { # VALUE: gives db 300 labels with this value; null: takes them away
	api PATCH /api/v1/namespaces/shop/pods/db '{"metadata": {"labels": {'"$(
		seq 300 | sed "s/.*/\"label-&\": $1/" | paste -sd,
	)"'}}}' >/dev/null
}
verdict() { # VERDICT FROM TO: what the maps say of port 80
	net_bulkhead trace --from "$(net_ip "$2")" --to "$(net_ip "$3")" --port TCP/80 | grep -q "^$1"
}
api_engine one
api_follower worker-1
net_check "the follower guards all Pods" api_await guarded
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed web tcp "$address" 80 "web reaches $address"
	net_denied web tcp "$address" 443 "web does not reach $address at a port that no rule allows"
done
net_allowed db tcp "$(net_ip box)" 80 "db reaches box"

net_check "db gets 300 labels of 50 bytes" labels "\"$(printf '%050d' 0)\""
net_check "the maps isolate db" api_await verdict deny web db
net_check "an Event says so" api_await api_said Refused 'Pod shop.*/db: metadata.labels: it is isolated'
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_denied web tcp "$address" 80 "web does not reach $address any more"
done
for address in "$(net_ip box)" "$(net_ip6 box)"; do
	net_denied db tcp "$address" 80 "db does not reach $address any more"
	net_allowed web tcp "$address" 80 "web reaches $address as before"
done

net_check "db loses these labels" labels null
net_check "the maps isolate db no more" api_await verdict allow web db
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed web tcp "$address" 80 "web reaches $address again"
	net_denied web tcp "$address" 443 "and not at a port that no rule allows"
done
net_allowed db tcp "$(net_ip box)" 80 "db reaches box again"
net_end
