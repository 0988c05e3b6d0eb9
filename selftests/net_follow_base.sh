#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower keeps what it has read of the pinned base for its next change. If the base is another one by then, it reads
# that.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
net_start db web
api_start
api_pods worker-1 db web
base() { # the ID of the map that has the base; nothing: the policy is pinned whole
	[ ! -e "$NET_PIN/blob_base" ] || bpftool -j map show pinned "$NET_PIN/blob_base" | grep -oE '"id":[0-9]+'
}
moved() { # FROM TO: the policy of db opens TO in place of FROM
	api_opens PUT db "$2" && api_await api_traces allow web db "$2" && api_traces deny web db "$1"
}

api_opens POST db 80
api_engine one
api_follower worker-1
net_check "the follower loads" api_await api_traces allow web db 80
for turn in 80:443 443:80 80:443; do
	net_check "port ${turn#*:} in place of ${turn%:*}" moved "${turn%:*}" "${turn#*:}"
done
first=$(base)
net_check "the policy is pinned as a delta" test -n "$first"
net_allowed web tcp "$(net_ip db)" 443 "port 443"
net_denied web tcp "$(net_ip db)" 80 "port 80"

# A policy of many ports is more than a delta that is pinned.
{
	printf '{"metadata": {"name": "many"}, "spec": {"podSelector": {"matchLabels": {"role": "web"}}, "ingress": [{"ports": ['
	seq -s, 1001 2 41001 | sed 's/[0-9]\+/{"port": &}/g' | tr -d '\n'
	printf ']}]}}'
} >"$NET_TMP/many"
net_check "a large policy comes" eval 'api POST $API_POLICIES @"$NET_TMP/many" >/dev/null'
many_there() {
	api_traces allow db web 1003 && api_traces deny db web 1004
}
net_check "the large policy is active" api_await many_there
for turn in 443:80 80:443 443:80; do
	net_check "after it, port ${turn#*:} in place of ${turn%:*}" moved "${turn%:*}" "${turn#*:}"
done
second=$(base)
net_check "the base is another one" test -n "$second" -a "$second" != "$first"
net_allowed web tcp "$(net_ip db)" 80 "port 80 beside the large policy"
net_denied web tcp "$(net_ip db)" 443 "port 443 beside the large policy"
net_check "the maps are as the policy says" net_bulkhead status --check

api DELETE $API_POLICIES/many >/dev/null
net_check "the large policy goes" api_await api_traces allow db web 1004
for turn in 80:443 443:80; do
	net_check "without it, port ${turn#*:} in place of ${turn%:*}" moved "${turn%:*}" "${turn#*:}"
done
net_allowed web tcp "$(net_ip db)" 80 "port 80 at last"
net_denied web tcp "$(net_ip db)" 443 "port 443 at last"
net_check "the maps are as the policy says at last" net_bulkhead status --check
net_end
