#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `follow --audit` drops nothing and counts; a follower that begins without the option enforces at once what the node
# has, and does not wait for the cluster's next policy.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db web
api_opens POST db 80
audits() { # COUNT: endpoints
	net_bulkhead metrics | grep -qx "bulkhead_endpoints_audited $1"
}
audited() {
	net_counters | grep -q "^audit [1-9][0-9]* denied by the destination's policy"
}
api_engine one
api_follower worker-1 --audit
net_check "the follower guards both pods" api_await api_guarded 2
net_both allowed web db 80 "web reaches @"
net_both allowed web db 443 "audit lets web reach @ at a port that no rule allows"
net_check "audit counts what it would drop" audited
net_check "metrics count the audited endpoints" audits 2

# Nothing changes in the cluster, and no engine runs.
api_end engine-one TERM
api_end follow-worker-1 TERM
api_follower worker-1
net_check "a follower without --audit loads the active policy again" api_await audits 0
net_both denied web db 443 "web does not reach @ at 443 any more"
net_both allowed web db 80 "web still reaches @"
api_end follow-worker-1 TERM
api_follower worker-1 --audit
net_check "a follower with --audit enforces nothing from then on" api_await eval '! audits 0'
net_allowed web tcp "$(net_ip db)" 443 "web reaches 443 in audit"
net_end
