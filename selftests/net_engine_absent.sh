#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that starts does not know all collections, and a proxy that has no server knows none: both answer 404. An
# engine that begins then does not take that for a cluster without policies, and one that lists again keeps those that it
# has. A collection that a server lacks that is ready has no objects.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db web

net_check "a policy" api_opens POST db 80
api_engine one
api_follower worker-1
net_check "the follower guards both pods" api_await api_guarded 2
api_protects "at first" 80 443

api_end engine-one TERM
wanted=$(api_wanted) seen=$(api_count GET_/readyz)
net_check "the server lacks the policies" api_fails 404 /networkpolicies
api_engine two --node-limit 20
net_check "the next engine asks whether the server is ready" api_await api_counts GET_/readyz $((seen + 1))
net_check "the engine says that it does not take the policies for deleted" api_await grep -q \
	'/networkpolicies: is not there (404), and the server does not say at /readyz' "$NET_TMP/engine-two.log"
net_pause 2
net_check "the engine makes no policy" net_is "$(api_wanted)" "$wanted"
api_protects "while the server lacks the policies" 80 443
net_check "the server has the policies again" api_fails
net_check "another policy is rolled out" api_rolls api_opens PUT db 443
net_check "the follower has it" api_await net_ask web tcp "$(net_ip db)" 443 1
net_denied web tcp "$(net_ip db)" 80 "web does not reach db at 80 by the new policy"
net_end
