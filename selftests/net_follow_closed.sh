#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Pod with too many labels is isolated on its node, in both directions and whatever policies allow; other Pods' packets
# pass as before. Without these labels its policies count again.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db web box
api_opens POST db 80
labels() { # VALUE: gives db 300 labels with this value; null: takes them away
	api PATCH $API_PODS/db '{"metadata": {"labels": {'"$(
		seq 300 | sed "s/.*/\"label-&\": $1/" | paste -sd,
	)"'}}}' >/dev/null
}
verdict() { # VERDICT FROM TO: what the maps say of port 80
	net_bulkhead trace --from "$(net_ip "$2")" --to "$(net_ip "$3")" --port TCP/80 | grep -q "^$1"
}
api_engine one
api_follower worker-1
net_check "the follower guards all Pods" api_await api_guarded 3
net_both allowed web db 80 "web reaches @"
net_both denied web db 443 "web does not reach @ at a port that no rule allows"
net_allowed db tcp "$(net_ip box)" 80 "db reaches box"

net_check "db gets 300 labels of 50 bytes" labels "\"$(printf '%050d' 0)\""
net_check "the maps isolate db" api_await verdict deny web db
net_check "an Event says so" api_await api_said Refused 'Pod shop.*/db: metadata.labels: it is isolated'
net_both denied web db 80 "web does not reach @ any more"
net_both denied db box 80 "db does not reach @ any more"
net_both allowed web box 80 "web reaches @ as before"

net_check "db loses these labels" labels null
net_check "the maps isolate db no more" api_await verdict allow web db
net_both allowed web db 80 "web reaches @ again"
net_both denied web db 443 "and not at a port that no rule allows"
net_allowed db tcp "$(net_ip box)" 80 "db reaches box again"
net_end
