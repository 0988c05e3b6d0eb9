#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A network's own program writes its list anew, and leaves the CNI plugin out: the follower puts the plugin back as it was,
# a few times in a minute. A list that never had the plugin stays as it is, and so does one that `cni uninstall` changed.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world db
net=$NET_TMP/net.d bin=$NET_TMP/bin list=$NET_TMP/net.d/10-flannel.conflist other=$NET_TMP/net.d/20-other.conflist
mkdir "$net" "$bin"
plain() { # MTU: the list as the network's program writes it
	echo '{"cniVersion": "1.0.0", "name": "cbr0", "plugins": [{"type": "flannel", "mtu": '"$1"'}, {"type": "portmap"}]}'
}
types() { # FILE: of the list's plugins
	jq -r '[.plugins[].type] | join(" ")' "$1" 2>/dev/null
}
has() { # FILE TYPES
	[ "$(types "$1")" = "$2" ]
}
in_place() { # MTU: as cp does
	plain "$1" >"$list"
}
by_rename() { # MTU
	plain "$1" >"$net/.new" && mv "$net/.new" "$list"
}
entry() {
	jq -c '.plugins[-1]' "$list"
}
cni() { # VERB ARGUMENT...
	"$BULKHEAD" cni "$1" --conf-dir "$net" --bin-dir "$bin" "${@:2}" >/dev/null
}
logged() { # PATTERN
	grep -q "$1" "$NET_TMP/follow-worker-1.log"
}
follow() {
	api_follower worker-1 --conf-dir "$net" --bin-dir "$bin" --listen 127.0.0.1:9464
}
FULL="flannel portmap bulkhead-cni"

in_place 1450
plain 1400 >"$other"
net_check "the plugin is installed" cni install --pin "$NET_PIN" --unknown admit
own=$(entry)
api_engine one
follow
net_check "the follower follows" api_await api_rolled_out 0
net_check "the node has the policy" api_await api_has worker-1 1 1
kept() { # FILE
	[ -e "$net/.${1##*/}.bulkhead-kept" ]
}
net_check "the follower keeps the entry" api_await kept "$list"
in_place 1440
net_check "the plugin is back after the list was written in place" api_await has "$list" "$FULL"
net_check "the plugin has the options that it had" net_is "$(entry)" "$own"
net_check "the list has what its program wrote" net_is "$(jq .plugins[0].mtu "$list")" 1440
net_check "the follower says so" logged "10-flannel.conflist: was written anew without bulkhead-cni, which is put back"
by_rename 1430
net_check "the plugin is back after the list was renamed into its place" api_await has "$list" "$FULL"
net_check "a list that never had the plugin stays" has "$other" "flannel portmap"
net_check "the metric counts both" api_await api_metric_is 9464 follow_networks_put_back_total 2

plain 1420 | head -c 60 >"$list"
net_pause 1
net_check "a list that is not whole yet stays" net_is "$(stat -c %s "$list")" 60
in_place 1420
net_check "the plugin is back once the list is whole" api_await has "$list" "$FULL"

net_check "the plugin is uninstalled" cni uninstall
net_check "no entry is kept" eval '! kept "$list"'
net_pause 1.5
net_check "the plugin stays uninstalled" has "$list" "flannel portmap"
net_check "the plugin is installed again" cni install --pin "$NET_PIN" --unknown admit
net_check "the follower keeps the entry again" api_await kept "$list"
in_place 1410
net_check "the plugin is back after it was installed again" api_await has "$list" "$FULL"
in_place 1400
net_check "the follower says that it waits" api_await logged "gets it back in a minute"
net_check "the metric tells of the list" api_await api_metric_is 9464 follow_networks_lacking 1
net_check "the list stays after four times in a minute" has "$list" "flannel portmap"
API_SECONDS=100
net_check "the plugin is back when the minute is over" api_await has "$list" "$FULL"
net_check "the metric tells of no list" api_await api_metric_is 9464 follow_networks_lacking 0

counts() { # the follower has looked at the lists
	net_on node "$NET_HELPERS/http" GET 9464 /metrics >/dev/null 2>&1
}
api_end follow-worker-1 TERM
in_place 1390
follow
net_check "the plugin is back in a list that was written while no follower ran" api_await has "$list" "$FULL"
net_check "that plugin has the options that it had" net_is "$(entry)" "$own"
net_check "a list that never had the plugin stays at the start" has "$other" "flannel portmap"
net_check "the plugin is installed into the other list" cni install --pin "$NET_PIN" "$other"
net_check "the follower keeps the other list's entry" api_await kept "$other"
net_check "the plugin is uninstalled from the other list" cni uninstall "$other"
net_pause 1.5
net_check "the other list stays without the plugin while the follower runs" has "$other" "flannel portmap"
api_end follow-worker-1 TERM
follow
net_check "a further follower runs" api_await counts
net_check "the other list stays without the plugin at the start" has "$other" "flannel portmap"
net_check "the first list still has the plugin" has "$list" "$FULL"
net_check "the plugin is uninstalled from the last list" cni uninstall "$list"
net_check "nothing is kept beside the lists" net_is "$(ls -A "$net")" "$(basename -a "$list" "$other")"
net_end
