#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower finds wrong maps in its pin folder: of another layout, another program's, or of other sizes under a name of
# ours. It changes nothing, the active policy stays enforced, and the node's status says why. One that runs goes on; one
# that begins ends with status 3. Once the maps are as they were, a follower loads what the cluster wants.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443"
api_world db web
is_active() { # PORT CLOSED: by the maps, and this node is as the cluster wants it
	api_ready worker-1 True AsWanted && api_traces allow web db "$1" && api_traces deny web db "$2"
}
enforced() { # PORT CLOSED WHEN
	net_allowed web tcp "$(net_ip db)" "$1" "port $1 passes $3"
	net_denied web tcp "$(net_ip db)" "$2" "port $2 is denied $3"
}
says() { # REASON PATTERN: the node's status has the reason, the follower's log the pattern
	api_ready worker-1 False "$1" && api_logged follow-worker-1 error ".*$2"
}
begins() {
	: >"$NET_TMP/follow-worker-1.log"
	api_follower worker-1
}
cannot_begin() { # PATTERN
	begins
	wait "${API_PID[follow-worker-1]}"
	net_is $? 3 && says Misconfigured "$1"
}

# Each breaks the maps, and mends them.
foreign() { # break|mend: another program's map, or one of other sizes that is named as ours
	if [ "$1" = break ]; then
		mv "$NET_PIN/pairs" "$NET_PIN/away" && bpftool map create "$NET_PIN/pairs" type hash key 4 value 4 entries 3 name "$2"
	else
		rm "$NET_PIN/pairs" && mv "$NET_PIN/away" "$NET_PIN/pairs"
	fi
}
theirs() { # break|mend
	foreign "$1" theirs
}
sizes() { # break|mend
	foreign "$1" bh_pairs
}
layout() { # break|mend: bh_config says another version of the maps
	local bytes version=99
	[ "$1" = break ] || version=$(sed -n 's/^#define BH_ABI //p' "$NET_TOP/maps/abi.h")
	mapfile -t bytes < <(bpftool -j map lookup pinned "$NET_PIN/config" key 0 0 0 0 | grep -o '"0x..' | cut -c2-)
	bytes=("${bytes[@]: -24}") # the value, behind the key
	bytes[8]=$version
	bpftool map update pinned "$NET_PIN/config" key 0 0 0 0 value "${bytes[@]}"
}

api_opens POST db 80
api_engine one --node-limit 20
begins
net_check "the follower loads" api_await is_active 80 443
open=80 closed=443
for how in theirs sizes layout; do
	case $how in
	layout) says="maps of version 99" ;;
	*) says="maps that the active programs do not work on" ;;
	esac
	net_check "$how: the maps are broken while the follower runs" $how break
	net_check "$how: the policy changes" api_opens PUT db $closed
	net_check "$how: the follower says that it cannot use the maps, and goes on" eval 'api_await says ChangeFailed "$says" \&\& kill -0 "${API_PID[follow-worker-1]}"'
	enforced $open $closed "$how, the follower runs"
	api_end follow-worker-1 TERM
	net_check "$how: a new follower ends, and says the same" cannot_begin "$says"
	enforced $open $closed "$how, another follower"
	net_check "$how: the maps are mended" $how mend
	begins
	net_check "$how: the next follower loads what the cluster wants" api_await is_active $closed $open
	enforced $closed $open "$how, mended"
	read -r open closed <<<"$closed $open"
done
net_check "the maps are as the policy says" net_bulkhead status --check
net_end
