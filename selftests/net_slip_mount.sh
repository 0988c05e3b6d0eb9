#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load refuses a bpffs that goes with the command's own mount namespace, and leaves nothing behind. --force, and a
# folder that --pin names, are the operator's choice. A mount namespace with process 1's bpffs is the node.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"
mkdir "$NET_TMP/state"

# Runs commands in a mount namespace of their own, by a shell in the node's network namespace. `bulkhead` uses
# the default folder.
apart() { # SHELL-COMMANDS
	net_on node unshare --mount bash -c "bulkhead() { local c=\$1; shift; '$BULKHEAD' \$c --state '$NET_TMP/state' \"\$@\"; }
		policy=$NET_TMP/policy.ini; $1"
}
fresh='mount -t bpf bpf /sys/fs/bpf &&'
bare='while mountpoint -q /sys/fs/bpf; do umount /sys/fs/bpf; done;'

net_check "a load on a bpffs of its own is refused" net_ends 2 "on a bpffs of this mount namespace alone" \
	apart "$fresh bulkhead load \$policy"
net_check "a load where no bpffs is mounted is refused" net_ends 2 "on a bpffs of this mount namespace alone" \
	apart "$bare bulkhead load \$policy"
net_check "the refused load unmounts its bpffs" apart "$bare ! bulkhead load \$policy && ! mountpoint -q /sys/fs/bpf"
net_check "a load in a PID namespace without a bpffs is refused" net_ends 2 "on a bpffs of this mount namespace alone" \
	net_on node unshare --mount --pid --fork --mount-proc bash -c \
	"$bare '$BULKHEAD' load --state $NET_TMP/state $NET_TMP/policy.ini"
net_check "a load on another file system is refused" net_ends 2 "folder/of/pins is not on a bpffs" net_on node \
	"$BULKHEAD" load --pin "$NET_TMP/folder/of/pins" "$NET_TMP/policy.ini"
net_check "the refused load makes no folder" test ! -e "$NET_TMP/folder"
net_check "no program is left of the refused loads" net_is "$(net_on node ip link show | grep -c xdp)" 0
net_allowed out tcp "$(net_ip db)" 443 "nothing is guarded after the refusals"
net_check "load --force on a bpffs of its own warns" apart "$fresh bulkhead load --force \$policy 2>&1 |
	grep 'warning: .*bpffs of this mount namespace alone'; bulkhead status --check | grep 'go with it'; bulkhead unload"
net_check "load --pin of another folder is the operator's choice" apart "$fresh bulkhead load --pin /sys/fs/bpf/own \$policy &&
	bulkhead unload --pin /sys/fs/bpf/own"
net_check "a bpffs that process 1 has is shared in another mount namespace" net_on node unshare --mount --pid --fork \
	--mount-proc bash -c "$fresh unshare --mount '$BULKHEAD' load --state $NET_TMP/state $NET_TMP/policy.ini &&
	[ \"\$('$BULKHEAD' status --check --state $NET_TMP/state)\" = '' ] && '$BULKHEAD' unload --state $NET_TMP/state"
net_end
