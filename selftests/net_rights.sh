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
	net_ends 3 "lacks the capability $1; run it as root" with "${@:2}"
}
all=net_admin,sys_admin
add="endpoint add shop/late --ip $(net_ip late) --labels role=web"

net_check "a load without CAP_NET_ADMIN names it" lacks CAP_NET_ADMIN sys_admin load "$NET_TMP/policy.ini"
net_check "a load without CAP_SYS_ADMIN names it" \
	lacks CAP_SYS_ADMIN net_admin,bpf,perfmon load "$NET_TMP/policy.ini"
net_check "a load without capabilities names one" lacks CAP_SYS_ADMIN none load "$NET_TMP/policy.ini"
net_check "the refused loads make no folder" test ! -e "$NET_PIN"
net_check "a load with both capabilities and no others succeeds" with $all load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "the policy is active"
net_denied web tcp "$(net_ip db)" 443 "the active policy denies what it should"
net_check "another load with both capabilities succeeds" with $all load "$NET_TMP/policy.ini"
mkdir -m 700 "$NET_TMP/attached" && chown nobody "$NET_TMP/attached"
net_check "a load that may not read the CNI plugin's records says so and succeeds" net_ends 0 "$NET_TMP/attached: warning: cannot be read" \
	with $all load --attached "$NET_TMP/attached" "$NET_TMP/policy.ini"
for command in "load $NET_TMP/policy.ini" "$add" "endpoint del shop/web" unload; do
	# shellcheck disable=SC2086
	net_check "${command%% /*} without CAP_NET_ADMIN names it" lacks CAP_NET_ADMIN sys_admin $command
	# shellcheck disable=SC2086
	net_check "${command%% /*} without CAP_SYS_ADMIN names it" lacks CAP_SYS_ADMIN net_admin,bpf,perfmon $command
done
net_denied web tcp "$(net_ip db)" 443 "after the refusals a denied connection does not open"
net_allowed web tcp "$(net_ip db)" 80 "after the refusals an allowed connection opens"
net_check "status without CAP_SYS_ADMIN names it" lacks CAP_SYS_ADMIN net_admin,bpf,perfmon status
net_check "status with CAP_SYS_ADMIN alone succeeds" net_ends 0 "^generation" with sys_admin status
stranger() { # COMMAND ARGUMENT...: as another user, who may run the command
	cp "$BULKHEAD" "$NET_TMP/bulkhead" && chmod 755 "$NET_TMP" "$NET_TMP/bulkhead" &&
		net_on node setpriv --reuid 65534 --regid 65534 --clear-groups "$NET_TMP/bulkhead" "$1" --pin "$NET_PIN" "${@:2}"
}
net_check "another user's status says to run it as root" net_ends 3 "config: Permission denied; run it as root$" stranger status
# shellcheck disable=SC2086
net_check "endpoint add with both capabilities succeeds" with $all $add
net_allowed late tcp "$(net_ip db)" 80 "the added endpoint sends what its labels allow"
net_denied late tcp "$(net_ip db)" 443 "the added endpoint sends nothing else"
net_check "endpoint del with both capabilities succeeds" with $all endpoint del shop/late
net_denied late tcp "$(net_ip db)" 80 "the deleted endpoint does not reach db"
net_check "trace without capabilities succeeds" \
	net_ends 0 "^allow" with none trace --from shop/web --to shop/db --port TCP/80
net_check "matrix without capabilities succeeds" net_ends 0 "shop/db" with none matrix --port TCP/80
net_check "graph without capabilities succeeds" net_ends 0 "shop/db" with none graph
net_check "diff with the active policy without capabilities succeeds" with none diff "$NET_TMP/policy.ini"
net_check "show generation without capabilities succeeds" net_ends 0 "^active as generation" with none show generation
net_check "show counters without capabilities succeeds" net_ends 0 "packets" with none show counters
net_check "endpoint list without capabilities succeeds" net_ends 0 "shop/web" with none endpoint list
net_check "monitor with CAP_BPF alone succeeds" with bpf monitor --seconds 1
net_check "monitor -j without CAP_BPF says so in JSON alone" net_ends 3 '^{"level":"error".*CAP_BPF.*}$' with net_admin monitor -j --seconds 1
net_check "no line of it is text" eval '! grep -v "^{" "$NET_TMP/said"'
net_check "monitor without CAP_BPF names it" lacks CAP_BPF net_admin monitor --seconds 1
net_check "unload with both capabilities succeeds" with $all unload
net_check "unload leaves no pin folder" test ! -e "$NET_PIN"

net_end
