#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The capabilities that each command needs: it works with these alone; without one of them it names the
# missing one and changes nothing.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v setpriv >/dev/null || net_skip "needs setpriv"
net_start db web late
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"

with() { # CAPABILITY,...|none COMMAND ARGUMENT...: the node's command, root without the others
	local set=-all
	[ "$1" = none ] || set+=",+${1//,/,+}"
	net_on node setpriv --inh-caps=-all --bounding-set="$set" \
		"$BULKHEAD" "$2" --pin "$NET_PIN" "${@:3}"
}
lacks() { # CAPABILITY CAPABILITIES COMMAND ARGUMENT...
	net_ends 3 "lacks the capability $1" with "${@:2}"
}
all=net_admin,sys_admin
add="endpoint add shop/late --ip $(net_ip late) --labels role=web"

net_check "a load without CAP_NET_ADMIN" lacks CAP_NET_ADMIN sys_admin load "$NET_TMP/policy.ini"
net_check "one without CAP_SYS_ADMIN" \
	lacks CAP_SYS_ADMIN net_admin,bpf,perfmon load "$NET_TMP/policy.ini"
net_check "one without any" lacks CAP_SYS_ADMIN none load "$NET_TMP/policy.ini"
net_check "none has made a folder" test ! -e "$NET_PIN"
net_check "a load with both, and no others" with $all load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "the policy is in force"
net_denied web tcp "$(net_ip db)" 443 "all of it"
net_check "another load" with $all load "$NET_TMP/policy.ini"
for command in "load $NET_TMP/policy.ini" "$add" "endpoint del shop/web" unload; do
	# shellcheck disable=SC2086
	net_check "${command%% /*} without CAP_NET_ADMIN" lacks CAP_NET_ADMIN sys_admin $command
	# shellcheck disable=SC2086
	net_check "and without CAP_SYS_ADMIN" lacks CAP_SYS_ADMIN net_admin,bpf,perfmon $command
done
net_denied web tcp "$(net_ip db)" 443 "nothing has changed"
net_allowed web tcp "$(net_ip db)" 80 "nothing at all"
net_check "status without CAP_SYS_ADMIN" lacks CAP_SYS_ADMIN net_admin,bpf,perfmon status
net_check "and with no other" net_ends 0 "^generation" with sys_admin status
# shellcheck disable=SC2086
net_check "endpoint add with both" with $all $add
net_allowed late tcp "$(net_ip db)" 80 "it may what it is added as"
net_denied late tcp "$(net_ip db)" 443 "and no more"
net_check "endpoint del with both" with $all endpoint del shop/late
net_denied late tcp "$(net_ip db)" 80 "then it may nothing"
net_check "trace with none" \
	net_ends 0 "^allow" with none trace --from shop/web --to shop/db --port TCP/80
net_check "matrix with none" net_ends 0 "shop/db" with none matrix --port TCP/80
net_check "show with none" net_ends 0 "^in force as generation" with none show generation
net_check "show of what packets left, with none" net_ends 0 "packets" with none show counters
net_check "endpoint list with none" net_ends 0 "shop/web" with none endpoint list
net_check "monitor with CAP_BPF alone" with bpf monitor --seconds 1
net_check "and without it" lacks CAP_BPF net_admin monitor --seconds 1
net_check "unload with both" with $all unload
net_check "leaves nothing" test ! -e "$NET_PIN"

net_end
