#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The follower of the container image guards an uplink by native XDP: the image has what libxdp reads to attach a program.
# The image's files run in a root of their own, without a container runtime.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

command -v patchelf >/dev/null || net_skip "needs patchelf"
NET_PORTS="80 443"
net_start db web
root=$NET_TMP/image
net_check "collect the image's files" "$NET_TOP/tools/package/bundle" "$BULKHEAD" "$root"
mkdir -p "$root"/{proc,sys,run,tmp} "$root$NET_TMP"
# The image's command, by the paths of this host for the kubeconfig and the records.
cat >"$NET_TMP/image_command" <<EOF
#!/bin/sh
exec unshare --mount sh -c 'mount --rbind /proc "\$0/proc" && mount --rbind /sys "\$0/sys" &&
	mount --bind "$NET_TMP" "\$0$NET_TMP" && exec chroot "\$0" /opt/bulkhead/bulkhead "\$@"' "$root" "\$@"
EOF
chmod +x "$NET_TMP/image_command"

api_start
api_pods worker-1 db web
api_opens POST db 80
api_engine one
guards() { # PATTERN: the hook of the uplink
	net_bulkhead status 2>/dev/null | grep -qE "^ *eth0 +uplink, $1"
}
denies() { # a packet from outside
	! net_ask out tcp "$(net_ip db)" 443 150
}
image_follows() { # PATTERN
	BULKHEAD=$NET_TMP/image_command api_follower worker-1
	api_await guards "$1" && api_await denies || { cat "$NET_TMP/follow-worker-1.log" && net_bulkhead status && false; }
}
net_check "the image's follower guards the uplink by native XDP" image_follows "xdp native"
net_both allowed out db 80 "a client outside reaches @ at 80"
net_both denied out db 443 "a client outside does not reach @ at 443"
api_end follow-worker-1 TERM
net_check "the image's own command unloads" net_on node "$NET_TMP/image_command" unload --pin "$NET_PIN"
net_allowed out tcp "$(net_ip db)" 443 "after unload nothing is denied"
net_end
