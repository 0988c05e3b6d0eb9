#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower that cannot keep the CNI plugin's entry of a network's list, on a read-only disk, keeps the entry within a minute after
# it can, though nothing changes in the folder: it could not put the plugin back else.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
api_pods worker-1 db
net=$NET_TMP/net.d bin=$NET_TMP/bin list=$NET_TMP/net.d/10-flannel.conflist
mkdir "$net" "$bin"
mount -t tmpfs -o tmpfs "$net" || net_skip "cannot mount"
plain() { # the list as the network's program writes it
	echo '{"cniVersion": "1.0.0", "name": "cbr0", "plugins": [{"type": "flannel"}]}' >"$list"
}
has() { # TYPES
	[ "$(jq -r '[.plugins[].type] | join(" ")' "$list" 2>/dev/null)" = "$1" ]
}
is_kept() {
	[ -e "$net/.10-flannel.conflist.bulkhead-kept" ]
}
says() {
	grep -q "net.d: cannot be written, so bulkhead-cni cannot be put back into 10-flannel.conflist: Read-only file system" \
		"$NET_TMP/follow-worker-1.log"
}

plain
net_check "the plugin is installed" "$BULKHEAD" cni install --conf-dir "$net" --bin-dir "$bin" --pin "$NET_PIN" --unknown admit
mount -o remount,ro "$net"
api_follower worker-1 --conf-dir "$net" --bin-dir "$bin"
net_check "the follower says that the disk is read-only" api_await says
mount -o remount,rw "$net"
net_check "the follower keeps the entry once it can" api_await is_kept
plain
net_check "the plugin is back after the list was written without it" api_await has "flannel bulkhead-cni"
api_end follow-worker-1 TERM
umount "$net"
net_end
